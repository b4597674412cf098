//! Options that say what is reported.

use super::super::job::Unified;
use super::{Kind, OptionDef};
use model::order::Order as _;

/// Percentiles at most; fio's own limit.
const MAX_PERCENTILES: usize = 20;

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "group_reporting",
        "0",
        Kind::Flag(|d, on| d.job.reporting.by_group = on),
        "The jobs of a group are reported as one.",
    ),
    OptionDef::new(
        "unified_rw_reporting",
        "none",
        Kind::Choice(&["none", "mixed", "both", "0", "1", "2"], |d, w| {
            d.job.reporting.unified = match w {
                "mixed" | "1" => Unified::Mixed,
                "both" | "2" => Unified::Both,
                _ => Unified::Apart,
            };
        }),
        "Whether reads, writes and trims are reported apart, together, or both.",
    ),
    OptionDef::new(
        "clat_percentiles",
        "1",
        Kind::Bool(|d, on| d.job.reporting.clat_percentiles = on),
        "Percentiles of completion latency.",
    ),
    OptionDef::new(
        "lat_percentiles",
        "0",
        Kind::Bool(|d, on| d.job.reporting.lat_percentiles = on),
        "Percentiles of total latency.",
    ),
    OptionDef::new(
        "slat_percentiles",
        "0",
        Kind::Bool(|d, on| d.job.reporting.slat_percentiles = on),
        "Percentiles of submission latency.",
    ),
    OptionDef::new(
        "percentile_list",
        "1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99",
        Kind::Floats(100.0, MAX_PERCENTILES, |d, mut list| {
            list.order_by(f64::total_cmp);
            d.job.reporting.percentiles = list;
        }),
        "Which percentiles are reported, up to 20.",
    ),
    OptionDef::new(
        "gtod_reduce",
        "0",
        Kind::Bool(|d, on| {
            let reporting = &mut d.job.reporting;
            (reporting.no_clat, reporting.no_slat) = (on, on);
            (reporting.no_lat, reporting.no_bw) = (on, on);
        }),
        "No latencies are taken, as with `disable_lat`, `disable_clat`, `disable_slat` and \
             `disable_bw`, so that fewer clock readings are needed.",
    ),
    OptionDef::new(
        "disable_lat",
        "0",
        Kind::Bool(|d, on| d.job.reporting.no_lat = on),
        "No total latency.",
    ),
    OptionDef::new(
        "disable_clat",
        "0",
        Kind::Bool(|d, on| d.job.reporting.no_clat = on),
        "No completion latency.",
    ),
    OptionDef::new(
        "disable_slat",
        "0",
        Kind::Bool(|d, on| d.job.reporting.no_slat = on),
        "No submission latency.",
    ),
    OptionDef::new(
        "disable_bw_measurement",
        "0",
        Kind::Bool(|d, on| d.job.reporting.no_bw = on),
        "No minimum and maximum of bandwidth over time.",
    )
    .or(&["disable_bw"]),
    OptionDef::new(
        "bwavgtime",
        "500",
        Kind::Int(1..=1 << 40, |d, n| {
            d.job.reporting.bw_window_ns = n.saturating_mul(1_000_000);
        }),
        "Milliseconds over which the minimum and maximum bandwidth are averaged.",
    ),
    OptionDef::new(
        "iopsavgtime",
        "500",
        Kind::Int(1..=1 << 40, |d, n| {
            d.job.reporting.iops_window_ns = n.saturating_mul(1_000_000);
        }),
        "Milliseconds over which the minimum and maximum rate of operations are \
             averaged.",
    ),
];
