//! `--status-interval`: at every such time the report so far, in the forms of the last one.
//!
//! It is made of the round that goes on, as if that had ended, so that a figure means the same in both. Into the file
//! of `--output` all of them go together with the last: nothing is written to a disk that is being measured.

use super::out;
use super::phases::Phase;
use super::results;
use crate::session::Onlooker;
use dialects::fio::Plan;
use model::record::{Round, Run};
use model::units::Nanos;

/// The reports of a run that goes on.
pub(super) struct Statuses<'a> {
    plan: &'a Plan,
    phases: &'a [Phase<'a>],
    every: Nanos,
    /// The run with the rounds of this pass that have ended.
    run: Run,
    /// What goes into a file with the last report.
    said: String,
    /// Nobody reads them any more; the last report says so.
    is_unheard: bool,
}

impl<'a> Statuses<'a> {
    /// `None` where nobody asked.
    pub(super) fn new(plan: &'a Plan, phases: &'a [Phase<'a>], run: &Run) -> Option<Self> {
        Some(Self {
            plan,
            phases,
            every: Nanos(plan.output.status_interval_ns?),
            run: Run {
                rounds: Vec::new(),
                ..run.clone()
            },
            said: String::new(),
            is_unheard: false,
        })
    }

    /// What goes before the last report.
    pub(super) fn said(&self) -> &str {
        &self.said
    }
}

impl Onlooker for Statuses<'_> {
    fn every(&self) -> Nanos {
        self.every
    }

    fn ticks(&mut self, so_far: &Round) {
        if self.is_unheard {
            return;
        }
        self.run.rounds.push(so_far.clone());
        let report = results::so_far(self.plan, self.phases, &self.run, so_far.pass);
        self.run.rounds.pop();
        let text = out::in_words(self.plan, &report);
        if out::file(self.plan).is_some() {
            self.said.push_str(&text);
        } else {
            self.is_unheard = crate::output::print(&text).is_err();
        }
    }

    fn ended(&mut self, round: &Round) {
        self.run.rounds.retain(|kept| kept.pass == round.pass);
        self.run.rounds.push(round.clone());
    }
}
