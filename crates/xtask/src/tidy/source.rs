//! Rules for Rust files: how they begin, how long and wide they get, what they may contain.

use super::{File, Finding, Tree};

/// A file with more lines than this holds more than one idea.
const LINES_MAX: usize = 500;

/// Up to this a file may grow while it is being split; beyond it the rule is broken.
const LINES_HARD_MAX: usize = 600;

/// rustfmt breaks code at 100; comments and what it cannot break may reach this.
const WIDTH_MAX: usize = 120;

/// Every file says first what it is for.
pub(crate) fn begins_with_its_purpose(tree: &Tree) -> Vec<Finding> {
    tree.with_extension("rs")
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| file.finding(1, "does not begin with `//!` and what the file is for"))
        .collect()
}

/// One idea per file.
pub(crate) fn is_not_too_long(tree: &Tree) -> Vec<Finding> {
    longer_than(tree, LINES_HARD_MAX)
}

/// Files that should be split soon.
pub(crate) fn notices(tree: &Tree) -> Vec<Finding> {
    let mut findings = longer_than(tree, LINES_MAX);
    findings.retain(|finding| !is_not_too_long(tree).contains(finding));
    findings
}

fn longer_than(tree: &Tree, max: usize) -> Vec<Finding> {
    tree.with_extension("rs")
        .map(|file| (file, file.text.lines().count()))
        .filter(|(_, lines)| *lines > max)
        .map(|(file, lines)| {
            file.finding(0, format!("has {lines} lines; {LINES_MAX} hold one idea"))
        })
        .collect()
}

/// Lines fit next to each other in a diff. Messages in one piece can be searched for, so a line that is one text,
/// or an address, may be longer.
pub(crate) fn lines_are_not_too_wide(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.with_extension("rs") {
        for (index, line) in file.text.lines().enumerate() {
            let width = line.chars().count();
            if width > WIDTH_MAX && !is_one_text(line) {
                let what = format!("has {width} columns, more than {WIDTH_MAX}");
                findings.push(file.finding(index + 1, what));
            }
        }
    }
    findings
}

fn is_one_text(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with('"')
        || line.starts_with("#[error(\"")
        || line.starts_with("format!(\"")
        || line.contains("http://")
        || line.contains("https://")
}

/// Only `sys` may break the rules of the language.
pub(crate) fn is_safe_outside_of_sys(tree: &Tree) -> Vec<Finding> {
    let word = concat!("un", "safe");
    let outside = |file: &&File| !file.path.starts_with("crates/sys/");
    let mut findings = Vec::new();
    for file in tree.with_extension("rs").filter(outside) {
        for (line, code) in code_lines(&file.text) {
            if opens_block(code, word) {
                findings.push(file.finding(line, format!("`{word}` belongs into crates/sys")));
            }
        }
    }
    findings
}

/// True where `word` stands as a keyword: a word of its own, followed by what it opens.
fn opens_block(code: &str, word: &str) -> bool {
    code.match_indices(word).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let after = code[at + word.len()..].trim_start();
        let own_word = before.is_none_or(|c| !c.is_alphanumeric() && c != '_' && c != '"');
        let opens = ["{", "fn ", "impl ", "trait ", "extern ", "("];
        own_word && (after.is_empty() || opens.iter().any(|open| after.starts_with(open)))
    })
}

/// Libraries return texts; the binary decides where they go.
pub(crate) fn prints_in_the_binary_alone(tree: &Tree) -> Vec<Finding> {
    let macros = [
        concat!("print", "ln!("),
        concat!("print", "!("),
        concat!("db", "g!("),
    ];
    let library = |file: &&File| {
        let dir = file.path.split('/').nth(1).unwrap_or_default();
        file.path.contains("/src/")
            && !is_test(tree, &file.path)
            && !["cli", "xtask", "lab"].contains(&dir)
    };
    let mut findings = Vec::new();
    for file in tree.with_extension("rs").filter(library) {
        for (line, code) in code_lines(without_tests(&file.text)) {
            if macros.iter().any(|name| code.contains(name)) {
                findings.push(file.finding(line, "only the binary prints"));
            }
        }
    }
    findings
}

/// `ci` leaves out by the name of their module the tests whose files not everybody has.
pub(crate) fn tests_of_a_corpus_are_found_by_name(tree: &Tree) -> Vec<Finding> {
    let mark = concat!("#[ignore = \"cor", "pus:");
    let mut findings = Vec::new();
    for file in tree.with_extension("rs") {
        let is_named = file.path.ends_with("/corpus.rs") || file.text.contains("mod corpus {");
        let marked = |(_, line): &(usize, &str)| line.contains(mark) && !is_named;
        findings.extend(
            (1..)
                .zip(file.text.lines())
                .filter(marked)
                .map(|(line, _)| file.finding(line, "is in no module `corpus`")),
        );
    }
    findings
}

/// The lines of `text` that hold code, numbered from 1, without the comments at their ends.
pub(crate) fn code_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines()
        .enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .map(|(index, line)| (index + 1, line.split(" // ").next().unwrap_or(line)))
}

