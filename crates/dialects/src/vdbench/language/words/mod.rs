//! The words of the language: one table for each kind of line, and one of what is not carried out.
//!
//! Everything that vdbench's parameter files may say stands here, with what it takes and what it comes to. What is
//! refused or changes nothing is read from these tables by the parser and by docs/vdbench.md, so that the two cannot
//! differ. Nothing is ever read and forgotten.

mod files;
mod general;
mod limits;
mod raw;
mod runs;
mod takes;

pub use limits::{LIMITS, Limit};
pub use takes::Takes;
pub(super) use takes::{counted, point, rates, values};

use super::value::Value;

/// What a line defines, by the word that it begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Nothing: what holds for all.
    General,
    /// A host.
    Hd,
    /// A storage: a device or a file.
    Sd,
    /// A workload on storages.
    Wd,
    /// A set of files.
    Fsd,
    /// A workload on sets of files.
    Fwd,
    /// A run.
    Rd,
}

impl Kind {
    /// All of them, in the order in which lines stand.
    pub const ALL: [Self; 7] = [
        Self::General,
        Self::Hd,
        Self::Sd,
        Self::Fsd,
        Self::Wd,
        Self::Fwd,
        Self::Rd,
    ];

    /// The word; empty for what holds for all.
    pub const fn word(self) -> &'static str {
        match self {
            Self::General => "",
            Self::Hd => "hd",
            Self::Sd => "sd",
            Self::Wd => "wd",
            Self::Fsd => "fsd",
            Self::Fwd => "fwd",
            Self::Rd => "rd",
        }
    }

    /// As sentences call it.
    pub const fn title(self) -> &'static str {
        match self {
            Self::General => "all runs",
            Self::Hd => "a host (`hd`)",
            Self::Sd => "a storage (`sd`)",
            Self::Wd => "a workload (`wd`)",
            Self::Fsd => "a file set (`fsd`)",
            Self::Fwd => "a file workload (`fwd`)",
            Self::Rd => "a run (`rd`)",
        }
    }

    /// The kind that begins with this word.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|kind| !word.is_empty() && kind.word() == word)
    }

    /// What stands before it in a file: lines of a smaller number.
    pub(super) const fn rank(self) -> u32 {
        match self {
            Self::General => 0,
            Self::Hd => 1,
            Self::Sd | Self::Fsd => 2,
            Self::Wd | Self::Fwd => 3,
            Self::Rd => 4,
        }
    }
}

/// A word of the language.
#[derive(Debug)]
pub struct Word {
    /// Its name.
    pub name: &'static str,
    /// Other names of it.
    pub also: &'static [&'static str],
    /// What it takes.
    pub takes: Takes,
    /// What it comes to.
    pub status: Status,
    /// What it means, in one sentence.
    pub doc: &'static str,
    /// What is taken where it is not said; empty for nothing.
    pub default: &'static str,
    /// The one side that it is about: [`Kind::Wd`] for runs on storages, [`Kind::Fwd`] for those on file sets. A run of
    /// the other side refuses it.
    pub only: Option<Kind>,
}

/// What a word comes to.
#[derive(Clone, Copy, Debug)]
pub enum Status {
    /// It is carried out.
    Done,
    /// It changes nothing, for this reason.
    Noted(&'static str),
    /// It is refused, for this reason, with what to use instead; with one of these values it changes nothing.
    Refused(&'static str, Option<&'static str>, &'static [&'static str]),
}

impl Word {
    const fn done(
        name: &'static str,
        takes: Takes,
        default: &'static str,
        doc: &'static str,
    ) -> Self {
        Self {
            name,
            also: &[],
            takes,
            status: Status::Done,
            doc,
            default,
            only: None,
        }
    }

    const fn noted(name: &'static str, doc: &'static str, why: &'static str) -> Self {
        Self {
            name,
            also: &[],
            takes: Takes::Anything,
            status: Status::Noted(why),
            doc,
            default: "",
            only: None,
        }
    }

    const fn refused(name: &'static str, doc: &'static str, why: &'static str) -> Self {
        Self {
            name,
            also: &[],
            takes: Takes::Anything,
            status: Status::Refused(why, None, &[]),
            doc,
            default: "",
            only: None,
        }
    }

