//! The way there and the way back by themselves, where two clocks allow that.
//!
//! Behind the measured part some datagrams come back with the instants at which the peer received and answered them.
//! How long a way took is the difference of two machines' clocks, and as wrong as these may be together. So it is told
//! only where that is below a tenth of it; and a way that would have taken less than no time shows that a clock is
//! further off than it says.

use super::spec::{DOWN, UP};
use crate::net::exchange::Stamped;
use crate::net::figures::tell;
use crate::net::own::clock::OfClock;
use engine::workload::Finish;
use model::num::approx;

/// The clocks may be off by this part of a delay.
const PART: u64 = 10;

/// Fewer have no p99.
const SAMPLES_MIN: usize = 100;

/// What helps.
const HINT: &str = "chrony on both machines keeps their clocks closer";

/// How far both clocks may be off together, in nanoseconds; or why nobody knows.
pub(super) fn bound(here: &OfClock, there: Option<&OfClock>) -> Result<u64, String> {
    let there = there.ok_or("the peer tells no times: it is an older kurabe")?;
    if here.is(there) {
        return Ok(0);
    }
    let of = |clock: &OfClock, whose: &str| {
        let none = || format!("nothing keeps {whose} clock, or tells how well; {HINT}");
        clock.bound_ns.ok_or_else(none)
    };
    let (here, there) = (of(here, "this machine's")?, of(there, "the peer's")?);
    Ok(here.saturating_add(there))
}

/// Puts the figures of both ways into `finish`, or why there are none.
pub(super) fn put(finish: &mut Finish, samples: &[Stamped], bound: Result<u64, String>) {
    let known = bound.and_then(|bound| Ok((ways(samples, bound)?, bound)));
    for (place, quantities) in [UP, DOWN].into_iter().enumerate() {
        let own = known.as_ref().map_err(Clone::clone);
        let figures = own.and_then(|(ways, bound)| figures(&ways[place], *bound));
        for (at, quantity) in quantities.into_iter().enumerate() {
            let value = match &figures {
                Ok([_, _, None]) if at == 2 => Err("a p99 takes 100 messages"),
                Ok(figures) => figures[at].ok_or(""),
                Err(why) => Err(why.as_str()),
            };
            tell(finish, quantity, value);
        }
    }
}

/// Nanoseconds there, and back, of each sample, ascending.
fn ways(samples: &[Stamped], bound: u64) -> Result<[Vec<u64>; 2], String> {
    if samples.is_empty() {
        return Err("no message came back with the peer's times".to_owned());
    }
    let mut ways = [Vec::new(), Vec::new()];
    for one in samples {
        let taken = |from: u64, to: u64| {
            to.checked_sub(from).ok_or_else(|| {
                let less = from - to;
                let by = if less > bound {
                    format!("more than the {bound} ns that the clocks say they may be off")
                } else {
                    format!("within the {bound} ns that the clocks may be off")
                };
                format!(
                    "a way would have taken {less} ns less than no time, {by}: they are not told; {HINT}"
                )
            })
        };
        // Whoever answers before it has received has no clock.
        taken(one.received, one.answered)?;
        ways[0].push(taken(one.sent, one.received)?);
        ways[1].push(taken(one.answered, one.came)?);
    }
    for way in &mut ways {
        way.sort_unstable();
    }
    Ok(ways)
}

