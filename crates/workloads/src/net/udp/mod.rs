//! `net.udp`: datagrams one way at a given rate, between this machine and one where an iperf3 server listens, and
//! `net.udp-max`: the highest rate at which next to none is lost.
//!
//! A round is a test of iperf3's protocol, or several. The supervisor's copies are flows of one worker: one test has
//! them all. What is the same by TCP is [`super::tcp`]'s.

mod figures;
pub(in crate::net) mod flows;
pub(in crate::net) mod greet;
pub mod judge;
mod most;
mod round;
mod search;
mod spec;
mod test;

pub(crate) use most::UDP_MAX;

use super::iperf3::parameters::{DATAGRAM_MAX, DATAGRAM_MIN};
use super::iperf3::words::Bits;
use super::kernel;
use super::peer::within;
use super::rate::bits_per_s;
use super::tcp::{TCP, check_times, is_up, peer_at};
use engine::consent::Touch;
use engine::workload::{BadValue, Body, OnStandIn, Place, StandIn, WorkError, Workload};
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::params::Params;
use model::plan::Shape;
use model::spec::{MetricDef, Spec};
use round::Round;
use spec::{OF_RECEIVERS, OF_SENDERS, SPEC};
use test::Order;

/// The workload.
pub(crate) static UDP: Udp = Udp;

/// Flows of UDP.
#[derive(Debug)]
pub(crate) struct Udp;

/// Bits per second of each flow.
fn rate(params: &Params) -> Result<u64, BadValue> {
    let expected = "bits per second such as `800k`, `100M` or `2.5G`";
    bits_per_s(params.text("rate")).map_err(|_| BadValue::new("rate", expected))
}

/// Bytes of a datagram.
fn check_size(params: &Params) -> Result<(), BadValue> {
    let fits = |bytes: &i64| (DATAGRAM_MIN..=DATAGRAM_MAX).contains(bytes);
    let bytes = i64::try_from(params.size("size").0).ok();
    bytes
        .filter(fits)
        .map(drop)
        .ok_or_else(|| BadValue::new("size", "from 16 to 65507 bytes"))
}

/// The metrics of these that are known in a direction.
fn known(all: &'static [MetricDef], up: bool) -> Vec<&'static MetricDef> {
    let unknown: &[&str] = if up { &OF_RECEIVERS } else { &OF_SENDERS };
    let is_known = |metric: &&MetricDef| !unknown.contains(&metric.quantity);
    all.iter().filter(is_known).collect()
}

impl Workload for Udp {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        TCP.shape(params)
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        check_times(params.duration("time"), params.duration("omit"))?;
        check_size(params)?;
        // Otherwise nobody could tell it from a peer that stands still.
        if rate(params)? < 8 * params.size("size").0 {
            let least = "at least a datagram of `size` in a second";
            return Err(BadValue::new("rate", least));
        }
        Ok(())
    }

    fn supported_with(&self, params: &Params, host: &HostFacts, flows: u32) -> Result<(), String> {
        TCP.supported_with(params, host, flows)
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let own = known(SPEC.metrics, is_up(params)).into_iter();
        own.chain(&kernel::SERIES).collect()
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let rate = Bits(rate(params).ok()?);
        let words = if is_up(params) {
            [format!("UDP up at {rate}"), format!("UDP 上り {rate}")]
        } else {
            [format!("UDP down at {rate}"), format!("UDP 下り {rate}")]
        };
        let words = Headline::new(Topic::Network, words.each_ref().map(String::as_str));
        Some(words.beside("lost_share"))
    }

    fn touches(&self, params: &Params, stand_in: Option<&StandIn>) -> Vec<Touch> {
        TCP.touches(params, stand_in)
    }

    fn bits_per_s(&self, params: &Params, flows: u32) -> Option<u64> {
        let of_one = rate(params).ok()?;
        Some(of_one.saturating_mul(u64::from(flows)))
    }

    fn without_stand_in(&self) -> Result<(), String> {
        TCP.without_stand_in()
    }

    fn on_stand_in(&self, params: &Params, on: &StandIn) -> Result<Option<OnStandIn>, String> {
        TCP.on_stand_in(params, on)
    }

    fn reach(&self, place: &Place) -> Result<(), WorkError> {
        TCP.reach(place)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let order = Order::of(params, rate(params)?);
        within(place, order.bits_per_s.saturating_mul(place.copies.into()))?;
        Ok(Box::new(Round::begin(peer_at(place)?, order, place)?))
    }
}

#[cfg(test)]
mod relay;
#[cfg(test)]
mod tests;
