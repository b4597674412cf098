//! Whether the reads of a test really came from storage, and how busy it was.
//!
//! The kernel counts what each process makes storage deliver. Where that is less than what the process asked for, the
//! rest came out of a cache. The busy time of a device is the machine's, not the process's.

use super::advice::Language;
use model::num::approx;
use std::collections::BTreeMap;
use std::fs::File;
use sys::io::counters::{self, DeviceIo, ProcessIo};
use sys::tree::Tree;

/// The share of direct reads that may come from elsewhere before it is said: reads that straddle the ends of the
/// measured part are counted on one side only.
const CACHED_MAX: f64 = 0.03;

/// The share of its time that a process may spend on a CPU before it is said that this limits the result.
const CPU_MAX: f64 = 0.95;

/// CPU time of this process and of the kernel on its behalf, in nanoseconds.
fn cpu_time() -> u64 {
    let used = sys::process::usage_self();
    used.user + used.system
}

/// Counters at the beginning of the measured part.
#[derive(Debug)]
pub(super) struct Watch {
    direct: bool,
    device: Option<String>,
    began: u64,
    used: u64,
    process: Option<ProcessIo>,
    device_then: Option<DeviceIo>,
    /// In whose words notes are.
    pub(super) language: Language,
}

impl Watch {
    pub(super) fn new(file: Option<&File>, direct: bool, language: Language) -> Self {
        let mut watch = Self {
            direct,
            device: file.and_then(counters::device_of),
            began: 0,
            used: 0,
            process: None,
            device_then: None,
            language,
        };
        watch.begin();
        watch
    }

    pub(super) fn begin(&mut self) {
        let tree = Tree::real();
        self.process = counters::process(&tree).ok();
        self.device_then = self.device_now(&tree);
        self.used = cpu_time();
        self.began = sys::clock::monotonic();
    }

    fn device_now(&self, tree: &Tree) -> Option<DeviceIo> {
        counters::device(tree, self.device.as_deref()?).ok()
    }

    /// Reports the share of `asked` bytes read that no device delivered, and the share of time in which the device was
    /// busy.
    pub(super) fn end(
        &self,
        asked: u64,
        reported: &mut BTreeMap<String, f64>,
        notes: &mut Vec<String>,
    ) {
        let tree = Tree::real();
        let wall = sys::clock::monotonic() - self.began;
        let used = cpu_time().saturating_sub(self.used);
        if self.device.is_some() && approx(used) > approx(wall) * CPU_MAX {
            notes.push(format!(
                "a CPU was busy with submitting and completing almost all the time: this is what one process can ask for, \
                 and the storage may do more for several {}",
                self.language.several()
            ));
        }
        if let (Some(then), Some(now)) = (self.device_then, self.device_now(&tree))
            && wall > 0
        {
            let busy = approx(now.busy.saturating_sub(then.busy)) / approx(wall);
            reported.insert("device_busy_share".to_owned(), busy.min(1.0));
        }
        let (Some(then), Ok(now)) = (self.process, counters::process(&tree)) else {
            return;
        };
        if asked == 0 {
            return;
        }
        let fetched = now.read_bytes.saturating_sub(then.read_bytes);
        let cached = (1.0 - approx(fetched) / approx(asked)).max(0.0);
        reported.insert("cached_share".to_owned(), cached);
        if self.direct && cached > CACHED_MAX {
            notes.push(format!(
                "part of the reads came from a cache in spite of O_DIRECT: the figures say little about the device{}",
                self.language.metric("cached_share")
            ));
        }
    }
}
