//! Whether the reads of a test really came from storage, and how busy it was.
//!
//! The kernel counts what each process makes storage deliver. Where that is less than what the process asked for, the
//! rest came out of a cache. The busy time of a device is the machine's, not the process's. What follows from the
//! figures is not said here but read off the rounds that keep them.

use model::num::approx;
use std::collections::BTreeMap;
use std::fs::File;
use sys::io::counters::{self, DeviceIo, ProcessIo};
use sys::tree::Tree;

/// Counters at the beginning of the measured part.
#[derive(Debug)]
pub(super) struct Watch {
    device: Option<String>,
    began: u64,
    process: Option<ProcessIo>,
    device_then: Option<DeviceIo>,
}

impl Watch {
    pub(super) fn new(file: Option<&File>) -> Self {
        let mut watch = Self {
            device: file.and_then(counters::device_of),
            began: 0,
            process: None,
            device_then: None,
        };
        watch.begin();
        watch
    }

    pub(super) fn begin(&mut self) {
        let tree = Tree::real();
        self.process = counters::process(&tree).ok();
        self.device_then = self.device_now(&tree);
        self.began = sys::clock::monotonic();
    }

    /// Time begins to count: whatever was waited for since the counters were read belongs to nobody.
    pub(super) fn start(&mut self) {
        self.began = sys::clock::monotonic();
    }

    fn device_now(&self, tree: &Tree) -> Option<DeviceIo> {
        counters::device(tree, self.device.as_deref()?).ok()
    }

    /// Reports what storage delivered to this process and took from it, the share of `asked` bytes read that no device
    /// delivered, and the share of time in which the device was busy.
    pub(super) fn end(&self, asked: u64, reported: &mut BTreeMap<String, f64>) {
        let tree = Tree::real();
        let wall = sys::clock::monotonic() - self.began;
        if let (Some(then), Some(now)) = (self.device_then, self.device_now(&tree))
            && wall > 0
        {
            let busy = approx(now.busy.saturating_sub(then.busy)) / approx(wall);
            reported.insert("device_busy_share".to_owned(), busy.min(1.0));
        }
        let (Some(then), Ok(now)) = (self.process, counters::process(&tree)) else {
            return;
        };
        let fetched = now.read_bytes.saturating_sub(then.read_bytes);
        let sent = now.write_bytes.saturating_sub(then.write_bytes);
        reported.insert("fetched_bytes".to_owned(), approx(fetched));
        reported.insert("sent_bytes".to_owned(), approx(sent));
        if asked == 0 {
            return;
        }
        let cached = (1.0 - approx(fetched) / approx(asked)).max(0.0);
        reported.insert("cached_share".to_owned(), cached);
    }
}
