//! The program's one source of time.
//!
//! Two clocks serve two needs. [`monotonic`] is the kernel's `CLOCK_MONOTONIC` (25 to 60 ns a reading through the
//! vDSO); everything that is timed once per batch or less uses it. [`Clock`] reads the CPU's own counter (16 to
//! 22 ns on the virtual machine it was written on) and is for latencies of single operations; it is only used where
//! the kernel itself trusts the counter, and falls back to `clock_gettime` everywhere else.
//!
//! Why not the CPU's counter for everything: its rate is only known from calibration against the kernel's clock
//! (to about 10 parts per million over 20 ms), which is enough for a latency and too little for a rate over minutes.
//!
//! [`add_chain`] tells the effective clock rate, and [`add_side_by_side`] how much the core does at a time; both refuse
//! to where an architecture has no loop in assembly.

#![expect(
    unsafe_code,
    reason = "clock_gettime, clock_nanosleep and rdtsc have no safe interface in std at this cost"
)]

mod bound;
mod chain;
mod width;

pub use bound::wall_bound;
pub use chain::add_chain;
pub use width::add_side_by_side;

/// Nanoseconds since some fixed point before boot, not counting suspended time. `CLOCK_MONOTONIC`.
#[inline]
pub fn monotonic() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Nanoseconds since 1970-01-01 UTC. `CLOCK_REALTIME`; somebody may set it.
pub fn wall() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Like [`monotonic`], counting suspended time too. `CLOCK_BOOTTIME`.
pub fn boottime() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// Nanoseconds that [`wall`] is ahead of [`boottime`]: of some looks at both, by the one that took the shortest.
pub fn wall_ahead() -> u64 {
    let look = |_| {
        let (before, wall, after) = (boottime(), wall(), boottime());
        let took = after.saturating_sub(before);
        (took, wall.saturating_sub(before + took / 2))
    };
    (0..5).map(look).min().map_or(0, |(_, ahead)| ahead)
}

#[inline]
#[expect(
    clippy::cast_sign_loss,
    reason = "these clocks start at 0 and only grow"
)]
fn read(clock: libc::clockid_t) -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `now` is a valid timespec to write to; the clock ids above exist on every Linux since 2.6.39.
    let result = unsafe { libc::clock_gettime(clock, &raw mut now) };
    assert_eq!(result, 0, "clock_gettime of a clock that every kernel has");
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Sleeps until [`monotonic`] reaches `deadline`; returns at once where it is past. Goes on after signals.
pub fn sleep_until(deadline: u64) {
    let at = timespec(deadline);
    loop {
        // SAFETY: `at` is a valid timespec; the remaining-time pointer may be null with TIMER_ABSTIME.
        let result = unsafe {
            libc::clock_nanosleep(
                libc::CLOCK_MONOTONIC,
                libc::TIMER_ABSTIME,
                &raw const at,
                std::ptr::null_mut(),
            )
        };
        if result != libc::EINTR {
            return;
        }
    }
}

/// Sleeps until the monotonic clock shows `deadline`, or until somebody asks this process to stop: for pauses that may
/// be long. Signals wake one thread of a process, and the others look by themselves.
pub fn sleep_until_or_stop(deadline: u64) {
    /// How long a stop may go unnoticed, in nanoseconds: a user takes that for at once.
    const LOOK_NS: u64 = 100_000_000;
    while crate::signal::interrupted().is_none() {
        let look = monotonic().saturating_add(LOOK_NS);
        sleep_until(deadline.min(look));
        if deadline <= look {
            return;
        }
    }
}

