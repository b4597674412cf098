//! Words that may stand nowhere in the project: unfinished work, and names of machines that only some can reach.

use super::{File, Finding, Tree};

/// Work is finished or has an issue; it is not left in a comment.
pub(crate) fn leaves_nothing_undone(tree: &Tree) -> Vec<Finding> {
    let never = concat!("FIX", "ME");
    let with_issue = concat!("TO", "DO");
    each_line(tree, |line| {
        if line.contains(never) {
            return Some(format!("`{never}` blocks a merge"));
        }
        let undone = line.match_indices(with_issue).any(|(at, _)| {
            let before = line[..at].chars().next_back();
            let after = &line[at + with_issue.len()..];
            let own_word = before.is_none_or(|c| !c.is_alphanumeric() && c != '_')
                && !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
            own_word && !after.starts_with("(#")
        });
        undone.then(|| format!("`{with_issue}` needs an issue: `{with_issue}(#123)`"))
    })
}

/// A path of the machine on which somebody works is true for nobody else.
pub(crate) fn names_no_machine(tree: &Tree) -> Vec<Finding> {
    let dirs = [concat!("/ro", "ot/"), concat!("/wo", "rk/")];
    each_line(tree, |line| {
        for dir in dirs {
            let from_top = |(at, _): (usize, &str)| {
                let before = line[..at].chars().next_back();
                let after = line[at + dir.len()..].chars().next();
                before.is_none_or(|c| !c.is_alphanumeric() && !"._-}~)".contains(c))
                    && after.is_some_and(|c| c.is_alphanumeric() || c == '.')
            };
            if line.match_indices(dir).any(from_top) {
                return Some(format!(
                    "names a path under `{dir}`, which is true for one machine"
                ));
            }
        }
        None
    })
}

/// An address that only one network knows is no address.
pub(crate) fn names_no_private_host(tree: &Tree) -> Vec<Finding> {
    each_line(tree, |line| {
        let hosts = line.split("://").skip(1).map(|rest| {
            rest.split(|c: char| !is_host_char(c))
                .next()
                .unwrap_or(rest)
        });
        for host in hosts {
            if is_private(host) {
                return Some(format!(
                    "names the host `{host}`, which only one network knows"
                ));
            }
        }
        None
    })
    .into_iter()
    .chain(foreign_sources(tree))
    .collect()
}

/// Every dependency comes from the public registry.
fn foreign_sources(tree: &Tree) -> Vec<Finding> {
    let public = "source = \"registry+https://github.com/rust-lang/crates.io-index\"";
    let Some(lock) = tree.get("Cargo.lock") else {
        return Vec::new();
    };
    lock.text
        .lines()
        .enumerate()
        .filter(|(_, line)| line.starts_with("source = ") && *line != public)
        .map(|(index, line)| lock.finding(index + 1, format!("is not the public registry: {line}")))
        .collect()
}

fn is_host_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '.' || c == '-'
}

fn is_private(host: &str) -> bool {
    let endings = [".internal", ".local", ".lan", ".corp", ".intranet"];
    let octets: Vec<Option<u8>> = host.split('.').map(|part| part.parse().ok()).collect();
    match octets.as_slice() {
        [Some(10), Some(_), Some(_), Some(_)]
        | [Some(192), Some(168), Some(_), Some(_)]
        | [Some(169), Some(254), Some(_), Some(_)] => true,
        [Some(172), Some(second), Some(_), Some(_)] => (16..32).contains(second),
        _ => endings.iter().any(|ending| host.ends_with(ending)),
    }
}

fn each_line(tree: &Tree, broken: impl Fn(&str) -> Option<String>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let check = |file: &File| {
        file.text
            .lines()
            .enumerate()
            .filter_map(|(index, line)| Some(file.finding(index + 1, broken(line)?)))
            .collect::<Vec<_>>()
    };
    for file in &tree.files {
        findings.extend(check(file));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::super::testkit::finds;
    use super::*;

    #[test]
    fn unfinished_work_is_found() {
        let check = |line: &str, expect: &[usize]| {
            finds(leaves_nothing_undone, "a.rs", line, expect);
        };
        check(concat!("// FIX", "ME later"), &[1]);
        check(concat!("// TO", "DO: later"), &[1]);
        check(concat!("// TO", "DO(#12): later"), &[]);
        check(concat!("METHO", "DOLOGY and TO", "DOS"), &[]);
    }

    #[test]
    fn paths_of_one_machine_are_found() {
        let check = |line: &str, expect: &[usize]| {
            finds(names_no_machine, "docs/a.md", line, expect);
        };
        check(concat!("see /ro", "ot/.cargo"), &[1]);
        check(concat!("\"/wo", "rk/main\""), &[1]);
        check("/homework, /rooted and /home/ann", &[]);
        check(concat!("crates/wo", "rk/x and {dir}/wo", "rk/x"), &[]);
        check(concat!("the directory /ro", "ot/ itself"), &[]);
    }

    #[test]
    fn hosts_of_one_network_are_found() {
        let check = |line: &str, expect: &[usize]| {
            finds(names_no_private_host, "a.toml", line, expect);
        };
        check(
            concat!("index = \"https:/", "/crates.corp.internal:8080/x\""),
            &[1],
        );
        check(concat!("http:/", "/10.1.2.3/"), &[1]);
        check(concat!("http:/", "/172.20.0.1/"), &[1]);
        check(
            "http://172.15.0.1/ http://127.0.0.1:80/ https://example.com",
            &[],
        );
        let lock = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\n\
                    source = \"sparse+https://mirror.example.com/\"\n";
        finds(names_no_private_host, "Cargo.lock", lock, &[2]);
    }
}
