//! Live progress: a bar on a terminal, and elsewhere a plain line now and then, so that a log says that the run is
//! alive.

use crate::output;
use engine::budget;
use engine::ground::Preparing;
use engine::run::{Progress, Resting};
use engine::soak::Rest;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use model::plan::Plan;
use model::record::{Outcome, Round};
use model::units::Nanos;
use report::Lang;
use std::io::IsTerminal;

/// A log gets no more than a line in this time: whoever waits for one sees within it that the run is alive, and a day's
/// soak has some 4,300 of them.
const LINE_EVERY: Nanos = Nanos::from_secs(20);

/// What takes longer than this before anything is measured is told at once.
const TOLD_FROM: Nanos = Nanos::from_secs(5);

/// The progress of one run.
#[derive(Debug)]
pub(crate) struct Bar {
    shown: Shown,
    failed: u32,
    lang: Lang,
    passes: Passes,
    left: Left,
}

/// How many passes there are to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Passes {
    /// So many.
    Exactly(u32),
    /// So many, where the intervals do not allow for fewer.
    AtMost(u32),
    /// So many fit into the time.
    About(u32),
    /// Nobody knows.
    Unknown,
}

impl Passes {
    /// Those of a plan: of the case that has the most.
    fn of(plan: &Plan) -> Self {
        let rounds = plan.cases.iter().map(|case| budget::rounds(plan, case));
        let Some(longest) = rounds.max_by_key(|rounds| rounds.most.unwrap_or(u32::MAX)) else {
            return Self::Unknown;
        };
        match (longest.least, longest.most) {
            (Some(least), Some(most)) if least == most => Self::Exactly(most),
            (_, Some(most)) => Self::AtMost(most),
            _ if plan.soak.is_some() => Self::Unknown,
            _ => budget::passes_that_fit(plan).map_or(Self::Unknown, Self::About),
        }
    }

    /// `pass 4 of 9`.
    fn said(self, pass: u32, lang: Lang) -> String {
        // What fits was reckoned from what a round costs elsewhere.
        let known = match self {
            Self::About(n) if n < pass => Self::Unknown,
            known => known,
        };
        match (known, lang) {
            (Self::Exactly(n), Lang::En) => format!("pass {pass} of {n}"),
            (Self::AtMost(n), Lang::En) => format!("pass {pass} of at most {n}"),
            (Self::About(n), Lang::En) => format!("pass {pass} of about {n}"),
            (Self::Unknown, Lang::En) => format!("pass {pass}"),
            (Self::Exactly(n), Lang::Ja) => format!("{n} 巡中 {pass} 巡目"),
            (Self::AtMost(n), Lang::Ja) => format!("最大 {n} 巡中 {pass} 巡目"),
            (Self::About(n), Lang::Ja) => format!("約 {n} 巡中 {pass} 巡目"),
            (Self::Unknown, Lang::Ja) => format!("{pass} 巡目"),
        }
    }
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
    pub(crate) fn new(quiet: bool, lang: Lang, plan: Option<&Plan>) -> Self {
        let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
        let shown = if quiet {
            Shown::Quiet
        } else if dumb || !std::io::stderr().is_terminal() {
            Shown::Lines(Pace::default())
        } else {
            let bar = ProgressBar::with_draw_target(Some(1), ProgressDrawTarget::stderr());
            // Drawn only between rounds: a ticking thread would be noise in the measurement.
            if let Ok(style) = ProgressStyle::with_template("{bar:24} {prefix}  {msg}") {
                bar.set_style(style);
            }
            Shown::Bar(bar)
        };
        Self {
            shown,
            failed: 0,
            lang,
            passes: plan.map_or(Passes::Unknown, Passes::of),
            left: Left::default(),
        }
    }

    /// A round starts.
    pub(crate) fn starts(&mut self, progress: &Progress<'_>) {
        let (lang, pass) = (self.lang, progress.pass);
        let failed = match (self.failed, lang) {
            (0, _) => String::new(),
            (n, Lang::En) => format!(", {n} failed"),
            (n, Lang::Ja) => format!("、失敗 {n} ラウンド"),
        };
        let stand = match (progress.is_stretch, lang) {
            (false, _) => self.passes.said(pass, lang),
            (true, Lang::En) => format!("stretch {pass}"),
            (true, Lang::Ja) => format!("測定回 {pass}"),
        };
        let text = format!("{}{failed}", progress.case);
        self.stands_at(progress.elapsed, progress.expected, &stand, &text, false);
    }

    /// What rounds stand on is made or looked at.
    pub(crate) fn prepares(&mut self, preparing: &Preparing<'_>) {
        let Preparing {
            ground, did, made, ..
        } = *preparing;
        let (stand, far) = report::grounds::preparing(ground, did, made, self.lang);
        // It begins, and it will take a while: a log hears of it at once.
        let telling = preparing.made.0 == 0 && preparing.ground.expected >= TOLD_FROM;
        let (elapsed, expected) = (preparing.elapsed, preparing.expected);
        self.stands_at(elapsed, expected, &stand, &far, telling);
    }

