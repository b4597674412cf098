//! Any bytes as a job file that can include itself and see one variable.

#![no_main]

mod machine;

use dialects::fio::{self, Surroundings};
use libfuzzer_sys::fuzz_target;
use machine::Machine;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data).into_owned();
    match fio::parse_file("job.fio", &Machine(text)) {
        Ok(plan) => {
            assert!(plan.jobs().count() <= fio::MAX_JOBS);
            for job in plan.jobs().filter(|job| job.clone == 0) {
                let _ = fio::resolve(job, |path| Machine(String::new()).find(path));
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
