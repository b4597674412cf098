//! `kurabe report`: a file that others read.

use crate::bed::Bed;
use std::fs;

fn two() -> Bed {
    let bed = Bed::new();
    bed.replay("server-a", "100,101,99,100,102,98,100,101,99");
    bed.replay("server-b", "100,101,99,100,102,98,100,101,99");
    bed
}

fn names_in(bed: &Bed) -> Vec<String> {
    let all = fs::read_dir(bed.path()).unwrap();
    let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names
        .filter(|name| name.starts_with("r.") || name.contains("part"))
        .collect()
}

#[test]
fn a_report_is_one_file_and_the_same_on_standard_output() {
    let bed = two();
    bed.run(&["report", "server-a", "server-b", "-o", "r.html"])
        .code(0)
        .err_has(&["wrote r.html"]);
    let file = fs::read_to_string(bed.path().join("r.html")).unwrap();
    assert!(file.starts_with("<!DOCTYPE html>") && file.ends_with("</html>\n"));
    let out = bed.run(&["report", "server-a", "server-b"]).code(0).out;
    assert_eq!(out, file);
    assert_eq!(names_in(&bed), ["r.html"]);
    let picture = bed
        .run(&["report", "server-a", "server-b", "--format", "svg"])
        .code(0)
        .out;
    assert!(picture.starts_with("<?xml") && picture.contains("server-b against server-a"));
    let ja = bed.run(&["report", "--lang", "ja", "server-a"]).code(0).out;
    assert!(ja.contains("<html lang=\"ja\">"));
}

#[test]
fn what_is_in_the_way_is_said_and_nothing_is_lost() {
    let bed = two();
    fs::write(bed.path().join("r.html"), "mine").unwrap();
    let refused = |file: &str, why: &str| {
        let done = bed.run(&["report", "server-a", "-o", file]).code(2);
        done.err_has(&["error: write `", why]);
    };
    refused("r.html", "it exists already");
    refused(".", "it is a directory");
    refused("new/", "it is called as a directory is");
    refused("none/r.html", "No such file or directory");
    assert_eq!(
        fs::read_to_string(bed.path().join("r.html")).unwrap(),
        "mine"
    );
    assert_eq!(names_in(&bed), ["r.html"]);
    bed.run(&["report", "nobody"]).code(2).err_has(&["nobody"]);
    bed.run(&["report", "server-a", "server-a"])
        .code(2)
        .err_has(&["both name the run"]);
}

#[test]
fn a_full_disk_leaves_no_half_of_a_file() {
    let bed = two();
    // A limit on the size of files ends a write as a full disk does.
    let done = bed.behind(
        &["sh", "-c", "ulimit -f 8; exec \"$@\"", "sh"],
        &["report", "server-a", "-o", "r.html"],
    );
    done.code(4).err_has(&["write `r.html`"]);
    assert!(names_in(&bed).is_empty(), "{:?}", names_in(&bed));
}

#[test]
fn nobody_reads_a_report_on_a_terminal() {
    let bed = two();
    let done = bed.on_terminal(&["report", "server-a"], "").code(2);
    assert!(done.out.contains("--output report.html"), "{}", done.out);
}

#[test]
fn whose_machine_it_is_stays_out_unless_that_is_asked_for() {
    let bed = two();
    bed.run(&["label", "server-b", "--none"]).code(0);
    let run: serde_json::Value =
        serde_json::from_str(&bed.run(&["show", "latest", "--json"]).code(0).out).unwrap();
    let host = run["run"]["host"]["hostname"]["value"]
        .as_str()
        .unwrap_or("localhost")
        .to_owned();
    let dir = fs::canonicalize(bed.path()).unwrap();
    let dir = dir.to_str().unwrap();
    let out = bed.run(&["report", "server-a", "latest"]).code(0).out;
    assert!(!out.contains(dir), "the work directory");
    let told = out
        .split(|c: char| !c.is_alphanumeric() && c != '-')
        .filter(|word| *word == host);
    assert_eq!(told.count(), 0, "{host}");
    assert!(out.contains("B against server-a"));
    let out = bed
        .run(&["report", "server-a", "latest", "--with-identity"])
        .code(0)
        .out;
    assert!(out.contains(dir));
}

#[test]
fn prices_are_those_of_the_catalogue_that_is_named() {
    let bed = two();
    let args = ["report", "server-a", "server-b", "--offers", "offers.toml"];
    bed.run(&args).code(2).err_has(&["offers.toml"]);
    let offer = "[[offer]]\nid = 'small'\nprovider = 'Cloud A'\nplan = 'S'\nprice_per_month = 5\n\
                 currency = 'USD'\ntax = 'included'\n";
    fs::write(
        bed.path().join("offers.toml"),
        format!("base = 'USD'\n{offer}"),
    )
    .unwrap();
    let without = bed.run(&args).code(0).out;
    assert!(!without.contains("Cloud A"));
    let named = ["label", "server-a", "--offer", "small"];
    bed.run(&[&named[..], &["--offers", "offers.toml"]].concat())
        .code(0);
    let with = bed.run(&args).code(0).out;
    let heading = with.split("Offer small: Cloud A, S, ").nth(1);
    let price = heading.and_then(|rest| rest.split(" a month with tax").next());
    assert!(
        price.is_some_and(|price| price.starts_with('5') && price.ends_with("USD")),
        "{price:?}"
    );
}
