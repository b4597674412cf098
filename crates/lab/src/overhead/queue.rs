//! What both programs of a comparison kept under way, so that a ratio counts only where both did the same work.
//!
//! Waiting for many completions and handing as many over in one call spares calls, and the device has less to do
//! meanwhile: beside a queue that is kept full such a ratio says nothing of either program. How deep the queue was when
//! operations were handed over is told by both reports; it does not show that it ran empty before. What does is the
//! mean number of operations that the device's driver had, whoever asks: the time that all of them took, summed up,
//! over the wall time (`/sys/dev/block/*/stat`, iostat's `aqu-sz`). Who keeps more under way than the other spares
//! nothing by it, so that only less is a reason not to judge.

use serde_json::{Map, Value, json};
use stats::quantile::median;

/// Of a hundred operations so many fewer may have been handed over into a full queue.
const FULL_LESS_MAX: f64 = 5.0;
/// The device's mean queue is at least this share of the other's.
const DEVICE_SHARE_MIN: f64 = 0.9;

/// What one start kept under way.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Queue {
    /// Shares of operations by depth, and of calls by how many went in and came out together, in per cent, as both
    /// programs report them.
    level: Map<String, Value>,
    submit: Map<String, Value>,
    complete: Map<String, Value>,
    /// Mean number of operations that the device had; `None` where there is no device.
    device: Option<f64>,
    bytes: f64,
}

impl Queue {
    /// What a job reports of itself, and what the device was seen to have.
    pub(super) fn of(job: &Value, bytes: f64, device: Option<f64>) -> Self {
        let shares = |of: &str| job[of].as_object().cloned().unwrap_or_default();
        Self {
            level: shares("iodepth_level"),
            submit: shares("iodepth_submit"),
            complete: shares("iodepth_complete"),
            device,
            bytes,
        }
    }

    /// Operations that were handed over into a queue of at least `depth`, a power of two up to 32, in per cent.
    fn full(&self, depth: u32) -> f64 {
        let at_least = |class: &str| {
            let from = class.trim_start_matches(">=").parse::<u32>();
            from.is_ok_and(|from| from >= depth)
        };
        let shares = self.level.iter().filter(|(class, _)| at_least(class));
        shares.filter_map(|(_, share)| share.as_f64()).sum()
    }

    /// As it is kept.
    pub(super) fn kept(&self) -> Value {
        json!({
            "iodepth_level": self.level,
            "iodepth_submit": self.submit,
            "iodepth_complete": self.complete,
            "device_mean_queue": self.device,
            "bytes": self.bytes,
        })
    }
}

/// What the two sides of all pairs kept under way: ours, and fio's.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Queues {
    depth: u32,
    pairs: Vec<[Queue; 2]>,
}

impl Queues {
    pub(super) const fn new(depth: u32, pairs: Vec<[Queue; 2]>) -> Self {
        Self { depth, pairs }
    }

    /// The medians of both sides, where all pairs have the figure.
    fn medians(&self, of: impl Fn(&Queue) -> Option<f64>) -> Option<[f64; 2]> {
        let of_side = |side: usize| {
            let values: Option<Vec<f64>> = self.pairs.iter().map(|pair| of(&pair[side])).collect();
            median(&values?)
        };
        Some([of_side(0)?, of_side(1)?])
    }

    /// Why ours is not the same work as fio's; `None` where it is.
    pub(super) fn differ(&self) -> Option<String> {
        let [ours, theirs] = self.medians(|queue| Some(queue.full(self.depth)))?;
        if ours < theirs - FULL_LESS_MAX {
            let depth = self.depth;
            return Some(format!(
                "at {depth} under way {ours:.0} % beside {theirs:.0} %"
            ));
        }
        let [ours, theirs] = self.medians(|queue| queue.device)?;
        let is_less = ours < theirs * DEVICE_SHARE_MIN;
        is_less.then(|| format!("the device has {ours:.1} beside {theirs:.1}"))
    }

