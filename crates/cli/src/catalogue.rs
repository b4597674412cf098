//! The user's catalogue of offers, and the runs that name them.

use crate::context::{Context, read_capped};
use crate::exit::{Exit, failure};
use crate::known::Known;
use crate::output;
use model::host::HostFacts;
use model::offer::{Catalogue, Offer};
use model::record::Run;
use report::offers::Measured;
use std::path::{Path, PathBuf};

/// A catalogue of thousands of offers has less; a file larger than this is something else.
const BYTES_MAX: u64 = 4 << 20;

/// The catalogue: the file that was named, or the one in its place where there is one.
pub(crate) fn read(asked: Option<&Path>) -> anyhow::Result<Option<Catalogue>> {
    let Some(path) = asked.map(Path::to_owned).or_else(usual) else {
        return Ok(None);
    };
    if asked.is_none() && !path.exists() {
        return Ok(None);
    }
    let name = path.display().to_string();
    let text = read_capped(&path, BYTES_MAX).map_err(|error| {
        let text = format!("read offers `{name}`: {error:#}");
        failure(Exit::Usage, text, Some(WHOLE))
    })?;
    let read = Catalogue::parse(&name, &text);
    let read = read.map_err(|error| failure(Exit::Usage, &error, Some(&error.hint)))?;
    Ok(Some(read))
}

const WHOLE: &str = "a catalogue is a text of `[[offer]]` tables; `docs/guide/offers.md` shows one";

/// Where the catalogue is by itself.
fn usual() -> Option<PathBuf> {
    let absolute = |name: &str| {
        let path = std::env::var_os(name).map(PathBuf::from);
        path.filter(|path| path.is_absolute())
    };
    let config = absolute("XDG_CONFIG_HOME").or_else(|| Some(absolute("HOME")?.join(".config")))?;
    Some(config.join("kurabe/offers.toml"))
}

/// The catalogue, without which the command means nothing.
pub(crate) fn needed(asked: Option<&Path>) -> anyhow::Result<Catalogue> {
    let place = usual().unwrap_or_else(|| Path::new("offers.toml").to_owned());
    read(asked)?.ok_or_else(|| {
        let text = format!("read offers `{}`: there is no such file", place.display());
        failure(
            Exit::Usage,
            text,
            Some("write one, as docs/guide/offers.md shows, or name another with `--offers FILE`"),
        )
    })
}

/// The offer of this id; `None` where there is no catalogue. One that the catalogue has not is refused.
pub(crate) fn offer(id: &str, asked: Option<&Path>) -> anyhow::Result<Option<Offer>> {
    let Some(catalogue) = read(asked)? else {
        return Ok(None);
    };
    if let Some(offer) = catalogue.find(id) {
        return Ok(Some(offer.clone()));
    }
    let known: Vec<&str> = catalogue
        .offers
        .iter()
        .map(|offer| offer.id.as_str())
        .collect();
    let (named, rest) = known.split_at(known.len().min(NAMED));
    let more = if rest.is_empty() { "" } else { ", ..." };
    let hint = format!(
        "it has {}{more}; `kurabe offers` lists them",
        named.join(", ")
    );
    Err(failure(
        Exit::Usage,
        format!("the catalogue of offers has no `{id}`"),
        Some(&hint),
    ))
}

/// Says where a machine has not the CPUs of the offer: the wrong one of several is soon named.
pub(crate) fn doubt(offer: &Offer, host: &HostFacts) {
    let Some(vcpus) = offer.resources.get("vcpus") else {
        return;
    };
    if let Some(&cpus) = host.cpu.online.known()
        && (vcpus.approx() - f64::from(cpus)).abs() > 0.5
    {
        let id = &offer.id;
        output::say(&format!(
            "offer `{id}` has {vcpus} vcpus, and this machine has {cpus}: is it the right one? \
             `kurabe label RUN --offer ID` names another"
        ));
    }
}

/// Refuses an offer with a claim on a figure that nothing has.
pub(crate) fn check_claims(offer: &Offer, known: &Known<'_>) -> anyhow::Result<()> {
    let claims = offer.claims.iter().map(|claim| &claim.is);
    known.check_levels(&format!("offer `{}`: claim", offer.id), claims)
}

/// The most offers that an error names.
const NAMED: usize = 5;

/// Whether a figure of this name takes whole runs.
pub(crate) fn takes_latencies(quantity: Option<&String>) -> bool {
    quantity.is_some_and(|quantity| quantity.ends_with(stats::figure::MODE))
}

/// The runs in the store that name one of these offers; `whole` where their latencies are asked for. None where there
/// is no store.
pub(crate) fn runs(
    context: &Context,
    is_asked: impl Fn(&str) -> bool,
    whole: bool,
) -> anyhow::Result<Vec<Run>> {
    if !context.store_path()?.exists() {
        return Ok(Vec::new());
    }
    let store = context.store_to_read()?;
    let offered = store.offered()?.into_iter();
    let ids = offered.filter(|(offer, _)| is_asked(offer));
    let runs = ids.map(|(_, id)| {
        if whole {
            store.load(&id)
        } else {
            store.load_to_compare(&id)
        }
    });
    Ok(runs.collect::<Result<_, _>>()?)
}

/// Each offer with its runs.
pub(crate) fn measured<'a>(catalogue: &'a Catalogue, runs: &'a [Run]) -> Vec<Measured<'a>> {
    let of = |offer: &'a Offer| {
        let own = runs
            .iter()
            .filter(|run| run.meta.offer.as_ref() == Some(&offer.id));
        Measured::new(offer, &own.collect::<Vec<_>>())
    };
    catalogue.offers.iter().map(of).collect()
}
