//! The options that name a database server. They are typed again with `--resume`, as consent is: what opens a server is
//! kept nowhere.

use clap::Args as ClapArgs;
use model::units::Bytes;
use std::ffi::OsString;
use std::path::PathBuf;

/// An address as it was typed, which may hold a password and is not shown.
#[derive(Clone)]
pub(crate) struct Unshown(OsString);

impl Unshown {
    /// Keeps it from being printed.
    pub(crate) fn new(text: &str) -> Self {
        Self(text.into())
    }

    /// The text, to be read.
    pub(crate) fn reveal(&self) -> &OsString {
        &self.0
    }
}

impl std::fmt::Debug for Unshown {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Unshown(...)")
    }
}

/// Where a server is.
#[derive(Clone, Default, ClapArgs)]
pub(crate) struct AddressArgs {
    /// Let tests of databases work on this server of PostgreSQL, MySQL or MariaDB in place of SQLite, such as
    /// `postgres://user@host:5432/db` or `mysql:///db?socket=/run/mysqld/mysqld.sock`, or on one of Redis or Valkey,
    /// such as `redis://host:6379/0`; a password is read from ~/.pgpass, ~/.my.cnf or `REDISCLI_AUTH`, or with the
    /// address from `KURABE_DB_URL`
    // Not parsed by clap, which would print a refused value with the password in it.
    #[arg(help_heading = "What and where", long, value_name = "URL")]
    pub(crate) db: Option<OsString>,
    /// Read that address, which may hold a password, from this file, which only its owner may read
    #[arg(
        help_heading = "What and where",
        long,
        value_name = "FILE",
        conflicts_with = "db"
    )]
    pub(crate) db_file: Option<PathBuf>,
}

impl AddressArgs {
    /// Whether any is typed.
    pub(crate) const fn is_typed(&self) -> bool {
        self.db.is_some() || self.db_file.is_some()
    }
}

impl std::fmt::Debug for AddressArgs {
    /// Without the address, in which a password may have been typed.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AddressArgs").finish_non_exhaustive()
    }
}

/// Which server, and what may be there.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    pub(crate) address: AddressArgs,
    /// Work in a database that holds tables or keys of others, which stay as they are
    #[arg(help_heading = super::consent::CONSENT, long)]
    pub(crate) db_allow_existing: bool,
    /// Refuse a plan that is expected to take more than this on a server of PostgreSQL, MySQL or MariaDB, in tables and
    /// logs, such as 5GiB; and begin no further round once transactions have added more [default: 1GiB]
    #[arg(help_heading = "How much", long, value_name = "SIZE", value_parser = super::size)]
    #[arg(conflicts_with = "resume")]
    pub(crate) db_max: Option<Bytes>,
}
