//! Plans made from a small catalogue of made-up workloads.

mod order;
mod ranked;
mod short_budget;

use super::*;
use crate::workload::{BadValue, Body, Place, WorkError};
use model::host::Fact;
use model::plan::Shape;
use model::spec::{Nature, ParamDef, ParamKind, Spec};

struct Fake(&'static Spec);

impl Workload for Fake {
    fn spec(&self) -> &'static Spec {
        self.0
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        if params.count("size") == 13 {
            return Err(BadValue::new("size", "anything but 13"));
        }
        Ok(())
    }

    fn supported(&self, params: &Params, _: &HostFacts) -> Result<(), String> {
        if params.count("size") == 99 {
            Err("99 is too much".to_owned())
        } else {
            Ok(())
        }
    }

    fn supported_with(&self, params: &Params, _: &HostFacts, copies: u32) -> Result<(), String> {
        if params.count("size") == 77 && copies > 1 {
            Err(format!("{copies} times 77 is too much"))
        } else {
            Ok(())
        }
    }

    fn prepare(&self, _: &Params, _: &Place) -> Result<Box<dyn Body>, WorkError> {
        Err(WorkError::Unsupported("a made-up workload".to_owned()))
    }
}

const SIZE: ParamDef = ParamDef {
    name: "size",
    kind: ParamKind::Count { min: 1, max: 99 },
    default: "1",
    doc: "",
};

const fn spec(name: &'static str, tests: &'static [TestDef]) -> Spec {
    Spec {
        name,
        version: 1,
        nature: Nature::System,
        title: "made up",
        doc: "",
        params: &[SIZE],
        metrics: &[],
        tests,
        simulated: false,
        on_disk: false,
    }
}

static ALPHA: Spec = spec(
    "a.alpha",
    &[
        TestDef {
            name: "a.alpha",
            title: "t",
            params: &[],
        },
        TestDef {
            name: "a.alpha-big",
            title: "t",
            params: &[("size", "50")],
        },
    ],
);
static BETA: Spec = Spec {
    params: &[
        SIZE,
        ParamDef {
            name: "depth",
            ..SIZE
        },
    ],
    ..spec(
        "b.beta",
        &[TestDef {
            name: "b.beta",
            title: "t",
            params: &[],
        }],
    )
};
static WORKLOADS: &[&dyn Workload] = &[&Fake(&ALPHA), &Fake(&BETA)];

fn host(cpus: u32) -> HostFacts {
    let mut host = HostFacts::default();
    host.limits.cpus_allowed = Fact::Known(cpus);
    host
}

/// The concurrencies that `steps` stands for on a machine.
fn check_steps(host: &HostFacts, expected: &[u32]) {
    let request = Request {
        copies: Some(vec![Copies::Steps]),
        ..request(&["b.beta"])
    };
    let catalog = Catalog {
        workloads: WORKLOADS,
        profiles: &profiles(),
    };
    let plan = resolve(&request, catalog, host).unwrap();
    let copies: Vec<u32> = plan.cases.iter().map(|case| case.id.copies).collect();
    assert_eq!(copies, expected);
}

#[test]
fn steps_double_up_to_all_cpus_and_go_one_step_beyond() {
    check_steps(&host(1), &[1, 2]);
    check_steps(&host(2), &[1, 2, 4]);
    check_steps(&host(3), &[1, 2, 3, 4]);
    check_steps(&host(8), &[1, 2, 4, 8, 16]);
    check_steps(&host(96), &[1, 2, 4, 8, 16, 32, 64, 96, 128]);
}

#[test]
fn steps_keep_to_quotas_and_online_cpus_and_stop_at_the_number_of_cores() {
    let mut small = host(8);
    small.limits.cpu_quota = Fact::Known(Some(1.5));
    check_steps(&small, &[1, 2, 4]);
    small.limits.cpu_quota = Fact::Known(Some(0.5));
    check_steps(&small, &[1, 2]);

    let mut offline = host(6);
    offline.cpu.online = Fact::Known(6);
    offline.cpu.offline = Fact::Known(2);
    check_steps(&offline, &[1, 2, 4, 6, 8]);

    let mut smt = host(96);
    smt.cpu.threads_per_core = Fact::Known(2);
    smt.cpu.cores = Fact::Known(48);
    check_steps(&smt, &[1, 2, 4, 8, 16, 32, 48, 64, 96, 128]);
    smt.limits.cpus_allowed = Fact::Known(4);
    check_steps(&smt, &[1, 2, 4, 8]);
    smt.cpu.threads_per_core = Fact::Known(1);
    smt.cpu.cores = Fact::Known(3);
    check_steps(&smt, &[1, 2, 4, 8]);
}

