//! Which rates a search tries, and whether one holds: for ours, and for another program's that is to be compared.

use crate::bracket::Bracket;

/// Rates are whole numbers of so many bits per second, of all flows.
pub const STEP: u64 = 100_000;
/// Where it begins, and the most that it tries, in steps: 100 Mbit/s and 10 Tbit/s.
const FIRST: u32 = 1_000;
const MOST: u32 = 100_000_000;
/// Rates that are closer than this are one: 5 %, a margin of throughput.
const APART: f64 = 0.05;
/// So much of a rate arrives where it holds: what is lost is less, and the rest is for the ends of a test.
pub(super) const ARRIVES: f64 = 0.98;
/// What was sent within this time before the end and did not arrive may have been on its way, in seconds.
pub(super) const ON_ITS_WAY: f64 = 0.5;

/// What a test at a rate came to.
#[derive(Clone, Copy, Debug)]
pub struct Tried {
    /// Bytes per second that were to be sent, that were, and that arrived.
    pub asked: f64,
    /// See there.
    pub sent: f64,
    /// See there.
    pub rate: f64,
    /// The part that was lost.
    pub lost_share: f64,
    /// Of how many seconds, at the end, nothing has arrived.
    pub unseen: f64,
}

/// Why a rate did not hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Why {
    /// So much was lost.
    Lost(f64),
    /// The sender did not send so fast.
    Sender,
    /// It arrived late, or not at all.
    Late,
    /// The server does not allow it.
    Refused,
}

/// The rates of a search, in [`STEP`]s.
pub fn rates() -> Bracket {
    Bracket::new(FIRST, (1, MOST), APART)
}

impl Tried {
    /// Why it does not hold where no more than this may be lost, if it does not.
    pub fn judged(&self, loss_max: f64) -> Option<Why> {
        if self.lost_share >= loss_max {
            return Some(Why::Lost(self.lost_share));
        }
        if self.sent < ARRIVES * self.asked {
            return Some(Why::Sender);
        }
        // Where much may be lost, what was is not late.
        let arrives = ARRIVES * self.asked * (1.0 - self.lost_share);
        (self.rate < arrives || self.unseen > ON_ITS_WAY).then_some(Why::Late)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_holds_where_next_to_nothing_is_lost_and_nearly_all_arrives() {
        let check = |(sent, rate, lost_share, unseen): (f64, f64, f64, f64), loss_max, expected| {
            let tried = Tried {
                asked: 100.0,
                sent,
                rate,
                lost_share,
                unseen,
            };
            assert_eq!(tried.judged(loss_max), expected);
        };
        check((100.0, 100.0, 0.0009, 0.01), 0.001, None);
        check((99.0, 98.5, 0.0, 0.4), 0.001, None);
        check((100.0, 99.0, 0.001, 0.0), 0.001, Some(Why::Lost(0.001)));
        check((100.0, 70.0, 0.3, 0.0), 0.5, None);
        // A sender that lags has lost nothing.
        check((97.0, 97.0, 0.0, 0.0), 0.001, Some(Why::Sender));
        check((100.0, 95.0, 0.0, 0.05), 0.001, Some(Why::Late));
        check((100.0, 65.0, 0.3, 0.0), 0.5, Some(Why::Late));
        check((100.0, 99.0, 0.0, 0.6), 0.001, Some(Why::Late));
    }
}
