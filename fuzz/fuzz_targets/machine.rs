//! The machine that the texts under test may ask about: the same one for every target.

use dialects::fio::Surroundings;

/// A machine on which every file holds this text, so that a job file can include itself, but for three.
pub(crate) struct Machine(pub(crate) String);

impl Surroundings for Machine {
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
