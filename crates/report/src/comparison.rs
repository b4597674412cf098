//! What is compared with what, and how its sides and metrics are called; every format starts from it.

use crate::duel;
use crate::lang::{Lang, say};
use crate::offers;
use dialects::printable::printable;
use dialects::unixbench;
use model::comparison::{Both, Comparison, MetricComparison, RunState};
use model::document::in_document;
use model::estimate::{Ends, Estimate, Interval};
use model::figure::FigureName;
use model::order::Keyed as _;
use model::plan::{MetricId, PlannedMetric};
use model::record::Run;
use schemars::JsonSchema;
use serde::Serialize;
use stats::figure::Figures;
use std::collections::{BTreeMap, BTreeSet};

pub use crate::party::{LatestOf, Party};
pub use stats::CompareOptions;

/// A base and what was compared with it.
#[derive(Clone, Debug)]
pub struct ComparisonView<'a> {
    /// The base.
    pub base: Party<'a>,
    /// Each other side with the conclusions about it.
    pub others: Vec<(Party<'a>, Comparison)>,
}

/// Compares each of `others` with `base`.
pub fn view<'a>(
    base: &'a Run,
    others: &[&'a Run],
    options: &CompareOptions<'_>,
) -> ComparisonView<'a> {
    let others = others.iter().map(|other| Party::one(other)).collect();
    view_groups(Party::one(base), others, options)
}

/// Compares each of `others`, which may be groups, with `base`.
pub fn view_groups<'a>(
    base: Party<'a>,
    others: Vec<Party<'a>>,
    options: &CompareOptions<'_>,
) -> ComparisonView<'a> {
    let runs: Vec<_> = others.iter().map(Party::runs).collect();
    let found = stats::compare_each(&base.runs(), &runs, options);
    ComparisonView {
        base,
        others: others.into_iter().zip(found).collect(),
    }
}

impl ComparisonView<'_> {
    /// Each other side against the base, for pages in this language.
    pub(crate) fn compared(&self, lang: Lang) -> Vec<Compared<'_>> {
        let others = self.others.iter();
        let one = |(other, comparison)| Compared {
            sides: Sides {
                base: &self.base,
                other,
            },
            comparison,
            lang,
        };
        others
            .map(|(other, comparison)| one((other, comparison)))
            .collect()
    }
}

/// Two sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides<'a> {
    pub(crate) base: &'a Party<'a>,
    pub(crate) other: &'a Party<'a>,
}

impl<'a> Sides<'a> {
    /// The base, then the other side.
    pub(crate) const fn both(self) -> [&'a Party<'a>; 2] {
        [self.base, self.other]
    }

    /// True for the two sides of one duel.
    pub(crate) fn are_of_a_duel(self) -> bool {
        duel::sides(self.base, self.other).is_some()
    }

    /// What they are called in sentences: the letters of a duel's, or labels; where those are the same, the ids tell
    /// them apart.
    pub(crate) fn names(self, lang: Lang) -> [String; 2] {
        if let Some(sides) = duel::sides(self.base, self.other) {
            return sides.map(|(_, duel)| duel.letter());
        }
        let names = self.both().map(|side| name(side, lang));
        if names[0] == names[1] {
            self.both()
                .map(|side| with_number(&side.first().meta.id, side, lang))
        } else {
            names
        }
    }

    /// The metric's name: the case alone for the first metric of a case, the full id for further ones.
    pub(crate) fn metric_name(self, id: &MetricId) -> String {
        printable(&if self.leads(id) {
            id.case.to_string()
        } else {
            id.to_string()
        })
    }

    /// True for the first metric of a case.
    pub(crate) fn leads(self, id: &MetricId) -> bool {
        self.both().iter().any(|side| {
            side.planned(&id.case)
                .and_then(|case| case.metrics.first())
                .is_some_and(|first| first.quantity == id.quantity)
        })
    }

    /// How either side declared the metric.
    pub(crate) fn declared(self, id: &MetricId) -> Option<&'a PlannedMetric> {
        let of = |side: &Party<'a>| {
            let metrics = &side.planned(&id.case)?.metrics;
            metrics.iter().find(|metric| metric.quantity == id.quantity)
        };
        self.both().into_iter().find_map(of)
    }
}

/// Two sides, what is concluded about them, and the language of the page.
#[derive(Clone, Copy)]
pub(crate) struct Compared<'a> {
    pub(crate) sides: Sides<'a>,
    pub(crate) comparison: &'a Comparison,
    pub(crate) lang: Lang,
}

/// What a side is, above its column.
pub(crate) fn role(is_base: bool, lang: Lang) -> &'static str {
    if is_base {
        lang.pick("base", "基準")
    } else {
        lang.pick("other", "比較対象")
    }
}

/// What a side is called: its label, or its id where it has none; a group by its first run.
fn name(side: &Party<'_>, lang: Lang) -> String {
    let meta = &side.first().meta;
    with_number(meta.label.as_deref().unwrap_or(&meta.id), side, lang)
}