/// Lets this thread's sleeps end within a microsecond of their time, where the kernel would otherwise let them run up
/// to 50 us longer to end several at once. `PR_SET_TIMERSLACK` of prctl(2).
pub fn sleep_exactly() {
    // SAFETY: changes a number of this thread; 1 is the smallest, and 0 would mean the default.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// Sleeps for `nanos`, or less where a signal comes first.
pub fn sleep(nanos: u64) {
    let span = timespec(nanos);
    // SAFETY: `span` is a valid timespec; the remaining-time pointer may be null.
    unsafe { libc::nanosleep(&raw const span, std::ptr::null_mut()) };
}

pub(crate) fn timespec(nanos: u64) -> libc::timespec {
    // Both parts fit: u64::MAX nanoseconds are 1.8e10 seconds.
    libc::timespec {
        tv_sec: libc::time_t::try_from(nanos / 1_000_000_000).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::try_from(nanos % 1_000_000_000).unwrap_or(999_999_999),
    }
}

/// What one reading of [`monotonic`] costs, in nanoseconds: the smallest mean of several short loops.
pub fn cost() -> u64 {
    const READINGS: u64 = 200;
    (0..20)
        .map(|_| {
            let start = monotonic();
            let last = (0..READINGS).fold(start, |_, _| monotonic());
            (last - start) / READINGS
        })
        .min()
        .unwrap_or(0)
}

/// A clock for latencies of single operations: cheap, and in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clock {
    /// `clock_gettime`.
    Kernel,
    /// The CPU's counter, with nanoseconds per tick.
    Counter {
        /// Nanoseconds per tick of the counter.
        ns_per_tick: f64,
    },
}

impl Clock {
    /// The counter calibrated against the kernel's clock over 20 ms, or [`Clock::Kernel`] where this architecture
    /// has no counter that a process may read cheaply, or where two calibrations differ by more than 1 in 10,000.
    /// Call it only where the kernel itself uses the counter as its clock source.
    pub fn calibrate() -> Self {
        let Some(start) = pair() else {
            return Self::Kernel;
        };
        sleep(10_000_000);
        let Some(middle) = pair() else {
            return Self::Kernel;
        };
        sleep(10_000_000);
        let Some(end) = pair() else {
            return Self::Kernel;
        };
        match (rate(start, end), rate(start, middle)) {
            (Some(whole), Some(half)) if ((whole - half) / whole).abs() < 1e-4 => {
                Self::Counter { ns_per_tick: whole }
            }
            _ => Self::Kernel,
        }
    }

    /// A clock with a known rate; [`Clock::Kernel`] for `None`.
    pub fn with_rate(ns_per_tick: Option<f64>) -> Self {
        ns_per_tick.map_or(Self::Kernel, |ns_per_tick| Self::Counter { ns_per_tick })
    }

    /// Nanoseconds per tick, to hand to [`Clock::with_rate`] in another process of this machine.
    pub fn rate(self) -> Option<f64> {
        match self {
            Self::Kernel => None,
            Self::Counter { ns_per_tick } => Some(ns_per_tick),
        }
    }

    /// The current tick. Only differences of ticks mean anything; see [`Clock::nanos`].
    #[inline]
    pub fn tick(self) -> u64 {
        match self {
            Self::Kernel => monotonic(),
            Self::Counter { .. } => counter::ordered(),
        }
    }

    /// Like [`Clock::tick`], without keeping the reading in order with the instructions around it: 6 ns cheaper, and
    /// the instant may be a few dozen instructions off. Meant for chains of readings, where what one latency loses the
    /// next one gains.
    #[inline]
    pub fn tick_unordered(self) -> u64 {
        match self {
            Self::Kernel => monotonic(),
            Self::Counter { .. } => counter::unordered(),
        }
    }

    /// The time between two ticks in nanoseconds; 0 where `end` is not after `start`. A counter that the kernel relies
    /// on does not run backwards within a thread, so that this is not counted. What could show it, or another rate, is
    /// a move to another host while a round runs (live migration, CRIU), which nobody in here can see.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a latency of up to 2^53 ns is exact, and the product is never negative"
    )]
    pub fn nanos(self, start: u64, end: u64) -> u64 {
        let ticks = end.saturating_sub(start);
        match self {
            Self::Kernel => ticks,
            Self::Counter { ns_per_tick } => (ticks as f64 * ns_per_tick) as u64,
        }
    }
}

/// The counter and the kernel's clock at the same instant: the closest of ten tries.
fn pair() -> Option<(u64, u64)> {
    if !counter::EXISTS {
        return None;
    }
    (0..10)
        .map(|_| {
            let before = monotonic();
            let tick = counter::ordered();
            let after = monotonic();
            (after - before, (tick, before + (after - before) / 2))
        })
        .min_by_key(|(gap, _)| *gap)
        .map(|(_, pair)| pair)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "20 ms of ticks are exact in f64"
)]
fn rate(start: (u64, u64), end: (u64, u64)) -> Option<f64> {
    let ticks = end.0.checked_sub(start.0).filter(|ticks| *ticks > 0)?;
    Some((end.1 - start.1) as f64 / ticks as f64)
}

