//! Why a host has no address here: what was asked, of whom, and what helps.

use super::host::Refusal;
use super::message::{FORMERR, NOTIMP};
use crate::tree::{TreeError, shorten};
use std::fmt::{self, Display, Formatter};
use std::net::SocketAddr;

/// Why no address was found. Every text ends with a hint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NamesError {
    /// The text can be no host, whoever is asked: it has to be written in another way.
    #[error("read the host `{host}`: {why}\nhint: {hint}")]
    NoHost {
        /// The text, as it was given; its beginning, where it is long.
        host: String,
        /// What is wrong with it.
        why: String,
        /// How to write it.
        hint: &'static str,
    },
    /// /etc/hosts or /etc/resolv.conf is there and cannot be read.
    #[error("look up `{host}`: {error}\nhint: make the file readable, or write the address")]
    Unread {
        /// The name.
        host: String,
        /// Which file, and why.
        error: TreeError,
    },
    /// A server says that there is no such name (NXDOMAIN), in all that the search list makes of it.
    #[error(
        "look up `{host}`: `{server}` says that there is no {} (NXDOMAIN)\nhint: {}",
        listed(.names, " and no "),
        ONLY
    )]
    NoSuchName {
        /// The name as it was given.
        host: String,
        /// The names that were asked for, in this order.
        names: Vec<String>,
        /// Who said so of the last one.
        server: SocketAddr,
    },
    /// There is such a name, and it has no address.
    #[error(
        "look up `{host}`: `{server}` says that `{name}` exists and has no address\nhint: it may be the name of a \
         domain and not of a host in it; {}",
        ONLY
    )]
    NoAddress {
        /// The name as it was given.
        host: String,
        /// The name that exists.
        name: String,
        /// Who said so.
        server: SocketAddr,
    },
    /// Nobody answered for the name: whether it exists is not known.
    #[error("look up `{host}`: {}\nhint: {}", said(.servers, .name), hint(.servers))]
    Unanswered {
        /// The name as it was given.
        host: String,
        /// The name that was asked for.
        name: String,
        /// Whom it was asked of, and why that gave no answer; nobody, where no time was left.
        servers: Vec<(SocketAddr, Reason)>,
    },
}

/// What a server gave in the place of an answer, the last time it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Nothing, in the time that it had.
    Silent,
    /// That it does not serve us (REFUSED).
    Refused,
    /// That it could not find out (SERVFAIL): the servers of the domain do not answer it, or their answer is not to be
    /// trusted.
    Failed,
    /// Another code of RFC 1035, section 4.1.1, or one of its successors.
    Code(u8),
    /// An answer to the question that cannot be read, and what is wrong with it.
    Broken(&'static str),
    /// Nothing, because the network or this machine refused to carry the question.
    Unreachable {
        /// What was tried.
        operation: &'static str,
        /// The name of the error number.
        error: String,
    },
}

/// What the end of a hint says where only somebody else may know the name.
const ONLY: &str = "only /etc/hosts and DNS are asked (no mDNS, NIS or LDAP); write the address where another program \
                    knows it";

impl NamesError {
    pub(super) fn refused(host: &str, refusal: Refusal) -> Self {
        Self::NoHost {
            host: shorten(host),
            why: refusal.why,
            hint: refusal.hint,
        }
    }

    pub(super) fn unread(host: &str, error: TreeError) -> Self {
        Self::Unread {
            host: host.to_owned(),
            error,
        }
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent => f.write_str("does not answer in time"),
            Self::Refused => f.write_str("refuses to answer (REFUSED)"),
            Self::Failed => f.write_str("could not find out (SERVFAIL)"),
            Self::Code(FORMERR) => f.write_str("does not understand the question (FORMERR)"),
            Self::Code(NOTIMP) => f.write_str("does not answer such questions (NOTIMP)"),
            Self::Code(code) => write!(f, "answers with the code {code}"),
            Self::Broken(why) => write!(f, "sends an answer that cannot be read: {why}"),
            Self::Unreachable { operation, error } => {
                write!(f, "cannot be asked: {operation}: {error}")
            }
        }
    }
}

/// What each server gave, in words.
fn said(servers: &[(SocketAddr, Reason)], name: &str) -> String {
    if servers.is_empty() {
        return format!("no time was left to ask for `{name}`");
    }
    let each = servers.iter();
    let each = each.map(|(server, reason)| format!("`{server}` {reason}"));
    let all: Vec<String> = each.collect();
    format!("asked for `{name}`, {}", all.join(", and "))
}

/// What helps, by what the last server gave: where several are configured, it is the one that all hope was on.
fn hint(servers: &[(SocketAddr, Reason)]) -> &'static str {
    match servers.last().map(|(_, reason)| reason) {
        None => "give it more time, or write the address",
        Some(Reason::Silent | Reason::Unreachable { .. }) => {
            "see whether port 53 of every `nameserver` in `/etc/resolv.conf` can be reached, or write the address"
        }
        Some(Reason::Refused) => {
            "name a `nameserver` in `/etc/resolv.conf` that serves this machine, or write the address"
        }
        Some(Reason::Failed) => {
            "the servers of that domain may be down: try again later, or write the address; where the search list made \
             the name, write the whole name with a dot at its end"
        }
        Some(Reason::Code(_) | Reason::Broken(_)) => {
            "name another `nameserver` in `/etc/resolv.conf`, or write the address"
        }
    }
}

fn listed(names: &[String], between: &str) -> String {
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    quoted.join(between)
}
