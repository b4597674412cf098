//! Logs over time, and options that are accepted and change no figure: clocks, and how fio runs itself.

use super::Takes::{Flag, Value};
use super::{Kind, OptionDef};

const LOGS: &str =
    "logs hold rates and latencies, window by window, and times from the beginning of each job";

/// A day and more is no window.
const MAX_MSEC: u64 = 1 << 27;
const CLOCK: &str = "this program has one clock, which it checks itself";
const SELF: &str = "this concerns how fio runs itself";

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "write_bw_log",
        "",
        Kind::Name(|d, name| d.job.reporting.logs.bw = Some(name.to_owned())),
        "Logs of bandwidth over time, in KiB/s: `NAME_bw.N.log`, the job's name where none is given.",
    ),
    OptionDef::new(
        "write_lat_log",
        "",
        Kind::Name(|d, name| d.job.reporting.logs.lat = Some(name.to_owned())),
        "Logs of latencies over time, in nanoseconds: `NAME_slat.N.log`, `NAME_clat.N.log`, `NAME_lat.N.log`.",
    ),
    OptionDef::new(
        "write_iops_log",
        "",
        Kind::Name(|d, name| d.job.reporting.logs.iops = Some(name.to_owned())),
        "Logs of operations per second over time: `NAME_iops.N.log`.",
    ),
    OptionDef::new(
        "log_avg_msec",
        "0",
        Kind::Int(0..=MAX_MSEC, |d, n| d.job.reporting.logs.window_ms = n),
        "Milliseconds of a window of the logs; each window has a line for each direction that did something in it.",
    ),
    OptionDef::new(
        "log_max_value",
        "0",
        Kind::Choice(&["0", "1", "avg", "max", "both"], |d, word| {
            d.job.reporting.logs.longest = matches!(word, "1" | "max");
        }),
        "Of the latencies of a window the longest is logged, and not their mean.",
    )
    .or(&["log_window_value"]),
    OptionDef::new(
        "per_job_logs",
        "1",
        Kind::Bool(|d, on| d.job.reporting.logs.together = !on),
        "The number of the job in the names of its logs; jobs that log to one name without it share the file.",
    ),
    OptionDef::new(
        "log_offset",
        "0",
        Kind::Bool(|d, on| d.job.reporting.logs.offset = on),
        "A column for the offset, which windows have none of: 0, as fio writes it.",
    ),
    OptionDef::noted(
        "write_hist_log",
        Flag,
        "A log of latency histograms over time.",
        LOGS,
    ),
    OptionDef::noted("log_entries", Value, "Memory for the logs.", LOGS),
    OptionDef::noted(
        "log_hist_msec",
        Value,
        "Windows of the logged histograms.",
        LOGS,
    ),
    OptionDef::noted(
        "log_hist_coarseness",
        Value,
        "Buckets of the logged histograms.",
        LOGS,
    ),
    OptionDef::noted("log_prio", Value, "Priorities in the logs.", LOGS),
    OptionDef::noted("log_compression", Value, "Compression of the logs.", LOGS),
    OptionDef::noted(
        "log_compression_cpus",
        Value,
        "Who compresses the logs.",
        LOGS,
    ),
    OptionDef::noted(
        "log_store_compressed",
        Value,
        "Compression of the logs.",
        LOGS,
    ),
    OptionDef::noted("log_unix_epoch", Value, "Times in the logs.", LOGS),
    OptionDef::noted("log_alternate_epoch", Value, "Times in the logs.", LOGS),
    OptionDef::noted(
        "log_alternate_epoch_clock_id",
        Value,
        "Times in the logs.",
        LOGS,
    ),
    OptionDef::noted("clocksource", Value, "Which clock is read.", CLOCK),
    OptionDef::noted("gtod_cpu", Value, "A CPU that only reads the clock.", CLOCK),
    OptionDef::noted(
        "disk_util",
        Value,
        "Whether the disk's own counters are reported.",
        "they always are where there are any",
    ),
    OptionDef::noted(
        "stats",
        Value,
        "Whether anything is reported.",
        "results are always kept",
    ),
    OptionDef::noted(
        "significant_figures",
        Value,
        "Digits of the text report.",
        "this program chooses the digits by what is known",
    ),
    OptionDef::noted(
        "block_error_percentiles",
        Value,
        "Errors of trims by percentile.",
        "errors are counted, not distributed",
    ),
    OptionDef::noted(
        "error_dump",
        Value,
        "A line for every error.",
        "errors are counted and the first is named",
    ),
    OptionDef::noted(
        "softrandommap",
        Value,
        "What happens where the map of visited blocks needs too much memory.",
        "the order of offsets needs no map",
    ),
    OptionDef::noted(
        "unique_filename",
        Value,
        "File names of network clients.",
        "there are no network clients",
    ),
    OptionDef::noted(
        "write_hint",
        Value,
        "A hint on how long data will live.",
        "hints that few devices heed are left out",
    ),
    OptionDef::noted("verify_async", Value, "Threads that check.", SELF),
    OptionDef::noted(
        "verify_async_cpus",
        Value,
        "CPUs of the threads that check.",
        SELF,
    ),
    OptionDef::noted(
        "experimental_verify",
        Value,
        "Another way of remembering what was written.",
        SELF,
    ),
    OptionDef::noted(
        "hugepage-size",
        Value,
        "Size of huge pages.",
        "buffers are not in huge pages",
    ),
    OptionDef::noted("lockmem", Value, "Memory that fio pins.", SELF),
];
