//! The workload `net.udp-max`.

use super::search::Search;
use super::spec::MOST;
use super::test::Order;
use super::{UDP, check_size};
use crate::net::tcp::{check_times, is_up, peer_at};
use engine::consent::Touch;
use engine::workload::{BadValue, Body, OnStandIn, Place, StandIn, WorkError, Workload};
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::Spec;
use model::units::Nanos;

/// The workload.
pub(crate) static UDP_MAX: UdpMax = UdpMax;

/// The search for a rate.
#[derive(Debug)]
pub(crate) struct UdpMax;

/// About so many rates are tried, each with its talk: up to some Gbit/s, and halved five times.
const TRIES: u64 = 11;
const TALK: Nanos = Nanos::from_millis(100);
/// More than from 100 Mbit/s up to the most, or down to the least.
const TRIES_MAX: u64 = 25;
const TALK_MAX: Nanos = Nanos::from_secs(30);

/// The part that is to be lost at most, from `0.1%`.
fn loss_max(params: &Params) -> Result<f64, BadValue> {
    let text = params.text("loss_max");
    let percent = text.strip_suffix('%').and_then(|text| text.parse().ok());
    let fits = |percent: &f64| *percent > 0.0 && *percent <= 50.0;
    let wrong = || BadValue::new("loss_max", "a percentage above 0, up to `50%`");
    Ok(percent.filter(fits).ok_or_else(wrong)? / 100.0)
}

fn times(count: u64, span: Nanos) -> Nanos {
    Nanos(span.0.saturating_mul(count))
}

impl Workload for UdpMax {
    fn spec(&self) -> &'static Spec {
        &MOST
    }

    fn shape(&self, params: &Params) -> Shape {
        let time = params.duration("time");
        Shape {
            warmup: Nanos::ZERO,
            measure: times(TRIES, time.plus(TALK)),
            measure_max: Some(times(TRIES_MAX, time.plus(TALK_MAX))),
            fixed_work: true,
            windowless: true,
            threads: true,
            settle: Settle::None,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        check_times(params.duration("time"), Nanos::ZERO)?;
        check_size(params)?;
        loss_max(params).map(drop)
    }

    fn supported_with(&self, params: &Params, host: &HostFacts, flows: u32) -> Result<(), String> {
        UDP.supported_with(params, host, flows)
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let words = if is_up(params) {
            ["UDP up", "UDP 上り"]
        } else {
            ["UDP down", "UDP 下り"]
        };
        Some(Headline::new(Topic::Network, words).and_all())
    }

    /// What a test came to is kept.
    fn allocates(&self, _: &Params) -> bool {
        true
    }

    fn touches(&self, params: &Params, stand_in: Option<&StandIn>) -> Vec<Touch> {
        UDP.touches(params, stand_in)
    }

    fn without_stand_in(&self) -> Result<(), String> {
        UDP.without_stand_in()
    }

    fn on_stand_in(&self, params: &Params, on: &StandIn) -> Result<Option<OnStandIn>, String> {
        UDP.on_stand_in(params, on)
    }

    fn reach(&self, place: &Place) -> Result<(), WorkError> {
        UDP.reach(place)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let (other, order) = (peer_at(place)?, Order::of(params, 1));
        let limits = (params.duration("time"), loss_max(params)?);
        Ok(Box::new(Search::new(other, order, limits, place)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing::params;

    #[test]
    fn what_may_be_lost_is_a_percentage() {
        let check = |text: &str, expected: Option<f64>| {
            let found = loss_max(&params(&UDP_MAX, &[("loss_max", text)])).ok();
            let is_close = found.zip(expected).map(|(a, b)| (a - b).abs() < 1e-12);
            assert_eq!(
                (is_close, found.is_some()),
                (expected.map(|_| true), expected.is_some())
            );
        };
        check("0.1%", Some(0.001));
        check("50%", Some(0.5));
        for wrong in ["0%", "51%", "0.1", "x%", "-1%", "NaN%", ""] {
            check(wrong, None);
        }
    }
}
