//! Every command, on good input and on bad.

use crate::bed::{Bed, Done};

#[test]
fn unknown_names_are_refused_with_what_comes_nearest() {
    let bed = Bed::new();
    bed.run(&["run", "os.pip"])
        .code(2)
        .err_has(&["`os.pip`", "hint: nearest: os.pipe"]);
    bed.run(&["run", "unixbensh"])
        .code(2)
        .err_has(&["unixbench"]);
    let set = |text| bed.run(&["run", "fs.copy-1024", "--set", text]).code(2);
    set("fs.copy-1024.bufsise=4k").err_has(&["bufsise", "nearest: bufsize"]);
    set("fs.copy-1024.foo=4k").err_has(&[
        "`fs.copy-1024` has no parameter `foo`",
        "`kurabe list params fs.copy-1024`",
    ]);
    bed.run(&["run", "nope"])
        .code(2)
        .err_has(&["`kurabe list profiles`"]);
    set("fs.copy-1O24.bufsize=4k").err_has(&["fs.copy-1O24", "fs.copy-1024"]);
    set("fs.copy-1024.bufsize=huge").err_has(&["huge", "a size such as"]);
    set("nonsense").err_has(&["TEST.PARAM=VALUE"]);
    bed.run(&["run", "unixbench", "--set", "unixbench.compat=7"])
        .code(2)
        .err_has(&["off, 5.1.3, 6"]);
    bed.run(&["run", "--copies", "0"]).code(2).err_has(&["`0`"]);
    bed.run(&["run", "--budget", "soon"])
        .code(2)
        .err_has(&["90s"]);
    bed.run(&["frobnicate"]).code(2).err_has(&["frobnicate"]);
    assert!(
        !bed.store().exists(),
        "nothing was measured, so nothing is kept"
    );
}

#[test]
fn an_unusable_directory_is_said_before_measuring() {
    let bed = Bed::new();
    let run = |dir| bed.run(&["run", "os.pipe", "--dir", dir]).code(2);
    run("missing").err_has(&["`missing`", "No such file", "hint:", "--dir"]);
    std::fs::write(bed.path().join("file"), "").unwrap();
    run("file").err_has(&["`file`"]);
    assert!(!bed.store().exists());
}

#[test]
fn a_work_directory_in_memory_is_warned_about_on_every_file_system_figure() {
    let bed = Bed::new();
    let args = "run fs.copy-256 --passes 1 --full --dir /dev/shm";
    let args: Vec<&str> = args.split(' ').collect();
    let done = bed.run(&args).code(0).err_has(&["in memory (tmpfs)"]);
    done.out_has(&["tmpfs", "says nothing about a disk"]);
}

#[test]
fn a_dry_run_prints_the_plan_and_keeps_nothing() {
    let bed = Bed::new();
    let done = bed
        .run(&["run", "unixbench", "--copies", "1", "--dry-run"])
        .code(0);
    done.out_says(&["cpu.dhrystone@1", "os.pipe@1 9 ", "12 cases, about"]);
    let done = bed
        .run(&[
            "run",
            "unixbench",
            "--set",
            "unixbench.compat=6",
            "--dry-run",
        ])
        .code(0);
    done.out_says(&["os.pipe@1 10 ", "os.shell-8@1 3 ", "1 min 0 s"]);
    assert!(!bed.store().exists());
}

#[test]
fn what_was_set_is_said_beside_a_name_that_says_something_else() {
    let bed = Bed::new();
    let args = [
        "run",
        "sysbench",
        "--copies",
        "1",
        "--set",
        "cpu.prime.max_prime=20000",
        "--set",
        "memory.block-write.block_size=1M",
    ];
    let planned = bed.run(&[&args[..], &["--dry-run"]].concat()).code(0);
    let planned = planned.out_has(&[
        "primes below 10000; set otherwise: max_prime 20000 in place of 10000",
        "; set otherwise: block_size 1 MiB in place of 1 KiB",
    ]);
    assert_eq!(
        planned.out.matches("set otherwise").count(),
        2,
        "{}",
        planned.out
    );
    bed.replay("one", "1,2,3");
    let shown = bed.run(&["show", "one"]).code(0);
    shown.out_has(&["* set otherwise", "series 1,2,3 in place of"]);
}

#[test]
fn what_is_no_test_hints_the_tests_that_were_meant() {
    let bed = Bed::new();
    bed.run(&["run", "memory.latency"])
        .code(2)
        .err_has(&["`memory.latency`", "nearest: memory.latency-"]);
    let args = [
        "run",
        "memory.mbw-memcpy",
        "--set",
        "mbw.size=1G",
        "--dry-run",
    ];
    bed.run(&args)
        .code(2)
        .err_has(&["set `mbw.size`", "nearest: memory.mbw-memcpy.size"]);
}

