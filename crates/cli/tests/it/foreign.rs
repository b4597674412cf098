//! What other programs printed, imported and shown.

use crate::bed::{Bed, Done};

/// A spreadsheet of one run: a test that kurabe has too, and one that it has not.
fn table(primes: f64) -> String {
    format!(
        "run,program,version,date,test,concurrency,quantity,unit,better,estimate\n\
         vps,sysbench,1.0.20,2014-03-01,cpu.prime,1,ops_per_s,ops_per_s,higher,{primes}\n\
         vps,sysbench,1.0.20,2014-03-01,blog.requests,8,rate,ops_per_s,higher,7000\n"
    )
}

fn write(bed: &Bed, name: &str, text: impl AsRef<[u8]>) {
    std::fs::write(bed.path().join(name), text).unwrap();
}

#[test]
fn figures_of_a_table_become_a_run_that_says_where_it_comes_from() {
    let bed = Bed::new();
    write(&bed, "a.csv", table(900.0));
    let kept = bed.run(&["import", "a.csv", "--label", "old"]).code(0);
    kept.err_has(
        &[
            "kept run 20140301-000000-",
            "2 figures",
            "date",
            "one sample: no interval",
        ][..2],
    );
    bed.run(&["import", "a.csv"])
        .code(0)
        .err_has(&["was kept already"]);
    bed.run(&["show", "old"]).code(0).out_says(&[
        "2014-03-01 00:00 UTC, 1 round, table",
        "imported from table, one sample: no interval",
    ]);
    bed.run(&["list"]).code(0).out_says(&["imported"]);
    bed.run(&["show", "old", "--json"])
        .code(0)
        .out_has(&["\"program\": \"table\"", "\"file\": \"a.csv\""]);
}

#[test]
fn a_file_of_figures_is_a_run_by_its_path_and_compares_with_another_where_the_test_is_the_same() {
    let bed = Bed::new();
    write(&bed, "a.csv", table(900.0));
    write(
        &bed,
        "b.csv",
        table(990.0).replace("blog.requests,8", "blog.requests,4"),
    );
    let done: Done = bed.run(&["compare", "./a.csv", "./b.csv"]).code(4);
    done.out_says(&[
        "cpu.prime@1 ops/s 900 990 1.10",
        "blog.requests@8",
        "imported figures are too few for an interval",
    ]);
}

#[test]
fn outputs_of_repeated_runs_become_rounds_of_one_run() {
    let bed = Bed::new();
    let names: Vec<String> = (0..6).map(|n| format!("{n}.csv")).collect();
    for (n, name) in (0_u32..).zip(&names) {
        write(&bed, name, table(900.0 + f64::from(n)));
    }
    let names = names.iter().map(String::as_str);
    let args: Vec<&str> = ["import", "--as-rounds", "--label", "six"]
        .into_iter()
        .chain(names)
        .collect();
    bed.run(&["import", "0.csv"]).code(0);
    bed.run(&args).code(0).err_has(&["up to 6 rounds"]);
    bed.run(&["show", "six", "--full"]).code(0).out_says(&[
        "cpu.prime@1 902.5 ops/s 900.0 .. 905.0 6",
        "6 runs as rounds",
    ]);
    write(
        &bed,
        "other.csv",
        table(900.0)
            .replace("estimate\n", "estimate,param.size\n")
            .replace("7000", "7000,4k"),
    );
    bed.run(&["import", "--as-rounds", "0.csv", "other.csv"])
        .code(2)
        .err_has(&[
            "was measured with `size` not said, and in `other.csv` 4k",
            "hint:",
        ]);
    // What has rounds of its own is none.
    let export = bed.run(&["export", "six"]).code(0).out;
    write(&bed, "six.json", export);
    bed.run(&["import", "--as-rounds", "0.csv", "six.json"])
        .code(2)
        .err_has(&["make rounds of `six.json`: it is an export", "hint:"]);
}

