//! What other programs read of runs, and runs that travel.

use crate::bed::Bed;
use std::fs;

/// A run called `server-a` of a machine with a name that nothing else has, in `a.json`.
fn named() -> Bed {
    let bed = Bed::new();
    bed.replay("server-a", "100,101,99,100,102,98,100,101,99");
    let text = bed.run(&["export", "server-a"]).code(0).out;
    let mut export: serde_json::Value = serde_json::from_str(&text).unwrap();
    export["run"]["host"]["hostname"] =
        serde_json::json!({"value": "web7.acme.example", "missing": null});
    fs::write(bed.path().join("a.json"), export.to_string()).unwrap();
    bed
}

#[test]
fn programs_that_keep_series_get_a_run_without_whose_machine_it_is() {
    let bed = named();
    let show = |format| {
        bed.run(&["show", "./a.json", "--format", format])
            .code(0)
            .out
    };
    assert!(show("text").contains("web7"));
    let prom = show("openmetrics");
    assert!(prom.ends_with("\n# EOF\n"), "{prom}");
    let line = r#"{test="selftest.replay",copies="1",metric="ops_per_s"} 100.0"#;
    let line = format!("kurabe_result_operations_per_second{line}");
    assert!(prom.lines().any(|found| found == line), "{prom}");
    let points = show("influx");
    let tags = "copies=1,label=server-a,metric=ops_per_s,test=selftest.replay,unit=ops_per_s";
    let begin = format!("kurabe_result,{tags} value=100.0,");
    assert!(points.starts_with(&begin), "{points}");
    let dir = bed.path().to_str().unwrap();
    for text in [&prom, &points] {
        assert!(!text.contains("web7") && !text.contains(dir), "{text}");
    }
}
