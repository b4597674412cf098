//! What comparisons of which the truth is known were right and wrong about.

use model::comparison::{MetricComparison, Verdict};

/// What is promised, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bounds {
    /// Calls with any false direction.
    any: Option<f64>,
    /// Calls with a false `better` or `worse`.
    sure: Option<f64>,
    /// Mean share of false ones among the directions of a call.
    discovery: Option<f64>,
    /// Intervals that hold the truth, from and to.
    covered: Option<(f64, f64)>,
    /// Metrics at the margin called the same.
    same: Option<f64>,
    /// Metrics that differ called so, at least.
    found: Option<f64>,
}

impl Bounds {
    pub(super) fn independent() -> Self {
        Self {
            any: Some(5.0),
            sure: Some(1.0),
            ..Self::default()
        }
    }

    pub(super) fn wrong(sure: f64) -> Self {
        Self {
            sure: Some(sure),
            ..Self::default()
        }
    }

    pub(super) fn false_discoveries(discovery: f64) -> Self {
        Self {
            discovery: Some(discovery),
            ..Self::default()
        }
    }

    pub(super) fn same(same: f64) -> Self {
        Self {
            same: Some(same),
            ..Self::default()
        }
    }

    pub(super) fn power(found: f64) -> Self {
        Self {
            found: Some(found),
            ..Self::default()
        }
    }

    pub(super) const fn covering(self, from: f64, to: f64) -> Self {
        Self {
            covered: Some((from, to)),
            ..self
        }
    }
}

/// So many of so many.
#[derive(Clone, Copy, Debug, Default)]
struct Rate {
    hits: u32,
    of: u32,
}

impl Rate {
    fn add(&mut self, hit: bool) {
        self.hits += u32::from(hit);
        self.of += 1;
    }

    fn percent(self) -> Option<f64> {
        (self.of > 0).then(|| 100.0 * f64::from(self.hits) / f64::from(self.of))
    }

    /// Whether so many hits would be rarer than one in a hundred at this true rate.
    fn is_above(self, percent: f64) -> bool {
        let p = percent / 100.0;
        if p >= 1.0 || self.hits == 0 {
            return false;
        }
        let n = self.of;
        // The chance of fewer hits, term by term on logarithms.
        let mut term = f64::from(n) * (1.0 - p).ln();
        let mut below = 0.0;
        for hits in 0..self.hits {
            below += term.exp();
            term += ((f64::from(n) - f64::from(hits)) / f64::from(hits + 1) * p / (1.0 - p)).ln();
        }
        1.0 - below < 0.01
    }

    fn is_below(self, percent: f64) -> bool {
        let missed = Self {
            hits: self.of - self.hits,
            of: self.of,
        };
        missed.is_above(100.0 - percent)
    }
}

/// What was counted.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    any: Rate,
    sure: Rate,
    covered: Rate,
    same: Rate,
    found: Rate,
    /// The share of false ones among the directions of each call.
    discoveries: Vec<f64>,
}

impl Tally {
    /// One comparison; `truth` is the ratio of each metric.
    pub(super) fn add(&mut self, metrics: &[MetricComparison], truth: impl Fn(usize) -> f64) {
        let (mut any, mut sure, mut claims) = (0_u32, 0_u32, 0_u32);
        for (at, metric) in metrics.iter().enumerate() {
            let ratio = truth(at);
            if let Some(interval) = metric.interval {
                self.covered
                    .add((interval.lo..=interval.hi).contains(&ratio));
            }
            let differs = (ratio - 1.0).abs() > 1e-12;
            let direction = metric.adjusted.without_doubt();
            let claimed = matches!(direction, Verdict::Better | Verdict::Worse);
            claims += u32::from(claimed);
            if differs {
                self.same.add(metric.adjusted == Verdict::Same);
            }
            let wrong = claimed && !(differs && (direction == Verdict::Better) == (ratio > 1.0));
            any += u32::from(wrong);
            sure += u32::from(wrong && direction == metric.adjusted);
        }
        self.any.add(any > 0);
        self.sure.add(sure > 0);
        self.discoveries
            .push(f64::from(any) / f64::from(claims.max(1)));
    }

    /// Whether each metric that differs was found to.
    pub(super) fn found(&mut self, found: impl Iterator<Item = bool>) {
        found.for_each(|found| self.found.add(found));
    }

    fn discovery(&self) -> f64 {
        let n = u32::try_from(self.discoveries.len()).unwrap_or(u32::MAX);
        100.0 * self.discoveries.iter().sum::<f64>() / f64::from(n.max(1))
    }

    /// What is beyond its bound. Metrics of a call have the scatter of their run in common, so that coverage may be off
    /// by as much as so many calls may be.
    pub(super) fn above(&self, bounds: &Bounds) -> Vec<&'static str> {
        let calls = f64::from(self.any.of);
        let off = 2.33
            * (self.discovery() / 100.0 * (1.0 - self.discovery() / 100.0) / calls).sqrt()
            * 100.0;
        let checks = [
            (
                "any",
                bounds.any.is_some_and(|most| self.any.is_above(most)),
            ),
            (
                "better or worse",
                bounds.sure.is_some_and(|most| self.sure.is_above(most)),
            ),
            (
                "false discoveries",
                bounds
                    .discovery
                    .is_some_and(|most| self.discovery() - off > most),
            ),
            (
                "covered too little",
                bounds
                    .covered
                    .is_some_and(|(least, _)| self.covered.is_below(least)),
            ),
            (
                "covered too much",
                bounds
                    .covered
                    .is_some_and(|(_, most)| self.covered.is_above(most)),
            ),
            (
                "same",
                bounds.same.is_some_and(|most| self.same.is_above(most)),
            ),
            (
                "found",
                bounds.found.is_some_and(|least| self.found.is_below(least)),
            ),
        ];
        let broken = checks.into_iter().filter(|(_, broken)| *broken);
        broken.map(|(what, _)| what).collect()
    }

    /// A row of the table.
    pub(super) fn row(&self, name: &str, wrong: &[&str]) -> String {
        let cell = |rate: Rate| {
            rate.percent()
                .map_or_else(|| "-".to_owned(), |percent| format!("{percent:.1}"))
        };
        let verdict = if wrong.is_empty() {
            "met".to_owned()
        } else {
            format!("NOT: {}", wrong.join(", "))
        };
        format!(
            "| {name} | {} | {} ({:.1} false) | {} | {} | {} | {} | {verdict} |",
            self.any.of,
            cell(self.any),
            self.discovery(),
            cell(self.sure),
            cell(self.covered),
            cell(self.same),
            cell(self.found)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_above_its_bound_where_chance_would_hardly_do_that() {
        let rate = |hits, of| Rate { hits, of };
        // Of 1,000 at 5 %: 67 or more in 1 % of experiments.
        assert!(!rate(60, 1000).is_above(5.0));
        assert!(rate(70, 1000).is_above(5.0));
        assert!(rate(900, 1000).is_below(93.5));
        assert!(!rate(930, 1000).is_below(93.5));
    }
}
