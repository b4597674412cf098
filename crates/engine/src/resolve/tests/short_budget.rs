//! Plans whose budget does not hold all of it.

use super::*;

#[test]
fn a_short_budget_shortens_rounds_before_it_drops_optional_tests() {
    let with_budget = |secs| {
        plan(&Request {
            budget: Some(Nanos::from_secs(secs)),
            ..request(&["all"])
        })
        .unwrap()
    };
    let roomy = with_budget(60);
    // Starting several copies is part of what is expected, and of nothing else.
    assert!(roomy.cases.iter().all(|case| {
        let starts = crate::budget::starting(case, 4);
        let expected = Shape {
            setup: starts,
            ..Shape::DEFAULT
        };
        case.shape == expected && (starts == Nanos::ZERO) == (case.id.copies == 1)
    }));
    let tight = with_budget(18);
    assert_eq!(tight.cases.len(), 6);
    assert!(
        tight
            .cases
            .iter()
            .all(|case| case.shape.measure < Shape::DEFAULT.measure)
    );
    let tighter = with_budget(11);
    assert_eq!(tighter.cases.len(), 4);
    let why = &tighter.dropped[0].why;
    let hinted = why.split("`--budget ").nth(1);
    let hinted = hinted.and_then(|text| text.split_once("s`"));
    let seconds: u64 = hinted.unwrap().0.parse().unwrap();
    assert!(
        seconds > 11 && with_budget(seconds).dropped.is_empty(),
        "{why}"
    );
    assert_eq!(with_budget(seconds - 1).dropped.len(), 1, "{why}");
    assert_eq!(tighter.dropped[0].what, "b.beta");
    assert!(
        tighter
            .cases
            .iter()
            .all(|case| case.shape.measure >= Shape::MEASURE_MIN)
    );
}

#[test]
fn the_budget_that_is_said_to_have_room_for_six_passes_has_it() {
    let with_budget = |secs| {
        plan(&Request {
            budget: Some(Nanos::from_secs(secs)),
            ..request(&["a.*", "b.beta"])
        })
        .unwrap()
    };
    let short = with_budget(3);
    // What somebody named is not left out.
    let found = crate::budget::short_of(&short).unwrap();
    assert!(short.dropped.is_empty() && found.passes < 6, "{found:?}");
    let room = found.room.unwrap().as_secs_f64().ceil();
    let roomy = with_budget(model::num::round_to_u64(room));
    assert_eq!(roomy.cases.len(), short.cases.len());
    assert_eq!(crate::budget::short_of(&roomy), None);
    // Who shows the run advises the same.
    assert_eq!((short.room, roomy.room), (found.room, None));
    assert!(crate::budget::passes_that_fit(&roomy) >= Some(6));
    // More than six passes get longer rounds from a larger budget, not more of them.
    let nine = Plan {
        passes: Some(9),
        ..short
    };
    let nine = crate::budget::short_of(&nine).unwrap();
    assert_eq!((nine.wanted, nine.room), (9, None));
}

#[test]
fn what_may_not_be_shortened_further_leaves_it_to_the_others() {
    let mut plan = plan(&request(&["all"])).unwrap();
    let (long, six) = (Nanos::from_secs(2), 6.0);
    for (i, case) in plan.cases.iter_mut().enumerate() {
        case.shape.measure = long;
        if i == 0 {
            case.shape.measure_min = Nanos::from_millis(1_900);
        }
    }
    let cost = |plan: &Plan| {
        let rounds = plan.cases.iter().map(crate::budget::round_cost);
        six * rounds.map(Nanos::as_secs_f64).sum::<f64>()
    };
    let budget = cost(&plan) * 0.6;
    plan.budget = Some(Nanos(model::num::round_to_u64(budget * 1e9)));
    let cases = plan.cases.len();
    let may_go = crate::budget::MayGo {
        optional: &["b.beta".to_owned()],
        is_named: &|_| false,
        ranks: &crate::budget::Ranks::new(),
    };
    crate::budget::fit(&mut plan, may_go);
    assert_eq!(plan.cases.len(), cases, "nothing had to be left out");
    assert_eq!(plan.cases[0].shape.measure, Nanos::from_millis(1_900));
    assert!(plan.cases[1..].iter().all(|case| case.shape.measure < long));
    assert!(cost(&plan) <= budget, "{} {budget}", cost(&plan));
}

#[test]
fn tests_of_a_profile_go_until_six_rounds_of_the_others_fit_and_named_ones_stay() {
    let with_budget = |secs, what: &[&str]| {
        plan(&Request {
            budget: Some(Nanos::from_secs(secs)),
            ..request(what)
        })
        .unwrap()
    };
    for secs in 6..30 {
        let plan = with_budget(secs, &["all"]);
        assert_eq!(crate::budget::short_of(&plan), None, "{secs} s");
        // Not more than there must.
        let one_more = with_budget(secs, &["all", "b.beta"]);
        assert!(
            cases(&one_more).contains(&"b.beta@1".to_owned()),
            "{secs} s"
        );
    }
    // What has room again after that has its usual rounds.
    let few = with_budget(6, &["all"]);
    assert_eq!(few.cases.len(), 2, "{:?}", cases(&few));
    let measure = few.cases[0].shape.measure;
    assert!(measure > Shape::MEASURE_MIN, "{measure:?}");
    // Something is left however little time there is.
    let one = with_budget(1, &["all"]);
    assert_eq!(one.cases.len(), 2, "{:?}", cases(&one));
    let whats: Vec<&str> = one.dropped.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(whats.len(), 2, "{whats:?}");
}

