//! What equal machines differ by: the noise floor of each metric, measured beforehand and built into the program.
//!
//! A margin below the instrument's own noise promises a resolution that is not there, so that a margin is raised to
//! twice the floor where that is larger. The floors stand in `calibration.txt`, one line for each test and quantity,
//! with where they come from; concurrencies share a line, because machines have different ones. A margin that the
//! user gives is taken as it is.

use crate::quantile;
use crate::rounds::whole;
use model::comparison::{Comparison, MarginSource};
use model::plan::MetricId;
use model::spec::MetricClass;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::OnceLock;

/// The first line of every calibration.
const HEADING: &str = "# kurabe calibration 1";

/// How many floors a margin must at least have.
const FLOORS: f64 = 2.0;

/// A noise floor with its provenance.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    /// What two equal machines typically differ by, as a share.
    pub share: f64,
    /// How many ratios of equal machines stand behind it.
    pub pairs: u32,
    /// Where it comes from.
    pub origin: Origin,
}

/// Where floors come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The day, such as `2026-11-21`.
    pub date: String,
    /// The version of the program that measured.
    pub version: String,
    /// The class of machine, in words.
    pub machine: String,
}

/// Noise floors by `TEST:QUANTITY`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    floors: BTreeMap<String, Floor>,
}

/// The floors built into the program.
pub fn embedded() -> &'static Calibration {
    static FLOORS: OnceLock<Calibration> = OnceLock::new();
    FLOORS.get_or_init(|| {
        Calibration::read(include_str!("../calibration.txt"))
            .expect("a test reads the calibration that is built in")
    })
}

impl Calibration {
    /// Reads floors; the error names the line.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.lines().next() != Some(HEADING) {
            return Err(format!("line 1: expected `{HEADING}`"));
        }
        let mut floors = BTreeMap::new();
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let (key, floor) = entry(line)
                .ok_or_else(|| format!("line {number}: `{line}` is no floor with its origin"))?;
            if floors.insert(key.clone(), floor).is_some() {
                return Err(format!("line {number}: `{key}` has a floor already"));
            }
        }
        Ok(Self { floors })
    }

    /// The floors as text that [`Calibration::read`] reads: the comment lines that `old` begins with, then one line for
    /// each floor.
    pub fn write(&self, old: &str) -> String {
        let mut out = String::new();
        let comments = old.lines().take_while(|line| line.starts_with('#'));
        for line in comments.skip_while(|line| *line == HEADING) {
            let _ = writeln!(out, "{line}");
        }
        for (key, floor) in &self.floors {
            let Floor {
                share,
                pairs,
                origin,
            } = floor;
            // Writing to a String cannot fail.
            let _ = writeln!(
                out,
                "{key} {share:.5} {pairs} {} {} {}",
                origin.date, origin.version, origin.machine
            );
        }
        format!("{HEADING}\n{out}")
    }

    /// The floors that comparisons of equal machines show: the median over all of them, and over the concurrencies of
    /// a test, of how far the ratio is from 1. Metrics without a ratio have no floor.
    pub fn measured(equals: &[Comparison], origin: &Origin) -> Self {
        let mut distances: BTreeMap<String, Vec<f64>> = BTreeMap::new();
        for metric in equals.iter().flat_map(|comparison| &comparison.metrics) {
            if let Some(ratio) = metric
                .ratio
                .filter(|ratio| ratio.is_finite() && *ratio > 0.0)
            {
                distances
                    .entry(key(&metric.id))
                    .or_default()
                    .push(ratio.ln().abs());
            }
        }
        let floor = |distances: &[f64]| {
            Some(Floor {
                share: quantile::median(distances)?.exp_m1(),
                pairs: whole(distances.len()),
                origin: origin.clone(),
            })
        };
        Self {
            floors: distances
                .into_iter()
                .filter_map(|(key, distances)| Some((key, floor(&distances)?)))
                .collect(),
        }
    }

    /// These floors, replaced where `newer` has one.
    #[must_use]
    pub fn updated(mut self, newer: Self) -> Self {
        self.floors.extend(newer.floors);
        self
    }

    /// The floor of a metric.
    pub fn floor(&self, id: &MetricId) -> Option<&Floor> {
        self.floors.get(&key(id))
    }

    /// The margin of a metric, as a share, and why it is this one. `given` is what the user asked for.
    pub fn margin(
        &self,
        id: &MetricId,
        class: MetricClass,
        given: Option<f64>,
    ) -> (f64, MarginSource) {
        if let Some(margin) = given {
            return (margin, MarginSource::Given);
        }
        let usual = class.margin();
        match self.floor(id) {
            Some(floor) if FLOORS * floor.share > usual => {
                let source = MarginSource::NoiseFloor {
                    class: usual,
                    floor: floor.share,
                };
                (FLOORS * floor.share, source)
            }
            _ => (usual, MarginSource::Class),
        }
    }
}

fn key(id: &MetricId) -> String {
    format!("{}:{}", id.case.test, id.quantity)
}

