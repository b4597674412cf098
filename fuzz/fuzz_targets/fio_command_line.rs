//! Any bytes as a command line, its arguments separated by line ends.

#![no_main]

use dialects::fio;
use libfuzzer_sys::fuzz_target;

struct Nowhere;

impl fio::Surroundings for Nowhere {
    fn read(&self, _: &str) -> Result<String, String> {
        Ok("[global]\nbs=8k\n[a]\n[b]\nstonewall\n".to_owned())
    }
    fn variable(&self, _: &str) -> Option<String> {
        None
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
    let text = String::from_utf8_lossy(data);
    let arguments: Vec<String> = text.lines().map(str::to_owned).collect();
    match fio::parse(&arguments, &Nowhere) {
        Ok(plan) => assert!(plan.jobs().count() <= fio::MAX_JOBS),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
});
