//! The search for the highest rate at which next to nothing is lost: one test after the other.

use super::figures::Outcome;
use super::judge::{STEP, Tried, Why, rates};
use super::spec::{ABOVE, LOST, PACKETS, RATE};
use super::test::{Order, Test};
use crate::bracket::Bracket;
use crate::net::figures::{CPU, Moment, PEER_CPU, cpu, tell};
use crate::net::iperf3::words;
use crate::net::peer::{LISTENS_AGAIN_NS, LISTENS_WITHIN, Other, within};
use crate::net::talk::{Refused, Talk};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError};
use model::num::{approx, count};
use model::units::{Bytes, Nanos};
use std::time::Duration;
use sys::clock::monotonic;
use sys::until::Until;

/// How long a look at a test takes at most.
const LOOK: Duration = Duration::from_millis(10);

/// A search under way.
pub(super) struct Search {
    other: Other,
    /// At any rate.
    order: Order,
    place: Place,
    /// What all tests may move.
    bytes_left: Option<Bytes>,
    loss_max: f64,
    rates: Bracket,
    /// At the highest rate that held.
    held: Option<Outcome>,
    /// At the lowest one that did not.
    above: Option<Why>,
    /// Bytes of all tests so far; and of all that are left, where a further one would move more.
    moved: u64,
    spent: Option<u64>,
}

impl Search {
    /// Tries each rate for `time`.
    pub(super) fn new(
        other: Other,
        order: Order,
        (time, loss_max): (Nanos, f64),
        place: &Place,
    ) -> Self {
        Self {
            other,
            order,
            place: Place {
                warmup: Nanos::ZERO,
                measure: time,
                ..place.clone()
            },
            bytes_left: place.bytes_left,
            loss_max,
            rates: rates(),
            held: None,
            above: None,
            moved: 0,
            spent: None,
        }
    }

    /// What may still be moved.
    fn left(&self) -> Option<Bytes> {
        let left = self.bytes_left?;
        Some(Bytes(left.0.saturating_sub(self.moved)))
    }

    /// Tries a rate.
    fn step(&mut self) -> Result<(), WorkError> {
        let all = u64::from(self.rates.at()) * STEP;
        let order = Order {
            bits_per_s: (all / u64::from(self.place.copies.max(1))).max(1),
            ..self.order
        };
        let all = order.bits_per_s.saturating_mul(self.place.copies.into());
        if let Some(left) = self.left() {
            self.place.bytes_left = Some(left);
            if within(&self.place, all).is_err() {
                self.spent = Some(left.0);
                return Ok(());
            }
        }
        let tried = self.tried(order)?;
        let holds = match tried {
            Ok(outcome) => {
                let asked = order.bytes_per_s(self.place.copies);
                let tried = Tried {
                    asked,
                    sent: outcome.sent,
                    rate: outcome.rate,
                    lost_share: outcome.lost_share,
                    unseen: outcome.unseen,
                };
                match tried.judged(self.loss_max) {
                    None => {
                        self.held = Some(outcome);
                        true
                    }
                    Some(why) => {
                        self.above = Some(why);
                        false
                    }
                }
            }
            Err(why) => {
                self.above = Some(why);
                false
            }
        };
        self.rates.judged(holds);
        Ok(())
    }

    /// Agrees on a test. A server of iperf3 that is about to listen anew, behind the test before, lets in and closes.
    fn agreed(&self, order: Order) -> Result<Talk, Refused> {
        let is_first = self.held.is_none() && self.above.is_none();
        let until = Until::after(LISTENS_WITHIN);
        loop {
            match Test::agree(self.other.clone(), order, &self.place) {
                Err(refused) if refused.is_gone() && !is_first && until.left().is_some() => {
                    sys::clock::sleep(LISTENS_AGAIN_NS);
                }
                other => return other,
            }
        }
    }

    /// A test at this rate: what it came to, or why there is none.
    fn tried(&mut self, order: Order) -> Result<Result<Outcome, Why>, WorkError> {
        let started = Moment::now();
        let talk = match self.agreed(order) {
            Err(refused) if refused.is_rate() => return Ok(Err(Why::Refused)),
            other => other?,
        };
        let mut test = Test::begin(started, talk, order, &self.place)?;
        let end = monotonic().saturating_add(self.place.measure.0);
        let before = self.moved;
        while monotonic() < end {
            let left = Duration::from_nanos(end.saturating_sub(monotonic()));
            let look = test.look(LOOK.min(left));
            self.moved = before + test.bytes();
            look?;
        }
        // What was received at one rate, of many, is none of the search's figures.
        match test.end(None)? {
            (outcome, None) => Ok(Ok(outcome)),
            (_, Some(why)) => Err(why),
        }
    }
}

/// Why no further rate is tried where so many bytes are left.
fn none_further(left: u64) -> WorkError {
    let left = words::Bytes(left);
    WorkError::Failed(format!(
        "try a further rate: it could move more than the {left} that are left of `--max-bytes`\nhint: a larger \
         `--max-bytes`"
    ))
}

impl Body for Search {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        for done in 0..ops {
            if self.rates.is_over() || self.spent.is_some() {
                return Ok(done);
            }
            self.step()?;
        }
        Ok(ops)
    }

    fn moved(&self) -> Option<Bytes> {
        Some(Bytes(self.moved))
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let mut finish = Finish {
            // What held so far is kept, and is no sample: the search was not at its end.
            failed: self.spent.map(none_further),
            ..Finish::default()
        };
        let sender = if self.order.up { "here" } else { "at the peer" };
        let why = match self.above {
            None => "no rate that was tried did not hold".to_owned(),
            Some(Why::Lost(_)) => "above the rate that held, datagrams were lost".to_owned(),
            Some(Why::Sender) => format!(
                "above the rate that held, the sender {sender} was the limit: its CPU, or a full queue of its own"
            ),
            Some(Why::Late) => {
                "above the rate that held, datagrams came late or not at all".to_owned()
            }
            Some(Why::Refused) => "above the rate that held, the server allows none".to_owned(),
        };
        let above = self
            .rates
            .bad()
            .map(|steps| approx(u64::from(steps) * STEP) / 8.0);
        tell(&mut finish, ABOVE, above.ok_or(&why));
        let Some(held) = &self.held else {
            let none = match self.above {
                Some(Why::Lost(share)) => format!("{:.2} % are lost at 100 kbit/s", share * 100.0),
                Some(Why::Refused) => "the server does not allow 100 kbit/s".to_owned(),
                _ => "100 kbit/s do not hold".to_owned(),
            };
            for quantity in [RATE, PACKETS, LOST, CPU.quantity, PEER_CPU.quantity] {
                tell(&mut finish, quantity, Err(&none));
            }
            return Ok(finish);
        };
        tell(&mut finish, RATE, Ok(held.rate));
        tell(&mut finish, PACKETS, Ok(held.rate / count(self.order.size)));
        tell(&mut finish, LOST, Ok(held.lost_share));
        cpu(&mut finish, held.here, &held.theirs, held.rate);
        finish.notes.push(why);
        finish.notes.extend(held.of_trains.clone());
        Ok(finish)
    }
}
