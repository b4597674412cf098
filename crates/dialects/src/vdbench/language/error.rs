//! What can be wrong with a parameter file, each with the place where it stands.
//!
//! Refused: a silent guess. Where a value is not understood, the reading ends and says what is taken there.

use crate::fio::Place;

/// Why a parameter file cannot be carried out.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// There is no such word.
    #[error("{place}: no parameter `{word}` of {kind}{}", near(*nearest))]
    UnknownWord {
        /// Where it stands.
        place: Place,
        /// What was written.
        word: String,
        /// What the line defines.
        kind: &'static str,
        /// The word that is closest to it.
        nearest: Option<&'static str>,
    },
    /// An abbreviation that fits several words.
    #[error("{place}: `{word}` can mean {}\nhint: write more of it", candidates.join(", "))]
    Ambiguous {
        /// Where it stands.
        place: Place,
        /// What was written.
        word: String,
        /// The words that it fits.
        candidates: Vec<&'static str>,
    },
    /// A word that is known and not carried out.
    #[error("{place}: parameter `{word}` is refused: {reason}{}", hint(*instead))]
    Refused {
        /// Where it stands.
        place: Place,
        /// The word, with its value where that is why.
        word: String,
        /// Why it is not carried out.
        reason: &'static str,
        /// What to use instead.
        instead: Option<&'static str>,
    },
    /// A word with a value that it does not take.
    #[error("{place}: parameter `{word}` does not take `{value}`: {expected}")]
    BadValue {
        /// Where it stands.
        place: Place,
        /// The word.
        word: String,
        /// What was written.
        value: String,
        /// What it takes.
        expected: String,
    },
    /// A line that is no list of parameters, or one in the wrong place.
    #[error("{place}: {what}")]
    Syntax {
        /// Where it stands.
        place: Place,
        /// What is wrong.
        what: String,
    },
    /// A file that cannot be read.
    #[error("{place}: read parameter file `{path}`: {reason}")]
    Unreadable {
        /// Where it is asked for.
        place: Place,
        /// The file.
        path: String,
        /// What the reader said.
        reason: String,
    },
    /// More of something than this reader takes.
    #[error("{place}: {found} {what}: at most {limit}")]
    TooMuch {
        /// Where it stands.
        place: Place,
        /// How much there is; words where nobody counted on.
        found: String,
        /// What there is too much of.
        what: &'static str,
        /// How much is taken.
        limit: u64,
    },
    /// A definition that goes together with none of the others.
    #[error("{place}: `{definition}`: {what}")]
    Definition {
        /// Where it begins.
        place: Place,
        /// Which, as it begins: `rd=rd1`.
        definition: String,
        /// What is wrong.
        what: String,
    },
    /// Nothing to do.
    #[error(
        "nothing to run: {what}\nhint: a run definition looks like `rd=rd1,wd=wd1,iorate=max,elapsed=60`"
    )]
    Nothing {
        /// What was found instead.
        what: String,
    },
}

fn hint(instead: Option<&'static str>) -> String {
    instead.map_or_else(String::new, |words| format!("\nhint: {words}"))
}

fn near(nearest: Option<&'static str>) -> String {
    nearest.map_or_else(String::new, |word| {
        format!("\nhint: the nearest word is `{word}`")
    })
}
