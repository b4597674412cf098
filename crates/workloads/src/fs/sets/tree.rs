//! Where the directories and files of a set lie, and what they are called.
//!
//! Directories are numbered from 0, level by level; files from 0, directory by directory. A path begins at the root of
//! the set and is written into the same buffer again and again, so that no operation allocates.

use model::fileset::{DEPTH_MAX, FileSet};
use std::ffi::CStr;

/// How names of directories and files begin and end. Nothing else in a set is ours.
const DIRECTORY: (&[u8], &[u8]) = (b"d_", b".dir");
const FILE: (&[u8], &[u8]) = (b"f_", b".file");

/// Digits of the numbers in them.
const DIRECTORY_DIGITS: usize = 6;
const FILE_DIGITS: usize = 8;

/// Bytes of a directory's name with its slash, and room for the longest path with its NUL.
const STEP: usize = 2 + DIRECTORY_DIGITS + 4 + 1;
const ROOM: usize = STEP * (DEPTH_MAX as usize) + 2 + FILE_DIGITS + 5 + 1;

/// The tree of a set.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    width: u64,
    /// The number of the first directory of each level, and the number of all.
    starts: Vec<u64>,
    /// The first directory that has files.
    first: u64,
    /// Files of each directory that has some.
    each: u64,
}

/// A path that is written again and again.
#[derive(Clone, Debug)]
pub(super) struct Name {
    bytes: [u8; ROOM],
    end: usize,
}

impl Default for Name {
    fn default() -> Self {
        Self {
            bytes: [0; ROOM],
            end: 0,
        }
    }
}

impl Name {
    /// As the kernel takes it.
    pub(super) fn path(&self) -> &CStr {
        CStr::from_bytes_until_nul(&self.bytes).unwrap_or_default()
    }

    fn push(&mut self, bytes: &[u8]) {
        let end = self.end + bytes.len();
        if let Some(room) = self.bytes.get_mut(self.end..end) {
            room.copy_from_slice(bytes);
            self.end = end;
        }
    }

    fn push_number(&mut self, (before, behind): (&[u8], &[u8]), digits: usize, number: u64) {
        self.push(before);
        let (mut text, mut rest) = ([b'0'; 8], number);
        for byte in text[..digits].iter_mut().rev() {
            *byte = b'0' + u8::try_from(rest % 10).unwrap_or(0);
            rest /= 10;
        }
        self.push(&text[..digits]);
        self.push(behind);
    }

    fn close(&mut self) {
        if let Some(end) = self.bytes.get_mut(self.end) {
            *end = 0;
        }
    }
}

impl Tree {
    pub(super) fn new(set: &FileSet) -> Self {
        let width = u64::from(set.width);
        let sizes = (1..=set.depth).map(|level| width.saturating_pow(level));
        let mut starts = vec![0];
        starts.extend(sizes.scan(0_u64, |all, size| {
            *all = all.saturating_add(size);
            Some(*all)
        }));
        Self {
            width,
            starts,
            first: set.first_directory_with_files(),
            each: set.files.max(1),
        }
    }

    /// All directories.
    pub(super) fn directories(&self) -> u64 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// The directories of each level, from the top.
    pub(super) fn levels(&self) -> impl DoubleEndedIterator<Item = std::ops::Range<u64>> {
        self.starts.windows(2).map(|two| two[0]..two[1])
    }

    /// The level of a directory, from 0, and its number in it.
    fn in_level(&self, directory: u64) -> (usize, u64) {
        let level = self.starts.partition_point(|start| *start <= directory);
        let level = level.saturating_sub(1);
        (level, directory - self.starts[level])
    }

    /// The directory in which this one lies; `None` for the root of the set.
    pub(super) fn parent(&self, directory: u64) -> Option<u64> {
        match self.in_level(directory) {
            (0, _) => None,
            (level, number) => Some(self.starts[level - 1] + number / self.width),
        }
    }

    /// The directory of a file.
    pub(super) fn directory_of(&self, file: u64) -> u64 {
        self.first + file / self.each
    }

    /// The files of a directory, as far as the set has so many.
    pub(super) fn files_in(&self, directory: u64, files: u64) -> std::ops::Range<u64> {
        let Some(at) = directory.checked_sub(self.first) else {
            return 0..0;
        };
        let begin = at.saturating_mul(self.each).min(files);
        begin..begin.saturating_add(self.each).min(files)
    }

