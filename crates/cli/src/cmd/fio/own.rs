//! Our own options on a line of fio's: taken out before fio's reader sees it.
//!
//! Their names are none of fio's, whole or abbreviated, and they are only known in full.

use crate::args;
use crate::exit::{Exit, failure};
use engine::consent::Consent;
use engine::profile::PASSES_MAX;
use model::bounds;
use std::io::IsTerminal;
use std::path::PathBuf;

/// What was asked of this program and not of fio.
#[derive(Clone, Debug, PartialEq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own of the line"
)]
pub(crate) struct Own {
    /// How often everything is done; once where not said.
    pub(crate) passes: Option<u32>,
    /// A name for the run.
    pub(crate) label: Option<String>,
    /// Tags for the run.
    pub(crate) tags: Vec<(String, String)>,
    /// Devices that may be erased, as typed.
    pub(crate) yes_erase: Vec<String>,
    /// Files that may be overwritten although they are not ours, as typed.
    pub(crate) overwrite: Vec<String>,
    /// Root may work in a directory of others.
    pub(crate) dir_of_others: bool,
    /// The programs of jobs may be executed.
    pub(crate) allow_exec: bool,
    /// The kept run that is reported again; nothing is measured.
    pub(crate) show: Option<String>,
    /// No words but errors.
    pub(crate) quiet: bool,
    /// Notes and warnings wherever standard error leads to.
    pub(crate) verbose: bool,
    /// What is fio's.
    pub(crate) rest: Vec<String>,
}

/// The options with what they do, for the help.
pub(super) const OPTIONS: &[(&str, &str)] = &[
    ("--passes=N", "do everything N times, for intervals"),
    ("--label=NAME", "a name for the run"),
    ("--tag=KEY=VALUE", "a tag for the run"),
    (
        "--yes-erase=DEVICE",
        "allow jobs that write to this device; all data on it is lost",
    ),
    (
        "--overwrite-file=FILE",
        "allow jobs that write to this file although kurabe did not make it",
    ),
    (
        "--allow-exec",
        "allow jobs of `ioengine=exec` to execute their programs, with your rights",
    ),
    (
        "--dir-of-others",
        "as root, work even where other users may rename the directory",
    ),
    (
        "--show=RUN",
        "report a kept run again, in the form that `--output-format` asks for",
    ),
    (
        "--verbose",
        "notes and warnings on standard error, also where that is no terminal",
    ),
    ("--quiet", "no words but errors"),
];

impl Own {
    /// What the user agreed to lose.
    pub(crate) fn consent(&self) -> Consent {
        Consent {
            erase: self.yes_erase.clone(),
            overwrite: self.overwrite.iter().map(PathBuf::from).collect(),
            dir_of_others: self.dir_of_others,
            executes: self.allow_exec,
            ..Consent::default()
        }
    }

    /// Whether notes and warnings are said. Programs take whatever stands on standard error for a failure, as fio says
    /// nothing there of what went well: unless asked for, only people at a terminal are told. What there is to say
    /// stands in the JSON in any case, and can be asked for again.
    pub(crate) fn speaks(&self) -> bool {
        !self.quiet && (self.verbose || std::io::stderr().is_terminal())
    }

