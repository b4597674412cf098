//! Small messages to a machine where `kurabe net serve` listens, and back: `net.rr`, over the network what
//! `net.local-rr` is over loopback; and connections to it: `net.connect`.

mod connect;
mod delay;
mod round;
mod spec;

pub(crate) use connect::CONNECT;

use super::own::words::{FLOWS_MAX, MESSAGE_MAX, whole_seconds};
use super::own::{Messages, Protocol};
use super::peer::{Other, peer_of, reach, touch, within};
use super::tcp::check_times;
use crate::arrivals::{self, OF_ARRIVALS};
use engine::consent::Touch;
use engine::workload::{BadValue, Body, OnStandIn, Place, StandIn, WorkError, Workload};
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::named::NamedKind;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{MetricDef, Spec};
use model::units::Nanos;
use round::Round;
use spec::{LOAD_DOWN, LOAD_UP, OF_UDP, SPEC};
use std::time::Duration;

/// The workload.
pub(crate) static RR: Rr = Rr;

/// Round trips.
#[derive(Debug)]
pub(crate) struct Rr;

/// Connecting and the talk: some round trips.
const SETUP: Nanos = Nanos::from_millis(300);
const SETUP_MAX: Nanos = Nanos::from_secs(60);

/// Load takes a while until it fills the way: as long as `net.tcp` omits.
const LOADS_WITHIN: Nanos = Nanos::from_secs(1);

/// How much longer than planned a round may take: its beginning, and its end.
const LONGER: Duration = Duration::from_secs(30);

/// What a case without a token is told.
const NEEDS: &str = "it works with `kurabe net serve` at the other end (`--peer HOST`), whose token `KURABE_TOKEN` or \
                     `--token-file FILE` holds";

/// What a case of several copies is told.
const ONE: &str = "it is one at a time: what one waits for the other would be in its figures";

/// How long a round lasts at most, for a server that ends by itself.
fn seconds(place: &Place) -> u32 {
    whole_seconds(Duration::from_nanos(place.warmup.plus(place.measure).0) + LONGER)
}

/// What both tests say of their peer.
fn touches(stand_in: Option<&StandIn>) -> Vec<Touch> {
    let own = peer_of(stand_in).filter(|named| named.kind == NamedKind::TokenPeer);
    own.map(touch).into_iter().collect()
}

fn on_stand_in(stand_in: &StandIn) -> Result<Option<OnStandIn>, String> {
    match stand_in.kind {
        NamedKind::TokenPeer => Ok(None),
        _ => Err(NEEDS.to_owned()),
    }
}

fn supported(copies: u32) -> Result<(), String> {
    if copies <= 1 {
        return Ok(());
    }
    Err(ONE.to_owned())
}

/// The machine that stands in.
fn other(place: &Place) -> Result<Other, WorkError> {
    let peer = peer_of(place.stand_in.as_ref());
    let peer = peer.ok_or_else(|| WorkError::Unsupported(NEEDS.to_owned()))?;
    within(place, 0)?;
    Other::permitted(&peer.path, &place.permits)
}

fn reached(place: &Place) -> Result<(), WorkError> {
    let peer = peer_of(place.stand_in.as_ref());
    peer.map_or(Ok(()), |peer| reach(&peer.path, &place.permits))
}

fn is_udp(params: &Params) -> bool {
    params.text("protocol") == "udp"
}

/// Flows of load there, and from there.
fn load(params: &Params) -> (u32, u32) {
    let flows = u32::try_from(params.count("flows")).unwrap_or(FLOWS_MAX);
    match params.text("load") {
        "up" => (flows, 0),
        "down" => (0, flows),
        "both" => (flows, flows),
        _ => (0, 0),
    }
}

impl Workload for Rr {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        let warmup = match load(params) {
            (0, 0) => Shape::DEFAULT.warmup,
            _ => LOADS_WITHIN,
        };
        Shape {
            setup: SETUP,
            setup_max: SETUP_MAX,
            warmup,
            measure: params.duration("time"),
            settle: Settle::None,
            ..Shape::DEFAULT
        }
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        check_times(params.duration("time"), Nanos::ZERO)?;
        if !(1..=u64::from(MESSAGE_MAX)).contains(&params.size("size").0) {
            return Err(BadValue::new("size", "from 1 byte to 32k"));
        }
        Ok(())
    }

    fn supported_with(&self, _: &Params, _: &HostFacts, copies: u32) -> Result<(), String> {
        supported(copies)
    }

    fn metrics(&self, params: &Params) -> Vec<&'static MetricDef> {
        let (up, down) = load(params);
        let is_known = |metric: &&MetricDef| match metric.quantity {
            LOAD_UP => up > 0,
            LOAD_DOWN => down > 0,
            name if OF_ARRIVALS.contains(&name) => arrivals::asked(params),
            other => is_udp(params) || !OF_UDP.contains(&other),
        };
        SPEC.metrics.iter().filter(is_known).collect()
    }

    fn ways(&self, params: &Params) -> u32 {
        let (up, down) = load(params);
        u32::from(up > 0) + u32::from(down > 0)
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let words = match (is_udp(params), load(params)) {
            (false, (0, 0)) => ["TCP round trips", "TCP 往復"],
            (true, (0, 0)) => ["UDP round trips", "UDP 往復"],
            (false, _) => ["TCP round trips under load", "負荷時の TCP 往復"],
            (true, _) => ["UDP round trips under load", "負荷時の UDP 往復"],
        };
        // What a round trip takes; under load, what the slow ones take.
        let beside = if load(params) == (0, 0) {
            "lat_ns_p50"
        } else {
            "lat_ns_p99"
        };
        Some(Headline::new(Topic::Network, words).beside(beside))
    }

    fn touches(&self, _: &Params, stand_in: Option<&StandIn>) -> Vec<Touch> {
        touches(stand_in)
    }

    fn without_stand_in(&self) -> Result<(), String> {
        Err(NEEDS.to_owned())
    }

    fn on_stand_in(&self, _: &Params, stand_in: &StandIn) -> Result<Option<OnStandIn>, String> {
        on_stand_in(stand_in)
    }

    fn reach(&self, place: &Place) -> Result<(), WorkError> {
        reached(place)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let (up, down) = load(params);
        let asked = Messages {
            protocol: if is_udp(params) {
                Protocol::Udp
            } else {
                Protocol::Tcp
            },
            size: u32::try_from(params.size("size").0).unwrap_or(MESSAGE_MAX),
            seconds: seconds(place),
            up,
            down,
            down_bytes_max: None,
        };
        let schedule = arrivals::share(params, (0, 1), place.seed);
        Ok(Box::new(Round::begin(
            other(place)?,
            asked,
            place,
            schedule,
        )?))
    }
}

#[cfg(test)]
mod tests;
