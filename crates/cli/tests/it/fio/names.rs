//! The names of options: what an installed fio 3.33 lists, what the list in the repository says, and what is known.

use super::beside::{FIO, missing};
use dialects::fio::options::{self, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

type Names = BTreeMap<String, BTreeSet<String>>;

fn say(arguments: &[&str]) -> String {
    #[expect(clippy::disallowed_methods, reason = "it prints a list and ends")]
    let done = Command::new(FIO).args(arguments).output().unwrap();
    String::from_utf8(done.stdout).unwrap()
}

/// What stands before the colon of each line that explains something.
fn explained(text: &str) -> BTreeSet<String> {
    let names = text.lines().filter_map(|line| line.split_once(':'));
    names.map(|(name, _)| name.trim().to_owned()).collect()
}

fn installed() -> Names {
    let mut names = Names::from([("[jobs]".to_owned(), explained(&say(&["--cmdhelp=all"])))]);
    for engine in say(&["--enghelp"]).lines().skip(1).map(str::trim) {
        let options = explained(&say(&[&format!("--enghelp={engine}")]));
        if !options.is_empty() {
            names.insert(format!("[engine {engine}]"), options);
        }
    }
    names
}

fn listed() -> Names {
    let mut names = Names::new();
    let mut part = String::new();
    let text = include_str!("../../../../dialects/testdata/fio/options-3.33.txt");
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        if line.starts_with('[') {
            line.clone_into(&mut part);
        } else {
            let words = line.split_whitespace().map(str::to_owned);
            names.entry(part.clone()).or_default().extend(words);
        }
    }
    names
}

#[test]
fn what_fio_lists_is_in_the_list_and_known() {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return;
    }
    let (installed, listed) = (installed(), listed());
    assert!(installed.len() > 5, "{installed:?}");
    for (part, names) in &installed {
        // A build may lack engines; those that it has are as listed.
        assert_eq!(Some(names), listed.get(part), "{part}");
        for name in names {
            assert!(options::find(name).is_some(), "{part} {name}");
        }
    }
}

#[test]
fn a_refused_option_asks_for_nothing_with_fios_own_default() {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return;
    }
    let mut compared = 0;
    for def in options::all() {
        let Status::Refused {
            but: [first, ..], ..
        } = def.status
        else {
            continue;
        };
        let help = say(&[&format!("--cmdhelp={}", def.name)]);
        let default = help
            .lines()
            .find_map(|line| line.trim().strip_prefix("default:"));
        // Options of engines are explained elsewhere.
        if let Some(default) = default {
            // A number without a default is 0.
            let default = default.trim().replace("no default", "0");
            assert_eq!(default, *first, "{}", def.name);
            compared += 1;
        }
    }
    assert!(compared > 15);
}
