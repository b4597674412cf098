//! What equal machines differ by: the noise floor of each metric, measured beforehand and built into the program.
//!
//! A margin below the instrument's own noise promises a resolution that is not there, so that a margin is raised to
//! twice the floor where that is larger. The floors stand in `calibration.txt`, one line for each test and quantity,
//! with where they come from; concurrencies share a line, because machines have different ones. A margin that the
//! user gives is taken as it is.

use model::comparison::MarginSource;
use model::plan::MetricId;
use model::spec::MetricClass;
use std::collections::BTreeMap;
use std::sync::OnceLock;

/// The first line of every calibration.
const HEADING: &str = "# kurabe calibration 1";

/// How many floors a margin must at least have.
const FLOORS: f64 = 2.0;

/// Noise floors by `TEST:QUANTITY`: what two equal machines typically differ by, as a share.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Calibration {
    floors: BTreeMap<String, f64>,
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
        match self
            .floors
            .get(&format!("{}:{}", id.case.test, id.quantity))
        {
            Some(&floor) if FLOORS * floor > usual => {
                let source = MarginSource::NoiseFloor {
                    class: usual,
                    floor,
                };
                (FLOORS * floor, source)
            }
            _ => (usual, MarginSource::Class),
        }
    }
}

/// One line: key, floor, how many pairs of equal machines stand behind it, and where it comes from (date, version, and
/// the machine until its end).
fn entry(line: &str) -> Option<(String, f64)> {
    let mut words = line.split_ascii_whitespace();
    let key = words.next().filter(|key| key.contains(':'))?;
    let floor: f64 = words.next()?.parse().ok()?;
    let pairs: u32 = words.next()?.parse().ok()?;
    let (_date, _version, _machine) = (words.next()?, words.next()?, words.next()?);
    let sound = floor.is_finite() && floor >= 0.0 && pairs > 0;
    sound.then(|| (key.to_owned(), floor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::{CompareOptions, compare_with};
    use crate::fixture::{self, noisy};
    use model::comparison::Verdict;

    #[test]
    fn what_is_built_in_can_be_read() {
        assert!(embedded().floors.len() > 3);
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
