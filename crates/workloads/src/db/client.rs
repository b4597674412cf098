//! One client: a thread with a connection of its own that carries out one transaction after the other.

use super::mix::{Mix, Step};
use super::rows::Rows;
use super::search::Limit;
use super::session::{RETRIES_MAX, Session, SessionError};
use super::statement::{Answer, Kind, Statement};
use super::tables::{ACCOUNTS, TELLERS};
use super::text::{C_BYTES, PAD_BYTES, Text};
use crate::sysbench::Events;
use model::rng::Rng;
use model::units::Nanos;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use sys::clock::{monotonic, sleep};
use sys::loops::failure::Failure;

/// How one transaction follows the other.
#[derive(Clone, Copy, Debug)]
pub(super) enum Course {
    /// Each client begins the next one when its last has ended.
    Closed,
    /// So many a second arrive by themselves.
    Open(u64),
    /// A rate is searched that keeps the limit; each is tried for this time at least.
    Search(Limit, Nanos),
}

/// What decides the course of a test.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) mix: &'static Mix,
    pub(super) course: Course,
    pub(super) rows: Rows,
    pub(super) tables: u32,
    /// Rows of each table when it was made; the scale of pgbench's.
    pub(super) table_size: u32,
    /// Rows of a range.
    pub(super) range_size: u32,
}

/// What all clients share: the first answer that was wrong.
#[derive(Debug, Default)]
pub(super) struct Shared {
    pub(super) wrong: OnceLock<String>,
}

/// What others look at while a client works, on lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(super) struct Counts {
    /// Transactions that were committed.
    pub(super) committed: AtomicU64,
    /// Tries that ended with each code.
    pub(super) retries: [AtomicU64; RETRIES_MAX],
}

