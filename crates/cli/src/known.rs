//! Which figures a name may mean: those that kurabe's own tests declare, and those of runs that are looked at. A name
//! of neither is a slip, which "not measured" would hide.

use crate::exit::{Exit, failure};
use dialects::unixbench;
use engine::resolve::nearest;
use model::figure::{FigureName, Requirement};
use model::order::Order as _;
use model::record::Run;
use model::units::Unit;
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
    tests: Vec<(&'a str, Vec<(&'a str, Unit)>)>,
}

impl<'a> Known<'a> {
    /// Those of kurabe and of these runs.
    pub(crate) fn of(runs: impl IntoIterator<Item = &'a Run>) -> Self {
        let own = workloads::ALL.iter().flat_map(|workload| {
            let metrics = workload.spec().metrics.iter();
            let told = metrics.filter(|metric| !metric.role.is_picture());
            let told = told.map(|metric| (metric.quantity, metric.unit));
            let quantities: Vec<(&str, Unit)> = told.collect();
            let tests = workload.spec().tests.iter();
            tests.map(move |test| (test.name, quantities.clone()))
        });
        let of_runs = runs.into_iter().flat_map(|run| &run.plan.cases);
        let of_runs = of_runs.map(|case| {
            let metrics = case.metrics.iter();
            let quantities = metrics.map(|metric| (metric.quantity.as_str(), metric.unit));
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

    /// Refuses a level in a unit that its figure never has, and what [`Known::check`] refuses.
    pub(crate) fn check_levels<'n>(
        &self,
        doing: &str,
        all: impl IntoIterator<Item = &'n Requirement>,
    ) -> anyhow::Result<()> {
        for one in all {
            self.check(doing, [&one.figure])?;
            let units = self.units(&one.figure);
            if units.iter().any(|&unit| one.level.fits(unit)) {
                continue;
            }
            let (level, figure) = (&one.level.text, &one.figure);
            let key = |unit: &Unit| match unit {
                Unit::Number => "plain numbers",
                unit => unit.key(),
            };
            let units: Vec<&str> = units.iter().map(key).collect();
            let what = format!(
                "{doing}: `{level}` is no level of `{figure}`, which is in {}",
                units.join(" or ")
            );
            let hint =
                "a number without a unit is in the figure's own: `kurabe list metrics` names it";
            return Err(failure(Exit::Usage, what, Some(hint)));
        }
        Ok(())
    }

    /// The units in which such a figure may be.
    fn units(&self, name: &FigureName) -> Vec<Unit> {
        let named = self.tests.iter().filter(|(test, _)| *test == name.test);
        let asked = |quantity: &str| name.quantity.as_deref().is_none_or(|name| name == quantity);
        let declared = named.flat_map(|(_, all)| all);
        let declared = declared.filter(|(quantity, _)| asked(quantity));
        let mut units: Vec<Unit> = declared.map(|&(_, unit)| unit).collect();
        if units.is_empty() {
            // What no metric declares and is a figure all the same: the mode of a latency, or an index.
            let is_time = name.quantity.is_some();
            units.push(if is_time {
                Unit::Nanoseconds
            } else {
                Unit::Number
            });
        }
        units.order_by_key(|unit| unit.key());
        units.dedup();
        units
    }

    /// Whether a name may mean a figure.
    pub(crate) fn find(&self, name: &FigureName) -> Result<(), Unknown> {
        let named = self.tests.iter().filter(|(test, _)| *test == name.test);
        let all = named.clone().flat_map(|(_, all)| all);
        let quantities: Vec<&str> = all.map(|(quantity, _)| *quantity).collect();
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

    #[test]
    fn a_level_is_in_a_unit_of_its_figure() {
        let known = Known::of([]);
        let check = |need: &str, why: &str| {
            let found = known.check_levels("recommend", [&need.parse().unwrap()]);
            let told = found
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default();
            assert!(
                told.contains(why) && told.is_empty() == why.is_empty(),
                "{need}: {told}"
            );
        };
        check("storage.randread-4k:iops >= 5000", "");
        check("storage.randread-4k:iops >= 5 kIOPS", "");
        check("storage.randread-4k >= 5 ms", "");
        check("storage.randread-4k:lat_ns_mode <= 5 ms", "");
        check("unixbench@1 >= 1500", "");
        check("storage.randread-4k:iops >= 5 ms", "in ops_per_s");
        check("storage.randread-4k:lat_ns_mode <= 5 IOPS", "in ns");
        check("unixbench@1 >= 5 ms", "in plain numbers");
        check("os.pip >= 5", "os.pip");
    }
}