/// Mean, p50 and p99 of a way; no p99 of few.
fn figures(way: &[u64], bound: u64) -> Result<[Option<f64>; 3], String> {
    let at = |percent: usize| {
        let rank = (way.len() * percent).div_ceil(100).max(1);
        way.get(rank - 1).copied().unwrap_or(0)
    };
    let sum: u128 = way.iter().copied().map(u128::from).sum();
    let mean = u64::try_from(sum / way.len().max(1) as u128).unwrap_or(u64::MAX);
    let least = mean.min(at(50));
    if bound > 0 && bound.saturating_mul(PART) >= least {
        return Err(format!(
            "both clocks may be off by {bound} ns together, which is not below a tenth of the delay ({least} ns); \
             {HINT}"
        ));
    }
    let p99 = (way.len() >= SAMPLES_MIN).then(|| approx(at(99)));
    Ok([Some(approx(mean)), Some(approx(at(50))), p99])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages that took so many nanoseconds there, at the peer, and back, whose clock is ahead by `ahead`.
    fn samples(count: u64, (there, held, back): (u64, u64, u64), ahead: i64) -> Vec<Stamped> {
        let theirs = |ours: u64| ours.checked_add_signed(ahead).unwrap();
        let one = |place: u64| {
            let sent = 1_800_000_000_000_000_000 + place * 1_000_000;
            let received = sent + there + place;
            let answered = received + held;
            Stamped {
                sent,
                received: theirs(received),
                answered: theirs(answered),
                came: answered + back,
            }
        };
        (0..count).map(one).collect()
    }

    fn told(samples: &[Stamped], bound: Result<u64, String>) -> Finish {
        let mut finish = Finish::default();
        put(&mut finish, samples, bound);
        for quantity in UP.into_iter().chain(DOWN) {
            let value = finish.reported.get(quantity);
            assert!(value.is_none_or(|ns| *ns >= 0.0));
            assert_ne!(value.is_some(), finish.missing.contains_key(quantity));
        }
        finish
    }

    #[test]
    fn ways_of_one_clock_are_exact() {
        let finish = told(&samples(101, (40_000, 5000, 70_000), 0), Ok(0));
        let expected = [40_050.0, 40_050.0, 40_099.0, 70_000.0, 70_000.0, 70_000.0];
        let found = UP.into_iter().chain(DOWN).map(|name| finish.reported[name]);
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_clock_that_is_off_within_its_bound_is_told_where_that_is_a_tenth_alone() {
        let check = |ahead, bound, up: bool, down: bool| {
            let finish = told(
                &samples(100, (1_000_000, 5000, 3_000_000), ahead),
                Ok(bound),
            );
            assert_eq!(
                finish.reported.contains_key(UP[0]),
                up,
                "{bound}: {finish:?}"
            );
            assert_eq!(finish.reported.contains_key(DOWN[2]), down, "{bound}");
            finish
        };
        let finish = check(50_000, 99_999, true, true);
        assert!((finish.reported[UP[1]] - 1_050_049.0).abs() < 1.0);
        check(0, 100_005, false, true);
        check(0, 299_999, false, true);
        let none = check(0, 300_000, false, false);
        let why = &none.missing[DOWN[0]];
        assert!(
            why.contains("300000 ns") && why.contains("3000000 ns"),
            "{why}"
        );
        assert!(why.contains("chrony on both"), "{why}");
    }

    #[test]
    fn a_way_of_less_than_no_time_is_no_figure_but_a_wrong_bound() {
        for ahead in [-200_000, 200_000] {
            let finish = told(&samples(100, (50_000, 0, 50_000), ahead), Ok(1000));
            let why = &finish.missing[UP[0]];
            assert!(why.contains("more than the 1000 ns"), "{why}");
            assert_eq!(finish.missing[DOWN[1]], *why, "both ways");
            let finish = told(&samples(100, (50_000, 0, 50_000), ahead), Ok(400_000));
            let why = &finish.missing[UP[0]];
            assert!(why.contains("within the 400000 ns"), "{why}");
        }
        let mut odd = samples(100, (50_000, 1000, 50_000), 0);
        odd[7].answered = 0;
        assert!(told(&odd, Ok(0)).reported.is_empty());
        (odd[7].received, odd[7].answered) = (u64::MAX, u64::MAX);
        assert!(told(&odd, Ok(0)).reported.is_empty());
    }

    #[test]
    fn few_messages_have_no_p99_and_none_have_a_reason() {
        let finish = told(&samples(99, (40_000, 5000, 70_000), 0), Ok(0));
        assert!(finish.reported.contains_key(UP[1]) && finish.reported.contains_key(DOWN[0]));
        assert_eq!(finish.missing[UP[2]], "a p99 takes 100 messages");
        let finish = told(&[], Ok(0));
        assert_eq!(finish.missing.len(), 6);
    }

    #[test]
    fn clocks_of_one_boot_are_one_and_others_have_the_sum_of_their_bounds() {
        let clock = |boot: Option<&str>, bound_ns| OfClock {
            bound_ns,
            boot: boot.map(str::to_owned),
            ahead_ns: Some(1_000_000),
        };
        let (a, b) = (clock(Some("a"), None), clock(Some("b"), Some(20)));
        assert_eq!(bound(&a, Some(&a.clone())), Ok(0));
        assert_eq!(bound(&b, Some(&clock(Some("c"), Some(30)))), Ok(50));
        // Restored from one snapshot, at another time.
        let other = OfClock {
            ahead_ns: Some(1_020_000),
            ..b.clone()
        };
        assert_eq!(bound(&b, Some(&other)), Ok(40));
        let untold = OfClock {
            ahead_ns: None,
            ..b.clone()
        };
        assert_eq!(bound(&untold, Some(&untold)), Ok(40));
        let odd = clock(None, Some(u64::MAX));
        assert_eq!(bound(&odd, Some(&odd)), Ok(u64::MAX), "not known to be one");
        let why = |here: &OfClock, there: Option<&OfClock>| bound(here, there).unwrap_err();
        assert!(why(&a, Some(&b)).contains("this machine's clock"));
        assert!(why(&b, Some(&a)).contains("the peer's clock"));
        assert!(why(&b, None).contains("older kurabe"));
    }
}
