//! Where a database server is, as users type it: the URL of libpq, without the password.
//!
//! An address names a server and a database in a run that is kept, so that it holds nothing that opens them: a password
//! is split off while the URL is read, and no error quotes what was typed. What libpq knows and this does not is
//! refused by its name; nothing is read and ignored.

use std::fmt;
use std::path::{Path, PathBuf};

/// Where the default Unix socket of a server is: as built from source, and as distributions build it. Files of
/// passwords call it `localhost`.
pub const SOCKET_DIRS: [&str; 3] = ["/run/postgresql", "/var/run/postgresql", "/tmp"];

/// The port of a server that nobody gave another one.
const PORT: u16 = 5432;

/// A server and a database on it, and the user who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Who asks.
    pub user: String,
    /// Where the server listens.
    pub host: Host,
    /// Its port, which is a part of the name of a Unix socket too.
    pub port: u16,
    /// The database.
    pub database: String,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name, or an address of the network.
    Name(String),
    /// The directory of a Unix socket.
    Socket(PathBuf),
}

/// Why a text is no address. It never says what was typed, which may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// Another kind of server, or none.
    #[error("it does not begin with `postgres://`")]
    Scheme,
    /// What `%` stands before is no byte, or the bytes are no text.
    #[error("a `%` in it does not stand before two hexadecimal digits of a text")]
    Escape,
    /// A part that must not be empty, or holds what no name has.
    #[error("its {0} is empty or holds what none has")]
    Part(&'static str),
    /// Several servers.
    #[error("it names several hosts: one is measured at a time")]
    Several,
    /// A parameter that this program does not know.
    #[error("its parameter `{0}` is none of host, port, user, dbname, password and sslmode")]
    Unknown(String),
    /// Encryption.
    #[error(
        "it asks for TLS (`sslmode={0}`), which kurabe does not speak: `sslmode=disable` measures without, over a \
         network that nobody else listens to, or a Unix socket"
    )]
    Tls(String),
}

/// An address as it was typed, with the password that stood in it.
#[derive(Clone)]
pub struct Typed {
    /// Without the password.
    pub address: Address,
    /// The password.
    pub password: Option<String>,
}

impl Address {
    /// Reads a URL; `me` is the name of the user who types, for one that names none.
    pub fn read(url: &str, me: Option<&str>) -> Result<Typed, BadAddress> {
        let schemes = ["postgres://", "postgresql://"];
        let rest = schemes.iter().find_map(|scheme| url.strip_prefix(scheme));
        let rest = rest.ok_or(BadAddress::Scheme)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // A password may hold an `@` that nobody escaped; hosts hold none.
        let (who, at) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match who.split_once(':') {
            Some((user, password)) => (user, Some(plain(password)?)),
            None => (who, None),
        };
        let (host, port) = host_and_port(at)?;
        let mut found = Found {
            user: given(plain(user)?),
            password,
            host: given(host),
            port: port.map(str::to_owned),
            database: given(plain(path)?),
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            found.take(pair)?;
        }
        found.whole(me)
    }
}

/// What has been read of a URL.
struct Found {
    user: Option<String>,
    password: Option<String>,
    host: Option<String>,
    port: Option<String>,
    database: Option<String>,
}

impl Found {
    /// A parameter behind the `?`, which goes before what stands in front of it.
    fn take(&mut self, pair: &str) -> Result<(), BadAddress> {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = plain(value)?;
        match name {
            "host" => self.host = given(value),
            "port" => self.port = given(value),
            "user" => self.user = given(value),
            "dbname" => self.database = given(value),
            "password" => self.password = given(value),
            "sslmode" => match value.as_str() {
                // The last two are content without.
                "disable" | "allow" | "prefer" => {}
                "require" | "verify-ca" | "verify-full" => return Err(BadAddress::Tls(value)),
                _ => return Err(BadAddress::Part("sslmode")),
            },
            // A name alone is quoted, and none that could be a value.
            name if !name.is_empty() && name.len() <= 40 && name.bytes().all(is_of_a_word) => {
                return Err(BadAddress::Unknown(name.to_owned()));
            }
            _ => return Err(BadAddress::Part("list of parameters")),
        }
        Ok(())
    }

