//! What runs take on the servers of tables that they name: told with the plan, and held against `--db-max` before
//! anything is written there, and after each round.

use crate::args::ServerArgs;
use crate::exit::{Exit, failure};
use crate::planned;
use engine::soak::sample_length;
use model::plan::PlannedCase;
use model::record::{Round, Run};
use model::units::{Bytes, Nanos};
use report::page::plan::OnServer;
use std::collections::BTreeMap;
use workloads::db::address::{Address, Defaults};
use workloads::db::engines::Engine;
use workloads::db::room::{self, Rounds, Taken, USUAL_PER_S};

/// What is allowed where `--db-max` does not say it.
const USUAL_MAX: Bytes = Bytes(1 << 30);

/// What a run may take on a server, as the user typed it.
pub(crate) fn most(args: &ServerArgs) -> Bytes {
    args.db_max.unwrap_or(USUAL_MAX)
}

/// What tells a server from others: names of one that differ are several. `None` where it has no tables.
fn server_of(address: &str) -> Option<(String, u16)> {
    if !Engine::of(address).is_some_and(Engine::has_tables) {
        return None;
    }
    let read = Address::read(address, &Defaults::default()).ok()?;
    Some(read.address.server())
}

/// What the runs take on each server of tables, whatever databases of it they work in.
pub(crate) fn on_servers(runs: &[Run], most: Bytes) -> Vec<OnServer> {
    let mut cases: BTreeMap<&str, Vec<(&PlannedCase, Rounds)>> = BTreeMap::new();
    for run in runs {
        for server in run.plan.servers() {
            let own = run.plan.cases.iter();
            let own = own.map(|case| (case, rounds(run, case)));
            cases.entry(&server.path).or_default().extend(own);
        }
    }
    let mut servers: BTreeMap<(String, u16), (Vec<&str>, Taken)> = BTreeMap::new();
    for (address, cases) in cases {
        if let (Some(server), Some(taken)) = (server_of(address), room::taken(cases)) {
            let (addresses, all) = servers.entry(server).or_default();
            addresses.push(address);
            *all = all.and(taken);
        }
    }
    let servers = servers.into_values();
    let told = servers.map(|(addresses, taken)| told(&addresses, taken, most));
    told.collect()
}

