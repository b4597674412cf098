//! `memory.latency`: what one load costs when nothing hides it, for a working set of a fixed size.
//!
//! Each load needs the one before, in an order that nothing can guess, and where the chain stands proves how many there
//! were. Sizes that hold no chain, or do not fit for all copies, are refused.

use super::curve::{LINE_BYTES, linked};
use super::{HUGE_PAGE_SHARE, NODE, PAGE_BYTES, PAGES, set_up_by_each};
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::params::Params;
use model::plan::Shape;
use model::spec::{How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef, Time};
use model::units::{Bytes, Nanos};
use sys::loops::chase::Chain;

/// The workload.
pub(crate) static LATENCY: Latency = Latency;

/// A chain of dependent loads.
#[derive(Debug)]
pub(crate) struct Latency;

static SPEC: Spec = Spec {
    name: "memory.latency",
    version: 3,
    nature: Nature::Memory,
    title: "latency of dependent loads in random order",
    doc: "One operation loads the address of the next: a chain through a working set of `size`, one node per cache \
          line of 64 bytes, in an order shuffled anew in every round, as one cycle through all lines. No load can \
          begin before the last one ended and no prefetcher can guess, so the figure is the latency of whatever level \
          the working set fits into, and of the translation of its address.\n\n\
          With pages of 4 KiB translation is part of it from about a megabyte on, as it is for most programs; with \
          huge pages it hardly is, which is how databases with huge pages see it. Each copy is kept on a CPU of its \
          own, as long as there are as many, and touches its memory first: more copies wait for one another, and a \
          warning says so. All copies together show what the shared levels lose under load.",
    params: &[
        ParamDef {
            name: "size",
            kind: ParamKind::Size,
            default: "128M",
            doc: "The working set of each copy, from 4k on.",
        },
        PAGES,
        NODE,
    ],
    metrics: &[
        MetricDef::time(
            "ns_per_load",
            MetricClass::Compute,
            How::TimePerOp(Time::Wall),
            "Wall time over loads, as the mean over the copies.",
        ),
        HUGE_PAGE_SHARE,
        PAGE_BYTES,
    ],
    tests: &[
        TestDef::new(
            "memory.latency-16k",
            "load latency, 16 KiB",
            &[("size", "16k"), ("pages", "small")],
        ),
        TestDef::new(
            "memory.latency-256k",
            "load latency, 256 KiB",
            &[("size", "256k"), ("pages", "small")],
        ),
        TestDef::new(
            "memory.latency-1m",
            "load latency, 1 MiB",
            &[("size", "1M"), ("pages", "small")],
        ),
        TestDef::new(
            "memory.latency-8m",
            "load latency, 8 MiB",
            &[("size", "8M"), ("pages", "small")],
        ),
        TestDef::new(
            "memory.latency-32m",
            "load latency, 32 MiB",
            &[("size", "32M"), ("pages", "small")],
        ),
        TestDef::new(
            "memory.latency-128m",
            "load latency, 128 MiB",
            &[("size", "128M"), ("pages", "small")],
        ),
        TestDef::new(
            "memory.latency-512m",
            "load latency, 512 MiB",
            &[("size", "512M"), ("pages", "small")],
        ),
        TestDef::new(
            "memory.latency-8m-huge",
            "load latency, 8 MiB, huge pages",
            &[("size", "8M")],
        ),
        TestDef::new(
            "memory.latency-32m-huge",
            "load latency, 32 MiB, huge pages",
            &[("size", "32M")],
        ),
        TestDef::new(
            "memory.latency-128m-huge",
            "load latency, 128 MiB, huge pages",
            &[("size", "128M")],
        ),
        TestDef::new(
            "memory.latency-512m-huge",
            "load latency, 512 MiB, huge pages",
            &[("size", "512M")],
        ),
        TestDef::new(
            "memory.latency-remote",
            "load latency, 512 MiB of another NUMA node",
            &[("size", "512M"), ("node", "remote")],
        ),
    ],
    simulated: false,
    on_disk: false,
};

/// The smallest working set: one page of the smallest kind.
pub(super) const SIZE_MIN: u64 = 4096;
/// The largest: node numbers have 32 bits.
pub(super) const SIZE_MAX: u64 = 256 << 30;

/// Bytes that a round needs beside the working set: the order in which the nodes are linked, 4 bytes each.
const fn with_order(size: u64) -> u64 {
    size + size / LINE_BYTES * 4
}

