//! `net.tcp`: bytes one way between this machine and one where `kurabe net serve` or an iperf3 server listens.
//!
//! A round is one test of iperf3's protocol, which we end when its time is over here. The supervisor's copies are flows
//! of one worker: one test has them all. The peer's address is resolved once per round.

pub(in crate::net) mod enough;
mod figures;
pub(super) mod flows;
mod round;
mod spec;
mod zerocopy;

use super::kernel;
use super::peer::{Other, peer_of, reach, touch, within};
use engine::consent::Touch;
use engine::workload::{BadValue, Body, OnStandIn, Place, StandIn, WorkError, Workload};
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{MetricDef, Spec};
use model::units::Nanos;
use round::Round;
pub(in crate::net) use spec::{DIRECTION, TIME};
use spec::{OF_SENDERS, SPEC};

/// The workload.
pub(crate) static TCP: Tcp = Tcp;

/// Flows of TCP.
#[derive(Debug)]
pub(crate) struct Tcp;

/// Connecting and the talk: some round trips.
const SETUP: Nanos = Nanos::from_millis(300);
/// Three parts of a talk, and a server that is busy for a while.
const SETUP_MAX: Nanos = Nanos::from_secs(60);

const TIME_MIN: Nanos = Nanos::from_secs(1);
const TIME_MAX: Nanos = Nanos::from_secs(3600);
const OMIT_MAX: Nanos = Nanos::from_secs(60);
const SECOND: u64 = 1_000_000_000;

/// Flows of a test: as many as iperf3 has streams.
const FLOWS_MAX: u32 = 128;

/// What a case without a peer is told.
pub(super) const NEEDS: &str = "it works with another machine, where `kurabe net serve` or an iperf3 server listens \
                                and which `--peer HOST` names";

pub(super) fn is_up(params: &Params) -> bool {
    params.text("direction") == "up"
}

/// The peer that a case works with.
pub(super) fn peer_at(place: &Place) -> Result<Other, WorkError> {
    let peer = peer_of(place.stand_in.as_ref());
    let peer = peer.ok_or_else(|| WorkError::Unsupported(NEEDS.to_owned()))?;
    Other::permitted(&peer.path, &place.permits)
}

/// Bounds of the times of a round.
pub(super) fn check_times(time: Nanos, omit: Nanos) -> Result<(), BadValue> {
    if !(TIME_MIN..=TIME_MAX).contains(&time) {
        return Err(BadValue::new("time", "from 1s to 1h"));
    }
    if omit > OMIT_MAX || !omit.0.is_multiple_of(SECOND) {
        return Err(BadValue::new("omit", "whole seconds, up to 60s"));
    }
    Ok(())
}

impl Workload for Tcp {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        Shape {
            setup: SETUP,
            setup_max: SETUP_MAX,
            warmup: params.duration("omit"),
            measure: params.duration("time"),
            measure_min: TIME_MIN,
            settle: Settle::None,
            threads: true,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        check_times(params.duration("time"), params.duration("omit"))?;
        if !(1 << 10..=1 << 20).contains(&params.size("size").0) {
            return Err(BadValue::new("size", "from 1k to 1M"));
        }
        if !is_up(params) && params.text("zerocopy") == "on" {
            return Err(BadValue::new(
                "zerocopy",
                "`off` where the peer sends (`direction=down`)",
            ));
        }
        Ok(())
    }

    fn supported_with(&self, _: &Params, _: &HostFacts, copies: u32) -> Result<(), String> {
        if copies <= FLOWS_MAX {
            return Ok(());
        }
        Err(format!("a test of iperf3 has {FLOWS_MAX} streams at most"))
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let up = is_up(params);
        let is_known = |metric: &&MetricDef| up || !OF_SENDERS.contains(&metric.quantity);
        let own = SPEC.metrics.iter().filter(is_known);
        own.chain(&kernel::SERIES).collect()
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let words = if is_up(params) {
            ["TCP up", "TCP 上り"]
        } else {
            ["TCP down", "TCP 下り"]
        };
        Some(Headline::new(Topic::Network, words).and_all())
    }

    fn touches(&self, _: &Params, stand_in: Option<&StandIn>) -> Vec<Touch> {
        peer_of(stand_in).map(touch).into_iter().collect()
    }

    fn without_stand_in(&self) -> Result<(), String> {
        Err(NEEDS.to_owned())
    }

    fn on_stand_in(&self, _: &Params, stand_in: &StandIn) -> Result<Option<OnStandIn>, String> {
        peer_of(Some(stand_in))
            .map(|_| None)
            .ok_or_else(|| NEEDS.to_owned())
    }

    fn reach(&self, place: &Place) -> Result<(), WorkError> {
        let peer = peer_of(place.stand_in.as_ref());
        peer.map_or(Ok(()), |peer| reach(&peer.path, &place.permits))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        within(place, 0)?;
        Ok(Box::new(Round::begin(peer_at(place)?, params, place)?))
    }
}

#[cfg(test)]
pub(super) mod fake;
#[cfg(test)]
mod tests;