#[test]
fn texts_of_every_make_are_read_or_refused_by_name() {
    let bed = Bed::new();
    let utf16: Vec<u8> = [0xfeff]
        .into_iter()
        .chain(table(900.0).encode_utf16())
        .flat_map(u16::to_le_bytes)
        .collect();
    write(&bed, "utf16.csv", utf16);
    bed.run(&["import", "utf16.csv"]).code(0);
    write(&bed, "crlf.csv", table(901.0).replace('\n', "\r\n"));
    bed.run(&["import", "crlf.csv"]).code(0);
    let refused = |name: &str, bytes: &[u8], what: &str| {
        write(&bed, name, bytes);
        let done = bed.run(&["import", name]).code(2);
        assert!(done.err_has(&[name, what, "\nhint:"]).err.len() < 600);
    };
    refused("empty.txt", b"", "no output of a benchmark");
    refused(
        "prose.txt",
        b"the disk was fast\n",
        "no output of a benchmark",
    );
    refused("image.png", b"\x89PNG\r\n\x1a\n\0\0\0", "no UTF-8 text");
    for command in ["import", "show"] {
        write(
            &bed,
            "name.csv",
            "test,quantity,unit,estimate\na b,x,ns,3\n",
        );
        bed.run(&[command, "name.csv"])
            .code(2)
            .err_has(&["line 2: test `a b`", "hint:"]);
        let title = "test,quantity,unit,estimate,title\na.b,x,ns,3,a\u{202e}b\n";
        write(&bed, "title.csv", title);
        bed.run(&[command, "title.csv"])
            .code(2)
            .err_has(&["the title `a", "all of them to be seen"]);
    }
    let bad = "test,quantity,unit,estimate,date\na,b,ns,1,01.03.2014\n";
    refused(
        "bad.csv",
        bad.as_bytes(),
        "line 2: the date `01.03.2014` is not one",
    );
    refused("a.gz", b"\x1f\x8b\x08\0\0", "compressed by gzip");
    refused("big.txt", &vec![b'x'; 100 << 20], "more than 16 MiB");
    refused(
        "rubbish.txt",
        &vec![b'{'; 15 << 20],
        "no output of a benchmark",
    );
    bed.run(&["import", "."])
        .code(2)
        .err_has(&["no regular file", "hint:"]);
    let cut = table(900.0);
    write(&bed, "cut.csv", &cut[..cut.len() - 3]);
    bed.run(&["import", "cut.csv"]).code(0).err_has(&[
        "left out, cut.csv line 3: the text ends in this figure",
        "1 figure ",
    ]);
    write(
        &bed,
        "half.csv",
        table(900.0) + "vps,,,,broken,1,rate,MB/s,,7\n",
    );
    bed.run(&["import", "half.csv"])
        .code(0)
        .err_has(&["left out, half.csv line 4", "`MB/s` is none of the units"]);
}

#[test]
fn every_example_is_a_run_by_its_path_and_the_commands_beside_them_work() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let bed = Bed::new();
    let text = std::fs::read_to_string(root.join("README.md")).unwrap();
    // Of each article's tables some cells, in the order of the commands.
    let cells: [&[&str]; 8] = [
        &["1032.2 1431.9", "11.0 6.00", "0.750 4.00", "2.91 21.4"],
        &[
            "unixbench.index@2 2107.8",
            "unixbench.context1@1: 2 copies do 19.8 times as much, more than 2 CPUs explain",
        ],
        &["29.4 kIOPS | 17.4 kIOPS | 21.5 kIOPS | 28.3 kIOPS | 29.3 kIOPS"],
        &["unixbench.index@16 2665.8"],
        &["fio.read-4k@64 13.8 kIOPS", "lat_ns_mode 250 us"],
        &[
            "bonnie.putc@1 KiB/s 657 550",
            "sysbench.oltp@16 ms (lower) 22.7 26.4",
        ],
        &["vdbench.raw-8k@8 kIOPS 2.08 3.06"],
        &["vdbench.files@8 kIOPS 78.9 78.3"],
    ];
    let parts = text.split('`');
    let is_of_runs = |part: &&str| {
        part.starts_with("kurabe ")
            && part.contains("./examples/")
            && !part.contains("-offers.toml")
    };
    let commands: Vec<&str> = parts.filter(is_of_runs).collect();
    assert_eq!(commands.len(), cells.len());
    for (command, cells) in commands.into_iter().zip(cells) {
        let words = command.split(' ').skip(1);
        let words = words.map(|word| match word.strip_prefix("./examples/") {
            Some(name) => root.join(name).display().to_string(),
            None => word.to_owned(),
        });
        let words: Vec<String> = words.collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let code = if words[0] == "compare" { 4 } else { 0 };
        let done = bed.run(&words).code(code).out_has(&["imported"]);
        done.out_says(cells);
    }
    let files = std::fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    for file in files.filter(|file| file.extension().is_some_and(|end| end == "csv")) {
        bed.run(&["show", file.to_str().unwrap()]).code(0);
    }
}

