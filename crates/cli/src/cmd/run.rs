//! `kurabe run [WHAT...]`: plan, targets, consent, measure, show.

use crate::alone;
use crate::args::{NewRun, RunArgs};
use crate::before;
use crate::cmd::show;
use crate::consent;
use crate::context::Context;
use crate::exit::Exit;
use crate::kind::Kind;
use crate::new_run;
use crate::peer;
use crate::planned;
use crate::resume;
use crate::server;
use crate::server_room;
use crate::session::{self, Ready};
use engine::resolve::Request;

pub(crate) fn run(context: &Context, args: &RunArgs) -> anyhow::Result<Exit> {
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
        let ready = resume::ready(context, name, Kind::Run, &consent)?;
        server::same(&ready.runs, std::slice::from_ref(&server))?;
        ready
    } else {
        let dry_run = args.format.of_plan(args.new.dry_run)?;
        let what = what(args);
        let dir = new_run::directory(&args.new, &what, &consent)?;
        let request = Request {
            no_disk: new_run::no_disk(&args.new, &dir)?,
            ..request(what, args)
        };
        let run = new_run::prepare_on(server.as_ref(), dir, &new, &request)?;
        peer::refuse_needless(&args.token, std::slice::from_ref(&run))?;
        if let Some(plan) = dry_run {
            let most = server_room::most(&args.server);
            return planned::show(context, &[run], plan, &consent, most);
        }
        planned::refuse_over(std::slice::from_ref(&run))?;
        server_room::refuse_over(std::slice::from_ref(&run), &args.server)?;
        format.check(&run)?;
        if !quiet {
            planned::warn_of_shortage(&run.plan);
            planned::warn_of_length(&run.plan);
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

fn what(args: &RunArgs) -> Vec<String> {
    match args.what.as_slice() {
        [] => vec!["quick".to_owned()],
        named => named.to_vec(),
    }
}

fn request(what: Vec<String>, args: &RunArgs) -> Request {
    Request {
        what,
        copies: args.amount.copies.clone(),
        sets: args.new.set.clone(),
        budget: args.amount.budget,
        passes: args.amount.passes,
        target: args.target,
        spread: args.spread,
        seed: new_run::seed(&args.new),
        ..Request::default()
    }
}
