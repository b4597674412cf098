//! `net.connect`: connections to a machine where `kurabe net serve` listens, one after the other.
//!
//! Each shows a hello of 37 bytes, by which the server knows whose it is, is answered by one byte, and closed by us
//! first; the server, which has seen that, closes by a reset, as over loopback and for the same reason
//! (`net::local::connect`): no pair of ports is kept for a minute.

use super::round::failed;
use super::{SETUP, SETUP_MAX, on_stand_in, other, reached, seconds, supported, touches};
use crate::net::exchange::{PATIENCE, ops_per_s};
use crate::net::iperf3::control::Trouble;
use crate::net::own::Request;
use crate::net::own::client::Session;
use crate::net::own::hello::Hello;
use crate::net::own::proof::TAKEN;
use crate::net::peer::{Other, Peer, SAYS_WITHIN, spent};
use crate::storage::{mean, p50, p99};
use crate::sysbench::LAT_MAX;
use engine::consent::Touch;
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, OnStandIn, Place, StandIn, WorkError, Workload};
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::latency::LAT;
use model::params::Params;
use model::plan::{Settle, Shape};
use model::spec::{Nature, Spec, TestDef};
use model::units::{Bytes, Nanos};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use sys::until::Until;

/// The workload.
pub(crate) static CONNECT: Connect = Connect;

/// Connections, one after the other.
#[derive(Debug)]
pub(crate) struct Connect;

/// A p99 takes some hundred connections; a way of 1 ms has them in this time.
const MEASURE: Nanos = Nanos::from_secs(1);

static SPEC: Spec = Spec {
    name: "net.connect",
    version: 1,
    nature: Nature::Network,
    title: "connections to another machine",
    doc: "One operation is one connection of TCP to the machine that `--peer` names: the client makes a socket and \
          connects, sends 37 bytes that show whose it is, receives one byte, and closes; then the next one begins \
          (as netperf's TCP_CRR, whose request has as many bytes as one likes). The server closes when it has seen the \
          client's end, by a reset, so that no pair of ports is kept in TIME_WAIT. After 5 s without an answer a \
          round has failed.\n\n\
          `kurabe net serve` listens there, and its token is known here. The server takes one connection after the \
          other and checks what it shows: its time for that is in the figures.",
    params: &[],
    metrics: &[
        ops_per_s(
            "Connections, over the wall time from before the first socket is made to the return of the last close.",
        ),
        mean(
            "lat_ns_mean",
            LAT,
            "Mean time of a connection: from the close before it, after which its socket is made at once, to its own \
             close.",
        ),
        p50("lat_ns_p50", LAT),
        p99("lat_ns_p99", LAT),
        LAT_MAX,
    ],
    tests: &[TestDef::new(
        "net.connect",
        "TCP to the peer: connect, 1 byte back, close",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

impl Workload for Connect {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, _: &Params) -> Shape {
        Shape {
            setup: SETUP,
            setup_max: SETUP_MAX,
            measure: MEASURE,
            settle: Settle::None,
            ..Shape::DEFAULT
        }
    }

    fn supported_with(&self, _: &Params, _: &HostFacts, copies: u32) -> Result<(), String> {
        supported(copies)
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        let words = ["connections", "接続"];
        Some(Headline::new(Topic::Network, words).beside("lat_ns_p99"))
    }

    fn touches(&self, _: &Params, stand_in: Option<&StandIn>) -> Vec<Touch> {
        touches(stand_in)
    }

    fn without_stand_in(&self) -> Result<(), String> {
        Err(super::NEEDS.to_owned())
    }

    fn on_stand_in(&self, _: &Params, stand_in: &StandIn) -> Result<Option<OnStandIn>, String> {
        on_stand_in(stand_in)
    }

    fn reach(&self, place: &Place) -> Result<(), WorkError> {
        reached(place)
    }

    fn prepare(&self, _: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        Ok(Box::new(Connections::begin(other(place)?, place)?))
    }
}

/// Connections at work.
struct Connections {
    peer: Peer,
    at: SocketAddr,
    /// Gone once the count is known.
    session: Option<Session>,
    done: u64,
    /// Bytes that may be moved.
    left: Option<u64>,
}

impl Connections {
    /// Agrees with the server, and connects once.
    fn begin(other: Other, place: &Place) -> Result<Self, WorkError> {
        let seconds = seconds(place);
        let told = |why: Trouble| why.told(&other.peer, "begin connections to");
        let mut session = other.session().map_err(told)?;
        let until = Until::after(SAYS_WITHIN);
        let request = Request::Connect { seconds };
        session.begin(request, until).map_err(told)?;
        let first = session.connect(until);
        drop(first.map_err(told)?);
        Ok(Self {
            at: session.at(),
            peer: other.peer,
            session: Some(session),
            done: 1,
            left: place.bytes_left.map(|left| left.0),
        })
    }

    /// Bytes of so many connections, both ways.
    const fn bytes(connections: u64) -> u64 {
        /// What each connection says, and the answer.
        const EACH: u64 = size_of::<Hello>() as u64 + 1;
        connections.saturating_mul(EACH)
    }

    fn over() -> WorkError {
        WorkError::Failed("connect in a test that is over".to_owned())
    }
}

/// One connection.
#[inline]
fn connect(at: SocketAddr, hello: &Hello) -> io::Result<()> {
    let mut stream = TcpStream::connect_timeout(&at, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(&hello.0)?;
    let mut word = [0];
    stream.read_exact(&mut word)?;
    if word == [TAKEN] {
        Ok(())
    } else {
        Err(ErrorKind::InvalidData.into())
    }
}

impl Body for Connections {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        let needs = Self::bytes(self.done.saturating_add(ops));
        if let Some(left) = self.left.filter(|left| needs > *left) {
            return Err(spent(left));
        }
        let session = self.session.as_mut().ok_or_else(Self::over)?;
        let mut laps = recorder.laps();
        for _ in 0..ops {
            let done = laps.lap(|| connect(self.at, &session.hello()));
            done.map_err(|error| failed(&self.peer, &error))?;
            self.done += 1;
        }
        Ok(ops)
    }

    fn records_latency(&self) -> bool {
        true
    }

    fn moved(&self) -> Option<Bytes> {
        Some(Bytes(Self::bytes(self.done)))
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let session = self.session.take().ok_or_else(Self::over)?;
        let told = |why: Trouble| why.told(&self.peer, "end connections to");
        let (answered, _) = session.ends(Until::after(SAYS_WITHIN)).map_err(told)?;
        if answered == self.done {
            return Ok(Finish::default());
        }
        Err(WorkError::Wrong(format!(
            "`{}` answered {answered} connections, and {} were made",
            self.peer, self.done
        )))
    }
}