fn told(addresses: &[&str], taken: Taken, most: Bytes) -> OnServer {
    OnServer {
        address: addresses.join("` and `"),
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
    if let Some(soak) = &run.plan.soak {
        let load = planned::load_of(soak, &case.shape);
        let each = sample_length(soak, &case.shape).0.max(1);
        let number = load.0.div_ceil(each);
        return Rounds { number, load };
    }
    let planned = planned::rounds(&run.plan, case);
    let number = u64::from(planned.most.or(planned.fit).unwrap_or(1));
    let each = case.shape.warmup.plus(case.shape.measure);
    let load = Nanos(each.0.saturating_mul(number));
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
    let is_soak = runs.iter().any(|run| run.plan.soak.is_some());
    let less = if is_soak {
        "a smaller `--for`, or a larger `--every`"
    } else {
        "fewer `--passes`, or a shorter `--budget`"
    };
    let hint = format!(
        "where the server has that room: `--db-max {}`; or a smaller `table_size` or `scale`, {less}; `--dry-run` tells \
         what takes it",
        needed.unwrap_or(most).rounded_up().replace(' ', "")
    );
    Err(failure(Exit::Usage, why, Some(&hint)))
}

/// What transactions of a run have added on its servers, against what is allowed.
#[derive(Default)]
pub(crate) struct Growth(BTreeMap<(String, u16), OfServer>);

/// The same of one server.
struct OfServer {
    taken: OnServer,
    added: u64,
}

impl Growth {
    /// Before the first round; without a bound nothing is counted.
    pub(crate) fn new(runs: &[Run], most: Option<Bytes>) -> Self {
        let all = most.map_or_else(Vec::new, |most| on_servers(runs, most));
        let each = all.into_iter().filter_map(|taken| {
            let first = taken.address.split('`').next()?;
            Some((server_of(first)?, OfServer { taken, added: 0 }))
        });
        Self(each.collect())
    }

    /// Takes a finished round into account, with the transactions of its warm-up as far as their number is known.
    pub(crate) fn learn(&mut self, run: &Run, round: &Round) {
        let case = run.plan.cases.iter().find(|case| case.id == round.case);
        let (Some(case), Some(told)) = (case, round.told()) else {
            return;
        };
        let of_copy = |ops: u64, wall: Nanos| {
            let all = u128::from(wall.0) + u128::from(case.shape.warmup.0);
            let all = u128::from(ops) * all / u128::from(wall.0.max(1));
            u64::try_from(all).unwrap_or(u64::MAX)
        };
        let copies = told.copies.iter();
        let transactions = copies.map(|copy| of_copy(copy.ops, copy.wall));
        let transactions = transactions.fold(0, u64::saturating_add);
        let added = room::added_by(case, transactions).0;
        let servers = run.plan.servers().filter_map(|own| server_of(&own.path));
        for server in servers {
            if let Some(own) = self.0.get_mut(&server) {
                own.added = own.added.saturating_add(added);
            }
        }
    }

    /// An error where it is more than what is allowed beside tables and the logs of making them.
    pub(crate) fn fits(&self) -> Result<(), String> {
        let over = |own: &&OfServer| {
            let made = own.taken.tables.0.saturating_add(own.taken.logs.0);
            made.saturating_add(own.added) > own.taken.most.0
        };
        let Some(own) = self.0.values().find(over) else {
            return Ok(());
        };
        Err(format!(
            "transactions have added about {} on `{}`, beside {} of tables and {} of logs of making them, and `--db-max` \
             allows {}",
            Bytes(own.added).rounded_up(),
            own.taken.address,
            own.taken.tables.rounded_up(),
            own.taken.logs.rounded_up(),
            own.taken.most.exact()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::resolve::planned_case;
    use model::params::Params;
    use model::record::{CopyRecord, Measured, Outcome};

    /// A run of one test on each of these servers.
    fn run(addresses: &[&str]) -> Run {
        let oltp = workloads::find("db.oltp").unwrap();
        let params = Params::resolve(oltp.spec(), [("mix", "update_index")]).unwrap();
        let id = "db.update-index@2".parse().unwrap();
        let mut run = testkit::run(vec![planned_case(oltp, id, "", &params)]);
        run.plan.passes = Some(1);
        run.plan.named = addresses.iter().map(|own| testkit::server(own)).collect();
        run
    }

    #[test]
    fn what_is_allowed_is_said_of_a_server_and_not_of_each_database_of_it() {
        let one = |address: &str| on_servers(&[run(&[address])], USUAL_MAX);
        let a = one("postgres://bob@db:5432/a");
        let both = on_servers(
            &[
                run(&["postgres://bob@db:5432/a"]),
                run(&["postgres://eve@db/b"]),
            ],
            USUAL_MAX,
        );
        assert_eq!(both.len(), 1);
        assert_eq!(both[0].all, Bytes(2 * a[0].all.0));
        assert_eq!(
            both[0].address,
            "postgres://bob@db:5432/a` and `postgres://eve@db/b"
        );
        let apart = ["postgres://bob@db:5432/a", "postgres://bob@db:5433/a"];
        assert_eq!(on_servers(&[run(&apart)], USUAL_MAX).len(), 2);
        assert!(one("redis://db:6379/0").is_empty());
    }

    #[test]
    fn a_run_ends_once_its_transactions_have_added_more_than_what_is_allowed() {
        let runs = [run(&["postgres://bob@db:5432/a"])];
        let taken = &on_servers(&runs, USUAL_MAX)[0];
        let most = Bytes(taken.tables.0 + taken.logs.0 + 10_000_000);
        let case = &runs[0].plan.cases[0];
        let round = |ops| {
            let second = Nanos::from_secs(1);
            let copy = CopyRecord {
                wall: Nanos(second.0.max(case.shape.warmup.0)),
                ..CopyRecord::of_operations(ops)
            };
            let measured = Measured {
                copies: vec![copy.clone(), copy],
                ..testkit::measured(&[])
            };
            testkit::round(&case.id, 1, Outcome::Done(measured))
        };
        let mut growth = Growth::new(&runs, Some(most));
        let mut unbound = Growth::new(&runs, None);
        // A kilobyte for each, and of two copies.
        growth.learn(&runs[0], &round(2000));
        assert_eq!(growth.fits(), Ok(()));
        growth.learn(&runs[0], &round(4000));
        let why = growth.fits().unwrap_err();
        assert!(
            why.contains("on `postgres://bob@db:5432/a`") && why.contains("`--db-max` allows"),
            "{why}"
        );
        unbound.learn(&runs[0], &round(1_000_000));
        assert_eq!(unbound.fits(), Ok(()));
    }
}
