//! What sysbench's fileio test does next, whichever thread asks: one row of requests for all of them.

use super::Setting;
use model::rng::Rng;

/// What a test does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Reads from the first file's beginning to the last one's end, and again.
    SeqRead,
    /// Writes files that are empty at first, in the same order.
    SeqWrite,
    /// Writes files that are there, in the same order.
    SeqRewrite,
    /// Reads anywhere.
    RandomRead,
    /// Writes anywhere.
    RandomWrite,
    /// Both: three reads to two writes.
    RandomBoth,
}

impl Mode {
    /// By sysbench's words for them.
    pub(super) const WORDS: [&'static str; 6] =
        ["seqrd", "seqwr", "seqrewr", "rndrd", "rndwr", "rndrw"];

    pub(super) fn of(word: &str) -> Self {
        match word {
            "seqwr" => Self::SeqWrite,
            "seqrewr" => Self::SeqRewrite,
            "rndrd" => Self::RandomRead,
            "rndwr" => Self::RandomWrite,
            "rndrw" => Self::RandomBoth,
            _ => Self::SeqRead,
        }
    }

    pub(super) const fn writes(self) -> bool {
        !matches!(self, Self::SeqRead | Self::RandomRead)
    }

    pub(super) const fn reads(self) -> bool {
        matches!(self, Self::SeqRead | Self::RandomRead | Self::RandomBoth)
    }

    const fn is_random(self) -> bool {
        matches!(
            self,
            Self::RandomRead | Self::RandomWrite | Self::RandomBoth
        )
    }
}

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Request {
    Read {
        file: u32,
        offset: u64,
    },
    Write {
        file: u32,
        offset: u64,
    },
    /// One file of those that are all synced.
    Sync {
        file: u32,
    },
}

/// How far all threads together are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Course {
    /// Requests so far; syncs are none.
    requests: u64,
    reads: u64,
    writes: u64,
    /// The next block of a sequential test, counted over all files.
    block: u64,
    /// Whether anything was written since the files were last synced.
    is_dirty: bool,
    /// The next file to sync; all of them where none has to be.
    sync: u32,
}

impl Course {
    pub(super) const fn new(setting: &Setting) -> Self {
        Self {
            requests: 0,
            reads: 0,
            writes: 0,
            block: 0,
            is_dirty: false,
            sync: setting.files,
        }
    }

    /// The next request; `rng` is the asking thread's.
    pub(super) fn next(&mut self, setting: &Setting, rng: &mut Rng) -> Request {
        let every = setting.fsync_freq;
        if self.is_dirty && every > 0 && self.requests.is_multiple_of(every) {
            self.sync = 0;
            self.is_dirty = false;
        }
        if self.sync < setting.files {
            let file = self.sync;
            self.sync += 1;
            return Request::Sync { file };
        }
        self.requests += 1;
        let all = setting.blocks * u64::from(setting.files);
        let block = if setting.mode.is_random() {
            rng.below(all)
        } else {
            let block = self.block;
            self.block = (block + 1) % all;
            block
        };
        let file = u32::try_from(block / setting.blocks).unwrap_or(u32::MAX);
        let offset = block % setting.blocks * setting.block_bytes;
        // (reads + 1) / (writes + 1) < 1.5 in whole numbers.
        let reads = match setting.mode {
            Mode::RandomBoth => 2 * (self.reads + 1) < 3 * (self.writes + 1),
            mode => mode.reads(),
        };
        if reads {
            self.reads += 1;
            Request::Read { file, offset }
        } else {
            self.writes += 1;
            // Where every write is synced by itself, nothing is left to sync.
            self.is_dirty = !setting.fsync_all;
            Request::Write { file, offset }
        }
    }
}

#[cfg(test)]
#[path = "rules_tests.rs"]
mod tests;
