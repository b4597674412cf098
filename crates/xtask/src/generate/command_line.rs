//! `docs/cli.md`, the manual pages and the shell completions, from the command line that the program parses.
//!
//! The page is written from the arguments' own data and not from the rendered help, because that one is wrapped to
//! the terminal and shows the environment of whoever renders it.

use super::{Files, push};
use anyhow::Context;
use clap::{Arg, ArgAction, Command};
use clap_complete::Shell;
use report::formats::{FORMATS, Kind};

/// Adds every file that comes from the command line.
pub(crate) fn add(files: &mut Files) -> anyhow::Result<()> {
    let mut command = ::cli::command().disable_help_subcommand(true);
    // Gives every subcommand its full name and the options it inherits.
    command.build();
    files.insert("docs/cli.md".to_owned(), page(&command));
    manual(files, &command, "kurabe")?;
    for (shell, name) in [
        (Shell::Bash, "kurabe.bash"),
        (Shell::Zsh, "_kurabe"),
        (Shell::Fish, "kurabe.fish"),
    ] {
        let script = ::cli::complete::script(shell).context("make a completion script")?;
        let script = String::from_utf8(script).context("read the completion script")?;
        files.insert(format!("docs/completions/{name}"), script);
    }
    Ok(())
}

/// One manual page for `command`, and one for each of its subcommands.
fn manual(files: &mut Files, command: &Command, name: &str) -> anyhow::Result<()> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone())
        .source(concat!("kurabe ", env!("CARGO_PKG_VERSION")))
        .manual("kurabe")
        .render(&mut text)
        .with_context(|| format!("write the manual page of `{name}`"))?;
    let text = String::from_utf8(text).context("read the manual page")?;
    files.insert(format!("docs/man/{name}.1"), text);
    for sub in visible(command) {
        manual(files, sub, &format!("{name}-{}", sub.get_name()))?;
    }
    Ok(())
}

fn page(command: &Command) -> String {
    let mut page = String::from(
        "# Command line\n\n\
         Every command and option. `kurabe help COMMAND` prints the same on a terminal.\n\n\
         This page is generated from the program by `cargo xtask gen`.\n",
    );
    let global = |arg: &&Arg| arg.is_global_set();
    section(
        &mut page,
        "## Options of every command",
        command.get_arguments().filter(global),
    );
    formats(&mut page);
    for sub in visible(command) {
        commands(&mut page, sub, &format!("kurabe {}", sub.get_name()));
    }
    page
}

/// The table of formats, and of what each of them shows.
fn formats(page: &mut String) {
    push(
        page,
        "\n## Formats\n\n| format | what it is | shows |\n|---|---|---|\n",
    );
    for format in FORMATS {
        let kinds = Kind::ALL.into_iter().filter(|&kind| format.shows(kind));
        let kinds: Vec<&str> = kinds.map(Kind::words).collect();
        let (name, about, kinds) = (format.name, format.about, kinds.join(", "));
        push(page, &format!("| `{name}` | {about} | {kinds} |\n"));
    }
}

fn commands(page: &mut String, command: &Command, name: &str) {
    push(page, &format!("\n## `{name}`\n"));
    let about = command.get_long_about().or_else(|| command.get_about());
    if let Some(about) = about {
        push(
            page,
            &format!("\n{}.\n", about.to_string().trim_end_matches('.')),
        );
    }
    let own = |arg: &&Arg| !arg.is_global_set() && !arg.is_hide_set() && arg.get_id() != "help";
    let mut usage = name.to_owned();
    if command
        .get_arguments()
        .any(|arg| own(&arg) && !arg.is_positional())
    {
        usage.push_str(" [OPTIONS]");
    }
    for arg in command.get_positionals() {
        usage.push(' ');
        usage.push_str(&shown(arg));
    }
    push(page, &format!("\n```text\n{usage}\n```\n"));
    let mut groups = Vec::new();
    for arg in command.get_arguments().filter(own) {
        if !groups.contains(&group(arg)) {
            groups.push(group(arg));
        }
    }
    for name in groups {
        let heading = if name.is_empty() {
            String::new()
        } else {
            format!("{name}:")
        };
        let in_it = |arg: &&Arg| own(arg) && group(arg) == name;
        section(page, &heading, command.get_arguments().filter(in_it));
    }
    if let Some(examples) = command.get_after_help() {
        let examples = examples.to_string();
        let lines = examples
            .lines()
            .skip(1)
            .map(|line| line.trim_start_matches(' '));
        let lines: Vec<String> = lines.map(str::to_owned).collect();
        push(page, "\nExamples:\n\n");
        for pair in lines.chunks_exact(2) {
            push(page, &format!("- `{}`: {}\n", pair[0], pair[1]));
        }
    }
    for sub in visible(command) {
        commands(page, sub, &format!("{name} {}", sub.get_name()));
    }
}

