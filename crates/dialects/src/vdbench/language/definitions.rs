//! Lines become definitions: words are found, values looked at, defaults handed down, and what one line makes many of
//! is made.

use super::error::Error;
use super::text::{Line, Pair};
use super::value::Value;
use super::words::{self, Kind, Sought, Status, Takes, Word};
use super::{DEFINITIONS_MAX, Remark};
use crate::fio::Place;
use std::collections::BTreeMap;

/// A word with its value.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) place: Place,
    pub(super) word: &'static Word,
    pub(super) value: Value,
}

/// One definition, with what it has from defaults.
#[derive(Clone, Debug)]
pub(super) struct Definition {
    pub(super) kind: Kind,
    pub(super) name: String,
    pub(super) place: Place,
    /// Each word once, in the order in which they stand.
    pub(super) settings: Vec<Setting>,
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub(super) struct Definitions {
    pub(super) general: Vec<Setting>,
    pub(super) all: Vec<Definition>,
    /// How file sets are made: what `fwd=format` says.
    pub(super) format: Vec<Setting>,
    pub(super) remarks: Vec<Remark>,
    defaults: BTreeMap<Kind, Vec<Setting>>,
    rank: u32,
}

impl Definition {
    /// What it says of a word.
    pub(super) fn get(&self, name: &str) -> Option<&Setting> {
        self.settings
            .iter()
            .find(|setting| setting.word.name == name)
    }

    /// As it begins in the file.
    pub(super) fn in_words(&self) -> String {
        format!("{}={}", self.kind.word(), self.name)
    }

    /// An error of this definition.
    pub(super) fn error(&self, what: impl Into<String>) -> Error {
        Error::Definition {
            place: self.place.clone(),
            definition: self.in_words(),
            what: what.into(),
        }
    }

    /// The line that says the same.
    pub(super) fn line(&self) -> String {
        let own = self
            .settings
            .iter()
            .filter(|setting| setting.word.name != self.kind.word());
        let words = own.map(|setting| format!("{}={}", setting.word.name, setting.value));
        let words: Vec<String> = std::iter::once(self.in_words()).chain(words).collect();
        words.join(",")
    }
}

impl Definitions {
    /// The definitions of one kind.
    pub(super) fn of(&self, kind: Kind) -> impl Iterator<Item = &Definition> {
        self.all
            .iter()
            .filter(move |definition| definition.kind == kind)
    }

    /// What holds for all of a word.
    pub(super) fn general(&self, name: &str) -> Option<&Setting> {
        self.general
            .iter()
            .find(|setting| setting.word.name == name)
    }

    /// The lines that say the same as everything that was read.
    pub(super) fn lines(&self) -> Vec<String> {
        let pair = |setting: &Setting| format!("{}={}", setting.word.name, setting.value);
        let general: Vec<String> = self.general.iter().map(pair).collect();
        let general = (!general.is_empty()).then(|| general.join(","));
        let format = self
            .format
            .iter()
            .filter(|setting| setting.word.name != "fwd");
        let format: Vec<String> = format.map(pair).collect();
        let format = (!format.is_empty()).then(|| format!("fwd=format,{}", format.join(",")));
        let before = |kind: Kind| kind.rank() < Kind::Wd.rank();
        let (sets, others): (Vec<_>, Vec<_>) = self.all.iter().partition(|one| before(one.kind));
        let sets = sets.into_iter().map(Definition::line);
        let others = others.into_iter().map(Definition::line);
        general
            .into_iter()
            .chain(sets)
            .chain(format)
            .chain(others)
            .collect()
    }

