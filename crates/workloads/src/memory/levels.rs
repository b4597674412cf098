//! `memory.levels`: the cache levels that a core really sees, read off a curve of latencies.
//!
//! Measured and not asked for, because virtual machines hide caches or show those of another machine. A level that the
//! curve does not have gets no value, and the reason instead.

use super::curve::{Reach, Sweep, reach};
use super::{HUGE_PAGE_SHARE, PAGE_BYTES, PAGES, reported, set_up_by_each};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::host::HostFacts;
use model::num::approx;
use model::order::Keyed as _;
use model::params::Params;
use model::plan::Shape;
use model::spec::{Better, MetricClass, MetricDef, Nature, Role, Spec, TestDef};
use model::units::{Nanos, Unit};
use std::collections::BTreeMap;
use sys::memory::Pages;

/// The workload.
pub(crate) static LEVELS: Levels = Levels;

/// One sweep of working sets per round.
#[derive(Debug)]
pub(crate) struct Levels;

const fn ns(quantity: &'static str, doc: &'static str) -> MetricDef {
    reported(
        quantity,
        Unit::Nanoseconds,
        Better::Lower,
        MetricClass::LatencyTypical,
        doc,
    )
}

const fn bytes(quantity: &'static str, doc: &'static str) -> MetricDef {
    reported(
        quantity,
        Unit::Bytes,
        Better::Higher,
        MetricClass::LatencyTail,
        doc,
    )
}

static SPEC: Spec = Spec {
    name: "memory.levels",
    version: 3,
    nature: Nature::Memory,
    title: "cache levels as seen by latency",
    doc: "One operation is one sweep: chains of dependent loads in random order (see `memory.latency`) over working \
          sets from 4 KiB to four times the last cache, two sizes per doubling. The last cache is the one that the \
          kernel shows or the one that a first curve of the run has found, whichever is larger. Where the latency \
          hardly changes over an octave or more there is a level; its size is read off the climb behind it.\n\n\
          Virtual machines hide caches, show those of another machine, or share the last one with neighbours: this is \
          what is obtained. A size is good to about a quarter, and one of a cache that others share says what they \
          left over. A level that a machine does not have has no value, with the reason. The points of the curve are \
          kept with the round as `ns_at_BYTES`.",
    params: &[PAGES],
    metrics: &[
        ns(
            "memory_ns",
            "Latency of memory: the median of the flat end of the curve, or what its last climb tends to.",
        ),
        ns("l1_ns", "Latency of the first level."),
        bytes("l1_bytes", "Size of the first level."),
        ns("l2_ns", "Latency of the second level."),
        bytes("l2_bytes", "Size of the second level."),
        ns("l3_ns", "Latency of the third level."),
        bytes("l3_bytes", "Size of the third level."),
        HUGE_PAGE_SHARE,
        PAGE_BYTES,
        ns("ns_at", "The curve: latency by working set.").acting(Role::Curve(Unit::Bytes)),
    ],
    tests: &[
        TestDef::new("memory.levels", "cache levels, huge pages", &[]),
        TestDef::new(
            "memory.levels-small",
            "cache levels, pages of 4 KiB",
            &[("pages", "small")],
        ),
    ],
    simulated: false,
    on_disk: false,
};

impl Workload for Levels {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn shape(&self, params: &Params) -> Shape {
        Shape {
            warmup: Nanos::ZERO,
            // One sweep, which takes about this long on a machine with 100 MiB of cache: linking a chain through pages
            // of 4 KiB takes longer.
            measure: Nanos::from_secs(match super::pages(params) {
                Pages::Small => 3,
                Pages::Huge | Pages::Usual => 2,
            }),
            // Touching and shuffling what is swept, likewise.
            setup: Nanos::from_millis(1500),
            fixed_work: true,
            windowless: true,
            ..Shape::DEFAULT
        }
    }

    fn shape_of(&self, params: &Params, copies: u32) -> Shape {
        set_up_by_each(self.shape(params), copies)
    }

    fn supported(&self, params: &Params, host: &HostFacts) -> Result<(), String> {
        super::supported(params, host, 64 << 20)
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        super::keep_on_a_cpu(place)?;
        let reach = reach(place)?;
        let sweep = Sweep::new(reach.largest, super::pages(params), place)?;
        super::page_values(sweep.chain().paging(), super::pages(params))?;
        Ok(Box::new(Sweeping {
            sweep,
            pages: super::pages(params),
            reach,
            done: false,
        }))
    }
}

struct Sweeping {
    sweep: Sweep,
    pages: Pages,
    reach: Reach,
    done: bool,
}

impl Body for Sweeping {
    /// One sweep is a round: asked for more, it says that there is none, which ends the measured part.
    fn batch(&mut self, _: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        if self.done {
            return Ok(0);
        }
        self.sweep.run()?;
        self.done = true;
        Ok(1)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let mut reported = values(&self.sweep.curve);
        let missing = missing(&reported, self.reach.cut.as_deref());
        reported.extend(super::page_values(self.sweep.chain().paging(), self.pages)?);
        let no_huge_pages = (!self.reach.huge).then(|| NO_HUGE_PAGES.to_owned());
        Ok(Finish {
            digest: Digest::EMPTY,
            reported,
            missing,
            notes: self
                .reach
                .cut
                .iter()
                .cloned()
                .chain(no_huge_pages)
                .collect(),
            ..Finish::default()
        })
    }
}

