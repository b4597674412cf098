//! /etc/hosts, as hosts(5) describes it.

use super::literal;
use crate::tree::{Tree, TreeError};
use std::net::SocketAddr;

const PATH: &str = "/etc/hosts";

/// Every address beside which `name` stands, in the order of the file; none where it stands nowhere, or there is no
/// such file. Lines whose address is none are passed over, as the C library does.
///
/// The error is that of a file that cannot be read: what it may say of the name cannot be made up by asking others.
pub(super) fn find(tree: &Tree, name: &str, port: u16) -> Result<Vec<SocketAddr>, TreeError> {
    let mut found = Vec::new();
    let read = tree.each_line(PATH, |line| {
        found.extend(address_for(line, name, port));
    });
    match read {
        Err(error) if !error.absent => Err(error),
        _ => Ok(found),
    }
}

/// The address of a line, where it has this name.
fn address_for(line: &str, name: &str, port: u16) -> Option<SocketAddr> {
    let line = line.split('#').next().unwrap_or_default();
    let mut words = line.split_ascii_whitespace();
    let address = words.next()?;
    if !words.any(|word| word.eq_ignore_ascii_case(name)) {
        return None;
    }
    literal::read(address, port)?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(content: Option<&[u8]>) -> (tempfile::TempDir, Tree) {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("etc")).unwrap();
        if let Some(content) = content {
            std::fs::write(dir.path().join("etc/hosts"), content).unwrap();
        }
        let tree = Tree::at(dir.path());
        (dir, tree)
    }

    #[test]
    fn names_and_aliases_are_found_as_the_manual_page_says() {
        let text = b"# 192.0.2.1 db\n\
            192.0.2.2\tdb.example  db\t# the database, not web\n\
            \n\
            2001:db8::2 db.example db\r\n\
            192.0.2.3 DB-Two\r\n\
            \t 192.0.2.4 indented\n\
            192.0.2 broken\n\
            db 192.0.2.9\n\
            192.0.2.5\n\
            192.0.2.6 caf\xe9 latin\n\
            192.0.2.2 db\n\
            192.0.2.7 last";
        let (_dir, tree) = tree(Some(text));
        for (name, expect) in [
            ("db", &["192.0.2.2:1", "[2001:db8::2]:1", "192.0.2.2:1"][..]),
            ("DB.EXAMPLE", &["192.0.2.2:1", "[2001:db8::2]:1"]),
            ("db-two", &["192.0.2.3:1"]),
            ("indented", &["192.0.2.4:1"]),
            ("latin", &["192.0.2.6:1"]),
            ("last", &["192.0.2.7:1"]),
            ("web", &[]),
            ("broken", &[]),
            ("d", &[]),
            ("192.0.2.9", &[]),
        ] {
            let found = find(&tree, name, 1).unwrap();
            let found: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert_eq!(found, expect, "{name}");
        }
    }

    #[test]
    fn no_file_lists_nobody_and_one_that_cannot_be_read_is_an_error() {
        let (_dir, absent) = tree(None);
        assert_eq!(find(&absent, "db", 1).unwrap(), []);
        let (dir, tree) = tree(None);
        std::fs::create_dir(dir.path().join("etc/hosts")).unwrap();
        let error = find(&tree, "db", 1).unwrap_err();
        assert_eq!(error.to_string(), "read `/etc/hosts`: EISDIR");
    }
}
