//! Parameters: which tests a `--set` or a profile's own reaches, and what is wrong with one that reaches none.
//!
//! A family's tests need not all have a parameter; one at least must, or it was misspelt.

use super::{Catalog, Choice, PlanError, Request, nearest, split_copies};
use crate::workload::BadValue;
use model::params::{ParamError, Params};
use std::collections::BTreeSet;

/// One `--set WHO.param=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Set {
    /// A profile, a test or a glob.
    pub who: String,
    /// The parameter.
    pub param: String,
    /// The value as written.
    pub value: String,
}

impl std::str::FromStr for Set {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("`{text}` is not of the form TEST.PARAM=VALUE");
        let (path, value) = text.split_once('=').ok_or_else(bad)?;
        let (who, param) = path.rsplit_once('.').ok_or_else(bad)?;
        if who.is_empty() || param.is_empty() {
            return Err(bad());
        }
        Ok(Self {
            who: who.to_owned(),
            param: param.to_owned(),
            value: value.to_owned(),
        })
    }
}

/// The parameters of a test: its own, over them the profile's, over them the user's.
pub(super) fn parameters(
    request: &Request,
    catalog: Catalog<'_>,
    choice: &Choice<'_>,
) -> Result<Params, PlanError> {
    let spec = choice.entry.workload.spec();
    let mut params = Params::resolve(spec, choice.entry.test.params.iter().copied())
        .map_err(|error| bad_param(choice.entry.test.name, "default", error))?;
    for (param, value) in choice.profile.iter().flat_map(|profile| &profile.set) {
        if has_param(choice, param) {
            params
                .set(spec, param, value)
                .map_err(|error| bad_param(choice.entry.test.name, param, error))?;
        }
    }
    for set in &request.sets {
        // A family's tests need not all have it: that one of them does is seen to where all are known.
        if concerns(&set.who, catalog, choice) && has_param(choice, &set.param) {
            params
                .set(spec, &set.param, &set.value)
                .map_err(|error| bad_param(&set.who, &set.param, error))?;
        }
    }
    Ok(params)
}

/// Refuses what somebody sets and does not hold where the test works on a server: `without` are the names of those.
pub(super) fn refuse_unused(
    request: &Request,
    catalog: Catalog<'_>,
    choice: &Choice<'_>,
    params: &Params,
    without: &[&'static str],
) -> Result<(), PlanError> {
    for &param in without {
        let mut sets = request.sets.iter();
        if sets.any(|set| set.param == param && concerns(&set.who, catalog, choice)) {
            let bad = BadValue::new(param, "nothing: on a server its own settings decide");
            return Err(bad_value(request, catalog, choice, params, bad));
        }
    }
    Ok(())
}

/// A value that the workload does not take, under the name that gave it: the last `--set` of it, or else the profile's
/// or the test's own.
pub(super) fn bad_value(
    request: &Request,
    catalog: Catalog<'_>,
    choice: &Choice<'_>,
    params: &Params,
    bad: BadValue,
) -> PlanError {
    let meant = |set: &&Set| set.param == bad.param && concerns(&set.who, catalog, choice);
    let set = request.sets.iter().rev().find(meant);
    let who: &str = match (set, choice.profile) {
        (Some(set), _) => &set.who,
        (None, Some(profile)) if profile.set.contains_key(bad.param) => &profile.name,
        (None, _) => choice.entry.test.name,
    };
    let given = params.get(bad.param).map(ToString::to_string);
    let error = ParamError::BadValue {
        param: bad.param.to_owned(),
        value: set.map_or(given.unwrap_or_default(), |set| set.value.clone()),
        expected: bad.expected,
    };
    bad_param(who, bad.param, error)
}

/// Refuses what reaches no test of the plan, or none that has the parameter.
pub(super) fn check_sets(
    request: &Request,
    catalog: Catalog<'_>,
    chosen: &[Choice<'_>],
) -> Result<(), PlanError> {
    for choice in chosen {
        for param in choice.profile.iter().flat_map(|profile| profile.set.keys()) {
            let has = |other: &Choice<'_>| {
                let own = other.profile.map(|profile| &profile.name);
                own == choice.profile.map(|profile| &profile.name) && has_param(other, param)
            };
            if !chosen.iter().any(has) {
                return Err(PlanError::SetReachesNothing {
                    who: choice
                        .profile
                        .map(|profile| profile.name.clone())
                        .unwrap_or_default(),
                    param: param.clone(),
                    nearest: Vec::new(),
                });
            }
        }
    }
    for set in &request.sets {
        let meant = chosen
            .iter()
            .filter(|choice| concerns(&set.who, catalog, choice));
        let meant: Vec<&Choice<'_>> = meant.collect();
        if meant.is_empty() {
            return Err(PlanError::SetReachesNothing {
                who: set.who.clone(),
                param: set.param.clone(),
                nearest: nearest_set(set, catalog, chosen),
            });
        }
        if !meant.iter().any(|choice| has_param(choice, &set.param)) {
            let known: BTreeSet<&str> = meant
                .iter()
                .flat_map(|choice| choice.entry.workload.spec().params)
                .map(|def| def.name)
                .collect();
            let error = ParamError::Unknown {
                workload: set.who.clone(),
                param: set.param.clone(),
                known: known.into_iter().map(str::to_owned).collect(),
            };
            return Err(bad_param(&set.who, &set.param, error));
        }
    }
    Ok(())
}

/// Whether a `--set` for `who` concerns this choice.
fn concerns(who: &str, catalog: Catalog<'_>, choice: &Choice<'_>) -> bool {
    match catalog.profile(who) {
        Some(profile) => choice.profile.is_some_and(|own| own.name == profile.name),
        None => catalog
            .matching(who)
            .iter()
            .any(|entry| entry.test.name == choice.entry.test.name),
    }
}

fn has_param(choice: &Choice<'_>, name: &str) -> bool {
    let mut params = choice.entry.workload.spec().params.iter();
    params.any(|def| def.name == name)
}

fn bad_param(who: &str, param: &str, error: ParamError) -> PlanError {
    let nearest = match &error {
        ParamError::Unknown { known, .. } => nearest(param, known.iter().map(String::as_str)),
        ParamError::BadValue { .. } => Vec::new(),
    };
    PlanError::BadParam {
        who: who.to_owned(),
        param: param.to_owned(),
        error: Box::new(error),
        nearest,
    }
}

/// What a `--set` that means no test of the run may have meant. A profile that the run does not name has tests that it
/// may name: those take the parameter by themselves.
fn nearest_set(set: &Set, catalog: Catalog<'_>, chosen: &[Choice<'_>]) -> Vec<String> {
    let tests = || chosen.iter().map(|choice| choice.entry.test.name);
    let Some(profile) = catalog.profile(&set.who) else {
        return nearest(&set.who, tests());
    };
    let patterns = profile.tests.iter().map(|pattern| split_copies(pattern).0);
    let of_profile: BTreeSet<&str> = patterns
        .flat_map(|pattern| catalog.matching(pattern))
        .map(|entry| entry.test.name)
        .collect();
    let meant = chosen.iter().filter(|choice| {
        of_profile.contains(choice.entry.test.name) && has_param(choice, &set.param)
    });
    meant
        .map(|choice| format!("{}.{}", choice.entry.test.name, set.param))
        .collect()
}
