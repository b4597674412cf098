//! A flow that something holds at a rate: clouds do that to every single one.

use model::num::approx;

/// Rates at which clouds hold a single flow, in bits per second, and who does. Source: AWS, "Amazon EC2 instance
/// network bandwidth".
const HELD_AT: [(f64, &str); 2] = [
    (
        5e9,
        "AWS holds a flow there outside of a cluster placement group",
    ),
    (
        10e9,
        "AWS holds a flow there inside of a cluster placement group",
    ),
];

/// How even a rate is that nothing but a shaper makes, as its standard deviation over its mean.
const EVEN_MAX: f64 = 0.02;

/// What the headers of Ethernet, IP and TCP take of a rate at most, and how far above it the clocks may lead.
const BELOW_MAX: f64 = 0.07;
const ABOVE_MAX: f64 = 0.01;

/// So long one look at the rate is: the flow's buffer fills and empties meanwhile.
const LOOK_NS: u64 = 500_000_000;

/// Looks that are needed to say something.
const LOOKS_MIN: u64 = 4;

/// The rates of a flow, as they come: nothing is kept of a long test but mean and variance (Welford).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rates {
    last: Option<(u64, u64)>,
    count: u64,
    mean: f64,
    squares: f64,
}

impl Rates {
    /// Whether it is time for another look: asking what has passed holds the flow up for a moment.
    pub(super) fn is_due(&self, now: u64) -> bool {
        self.last
            .is_none_or(|(at, _)| now.saturating_sub(at) >= LOOK_NS)
    }

    /// So many bytes had passed at this instant.
    pub(super) fn see(&mut self, now: u64, bytes: u64) {
        let Some((at, before)) = self.last else {
            self.last = Some((now, bytes));
            return;
        };
        let span = now.saturating_sub(at);
        self.last = Some((now, bytes));
        let rate = approx(bytes.saturating_sub(before)) * 8e9 / approx(span);
        self.count += 1;
        let off = rate - self.mean;
        self.mean += off / approx(self.count);
        self.squares += off * (rate - self.mean);
    }

    /// What holds a single flow, where that can be seen.
    pub(super) fn held(&self) -> Option<String> {
        let deviation = (self.squares / approx(self.count.saturating_sub(1).max(1))).sqrt();
        if self.count < LOOKS_MIN || deviation > EVEN_MAX * self.mean {
            return None;
        }
        let (at, who) = HELD_AT.iter().find(|(at, _)| {
            (at * (1.0 - BELOW_MAX)..=at * (1.0 + ABOVE_MAX)).contains(&self.mean)
        })?;
        Some(format!(
            "the flow was even at {:.0} Gbit/s with its headers: a shaper holds it there, and not one of both machines \
             ({who}); more flows may have more",
            at / 1e9
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is said of a flow with these rates, in Gbit/s, for half a second each.
    fn held(gbits: &[f64]) -> Option<String> {
        let mut rates = Rates::default();
        let mut bytes = 0.0;
        rates.see(0, 0);
        for (place, gbit) in (1..).zip(gbits) {
            bytes += gbit * 1e9 / 8.0 / 2.0;
            rates.see(place * LOOK_NS, model::num::round_to_u64(bytes));
        }
        rates.held()
    }

    #[test]
    fn an_even_flow_at_a_cloud_s_rate_is_held() {
        let five = held(&[4.8, 4.81, 4.79, 4.8, 4.8, 4.8]).unwrap();
        assert!(
            five.contains("5 Gbit/s") && five.contains("outside"),
            "{five}"
        );
        let ten = held(&[9.6; 4]).unwrap();
        assert!(ten.contains("10 Gbit/s"), "{ten}");
    }

    #[test]
    fn others_are_not() {
        // Another rate, an uneven one, one above, and too short a look.
        for rates in [
            &[4.0; 6][..],
            &[4.8, 4.4, 5.0, 4.8, 4.6, 4.9],
            &[5.2; 6],
            &[4.8; 3],
        ] {
            assert_eq!(held(rates), None, "{rates:?}");
        }
        assert_eq!(Rates::default().held(), None);
    }
}
