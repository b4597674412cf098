//! `kurabe duel`: two set-ups of the same machine, measured in pairs of rounds and compared as pairs.
//!
//! Two disks, two mount options, two servers, two peers, two values of a parameter: whatever `dir=`, `db=`, `peer=`,
//! `set=` or a shell command can tell apart.
//! Each side is a run of its own in the store, so that `show`, `export` and `compare` know both.
//!
//! What could be a slip is refused (one side that nobody said anything about, see `sides`) or said before anything is
//! measured: which side is what, that both are the same, or too few pairs for any verdict.

mod sides;

use crate::alone;
use crate::args::{DuelArgs, NewRun, Trait};
use crate::before;
use crate::cmd::show;
use crate::consent;
use crate::context::Context;
use crate::directory::{self, Directory};
use crate::exit::{Exit, failure};
use crate::kind::Kind;
use crate::new_run;
use crate::output;
use crate::peer;
use crate::planned;
use crate::resume;
use crate::server::{self, Server};
use crate::server_room;
use crate::session::{self, Ready};
use engine::consent::Consent;
use engine::resolve::Request;
use engine::secret::Secret;
use model::named::NamedKind;
use model::plan::Duel;
use model::record::Run;
use report::comparison::{self, CompareOptions};
use report::formats::Shown;
use report::page::{Block, plan};
use std::path::PathBuf;

pub(crate) fn run(context: &Context, args: &DuelArgs) -> anyhow::Result<Exit> {
    let (servers, quiet) = (sides::servers(args)?, args.session.quiet);
    let tokens = sides::tokens(args)?;
    let consent = server::consent(args.session.consent(), servers.iter().flatten());
    let format = args.format.chosen()?;
    let mut ready = if let Some(name) = &args.session.resume {
        sides::refuse_what_is_decided(args)?;
        let ready = resume::ready(context, name, Kind::Duel, &consent)?;
        server::same(&ready.runs, &servers)?;
        ready
    } else {
        let dry_run = args.format.of_plan(args.new.dry_run)?;
        let sides = sides(args, &servers, &tokens, &consent)?;
        if dry_run.is_none() && !quiet {
            let page = Block::Section(None, plan::sides(&sides, context.lang));
            output::say(&report::render::text(&[page], context.lines));
        }
        sides::warn(&sides, context.lang);
        if let Some(plan) = dry_run {
            let most = server_room::most(&args.server);
            return planned::show(context, &sides, plan, &consent, most);
        }
        planned::refuse_over(&sides)?;
        server_room::refuse_over(&sides, &args.server)?;
        if !quiet {
            planned::say_what_moves(&sides);
        }
        Ready::new(sides).within(server_room::most(&args.server))
    };
    let consent = peer::consent(consent, &ready.runs, &tokens)?;
    let mut look = args.session.look;
    let alone = alone::hold(&mut ready, &mut look)?;
    let granted = consent::grant(context, &ready.runs, &consent)?;
    before::look(context, &mut ready, look, quiet)?;
    let mut measured = session::measure(context, &ready, granted, quiet)?.whole()?;
    format.leave_out_identity(&mut measured.iter_mut().collect::<Vec<_>>())?;
    drop(alone);
    let [a, b] = measured.as_slice() else {
        anyhow::bail!("read both sides of the duel back");
    };
    let view = comparison::view(a, &[b], &CompareOptions::default());
    output::print(&format.draw(context, Shown::Comparison(&view))?)?;
    Ok(match (show::exit(a), show::exit(b)) {
        (Exit::Ok, other) => other,
        (worse, _) => worse,
    })
}

/// Both sides before their first round.
fn sides(
    args: &DuelArgs,
    [of_a, of_b]: &[Option<Server>; 2],
    [token_a, token_b]: &[Option<Secret>; 2],
    consent: &Consent,
) -> anyhow::Result<[Run; 2]> {
    if args.a.is_empty() && args.b.is_empty() && args.a_cmd.is_none() && args.b_cmd.is_none() {
        return Err(failure(
            Exit::Usage,
            "duel: both sides are the same",
            Some(
                "tell them apart with `--a`, `--b`, `--a-cmd` or `--b-cmd`, such as `--a dir=/mnt/x --b dir=/mnt/y`; to see the noise, say the same of both",
            ),
        ));
    }
    sides::refuse_one_sided(args)?;
    let seed = new_run::seed(&args.new);
    let a = Own {
        name: "a",
        traits: &args.a,
        prepare: args.a_cmd.as_ref(),
        server: of_a.as_ref(),
        token: token_a.as_ref(),
    };
    let b = Own {
        name: "b",
        traits: &args.b,
        prepare: args.b_cmd.as_ref(),
        server: of_b.as_ref(),
        token: token_b.as_ref(),
    };
    let mut sides = [side(args, consent, seed, a)?, side(args, consent, seed, b)?];
    // The side keeps their ids, and so their work directories, apart; what is common to both lets one be found by the
    // other.
    let common = sides[0].meta.id.clone();
    for (run, name) in sides.iter_mut().zip(["a", "b"]) {
        run.meta.id = format!("{common}{name}");
        run.plan.duel = run.plan.duel.take().map(|duel| Duel {
            id: common.clone(),
            ..duel
        });
    }
    same_cases(&sides)?;
    peer::refuse_needless(&args.token, &sides)?;
    Ok(sides)
}