#[test]
fn a_row_is_no_figure_of_a_test_that_declares_another_unit_for_it() {
    let bed = Bed::new();
    let head = "test,quantity,unit,better,estimate";
    let rows = "os.pipe,ops_per_s,ns,lower,5\nos.pipe,ops_per_s,ops_per_s,lower,5\n";
    write(&bed, "bad.csv", format!("{head}\n{rows}"));
    let other = "has `ops_per_s` in ops_per_s, higher is better; this row has ns, lower is better";
    bed.run(&["import", "bad.csv"])
        .code(2)
        .err_has(&["line 2: kurabe's test `os.pipe` ", other]);
    let both = format!("{head}\nos.pipe,ops_per_s,ops_per_s,higher,7\n{rows}");
    write(&bed, "both.csv", both);
    bed.run(&["import", "both.csv", "--label", "both"])
        .code(0)
        .err_has(&["line 3", "line 4", "1 figure of"]);
    // Without a column for it the direction is that of the test.
    let silent = "test,quantity,unit,estimate\nmemory.latency-1m,ns_per_load,ns,9\nos.pipe,ops_per_s,ops_per_s,7\n";
    write(&bed, "silent.csv", silent);
    let silent = bed.run(&["import", "silent.csv"]).code(0);
    assert!(!silent.err.contains("kurabe's test"), "{}", silent.err);
    // What kurabe prints has no column that an import asks about.
    let csv = bed.run(&["show", "both", "--format", "csv"]).code(0).out;
    write(&bed, "own.csv", csv);
    let own = bed.run(&["import", "own.csv"]).code(0);
    assert!(!own.err.contains("left out"), "{}", own.err);
}

#[test]
fn the_prices_and_promises_of_the_examples_stand_beside_their_figures() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let bed = Bed::new();
    let text = std::fs::read_to_string(root.join("examples/README.md")).unwrap();
    let (_, script) = text.split_once("```sh\n").unwrap();
    let (script, rest) = script.split_once("```").unwrap();
    // The store is the bed's own, and the program the one that is tested.
    let script = script.replace("export KURABE_STORE=./articles.db\n", "");
    let script = script.replace("  kurabe ", "  \"$0\" ");
    let examples = root.join("examples").display().to_string();
    let script = format!("set -e\n{}", script.replace("./examples", &examples));
    bed.behind(&["sh", "-c", &script], &[]).code(0);
    let cells: [&[&str]; 5] = [
        &[
            "random read: 10,000 IOPS",
            "measured 11.0 kIOPS",
            "0.12 ms",
            "measured 2.00 ms",
            "cloud-ssd: Host",
        ],
        &["one-core 27.60 USD", "cores 252.60 USD 2665.8 - 10.6"],
        &["kernel-3.2 1315 JPY 531", "kernel-4.0 1315 JPY 455"],
        &[
            "cloud-b-gp2 2400 JPY 3.06 - 1.27",
            "cloud-a-data 4000 JPY 2.07 - 0.517",
            "cloud-b-io1 28000 JPY 3.06 - 0.109",
        ],
        &[
            "cloud-b-root 200 JPY 77.9 - 390",
            "cloud-a-root 300 JPY 80.0 - 267",
        ],
    ];
    let commands = rest
        .split('`')
        .filter(|part| part.starts_with("kurabe offers"));
    let commands: Vec<&str> = commands.collect();
    assert_eq!(commands.len(), cells.len());
    for (command, cells) in commands.into_iter().zip(cells) {
        let command = command.replace("./examples", &examples);
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        bed.run(&words).code(0).out_says(cells);
    }
}

