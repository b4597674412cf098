//! Where a database server is, as users type it: a URL, without the password.
//!
//! An address names a server and a database in a run that is kept, so that it holds nothing that opens them: a password
//! is split off while the URL is read, and no error quotes what was typed. A parameter that this does not know is
//! refused by its name; nothing is read and ignored. What differs between servers is in [`super::engines`].

use super::encryption::{Encryption, Words};
use super::engines::{Engine, Parameter, REDIS_USER};
use std::fmt;
use std::path::PathBuf;

/// A server and a database on it, and the user who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// What listens there.
    pub engine: Engine,
    /// Who asks; `default` at a Redis that is told of nobody.
    pub user: String,
    /// Where the server listens.
    pub host: Host,
    /// Its port, which is a part of the name of PostgreSQL's Unix sockets too.
    pub port: u16,
    /// The database; a number at Redis.
    pub database: String,
    /// Whether connections are encrypted, which those over a Unix socket never are.
    pub tls: Option<Encryption>,
    /// Whether the password may go as it is over a network (`password=clear`).
    pub may_be_clear: bool,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Host {
    /// A name, or an address of the network.
    Name(String),
    /// A Unix socket, or the directory of PostgreSQL's: [`Address::socket`] is what to connect to.
    Socket(PathBuf),
}

/// What holds where an address does not say it.
#[derive(Clone, Debug, Default)]
pub struct Defaults {
    /// Who types.
    pub user: Option<String>,
    /// A host, or the path of a Unix socket; not used where an address names a host, a socket or a port.
    pub host: Option<String>,
    /// The port of that host.
    pub port: Option<String>,
}

/// Why a text is no address. It never says what was typed, which may hold a password.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// Another kind of server, or none.
    #[error(
        "it does not begin with {}\n\
         hint: as `postgres://USER@HOST/DATABASE`, or `postgres:///DATABASE` on this machine",
        schemes()
    )]
    Scheme,
    /// What `%` stands before is no byte, or the bytes are no text.
    #[error("a `%` in it does not stand before two hexadecimal digits of a text")]
    Escape,
    /// An `@` where none belongs.
    #[error(
        "it has an `@` behind the host\n\
         hint: in a user, a password or a parameter `/` is written as `%2F`, `?` as `%3F` and `@` as `%40`"
    )]
    Unescaped,
    /// A part that must not be empty, or holds what no name has.
    #[error("its {0} is {no}", no = is_not(.0))]
    Part(&'static str),
    /// Several servers.
    #[error("it names several hosts: one is measured at a time")]
    Several,
    /// A parameter that this program does not know.
    #[error("its parameter `{name}` is none of {}", parameters(*.engine))]
    Unknown {
        /// As it was typed.
        name: String,
        /// Which knows others.
        engine: Engine,
    },
    /// Encryption as the server likes it.
    #[error(
        "it leaves to the server whether connections are encrypted (`{0}={1}`), which decides the figures\n\
         hint: `{0}` that asks for it or does without"
    )]
    Undecided(&'static str, &'static str),
    /// Encryption of a Unix socket.
    #[error(
        "it asks for TLS over a Unix socket, which nobody else can listen to\nhint: without TLS, or name a host"
    )]
    OverSocket,
    /// A certificate of the client's.
    #[error(
        "its `{0}`: kurabe has no certificate of its own to show\nhint: a user who has a password"
    )]
    ClientCertificate(&'static str),
    /// Another word than the one that lets a password go as it is.
    #[error(
        "its `password` has one word, `clear`: the password may go over a network as it is\n\
         hint: the password itself stands before the `@`: `redis://:PASSWORD@HOST`"
    )]
    NotClear,
    /// A parameter that would change nothing.
    #[error("its `{0}` means nothing without {1}")]
    Unused(&'static str, &'static str),
    /// The word that lets a password go as it is, where it does not go over a network so.
    #[error("its `password=clear` is for connections over a network without TLS")]
    NotOverNetwork,
    /// A file from where a worker is not.
    #[error("its `{0}` is no absolute path")]
    File(&'static str),
}

/// What a part is not that is refused.
fn is_not(part: &str) -> &'static str {
    match part {
        "host" => "none: a name of letters, digits, `.`, `-` and `_`, or the number of an address",
        "port" => "no number from 1 to 65535",
        "database number" => "no number of five digits at most",
        "socket" => "no path that begins with `/`",
        "list of parameters" => "none: `name=value`, with `&` between",
        "user" | "database" | "password" => "missing, too long, or holds what cannot be printed",
        _ => "none of its words",
    }
}

