//! The same JSON of a run that did YABS' runs of fio: what it shows to whoever collects such outputs.

use crate::familiar::{self, YABS, YABS_JOBS, Yabs};
use model::num::{approx, round_to_u64};
use model::params::ParamValue;
use model::plan::CaseId;
use model::record::Run;
use model::units::{Bytes, Nanos, UnixNanos};
use serde_json::{Map, Value, json};

/// The version whose definitions these are.
const VERSION: &str = "v2026-07-03";

/// The run as `yabs.sh -j` would print what it has of it; `None` where it did none of YABS' runs of fio.
///
/// Beside YABS' own keys it says who measured, and for each run of fio how large its file was and after which time it
/// was over: on both it may differ from YABS.
pub fn report_json(run: &Run) -> Option<String> {
    let fio: Vec<Value> = YABS
        .iter()
        .filter_map(|(bs, test, _)| of_fio(run, bs, test))
        .collect();
    if fio.is_empty() || run.meta.origin.is_some() {
        return None;
    }
    let host = &run.host;
    let mut cpu = Map::new();
    if let Some(model) = host.cpu.model.known() {
        cpu.insert("model".to_owned(), json!(model));
    }
    if let Some(cpus) = host.cpu.online.known() {
        cpu.insert("cores".to_owned(), json!(cpus));
    }
    let mut os = Map::from_iter([("arch".to_owned(), json!(arch(&host.cpu.arch)))]);
    if let Some(release) = host.kernel.release.known() {
        os.insert("kernel".to_owned(), json!(release));
    }
    // In the order of YABS, by which readers know it.
    let parts = [
        ("version", json!(VERSION)),
        ("time", json!(time(run.meta.started))),
        (
            "measured_by",
            json!(format!("kurabe {}, not YABS", run.meta.binary.version)),
        ),
        ("os", Value::Object(os)),
        ("cpu", Value::Object(cpu)),
        ("fio", Value::Array(fio)),
    ];
    let parts = parts.map(|(key, value)| format!("{}:{value}", json!(key)));
    Some(format!("{{{}}}\n", parts.join(",")))
}

/// Whether the run is to do any of YABS' runs of fio, or did.
pub fn has_report(run: &Run) -> bool {
    let is_planned = |test: &str| {
        let id = CaseId {
            test: test.to_owned(),
            copies: YABS_JOBS,
        };
        run.plan.case(&id).is_some()
    };
    let is_ahead = run.rounds.is_empty() && YABS.iter().any(|(_, test, _)| is_planned(test));
    is_ahead || report_json(run).is_some()
}

fn of_fio(run: &Run, bs: &str, test: &str) -> Option<Value> {
    let shot = Yabs::of(run, test)?;
    let id = CaseId {
        test: test.to_owned(),
        copies: YABS_JOBS,
    };
    let case = run.plan.case(&id)?;
    let kib = |iops: f64| round_to_u64(iops * approx(shot.block.0) / 1024.0);
    let [read, write, both] = shot.iops;
    // A size that was left to the machine is that of the file it stood on.
    let asked = case.params.get("size").and_then(|value| match value {
        ParamValue::Size(bytes) if bytes.0 > 0 => Some(*bytes),
        _ => None,
    });
    let size = asked.or(case.ground.as_ref().and_then(|ground| ground.bytes));
    let runtime = familiar::runtime(case);
    let mut row = json!({
        "bs": bs,
        "speed_r": kib(read),
        "iops_r": round_to_u64(read),
        "speed_w": kib(write),
        "iops_w": round_to_u64(write),
        "speed_rw": kib(both),
        "iops_rw": round_to_u64(both),
        "speed_units": "KBps",
    });
    if let (Some(size), Some(row)) = (size, row.as_object_mut()) {
        row.insert("size".to_owned(), json!(short(size)));
    }
    if let (true, Some(row)) = (runtime > Nanos::ZERO, row.as_object_mut()) {
        row.insert("runtime".to_owned(), json!(runtime.as_secs_f64()));
    }
    Some(row)
}

/// `2G`, `512M`.
fn short(Bytes(bytes): Bytes) -> String {
    let units = [(1 << 30, "G"), (1 << 20, "M"), (1 << 10, "k")];
    let whole = units.iter().find(|(unit, _)| bytes.is_multiple_of(*unit));
    whole.map_or_else(
        || bytes.to_string(),
        |(unit, word)| format!("{}{word}", bytes / unit),
    )
}

/// What YABS calls the machine's instructions.
fn arch(name: &str) -> &str {
    match name {
        "x86_64" => "x64",
        "i586" | "i686" => "x86",
        name => name,
    }
}

/// `20261104-030201`.
fn time(at: UnixNanos) -> String {
    let at = jiff::Timestamp::from_nanosecond(i128::from(at.0)).ok();
    at.map_or_else(String::new, |at| at.strftime("%Y%m%d-%H%M%S").to_string())
}
