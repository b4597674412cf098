//! Host names to addresses, without the C library: the release is one static file, and a static glibc finds names only
//! through plugins that it loads from the machine, of exactly its own version, or not at all.
//!
//! Asked are, in this order: the text itself (a numeric address), RFC 6761 (`localhost`), /etc/hosts (hosts(5)) and DNS
//! (RFC 1034, 1035) as /etc/resolv.conf (resolv.conf(5)) says. What nsswitch.conf(5) may name beside those (mDNS, NIS,
//! LDAP, systemd's own) is not asked, and errors say so. Names that are not ASCII are refused: what becomes of them
//! (IDNA, RFC 5891) takes tables that are larger than the rest of this, and the `xn--` form says the same.
//!
//! Nothing is cached: a name is looked up once, before anything is measured. Answers are not verified (DNSSEC); they
//! count where they come from the address and the port that were asked, to a port that the kernel picked for this one
//! question, with its random number and its words (RFC 5452).
//!
//! In one thing this is stricter than the C library: where a name of the search list was not answered for, the next
//! one is not tried. It may be another machine, and then a good day and a bad day would measure two.

mod ask;
mod config;
mod error;
mod exchange;
mod host;
mod hosts;
mod literal;
mod message;

pub use error::{NamesError, Reason};

use crate::tree::Tree;
use crate::until::Until;
use config::Config;
use host::Host;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

/// The addresses of a host, each with `port`: at least one, none twice.
///
/// `host` is an IPv4 address in four decimal numbers, an IPv6 address, also in brackets, with its interface where it
/// is link-local (`fe80::1%eth0`, RFC 4007), or a name. `localhost` and what is below it are this machine's loopback
/// whatever any file says (RFC 6761, section 6.3). A name that ends in a dot is complete: nothing of the search list
/// is appended to it.
///
/// The order is that in which they are served, with IPv6 and IPv4 taking turns (RFC 8305, section 4). IPv6 begins where
/// the kernel has a route to the first such address, and IPv4 otherwise. To be tried one after the other.
///
/// `within` bounds what is asked of DNS, all servers and attempts together: the servers share it, so that each is
/// asked once before it ends, and none is waited for longer than resolv.conf(5) says. Where one of the two questions
/// (A, AAAA) stays without an answer to the end, the addresses that answer the other one are given.
///
/// Errors: see [`NamesError`]. Every one says what was asked, of whom, and what helps.
pub fn addresses(host: &str, port: u16, within: Duration) -> Result<Vec<SocketAddr>, NamesError> {
    let until = Until::after(within);
    let tree = Tree::real();
    let unread = |error| NamesError::unread(host, error);
    let found = match known(host, port, &tree)? {
        Known::Addresses(found) => found,
        Known::Ask(name) => {
            let config = config::read(&tree).map_err(unread)?;
            by_dns(name, port, &config, until)?
        }
    };
    Ok(ordered(found, has_route))
}

/// What is known without asking anybody.
enum Known<'a> {
    Addresses(Vec<SocketAddr>),
    /// Nothing but that it is a name.
    Ask(Host<'a>),
}

fn known<'a>(host: &'a str, port: u16, tree: &Tree) -> Result<Known<'a>, NamesError> {
    let refused = |refusal| NamesError::refused(host, refusal);
    if let Some(address) = literal::read(host, port) {
        return Ok(Known::Addresses(vec![address.map_err(refused)?]));
    }
    let name = Host::read(host).map_err(refused)?;
    if name.is_localhost() {
        let loopback = [
            SocketAddr::from((Ipv6Addr::LOCALHOST, port)),
            SocketAddr::from((Ipv4Addr::LOCALHOST, port)),
        ];
        return Ok(Known::Addresses(loopback.to_vec()));
    }
    let listed = hosts::find(tree, name.text(), port);
    let listed = listed.map_err(|error| NamesError::unread(host, error))?;
    Ok(if listed.is_empty() {
        Known::Ask(name)
    } else {
        Known::Addresses(listed)
    })
}

fn by_dns(
    name: Host,
    port: u16,
    config: &Config,
    until: Until,
) -> Result<Vec<SocketAddr>, NamesError> {
    let found = ask::find(name, config, until)?;
    let with_port = |address| SocketAddr::new(address, port);
    Ok(found.into_iter().map(with_port).collect())
}

/// Each once, IPv6 and IPv4 in turn.
fn ordered(found: Vec<SocketAddr>, has_route: impl Fn(SocketAddr) -> bool) -> Vec<SocketAddr> {
    let (mut first, mut second) = (Vec::new(), Vec::new());
    for address in found {
        let family = if address.is_ipv6() {
            &mut first
        } else {
            &mut second
        };
        if !family.contains(&address) {
            family.push(address);
        }
    }
    if !first.first().is_some_and(|&address| has_route(address)) {
        std::mem::swap(&mut first, &mut second);
    }
    let turns = first.len().max(second.len());
    (0..turns)
        .flat_map(|turn| [first.get(turn), second.get(turn)])
        .flatten()
        .copied()
        .collect()
}

/// Whether the kernel would know where to send: it looks for a route when a UDP socket is connected, and sends nothing.
fn has_route(address: SocketAddr) -> bool {
    let socket = UdpSocket::bind(any_port_for(address));
    socket.and_then(|socket| socket.connect(address)).is_ok()
}

/// Where a socket that is to speak to `address` begins: wherever the kernel likes, at a port of its choice.
fn any_port_for(address: SocketAddr) -> SocketAddr {
    if address.is_ipv6() {
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))
    } else {
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))
    }
}

#[cfg(test)]
mod fake;
#[cfg(test)]
mod tests;
