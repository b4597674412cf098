//! Profiles: named lists of tests with a time budget, written in TOML.

use model::params::parse_duration;
use model::units::Nanos;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A named list of tests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Profile {
    /// The name, as typed behind `kurabe run`.
    pub name: String,
    /// One line for lists, without a full stop.
    pub title: String,
    /// Names and globs of tests, in the order of the report; of a profile with ranks all that those have.
    pub tests: Vec<String>,
    /// Groups of them, the most important first. Where the budget is short those at the end have fewer rounds than an
    /// interval takes, down to one, and then none: a group goes together. Empty where all are alike.
    pub ranks: Vec<Vec<String>>,
    /// Names and globs of tests that follow them where the machine has several NUMA nodes. Elsewhere they are no part
    /// of the profile, so that nothing is said to be left out on every small machine.
    pub numa: Vec<String>,
    /// Names and globs of tests that follow them where there is a disk to measure. Elsewhere they are left out, which
    /// is said. Of a profile with ranks: which of the tests are left out there.
    pub disk: Vec<String>,
    /// Those of all that are left out first where the budget is short, the least important first.
    pub optional: Vec<String>,
    /// The time that the whole run may take.
    pub budget: Option<Nanos>,
    /// The number of passes.
    pub passes: Option<u32>,
    /// The concurrencies.
    pub copies: Vec<Copies>,
    /// Parameters for all tests that have them: name and value.
    pub set: BTreeMap<String, String>,
    /// True where the cases of a pass run in the order of the tests and not in a shuffled one, because one prepares
    /// what the next one finds.
    pub ordered: bool,
}

/// A concurrency, before it is known how many CPUs there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Copies {
    /// That many.
    Exactly(u32),
    /// As many as there are usable CPUs.
    All,
    /// 1, 2, 4, ... up to all usable CPUs, and one step above.
    Steps,
}

impl Copies {
    /// Copies at most: beyond it a slip of the finger, not a plan.
    const MAX: u32 = 4096;
}

impl std::str::FromStr for Copies {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.parse::<u32>()) {
            ("all", _) => Ok(Self::All),
            ("steps", _) => Ok(Self::Steps),
            (_, Ok(n)) if (1..=Self::MAX).contains(&n) => Ok(Self::Exactly(n)),
            _ => Err(format!(
                "`{text}` is neither `all`, nor `steps`, nor a number from 1 to {}",
                Self::MAX
            )),
        }
    }
}

/// Passes at most: beyond it a slip of the finger, not a plan.
pub const PASSES_MAX: u32 = 100_000;

/// Why a profile's text was refused.
#[derive(Debug, thiserror::Error)]
#[error("read profile `{name}`: {why}")]
pub struct ProfileError {
    /// The profile's name or file.
    pub name: String,
    /// What is wrong, with its place in the text where that is known.
    pub why: String,
}

/// The TOML as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    title: String,
    #[serde(default)]
    tests: Vec<String>,
    #[serde(default)]
    ranks: Vec<Vec<String>>,
    #[serde(default)]
    numa: Vec<String>,
    #[serde(default)]
    disk: Vec<String>,
    #[serde(default)]
    optional: Vec<String>,
    budget: Option<String>,
    passes: Option<u32>,
    #[serde(default)]
    copies: Vec<String>,
    #[serde(default)]
    set: BTreeMap<String, String>,
    #[serde(default)]
    ordered: bool,
}

impl Profile {
    /// Reads a profile from TOML.
    pub fn parse(name: &str, text: &str) -> Result<Self, ProfileError> {
        let error = |why: String| ProfileError {
            name: name.to_owned(),
            why,
        };
        let raw: Text = toml::from_str(text).map_err(|e| error(e.to_string().trim().to_owned()))?;
        let budget = match raw.budget {
            None => None,
            Some(text) => Some(parse_duration(&text).ok_or_else(|| {
                error(format!(
                    "budget `{text}` is no time with its unit, such as 3m or 90s"
                ))
            })?),
        };
        let copies = raw
            .copies
            .iter()
            .map(|copies| copies.parse().map_err(error));
        let copies: Vec<Copies> = copies.collect::<Result<_, _>>()?;
        if raw
            .passes
            .is_some_and(|passes| !(1..=PASSES_MAX).contains(&passes))
        {
            return Err(error(format!(
                "passes must be at least 1 and at most {PASSES_MAX}"
            )));
        }
        if budget.is_some_and(|budget| budget == Nanos::ZERO) {
            return Err(error("a budget of no time measures nothing".to_owned()));
        }
        let ranked = raw.ranks.concat();
        if raw.tests.is_empty() == ranked.is_empty() {
            let why = if ranked.is_empty() {
                "it lists no tests"
            } else {
                "it lists tests beside those that have ranks"
            };
            return Err(error(why.to_owned()));
        }
        let has_others = !raw.optional.is_empty() || !raw.numa.is_empty();
        if has_others && !ranked.is_empty() {
            let why = "`ranks` says what goes first, and what there is: `optional` and `numa` do not go with it";
            return Err(error(why.to_owned()));
        }
        Ok(Self {
            name: name.to_owned(),
            title: raw.title,
            tests: if ranked.is_empty() { raw.tests } else { ranked },
            ranks: raw.ranks,
            numa: raw.numa,
            disk: raw.disk,
            optional: raw.optional,
            budget,
            passes: raw.passes,
            copies: if copies.is_empty() {
                vec![Copies::Exactly(1), Copies::All]
            } else {
                copies
            },
            set: raw.set,
            ordered: raw.ordered,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_profile_is_read_and_nonsense_is_named() {
        let profile = Profile::parse(
            "p",
            "title = 'T'\ntests = ['os.*']\nbudget = '90s'\ncopies = ['1', 'all', '8']\n[set]\ncompat = '6'",
        )
        .unwrap();
        assert!(!profile.ordered);
        let in_order = Profile::parse("p", "title = 'T'\ntests = ['t']\nordered = true");
        assert!(in_order.unwrap().ordered);
        assert_eq!(profile.budget, Some(Nanos::from_secs(90)));
        assert_eq!(
            profile.copies,
            [Copies::Exactly(1), Copies::All, Copies::Exactly(8)]
        );
        for (text, needle) in [
            ("title = 'T'", "tests"),
            ("title = 'T'\nranks = [[]]", "lists no tests"),
            ("title = 'T'\ntests = ['t']\nranks = [['t']]", "beside"),
            (
                "title = 'T'\nranks = [['t']]\noptional = ['t']",
                "`optional`",
            ),
            ("title = 'T'\ntests = ['t']\nbudget = 'soon'", "soon"),
            ("title = 'T'\ntests = ['t']\ncopies = ['0']", "`0`"),
            ("title = 'T'\ntests = ['t']\npasses = 0", "at least 1"),
            ("title = 'T'\ntests = ['t']\nrounds = 3", "rounds"),
            ("title = 'T'\ntests = ['t']\nordered = 'yes'", "ordered"),
            ("title = 'T'\ntests = []", "lists no tests"),
            ("title = 'T'\ntests = []\nnuma = ['t']", "lists no tests"),
            ("title = 'T'\ntests = ['t']\nbudget = '0s'", "no time"),
            ("title = ", "TOML"),
        ] {
            let error = Profile::parse("p", text).unwrap_err().to_string();
            assert!(error.contains(needle), "{text}: {error}");
        }
    }
}
