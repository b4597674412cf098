//! Options that are accepted and change no figure: logs, clocks, and how fio runs itself.

use super::OptionDef;
use super::Takes::{Flag, Value};

const LOGS: &str = "this program keeps every window in its own run; no log file of fio's is \
             written";
const CLOCK: &str = "this program has one clock, which it checks itself";
const SELF: &str = "this concerns how fio runs itself";

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::noted("write_bw_log", Flag, "A log of bandwidth over time.", LOGS),
    OptionDef::noted("write_lat_log", Flag, "A log of latencies over time.", LOGS),
    OptionDef::noted(
        "write_iops_log",
        Flag,
        "A log of operations over time.",
        LOGS,
    ),
    OptionDef::noted(
        "write_hist_log",
        Flag,
        "A log of latency histograms over time.",
        LOGS,
    ),
    OptionDef::noted("per_job_logs", Value, "Names of the logs.", LOGS),
    OptionDef::noted("log_entries", Value, "Memory for the logs.", LOGS),
    OptionDef::noted("log_avg_msec", Value, "Windows of the logs.", LOGS),
    OptionDef::noted(
        "log_window_value",
        Value,
        "Which value of a window is logged.",
        LOGS,
    ),
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
    OptionDef::noted(
        "log_max_value",
        Value,
        "Maxima instead of means in the logs.",
        LOGS,
    ),
    OptionDef::noted("log_offset", Value, "Offsets in the logs.", LOGS),
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
