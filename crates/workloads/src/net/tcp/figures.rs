//! What a round comes to: from our kernel's counters, and from what the server says.

use super::flows::Flows;
use super::spec::{RATE, RETRANSMITS, RTT_MEAN, RTT_MIN, RWND_LIMITED, SNDBUF_LIMITED};
use crate::net::figures::{
    self, Moment, cpu, nothing_came, per_gb, queued, seconds_of, streams_of, tell, wrong,
};
use crate::net::iperf3::{Results, StreamResults, stream_id};
use crate::net::peer::Peer;
use engine::workload::{Finish, WorkError};
use model::num::approx;
use sys::process::Usage;
use sys::tcp::Info;

/// What was seen at an end of the measured part.
#[derive(Debug)]
struct Seen {
    instant: Moment,
    bytes: Vec<u64>,
    /// None where the kernel does not tell.
    infos: Vec<Option<Info>>,
}

impl Seen {
    fn room(instant: Moment, flows: u32) -> Self {
        let flows = usize::try_from(flows).unwrap_or(0);
        Self {
            instant,
            bytes: Vec::with_capacity(flows),
            infos: Vec::with_capacity(flows),
        }
    }

    /// Takes no memory.
    fn look(&mut self, flows: &Flows) {
        self.instant = Moment::now();
        self.bytes.clear();
        self.bytes.extend(flows.each());
        self.infos.clear();
        self.infos.extend(flows.infos().map(Result::ok));
    }
}

/// A round's measured part.
#[derive(Debug)]
pub(super) struct Course {
    /// Before the first word to the server.
    started: Moment,
    began: Seen,
    ended: Seen,
    /// Sum of the round-trip times in microseconds, and how many they are.
    rtts: (u64, u64),
}

impl Course {
    pub(super) fn new(started: Moment, flows: u32) -> Self {
        Self {
            started,
            began: Seen::room(started, flows),
            ended: Seen::room(started, flows),
            rtts: (0, 0),
        }
    }

    pub(super) fn measured_part_begins(&mut self, flows: &Flows) {
        self.began.look(flows);
        self.rtts = (0, 0);
    }

    pub(super) fn ends(&mut self, flows: &Flows) {
        self.ended.look(flows);
    }

    /// Takes the round-trip times of this moment.
    pub(super) fn ask(&mut self, flows: &Flows) {
        for info in flows.infos().flatten() {
            self.rtts.0 += u64::from(info.rtt_us);
            self.rtts.1 += 1;
        }
    }

    /// Seconds of the measured part so far.
    pub(super) fn lasts(&self) -> f64 {
        Moment::now().since(self.began.instant).0
    }

    /// Seconds and CPU time of the measured part.
    pub(super) fn measured(&self) -> (f64, Usage) {
        self.ended.instant.since(self.began.instant)
    }

    /// Bytes of each flow in the measured part.
    fn bytes(&self) -> impl Iterator<Item = u64> {
        let both = self.ended.bytes.iter().zip(&self.began.bytes);
        both.map(|(ended, began)| ended.saturating_sub(*began))
    }

    /// Bytes a second that passed here.
    pub(super) fn read_per_s(&self) -> f64 {
        approx(self.bytes().sum()) / self.measured().0.max(f64::MIN_POSITIVE)
    }

    /// The counters of each flow when the measured part began and when it ended; `None` where one of them is not known.
    fn infos(&self) -> Option<Vec<(Info, Info)>> {
        let both = self.began.infos.iter().zip(&self.ended.infos);
        both.map(|(began, ended)| began.zip(*ended)).collect()
    }

    /// Bytes of all flows in the measured part that the other end's kernel has acknowledged.
    fn acknowledged(&self) -> Option<u64> {
        let infos = self.infos()?;
        let each = infos
            .iter()
            .map(|(began, ended)| ended.bytes_acked?.checked_sub(began.bytes_acked?));
        each.sum()
    }

    /// Segments of each flow that were sent again.
    fn retransmits(&self) -> Option<Vec<u32>> {
        let again =
            |(began, ended): &(Info, Info)| ended.total_retrans.wrapping_sub(began.total_retrans);
        Some(self.infos()?.iter().map(again).collect())
    }
}

/// What the server is told of our side.
pub(super) fn ours(course: &Course, flows: &Flows, up: bool) -> Results {
    let (measured, _) = course.measured();
    let again = course.retransmits().filter(|_| up);
    let stream = |(place, bytes): (u32, u64)| StreamResults {
        id: stream_id(place),
        bytes: i64::try_from(bytes).unwrap_or(i64::MAX),
        retransmits: again.as_ref().map_or(-1, |again| {
            let own = usize::try_from(place)
                .ok()
                .and_then(|place| again.get(place));
            own.map_or(-1, |own| i64::from(*own))
        }),
        jitter: Some(0.0),
        start_time: Some(0.0),
        end_time: Some(measured),
        ..StreamResults::default()
    };
    let streams = (0..).zip(course.bytes()).map(stream).collect();
    Results {
        sender_has_retransmits: match (up, &again) {
            (false, _) => -1,
            (true, None) => 0,
            (true, Some(_)) => 1,
        },
        congestion_used: flows.congestion(),
        ..figures::ours(course.started, course.ended.instant, streams)
    }
}

