//! What either side of a duel is: what is refused about it, and what is said before anything is measured.
//!
//! A side of which nothing is said is as it is, which is fine for a parameter: its default is known. It is refused
//! where it would compare what nobody meant to compare: a place against whatever directory the shell happens to be in,
//! or a command against nothing that undoes it, so that both sides would be measured as the command left them.

use crate::args::{AddressArgs, DuelArgs, ServerArgs, Trait};
use crate::exit::{Exit, failure};
use crate::output;
use crate::peer;
use crate::server::{self, Server};
use dialects::printable::quoted;
use engine::budget::rounds_wanted;
use engine::secret::Secret;
use model::named::NamedKind;
use model::record::Run;
use report::{Lang, duel};
use stats::ROUNDS_MIN;
use std::path::Path;

/// The database server of either side: its own, or that of both.
pub(super) fn servers(args: &DuelArgs) -> anyhow::Result<[Option<Server>; 2]> {
    let both = &args.server;
    let (a, b) = (
        own_server("A", &args.a, both)?,
        own_server("B", &args.b, both)?,
    );
    let is_common = both.address.is_typed();
    let is_any = a.is_some() || b.is_some();
    // A side beside one with a server of its own, or in a directory of its own, is SQLite there: the variable is not
    // for it.
    let is_sqlite = |traits: &[Trait]| {
        !is_common && (is_any || traits.iter().any(|own| matches!(own, Trait::Dir(_))))
    };
    let of = |own: Option<ServerArgs>, traits: &[Trait], option: &str| match own {
        Some(own) => server::named_by(&own, option),
        None if is_sqlite(traits) => Ok(None),
        // What may be in a database is said of the other side's.
        None => server::named(&ServerArgs {
            db_allow_existing: both.db_allow_existing && (is_common || !is_any),
            ..both.clone()
        }),
    };
    Ok([of(a, &args.a, "--a db=")?, of(b, &args.b, "--b db=")?])
}

/// The server that was named for this side alone.
fn own_server(
    letter: &str,
    traits: &[Trait],
    both: &ServerArgs,
) -> anyhow::Result<Option<ServerArgs>> {
    let mut own = traits.iter().filter_map(|own| match own {
        Trait::Server(url) => Some((Some(url.reveal().clone()), None)),
        Trait::ServerFile(file) => Some((None, Some(file.clone()))),
        _ => None,
    });
    let first = own.next();
    if own.next().is_some() {
        let what = format!("duel: side {letter} has two database servers");
        return Err(failure(Exit::Usage, what, None));
    }
    Ok(first.map(|(db, db_file)| ServerArgs {
        address: AddressArgs { db, db_file },
        db_allow_existing: both.db_allow_existing,
        db_max: None,
    }))
}

/// The token of either side's peer: its own, or that of both.
pub(super) fn tokens(args: &DuelArgs) -> anyhow::Result<[Option<Secret>; 2]> {
    let of = |letter: &str, traits: &[Trait]| {
        let mut own = traits.iter().filter_map(|own| match own {
            Trait::TokenFile(file) => Some(file),
            _ => None,
        });
        match (own.next(), own.next()) {
            (None, _) => peer::token(&args.token),
            (Some(file), None) => peer::in_file(file).map(Some),
            (Some(_), Some(_)) => {
                let what = format!("duel: side {letter} has two tokens");
                Err(failure(Exit::Usage, what, None))
            }
        }
    };
    Ok([of("A", &args.a)?, of("B", &args.b)?])
}

/// Whether it says what opens something, which is typed again.
const fn is_key(own: &Trait) -> bool {
    is_server(own) || matches!(own, Trait::TokenFile(_))
}

const fn is_server(own: &Trait) -> bool {
    matches!(own, Trait::Server(_) | Trait::ServerFile(_))
}

/// Refuses what a duel that goes on has already. Its servers are typed again: what opens them is kept nowhere.
pub(super) fn refuse_what_is_decided(args: &DuelArgs) -> anyhow::Result<()> {
    if args.a.iter().chain(&args.b).all(is_key) {
        return Ok(());
    }
    let what = "say again with `--resume` what the sides are: the duel has it";
    let hint = "`--a db=URL` and `--b db=URL`, and `token-file=FILE`, alone are typed again";
    Err(failure(Exit::Usage, what, Some(hint)))
}

