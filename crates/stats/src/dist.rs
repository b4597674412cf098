//! The distribution functions that intervals and p-values need: normal, Student's t and chi-squared.
//!
//! They are written here, in some hundred lines, because the program needs six functions of a library that would
//! bring a matrix package along; that library is the oracle of the tests instead. Formulas: NIST Digital Library of
//! Mathematical Functions, chapters 5, 7 and 8. Relative error is below 1e-10 for the arguments that occur
//! (degrees of freedom from 0.5 to 100,000, tails down to 1e-12).

use std::f64::consts::PI;

/// Terms after which a series or a continued fraction is given up; both converge in far fewer.
const TERMS_MAX: u32 = 100_000;
/// Where a series or a continued fraction stops: a factor this close to 1 changes nothing any more.
const PRECISION: f64 = 1e-16;
/// Stands in for a zero denominator in a continued fraction (Lentz's method).
const TINY: f64 = 1e-300;

/// The share of the standard normal distribution below `x`.
pub fn normal_cdf(x: f64) -> f64 {
    let tail = 0.5 * upper_gamma(0.5, x * x / 2.0);
    if x > 0.0 { 1.0 - tail } else { tail }
}

/// The `x` below which the share `p` (0 to 1) of the standard normal distribution lies.
pub fn normal_quantile(p: f64) -> f64 {
    let density = |x: f64| (-x * x / 2.0).exp() / (2.0 * PI).sqrt();
    mirrored(p, |tail| {
        solve(|x| 0.5 * upper_gamma(0.5, x * x / 2.0) - tail, density, 1.0)
    })
}

/// A relative step of Newton's method that is followed by none.
const LAST_STEP: f64 = 1e-9;

/// From so many degrees of freedom on Student's distribution is the normal one to seven digits, and its own formulas
/// lose theirs.
const NORMAL_FROM: f64 = 1e6;

/// The chance that |T| is at least `t` for Student's t with `df` degrees of freedom: a two-sided p-value.
pub fn t_two_sided(t: f64, df: f64) -> f64 {
    assert!(df > 0.0, "no degrees of freedom");
    if df > NORMAL_FROM {
        return upper_gamma(0.5, t * t / 2.0);
    }
    (2.0 * Student::of(df).tail(t.abs())).min(1.0)
}

/// The `t` below which the share `p` (0 to 1) of Student's t distribution with `df` degrees of freedom lies.
pub fn t_quantile(p: f64, df: f64) -> f64 {
    assert!(df > 0.0, "no degrees of freedom");
    if df > NORMAL_FROM {
        return normal_quantile(p);
    }
    let scale = ln_gamma(f64::midpoint(df, 1.0)) - ln_gamma(df / 2.0) - 0.5 * (df * PI).ln();
    let density = |t: f64| (scale - f64::midpoint(df, 1.0) * (t * t / df).ln_1p()).exp();
    let student = Student::of(df);
    mirrored(p, |tail| solve(|t| student.tail(t) - tail, density, 1.0))
}

/// The `x` below which the share `p` (0 to 1) of the chi-squared distribution with `df` degrees of freedom lies.
pub fn chi2_quantile(p: f64, df: f64) -> f64 {
    if p <= 0.0 {
        return 0.0;
    }
    let scale = -ln_gamma(df / 2.0) - df / 2.0 * 2_f64.ln();
    let density = |x: f64| (scale + (df / 2.0 - 1.0) * x.ln() - x / 2.0).exp();
    if p < 0.5 {
        solve(|x| p - lower_gamma(df / 2.0, x / 2.0), density, df)
    } else {
        solve(|x| upper_gamma(df / 2.0, x / 2.0) - (1.0 - p), density, df)
    }
}