fn profiles() -> Vec<Profile> {
    let text = "title = 'T'\ntests = ['a.*', 'b.beta']\noptional = ['b.beta']\nbudget = '60s'\npasses = 9\n\
                [set]\nsize = '7'";
    vec![Profile::parse("all", text).unwrap()]
}

fn plan(request: &Request) -> Result<Plan, PlanError> {
    resolve(
        request,
        Catalog {
            workloads: WORKLOADS,
            profiles: &profiles(),
        },
        &host(4),
    )
}

fn request(what: &[&str]) -> Request {
    Request {
        what: what.iter().map(|&s| s.to_owned()).collect(),
        ..Request::default()
    }
}

fn cases(plan: &Plan) -> Vec<String> {
    plan.cases.iter().map(|case| case.id.to_string()).collect()
}

fn sets(texts: &[&str]) -> Vec<Set> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

#[test]
fn names_globs_families_and_profiles_choose_tests_once_and_in_order() {
    let check = |what: &[&str], expected: &[&str]| {
        assert_eq!(cases(&plan(&request(what)).unwrap()), expected, "{what:?}");
    };
    check(&["b.beta"], &["b.beta@1"]);
    check(&["a"], &["a.alpha@1", "a.alpha-big@1"]);
    check(&["*beta", "a.alpha"], &["b.beta@1", "a.alpha@1"]);
    check(&["a.alpha", "a.*"], &["a.alpha@1", "a.alpha-big@1"]);
    let all = [
        "a.alpha@1",
        "a.alpha@4",
        "a.alpha-big@1",
        "a.alpha-big@4",
        "b.beta@1",
        "b.beta@4",
    ];
    check(&["all"], &all);
}

#[test]
fn a_profile_does_without_its_disk_part_where_there_is_no_disk_and_says_so() {
    let text = "title = 'T'\ntests = ['b.beta']\ndisk = ['a.*@1']\npasses = 9\n[set]\nsize = '7'";
    let profiles = vec![Profile::parse("look", text).unwrap()];
    let check = |what: &[&str], no_disk: bool, expected: &[&str], left_out: &[&str]| {
        let request = Request {
            no_disk: no_disk.then(|| "it is in memory".to_owned()),
            sets: sets(&["a.*.size=3"]),
            ..request(what)
        };
        let catalog = Catalog {
            workloads: WORKLOADS,
            profiles: &profiles,
        };
        let plan = resolve(&request, catalog, &host(4)).unwrap();
        assert_eq!(cases(&plan), expected);
        let dropped: Vec<&str> = plan.dropped.iter().map(|d| d.what.as_str()).collect();
        assert_eq!(dropped, left_out);
        assert!(plan.dropped.iter().all(|d| d.why == "it is in memory"));
    };
    let (beta, both) = (["b.beta@1", "b.beta@4"], ["a.alpha", "a.alpha-big"]);
    let whole = [beta[0], beta[1], "a.alpha@1", "a.alpha-big@1"];
    check(&["look"], false, &whole, &[]);
    check(&["look"], true, &beta, &both);
    // Who asks for one of them by its name gets it.
    for named in ["a.alpha", "a.alpha@1"] {
        check(&["look", named], true, &whole[..3], &both[1..]);
        check(
            &[named, "look"],
            true,
            &["a.alpha@1", beta[0], beta[1]],
            &both[1..],
        );
    }
}

#[test]
fn copies_are_sorted_and_not_repeated() {
    let copies = ["all", "2", "4", "1"]
        .map(|text| text.parse().unwrap())
        .to_vec();
    let request = Request {
        copies: Some(copies),
        ..request(&["b.beta"])
    };
    assert_eq!(
        cases(&plan(&request).unwrap()),
        ["b.beta@1", "b.beta@2", "b.beta@4"]
    );
}

