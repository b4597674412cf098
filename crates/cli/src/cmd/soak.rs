//! `kurabe soak TEST --for TIME`: one test for hours, kept stretch by stretch, and what its course says.

use crate::alone;
use crate::args::{NewRun, SoakArgs};
use crate::before;
use crate::cmd::show;
use crate::consent;
use crate::context::Context;
use crate::directory::{self, Directory};
use crate::exit::Exit;
use crate::kind::Kind;
use crate::new_run;
use crate::output;
use crate::peer;
use crate::planned;
use crate::resume;
use crate::server;
use crate::server_room;
use crate::session::{self, Ready};
use engine::resolve::Request;
use engine::soak::{WINDOW, Wanted};
use model::plan::Plan;

pub(crate) fn run(context: &Context, args: &SoakArgs) -> anyhow::Result<Exit> {
    let quiet = args.session.quiet;
    let server = server::named(&args.server)?;
    let token = peer::token(&args.token)?;
    let new = NewRun {
        token: token.clone(),
        ..args.new.clone()
    };
    let consent = server::consent(args.session.consent(), server.as_ref());
    let format = args.format.chosen()?;
    let mut ready = if let Some(name) = &args.session.resume {
        let ready = resume::ready(context, name, Kind::Soak, &consent)?;
        server::same(&ready.runs, std::slice::from_ref(&server))?;
        ready
    } else {
        let dry_run = args.format.of_plan(args.new.dry_run)?;
        let dir = Directory::look(args.new.dir.as_deref(), directory::OPTION, &consent)?;
        let run = new_run::prepare_on(server.as_ref(), dir, &new, &request(args))?;
        peer::refuse_needless(&args.token, std::slice::from_ref(&run))?;
        warn_of_shortness(&run.plan);
        if let Some(plan) = dry_run {
            let most = server_room::most(&args.server);
            return planned::show(context, &[run], plan, &consent, most);
        }
        planned::refuse_over(std::slice::from_ref(&run))?;
        server_room::refuse_over(std::slice::from_ref(&run), &args.server)?;
        format.check(&run)?;
        if !quiet {
            planned::say_what_moves(std::slice::from_ref(&run));
        }
        Ready::new([run]).within(server_room::most(&args.server))
    };
    let consent = peer::consent(consent, &ready.runs, &[token])?;
    let mut look = args.session.look;
    let alone = alone::hold(&mut ready, &mut look)?;
    let granted = consent::grant(context, &ready.runs, &consent)?;
    before::look(context, &mut ready, look, quiet)?;
    let measured = session::measure(context, &ready, granted, quiet)?;
    drop(alone);
    show::measured(context, measured, format, args.new.offers.as_deref())
}

fn request(args: &SoakArgs) -> Request {
    Request {
        what: args.what.iter().cloned().collect(),
        copies: args.copies.map(|copies| vec![copies]),
        sets: args.new.set.clone(),
        passes: Some(1),
        seed: new_run::seed(&args.new),
        soak: Some(Wanted {
            span: args.span.unwrap_or_default(),
            every: args.every,
            window: args.window.unwrap_or(WINDOW),
        }),
        ..Request::default()
    }
}

/// A soak may be shorter than what it takes to say something about it, but not without a word.
fn warn_of_shortness(plan: &Plan) {
    let (Some(soak), Some(case)) = (&plan.soak, plan.cases.first()) else {
        return;
    };
    let windows = soak.span.0 / case.shape.window.0.max(1);
    let (steady, all) = (stats::soak::STEADY_MIN, stats::soak::WINDOWS_MIN);
    let too_few_for = if windows < steady as u64 {
        format!(
            "to call a rate steady (it takes {steady}), and to tell a burst, a step or two states (it takes {all})"
        )
    } else if windows < all as u64 {
        format!("to tell a burst, a step or two states: it takes {all}")
    } else {
        return;
    };
    output::say(&format!(
        "warning: {windows} windows are too few {too_few_for}\n\
         hint: a longer `--for`, or shorter windows with `--window 100ms`"
    ));
}
