//! The load files of dbench 4: one operation in a line, with `"paths"`, handles, sizes, and the result that it had.
//!
//! A file comes from anywhere: nothing in it leads above the client's own directory, lines, names and operations are
//! bounded, and what is not understood is an error that names line, word and what was expected. Handles are checked
//! here, so that none is used that is not open.

use super::trace::{Expected, Names, Op, Trace};
use std::collections::HashMap;
use std::io::{BufRead, Read};
use sys::loops::file_server::Opening;

/// The most bytes of a line.
const LINE_MAX: usize = 8 << 10;
/// The most operations of a file: four times what dbench's own has, and 50 MB of memory.
const OPS_MAX: usize = 2_000_000;
/// The most different names.
const NAMES_MAX: usize = 65_536;
/// The most files open at the same time: below what a process may have open by default.
const OPEN_MAX: usize = 900;
/// The most bytes of one read or write.
const TRANSFER_MAX: u64 = 16 << 20;

/// What a load file is, once it has been read.
#[derive(Debug)]
pub(super) struct Load {
    pub(super) trace: Trace,
    /// Of the file, byte for byte: the first 16 hex digits of its BLAKE3.
    pub(super) digest: String,
}

/// Why a load file is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum Wrong {
    /// A word.
    #[error("line {line}: `{word}`: expected {expected}")]
    Word {
        /// From 1.
        line: u32,
        /// As it stands there, or the line's end.
        word: String,
        /// What could stand there.
        expected: String,
    },
    /// The file as a whole.
    #[error("{0}")]
    Whole(String),
    /// The kernel refused.
    #[error("read: {0}")]
    Read(#[from] std::io::Error),
}

/// Reads a load file.
pub(super) fn read(file: impl Read) -> Result<Load, Wrong> {
    let mut reader = std::io::BufReader::with_capacity(1 << 16, file);
    let mut hasher = blake3::Hasher::new();
    let mut parser = Parser::default();
    let mut line = Vec::new();
    loop {
        line.clear();
        let limit = LINE_MAX as u64 + 1;
        let got = reader.by_ref().take(limit).read_until(b'\n', &mut line)?;
        if got == 0 {
            break;
        }
        parser.line += 1;
        hasher.update(&line);
        if got > LINE_MAX {
            return Err(parser.wrong("", format!("a line of at most {LINE_MAX} bytes")));
        }
        let text = std::str::from_utf8(&line)
            .map_err(|_| parser.wrong(&String::from_utf8_lossy(&line), "text in UTF-8"))?;
        parser.take(text.trim())?;
    }
    let trace = parser.done()?;
    let digest = hasher.finalize().to_hex().as_str()[..16].to_owned();
    Ok(Load { trace, digest })
}

#[derive(Default)]
struct Parser {
    line: u32,
    ops: Vec<Op>,
    lines: Vec<u32>,
    names: Names,
    /// The slot of each open handle.
    open: HashMap<u64, u16>,
    /// Slots that were used and are free.
    free: Vec<u16>,
    slots: u16,
    longest: u32,
}

/// The operations, with the words behind each: for the message about a word that is none.
const OPERATIONS: &str = "an operation of dbench 4: NTCreateX, Close, Rename, Unlink, Deltree, Mkdir, Rmdir, \
     QUERY_PATH_INFORMATION, QUERY_FILE_INFORMATION, QUERY_FS_INFORMATION, SET_FILE_INFORMATION, FIND_FIRST, WriteX, \
     ReadX, LockX, UnlockX or Flush";

impl Parser {
    fn wrong(&self, word: &str, expected: impl Into<String>) -> Wrong {
        let word = match word {
            "" => "end of the line".to_owned(),
            word => word
                .chars()
                .take(80)
                .map(|c| if c.is_control() { '?' } else { c })
                .collect(),
        };
        Wrong::Word {
            line: self.line,
            word,
            expected: expected.into(),
        }
    }

    /// Reads a line; an empty one and one that begins with `#` say nothing.
    fn take(&mut self, line: &str) -> Result<(), Wrong> {
        if line.is_empty() || line.starts_with('#') {
            return Ok(());
        }
        let mut words = Words(line);
        let name = words.next().unwrap_or_default();
        let op = self.operation(name, &mut words)?;
        if let Some(more) = words.next() {
            return Err(self.wrong(more, "the end of the line"));
        }
        if self.ops.len() >= OPS_MAX {
            return Err(self.wrong(name, format!("the end: {OPS_MAX} operations are the most")));
        }
        self.ops.push(op);
        self.lines.push(self.line);
        Ok(())
    }