fn with_number(first: &str, side: &Party<'_>, lang: Lang) -> String {
    let first = printable(first);
    match side.runs().len() - 1 {
        0 => first,
        more => say!(lang, "{first} and {more} more", "{first} ほか {more} 件"),
    }
}

/// True where the rounds of a run have a level that one number stands for.
pub(crate) const fn has_level(of: &RunState) -> bool {
    stats::state::has_single_number(&of.state)
}

/// The same of all runs of both sides.
pub(crate) fn both_have_level(metric: &MetricComparison) -> bool {
    let states = &metric.states;
    states.base.iter().chain(&states.other).all(has_level)
}

/// UnixBench's index on both sides of a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct IndexPair {
    /// How many copies ran at once.
    pub copies: u32,
    /// Each side's index; of a group the geometric mean of those of its runs.
    pub index: Both<Estimate>,
    /// Other over base.
    pub ratio: f64,
    /// The 95 % interval of the ratio, with the scatter between runs; null where there is none. It is not corrected for
    /// how much else is compared, and no verdict is made of it: the verdicts are those of the tests.
    #[serde(serialize_with = "in_document::<_, Ends, _>")]
    #[schemars(with = "Ends")]
    pub interval: Option<Interval>,
}

/// The indexes that every run of both sides was asked for.
pub(crate) fn indexes(sides: Sides<'_>) -> Vec<IndexPair> {
    let of_run = |run: &Run| {
        let asked = unixbench::asked(run).into_iter();
        let told = asked.filter_map(|index| Some((index.copies, index.whole()?)));
        told.into_map()
    };
    let of_side = |side: &Party<'_>| {
        let runs = side.runs().into_iter();
        runs.map(of_run).collect::<Vec<_>>()
    };
    let [base, other] = sides.both();
    let both = [of_side(base), of_side(other)];
    let copies = both[0].iter().flat_map(BTreeMap::keys).copied();
    let copies: BTreeSet<u32> = copies.collect();
    let pair = |copies: u32| {
        let [here, there] = both.each_ref().map(|side| index_of(side, copies));
        let (here, there) = (here?, there?);
        let name = FigureName {
            test: unixbench::INDEX_ID.to_owned(),
            copies: Some(copies),
            quantity: None,
        };
        let alone = (!base.is_group() && !other.is_group()).then(|| (base.first(), other.first()));
        let told = alone.and_then(|(base, other)| figure(base, &name).zip(figure(other, &name)));
        let told = told.map(|(here, there)| stats::rank::ratio(&here, &there));
        let (ratio, interval) = told.unwrap_or((there.value / here.value, None));
        Some(IndexPair {
            copies,
            index: Both {
                base: here,
                other: there,
            },
            ratio,
            interval,
        })
    };
    copies.into_iter().filter_map(pair).collect()
}

fn figure<'a>(run: &'a Run, name: &FigureName) -> Option<stats::figure::Figure<'a>> {
    offers::find(&Figures::of(run), name).ok()
}

/// The index of a side at so many copies; `None` where one of its runs has none.
fn index_of(runs: &[BTreeMap<u32, Estimate>], copies: u32) -> Option<Estimate> {
    let found = runs.iter().map(|run| run.get(&copies).copied());
    let found: Vec<Estimate> = found.collect::<Option<_>>()?;
    if let [only] = found[..] {
        return Some(only);
    }
    let values: Vec<f64> = found.iter().map(|estimate| estimate.value).collect();
    Some(Estimate {
        value: stats::composite::geometric_mean(&values)?,
        interval: None,
        n: u32::try_from(values.len()).unwrap_or(u32::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;

    #[test]
    fn the_index_of_both_sides_stands_beside_their_tests() {
        let (slow, fast) = (
            testkit::unixbench("off", 100.0),
            testkit::unixbench("off", 150.0),
        );
        let (base, other) = (Party::one(&slow), Party::one(&fast));
        let sides = Sides {
            base: &base,
            other: &other,
        };
        let found = indexes(sides);
        let [one] = &found[..] else {
            panic!("{found:?}");
        };
        assert!((one.ratio - 1.5).abs() < 1e-3, "{one:?}");
        assert!(one.interval.is_some());
        let none = testkit::normal();
        let none = Party::one(&none);
        let sides = Sides {
            base: &none,
            other: &other,
        };
        assert_eq!(indexes(sides), []);
    }

    #[test]
    fn runs_of_the_same_label_are_told_apart_by_id() {
        let (mut base, mut other, _) = testkit::comparison();
        base.meta.label = Some("web".to_owned());
        other.meta.label = Some("web".to_owned());
        let (base, other) = (Party::one(&base), Party::one(&other));
        let sides = Sides {
            base: &base,
            other: &other,
        };
        let [a, b] = sides.names(Lang::En);
        assert_ne!(a, b);
    }
}
