//! Which figures a name may mean: those that kurabe's own tests declare, and those of runs that are looked at. A name
//! of neither is a slip, which "not measured" would hide.

use crate::exit::{Exit, failure};
use dialects::unixbench;
use engine::resolve::nearest;
use model::figure::FigureName;
use model::record::Run;
use stats::figure::{LEADING, MODE};

/// Why a name means no figure.
#[derive(Debug)]
pub(crate) struct Unknown {
    /// What has no such figure.
    what: String,
    /// The names that come nearest.
    nearest: Vec<String>,
}

/// The tests that kurabe and these runs have, with their quantities.
pub(crate) struct Known<'a> {
    tests: Vec<(&'a str, Vec<&'a str>)>,
}

impl<'a> Known<'a> {
    /// Those of kurabe and of these runs.
    pub(crate) fn of(runs: impl IntoIterator<Item = &'a Run>) -> Self {
        let own = workloads::ALL.iter().flat_map(|workload| {
            let metrics = workload.spec().metrics.iter();
            let told = metrics.filter(|metric| !metric.role.is_picture());
            let quantities: Vec<&str> = told.map(|metric| metric.quantity).collect();
            let tests = workload.spec().tests.iter();
            tests.map(move |test| (test.name, quantities.clone()))
        });
        let of_runs = runs.into_iter().flat_map(|run| &run.plan.cases);
        let of_runs = of_runs.map(|case| {
            let metrics = case.metrics.iter();
            let quantities = metrics.map(|metric| metric.quantity.as_str());
            (case.id.test.as_str(), quantities.collect())
        });
        let index = (unixbench::INDEX_ID, Vec::new());
        Self {
            tests: own.chain(of_runs).chain([index]).collect(),
        }
    }

    /// Refuses names that mean no figure, on the command line or in a file.
    pub(crate) fn check<'n>(
        &self,
        doing: &str,
        names: impl IntoIterator<Item = &'n FigureName>,
    ) -> anyhow::Result<()> {
        for name in names {
            self.find(name).map_err(|unknown| {
                let hint = unknown.hint();
                failure(
                    Exit::Usage,
                    format!("{doing}: {}", unknown.what),
                    Some(&hint),
                )
            })?;
        }
        Ok(())
    }

    /// Whether a name may mean a figure.
    pub(crate) fn find(&self, name: &FigureName) -> Result<(), Unknown> {
        let named = self.tests.iter().filter(|(test, _)| *test == name.test);
        let quantities: Vec<&str> = named.clone().flat_map(|(_, all)| all).copied().collect();
        if named.count() == 0 {
            let tests = self.tests.iter().map(|(test, _)| *test);
            return Err(Unknown {
                what: format!(
                    "`{name}`: neither a test of kurabe nor one of the runs is called `{}`",
                    name.test
                ),
                nearest: nearest(&name.test, tests),
            });
        }
        match &name.quantity {
            Some(quantity) if !has(&quantities, quantity) => Err(Unknown {
                what: format!("`{name}`: `{}` has no such figure", name.test),
                nearest: nearest(quantity, quantities)
                    .iter()
                    .map(|quantity| format!("{}:{quantity}", name.test))
                    .collect(),
            }),
            _ => Ok(()),
        }
    }
}

/// Whether a test of these quantities has this one: one of them, or where most of a latency lies.
fn has(quantities: &[&str], asked: &str) -> bool {
    quantities.contains(&asked)
        || asked.strip_suffix(MODE).is_some_and(|kind| {
            let of_latency = |quantity: &&str| quantity.contains("lat_ns_");
            let begins = |quantity: &&str| quantity.starts_with(&format!("{kind}_ns_"));
            let mut all = quantities.iter();
            all.any(|quantity| begins(quantity) || kind == LEADING && of_latency(quantity))
        })
}

impl Unknown {
    /// What helps.
    fn hint(&self) -> String {
        let list =
            "`kurabe list metrics` names those of kurabe, `kurabe show RUN --full` those of a run";
        match &self.nearest[..] {
            [] => list.to_owned(),
            names => format!("nearest: {}; {list}", names.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_a_declared_test_or_of_a_run_and_else_the_nearest_is_named() {
        let run = testkit::run(vec![testkit::case(
            "blog.requests@8",
            vec![testkit::ops_per_s()],
        )]);
        let known = Known::of([&run]);
        let check = |name: &str, expect: Result<(), &str>| {
            let found = known.find(&name.parse().unwrap());
            match (found, expect) {
                (Ok(()), Ok(())) => {}
                (Err(unknown), Err(nearest)) => {
                    assert_eq!(unknown.nearest.first().map(String::as_str), Some(nearest));
                }
                (found, _) => panic!("{name}: {found:?}"),
            }
        };
        check("os.pipe", Ok(()));
        check("os.pipe@3:ops_per_s", Ok(()));
        check("unixbench@1", Ok(()));
        check("storage.randread-4k:lat_ns_mode", Ok(()));
        check("blog.requests@9", Ok(()));
        check("os.pip:ops_per_s", Err("os.pipe"));
        check("storage.randread-4k:iosp", Err("storage.randread-4k:iops"));
        check("blog.request", Err("blog.requests"));
        check("unixbnech@1", Err("unixbench"));
    }
}
