//! What figures of rounds with a peer have in common: moments, costs, and the server's word held against ours.

use super::iperf3::{Results, StreamResults, stream_id};
use super::peer::Peer;
use engine::workload::{Finish, WorkError};
use model::num::approx;
use model::spec::{Better, Fold, How, MetricClass, MetricDef, Role};
use model::units::{Nanos, Unit};
use sys::clock::monotonic;
use sys::process::{Usage, usage_self};

/// Bytes for which costs are told.
const GB: f64 = 1e9;

/// No machine has more CPUs. Source: `NR_CPUS` of Linux.
const CPUS_MAX: f64 = 8192.0;

/// The receiver's own clock agrees with ours up to this, in seconds: more is a pause of one of the machines, or a
/// server that counts something else.
const APART_MAX: f64 = 0.5;

/// A round that its peer ends is kept from so many seconds of its measured part on: the least that one may have.
pub(super) const KEPT_FROM: f64 = 1.0;

/// What is said of a round that its peer ended: why, how long it had measured of what was asked for, and what that came
/// to. It is no sample: a mean of rounds of different lengths would weigh them alike.
pub(super) fn cut_short(
    why: &WorkError,
    (seconds, asked): (f64, Nanos),
    came_to: &str,
) -> WorkError {
    let (why, asked) = (why.to_string(), asked.as_secs_f64());
    let (first, hint) = why.split_once('\n').unwrap_or((&why, ""));
    let kept = format!("{first}; of {asked:.0} s it had measured {seconds:.1} s: {came_to}");
    WorkError::Failed(if hint.is_empty() {
        kept
    } else {
        format!("{kept}\n{hint}")
    })
}

/// A figure of which less is better.
pub(super) const fn less(quantity: &'static str, unit: Unit, doc: &'static str) -> MetricDef {
    MetricDef {
        quantity,
        unit,
        better: Better::Lower,
        class: MetricClass::LatencyExtreme,
        how: How::Reported(Fold::Mean),
        role: Role::Plain,
        doc,
    }
}

/// A time that the body reports.
pub(super) const fn time(
    quantity: &'static str,
    class: MetricClass,
    doc: &'static str,
) -> MetricDef {
    MetricDef::time(quantity, class, How::Reported(Fold::Mean), doc)
}

/// CPU time here.
pub(super) const CPU: MetricDef = time(
    "cpu_ns_per_gb",
    MetricClass::System,
    "CPU time, user and system, of this program for 1,000,000,000 bytes that it sent or received. What the kernel does \
     outside of it, as in ksoftirqd, is not in it.",
);

/// And there.
pub(super) const PEER_CPU: MetricDef = time(
    "peer_cpu_ns_per_gb",
    MetricClass::System,
    "The same of the server, from what it says of itself: its share of a CPU over the whole test, over the rate that \
     was received.",
);

/// A moment, and what this process had used until then.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    at: u64,
    used: Usage,
}

impl Moment {
    pub(super) fn now() -> Self {
        Self {
            at: monotonic(),
            used: usage_self(),
        }
    }

    /// Seconds, and nanoseconds of CPU in user and system mode, since an earlier one.
    pub(super) fn since(self, earlier: Self) -> (f64, Usage) {
        let seconds = approx(self.at.saturating_sub(earlier.at)) / 1e9;
        (seconds, self.used.since(earlier.used))
    }
}

/// What the server is told of our side: what this process has used from the first word on, and its streams.
pub(super) fn ours(started: Moment, ended: Moment, streams: Vec<StreamResults>) -> Results {
    let (seconds, used) = ended.since(started);
    let percent = |ns: u64| Some(approx(ns) / 1e9 / seconds.max(f64::MIN_POSITIVE) * 100.0);
    Results {
        cpu_util_total: percent(used.user + used.system),
        cpu_util_user: percent(used.user),
        cpu_util_system: percent(used.system),
        sender_has_retransmits: -1,
        streams,
        ..Results::default()
    }
}

/// So much for each gigabyte.
pub(super) fn per_gb(amount: f64, bytes: u64) -> f64 {
    amount * GB / approx(bytes)
}

/// What both ends used for a gigabyte: of ours, while `bytes` were sent or received here.
pub(super) fn cpu(finish: &mut Finish, (bytes, used): (u64, Usage), theirs: &Results, rate: f64) {
    tell(
        finish,
        CPU.quantity,
        Ok(per_gb(approx(used.user + used.system), bytes)),
    );
    let share = match theirs.cpu_util_total {
        Some(share) if share > 100.0 * CPUS_MAX => {
            Err("the server says that it used more CPUs than there are")
        }
        Some(share) if share > 0.0 => Ok(share),
        _ => Err("the server does not say what it used"),
    };
    let cost = share.map(|share| share / 100.0 * 1e9 * GB / rate);
    tell(finish, PEER_CPU.quantity, cost);
}

/// A figure, or why there is none.
pub(super) fn tell(finish: &mut Finish, quantity: &str, value: Result<f64, &str>) {
    match value {
        Ok(value) => drop(finish.reported.insert(quantity.to_owned(), value)),
        Err(why) => drop(finish.missing.insert(quantity.to_owned(), why.to_owned())),
    }
}

/// Results that cannot be.
pub(super) fn wrong(peer: &Peer, what: impl std::fmt::Display) -> WorkError {
    WorkError::Wrong(format!("end the test with `{peer}`: {what}"))
}

/// The server's results of our streams, in their order.
pub(super) fn streams_of<'a>(
    theirs: &'a Results,
    flows: usize,
    peer: &Peer,
) -> Result<Vec<&'a StreamResults>, WorkError> {
    let flows = u32::try_from(flows).unwrap_or(u32::MAX);
    let own = (0..flows).map(stream_id).map(|id| {
        let lacks = || wrong(peer, format!("its results lack stream {id}"));
        theirs.stream(id).ok_or_else(lacks)
    });
    own.collect()
}

/// A queue on the way holds no more than so many seconds.
const QUEUE_MAX: f64 = 4.0;

/// Seconds beyond which a queue made the server's time longer than ours: it hears of the end behind all that was sent.
fn later(seconds: f64) -> f64 {
    1.1 * seconds + APART_MAX
}

/// That a queue did, where the server's streams took so much longer than our data flowed.
pub(super) fn queued(streams: &[&StreamResults], seconds: f64) -> Option<String> {
    let all = streams.iter().filter_map(|stream| stream.seconds());
    let longest = all.fold(0.0, f64::max);
    (longest > later(seconds)).then(|| {
        format!(
            "what was sent in {seconds:.1} s arrived over {longest:.1} s: a queue on the way held it, and the rate is \
             that of the longer time"
        )
    })
}

/// The seconds over which the server counted a stream; ours where it does not say.
pub(super) fn seconds_of(
    stream: &StreamResults,
    seconds: f64,
    peer: &Peer,
) -> Result<f64, WorkError> {
    let own = stream.seconds().unwrap_or(seconds);
    let least = 0.9 * seconds - APART_MAX;
    if own < least || own > later(seconds) + QUEUE_MAX {
        return Err(wrong(
            peer,
            format!("it says that its test took {own:.1} s, and data flowed for {seconds:.1} s"),
        ));
    }
    Ok(own)
}

/// What a round is told where nothing came.
pub(super) fn nothing_came(peer: &Peer, what: &str) -> WorkError {
    WorkError::Failed(format!(
        "measure with `{peer}`: no {what} has arrived in the measured part"
    ))
}