/// The round's figures. `sent` is all that was ever sent, or received. Where the server went before it told its own,
/// what our kernel knows stands for it.
pub(super) fn all(
    course: &Course,
    ours: &Results,
    theirs: Option<&Results>,
    (up, sent): (bool, u64),
    peer: &Peer,
) -> Result<Finish, WorkError> {
    let mut finish = Finish::default();
    let (seconds, used) = course.measured();
    let bytes: u64 = course.bytes().sum();
    let (none, is_told) = (Results::default(), theirs.is_some());
    let (theirs, streams) = match theirs {
        Some(theirs) => (theirs, streams_of(theirs, ours.streams.len(), peer)?),
        None => (&none, Vec::new()),
    };
    let rate = if up && is_told {
        if streams.iter().any(|stream| stream.seconds().is_none()) {
            finish.notes.push(
                "the server does not say over which time it received (before 3.2): ours stands for it".to_owned(),
            );
        }
        finish.notes.extend(queued(&streams, seconds));
        received(&streams, seconds, sent, peer)?
    } else {
        let older = || WorkError::Failed("the kernel is older than 4.1".to_owned());
        if up {
            approx(course.acknowledged().ok_or_else(older)?) / seconds.max(f64::MIN_POSITIVE)
        } else {
            course.read_per_s()
        }
    };
    // What came here is counted already, as long as nobody ends it.
    if up || !is_told {
        finish.reported.insert(RATE.to_owned(), rate);
    }
    if bytes == 0 || rate <= 0.0 {
        return Err(nothing_came(peer, "byte"));
    }
    cpu(&mut finish, (bytes, used), theirs, rate);
    let mut tell = |quantity: &str, value| tell(&mut finish, quantity, value);
    let per_gb = |amount: f64| per_gb(amount, bytes);
    let again = if up {
        of_ours(course).ok_or("the kernel does not tell")
    } else {
        of_peer(theirs, &streams).ok_or("the server does not count them")
    };
    if let Ok(again) = again
        && !up
        && again > approx(bytes)
    {
        let what = format!("it says that it sent {again} segments again, and {bytes} bytes came");
        return Err(wrong(peer, what));
    }
    tell(RETRANSMITS, again.map(per_gb));
    tell(
        RTT_MIN,
        rtt_min(course).ok_or("the kernel is older than 4.6"),
    );
    if up {
        let (sum, count) = course.rtts;
        let mean = (count > 0).then(|| approx(sum) / approx(count) * 1e3);
        tell(RTT_MEAN, mean.ok_or("the kernel does not tell"));
        let [rwnd, sndbuf] = limits(course);
        let older = "the kernel is older than 4.10";
        tell(RWND_LIMITED, rwnd.ok_or(older));
        tell(SNDBUF_LIMITED, sndbuf.ok_or(older));
    }
    finish.notes.extend(congestion(ours, theirs));
    Ok(finish)
}

/// Bytes per second that the server received.
fn received(
    streams: &[&StreamResults],
    seconds: f64,
    sent: u64,
    peer: &Peer,
) -> Result<f64, WorkError> {
    let came: u64 = streams
        .iter()
        .map(|stream| stream.bytes.cast_unsigned())
        .fold(0, u64::saturating_add);
    if came > sent {
        let what = format!("it says that it received {came} bytes, and {sent} were sent");
        return Err(wrong(peer, what));
    }
    let mut rate = 0.0;
    for stream in streams {
        rate += approx(stream.bytes.cast_unsigned()) / seconds_of(stream, seconds, peer)?;
    }
    Ok(rate)
}

/// Segments that we sent again.
fn of_ours(course: &Course) -> Option<f64> {
    let again = course.retransmits()?;
    Some(approx(again.into_iter().map(u64::from).sum()))
}

/// Segments that the server sent again.
fn of_peer(theirs: &Results, streams: &[&StreamResults]) -> Option<f64> {
    if theirs.sender_has_retransmits != 1 {
        return None;
    }
    let again = streams
        .iter()
        .map(|stream| u64::try_from(stream.retransmits).ok());
    again.map(|count| count.map(approx)).sum()
}

/// In nanoseconds, the mean over the flows.
fn rtt_min(course: &Course) -> Option<f64> {
    let infos = course.infos()?;
    let shortest: Option<Vec<u32>> = infos.iter().map(|(_, ended)| ended.min_rtt_us).collect();
    let shortest = shortest.filter(|all| !all.is_empty())?;
    let sum: u64 = shortest.iter().copied().map(u64::from).sum();
    Some(approx(sum) / approx(shortest.len() as u64) * 1e3)
}

/// The shares of the busy time in which the receiver's window and our buffer were the limit.
fn limits(course: &Course) -> [Option<f64>; 2] {
    let infos = course.infos().unwrap_or_default();
    let all = |of: fn(&Info) -> Option<u64>| {
        let each = infos
            .iter()
            .map(|(began, ended)| Some(of(ended)?.saturating_sub(of(began)?)));
        each.sum::<Option<u64>>()
    };
    let busy = all(|info| info.busy_us).filter(|busy| *busy > 0);
    [
        all(|info| info.rwnd_limited_us),
        all(|info| info.sndbuf_limited_us),
    ]
    .map(|limited| Some((approx(limited?) / approx(busy?)).min(1.0)))
}

/// What both ends used; the same of each round, so that it is told once.
fn congestion(ours: &Results, theirs: &Results) -> Option<String> {
    let name = |results: &Results| {
        let name = results.congestion_used.as_deref()?;
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        (name.len() <= 16 && name.chars().all(is_plain)).then(|| name.to_owned())
    };
    let (here, there) = (name(ours)?, name(theirs));
    Some(there.map_or_else(
        || format!("congestion control: `{here}` here; the server does not say its own"),
        |there| format!("congestion control: `{here}` here, `{there}` at the peer"),
    ))
}