/// Refuses a duel of which one side is left to chance.
pub(super) fn refuse_one_sided(args: &DuelArgs) -> anyhow::Result<()> {
    let names = [("A", "b", "B"), ("B", "a", "A")];
    let is_place = |own: &Trait| !matches!(own, Trait::Set(_) | Trait::TokenFile(_));
    let traits = [&args.a, &args.b];
    let places = traits.map(|own| own.iter().any(is_place));
    let (both, server) = (&args.new, &args.server);
    let is_common = both.dir.is_some() || both.device.is_some() || both.file.is_some();
    let is_common = is_common || both.peer.is_some();
    let is_common = is_common || server.address.is_typed();
    let commands = [&args.a_cmd, &args.b_cmd].map(Option::is_some);
    for (one, (name, other, letter)) in names.into_iter().enumerate() {
        if places[one] && !places[1 - one] && !is_common {
            let here = std::env::current_dir().unwrap_or_else(|_| ".".into());
            let here = here.display();
            let is_server = traits[one].iter().any(is_server);
            let is_peer = |own: &Trait| matches!(own, Trait::Named(NamedKind::Peer, _));
            let hint = if traits[one].iter().any(is_peer) {
                format!("such as `--{other} peer=HOST`")
            } else if is_server {
                format!("such as `--{other} db=URL`; `--{other} dir=.` is SQLite in {here}")
            } else {
                format!("such as `--{other} dir=DIR`; `--{other} dir=.` is {here}")
            };
            let text = format!(
                "duel: side {name} has a place of its own, and nothing says where side {letter} is"
            );
            return Err(failure(Exit::Usage, text, Some(&hint)));
        }
        if commands[one] && !commands[1 - one] {
            let text = format!(
                "duel: side {name} has a command, and nothing sets side {letter} up: it would be measured as the command of side {name} left it"
            );
            let hint = format!(
                "`--{other}-cmd COMMAND` undoes it; where there is nothing to undo: `--{other}-cmd true`"
            );
            return Err(failure(Exit::Usage, text, Some(&hint)));
        }
    }
    Ok(())
}

/// What was said of this side alone, as it can be typed again anywhere; `dir` is its directory, absolute. Of a server
/// the address without a password, wherever it was read.
pub(super) fn own_traits(traits: &[Trait], dir: &Path, server: Option<&Server>) -> Vec<String> {
    let text = |own: &Trait| match own {
        Trait::Dir(_) => format!("dir={}", dir.display()),
        Trait::TokenFile(file) => format!("token-file={}", file.display()),
        Trait::Named(NamedKind::Peer, peer) => format!("peer={}", peer.display()),
        Trait::Named(kind, path) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            format!("{kind}={}", path.display())
        }
        Trait::Server(_) | Trait::ServerFile(_) => {
            format!("db={}", server.map(Server::shown).unwrap_or_default())
        }
        Trait::Set(set) => format!("set={}.{}={}", set.who, set.param, set.value),
    };
    traits.iter().map(|own| quoted(&text(own))).collect()
}

/// Says what a reader of the result would regret not to have known.
pub(super) fn warn(sides: &[Run; 2], lang: Lang) {
    for remark in duel::remarks(&sides[0], &sides[1], lang) {
        output::say(&format!("note: {remark}"));
    }
    let plan = &sides[0].plan;
    let short = |rounds: u32| rounds < ROUNDS_MIN;
    let wanted = plan
        .cases
        .iter()
        .map(|case| (case, rounds_wanted(plan, case)));
    let few: Vec<_> = wanted
        .filter_map(|(case, rounds)| Some((case, rounds.filter(|rounds| short(*rounds))?)))
        .collect();
    let Some((case, pairs)) = few.first() else {
        return;
    };
    let cases = match few.len() {
        1 => format!("`{}` gets", case.id),
        n if n == plan.cases.len() => "every case gets".to_owned(),
        n => format!("{n} cases get"),
    };
    let word = if *pairs == 1 { "pair" } else { "pairs" };
    let hint = if case.shape.rounds.is_some() {
        "the method of this test fixes its rounds"
    } else {
        "leave `--passes` out, or ask for more"
    };
    output::say(&format!(
        "warning: {cases} {pairs} {word} of rounds, and no verdict can come of fewer than {ROUNDS_MIN}\nhint: {hint}"
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::resolve::Set;

    #[test]
    fn a_side_is_told_as_it_can_be_typed_again() {
        let set = Set {
            who: "os.*".to_owned(),
            param: "bs".to_owned(),
            value: "4k".to_owned(),
        };
        let traits = [
            Trait::Dir("x".into()),
            Trait::Named(NamedKind::Device, "/dev/sdb".into()),
            Trait::Set(set),
        ];
        assert_eq!(
            own_traits(&traits, Path::new("/mnt/my disk"), None),
            ["'dir=/mnt/my disk'", "device=/dev/sdb", "'set=os.*.bs=4k'"]
        );
    }
}
