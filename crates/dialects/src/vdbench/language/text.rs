//! The text of parameter files: lines of `word=value`, read into pairs with their places.
//!
//! The rules are vdbench's: lines that begin with `/`, `#` or `*` are comments, a blank ends the parameters of a line
//! and what stands behind it is a comment, a line that ends in a comma goes on in the next one, `eof` ends the file,
//! and `$word` stands for what the command line says. Lines that begin with `<` are passed over: that is what
//! surrounds the parameters in vdbench's own `parmfile.html`. Refused: parameters behind a comma and a blank, which
//! would be lost.

use super::error::Error;
use super::value::Value;
use crate::fio::{Place, Surroundings};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Files inside each other at most.
const DEPTH_MAX: usize = 16;
/// Bytes of all files together at most, each counted as often as it is read.
const BYTES_MAX: usize = 4 << 20;
/// Parameters at most.
const PAIRS_MAX: usize = 16_384;
/// Bytes of one line with everything that it goes on with, variables replaced.
const LINE_BYTES_MAX: usize = 64 << 10;

/// One parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pair {
    pub(super) place: Place,
    pub(super) key: String,
    pub(super) value: Value,
}

/// The parameters of one line and of those that it goes on with; at least one.
pub(super) type Line = Vec<Pair>;

/// Reads lines.
pub(super) struct Reader<'a> {
    surroundings: &'a dyn Surroundings,
    /// What the command line says of variables, and whether anything asked for it.
    pub(super) variables: BTreeMap<String, (String, bool)>,
    pub(super) lines: Vec<Line>,
    bytes: usize,
    pairs: usize,
}

/// A line that may go on: its text, and where each part of it began.
#[derive(Default)]
struct Pending {
    text: String,
    parts: Vec<(usize, Place)>,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(
        surroundings: &'a dyn Surroundings,
        variables: BTreeMap<String, (String, bool)>,
    ) -> Self {
        Self {
            surroundings,
            variables,
            lines: Vec::new(),
            bytes: 0,
            pairs: 0,
        }
    }

    /// Reads a file with everything that it includes.
    pub(super) fn file(&mut self, path: &str, asked_at: &Place, depth: usize) -> Result<(), Error> {
        let unreadable = |reason: String| Error::Unreadable {
            place: asked_at.clone(),
            path: path.to_owned(),
            reason,
        };
        if depth >= DEPTH_MAX {
            let why = format!("files include each other more than {DEPTH_MAX} deep");
            return Err(unreadable(why));
        }
        let text = self.surroundings.read(path).map_err(unreadable)?;
        self.bytes += text.len();
        if self.bytes > BYTES_MAX {
            return Err(Error::TooMuch {
                place: asked_at.clone(),
                found: self.bytes.to_string(),
                what: "bytes of parameter files",
                limit: BYTES_MAX as u64,
            });
        }
        let file: Arc<str> = Arc::from(path);
        let mut pending = Pending::default();
        for (line, at) in text.lines().zip(1..) {
            let place = Place {
                file: Some(Arc::clone(&file)),
                line: at,
            };
            let line = line.trim_start_matches('\u{feff}').trim();
            if is_comment(line) {
                continue;
            }
            if line.contains(|c: char| c.is_control() && c != '\t') {
                let what =
                    "the line has a character that cannot be seen\nhint: write it anew".to_owned();
                return Err(Error::Syntax { place, what });
            }
            if line.split_whitespace().next() == Some("eof") {
                break;
            }
            let options = self.replaced(cut(line, &place)?, &place)?;
            if let Some(included) = options.strip_prefix("include=")
                && pending.text.is_empty()
            {
                self.file(&beside(path, included), &place, depth + 1)?;
                continue;
            }
            pending.add(&options, place)?;
            if !options.ends_with(',') {
                self.take(&std::mem::take(&mut pending))?;
            }
        }
        match pending.parts.pop() {
            None => Ok(()),
            Some((_, place)) => Err(Error::Syntax {
                place,
                what: "the line ends in a comma, and nothing follows".to_owned(),
            }),
        }
    }

    /// Reads one argument of a command line.
    pub(super) fn argument(&mut self, text: &str, place: Place) -> Result<(), Error> {
        let options = self.replaced(text.trim(), &place)?;
        let mut pending = Pending::default();
        pending.add(&options, place)?;
        self.take(&pending)
    }

