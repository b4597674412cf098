//! Lines of runs on file sets: thirteen columns, then rate and response time of every operation that is no read or
//! write.

use super::filerows::{Calls, FileRow};
use model::fileset::FileOperation;
use std::fmt::Write as _;

/// Bytes of what vdbench calls MB.
const MB: f64 = 1_048_576.0;

/// The columns before those of operations: what stands in the second line of headings, letters, digits behind the
/// point.
const COLUMNS: [(&str, usize, usize); 13] = [
    ("rate", 8, 1),
    ("resp", 7, 3),
    ("total", 6, 1),
    ("sys", 5, 1),
    ("pct", 6, 1),
    ("rate", 8, 1),
    ("resp", 7, 3),
    ("rate", 8, 1),
    ("resp", 7, 3),
    ("read", 7, 2),
    ("write", 7, 2),
    ("total", 7, 2),
    ("size", 8, 0),
];

/// The first line of headings: what several columns are about.
const ABOVE: [(&str, usize); 7] = [
    (".ReqstdOps..", 15),
    ("...cpu%..", 11),
    ("read", 6),
    ("....read....", 15),
    ("....write...", 15),
    (".....mb/sec.....", 21),
    (".xfer", 8),
];

/// The operations with columns of their own.
fn others() -> impl Iterator<Item = FileOperation> {
    let transfers = [FileOperation::Read, FileOperation::Write];
    FileOperation::ALL
        .into_iter()
        .filter(move |operation| !transfers.contains(operation))
}

/// The two lines above the rows, behind the columns of date and interval.
pub(super) fn headings() -> (String, String) {
    let (mut above, mut below) = (String::new(), String::new());
    for (word, letters) in ABOVE {
        let _ = write!(above, "{word:>letters$}");
    }
    for (word, letters, _) in COLUMNS {
        let _ = write!(below, "{word:>letters$}");
    }
    for operation in others() {
        let _ = write!(above, "{:>15}", operation.word());
        below.push_str("    rate   resp");
    }
    (above, below)
}

/// A row, behind its time and interval.
pub(super) fn line(row: &FileRow) -> String {
    let mut line = String::new();
    let ms = |calls: Calls| Some(calls.ns_mean.map_or(0.0, |ns| ns / 1e6));
    let [reads, writes] = [FileOperation::Read, FileOperation::Write].map(|one| row.of(one));
    let (read, written) = row.bytes_per_s;
    let values = [
        Some(row.asked.per_s),
        ms(row.asked),
        row.cpu.map(|(all, _)| 100.0 * all),
        row.cpu.map(|(_, system)| 100.0 * system),
        Some(100.0 * row.reads_share().unwrap_or(0.0)),
        Some(reads.per_s),
        ms(reads),
        Some(writes.per_s),
        ms(writes),
        Some(read / MB),
        Some(written / MB),
        Some((read + written) / MB),
        Some(row.bytes_per_op().unwrap_or(0.0)),
    ];
    for ((_, letters, digits), value) in COLUMNS.into_iter().zip(values) {
        let _ = match value {
            // A column has a blank before it, whatever its value.
            Some(value) => write!(line, " {value:>width$.digits$}", width = letters - 1),
            None => write!(line, "{:>letters$}", "n/a"),
        };
    }
    for operation in others() {
        let calls = row.of(operation);
        let ms = calls.ns_mean.map_or(0.0, |ns| ns / 1e6);
        let _ = write!(line, " {:>7.1} {ms:>6.3}", calls.per_s);
    }
    line
}
