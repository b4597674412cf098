//! What other programs read of runs, and runs that travel.

use crate::bed::Bed;
use crate::comparisons::{copy, on_machine, times};
use std::fs;

/// A run called `server-a` of a machine with a name that nothing else has, in `a.json`.
fn named() -> Bed {
    let bed = Bed::new();
    bed.replay("server-a", "100,101,99,100,102,98,100,101,99");
    let text = bed.run(&["export", "server-a"]).code(0).out;
    let mut export: serde_json::Value = serde_json::from_str(&text).unwrap();
    let host = serde_json::json!({"value": "web7.acme.example", "missing": null});
    export["run"]["host"]["hostname"] = host;
    fs::write(bed.path().join("a.json"), export.to_string()).unwrap();
    bed
}

#[test]
fn programs_that_keep_series_get_a_run_without_whose_machine_it_is() {
    let bed = named();
    let show = |format| {
        bed.run(&["show", "./a.json", "--format", format])
            .code(0)
            .out
    };
    assert!(show("text").contains("web7"));
    let prom = show("openmetrics");
    assert!(prom.ends_with("\n# EOF\n"), "{prom}");
    let line = r#"{test="selftest.replay",copies="1",metric="ops_per_s"} 100.0"#;
    let line = format!("kurabe_result_operations_per_second{line}");
    assert!(prom.lines().any(|found| found == line), "{prom}");
    let points = show("influx");
    let tags = "copies=1,label=server-a,metric=ops_per_s,test=selftest.replay,unit=ops_per_s";
    let begin = format!("kurabe_result,{tags} value=100.0,");
    assert!(points.starts_with(&begin), "{points}");
    let dir = bed.path().to_str().unwrap();
    for text in [&prom, &points] {
        assert!(!text.contains("web7") && !text.contains(dir), "{text}");
    }
}

#[test]
fn what_is_made_to_be_published_does_not_say_whose_machine_it_is_unless_that_is_asked_for() {
    let bed = named();
    copy(&bed, "server-a", "b", |run| {
        on_machine(run, "b");
        run["host"]["hostname"] = serde_json::json!({"value": "db3.acme.example", "missing": null});
    });
    let document: serde_json::Value =
        serde_json::from_str(&bed.run(&["show", "b", "--json"]).code(0).out).unwrap();
    let id = document["run"]["id"].as_str().unwrap();
    bed.run(&["label", "b", "--none"]).code(0);
    let dir = fs::canonicalize(bed.path()).unwrap();
    let tells = |text: &str| {
        let mut names = ["web7", "db3", "a.json", dir.to_str().unwrap()].into_iter();
        names.any(|name| text.contains(name))
    };
    let check = |args: &[&str], format: &str, expect: bool| {
        let done = bed.run(&[args, &["--format", format]].concat());
        assert!(!done.out.is_empty(), "{done:?}");
        assert_eq!(tells(&done.out), expect, "{args:?} {format}: {}", done.out);
    };
    let full = ["show", "./a.json", "--full"];
    check(&full, "text", true);
    check(&full, "markdown", false);
    check(
        &[&full[..], &["--with-identity"]].concat(),
        "markdown",
        true,
    );
    for format in [
        "short-markdown",
        "csv",
        "csv-rounds",
        "openmetrics",
        "influx",
        "blog",
    ] {
        check(&full[..2], format, false);
    }
    let both = ["compare", "./a.json", id, "--full"];
    check(&both, "markdown", false);
    let done = bed.run(&[&both[..], &["--format", "markdown"]].concat());
    assert!(done.out.contains("B against server-a"), "{done:?}");
    let named = bed.run(&[&both[..], &["--format", "markdown", "--with-identity"]].concat());
    assert!(
        named.out.contains(&format!("{id} against server-a")),
        "{named:?}"
    );
    let ignored = bed.run(&["show", "./a.json", "--with-identity"]).code(2);
    ignored.err_has(&["`--format text` leaves nothing out"]);
}

