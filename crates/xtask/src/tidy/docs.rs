//! Rules for documents: links lead somewhere, and commands are commands.

use super::{File, Finding, Tree};
use crate::TASKS;

/// Every relative link in a Markdown file leads to a file or directory of the project.
pub(crate) fn links_lead_somewhere(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("md") {
        for (line, text) in outside_fences(&file.text) {
            for target in links(text) {
                let path = resolve(&file.path, target);
                if !path.as_deref().is_some_and(|path| tree.has(path)) {
                    findings.push(file.finding(line, format!("the link `{target}` leads nowhere")));
                }
            }
        }
    }
    findings
}

/// The changelog has a section to which a change can be added.
pub(crate) fn changelog_has_a_place_for_the_next_release(tree: &Tree) -> Vec<Finding> {
    let heading = |line: &str| line.starts_with("## ") && line.contains("Unreleased");
    match tree.get("CHANGELOG.md") {
        Some(file) if file.text.lines().any(heading) => Vec::new(),
        Some(file) => vec![file.finding(0, "has no section `## Unreleased`")],
        None => vec![missing("CHANGELOG.md")],
    }
}

/// The page that says which tests show each of its rows.
const SHOWN: &str = "docs/method/room.md";

/// The last column of each row of [`SHOWN`] says what shows it: every test that it names exists, and a row without a
/// test has its reason.
pub(crate) fn rows_name_the_tests_that_show_them(tree: &Tree) -> Vec<Finding> {
    let Some(page) = tree.get(SHOWN) else {
        return vec![missing(SHOWN)];
    };
    let mut findings = Vec::new();
    let rows = (1..).zip(page.text.lines());
    let rows = rows.filter(|(_, line)| line.starts_with("| ")).skip(1);
    for (at, row) in rows {
        let cells: Vec<&str> = row.trim_end_matches(" |").split(" | ").collect();
        let shown = cells.last().copied().unwrap_or_default().trim();
        if cells.len() < 5 || shown.is_empty() {
            findings.push(page.finding(at, "does not say what shows it"));
        }
        for name in shown.split('`').skip(1).step_by(2) {
            let head = format!("fn {name}(");
            let mut sources = tree.with_extension("rs");
            if !sources.any(|file| file.text.contains(&head)) {
                findings.push(page.finding(at, format!("names the test `{name}`, which is none")));
            }
        }
    }
    findings
}

/// The README says how to measure, and how to check a change.
pub(crate) fn readme_says_how_to_start(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in ["README.md", "README.ja.md"] {
        let Some(file) = tree.get(name) else {
            findings.push(missing(name));
            continue;
        };
        for command in ["cargo run --release -- run", "cargo xtask ci"] {
            if !file.text.contains(command) {
                findings.push(file.finding(0, format!("does not name `{command}`")));
            }
        }
    }
    findings
}

/// Every command that a document shows for typing is one that the program, this one or the laboratory takes.
pub(crate) fn commands_are_what_the_program_takes(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("md") {
        for (line, command) in commands(&file.text) {
            if let Err(why) = accepts(tree, command) {
                findings.push(file.finding(line, format!("`{command}` is no command: {why}")));
            }
        }
    }
    findings
}

/// Words of a page on a method that speak of something measured or simulated: the model of a CPU, and how often.
const MEASURED: [&str; 7] = [
    "Xeon",
    "EPYC",
    "Ryzen",
    "Sapphire Rapids",
    "median of pairs",
    "repetitions",
    "imulat",
];

/// What such a section says of where its figures come from: data that are kept, or a command that makes them anew.
const DATA: [&str; 5] = [
    "/results/",
    "`cargo test ",
    "`cargo nextest ",
    "`cargo xtask ",
    "`cargo lab ",
];

/// A section of a page on a method that speaks of measurements or simulations says where their data are.
pub(crate) fn measured_sections_have_their_data(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree
        .with_extension("md")
        .filter(|file| file.path.starts_with("docs/method/"))
    {
        let (mut section, mut from) = (String::new(), 0);
        for (line, text) in outside_fences(&file.text).chain([(0, "#")]) {
            if text.starts_with('#') {
                let has = |word: &str| section.contains(word);
                let measured = MEASURED.iter().find(|word| has(word));
                if let Some(word) = measured.filter(|_| !DATA.iter().any(|word| has(word))) {
                    let what = format!(
                        "a section with `{word}` and neither a link to results nor a command"
                    );
                    findings.push(file.finding(from, what));
                }
                section.clear();
                from = line;
            }
            section.push_str(text);
            section.push('\n');
        }
    }
    findings
}

