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
    let tighter = with_budget(10);
    assert_eq!(tighter.cases.len(), 4);
    let why = &tighter.dropped[0].why;
    let hinted = why.split("`--budget ").nth(1);
    let hinted = hinted.and_then(|text| text.split_once("s`"));
    let seconds: u64 = hinted.unwrap().0.parse().unwrap();
    assert!(
        seconds > 10 && with_budget(seconds).dropped.is_empty(),
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
            ..request(&["all"])
        })
        .unwrap()
    };
    let short = with_budget(3);
    // What may be left out is, and six rounds of the others do not fit all the same.
    let found = crate::budget::short_of(&short).unwrap();
    assert!(!short.dropped.is_empty() && found.passes < 6, "{found:?}");
    let room = found.room().unwrap().as_secs_f64().ceil();
    let roomy = with_budget(model::num::round_to_u64(room));
    assert_eq!(roomy.cases.len(), short.cases.len());
    assert_eq!(crate::budget::short_of(&roomy), None);
    assert!(crate::budget::passes_that_fit(&roomy) >= Some(6));
    // More than six passes get longer rounds from a larger budget, not more of them.
    let nine = crate::budget::Short { wanted: 9, ..found };
    assert_eq!(nine.room(), None);
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
    crate::budget::fit(&mut plan, &["b.beta".to_owned()]);
    assert_eq!(plan.cases.len(), cases, "nothing had to be left out");
    assert_eq!(plan.cases[0].shape.measure, Nanos::from_millis(1_900));
    assert!(plan.cases[1..].iter().all(|case| case.shape.measure < long));
    assert!(cost(&plan) <= budget, "{} {budget}", cost(&plan));
}
