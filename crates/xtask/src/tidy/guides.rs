//! Rules for what people read first: the READMEs and the guides are short, and what they name as a command is one.

use super::docs::{accepts, outside_fences};
use super::{File, Finding, Tree};

/// Lines of a README.
const LINES_MAX: usize = 150;
/// Characters of a line.
const WIDTH_MAX: usize = 120;

fn is_readme(path: &str) -> bool {
    ["README.md", "README.ja.md"].contains(&path)
}

fn read_first(tree: &Tree) -> impl Iterator<Item = &File> {
    let is = |file: &&File| is_readme(&file.path) || file.path.starts_with("docs/guide/");
    tree.with_extension("md").filter(is)
}

/// A README has so many lines at most, and no line of what is read first is longer than a screen is wide.
pub(crate) fn what_is_read_first_is_short(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let changes = tree.get("CHANGELOG.md").into_iter();
    for file in read_first(tree).chain(changes) {
        let lines = file.text.lines().count();
        if is_readme(&file.path) && lines > LINES_MAX {
            findings.push(file.finding(0, format!("has {lines} lines, more than {LINES_MAX}")));
        }
        for (at, line) in (1..).zip(file.text.lines()) {
            let width = line.chars().count();
            if width > WIDTH_MAX {
                let what = format!("has {width} characters, more than {WIDTH_MAX}");
                findings.push(file.finding(at, what));
            }
        }
    }
    findings
}

/// What stands in the text as a command, such as `` `kurabe show latest` ``, is one.
pub(crate) fn commands_in_sentences_are_commands(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in read_first(tree) {
        for (line, command) in spans(&file.text) {
            let ours = ["kurabe ", "cargo xtask ", "cargo lab "];
            if !ours.iter().any(|word| command.starts_with(word)) {
                continue;
            }
            // A command's name alone stands for all that it does.
            let is_name = command.split_whitespace().count() == 2;
            let typed = if is_name {
                format!("{command} --help")
            } else {
                command.clone()
            };
            if let Err(why) = accepts(tree, &typed) {
                findings.push(file.finding(line, format!("`{command}` is no command: {why}")));
            }
        }
    }
    findings
}

/// What stands between single backticks outside of code blocks, with the line where it begins; it may end on the next.
fn spans(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (at, line) in outside_fences(text) {
        if line.trim().is_empty() {
            open = None;
        }
        for (index, part) in line.split('`').enumerate() {
            if index > 0 {
                match open.take() {
                    Some(span) => found.push(span),
                    None => open = Some((at, String::new())),
                }
            }
            if let Some((_, span)) = &mut open {
                span.push_str(part);
            }
        }
        if let Some((_, span)) = &mut open {
            span.push(' ');
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::testkit::finds;
    use super::*;

    #[test]
    fn long_first_pages_and_lines_are_found() {
        let rule = what_is_read_first_is_short;
        let (most, wide) = ("a\n".repeat(150), "比".repeat(120));
        finds(rule, "README.md", &most, &[]);
        finds(rule, "README.ja.md", &format!("{most}a\n"), &[0]);
        finds(rule, "docs/guide/a.md", &format!("{most}a\n{wide}\n"), &[]);
        finds(rule, "docs/guide/a.md", &format!("a\n{wide}a\n"), &[2]);
        finds(rule, "CHANGELOG.md", &format!("a\n{wide}a\n"), &[2]);
        finds(rule, "docs/method/a.md", &format!("{wide}a"), &[]);
    }

    #[test]
    fn commands_in_sentences_that_the_program_does_not_take_are_found() {
        let rule = commands_in_sentences_are_commands;
        let check = |text: &str, expect: &[usize]| finds(rule, "docs/guide/a.md", text, expect);
        check(
            "type `kurabe show latest` or `cargo xtask ci`, not `kurabe`",
            &[],
        );
        check("a\n`kurabe shwo` and `kurabe run --no-such-flag`", &[2, 2]);
        check("wrapped: `kurabe run --dry-run\n--no-such-flag`", &[1]);
        check(
            "wrapped: `kurabe compare\na b`, then `cargo xtask fly`",
            &[2],
        );
        check(
            "`kurabe compare` needs two runs, `kurabe compere` nobody",
            &[1],
        );
        check("open ` here\n\n`kurabe show`", &[]);
        check("```text\n`kurabe shwo`\n```\n", &[]);
    }
}
