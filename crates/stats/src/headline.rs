//! Which figures of a run stand on its first page, and in which order.

use crate::figure::MODE;
use crate::rounds::whole;
use model::headline::{Headline, Topic};
use model::order::Order as _;
use model::plan::{CaseId, MetricId, Plan, PlannedCase};
use model::spec::{MetricClass, Nature};

/// A figure of the first page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Headlined {
    /// On which line.
    pub topic: Topic,
    /// What it is called, in English and in Japanese.
    pub words: [String; 2],
    /// True where the copies must be said: there are several, or another figure of the test has another number.
    pub says_copies: bool,
    /// Which metric it is.
    pub metric: MetricId,
    /// The metric beside it.
    pub beside: Option<MetricId>,
}

/// The headlines of a plan, line by line: of each test its fewest copies, and its most where these tell something of
/// their own. A plan none of whose tests declares one has the first metric of each case in its place.
pub fn headlines(plan: &Plan) -> Vec<Headlined> {
    let declared: Vec<&PlannedCase> = plan
        .cases
        .iter()
        .filter(|case| case.headline.is_some())
        .collect();
    let mut found: Vec<Headlined> = if declared.is_empty() {
        plan.cases.iter().filter_map(undeclared).collect()
    } else {
        declared
            .iter()
            .filter_map(|case| of_case(case, &declared))
            .collect()
    };
    // Stable: within a line the order of the plan stays, in which one copy stands before several.
    found.order_by_key(|headlined| headlined.topic);
    found
}

/// The headline of a case among those that have one; `None` where another case of its test stands for it.
fn of_case(case: &PlannedCase, all: &[&PlannedCase]) -> Option<Headlined> {
    let headline = case.headline.as_ref()?;
    let of_test = || all.iter().filter(|other| other.id.test == case.id.test);
    let copies = || of_test().map(|other| other.id.copies);
    let (least, most) = (copies().min()?, copies().max()?);
    let stands = case.id.copies == least || headline.also_all && case.id.copies == most;
    stands.then(|| headlined(case, headline, headline.also_all && least < most))?
}

fn headlined(case: &PlannedCase, headline: &Headline, both: bool) -> Option<Headlined> {
    let has = |quantity: &&str| {
        let mut metrics = case.metrics.iter();
        metrics.any(|metric| metric.quantity == **quantity)
    };
    let beside = headline.beside.as_deref().filter(has);
    Some(Headlined {
        topic: headline.topic,
        words: headline.words.clone(),
        says_copies: both || case.id.copies > 1,
        metric: id(&case.id, &case.metrics.first()?.quantity),
        beside: beside.map(|quantity| id(&case.id, quantity)),
    })
}

/// A case that declares none, by the name of its test.
fn undeclared(case: &PlannedCase) -> Option<Headlined> {
    let topic = match case.nature {
        Nature::Compute => Topic::Cpu,
        Nature::Memory => Topic::Memory,
        Nature::System => Topic::Os,
        Nature::FileSystem => Topic::PageCache,
        Nature::Storage => Topic::Storage,
        Nature::Database => Topic::Database,
        Nature::Network => Topic::Network,
    };
    let first = case.metrics.first()?;
    // What is no usual figure of a test says what it is.
    let is_usual = !matches!(
        first.class,
        MetricClass::LatencyTail | MetricClass::LatencyExtreme
    ) && !first.quantity.ends_with(MODE);
    let mut words = case.id.test.clone();
    if !is_usual {
        words = format!("{words} {}", first.quantity);
    }
    headlined(case, &Headline::named(topic, &words), false)
}

fn id(case: &CaseId, quantity: &str) -> MetricId {
    MetricId {
        case: case.clone(),
        quantity: quantity.to_owned(),
    }
}

/// How many rounds of each case of a run ended well.
pub fn rounds_of_each(run: &model::record::Run) -> Vec<u32> {
    let rounds = crate::RunRounds::of(run);
    let cases = rounds.cases().iter();
    cases.map(|case| whole(case.done.len())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    /// The headlines of a plan whose cases declare these.
    fn check(cases: &[(&str, Option<Headline>)], expect: &[(&str, bool)]) {
        let series: Vec<(&str, Vec<f64>)> = cases.iter().map(|(id, _)| (*id, vec![])).collect();
        let mut plan = fixture::run(&series).plan;
        for (case, (_, headline)) in plan.cases.iter_mut().zip(cases) {
            case.headline.clone_from(headline);
        }
        let found = headlines(&plan);
        let told: Vec<(String, bool)> = found
            .iter()
            .map(|one| (one.metric.case.to_string(), one.says_copies))
            .collect();
        let told: Vec<(&str, bool)> = told.iter().map(|(id, all)| (id.as_str(), *all)).collect();
        assert_eq!(told, expect);
    }

    fn of(topic: Topic) -> Headline {
        Headline::named(topic, "x")
    }

    #[test]
    fn lines_have_their_order_and_tests_theirs() {
        let both = || Some(Headline::named(Topic::Cpu, "x").and_all());
        check(
            &[
                ("b.pipe@1", Some(of(Topic::Os))),
                ("b.pipe@2", Some(of(Topic::Os))),
                ("a.work@1", both()),
                ("a.work@2", both()),
                ("a.work@4", both()),
                ("a.sum@4", both()),
                ("b.fork@1", Some(of(Topic::Os))),
            ],
            &[
                ("a.work@1", true),
                ("a.work@4", true),
                ("a.sum@4", true),
                ("b.pipe@1", false),
                ("b.fork@1", false),
            ],
        );
    }

    #[test]
    fn where_nothing_is_declared_every_case_is_a_headline_by_its_name() {
        check(
            &[("x.a@1", None), ("x.a@2", None)],
            &[("x.a@1", false), ("x.a@2", true)],
        );
        check(
            &[("x.a@1", None), ("x.b@1", Some(of(Topic::Os)))],
            &[("x.b@1", false)],
        );
    }

    #[test]
    fn a_quantity_that_the_case_has_not_stands_beside_nothing() {
        let mut plan = fixture::run(&[("x.a@1", vec![])]).plan;
        let with = |quantity| Some(Headline::named(Topic::Syncs, "x").beside(quantity));
        plan.cases[0].headline = with("no_such");
        assert_eq!(headlines(&plan)[0].beside, None);
        plan.cases[0].headline = with(fixture::QUANTITY);
        assert!(headlines(&plan)[0].beside.is_some());
    }
}
