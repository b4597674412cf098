//! The lines of the server: one for each connection that is refused, and two for each test. Everybody who reaches the
//! port can cause refusals, so that these are bounded: a flood is told by its number.

use std::io;
use std::sync::{Mutex, PoisonError};
use sys::clock::monotonic;

/// Refusals that are told in a second; of the others, how many there were.
const TOLD_MAX: u32 = 10;

const SECOND_NS: u64 = 1_000_000_000;

/// Takes a line, which may hold whatever a peer said.
pub type Write<'a> = dyn Fn(&str) -> io::Result<()> + Sync + 'a;

/// Where lines go.
pub(super) struct Log<'a> {
    write: &'a Write<'a>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Refusals of the second that began then.
    begun: u64,
    told: u32,
    left_out: u64,
    /// The first line that nobody took.
    failed: Option<io::Error>,
}

impl<'a> Log<'a> {
    /// To there.
    pub(super) fn new(write: &'a Write<'a>) -> Self {
        Self {
            write,
            state: Mutex::default(),
        }
    }

    /// A line that is told whatever happens.
    pub(super) fn line(&self, text: &str) {
        let written = (self.write)(text);
        self.noted(written);
    }

    /// A line that everybody who reaches the port may cause, any number of times.
    pub(super) fn refusal(&self, text: &str) {
        let now = monotonic();
        self.turn(now);
        let mut state = self.lock();
        if state.told >= TOLD_MAX {
            state.left_out += 1;
            return;
        }
        state.told += 1;
        drop(state);
        self.line(text);
    }

    /// Tells what was left out of a second that is over.
    pub(super) fn turn(&self, now: u64) {
        let mut state = self.lock();
        if now.saturating_sub(state.begun) < SECOND_NS {
            return;
        }
        state.begun = now;
        state.told = 0;
        let left_out = std::mem::take(&mut state.left_out);
        drop(state);
        if left_out > 0 {
            self.line(&format!("{left_out} more refused within a second"));
        }
    }

    /// Why lines can no longer be written.
    pub(super) fn failed(&self) -> Option<io::Error> {
        self.lock().failed.take()
    }

    fn noted(&self, written: io::Result<()>) {
        if let Err(error) = written {
            self.lock().failed.get_or_insert(error);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_told_by_its_number_and_tests_are_told_all_the_same() {
        let lines = Mutex::new(Vec::new());
        let write = |text: &str| {
            lines.lock().unwrap().push(text.to_owned());
            Ok(())
        };
        let log = Log::new(&write);
        for _ in 0..1000 {
            log.refusal("refused");
        }
        log.line("a test");
        log.turn(monotonic() + 2 * SECOND_NS);
        let lines = lines.into_inner().unwrap();
        // The thousand may have taken more than a second.
        assert!(lines.len() < 500, "{}", lines.len());
        assert_eq!(lines.iter().filter(|line| *line == "a test").count(), 1);
        let told = lines.iter().filter(|line| *line == "refused").count();
        let counted: usize = lines
            .iter()
            .filter_map(|line| line.strip_suffix(" more refused within a second"))
            .map(|count| count.parse::<usize>().unwrap())
            .sum();
        assert_eq!(told + counted, 1000);
    }

    #[test]
    fn a_line_that_nobody_takes_is_known() {
        let write = |_: &str| Err(io::ErrorKind::BrokenPipe.into());
        let log = Log::new(&write);
        assert!(log.failed().is_none());
        log.line("a");
        let failed = log.failed().unwrap();
        assert_eq!(failed.kind(), io::ErrorKind::BrokenPipe);
    }
}