#[test]
fn the_program_carries_the_licences_of_what_is_linked_into_it() {
    let done = Bed::new().run(&["licences"]).code(0);
    let done = done.out_has(&["the kurabe authors", "SQLite", "Rust standard library"]);
    let lock = include_str!("../../../../Cargo.lock");
    let lines: Vec<&str> = lock.lines().collect();
    for name in ["blake3", "clap", "libsqlite3-sys", "serde_json", "zstd-sys"] {
        let at = lines
            .iter()
            .position(|line| *line == format!("name = \"{name}\""));
        let version = at.and_then(|at| lines[at + 1].split('"').nth(1)).unwrap();
        assert!(
            done.out.contains(&format!("\n{name} {version} (")),
            "{name}"
        );
    }
}

#[test]
fn lists_name_what_there_is() {
    let bed = Bed::new();
    bed.run(&["list", "tests"]).code(0).out_has(&[
        "os.pipe",
        "fs.copy-4096",
        "selftest.replay",
        "for developers: ",
    ]);
    bed.run(&["list", "profiles"])
        .code(0)
        .out_has(&["quick", "unixbench"]);
    bed.run(&["list", "metrics"])
        .code(0)
        .out_has(&["fs.copy:bytes_per_s", "bytes_per_s"]);
    let none = bed.run(&["list", "runs"]).code(0).err_has(&["no runs"]);
    assert_eq!(none.out, "");
    bed.replay("one", "1,2,3");
    bed.run(&["list"])
        .code(0)
        .out_has(&["label", "headline", "one", "selftest.replay"]);
}

#[test]
fn a_list_lines_up_whatever_the_script_of_its_labels() {
    let bed = Bed::new();
    for label in ["東京リージョン", "frankfurt"] {
        let line = ["run", "selftest.replay", "--passes", "1", "--label", label];
        bed.run(&line).code(0);
    }
    let list = bed.run(&["list"]).code(0).out;
    let columns = |c: char| if c.is_ascii() { 1 } else { 2 };
    let before = |line: &str| {
        let at = line.find(" 202").or(line.find(" when"))?;
        Some(line[..at].chars().map(columns).sum())
    };
    let before: Vec<Option<u32>> = list.lines().map(before).collect();
    assert!(
        before.len() == 3 && before[0].is_some() && before.iter().all(|at| *at == before[0]),
        "{list}"
    );
}

#[test]
fn the_list_of_runs_shows_the_latest_and_says_how_to_see_more() {
    let bed = Bed::new();
    bed.replay("first", "1");
    bed.replay("second", "2");
    let latest = bed.run(&["list", "--last", "1"]).code(0).err_has(&[
        "the latest 1 of 2 runs; `kurabe list --all` shows every run, `--last N` so many",
    ]);
    assert!(latest.out.contains("second") && latest.out.lines().count() == 2);
    for all in [&["list", "--all"][..], &["list"], &["list", "--last", "2"]] {
        let done = bed.run(all).code(0);
        assert_eq!((done.out.lines().count(), done.err.as_str()), (3, ""));
    }
    bed.run(&["list", "tests", "--last", "3"])
        .code(2)
        .err_has(&["`--last` are about runs"]);
    bed.run(&["list", "--last", "0"]).code(2);

    let export = bed.run(&["export", "first"]).code(0).out;
    let mut run = store::export::read(&export).unwrap();
    let kept = store::Store::open(&bed.store()).unwrap();
    for n in 10..60 {
        run.meta.id = format!("20200101-0000{n}-aaaa");
        run.meta.started.0 = n;
        kept.import(&run).unwrap();
    }
    drop(kept);
    let fifty = bed
        .run(&["list"])
        .code(0)
        .err_has(&["the latest 50 of 52 runs"]);
    assert_eq!(fifty.out.lines().count(), 51);
    assert!(fifty.out.contains("first") && fifty.out.contains("000012-aaaa"));
}

#[test]
fn a_run_is_found_by_id_prefix_label_and_age() {
    let bed = Bed::new();
    bed.replay("first", "1");
    bed.replay("second", "2");
    let id = |run: &str| {
        let text = bed.run(&["show", run, "--json"]).code(0).out;
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        document["run"]["id"].as_str().unwrap().to_owned()
    };
    assert_eq!(id("latest"), id("second"));
    assert_eq!(id("latest~1"), id("first"));
    assert_eq!(id(&id("first")), id("first"));
    bed.run(&["show", "latest~2"])
        .code(2)
        .err_has(&["latest~2"]);
    bed.run(&["show", "secnod"])
        .code(2)
        .err_has(&["secnod", "second"]);
    bed.run(&["show", "2"]).code(2).err_has(&["may mean"]);
}

