//! What is asked for, and what is answered, once both sides know each other: one JSON object each, behind its length.
//!
//! Every size, count and time has a bound, also for those who have the token: a client may be broken.

use super::clock::OfClock;
use crate::net::iperf3::frame;
use crate::net::iperf3::wire_error::{Part, WireError};
use model::host::HostFacts;
use model::named::ServerFact;
use serde::{Deserialize, Serialize};
use std::io::{Read, Write};
use std::time::Duration;

/// The most that either has.
const BYTES_MAX: u32 = 8 << 10;

/// The longest message that is given back, as over loopback.
pub(crate) const MESSAGE_MAX: u32 = 32 << 10;

/// Flows of load in one direction.
pub(crate) const FLOWS_MAX: u32 = 16;

/// The longest that may be asked for.
pub(crate) const SECONDS_MAX: u32 = 86_400;

/// A text about a machine.
const TEXT_MAX: usize = 200;

/// How messages travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Protocol {
    /// On the connection of the request.
    Tcp,
    /// Between the server's port and an address of the client that has shown a hello.
    Udp,
}

/// What a client wants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Request {
    /// The connection goes on as a client of iperf3's, with a cookie first.
    Iperf3 {},
    /// What the machine is. A client that will be there for so long says it: the server may not be.
    Facts {
        /// Of the whole run.
        seconds: u32,
    },
    /// Messages of this size are given back until the client ends.
    Rr(Messages),
    /// Connections are taken, each answered by one byte.
    Connect {
        /// How long, at most.
        seconds: u32,
    },
}

/// Messages that are given back, and the load beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Messages {
    /// How they travel.
    pub(crate) protocol: Protocol,
    /// Bytes of each.
    pub(crate) size: u32,
    /// How long, at most.
    pub(crate) seconds: u32,
    /// Connections over which the client sends meanwhile as much as it can.
    pub(crate) up: u32,
    /// Connections over which the server does.
    pub(crate) down: u32,
    /// How many bytes it sends so at most, over all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) down_bytes_max: Option<u64>,
}

/// What comes of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Answer {
    /// It begins.
    Ready {},
    /// It is over: so many messages or connections were answered.
    Done {
        /// As counted by the server.
        count: u64,
        /// Of messages whose times the client asked for.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        clock: Option<OfClock>,
    },
    /// The machine.
    Facts(Machine),
    /// The server is not there for so long.
    Short {
        /// How long it is there yet.
        left_s: u32,
        /// The `--for` that this would have taken.
        needs_s: u32,
    },
    /// The machine refused something.
    Failed {
        /// What, in words.
        why: String,
    },
}

/// What decides figures of the machine at the other end, without its name and addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// The version of kurabe.
    kurabe: String,
    /// The processor's model.
    cpu: Option<String>,
    /// CPUs that are online.
    cpus: Option<u32>,
    /// Memory in bytes.
    memory_bytes: Option<u64>,
    /// The kernel's release.
    kernel: Option<String>,
    /// What it runs in.
    virtualisation: Option<String>,
}

impl Request {
    /// Reads one, within its bounds.
    pub(crate) fn read(from: &mut impl Read) -> Result<Self, WireError> {
        let bytes = frame::read(from, Part::Request, BYTES_MAX)?;
        let request: Self = frame::object(&bytes, Part::Request)?;
        let refused = |what: &str| Err(WireError::Json(Part::Request, what.to_owned()));
        let seconds = match request {
            // A run may be on for weeks.
            Self::Iperf3 {} | Self::Facts { .. } => 1,
            Self::Connect { seconds } => seconds,
            Self::Rr(asked) => {
                if !(1..=MESSAGE_MAX).contains(&asked.size) {
                    return refused("messages have from 1 byte to 32 KiB");
                }
                if asked.up.max(asked.down) > FLOWS_MAX {
                    return refused("more flows of load than 16 each way");
                }
                asked.seconds
            }
        };
        if !(1..=SECONDS_MAX).contains(&seconds) {
            return refused("it is to last from 1 s to a day");
        }
        Ok(request)
    }

    /// Writes it.
    pub(crate) fn write(&self, to: &mut impl Write) -> Result<(), WireError> {
        frame::write(to, Part::Request, self, BYTES_MAX)
    }
}

impl Answer {
    /// Reads one.
    pub(crate) fn read(from: &mut impl Read) -> Result<Self, WireError> {
        let bytes = frame::read(from, Part::Answer, BYTES_MAX)?;
        frame::object(&bytes, Part::Answer)
    }

    /// Writes it.
    pub(crate) fn write(&self, to: &mut impl Write) -> Result<(), WireError> {
        frame::write(to, Part::Answer, self, BYTES_MAX)
    }
}

/// In whole seconds, of which a day is the most.
pub(crate) fn whole_seconds(span: Duration) -> u32 {
    let seconds = span.as_millis().div_ceil(1000);
    u32::try_from(seconds)
        .unwrap_or(u32::MAX)
        .clamp(1, SECONDS_MAX)
}

impl Machine {
    /// This one, as far as it is known.
    pub fn of(host: &HostFacts) -> Self {
        let platform = host.platform.virtualization.known();
        Self {
            kurabe: env!("CARGO_PKG_VERSION").to_owned(),
            cpu: host.cpu.model.known().cloned(),
            cpus: host.cpu.online.known().copied(),
            memory_bytes: host.memory.total.known().map(|bytes| bytes.0),
            kernel: host.kernel.release.known().cloned(),
            virtualisation: platform.map(|kind| kind.clone().unwrap_or_else(|| "none".to_owned())),
        }
    }