    /// Takes one line in.
    pub(super) fn add(&mut self, line: Line) -> Result<(), Error> {
        let Some(first) = line.first() else {
            return Ok(());
        };
        if first.key == "rg" {
            return Err(Error::Refused {
                place: first.place.clone(),
                word: "rg".to_owned(),
                reason: "that word is of replays, which are not carried out",
                instead: None,
            });
        }
        let kind = Kind::of_word(&first.key).unwrap_or(Kind::General);
        if kind.rank() < self.rank {
            return Err(Error::Syntax {
                place: first.place.clone(),
                what: format!(
                    "{} stands behind lines that are read after it\nhint: the order is: what holds for all, hd, sd or \
                     fsd, wd or fwd, rd",
                    kind.title()
                ),
            });
        }
        self.rank = kind.rank();
        let (place, name) = (first.place.clone(), first.value.clone());
        let settings = line
            .into_iter()
            .map(|pair| self.setting(kind, pair))
            .collect::<Result<Vec<_>, Error>>()?;
        let carried_out = |setting: &&Setting| matches!(setting.word.status, Status::Done);
        let twice = settings.iter().enumerate().find(|(at, setting)| {
            let mut before = settings[..*at].iter().filter(carried_out);
            before.any(|other| other.word.name == setting.word.name)
        });
        if let Some((_, setting)) = twice {
            let what = format!(
                "`{}` stands twice in this line, by this name or another one of it",
                setting.word.name
            );
            let place = setting.place.clone();
            return Err(Error::Syntax { place, what });
        }
        if kind == Kind::General {
            merge(&mut self.general, settings);
            return Ok(());
        }
        let Some(name) = name.word().map(str::to_owned) else {
            return Err(bad_name(kind, place, &name));
        };
        if name == "default" {
            merge(self.defaults.entry(kind).or_default(), settings);
            return Ok(());
        }
        if kind == Kind::Fwd && name == "format" {
            let is_foreign = |setting: &&Setting| !words::OF_FORMAT.contains(&setting.word.name);
            if let Some(setting) = settings.iter().find(is_foreign) {
                return Err(Error::Refused {
                    place: setting.place.clone(),
                    word: setting.word.name.to_owned(),
                    reason: "only `threads` and `xfersize` say how file sets are made",
                    instead: None,
                });
            }
            merge(&mut self.format, settings);
            return Ok(());
        }
        if kind == Kind::Hd {
            return Ok(());
        }
        if name.contains(['*', '$']) || name.is_empty() || name.len() > NAME_MAX {
            return Err(bad_name(kind, place, &Value::One(name)));
        }
        let mut whole = self.defaults.get(&kind).cloned().unwrap_or_default();
        merge(&mut whole, settings);
        let definition = Definition {
            kind,
            name,
            place,
            settings: whole,
        };
        for one in counted(definition) {
            self.push(one)?;
        }
        Ok(())
    }

    fn push(&mut self, definition: Definition) -> Result<(), Error> {
        let is_same =
            |other: &&Definition| other.kind == definition.kind && other.name == definition.name;
        if let Some(other) = self.all.iter().find(is_same) {
            let what = format!("the name is taken already, at {}", other.place);
            return Err(definition.error(what));
        }
        let against = match definition.kind {
            Kind::Sd | Kind::Wd => Some(Kind::Fsd),
            Kind::Fsd | Kind::Fwd => Some(Kind::Sd),
            _ => None,
        };
        if let Some(kind) = against.filter(|kind| self.of(*kind).next().is_some()) {
            let what = format!(
                "storages and file sets do not go together, and there is {} already\nhint: one file for each",
                kind.title()
            );
            return Err(definition.error(what));
        }
        if self.all.len() >= DEFINITIONS_MAX {
            return Err(Error::TooMuch {
                place: definition.place,
                found: (self.all.len() + 1).to_string(),
                what: "definitions",
                limit: DEFINITIONS_MAX as u64,
            });
        }
        self.all.push(definition);
        Ok(())
    }