#[test]
fn what_takes_most_of_the_time_to_make_goes_with_all_that_stands_on_it() {
    let ground = |secs| model::ground::Ground {
        key: "k".to_owned(),
        kind: model::ground::GroundKind::File,
        bytes: None,
        expected: Nanos::from_secs(secs),
        at_most: Nanos::from_secs(600),
    };
    let left = |secs, stands: &[usize], is_named: &dyn Fn(&str) -> bool| {
        let mut plan = plan(&request(&["a.*", "b.beta"])).unwrap();
        plan.passes = None;
        plan.budget = Some(Nanos::from_secs(20));
        for &case in stands {
            plan.cases[case].ground = Some(ground(secs));
        }
        let may_go = crate::budget::MayGo {
            optional: &[],
            is_named,
            ranks: &crate::budget::Ranks::new(),
        };
        crate::budget::fit(&mut plan, may_go);
        cases(&plan)
    };
    let all = ["a.alpha@1", "a.alpha-big@1", "b.beta@1"];
    assert_eq!(left(8, &[0, 1], &|_| false), all, "it fits");
    assert_eq!(left(16, &[0, 1], &|_| false), ["b.beta@1"]);
    // Not where nothing would be left, or somebody named it.
    assert_eq!(left(16, &[0, 1, 2], &|_| false).len(), 1);
    assert_eq!(left(16, &[0], &|test| test == "a.alpha"), ["a.alpha@1"]);
}

#[test]
fn a_single_case_has_longer_rounds_where_there_is_time_and_most_of_it_is_measured() {
    let planned = |secs, what: &[&str]| {
        let plan = plan(&Request {
            budget: Some(Nanos::from_secs(secs)),
            ..request(what)
        });
        plan.unwrap()
    };
    for secs in [20, 30, 60, 300, 3600] {
        let plan = planned(secs, &["b.beta"]);
        let rounds = crate::budget::passes_that_fit(&plan).unwrap();
        assert!((6..=29).contains(&rounds), "{secs} s: {rounds}");
        let measured = f64::from(rounds) * plan.cases[0].shape.measure.as_secs_f64();
        let share = measured / Nanos::from_secs(secs).as_secs_f64();
        assert!(share >= 0.8, "{secs} s: {share}");
    }
    // As many rounds as there is time for.
    let rounds = |secs| crate::budget::passes_that_fit(&planned(secs, &["b.beta"]));
    assert!(rounds(30) > rounds(20) && rounds(300) >= Some(28));
    // Several cases have more rounds first, up to 28.
    let both = |secs| planned(secs, &["b.beta", "a.alpha"]);
    assert_eq!(both(20).cases[0].shape.measure, Shape::DEFAULT.measure);
    assert!(both(300).cases[0].shape.measure > Shape::DEFAULT.measure);
    assert!(crate::budget::passes_that_fit(&both(300)) <= Some(30));
    // Whoever says how many rounds there are to be means the usual ones.
    let nine = plan(&Request {
        budget: Some(Nanos::from_secs(60)),
        passes: Some(9),
        ..request(&["b.beta"])
    });
    assert_eq!(nine.unwrap().cases[0].shape, Shape::DEFAULT);
}

#[test]
fn what_making_took_less_than_expected_goes_to_the_rounds_of_a_single_case() {
    let planned = |passes| {
        let mut plan = plan(&request(&["b.beta"])).unwrap();
        (plan.passes, plan.budget) = (passes, Some(Nanos::from_secs(8)));
        plan.cases[0].ground = Some(model::ground::Ground {
            key: "k".to_owned(),
            kind: model::ground::GroundKind::File,
            bytes: None,
            expected: Nanos::from_secs(5),
            at_most: Nanos::from_secs(600),
        });
        let may_go = crate::budget::MayGo {
            optional: &[],
            is_named: &|_| true,
            ranks: &crate::budget::Ranks::new(),
        };
        crate::budget::fit(&mut plan, may_go);
        plan
    };
    let plan = planned(None);
    let left = Nanos::from_secs(6);
    let measure = crate::budget::measure_of_one(&plan, left).unwrap();
    let shape = &plan.cases[0].shape;
    assert!(shape.warmup < Shape::DEFAULT.warmup, "{shape:?}");
    assert!(measure > shape.measure, "{measure:?} {shape:?}");
    let cost = crate::budget::round_cost(&plan.cases[0]).0 - shape.measure.0 + measure.0;
    let rounds = left.0 / cost;
    assert!(
        rounds >= 6 && rounds * cost > left.0 / 10 * 9,
        "{rounds} of {cost}"
    );
    assert!(
        rounds * measure.0 >= left.0 / 10 * 8,
        "{rounds} of {measure:?}"
    );
    assert_eq!(crate::budget::measure_of_one(&planned(Some(6)), left), None);
    let two = crate::budget::measure_of_one(&super::plan(&request(&["all"])).unwrap(), left);
    assert_eq!(two, None);
}

#[test]
fn what_comes_so_many_times_and_no_more_is_no_part_of_each_pass() {
    let mut plan = plan(&Request {
        budget: Some(Nanos::from_secs(60)),
        ..request(&["a.alpha", "b.beta"])
    })
    .unwrap();
    for case in &mut plan.cases {
        case.shape.measure = Nanos::from_secs(1);
    }
    let both = crate::budget::passes_that_fit(&plan).unwrap();
    plan.cases[0].shape.rounds = Some(3);
    let one = crate::budget::passes_that_fit(&plan).unwrap();
    assert!((both * 2 - 4..=both * 2).contains(&one), "{both} {one}");
    // Where there is nothing else the passes are counted by it.
    plan.cases[1].shape.rounds = Some(3);
    assert_eq!(crate::budget::passes_that_fit(&plan), Some(both));
}
