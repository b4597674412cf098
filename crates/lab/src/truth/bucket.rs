//! A bucket of credit as clouds sell it, played by us: who watches the usage and rewrites the limit.
//!
//! Every 100 ms, and earlier where the credit would be gone before, the usage is read and the bucket refilled and
//! drained. While there is credit the limit is the burst rate, afterwards the sustained one. Once empty the bucket must
//! hold a second of bursting before the limit rises again: rounding errors of the kernel's own counting would let it
//! flicker otherwise, which no provider's does.

use model::rng::Rng;

/// The longest time between two readings, in seconds.
const TICK: f64 = 0.1;

/// The shortest, so that waiting for the last drop does not become a busy loop.
const TICK_MIN: f64 = 0.004;

/// What a bucket is made of, in units of usage (CPU seconds, reads).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Terms {
    /// The rate while credit lasts, per second.
    pub(crate) burst: f64,
    /// The rate afterwards.
    pub(crate) sustained: f64,
    /// The credit: usage above the sustained rate.
    pub(crate) credit: f64,
}

/// A bucket in use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Bucket {
    terms: Terms,
    left: f64,
    bursting: bool,
}

impl Terms {
    /// Terms drawn at random: a burst rate of 60 to 100 % of `fastest`, a sustained rate of 20 to 50 % of that, and
    /// credit for `seconds` of bursting, from the first to the last.
    pub(crate) fn draw(rng: &mut Rng, fastest: f64, seconds: (f64, f64)) -> Self {
        let burst = fastest * (0.6 + 0.4 * rng.unit());
        let sustained = burst * (0.2 + 0.3 * rng.unit());
        let lasting = seconds.0 + (seconds.1 - seconds.0) * rng.unit();
        Self {
            burst,
            sustained,
            credit: (burst - sustained) * lasting,
        }
    }

    /// How long the credit lasts at the burst rate, in seconds.
    #[cfg(test)]
    fn burst_seconds(self) -> f64 {
        self.credit / (self.burst - self.sustained)
    }
}

impl Bucket {
    /// A full bucket.
    pub(crate) fn full(terms: Terms) -> Self {
        Self {
            terms,
            left: terms.credit,
            bursting: true,
        }
    }

    /// What was used in the last `seconds`; the rate that is allowed from now on.
    pub(crate) fn after(&mut self, used: f64, seconds: f64) -> f64 {
        let refilled = self.left + self.terms.sustained * seconds - used;
        self.left = refilled.min(self.terms.credit);
        let gap = self.terms.burst - self.terms.sustained;
        if self.left <= gap * TICK_MIN / 2.0 {
            self.bursting = false;
        } else if self.left >= gap.min(self.terms.credit) {
            self.bursting = true;
        }
        if self.bursting {
            self.terms.burst
        } else {
            self.terms.sustained
        }
    }

    /// When to look again, in seconds: when the credit would be gone, at most a tick.
    pub(crate) fn next_look(&self) -> f64 {
        if !self.bursting {
            return TICK;
        }
        let lasting = self.left / (self.terms.burst - self.terms.sustained);
        lasting.clamp(TICK_MIN, TICK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms {
        burst: 100.0,
        sustained: 20.0,
        credit: 400.0,
    };

    /// Usage at exactly the allowed rate for `seconds`, from `bucket` on; the work done.
    fn load(bucket: &mut Bucket, seconds: f64) -> f64 {
        let (mut now, mut work, mut limit) = (0.0, 0.0, bucket.after(0.0, 0.0));
        while now < seconds {
            let step = bucket.next_look();
            work += limit * step;
            now += step;
            limit = bucket.after(limit * step, step);
        }
        work
    }

    #[test]
    fn a_full_bucket_lends_its_credit_and_then_the_sustained_rate() {
        let mut bucket = Bucket::full(TERMS);
        let work = load(&mut bucket, 60.0);
        // 60 s at 20, and 400 of credit; a look comes too late by its shortest step at most.
        let expect = 60.0 * 20.0 + 400.0;
        assert!((work - expect).abs() < 4.0, "{work}");
        assert!(!bucket.bursting);
    }

    #[test]
    fn rest_refills_at_the_sustained_rate_up_to_the_brim() {
        let check = |rest: f64, credit: f64| {
            let mut bucket = Bucket::full(TERMS);
            load(&mut bucket, 30.0);
            bucket.after(0.0, rest);
            let work = load(&mut bucket, 30.0) - 30.0 * 20.0;
            assert!((work - credit).abs() < 4.0, "{rest} s of rest lent {work}");
        };
        check(10.0, 200.0);
        check(1_000.0, 400.0);
        // Less than a second of bursting is not lent.
        check(3.0, 0.0);
    }

    #[test]
    fn an_empty_bucket_does_not_flicker() {
        let mut bucket = Bucket::full(TERMS);
        load(&mut bucket, 10.0);
        // The kernel grants a thousandth less than the limit.
        assert!((0..1_000).all(|_| bucket.after(20.0 * 0.999 * 0.1, 0.1) < 21.0));
    }

    #[test]
    fn terms_are_drawn_within_their_ranges() {
        let mut rng = Rng::new(3);
        for _ in 0..1_000 {
            let terms = Terms::draw(&mut rng, 10.0, (5.0, 20.0));
            assert!((6.0..=10.0).contains(&terms.burst));
            assert!((0.2..=0.5).contains(&(terms.sustained / terms.burst)));
            assert!((5.0..=20.0).contains(&terms.burst_seconds()));
        }
    }
}
