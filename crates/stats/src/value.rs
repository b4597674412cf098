//! Value for money: a figure per price, what more of a resource buys, and which offers others dominate.
//!
//! Prices are exact, so that an interval is divided by a price end by end. One offer dominates another only where it
//! costs no more and is proven not to be worse: intervals that overlap prove nothing.

use model::document::in_document;
use model::estimate::{Ends, Interval};
use model::spec::Better;
use schemars::JsonSchema;
use serde::Serialize;

/// A figure of an offer beside its price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Priced {
    /// A month of it, above 0, in a currency that is the same for all.
    pub price: f64,
    /// The figure.
    pub value: f64,
    /// Its interval for the server or the plan; `None` where nothing may be decided by it.
    pub interval: Option<Interval>,
}

/// A value with its interval, where it has one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ranged {
    /// The value.
    pub value: f64,
    /// Its 95 % interval.
    #[serde(flatten, serialize_with = "in_document::<_, Ends, _>")]
    #[schemars(with = "Ends")]
    pub interval: Option<Interval>,
}

/// Where an offer stands among others, price against performance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// No other one costs as little and may be as good.
    Frontier,
    /// This other one costs no more and is proven not to be worse.
    Dominated(usize),
    /// Another one costs no more, and nobody can tell which of the two is better.
    Unclear,
}

/// The figure per unit of the currency and month; `None` where less of it is better, which no price divides.
pub fn per_price(priced: &Priced, better: Better) -> Option<Ranged> {
    let scaled = |x: f64| x / priced.price;
    (better == Better::Higher).then(|| Ranged {
        value: scaled(priced.value),
        interval: priced.interval.map(|interval| Interval {
            lo: scaled(interval.lo),
            hi: scaled(interval.hi),
            ..interval
        }),
    })
}

/// What `to` has more than `from`, per unit of `by`, which is how much more of a resource (or money) it takes; `None`
/// where that is none. The interval of a difference of two figures that know nothing of one another is put together
/// of the distances to their ends (Zou and Donner, Statist. Med. 27 (2008) 1693-1702).
pub fn of_one_more(from: &Priced, to: &Priced, by: f64) -> Option<Ranged> {
    if by.abs() <= 0.0 || !by.is_finite() {
        return None;
    }
    let value = to.value - from.value;
    let ends = from.interval.zip(to.interval).map(|(from_ends, to_ends)| {
        let below = (to.value - to_ends.lo).hypot(from_ends.hi - from.value);
        let above = (to_ends.hi - to.value).hypot(from.value - from_ends.lo);
        let (one, other) = ((value - below) / by, (value + above) / by);
        Interval {
            lo: one.min(other),
            hi: one.max(other),
            ..to_ends
        }
    });
    Some(Ranged {
        value: value / by,
        interval: ends,
    })
}

/// Where each offer stands, in their order.
pub fn places(offers: &[Priced], better: Better) -> Vec<Place> {
    let turned: Vec<Option<(f64, f64)>> = offers.iter().map(|one| ends(one, better)).collect();
    let place = |one: usize| {
        let others = (0..offers.len()).filter(|&other| other != one);
        let rivals = others.filter(|&other| offers[other].price <= offers[one].price);
        let rivals: Vec<usize> = rivals.collect();
        let dominates = |&other: &usize| {
            let (Some(here), Some(there)) = (turned[one], turned[other]) else {
                return false;
            };
            let cheaper = offers[other].price < offers[one].price;
            there.0 > here.1 || cheaper && there.0 >= here.1
        };
        let worse = |&other: &usize| {
            let both = turned[one].zip(turned[other]);
            both.is_some_and(|(here, there)| there.1 < here.0)
        };
        // Of several the one that is cheapest is said.
        let cheapest = |a: &usize, b: &usize| offers[*a].price.total_cmp(&offers[*b].price);
        if let Some(by) = rivals.iter().copied().filter(dominates).min_by(cheapest) {
            Place::Dominated(by)
        } else if rivals.iter().all(worse) {
            Place::Frontier
        } else {
            Place::Unclear
        }
    };
    (0..offers.len()).map(place).collect()
}

