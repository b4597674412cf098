//! Which run the user means: an id, a label, `latest`, `latest~N`, or the beginning of an id.
//!
//! In this order, and the first that fits wins, so that a full id always means that run whatever labels exist. A
//! label given to several runs means the latest of them: that is what "again, under the same name" is for.

use crate::RunLine;
use crate::error::StoreError;

/// How many suggestions an error shows: more is a list, and `kurabe list runs` is better at it.
const NEAREST_MAX: usize = 3;

/// The run that a text means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Meant {
    /// Its id.
    pub id: String,
    /// The ids of the other runs that the text would mean just as well: those with the same label, the latest first.
    /// None where the text is no label.
    pub alike: Vec<String>,
}

impl Meant {
    fn surely(line: &RunLine) -> Self {
        Self {
            id: line.id.clone(),
            alike: Vec::new(),
        }
    }
}

/// What `text` means among `lines`, which are in the order of [`crate::Store::list`]: the latest first.
pub(crate) fn resolve(text: &str, lines: &[RunLine]) -> Result<Meant, StoreError> {
    if let Some(line) = lines.iter().find(|line| line.id == text) {
        return Ok(Meant::surely(line));
    }
    if let Some(back) = steps_back(text) {
        return match lines.get(back) {
            Some(line) => Ok(Meant::surely(line)),
            None if lines.is_empty() => Err(unknown(text, lines)),
            None => Err(StoreError::TooFarBack {
                text: text.to_owned(),
                runs: lines.len(),
            }),
        };
    }
    let labelled = |line: &&RunLine| line.label.as_deref() == Some(text);
    let mut labelled = lines.iter().filter(labelled);
    if let Some(line) = labelled.next() {
        return Ok(Meant {
            id: line.id.clone(),
            alike: labelled.map(|line| line.id.clone()).collect(),
        });
    }
    let begins = |line: &&RunLine| !text.is_empty() && line.id.starts_with(text);
    let candidates: Vec<String> = lines
        .iter()
        .filter(begins)
        .map(|line| line.id.clone())
        .collect();
    match candidates.as_slice() {
        [] => Err(unknown(text, lines)),
        [only] => Ok(Meant {
            id: only.clone(),
            alike: Vec::new(),
        }),
        _ => Err(StoreError::Ambiguous {
            text: text.to_owned(),
            candidates,
        }),
    }
}

/// The number of runs to go back from the latest; `None` where `text` is not of that form.
fn steps_back(text: &str) -> Option<usize> {
    match text.strip_prefix("latest")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

pub(crate) fn unknown(text: &str, lines: &[RunLine]) -> StoreError {
    let mut names: Vec<&str> = Vec::new();
    for line in lines {
        for name in [line.label.as_deref(), Some(line.id.as_str())] {
            names.extend(name.filter(|name| !names.contains(name)));
        }
    }
    let mut scored: Vec<(f64, &str)> = names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(text, name), name))
        .collect();
    // The sort is stable: among equals the latest run stays first.
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    StoreError::Unknown {
        text: text.to_owned(),
        nearest: scored
            .into_iter()
            .take(NEAREST_MAX)
            .map(|(_, name)| name.to_owned())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::record::End;
    use model::units::UnixNanos;

    fn line(id: &str, label: Option<&str>) -> RunLine {
        RunLine {
            id: id.to_owned(),
            label: label.map(str::to_owned),
            started: UnixNanos(0),
            finished: None,
            end: End::Open,
            what: Vec::new(),
            cases: 0,
            rounds: 0,
        }
    }

    fn lines() -> Vec<RunLine> {
        vec![
            line("20261123-090000-77aa", Some("新サーバー")),
            line("20261122-090000-b1b1", Some("base")),
            line("20261121-090000-a0a0", Some("base")),
            line("20261121-080000-c2c2", Some("2026")),
            line("20251121-080000-d3d3", Some("20261121-090000-a0a0")),
        ]
    }

    #[test]
    fn every_form_of_run_finds_the_run_it_means() {
        let check = |text, expect: &str| {
            assert_eq!(resolve(text, &lines()).unwrap().id, expect, "{text}");
        };
        check("20261122-090000-b1b1", "20261122-090000-b1b1");
        check("20261121-09", "20261121-090000-a0a0");
        check("base", "20261122-090000-b1b1");
        check("新サーバー", "20261123-090000-77aa");
        check("latest", "20261123-090000-77aa");
        check("latest~0", "20261123-090000-77aa");
        check("latest~4", "20251121-080000-d3d3");
        // A label wins over the beginning of an id, an id over a label.
        check("2026", "20261121-080000-c2c2");
        check("20261121-090000-a0a0", "20261121-090000-a0a0");
    }

    #[test]
    fn a_label_of_several_runs_brings_the_others_too_and_nothing_else_does() {
        let check = |text, expect: &[&str]| {
            assert_eq!(resolve(text, &lines()).unwrap().alike, expect, "{text}");
        };
        check("base", &["20261121-090000-a0a0"]);
        check("新サーバー", &[]);
        check("20261122-090000-b1b1", &[]);
        check("20261122", &[]);
        check("latest~1", &[]);
    }

    #[test]
    fn an_ambiguous_beginning_names_every_candidate() {
        let error = resolve("20261121", &lines()).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("`20261121-090000-a0a0`, `20261121-080000-c2c2`"),
            "{text}"
        );
        assert!(text.contains("\nhint: "), "{text}");
    }

    #[test]
    fn an_unknown_name_brings_the_nearest_ones() {
        let StoreError::Unknown { nearest, .. } = resolve("bsae", &lines()).unwrap_err() else {
            panic!("not unknown");
        };
        assert_eq!(nearest.first().map(String::as_str), Some("base"));
        for text in ["", "latest~", "latest~x", "latest~-1", "Latest"] {
            assert!(
                matches!(resolve(text, &lines()), Err(StoreError::Unknown { .. })),
                "{text}"
            );
        }
        let text = resolve("latest", &[]).unwrap_err().to_string();
        assert!(text.contains("the store is empty"), "{text}");
        let text = resolve("latest~5", &lines()).unwrap_err().to_string();
        assert!(text.contains("holds 5 runs"), "{text}");
    }
}
