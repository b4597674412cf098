//! Plans of profiles whose tests have ranks.

use super::*;
use crate::budget::{Ranks, round_cost};
use crate::workload::StandIn;
use model::named::NamedKind;

const RANKS: &str = "title = 'T'\nranks = [['a.alpha'], ['b.beta'], ['a.alpha-big', 'b.beta@steps']]\n\
                     disk = ['a.*-big', 'b.*']\nbudget = '60s'";

/// Six rounds of everything take about 17 s at the shortest.
fn planned(what: &[&str], secs: u64) -> Plan {
    let profiles = [Profile::parse("ranked", RANKS).unwrap()];
    let catalog = Catalog {
        workloads: WORKLOADS,
        profiles: &profiles,
    };
    let request = Request {
        budget: Some(Nanos::from_secs(secs)),
        ..request(what)
    };
    resolve(&request, catalog, &host(4)).unwrap()
}

/// The rounds of a case: six where time alone ends them, none where it is left out.
fn rounds(plan: &Plan, id: &str) -> u32 {
    let mut cases = plan.cases.iter();
    let case = cases.find(|case| case.id.to_string() == id);
    case.map_or(0, |case| case.shape.rounds.unwrap_or(6))
}

const EACH: [&str; 3] = ["a.alpha@4", "b.beta@1", "b.beta@2"];

#[test]
fn a_roomy_budget_has_all_of_it_with_the_cases_of_a_test_together() {
    let plan = planned(&["ranked"], 60);
    let expected = [
        "a.alpha@1",
        "a.alpha@4",
        "b.beta@1",
        "b.beta@2",
        "b.beta@4",
        "b.beta@8",
        "a.alpha-big@1",
        "a.alpha-big@4",
    ];
    assert_eq!(cases(&plan), expected);
    assert!(plan.dropped.is_empty());
    assert!(EACH.iter().all(|id| rounds(&plan, id) == 6));
}

#[test]
fn what_is_less_important_has_fewer_rounds_and_then_none() {
    let mut seen = std::collections::BTreeSet::new();
    for secs in 1..=40 {
        let plan = planned(&["ranked"], secs);
        let [first, second, third] = EACH.map(|id| rounds(&plan, id));
        assert!(first >= second && second >= third && first >= 1, "{secs} s");
        let takes: f64 = plan
            .cases
            .iter()
            .map(|case| {
                let rounds = case.shape.rounds.unwrap_or(6);
                round_cost(case).as_secs_f64() * f64::from(rounds)
            })
            .sum();
        assert!(takes < approx_secs(secs) || secs < 3, "{secs} s: {takes}");
        seen.insert([first, second, third]);
        // Whoever is left out is told the truth.
        for one in &plan.dropped {
            let needs = one.needs.unwrap();
            let text = model::params::budget_text(needs);
            assert!(one.why.ends_with(&format!("`--budget {text}` has it")));
            let more = planned(&["ranked"], needs.0 / 1_000_000_000);
            assert!(more.dropped.iter().all(|other| other.what != one.what));
        }
    }
    // One round of each comes before six of any, and fewer than six before none.
    assert!(seen.contains(&[6, 6, 6]), "{seen:?}");
    assert!(seen.contains(&[1, 1, 1]), "{seen:?}");
    let is_thinned = |of: &[u32; 3]| of[0] == 6 && (1..6).contains(&of[2]);
    assert!(seen.iter().any(is_thinned), "{seen:?}");
    assert!(seen.iter().any(|of| of[2] == 0), "{seen:?}");
}

fn approx_secs(secs: u64) -> f64 {
    Nanos::from_secs(secs).as_secs_f64()
}

#[test]
fn what_somebody_names_beside_it_stays() {
    let plan = planned(&["ranked", "a.alpha-big"], 4);
    assert_eq!(rounds(&plan, "a.alpha-big@1"), 6);
    assert!(rounds(&plan, "b.beta@2") < 6);
}

#[test]
fn a_case_that_takes_most_of_the_time_goes_before_the_intervals_of_the_others() {
    let mut plan = plan(&request(&["a.*", "b.beta"])).unwrap();
    plan.passes = None;
    let ranks: Ranks = plan
        .cases
        .iter()
        .map(|case| case.id.clone())
        .zip(0..)
        .collect();
    let fit = |secs| {
        let mut plan = plan.clone();
        plan.budget = Some(Nanos::from_secs(secs));
        // More important than the last one, and a hundred times as long.
        plan.cases[1].shape.measure = Nanos::from_secs(60);
        plan.cases[1].shape.measure_min = Nanos::from_secs(60);
        let may_go = crate::budget::MayGo {
            optional: &[],
            is_named: &|_| false,
            ranks: &ranks,
        };
        crate::budget::fit(&mut plan, may_go);
        plan
    };
    let small = fit(50);
    assert_eq!(cases(&small), ["a.alpha@1", "b.beta@1"]);
    assert_eq!(rounds(&small, "b.beta@1"), 6);
    let [left_out] = small.dropped.as_slice() else {
        panic!("{:?}", small.dropped);
    };
    assert_eq!(left_out.what, "a.alpha-big");
    // In that budget it has what time is left, and the others their six.
    let more = fit(left_out.needs.unwrap().0 / 1_000_000_000);
    assert_eq!(rounds(&more, "b.beta@1"), 6);
    assert_eq!(rounds(&more, "a.alpha-big@1"), 1);
}

#[test]
fn without_a_disk_those_are_left_out_that_the_profile_says() {
    let profiles = [Profile::parse("ranked", RANKS).unwrap()];
    let catalog = Catalog {
        workloads: WORKLOADS,
        profiles: &profiles,
    };
    let request = Request {
        no_disk: Some("it is in memory".to_owned()),
        ..request(&["ranked"])
    };
    let plan = resolve(&request, catalog, &host(4)).unwrap();
    assert_eq!(cases(&plan), ["a.alpha@1", "a.alpha@4"]);
    let dropped: Vec<&str> = plan.dropped.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(dropped, ["b.beta", "a.alpha-big"]);
}

/// Works on peers, or on files, by its name.
struct On(&'static Spec, NamedKind);

impl Workload for On {
    fn spec(&self) -> &'static Spec {
        self.0
    }

    fn touches(&self, _: &Params, stand_in: Option<&StandIn>) -> Vec<crate::consent::Touch> {
        let own = stand_in.filter(|own| own.kind == self.1);
        own.map(|own| crate::consent::Touch {
            path: own.path.clone(),
            kind: own.kind,
            writes: false,
            creates: false,
        })
        .into_iter()
        .collect()
    }

    fn prepare(&self, _: &Params, _: &Place) -> Result<Box<dyn Body>, WorkError> {
        Err(WorkError::Unsupported("a made-up workload".to_owned()))
    }
}

#[test]
fn each_test_has_that_of_several_stand_ins_that_it_works_on() {
    let named = |path: &str, kind| StandIn {
        path: path.into(),
        kind,
    };
    let all = [
        named("server", NamedKind::Server),
        named("/file", NamedKind::File),
        named("peer", NamedKind::Peer),
    ];
    let check = |kind, all: &[StandIn], expected: Option<&str>| {
        let own = its_own(&On(&ALPHA, kind), &Params::default(), all);
        assert_eq!(own.map(|own| own.path.to_str().unwrap()), expected);
    };
    check(NamedKind::Peer, &all, Some("peer"));
    check(NamedKind::File, &all, Some("/file"));
    check(NamedKind::Server, &all, Some("server"));
    // Who works on none of them says so of the first one.
    check(NamedKind::Load, &all, Some("server"));
    check(NamedKind::Peer, &[], None);
}
