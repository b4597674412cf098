//! Job files: sections, comments, includes, environment variables, and the keywords that name the machine.
//!
//! The rules are fio's: `;` and `#` cut a line anywhere, a section whose name begins with `global` holds defaults for
//! those behind it, a space behind `=` belongs to the value. Files come through [`Surroundings`], so that nothing here
//! opens one. Refused: broken headings, new sections in included files, and anything beyond the limits below.

use super::apply::Raw;
use super::error::{Error, Place};
use super::plan::{Builder, Section};
use model::order::Order as _;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of a job file at most; the longest public one is below 20 kB.
const MAX_FILE_BYTES: usize = 1 << 20;
/// Includes inside each other at most.
const MAX_DEPTH: usize = 16;
/// Options of a job file with its includes at most.
const MAX_OPTIONS: usize = 16_384;
/// Bytes of a value after variables were replaced at most.
pub(super) const MAX_VALUE_BYTES: usize = 8192;
/// Bytes of a job file with its includes at most, each counted as often as it is read.
const MAX_TOTAL_BYTES: usize = 4 << 20;

/// What there is at a path that a job names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Absolute.
    pub path: PathBuf,
    /// A block device.
    pub is_device: bool,
    /// Something that is neither a file nor a block device.
    pub is_other: bool,
    /// The length of a file that is there, or of the part of a device that may be used.
    pub length_bytes: Option<u64>,
    /// How long a file may become that fills what is free: told of files, where anybody can say.
    pub room_bytes: Option<u64>,
}

/// What a job file may ask of the machine.
pub trait Surroundings {
    /// The text of a job file; `-` is standard input. The error is a reason such as `no such file`.
    fn read(&self, path: &str) -> Result<String, String>;
    /// The value of an environment variable.
    fn variable(&self, name: &str) -> Option<String>;
    /// Bytes of a page, for `$pagesize`.
    fn page_bytes(&self) -> u64;
    /// CPUs that are online, for `$ncpus`.
    fn cpus(&self) -> u64;
    /// Memory in MiB, for `$mb_memory`.
    fn memory_mib(&self) -> u64;
    /// What there is at a path; nothing, where nobody can look. The error says why the path leads nowhere.
    fn find(&self, path: &str) -> Result<Found, String> {
        Ok(Found {
            path: path.into(),
            is_device: false,
            length_bytes: None,
            room_bytes: None,
            is_other: false,
        })
    }
}

/// A job file, read and cut into sections.
#[derive(Debug, Default)]
pub(super) struct JobFile {
    /// In order; those that begin with `global` hold defaults.
    pub(super) sections: Vec<Section>,
}

/// Reads a job file with everything that it includes.
pub(super) fn read(
    path: &str,
    asked_at: &Place,
    surroundings: &dyn Surroundings,
    builder: &mut Builder,
) -> Result<JobFile, Error> {
    let mut reader = Reader {
        surroundings,
        builder,
        file: JobFile::default(),
        options: 0,
        bytes: 0,
    };
    let text = reader.text(path, path, asked_at)?;
    reader.lines(path, &text, 0)?;
    for section in &mut reader.file.sections {
        // fio knows what `k` means before it reads any size.
        section.options.order_by_key(|raw| raw.name != "kb_base");
    }
    Ok(reader.file)
}

struct Reader<'a> {
    surroundings: &'a dyn Surroundings,
    builder: &'a mut Builder,
    file: JobFile,
    options: usize,
    bytes: usize,
}

