//! The lines that are printed while runs go on: one for each interval, and the average of those that count.

use super::cases::Case;
use super::results;
use crate::output;
use crate::session::Onlooker;
use dialects::vdbench::output::{Label, begins, from_start, headings, line, time_of_day};
use jiff::tz::TimeZone;
use model::plan::CaseId;
use model::record::{CopyRecord, Round, Run};
use model::units::{Nanos, UnixNanos};

/// Looks on, and prints.
pub(super) struct Watch<'a> {
    cases: &'a [Case<'a>],
    zone: TimeZone,
    cpus: u32,
    passes: u32,
    /// The round that goes on, and what its copies had done when it was looked at last.
    current: Option<(CaseId, u32)>,
    before: Vec<CopyRecord>,
    /// The last interval that was printed.
    printed: u64,
    /// Why the lines cannot be printed any more.
    unheard: Option<anyhow::Error>,
}

impl<'a> Watch<'a> {
    pub(super) fn new(cases: &'a [Case<'a>], run: &Run) -> Self {
        Self {
            cases,
            zone: TimeZone::system(),
            cpus: run.host.limits.copies_all(),
            passes: run.plan.passes.unwrap_or(1),
            current: None,
            before: Vec::new(),
            printed: 0,
            unheard: None,
        }
    }

    fn print(&mut self, text: &str) {
        if self.unheard.is_none() {
            self.unheard = output::print(text).err();
        }
    }

    /// Whether all lines were printed. A run goes on and is kept where they were not.
    pub(super) fn heard(self) -> anyhow::Result<()> {
        self.unheard.map_or(Ok(()), Err)
    }

    /// The case of a round, whose beginning is printed where it has not been.
    fn case(&mut self, round: &Round) -> Option<&'a Case<'a>> {
        let case = self.cases.iter().find(|case| case.id == round.case)?;
        let current = (round.case.clone(), round.pass);
        if self.current.as_ref() != Some(&current) {
            self.current = Some(current);
            self.before.clear();
            self.printed = 0;
            let pass = if self.passes > 1 {
                format!("; pass {} of {}", round.pass, self.passes)
            } else {
                String::new()
            };
            let began = time_of_day(round.started, &self.zone);
            let headings = headings(case.run, round.started, &self.zone);
            let text = format!("{began} {}{pass}\n\n{headings}", begins(case.run));
            self.print(&text);
        }
        Some(case)
    }

    /// The row of the interval that ends now.
    fn interval(&mut self, case: &Case<'_>, now: &[CopyRecord]) {
        // Work on file sets tells nothing before its figures count.
        if now.iter().all(|copy| copy.wall == Nanos::ZERO) {
            return;
        }
        let (number, row) = results::between(case, (&self.before, now), self.cpus);
        if number <= self.printed {
            return;
        }
        self.printed = number;
        let at = UnixNanos(sys::clock::wall());
        let text = line(Label::Interval(number), at, &row, &self.zone);
        self.before = now.to_vec();
        self.print(&text);
    }
}

impl Onlooker for Watch<'_> {
    fn every(&self) -> Nanos {
        let intervals = self.cases.iter().map(|case| case.run.times.interval);
        Nanos::from_secs(intervals.min().unwrap_or(1))
    }

    fn ticks(&mut self, so_far: &Round) {
        let Some(case) = self.case(so_far) else {
            return;
        };
        if let Some(told) = so_far.told() {
            self.interval(case, &told.copies);
        }
    }

    fn ended(&mut self, round: &Round) {
        let Some(case) = self.case(round) else { return };
        let (_, last) = case.run.times.averaged();
        if let Some(told) = round.told().filter(|_| self.printed < last) {
            self.interval(case, &told.copies);
        }
        let execution = results::execution(case, round, self.cpus);
        let now = UnixNanos(sys::clock::wall());
        let mut text = String::new();
        if let Some((label, _, row)) = &execution.average {
            text.push_str(&line(*label, now, row, &self.zone));
        }
        text.push_str(&from_start(&execution));
        text.push('\n');
        self.print(&text);
    }
}