/// What is said of one side.
#[derive(Clone, Copy)]
struct Own<'a> {
    name: &'a str,
    /// Of it alone.
    traits: &'a [Trait],
    /// The command that sets it up.
    prepare: Option<&'a String>,
    /// The database server: its own, or that of both.
    server: Option<&'a Server>,
    /// What opens its peer, likewise.
    token: Option<&'a Secret>,
}

/// One side, before its first round.
fn side(args: &DuelArgs, consent: &Consent, seed: u64, own: Own<'_>) -> anyhow::Result<Run> {
    let Own { name, traits, .. } = own;
    let dirs: Vec<&PathBuf> = traits
        .iter()
        .filter_map(|own| match own {
            Trait::Dir(dir) => Some(dir),
            _ => None,
        })
        .collect();
    if dirs.len() > 1 {
        return Err(failure(
            Exit::Usage,
            format!("duel: side {} has two directories", name.to_uppercase()),
            None,
        ));
    }
    // What is said about one side overrides what is said about both; a directory is refused by the option that names
    // it.
    let (dir, option) = match (dirs.first(), name) {
        (None, _) => (args.new.dir.as_ref(), directory::OPTION),
        (Some(&own), "a") => (Some(own), "--a dir=DIR"),
        (Some(&own), _) => (Some(own), "--b dir=DIR"),
    };
    let dir = Directory::look(dir.map(PathBuf::as_path), option, consent)?;
    let own_sets = traits.iter().filter_map(|own| match own {
        Trait::Set(set) => Some(set.clone()),
        _ => None,
    });
    let label = args.new.label.as_ref();
    let new = NewRun {
        label: label.map(|label| format!("{label}-{name}")),
        token: own.token.cloned(),
        ..named(&args.new, name, traits)?
    };
    let request = Request {
        what: args.what.clone(),
        copies: args.amount.copies.clone(),
        sets: args.new.set.iter().cloned().chain(own_sets).collect(),
        budget: args.amount.budget,
        passes: args.amount.passes,
        seed,
        duel: Some(Duel {
            // That of the runs, as soon as there is one.
            id: String::new(),
            side: name.to_owned(),
            prepare: own.prepare.cloned(),
            traits: sides::own_traits(traits, &dir.path, own.server),
        }),
        ..Request::default()
    };
    new_run::prepare_on(own.server, dir, &new, &request)
}

/// The options with what this side measures in place of a test file, or with which peer: its own, or that of both.
fn named(both: &NewRun, name: &str, traits: &[Trait]) -> anyhow::Result<NewRun> {
    let mut own = traits.iter().filter_map(|own| match own {
        Trait::Named(kind, path) => Some((*kind, path)),
        _ => None,
    });
    let Some((kind, path)) = own.next() else {
        return Ok(both.clone());
    };
    if own.next().is_some() {
        let what = format!(
            "duel: side {} has two devices, files or peers",
            name.to_uppercase()
        );
        return Err(failure(Exit::Usage, what, None));
    }
    let of = |wanted: NamedKind| (kind == wanted).then(|| path.clone());
    let peer = of(NamedKind::Peer).map(|peer| peer.to_string_lossy().parse());
    let both = both.clone();
    // A peer of its own stands beside the device of both, and the other way round.
    Ok(if kind == NamedKind::Peer {
        NewRun {
            peer: peer.transpose()?,
            ..both
        }
    } else {
        NewRun {
            device: of(NamedKind::Device),
            file: of(NamedKind::File),
            ..both
        }
    })
}

/// A pair needs both its halves: what only one side can do is refused before anything is measured.
fn same_cases(sides: &[Run; 2]) -> anyhow::Result<()> {
    let cases = |run: &Run| -> Vec<String> {
        run.plan
            .cases
            .iter()
            .map(|case| case.id.to_string())
            .collect()
    };
    let (a, b) = (cases(&sides[0]), cases(&sides[1]));
    if a == b {
        return Ok(());
    }
    let dropped = sides.iter().flat_map(|run| &run.plan.dropped);
    let whys: Vec<String> = dropped.map(|d| format!("{} ({})", d.what, d.why)).collect();
    let text = format!(
        "duel: the sides cannot do the same tests: {}",
        whys.join("; ")
    );
    Err(failure(Exit::Unsupported, text, None))
}
