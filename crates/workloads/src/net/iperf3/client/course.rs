//! From the first byte to what both ends have counted.

use super::series::Series;
use super::stopped::Stopped;
use super::{Direction, Onlooker, Order, bytes, seconds};
use crate::net::iperf3::control::{Control, Trouble};
use crate::net::iperf3::{Parameters, Results, StreamResults, stream_id};
use crate::net::peer::SAYS_WITHIN;
use model::flows::{Carried, Counted, Cpu, Datagrams, Ended, RemoteReport};
use model::num::{approx, round_to_u64};
use model::units::{Bytes, Nanos};
use std::io;
use std::time::Duration;
use sys::clock::monotonic;
use sys::datagrams::is_too_long;
use sys::process::{Usage, usage_self};
use sys::until::Until;

/// How long nothing is looked at while data flows; where bytes end the test, they are looked at more often.
const LOOK: Duration = Duration::from_millis(100);
const LOOK_AT_BYTES: Duration = Duration::from_millis(5);

/// A stream that ends may be heard of sooner than why: so long the server has to say it.
const WHY_WITHIN: Duration = Duration::from_millis(500);

/// Data that stands still for so long does not flow any more. Source: the default of iperf3's `--rcv-timeout`.
const STILL_NS: u64 = 120_000_000_000;

/// Whether a sender that keeps to its rate may say nothing for so long between two bursts.
fn may_pause(asked: &Parameters) -> bool {
    let bits = asked
        .len
        .saturating_mul(8)
        .saturating_mul(asked.burst.max(1));
    let seconds = i64::try_from(STILL_NS / 1_000_000_000).unwrap_or(i64::MAX);
    asked.bandwidth > 0 && bits / asked.bandwidth >= seconds
}

/// A test at work.
pub(super) struct Course<'a> {
    order: &'a Order,
    control: Control,
    directions: [Option<Direction>; 2],
    /// Before the first word to the server, and what this process had used until then.
    started: (u64, Usage),
    /// Bytes when they were looked at last and were more than before, and when that was.
    moved: (u64, u64),
}

/// Why data flows no more.
enum Over {
    /// It was time, or enough, at this instant.
    Done(u64),
    /// Somebody stopped us.
    Stopped,
    /// The other end, or the way to it.
    Broken(Trouble),
    /// A stream.
    Lost(String),
}

impl<'a> Course<'a> {
    pub(super) fn new(
        order: &'a Order,
        control: Control,
        directions: [Option<Direction>; 2],
        started: (u64, Usage),
    ) -> Self {
        Self {
            order,
            control,
            directions,
            started,
            moved: (0, 0),
        }
    }

    pub(super) fn run(mut self, onlooker: &mut dyn Onlooker) -> Result<Ended, Stopped> {
        let omit = seconds(self.order.parameters.omit);
        let mut series = Series::begin(monotonic(), &self.directions, omit > Nanos::ZERO);
        if !series.is_omitted() {
            self.count(&series);
        }
        self.moved.1 = series.zero();
        for direction in self.directions.iter().flatten() {
            direction.flows.go();
        }
        let over = self.flow(&mut series, onlooker);
        // Who sends datagrams ends before the last look, so that all that the server gets are told as sent.
        if let (Over::Done(_), [Some(up), _]) = (&over, &mut self.directions)
            && self.order.parameters.udp
        {
            let _ = up.flows.end();
        }
        let end = if let Over::Done(at) = over {
            at.max(series.last())
        } else {
            monotonic()
        };
        if end > series.last() {
            onlooker.interval(&series.interval(end, &self.directions));
        }
        match over {
            Over::Done(_) => self.end(&series),
            Over::Stopped => {
                let so_far = self.ours(&series);
                self.control.terminate(Until::after(WHY_WITHIN));
                Err(Stopped::ours(Some(so_far)))
            }
            Over::Broken(why) => {
                let so_far = Some(self.ours(&series));
                Err(Stopped::of(&why, self.order, so_far))
            }
            Over::Lost(words) => Err(Stopped {
                so_far: Some(Box::new(self.ours(&series))),
                ..Stopped::told(&words)
            }),
        }
    }

    /// What is moved from now on may be enough.
    fn count(&self, series: &Series) {
        let all = bytes(&self.order.parameters);
        for direction in self.directions.iter().flatten() {
            if let (Some(all), Some(enough)) = (all, &direction.enough) {
                enough.at(series.before(direction.sends).saturating_add(all));
            }
        }
    }

