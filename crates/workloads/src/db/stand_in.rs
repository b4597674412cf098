//! Servers that stand in for what a test would make itself: which one a test takes, what it may do there, and what
//! holds of every case on one.

use super::encryption;
use super::engines::Engine;
use engine::consent::Touch;
use engine::workload::{OnStandIn, StandIn};
use model::headline::Headline;
use model::named::NamedKind;
use model::plan::Shape;
use model::spec::MetricDef;

/// What stands in, where that is a server.
pub(super) fn server_of(stand_in: Option<&StandIn>) -> Option<&StandIn> {
    stand_in.filter(|named| named.kind == NamedKind::Server)
}

/// The same of one kind of server.
pub(super) fn of_kind(stand_in: Option<&StandIn>, engine: Engine) -> Option<&StandIn> {
    server_of(stand_in).filter(|named| kind(named) == Some(engine))
}

fn kind(named: &StandIn) -> Option<Engine> {
    Engine::of(&named.path.to_string_lossy())
}

/// Why a test that needs another kind of server does not work on this one.
pub(super) fn other_kind(stand_in: &StandIn, needs: &str) -> String {
    match kind(stand_in) {
        Some(engine) => format!(
            "`--db` names {}, the wrong kind of server: {needs}",
            engine.products()
        ),
        None => needs.to_owned(),
    }
}

/// What a test on a server is allowed to do there: what it works with is made and removed whatever it does with it.
pub(super) fn touches(server: Option<&StandIn>) -> Vec<Touch> {
    let server = server.map(|server| Touch {
        path: server.path.clone(),
        kind: NamedKind::Server,
        writes: true,
        creates: true,
    });
    server.into_iter().collect()
}

/// A case on this server.
pub(super) fn case_on(
    server: &StandIn,
    title: String,
    headline: Option<Headline>,
    metrics: Vec<&'static MetricDef>,
    shape: Shape,
) -> OnStandIn {
    OnStandIn {
        title,
        headline,
        metrics,
        shape,
        on_disk: false,
        // A record of TLS takes memory, in either direction.
        allocates: encryption::is_asked(&server.path),
        // The server names its version in the notes.
        implementation: None,
        without: &[],
    }
}