    fn whole(self, me: Option<&str>) -> Result<Typed, BadAddress> {
        let user = self.user.or_else(|| me.map(str::to_owned));
        let user = checked(user.ok_or(BadAddress::Part("user"))?, "user")?;
        let database = checked(self.database.unwrap_or_else(|| user.clone()), "database")?;
        let port = match self.port {
            None => PORT,
            Some(port) if port.contains(',') => return Err(BadAddress::Several),
            Some(port) => match port.parse() {
                Ok(port) if port > 0 => port,
                _ => return Err(BadAddress::Part("port")),
            },
        };
        let host = match self.host {
            // As libpq does; where there is no socket the error names it.
            None => Host::Socket(default_socket_dir(port)),
            Some(host) if host.contains(',') => return Err(BadAddress::Several),
            Some(host) if host.starts_with('/') => Host::Socket(checked(host, "host")?.into()),
            Some(host) if host.bytes().all(is_of_a_host) => Host::Name(host),
            Some(_) => return Err(BadAddress::Part("host")),
        };
        let password = self.password.filter(|password| !password.is_empty());
        if password
            .as_ref()
            .is_some_and(|password| password.contains('\0'))
        {
            return Err(BadAddress::Part("password"));
        }
        let address = Address {
            user,
            host,
            port,
            database,
        };
        Ok(Typed { address, password })
    }
}

/// The directory in which a server listens, of those where it may; the first where none does.
fn default_socket_dir(port: u16) -> PathBuf {
    let mut all = SOCKET_DIRS.iter().map(Path::new);
    let found = all.find(|dir| socket_in(dir, port).exists());
    found.unwrap_or(Path::new(SOCKET_DIRS[0])).to_owned()
}

/// The socket of a server with this port.
pub(super) fn socket_in(dir: &Path, port: u16) -> PathBuf {
    dir.join(format!(".s.PGSQL.{port}"))
}

fn given(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

fn checked(text: String, part: &'static str) -> Result<String, BadAddress> {
    // A name of the server has 63 bytes at most, a path fewer than 108.
    let is_one = !text.is_empty() && text.len() <= 255 && !text.contains(char::is_control);
    if is_one {
        Ok(text)
    } else {
        Err(BadAddress::Part(part))
    }
}

const fn is_of_a_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

const fn is_of_a_host(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':')
}

/// The host and the port of `host`, `host:port`, `[::1]:port`, or `%2Frun%2Fpostgresql`.
fn host_and_port(text: &str) -> Result<(String, Option<&str>), BadAddress> {
    if text.contains(',') {
        return Err(BadAddress::Several);
    }
    if let Some(inside) = text.strip_prefix('[') {
        let (host, rest) = inside.split_once(']').ok_or(BadAddress::Part("host"))?;
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host.to_owned(), Some(port))),
            None if rest.is_empty() => Ok((host.to_owned(), None)),
            None => Err(BadAddress::Part("host")),
        };
    }
    match text.split_once(':') {
        Some((host, port)) => Ok((plain(host)?, Some(port))),
        None => Ok((plain(text)?, None)),
    }
}

/// The text without its escapes.
fn plain(text: &str) -> Result<String, BadAddress> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = rest.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let digits = digits.filter(|two| two.bytes().all(|digit| digit.is_ascii_hexdigit()));
        let value = digits.and_then(|two| u8::from_str_radix(two, 16).ok());
        bytes.push(value.ok_or(BadAddress::Escape)?);
        rest = &rest[2..];
    }
    String::from_utf8(bytes).map_err(|_| BadAddress::Escape)
}

/// The text with escapes for everything that has a meaning in a URL.
fn escaped(text: &str, keeps: &[u8]) -> String {
    use std::fmt::Write as _;
    text.bytes().fold(String::new(), |mut all, byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) || keeps.contains(&byte) {
            all.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(all, "%{byte:02X}");
        }
        all
    })
}

