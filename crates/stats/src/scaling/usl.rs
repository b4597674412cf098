//! The Universal Scalability Law, fitted.
//!
//! Gunther's law says how much more N copies do than one: `C(N) = N / (1 + sigma (N - 1) + kappa N (N - 1))`. Sigma
//! is the share of the work that only one copy can do at a time (contention), kappa what it costs each pair of copies
//! to agree (coherence); with kappa 0 it is Amdahl's law. Source: Gunther, Guerrilla Capacity Planning (2007),
//! chapter 4.
//!
//! `N / X(N)` is linear in three unknowns, so that the fit is one small system of equations and needs no start
//! values. Its errors are relative: a step with 1 % noise counts the same at one copy and at a hundred.

use model::order::Order as _;

/// The law with its figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Law {
    /// The rate of one copy, in the unit of the points.
    pub one: f64,
    /// Contention: the serial share, 0 to 1.
    pub sigma: f64,
    /// Coherence: the cost of each pair.
    pub kappa: f64,
}

impl Law {
    /// The rate at `n` copies.
    pub fn rate(&self, n: u32) -> f64 {
        let n = f64::from(n);
        self.one * n / (1.0 + self.sigma * (n - 1.0) + self.kappa * n * (n - 1.0))
    }

    /// How many copies do the most together; `None` where the law has no peak.
    pub fn peak(&self) -> Option<f64> {
        (self.kappa > 0.0 && self.sigma < 1.0).then(|| ((1.0 - self.sigma) / self.kappa).sqrt())
    }
}

/// Which figures a fit may use.
const UNKNOWNS: [[bool; 3]; 4] = [
    [true, true, true],
    [true, true, false],
    [true, false, true],
    [true, false, false],
];

/// The law nearest to the points (copies and rate), whatever the signs of its figures: noise around a true 0 must be
/// free to fall on either side, or intervals made of many fits would be wrong. `None` for fewer than three distinct
/// concurrencies or a rate that is not positive.
pub fn free(points: &[(u32, f64)]) -> Option<Law> {
    usable(points).then(|| solve(points, UNKNOWNS[0]))?
}

/// The nearest law in which neither figure is negative.
pub fn bounded(points: &[(u32, f64)]) -> Option<Law> {
    if !usable(points) {
        return None;
    }
    UNKNOWNS
        .into_iter()
        .filter_map(|unknowns| solve(points, unknowns))
        .filter(|law| law.sigma >= 0.0 && law.kappa >= 0.0)
        .map(|law| (squares(points, &law), law))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, law)| law)
}

/// The largest distance of a point from the law as a share of the law, and its concurrency.
pub fn worst(points: &[(u32, f64)], law: &Law) -> Option<(u32, f64)> {
    points
        .iter()
        .map(|&(n, rate)| (n, rate / law.rate(n) - 1.0))
        .max_by(|a, b| a.1.abs().total_cmp(&b.1.abs()))
}

fn usable(points: &[(u32, f64)]) -> bool {
    let mut distinct: Vec<u32> = points.iter().map(|&(n, _)| n).collect();
    distinct.order();
    distinct.dedup();
    let positive = |&(n, rate): &(u32, f64)| n > 0 && rate.is_finite() && rate > 0.0;
    distinct.len() >= super::STEPS_MIN && points.iter().all(positive)
}

/// The sum of squares that the fit makes small.
fn squares(points: &[(u32, f64)], law: &Law) -> f64 {
    let one = |&(n, rate): &(u32, f64)| (rate / law.rate(n) - 1.0).powi(2);
    points.iter().map(one).sum()
}

/// Least squares of `rate / n * (a + b (n - 1) + c n (n - 1)) = 1`, with the unknowns that are left out at 0.
fn solve(points: &[(u32, f64)], unknowns: [bool; 3]) -> Option<Law> {
    // In units of the first rate, or the equations of fast machines would be badly conditioned.
    let unit = points.first()?.1;
    let mut equations = [[0.0; 4]; 3];
    for &(n, rate) in points {
        let n = f64::from(n);
        let y = rate / unit / n;
        let row = [y, y * (n - 1.0), y * n * (n - 1.0)];
        for i in 0..3 {
            for j in 0..3 {
                equations[i][j] += row[i] * row[j];
            }
            equations[i][3] += row[i];
        }
    }
    for (i, used) in unknowns.into_iter().enumerate() {
        if !used {
            for equation in &mut equations {
                equation[i] = 0.0;
            }
            equations[i] = [0.0; 4];
            equations[i][i] = 1.0;
        }
    }
    let [a, b, c] = eliminate(equations)?;
    (a > 0.0).then(|| Law {
        one: unit / a,
        sigma: b / a,
        kappa: c / a,
    })
}