    const fn also(self, also: &'static [&'static str]) -> Self {
        Self { also, ..self }
    }

    const fn of_storages(self) -> Self {
        Self {
            only: Some(Kind::Wd),
            ..self
        }
    }

    const fn of_file_sets(self) -> Self {
        Self {
            only: Some(Kind::Fwd),
            ..self
        }
    }

    /// Refused, with what helps.
    const fn instead(self, hint: &'static str) -> Self {
        match self.status {
            Status::Refused(why, _, but) => Self {
                status: Status::Refused(why, Some(hint), but),
                ..self
            },
            _ => self,
        }
    }

    /// Refused but with these values, which ask for nothing.
    const fn but(self, values: &'static [&'static str]) -> Self {
        match self.status {
            Status::Refused(why, hint, _) => Self {
                status: Status::Refused(why, hint, values),
                ..self
            },
            _ => self,
        }
    }

    /// All of its names, its main one first.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.also.iter().copied())
    }
}

/// The words of one kind of line.
pub fn of(kind: Kind) -> &'static [Word] {
    match kind {
        Kind::General => general::WORDS,
        Kind::Hd => general::HOSTS,
        Kind::Sd => raw::STORAGES,
        Kind::Wd => raw::WORKLOADS,
        Kind::Fsd => files::SETS,
        Kind::Fwd => files::WORKLOADS,
        Kind::Rd => runs::WORDS,
    }
}

/// The words of `fwd=format`: how file sets are made.
pub const OF_FORMAT: &[&str] = &["fwd", "threads", "xfersize"];

/// What a key finds among the words of its kind.
pub(super) enum Sought {
    Found(&'static Word),
    /// It begins several.
    Several(Vec<&'static str>),
    /// None; the one that is closest to it.
    Nothing(Option<&'static str>),
}

/// The word of this name, or the only one that begins so.
pub(super) fn find(kind: Kind, key: &str) -> Sought {
    let words = of(kind);
    if let Some(word) = words
        .iter()
        .find(|word| word.names().any(|name| name == key))
    {
        return Sought::Found(word);
    }
    let begins = |word: &&Word| key.len() > 1 && word.names().any(|name| name.starts_with(key));
    let fits: Vec<&'static Word> = words.iter().filter(begins).collect();
    match fits[..] {
        [only] => Sought::Found(only),
        [] => {
            let names = words
                .iter()
                .map(|word| (strsim::levenshtein(word.name, key), word.name));
            let near = |(distance, _): &(usize, &str)| *distance <= 2;
            let nearest = (key.len() <= 64)
                .then(|| names.min())
                .flatten()
                .filter(near);
            Sought::Nothing(nearest.map(|(_, name)| name))
        }
        _ => Sought::Several(fits.iter().map(|word| word.name).collect()),
    }
}

/// What of a word is not carried out with this value: refused, or noted.
pub(super) fn limits_of<'v>(
    kind: Kind,
    word: &'static Word,
    value: &'v Value,
) -> impl Iterator<Item = &'static Limit> + use<'v> {
    let of_word = move |limit: &&Limit| limit.kind == kind && limit.word == word.name;
    LIMITS
        .iter()
        .filter(of_word)
        .filter(move |limit| (limit.applies)(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_one_word_each_and_limits_of_words_that_are_done() {
        for kind in Kind::ALL {
            let mut names: Vec<&str> = of(kind).iter().flat_map(Word::names).collect();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            assert_eq!(names.len(), all, "{kind:?}");
        }
        for limit in LIMITS {
            let word = of(limit.kind).iter().find(|word| word.name == limit.word);
            assert!(
                matches!(word.unwrap().status, Status::Done),
                "{}",
                limit.word
            );
        }
    }

    #[test]
    fn words_may_be_cut_where_only_one_begins_so() {
        let check = |kind, key, expect: Result<&str, &str>| match (find(kind, key), expect) {
            (Sought::Found(word), Ok(name)) => assert_eq!(word.name, name, "{key}"),
            (Sought::Several(names), Err(one)) => assert!(names.contains(&one), "{key}: {names:?}"),
            (Sought::Nothing(nearest), Err(name)) => assert_eq!(nearest.unwrap_or(""), name),
            _ => panic!("{key}"),
        };
        check(Kind::Rd, "el", Ok("elapsed"));
        check(Kind::Rd, "in", Ok("interval"));
        check(Kind::Rd, "th", Ok("forthreads"));
        check(Kind::Rd, "forx", Ok("forxfersize"));
        check(Kind::Rd, "elapsd", Err("elapsed"));
        check(Kind::Rd, "for", Err("forthreads"));
        check(Kind::Rd, "zzzzzz", Err(""));
        check(Kind::Wd, "xf", Ok("xfersize"));
        check(Kind::Wd, "readpct", Ok("rdpct"));
        check(Kind::Fwd, "files", Ok("fileselect"));
        check(Kind::Fwd, "operations", Ok("operation"));
    }
}