    /// A soak rests.
    pub(crate) fn rests(&mut self, resting: &Resting) {
        let left = resting.until.since(resting.elapsed);
        let why = match resting.why {
            Rest::Refill => self
                .lang
                .pick("to see whether credit comes back", "クレジットの回復を確認"),
            Rest::Sample => self.lang.pick("until the next sample", "次の測定まで"),
            Rest::NextPass => self.lang.pick("until the next pass", "次の回まで"),
        };
        let seconds = left.as_secs_f64();
        let stand = match self.lang {
            Lang::En => format!("resting for {seconds:.0} s"),
            Lang::Ja => format!("休止 {seconds:.0} 秒"),
        };
        // Nothing else will be heard meanwhile.
        let long = left >= LINE_EVERY;
        self.stands_at(resting.elapsed, resting.expected, &stand, why, long);
    }

    /// Where it stands, how much time is left, and what is done now.
    fn stands_at(
        &mut self,
        elapsed: Nanos,
        expected: Nanos,
        stand: &str,
        now: &str,
        telling: bool,
    ) {
        let comma = self.lang.pick(", ", "、");
        let still = self.left.told(expected.since(elapsed));
        let stand = format!("{stand}{comma}{}", left(still, self.lang));
        match &mut self.shown {
            Shown::Bar(bar) => {
                bar.set_length((expected.0 / 1_000_000).max(1));
                bar.set_position(elapsed.0 / 1_000_000);
                bar.set_prefix(stand);
                bar.set_message(now.to_owned());
            }
            Shown::Lines(pace) => {
                if pace.due(elapsed, telling) {
                    output::say(&format!("{stand}: {now}"));
                }
            }
            Shown::Quiet => {}
        }
    }

    /// Something is said that stays above the bar.
    pub(crate) fn say(&self, text: &str) {
        self.beside(|| output::say(text));
    }

    /// Something is done that writes to where the bar is.
    pub(crate) fn beside(&self, write: impl FnOnce()) {
        match &self.shown {
            Shown::Bar(bar) => bar.suspend(write),
            Shown::Lines(_) | Shown::Quiet => write(),
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

/// The time that was told to be left.
#[derive(Debug, Default)]
struct Left(Option<Nanos>);

impl Left {
    /// What to tell where `now` is reckoned to be left: a little more than was told is a better estimate of the same
    /// time and no news, so the smaller one stands.
    fn told(&mut self, now: Nanos) -> Nanos {
        let before = self
            .0
            .filter(|&before| before < now && now.0 - before.0 < before.0 / 10);
        *self.0.insert(before.unwrap_or(now))
    }
}

/// The time that is left, in the words of a clock.
fn left(span: Nanos, lang: Lang) -> String {
    let seconds = span.0.div_ceil(1_000_000_000);
    let (hours, minutes, rest) = (seconds / 3600, seconds % 3600 / 60, seconds % 60);
    match (lang, hours, minutes) {
        (Lang::En, 0, 0) => format!("{rest} s left"),
        (Lang::En, 0, _) => format!("{minutes} min {rest} s left"),
        (Lang::En, ..) => format!("{hours} h {minutes} min left"),
        (Lang::Ja, 0, 0) => format!("残り {rest} 秒"),
        (Lang::Ja, 0, _) => format!("残り {minutes} 分 {rest} 秒"),
        (Lang::Ja, ..) => format!("残り {hours} 時間 {minutes} 分"),
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
    fn a_log_gets_a_line_in_twenty_seconds_and_one_for_each_long_rest() {
        let mut pace = Pace::default();
        let lines: Vec<u64> = (0..=130)
            .filter(|&second| second % 7 == 0 && pace.due(Nanos::from_secs(second), second == 14))
            .collect();
        // A line may be late by what lies between two rounds, never early.
        assert_eq!(lines, [14, 35, 56, 77, 98, 119]);
        // A soak that is resumed says where it is at once.
        assert!(Pace::default().due(Nanos::from_secs(4000), false));
        assert!(!Pace::default().due(Nanos::from_secs(19), false));
    }

    #[test]
    fn the_time_that_is_left_rises_only_where_it_is_much_more_than_was_told() {
        let mut left = Left::default();
        let told = [100, 90, 95, 98, 89, 99, 0, 1].map(|now| left.told(Nanos(now)).0);
        assert_eq!(told, [100, 90, 90, 90, 89, 99, 0, 1]);
    }

    #[test]
    fn a_pass_is_told_among_those_there_will_be() {
        let check = |passes: Passes, pass: u32, en: &str, ja: &str| {
            assert_eq!(passes.said(pass, Lang::En), en);
            assert_eq!(passes.said(pass, Lang::Ja), ja);
        };
        check(Passes::Exactly(9), 4, "pass 4 of 9", "9 巡中 4 巡目");
        check(
            Passes::AtMost(28),
            7,
            "pass 7 of at most 28",
            "最大 28 巡中 7 巡目",
        );
        check(Passes::About(9), 9, "pass 9 of about 9", "約 9 巡中 9 巡目");
        // More fit than was thought.
        check(Passes::About(9), 10, "pass 10", "10 巡目");
    }

    #[test]
    fn the_time_that_is_left_is_told_as_clocks_do() {
        let check = |ms: u64, en: &str, ja: &str| {
            assert_eq!(left(Nanos::from_millis(ms), Lang::En), en);
            assert_eq!(left(Nanos::from_millis(ms), Lang::Ja), ja);
        };
        check(0, "0 s left", "残り 0 秒");
        check(1_200, "2 s left", "残り 2 秒");
        check(130_000, "2 min 10 s left", "残り 2 分 10 秒");
        check(7_260_000, "2 h 1 min left", "残り 2 時間 1 分");
    }
}
