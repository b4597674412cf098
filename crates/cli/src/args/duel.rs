//! Options of `duel`, and what may be said of one side.

use super::formats::{self, Showing};
use super::measuring::{Amount, NewRun, Session};
use super::server::{ServerArgs, Unshown};
use super::token::TokenArgs;
use crate::complete;
use clap::Args as ClapArgs;
use engine::resolve::Set;
use model::named::NamedKind;
use report::formats::Kind;
use std::path::PathBuf;
use workloads::net::peer::{BadPeer, Peer};

/// What options mean for a duel.
const PAIRS: &str =
    "Pairs of rounds of every case [default: until the verdict is final, 28 at most]";
const LABELS: &str = "A name for the duel; its runs are called NAME-a and NAME-b";
/// What a resumed duel has already. Of a side its server is typed again.
const SIDES: [&str; 4] = ["what", "a_cmd", "b_cmd", "Amount"];
const EITHER: &str =
    "Go on with a duel that was interrupted or killed; either of its runs names it";

/// Options of `duel`.
#[derive(Debug, ClapArgs)]
#[command(mut_arg("passes", |arg| arg.help(PAIRS)), mut_arg("label", |arg| arg.help(LABELS)))]
#[command(mut_arg("resume", |arg| arg.help(EITHER).conflicts_with_all(SIDES)))]
#[command(mut_args(|arg| formats::of(arg, Kind::Comparison)))]
pub(crate) struct DuelArgs {
    /// Profiles, tests, families or globs such as 'fs.*'
    #[arg(value_name = "WHAT", required_unless_present = "resume", add = complete::to_measure())]
    pub(crate) what: Vec<String>,
    /// Side A: dir=DIR, device=DEVICE, file=FILE, db=URL, db-file=FILE, peer=HOST[:PORT], token-file=FILE or
    /// set=TEST.PARAM=VALUE; may be given several times
    #[arg(help_heading = "The two sides", long, value_name = "KEY=VALUE")]
    pub(crate) a: Vec<Trait>,
    /// Side B, likewise
    #[arg(help_heading = "The two sides", long, value_name = "KEY=VALUE")]
    pub(crate) b: Vec<Trait>,
    /// Shell command that sets side A up before each of its rounds; tried once before the duel
    #[arg(help_heading = "The two sides", long, value_name = "COMMAND")]
    pub(crate) a_cmd: Option<String>,
    /// Shell command that sets side B up before each of its rounds; tried once before the duel
    #[arg(help_heading = "The two sides", long, value_name = "COMMAND")]
    pub(crate) b_cmd: Option<String>,
    #[command(flatten, next_help_heading = "How much")]
    pub(crate) amount: Amount,
    #[command(flatten, next_help_heading = "What and where")]
    pub(crate) new: NewRun,
    #[command(flatten)]
    pub(crate) session: Session,
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    #[command(flatten)]
    pub(crate) token: TokenArgs,
    #[command(flatten, next_help_heading = "Output")]
    pub(crate) format: Showing,
}

/// What makes one side of a duel different from the other.
#[derive(Clone, Debug)]
pub(crate) enum Trait {
    /// Its work directory is made in here.
    Dir(PathBuf),
    /// It measures this in place of a test file, or the network to this peer.
    Named(NamedKind, PathBuf),
    /// Its tests of databases work on this server.
    Server(Unshown),
    /// The same, with the address in a file.
    ServerFile(PathBuf),
    /// The token of its peer is in this file.
    TokenFile(PathBuf),
    /// A parameter.
    Set(Set),
}

impl std::str::FromStr for Trait {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some(("dir", dir)) if !dir.is_empty() => Ok(Self::Dir(dir.into())),
            Some(("device", device)) if !device.is_empty() => {
                Ok(Self::Named(NamedKind::Device, device.into()))
            }
            Some(("file", file)) if !file.is_empty() => {
                Ok(Self::Named(NamedKind::File, file.into()))
            }
            Some(("peer", peer)) => {
                let peer: Peer = peer.parse().map_err(|why: BadPeer| why.to_string())?;
                Ok(Self::Named(NamedKind::Peer, peer.to_string().into()))
            }
            Some(("db", url)) if !url.is_empty() => Ok(Self::Server(Unshown::new(url))),
            Some(("db-file", file)) if !file.is_empty() => Ok(Self::ServerFile(file.into())),
            Some(("token-file", file)) if !file.is_empty() => Ok(Self::TokenFile(file.into())),
            Some(("set", set)) => set.parse().map(Self::Set),
            // An address by itself. It is read later: clap would print a refused one with a password in it.
            _ if text.contains("://") => Ok(Self::Server(Unshown::new(text))),
            _ => Err(format!(
                "`{text}` is none of dir=DIR, device=DEVICE, file=FILE, db=URL, db-file=FILE, peer=HOST[:PORT], \
                 token-file=FILE and set=TEST.PARAM=VALUE"
            )),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_hold_a_password_is_neither_refused_nor_shown_here() {
        for text in [
            "db=postgres://u:hunter2@h/d",
            "postgres://u:hunter2@h/d",
            "DB=mysql://u:hunter2@h/d",
        ] {
            let read: Trait = text.parse().unwrap();
            assert!(matches!(read, Trait::Server(_)), "{text}");
            assert!(!format!("{read:?}").contains("hunter2"), "{read:?}");
        }
        for text in ["db=", "db-file=", "dir", "color=red"] {
            assert!(text.parse::<Trait>().is_err(), "{text}");
        }
    }
}
