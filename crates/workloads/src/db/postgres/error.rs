//! Errors of PostgreSQL, with what helps.

use super::decode::{self, Code, Garbage};
use crate::db::engines::Engine;
use crate::db::server::POOLER;
use crate::db::server::trouble::{Told, Trouble, shown};

impl From<Garbage> for Trouble {
    fn from(_: Garbage) -> Self {
        Self::Garbage(Engine::Postgres)
    }
}

/// An error as the server sent it.
pub(super) fn told(body: &[u8]) -> Trouble {
    let Ok(code) = decode::code(body) else {
        return Garbage.into();
    };
    refused(
        code,
        shown(decode::field(body, b'M').unwrap_or(b"no message")),
    )
}

/// An error of this code.
pub(super) fn refused(code: Code, words: String) -> Trouble {
    Trouble::Told(Box::new(Told {
        code: code.to_string(),
        hint: hint(code, &words),
        is_lasting: matches!(
            &code.0,
            b"28P01"
                | b"28000"
                | b"3D000"
                | b"42501"
                | b"25006"
                | b"26000"
                | b"42P05"
                | b"08P01"
                | b"2BP01"
        ),
        words,
    }))
}

/// What helps against an error of the server. Source: PostgreSQL's documentation, "PostgreSQL Error Codes".
fn hint(code: Code, words: &str) -> &'static str {
    match &code.0 {
        b"28P01" => {
            "\nhint: the password is that of the first line that fits in ~/.pgpass, or of `KURABE_DB_URL` or `--db-file FILE`"
        }
        // As the server has it where anybody is let in by who they are, for a role that nobody made.
        b"28000" if words.starts_with("role \"") => {
            "\nhint: make this user with `createuser NAME` (or CREATE USER), or name another one in the address: \
             `postgres://USER@HOST/DATABASE`"
        }
        b"28000" => {
            "\nhint: look at pg_hba.conf of the server, and at the user in the address; where it wants encryption (hostssl) \
             the address says `sslmode=require` or more"
        }
        b"3D000" => {
            "\nhint: make an empty one for this with `createdb`, and name it in the address"
        }
        b"42501" => {
            "\nhint: the user needs the right to make tables: GRANT CREATE ON SCHEMA public TO the user, or a database of his own"
        }
        b"53300" => {
            "\nhint: fewer `--copies`, or a larger `max_connections` of the server; kurabe takes two more than copies"
        }
        b"53100" => "\nhint: the server's disk is full",
        b"2BP01" => {
            "\nhint: something of others is made from that table, as a view, or a copy with its defaults: it stays, and so \
             does the table, until that is changed or dropped"
        }
        b"57P01" | b"57P02" | b"57P03" => "\nhint: somebody stops or starts the server",
        b"25006" => {
            "\nhint: it is a replica, or `default_transaction_read_only` is on: measure a server that may be written to"
        }
        b"26000" | b"42P05" => POOLER,
        // As PgBouncer refuses what it does not pass on.
        b"08P01" if words.contains("startup parameter") => {
            "\nhint: a pooler is between: name the server itself, or see `ignore_startup_parameters` of PgBouncer"
        }
        _ => "",
    }
}