/// Nobody else writes it.
fn add(count: &AtomicU64) {
    count.store(count.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// What transactions changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    /// Rows whose `k` grew by one.
    pub(super) index_updates: u64,
    pub(super) inserted: u64,
    pub(super) deleted: u64,
    /// The sum of `k` of the rows that were inserted, or of what was paid in.
    pub(super) inserted_k: i64,
}

impl Changes {
    /// Both together.
    pub(super) const fn plus(self, other: Self) -> Self {
        Self {
            index_updates: self.index_updates + other.index_updates,
            inserted: self.inserted + other.inserted,
            deleted: self.deleted + other.deleted,
            inserted_k: self.inserted_k + other.inserted_k,
        }
    }
}

/// The thread's state.
pub(super) struct Client<S> {
    session: S,
    is_connected: bool,
    setting: Setting,
    shared: Arc<Shared>,
    counts: Arc<Counts>,
    rng: Rng,
    /// For waits, so that the rows of a transaction do not depend on how often it was tried.
    jitter: Rng,
    c: Text<C_BYTES>,
    pad: Text<PAD_BYTES>,
    /// Of the transaction under way.
    pending: Changes,
    /// Of all that were committed.
    changes: Changes,
}

/// The first wait after a refusal is no longer than this: what a commit takes where syncing costs little.
const WAIT_NS_LEAST: u64 = 100_000;
/// And no wait is longer than this: what a commit takes on a slow disk. Waits between double with every try, and each
/// is a random part of its bound, so that clients do not come back together. SQLite's own handler waits up to 100 ms.
const WAIT_NS_MOST: u64 = 10_000_000;
/// What is paid in at pgbench's bank, or out, at most.
const DELTA_MOST: i32 = 5000;
/// A transaction that could not begin for so long will not: latencies end at 60 s.
const GIVE_UP_NS: u64 = 50_000_000_000;

/// What a statement that changes one row is to answer: none, where another one may have come in its place.
fn changed_rows<S: Session>(answer: Answer) -> (u64, u64) {
    let least = u64::from(!S::ROWS_MAY_BE_GONE);
    (answer.rows.clamp(least, 1), 0)
}

impl<S: Session> Client<S> {
    /// The client of this number, which is not connected yet.
    pub(super) fn new(
        session: S,
        setting: Setting,
        shared: Arc<Shared>,
        counts: Arc<Counts>,
        (seed, number): (u64, u32),
    ) -> Self {
        Self {
            session,
            is_connected: false,
            setting,
            shared,
            counts,
            rng: Rng::stream(seed, u64::from(number) + 1000),
            jitter: Rng::stream(seed, u64::from(number) + 2000),
            c: Text::new(),
            pad: Text::new(),
            pending: Changes::default(),
            changes: Changes::default(),
        }
    }

    /// What its transactions changed, from the first on.
    pub(super) const fn changes(&self) -> Changes {
        self.changes
    }

    /// One transaction from the beginning.
    fn transaction(&mut self) -> Result<(), SessionError> {
        let mix = self.setting.mix;
        self.pending = Changes::default();
        if mix.explicit {
            self.session.begin(mix.writes())?;
        }
        for &(step, times) in mix.steps {
            let table = self.rng.below(u64::from(self.setting.tables));
            let table = u32::try_from(table).unwrap_or(0);
            for _ in 0..times {
                self.step(step, table)?;
            }
        }
        if mix.explicit {
            self.session.commit()?;
        }
        Ok(())
    }

    fn step(&mut self, step: Step, table: u32) -> Result<(), SessionError> {
        let id = self.setting.rows.pick(&mut self.rng);
        let last = id.saturating_add(self.setting.range_size - 1);
        let in_range = u64::from(last.min(self.setting.table_size) - id + 1);
        // Rows and bytes of text that every isolation of one writer at a time gives.
        let texts = |rows: u64| (rows, rows * C_BYTES as u64);
        let (statement, (rows, bytes)) = match step {
            Step::Point => (Statement::Point { id }, texts(1)),
            Step::Range => (Statement::Range { first: id, last }, texts(in_range)),
            Step::Sum => (Statement::Sum { first: id, last }, (1, 0)),
            Step::Ordered => (Statement::Ordered { first: id, last }, texts(in_range)),
            // Two equal texts of 110 random digits are not to be expected.
            Step::Distinct => (Statement::Distinct { first: id, last }, texts(in_range)),
            Step::UpdateIndex => {
                let changed = self
                    .session
                    .execute(table, &Statement::UpdateIndex { id })?;
                self.pending.index_updates += changed.rows;
                return self.check(step, changed, changed_rows::<S>(changed));
            }
            Step::UpdateNonIndex => {
                let c = self.c.renew(&mut self.rng);
                let statement = Statement::UpdateNonIndex { c, id };
                let changed = self.session.execute(table, &statement)?;
                return self.check(step, changed, changed_rows::<S>(changed));
            }
            Step::Delete => {
                let gone = self.session.execute(table, &Statement::Delete { id })?;
                self.pending.deleted += gone.rows;
                return self.check(step, gone, (gone.rows.min(1), 0));
            }
            Step::Replace => {
                let gone = self.session.execute(table, &Statement::Delete { id })?;
                self.check(step, gone, changed_rows::<S>(gone))?;
                self.pending.deleted += gone.rows;
                return self.insert(step, table, Some(id));
            }
            Step::Append => return self.insert(step, table, None),
            Step::Deposit => return self.deposit(),
        };
        let answer = self.session.execute(table, &statement)?;
        self.check(step, answer, (rows, bytes))?;
        if step == Step::Sum && answer.sum < i64::try_from(in_range).unwrap_or(i64::MAX) {
            // Every `k` is 1 at least.
            return Err(self.wrong(format!(
                "the sum of {in_range} rows is {}, less than 1 each",
                answer.sum
            )));
        }
        Ok(())
    }

    fn insert(&mut self, step: Step, table: u32, id: Option<u32>) -> Result<(), SessionError> {
        let k = self.setting.rows.pick(&mut self.rng);
        let c = self.c.renew(&mut self.rng);
        let pad = self.pad.renew(&mut self.rng);
        let statement = match id {
            Some(id) => Statement::Insert { id, k, c, pad },
            None => Statement::Append { k, c, pad },
        };
        let answer = self.session.execute(table, &statement)?;
        self.pending.inserted += 1;
        self.pending.inserted_k += i64::from(k);
        self.check(step, answer, (1, 0))
    }

    /// pgbench's transaction: its account, branch and teller are any, whether they belong together or not.
    fn deposit(&mut self) -> Result<(), SessionError> {
        let scale = u64::from(self.setting.table_size);
        let mut below = |bound: u64| u32::try_from(self.rng.below(bound)).unwrap_or(0);
        let aid = 1 + below(scale * ACCOUNTS);
        let bid = 1 + below(scale);
        let tid = 1 + below(scale * TELLERS);
        let delta = below(2 * u64::from(DELTA_MOST.unsigned_abs()) + 1).cast_signed() - DELTA_MOST;
        let credit = |kind, id| Statement::Credit { kind, delta, id };
        for statement in [
            credit(Kind::Account, aid),
            Statement::Balance { aid },
            credit(Kind::Teller, tid),
            credit(Kind::Branch, bid),
            Statement::History {
                tid,
                bid,
                aid,
                delta,
            },
        ] {
            let answer = self.session.execute(0, &statement)?;
            self.check(Step::Deposit, answer, (1, 0))?;
        }
        self.pending.inserted += 1;
        self.pending.inserted_k += i64::from(delta);
        Ok(())
    }

    /// An answer of other than these rows and bytes is wrong.
    fn check(&self, step: Step, answer: Answer, expected: (u64, u64)) -> Result<(), SessionError> {
        if (answer.rows, answer.bytes) == expected {
            return Ok(());
        }
        let (rows, bytes) = expected;
        Err(self.wrong(format!(
            "{step:?} answered {} rows and {} bytes of text in place of {rows} and {bytes}",
            answer.rows, answer.bytes
        )))
    }

    #[cold]
    fn wrong(&self, what: String) -> SessionError {
        // The first one is told.
        let _ = self.shared.wrong.set(what);
        SessionError::Fatal(Failure {
            operation: "check the answers of",
            done: 0,
            error: io::Error::other("an answer is wrong"),
        })
    }

    /// After the code of this place: what was begun is taken back, and others get time.
    #[cold]
    fn back_off(&mut self, code: usize, tries: u32, since: u64) -> Result<(), Failure> {
        add(&self.counts.retries[code]);
        match self.session.rollback() {
            Ok(()) | Err(SessionError::Retry(_)) => {}
            Err(SessionError::Fatal(failure)) => return Err(failure),
        }
        self.wait("begin a transaction in", (code, tries), since)
    }

    /// Waits after the refusal with this code and this number, from 1 on, of all since an instant.
    fn wait(
        &mut self,
        operation: &'static str,
        (code, tries): (usize, u32),
        since: u64,
    ) -> Result<(), Failure> {
        if monotonic() - since > GIVE_UP_NS {
            let what = format!("refused {tries} times, with {} at last", S::RETRIES[code]);
            return Err(Failure {
                operation,
                done: 0,
                error: io::Error::other(what),
            });
        }
        let bound = WAIT_NS_LEAST << tries.saturating_sub(1).min(20);
        sleep(self.jitter.below(bound.min(WAIT_NS_MOST)));
        Ok(())
    }
}

impl<S: Session> Events for Client<S> {
    /// One transaction, however often it has to be tried.
    fn event(&mut self) -> Result<(), Failure> {
        if !self.is_connected {
            self.connect()?;
        }
        let before = self.rng;
        let (mut tries, mut since) = (0, 0);
        loop {
            match self.transaction() {
                Ok(()) => break,
                Err(SessionError::Fatal(failure)) => return Err(failure),
                Err(SessionError::Retry(code)) => {
                    if tries == 0 {
                        since = monotonic();
                    }
                    tries += 1;
                    self.back_off(code, tries, since)?;
                    // The same transaction again.
                    self.rng = before;
                }
            }
        }
        self.changes = self.changes.plus(self.pending);
        add(&self.counts.committed);
        Ok(())
    }

    fn end(&mut self) -> Result<(), Failure> {
        self.session.close();
        Ok(())
    }

    fn object(&self) -> String {
        self.session.object()
    }
}

impl<S: Session> Client<S> {
    /// Connects, in the thread that will carry out transactions.
    pub(super) fn connect(&mut self) -> Result<(), Failure> {
        let since = monotonic();
        for tries in 1.. {
            match self.session.connect() {
                Ok(()) => break,
                Err(SessionError::Fatal(failure)) => return Err(failure),
                Err(SessionError::Retry(code)) => self.wait("connect to", (code, tries), since)?,
            }
        }
        self.is_connected = true;
        Ok(())
    }
}
