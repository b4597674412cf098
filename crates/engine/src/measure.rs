//! The measuring loop of one copy: batches until the time or the work is over, cut into windows.
//!
//! The clock is read once per batch, and a batch takes about 5 ms, so the loop costs a few ten-thousandths of the
//! time. A batch that is under way when the time is over is finished; the wall time is the time really taken, so
//! that work over wall time is exact whatever the batch size.

use crate::recorder::Recorder;
use crate::tick::Board;
use crate::workload::{Body, WorkError};
use model::num::{approx, round_to_u64};
use model::plan::Shape;
use model::units::Nanos;
use serde::{Deserialize, Serialize};
use sys::process::Usage;

/// A part of the measured time, from the end of one batch to the end of another.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Window {
    /// How long it really was, in nanoseconds: about [`Shape::window`], and longer where a batch was.
    pub(crate) wall_ns: u64,
    /// Operations finished in it.
    pub(crate) ops: u64,
    /// What they were worth, where the body counts that.
    pub(crate) work: Option<f64>,
    /// CPU time that this process got in it, in nanoseconds.
    pub(crate) cpu_ns: u64,
}

/// What the loop counted.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Counted {
    /// Operations done.
    pub(crate) ops: u64,
    /// What they were worth, where the body counts that.
    pub(crate) work: Option<f64>,
    /// Wall time of the measured part, in nanoseconds.
    pub(crate) wall_ns: u64,
    /// The windows, in time order; together they are the measured part.
    pub(crate) windows: Vec<Window>,
    /// What this process used in the measured part.
    pub(crate) usage: Usage,
    /// What children, living or waited for, had used when the measured part began: not part of it.
    pub(crate) children_before: Usage,
    /// Heap allocations in the measured part.
    pub(crate) allocations: u64,
}

impl Counted {
    /// What a tick tells, before the measured part is over: no windows, and nothing yet of what this process used.
    fn so_far(ops: u64, work: Option<f64>, wall_ns: u64, children_before: Usage) -> Self {
        Self {
            ops,
            work,
            wall_ns,
            windows: Vec::new(),
            usage: Usage::default(),
            children_before,
            allocations: 0,
        }
    }
}

/// Runs `body` through warm-up and measured part; `board` takes ticks, where somebody asks for them.
pub(crate) fn measure(
    body: &mut dyn Body,
    shape: &Shape,
    recorder: &mut Recorder,
    board: Option<&Board>,
) -> Result<Counted, WorkError> {
    let target = batch_target(body.batch_target(), shape);
    let mut batch = 1;
    // Before the warm-up: from its first operation on nothing allocates.
    let mut windows = Vec::with_capacity(windows_at_most(shape));
    if shape.warmup.0 > 0 {
        let end = sys::clock::monotonic() + shape.warmup.0;
        let mut last = sys::clock::monotonic();
        while last < end {
            let done = body.batch(batch, recorder)?;
            let now = sys::clock::monotonic();
            if done < batch {
                break;
            }
            batch = next_batch(batch, now - last, target);
            last = now;
        }
        recorder.clear();
        body.measured_part_begins();
    }

    let children_before = sys::process::usage_children().plus(body.living_children()?);
    let usage_before = sys::process::usage_self();
    let allocations_before = sys::alloc::allocations();
    let start = sys::clock::monotonic();
    let end = shape
        .over_after()
        .map_or(u64::MAX, |over| start.saturating_add(over.0));
    let (mut last, mut window_start) = (start, start);
    let mut window_usage = usage_before;
    let mut amount = Amount::begin(body.work());
    let mut window_end = start + shape.window.0;
    let mut tick = board.map_or(u64::MAX, |board| board.begin(start, usage_before));
    // One look at the clock for both, so that nothing is added where nobody asks.
    let mut next_look = window_end.min(tick);
    let (mut ops, mut window_ops) = (0, 0);
    loop {
        let done = body.batch(batch, recorder)?;
        let now = sys::clock::monotonic();
        ops += done;
        window_ops += done;
        let over = now >= end || done < batch;
        if now >= next_look || over {
            if let Some(board) = board.filter(|_| now >= tick) {
                let work = amount.by_now(body.work());
                let so_far = Counted::so_far(ops, work, now - start, children_before);
                tick = board.post(now, tick, so_far, body);
            }
            if now >= window_end || over {
                let usage = sys::process::usage_self();
                let work = amount.go_on(body.work());
                if windows.len() < windows.capacity() {
                    let used = usage.since(window_usage);
                    windows.push(Window {
                        wall_ns: now - window_start,
                        ops: window_ops,
                        work,
                        cpu_ns: used.user + used.system,
                    });
                }
                window_usage = usage;
                (window_start, window_ops) = (now, 0);
                window_end = next_end(start, now, shape.window.0);
            }
            next_look = window_end.min(tick);
        }
        batch = next_batch(batch, now - last, target).min(fitting(batch, now - last, end, now));
        last = now;
        if over {
            break;
        }
    }
    let allocations = sys::alloc::allocations() - allocations_before;
    let usage = sys::process::usage_self().since(usage_before);
    Ok(Counted {
        ops,
        work: amount.all,
        wall_ns: last - start,
        windows,
        usage,
        children_before,
        allocations,
    })
}