#[test]
fn parameters_come_from_test_profile_and_user_in_this_order() {
    let size = |what: &[&str], set: &[&str]| {
        let plan = plan(&Request {
            sets: sets(set),
            ..request(what)
        })
        .unwrap();
        plan.cases
            .iter()
            .map(|case| case.params.count("size"))
            .collect::<Vec<_>>()
    };
    assert_eq!(size(&["a"], &[]), [1, 50]);
    assert_eq!(size(&["a.alpha"], &["a.alpha.size=3"]), [3]);
    assert_eq!(size(&["all"], &["a.*.size=3"]), [3, 3, 3, 3, 7, 7]);
    assert_eq!(
        size(&["all"], &["all.size=3", "b.size=4"]),
        [3, 3, 3, 3, 4, 4]
    );
}

#[test]
fn what_was_set_is_known_with_what_the_test_itself_has() {
    let own = |what: &[&str], set: &[&str]| -> Vec<Option<String>> {
        let plan = plan(&Request {
            sets: sets(set),
            ..request(what)
        })
        .unwrap();
        let own = |case: &PlannedCase| case.in_place_of.get("size").map(ToString::to_string);
        plan.cases.iter().map(own).collect()
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(own(&["a"], &[]), [None, None]);
    assert_eq!(own(&["a"], &["a.alpha-big.size=3"]), [None, some("50")]);
    assert_eq!(own(&["a"], &["a.*.size=50"]), [some("1"), None]);
    // The profile sets 7.
    let one = || some("1");
    let by_profile = [one(), one(), some("50"), some("50"), one(), one()];
    assert_eq!(own(&["all"], &[]), by_profile);
}

#[test]
fn a_workload_that_no_test_is_named_after_is_known_by_its_tests() {
    static GAMMA: Spec = spec(
        "a.gamma",
        &[
            TestDef {
                name: "a.gamma-1",
                title: "t",
                params: &[],
            },
            TestDef {
                name: "a.gamma-2",
                title: "t",
                params: &[],
            },
        ],
    );
    static ALL: &[&dyn Workload] = &[&Fake(&GAMMA)];
    let catalog = Catalog {
        workloads: ALL,
        profiles: &[],
    };
    let Err(PlanError::Unknown { nearest, .. }) =
        resolve(&request(&["a.gamma"]), catalog, &host(1))
    else {
        panic!("there is no such test");
    };
    assert_eq!(nearest, ["a.gamma-1", "a.gamma-2"]);
}

#[test]
fn a_parameter_goes_to_those_of_a_group_that_have_it_and_to_one_at_least() {
    let set = |what: &[&str], text: &str| {
        plan(&Request {
            sets: sets(&[text]),
            ..request(what)
        })
    };
    let depths = |plan: &Plan| -> Vec<u64> {
        let of = |case: &PlannedCase| case.params.count("depth");
        let beta = plan.cases.iter().filter(|case| case.workload == "b.beta");
        beta.map(of).collect()
    };
    for who in ["*", "all", "?.*"] {
        let plan = set(&["all"], &format!("{who}.depth=5")).unwrap();
        assert_eq!((plan.cases.len(), depths(&plan)), (6, vec![5, 5]), "{who}");
    }
    for (what, text) in [
        ("a", "a.depth=5"),
        ("all", "a.depth=5"),
        ("a.alpha", "a.alpha.depth=5"),
    ] {
        let error = set(&[what], text).unwrap_err();
        assert!(matches!(error, PlanError::BadParam { .. }), "{error}");
    }
    let wrong = set(&["all"], "all.depth=100").unwrap_err();
    assert!(matches!(wrong, PlanError::BadParam { .. }), "{wrong}");
}

#[test]
fn a_value_that_the_workload_does_not_take_is_the_users_and_named_as_he_gave_it() {
    for (what, set, who) in [
        ("b.beta", "b.beta.size=13", "b.beta"),
        ("b.beta", "b.*.size=13", "b.*"),
        ("all", "all.size=13", "all"),
    ] {
        let made = plan(&Request {
            sets: sets(&["b.beta.size=12", set]),
            ..request(&[what])
        });
        let error = made.unwrap_err();
        assert!(matches!(error, PlanError::BadParam { .. }), "{error}");
        let says =
            format!("set `{who}.size`: parameter `size` does not take `13`: anything but 13");
        assert_eq!(error.to_string(), says);
    }
}

#[test]
fn what_is_unknown_is_named_with_what_comes_nearest() {
    let nearest = |result: Result<Plan, PlanError>| match result.unwrap_err() {
        PlanError::Unknown { nearest, .. }
        | PlanError::SetReachesNothing { nearest, .. }
        | PlanError::BadParam { nearest, .. } => nearest,
        other => panic!("{other}"),
    };
    assert_eq!(nearest(plan(&request(&["b.bata"]))), ["b.beta"]);
    assert_eq!(nearest(plan(&request(&["zzz"]))), [""; 0]);
    let set = |text| {
        plan(&Request {
            sets: sets(&[text]),
            ..request(&["b.beta"])
        })
    };
    assert_eq!(nearest(set("b.beta.sise=3")), ["size"]);
    assert_eq!(nearest(set("b.bete.size=3")), ["b.beta"]);
    // A profile that the run does not name: its test takes the parameter by itself.
    assert_eq!(nearest(set("all.size=3")), ["b.beta.size"]);
    assert_eq!(nearest(set("all.nothing=3")), [""; 0]);
    assert!(matches!(
        set("b.beta.size=100"),
        Err(PlanError::BadParam { .. })
    ));
}

#[test]
fn a_set_needs_its_three_parts() {
    for bad in ["", "a", "a=1", "a.=1", ".b=1", "a.b"] {
        assert!(bad.parse::<Set>().is_err(), "{bad}");
    }
    let set: Set = "fs.copy-*.bufsize=a=b".parse().unwrap();
    assert_eq!(
        (set.who.as_str(), set.param.as_str(), set.value.as_str()),
        ("fs.copy-*", "bufsize", "a=b")
    );
}

#[test]
fn what_the_machine_cannot_do_is_dropped_with_the_reason() {
    let request = Request {
        sets: sets(&["a.alpha.size=99"]),
        ..request(&["a"])
    };
    let plan = plan(&request).unwrap();
    assert_eq!(cases(&plan), ["a.alpha-big@1"]);
    assert_eq!(
        (plan.dropped[0].what.as_str(), plan.dropped[0].why.as_str()),
        ("a.alpha", "99 is too much")
    );
    let many = Request {
        sets: sets(&["b.beta.size=77"]),
        copies: Some(vec![Copies::Exactly(1), Copies::Exactly(2)]),
        ..self::request(&["b.beta", "b.beta@2"])
    };
    let plan = self::plan(&many).unwrap();
    assert_eq!(cases(&plan), ["b.beta@1"]);
    let [left_out] = &plan.dropped[..] else {
        panic!("once, although asked for twice: {:?}", plan.dropped);
    };
    assert_eq!(
        (left_out.what.as_str(), left_out.why.as_str()),
        ("b.beta@2", "2 times 77 is too much")
    );
    let of_a_test = Request {
        sets: sets(&["b.beta.size=99"]),
        ..self::request(&["b.beta", "b.beta@2", "a.alpha-big"])
    };
    let plan = self::plan(&of_a_test).unwrap();
    assert_eq!(cases(&plan), ["a.alpha-big@1"]);
    let left_out: Vec<&str> = plan.dropped.iter().map(|d| d.what.as_str()).collect();
    assert_eq!(left_out, ["b.beta"], "once, although asked for twice");
    let none = Request {
        sets: sets(&["b.beta.size=99"]),
        ..self::request(&["b.beta"])
    };
    assert!(matches!(self::plan(&none), Err(PlanError::NothingLeft(_))));
}

#[test]
fn the_user_decides_the_length_before_the_profile() {
    let limits = |request: &Request| {
        let plan = plan(request).unwrap();
        (plan.budget, plan.passes)
    };
    assert_eq!(
        limits(&request(&["all"])),
        (Some(Nanos::from_secs(60)), Some(9))
    );
    assert_eq!(
        limits(&request(&["b.beta"])),
        (None, Some(Plan::PASSES_DEFAULT))
    );
    let budget = Request {
        budget: Some(Nanos::from_secs(99)),
        ..request(&["all"])
    };
    assert_eq!(limits(&budget), (Some(Nanos::from_secs(99)), None));
    let passes = Request {
        passes: Some(3),
        ..request(&["all"])
    };
    assert_eq!(limits(&passes), (None, Some(3)));
}

#[test]
fn both_sides_of_a_duel_live_on_one_budget() {
    let of = |duel| {
        let with_budget = Request {
            budget: Some(Nanos::from_secs(36)),
            duel,
            ..request(&["all"])
        };
        let plan = plan(&with_budget).unwrap();
        let cost = |case| 6.0 * crate::budget::round_cost(case).as_secs_f64();
        plan.cases.iter().map(cost).sum::<f64>()
    };
    let side = model::plan::Duel {
        id: "d".to_owned(),
        side: "a".to_owned(),
        prepare: None,
        traits: Vec::new(),
    };
    let (alone, in_duel) = (of(None), of(Some(side)));
    assert!(
        in_duel < alone && 2.0 * in_duel <= 36.0,
        "{in_duel} {alone}"
    );
}

#[test]
fn a_budget_that_is_over_before_the_passes_is_told() {
    let short = |secs: Option<u64>, passes: Option<u32>, sides: u64| {
        let mut plan = plan(&Request {
            budget: secs.map(Nanos::from_secs),
            passes,
            ..request(&["all"])
        })
        .unwrap();
        plan.duel = (sides == 2).then(|| model::plan::Duel {
            id: "d".to_owned(),
            side: "a".to_owned(),
            prepare: None,
            traits: Vec::new(),
        });
        crate::budget::short_of(&plan).map(|short| (short.passes, short.wanted))
    };
    assert_eq!(short(None, Some(20), 1), None);
    assert_eq!(short(Some(600), Some(20), 1), None);
    assert_eq!(short(Some(600), None, 1), None);
    // The two cases of the one test that is left have six rounds of 0.35 s at least, and not 20.
    assert_eq!(short(Some(6), Some(20), 1), Some((6, 20)));
    assert_eq!(short(Some(1), None, 1), Some((0, 6)));
    // A duel takes twice as long.
    let one = short(Some(30), Some(12), 1);
    let two = short(Some(30), Some(12), 2);
    assert!(one.is_none_or(|one| two.is_some_and(|two| two.0 < one.0)));
    assert!(two.is_some());
}

#[test]
fn rounds_are_shortened_until_the_passes_asked_for_fit() {
    let plan = plan(&Request {
        budget: Some(Nanos::from_secs(9)),
        passes: Some(3),
        ..request(&["all"])
    })
    .unwrap();
    assert_eq!(plan.cases.len(), 6);
    let needed = crate::budget::expected(&model::plan::Plan {
        budget: None,
        ..plan
    });
    assert!(needed <= Nanos::from_secs(9), "{needed:?}");
}

#[test]
fn a_test_may_bring_its_own_concurrency() {
    let plan = |what: &[&str]| {
        let request = Request {
            what: what.iter().map(|&name| name.to_owned()).collect(),
            passes: Some(1),
            ..Request::default()
        };
        let profiles = profiles();
        let catalog = Catalog {
            workloads: WORKLOADS,
            profiles: &profiles,
        };
        resolve(&request, catalog, &host(4)).map(|plan| {
            let ids = plan.cases.iter().map(|case| case.id.to_string());
            ids.collect::<Vec<_>>()
        })
    };
    assert_eq!(
        plan(&["b.beta", "b.beta@64", "a.*@all", "b.beta@1"]).unwrap(),
        ["b.beta@1", "b.beta@64", "a.alpha@4", "a.alpha-big@4"]
    );
    for unknown in ["b.beta@0", "b.beta@", "b.beta@many"] {
        assert!(plan(&[unknown]).is_err(), "{unknown}");
    }
}

#[test]
fn globs_match_as_documented() {
    for (pattern, text, expected) in [
        ("*", "", true),
        ("os.*", "os.pipe", true),
        ("os.*", "cos.pipe", false),
        ("*.copy-?", "fs.copy-1", true),
        ("*.copy-?", "fs.copy-10", false),
        ("a*b*c", "aXbYbZc", true),
        ("a*b*c", "aXbYbZ", false),
        ("", "x", false),
    ] {
        assert_eq!(glob(pattern, text), expected, "{pattern} {text}");
    }
}
