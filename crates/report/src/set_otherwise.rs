//! Parameters that a run set to something else than its tests have by themselves.
//!
//! A test's name and title speak of its own parameters: `memory.latency-512m` is one of 512 MiB until somebody sets
//! another size. So every page says what was set, and in place of what. Tests that were set alike share a line.

use crate::comparison::{Party, Sides};
use crate::grouped::grouped;
use crate::lang::{Lang, say};
use crate::page::block::MARK;
use dialects::printable::printable;
use model::params::ParamValue;
use model::plan::{Plan, PlannedCase};
use model::units::Bytes;
use std::collections::HashSet;

/// More tests than this, when they are all of the plan's and set alike, are called all.
const NAMED_MAX: usize = 3;

/// What was set for `case`, in English: `size 8 MiB in place of 512 MiB`. `None` where its parameters are its own.
pub fn parameters(case: &PlannedCase) -> Option<String> {
    of_case(case, Lang::En)
}

/// The test's title, in English, and behind it what was set: its own parameters are what a title speaks of.
pub fn title(case: &PlannedCase) -> String {
    parameters(case).map_or_else(
        || case.title.clone(),
        |set| format!("{}; set otherwise: {set}", case.title),
    )
}

/// What was set, in any language.
pub(crate) fn of_case(case: &PlannedCase, lang: Lang) -> Option<String> {
    let set = case.set_otherwise().map(|(name, value, own)| {
        let value = value.readable();
        let own = match own {
            // A size of 0 leaves it to the test.
            ParamValue::Size(Bytes(0)) => lang.pick("its own choice", "自動の値").to_owned(),
            own => own.readable(),
        };
        say!(
            lang,
            "{name} {value} in place of {own}",
            "{name} は {own} の代わりに {value}"
        )
    });
    let said: Vec<String> = set.collect();
    (!said.is_empty()).then(|| printable(&said.join(", ")))
}

fn heading(lang: Lang) -> &'static str {
    lang.pick("set otherwise", "変更した設定")
}

/// One line for the tests that were set alike: `memory.read, memory.write: size 8 MiB in place of 512 MiB`.
pub(crate) fn lines(plan: &Plan, lang: Lang) -> Vec<String> {
    let mut tests: HashSet<&str> = HashSet::new();
    let first = plan.cases.iter().filter(|case| tests.insert(&case.id.test));
    let set = first.filter_map(|case| Some((of_case(case, lang)?, case.id.test.as_str())));
    let found = grouped(set);
    found
        .into_iter()
        .map(|(said, names)| {
            let who = if names.len() == tests.len() && names.len() > NAMED_MAX {
                lang.pick("all tests", "全テスト").to_owned()
            } else {
                printable(&names.join(", "))
            };
            format!("{who}: {said}")
        })
        .collect()
}

/// The lines as a fact of the page.
pub(crate) fn fact(plan: &Plan, lang: Lang) -> Option<(String, String)> {
    let lines = lines(plan, lang);
    let name = format!("{} {}", MARK.trim_start(), heading(lang));
    (!lines.is_empty()).then(|| (name, lines.join("; ")))
}

