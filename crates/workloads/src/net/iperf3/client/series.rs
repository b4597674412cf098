//! What is counted of a test, from one look at its flows to the next.

use super::Direction;
use super::carrier::Look;
use model::flows::{Carried, Counted, Datagrams, Interval, Kernel, Moved, Peaks};
use model::units::{Bytes, Nanos};
use sys::tcp::Info;

/// The flows at an instant: those that send are the first.
#[derive(Clone, Debug)]
struct Seen {
    at: u64,
    flows: Vec<Look>,
}

impl Seen {
    fn look(at: u64, directions: &[Option<Direction>; 2]) -> Self {
        let all = directions.iter().flatten();
        Self {
            at,
            flows: all.flat_map(|direction| direction.flows.looks()).collect(),
        }
    }
}

/// Intervals, and all of them together.
#[derive(Debug)]
pub(super) struct Series {
    /// Whether each flow sends.
    sends: Vec<bool>,
    /// Counting began; or what is omitted did.
    zero: Seen,
    last: Seen,
    is_omitted: bool,
    peaks: Vec<Option<Sums>>,
}

/// What was seen of a flow's kernel at the ends of intervals.
#[derive(Clone, Copy, Debug)]
struct Sums {
    snd_cwnd: u64,
    snd_wnd: u32,
    rtt_max: u32,
    rtt_min: u32,
    rtt_sum: u64,
    count: u64,
}

impl Series {
    /// From now on.
    pub(super) fn begin(at: u64, directions: &[Option<Direction>; 2], omits: bool) -> Self {
        let zero = Seen::look(at, directions);
        let [up, _] = directions;
        let up = up.as_ref().map_or(0, |up| up.flows.looks().len());
        Self {
            sends: (0..zero.flows.len()).map(|place| place < up).collect(),
            peaks: vec![None; zero.flows.len()],
            last: zero.clone(),
            zero,
            is_omitted: omits,
        }
    }

    /// Nothing before now counts.
    pub(super) fn count_from_here(&mut self) {
        self.zero = self.last.clone();
        self.is_omitted = false;
    }

    /// Bytes of the flows of this direction that were moved before counting began.
    pub(super) fn before(&self, sends: bool) -> u64 {
        let all = self.zero.flows.iter().zip(&self.sends);
        let own = all.filter(|&(_, &own)| own == sends);
        own.map(|(look, _)| look.bytes).sum()
    }

    /// Datagrams of this flow before counting began.
    pub(super) fn packets_before(&self, place: usize) -> u64 {
        let look = self.zero.flows.get(place);
        let datagrams = look.and_then(|look| look.datagrams);
        datagrams.map_or(0, |datagrams| datagrams.packets)
    }

    pub(super) const fn is_omitted(&self) -> bool {
        self.is_omitted
    }

    /// When counting began.
    pub(super) const fn zero(&self) -> u64 {
        self.zero.at
    }

    /// When the last interval ended.
    pub(super) const fn last(&self) -> u64 {
        self.last.at
    }

    /// The interval that ends now.
    pub(super) fn interval(&mut self, at: u64, directions: &[Option<Direction>; 2]) -> Interval {
        let now = Seen::look(at, directions);
        let since = |at: u64| Nanos(at.saturating_sub(self.zero.at));
        let both = self.last.flows.iter().zip(&now.flows).zip(&self.sends);
        let moved = both.map(|((before, now), &sends)| Moved {
            sends,
            bytes: Bytes(now.bytes.saturating_sub(before.bytes)),
            kernel: before
                .info
                .zip(now.info)
                .map(|(before, now)| kernel(before, now)),
            datagrams: datagrams(before, now),
        });
        let interval = Interval {
            start: since(self.last.at),
            end: since(now.at),
            is_omitted: self.is_omitted,
            moved: moved.collect(),
        };
        if !self.is_omitted {
            for (peaks, look) in self.peaks.iter_mut().zip(&now.flows) {
                *peaks = look.info.map(|info| Sums::with(*peaks, info)).or(*peaks);
            }
        }
        self.last = now;
        interval
    }

    /// How long was counted.
    pub(super) fn span(&self) -> Nanos {
        Nanos(self.last.at.saturating_sub(self.zero.at))
    }

    /// Each flow as this end has it.
    pub(super) fn ours(&self) -> Vec<Carried> {
        let span = self.span();
        let both = self.zero.flows.iter().zip(&self.last.flows);
        let all = both.zip(&self.sends).zip(&self.peaks);
        let one = |(((zero, last), &sends), peaks): (((&Look, &Look), &bool), &Option<Sums>)| {
            let bytes = Bytes(last.bytes.saturating_sub(zero.bytes));
            let own = Some(Counted { bytes, span });
            let datagrams = datagrams(zero, last);
            let again = |(zero, last): (Info, Info)| {
                u64::from(last.total_retrans.wrapping_sub(zero.total_retrans))
            };
            Carried {
                sends,
                sent: own.filter(|_| sends),
                received: own.filter(|_| !sends),
                retransmits: zero.info.zip(last.info).map(again).filter(|_| sends),
                peaks: peaks.map(Sums::peaks),
                sent_packets: datagrams.map(|own| own.packets).filter(|_| sends),
                datagrams: datagrams.filter(|_| !sends),
            }
        };
        all.map(one).collect()
    }
}

/// What came between two looks. What comes late takes a loss back that an earlier interval has told.
fn datagrams(before: &Look, now: &Look) -> Option<Datagrams> {
    let (before, now) = before.datagrams.zip(now.datagrams)?;
    Some(Datagrams {
        packets: now.packets.saturating_sub(before.packets),
        lost: now.lost.saturating_sub(before.lost),
        out_of_order: now.out_of_order.saturating_sub(before.out_of_order),
        jitter: now.jitter,
    })
}

fn kernel(before: Info, now: Info) -> Kernel {
    Kernel {
        retransmits: now.total_retrans.wrapping_sub(before.total_retrans),
        snd_cwnd: Bytes(now.window_bytes()),
        snd_wnd: now.snd_wnd.map(|bytes| Bytes(bytes.into())),
        rtt: micros(now.rtt_us.into()),
        rttvar: micros(now.rttvar_us.into()),
        pmtu: Bytes(now.pmtu.into()),
    }
}

const fn micros(count: u64) -> Nanos {
    Nanos(count.saturating_mul(1000))
}

impl Sums {
    fn with(before: Option<Self>, info: Info) -> Self {
        let before = before.unwrap_or(Self {
            snd_cwnd: 0,
            snd_wnd: 0,
            rtt_max: 0,
            rtt_min: u32::MAX,
            rtt_sum: 0,
            count: 0,
        });
        Self {
            snd_cwnd: before.snd_cwnd.max(info.window_bytes()),
            snd_wnd: before.snd_wnd.max(info.snd_wnd.unwrap_or(0)),
            rtt_max: before.rtt_max.max(info.rtt_us),
            rtt_min: before.rtt_min.min(info.rtt_us),
            rtt_sum: before.rtt_sum + u64::from(info.rtt_us),
            count: before.count + 1,
        }
    }

    fn peaks(self) -> Peaks {
        Peaks {
            snd_cwnd: Bytes(self.snd_cwnd),
            snd_wnd: Bytes(self.snd_wnd.into()),
            rtt_max: micros(self.rtt_max.into()),
            rtt_min: micros(self.rtt_min.into()),
            rtt_mean: micros(self.rtt_sum / self.count.max(1)),
        }
    }
}