#[test]
fn an_article_has_the_price_of_the_catalogue_and_not_whose_machine_it_is() {
    let bed = named();
    copy(&bed, "server-a", "server-b", |run| {
        on_machine(run, "b");
        times(run, 2.0);
    });
    let catalogue = "base = \"JPY\"\n[[offer]]\nid = \"a\"\nprovider = \"Cloud A\"\nplan = \"small\"\n\
                     price_per_month = 1315\ncurrency = \"JPY\"\ntax = \"included\"\n";
    fs::create_dir_all(bed.path().join(".config/kurabe")).unwrap();
    fs::write(bed.path().join(".config/kurabe/offers.toml"), catalogue).unwrap();
    let home = format!("HOME={}", bed.path().display());
    let run = |args: &[&str]| bed.behind(&["env", &home], args);
    run(&["label", "server-b", "--offer", "a"]).code(0);
    let one = run(&["show", "./a.json", "--format", "blog", "--lang", "ja"]).code(0);
    assert!(one.out.starts_with("### 計測手段\n"), "{}", one.out);
    let two = ["report", "./a.json", "server-b", "--format", "blog"];
    let text = run(&two).code(0).out;
    for expect in [
        "| item | server-a | server-b |",
        "| provider and plan | - | Cloud A, small |",
        "| a month, with tax | - | 1315 JPY |",
        "| selftest.replay | 100 /s +-1 % | **200 /s +-1 %** |",
    ] {
        assert!(text.lines().any(|line| line == expect), "{expect}:\n{text}");
    }
    let dir = bed.path().to_str().unwrap();
    for text in [&one.out, &text] {
        assert!(!text.contains("web7") && !text.contains(dir), "{text}");
    }
    run(&[&two[..], &["-o", "article.md"]].concat()).code(0);
    let file = fs::read_to_string(bed.path().join("article.md")).unwrap();
    assert_eq!(file, text);
    // Markdown is read where one types; a page for a browser is not.
    let on_terminal = bed.on_terminal(&two, "").code(0);
    assert!(
        on_terminal.out.contains("### Results"),
        "{}",
        on_terminal.out
    );
    run(&[
        "report",
        "./a.json,server-b",
        "server-b",
        "--format",
        "blog",
    ])
    .code(2);
}

#[test]
fn every_run_travels_to_an_empty_store_and_nothing_is_overwritten() {
    let (here, there) = (Bed::new(), Bed::new());
    here.run(&["export", "--all", "-o", "all"])
        .code(2)
        .err_has(&["does not exist"]);
    here.replay("first", "100,101,99,100,102,98");
    here.replay("second", "200,201,199,200,202,198");
    here.replay("second", "300,301,299,300,302,298");
    here.run(&["label", "latest", "--none"]).code(0);
    here.run(&["export", "--all"])
        .code(2)
        .err_has(&["--output"]);
    here.run(&["export", "first", "--all", "-o", "all"]).code(2);
    here.run(&["export", "--all", "-o", "all"])
        .code(0)
        .err_has(&["wrote 3 runs to all"]);
    let dir = here.path().join("all");
    let files = || -> Vec<(String, String)> {
        let all = fs::read_dir(&dir)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut all: Vec<_> = all
            .map(|path| {
                (
                    path.display().to_string(),
                    fs::read_to_string(&path).unwrap(),
                )
            })
            .collect();
        all.sort();
        all
    };
    let written = files();
    let mut import = vec!["import"];
    import.extend(written.iter().map(|(path, _)| path.as_str()));
    there.run(&import).code(0);
    assert_eq!(there.listed(), here.listed());
    // What came is what went, to the last round.
    there.run(&["export", "--all", "-o", "again"]).code(0);
    for (path, text) in &written {
        let again = there
            .path()
            .join("again")
            .join(path.rsplit('/').next().unwrap());
        assert_eq!(fs::read_to_string(again).unwrap(), *text);
    }
    // One that is in the way: nothing is written, not even where there is room.
    fs::remove_file(&written[0].0).unwrap();
    fs::write(&written[2].0, "mine").unwrap();
    here.run(&["export", "--all", "-o", "all"])
        .code(2)
        .err_has(&["overwrites no files"]);
    assert_eq!(files().len(), 2);
    assert_eq!(fs::read_to_string(&written[2].0).unwrap(), "mine");
}

#[test]
fn where_all_runs_cannot_go_is_said_with_the_place_in_the_way() {
    let bed = named();
    fs::write(bed.path().join("file"), "mine").unwrap();
    let export = |to: &str| bed.run(&["export", "--all", "-o", to]).code(2);
    export("file").err_has(&["error: write `file`: "]);
    export("none/there").err_has(&["error: write `none/there`: "]);
    bed.run(&["rm", "server-a", "--yes"]).code(0);
    export("all").err_has(&["none is kept in", "hint: "]);
    assert!(!bed.path().join("all").exists());
}

#[test]
fn every_command_of_the_guide_works() {
    let guide = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/export.md");
    let text = fs::read_to_string(guide).unwrap();
    let bed = named();
    copy(&bed, "server-a", "server-b", |run| on_machine(run, "b"));
    let blocks = text.split("```sh\n").skip(1);
    let lines = blocks.flat_map(|block| block.split("```").next().unwrap_or_default().lines());
    let mut told = 0;
    for line in lines {
        let script = format!("kurabe() {{ \"$0\" \"$@\"; }}\n{line}");
        bed.behind(&["sh", "-c", &script], &[]).code(0);
        let file = line
            .split(" #")
            .next()
            .unwrap()
            .split_whitespace()
            .last()
            .unwrap();
        let made = bed.path().join(file);
        assert!(
            file.contains('*') || made.metadata().unwrap().len() > 0,
            "{line}"
        );
        told += 1;
    }
    assert_eq!(told, 11);
}