    /// Looks on until it is over.
    fn flow(&mut self, series: &mut Series, onlooker: &mut dyn Onlooker) -> Over {
        let asked = &self.order.parameters;
        let (omit, time) = (seconds(asked.omit), seconds(asked.time));
        let ends_by_bytes = bytes(asked).is_some();
        let every = self.order.interval.map(Nanos::from);
        let after = |instant: u64, span: Option<Nanos>| {
            span.map_or(u64::MAX, |span| instant.saturating_add(span.0))
        };
        let mut mark = after(series.zero(), every);
        loop {
            let end = match (series.is_omitted(), ends_by_bytes) {
                (true, _) => after(series.zero(), Some(omit)),
                (false, true) => u64::MAX,
                (false, false) => after(series.zero(), Some(time)),
            };
            let look = if ends_by_bytes { LOOK_AT_BYTES } else { LOOK };
            let left = Duration::from_nanos(mark.min(end).saturating_sub(monotonic()));
            match self.control.says_within(left.min(look)) {
                Ok(false) => {}
                Ok(true) => return Over::Broken(self.control.said(Until::after(SAYS_WITHIN))),
                Err(error) => return Over::Lost(format!("unable to wait for the server: {error}")),
            }
            if onlooker.stops() {
                return Over::Stopped;
            }
            let now = monotonic();
            if let Some(over) = self.look(now) {
                return over;
            }
            if now >= end && !series.is_omitted() {
                return Over::Done(now);
            }
            if now >= end || now >= mark {
                onlooker.interval(&series.interval(now, &self.directions));
                if now >= end {
                    series.count_from_here();
                    self.count(series);
                    mark = after(now, every);
                }
                while mark <= now {
                    mark = after(mark, every);
                }
            }
        }
    }

    /// Whether data flows, and whether it was enough.
    fn look(&mut self, now: u64) -> Option<Over> {
        let (mut bytes, mut reached, mut has_failed) = (0, None, false);
        for direction in self.directions.iter().flatten() {
            bytes += direction.flows.bytes();
            reached = reached.max(direction.reached(now));
            has_failed |= direction.has_failed();
        }
        if has_failed {
            return Some(self.failed());
        }
        if let Some(at) = reached {
            return Some(Over::Done(at));
        }
        if bytes != self.moved.0 {
            self.moved = (bytes, now);
        } else if now.saturating_sub(self.moved.1) > STILL_NS && !may_pause(&self.order.parameters)
        {
            let seconds = STILL_NS / 1_000_000_000;
            return Some(Over::Lost(format!("no byte has passed for {seconds} s")));
        }
        None
    }

    /// Why a stream ended by itself: the server's own words, where it has any.
    #[cold]
    fn failed(&mut self) -> Over {
        if self.control.says_within(WHY_WITHIN).unwrap_or(false) {
            return Over::Broken(self.control.said(Until::after(WHY_WITHIN)));
        }
        let directions = self.directions.iter_mut().flatten();
        let ended = directions.map(|direction| direction.flows.end());
        let errors: Vec<io::Error> = ended.filter_map(Result::err).collect();
        let first = errors.first();
        let why = first.map_or_else(|| "it was closed".to_owned(), ToString::to_string);
        let hint = if first.is_some_and(is_too_long) {
            "\nhint: datagrams are longer than the way takes: a smaller `-l`, or no `--dont-fragment`"
        } else {
            ""
        };
        Over::Lost(format!(
            "a stream ended in the middle of the test: {why}{hint}"
        ))
    }

    /// What is known here alone.
    fn ours(&self, series: &Series) -> Ended {
        let used = usage_self().since(self.started.1);
        let nanos = monotonic().saturating_sub(self.started.0).max(1);
        let percent = |ns: u64| Some(approx(ns) / approx(nanos) * 100.0);
        let mut directions = self.directions.iter().flatten();
        Ended {
            span: series.span(),
            flows: series.ours(),
            cpu: Cpu {
                total_percent: percent(used.user + used.system),
                user_percent: percent(used.user),
                system_percent: percent(used.system),
            },
            remote_cpu: Cpu::default(),
            congestion: directions
                .next()
                .and_then(|direction| direction.flows.congestion()),
            remote_congestion: None,
            remote_report: None,
        }
    }