/// The natural logarithm of the gamma function for `x` > 0 (Lanczos' approximation with g = 7 and nine terms).
pub fn ln_gamma(x: f64) -> f64 {
    const G: f64 = 7.0;
    const TERMS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (PI / (PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    let mut place = 1.0;
    for term in TERMS {
        sum += term / (x + place);
        place += 1.0;
    }
    let base = x + G + 0.5;
    0.5 * (2.0 * PI).ln() + (x + 0.5) * base.ln() - base + sum.ln()
}

/// Student's t with so many degrees of freedom, of which many tails are asked.
struct Student {
    df: f64,
    half: Shape,
    half_df: Shape,
    ln_gamma_of_both: f64,
}

/// A parameter of the beta function, with the logarithm of its gamma function.
#[derive(Clone, Copy)]
struct Shape(f64, f64);

impl Shape {
    fn of(value: f64) -> Self {
        Self(value, ln_gamma(value))
    }
}

impl Student {
    fn of(df: f64) -> Self {
        Self {
            df,
            half: Shape::of(0.5),
            half_df: Shape::of(df / 2.0),
            ln_gamma_of_both: ln_gamma(0.5 + df / 2.0),
        }
    }

    /// The upper tail at `t` >= 0.
    fn tail(&self, t: f64) -> f64 {
        let (square, df, both) = (t * t, self.df, self.ln_gamma_of_both);
        // Either form is exact only where it does not subtract from nearly the same number.
        if square < 1.0 {
            0.5 - 0.5 * beta(square / (df + square), self.half, self.half_df, both)
        } else {
            0.5 * beta(df / (df + square), self.half_df, self.half, both)
        }
    }
}

/// The regularised incomplete beta function of `x` (DLMF 8.17.22, by Lentz's method); `ln_gamma_of_both` is that of the
/// sum of its parameters.
fn beta(x: f64, of_a: Shape, of_b: Shape, ln_gamma_of_both: f64) -> f64 {
    let (Shape(a, ln_gamma_a), Shape(b, ln_gamma_b)) = (of_a, of_b);
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta(1.0 - x, of_b, of_a, ln_gamma_of_both);
    }
    let ln_front =
        ln_gamma_of_both - ln_gamma_a - ln_gamma_b + a * x.ln() + b * (-x).ln_1p() - a.ln();
    let mut lentz = Lentz::new(1.0);
    for m in 0..TERMS_MAX {
        let m = f64::from(m);
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let even = (m + 1.0) * (b - m - 1.0) * x / ((a + 2.0 * m + 1.0) * (a + 2.0 * m + 2.0));
        lentz.step(odd, 1.0);
        if lentz.step(even, 1.0) {
            break;
        }
    }
    ln_front.exp() / lentz.value
}

/// The regularised lower incomplete gamma function (DLMF 8.11.4).
fn lower_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= a + 1.0 {
        return 1.0 - upper_gamma(a, x);
    }
    let mut term = 1.0 / a;
    let mut sum = term;
    for n in 1..TERMS_MAX {
        term *= x / (a + f64::from(n));
        sum += term;
        if term < sum * PRECISION {
            break;
        }
    }
    sum * (a * x.ln() - x - ln_gamma(a)).exp()
}

/// The regularised upper incomplete gamma function (DLMF 8.9.2, by Lentz's method).
fn upper_gamma(a: f64, x: f64) -> f64 {
    if x < a + 1.0 {
        return 1.0 - lower_gamma(a, x);
    }
    let mut lentz = Lentz::new(x + 1.0 - a);
    for n in 1..TERMS_MAX {
        let n = f64::from(n);
        if lentz.step(n * (a - n), x + 2.0 * n + 1.0 - a) {
            break;
        }
    }
    (a * x.ln() - x - ln_gamma(a)).exp() / lentz.value
}

/// A continued fraction `b0 + a1 / (b1 + a2 / (b2 + ...))` under evaluation from the left.
struct Lentz {
    value: f64,
    c: f64,
    d: f64,
}

impl Lentz {
    fn new(b0: f64) -> Self {
        Self {
            value: b0,
            c: b0,
            d: 0.0,
        }
    }

    /// Adds one level; true where it no longer changes the value.
    fn step(&mut self, a: f64, b: f64) -> bool {
        let away_from_zero = |x: f64| if x.abs() < TINY { TINY } else { x };
        self.d = 1.0 / away_from_zero(b + a * self.d);
        self.c = away_from_zero(b + a / self.c);
        let factor = self.c * self.d;
        self.value *= factor;
        (factor - 1.0).abs() < 2.0 * PRECISION
    }
}

/// A quantile of a distribution that is symmetric around 0, from the solution for an upper tail.
fn mirrored(p: f64, of_tail: impl Fn(f64) -> f64) -> f64 {
    if p <= 0.0 {
        f64::NEG_INFINITY
    } else if p >= 1.0 {
        f64::INFINITY
    } else if (p - 0.5).abs() < PRECISION {
        0.0
    } else if p < 0.5 {
        -of_tail(p)
    } else {
        of_tail(1.0 - p)
    }
}

/// The `x` > 0 where the decreasing function `excess` crosses zero; `-density` is its derivative. Newton's method
/// within a bracket that only shrinks. A step of it doubles the digits that are right, so that the one after a step as
/// small as [`LAST_STEP`] would change nothing.
fn solve(excess: impl Fn(f64) -> f64, density: impl Fn(f64) -> f64, start: f64) -> f64 {
    let (mut low, mut high) = (0.0, start);
    while excess(high) > 0.0 && high.is_finite() {
        low = high;
        high *= 2.0;
    }
    let mut x = f64::midpoint(low, high);
    for _ in 0..200 {
        let error = excess(x);
        if error > 0.0 {
            low = x;
        } else {
            high = x;
        }
        let newton = x + error / density(x);
        if (newton - x).abs() <= LAST_STEP * x {
            return newton;
        }
        x = if newton > low && newton < high {
            newton
        } else {
            f64::midpoint(low, high)
        };
    }
    x
}

