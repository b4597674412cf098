//! /etc/resolv.conf, as resolv.conf(5) describes it.
//!
//! Not followed: `rotate` (a look-up is one question, and should find the same server every time), `sortlist`, the
//! variables `LOCALDOMAIN` and `RES_OPTIONS`. Not needed: `single-request` and its relative, because each question has
//! a socket of its own and one that was lost is asked again alone.

use super::host;
use super::literal;
use super::message::Kind;
use crate::tree::{Tree, TreeError};
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

const PATH: &str = "/etc/resolv.conf";

/// The file that tells what gethostname(2) does.
const HOSTNAME: &str = "/proc/sys/kernel/hostname";

/// Where DNS is served (RFC 1035, section 4.2).
const PORT: u16 = 53;

/// The numbers of resolv.conf(5): how many servers count (`MAXNS`), and the largest values of options.
const SERVERS_MAX: usize = 3;
const NDOTS_MAX: usize = 15;
const TIMEOUT_MAX_S: u64 = 30;
const ATTEMPTS_MAX: usize = 5;

/// Whom to ask, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Config {
    /// One to three.
    pub(super) servers: Vec<SocketAddr>,
    /// What may be appended to names, without dots at the ends.
    pub(super) search: Vec<String>,
    /// So many dots make a name one that is first asked for as it is.
    pub(super) ndots: usize,
    /// How long one server is waited for.
    pub(super) timeout: Duration,
    /// How often each server is asked.
    pub(super) attempts: usize,
    /// Whether TCP is used from the beginning (`use-vc`).
    pub(super) over_tcp: bool,
    /// Whether larger answers over UDP are asked for (`edns0`).
    pub(super) edns: bool,
    /// What is asked: both, or IPv4 alone (`no-aaaa`).
    pub(super) kinds: &'static [Kind],
}

/// What the machine is configured to. Where there is no file, the defaults: a server on this machine.
pub(super) fn read(tree: &Tree) -> Result<Config, TreeError> {
    let text = match tree.read(PATH) {
        Err(error) if error.absent => String::new(),
        other => other?,
    };
    // Where nobody tells the machine's own name, it has no domain.
    let hostname = tree.read_trimmed(HOSTNAME).ok();
    Ok(parse(&text, hostname.as_deref()))
}

/// What a file of this content says on a machine of this name. What is not understood is passed over.
pub(super) fn parse(text: &str, hostname: Option<&str>) -> Config {
    let mut config = Config {
        servers: Vec::new(),
        search: Vec::new(),
        ndots: 1,
        timeout: Duration::from_secs(5),
        attempts: 2,
        over_tcp: false,
        edns: false,
        kinds: &[Kind::A, Kind::Aaaa],
    };
    let mut search: Option<Vec<String>> = None;
    for line in text.lines() {
        let Some((keyword, value)) = line.split_once([' ', '\t']) else {
            continue;
        };
        let words = value.split_ascii_whitespace();
        let words = words.take_while(|word| !word.starts_with(['#', ';']));
        match keyword {
            "nameserver" => config.servers.extend(words.take(1).filter_map(server)),
            "domain" => search = domains(words.take(1)).or(search),
            "search" => search = domains(words).or(search),
            "options" => words.for_each(|word| option(&mut config, word)),
            _ => {}
        }
    }
    config.servers.truncate(SERVERS_MAX);
    if config.servers.is_empty() {
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, PORT));
        config.servers.push(here);
    }
    let own = || hostname.and_then(|name| name.split_once('.'));
    let own_domain = || own().and_then(|(_, domain)| domains([domain].into_iter()));
    config.search = search.or_else(own_domain).unwrap_or_default();
    config
}

fn server(word: &str) -> Option<SocketAddr> {
    let address = word.split(['#', ';']).next()?;
    literal::read(address, PORT)?.ok()
}

/// The domains that are names; `None` where nothing is written. The root (`.`) is written and appends nothing.
fn domains<'a>(words: impl Iterator<Item = &'a str>) -> Option<Vec<String>> {
    let mut words = words.peekable();
    words.peek()?;
    let trimmed = words.map(|word| word.strip_suffix('.').unwrap_or(word));
    let valid = trimmed.filter(|domain| host::refusal(domain).is_none());
    Some(valid.map(str::to_owned).collect())
}

