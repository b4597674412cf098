//! The table of formats.

use super::*;
use crate::testkit;
use crate::view::view;

fn named(name: &str) -> &'static Format {
    FORMATS.iter().find(|format| format.name == name).unwrap()
}

#[test]
fn what_a_format_does_not_show_is_refused_with_those_that_do() {
    let check = |name: &str, kind, hint: &str| {
        let refused = named(name).check(kind).unwrap_err();
        assert!(refused.why.contains(&format!("`--format {name}`")));
        assert_eq!(refused.hint, hint, "{name}");
    };
    let of_plan = "a plan can be shown with `--format text` or `--format json`";
    for name in ["markdown", "short", "csv", "unixbench"] {
        check(name, Kind::Plan, of_plan);
    }
    for kind in Kind::ALL {
        let (can, cannot): (Vec<_>, Vec<_>) = FORMATS.iter().partition(|one| one.shows(kind));
        assert!(!can.is_empty() && !cannot.is_empty(), "{kind:?}");
        for format in can {
            assert_eq!(format.check(kind), Ok(()));
            let all = &cannot[0].check(kind).unwrap_err().hint;
            assert!(all.contains(&format!("`--format {}`", format.name)));
        }
    }
}

#[test]
fn a_name_stands_for_one_format_and_each_shows_something() {
    for format in FORMATS {
        let alike = FORMATS.iter().filter(|one| one.name == format.name);
        assert_eq!(alike.count(), 1, "{}", format.name);
        assert!(Kind::ALL.iter().any(|&kind| format.shows(kind)));
    }
}

#[test]
fn a_run_is_drawn_in_every_format_that_shows_runs() {
    let run = testkit::unixbench("off", 100.0);
    let view = view(&run);
    let look = Look {
        lang: Lang::En,
        style: Style::PLAIN,
        lines: Style::PLAIN,
        blocks: false,
        full: false,
    };
    for format in FORMATS {
        let drawn = format.draw(Shown::Run(&view), look);
        // It has none of the runs of fio, of the phases and of the load of which these tell.
        let of_others = ["yabs", "bonnie-csv", "dbench"].contains(&format.name);
        let is_shown = format.shows(Kind::Run) && !of_others;
        assert_eq!(drawn.is_ok(), is_shown, "{}", format.name);
        assert!(drawn.is_err() || drawn.unwrap().len() > 100);
    }
    let none = testkit::empty();
    for (name, lacks) in [
        ("unixbench", "none of UnixBench's"),
        ("yabs", "none of YABS'"),
        ("bonnie-csv", "none of bonnie++'s"),
        ("dbench", "none of dbench's"),
    ] {
        let refused = named(name).draw(Shown::Run(&crate::view::view(&none)), look);
        assert!(refused.unwrap_err().why.contains(lacks));
    }
}