    fn operation(&mut self, operation: &str, words: &mut Words<'_>) -> Result<Op, Wrong> {
        Ok(match operation {
            "NTCreateX" => self.open(words)?,
            "Close" => {
                let handle = self.number(words, "a handle")?;
                let slot = self.slot_of(handle)?;
                self.succeeds(words)?;
                self.open.remove(&handle);
                self.free.push(slot);
                Op::Close { slot }
            }
            "Rename" => Op::Rename {
                from: self.name(words)?,
                to: self.name(words)?,
                expected: self.status(words)?,
            },
            "Unlink" => {
                let name = self.name(words)?;
                self.number(words, "attributes, such as 0x6")?;
                let expected = self.status(words)?;
                Op::Unlink { name, expected }
            }
            "Deltree" => Op::RemoveTree {
                name: self.name_and_status(words)?,
            },
            "Mkdir" => Op::MakeDirectory {
                name: self.name_and_status(words)?,
            },
            "Rmdir" => Op::RemoveDirectory {
                name: self.name_and_status(words)?,
            },
            "QUERY_PATH_INFORMATION" => {
                let name = self.name(words)?;
                self.number(words, "a level")?;
                let expected = self.status(words)?;
                Op::QueryPath { name, expected }
            }
            "QUERY_FS_INFORMATION" => {
                self.number(words, "a level")?;
                self.succeeds(words)?;
                Op::QueryFileSystem
            }
            "FIND_FIRST" => {
                let name = self.name(words)?;
                self.number(words, "a level")?;
                let most = self.number(words, "the most names")?;
                self.number(words, "how many names there were")?;
                self.status(words)?;
                let most = u32::try_from(most).unwrap_or(u32::MAX);
                Op::Find { name, most }
            }
            _ => self.on_handle(operation, words)?,
        })
    }

    fn on_handle(&mut self, operation: &str, words: &mut Words<'_>) -> Result<Op, Wrong> {
        let known = [
            "QUERY_FILE_INFORMATION",
            "SET_FILE_INFORMATION",
            "Flush",
            "LockX",
            "UnlockX",
            "WriteX",
            "ReadX",
        ];
        if !known.contains(&operation) {
            return Err(self.wrong(operation, OPERATIONS));
        }
        let handle = self.number(words, "a handle")?;
        let slot = self.slot_of(handle)?;
        let op = match operation {
            "QUERY_FILE_INFORMATION" | "SET_FILE_INFORMATION" => {
                self.number(words, "a level")?;
                if operation == "QUERY_FILE_INFORMATION" {
                    Op::QueryFile { slot }
                } else {
                    Op::SetFile { slot }
                }
            }
            "LockX" | "UnlockX" => {
                let offset = self.offset(words)?;
                let length = self.length(words, u64::from(u32::MAX))?;
                if operation == "LockX" {
                    Op::Lock {
                        slot,
                        length,
                        offset,
                    }
                } else {
                    Op::Unlock {
                        slot,
                        length,
                        offset,
                    }
                }
            }
            "WriteX" | "ReadX" => self.transfer(operation == "ReadX", slot, words)?,
            _ => Op::Flush { slot },
        };
        self.succeeds(words)?;
        Ok(op)
    }

    fn transfer(&mut self, reads: bool, slot: u16, words: &mut Words<'_>) -> Result<Op, Wrong> {
        let offset = self.offset(words)?;
        let length = self.length(words, TRANSFER_MAX)?;
        let word = words.next().unwrap_or_default();
        let there = number(word)
            .and_then(|there| u32::try_from(there).ok())
            .filter(|&there| there == length || (reads && there < length))
            .ok_or_else(|| {
                let up_to = if reads { "at most " } else { "" };
                self.wrong(word, format!("how many bytes it moved, {up_to}{length}"))
            })?;
        self.longest = self.longest.max(length);
        Ok(if reads {
            Op::Read {
                slot,
                length,
                offset,
                there,
            }
        } else {
            Op::Write {
                slot,
                length,
                offset,
            }
        })
    }

    /// `NTCreateX "path" options disposition handle status`.
    fn open(&mut self, words: &mut Words<'_>) -> Result<Op, Wrong> {
        let name = self.name(words)?;
        let options = self.number(words, "options, such as 0x40")?;
        let is_directory = options & 1 == 1;
        let word = words.next().unwrap_or_default();
        let how = match number(word) {
            Some(1) => Opening::Existing,
            Some(2) => Opening::Make,
            Some(5) => Opening::MakeEmpty,
            _ => {
                let expected = "0x1 (open), 0x2 (make) or 0x5 (make or empty)";
                return Err(self.wrong(word, expected));
            }
        };
        // A directory that is opened to be made is made first.
        let how = match (is_directory, how) {
            (true, Opening::Existing) => Opening::Directory,
            (_, how) => how,
        };
        let word = words.next().unwrap_or_default();
        let handle = number(word).ok_or_else(|| self.wrong(word, "a handle"))?;
        let expected = self.status(words)?;
        let slot = match expected {
            // It has a place of its own as long as the operation lasts.
            Expected::Failure => 0,
            Expected::Success if self.open.contains_key(&handle) => {
                return Err(self.wrong(word, "a handle that is not open already"));
            }
            Expected::Success if self.open.len() >= OPEN_MAX => {
                let expected = format!("no more than {OPEN_MAX} handles open at the same time");
                return Err(self.wrong(word, expected));
            }
            Expected::Success => {
                let slot = self.free.pop().unwrap_or_else(|| {
                    self.slots += 1;
                    self.slots - 1
                });
                self.open.insert(handle, slot);
                slot
            }
        };
        if is_directory && how != Opening::Directory {
            return Ok(Op::OpenDirectory {
                name,
                slot,
                expected,
            });
        }
        Ok(Op::Open {
            name,
            slot,
            how,
            expected,
        })
    }

