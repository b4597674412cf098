//! Devices and files that the user names for tests to work on: looked at, and written into the plan.

use crate::args::NewRun;
use crate::exit::{Exit, failure};
use dialects::printable::quoted;
use engine::consent::{self, Refusal};
use engine::workload::StandIn;
use model::named::NamedKind;
use model::plan::Plan;
use std::path::Path;
use sys::tree::Tree;

/// What stands in for what tests would make, as the user named it: a device or file, and a peer.
pub(crate) fn stand_ins(args: &NewRun) -> anyhow::Result<Vec<StandIn>> {
    let peer = args.peer.as_ref();
    let peer = peer.map(|peer| peer.stand_in(args.token.is_some()));
    Ok(on_storage(args)?.into_iter().chain(peer).collect())
}

/// The device or file among them.
pub(crate) fn on_storage(args: &NewRun) -> anyhow::Result<Option<StandIn>> {
    let named = [
        (&args.device, NamedKind::Device),
        (&args.file, NamedKind::File),
        (&args.loadfile, NamedKind::Load),
    ];
    let mut named = named.into_iter();
    named
        .find_map(|(path, kind)| Some((path.as_ref()?, kind)))
        .map(|(path, kind)| absolute(path, kind))
        .transpose()
}

/// A name as a stand-in: absolute, because workers have directories of their own, with its links as they are.
fn absolute(path: &Path, kind: NamedKind) -> anyhow::Result<StandIn> {
    let absolute = std::path::absolute(path).map_err(|error| {
        failure(
            Exit::Usage,
            format!("use `{}`: {error}", path.display()),
            None,
        )
    })?;
    Ok(StandIn {
        path: absolute,
        kind,
    })
}

/// Writes into the plan what its tests work on beside the run's own directory.
pub(crate) fn name(plan: &mut Plan, stand_ins: &[StandIn]) -> anyhow::Result<()> {
    consent::name(&Tree::real(), plan, stand_ins, workloads::find).map_err(|why| refused(&why))
}

/// The plan with its targets looked at again.
pub(crate) fn look_again(plan: &Plan) -> anyhow::Result<Plan> {
    let mut now = plan.clone();
    name(&mut now, &consent::stand_ins(plan))?;
    Ok(now)
}

/// What the engine refused, with the option that would allow it.
pub(crate) fn refused(refusal: &Refusal) -> anyhow::Error {
    let hint = refusal.option().map(|option| {
        let words = std::env::args_os().skip(1);
        let words = words.map(|word| word.to_string_lossy().into_owned());
        let command: Vec<String> = words.chain(option).map(|word| quoted(&word)).collect();
        format!(
            "if everything on it may be lost: `kurabe {}`",
            command.join(" ")
        )
    });
    failure(Exit::Usage, refusal, hint.as_deref())
}
