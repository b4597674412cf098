//! What a client of dbench does: operations in order, with the names that they are about.
//!
//! A trace is made once, before anything is measured: from the user's load file ([`super::loadfile`]) or by the model
//! of our own ([`super::own`]).

use engine::workload::WorkError;
use std::collections::HashMap;
use std::ffi::CString;
use std::path::Path;
use sys::loops::file_server::Opening;

/// A class of operations: a row of dbench's table, in its order and by its names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Open,
    Close,
    Rename,
    Unlink,
    RemoveTree,
    MakeDirectory,
    RemoveDirectory,
    QueryPath,
    QueryFile,
    QueryFileSystem,
    SetFile,
    Find,
    Write,
    Read,
    Lock,
    Unlock,
    Flush,
}

impl Class {
    /// Every class, each at its own place.
    pub(super) const ALL: [Self; 17] = [
        Self::Open,
        Self::Close,
        Self::Rename,
        Self::Unlink,
        Self::RemoveTree,
        Self::MakeDirectory,
        Self::RemoveDirectory,
        Self::QueryPath,
        Self::QueryFile,
        Self::QueryFileSystem,
        Self::SetFile,
        Self::Find,
        Self::Write,
        Self::Read,
        Self::Lock,
        Self::Unlock,
        Self::Flush,
    ];

    /// Its place in [`Class::ALL`].
    pub(super) const fn place(self) -> usize {
        self as usize
    }

    /// dbench's name for it in small letters: that of its latencies, and of the row of an imported table.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Open => "ntcreatex",
            Self::Close => "close",
            Self::Rename => "rename",
            Self::Unlink => "unlink",
            Self::RemoveTree => "deltree",
            Self::MakeDirectory => "mkdir",
            Self::RemoveDirectory => "rmdir",
            Self::QueryPath => "qpathinfo",
            Self::QueryFile => "qfileinfo",
            Self::QueryFileSystem => "qfsinfo",
            Self::SetFile => "sfileinfo",
            Self::Find => "find",
            Self::Write => "writex",
            Self::Read => "readx",
            Self::Lock => "lockx",
            Self::Unlock => "unlockx",
            Self::Flush => "flush",
        }
    }
}

/// The result that an operation is to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    Success,
    Failure,
}

impl Expected {
    /// Whether a result is the expected one.
    pub(super) const fn is(self, succeeded: bool) -> bool {
        matches!(self, Self::Success) == succeeded
    }
}

/// One operation. A name is a place in [`Trace::names`], a slot stands for an open file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Op {
    Open {
        name: u32,
        slot: u16,
        how: Opening,
        expected: Expected,
    },
    /// A directory, which is made where it is not there.
    OpenDirectory {
        name: u32,
        slot: u16,
        expected: Expected,
    },
    Close {
        slot: u16,
    },
    Rename {
        from: u32,
        to: u32,
        expected: Expected,
    },
    Unlink {
        name: u32,
        expected: Expected,
    },
    RemoveTree {
        name: u32,
    },
    MakeDirectory {
        name: u32,
    },
    RemoveDirectory {
        name: u32,
    },
    QueryPath {
        name: u32,
        expected: Expected,
    },
    QueryFile {
        slot: u16,
    },
    QueryFileSystem,
    SetFile {
        slot: u16,
    },
    Find {
        name: u32,
        most: u32,
    },
    Write {
        slot: u16,
        length: u32,
        offset: u64,
    },
    Read {
        slot: u16,
        length: u32,
        offset: u64,
        /// How many bytes are to be there.
        there: u32,
    },
    Lock {
        slot: u16,
        length: u32,
        offset: u64,
    },
    Unlock {
        slot: u16,
        length: u32,
        offset: u64,
    },
    Flush {
        slot: u16,
    },
}

impl Op {
    pub(super) const fn class(&self) -> Class {
        match self {
            Self::Open { .. } | Self::OpenDirectory { .. } => Class::Open,
            Self::Close { .. } => Class::Close,
            Self::Rename { .. } => Class::Rename,
            Self::Unlink { .. } => Class::Unlink,
            Self::RemoveTree { .. } => Class::RemoveTree,
            Self::MakeDirectory { .. } => Class::MakeDirectory,
            Self::RemoveDirectory { .. } => Class::RemoveDirectory,
            Self::QueryPath { .. } => Class::QueryPath,
            Self::QueryFile { .. } => Class::QueryFile,
            Self::QueryFileSystem => Class::QueryFileSystem,
            Self::SetFile { .. } => Class::SetFile,
            Self::Find { .. } => Class::Find,
            Self::Write { .. } => Class::Write,
            Self::Read { .. } => Class::Read,
            Self::Lock { .. } => Class::Lock,
            Self::Unlock { .. } => Class::Unlock,
            Self::Flush { .. } => Class::Flush,
        }
    }
}

/// A trace, which begins anew after its last operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Trace {
    pub(super) ops: Vec<Op>,
    /// Relative, with `/`, and never above where they begin.
    pub(super) names: Vec<String>,
    /// Slots in use at the same time, at most.
    pub(super) slots: u16,
    /// The most that is read or written at once.
    pub(super) longest: u32,
    /// The line of each operation, where it came from a file.
    pub(super) lines: Vec<u32>,
}

/// The names of a trace, each once.
#[derive(Default)]
pub(super) struct Names {
    places: HashMap<String, u32>,
    all: Vec<String>,
}

impl Names {
    pub(super) fn place(&mut self, name: String) -> u32 {
        let next = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        *self.places.entry(name).or_insert_with_key(|name| {
            self.all.push(name.clone());
            next
        })
    }

    pub(super) const fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn done(self) -> Vec<String> {
        self.all
    }
}

/// A name as system calls take it.
#[derive(Debug)]
pub(super) struct Place {
    /// All of it.
    pub(super) path: CString,
    /// What it lies in.
    pub(super) directory: CString,
    /// Its last part.
    pub(super) last: Vec<u8>,
    /// Whether the last part is a pattern.
    pub(super) is_pattern: bool,
}

impl Place {
    pub(super) fn new(base: &Path, name: &str) -> Result<Self, WorkError> {
        let path = base.join(name);
        let (above, last) = (path.parent().unwrap_or(base), name.rsplit('/').next());
        let c = |path: &Path| {
            CString::new(path.as_os_str().as_encoded_bytes())
                .map_err(|error| WorkError::failed("use the name", path.display(), error))
        };
        let last = last.unwrap_or_default();
        Ok(Self {
            directory: c(above)?,
            path: c(&path)?,
            last: last.as_bytes().to_vec(),
            is_pattern: last.contains(['*', '?', '<', '>', '"']),
        })
    }
}