impl Workload for Latency {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let size = Bytes(params.size("size").0).exact();
        let huge = if params.text("pages") == "small" {
            ""
        } else {
            " huge"
        };
        let word = format!("{size}{huge}");
        (params.text("node") == "local").then(|| Headline::named(Topic::Memory, &word))
    }

    fn shape(&self, params: &Params) -> Shape {
        // Shuffling, linking, touching and giving back: about 150 ns a line on a small virtual machine.
        let setup = Nanos(params.size("size").0 / LINE_BYTES * 150);
        Shape {
            setup,
            setup_max: Shape::DEFAULT
                .setup_max
                .plus(Nanos(setup.0.saturating_mul(10))),
            ..Shape::DEFAULT
        }
    }

    fn shape_of(&self, params: &Params, copies: u32) -> Shape {
        set_up_by_each(self.shape(params), copies)
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        if (SIZE_MIN..=SIZE_MAX).contains(&params.size("size").0) {
            return Ok(());
        }
        Err(BadValue::new("size", "a size from 4 KiB to 256 GiB"))
    }

    fn supported(&self, params: &Params, host: &HostFacts) -> Result<(), String> {
        super::supported(params, host, with_order(params.size("size").0))
    }

    fn supported_with(&self, params: &Params, host: &HostFacts, copies: u32) -> Result<(), String> {
        let each = with_order(params.size("size").0);
        super::supported(params, host, each.saturating_mul(u64::from(copies)))
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        let size = params.size("size").0;
        super::check_room(with_order(size), place)?;
        let cpu = super::keep_on_a_cpu(place)?;
        let pages = super::pages(params);
        let remote = super::remote_node(params, cpu)?;
        let region = super::region("the chain of loads", size, pages, cpu, remote)?;
        super::page_values(region.paging(), pages)?;
        Ok(Box::new(Walk {
            chain: linked(region, size, place),
            pages,
            clone: place.round,
            walked: 0,
            note: remote.map(super::Remote::note),
        }))
    }
}

struct Walk {
    chain: Chain,
    pages: sys::memory::Pages,
    clone: u32,
    walked: u64,
    /// What is said of the node.
    note: Option<String>,
}

impl Body for Walk {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        self.chain.walk(ops, self.clone);
        self.walked += ops;
        Ok(ops)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        check(&mut self.chain, self.walked)?;
        Ok(Finish {
            digest: Digest::EMPTY.word(self.chain.nodes()),
            reported: super::page_values(self.chain.paging(), self.pages)?.into(),
            notes: self.note.iter().cloned().collect(),
            ..Finish::default()
        })
    }
}

/// Every load moves the chain on by one node, so where it stands proves how many there were.
pub(super) fn check(chain: &mut Chain, walked: u64) -> Result<(), WorkError> {
    let (expected, found) = (walked % chain.nodes(), chain.position());
    if found == expected {
        return Ok(());
    }
    Err(WorkError::Wrong(format!(
        "after {walked} loads the chain is at node {found} in place of {expected}"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::testing;

    #[test]
    fn every_load_is_done_and_the_pages_are_told() {
        std::thread::scope(|scope| {
            // Pins itself, so not on the test's own thread.
            scope.spawn(|| {
                for size in ["4k", "100k", "3M"] {
                    let (_root, place) = testing::place();
                    let set = [("size", size), ("pages", "small")];
                    let mut body = testing::prepare(&LATENCY, &set, &place).unwrap();
                    for ops in [1, 1000, 12_345] {
                        assert_eq!(body.batch(ops, &mut Recorder::off()).unwrap(), ops);
                    }
                    let finish = body.finish().unwrap();
                    assert!(finish.reported["page_bytes"] >= 4096.0);
                    assert!(finish.reported["huge_page_share"].abs() < f64::EPSILON);
                }
            });
        });
    }

    #[test]
    fn a_skipped_load_is_found() {
        let region = super::super::map("a chain", 1 << 16, sys::memory::Pages::Usual).unwrap();
        let (_root, place) = testing::place();
        let mut chain = linked(region, 1 << 16, &place);
        chain.walk(99, 0);
        let error = check(&mut chain, 100).unwrap_err().to_string();
        assert!(error.contains("at node 99 in place of 100"), "{error}");
    }

    #[test]
    fn a_size_that_fits_once_and_not_for_all_copies_is_left_out_for_all() {
        let mut host = HostFacts::default();
        host.memory.available = model::host::Fact::Known(model::units::Bytes(1 << 30));
        let params = testing::params(&LATENCY, &[("size", "512M"), ("pages", "small")]);
        let check = |copies, fits: bool| {
            let found = LATENCY.supported_with(&params, &host, copies);
            assert_eq!(found.is_ok(), fits, "{copies}: {found:?}");
        };
        check(1, true);
        check(2, false);
        check(u32::MAX, false);
    }

    #[test]
    fn sizes_out_of_bounds_are_refused_beforehand() {
        for bad in ["0", "4095", "1T"] {
            let params = testing::params(&LATENCY, &[("size", bad)]);
            let refused = LATENCY.check_params(&params).unwrap_err();
            assert_eq!(refused.param, "size", "{bad}");
        }
    }
}
