//! Rows of runs on file sets: what was asked for, and each kind of operation.

use super::rows::Grid;
use model::fileset::FileOperation;
use model::num::approx;
use model::record::{CopyRecord, Series};
use model::units::Nanos;
use std::collections::BTreeMap;

/// What was done in some time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FileRow {
    /// What the workloads ask for.
    pub asked: Calls,
    /// Each kind of operation that was done, those around others among them.
    pub each: Vec<(FileOperation, Calls)>,
    /// Bytes read and written per second.
    pub bytes_per_s: (f64, f64),
    /// The share of all CPUs that this program used and the kernel used for it, and the kernel's part; from 0 to 1.
    pub cpu: Option<(f64, f64)>,
}

/// How many there were, and how long they took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calls {
    /// Per second.
    pub per_s: f64,
    /// Their mean; `None` of none.
    pub ns_mean: Option<f64>,
}

impl FileRow {
    /// An operation of this kind; nothing of one that was not done.
    pub fn of(&self, operation: FileOperation) -> Calls {
        let found = self.each.iter().find(|(own, _)| *own == operation);
        found.map_or_else(Calls::default, |(_, calls)| *calls)
    }

    /// Bytes of a read or write; `None` where there was none.
    pub fn bytes_per_op(&self) -> Option<f64> {
        let ops = self.of(FileOperation::Read).per_s + self.of(FileOperation::Write).per_s;
        (ops > 0.0).then(|| (self.bytes_per_s.0 + self.bytes_per_s.1) / ops)
    }

    /// The share of reads among reads and writes.
    pub fn reads_share(&self) -> Option<f64> {
        let (reads, writes) = (
            self.of(FileOperation::Read).per_s,
            self.of(FileOperation::Write).per_s,
        );
        (reads + writes > 0.0).then(|| reads / (reads + writes))
    }
}

fn calls(ops: f64, ns: f64, seconds: f64) -> Calls {
    Calls {
        per_s: ops / seconds,
        ns_mean: (ops > 0.0).then(|| ns / ops),
    }
}

/// All that a copy did of which figures count.
pub fn whole(copies: &[CopyRecord], cpus: u32) -> FileRow {
    let nobody = CopyRecord::of_operations(0);
    copies
        .first()
        .map_or_else(FileRow::default, |copy| difference(&nobody, copy, cpus))
}

/// What was done between two looks, and the number of the interval behind the warm-up that ends with it.
pub fn between(before: &[CopyRecord], now: &[CopyRecord], grid: Grid) -> (u64, FileRow) {
    let nobody = CopyRecord::of_operations(0);
    let Some(copy) = now.first() else {
        return (0, FileRow::default());
    };
    let row = difference(before.first().unwrap_or(&nobody), copy, grid.cpus);
    let wall = grid.counts_from.0.saturating_add(copy.wall.0);
    let half = grid.interval.0 / 2;
    ((wall + half) / grid.interval.0.max(1), row)
}

fn difference(before: &CopyRecord, now: &CopyRecord, cpus: u32) -> FileRow {
    let less = |now: Nanos, before: Nanos| Nanos(now.0.saturating_sub(before.0)).as_secs_f64();
    let seconds = less(now.wall, before.wall);
    if seconds <= 0.0 {
        return FileRow::default();
    }
    let amount = |name: &str| {
        let of = |copy: &CopyRecord| copy.reported.get(name).copied().unwrap_or(0.0);
        (of(now) - of(before)).max(0.0)
    };
    let done = |operation: FileOperation| {
        let word = operation.word();
        now.reported.contains_key(&format!("{word}_ops")).then(|| {
            let ops = amount(&format!("{word}_ops"));
            (
                operation,
                calls(ops, amount(&format!("{word}_ns")), seconds),
            )
        })
    };
    let asked = approx(now.ops.saturating_sub(before.ops));
    let (user, system) = (less(now.user, before.user), less(now.system, before.system));
    let all = seconds * f64::from(cpus);
    FileRow {
        asked: calls(asked, amount("resp_ns"), seconds),
        each: FileOperation::ALL.into_iter().filter_map(done).collect(),
        bytes_per_s: (
            amount("read_bytes") / seconds,
            amount("write_bytes") / seconds,
        ),
        cpu: (all > 0.0).then(|| ((user + system) / all, system / all)),
    }
}

/// The intervals that figures are of, as a kept round wrote them down.
pub fn intervals(series: &BTreeMap<String, Series>) -> Vec<FileRow> {
    let count = series
        .get("ops_per_s_at")
        .map_or(0, |series| series.values.len());
    let at = |name: &str, number: usize| -> Option<f64> {
        *series.get(&format!("{name}_at"))?.values.get(number)?
    };
    let row = |number: usize| {
        let of = |rate: &str, mean: &str| Calls {
            per_s: at(rate, number).unwrap_or(0.0),
            ns_mean: at(mean, number),
        };
        let done = |operation: FileOperation| {
            let word = operation.word();
            let rate = format!("{word}_per_s");
            let is_there = series.contains_key(&format!("{rate}_at"));
            is_there.then(|| (operation, of(&rate, &format!("{word}_ns"))))
        };
        FileRow {
            asked: of("ops_per_s", "resp_ns"),
            each: FileOperation::ALL.into_iter().filter_map(done).collect(),
            bytes_per_s: (
                at("read_bytes_per_s", number).unwrap_or(0.0),
                at("write_bytes_per_s", number).unwrap_or(0.0),
            ),
            cpu: None,
        }
    };
    (0..count).map(row).collect()
}
