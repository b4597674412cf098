//! Any bytes as a job file that can include itself and see one variable.

#![no_main]

use dialects::fio;
use libfuzzer_sys::fuzz_target;

struct Machine(String);

impl fio::Surroundings for Machine {
    fn read(&self, path: &str) -> Result<String, String> {
        match path {
            "none" => Err("no such file".to_owned()),
            "inc" => Ok("bs=8k\nrw=write\ninclude inc2\n".to_owned()),
            "inc2" => Ok("iodepth=4 # nothing else\n".to_owned()),
            _ => Ok(self.0.clone()),
        }
    }
    fn variable(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/home/me".to_owned())
    }
    fn page_bytes(&self) -> u64 {
        4096
    }
    fn cpus(&self) -> u64 {
        2
    }
    fn memory_mib(&self) -> u64 {
        4096
    }
}

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data).into_owned();
    match fio::parse_file("job.fio", &Machine(text)) {
        Ok(plan) => {
            assert!(plan.jobs().count() <= fio::MAX_JOBS);
            for job in plan.jobs().filter(|job| job.clone == 0) {
                let _ = fio::writes(job);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
