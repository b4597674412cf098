//! Live progress on a terminal, and nothing elsewhere.

use engine::run::{Progress, Resting};
use engine::soak::Rest;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::record::{Outcome, Round};
use model::units::Nanos;
use std::io::IsTerminal;

/// The progress of one run.
#[derive(Debug)]
pub(crate) struct Bar {
    bar: ProgressBar,
    failed: u32,
}

impl Bar {
    /// A bar on standard error, where that is a terminal that can draw one and `quiet` is false.
    pub(crate) fn new(quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let bar = if quiet || dumb || !std::io::stderr().is_terminal() {
            ProgressBar::hidden()
        } else {
            ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr())
        };
        // Drawn only between rounds: a ticking thread would be noise in the measurement.
        if let Ok(style) = ProgressStyle::with_template("{wide_bar} {prefix}  {msg}") {
            bar.set_style(style);
        }
        Self { bar, failed: 0 }
    }

    /// A round starts.
    pub(crate) fn starts(&self, progress: &Progress<'_>) {
        self.stands_at(progress.elapsed, progress.expected);
        let failed = match self.failed {
            0 => String::new(),
            n => format!(", {n} failed"),
        };
        self.bar
            .set_message(format!("pass {}  {}{failed}", progress.pass, progress.case));
    }

    /// A soak rests.
    pub(crate) fn rests(&self, resting: &Resting) {
        self.stands_at(resting.elapsed, resting.expected);
        let left = resting.until.since(resting.elapsed).as_secs_f64();
        let why = match resting.why {
            Rest::Refill => "to see whether credit comes back",
            Rest::Sample => "until the next sample",
        };
        self.bar
            .set_message(format!("resting for {left:.0} s {why}"));
    }

    fn stands_at(&self, elapsed: Nanos, expected: Nanos) {
        self.bar.set_length((expected.0 / 1_000_000).max(1));
        self.bar.set_position(elapsed.0 / 1_000_000);
        let (elapsed, expected) = (elapsed.as_secs_f64(), expected.as_secs_f64());
        self.bar
            .set_prefix(format!("{elapsed:.0} of {expected:.0} s"));
    }

    /// A round has ended.
    pub(crate) fn ended(&mut self, round: &Round) {
        if matches!(round.outcome, Outcome::Failed(_)) {
            self.failed += 1;
        }
    }

    /// The run is over: the bar goes away.
    pub(crate) fn clear(&self) {
        self.bar.finish_and_clear();
    }
}