    fn slot_of(&self, handle: u64) -> Result<u16, Wrong> {
        let slot = self.open.get(&handle).copied();
        slot.ok_or_else(|| {
            let expected = "a handle that a line before has opened";
            self.wrong(&handle.to_string(), expected)
        })
    }

    fn number(&self, words: &mut Words<'_>, what: &str) -> Result<u64, Wrong> {
        let word = words.next().unwrap_or_default();
        number(word).ok_or_else(|| self.wrong(word, what))
    }

    fn offset(&self, words: &mut Words<'_>) -> Result<u64, Wrong> {
        let word = words.next().unwrap_or_default();
        let offset = number(word).filter(|&offset| i64::try_from(offset).is_ok());
        offset.ok_or_else(|| self.wrong(word, "an offset in bytes"))
    }

    fn length(&self, words: &mut Words<'_>, most: u64) -> Result<u32, Wrong> {
        let word = words.next().unwrap_or_default();
        let length = number(word).filter(|&length| length <= most);
        let length = length.and_then(|length| u32::try_from(length).ok());
        length.ok_or_else(|| self.wrong(word, format!("how many bytes, up to {most}")))
    }

    fn name_and_status(&mut self, words: &mut Words<'_>) -> Result<u32, Wrong> {
        let name = self.name(words)?;
        self.status(words)?;
        Ok(name)
    }

    /// A path between quotation marks, with `\` or `/`.
    fn name(&mut self, words: &mut Words<'_>) -> Result<u32, Wrong> {
        let Some(quoted) = words.quoted() else {
            let word = words.next().unwrap_or_default();
            return Err(self.wrong(word, "a path between quotation marks"));
        };
        let path = quoted.replace('\\', "/");
        let parts = || path.split('/').filter(|part| !part.is_empty());
        let is_below = |part: &str| part != ".." && part != "." && part.len() <= 255;
        if parts().next().is_none() || !parts().all(is_below) || path.contains('\0') {
            let expected = "a path below the client's directory, without `.` and `..`";
            return Err(self.wrong(quoted, expected));
        }
        if self.names.len() >= NAMES_MAX {
            return Err(self.wrong(quoted, format!("no more than {NAMES_MAX} different paths")));
        }
        Ok(self.names.place(parts().collect::<Vec<_>>().join("/")))
    }

    fn status(&self, words: &mut Words<'_>) -> Result<Expected, Wrong> {
        let word = words.next().unwrap_or_default();
        let code = word.strip_prefix("0x");
        let code = code.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let is_name = |name: &str| name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_');
        match (word.strip_prefix("NT_STATUS_"), code) {
            (Some("OK"), _) | (None, Some(0)) => Ok(Expected::Success),
            (None, Some(_)) => Ok(Expected::Failure),
            (Some(name), _) if !name.is_empty() && is_name(name) => Ok(Expected::Failure),
            _ => Err(self.wrong(word, "a result such as NT_STATUS_OK")),
        }
    }

    /// The result of an operation that does not fail.
    fn succeeds(&self, words: &mut Words<'_>) -> Result<(), Wrong> {
        let mut rest = Words(words.0);
        match self.status(words)? {
            Expected::Success => Ok(()),
            Expected::Failure => {
                let word = rest.next().unwrap_or_default();
                Err(self.wrong(
                    word,
                    "NT_STATUS_OK: this operation cannot be expected to fail",
                ))
            }
        }
    }

    fn done(mut self) -> Result<Trace, Wrong> {
        if self.ops.is_empty() {
            return Err(Wrong::Whole("it has no operation".to_owned()));
        }
        // The trace begins anew with nothing open, and a handle that is used again is another file then.
        let mut open: Vec<u16> = self.open.into_values().collect();
        open.sort_unstable();
        for slot in open {
            self.ops.push(Op::Close { slot });
            self.lines.push(self.line);
        }
        Ok(Trace {
            ops: self.ops,
            names: self.names.done(),
            slots: self.slots,
            longest: self.longest,
            lines: self.lines,
        })
    }
}

/// A number as dbench writes them: decimal, or hexadecimal behind `0x`.
fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None if word.bytes().all(|byte| byte.is_ascii_digit()) => word.parse().ok(),
        None => None,
    }
}

/// The words of a line, from left to right.
struct Words<'a>(&'a str);

impl<'a> Words<'a> {
    /// The next word; a path is one, with its quotation marks.
    fn next(&mut self) -> Option<&'a str> {
        let rest = self.0.trim_start();
        let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
        self.0 = &rest[end..];
        (end > 0).then(|| &rest[..end])
    }

    /// What stands between two quotation marks.
    fn quoted(&mut self) -> Option<&'a str> {
        let inner = self.0.trim_start().strip_prefix('"')?;
        let (name, rest) = inner.split_once('"')?;
        self.0 = rest;
        Some(name)
    }
}

#[cfg(test)]
#[path = "loadfile_tests.rs"]
mod tests;
