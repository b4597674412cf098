//! The least that operations on a ring cost: one call hands over what is free and waits for what is over, and nothing
//! else is done.
//!
//! It is the floor below every loop that measures on the same way to the storage: no latencies, no permutation, no new
//! data, no end but a time. It is no engine, because it tells nothing of a single operation.

use super::{Completion, Engine, EnterFlags, Op, Uring, limit};
use std::io;

impl Uring {
    /// Does `op` at each of `offsets` in turn, in all slots at the same time, until [`crate::clock::monotonic`] reaches
    /// `deadline`, and takes in what is under way then. What is free is handed over once `together` operations are
    /// over. Says how many there were: at least one for each slot.
    pub fn repeat(
        &mut self,
        op: Op,
        offsets: &[u64],
        together: u32,
        deadline: u64,
    ) -> io::Result<u64> {
        let mut offsets = offsets.iter().cycle();
        let mut free: Vec<u32> = (0..self.slots()).collect();
        let mut over = vec![Completion::default(); free.len()];
        let mut done = 0;
        loop {
            for slot in free.drain(..) {
                let Some(&offset) = offsets.next() else {
                    return Err(io::Error::other("there is no offset to do it at"));
                };
                self.prepare(slot, Op { offset, ..op });
            }
            let least = self.common.at_most_in_flight(together);
            let waiting = limit(self.ring.submission().len());
            self.enter(waiting, least, EnterFlags::GETEVENTS)?;
            done += self.take_all(op, &mut over, &mut free)?;
            if crate::clock::monotonic() >= deadline {
                break;
            }
        }
        while self.common.in_flight() > 0 {
            // What the kernel did not take would never be over.
            self.submit()?;
            self.enter(0, 1, EnterFlags::GETEVENTS)?;
            done += self.take_all(op, &mut over, &mut free)?;
        }
        Ok(done)
    }

    /// Takes in what is over, and says how much of it there was.
    fn take_all(
        &mut self,
        op: Op,
        over: &mut [Completion],
        free: &mut Vec<u32>,
    ) -> io::Result<u64> {
        let taken = self.take(over);
        for completion in &over[..taken] {
            free.push(completion.slot);
            if completion.bytes()? != op.len {
                return Err(io::Error::from(io::ErrorKind::UnexpectedEof));
            }
        }
        Ok(taken as u64)
    }
}