/// Gauss's elimination with the largest pivot of each column; `None` for equations that depend on each other.
fn eliminate(mut equations: [[f64; 4]; 3]) -> Option<[f64; 3]> {
    for i in 0..3 {
        let largest =
            (i..3).max_by(|&a, &b| equations[a][i].abs().total_cmp(&equations[b][i].abs()))?;
        equations.swap(i, largest);
        let pivot = equations[i];
        if pivot[i].abs() <= f64::MIN_POSITIVE {
            return None;
        }
        for (row, equation) in equations.iter_mut().enumerate() {
            if row != i {
                let factor = equation[i] / pivot[i];
                for (x, p) in equation.iter_mut().zip(pivot) {
                    *x -= factor * p;
                }
            }
        }
    }
    let x = |i: usize| equations[i][3] / equations[i][i];
    let solution = [x(0), x(1), x(2)];
    solution.iter().all(|x| x.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Figures within this of each other are the same to rounding.
    const ROUNDING: f64 = 1e-9;

    fn points(law: &Law, copies: &[u32]) -> Vec<(u32, f64)> {
        copies.iter().map(|&n| (n, law.rate(n))).collect()
    }

    fn check(law: Law, copies: &[u32]) {
        let points = points(&law, copies);
        for found in [free(&points), bounded(&points)] {
            let found = found.unwrap();
            assert!((found.one / law.one - 1.0).abs() < ROUNDING, "{found:?}");
            assert!((found.sigma - law.sigma).abs() < ROUNDING, "{found:?}");
            assert!((found.kappa - law.kappa).abs() < ROUNDING, "{found:?}");
        }
    }

    #[test]
    fn a_law_is_found_again_from_its_own_points() {
        for (sigma, kappa) in [
            (0.0, 0.0),
            (0.05, 0.0),
            (0.02, 0.0005),
            (0.0, 0.01),
            (0.9, 0.1),
        ] {
            for one in [1e-3, 1.0, 4.2e11] {
                let law = Law { one, sigma, kappa };
                check(law, &[1, 2, 4]);
                check(law, &[1, 2, 3, 4, 8, 16, 32, 64, 96, 128]);
            }
        }
    }

    #[test]
    fn the_closed_forms_hold() {
        // Amdahl with a tenth serial: at most ten times, and 1 / (0.1 + 0.9 / 8) at eight.
        let amdahl = Law {
            one: 1.0,
            sigma: 0.1,
            kappa: 0.0,
        };
        assert!((amdahl.rate(8) - 1.0 / (0.1 + 0.9 / 8.0)).abs() < ROUNDING);
        assert!(amdahl.rate(1_000_000) < 10.0 && amdahl.peak().is_none());
        // The peak is sqrt((1 - sigma) / kappa): 30 copies, and one more or fewer do less.
        let peaked = Law {
            one: 1.0,
            sigma: 0.1,
            kappa: 0.001,
        };
        assert!((peaked.peak().unwrap() - 30.0).abs() < ROUNDING);
        assert!(peaked.rate(30) > peaked.rate(29) && peaked.rate(30) > peaked.rate(31));
    }

    #[test]
    fn what_cannot_be_fitted_is_refused() {
        for points in [
            &[][..],
            &[(1, 1.0), (2, 2.0)],
            &[(1, 1.0), (2, 2.0), (2, 1.9), (1, 1.0)],
            &[(1, 1.0), (2, 0.0), (4, 3.0)],
            &[(1, 1.0), (2, f64::NAN), (4, 3.0)],
            &[(1, 1.0), (2, 2.0), (0, 3.0)],
        ] {
            assert_eq!((free(points), bounded(points)), (None, None), "{points:?}");
        }
    }

    #[test]
    fn a_bounded_fit_never_has_a_negative_figure_and_is_never_better_than_the_free_one() {
        let mut rng = model::rng::Rng::new(11);
        for _ in 0..500 {
            let law = Law {
                one: 1.0,
                sigma: 0.0,
                kappa: 0.0,
            };
            let noisy: Vec<(u32, f64)> = points(&law, &[1, 2, 4, 8])
                .into_iter()
                .map(|(n, rate)| (n, rate * (0.02 * rng.normal()).exp()))
                .collect();
            let (free, bounded) = (free(&noisy).unwrap(), bounded(&noisy).unwrap());
            assert!(bounded.sigma >= 0.0 && bounded.kappa >= 0.0);
            if free.sigma >= 0.0 && free.kappa >= 0.0 {
                assert!((free.sigma - bounded.sigma).abs() < ROUNDING);
            }
        }
    }

    #[test]
    fn the_worst_point_is_named() {
        let law = Law {
            one: 1.0,
            sigma: 0.0,
            kappa: 0.0,
        };
        let (n, off) = worst(&[(1, 1.0), (2, 1.6), (4, 4.1)], &law).unwrap();
        assert_eq!(n, 2);
        assert!((off + 0.2).abs() < ROUNDING);
        assert_eq!(worst(&[], &law), None);
    }
}