#[cfg(test)]
mod tests {
    use super::*;
    use statrs::distribution::{ChiSquared, ContinuousCDF, Normal, StudentsT};

    fn close(found: f64, expect: f64, tolerance: f64, what: &str) {
        let error = (found - expect).abs() / expect.abs().max(1e-12);
        assert!(error <= tolerance, "{what}: {found} for {expect}");
    }

    fn t_cdf(t: f64, df: f64) -> f64 {
        let tail = Student::of(df).tail(t.abs());
        if t > 0.0 { 1.0 - tail } else { tail }
    }

    fn chi2_cdf(x: f64, df: f64) -> f64 {
        if x <= 0.0 {
            return 0.0;
        }
        lower_gamma(df / 2.0, x / 2.0)
    }

    #[test]
    fn normal_agrees_with_the_oracle() {
        let oracle = Normal::standard();
        for i in -60..=60 {
            let x = f64::from(i) / 10.0;
            close(normal_cdf(x), oracle.cdf(x), 1e-10, "cdf");
        }
        // Where Student's distribution is the normal one, and beyond all numbers.
        for df in [1e5, 1e7, 1e16, f64::INFINITY] {
            close(t_quantile(0.975, df), 1.959_963_98, 3e-5, "t");
            close(t_two_sided(1.959_963_98, df), 0.05, 2e-4, "t");
        }
        // Published values (NIST): the quantiles everybody knows.
        close(
            normal_quantile(0.975),
            1.959_963_984_540_054,
            1e-13,
            "0.975",
        );
        close(normal_quantile(0.8), 0.841_621_233_572_914_2, 1e-13, "0.8");
        close(
            normal_quantile(1e-10),
            -6.361_340_902_404_056,
            1e-11,
            "1e-10",
        );
        assert!(normal_quantile(0.5).abs() < 1e-300);
    }

    #[test]
    fn student_agrees_with_the_oracle() {
        for df in [1.0, 2.0, 3.7, 6.0, 11.4, 30.0, 200.0, 5000.0] {
            let oracle = StudentsT::new(0.0, 1.0, df).unwrap();
            for i in -40..=40 {
                let t = f64::from(i) / 5.0;
                close(t_cdf(t, df), oracle.cdf(t), 1e-9, &format!("cdf {t} {df}"));
            }
        }
        // Tables: two-sided 95 % and 99 %.
        close(t_quantile(0.975, 1.0), 12.706_204_736_174_698, 1e-12, "1");
        close(t_quantile(0.975, 6.0), 2.446_911_851_144_969, 1e-12, "6");
        close(t_quantile(0.995, 10.0), 3.169_272_672_616_87, 1e-11, "10");
    }

    #[test]
    fn chi_squared_agrees_with_the_oracle() {
        for df in [1.0, 2.0, 5.0, 14.0, 29.0, 300.0] {
            let oracle = ChiSquared::new(df).unwrap();
            for i in 1..=40 {
                let x = df * f64::from(i) / 10.0;
                close(chi2_cdf(x, df), oracle.cdf(x), 1e-9, &format!("{x} {df}"));
            }
        }
        close(
            chi2_quantile(0.2, 5.0),
            2.342_534_305_841_6,
            1e-10,
            "0.2, 5",
        );
        close(
            chi2_quantile(0.95, 1.0),
            3.841_458_820_694_12,
            1e-11,
            "0.95, 1",
        );
    }

    #[test]
    fn quantiles_undo_the_distribution_functions() {
        for p in [
            1e-9, 0.001, 0.0079, 0.2, 0.4999, 0.5, 0.77, 0.9921, 0.999_999,
        ] {
            close(normal_cdf(normal_quantile(p)), p, 1e-10, "normal");
            for df in [0.7, 1.0, 2.5, 7.9, 40.0, 90_000.0] {
                close(
                    t_cdf(t_quantile(p, df), df),
                    p,
                    1e-8,
                    &format!("t {p} {df}"),
                );
                close(
                    chi2_cdf(chi2_quantile(p, df), df),
                    p,
                    1e-8,
                    &format!("{p} {df}"),
                );
            }
        }
    }

    #[test]
    fn the_gamma_function_is_the_factorial() {
        let mut factorial = 1.0_f64;
        for n in 1_u32..20 {
            factorial *= f64::from(n);
            close(ln_gamma(f64::from(n + 1)).exp(), factorial, 1e-12, "n!");
        }
        close(ln_gamma(0.5), PI.sqrt().ln(), 1e-13, "half");
        close(
            ln_gamma(0.25),
            3.625_609_908_221_908_f64.ln(),
            1e-13,
            "quarter",
        );
    }
}