    /// The first of them that says something about measuring, and nothing about a run that is kept already.
    pub(crate) fn measures(&self) -> Option<&'static str> {
        [
            ("--passes", self.passes.is_some()),
            ("--label", self.label.is_some()),
            ("--tag", !self.tags.is_empty()),
            ("--yes-erase", !self.yes_erase.is_empty()),
            ("--overwrite-file", !self.overwrite.is_empty()),
            ("--allow-exec", self.allow_exec),
        ]
        .into_iter()
        .find_map(|(name, is_given)| is_given.then_some(name))
    }

    /// Takes our own options out of the line.
    pub(crate) fn read(arguments: &[String]) -> anyhow::Result<Self> {
        let mut own = Self {
            passes: None,
            label: None,
            tags: Vec::new(),
            yes_erase: Vec::new(),
            overwrite: Vec::new(),
            dir_of_others: false,
            allow_exec: false,
            show: None,
            quiet: false,
            verbose: false,
            rest: Vec::new(),
        };
        let mut line = arguments.iter();
        while let Some(argument) = line.next() {
            if argument == "--" {
                own.rest.push(argument.clone());
                own.rest.extend(line.by_ref().cloned());
                break;
            }
            let (name, value) = match argument.split_once('=') {
                Some((name, value)) => (name, Some(value.to_owned())),
                None => (argument.as_str(), None),
            };
            let switch = match name {
                "--quiet" => Some(&mut own.quiet),
                "--verbose" => Some(&mut own.verbose),
                "--allow-exec" => Some(&mut own.allow_exec),
                "--dir-of-others" => Some(&mut own.dir_of_others),
                _ => None,
            };
            if let (Some(switch), None) = (switch, &value) {
                *switch = true;
                continue;
            }
            if !takes_value(name) {
                own.rest.push(argument.clone());
                continue;
            }
            let value = value.or_else(|| line.next().cloned());
            let value = value.filter(|value| !value.is_empty());
            let value = value.ok_or_else(|| bad(format!("option `{name}` needs a value")))?;
            own.take(name, value)?;
        }
        Ok(own)
    }

    fn take(&mut self, name: &str, value: String) -> anyhow::Result<()> {
        let wrong = |why: String| bad(format!("option `{name}` does not take `{value}`: {why}"));
        match name {
            "--passes" => {
                let passes = value.parse().ok().filter(|n| (1..=PASSES_MAX).contains(n));
                let why = || wrong(format!("expected a whole number from 1 to {PASSES_MAX}"));
                self.passes = Some(passes.ok_or_else(why)?);
            }
            "--label" => self.label = Some(bounds::run_label(&value).map_err(wrong)?),
            "--tag" => self.tags.push(args::tag(&value).map_err(wrong)?),
            "--yes-erase" => self.yes_erase.push(value),
            "--overwrite-file" => self.overwrite.push(value),
            "--show" => self.show = Some(value),
            other => return Err(bad(format!("option `{other}` has no value"))),
        }
        Ok(())
    }
}

/// Whether an option is one of ours that has a value.
fn takes_value(name: &str) -> bool {
    let named = OPTIONS.iter().map(|(option, _)| option.split_once('='));
    named.flatten().any(|(own, _)| own == name)
}

fn bad(text: String) -> anyhow::Error {
    failure(
        Exit::Usage,
        text,
        Some("`kurabe fio --help` explains the options"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> anyhow::Result<Own> {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Own::read(&arguments)
    }

    #[test]
    fn our_options_are_taken_out_wherever_they_stand() {
        let own = read(
            "--passes 3 -rw=read --label=x job.fio --tag=a=b --quiet --yes-erase=/dev/x --show=y",
        )
        .unwrap();
        assert_eq!(own.rest, ["-rw=read", "job.fio"]);
        assert_eq!(
            (own.passes, own.label.as_deref(), own.quiet),
            (Some(3), Some("x"), true)
        );
        assert_eq!(own.tags, [("a".to_owned(), "b".to_owned())]);
        assert_eq!(own.yes_erase, ["/dev/x"]);
        assert_eq!(own.show.as_deref(), Some("y"));
    }

    #[test]
    fn what_is_fios_stays() {
        let own = read("--overwrite=1 --name=a -- --passes=2").unwrap();
        assert_eq!(own.rest, ["--overwrite=1", "--name=a", "--", "--passes=2"]);
        assert_eq!((own.passes, own.measures()), (None, None));
    }

    #[test]
    fn every_option_of_the_help_is_known() {
        for (option, _) in OPTIONS {
            let value = match option.split_once('=') {
                Some(("--passes", _)) => "2",
                Some(_) => "a=b",
                None => "",
            };
            let name = option.split('=').next().unwrap();
            let line = if value.is_empty() {
                name.to_owned()
            } else {
                format!("{name}={value}")
            };
            let own = read(&line).unwrap();
            assert_eq!(own.rest, [""; 0], "{option}");
            // A report may be written where others may rename.
            let only_shows = ["--show", "--quiet", "--verbose", "--dir-of-others"].contains(&name);
            let expect = (!only_shows).then_some(name);
            assert_eq!(own.measures(), expect, "{option}");
        }
    }

    #[test]
    fn bad_values_are_named() {
        for line in [
            "--passes=0",
            "--passes",
            "--label=latest",
            "--tag=x",
            "--yes-erase=",
            "--show",
        ] {
            let error = read(line).unwrap_err().to_string();
            assert!(error.starts_with("option `--"), "{error}");
        }
    }
}
