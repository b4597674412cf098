//! What help says beside the options: commands in groups by what one wants to do, and three examples for each.
//!
//! clap has no groups of commands, so the page of all of them is a template that is made of its own data.

use clap::Command;
use std::fmt::Write as _;

/// The commands in groups.
const GROUPS: &[(&str, &[&str])] = &[
    ("Measure", &["run", "duel", "soak", "net"]),
    ("Look", &["show", "list", "doctor"]),
    ("Compare", &["compare", "rank", "offers"]),
    ("Publish", &["report"]),
    ("Keep", &["label", "rm", "export", "import", "clean"]),
    ("Other languages", &["fio", "vdbench", "iperf3"]),
    ("This program", &["completions", "licences", "help"]),
];

/// A command line, and what it does.
type Example = (&'static str, &'static str);

/// Three for each command.
const EXAMPLES: &[(&str, [Example; 3])] = &[
    (
        "run",
        [
            ("kurabe run", "a first look at all of it in three minutes"),
            (
                "kurabe run storage --dir /mnt --label disk-a",
                "the disk behind /mnt",
            ),
            (
                "kurabe run 'os.*' fs.copy-4096 --copies 1,all --passes 9",
                "some tests",
            ),
        ],
    ),
    (
        "duel",
        [
            (
                "kurabe duel storage.randread-4k --a dir=/mnt/a --b dir=/mnt/b",
                "two disks",
            ),
            (
                "kurabe duel fs.copy-4096 --b set=fs.copy-4096.bufsize=64k",
                "two settings",
            ),
            ("kurabe duel --resume latest", "go on after Ctrl-C"),
        ],
    ),
    (
        "soak",
        [
            (
                "kurabe soak cpu.sha256 --for 1h",
                "does it slow down under load?",
            ),
            (
                "kurabe soak storage.randwrite-4k --for 24h --every 10m",
                "a sample every ten minutes",
            ),
            (
                "kurabe soak os.pipe --for 10m --window 100ms",
                "short stalls",
            ),
        ],
    ),
    (
        "net",
        [
            (
                "kurabe net serve --bind 0.0.0.0",
                "for `kurabe run net --peer HOST` elsewhere, with the token that it prints",
            ),
            (
                "kurabe net serve --bind 192.0.2.1 --for 10m",
                "at one address, for ten minutes",
            ),
            (
                "kurabe net serve --bind :: --token-file FILE",
                "with the token of a file: it stays the same when it is started again",
            ),
        ],
    ),
    (
        "show",
        [
            ("kurabe show", "the latest run"),
            ("kurabe show server-a --format markdown", "to publish it"),
            ("kurabe show latest~1 --json", "for a program"),
        ],
    ),
    (
        "list",
        [
            ("kurabe list", "the latest runs"),
            (
                "kurabe list profiles",
                "what `kurabe run` may be given, and the time it takes here",
            ),
            (
                "kurabe list params storage.randread-4k",
                "what `--set` may be given",
            ),
        ],
    ),
    (
        "doctor",
        [
            (
                "kurabe doctor",
                "this machine and the disk behind this directory",
            ),
            ("kurabe doctor --dir /mnt", "and the disk behind /mnt"),
            ("kurabe doctor --json", "for a program"),
        ],
    ),
    (
        "compare",
        [
            (
                "kurabe compare server-a server-b",
                "two runs, by label or id",
            ),
            (
                "kurabe compare A1,A2,A3,A4,A5 B1,B2,B3,B4,B5",
                "groups of runs",
            ),
            (
                "kurabe compare before latest --fail-if worse --margin 5%",
                "a gate",
            ),
        ],
    ),
    (
        "rank",
        [
            (
                "kurabe rank server-a server-b server-c",
                "by the figures that people quote",
            ),
            (
                "kurabe rank unixbench@1 server-a server-b server-c",
                "by one figure",
            ),
            ("kurabe rank --json server-a server-b", "for a program"),
        ],
    ),
    (
        "offers",
        [
            (
                "kurabe offers",
                "what there is, and a month of each with tax",
            ),
            (
                "kurabe offers value storage.randread-4k:iops",
                "what a month buys",
            ),
            (
                "kurabe offers recommend --need 'storage.randread-4k:iops >= 5000'",
                "the cheapest one that is known to do",
            ),
        ],
    ),
    (
        "report",
        [
            (
                "kurabe report server-a --output report.html",
                "a page of one run, to publish",
            ),
            (
                "kurabe report server-a server-b -o report.html",
                "two runs compared, and each of them",
            ),
            (
                "kurabe report server-a server-b --format svg > compared.svg",
                "the picture alone",
            ),
        ],
    ),
    (
        "label",
        [
            (
                "kurabe label latest server-a",
                "a name for what was just measured",
            ),
            (
                "kurabe label 9f3c 'before the upgrade'",
                "by the id that `kurabe list` shows",
            ),
            ("kurabe label server-a --none", "take the name away"),
        ],
    ),
    (
        "rm",
        [
            ("kurabe rm latest", "asks first"),
            ("kurabe rm 9f3c a0a0", "by the ids that `kurabe list` shows"),
            ("kurabe rm test --yes", "without asking"),
        ],
    ),
    (
        "export",
        [
            ("kurabe export > run.json", "the latest run"),
            (
                "kurabe export server-a --output server-a.json",
                "one by its label",
            ),
            (
                "kurabe export --all --output runs",
                "every run, each to a file in the directory runs",
            ),
        ],
    ),
    (
        "import",
        [
            (
                "kurabe import server-a.json server-b.json",
                "what other machines measured",
            ),
            ("kurabe import - < server-a.json", "from standard input"),
            (
                "kurabe import run.json --store elsewhere.db",
                "into another store",
            ),
        ],
    ),
    (
        "clean",
        [
            ("kurabe clean --dry-run", "only look"),
            (
                "kurabe clean --dir /mnt",
                "in /mnt, and where kept runs worked",
            ),
            (
                "kurabe clean --db postgres://bob@10.0.0.7/bench",
                "in that database too",
            ),
        ],
    ),
    (
        "fio",
        [
            ("kurabe fio job.fio", "a job file"),
            (
                "kurabe fio --name=a --rw=randread --size=1g --runtime=30 --time_based",
                "a job; its file of 1 GiB, `a.0.0`, stays here",
            ),
            (
                "kurabe fio --output-format=json --output=result.json job.fio",
                "for a program",
            ),
        ],
    ),
    (
        "vdbench",
        [
            ("kurabe vdbench -f params", "a parameter file"),
            (
                "kurabe vdbench -f params -s lun=/dev/vdb",
                "what its runs would be, with `$lun` in it",
            ),
            (
                "kurabe vdbench -f params -o results --passes 9",
                "with intervals, and vdbench's own files in `results`",
            ),
        ],
    ),
    (
        "iperf3",
        [
            (
                "kurabe iperf3 -c 192.0.2.7",
                "ten seconds from here to there",
            ),
            (
                "kurabe iperf3 -c 192.0.2.7 -R -P 4 -O 2 -t 20",
                "from there to here, four streams; the first two seconds do not count",
            ),
            (
                "kurabe iperf3 -c 192.0.2.7 --bidir -J > result.json",
                "both ways, for a program",
            ),
        ],
    ),
    (
        "completions",
        [
            (
                "kurabe completions bash > ~/.local/share/bash-completion/completions/kurabe",
                "bash, after `mkdir -p ~/.local/share/bash-completion/completions`",
            ),
            (
                "kurabe completions zsh > ~/.zfunc/_kurabe",
                "zsh, after `mkdir -p ~/.zfunc`; .zshrc has `fpath+=~/.zfunc` before `compinit`",
            ),
            (
                "kurabe completions fish > ~/.config/fish/completions/kurabe.fish",
                "fish, after `mkdir -p ~/.config/fish/completions`",
            ),
        ],
    ),
    (
        "licences",
        [
            ("kurabe licences", "all of them"),
            ("kurabe licences | less", "page by page"),
            ("kurabe licences > LICENCES", "into a file"),
        ],
    ),
];

