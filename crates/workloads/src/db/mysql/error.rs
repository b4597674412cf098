//! Errors of MySQL and MariaDB, with what helps.

use super::Garbage;
use super::decode;
use crate::db::engines::Engine;
use crate::db::server::trouble::{Told, Trouble, shown};

impl From<Garbage> for Trouble {
    fn from(_: Garbage) -> Self {
        Self::Garbage(Engine::Mysql)
    }
}

/// An error as the server sent it.
pub(super) fn told(packet: &[u8]) -> Trouble {
    match decode::error(packet) {
        Ok((code, words)) => of(code, shown(words)),
        Err(garbage) => garbage.into(),
    }
}

/// An error of this code.
pub(super) fn of(code: u16, words: String) -> Trouble {
    Trouble::Told(Box::new(Told {
        words,
        code: code.to_string(),
        hint: hint(code),
        is_lasting: matches!(
            code,
            1044 | 1045 | 1049 | 1130 | 1142 | 1251 | 1290 | 1461 | 1698 | 1836 | 3159
        ),
    }))
}

/// What helps against an error of the server. Source: the documentation of MariaDB, "MariaDB Error Codes".
const fn hint(code: u16) -> &'static str {
    match code {
        1045 => {
            "\nhint: the password is that of [client] in ~/.my.cnf (mode 600), or of `KURABE_DB_URL` or `--db-file FILE`; an \
             account that wants encryption (REQUIRE SSL) wants `ssl-mode=REQUIRED` in the address"
        }
        1044 | 1142 => {
            "\nhint: the user needs all rights in a database of his own: GRANT ALL ON the database.* TO the user"
        }
        1049 => {
            "\nhint: make an empty one for this with `CREATE DATABASE`, and name it in the address"
        }
        1040 | 1203 => {
            "\nhint: fewer `--copies`, or a larger `max_connections` (or `max_user_connections`) of the server; kurabe \
             takes two more than copies"
        }
        1461 => {
            "\nhint: fewer `--copies` or tables, or a larger `max_prepared_stmt_count` of the server: each connection \
             prepares up to ten statements for each table"
        }
        1129 => {
            "\nhint: the server has seen too many failures from this host: `mariadb-admin flush-hosts` there"
        }
        1130 => {
            "\nhint: the server lets this user in from other hosts only: look at its accounts (mysql.user)"
        }
        1698 => {
            "\nhint: this account is let in by the name of who runs kurabe, over the Unix socket: run kurabe as that \
             one, or name another account"
        }
        1251 => {
            "\nhint: the account wants an older or a newer way of login: look at its plugin (mysql.user)"
        }
        1290 | 1836 => {
            "\nhint: it is a replica, or `read_only` is on: measure a server that may be written to"
        }
        3159 => "\nhint: the server wants encryption: `ssl-mode=REQUIRED` in the address, or more",
        1114 | 1021 | 3675 => "\nhint: the server's disk is full",
        1053 | 1927 => "\nhint: somebody stops the server or ends its connections",
        _ => "",
    }
}
