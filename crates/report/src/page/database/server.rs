//! Which database a run measured: a server, or SQLite inside of this program.

use crate::lang::{Lang, say};
use crate::page::host;
use dialects::printable::quoted;
use model::record::Run;
use model::spec::Nature;

/// What the server calls itself, and its version as it tells it. Where one address speaks to two products, it is the
/// server that knows.
fn called(run: &Run) -> Option<(&str, &str)> {
    let version = run.plan.servers().find_map(host::version)?;
    Some(version.split_once(' ').unwrap_or((version, "")))
}

/// `MariaDB`.
pub(super) fn product(run: &Run) -> Option<String> {
    called(run).map(|(product, _)| product.to_owned())
}

/// Product and version of the server of a run, in two words: `MariaDB 10.11.14`.
fn server(run: &Run) -> Option<String> {
    let (product, version) = called(run)?;
    let version = version.split([' ', '-', ',']).next().unwrap_or_default();
    Some(format!("{product} {version}").trim_end().to_owned())
}

/// What a run's database is: the server, or what is inside of this program.
pub(in crate::page) fn engine(run: &Run) -> Option<String> {
    let mut cases = run.plan.cases.iter();
    let within = || {
        let case = cases.find(|case| case.nature == Nature::Database)?;
        case.implementation.clone()
    };
    server(run).or_else(within)
}

/// Whether one side is a server and the other one SQLite, so that what they set for themselves differs by nature. What
/// was imported names no server and is none of SQLite's.
pub(in crate::page) fn is_against_server(base: &Run, other: &Run) -> bool {
    if [base, other].iter().any(|run| run.meta.origin.is_some()) {
        return false;
    }
    let has_server = |run: &Run| run.plan.servers().next().is_some();
    let is_database = |run: &Run| {
        let mut cases = run.plan.cases.iter();
        cases.any(|case| case.nature == Nature::Database)
    };
    has_server(base) != has_server(other) && is_database(base) && is_database(other)
}

/// That these do not compare in two runs, and what compares them.
pub(in crate::page) fn no_comparison(base: &Run, other: &Run, test: &str, lang: Lang) -> String {
    let side = |run: &Run| {
        let server = run.plan.servers().next();
        server.map_or_else(
            || format!("dir={}", quoted(&run.meta.dir)),
            |server| format!("db={}", quoted(&server.path)),
        )
    };
    let (a, b) = (side(base), side(other));
    say!(
        lang,
        "SQLite inside of kurabe and a server set different things, and two runs of them do not compare; a duel \
         does: `kurabe duel {test} --a {a} --b {b}`",
        "kurabe 内蔵の SQLite とサーバーは設定項目が異なるため、2 つの測定としては比較できません。デュエルなら比較\
         できます: `kurabe duel {test} --a {a} --b {b}`"
    )
}
