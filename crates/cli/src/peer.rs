//! The machine at the other end of a network that a run works with: what opens it, and what it says of itself.
//!
//! A token comes from `--token-file` or `KURABE_TOKEN`, in this order. It is no argument: everybody on the machine
//! sees those.

use crate::args::TokenArgs;
use crate::exit::{Exit, failure};
use crate::own_file::first_line;
use crate::{planned, resume};
use engine::consent::{Consent, Permits};
use engine::secret::Secret;
use engine::workload::WorkError;
use model::named::NamedKind;
use model::record::Run;
use std::path::Path;
use std::time::Duration;
use workloads::net::own::{BadToken, Token};

/// The variable that may hold a token. No worker inherits it.
const VARIABLE: &str = "KURABE_TOKEN";

/// The token that the user has for the peer, where there is any.
pub(crate) fn token(args: &TokenArgs) -> anyhow::Result<Option<Secret>> {
    if let Some(file) = &args.token_file {
        return in_file(file).map(Some);
    }
    match std::env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
        None => Ok(None),
        Some(value) => {
            let text = value.into_string().unwrap_or_default();
            let from = format!("in `{VARIABLE}`");
            checked(text.trim(), &from).map(Some)
        }
    }
}

/// The token in a file that only its owner may read.
pub(crate) fn in_file(file: &Path) -> anyhow::Result<Secret> {
    let text = first_line(file, "the token")?;
    checked(&text, &format!("in `{}`", file.display()))
}

fn checked(text: &str, from: &str) -> anyhow::Result<Secret> {
    let read: Result<Token, BadToken> = text.parse();
    let why = |why: BadToken| {
        failure(
            Exit::Usage,
            format!("cannot read the token {from}: {why}"),
            None,
        )
    };
    read.map_err(why)?;
    Ok(Secret::new(text.to_owned()))
}

/// The consent with what opens the peers of these runs, whose sides have these tokens.
pub(crate) fn consent(
    mut consent: Consent,
    runs: &[Run],
    tokens: &[Option<Secret>],
) -> anyhow::Result<Consent> {
    for (run, token) in runs.iter().zip(tokens) {
        let mut peers = run.plan.peers();
        let Some(peer) = peers.find(|peer| peer.kind == NamedKind::TokenPeer) else {
            continue;
        };
        let Some(token) = token else {
            let what = format!(
                "speak to `{}`: it takes the token that the run began with",
                peer.path
            );
            let hint = format!("name it again: `{VARIABLE}`, or `--token-file FILE`");
            return Err(failure(Exit::Usage, what, Some(&hint)));
        };
        consent
            .secrets
            .insert(peer.path.clone().into(), token.clone());
    }
    Ok(consent)
}

/// Refuses a token for nobody: a slip of the hand. One in the environment concerns whom it concerns.
pub(crate) fn refuse_needless(args: &TokenArgs, runs: &[Run]) -> anyhow::Result<()> {
    let is_used = || runs.iter().any(|run| run.plan.peers().next().is_some());
    match &args.token_file {
        Some(file) if !is_used() => {
            let what = format!(
                "`--token-file {}`: the run works with no peer",
                file.display()
            );
            Err(failure(
                Exit::Usage,
                what,
                Some("name it with `--peer HOST`"),
            ))
        }
        _ => Ok(()),
    }
}

/// The run with what its peer says of itself; `None` where it says nothing. Refuses to begin where nobody is there who
/// speaks the protocol, who does not let us in, who has another test, or who is not there for so long as all `runs`
/// take: what all rounds would tell is told once.
pub(crate) fn asked(run: &Run, runs: &[Run], permits: &Permits) -> anyhow::Result<Option<Run>> {
    let mut now = run.clone();
    let span = Duration::from_nanos(planned::expected(runs).0);
    for peer in &mut now.plan.named {
        if peer.kind.is_peer() {
            let found = workloads::net::peer::ask(Path::new(&peer.path), permits, span);
            peer.server = found.map_err(|error| match error {
                WorkError::Unsupported(_) => failure(Exit::Unsupported, error, None),
                _ => failure(Exit::Incomplete, error, None),
            })?;
        }
    }
    if now.plan.peers().all(|peer| peer.server.is_empty()) {
        return Ok(None);
    }
    resume::refuse_another(run, &now)?;
    Ok(Some(now))
}
