//! Servers on loopback that follow a script, to the letter or against it.

use super::TCP;
use crate::net::iperf3::serve::tests::client::token;
use crate::net::iperf3::{Cookie, Parameters, Results, State, StreamResults, stream_id};
use crate::net::own::Token;
use crate::net::peer::Peer;
use crate::os::testing::{params, place};
use engine::consent::{Consent, Permits, Touch, decide};
use engine::recorder::Recorder;
use engine::secret::Secret;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::params::Params;
use model::units::Nanos;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::time::Duration;
use sys::clock::monotonic;
use sys::tree::Tree;
use tempfile::TempDir;

/// A client on its way through a test.
pub(in crate::net) struct Talk {
    pub(in crate::net) control: TcpStream,
    pub(in crate::net) streams: Vec<TcpStream>,
    pub(in crate::net) asked: Parameters,
}

impl Talk {
    /// Takes a client in, with its cookie.
    pub(in crate::net) fn accept(listener: &TcpListener) -> Self {
        let (mut control, _) = listener.accept().unwrap();
        Cookie::read(&mut control).unwrap();
        Self {
            control,
            streams: Vec::new(),
            asked: Parameters::default(),
        }
    }

    pub(in crate::net) fn say(&mut self, bytes: &[u8]) {
        self.control.write_all(bytes).unwrap();
    }

    pub(in crate::net) fn states(&mut self, states: &[State]) {
        for state in states {
            state.write(&mut self.control).unwrap();
        }
    }

    /// Hears what is wanted.
    pub(in crate::net) fn agreed(mut self) -> Self {
        self.states(&[State::ParamExchange]);
        self.asked = Parameters::read(&mut self.control).unwrap();
        self.asked.check().unwrap();
        self
    }

    /// Takes all streams in; data flows from now on.
    pub(in crate::net) fn begun(listener: &TcpListener) -> Self {
        let mut talk = Self::accept(listener).agreed();
        talk.states(&[State::CreateStreams]);
        for _ in 0..talk.asked.all_streams() {
            let (mut stream, _) = listener.accept().unwrap();
            Cookie::read(&mut stream).unwrap();
            talk.streams.push(stream);
        }
        talk.states(&[State::TestStart, State::TestRunning]);
        talk
    }

    /// Says and does nothing more until the client has gone, whenever it gives up.
    pub(in crate::net) fn until_it_goes(mut self) {
        let long = Some(Duration::from_secs(60));
        self.control.set_read_timeout(long).unwrap();
        // Over unread bytes it goes with an error.
        let _ = self.control.read_to_end(&mut Vec::new());
    }

    /// Sends or receives until the client says that the test is over; bytes of each stream after `omit`, and seconds.
    pub(in crate::net) fn flown(&mut self) -> (Vec<u64>, f64) {
        self.flown_slowly(0)
    }

    /// The same with a rest of so many nanoseconds after each block.
    pub(in crate::net) fn flown_slowly(&mut self, rest: u64) -> (Vec<u64>, f64) {
        let begun = monotonic();
        let omit = u64::try_from(self.asked.omit).unwrap() * 1_000_000_000;
        let mut began = None;
        let mut bytes = vec![0; self.streams.len()];
        let mut block = vec![7; 1 << 16];
        for stream in &self.streams {
            stream.set_nonblocking(true).unwrap();
        }
        self.control.set_nonblocking(true).unwrap();
        loop {
            if began.is_none() && monotonic() - begun >= omit {
                began = Some(monotonic());
                bytes.fill(0);
            }
            for (stream, bytes) in self.streams.iter_mut().zip(&mut bytes) {
                let moved = if self.asked.reverse {
                    stream.write(&block)
                } else {
                    stream.read(&mut block)
                };
                match moved {
                    Ok(moved) => *bytes += moved as u64,
                    Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
                }
            }
            if rest > 0 {
                sys::clock::sleep(rest);
            }
            let mut state = [0];
            match self.control.read(&mut state) {
                Ok(1) => {
                    assert_eq!(State::of(state[0]).unwrap(), State::TestEnd);
                    break;
                }
                Ok(_) => panic!("the client has gone"),
                Err(error) => assert_eq!(error.kind(), ErrorKind::WouldBlock, "{error}"),
            }
        }
        self.control.set_nonblocking(false).unwrap();
        let seconds = monotonic() - began.unwrap_or(begun);
        (bytes, Duration::from_nanos(seconds).as_secs_f64())
    }

