//! What a user can do about a refusal, in the language in which the job was described.
//!
//! Whoever refuses says what would help, and not what the option is called: the same job comes from the parameters of a
//! test and from fio's job files, whose users have different words for one thing.

use model::job::Language;

/// What would help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advice {
    /// More room for test files, or smaller ones.
    Room,
    /// Less memory for what is in flight.
    Memory,
    /// The page cache, where a file system has no way around it.
    PageCache,
}

/// The advice as it stands behind a refusal.
pub(super) const fn hint(language: Language, advice: Advice) -> &'static str {
    match (language, advice) {
        (Language::Tests, Advice::Room) => {
            "hint: free some space, name a directory with more of it with `--dir DIR`, or ask for a smaller file \
                 with `--set 'storage.*.size=SIZE'`"
        }
        (Language::Fio, Advice::Room) => {
            "hint: free some space, name a directory with more of it with `--directory=DIR`, or ask for less with \
                 `--size=SIZE` or fewer jobs"
        }
        (Language::Vdbench, Advice::Room) => {
            "hint: free some space, name files elsewhere with `lun=`, or ask for less with `size=`"
        }
        (Language::Tests, Advice::Memory) => {
            "hint: fewer `--copies`, or less in flight with `--set 'storage.*.iodepth=N'`"
        }
        (Language::Fio, Advice::Memory) => {
            "hint: fewer jobs at a time, or less in flight with `--iodepth=N` and `--bs=SIZE`"
        }
        (Language::Vdbench, Advice::Memory) => {
            "hint: fewer workloads at a time, or less in flight with `threads=` and `xfersize=`"
        }
        (Language::Tests, Advice::PageCache) => {
            "hint: `--set 'storage.*.direct=no'` measures through the page cache"
        }
        (Language::Fio, Advice::PageCache) => "hint: `--direct=0` measures through the page cache",
        (Language::Vdbench, Advice::PageCache) => {
            "hint: without `openflags=o_direct` it is measured through the page cache"
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_told_of_what_his_command_has_not() {
        for advice in [Advice::Room, Advice::Memory, Advice::PageCache] {
            let [tests, fio, vdbench] = [Language::Tests, Language::Fio, Language::Vdbench]
                .map(|language| hint(language, advice));
            assert!(
                tests.contains("--set") && !tests.contains("--direct"),
                "{tests}"
            );
            assert!(
                fio.contains("--") && !fio.contains("--set") && !fio.contains("--dir "),
                "{fio}"
            );
            assert!(!vdbench.contains("--"), "{vdbench}");
        }
    }
}