impl Reader<'_> {
    fn text(&mut self, path: &str, shown: &str, place: &Place) -> Result<String, Error> {
        let unreadable = |reason| Error::Unreadable {
            place: place.clone(),
            path: shown.to_owned(),
            reason,
        };
        let text = self.surroundings.read(path).map_err(unreadable)?;
        if text.len() > MAX_FILE_BYTES {
            return Err(Error::TooMuch {
                place: place.clone(),
                what: "bytes of a job file",
                limit: MAX_FILE_BYTES,
            });
        }
        self.bytes += text.len();
        if self.bytes > MAX_TOTAL_BYTES {
            let what = "bytes of a job file with its includes";
            return Err(Error::TooMuch {
                place: place.clone(),
                what,
                limit: MAX_TOTAL_BYTES,
            });
        }
        Ok(text)
    }

    fn lines(&mut self, path: &str, text: &str, depth: usize) -> Result<(), Error> {
        let name: Arc<str> = Arc::from(path);
        for (index, line) in text.lines().enumerate() {
            let place = Place {
                file: Some(Arc::clone(&name)),
                line: index + 1,
            };
            let line = line
                .strip_prefix('\u{feff}')
                .filter(|_| index == 0)
                .unwrap_or(line);
            self.line(line, &place, depth)?;
        }
        Ok(())
    }

    fn line(&mut self, line: &str, place: &Place, depth: usize) -> Result<(), Error> {
        let (text, comment) = line
            .find([';', '#'])
            .map_or((line, ""), |at| line.split_at(at));
        let is_glued =
            !comment.is_empty() && !text.trim().is_empty() && !text.ends_with(char::is_whitespace);
        if is_glued {
            let text = format!(
                "`{comment}` is a comment, also in the middle of a value; nothing escapes it"
            );
            self.builder.warn(place, text);
        }
        let text = text.trim();
        if text.is_empty() {
            return Ok(());
        }
        if let Some(heading) = text.strip_prefix('[') {
            return self.heading(heading, place, depth);
        }
        if let Some(path) = text.strip_prefix("include ") {
            return self.include(path.trim(), place, depth);
        }
        self.option(text, place)
    }

    fn heading(&mut self, text: &str, place: &Place, depth: usize) -> Result<(), Error> {
        let syntax = |what: &str| {
            Err(Error::Syntax {
                place: place.clone(),
                what: what.to_owned(),
            })
        };
        let Some(name) = text.strip_suffix(']') else {
            return syntax("a section's name ends with `]` and nothing behind it");
        };
        if name.is_empty() {
            return syntax("a section needs a name");
        }
        if depth > 0 {
            return syntax("no new sections in included files");
        }
        self.file.sections.push(Section {
            name: name.to_owned(),
            place: place.clone(),
            options: Vec::new(),
            is_behind: false,
        });
        Ok(())
    }

    fn include(&mut self, path: &str, place: &Place, depth: usize) -> Result<(), Error> {
        if depth + 1 >= MAX_DEPTH {
            return Err(Error::TooMuch {
                place: place.clone(),
                what: "includes inside each other",
                limit: MAX_DEPTH,
            });
        }
        // Beside the file that includes it.
        let from = place.file.as_deref().unwrap_or_default();
        let beside = match from.rsplit_once('/') {
            Some((directory, _)) if !path.starts_with('/') => format!("{directory}/{path}"),
            _ => path.to_owned(),
        };
        self.count(place)?;
        let text = self.text(&beside, path, place)?;
        self.lines(&beside, &text, depth + 1)
    }

    fn option(&mut self, text: &str, place: &Place) -> Result<(), Error> {
        self.count(place)?;
        let mut raw = Raw::of(text, place.clone());
        if let Some(value) = raw.value.take() {
            let (value, remark) = self.expand(&value, place)?;
            if let Some(remark) = remark {
                self.builder.warn(place, remark);
            }
            raw.value = Some(value);
        }
        let Some(section) = self.file.sections.last_mut() else {
            let what = format!(
                "option `{text}` stands before the first section; put it under `[global]` or a job"
            );
            return Err(Error::Syntax {
                place: place.clone(),
                what,
            });
        };
        section.options.push(raw);
        Ok(())
    }

    fn count(&mut self, place: &Place) -> Result<(), Error> {
        self.options += 1;
        if self.options > MAX_OPTIONS {
            return Err(Error::TooMuch {
                place: place.clone(),
                what: "options of a job file",
                limit: MAX_OPTIONS,
            });
        }
        Ok(())
    }

    /// Replaces `${VARIABLE}` and the keywords that name the machine; with the latter, sums are worked out.
    fn expand(&self, value: &str, place: &Place) -> Result<(String, Option<String>), Error> {
        let mut out = String::new();
        let mut remark = None;
        let mut rest = value;
        while let Some(start) = rest.find("${") {
            let (before, from) = rest.split_at(start);
            out.push_str(before);
            let Some((name, behind)) = from.get(2..).unwrap_or_default().split_once('}') else {
                rest = from;
                break;
            };
            match self.surroundings.variable(name) {
                Some(value) => out.push_str(&value),
                None => {
                    remark = Some(format!(
                        "the environment has no `{name}`; it is replaced by nothing"
                    ));
                }
            }
            rest = behind;
            if out.len() > MAX_VALUE_BYTES {
                return Err(Error::TooMuch {
                    place: place.clone(),
                    what: "bytes of a value",
                    limit: MAX_VALUE_BYTES,
                });
            }
        }
        out.push_str(rest);
        if out.len() > MAX_VALUE_BYTES {
            return Err(Error::TooMuch {
                place: place.clone(),
                what: "bytes of a value",
                limit: MAX_VALUE_BYTES,
            });
        }
        Ok((self.keywords(out), remark))
    }

    fn keywords(&self, text: String) -> String {
        let known: [(&str, u64); 3] = [
            ("$pagesize", self.surroundings.page_bytes()),
            ("$mb_memory", self.surroundings.memory_mib()),
            ("$ncpus", self.surroundings.cpus()),
        ];
        if !known.iter().any(|(word, _)| text.contains(word)) {
            return text;
        }
        let replaced = known
            .iter()
            .fold(text, |text, (word, n)| text.replace(word, &n.to_string()));
        sum(&replaced).map_or(replaced, |n| n.to_string())
    }
}

/// Works out whole numbers with + - * / between them, `*` and `/` first.
fn sum(text: &str) -> Option<u64> {
    let mut total: u64 = 0;
    let mut rest = text.trim();
    let mut sign = '+';
    loop {
        let end = rest.find(['+', '-']).unwrap_or(rest.len());
        let (term, behind) = rest.split_at_checked(end)?;
        let term = product(term)?;
        total = if sign == '+' {
            total.checked_add(term)?
        } else {
            total.checked_sub(term)?
        };
        let Some(next) = behind.chars().next() else {
            return Some(total);
        };
        sign = next;
        rest = behind.get(1..)?;
    }
}

fn product(text: &str) -> Option<u64> {
    let mut total: u64 = 1;
    let mut rest = text;
    let mut operator = '*';
    loop {
        let end = rest.find(['*', '/']).unwrap_or(rest.len());
        let (factor, behind) = rest.split_at_checked(end)?;
        let factor: u64 = factor.trim().parse().ok()?;
        total = if operator == '*' {
            total.checked_mul(factor)?
        } else {
            total.checked_div(factor)?
        };
        let Some(next) = behind.chars().next() else {
            return Some(total);
        };
        operator = next;
        rest = behind.get(1..)?;
    }
}