    /// Writes the path of a directory.
    pub(super) fn directory<'a>(&self, directory: u64, name: &'a mut Name) -> &'a CStr {
        self.push_directory(directory, name);
        name.close();
        name.path()
    }

    fn push_directory(&self, directory: u64, name: &mut Name) {
        let (level, number) = self.in_level(directory);
        name.end = 0;
        // From the top: what the number comes to in each level above.
        let mut below = self.width.saturating_pow(u32::try_from(level).unwrap_or(0));
        for _ in 0..=level {
            if name.end > 0 {
                name.push(b"/");
            }
            let digit = number / below.max(1) % self.width;
            name.push_number(DIRECTORY, DIRECTORY_DIGITS, digit + 1);
            below /= self.width;
        }
    }

    /// Writes the path of a file.
    pub(super) fn file<'a>(&self, file: u64, name: &'a mut Name) -> &'a CStr {
        self.push_directory(self.directory_of(file), name);
        name.push(b"/");
        name.push_number(FILE, FILE_DIGITS, file % self.each + 1);
        name.close();
        name.path()
    }

    /// Which file of its directory has this name, from 0; `None` where it is no name of ours.
    pub(super) fn number_of(&self, name: &CStr) -> Option<u64> {
        let digits = name.to_bytes().strip_prefix(FILE.0)?.strip_suffix(FILE.1)?;
        if digits.len() != FILE_DIGITS {
            return None;
        }
        let number: u64 = std::str::from_utf8(digits).ok()?.parse().ok()?;
        (1..=self.each).contains(&number).then(|| number - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fs::sets::tests::set;
    use model::fileset::FileSpread;
    use std::collections::BTreeSet;

    fn paths(set: &FileSet) -> (Vec<String>, Vec<String>) {
        let (tree, mut name) = (Tree::new(set), Name::default());
        let text = |path: &CStr| path.to_str().unwrap().to_owned();
        let directories = (0..tree.directories()).map(|at| text(tree.directory(at, &mut name)));
        let directories = directories.collect();
        let files = (0..set.extent().0).map(|at| text(tree.file(at, &mut name)));
        (directories, files.collect())
    }

    #[test]
    fn every_directory_and_file_has_a_path_of_its_own_in_the_one_above() {
        for spread in [FileSpread::Bottom, FileSpread::All] {
            let set = FileSet {
                spread,
                ..set(3, 2, 3, 1)
            };
            let tree = Tree::new(&set);
            let (directories, files) = paths(&set);
            assert_eq!(directories.len(), 14);
            assert_eq!(
                directories[..3].join(" "),
                "d_000001.dir d_000002.dir d_000001.dir/d_000001.dir"
            );
            let distinct: BTreeSet<&String> = directories.iter().chain(&files).collect();
            assert_eq!(distinct.len(), directories.len() + files.len());
            for (at, path) in (0_u64..).zip(&directories) {
                let above = tree
                    .parent(at)
                    .map(|above| &directories[usize::try_from(above).unwrap()]);
                assert_eq!(
                    path.rsplit_once('/').map(|(above, _)| above),
                    above.map(String::as_str)
                );
            }
            for (at, path) in (0_u64..).zip(&files) {
                let directory = tree.directory_of(at);
                let above = &directories[usize::try_from(directory).unwrap()];
                let (found, name) = path.rsplit_once('/').unwrap();
                assert_eq!(found, above);
                let name = std::ffi::CString::new(name).unwrap();
                let begin = tree.files_in(directory, set.extent().0).start;
                assert_eq!(tree.number_of(&name).map(|number| begin + number), Some(at));
            }
        }
    }

    #[test]
    fn names_of_others_are_none_of_ours() {
        let tree = Tree::new(&set(1, 1, 3, 1));
        for name in [
            c"vdb_f0001.file",
            c"f_1.file",
            c"f_00000004.file",
            c"f_00000000.file",
            c".",
            c"",
        ] {
            assert_eq!(tree.number_of(name), None, "{name:?}");
        }
    }

    #[test]
    fn the_deepest_path_has_room() {
        let deep = set(DEPTH_MAX, 1, 1, 1);
        let mut name = Name::default();
        let path = Tree::new(&deep).file(0, &mut name).to_bytes().to_vec();
        assert!(path.ends_with(b"/f_00000001.file"), "{}", path.len());
    }
}