/// Every directory of results has the date in its name, a page with a command, and a page elsewhere that leads to it.
pub(crate) fn results_say_how_they_were_made(tree: &Tree) -> Vec<Finding> {
    let mut names: Vec<&str> = tree
        .files
        .iter()
        .filter_map(|file| file.path.strip_prefix("results/")?.split_once('/'))
        .map(|(name, _)| name)
        .collect();
    names.dedup();
    let mut findings = Vec::new();
    for name in names {
        let path = format!("results/{name}/README.md");
        let Some(page) = tree.get(&path) else {
            findings.push(missing(&path));
            continue;
        };
        if !begins_with_a_date(name) {
            findings.push(page.finding(
                0,
                "lies in a directory whose name does not begin with its date",
            ));
        }
        if !["kurabe ", "cargo "]
            .iter()
            .any(|word| page.text.contains(word))
        {
            findings.push(page.finding(0, "names no command that made it"));
        }
        let inside = format!("results/{name}/");
        let leads = |file: &File| {
            !file.path.starts_with(&inside) && file.text.contains(&format!("{name}/"))
        };
        if !tree.with_extension("md").any(leads) {
            findings.push(page.finding(0, "is linked from nowhere"));
        }
    }
    findings
}

fn begins_with_a_date(name: &str) -> bool {
    let fits = |(c, form): (char, char)| {
        if form == '0' {
            c.is_ascii_digit()
        } else {
            c == form
        }
    };
    name.len() > "0000-00-00-".len() && name.chars().zip("0000-00-00-".chars()).all(fits)
}

/// What the first pages show as printed by the program is kept with the results.
pub(crate) fn transcripts_are_kept(tree: &Tree) -> Vec<Finding> {
    const MARK: &str = "<!-- transcript -->\n```text\n";
    let mut findings = Vec::new();
    for file in ["README.md", "README.ja.md"]
        .iter()
        .filter_map(|name| tree.get(name))
    {
        for (before, rest) in file
            .text
            .match_indices(MARK)
            .map(|(at, _)| file.text.split_at(at))
        {
            let line = 1 + before.lines().count();
            let block = rest
                .strip_prefix(MARK)
                .and_then(|rest| rest.split_once("```"));
            let is_kept = |kept: &File| {
                kept.path.starts_with("results/")
                    && block.is_some_and(|(text, _)| kept.text == text)
            };
            if !tree.files.iter().any(is_kept) {
                findings.push(file.finding(line, "shows what stands in no file of `results`"));
            }
        }
    }
    findings
}

fn missing(path: &str) -> Finding {
    File {
        path: path.to_owned(),
        text: String::new(),
    }
    .finding(0, "is missing")
}

/// The lines outside of code blocks, numbered from 1.
pub(super) fn outside_fences(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    text.lines().enumerate().filter_map(move |(index, line)| {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
            return None;
        }
        (!fenced).then_some((index + 1, line))
    })
}

/// The targets of the links on a line that lead into the project.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split('#').next().unwrap_or(target))
        .filter(|target| !target.is_empty() && !target.contains("://"))
        .filter(|target| !target.starts_with("mailto:"))
}

/// The path from the top of the workspace that `target` in the file `from` means; `None` where it leaves it.
fn resolve(from: &str, target: &str) -> Option<String> {
    let mut names: Vec<&str> = from.split('/').collect();
    names.pop();
    for name in target.split('/') {
        match name {
            "" | "." => {}
            ".." => {
                names.pop()?;
            }
            name => names.push(name),
        }
    }
    Some(names.join("/"))
}

/// The lines of code blocks that a reader would type, numbered from 1. In a block of shell lines these are the
/// lines after a prompt, or all where there is no prompt; in a transcript without a language, those after a prompt.
fn commands(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut block: Vec<(usize, &str)> = Vec::new();
    let mut language: Option<&str> = None;
    for (index, line) in text.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), language) {
            (Some(name), None) => language = Some(name.trim()),
            (Some(_), Some(name)) => {
                let prompted: Vec<(usize, &str)> = block
                    .iter()
                    .filter_map(|(at, line)| Some((*at, line.trim_start().strip_prefix("$ ")?)))
                    .collect();
                if prompted.is_empty() && matches!(name, "sh" | "bash" | "console" | "shell") {
                    found.extend(block.iter().map(|(at, line)| (*at, line.trim())));
                } else {
                    found.extend(prompted);
                }
                block.clear();
                language = None;
            }
            (None, Some(_)) => block.push((index + 1, line)),
            (None, None) => {}
        }
    }
    found
}

