//! The kinds of servers, and what differs between their addresses: a row of one table each.

use super::encryption::{Check, Mode};
use std::path::{Path, PathBuf};

/// A kind of server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// PostgreSQL.
    Postgres,
    /// MySQL or MariaDB.
    Mysql,
    /// Redis or Valkey.
    Redis,
}

/// Where the default Unix socket of a PostgreSQL server is: as built from source, and as distributions build it. Files
/// of passwords call it `localhost`.
pub const SOCKET_DIRS: [&str; 3] = ["/run/postgresql", "/var/run/postgresql", "/tmp"];

/// Where the Unix socket of a MySQL or MariaDB server is by default: Debian's, Red Hat's, and as built from source.
const MYSQL_SOCKETS: [&str; 3] = [
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];

/// What stands behind the `?` of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Parameter {
    Host,
    Port,
    User,
    Database,
    Password,
    /// The password, or the word that lets it go as it is.
    PasswordOrClear,
    /// The word that lets the password go as it is.
    Clear,
    /// The path of a Unix socket.
    Socket,
    /// Whether connections are encrypted, by these words.
    Mode(&'static [(&'static str, Mode)]),
    /// The file of authorities that may have signed the server's certificate.
    Authorities,
    /// That nothing is asked of the certificate.
    Insecure,
    /// A certificate of the client's own.
    OfClient,
}

/// How an address of one kind is written.
pub(super) struct Form {
    /// What its URLs begin with; the first is the one that is kept.
    pub(super) schemes: &'static [&'static str],
    /// What those begin with that ask for encryption.
    pub(super) encrypted: &'static [&'static str],
    /// The port of a server that nobody gave another one.
    pub(super) port: u16,
    pub(super) parameters: &'static [(&'static str, Parameter)],
}

static POSTGRES: Form = Form {
    schemes: &["postgres://", "postgresql://"],
    encrypted: &[],
    port: 5432,
    parameters: &[
        ("host", Parameter::Host),
        ("port", Parameter::Port),
        ("user", Parameter::User),
        ("dbname", Parameter::Database),
        ("password", Parameter::PasswordOrClear),
        (
            "sslmode",
            Parameter::Mode(&[
                ("disable", Mode::Off),
                ("allow", Mode::Undecided),
                ("prefer", Mode::Undecided),
                ("require", Mode::On(Check::Nothing)),
                ("verify-ca", Mode::On(Check::Authority)),
                ("verify-full", Mode::On(Check::Name)),
            ]),
        ),
        ("sslrootcert", Parameter::Authorities),
        ("sslcert", Parameter::OfClient),
        ("sslkey", Parameter::OfClient),
    ],
};

/// Source: MySQL's documentation, "Connecting to the Server Using URI-Like Strings".
static MYSQL: Form = Form {
    schemes: &["mysql://", "mariadb://"],
    encrypted: &[],
    port: 3306,
    parameters: &[
        ("socket", Parameter::Socket),
        ("user", Parameter::User),
        ("password", Parameter::Password),
        (
            "ssl-mode",
            Parameter::Mode(&[
                ("DISABLED", Mode::Off),
                ("PREFERRED", Mode::Undecided),
                ("REQUIRED", Mode::On(Check::Nothing)),
                ("VERIFY_CA", Mode::On(Check::Authority)),
                ("VERIFY_IDENTITY", Mode::On(Check::Name)),
            ]),
        ),
        ("ssl-ca", Parameter::Authorities),
        ("ssl-cert", Parameter::OfClient),
        ("ssl-key", Parameter::OfClient),
    ],
};

/// Encryption in the words of redis-cli.
static REDIS: Form = Form {
    schemes: &["redis://", "valkey://"],
    encrypted: &["rediss://", "valkeys://"],
    port: 6379,
    parameters: &[
        ("socket", Parameter::Socket),
        ("password", Parameter::Clear),
        ("cacert", Parameter::Authorities),
        ("insecure", Parameter::Insecure),
        ("cert", Parameter::OfClient),
        ("key", Parameter::OfClient),
    ],
};