impl fmt::Display for Address {
    /// The URL that means the same, in one form, without a password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (user, database) = (escaped(&self.user, b""), escaped(&self.database, b""));
        match &self.host {
            Host::Name(host) if host.contains(':') => {
                write!(f, "postgres://{user}@[{host}]:{}/{database}", self.port)
            }
            Host::Name(host) => write!(f, "postgres://{user}@{host}:{}/{database}", self.port),
            Host::Socket(dir) => {
                let dir = escaped(&dir.to_string_lossy(), b"/");
                write!(
                    f,
                    "postgres://{user}@/{database}?host={dir}&port={}",
                    self.port
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(url: &str) -> Result<(String, Option<String>), BadAddress> {
        let typed = Address::read(url, Some("me"))?;
        Ok((typed.address.to_string(), typed.password))
    }

    #[test]
    fn addresses_have_one_form_and_no_password() {
        let check = |url: &str, expected: &str, password: Option<&str>| {
            let found = read(url).unwrap_or_else(|why| panic!("{url}: {why}"));
            assert_eq!(
                found,
                (expected.to_owned(), password.map(str::to_owned)),
                "{url}"
            );
            // What is kept is read again.
            assert_eq!(
                read(expected).unwrap(),
                (expected.to_owned(), None),
                "{url}"
            );
        };
        check(
            "postgres://bob@db:5433/shop",
            "postgres://bob@db:5433/shop",
            None,
        );
        check("postgresql://db", "postgres://me@db:5432/me", None);
        check(
            "postgres://bob:s%40c@10.0.0.1/shop",
            "postgres://bob@10.0.0.1:5432/shop",
            Some("s@c"),
        );
        check(
            "postgres://bob:a@b@db/x",
            "postgres://bob@db:5432/x",
            Some("a@b"),
        );
        check("postgres://bob@[::1]:7/x", "postgres://bob@[::1]:7/x", None);
        check(
            "postgres:///shop?host=/run/postgresql",
            "postgres://me@/shop?host=/run/postgresql&port=5432",
            None,
        );
        check(
            "postgres://b@%2Frun%2Fpg:7/shop",
            "postgres://b@/shop?host=/run/pg&port=7",
            None,
        );
        check(
            "postgres://db/x?user=eve&password=p%26w&sslmode=prefer&port=9&dbname=y",
            "postgres://eve@db:9/y",
            Some("p&w"),
        );
        check(
            "postgres://b%20c@db/a%2Fb",
            "postgres://b%20c@db:5432/a%2Fb",
            None,
        );
    }

    #[test]
    fn what_is_refused_is_not_quoted() {
        let check = |url: &str, words: &str| {
            let why = read(url).unwrap_err().to_string();
            assert!(why.contains(words), "{url}: {why}");
            assert!(!why.contains("hunter2"), "{url}: {why}");
        };
        check("mysql://u:hunter2@h/d", "postgres://");
        check("hunter2", "postgres://");
        check("postgres://u:hunter2%zz@h/d", "hexadecimal");
        check("postgres://u:hunter2@h:99999/d", "port");
        check("postgres://u:hunter2@h:0/d", "port");
        check("postgres://u:hunter2@h/d?sslmode=require", "TLS");
        check("postgres://u:hunter2@h/d?sslmode=hunter2", "sslmode");
        check("postgres://u:hunter2@h/d?sslrootcert=x", "`sslrootcert`");
        check("postgres://u@h/d?a=b&hunter2%40=1", "parameter");
        check("postgres://u:hunter2@a,b/d", "several");
        check("postgres://u@h/d?host=a,b", "several");
        check("postgres://u:hunter2@h h/d", "host");
        check("postgres://u%0a:hunter2@h/d", "user");
        check("postgres://u:hunter2%00@h/d", "password");
        assert_eq!(
            Address::read("postgres://h/d", None).err(),
            Some(BadAddress::Part("user"))
        );
    }

    proptest! {
        #[test]
        fn no_text_breaks_it_and_what_is_read_is_read_again(url in "(postgres://)?.{0,80}") {
            if let Ok((address, _)) = read(&url) {
                prop_assert_eq!(read(&address).unwrap(), (address.clone(), None));
            }
        }
    }
}