/// Where the laboratory's tasks are listed. It uses this crate, which cannot use it back.
const LAB: &str = "crates/lab/src/main.rs";

/// Whether `line` is a command of ours that parses; lines that are not of ours are fine.
pub(super) fn accepts(tree: &Tree, line: &str) -> Result<(), String> {
    let mut quoted = false;
    let ends = |c: char| {
        quoted ^= c == '\'';
        !quoted && "|>&;#".contains(c)
    };
    let simple = line.split(ends).next().unwrap_or(line);
    let words = words(simple);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["cargo", "xtask", task, ..] => known(task, TASKS.iter().any(|known| known.name == *task)),
        ["cargo", "lab", task, ..] => {
            let listed = format!("name: \"{task}\",");
            known(
                task,
                tree.get(LAB).is_some_and(|lab| lab.text.contains(&listed)),
            )
        }
        ["cargo", "run", "--release", "--", arguments @ ..] => parses(arguments),
        ["sudo", program, arguments @ ..] | [program, arguments @ ..]
            if program.rsplit('/').next() == Some("kurabe") =>
        {
            parses(arguments)
        }
        _ => Ok(()),
    }
}

fn known(task: &str, is_known: bool) -> Result<(), String> {
    is_known
        .then_some(())
        .ok_or_else(|| format!("there is no task `{task}`"))
}

fn parses(arguments: &[&str]) -> Result<(), String> {
    use clap::error::ErrorKind::{
        DisplayHelp, DisplayHelpOnMissingArgumentOrSubcommand, DisplayVersion,
    };
    let words = ["kurabe"].into_iter().chain(arguments.iter().copied());
    match cli::command().try_get_matches_from(words) {
        Ok(_) => Ok(()),
        Err(error) => match error.kind() {
            DisplayHelp | DisplayVersion | DisplayHelpOnMissingArgumentOrSubcommand => Ok(()),
            _ => {
                let text = error.to_string();
                Err(text.lines().next().unwrap_or_default().to_owned())
            }
        },
    }
}