#[test]
fn export_and_import_carry_a_run_to_another_store() {
    let (here, there) = (Bed::new(), Bed::new());
    here.replay("moved", "100,101,99,100,102");
    let file = there.path().join("run.json");
    let path = file.to_str().unwrap();
    here.run(&["export", "moved", "-o", path]).code(0);
    here.run(&["export", "moved", "-o", path])
        .code(2)
        .err_has(&["overwrites no files"]);
    there.run(&["import", path]).code(0).err_has(&["kept run"]);
    there
        .run(&["import", path])
        .code(0)
        .err_has(&["was kept already"]);
    let csv = |bed: &Bed, run: &str| {
        bed.run(&["show", run, "--format", "csv-rounds"])
            .code(0)
            .out
    };
    assert_eq!(csv(&here, "moved"), csv(&there, "moved"));
    assert_eq!(
        csv(&here, "moved"),
        csv(&here, path),
        "an exported file is a run too"
    );
}

#[test]
fn foreign_and_damaged_files_are_not_imported() {
    let bed = Bed::new();
    let import = |text: &str| {
        std::fs::write(bed.path().join("f.json"), text).unwrap();
        bed.run(&["import", "f.json"]).code(2)
    };
    import("").err_has(&["f.json"]);
    import("{\"format\":").err_has(&["line 1"]);
    import("{\"results\":[]}").err_has(&["kurabe export"]);
    bed.run(&["import", "missing.json"])
        .code(2)
        .err_has(&["missing.json", "No such file"]);
    assert!(!bed.store().exists());
}

#[test]
fn doctor_says_what_is_known_in_words_and_json() {
    let bed = Bed::new();
    bed.run(&["doctor"])
        .code(0)
        .out_has(&["CPU", "memory", "kernel", "storage"]);
    let done = bed.run(&["doctor", "--json"]).code(0);
    let facts: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    assert!(facts.is_object());
    bed.run(&["doctor", "--dir", "missing"])
        .code(4)
        .err_has(&["missing"]);
}

#[test]
fn completions_come_for_every_shell() {
    let bed = Bed::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        bed.run(&["completions", shell])
            .code(0)
            .out_has(&["kurabe", "KURABE_COMPLETE"]);
    }
}

#[test]
fn text_speaks_the_language_of_the_locale_or_of_the_option() {
    let bed = Bed::new();
    bed.replay("r", "1");
    let japanese = bed.run(&["show", "--lang", "ja"]).code(0).out;
    assert!(!japanese.is_ascii());
    let from_locale = bed
        .command(&["show"])
        .env("LANG", "ja_JP.UTF-8")
        .output()
        .unwrap();
    assert_eq!(String::from_utf8(from_locale.stdout).unwrap(), japanese);
    assert!(bed.run(&["show"]).code(0).out.is_ascii());
}

#[test]
fn colour_is_added_only_where_it_is_wanted() {
    let bed = Bed::new();
    bed.replay("r", "1");
    assert!(
        !bed.run(&["show"]).code(0).out.contains('\u{1b}'),
        "no terminal, no colour"
    );
    assert!(
        bed.run(&["show", "--color", "always"])
            .code(0)
            .out
            .contains('\u{1b}')
    );
    let no_color = bed
        .command(&["show"])
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    assert!(!no_color.stdout.contains(&0x1b));
}

#[test]
fn help_and_version_go_to_standard_output() {
    let bed = Bed::new();
    bed.run(&["--version"]).code(0).out_has(&["kurabe"]);
    bed.run(&["run", "--help"])
        .code(0)
        .out_has(&["--budget", "--copies"]);
    bed.run(&[]).code(2).err_has(&["Usage"]);
}

#[test]
fn help_and_version_that_cannot_be_written_are_an_error() {
    let bed = Bed::new();
    for args in [
        &["--help"][..],
        &["help"],
        &["help", "run"],
        &["run", "--help"],
        &["--version"],
        &["list", "tests"],
    ] {
        let full = std::fs::OpenOptions::new()
            .write(true)
            .open("/dev/full")
            .unwrap();
        let mut command = bed.command(args);
        let done: Done = command.stdout(full).output().unwrap().into();
        done.code(4)
            .err_has(&["write to standard output: No space left"]);
        // Nobody reads any more: that is no error.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let done: Done = bed.command(args).stdout(writer).output().unwrap().into();
        assert_eq!(done.code(0).err, "", "{args:?}");
    }
}