/// The command line with what help says of it.
pub(crate) fn with_help(command: Command) -> Command {
    let page = groups(&command);
    let commands = command
        .get_subcommands()
        .map(|sub| sub.get_name().to_owned());
    let commands: Vec<String> = commands.collect();
    let command = command.help_template(page);
    commands.into_iter().fold(command, |command, name| {
        let text = examples(&name);
        command.mut_subcommand(name, |sub| sub.after_help(text))
    })
}

/// The examples of a command.
pub(crate) fn of(command: &str) -> impl Iterator<Item = &'static Example> {
    let of = EXAMPLES.iter().filter(move |(name, _)| *name == command);
    of.flat_map(|(_, examples)| examples)
}

/// The same below their heading.
fn examples(command: &str) -> String {
    let mut text = heading("Examples");
    for (line, what) in of(command) {
        push(&mut text, &format!("\n  {line}\n          {what}"));
    }
    text
}

/// The page of all commands, as clap takes it.
fn groups(command: &Command) -> String {
    let mut page = String::from("{about-with-newline}\n{usage-heading} {usage}\n");
    for (group, names) in GROUPS {
        push(&mut page, &format!("\n{}\n", heading(group)));
        for name in *names {
            let about = command.find_subcommand(name).and_then(Command::get_about);
            let about =
                about.map_or_else(|| "Say more of a command".to_owned(), ToString::to_string);
            push(&mut page, &format!("  {name:<13}{about}\n"));
        }
    }
    push(&mut page, &format!("\n{}\n{{options}}", heading("Options")));
    page
}