/// True for files that hold tests alone: those so named, and modules that their crate compiles for tests alone.
pub(crate) fn is_test(tree: &Tree, path: &str) -> bool {
    if path.ends_with("tests.rs") || path.contains("/tests/") {
        return true;
    }
    let Some((dir, name)) = path.rsplit_once('/') else {
        return false;
    };
    let above = dir.rsplit_once('/').map_or(dir, |(above, _)| above);
    let module = format!("mod {};", name.trim_end_matches(".rs"));
    tree.with_extension("rs")
        .filter(|file| {
            let there = file.path.rsplit_once('/').map(|(there, _)| there);
            there == Some(dir) || there == Some(above)
        })
        .any(|file| {
            let lines = file.text.lines();
            let pairs = lines.clone().zip(lines.skip(1));
            pairs
                .filter(|(line, _)| line.trim() == "#[cfg(test)]")
                .any(|(_, next)| next.ends_with(&module))
        })
        // What lies below a module of tests is part of it.
        || (dir.contains("/src/") && is_test(tree, &format!("{dir}.rs")))
}

/// `text` up to the module of tests at its end.
pub(crate) fn without_tests(text: &str) -> &str {
    let mut end = 0;
    let mut lines = text.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let opens_tests = lines
            .peek()
            .is_some_and(|next| next.contains("mod ") && next.trim_end().ends_with('{'));
        if line.trim() == "#[cfg(test)]" && opens_tests {
            break;
        }
        end += line.len();
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::super::testkit::{finds, tree};
    use super::*;

    const LIBRARY: &str = "crates/stats/src/x.rs";

    #[test]
    fn files_without_a_purpose_are_found() {
        let check = |text, expect: &[usize]| {
            finds(begins_with_its_purpose, LIBRARY, text, expect);
        };
        check("//! What it is for.\n", &[]);
        check("// A comment.\n//! Late.\n", &[1]);
        check("", &[1]);
        finds(begins_with_its_purpose, "README.md", "# x", &[]);
    }

    #[test]
    fn long_files_are_noticed_before_they_are_refused() {
        let check = |count: usize, refused: usize, noticed: usize| {
            let tree = tree(&[(LIBRARY, "//! x\n".repeat(count).as_str())]);
            assert_eq!(is_not_too_long(&tree).len(), refused, "{count}");
            assert_eq!(notices(&tree).len(), noticed, "{count}");
        };
        check(500, 0, 0);
        check(501, 0, 1);
        check(600, 0, 1);
        check(601, 1, 0);
    }

    #[test]
    fn wide_lines_are_found_and_whole_texts_are_not() {
        let check = |line: &str, expect: &[usize]| {
            finds(lines_are_not_too_wide, LIBRARY, line, expect);
        };
        check(&"比".repeat(120), &[]);
        check(&"x".repeat(121), &[1]);
        check(&format!("    \"{}\",", "x".repeat(200)), &[]);
        check(&format!("//! <https://{}>", "x".repeat(200)), &[]);
    }

    #[test]
    fn the_keyword_is_found_and_its_mentions_are_not() {
        let word = concat!("un", "safe");
        let check = |line: String, expect: &[usize]| {
            finds(is_safe_outside_of_sys, LIBRARY, &line, expect);
        };
        check(format!("let x = {word} {{ y() }};"), &[1]);
        check(format!("pub {word} fn f() {{}}"), &[1]);
        check(format!("let x = {word}"), &[1]);
        check(format!("// {word} {{"), &[]);
        check(format!("#![deny({word}_code)]"), &[]);
        check(format!("let {word}ly = 1;"), &[]);
        let code = format!("{word} {{ }}");
        finds(is_safe_outside_of_sys, "crates/sys/src/x.rs", &code, &[]);
    }

    #[test]
    fn printing_is_found_in_libraries_alone() {
        let code = concat!("fn f() { eprint", "ln!(\"x\"); }");
        finds(prints_in_the_binary_alone, LIBRARY, code, &[1]);
        finds(prints_in_the_binary_alone, "crates/cli/src/x.rs", code, &[]);
        finds(prints_in_the_binary_alone, "crates/sys/build.rs", code, &[]);
        finds(
            prints_in_the_binary_alone,
            "crates/stats/src/x/tests.rs",
            code,
            &[],
        );
        let declared = [
            ("crates/stats/src/lib.rs", "#[cfg(test)]\nmod x;\nmod y;\n"),
            (LIBRARY, code),
            ("crates/stats/src/y.rs", code),
        ];
        let found = prints_in_the_binary_alone(&tree(&declared));
        assert_eq!(found.len(), 1, "{found:?}");
        let test = format!("#[cfg(test)]\nmod tests {{\n{code}\n}}");
        finds(prints_in_the_binary_alone, LIBRARY, &test, &[]);
        let kit = format!("#[cfg(test)]\nmod testkit;\n{code}\n");
        finds(prints_in_the_binary_alone, LIBRARY, &kit, &[3]);
    }

    #[test]
    fn a_test_of_a_corpus_stands_where_it_is_left_out() {
        let rule = tests_of_a_corpus_are_found_by_name;
        let code = concat!(
            "#[test]\n#[ignore = \"cor",
            "pus: a directory\"]\nfn f() {}\n"
        );
        finds(rule, LIBRARY, code, &[2]);
        finds(rule, "crates/dialects/src/x/tests/corpus.rs", code, &[]);
        finds(rule, LIBRARY, &format!("mod corpus {{\n{code}}}\n"), &[]);
    }
}