#[test]
fn imported_ids_must_be_ids_and_only_files_are_read() {
    let (here, there) = (Bed::new(), Bed::new());
    here.replay("r", "1");
    let text = here.run(&["export", "r"]).code(0).out;
    let mut run: serde_json::Value = serde_json::from_str(&text).unwrap();
    for id in ["latest", "\u{1b}[31m../x", "a b"] {
        run["run"]["meta"]["id"] = id.into();
        std::fs::write(there.path().join("f.json"), run.to_string()).unwrap();
        let done = there
            .run(&["import", "f.json"])
            .code(2)
            .err_has(&["cannot be the id"]);
        assert!(!done.err.contains('\u{1b}'));
    }
    there
        .run(&["import", "/dev/zero"])
        .code(2)
        .err_has(&["no regular file"]);
    there.run(&["run", "/dev/zero.toml"]).code(2);
    assert!(!there.store().exists());
}

#[test]
fn a_gate_that_compares_nothing_is_not_passed() {
    let bed = Bed::new();
    bed.replay("a", "1");
    bed.run(&["run", "selftest.sleep", "--passes", "1", "--label", "b"])
        .code(0);
    bed.run(&["compare", "a", "b", "--fail-if", "worse"])
        .code(4);
}

#[test]
fn a_value_that_a_parameter_does_not_take_is_wrong_usage_and_named_with_what_it_takes() {
    let bed = Bed::new();
    for (test, set, takes) in [
        ("cpu.sha256", "size=0", "64 bytes to 256 MiB"),
        ("cpu.zstd-compress", "size=1G", "64 bytes to 256 MiB"),
        ("cpu.prime", "max_prime=3", "from 4 to"),
        ("cpu.prime", "max_prime=2147483648", "from 4 to"),
        ("memory.latency-8m", "size=0", "from 4 KiB to 256 GiB"),
        ("memory.loaded-100", "size=1", "0, or a size from 4 KiB"),
        ("memory.triad", "size=1", "0, or a size from 4 KiB"),
        (
            "memory.block-write",
            "block_size=7",
            "a multiple of 8 bytes",
        ),
        ("memory.mbw-memcpy", "size=1", "a multiple of 8 bytes"),
        ("fs.copy-256", "bufsize=0", "from 1 to"),
    ] {
        let name = format!("{test}.{set}");
        let args = ["run", test, "--set", &name, "--passes", "1", "--dry-run"];
        let (param, value) = set.split_once('=').unwrap();
        bed.run(&args).code(2).err_has(&[
            &format!("set `{test}.{param}`"),
            &format!("does not take `{value}`"),
            takes,
        ]);
    }
}

#[test]
fn words_that_are_no_unicode_are_wrong_usage_too() {
    use std::os::unix::ffi::OsStrExt;
    let bed = Bed::new();
    let odd = std::ffi::OsStr::from_bytes(b"\xff");
    for before in [&[][..], &["--lang", "ja", "run", "--pases", "3"]] {
        let ended: crate::bed::Done = bed.command(before).arg(odd).output().unwrap().into();
        assert_eq!(ended.code, Some(2), "{ended:#?}");
    }
    bed.run(&["--lang", "ja", "run", "--threads", "4"])
        .code(2)
        .err_has(&["'--copies'"]);
}

#[test]
fn help_shows_commands_in_groups_and_examples_that_plan() {
    let bed = Bed::new();
    let page = bed.run(&["--help"]).code(0);
    let page = page.out_has(&["Measure:\n  run ", "Look:\n", "Keep:\n", "\nOptions:\n"]);
    assert_eq!(page.out.matches("\n  compare ").count(), 1, "{}", page.out);
    assert!(
        page.out.lines().all(|line| line.len() <= 100),
        "{}",
        page.out
    );
    let help = bed.run(&["run", "--help"]).code(0);
    help.out_has(&["How much:\n", "Names:\n", "Output:\n", "Examples:\n"]);
    let mut planned = 0;
    for command in ["run", "soak"] {
        let help = bed.run(&[command, "-h"]).code(0).out;
        let (_, examples) = help.split_once("Examples:").unwrap();
        for line in examples
            .lines()
            .filter(|line| line.starts_with("  kurabe "))
        {
            let words = line.replace('\'', "").replace("/mnt", ".");
            let words: Vec<&str> = words.split_whitespace().skip(1).collect();
            bed.run(&[&words[..], &["--dry-run"]].concat()).code(0);
            planned += 1;
        }
    }
    assert_eq!(planned, 6);
}
