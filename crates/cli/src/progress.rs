//! Live progress on a terminal, and nothing elsewhere.

use engine::run::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::record::{Outcome, Round};
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
        let (elapsed, expected) = (
            progress.elapsed.as_secs_f64(),
            progress.expected.as_secs_f64(),
        );
        self.bar
            .set_length((progress.expected.0 / 1_000_000).max(1));
        self.bar.set_position(progress.elapsed.0 / 1_000_000);
        self.bar
            .set_prefix(format!("{elapsed:.0} of {expected:.0} s"));
        let failed = match self.failed {
            0 => String::new(),
            n => format!(", {n} failed"),
        };
        self.bar
            .set_message(format!("pass {}  {}{failed}", progress.pass, progress.case));
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
