//! What runs take on the servers of tables that they name: told with the plan, and held against `--db-max` before
//! anything is written there.

use crate::args::ServerArgs;
use crate::exit::{Exit, failure};
use crate::planned;
use model::plan::PlannedCase;
use model::record::Run;
use model::units::{Bytes, Nanos};
use report::page::plan::OnServer;
use std::collections::BTreeMap;
use workloads::db::engines::Engine;
use workloads::db::room::{self, Rounds, Taken, USUAL_PER_S};

/// What is allowed where `--db-max` does not say it.
const USUAL_MAX: Bytes = Bytes(1 << 30);

/// What a run may take on a server, as the user typed it.
pub(crate) fn most(args: &ServerArgs) -> Bytes {
    args.db_max.unwrap_or(USUAL_MAX)
}

/// What the runs take on each server of tables.
pub(crate) fn on_servers(runs: &[Run], most: Bytes) -> Vec<OnServer> {
    let mut cases: BTreeMap<&str, Vec<(&PlannedCase, Rounds)>> = BTreeMap::new();
    for run in runs {
        for server in run.plan.servers() {
            let own = run.plan.cases.iter();
            let own = own.map(|case| (case, rounds(run, case)));
            cases.entry(&server.path).or_default().extend(own);
        }
    }
    let has_tables = |address: &str| Engine::of(address).is_some_and(Engine::has_tables);
    let all = cases.into_iter().filter(|(address, _)| has_tables(address));
    let told = all.filter_map(|(address, cases)| Some(told(address, room::taken(cases)?, most)));
    told.collect()
}

fn told(address: &str, taken: Taken, most: Bytes) -> OnServer {
    OnServer {
        address: address.to_owned(),
        tables: taken.tables,
        logs: taken.logs,
        added: taken.added,
        per_s: USUAL_PER_S,
        all: taken.all(),
        most,
    }
}

/// How often a case is measured, and how long.
fn rounds(run: &Run, case: &PlannedCase) -> Rounds {
    let planned = planned::rounds(&run.plan, case);
    let number = u64::from(planned.most.or(planned.fit).unwrap_or(1));
    let each = case.shape.warmup.plus(case.shape.measure);
    let load = match &run.plan.soak {
        Some(soak) => planned::load_of(soak, &case.shape),
        None => Nanos(each.0.saturating_mul(number)),
    };
    Rounds { number, load }
}

/// Why a plan takes more on a server than is allowed; `None` where none does.
pub(crate) fn over(runs: &[Run], most: Bytes) -> Option<String> {
    let mut all = on_servers(runs, most).into_iter();
    let one = all.find(|one| one.all > most)?;
    Some(format!(
        "the plan could take {} on `{}`, and `--db-max` allows {}",
        one.all.rounded_up(),
        one.address,
        most.exact()
    ))
}

/// Refuses a plan that could take more on a server than the user allows, and `--db-max` where no server has tables.
pub(crate) fn refuse_over(runs: &[Run], args: &ServerArgs) -> anyhow::Result<()> {
    let most = most(args);
    if args.db_max.is_some() && on_servers(runs, most).is_empty() {
        let what = "`--db-max`: the run works on no tables of a server";
        let hint = "name a server of PostgreSQL, MySQL or MariaDB with `--db URL`";
        return Err(failure(Exit::Usage, what, Some(hint)));
    }
    let Some(why) = over(runs, most) else {
        return Ok(());
    };
    let needed = on_servers(runs, most).into_iter().map(|one| one.all).max();
    let hint = format!(
        "where the server has that room: `--db-max {}`; or a smaller `table_size` or `scale`, fewer `--passes`, or a shorter \
         `--budget`; `--dry-run` tells what takes it",
        needed.unwrap_or(most).rounded_up().replace(' ', "")
    );
    Err(failure(Exit::Usage, why, Some(&hint)))
}
