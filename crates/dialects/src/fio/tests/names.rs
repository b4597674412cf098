//! Every option of fio 3.33 by its name, from a list of our own that says how it was made.

use super::*;
use crate::fio::PROGRAM;
use crate::fio::options;

/// The names of the list, each with its part.
fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
    let mut part = "";
    include_str!("../../../testdata/fio/options-3.33.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(move |line| {
            if line.starts_with('[') {
                part = line;
                return Vec::new();
            }
            line.split_whitespace().map(|name| (part, name)).collect()
        })
}

#[test]
fn every_option_of_fio_is_known_by_its_name() {
    let is_known = |(part, name): &(&str, &str)| match *part {
        "[program]" => PROGRAM.iter().any(|option| option.name == *name),
        _ => options::find(name).is_some(),
    };
    let unknown: Vec<_> = listed().filter(|entry| !is_known(entry)).collect();
    assert_eq!(unknown, []);
    assert!(listed().count() > 350);
}

#[test]
fn an_option_of_another_engine_is_refused_as_it_was_written() {
    let check = |text: &str, words: &str| {
        let error = file(text).unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    };
    check(
        "[a]\nsize=1m\nhttp_s3_region=x\n",
        "line 3: option `http_s3_region` is refused: other engines",
    );
    let error = line("--name=a --size=1m --verb=read")
        .unwrap_err()
        .to_string();
    assert!(error.contains("option `verb` is refused"), "{error}");
    // What such an option is called makes no abbreviation ambiguous.
    let error = line("--name=a --size=1m --cont=all")
        .unwrap_err()
        .to_string();
    assert!(error.contains("option `cont` is refused"), "{error}");
    let plan = line("--name=a --size=1m --con=all").unwrap();
    assert!(first(&plan).has("continue_on_error"));
}

#[test]
fn a_refused_option_that_asks_for_nothing_is_noted() {
    for def in options::all() {
        let options::Status::Refused { but, .. } = def.status else {
            continue;
        };
        for value in but {
            let plan = file(&format!("[a]\nsize=1m\n{}={value}\n", def.name)).unwrap();
            let note = format!("`{}` asks for nothing with this value", def.name);
            assert!(plan.notes.iter().any(|n| n.text.contains(&note)), "{note}");
        }
    }
    assert!(file("[a]\nsize=1m\nflow_watermark=8\n").is_err());
}