fn option(config: &mut Config, word: &str) {
    let (name, value) = word.split_once(':').unwrap_or((word, ""));
    match (name, value.parse::<u16>()) {
        ("ndots", Ok(dots)) => config.ndots = usize::from(dots).min(NDOTS_MAX),
        ("timeout", Ok(seconds)) => {
            config.timeout = Duration::from_secs(u64::from(seconds).clamp(1, TIMEOUT_MAX_S));
        }
        ("attempts", Ok(times)) => config.attempts = usize::from(times).clamp(1, ATTEMPTS_MAX),
        ("use-vc", _) => config.over_tcp = true,
        ("edns0", _) => config.edns = true,
        ("no-aaaa", _) => config.kinds = &[Kind::A],
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_are_the_first_three_that_are_addresses() {
        let check = |text: &str, expect: &[&str]| {
            let servers = parse(text, None).servers;
            let servers: Vec<String> = servers.iter().map(ToString::to_string).collect();
            assert_eq!(servers, expect, "{text}");
        };
        check("", &["127.0.0.1:53"]);
        check("nameserver\nnameserver \nnameserver x\n", &["127.0.0.1:53"]);
        check("nameserver 192.0.2.1\r\n", &["192.0.2.1:53"]);
        check("nameserver\t192.0.2.1 # ours\n", &["192.0.2.1:53"]);
        check("nameserver 192.0.2.1#ours\n", &["192.0.2.1:53"]);
        check("nameserver fe80::1%lo\n", &["[fe80::1%1]:53"]);
        check("nameserver 192.0.2.1 192.0.2.2\n", &["192.0.2.1:53"]);
        check(" nameserver 192.0.2.1\n", &["127.0.0.1:53"]);
        check(
            "#nameserver 192.0.2.1\n;nameserver 192.0.2.1",
            &["127.0.0.1:53"],
        );
        check("nameservers 192.0.2.1\n", &["127.0.0.1:53"]);
        check(
            "nameserver 192.0.2.1\nnameserver broken\nnameserver 2001:db8::2\nnameserver 192.0.2.3\n\
             nameserver 192.0.2.4\n",
            &["192.0.2.1:53", "[2001:db8::2]:53", "192.0.2.3:53"],
        );
    }

    #[test]
    fn the_last_of_search_and_domain_wins_and_else_the_machines_own_domain() {
        let check = |text: &str, expect: &[&str]| {
            assert_eq!(parse(text, Some("vm.own.example")).search, expect, "{text}");
        };
        check("", &["own.example"]);
        check("search a.example. b\tc\n", &["a.example", "b", "c"]);
        check("search a\ndomain b c\n", &["b"]);
        check("domain a\nsearch b c\n", &["b", "c"]);
        check("search a\nsearch\nsearch \n", &["a"]);
        check("search .\n", &[]);
        check("search a # b\n", &["a"]);
        check("search a..b bad/one good\n", &["good"]);
        assert!(parse("", Some("vm")).search.is_empty());
        assert!(parse("", Some("vm.")).search.is_empty());
        assert!(parse("", None).search.is_empty());
    }

    #[test]
    fn options_are_read_and_capped() {
        let options = |text: &str| {
            let config = parse(&format!("options {text}\n"), None);
            let seconds = config.timeout.as_secs();
            (config.ndots, seconds, config.attempts)
        };
        for (text, expect) in [
            ("", (1, 5, 2)),
            ("rotate", (1, 5, 2)),
            ("ndots:5 timeout:1 attempts:3", (5, 1, 3)),
            ("ndots:0 timeout:0 attempts:0", (0, 1, 1)),
            ("ndots:99 timeout:99 attempts:99", (15, 30, 5)),
            ("ndots:x timeout: attempts:-1 ndots", (1, 5, 2)),
            ("ndots:99999999999", (1, 5, 2)),
        ] {
            assert_eq!(options(text), expect, "{text}");
        }
        let words = |text: &str| {
            let config = parse(text, None);
            (config.over_tcp, config.edns, config.kinds.len())
        };
        assert_eq!(words(""), (false, false, 2));
        assert_eq!(
            words("options use-vc\noptions edns0 no-aaaa"),
            (true, true, 1)
        );
    }

    #[test]
    fn no_file_gives_the_defaults_and_one_that_cannot_be_read_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(dir.path().join("proc/sys/kernel")).unwrap();
        std::fs::write(
            dir.path().join("proc/sys/kernel/hostname"),
            "vm.own.example\n",
        )
        .unwrap();
        let tree = Tree::at(dir.path());
        assert_eq!(read(&tree).unwrap(), parse("search own.example\n", None));
        std::fs::create_dir_all(dir.path().join("etc/resolv.conf")).unwrap();
        let error = read(&tree).unwrap_err();
        assert_eq!(error.to_string(), "read `/etc/resolv.conf`: EISDIR");
    }
}