#[test]
fn a_file_is_named_by_its_path_and_no_command_that_does_not_work_is_offered() {
    let bed = Bed::new();
    write(&bed, "a b.csv", table(900.0));
    write(&bed, "b.csv", table(990.0).replace("blog.requests", "b"));
    let page = bed.run(&["show", "./a b.csv"]).code(0);
    let page = page.out_has(&["kurabe show './a b.csv' --full"]);
    assert!(!page.out.contains("kurabe fio"), "{page:?}");
    let page = bed.run(&["compare", "./a b.csv", "./b.csv"]).code(4);
    let page = page.out_has(&["kurabe compare './a b.csv' ./b.csv --full"]);
    let page = page.out_says(&["these two runs trust", "only the base has it"]);
    assert!(!page.out.contains("kurabe run"), "{page:?}");
    bed.run(&["show", "nosuch.txt"])
        .code(2)
        .err_has(&["neither a run nor a file of the name `nosuch.txt`", "hint:"]);
    bed.run(&["import", "b.csv"]).code(0);
    bed.run(&["compare", "./a b.csv", "no/such"])
        .code(2)
        .err_has(&["neither a run nor a file of the name `no/such`"]);
}

#[test]
fn an_import_is_found_by_the_beginning_of_what_the_list_shows() {
    let bed = Bed::new();
    write(&bed, "a.csv", table(900.0));
    bed.run(&["import", "a.csv"]).code(0);
    let list = bed.run(&["list", "--json"]).code(0).out;
    let list: serde_json::Value = serde_json::from_str(&list).unwrap();
    let short = list["runs"][0]["short"].as_str().unwrap();
    assert_eq!(short.len(), 12);
    for end in [4, 6, 12] {
        bed.run(&["show", &short[..end]]).code(0);
    }
}

#[test]
fn outputs_of_other_tests_are_no_rounds_of_one_run() {
    let bed = Bed::new();
    write(&bed, "a.csv", table(900.0));
    write(&bed, "b.csv", table(901.0).replace("blog.requests", "b"));
    let done = bed
        .run(&["import", "--as-rounds", "a.csv", "b.csv"])
        .code(2);
    done.err_has(&["`b.csv` has `b@8`, which `a.csv` has not", "hint:"]);
    assert!(!bed.store().exists());
}

#[test]
fn an_index_is_shown_as_unixbench_prints_it_wherever_it_stands() {
    let bed = Bed::new();
    let sheet = |index: f64| {
        format!(
            "program,test,concurrency,quantity,unit,estimate\nUnixBench,unixbench.index,1,index,number,{index}\n"
        )
    };
    write(&bed, "a.csv", sheet(1032.2));
    write(&bed, "b.csv", sheet(1432.1));
    bed.run(&["show", "a.csv"])
        .code(0)
        .out_says(&["unixbench.index 1032.2"]);
    bed.run(&["compare", "a.csv", "b.csv"])
        .code(4)
        .out_says(&["unixbench.index@1 1032.2 1432.1 1.39"]);
    bed.run(&["import", "a.csv"]).code(0);
    bed.run(&["list"])
        .code(0)
        .out_says(&["table 1032.2 imported"]);
    bed.run(&["rank", "unixbench@1", "a.csv", "b.csv"])
        .code(0)
        .out_says(&["1 .. 2", "1432.1"]);
}

#[test]
fn a_sheet_that_was_mended_says_which_run_it_was_before() {
    let bed = Bed::new();
    write(&bed, "a.csv", table(900.0));
    bed.run(&["import", "a.csv"]).code(0);
    write(&bed, "a.csv", table(901.0));
    let again = bed.run(&["import", "a.csv"]).code(0);
    again.err_has(&[
        "came from `a.csv` too, and has 1 of these figures",
        "`kurabe rm 20140301-000000-",
    ]);
    let list = bed.run(&["list"]).code(0).out;
    assert_eq!(list.lines().count(), 3, "{list}");
    let other = table(1.0).replace("7000", "1");
    write(&bed, "a.csv", other);
    let other = bed.run(&["import", "a.csv"]).code(0);
    assert!(!other.err.contains("too, and has"), "{other:?}");
}

