//! Any bytes as a command line, its arguments separated by line ends.

#![no_main]

mod machine;

use dialects::fio;
use libfuzzer_sys::fuzz_target;
use machine::Machine;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let arguments: Vec<String> = text.lines().map(str::to_owned).collect();
    let machine = Machine("[global]\nbs=8k\n[a]\n[b]\nstonewall\n".to_owned());
    match fio::parse(&arguments, &machine) {
        Ok(plan) => assert!(plan.jobs().count() <= fio::MAX_JOBS),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
