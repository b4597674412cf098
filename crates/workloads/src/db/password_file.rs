//! Passwords in `~/.pgpass`, as libpq finds them.
//!
//! Source: PostgreSQL's documentation, "The Password File": lines of `host:port:database:user:password`, `*` for
//! anything, a backslash before a colon or a backslash, the first line that fits counts. A server on the default Unix
//! socket is called `localhost`.

use super::address::{Address, Host};
use super::engines::SOCKET_DIRS;

/// The password for an address, from the text of such a file.
pub fn password_in(text: &str, address: &Address) -> Option<String> {
    let host = match &address.host {
        Host::Name(host) => host.clone(),
        Host::Socket(dir) if SOCKET_DIRS.iter().any(|own| dir.as_os_str() == *own) => {
            "localhost".to_owned()
        }
        Host::Socket(dir) => dir.to_string_lossy().into_owned(),
    };
    let port = address.port.to_string();
    let asked = [&host, &port, &address.database, &address.user];
    text.lines().find_map(|line| {
        if line.starts_with('#') {
            return None;
        }
        let mut rest = line;
        for wanted in asked {
            let (raw, found, after) = field(rest, true)?;
            if raw != "*" && found != *wanted {
                return None;
            }
            rest = after;
        }
        // What stands behind the password's end is none of it.
        let (_, password, _) = field(rest, false)?;
        Some(password).filter(|password| !password.is_empty())
    })
}

/// A field as it stands and without its escapes, and what is behind the colon that ends it. Only the last one may end
/// with the line.
fn field(text: &str, has_next: bool) -> Option<(&str, String, &str)> {
    let mut plain = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            ':' => return Some((&text[..at], plain, &text[at + 1..])),
            '\\' => match letters.next() {
                Some((_, escaped)) => plain.push(escaped),
                None => plain.push('\\'),
            },
            other => plain.push(other),
        }
    }
    (!has_next).then_some((text, plain, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::address::Defaults;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# db:5432:shop:bob:no\n\
                    other:*:*:*:no\n\
                    db:5432:shop:bob:one\n\
                    db:*:*:bob:a\\:b\\\\c\n\
                    localhost:*:*:*:local\n\
                    /srv/pg:*:*:*:socket\n\
                    ten\\:one:*:*:*:colon\n\
                    short:1:2\n\
                    empty:*:*:*:\n\
                    *:*:last:*:any";
        let check = |url: &str, expected: Option<&str>| {
            let address = Address::read(url, &Defaults::default()).unwrap().address;
            assert_eq!(password_in(text, &address).as_deref(), expected, "{url}");
        };
        check("postgres://bob@db/shop", Some("one"));
        check("postgres://bob@db:9/shop", Some("a:b\\c"));
        check("postgres://eve@db/shop", None);
        check("postgres://eve@db/last", Some("any"));
        check("postgres://eve@localhost/x", Some("local"));
        check("postgres://eve@/x?host=/var/run/postgresql", Some("local"));
        check("postgres://eve@/x?host=/srv/pg", Some("socket"));
        check("postgres://eve@[ten:one]/x", Some("colon"));
        check("postgres://eve@short/x", None);
        check("postgres://eve@empty/x", None);
        // A star that is escaped is a star, and no user is called so here.
        let none = Defaults::default();
        let address = Address::read("postgres://eve@h/x", &none).unwrap().address;
        assert_eq!(password_in("h:*:*:\\*:no", &address), None);
    }
}
