//! Headlines: the figures of a run that people quote, and where each of them stands on the first page.
//!
//! A workload declares them; the plan keeps them, so that a page names no test.

use serde::{Deserialize, Serialize};

/// What one line of the first page is about, from top to bottom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Topic {
    /// One number for many tests.
    Index,
    /// Work that stays in the core and its caches.
    Cpu,
    /// The kernel.
    Os,
    /// Bandwidth and latency of memory.
    Memory,
    /// Reads of 4 KiB at random places of a disk.
    SmallReads,
    /// Writes of 4 KiB at random places of a disk.
    SmallWrites,
    /// Reads and writes of 1 MiB, one behind the other.
    LargeBlocks,
    /// Writes that are on the disk before the next one begins.
    Syncs,
    /// Whatever else is asked of storage.
    Storage,
    /// Files in the page cache, which is memory.
    PageCache,
    /// Names and attributes of files: made, asked for, taken away.
    Files,
    /// A database server.
    Database,
    /// The way to another host, or this one's own part of it.
    Network,
}

/// The headline of a case: its first metric, and what stands beside it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Headline {
    /// On which line.
    pub topic: Topic,
    /// What it is called there, in English and in Japanese: a word or two.
    pub words: [String; 2],
    /// True where all copies together tell something that one does not: the line has both.
    pub also_all: bool,
    /// The quantity that stands beside the first one.
    pub beside: Option<String>,
}

impl Headline {
    /// A headline by these words in English and in Japanese.
    pub fn new(topic: Topic, words: [&str; 2]) -> Self {
        Self {
            topic,
            words: words.map(str::to_owned),
            also_all: false,
            beside: None,
        }
    }

    /// One by a word that is the same in every language.
    pub fn named(topic: Topic, word: &str) -> Self {
        Self::new(topic, [word, word])
    }

    /// The same, for one copy and for all of them.
    #[must_use]
    pub fn and_all(self) -> Self {
        Self {
            also_all: true,
            ..self
        }
    }

    /// The same with this quantity beside it.
    #[must_use]
    pub fn beside(self, quantity: &str) -> Self {
        Self {
            beside: Some(quantity.to_owned()),
            ..self
        }
    }
}