/// The commands of the guide's page of questions, each line as it is typed.
fn commands_of(text: &str) -> Vec<Vec<String>> {
    let text = text.replace("\\\n", "");
    let blocks = text.split("```sh\n").skip(1);
    let blocks = blocks.filter_map(|rest| Some(rest.split_once("```")?.0));
    let lines = blocks.flat_map(str::lines);
    let words = |line: &str| -> Vec<String> {
        // A need stands in quotes.
        let parts = line.split('\'').enumerate();
        let words = parts.flat_map(|(at, part)| match at % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        words.skip(1).collect()
    };
    lines.map(words).collect()
}

#[test]
fn every_command_of_the_questions_that_people_ask_works() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("docs/guide/articles.md")).unwrap();
    let bed = Bed::new();
    let (_, catalogue) = text.split_once("```toml\n").unwrap();
    let (catalogue, _) = catalogue.split_once("```").unwrap();
    std::fs::create_dir_all(bed.path().join("kurabe")).unwrap();
    write(&bed, "kurabe/offers.toml", catalogue);
    for dir in ["local", "san"] {
        std::fs::create_dir(bed.path().join(dir)).unwrap();
    }
    let mut told = 0;
    for words in commands_of(&text) {
        let mnt = bed.path().display().to_string();
        let words = words
            .iter()
            .map(|word| match word.strip_prefix("./examples/") {
                Some(name) => root.join("examples").join(name).display().to_string(),
                None => word.replace("/mnt", &mnt),
            });
        let mut words: Vec<String> = words.collect();
        // What measures for minutes is planned.
        let second = words.get(1).map_or("", String::as_str);
        let (only_plan, code) = match (words[0].as_str(), second) {
            ("run" | "duel", _) => (Some("--dry-run"), 0),
            ("fio", _) => (Some("--parse-only"), 0),
            ("compare", _) | ("offers", "value" | "recommend") => (None, 4),
            _ => (None, 0),
        };
        words.extend(only_plan.map(str::to_owned));
        let mut command = bed.command(&words.iter().map(String::as_str).collect::<Vec<_>>());
        command.env("XDG_CONFIG_HOME", bed.path());
        Done::from(command.output().unwrap()).code(code);
        told += 1;
    }
    assert_eq!(told, 34, "every command is tried");
}

/// The tables of YABS: fio, iperf3 and Geekbench.
const YABS_TABLES: &str = "\
fio Disk Speed Tests (Mixed R/W 50/50) (Partition /dev/vda1):
---------------------------------
Block Size | 4k            (IOPS) | 64k           (IOPS)
  ------   | ---            ----  | ----           ----
Read       | 50.38 MB/s   (12.3k) | 65.80 MB/s    (1.0k)
Write      | 50.39 MB/s   (12.3k) | 65.90 MB/s    (1.0k)
Total      | 100.77 MB/s  (24.6k) | 131.70 MB/s   (2.0k)

iperf3 Network Speed Tests (IPv4):
---------------------------------
Provider        | Location (Link)           | Send Speed      | Recv Speed      | Ping
Example Net     | Oslo, NO (10G)            | busy            | 640 Mbits/sec   | 12.5 ms

Geekbench 6 Benchmark Test:
---------------------------------
Single Core     | 1500
";

#[test]
fn tables_of_yabs_are_read_alone_and_beside_other_outputs() {
    let bed = Bed::new();
    write(&bed, "yabs.txt", YABS_TABLES);
    bed.run(&["import", "yabs.txt"]).code(0).err_has(&[
        "left out, yabs.txt line 12: iperf3, Example Net, send: busy",
        "15 figures of yabs",
    ]);
    bed.run(&["show", "./yabs.txt"])
        .code(0)
        .out_has(&["yabs.fio-4k", "yabs.geekbench6-single"]);
    let mbw = "AVG\tMethod: MEMCPY\tElapsed: 0.10000\tMiB: 256.00000\tCopy: 2560.000 MiB/s\n";
    write(&bed, "both.txt", format!("{mbw}\n{YABS_TABLES}"));
    let both = bed.run(&["import", "both.txt"]).code(0);
    both.err_has(&["15 figures of yabs", "of mbw"]);
    // An output of which nothing can be read is told beside one that can.
    let bench = "A server:\n\ndd Sequential Disk Speed Tests:\n---------------------------------\nWrite | 1 GB/s\n";
    write(&bed, "beside.txt", format!("{mbw}\n{bench}"));
    bed.run(&["import", "beside.txt"]).code(0).err_has(&[
        "left out, beside.txt line 5: an output of yabs: a section that is not read: dd Sequential",
        "of mbw",
    ]);
}
