//! Command lines of kurabe itself, for readers who want to measure something again.

use crate::printable::quoted;
use model::order::Order as _;
use model::plan::{CaseId, Plan, PlannedCase};
use model::spec::Nature;

/// The most tests that a command names one by one; beyond it, it names what the run was asked for.
const TESTS_NAMED: usize = 4;

/// The command that goes on with a run of this name, with the servers of its plans: both sides' of a duel.
pub fn go_on(name: &str, plans: &[&Plan]) -> String {
    let word = match plans {
        [plan, ..] if plan.soak.is_some() => "soak",
        [plan, ..] if plan.duel.is_some() => "duel",
        _ => "run",
    };
    resume(word, name, plans)
}

/// The same where the command is known.
pub fn resume(word: &str, name: &str, plans: &[&Plan]) -> String {
    format!("kurabe {word} --resume {name}{}", servers_of(plans))
}

/// What names the servers of these plans on a command line that goes on with them, with a space before it; nothing
/// where there are none. The password of an address is kept nowhere, and does not stand in it.
pub fn servers_of(plans: &[&Plan]) -> String {
    let one = |plan: &&Plan| {
        let server = quoted(&plan.servers().next()?.path);
        Some(match &plan.duel {
            Some(duel) => format!(" --{} db={server}", duel.side),
            None => format!(" --db {server}"),
        })
    };
    plans.iter().filter_map(one).collect()
}

/// The command that measures these cases of `plan` again, on `server` where they are of a server. `differences` are
/// parameters in which another run differs, by name, with the plan's value and the other's, as text: they are set to
/// the plan's.
pub fn again(
    plan: &Plan,
    cases: &[&CaseId],
    differences: &[(String, String, String)],
    server: Option<&str>,
) -> String {
    if let Some(arguments) = plan.of_fio() {
        let rest = arguments.iter().filter(|word| !is_passes(word));
        let rest: Vec<String> = rest.map(|word| quoted(word)).collect();
        return format!("kurabe fio --passes={} {}", passes(plan), rest.join(" "));
    }
    if let Some(arguments) = plan.of_vdbench() {
        let rest: Vec<String> = arguments.iter().map(|word| quoted(word)).collect();
        let passes = passes(plan);
        return format!("kurabe vdbench --passes {passes} {}", rest.join(" "));
    }
    let is_of_server =
        |planned: &&PlannedCase| planned.nature == Nature::Database && cases.contains(&&planned.id);
    let server = server.filter(|_| plan.cases.iter().any(|case| is_of_server(&case)));
    let server = server.map(|server| format!(" --db {}", quoted(server)));
    let is_of_peer =
        |planned: &&PlannedCase| planned.nature == Nature::Network && cases.contains(&&planned.id);
    let peer = plan.peers().next();
    let peer = peer.filter(|_| plan.cases.iter().any(|case| is_of_peer(&case)));
    let peer = peer.map(|peer| format!(" --peer {}", quoted(&peer.path)));
    let server = server.unwrap_or_default() + &peer.unwrap_or_default();
    let mut tests: Vec<&str> = Vec::new();
    let mut copies: Vec<u32> = Vec::new();
    for case in cases {
        if !tests.contains(&case.test.as_str()) {
            tests.push(&case.test);
        }
        if !copies.contains(&case.copies) {
            copies.push(case.copies);
        }
    }
    if tests.len() > TESTS_NAMED && !plan.what.is_empty() {
        let what: Vec<String> = plan.what.iter().map(|word| quoted(word)).collect();
        let passes = passes(plan);
        return format!("kurabe run {} --passes {passes}{server}", what.join(" "));
    }
    copies.order();
    let copies: Vec<String> = copies.iter().map(ToString::to_string).collect();
    let set = sets_of(differences).into_iter().flat_map(|(name, value)| {
        let of = move |test: &&str| format!(" --set {}", quoted(&format!("{test}.{name}={value}")));
        tests.iter().map(of).collect::<Vec<_>>()
    });
    let set: String = set.collect();
    format!(
        "kurabe run {} --copies {}{set} --passes {}{server}",
        tests.join(" "),
        copies.join(","),
        passes(plan)
    )
}

/// What to set so that parameters are the plan's: all that the plan has a value for.
fn sets_of(differences: &[(String, String, String)]) -> Vec<(&str, String)> {
    differences
        .iter()
        .filter(|(name, base, _)| name != "workload" && base != "not set")
        .map(|(name, base, _)| (name.as_str(), typed(base)))
        .collect()
}