/// Said where the first curve of the run was not in huge pages: with small ones the latency climbs where their
/// translation is no longer at hand as well.
const NO_HUGE_PAGES: &str = "the curve that looks for the last cache obtained no huge pages: a step of the translation \
                             of addresses may have been taken for a cache";

/// Why the metrics that a curve has no `values` of have none; `cut` says what the memory did not allow.
fn missing(values: &BTreeMap<String, f64>, cut: Option<&str>) -> BTreeMap<String, String> {
    let quantities = SPEC.metrics.iter();
    let quantities = quantities.filter(|def| !def.is_setting() && def.role == Role::Plain);
    quantities
        .map(|metric| metric.quantity)
        .filter(|quantity| !values.contains_key(*quantity))
        .map(|quantity| {
            let is_there = |level| values.contains_key(&format!("{level}_ns"));
            let why = match (cut, quantity.strip_suffix("_bytes")) {
                (Some(cut), _) => cut,
                (None, Some(level)) if is_there(level) => "the curve ends within this level",
                (None, None) if quantity == "memory_ns" => "the curve still climbs at its end",
                (None, _) => "no such level on the curve",
            };
            (quantity.to_owned(), why.to_owned())
        })
        .into_map()
}

/// The metrics of a curve, and its points.
fn values(curve: &[(u64, f64)]) -> BTreeMap<String, f64> {
    let mut values = BTreeMap::new();
    for level in engine::knee::levels(curve) {
        let name = level.name.to_lowercase();
        values.insert(format!("{name}_ns"), level.ns);
        if let Some(bytes) = level.bytes {
            values.insert(format!("{name}_bytes"), approx(bytes));
        }
    }
    let points = curve
        .iter()
        .map(|(bytes, ns)| (format!("ns_at_{bytes}"), *ns));
    values.extend(points);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    #[test]
    fn a_curve_becomes_the_levels_of_the_spec_and_its_points() {
        let mut curve: Vec<(u64, f64)> = Vec::new();
        for doubling in 0..16 {
            let ns = match doubling {
                0..4 => 1.5,
                4..9 => 5.0,
                _ => 90.0,
            };
            curve.push((4096 << doubling, ns));
        }
        let values = values(&curve);
        assert_eq!(values["l1_ns"].to_bits(), 1.5_f64.to_bits());
        assert_eq!(values["memory_ns"].to_bits(), 90.0_f64.to_bits());
        assert!(values["l1_bytes"] >= 32_768.0 && values["l2_bytes"] >= 1e6);
        assert!(!values.contains_key("l3_ns"));
        assert_eq!(values["ns_at_8192"].to_bits(), 1.5_f64.to_bits());
        let declared = |key: &&String| SPEC.metrics.iter().any(|m| m.quantity == **key);
        assert_eq!(values.keys().filter(declared).count(), 5);
    }

    #[test]
    fn a_round_is_one_sweep() {
        let (_root, place) = testing::place();
        let mut body = Sweeping {
            sweep: Sweep::new(32 << 10, Pages::Small, &place).unwrap(),
            pages: Pages::Small,
            reach: Reach {
                largest: 32 << 10,
                cut: None,
                huge: true,
            },
            done: false,
        };
        assert_eq!(body.batch(7, &mut Recorder::off()).unwrap(), 1);
        assert_eq!(body.batch(7, &mut Recorder::off()).unwrap(), 0);
        let finish = body.finish().unwrap();
        assert!(finish.reported.contains_key("ns_at_4096"));
        assert_eq!(finish.notes, [""; 0]);
        // Cut short, and looked for in small pages: both are said, and what is missing is missing for the first reason.
        body.reach.cut = Some("the curve ends at 0 MiB".to_owned());
        body.reach.huge = false;
        let finish = body.finish().unwrap();
        assert_eq!(finish.notes, ["the curve ends at 0 MiB", NO_HUGE_PAGES]);
        assert!(!finish.reported.contains_key("l3_ns"));
        assert_eq!(finish.missing["l3_ns"], "the curve ends at 0 MiB");
    }

    #[test]
    fn a_figure_that_a_curve_does_not_have_is_missing_for_a_reason() {
        let known = |names: &[&str]| -> BTreeMap<String, f64> {
            names.iter().map(|name| ((*name).to_owned(), 1.0)).collect()
        };
        let check = |names: &[&str], cut: Option<&str>, expected: &[(&str, &str)]| {
            let found = missing(&known(names), cut);
            let found: Vec<(&str, &str)> = found
                .iter()
                .map(|(quantity, why)| (quantity.as_str(), why.as_str()))
                .collect();
            assert_eq!(found, expected, "{names:?}");
        };
        let two = ["memory_ns", "l1_ns", "l1_bytes", "l2_ns", "l2_bytes"];
        let none = "no such level on the curve";
        check(&two, None, &[("l3_bytes", none), ("l3_ns", none)]);
        let within = "the curve ends within this level";
        let climbs = "the curve still climbs at its end";
        let three = ["l1_ns", "l1_bytes", "l2_ns", "l2_bytes", "l3_ns"];
        check(&three, None, &[("l3_bytes", within), ("memory_ns", climbs)]);
        let cut = Some("it ends at 90 MiB");
        let why = "it ends at 90 MiB";
        check(&three, cut, &[("l3_bytes", why), ("memory_ns", why)]);
        check(&two, cut, &[("l3_bytes", why), ("l3_ns", why)]);
    }
}