/// Work as a body counts it.
#[derive(Clone, Copy, Debug)]
struct Amount {
    seen: Option<f64>,
    all: Option<f64>,
}

impl Amount {
    fn begin(now: Option<f64>) -> Self {
        Self {
            seen: now,
            all: now.map(|_| 0.0),
        }
    }

    /// What was added since the last look. Where less is there than before, counting has begun anew.
    fn go_on(&mut self, now: Option<f64>) -> Option<f64> {
        let (now, seen) = (now?, self.seen?);
        let added = if now < seen { now } else { now - seen };
        self.seen = Some(now);
        self.all = self.all.map(|all| all + added);
        Some(added)
    }

    /// All of it by now; nothing is taken as seen.
    fn by_now(mut self, now: Option<f64>) -> Option<f64> {
        self.go_on(now);
        self.all
    }
}

/// When the window that begins `now` should end: on the grid of windows that began at `start`, so that window number n
/// lies at n windows of time however long batches are, and half a window from now at least.
fn next_end(start: u64, now: u64, window_ns: u64) -> u64 {
    let window_ns = window_ns.max(1);
    let earliest = now.saturating_sub(start).saturating_add(window_ns / 2);
    start.saturating_add((earliest / window_ns + 1).saturating_mul(window_ns))
}

/// Windows of fixed work at most, whatever its deadline: 24 MiB of them, six days of a second each at the least.
const WINDOWS_MAX: u64 = 1 << 20;

/// Windows that a round of this shape can have: each is at least half of [`Shape::window`] long, and one more may be
/// cut short.
fn windows_at_most(shape: &Shape) -> usize {
    if shape.windowless {
        return 0;
    }
    let half = (shape.window.0 / 2).max(1);
    let most = match shape.over_after() {
        Some(over) => over.0 / half,
        None => (shape.hangs_after().0 / half).min(WINDOWS_MAX),
    };
    usize::try_from(most).unwrap_or(usize::MAX - 2) + 2
}

/// How long a batch is to take, in ns, where so long is wished: a window has two of them at least.
fn batch_target(wished: Nanos, shape: &Shape) -> u64 {
    let most = if shape.windowless {
        u64::MAX
    } else {
        shape.window.0 / 2
    };
    wished.0.min(most).max(1)
}

/// The batch size that would have taken `target`, at most doubled: one disturbed batch must not make the next one
/// a thousand times too large.
fn next_batch(batch: u64, took_ns: u64, target_ns: u64) -> u64 {
    let ideal = approx(batch) * approx(target_ns) / approx(took_ns.max(1));
    round_to_u64(ideal).clamp(1.max(batch / 2), batch.saturating_mul(2))
}