/// A heading as clap writes its own; where there is no terminal it takes the signs away.
fn heading(text: &str) -> String {
    format!("\u{1b}[1m\u{1b}[4m{text}:\u{1b}[0m")
}

fn push(text: &mut String, more: &str) {
    text.write_str(more)
        .expect("writing to a string cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Args;
    use clap::Parser;

    /// The words of a line of a shell, as far as examples have such: quotes, and what goes into a file or another
    /// program is none of ours.
    fn words(line: &str) -> Vec<String> {
        let mut words = Vec::new();
        for (index, part) in line.split('\'').enumerate() {
            if index % 2 == 1 {
                words.push(part.to_owned());
                continue;
            }
            let own = part.split(['>', '<', '|']).next().unwrap();
            words.extend(own.split_whitespace().map(str::to_owned));
            if own.len() < part.len() {
                break;
            }
        }
        words
    }

    #[test]
    fn who_is_to_write_into_a_directory_of_the_home_is_told_to_make_it() {
        let written = EXAMPLES.iter().flat_map(|(_, examples)| examples);
        let mut homes = 0;
        for (line, what) in written {
            let Some((_, file)) = line.split_once("> ~/") else {
                continue;
            };
            let (dir, _) = file.rsplit_once('/').unwrap();
            assert!(what.contains(&format!("`mkdir -p ~/{dir}`")), "{line}");
            homes += 1;
        }
        assert_eq!(homes, 3);
    }

    #[test]
    fn every_command_stands_in_one_group_and_has_three_examples_that_parse() {
        let command = crate::command();
        let hidden = |sub: &&Command| !sub.is_hide_set();
        let mut commands: Vec<&str> = command
            .get_subcommands()
            .filter(hidden)
            .map(Command::get_name)
            .collect();
        for (name, examples) in EXAMPLES {
            assert!(commands.contains(name), "{name}");
            for (line, _) in examples {
                let words = words(line);
                assert_eq!(words[..2], ["kurabe", name], "{line}");
                let parsed = Args::try_parse_from(&words);
                assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
            }
        }
        assert_eq!(EXAMPLES.len(), commands.len());
        commands.push("help");
        let mut grouped: Vec<&str> = GROUPS
            .iter()
            .flat_map(|(_, names)| *names)
            .copied()
            .collect();
        grouped.sort_unstable();
        commands.sort_unstable();
        assert_eq!(grouped, commands);
    }
}
