//! Any bytes as a parameter file of vdbench that can include itself.

#![no_main]

mod machine;

use dialects::vdbench::language::{Request, RUNS_MAX, parse, tasks};
use libfuzzer_sys::fuzz_target;
use machine::Machine;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data).into_owned();
    let request = Request {
        files: vec!["params".to_owned()],
        // A variable that no file asks for is an error.
        words: text.contains("$x").then(|| "x=1".to_owned()).into_iter().collect(),
    };
    match parse(&request, &Machine(text)) {
        Ok(plan) => {
            assert!(!plan.runs.is_empty() && plan.runs.len() as u64 <= RUNS_MAX);
            for run in plan.runs.iter().take(50) {
                let _ = tasks(run, &Machine(String::new()));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