/// The batch size that fits into what is left, at the pace of the last batch; at least 1.
fn fitting(batch: u64, took_ns: u64, end: u64, now: u64) -> u64 {
    let left = end.saturating_sub(now);
    round_to_u64(approx(batch) * approx(left) / approx(took_ns.max(1))).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Finish;

    /// Operations that take a known time, by sleeping; ends early after `limit` operations.
    struct Sleeper {
        op_ns: u64,
        done: u64,
        limit: u64,
    }

    impl Body for Sleeper {
        fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
            let ops = ops.min(self.limit - self.done);
            sys::clock::sleep(ops * self.op_ns);
            self.done += ops;
            Ok(ops)
        }

        fn measured_part_begins(&mut self) {
            self.done = 0;
        }

        fn finish(&mut self) -> Result<Finish, WorkError> {
            Ok(Finish::default())
        }
    }

    fn shape(warmup_ms: u64, measure_ms: u64) -> Shape {
        Shape {
            warmup: Nanos::from_millis(warmup_ms),
            measure: Nanos::from_millis(measure_ms),
            ..Shape::DEFAULT
        }
    }

    #[test]
    fn a_window_has_two_batches_at_least() {
        let of = |window, windowless| {
            let shape = Shape {
                window: Nanos(window),
                windowless,
                ..Shape::DEFAULT
            };
            batch_target(Nanos(50), &shape)
        };
        assert_eq!(
            [200, 100, 20, 1, 0].map(|window| of(window, false)),
            [50, 50, 10, 1, 1]
        );
        assert_eq!(of(20, true), 50);
    }

    #[test]
    fn ops_wall_and_windows_add_up() {
        let mut body = Sleeper {
            op_ns: 100_000,
            done: 0,
            limit: u64::MAX,
        };
        let counted = measure(&mut body, &shape(20, 350), &mut Recorder::off(), None).unwrap();
        assert_eq!(counted.ops, body.done);
        assert_eq!(
            counted.windows.iter().map(|w| w.ops).sum::<u64>(),
            counted.ops
        );
        assert_eq!(
            counted.windows.iter().map(|w| w.wall_ns).sum::<u64>(),
            counted.wall_ns
        );
        assert!(counted.wall_ns >= 350_000_000);
        let (_, full) = counted.windows.split_last().unwrap();
        let cpu_ns: u64 = counted.windows.iter().map(|w| w.cpu_ns).sum();
        assert!(cpu_ns <= counted.usage.user + counted.usage.system);
        let half = Shape::DEFAULT.window.0 / 2;
        assert!(full.iter().all(|w| w.wall_ns >= half), "{counted:?}");
        // An operation cannot be faster than its sleep.
        assert!(counted.ops <= counted.wall_ns / 100_000, "{counted:?}");
    }

    /// Operations whose worth grows, counted as they end.
    struct Growing {
        done: u64,
        worth: u64,
    }

    impl Body for Growing {
        fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
            for _ in 0..ops {
                sys::clock::sleep(1_000_000);
                self.done += 1;
                self.worth += self.done;
            }
            Ok(ops)
        }

        fn work(&self) -> Option<f64> {
            Some(approx(self.worth))
        }

        fn finish(&mut self) -> Result<Finish, WorkError> {
            Ok(Finish::default())
        }
    }

    #[test]
    fn work_that_differs_between_operations_is_counted_window_by_window() {
        let mut body = Growing { done: 0, worth: 0 };
        let counted = measure(&mut body, &shape(30, 350), &mut Recorder::off(), None).unwrap();
        let before = approx(body.done - counted.ops);
        let expect = approx(body.worth) - before * (before + 1.0) / 2.0;
        let works: Vec<f64> = counted.windows.iter().filter_map(|w| w.work).collect();
        assert_eq!(
            (works.iter().sum::<f64>(), counted.work),
            (expect, Some(expect))
        );
        // The mean operation would make them alike.
        let each = |w: &Window| w.work.unwrap() / approx(w.ops);
        let means: Vec<f64> = counted.windows.iter().map(each).collect();
        assert!(
            means.is_sorted() && means[0] * 2.0 < means[means.len() - 1],
            "{means:?}"
        );
    }

    #[test]
    fn counting_may_begin_anew() {
        let mut amount = Amount::begin(Some(100.0));
        let looks = [150.0, 20.0, 20.0].map(|now| amount.go_on(Some(now)));
        assert_eq!(looks, [Some(50.0), Some(20.0), Some(0.0)]);
        assert_eq!(amount.all, Some(70.0));
        assert_eq!(Amount::begin(None).go_on(None), None);
    }

    #[test]
    fn windows_keep_to_the_grid_however_long_batches_are() {
        let check = |now: u64, end: u64| {
            assert_eq!(next_end(1_000, 1_000 + now, 100), 1_000 + end, "{now}");
        };
        check(0, 100);
        check(49, 100);
        // Half a window at least: a rate of less would be one of noise.
        check(50, 200);
        check(100, 200);
        check(107, 200);
        check(399, 500);
        // Batches of 30 in windows of 100: the tenth window ends where ten windows do, give or take a batch.
        let (mut now, mut end, mut cuts) = (0, 100, Vec::new());
        while cuts.len() < 10 {
            now += 30;
            if now >= end {
                cuts.push(now);
                end = next_end(0, now, 100);
            }
        }
        assert!((1_000..1_030).contains(&now), "{cuts:?}");
    }

    #[test]
    fn a_body_that_ends_early_ends_the_round() {
        let mut body = Sleeper {
            op_ns: 1_000,
            done: 0,
            limit: 100,
        };
        let counted = measure(&mut body, &shape(0, 60_000), &mut Recorder::off(), None).unwrap();
        assert_eq!(counted.ops, 100);
    }

    #[test]
    fn fixed_work_is_over_when_it_is_done_and_may_have_no_windows() {
        let check = |windowless: bool, fixed_work: bool| {
            let mut body = Sleeper {
                op_ns: 1_000_000,
                done: 0,
                limit: 100,
            };
            let shape = Shape {
                fixed_work,
                windowless,
                window: Nanos::from_millis(10),
                ..shape(0, 20)
            };
            let counted = measure(&mut body, &shape, &mut Recorder::off(), None).unwrap();
            assert_eq!(counted.ops == 100, fixed_work, "{counted:?}");
            assert_eq!(counted.windows.is_empty(), windowless, "{counted:?}");
        };
        check(false, true);
        check(true, true);
        check(false, false);
    }

    #[test]
    fn three_numbers_say_what_a_round_takes_when_it_is_over_and_when_it_hangs() {
        let timed = shape(100, 500);
        assert_eq!(timed.over_after(), Some(Nanos::from_millis(500)));
        assert_eq!(timed.hangs_after(), Nanos::from_millis(31_200));
        let work = Shape {
            fixed_work: true,
            measure_max: Some(Nanos::from_secs(7)),
            ..timed
        };
        assert_eq!((work.over_after(), work.can_shorten()), (None, false));
        assert_eq!(work.hangs_after(), Nanos::from_secs(7));
        // Room for all windows until then, and no more than fits into a small memory.
        assert_eq!(windows_at_most(&work), 142);
        let endless = Shape {
            measure_max: Some(Nanos(u64::MAX)),
            ..work
        };
        assert!(windows_at_most(&endless) <= 1 << 21);
    }

    /// Runs a child that works for a moment in every batch of the warm-up, and none later.
    struct BusyStart {
        measuring: bool,
    }

    impl Body for BusyStart {
        fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
            if !self.measuring {
                let spin = "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo done";
                let sh = std::path::Path::new("/bin/sh");
                sys::process::first_line(sh, &["-c", spin], 10_000).unwrap();
            }
            sys::clock::sleep(1_000_000);
            Ok(ops)
        }

        fn measured_part_begins(&mut self) {
            self.measuring = true;
        }

        fn finish(&mut self) -> Result<Finish, WorkError> {
            Ok(Finish::default())
        }
    }

    #[test]
    fn children_of_the_warm_up_are_not_part_of_the_measured_part() {
        let mut body = BusyStart { measuring: false };
        let counted = measure(&mut body, &shape(50, 1), &mut Recorder::off(), None).unwrap();
        let before = counted.children_before;
        assert!(before.user + before.system > 1_000_000, "{before:?}");
    }

    /// A child that says what it has used.
    struct Living(Usage);

    impl Body for Living {
        fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
            sys::clock::sleep(100_000);
            Ok(ops)
        }

        fn measured_part_begins(&mut self) {
            self.0.system += 3;
        }

        fn living_children(&mut self) -> Result<Usage, WorkError> {
            Ok(self.0)
        }

        fn finish(&mut self) -> Result<Finish, WorkError> {
            Ok(Finish::default())
        }
    }

    #[test]
    fn what_living_children_used_before_the_measured_part_is_not_part_of_it() {
        let waited_for = sys::process::usage_children();
        let day = 86_400_000_000_000;
        let mut body = Living(Usage {
            user: day,
            system: 2 * day,
            ..Usage::default()
        });
        let counted = measure(&mut body, &shape(1, 1), &mut Recorder::off(), None).unwrap();
        let before = counted.children_before.since(waited_for);
        assert!((day..2 * day).contains(&before.user), "{before:?}");
        assert!(
            (2 * day + 3..3 * day).contains(&before.system),
            "{before:?}"
        );
    }

    #[test]
    fn batches_grow_gently_and_never_vanish() {
        assert_eq!(next_batch(1, 10, 5_000_000), 2);
        assert_eq!(next_batch(1000, 10_000_000, 5_000_000), 500);
        assert_eq!(next_batch(1000, u64::MAX, 5_000_000), 500);
        assert_eq!(next_batch(1, u64::MAX, 5_000_000), 1);
        assert_eq!(fitting(1000, 5_000_000, 100, 200), 1);
        assert_eq!(fitting(1000, 5_000_000, 2_500_000, 0), 500);
    }
}