/// A value as one types it: a size without the space that people read.
fn typed(value: &str) -> String {
    match model::params::parse_size(value) {
        Some(_) => value.replace(' ', ""),
        None => value.to_owned(),
    }
}

/// As many passes as the plan had, where those are enough for a verdict; those of a run that is told none otherwise.
fn passes(plan: &Plan) -> u32 {
    plan.passes
        .filter(|passes| *passes >= stats::ROUNDS_MIN)
        .unwrap_or(Plan::PASSES_DEFAULT)
}

fn is_passes(word: &str) -> bool {
    let name = word.trim_start_matches('-');
    word.starts_with('-') && (name == "passes" || name.starts_with("passes="))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::Duel;

    fn plan(passes: Option<u32>, what: &[&str]) -> Plan {
        let what = what.iter().map(|&word| word.to_owned());
        Plan {
            passes,
            seed: 1,
            ..Plan::new(what.collect(), Vec::new())
        }
    }

    #[test]
    fn a_command_asks_for_as_many_passes_as_the_run_had_where_they_are_enough() {
        let case: CaseId = "os.pipe@2".parse().unwrap();
        for (had, asked) in [(None, 9), (Some(2), 9), (Some(6), 6), (Some(20), 20)] {
            let command = again(&plan(had, &[]), &[&case], &[], None);
            let expect = format!("kurabe run os.pipe --copies 2 --passes {asked}");
            assert_eq!(command, expect);
        }
    }

    #[test]
    fn more_tests_than_a_line_names_are_what_the_run_was_asked_for() {
        let names = ["a@1", "b@1", "c@1", "d@1", "e@1"];
        let cases: Vec<CaseId> = names.iter().map(|name| name.parse().unwrap()).collect();
        let cases: Vec<&CaseId> = cases.iter().collect();
        let plan = plan(None, &["quick", "a b"]);
        assert_eq!(
            again(&plan, &cases, &[], None),
            "kurabe run quick 'a b' --passes 9"
        );
        let named = "kurabe run a b c d --copies 1 --passes 9";
        assert_eq!(again(&plan, &cases[..4], &[], None), named);
    }

    fn on_server(duel: Option<&str>, path: &str) -> Plan {
        let mut plan = plan(None, &[]);
        plan.named.push(testkit::server(path));
        plan.duel = duel.map(|side| Duel {
            id: "d".to_owned(),
            side: side.to_owned(),
            prepare: None,
            traits: Vec::new(),
        });
        plan
    }

    #[test]
    fn who_goes_on_with_a_run_of_servers_names_all_of_them() {
        let check = |plans: &[&Plan], expect: &str| assert_eq!(go_on("x", plans), expect);
        check(&[&plan(None, &[])], "kurabe run --resume x");
        let one = on_server(None, "postgres://bob@/shop?host=/run/my sql");
        check(
            &[&one],
            "kurabe run --resume x --db 'postgres://bob@/shop?host=/run/my sql'",
        );
        let (a, b) = (
            on_server(Some("a"), "mysql://h/a"),
            on_server(Some("b"), "mysql://h/b"),
        );
        check(
            &[&a, &b],
            "kurabe duel --resume x --a db=mysql://h/a --b db=mysql://h/b",
        );
        let mut sqlite = b;
        sqlite.named.clear();
        check(&[&a, &sqlite], "kurabe duel --resume x --a db=mysql://h/a");
    }

    #[test]
    fn what_is_measured_again_on_a_server_names_it() {
        let case: CaseId = "db.insert@1".parse().unwrap();
        let mut plan = on_server(None, "mysql://h/a");
        plan.cases.push(testkit::case("db.insert@1", Vec::new()));
        let command = |plan: &Plan| again(plan, &[&case], &[], Some("mysql://h/a?b"));
        let plain = "kurabe run db.insert --copies 1 --passes 9";
        assert_eq!(command(&plan), plain, "a test of something else");
        plan.cases[0].nature = Nature::Database;
        assert_eq!(command(&plan), format!("{plain} --db 'mysql://h/a?b'"));
        assert_eq!(again(&plan, &[&case], &[], None), plain);
    }

    #[test]
    fn a_size_that_differs_is_set_without_a_space() {
        let differing = |base: &str| [("size".to_owned(), base.to_owned(), "1 KiB".to_owned())];
        let check = |base: &str, expect: &str| {
            let differences = differing(base);
            assert_eq!(sets_of(&differences), [("size", expect.to_owned())]);
        };
        check("64 MiB", "64MiB");
        check("1000 B", "1000B");
        check("10", "10");
        check("a b", "a b");
        assert!(sets_of(&differing("not set")).is_empty());
    }
}
