//! Errors as a Redis or Valkey server tells them: a code in front of the words, and what helps.

use super::resp::Garbage;
use crate::db::engines::Engine;
use crate::db::server::trouble::{Told, Trouble, shown};

impl From<Garbage> for Trouble {
    fn from(_: Garbage) -> Self {
        Self::Garbage(Engine::Redis)
    }
}

/// An error as the server sent it.
pub(super) fn told(text: &[u8]) -> Trouble {
    let text = shown(text);
    let (code, words) = text.split_once(' ').unwrap_or((&text, "no message"));
    Trouble::Told(Box::new(Told {
        words: words.to_owned(),
        code: code.to_owned(),
        hint: hint(code, words),
        is_lasting: is_lasting(code, words),
    }))
}

/// An error without what was sent: a server that knows no AUTH says back what stood behind it.
pub(super) fn unquoted(trouble: Trouble) -> Trouble {
    match trouble {
        Trouble::Told(told) if told.words.to_ascii_lowercase().starts_with("unknown") => {
            Trouble::Told(Box::new(Told {
                words: "it knows no AUTH".to_owned(),
                hint: "\nhint: the command has another name there, or something stands between",
                is_lasting: true,
                ..*told
            }))
        }
        other => other,
    }
}

/// Whether the server said this code.
pub(super) fn is(trouble: &Trouble, code: &str) -> bool {
    matches!(trouble, Trouble::Told(told) if told.code == code)
}

/// Whether the user that we are may not ask this, or the server does not know the question.
pub(super) fn is_refusal(trouble: &Trouble) -> bool {
    let Trouble::Told(told) = trouble else {
        return false;
    };
    let is_unknown = || told.words.to_ascii_lowercase().starts_with("unknown");
    told.code == "NOPERM" || (told.code == "ERR" && is_unknown())
}

/// Whether another try a moment later would come to the same.
fn is_lasting(code: &str, words: &str) -> bool {
    const CODES: [&str; 9] = [
        "WRONGPASS",
        "NOAUTH",
        "NOPERM",
        "READONLY",
        "MOVED",
        "CROSSSLOT",
        "DENIED",
        "OOM",
        "MISCONF",
    ];
    let begins = ["DB index", "AUTH"];
    CODES.contains(&code) || (code == "ERR" && begins.iter().any(|begin| words.starts_with(begin)))
}

/// What helps against an error of the server. Source: Redis' documentation of commands, ACL and configuration.
fn hint(code: &str, words: &str) -> &'static str {
    match code {
        "NOAUTH" => {
            "\nhint: the password is read from `REDISCLI_AUTH`, or stands in the address in `KURABE_DB_URL` or in a \
             file for `--db-file FILE`"
        }
        "WRONGPASS" => {
            "\nhint: look at the user in the address, and at the password in `REDISCLI_AUTH`, `KURABE_DB_URL` or \
             `--db-file FILE`"
        }
        "NOPERM" => {
            "\nhint: the user needs the commands get, set, del, exists, strlen, dbsize, select and info, and the keys \
             `kurabe:kv*`"
        }
        "READONLY" => "\nhint: it is a replica: name the primary server",
        "MOVED" | "ASK" | "CROSSSLOT" | "CLUSTERDOWN" => {
            "\nhint: it is a node of a cluster: kurabe measures a server by itself"
        }
        "OOM" => {
            "\nhint: `maxmemory` of the server is reached: fewer `keys`, a smaller `data_size`, or a larger `maxmemory`"
        }
        "MISCONF" => {
            "\nhint: the server cannot save its data and refuses writes: look at its log and its disk"
        }
        "DENIED" => {
            "\nhint: protected mode: the server has no password and listens to this machine alone: name it by \
             127.0.0.1 or a Unix socket, or give it a password"
        }
        "LOADING" => "\nhint: the server reads its data after a start: wait until it has",
        "ERR" if words.contains("max number of clients") => {
            "\nhint: fewer `--copies`, or a larger `maxclients` of the server; kurabe takes three more than copies"
        }
        "ERR" if words.contains("DB index") => {
            "\nhint: the number behind the last `/` of the address is less than `databases` of the server"
        }
        "ERR" if words.contains("without any password configured") => {
            "\nhint: the server asks for no password: give none"
        }
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sent_with_auth_is_not_quoted() {
        let back = b"ERR unknown command 'AUTH', with args beginning with: 'hunter2' ";
        let said = unquoted(told(back)).to_string();
        assert!(
            !said.contains("hunter2") && said.contains("no AUTH"),
            "{said}"
        );
        let wrong = unquoted(told(b"WRONGPASS invalid username-password pair"));
        assert!(wrong.to_string().contains("invalid username"), "{wrong}");
    }

    #[test]
    fn what_a_server_says_is_one_line_and_lasting_where_waiting_is_of_no_use() {
        let check = |text: &[u8], is_lasting: bool, words: &str| {
            let trouble = told(text);
            assert_eq!(trouble.is_lasting(), is_lasting, "{trouble}");
            assert!(trouble.to_string().contains(words), "{trouble}");
        };
        check(b"NOAUTH Authentication required.", true, "REDISCLI_AUTH");
        check(b"WRONGPASS invalid username-password pair", true, "hint: ");
        check(
            b"READONLY You can't write against a replica",
            true,
            "primary",
        );
        check(b"ERR max number of clients reached", false, "maxclients");
        check(b"ERR DB index is out of range", true, "`databases`");
        check(b"LOADING Redis is loading", false, "wait");
        check(b"ERR \x1b[31mred\x07", false, " [31mred  (ERR)");
        check(b"BUSY", false, "no message (BUSY)");
        assert!(is_refusal(&told(b"ERR unknown command 'CONFIG', with")));
        assert!(is_refusal(&told(b"NOPERM this user has no permissions")));
        assert!(!is_refusal(&told(b"ERR syntax error")));
        assert!(is(&told(b"WRONGTYPE Operation"), "WRONGTYPE"));
    }
}