    /// The options with what stands for variables.
    fn replaced(&mut self, options: &str, place: &Place) -> Result<String, Error> {
        let mut parts = options.split('$');
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let end = part.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let (name, rest) = part.split_at(end.unwrap_or(part.len()));
            let Some((value, is_used)) = self.variables.get_mut(name) else {
                return Err(Error::Syntax {
                    place: place.clone(),
                    what: format!(
                        "variable `${name}` has no value\nhint: `{name}=VALUE` on the command line gives it one"
                    ),
                });
            };
            *is_used = true;
            text.push_str(value);
            text.push_str(rest);
            if text.len() > LINE_BYTES_MAX {
                break;
            }
        }
        Ok(text)
    }

    /// A whole line.
    fn take(&mut self, pending: &Pending) -> Result<(), Error> {
        let mut line = Line::new();
        for (at, piece) in pieces(&pending.text) {
            let place = pending.place(at);
            let syntax = |what: String| Error::Syntax {
                place: place.clone(),
                what,
            };
            let pair = piece.split_once('=');
            let Some((key, value)) =
                pair.filter(|(key, value)| !key.is_empty() && !value.is_empty())
            else {
                let text = crate::printable::said(piece);
                let what = format!("`{text}` is no parameter: expected `word=value`");
                return Err(syntax(what));
            };
            let value = Value::parse(value).map_err(syntax)?;
            line.push(Pair {
                place,
                key: key.to_ascii_lowercase(),
                value,
            });
        }
        self.pairs += line.len();
        if let (true, Some(pair)) = (self.pairs > PAIRS_MAX, line.last()) {
            return Err(Error::TooMuch {
                place: pair.place.clone(),
                found: self.pairs.to_string(),
                what: "parameters",
                limit: PAIRS_MAX as u64,
            });
        }
        self.lines.push(line);
        Ok(())
    }
}

impl Pending {
    fn add(&mut self, options: &str, place: Place) -> Result<(), Error> {
        if self.text.len() + options.len() > LINE_BYTES_MAX {
            return Err(Error::TooMuch {
                place,
                found: (self.text.len() + options.len()).to_string(),
                what: "bytes of one line",
                limit: LINE_BYTES_MAX as u64,
            });
        }
        self.parts.push((self.text.len(), place));
        self.text.push_str(options);
        Ok(())
    }

    /// Where the text at this offset stands.
    fn place(&self, at: usize) -> Place {
        let before = self.parts.iter().rev().find(|(begins, _)| *begins <= at);
        before.map_or_else(Place::default, |(_, place)| place.clone())
    }
}

/// What of a line, trimmed, is no comment.
fn cut<'l>(line: &'l str, place: &Place) -> Result<&'l str, Error> {
    let mut is_quoted = false;
    let end = line.find(|c: char| {
        is_quoted ^= c == '"';
        c.is_whitespace() && !is_quoted
    });
    let (options, rest) = line.split_at(end.unwrap_or(line.len()));
    let next = rest.split_whitespace().next().unwrap_or_default();
    let word = next.split('=').next().unwrap_or_default();
    let is_word = !word.is_empty() && word.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    if options.ends_with(',') && next.contains('=') && is_word {
        let what = format!(
            "`{}` stands behind a comma and a blank, where it would be a comment\nhint: take the blank away, or begin \
             a new line with it",
            crate::printable::said(next)
        );
        return Err(Error::Syntax {
            place: place.clone(),
            what,
        });
    }
    Ok(options)
}

fn is_comment(line: &str) -> bool {
    line.is_empty() || line.starts_with(['/', '#', '*', '<'])
}

/// The pieces between commas that stand in no parentheses and no quotes, with their offsets. A comma at the end begins
/// none.
fn pieces(text: &str) -> Vec<(usize, &str)> {
    let (mut depth, mut is_quoted, mut begins) = (0_i32, false, 0);
    let mut pieces = Vec::new();
    for (at, c) in text.char_indices() {
        match c {
            '"' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth -= 1,
            ',' if !is_quoted && depth <= 0 => {
                pieces.push((begins, &text[begins..at]));
                begins = at + 1;
            }
            _ => {}
        }
    }
    if begins < text.len() {
        pieces.push((begins, &text[begins..]));
    }
    pieces
}

/// Where an included file is: beside the one that names it.
fn beside(path: &str, included: &str) -> String {
    let dir = Path::new(path).parent().filter(|dir| *dir != Path::new(""));
    match dir {
        Some(dir) => dir.join(included).display().to_string(),
        None => included.to_owned(),
    }
}