/// What addresses begin with.
fn schemes() -> String {
    let all = Engine::ALL.into_iter().flat_map(Engine::schemes);
    let all: Vec<String> = all.map(|scheme| format!("`{scheme}`")).collect();
    all.join(", ")
}

fn parameters(engine: Engine) -> String {
    let all = engine.form().parameters.iter();
    let known = all.filter(|(_, parameter)| *parameter != Parameter::OfClient);
    known.map(|(name, _)| *name).collect::<Vec<_>>().join(", ")
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
    /// Reads a URL.
    pub fn read(url: &str, defaults: &Defaults) -> Result<Typed, BadAddress> {
        let engine = Engine::of(url).ok_or(BadAddress::Scheme)?;
        let form = engine.form();
        let behind = |schemes: &[&str]| {
            let mut all = schemes.iter();
            all.find_map(|scheme| url.strip_prefix(scheme))
        };
        let plain_rest = behind(form.schemes);
        let rest = plain_rest.or_else(|| behind(form.encrypted));
        let rest = rest.ok_or(BadAddress::Scheme)?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        // What stands before it may be the rest of a password.
        if path.contains('@') || query.contains('@') {
            return Err(BadAddress::Unescaped);
        }
        // A password may hold an `@` that nobody escaped; hosts hold none.
        let (who, at) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match who.split_once(':') {
            Some((user, password)) => (user, Some(plain(password)?)),
            None => (who, None),
        };
        let (host, port) = host_and_port(at)?;
        let mut found = Found {
            engine,
            user: given(plain(user)?),
            password,
            host: given(host),
            port: port.map(str::to_owned),
            database: given(plain(path)?),
            tls: Words::new(plain_rest.is_none()),
            may_be_clear: false,
        };
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            found.take(pair)?;
        }
        found.whole(defaults)
    }

    /// Whether a password for one of two addresses is one for the other: the same user of the same database of the same
    /// server, however its connections are made.
    pub fn opens_like(&self, other: &Self) -> bool {
        let of = |own: &Self| {
            let Self {
                engine,
                user,
                host,
                port,
                database,
                ..
            } = own.clone();
            (engine, user, host, port, database)
        };
        of(self) == of(other)
    }

    /// What tells one server from another; several names of one are several.
    pub fn server(&self) -> (String, u16) {
        match (&self.host, self.socket()) {
            (_, Some(socket)) => (socket.display().to_string(), 0),
            (Host::Name(name), None) => (name.clone(), self.port),
            (Host::Socket(path), None) => (path.display().to_string(), 0),
        }
    }

    /// The Unix socket to connect to; `None` for the network.
    pub fn socket(&self) -> Option<PathBuf> {
        match &self.host {
            Host::Socket(named) => Some(self.engine.socket_at(named, self.port)),
            Host::Name(_) => None,
        }
    }
}

/// The address of this machine.
const HERE: &str = "127.0.0.1";

/// The word that lets a password go as it is.
const CLEAR: &str = "clear";

/// What has been read of a URL.
struct Found {
    engine: Engine,
    user: Option<String>,
    password: Option<String>,
    /// A name, or a path.
    host: Option<String>,
    port: Option<String>,
    database: Option<String>,
    tls: Words,
    may_be_clear: bool,
}

impl Found {
    /// A parameter behind the `?`, which goes before what stands in front of it.
    fn take(&mut self, pair: &str) -> Result<(), BadAddress> {
        let (typed, value) = pair.split_once('=').unwrap_or((pair, ""));
        let value = plain(value)?;
        let mut known = self.engine.form().parameters.iter();
        let Some((name, parameter)) = known.find(|(name, _)| *name == typed) else {
            // A name alone is quoted, and none that could be a value.
            let is_one = !typed.is_empty() && typed.len() <= 40 && typed.bytes().all(is_of_a_word);
            return Err(if is_one {
                BadAddress::Unknown {
                    name: typed.to_owned(),
                    engine: self.engine,
                }
            } else {
                BadAddress::Part("list of parameters")
            });
        };
        match parameter {
            Parameter::Host => self.host = given(value),
            Parameter::Port => self.port = given(value),
            Parameter::User => self.user = given(value),
            Parameter::Database => self.database = given(value),
            Parameter::PasswordOrClear | Parameter::Clear if value == CLEAR => {
                self.may_be_clear = true;
            }
            Parameter::Password | Parameter::PasswordOrClear => self.password = given(value),
            Parameter::Clear => return Err(BadAddress::NotClear),
            Parameter::Socket if value.starts_with('/') => self.host = given(value),
            Parameter::Socket => return Err(BadAddress::Part(name)),
            of_tls => self.tls.take(name, *of_tls, value)?,
        }
        Ok(())
    }

