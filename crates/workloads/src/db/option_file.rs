//! `~/.my.cnf`, as clients of MySQL and MariaDB read it: what an address does not say of the server, and the password.
//!
//! Source: MariaDB's documentation, "Configuring MariaDB with Option Files": groups in brackets, `name = value`, quotes
//! around a value, escapes in it, comments after `#` and `;`. The group `[client]` of this one file is read, and no
//! other: files that it includes are not.

use super::address::Defaults;

/// What stands in the group.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Options {
    user: Option<String>,
    password: Option<String>,
    host: Option<String>,
    port: Option<String>,
    socket: Option<String>,
}

impl Options {
    /// From the text of such a file; of a name that stands there twice the last one counts.
    pub fn read(text: &str) -> Self {
        let mut own = Self::default();
        let mut is_ours = false;
        for line in text.lines().map(str::trim) {
            if let Some(group) = line.strip_prefix('[') {
                is_ours = group.split(']').next() == Some("client");
                continue;
            }
            if !is_ours || line.is_empty() || line.starts_with(['#', ';', '!']) {
                continue;
            }
            let (name, value) = line.split_once('=').unwrap_or((line, ""));
            let value = Some(plain(value.trim())).filter(|value| !value.is_empty());
            match name.trim() {
                "user" => own.user = value,
                "password" => own.password = value,
                "host" => own.host = value,
                "port" => own.port = value,
                "socket" => own.socket = value,
                _ => {}
            }
        }
        own
    }

    /// What holds where an address does not say it: as with the clients a host other than `localhost` goes before a
    /// socket, and one of that name is the socket.
    pub fn defaults(&self, me: Option<String>) -> Defaults {
        let host = self.host.clone().filter(|host| host != "localhost");
        let port = self.port.clone().filter(|_| host.is_some());
        Defaults {
            user: self.user.clone().or(me),
            host: host.or_else(|| {
                let socket = self.socket.clone();
                socket.filter(|path| path.starts_with('/'))
            }),
            port,
        }
    }

    /// The password.
    pub fn password(self) -> Option<String> {
        self.password
    }
}

/// The value without quotes, escapes and the comment behind it.
fn plain(value: &str) -> String {
    let mut letters = value.chars().peekable();
    let quote = letters.next_if(|first| matches!(first, '"' | '\''));
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match (letter, quote) {
            (end, Some(quote)) if end == quote => break,
            ('#', None) => break,
            ('\\', _) => text.push(match letters.next() {
                Some('b') => '\u{8}',
                Some('t') => '\t',
                Some('n') => '\n',
                Some('r') => '\r',
                Some('s') => ' ',
                Some(other) => other,
                None => '\\',
            }),
            (other, _) => text.push(other),
        }
    }
    if quote.is_none() {
        text.truncate(text.trim_end().len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::address::Address;

    #[test]
    fn the_group_of_clients_says_what_an_address_does_not() {
        let check = |text: &str, url: &str, expected: &str, password: Option<&str>| {
            let options = Options::read(text);
            let defaults = options.defaults(Some("me".to_owned()));
            let found = Address::read(url, &defaults).unwrap().address.to_string();
            assert_eq!(found, expected, "{text}");
            assert_eq!(options.password().as_deref(), password, "{text}");
        };
        let text = "user=no\n[client]\nuser = bob # who\npassword=\"a#b\\\"c\"\nport=7\n[mysqld]\nport=8\nuser=mysql\n";
        check(text, "mysql://h/x", "mysql://bob@h:3306/x", Some("a#b\"c"));
        check(
            text,
            "mysql://eve@h/x",
            "mysql://eve@h:3306/x",
            Some("a#b\"c"),
        );
        let text =
            "[client]\n# host=no\n;host=no\n!include /x\nhost = db\nport=7\nsocket=/s\nssl\n";
        check(text, "mysql:///x", "mysql://me@db:7/x", None);
        check(text, "mysql://h/x", "mysql://me@h:3306/x", None);
        let text =
            "[client]\nhost=localhost\nport=7\nsocket='/run/my s'\npassword=p\\sw  \npassword=\n";
        check(text, "mysql:///x", "mysql://me@/x?socket=/run/my%20s", None);
        let text = "[client]\npassword=no\npassword = pw # late\n";
        check(text, "mysql://h/x", "mysql://me@h:3306/x", Some("pw"));
    }
}
