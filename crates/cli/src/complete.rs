//! What a shell may put in the place of a word that is half typed: tests, profiles, and the runs that are kept.
//!
//! The shell's script asks this program, through [`VARIABLE`], each time; so what was measured a moment ago is known,
//! in the store that `KURABE_STORE` names or where it is by itself. Nothing is said of what cannot be read: this is no
//! place for errors.

use crate::args::Global;
use crate::context::Context;
use clap::Command;
use clap_complete::Shell;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use clap_complete::env::{CompleteEnv, Shells};
use dialects::printable::printable;

/// Set by a shell that asks, to its name.
const VARIABLE: &str = "KURABE_COMPLETE";

/// Runs that are proposed; more is what `kurabe list` is for.
const RUNS: u32 = 50;

/// Answers a shell that asks; false where none does, and the program is to do what it was called for.
pub(crate) fn answered() -> clap::error::Result<bool> {
    let here = std::env::current_dir().ok();
    environment().try_complete(std::env::args_os(), here.as_deref())
}

fn environment() -> CompleteEnv<'static, fn() -> Command> {
    CompleteEnv::with_factory(crate::command as fn() -> Command).var(VARIABLE)
}

/// The script by which this shell asks.
pub fn script(shell: Shell) -> std::io::Result<Vec<u8>> {
    let name = shell.to_string();
    let shells = Shells::builtins();
    let known = shells
        .completer(&name)
        .ok_or(std::io::ErrorKind::Unsupported)?;
    let mut script = Vec::new();
    known.write_registration(VARIABLE, "kurabe", "kurabe", "kurabe", &mut script)?;
    Ok(if shell == Shell::Zsh {
        at_once(&String::from_utf8_lossy(&script)).into_bytes()
    } else {
        script
    })
}

/// The script for zsh as `_kurabe` in one of its directories of functions: zsh reads it at the first tab, and what is
/// only registered then would answer from the second one on.
fn at_once(script: &str) -> String {
    let completes = "_clap_dynamic_completer_kurabe";
    let registers = format!("compdef {completes} kurabe");
    let both = format!(
        "if [[ $funcstack[1] = _kurabe ]]; then\n    {completes} \"$@\"\nelse\n    {registers}\nfi"
    );
    script.replace(&registers, &both)
}

/// Profiles and tests, for an argument.
pub(crate) fn to_measure() -> ArgValueCandidates {
    ArgValueCandidates::new(all_to_measure)
}

/// Tests, likewise.
pub(crate) fn tests() -> ArgValueCandidates {
    ArgValueCandidates::new(all_tests)
}

/// Kept runs, likewise.
pub(crate) fn runs() -> ArgValueCandidates {
    ArgValueCandidates::new(kept_runs)
}

fn all_to_measure() -> Vec<CompletionCandidate> {
    let profiles = workloads::profiles::all().unwrap_or_default();
    let profiles = profiles
        .iter()
        .map(|profile| candidate(&profile.name, &profile.title));
    profiles.chain(all_tests()).collect()
}

/// Whether a test, whose result is known before, tests the program itself: such are run by name, and not proposed.
pub(crate) fn is_for_developers(test: &str) -> bool {
    test.starts_with("selftest.")
}

fn all_tests() -> Vec<CompletionCandidate> {
    let tests = workloads::ALL
        .iter()
        .flat_map(|workload| workload.spec().tests);
    let tests = tests.filter(|test| !is_for_developers(test.name));
    tests.map(|test| candidate(test.name, test.title)).collect()
}

/// Labels, each once, and short ids, the latest first. A label that a shell would not take as the word that it is, or
/// the program as an option, stands beside the id, and is not proposed.
fn kept_runs() -> Vec<CompletionCandidate> {
    let context = Context::new(&Global::default(), 0);
    let store = context.store_to_read().ok();
    let lines = store
        .and_then(|store| store.latest(RUNS).ok())
        .unwrap_or_default();
    let mut candidates = vec![candidate("latest", "the run that was measured last")];
    for line in &lines {
        let what = format!(
            "{} {}",
            report::number::minute(line.started),
            line.what.join(" ")
        );
        let what = match &line.label {
            Some(label) if is_plain(label) => {
                candidates.push(candidate(label, &what));
                what
            }
            Some(label) => format!("{label}  {what}"),
            None => what,
        };
        candidates.push(candidate(&line.short, &what));
    }
    candidates
}

/// Whether a shell takes this for one word as it stands, whatever it does with what is proposed to it.
fn is_plain(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+@=-".contains(c);
    !word.starts_with('-') && word.chars().all(plain)
}

fn candidate(value: &str, help: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(printable(help).into()))
}