    /// What a server has counted.
    pub(in crate::net) fn counted(&self, bytes: &[u64], seconds: f64) -> Results {
        let stream = |(place, bytes): (u32, &u64)| StreamResults {
            id: stream_id(place),
            bytes: i64::try_from(*bytes).unwrap(),
            retransmits: if self.asked.reverse { 3 } else { -1 },
            start_time: Some(1.0),
            end_time: Some(1.0 + seconds),
            ..StreamResults::default()
        };
        Results {
            cpu_util_total: Some(50.0),
            cpu_util_user: Some(10.0),
            cpu_util_system: Some(40.0),
            sender_has_retransmits: if self.asked.reverse { 1 } else { -1 },
            congestion_used: Some("vegas".to_owned()),
            streams: (0..).zip(bytes).map(stream).collect(),
            ..Results::default()
        }
    }

    /// Asks for results, which the client gives.
    pub(in crate::net) fn results(&mut self) -> Results {
        self.states(&[State::ExchangeResults]);
        Results::read(&mut self.control).unwrap()
    }

    /// Gives these, and sees the client go.
    pub(in crate::net) fn done(mut self, results: &Results) {
        results.write(&mut self.control).unwrap();
        self.states(&[State::DisplayResults]);
        assert_eq!(State::read(&mut self.control).unwrap(), State::IperfDone);
    }
}

/// Does something with a server that follows `script`.
pub(in crate::net) fn beside<T>(
    script: impl FnOnce(&TcpListener) + Send,
    client: impl FnOnce(&Peer) -> T,
) -> T {
    // At a port that nobody has by UDP either: some scripts serve both.
    let listener = loop {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        if UdpSocket::bind(listener.local_addr().unwrap()).is_ok() {
            break listener;
        }
    };
    let peer = listener.local_addr().unwrap().to_string().parse().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            script(&listener);
            drop(listener);
        });
        client(&peer)
    })
}

/// Leave to speak to this peer, whose token is known where there is one.
pub(in crate::net) fn permits(peer: &Peer, token: Option<&Token>) -> Permits {
    let stand_in = peer.stand_in(token.is_some());
    let secret = token.map(|token| Secret::new(token.reveal()));
    let consent = Consent {
        secrets: secret
            .map(|secret| (stand_in.path.clone(), secret))
            .into_iter()
            .collect(),
        ..Consent::default()
    };
    let touch = Touch {
        path: stand_in.path,
        kind: stand_in.kind,
        writes: false,
        creates: false,
    };
    let granted = decide(&Tree::real(), vec![touch], &consent, &|_| None);
    granted.unwrap().permits.clone()
}

/// Where a round of so many flows is done; its parts are short, and a server is told whole seconds.
pub(in crate::net) fn place_of(peer: &Peer, flows: u32) -> (TempDir, Place) {
    place_as(peer, flows, None)
}

/// The same with a server of ours, whose token is that of the tests.
pub(in crate::net) fn place_with_token(peer: &Peer, flows: u32) -> (TempDir, Place) {
    place_as(peer, flows, Some(&token()))
}

fn place_as(peer: &Peer, flows: u32, token: Option<&Token>) -> (TempDir, Place) {
    let (root, place) = place();
    let place = Place {
        copies: flows,
        stand_in: Some(peer.stand_in(token.is_some())),
        permits: permits(peer, token),
        warmup: Nanos::ZERO,
        measure: Nanos::from_millis(MEASURE_MS),
        ..place
    };
    (root, place)
}

/// How long data flows.
pub(in crate::net) const MEASURE_MS: u64 = 400;

pub(in crate::net) fn set(direction: &str) -> Params {
    params(&TCP, &[("direction", direction)])
}

/// A round in this direction.
pub(in crate::net) fn round(peer: &Peer, direction: &str, flows: u32) -> Result<Finish, WorkError> {
    round_of(&TCP, &set(direction), peer, flows)
}

/// A round of a workload.
pub(in crate::net) fn round_of(
    workload: &dyn Workload,
    params: &Params,
    peer: &Peer,
    flows: u32,
) -> Result<Finish, WorkError> {
    round_in(workload, params, &place_of(peer, flows).1)
}

/// A round of a workload there.
pub(in crate::net) fn round_in(
    workload: &dyn Workload,
    params: &Params,
    place: &Place,
) -> Result<Finish, WorkError> {
    let mut body = workload.prepare(params, place)?;
    work(body.as_mut())?;
    body.finish()
}

/// Batches until the time is over.
pub(in crate::net) fn work(body: &mut dyn Body) -> Result<(), WorkError> {
    let until = monotonic() + MEASURE_MS * 1_000_000;
    while monotonic() < until {
        body.batch(5, &mut Recorder::off())?;
    }
    Ok(())
}
