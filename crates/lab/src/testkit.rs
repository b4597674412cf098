//! The run that tests work on: short, and whole.

use model::host::HostFacts;
use model::noise::Noise;
use model::plan::Shape;
use serde_json::json;

/// An export of one round.
pub(crate) fn export() -> String {
    let metric = json!({
        "quantity": "ops_per_s", "unit": "ops_per_s", "better": "higher", "class": "system",
        "how": {"per": ["operations", "wall"]}, "role": "plain",
    });
    let case = json!({
        "id": "os.pipe@1", "title": "Pipe", "workload": "os.pipe", "workload_version": 1,
        "params": {}, "nature": "system", "metrics": [metric], "shape": Shape::DEFAULT, "simulated": false,
        "on_disk": false, "allocates": false,
    });
    let plan = json!({
        "what": ["os.pipe"], "cases": [case], "seed": 1, "budget": null, "passes": 1,
        "dropped": [],
    });
    let binary = json!({
        "version": "0.1.0", "commit": null, "build": "dist", "target": "x86_64",
        "linked_statically": true,
    });
    let meta = json!({
        "id": "20261121-004311-9f3c", "label": null, "tags": {}, "started": 1, "finished": 2,
        "end": "complete", "binary": binary, "warnings": [], "dir": "/srv",
    });
    let done = json!({
        "values": {"ops_per_s": 100.0}, "missing": {}, "windows": [99.0, 101.0], "copies": [],
    });
    let round = json!({
        "case": "os.pipe@1", "pass": 1, "seq": 1, "started": 1, "took": 1, "layout_seed": 1,
        "outcome": {"done": done}, "noise": Noise::default(),
    });
    let run = json!({
        "meta": meta, "plan": plan, "host": HostFacts::default(), "rounds": [round],
    });
    let format = format!("kurabe.record/{}", model::record::RECORD_VERSION);
    json!({"format": format, "run": run}).to_string()
}