    /// A pair whose word is known and whose value it takes.
    pub(super) fn setting(&mut self, kind: Kind, pair: Pair) -> Result<Setting, Error> {
        let Pair { place, key, value } = pair;
        let word = match words::find(kind, &key) {
            Sought::Found(word) => word,
            Sought::Several(candidates) => {
                return Err(Error::Ambiguous {
                    place,
                    word: crate::printable::said(&key),
                    candidates,
                });
            }
            Sought::Nothing(nearest) => {
                return Err(Error::UnknownWord {
                    place,
                    word: crate::printable::said(&key),
                    kind: kind.title(),
                    nearest,
                });
            }
        };
        if let Status::Refused(reason, instead, but) = word.status {
            let text = value.to_string();
            if !but.contains(&text.to_ascii_lowercase().as_str()) {
                return Err(Error::Refused {
                    place,
                    word: word.name.to_owned(),
                    reason,
                    instead,
                });
            }
        }
        if !word.takes.takes(&value) {
            return Err(Error::BadValue {
                place,
                word: word.name.to_owned(),
                value: crate::printable::said(&value.to_string()),
                expected: format!("expected {}", word.takes.words()),
            });
        }
        if let Some(limit) = words::limits_of(kind, word, &value).find(|limit| limit.is_refused) {
            return Err(Error::Refused {
                place,
                word: format!("{}={value}", word.name),
                reason: limit.why,
                instead: limit.instead,
            });
        }
        self.remark(kind, word, &value, &place);
        let value = match word.takes {
            Takes::Choice(_) | Takes::Choices(_) => value.lowered(),
            _ => value,
        };
        Ok(Setting { place, word, value })
    }

    /// Says what changes nothing.
    fn remark(&mut self, kind: Kind, word: &'static Word, value: &Value, place: &Place) {
        let noted = match word.status {
            Status::Noted(why) => Some(why),
            _ => words::limits_of(kind, word, value)
                .next()
                .map(|limit| limit.why),
        };
        if let Some(why) = noted {
            self.remarks.push(Remark {
                place: place.clone(),
                text: format!("`{}` changes nothing here: {why}", word.name),
            });
        }
    }
}

/// Adds settings, or puts them in the place of earlier ones: the last one counts.
pub(super) fn merge(all: &mut Vec<Setting>, more: Vec<Setting>) {
    for setting in more {
        all.retain(|own| own.word.name != setting.word.name);
        all.push(setting);
    }
}

/// Letters of a name at most.
const NAME_MAX: usize = 80;

fn bad_name(kind: Kind, place: Place, name: &Value) -> Error {
    Error::BadValue {
        place,
        word: kind.word().to_owned(),
        value: crate::printable::said(&name.to_string()),
        expected: format!("expected a name of at most {NAME_MAX} letters without `*` and `$`"),
    }
}

/// As many as `count` asks for, numbered in name and file; else the one.
fn counted(definition: Definition) -> Vec<Definition> {
    let count = definition.get("count").map(|setting| &setting.value);
    let Some((start, number)) = count.and_then(words::counted) else {
        return vec![definition];
    };
    let one = |at: u64| {
        let mut one = definition.clone();
        one.name = format!("{}{at}", definition.name);
        one.settings.retain(|setting| setting.word.name != "count");
        for setting in &mut one.settings {
            if ["lun", "anchor"].contains(&setting.word.name)
                && let Some(path) = setting.value.word()
            {
                setting.value = Value::One(numbered(path, at));
            }
        }
        one
    };
    (start..start + number).map(one).collect()
}

/// A path with a number in the place of `%d` or `%04d`, or behind it.
fn numbered(path: &str, number: u64) -> String {
    let found = path.split_once('%').and_then(|(before, rest)| {
        let (width, behind) = rest.split_once('d')?;
        let is_width = width.len() <= 2 && width.bytes().all(|b| b.is_ascii_digit());
        is_width.then(|| {
            let digits: usize = width.parse().unwrap_or(0);
            let zeros = width.starts_with('0');
            let number = if zeros {
                format!("{number:0>digits$}")
            } else {
                number.to_string()
            };
            format!("{before}{number}{behind}")
        })
    });
    found.unwrap_or_else(|| format!("{path}{number}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_go_into_names_of_files() {
        for (path, expect) in [
            ("/a/f%04d", "/a/f0007"),
            ("/a/f%d.bin", "/a/f7.bin"),
            ("/a/f%x", "/a/f%x7"),
            ("/dev/sd", "/dev/sd7"),
        ] {
            assert_eq!(numbered(path, 7), expect);
        }
    }
}