/// One line: key, floor, pairs, date, version, and the machine until its end.
fn entry(line: &str) -> Option<(String, Floor)> {
    let mut words = line.split_ascii_whitespace();
    let key = words.next().filter(|key| key.contains(':'))?;
    let share: f64 = words.next()?.parse().ok()?;
    let pairs: u32 = words.next()?.parse().ok()?;
    let (date, version) = (words.next()?, words.next()?);
    let machine = words.collect::<Vec<_>>().join(" ");
    let sound = share.is_finite() && share >= 0.0 && pairs > 0 && !machine.is_empty();
    sound.then(|| {
        let origin = Origin {
            date: date.to_owned(),
            version: version.to_owned(),
            machine,
        };
        let floor = Floor {
            share,
            pairs,
            origin,
        };
        (key.to_owned(), floor)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CompareOptions, compare, compare_with};
    use crate::fixture::{self, noisy};
    use model::comparison::Verdict;

    fn origin() -> Origin {
        Origin {
            date: "2026-11-21".to_owned(),
            version: "0.1.0".to_owned(),
            machine: "VM, 2 CPUs".to_owned(),
        }
    }

    #[test]
    fn what_is_built_in_can_be_read_and_written_back() {
        let text = include_str!("../calibration.txt");
        let found = Calibration::read(text).unwrap();
        assert_eq!(found.write(text), text);
        assert_eq!(&found, embedded());
    }

    #[test]
    fn lines_that_mean_nothing_are_named() {
        let check = |line: &str, ok: bool| {
            let found = Calibration::read(&format!("{HEADING}\n\n# words\n{line}\n"));
            assert_eq!(found.is_ok(), ok, "{line}: {found:?}");
            assert!(ok || found.unwrap_err().starts_with("line 4: "));
        };
        check(
            "os.pipe:ops_per_s 0.012 20 2026-11-21 0.1.0 VM, 2 CPUs",
            true,
        );
        check("os.pipe 0.012 20 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s x 20 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s -0.1 20 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s NaN 20 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s 0.1 0 2026-11-21 0.1.0 VM", false);
        check("os.pipe:ops_per_s 0.1 2 2026-11-21 0.1.0", false);
        assert!(Calibration::read("os.pipe:x 0.1 2 d v m").is_err());
        let twice = format!("{HEADING}\na:b 0.1 2 d v m\na:b 0.2 2 d v m\n");
        assert!(Calibration::read(&twice).unwrap_err().contains("line 3"));
    }

    #[test]
    fn floors_are_the_median_distance_of_equals_and_survive_the_file() {
        let run = |seed: u64| {
            let series = |seed| noisy(seed, 9, 100.0, 0.06);
            fixture::run(&[("os.pipe@1", series(seed)), ("os.pipe@2", series(seed + 1))])
        };
        let equals: Vec<Comparison> = (0..40)
            .map(|i| compare(&run(4 * i), &run(4 * i + 2), &CompareOptions::default()))
            .collect();
        let found = Calibration::measured(&equals, &origin());
        let id = &equals[0].metrics[0].id;
        let floor = found.floor(id).unwrap();
        // Two trimmed means of nine rounds differ by a normal deviation of about 0.06 * sqrt(2 / 9) * 1.07; the median
        // of its size is 0.674 times that.
        assert!((floor.share - 0.0204).abs() < 0.004, "{floor:?}");
        assert_eq!(floor.pairs, 80);
        let back = Calibration::read(&found.write("")).unwrap();
        assert!((back.floor(id).unwrap().share - floor.share).abs() < 1e-5);
        assert_eq!(back.floor(id).unwrap().origin, origin());
    }

    #[test]
    fn a_margin_is_raised_to_twice_the_floor_unless_the_user_gives_one() {
        let text = format!(
            "{HEADING}\nos.pipe:ops_per_s 0.036 20 d v m\nos.spawn:ops_per_s 0.02 20 d v m\n"
        );
        let calibration = Calibration::read(&text).unwrap();
        let run = |level| {
            fixture::run(&[
                ("os.pipe@2", noisy(1, 9, level, 0.001)),
                ("os.spawn@1", noisy(2, 9, level, 0.001)),
            ])
        };
        let (base, other) = (run(100.0), run(106.0));
        let found = |margin| {
            let options = CompareOptions { margin };
            compare_with(&[&base], &[&other], &options, &calibration).metrics
        };
        let raised = &found(None)[0];
        let (class, floor) = (0.05, 0.036);
        assert_eq!(
            raised.margin_source,
            MarginSource::NoiseFloor { class, floor }
        );
        assert!((raised.margin - 0.072).abs() < 1e-12);
        assert_eq!(raised.verdict, Verdict::Same);
        let usual = &found(None)[1];
        assert_eq!(
            (usual.margin, usual.margin_source),
            (0.05, MarginSource::Class)
        );
        assert_eq!(usual.verdict, Verdict::Better);
        let given = &found(Some(0.01))[0];
        assert_eq!(
            (given.margin, given.margin_source),
            (0.01, MarginSource::Given)
        );
        assert_eq!(given.verdict, Verdict::Better);
    }
}
