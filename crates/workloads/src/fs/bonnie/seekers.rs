//! Random seeks: seekers, each with the file opened for itself, that take tickets from one pipe.
//!
//! bonnie++ 2.00 has threads where earlier versions had processes. They are started in set-up and wait; what they open
//! is part of the phase, as it is there.

use super::failed;
use crate::fs::aligned::Aligned;
use engine::workload::WorkError;
use model::rng::Rng;
use std::fs::OpenOptions;
use std::io::{PipeReader, PipeWriter, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Barrier};
use sys::clock::Clock;
use sys::loops::chunks::{DIRTY, Done, NO_MORE, drain, seek_chunks};
use sys::loops::failure::Failure;
use sys::loops::team::{Member, Team};

/// One ticket in so many has its chunk written back.
const DIRTY_EVERY: u64 = 10;

/// The seekers of a round.
pub(super) struct Seekers {
    team: Team<Result<Done, Failure>>,
    /// What is written to the pipe: a ticket for each seek, and an end for each seeker.
    tickets: Vec<u8>,
    giver: PipeWriter,
    /// Where the seekers and whoever waits for them meet.
    over: Arc<Barrier>,
}

/// What they are to do.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seeks {
    /// Seeks of all of them.
    pub(super) tickets: u64,
    pub(super) seekers: u64,
    /// Chunks in the file.
    pub(super) chunks: u64,
    pub(super) chunk_bytes: usize,
    pub(super) seed: u64,
}

impl Seekers {
    /// Starts them, and they wait. The file at `path` need not be there yet.
    pub(super) fn start(path: &Path, asked: Seeks, clock: Clock) -> Result<Self, WorkError> {
        let none = |error| WorkError::failed("start the seekers of", path.display(), error);
        let (taker, giver) = std::io::pipe().map_err(none)?;
        let taker = Arc::new(taker);
        let many = usize::try_from(asked.seekers).unwrap_or(usize::MAX);
        let over = Arc::new(Barrier::new(many.saturating_add(1)));
        let seeker = || {
            let (taker, over, path) = (Arc::clone(&taker), Arc::clone(&over), path.to_owned());
            let mut chunk = Aligned::new(asked.chunk_bytes);
            move |member: &Member| {
                member.wait();
                if member.stopped() {
                    return Ok(Done::default());
                }
                let done = seek(&taker, &path, chunk.bytes_mut(), clock);
                if done.is_err() {
                    drain(taker.as_fd());
                }
                over.wait();
                done
            }
        };
        let team = Team::start((0..asked.seekers).map(|_| seeker()).collect()).map_err(none)?;
        let tickets = tickets(asked);
        Ok(Self {
            team,
            tickets,
            giver,
            over,
        })
    }

    /// Lets them work, and returns when all of them have synced and closed the file.
    pub(super) fn work(&mut self, path: &Path) -> Result<Done, WorkError> {
        self.team.next_part();
        // Those who fail go on taking, so that this ends.
        let given = self.giver.write_all(&self.tickets);
        given.map_err(|error| WorkError::failed("hand out seeks of", path.display(), error))?;
        self.over.wait();
        Ok(Done::default())
    }

    /// What they did, when they have done it.
    pub(super) fn end(&mut self, path: &Path) -> Result<Done, WorkError> {
        let mut all = Done::default();
        for done in self.team.end() {
            let done = done.map_err(|failure| failed(&failure, path))?;
            all.ops += done.ops;
            all.longest_ns = all.longest_ns.max(done.longest_ns);
        }
        Ok(all)
    }
}

/// The chunk of each seek, at random, and whether it is written back.
fn tickets(asked: Seeks) -> Vec<u8> {
    let mut rng = Rng::stream(asked.seed, 0);
    let seeks = (1..=asked.tickets).map(|at| {
        let chunk = u32::try_from(rng.below(asked.chunks)).unwrap_or(0) & !DIRTY;
        let dirty = if at % DIRTY_EVERY == 0 { DIRTY } else { 0 };
        chunk | dirty
    });
    let ends = (0..asked.seekers).map(|_| NO_MORE);
    seeks.chain(ends).flat_map(u32::to_le_bytes).collect()
}

fn seek(
    taker: &PipeReader,
    path: &PathBuf,
    chunk: &mut [u8],
    clock: Clock,
) -> Result<Done, Failure> {
    let failure = |operation| {
        move |error| Failure {
            operation,
            done: 0,
            error,
        }
    };
    let file = OpenOptions::new().read(true).write(true).open(path);
    let file = file.map_err(failure("open"))?;
    let done = seek_chunks(taker.as_fd(), file.as_fd(), chunk, clock)?;
    file.sync_all().map_err(failure("fsync"))?;
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Seeks = Seeks {
        tickets: 1000,
        seekers: 5,
        chunks: 16,
        chunk_bytes: 8192,
        seed: 1,
    };

    #[test]
    fn a_tenth_of_the_seeks_write_and_each_seeker_has_an_end() {
        let words = tickets(ASKED);
        let words = words
            .as_chunks::<4>()
            .0
            .iter()
            .map(|&word| u32::from_le_bytes(word));
        let words: Vec<u32> = words.collect();
        assert_eq!(words.len(), 1005);
        assert_eq!(words[1000..], [NO_MORE; 5]);
        let dirty = words[..1000].iter().filter(|&&word| word & DIRTY != 0);
        assert_eq!(dirty.count(), 100);
        let chunks: std::collections::BTreeSet<u32> =
            words[..1000].iter().map(|word| word & !DIRTY).collect();
        assert_eq!(chunks, (0..16).collect());
    }

    #[test]
    fn seekers_without_a_file_say_so_and_nobody_waits_for_ever() {
        let path = Path::new("/nonexistent/data");
        // More tickets than a pipe holds.
        let asked = Seeks {
            tickets: 100_000,
            ..ASKED
        };
        let mut seekers = Seekers::start(path, asked, Clock::Kernel).unwrap();
        seekers.work(path).unwrap();
        let error = seekers.end(path).unwrap_err().to_string();
        assert!(error.starts_with("open `/nonexistent/data`"), "{error}");
        drop(Seekers::start(path, ASKED, Clock::Kernel).unwrap());
    }
}
