//! The command line: arguments in, one command, an exit code out.
//!
//! Data goes to standard output, words and progress to standard error. This is the only crate that prints. One file
//! per command under `cmd/`; what all of them need (store, language, output) is in [`context`].

mod alone;
pub mod args;
mod before;
mod catalogue;
mod cmd;
pub mod complete;
mod consent;
mod context;
mod directory;
mod empty;
mod exit;
mod foreign;
mod joined;
mod kind;
mod known;
mod loadfile;
mod new_file;
mod new_run;
mod output;
mod own_file;
mod peer;
mod planned;
mod progress;
mod rescue;
mod resume;
mod server;
mod server_room;
mod session;
mod targets;
mod usage;

use crate::args::{Args, Command};
use crate::context::Context;
use crate::exit::Exit;
use clap::{CommandFactory, FromArgMatches};
use std::ffi::OsStr;
use std::io::Write as _;
use std::process::ExitCode;

/// The whole command line, for generated documentation.
pub fn command() -> clap::Command {
    args::help::with_help(Args::command())
}

/// The words that were typed. The help of `fio` and `iperf3` is that of their own languages, however it is asked for.
fn typed() -> Vec<std::ffi::OsString> {
    let words: Vec<_> = std::env::args_os().collect();
    match words.as_slice() {
        [program, help, other] if help == "help" && (other == "fio" || other == "iperf3") => {
            vec![program.clone(), other.clone(), "--help".into()]
        }
        _ => words,
    }
}

/// What was typed.
fn parsed() -> Result<Args, clap::Error> {
    let mut command = command();
    let mut matches = command.try_get_matches_from_mut(typed())?;
    Args::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// The program.
pub fn main() -> ExitCode {
    let began = sys::clock::monotonic();
    // Before anything is written: a limit on the size of files is to be an error with a name.
    if let Err(error) = sys::signal::ignore_sigxfsz() {
        output::say(&format!("error: ignore SIGXFSZ: {error}"));
        return Exit::Unsupported.into();
    }
    if let Err(short) = sys::limits::suffice() {
        output::say(&format!("error: {short}"));
        return Exit::Unsupported.into();
    }
    start(began)
}

/// The program, where it has what it takes. By itself, because its frame alone is too large for a small stack.
#[inline(never)]
fn start(began: u64) -> ExitCode {
    // Before anything else, clap included: a worker is small, and its start is part of a round.
    if std::env::args_os().nth(1).as_deref() == Some(OsStr::new(engine::worker::WORKER_WORD)) {
        return worker();
    }
    match complete::answered() {
        Ok(false) => {}
        Ok(true) => return Exit::Ok.into(),
        Err(error) => return usage(error),
    }
    let args = match parsed() {
        Ok(args) => args,
        Err(error) => return usage(error),
    };
    let context = Context::new(&args.global, began);
    ended(dispatch(&context, args.command)).into()
}

/// How the program ends, said where something went wrong.
fn ended(result: anyhow::Result<Exit>) -> Exit {
    match result {
        Ok(exit) => exit,
        // Whoever reads our output has seen enough; that is no error of ours.
        Err(error) if exit::is_broken_pipe(&error) => Exit::Ok,
        Err(error) => {
            output::say(&format!("error: {error:#}"));
            Exit::of(&error)
        }
    }
}

fn dispatch(context: &Context, command: Command) -> anyhow::Result<Exit> {
    match command {
        Command::Run(args) => cmd::run::run(context, &args),
        Command::List(args) => cmd::list::run(context, &args),
        Command::Show(args) => cmd::show::run(context, &args),
        Command::Compare(args) => cmd::compare::run(context, &args),
        Command::Rank(args) => cmd::rank::run(context, &args),
        Command::Offers(args) => cmd::offers::run(context, &args),
        Command::Duel(args) => cmd::duel::run(context, &args),
        Command::Soak(args) => cmd::soak::run(context, &args),
        Command::Fio(args) => cmd::fio::run(context, &args),
        Command::Vdbench(args) => cmd::vdbench::run(context, &args),
        Command::Iperf3(args) => cmd::iperf3::run(&args),
        Command::Net(args) => cmd::net::run(&args),
        Command::Label(args) => cmd::label::run(context, &args),
        Command::Rm(args) => cmd::rm::run(context, &args),
        Command::Report(args) => cmd::report::run(context, &args),
        Command::Export(args) => cmd::export::run(context, &args),
        Command::Import(args) => cmd::import::run(context, &args),
        Command::Doctor(args) => cmd::doctor::run(context, &args),
        Command::Clean(args) => cmd::clean::run(context, &args),
        Command::Licences => cmd::licences::run(),
        Command::Completions { shell } => cmd::completions::run(shell),
    }
}

/// Help and version are no errors; everything else that clap refuses is wrong usage.
fn usage(error: clap::Error) -> ExitCode {
    // Not `args`, which panics at what is no Unicode; and the value of an option before the command is no command.
    let mut words = std::env::args_os()
        .skip(1)
        .filter_map(|word| word.into_string().ok());
    let commands = command();
    let is_command = |word: &String| commands.find_subcommand(word).is_some();
    let error = usage::amended(error, words.find(is_command).as_deref());
    let printed = error.print();
    if error.use_stderr() {
        return Exit::Usage.into();
    }
    let printed = printed.and_then(|()| std::io::stdout().flush());
    ended(output::printed(printed).map(|()| Exit::Ok)).into()
}

fn worker() -> ExitCode {
    // Whom nobody named is nobody's parent.
    let supervisor = std::env::args_os().nth(2);
    let supervisor = supervisor.and_then(|pid| pid.to_str()?.parse().ok());
    let done = sys::process::be_worker(supervisor.unwrap_or(0))
        .and_then(|()| sys::signal::ignore_sigpipe())
        .map_err(engine::worker::WorkerError::from)
        .and_then(|()| {
            engine::worker::run(std::io::stdin().lock(), std::io::stdout(), workloads::find)
        });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            output::say(&error.to_string());
            ExitCode::FAILURE
        }
    }
}