impl Engine {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Postgres, Self::Mysql, Self::Redis];

    /// The one whose address this is, by its beginning.
    pub fn of(url: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|engine| engine.schemes().any(|scheme| url.starts_with(scheme)))
    }

    /// Whether it keeps tables, and carries out transactions on them.
    pub const fn has_tables(self) -> bool {
        match self {
            Self::Postgres | Self::Mysql => true,
            Self::Redis => false,
        }
    }

    pub(super) const fn form(self) -> &'static Form {
        match self {
            Self::Postgres => &POSTGRES,
            Self::Mysql => &MYSQL,
            Self::Redis => &REDIS,
        }
    }

    /// What its addresses begin with.
    pub const fn scheme(self) -> &'static str {
        self.form().schemes[0]
    }

    /// What its addresses may begin with.
    pub(super) fn schemes(self) -> impl Iterator<Item = &'static str> {
        let form = self.form();
        form.schemes.iter().chain(form.encrypted).copied()
    }

    /// How an address of it is written.
    pub fn example(self) -> String {
        let scheme = self.scheme();
        if self.has_tables() {
            format!("{scheme}USER@HOST/DATABASE")
        } else {
            format!("{scheme}HOST:{}/0", self.form().port)
        }
    }

    /// The products that speak its protocol.
    pub const fn products(self) -> &'static str {
        match self {
            Self::Postgres => "PostgreSQL",
            Self::Mysql => "MySQL/MariaDB",
            Self::Redis => "Redis/Valkey",
        }
    }

    /// What makes an empty database.
    pub(super) const fn makes_databases_by(self) -> &'static str {
        match self {
            Self::Postgres => "createdb",
            Self::Mysql => "CREATE DATABASE",
            Self::Redis => "SELECT",
        }
    }

    /// Where a password of its clients is looked for.
    pub const fn keeps_in(self) -> Option<&'static str> {
        match self {
            Self::Postgres => Some("~/.pgpass (mode 600)"),
            Self::Mysql => Some("~/.my.cnf (mode 600)"),
            Self::Redis => None,
        }
    }

    /// The user of a connection that names none: who types, but for Redis, which has a user for that.
    pub(super) fn user(self, me: Option<&str>) -> Option<String> {
        match self {
            Self::Postgres | Self::Mysql => me.map(str::to_owned),
            Self::Redis => Some(REDIS_USER.to_owned()),
        }
    }

    /// The database of an address that names none; `None` where it has to.
    pub(super) fn database(self, user: &str) -> Option<String> {
        match self {
            Self::Postgres => Some(user.to_owned()),
            Self::Mysql => None,
            Self::Redis => Some("0".to_owned()),
        }
    }

    /// What the Unix socket of a server without a host is called in its address, where one is usual: of those places
    /// where it may be the first at which there is one, or the first of all, which the error names then.
    pub(super) fn socket(self, port: u16) -> Option<PathBuf> {
        let usual: &[&str] = match self {
            Self::Postgres => &SOCKET_DIRS,
            Self::Mysql => &MYSQL_SOCKETS,
            Self::Redis => &[],
        };
        let mut all = usual.iter().map(Path::new);
        let found = all.find(|named| self.socket_at(named, port).exists());
        found.or(usual.first().map(Path::new)).map(Path::to_owned)
    }

    /// The Unix socket of an address that names this directory, as PostgreSQL's do, or this very socket.
    pub(super) fn socket_at(self, named: &Path, port: u16) -> PathBuf {
        match self {
            Self::Postgres => named.join(format!(".s.PGSQL.{port}")),
            Self::Mysql | Self::Redis => named.to_owned(),
        }
    }
}

/// Who a connection is of that names no user. Source: Redis' documentation, "ACL".
pub(super) const REDIS_USER: &str = "default";

#[cfg(test)]
mod tests {
    use super::*;
    use model::named::SERVER_SCHEMES;

    #[test]
    fn published_pages_know_what_addresses_begin_with() {
        let forms = Engine::ALL.map(Engine::form).into_iter();
        let kept = forms.flat_map(|form| [form.schemes.first(), form.encrypted.first()]);
        let kept: Vec<&str> = kept.flatten().copied().collect();
        assert_eq!(kept, SERVER_SCHEMES);
    }
}
