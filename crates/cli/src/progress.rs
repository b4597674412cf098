//! Live progress: a bar on a terminal, and elsewhere a plain line now and then, so that a log says that the run is
//! alive.

use crate::output;
use engine::run::{Progress, Resting};
use engine::soak::Rest;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::record::{Outcome, Round};
use model::units::Nanos;
use std::io::IsTerminal;

/// A log gets no more than a line in this time: a day's soak then has some 1,400 of them, and a run of a minute none.
const LINE_EVERY: Nanos = Nanos::from_secs(60);

/// The progress of one run.
#[derive(Debug)]
pub(crate) struct Bar {
    shown: Shown,
    failed: u32,
}

/// Where progress goes.
#[derive(Debug)]
enum Shown {
    /// To a terminal that can draw.
    Bar(ProgressBar),
    /// To a log, as lines.
    Lines(Pace),
    /// Nowhere.
    Quiet,
}

impl Bar {
    /// Progress on standard error: a bar where that is a terminal that can draw one, lines where it is not, and nothing
    /// where `quiet` is true.
    pub(crate) fn new(quiet: bool) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let shown = if quiet {
            Shown::Quiet
        } else if dumb || !std::io::stderr().is_terminal() {
            Shown::Lines(Pace::default())
        } else {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            // Drawn only between rounds: a ticking thread would be noise in the measurement.
            if let Ok(style) = ProgressStyle::with_template("{wide_bar} {prefix}  {msg}") {
                bar.set_style(style);
            }
            Shown::Bar(bar)
        };
        Self { shown, failed: 0 }
    }

    /// A round starts.
    pub(crate) fn starts(&mut self, progress: &Progress<'_>) {
        let failed = match self.failed {
            0 => String::new(),
            n => format!(", {n} failed"),
        };
        let unit = if progress.is_stretch {
            "stretch"
        } else {
            "pass"
        };
        let text = format!("{unit} {}  {}{failed}", progress.pass, progress.case);
        self.stands_at(progress.elapsed, progress.expected, &text, false);
    }

    /// A soak rests.
    pub(crate) fn rests(&mut self, resting: &Resting) {
        let left = resting.until.since(resting.elapsed);
        let why = match resting.why {
            Rest::Refill => "to see whether credit comes back",
            Rest::Sample => "until the next sample",
        };
        let text = format!("resting for {:.0} s {why}", left.as_secs_f64());
        // Nothing else will be heard meanwhile.
        let long = left >= LINE_EVERY;
        self.stands_at(resting.elapsed, resting.expected, &text, long);
    }

    fn stands_at(&mut self, elapsed: Nanos, expected: Nanos, text: &str, telling: bool) {
        let (seconds, of) = (elapsed.as_secs_f64(), expected.as_secs_f64());
        let stand = format!("{seconds:.0} of {of:.0} s");
        match &mut self.shown {
            Shown::Bar(bar) => {
                bar.set_length((expected.0 / 1_000_000).max(1));
                bar.set_position(elapsed.0 / 1_000_000);
                bar.set_prefix(stand);
                bar.set_message(text.to_owned());
            }
            Shown::Lines(pace) => {
                if pace.due(elapsed, telling) {
                    output::say(&format!("{stand}  {text}"));
                }
            }
            Shown::Quiet => {}
        }
    }

    /// Something is said that stays above the bar.
    pub(crate) fn say(&self, text: &str) {
        match &self.shown {
            Shown::Bar(bar) => bar.suspend(|| output::say(text)),
            Shown::Lines(_) | Shown::Quiet => output::say(text),
        }
    }

    /// A round has ended.
    pub(crate) fn ended(&mut self, round: &Round) {
        if matches!(round.outcome, Outcome::Failed(_)) {
            self.failed += 1;
        }
    }

    /// The run is over: the bar goes away.
    pub(crate) fn clear(&self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

/// When the last line was written, in the time of the run.
#[derive(Debug, Default)]
struct Pace {
    last: Nanos,
}

impl Pace {
    /// Whether a line is due now; `telling` where it says something that lasts.
    fn due(&mut self, now: Nanos, telling: bool) -> bool {
        let due = telling || now.since(self.last) >= LINE_EVERY;
        if due {
            self.last = now;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_gets_a_line_a_minute_and_one_for_each_long_rest() {
        let mut pace = Pace::default();
        let lines: Vec<u64> = (0..=400)
            .filter(|&second| second % 7 == 0 && pace.due(Nanos::from_secs(second), second == 14))
            .collect();
        // A line may be late by what lies between two rounds, never early.
        assert_eq!(lines, [14, 77, 140, 203, 266, 329, 392]);
        // A soak that is resumed says where it is at once.
        assert!(Pace::default().due(Nanos::from_secs(4000), false));
        assert!(!Pace::default().due(Nanos::from_secs(59), false));
    }
}