    /// The talk behind the data: what the server has counted.
    fn end(mut self, series: &Series) -> Result<Ended, Stopped> {
        let mut ended = self.ours(series);
        let order = self.order;
        let stopped = |why: Trouble| Stopped::of(&why, order, Some(ended.clone()));
        let until = Until::after(SAYS_WITHIN);
        let [up, down] = &mut self.directions;
        self.control.end(until).map_err(stopped)?;
        // From now on the server may close the streams; it hears of the end at once, while data is still on its way.
        if let Some(up) = up {
            let _ = up.flows.end();
        }
        self.control.ended(until).map_err(stopped)?;
        // A server that sends goes on until it has heard: what comes until then is read, and not counted.
        if let Some(down) = down {
            let _ = down.flows.end();
        }
        let until = Until::after(SAYS_WITHIN);
        let wants_report = order.parameters.get_server_output > 0;
        let ours = results(&ended);
        let theirs = self.control.exchange(&ours, wants_report, until);
        let theirs = theirs.map_err(stopped)?;
        take_in(&mut ended, theirs, |place| series.packets_before(place));
        if !wants_report {
            // One of 3.12 goes on to report once a client has asked for it.
            ended.remote_report = None;
        }
        Ok(ended)
    }
}

/// As the server reads it.
fn results(ended: &Ended) -> Results {
    let sends = ended.flows.iter().any(|flow| flow.sends);
    let whole = |count: u64| i64::try_from(count).unwrap_or(i64::MAX);
    let stream = |(place, flow): (u32, &Carried)| {
        let own = if flow.sends { flow.sent } else { flow.received };
        let datagrams = flow.datagrams.unwrap_or_default();
        StreamResults {
            id: stream_id(place),
            bytes: own.map_or(0, |own| whole(own.bytes.0)),
            retransmits: flow.retransmits.map_or(-1, whole),
            jitter: Some(datagrams.jitter.as_secs_f64()),
            errors: whole(datagrams.lost),
            packets: whole(flow.sent_packets.unwrap_or(datagrams.packets)),
            start_time: Some(0.0),
            end_time: Some(ended.span.as_secs_f64()),
            ..StreamResults::default()
        }
    };
    let knows = ended.flows.iter().any(|flow| flow.retransmits.is_some());
    Results {
        cpu_util_total: ended.cpu.total_percent,
        cpu_util_user: ended.cpu.user_percent,
        cpu_util_system: ended.cpu.system_percent,
        sender_has_retransmits: match (sends, knows) {
            (false, _) => -1,
            (true, false) => 0,
            (true, true) => 1,
        },
        congestion_used: ended.congestion.clone(),
        streams: (0..).zip(&ended.flows).map(stream).collect(),
        ..Results::default()
    }
}

/// What a server counts; nothing where it says less than that.
fn count(said: i64) -> u64 {
    u64::try_from(said).unwrap_or(0)
}

fn omitting(said: i64, omitted: u64) -> u64 {
    count(said).saturating_sub(omitted)
}

/// What the server says, beside what is known here. Where it does not say over which time, ours stands for it. Of what
/// was omitted one before 3.14 does not tell: its datagrams are those that we had of the flow `before` counting began,
/// and what was lost of them is with the rest.
fn take_in(ended: &mut Ended, theirs: Results, before: impl Fn(usize) -> u64) {
    let span = ended.span;
    for (place, flow) in ended.flows.iter_mut().enumerate() {
        let id = stream_id(u32::try_from(place).unwrap_or(u32::MAX));
        let Some(stream) = theirs.stream(id) else {
            continue;
        };
        let counted = Counted {
            bytes: Bytes(stream.bytes.cast_unsigned()),
            span: stream
                .seconds()
                .map_or(span, |seconds| Nanos(round_to_u64(seconds * 1e9))),
        };
        let is_udp = flow.sent_packets.is_some() || flow.datagrams.is_some();
        let packets = omitting(
            stream.packets,
            stream.omitted_packets.map_or_else(|| before(place), count),
        );
        if flow.sends {
            flow.received = Some(counted);
            let jitter = stream.jitter.unwrap_or(0.0);
            flow.datagrams = is_udp.then(|| Datagrams {
                packets,
                lost: omitting(stream.errors, stream.omitted_errors.map_or(0, count)),
                out_of_order: 0,
                jitter: Nanos(round_to_u64(jitter * 1e9)),
            });
        } else {
            flow.sent_packets = is_udp.then_some(packets);
            flow.sent = Some(counted);
            let again = u64::try_from(stream.retransmits).ok();
            flow.retransmits = again.filter(|_| theirs.sender_has_retransmits == 1);
        }
    }
    ended.remote_cpu = Cpu {
        total_percent: theirs.cpu_util_total,
        user_percent: theirs.cpu_util_user,
        system_percent: theirs.cpu_util_system,
    };
    ended.remote_congestion = theirs.congestion_used;
    let json = theirs.server_output_json.map(RemoteReport::Json);
    ended.remote_report = theirs.server_output_text.map(RemoteReport::Text).or(json);
}