/// The CPU's own counter.
#[cfg(target_arch = "x86_64")]
mod counter {
    /// Whether there is one that a process may read cheaply.
    pub(super) const EXISTS: bool = true;

    /// The time-stamp counter. `lfence` keeps earlier instructions from finishing after the reading; without it the
    /// reading may move up by a few dozen instructions. Source: Intel SDM volume 2B, RDTSC.
    #[inline]
    pub(super) fn ordered() -> u64 {
        // SAFETY: every x86-64 CPU has SSE2's lfence.
        unsafe { core::arch::x86_64::_mm_lfence() };
        unordered()
    }

    #[inline]
    pub(super) fn unordered() -> u64 {
        // SAFETY: every x86-64 CPU has rdtsc, and Linux leaves it enabled unless prctl(PR_SET_TSC) forbids it.
        unsafe { core::arch::x86_64::_rdtsc() }
    }
}

#[cfg(not(target_arch = "x86_64"))]
use portable as counter;

/// The kernel's clock in its place: never calibrated, because it is no counter.
#[cfg(any(test, not(target_arch = "x86_64")))]
mod portable {
    #[cfg_attr(
        target_arch = "x86_64",
        expect(dead_code, reason = "the twin is compiled for tests of its readings")
    )]
    pub(super) const EXISTS: bool = false;

    #[inline]
    pub(super) fn ordered() -> u64 {
        super::monotonic()
    }

    #[inline]
    pub(super) fn unordered() -> u64 {
        super::monotonic()
    }
}

/// Time lost in gaps while a loop did nothing but read the clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    /// How long the loop ran, in nanoseconds.
    pub wall: u64,
    /// How much of it was lost in gaps longer than 5 microseconds.
    pub lost: u64,
    /// The longest gap.
    pub max: u64,
}

/// A gap below this is the loop itself, or an interrupt too short to matter. Source: the default of the kernel's
/// osnoise tracer, Documentation/trace/osnoise-tracer.rst.
const GAP_NS: u64 = 5_000;

/// Spins for `nanos` and counts the time in which the loop was not running, whatever the cause: interrupts, other
/// tasks, the hypervisor.
pub fn gaps(nanos: u64) -> Gaps {
    let start = monotonic();
    let mut result = Gaps::default();
    let mut last = start;
    while last - start < nanos {
        let now = monotonic();
        let gap = now - last;
        if gap > GAP_NS {
            result.lost += gap;
            result.max = result.max.max(gap);
        }
        last = now;
    }
    result.wall = last - start;
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_advance_and_agree() {
        let clock = Clock::calibrate();
        let (tick, kernel) = (clock.tick(), monotonic());
        sleep(30_000_000);
        let nanos = clock.nanos(tick, clock.tick());
        let truth = monotonic() - kernel;
        assert!(nanos >= 29_000_000, "{nanos}");
        // Both were read within microseconds of each other; 5 % leaves room for a descheduled test.
        assert!(
            nanos.abs_diff(truth) * 20 < truth,
            "{nanos} against {truth}"
        );
    }

    #[test]
    fn sleeping_until_the_past_returns_at_once() {
        sleep_until(0);
        let soon = monotonic() + 2_000_000;
        sleep_until(soon);
        assert!(monotonic() >= soon);
    }

    #[test]
    fn the_portable_counter_is_the_kernels_clock() {
        for read in [portable::ordered, portable::unordered] {
            let (before, now, after) = (monotonic(), read(), monotonic());
            assert!(before <= now && now <= after, "{before} {now} {after}");
        }
    }

    #[test]
    fn a_gap_probe_runs_for_its_time_and_loses_no_more() {
        let gaps = gaps(1_000_000);
        assert!(gaps.wall >= 1_000_000);
        assert!(gaps.lost <= gaps.wall && gaps.max <= gaps.lost);
    }
}