    fn whole(self, defaults: &Defaults) -> Result<Typed, BadAddress> {
        let engine = self.engine;
        let me = defaults.user.as_deref();
        let user = self.user.or_else(|| engine.user(me));
        let user = checked(user.ok_or(BadAddress::Part("user"))?, "user")?;
        let database = self.database.or_else(|| engine.database(&user));
        let database = checked(database.ok_or(BadAddress::Part("database"))?, "database")?;
        if engine == Engine::Redis && !is_number(&database) {
            return Err(BadAddress::Part("database number"));
        }
        let (host, port) = match (self.host, self.port) {
            (None, None) => (defaults.host.clone(), defaults.port.clone()),
            // The socket of others has no port.
            (None, port) if engine != Engine::Postgres => (Some(HERE.to_owned()), port),
            named => named,
        };
        let port = match port {
            None => engine.form().port,
            Some(port) if port.contains(',') => return Err(BadAddress::Several),
            Some(port) => match port.parse() {
                Ok(port) if port > 0 => port,
                _ => return Err(BadAddress::Part("port")),
            },
        };
        let host = match host {
            // As the server's own clients do; where there is no socket the error names it.
            None => match engine.socket(port) {
                Some(usual) => Host::Socket(usual),
                None => Host::Name(HERE.to_owned()),
            },
            Some(host) if host.contains(',') => return Err(BadAddress::Several),
            Some(host) if host.starts_with('/') => Host::Socket(checked(host, "host")?.into()),
            Some(host) if host.bytes().all(is_of_a_host) => Host::Name(host),
            Some(_) => return Err(BadAddress::Part("host")),
        };
        // The name of a socket says it all, but for PostgreSQL's.
        let has_port = engine == Engine::Postgres || matches!(host, Host::Name(_));
        let port = if has_port { port } else { engine.form().port };
        let password = self.password.filter(|password| !password.is_empty());
        if password
            .as_ref()
            .is_some_and(|password| password.contains('\0'))
        {
            return Err(BadAddress::Part("password"));
        }
        let tls = self.tls.whole(engine)?;
        if tls.is_some() && matches!(host, Host::Socket(_)) {
            return Err(BadAddress::OverSocket);
        }
        let is_heard = tls.is_none() && matches!(host, Host::Name(_));
        if self.may_be_clear && !is_heard {
            return Err(BadAddress::NotOverNetwork);
        }
        let address = Address {
            engine,
            user,
            host,
            port,
            database,
            tls,
            may_be_clear: self.may_be_clear,
        };
        Ok(Typed { address, password })
    }
}

fn is_number(text: &str) -> bool {
    text.len() <= 5 && text.bytes().all(|byte| byte.is_ascii_digit())
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
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
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
        let (form, port) = (self.engine.form(), self.port);
        let is_encrypted = self.tls.is_some();
        let encrypted = form.encrypted.first().filter(|_| is_encrypted);
        let scheme = encrypted.unwrap_or(&form.schemes[0]);
        let database = escaped(&self.database, b"");
        let who = if self.engine == Engine::Redis && self.user == REDIS_USER {
            String::new()
        } else {
            format!("{}@", escaped(&self.user, b""))
        };
        match &self.host {
            Host::Name(host) if host.contains(':') => {
                write!(f, "{scheme}{who}[{host}]:{port}/{database}")
            }
            Host::Name(host) => write!(f, "{scheme}{who}{host}:{port}/{database}"),
            Host::Socket(path) => {
                let path = escaped(&path.to_string_lossy(), b"/");
                match self.engine {
                    Engine::Postgres => {
                        write!(f, "{scheme}{who}/{database}?host={path}&port={port}")
                    }
                    Engine::Mysql | Engine::Redis => {
                        write!(f, "{scheme}{who}/{database}?socket={path}")
                    }
                }
            }
        }?;
        // Of a network alone, whose addresses have no other parameters.
        let asked = self.tls.as_ref();
        let mut all = asked.map_or_else(Vec::new, |tls| tls.parameters(self.engine));
        if self.may_be_clear {
            all.push(("password", CLEAR.to_owned()));
        }
        for (place, (name, value)) in all.iter().enumerate() {
            let sign = if place == 0 { '?' } else { '&' };
            write!(f, "{sign}{name}={}", escaped(value, b"/"))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
