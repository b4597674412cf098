//! A store with its log, read into memory: where the index of the log is not there, or is not to be trusted, SQLite
//! would have to make one beside the store, and who only reads makes nothing.
//!
//! The log holds pages of the file as they are after a commit. A frame counts where its salts are those of the log, its
//! checksum goes on from the frame before, and a commit follows. Layout: section 4 of
//! <https://www.sqlite.org/fileformat2.html>. What is laid over the file is what SQLite would read, without its locks:
//! the caller holds the file against what it was before.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};

/// The first bytes of a log, but for the last one, which says in which order its checksums take bytes.
const MAGIC: [u8; 3] = [0x37, 0x7f, 0x06];
/// The version of the layout, which is the only one that there is.
const VERSION: u32 = 3_007_000;
/// Bytes of a log before its frames.
pub(super) const HEADER: usize = 32;
/// Bytes of a frame before its page.
const FRAME: usize = 24;
/// Where the header of the file says that there is a log (2), or that there is none (1).
const LOGGED_AT: usize = 18;

/// What a log adds to a file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Added {
    /// Where in the log the last committed state of a page is, by the page's number; the first one is 1.
    pages: BTreeMap<u32, usize>,
    /// How many pages the file has after the last commit; `None` where nothing was committed.
    size: Option<u32>,
}

/// What the log adds to a file of pages of this size.
pub(super) fn added(log: &[u8], page_bytes: usize) -> Added {
    let mut added = Added::default();
    let Some(mut sum) = begun(log, page_bytes) else {
        return added;
    };
    let salts = log.get(16..24);
    let mut pending = BTreeMap::new();
    let mut at = HEADER;
    while let Some(frame) = log.get(at..at + FRAME + page_bytes) {
        sum.add(&frame[..8]);
        sum.add(&frame[FRAME..]);
        let (Some(page), Some(size)) = (number(frame, 0), number(frame, 4)) else {
            break;
        };
        if page == 0 || frame.get(8..16) != salts || !sum.is_at(frame, 16) {
            break;
        }
        pending.insert(page, at + FRAME);
        if size > 0 {
            added.pages.append(&mut pending);
            added.size = Some(size);
        }
        at += FRAME + page_bytes;
    }
    added
}

/// The checksum after the header; `None` where it is the header of no such log.
fn begun(log: &[u8], page_bytes: usize) -> Option<Sum> {
    let header = log.get(..HEADER)?;
    let mut sum = Sum {
        of: [0; 2],
        big_endian: header[3] & 1 == 1,
    };
    sum.add(&header[..24]);
    let is_log = header.starts_with(&MAGIC)
        && header[3] & !1 == 0x82
        && number(header, 4) == Some(VERSION)
        && number(header, 8).and_then(|bytes| usize::try_from(bytes).ok()) == Some(page_bytes)
        && sum.is_at(header, 24);
    is_log.then_some(sum)
}

/// The checksum of all that came before.
struct Sum {
    of: [u32; 2],
    big_endian: bool,
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let words = bytes.chunks_exact(4).map(|word| {
            let word = [word[0], word[1], word[2], word[3]];
            if self.big_endian {
                u32::from_be_bytes(word)
            } else {
                u32::from_le_bytes(word)
            }
        });
        let [mut one, mut other] = self.of;
        for (at, word) in words.enumerate() {
            if at % 2 == 0 {
                one = one.wrapping_add(word).wrapping_add(other);
            } else {
                other = other.wrapping_add(word).wrapping_add(one);
            }
        }
        self.of = [one, other];
    }

    fn is_at(&self, bytes: &[u8], at: usize) -> bool {
        number(bytes, at) == Some(self.of[0]) && number(bytes, at + 4) == Some(self.of[1])
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// The size of the pages of a file with this beginning.
pub(super) fn page_bytes(header: &[u8]) -> Option<usize> {
    match usize::from(u16::from_be_bytes(header.get(16..18)?.try_into().ok()?)) {
        1 => Some(1 << 16),
        bytes if bytes.is_power_of_two() && bytes >= 512 => Some(bytes),
        _ => None,
    }
}

/// A file with what its log adds, page by page, as one that has no log.
pub(super) struct Laid<'a> {
    file: File,
    log: &'a [u8],
    added: Added,
    page: Vec<u8>,
    /// The number of the page that is read.
    number: u32,
    /// How much of it was read.
    read: usize,
}

impl<'a> Laid<'a> {
    /// Lays what `log` adds over `file`, which is read from its beginning.
    pub(super) fn over(file: File, log: &'a [u8], added: Added, page_bytes: usize) -> Self {
        Self {
            file,
            log,
            added,
            page: vec![0; page_bytes],
            number: 0,
            read: page_bytes,
        }
    }

    /// How many bytes there are of a file that has so many by itself.
    pub(super) fn len(&self, len: u64) -> Option<usize> {
        let by_itself = usize::try_from(len).ok()?;
        let Some(pages) = self.added.size else {
            return Some(by_itself);
        };
        usize::try_from(pages).ok()?.checked_mul(self.page.len())
    }

    /// Goes on to the next page.
    fn turn(&mut self) -> io::Result<()> {
        self.number += 1;
        self.read = 0;
        // The file may end before what the log adds to it.
        let mut filled = 0;
        while filled < self.page.len() {
            match self.file.read(&mut self.page[filled..])? {
                0 => break,
                more => filled += more,
            }
        }
        self.page[filled..].fill(0);
        if let Some(&at) = self.added.pages.get(&self.number) {
            let bytes = self.page.len();
            self.page.copy_from_slice(&self.log[at..at + bytes]);
        }
        if self.number == 1 {
            self.page[LOGGED_AT..LOGGED_AT + 2].fill(1);
        }
        Ok(())
    }
}

impl Read for Laid<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.read == self.page.len() {
            self.turn()?;
        }
        let bytes = into.len().min(self.page.len() - self.read);
        into[..bytes].copy_from_slice(&self.page[self.read..self.read + bytes]);
        self.read += bytes;
        Ok(bytes)
    }
}