/// What the sides of a comparison set: once where both did the same, each by its name otherwise.
pub(crate) fn of_sides(sides: Sides<'_>, lang: Lang) -> Vec<String> {
    let said = |party: &Party<'_>| lines(&party.first().plan, lang).join("; ");
    let [here, there] = sides.both().map(said);
    let heading = heading(lang);
    if here == there {
        let both = (!here.is_empty()).then(|| format!("{heading}: {here}"));
        return both.into_iter().collect();
    }
    let names = sides.names(lang).into_iter();
    names
        .zip([here, there])
        .filter(|(_, said)| !said.is_empty())
        .map(|(name, said)| format!("{name}: {heading}: {said}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;
    use crate::testkit::{self, BYTES};
    use crate::view::view;
    use model::record::Run;

    /// Tests of 8 MiB, which is the own size of those that are not in `set`.
    fn run(tests: &[&str], set: &[&str]) -> Run {
        let size = |bytes| [("size".to_owned(), ParamValue::Size(Bytes(bytes)))];
        let mut run = testkit::empty();
        for test in tests {
            let case = testkit::add_case(&mut run, test, 1, "off", &[BYTES]);
            let planned = run.plan.cases.last_mut().unwrap();
            planned.params = size(8 << 20).into_iter().collect();
            if set.contains(test) {
                planned.in_place_of = size(512 << 20).into_iter().collect();
            }
            for (pass, value) in (1..).zip(testkit::six_around(2e10)) {
                testkit::add_round(&mut run, &case, pass, Ok(&[(BYTES.0, value)]));
            }
        }
        run
    }

    #[test]
    fn the_page_says_what_was_set_and_marks_the_result() {
        let run = run(
            &["memory.latency-512m", "memory.read"],
            &["memory.latency-512m"],
        );
        let view = view(&run);
        let check = |width, lang, fact: &str, row: &str| {
            let style = Style {
                width,
                color: false,
            };
            let text = testkit::text(&view, style, lang);
            assert!(text.contains(fact), "{fact}: {text}");
            assert!(text.contains(row), "{row}: {text}");
            assert!(!text.contains("memory.read@1 *"), "{text}");
        };
        let said = "memory.latency-512m: size 8 MiB in place of 512 MiB\n";
        check(120, Lang::En, said, "memory.latency-512m@1 *  ");
        check(60, Lang::En, "* set otherwise", "memory.latency-512m@1 *  ");
        let said = "memory.latency-512m: size は 512 MiB の代わりに 8 MiB\n";
        check(120, Lang::Ja, said, "memory.latency-512m@1 *  ");
        let csv = crate::csv::metrics(&view);
        let title = "Title of memory.latency-512m; set otherwise: size 8 MiB in place of 512 MiB";
        assert!(csv.contains(title), "{csv}");
        assert_eq!(csv.matches("set otherwise").count(), 1, "{csv}");
        let page = testkit::markdown(&view, Lang::En);
        assert!(
            page.contains("- \\* set otherwise: memory.latency-512m: size 8 MiB in"),
            "{page}"
        );
        assert!(page.contains("| `memory.latency-512m@1` \\* |"), "{page}");
        assert!(page.contains("| `memory.read@1` |"), "{page}");
    }

    #[test]
    fn a_size_that_a_test_leaves_open_is_its_own_choice() {
        let mut run = run(&["storage.randread-4k"], &[]);
        let none = [("size".to_owned(), ParamValue::Size(Bytes(0)))];
        run.plan.cases[0].in_place_of = none.into_iter().collect();
        let said = [Lang::En, Lang::Ja].map(|lang| lines(&run.plan, lang).concat());
        assert_eq!(
            said,
            [
                "storage.randread-4k: size 8 MiB in place of its own choice",
                "storage.randread-4k: size は 自動の値 の代わりに 8 MiB"
            ]
        );
    }

    #[test]
    fn tests_that_were_set_alike_share_a_line() {
        let check = |tests: &[&str], set: &[&str], expect: &[&str]| {
            let found = lines(&run(tests, set).plan, Lang::En);
            assert_eq!(found, expect);
        };
        check(&["a", "b"], &[], &[]);
        check(
            &["a", "b"],
            &["a", "b"],
            &["a, b: size 8 MiB in place of 512 MiB"],
        );
        check(
            &["a", "b", "c", "d"],
            &["a", "b", "c", "d"],
            &["all tests: size 8 MiB in place of 512 MiB"],
        );
        check(
            &["a", "b", "c", "d", "e"],
            &["a", "b", "c", "d"],
            &["a, b, c, d: size 8 MiB in place of 512 MiB"],
        );
    }

    #[test]
    fn a_comparison_says_what_both_sides_or_one_of_them_set() {
        let plain = run(&["memory.read"], &[]);
        let set = run(&["memory.read"], &["memory.read"]);
        let said = |base: &Run, other: &Run| {
            let (base, other) = (
                crate::party::Party::one(base),
                crate::party::Party::one(other),
            );
            of_sides(
                Sides {
                    base: &base,
                    other: &other,
                },
                Lang::En,
            )
        };
        assert_eq!(said(&plain, &plain), Vec::<String>::new());
        assert_eq!(
            said(&set, &set),
            ["set otherwise: memory.read: size 8 MiB in place of 512 MiB"]
        );
        let one = said(&plain, &set);
        let [line] = &one[..] else { panic!("{one:?}") };
        let (name, rest) = line.split_once(": ").unwrap();
        assert!(!name.starts_with("set"), "{line}");
        let expect = "set otherwise: memory.read: size 8 MiB in place of 512 MiB";
        assert_eq!(rest, expect);
    }
}
