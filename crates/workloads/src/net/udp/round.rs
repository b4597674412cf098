//! A round of `net.udp`: one test at the rate that was asked for.

use super::judge::{ARRIVES, ON_ITS_WAY};
use super::spec::{DOUBLED, JITTER, LOST, PACKETS, RATE, REORDERED, SENT};
use super::test::{Order, Test};
use crate::net::figures::{Moment, cpu, tell};
use crate::net::iperf3::words::Bits;
use crate::net::kernel::Kernel;
use crate::net::peer::Other;
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError};
use model::latency::LATE;
use model::num::{approx, count, round_to_u64};
use model::units::Bytes;
use std::time::Duration;
use sys::clock::monotonic;

/// A test at work; gone once it is over.
pub(super) struct Round {
    test: Option<Test>,
    order: Order,
    /// Bytes per second that all flows were to send.
    asked: f64,
    /// Why it was over sooner than asked, where the server said so.
    cut: Option<WorkError>,
    /// Bytes that were sent or received here.
    moved: u64,
    kernel: Kernel,
}

impl Round {
    /// Agrees with the server; data flows at the first batch.
    pub(super) fn begin(other: Other, order: Order, place: &Place) -> Result<Self, WorkError> {
        let started = Moment::now();
        let talk = Test::agree(other, order, place)?;
        Ok(Self {
            test: Some(Test::begin(started, talk, order, place)?),
            order,
            asked: order.bytes_per_s(place.copies),
            cut: None,
            moved: 0,
            kernel: Kernel::new(),
        })
    }
}

/// As rates are asked for.
fn bits(bytes_per_s: f64) -> Bits {
    Bits(round_to_u64(bytes_per_s * 8.0))
}

fn is_over() -> WorkError {
    WorkError::Failed("measure with a test that is over".to_owned())
}

impl Body for Round {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        let test = self.test.as_mut().ok_or_else(is_over)?;
        let look = test.look(Duration::from_millis(ops));
        self.moved = test.bytes();
        self.kernel.look(monotonic());
        match look {
            Ok(()) => Ok(ops),
            Err(why @ WorkError::Failed(_)) if test.is_kept() => {
                self.cut = Some(why);
                Ok(0)
            }
            Err(why) => Err(why),
        }
    }

    fn work(&self) -> Option<f64> {
        Some(approx(self.test.as_ref().map_or(0, Test::bytes)))
    }

    fn moved(&self) -> Option<Bytes> {
        Some(Bytes(self.moved))
    }

    fn measured_part_begins(&mut self) {
        if let Some(test) = &mut self.test {
            test.measured_part_begins();
        }
        self.kernel.begins(monotonic());
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let test = self.test.take().ok_or_else(is_over)?;
        self.kernel.ends();
        let (outcome, failed) = test.end(self.cut.take())?;
        let mut finish = Finish {
            notes: failed.iter().map(ToString::to_string).collect(),
            failed,
            ..Finish::default()
        };
        cpu(&mut finish, outcome.here, &outcome.theirs, outcome.rate);
        let mut tell = |quantity: &str, value| tell(&mut finish, quantity, value);
        tell(RATE, Ok(outcome.rate));
        tell(PACKETS, Ok(outcome.rate / count(self.order.size)));
        tell(LOST, Ok(outcome.lost_share));
        tell(JITTER, outcome.jitter_ns.ok_or("the server does not tell"));
        let sent = (outcome.sent > 0.0).then_some(outcome.sent);
        tell(SENT, sent.ok_or("the server does not tell"));
        if let Some((late, doubled)) = outcome.order {
            tell(REORDERED, Ok(late));
            tell(DOUBLED, Ok(doubled));
        }
        if self.order.up {
            finish.latencies.insert(LATE.to_owned(), outcome.late);
        }
        finish.notes.extend(outcome.of_trains);
        finish.notes.extend(outcome.queued);
        let mut note = |is: bool, text: &str| {
            if is {
                finish.notes.push(text.to_owned());
            }
        };
        note(
            outcome.sent > 0.0 && outcome.sent < ARRIVES * self.asked,
            &format!(
                "of {} that were asked for {} were sent: the sender was the limit",
                bits(self.asked),
                bits(outcome.sent)
            ),
        );
        note(
            outcome.with_omitted,
            "the server (before 3.14) counts what was lost in `omit` with the rest",
        );
        note(
            outcome.unseen > ON_ITS_WAY,
            "of the last half second of a test, or more, nothing had arrived at its end: it was on its way, or lost, \
             and is not in `lost_share`",
        );
        self.kernel.tell(&mut finish);
        Ok(finish)
    }
}