/// The words of a shell line; quotes hold words together, and nothing else is special.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut quote = None;
    let mut begun = false;
    for c in line.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                begun = true;
            }
            (None, c) if c.is_whitespace() => {
                if begun {
                    words.push(std::mem::take(&mut word));
                    begun = false;
                }
            }
            (_, c) => {
                word.push(c);
                begun = true;
            }
        }
    }
    if begun {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{finds, tree};
    use super::*;

    #[test]
    fn links_that_lead_nowhere_are_found() {
        let page = "[a](b.md) [c](../README.md#start)\n[d](https://example.com/x) [e](#here)\n\
                    [f](gone.md) [g](sub)\n```\n[h](gone.md)\n```\n[i](../../outside.md)\n";
        let files = [
            ("docs/a.md", page),
            ("docs/b.md", ""),
            ("docs/sub/x.png", ""),
            ("README.md", ""),
        ];
        let found: Vec<usize> = links_lead_somewhere(&tree(&files))
            .iter()
            .map(|finding| finding.line)
            .collect();
        assert_eq!(found, [3, 7]);
    }

    #[test]
    fn a_changelog_without_a_next_section_is_found() {
        let rule = changelog_has_a_place_for_the_next_release;
        finds(rule, "CHANGELOG.md", "# Changelog\n\n## Unreleased\n", &[]);
        finds(rule, "CHANGELOG.md", "# Changelog\n\n## 0.1.0\n", &[0]);
        finds(rule, "other.md", "", &[0]);
    }

    #[test]
    fn rows_whose_tests_are_none_or_not_named_are_found() {
        let head = "| a | b | c | d | shown by |\n|---|---|---|---|---|\n";
        let rows = "| x | x | x | x | `is_there` |\n| x | x | x | x | `is_gone` |\n| x | x | x | x |  |\n\
                    | x | x | x | x | it cannot be seen |\n| x | x | x |\n";
        let page = format!("{head}{rows}");
        let files = [(SHOWN, page.as_str()), ("a.rs", "fn is_there() {}")];
        let found = rows_name_the_tests_that_show_them(&tree(&files));
        let lines: Vec<usize> = found.iter().map(|finding| finding.line).collect();
        assert_eq!(lines, [4, 5, 7]);
    }

    #[test]
    fn a_readme_without_its_two_commands_is_found() {
        let whole = "cargo run --release -- run\ncargo xtask ci\n";
        let both = [("README.md", whole), ("README.ja.md", whole)];
        assert_eq!(readme_says_how_to_start(&tree(&both)), []);
        assert_eq!(
            readme_says_how_to_start(&tree(&[("README.md", "cargo xtask ci")])).len(),
            2
        );
    }

    #[test]
    fn figures_without_their_data_are_found() {
        let rule = measured_sections_have_their_data;
        let page =
            "# A\n\nOf a machine (Xeon): 3.\n\n## B\n\nnothing\n\n## C\n\n2,000 repetitions: 5 %\n";
        finds(rule, "docs/method/a.md", page, &[1, 9]);
        finds(rule, "docs/other.md", page, &[]);
        let page = "# A\n\nXeon, [data](../../results/2026-01-01-x/README.md)\n# B\nsimulated (`cargo test -p x`)\n";
        finds(rule, "docs/method/a.md", page, &[]);
    }

    #[test]
    fn results_that_do_not_say_how_they_were_made_are_found() {
        let check = |files: &[(&str, &str)], expect: &[&str]| {
            let found = results_say_how_they_were_made(&tree(files));
            let found: Vec<&str> = found.iter().map(|finding| finding.what.as_str()).collect();
            assert_eq!(found, expect, "{files:?}");
        };
        let link = ("README.md", "[r](results/2026-01-01-x/README.md)");
        let whole = (
            "results/2026-01-01-x/README.md",
            "Made by `cargo lab truth`.",
        );
        check(&[link, whole, ("results/2026-01-01-x/a.csv", "")], &[]);
        check(&[whole], &["is linked from nowhere"]);
        check(&[("results/2026-01-01-x/a.csv", ""), link], &["is missing"]);
        let silent = ("results/2026-01-01-x/README.md", "Made somehow.");
        check(&[link, silent], &["names no command that made it"]);
        let undated = [
            ("README.md", "[r](results/x/README.md)"),
            ("results/x/README.md", "`kurabe run`"),
        ];
        check(
            &undated,
            &["lies in a directory whose name does not begin with its date"],
        );
    }

    #[test]
    fn a_first_page_that_shows_what_was_not_kept_is_found() {
        let page =
            "one\n<!-- transcript -->\n```text\n$ kurabe run\n1.0\n```\n<!-- /transcript -->\n";
        let kept = ("results/a/run.txt", "$ kurabe run\n1.0\n");
        assert_eq!(
            transcripts_are_kept(&tree(&[("README.md", page), kept])),
            []
        );
        let other = ("results/a/run.txt", "$ kurabe run\n1.1\n");
        let found = transcripts_are_kept(&tree(&[("README.ja.md", page), other]));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].path.as_str(), found[0].line), ("README.ja.md", 2));
    }

    #[test]
    fn commands_that_the_program_does_not_take_are_found() {
        let rule = commands_are_what_the_program_takes;
        let check = |block: &str, expect: &[usize]| {
            finds(rule, "README.md", block, expect);
        };
        check(
            "```sh\ncargo xtask ci\nls -l\nkurabe show latest --format csv > a.csv\n```\n",
            &[],
        );
        check("```sh\ncargo xtask fly\n```\n", &[2]);
        check("```sh\ncargo lab truth\n```\n", &[2]);
        let page = "```sh\ncargo lab truth E1\ncargo lab fly\n```\n";
        let files = [("README.md", page), (LAB, "name: \"truth\",\n")];
        let found = rule(&tree(&files));
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].line, 3);
        check("```sh\nkurabe measure\n```\n", &[2]);
        check(
            "```sh\ncargo run --release -- run --no-such-flag\n```\n",
            &[2],
        );
        check(
            "```sh\nsudo ./kurabe run --label 'a b' --budget 3m\n```\n",
            &[],
        );
        check("```sh\nkurabe run --budget soon\n```\n", &[2]);
        check(
            "```\n$ kurabe shwo\nkurabe output is not typed\n```\n",
            &[2],
        );
        check("```toml\nkurabe measure\n```\nkurabe measure\n", &[]);
        check(
            "```sh\nkurabe --version\nkurabe help run\nkurabe\n```\n",
            &[],
        );
    }
}