    /// What is known of it, as a run keeps it. What a peer says may be anything: it is cut to a line.
    pub(crate) fn facts(&self) -> Vec<ServerFact> {
        let own = |text: &String| Some(text.clone());
        let all = [
            (ServerFact::VERSION, own(&format!("kurabe {}", self.kurabe))),
            ("cpu", self.cpu.clone()),
            ("cpus", self.cpus.map(|count| count.to_string())),
            (
                "memory_bytes",
                self.memory_bytes.map(|bytes| bytes.to_string()),
            ),
            ("kernel", self.kernel.clone()),
            ("virtualisation", self.virtualisation.clone()),
        ];
        let known = all
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?)));
        known
            .map(|(name, value)| ServerFact {
                name: name.to_owned(),
                value: line(&value),
                source: String::new(),
            })
            .collect()
    }
}

/// As much of a text as a line holds.
pub(crate) fn line(text: &str) -> String {
    let shown = text.chars().take(TEXT_MAX);
    shown
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn framed(text: &str) -> Vec<u8> {
        let length = u32::try_from(text.len()).unwrap().to_be_bytes();
        [&length[..], text.as_bytes()].concat()
    }

    #[test]
    fn every_request_and_answer_is_read_as_it_was_written() {
        let rr = |protocol| {
            Request::Rr(Messages {
                protocol,
                size: MESSAGE_MAX,
                seconds: SECONDS_MAX,
                up: FLOWS_MAX,
                down: 0,
                down_bytes_max: (protocol == Protocol::Udp).then_some(7),
            })
        };
        let requests = [
            Request::Iperf3 {},
            Request::Facts { seconds: 0 },
            rr(Protocol::Tcp),
            rr(Protocol::Udp),
            Request::Connect { seconds: 1 },
        ];
        for request in requests {
            let mut sent = Vec::new();
            request.write(&mut sent).unwrap();
            assert_eq!(Request::read(&mut sent.as_slice()).unwrap(), request);
        }
        let answers = [
            Answer::Ready {},
            Answer::Done {
                count: u64::MAX,
                clock: None,
            },
            Answer::Done {
                count: 0,
                clock: Some(OfClock {
                    bound_ns: Some(u64::MAX),
                    boot: Some("x".to_owned()),
                    ahead_ns: Some(0),
                }),
            },
            Answer::Facts(Machine::default()),
            Answer::Short {
                left_s: 1,
                needs_s: 2,
            },
            Answer::Failed {
                why: "x".to_owned(),
            },
        ];
        for answer in answers {
            let mut sent = Vec::new();
            answer.write(&mut sent).unwrap();
            assert_eq!(Answer::read(&mut sent.as_slice()).unwrap(), answer);
        }
    }

    #[test]
    fn what_is_beyond_the_bounds_or_unknown_is_refused() {
        for text in [
            "{}",
            "[]",
            "\"iperf3\"",
            r#"{"iperf3":{"more":1}}"#,
            r#"{"format":{"disk":"sda"}}"#,
            r#"{"connect":{"seconds":0}}"#,
            r#"{"connect":{"seconds":86401}}"#,
            r#"{"connect":{"seconds":-1}}"#,
            r#"{"connect":{"seconds":1,"seconds":1}}"#,
            r#"{"facts":{"seconds":4294967296}}"#,
            r#"{"rr":{"protocol":"tcp","size":0,"seconds":1,"up":0,"down":0}}"#,
            r#"{"rr":{"protocol":"tcp","size":32769,"seconds":1,"up":0,"down":0}}"#,
            r#"{"rr":{"protocol":"tcp","size":1,"seconds":1,"up":17,"down":0}}"#,
            r#"{"rr":{"protocol":"tcp","size":1,"seconds":1,"up":0,"down":17}}"#,
            r#"{"rr":{"protocol":"sctp","size":1,"seconds":1,"up":0,"down":0}}"#,
            r#"{"rr":{"protocol":"tcp","size":1,"seconds":1}}"#,
        ] {
            let read = Request::read(&mut framed(text).as_slice());
            assert!(matches!(read, Err(WireError::Json(..))), "{text}: {read:?}");
        }
        let long = Request::read(&mut [0xff; 8].as_slice()).unwrap_err();
        assert!(long.to_string().contains("4294967295 bytes"), "{long}");
        let cut = Request::read(&mut &framed(r#"{"iperf3":{}}"#)[..9]).unwrap_err();
        assert!(
            matches!(cut, WireError::Ended { got: 5, of: 13, .. }),
            "{cut}"
        );
    }

    #[test]
    fn what_a_machine_says_is_a_line_and_unknown_facts_are_left_out() {
        let machine = Machine {
            cpu: Some(format!("a\u{1b}[2J{}", "b".repeat(1000))),
            cpus: Some(4),
            ..Machine::default()
        };
        let facts = machine.facts();
        assert_eq!(facts.len(), 3);
        assert!(facts[1].value.starts_with("a [2J") && facts[1].value.len() == TEXT_MAX);
        assert_eq!(facts[2].value, "4");
    }

    #[test]
    fn times_are_whole_seconds_within_a_day() {
        let check = |millis, expected| {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), expected);
        };
        check(0, 1);
        check(1000, 1);
        check(1001, 2);
        check(u64::MAX, SECONDS_MAX);
    }
}
