//! What the experiments need as a process of its own: somebody who takes CPU time, and somebody who notices when it is
//! taken.

use anyhow::{Context, bail};
use model::num::{approx, round_to_u64};
use model::rng::Rng;
use std::fmt::Write as _;
use std::io::Write as _;
use sys::clock::monotonic;
use sys::process::usage_self;

/// The hidden task by which the experiments start this program again.
pub(crate) const WORD: &str = "truth-helper";

/// The shortest and the longest burst of the co-runner, in seconds.
const BURST: (f64, f64) = (3.0, 15.0);

/// One burst of a co-runner, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Busy {
    /// When it began to take CPU time, from its start.
    pub(crate) begin: f64,
    /// For how long.
    pub(crate) length: f64,
    /// How much it got.
    pub(crate) cpu: f64,
}

/// Does what `args` say and prints the result.
pub(crate) fn run(args: &[&str]) -> anyhow::Result<()> {
    match args {
        ["gaps", seconds] => {
            let seconds: f64 = seconds.parse().context("read the seconds")?;
            let gaps = sys::clock::gaps(round_to_u64(seconds * 1e9));
            say!("{}", approx(gaps.lost) / approx(gaps.wall.max(1)));
            Ok(())
        }
        ["spin", seed, share, seconds] => {
            let seed = seed.parse().context("read the seed")?;
            let share = share.parse().context("read the share")?;
            let seconds: f64 = seconds.parse().context("read the seconds")?;
            let bursts = written(&spin(&schedule(seed, share, seconds)));
            std::io::stdout().write_all(bursts.as_bytes())?;
            Ok(())
        }
        other => bail!("no such helper: `{}`", other.join(" ")),
    }
}

/// Bursts that take `share` of `seconds` in all. Rests are drawn too, so that nothing is periodic.
pub(crate) fn schedule(seed: u64, share: f64, seconds: f64) -> Vec<Busy> {
    let mut rng = Rng::stream(seed, 5);
    let mut left = share * seconds;
    let mut lengths = Vec::new();
    while left > 0.0 {
        let drawn = BURST.0 + (BURST.1 - BURST.0) * rng.unit();
        // The last burst takes what is left, and the one before it leaves enough for a last one.
        let length = if left - drawn < BURST.0 { left } else { drawn };
        lengths.push(length.min(left));
        left -= length;
    }
    let rests: Vec<f64> = (0..=lengths.len()).map(|_| 0.5 + rng.unit()).collect();
    let scale = (1.0 - share) * seconds / rests.iter().sum::<f64>();
    let mut now = 0.0;
    let mut busy = Vec::new();
    for (rest, length) in rests.iter().zip(&lengths) {
        now += rest * scale;
        busy.push(Busy {
            begin: now,
            length: *length,
            cpu: 0.0,
        });
        now += length;
    }
    busy
}

/// Takes CPU time as planned; the bursts as they really were.
fn spin(plan: &[Busy]) -> Vec<Busy> {
    let start = monotonic();
    let at = |seconds: f64| start + round_to_u64(seconds * 1e9);
    plan.iter()
        .map(|busy| {
            sys::clock::sleep_until(at(busy.begin));
            let (begin, used) = (monotonic(), usage_self());
            while monotonic() < at(busy.begin + busy.length) {
                std::hint::spin_loop();
            }
            let used = usage_self().since(used);
            Busy {
                begin: approx(begin - start) / 1e9,
                length: approx(monotonic() - begin) / 1e9,
                cpu: approx(used.user + used.system) / 1e9,
            }
        })
        .collect()
}

fn written(busy: &[Busy]) -> String {
    busy.iter().fold(String::new(), |mut text, busy| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{} {} {}", busy.begin, busy.length, busy.cpu);
        text
    })
}

/// The CPU time, in seconds, that a co-runner says it got in all its bursts.
pub(crate) fn cpu_seconds_within(said: &str) -> anyhow::Result<f64> {
    let bursts = said.lines().map(|line| {
        let got = line
            .split(' ')
            .nth(2)
            .and_then(|text| text.parse::<f64>().ok());
        got.with_context(|| format!("`{line}` is no burst of a co-runner"))
    });
    bursts.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_co_runner_says_is_summed() {
        let said = written(
            &[Busy {
                begin: 1.0,
                length: 3.0,
                cpu: 1.5,
            }; 2],
        );
        assert!((cpu_seconds_within(&said).unwrap() - 3.0).abs() < 1e-9);
        assert!(cpu_seconds_within("1 2\n").is_err());
    }

    #[test]
    fn the_co_runner_takes_its_share_in_bursts() {
        for seed in 0..50 {
            let busy = schedule(seed, 0.2, 240.0);
            let taken: f64 = busy.iter().map(|busy| busy.length).sum();
            assert!((taken - 48.0).abs() < 1e-6, "{taken}");
            let last = busy[busy.len() - 1];
            assert!(last.begin + last.length < 240.0);
            let apart = busy
                .windows(2)
                .all(|two| two[1].begin > two[0].begin + two[0].length);
            let lengths = busy.iter().all(|busy| (3.0..18.0).contains(&busy.length));
            assert!(apart && lengths, "{busy:?}");
        }
    }
}
