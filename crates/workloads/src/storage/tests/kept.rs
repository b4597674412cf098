//! A depth is a depth: what an engine sees of the queue.

use super::super::body::index;
use super::super::job::asks_for_more;
use super::*;
use model::job::Contents;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use sys::io::{Completion, Engine, Op, Wait};

/// What it saw: how many went in together and were under way then, and how many came out together and were left.
#[derive(Debug, Default)]
struct Seen {
    submitted: Vec<(usize, usize)>,
    taken: Vec<(usize, usize)>,
}

/// A device that does nothing until it is waited for, and then ends so many operations together.
struct Fake {
    together: usize,
    buffers: Vec<[u8; 4096]>,
    prepared: Vec<Completion>,
    device: VecDeque<Completion>,
    over: VecDeque<Completion>,
    seen: Arc<Mutex<Seen>>,
}

impl Fake {
    fn under_way(&self) -> usize {
        self.device.len() + self.over.len()
    }
}

impl Engine for Fake {
    const SYNCHRONOUS: bool = false;

    fn slots(&self) -> u32 {
        u32::try_from(self.buffers.len()).unwrap()
    }

    fn buffer(&mut self, slot: u32) -> &mut [u8] {
        &mut self.buffers[index(slot)]
    }

    fn prepare(&mut self, slot: u32, op: Op) {
        let result = i32::try_from(op.len).unwrap();
        self.prepared.push(Completion { slot, result });
    }

    fn submit(&mut self) -> std::io::Result<()> {
        let together = self.prepared.len();
        self.device.extend(self.prepared.drain(..));
        let seen = (together, self.under_way());
        self.seen.lock().unwrap().submitted.push(seen);
        Ok(())
    }

    fn reap(&mut self, wait: Wait, into: &mut [Completion]) -> std::io::Result<usize> {
        let least = match wait {
            Wait::Several(least) => index(least),
            _ => 1,
        };
        while self.over.len() < least.min(into.len()) && !self.device.is_empty() {
            let ended = self.together.min(self.device.len());
            self.over.extend(self.device.drain(..ended));
        }
        let count = into.len().min(self.over.len());
        for (to, from) in into.iter_mut().zip(self.over.drain(..count)) {
            *to = from;
        }
        let seen = (count, self.under_way());
        self.seen.lock().unwrap().taken.push(seen);
        Ok(count)
    }
}

/// What an engine of this job sees that ends so many operations together, once the queue was full.
fn seen(job: &Job, together: usize) -> Seen {
    let (_root, place) = place();
    let seen = Arc::new(Mutex::new(Seen::default()));
    let engine = Fake {
        together,
        buffers: vec![[0; 4096]; index(job.depth)],
        prepared: Vec::new(),
        device: VecDeque::new(),
        over: VecDeque::new(),
        seen: Arc::clone(&seen),
    };
    let mut body = Parts::new(job, &place, true).unwrap().body(engine);
    let mut recorder = Recorder::off();
    body.batch(5_000, &mut recorder).unwrap();
    body.measured_part_begins();
    seen.lock().unwrap().submitted.clear();
    seen.lock().unwrap().taken.clear();
    body.batch(10_000, &mut recorder).unwrap();
    std::mem::take(&mut seen.lock().unwrap())
}

/// The same job in the plain loop and in the other one.
fn in_both_loops(overrides: &[(&str, &str)]) -> [Job; 2] {
    let plain = Job {
        engine: IoEngine::IoUring,
        ..job(overrides)
    };
    let more = Job {
        contents: Contents::Zero,
        ..plain.clone()
    };
    assert!(!asks_for_more(&plain) && asks_for_more(&more));
    [plain, more]
}

#[test]
fn a_queue_of_32_is_full_whenever_something_is_handed_over_and_lacks_two_at_most() {
    for (depth, lacks) in [(32, 2), (8, 1), (4, 1), (2, 1), (256, 2), (20, 2)] {
        for job in in_both_loops(&[("iodepth", &depth.to_string())]) {
            for together in [1, 3, depth] {
                let seen = seen(&job, together);
                let full = seen.submitted.iter().all(|&(_, full)| full == depth);
                assert!(full, "{depth} {together}: {:?}", &seen.submitted[..9]);
                let least = seen.taken.iter().map(|(_, left)| left).min().unwrap();
                assert!(least + lacks >= depth, "{depth} {together}: {least} left");
                assert!(seen.taken.iter().all(|(count, _)| *count > 0));
            }
        }
    }
}

#[test]
fn batches_are_waited_for_and_begun_again_together_where_they_are_asked_for() {
    for job in in_both_loops(&[("iodepth", "32"), ("batch", "16")]) {
        for together in [1, 3, 32] {
            let seen = seen(&job, together);
            let expect = vec![(16, 32); seen.submitted.len()];
            assert_eq!(seen.submitted, expect, "{together}");
            let expect = vec![(16, 16); seen.taken.len()];
            assert_eq!(seen.taken, expect, "{together}");
        }
    }
}