/// The group of options that help shows it in; empty where it is in none.
fn group(arg: &Arg) -> &str {
    arg.get_help_heading().unwrap_or_default()
}

/// A list of arguments under a heading; nothing where there are none.
fn section<'a>(page: &mut String, heading: &str, arguments: impl Iterator<Item = &'a Arg>) {
    let mut arguments = arguments.peekable();
    if arguments.peek().is_none() {
        return;
    }
    let heading = if heading.is_empty() {
        String::new()
    } else {
        format!("\n{heading}\n")
    };
    push(page, &format!("{heading}\n"));
    for arg in arguments {
        let help = arg.get_long_help().or_else(|| arg.get_help());
        let help = help.map(ToString::to_string).unwrap_or_default();
        push(
            page,
            &format!("- `{}`: {}{}\n", shown(arg), one_line(&help), facts(arg)),
        );
    }
}

/// The argument as a usage line has it: `--budget TIME`, `WHAT...`.
fn shown(arg: &Arg) -> String {
    let names: Vec<String> = arg
        .get_value_names()
        .unwrap_or_default()
        .iter()
        .map(ToString::to_string)
        .collect();
    let value = names.join(" ");
    if arg.is_positional() {
        let many = matches!(arg.get_action(), ArgAction::Append);
        let value = if many { format!("{value}...") } else { value };
        return if arg.is_required_set() {
            value
        } else {
            format!("[{value}]")
        };
    }
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    let flags: Vec<String> = [short, long].into_iter().flatten().collect();
    let takes_value = arg.get_action().takes_values();
    match (flags.join(", "), takes_value) {
        (flags, true) => format!("{flags} {value}"),
        (flags, false) => flags,
    }
}

/// What values the argument takes, its default, and the variable that may replace it.
fn facts(arg: &Arg) -> String {
    let mut facts = Vec::new();
    let values: Vec<String> = arg
        .get_possible_values()
        .iter()
        .filter(|value| !value.is_hide_set())
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if arg.get_action().takes_values() && !values.is_empty() {
        facts.push(format!("one of {}", values.join(", ")));
    }
    if let Some(default) = arg.get_default_values().first()
        && arg.get_action().takes_values()
    {
        facts.push(format!("default `{}`", default.to_string_lossy()));
    }
    if let Some(variable) = arg.get_env() {
        facts.push(format!("environment `{}`", variable.to_string_lossy()));
    }
    if facts.is_empty() {
        String::new()
    } else {
        format!(" ({})", facts.join("; "))
    }
}

fn visible(command: &Command) -> impl Iterator<Item = &Command> {
    command
        .get_subcommands()
        .filter(|sub| !sub.is_hide_set() && sub.get_name() != "help")
}

fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_and_option_has_its_place_on_the_page() {
        let mut files = Files::new();
        add(&mut files).unwrap();
        let page = &files["docs/cli.md"];
        let mut command = ::cli::command();
        command.build();
        assert!(command.get_subcommands().count() > 3);
        for sub in visible(&command) {
            assert!(page.contains(&format!("## `kurabe {}`", sub.get_name())));
            assert!(files.contains_key(&format!("docs/man/kurabe-{}.1", sub.get_name())));
            for arg in sub.get_arguments().filter(|arg| arg.get_id() != "help") {
                assert!(
                    page.contains(&format!("`{}`: ", shown(arg))),
                    "{}",
                    shown(arg)
                );
            }
        }
    }
}