/// The ends of an interval, turned so that more is better.
fn ends(offer: &Priced, better: Better) -> Option<(f64, f64)> {
    offer.interval.map(|interval| match better {
        Better::Higher => (interval.lo, interval.hi),
        Better::Lower => (-interval.hi, -interval.lo),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn priced(price: f64, value: f64, half: f64) -> Priced {
        Priced {
            price,
            value,
            interval: Some(Interval {
                lo: value - half,
                hi: value + half,
                confidence: 0.95,
            }),
        }
    }

    const HIGHER: Better = Better::Higher;

    #[test]
    fn an_offer_is_dominated_only_where_another_is_proven() {
        let check = |offers: &[Priced], better, expect: &[Place]| {
            assert_eq!(places(offers, better), expect, "{offers:?}");
        };
        let (cheap, dear) = (priced(300.0, 100.0, 5.0), priced(400.0, 90.0, 4.0));
        check(
            &[cheap, dear],
            HIGHER,
            &[Place::Frontier, Place::Dominated(0)],
        );
        check(
            &[cheap, dear],
            Better::Lower,
            &[Place::Frontier, Place::Frontier],
        );
        // Intervals overlap: nobody can tell.
        let near = priced(400.0, 97.0, 4.0);
        check(&[cheap, near], HIGHER, &[Place::Frontier, Place::Unclear]);
        // Better and dearer.
        let better = priced(400.0, 120.0, 4.0);
        check(
            &[cheap, better],
            HIGHER,
            &[Place::Frontier, Place::Frontier],
        );
        // At one price the better one stays, and of two that are the same neither goes.
        let same = priced(300.0, 50.0, 0.0);
        check(
            &[cheap, same],
            HIGHER,
            &[Place::Frontier, Place::Dominated(0)],
        );
        check(&[same, same], HIGHER, &[Place::Unclear, Place::Unclear]);
        let unknown = Priced {
            interval: None,
            ..dear
        };
        check(
            &[cheap, unknown],
            HIGHER,
            &[Place::Frontier, Place::Unclear],
        );
        check(&[unknown], HIGHER, &[Place::Frontier]);
        check(&[], HIGHER, &[]);
    }

    #[test]
    fn one_more_core_buys_a_difference_with_its_interval() {
        // UnixBench's index of a plan with one core and of one with two.
        let (one, two) = (priced(15.0, 505.0, 3.0), priced(30.0, 865.5, 4.0));
        let core = of_one_more(&one, &two, 1.0).unwrap();
        let ends = core.interval.unwrap();
        assert!((core.value - 360.5).abs() < 1e-9, "{core:?}");
        assert!((ends.lo - 355.5).abs() < 1e-9 && (ends.hi - 365.5).abs() < 1e-9);
        let back = of_one_more(&two, &one, -1.0).unwrap();
        assert!((back.value - core.value).abs() < 1e-9);
        assert!((back.interval.unwrap().lo - ends.lo).abs() < 1e-9);
        assert_eq!(of_one_more(&one, &two, 0.0), None);
        let unknown = Priced {
            interval: None,
            ..two
        };
        assert_eq!(of_one_more(&one, &unknown, 1.0).unwrap().interval, None);
    }

    #[test]
    fn a_latency_has_no_figure_per_price() {
        let found = per_price(&priced(300.0, 600.0, 30.0), HIGHER).unwrap();
        let ends = found.interval.unwrap();
        assert!((found.value - 2.0).abs() < 1e-12);
        assert!((ends.lo - 1.9).abs() < 1e-12 && (ends.hi - 2.1).abs() < 1e-12);
        assert_eq!(per_price(&priced(300.0, 600.0, 30.0), Better::Lower), None);
    }

    fn offers() -> impl Strategy<Value = Vec<Priced>> {
        let one = (
            1_u32..20,
            1.0..100.0_f64,
            0.0..20.0_f64,
            proptest::bool::ANY,
        );
        let one = one.prop_map(|(price, value, half, known)| {
            let found = priced(f64::from(price), value, half);
            Priced {
                interval: found.interval.filter(|_| known),
                ..found
            }
        });
        proptest::collection::vec(one, 1..12)
    }

    proptest! {
        #[test]
        fn whoever_dominates_costs_no_more_and_overlaps_not(offers in offers(), higher in proptest::bool::ANY) {
            let better = if higher { Better::Higher } else { Better::Lower };
            for (one, place) in places(&offers, better).into_iter().enumerate() {
                let Place::Dominated(by) = place else { continue };
                prop_assert!(offers[by].price <= offers[one].price);
                let (here, there) = (offers[one].interval.unwrap(), offers[by].interval.unwrap());
                let apart = if higher { there.lo >= here.hi } else { there.hi <= here.lo };
                prop_assert!(apart);
            }
        }

        #[test]
        fn the_cheapest_is_on_the_frontier_where_it_is_alone(offers in offers()) {
            let least = offers.iter().map(|one| one.price).fold(f64::INFINITY, f64::min);
            let cheapest: Vec<usize> =
                (0..offers.len()).filter(|&one| offers[one].price <= least).collect();
            if let [only] = cheapest[..] {
                prop_assert_eq!(places(&offers, HIGHER)[only], Place::Frontier);
            }
        }

        #[test]
        fn another_currency_changes_no_place(offers in offers(), rate in 1_u32..200) {
            let there: Vec<Priced> = offers
                .iter()
                .map(|one| Priced { price: one.price * f64::from(rate), ..*one })
                .collect();
            prop_assert_eq!(places(&offers, HIGHER), places(&there, HIGHER));
        }

        #[test]
        fn knowing_less_dominates_and_proves_nothing_new(offers in offers(), by in 1.0..5.0_f64) {
            let wider: Vec<Priced> = offers
                .iter()
                .map(|one| Priced {
                    interval: one.interval.map(|ends| Interval { lo: ends.lo - by, hi: ends.hi + by, ..ends }),
                    ..*one
                })
                .collect();
            let (before, after) = (places(&offers, HIGHER), places(&wider, HIGHER));
            for (before, after) in before.into_iter().zip(after) {
                if matches!(after, Place::Dominated(_)) {
                    prop_assert!(matches!(before, Place::Dominated(_)));
                }
                if after == Place::Frontier {
                    prop_assert_eq!(before, Place::Frontier);
                }
            }
        }

        #[test]
        fn a_figure_per_price_keeps_its_relative_interval(offer in offers()) {
            let offer = offer[0];
            let found = per_price(&offer, HIGHER).unwrap();
            prop_assert!((found.value * offer.price - offer.value).abs() < 1e-9);
            prop_assert_eq!(found.interval.is_some(), offer.interval.is_some());
        }
    }
}
