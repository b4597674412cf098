//! The names of a search list and the servers, one after the other, until somebody knows.

use super::config::Config;
use super::error::{NamesError, Reason};
use super::exchange::{self, How};
use super::host::Host;
use super::message::{Answer, FORMERR, Kind, NOTIMP, REFUSED, SERVFAIL};
use crate::until::Until;
use std::net::{IpAddr, SocketAddr};

/// The addresses of a name, at least one, those of IPv4 first.
///
/// The search list goes on where a name does not exist, or exists without an address. It ends with an error where
/// nobody answered for a name, or answered with another code: that says nothing about whether there is such a name.
pub(super) fn find(host: Host, config: &Config, until: Until) -> Result<Vec<IpAddr>, NamesError> {
    let names = host.candidates(config);
    let given = || host.text().to_owned();
    let mut error = None;
    for name in &names {
        match one(name, config, until) {
            Ok(Found::Addresses(addresses)) => return Ok(addresses),
            Ok(Found::NoAddress(server)) => {
                error = Some(NamesError::NoAddress {
                    host: given(),
                    name: name.clone(),
                    server,
                });
            }
            // That one of the names exists says more than that another one does not.
            Ok(Found::NoSuchName(_)) if matches!(error, Some(NamesError::NoAddress { .. })) => {}
            Ok(Found::NoSuchName(server)) => {
                error = Some(NamesError::NoSuchName {
                    host: given(),
                    names: names.clone(),
                    server,
                });
            }
            Err(servers) => {
                return Err(NamesError::Unanswered {
                    host: given(),
                    name: name.clone(),
                    servers,
                });
            }
        }
    }
    Err(error.expect("the name itself is always asked for"))
}

/// What is known of one name, and by whom.
enum Found {
    Addresses(Vec<IpAddr>),
    NoAddress(SocketAddr),
    NoSuchName(SocketAddr),
}

/// Why there is no answer: the last reason of every server that was asked.
type Reasons = Vec<(SocketAddr, Reason)>;

fn one(name: &str, config: &Config, until: Until) -> Result<Found, Reasons> {
    let mut open: Vec<Kind> = config.kinds.to_vec();
    let mut answers: Vec<(SocketAddr, Answer)> = Vec::new();
    let mut reasons = Reasons::new();
    let mut how = How {
        over_tcp: config.over_tcp,
        edns: config.edns,
    };
    let tries = config.attempts * config.servers.len();
    let servers = config.servers.iter().cycle().take(tries);
    for (&server, tries_left) in servers.zip((1..=tries).rev()) {
        let Some(left) = until.left() else {
            break;
        };
        // Every try has its share, so that the second server is asked although the first is silent.
        let share = u32::try_from(tries_left).map_or(left, |tries| left / tries);
        let until = until.or_after(config.timeout.min(share));
        let mut said = exchange::ask(server, name, &open, how, until);
        if how.edns && said.iter().any(knows_no_edns) {
            how.edns = false;
            said = exchange::ask(server, name, &open, how, until);
        }
        let mut still_open = Vec::new();
        for (kind, said) in open.into_iter().zip(said) {
            match said.and_then(answer) {
                Ok(answer) => answers.push((server, answer)),
                Err(reason) => {
                    still_open.push(kind);
                    reasons.retain(|(other, _)| *other != server);
                    reasons.push((server, reason));
                }
            }
        }
        open = still_open;
        if open.is_empty() {
            break;
        }
    }
    conclusion(answers, open.is_empty()).ok_or(reasons)
}

/// A server that does not know extensions says so (RFC 6891, section 7).
fn knows_no_edns(said: &Result<Answer, Reason>) -> bool {
    matches!(said, Ok(Answer::Code(FORMERR | NOTIMP)))
}

/// An answer that says something of the name, or why this one does not.
fn answer(answer: Answer) -> Result<Answer, Reason> {
    match answer {
        Answer::Code(REFUSED) => Err(Reason::Refused),
        Answer::Code(SERVFAIL) => Err(Reason::Failed),
        Answer::Code(code) => Err(Reason::Code(code)),
        // Over TCP too: an exchange ends with something else.
        Answer::Cut => Err(Reason::Broken("it is cut")),
        Answer::Addresses(_) | Answer::NoSuchName => Ok(answer),
    }
}

/// What all answers together say; `None` where too little was answered. An address counts whatever else was answered:
/// some servers say of a name without IPv6 that it does not exist (RFC 4074, section 4.2).
fn conclusion(answers: Vec<(SocketAddr, Answer)>, is_complete: bool) -> Option<Found> {
    let mut found = Vec::new();
    let (mut no_such_name, mut no_address) = (None, None);
    for (server, answer) in answers {
        match answer {
            Answer::Addresses(addresses) => {
                found.extend(addresses);
                no_address = Some(Found::NoAddress(server));
            }
            _ => no_such_name = Some(Found::NoSuchName(server)),
        }
    }
    if !found.is_empty() {
        return Some(Found::Addresses(found));
    }
    // A name that exists without one kind of address may have the other; one that does not exist has neither.
    no_address.filter(|_| is_complete).or(no_such_name)
}