    /// As it is kept: medians of both sides, and whether they are the same work.
    pub(super) fn kept(&self) -> Value {
        let [ours, theirs] = [0, 1].map(|side| {
            let shares = |of: fn(&Queue) -> &Map<String, Value>| {
                let classes = self.pairs.iter().flat_map(|pair| of(&pair[side]).keys());
                let mut classes: Vec<&String> = classes.collect();
                classes.sort_by_key(|class| class.trim_start_matches(">=").parse::<u32>().ok());
                classes.dedup();
                let share = |class: &str| {
                    let of_pair = |queue: &Queue| of(queue).get(class).and_then(Value::as_f64);
                    Some(self.medians(|queue| Some(of_pair(queue).unwrap_or(0.0)))?[side])
                };
                let all = classes
                    .into_iter()
                    .filter_map(|class| Some((class, share(class)?)));
                let told = all.filter(|(_, share)| *share >= 1.0);
                let words: Vec<String> = told
                    .map(|(class, share)| format!("{class}: {share:.0}"))
                    .collect();
                words.join(", ")
            };
            let mean = self.medians(|queue| queue.device).map(|both| both[side]);
            let bytes = self
                .medians(|queue| Some(queue.bytes))
                .map(|both| both[side]);
            json!({
                "full": self.medians(|queue| Some(queue.full(self.depth))).map(|both| both[side]),
                "submit": shares(|queue| &queue.submit),
                "complete": shares(|queue| &queue.complete),
                "device_mean_queue": mean,
                "bytes": bytes,
            })
        });
        json!({"depth": self.depth, "kurabe": ours, "fio": theirs, "differ": self.differ()})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(at_16: f64, at_32: f64, device: f64) -> Queue {
        let job = json!({
            "iodepth_level": {"1": 0.0, "16": at_16, "32": at_32, ">=64": 0.0},
            "iodepth_submit": {"4": 99.6, "16": 0.4},
            "iodepth_complete": {"4": 20.0, "16": 80.0},
        });
        Queue::of(&job, 4e9, Some(device))
    }

    fn of(ours: Queue, theirs: Queue) -> Queues {
        Queues::new(32, vec![[ours, theirs]])
    }

    #[test]
    fn who_keeps_less_under_way_does_not_do_the_same_work() {
        let check = |ours, theirs, expect: Option<&str>| {
            assert_eq!(of(ours, theirs).differ().as_deref(), expect);
        };
        check(queue(0.0, 100.0, 20.0), queue(0.0, 100.0, 21.0), None);
        check(queue(4.0, 96.0, 19.0), queue(0.0, 100.0, 21.0), None);
        // More is no advantage.
        check(queue(0.0, 100.0, 25.0), queue(98.0, 2.0, 15.0), None);
        let batched = queue(95.0, 5.0, 21.0);
        let words = "at 32 under way 5 % beside 100 %";
        check(batched, queue(0.0, 100.0, 21.0), Some(words));
        let empty = queue(0.0, 100.0, 15.0);
        let words = "the device has 15.0 beside 21.0";
        check(empty, queue(0.0, 100.0, 21.0), Some(words));
        let no_device = Queue {
            device: None,
            ..queue(0.0, 100.0, 0.0)
        };
        check(no_device.clone(), no_device, None);
    }

    #[test]
    fn both_sides_are_told_in_classes() {
        let kept = of(queue(10.0, 90.0, 20.0), queue(0.0, 100.0, 21.0)).kept();
        let ours = &kept["kurabe"];
        assert_eq!(
            (ours["submit"].as_str(), ours["complete"].as_str()),
            (Some("4: 100"), Some("4: 20, 16: 80"))
        );
        assert_eq!(
            (ours["full"].as_f64(), kept["fio"]["full"].as_f64()),
            (Some(90.0), Some(100.0))
        );
        assert!(
            kept["differ"]
                .as_str()
                .is_some_and(|why| why.contains("90 % beside 100 %"))
        );
    }
}
