//! `memory.bandwidth`: streams through arrays beyond the caches, at the widest vectors that the CPU has.
//!
//! Numbers are small and whole, so that every sum is exact and every element is checked. Vectors and stores that the
//! CPU does not have are refused, as are arrays that make somebody swap or, unless asked for, fit into a cache.

use super::curve::{Extent, beyond_the_caches};
use super::{HUGE_PAGE_SHARE, NODE, PAGE_BYTES, PAGES, set_up_by_each, setting};
use engine::recorder::Recorder;
use engine::workload::{BadValue, Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::host::HostFacts;
use model::num::approx;
use model::params::Params;
use model::plan::Shape;
use model::rng::Rng;
use model::spec::{
    Amount, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef, Time,
};
use model::units::{Nanos, Unit};
use sys::loops::bandwidth::{Arrays, Kernel, Op, Stores, Width};
use sys::memory::Region;

/// The workload.
pub(crate) static BANDWIDTH: Bandwidth = Bandwidth;

/// Streams.
#[derive(Debug)]
pub(crate) struct Bandwidth;

static SPEC: Spec = Spec {
    name: "memory.bandwidth",
    version: 4,
    nature: Nature::Memory,
    title: "memory bandwidth of streams",
    doc: "One operation goes through the next piece of arrays of numbers of 8 bytes: `read` sums one, `write` fills \
          one, `copy`, `scale`, `add` and `triad` compute one from one or two others, per element what STREAM's \
          kernels of these names do. This is a variant of the idea of the STREAM benchmark, not that benchmark.\n\n\
          Bytes are those that the program moves: 8 per element and array. What a CPU reads in order to overwrite a \
          line (write-allocate) is not counted; `stores=streaming` writes past the caches without reading. Where \
          `size` is 0, the arrays are together four times as large as the last cache that the kernel shows, at least \
          256 MiB, so that they are the same in every run of a machine. They are doubled where that is less than twice \
          the last cache that the machine was found to have (see `memory.levels`), and halved where there is too \
          little memory; a note says where a part of the figure is then the cache's, and below twice that cache \
          nothing is measured. Each copy has its own, on a CPU of its own as \
          long as there are as many, touched first from there. The widest vectors that the CPU has are used and \
          told.\n\n\
          A CPU fetches ahead to the end of a page of 4 KiB and waits for memory at the beginning of the next, so that \
          one thread that goes through an array in order gets less than the memory gives. The tests whose names end in \
          `-x8` walk eight stretches of 4 KiB side by side (`strides`), of which one thread gets more; the others are \
          what a program gets that goes in order.",
    params: &[
        ParamDef {
            name: "op",
            kind: ParamKind::Choice(&["read", "write", "copy", "scale", "add", "triad"]),
            default: "triad",
            doc: "What is done with each element.",
        },
        ParamDef {
            name: "stores",
            kind: ParamKind::Choice(&["regular", "streaming"]),
            default: "regular",
            doc: "Into the caches, or past them (non-temporal stores).",
        },
        ParamDef {
            name: "size",
            kind: ParamKind::Size,
            default: "0",
            doc: "Bytes of all arrays of a copy together; 0 for four times the cache that is shown, at least 256 MiB.",
        },
        ParamDef {
            name: "vectors",
            kind: ParamKind::Choice(&["best", "avx512", "avx2", "sse2", "portable"]),
            default: "best",
            doc: "Vectors used; `best` for the widest that the CPU has.",
        },
        ParamDef {
            name: "strides",
            kind: ParamKind::Count { min: 1, max: 64 },
            default: "1",
            doc: "Stretches of 4 KiB that are walked side by side; with 1 elements are taken from the first to the \
                  last, as most programs do.",
        },
        PAGES_USUAL,
        NODE,
    ],
    metrics: &[
        MetricDef::rate(
            "bytes_per_s",
            Unit::BytesPerSecond,
            MetricClass::Compute,
            How::Per(Amount::Work, Time::Wall),
            "Bytes of all arrays that the operation uses, as the program moves them, over wall time, summed over \
                  the copies.",
        ),
        setting(
            "vector_bytes",
            Unit::Bytes,
            "Bytes of one vector: 64 for AVX-512, 32 for AVX2, 16 for SSE2, 8 for the portable way.",
        ),
        setting(
            "array_bytes",
            Unit::Bytes,
            "Bytes of each array: what `size` came to.",
        ),
        HUGE_PAGE_SHARE,
        PAGE_BYTES,
    ],
    tests: &[
        TestDef::new("memory.read", "memory bandwidth, read", &[("op", "read")]),
        TestDef::new(
            "memory.write",
            "memory bandwidth, write",
            &[("op", "write")],
        ),
        TestDef::new("memory.copy", "memory bandwidth, copy", &[("op", "copy")]),
        TestDef::new(
            "memory.scale",
            "memory bandwidth, scale",
            &[("op", "scale")],
        ),
        TestDef::new("memory.add", "memory bandwidth, add", &[("op", "add")]),
        TestDef::new("memory.triad", "memory bandwidth, triad", &[]),
        TestDef::new(
            "memory.write-nt",
            "memory bandwidth, write, streaming",
            &[("op", "write"), STREAMING],
        ),
        TestDef::new(
            "memory.copy-nt",
            "memory bandwidth, copy, streaming",
            &[("op", "copy"), STREAMING],
        ),
        TestDef::new(
            "memory.scale-nt",
            "memory bandwidth, scale, streaming",
            &[("op", "scale"), STREAMING],
        ),
        TestDef::new(
            "memory.add-nt",
            "memory bandwidth, add, streaming",
            &[("op", "add"), STREAMING],
        ),
        TestDef::new(
            "memory.triad-nt",
            "memory bandwidth, triad, streaming",
            &[STREAMING],
        ),
        TestDef::new(
            "memory.read-x8",
            "memory bandwidth, read, eight stretches side by side",
            &[("op", "read"), EIGHT],
        ),
        TestDef::new(
            "memory.write-nt-x8",
            "memory bandwidth, write, streaming, eight stretches side by side",
            &[("op", "write"), STREAMING, EIGHT],
        ),
        TestDef::new(
            "memory.copy-nt-x8",
            "memory bandwidth, copy, streaming, eight stretches side by side",
            &[("op", "copy"), STREAMING, EIGHT],
        ),
        TestDef::new(
            "memory.triad-nt-x8",
            "memory bandwidth, triad, streaming, eight stretches side by side",
            &[STREAMING, EIGHT],
        ),
        TestDef::new(
            "memory.read-remote",
            "memory bandwidth, read from another NUMA node",
            &[("op", "read"), ("node", "remote")],
        ),
    ],
    simulated: false,
    on_disk: false,
};

const STREAMING: (&str, &str) = ("stores", "streaming");
const EIGHT: (&str, &str) = ("strides", "8");

/// As [`PAGES`], but asking for none by default: a stream crosses a page once, so that it matters little, and should
/// not fail where huge pages are scarce.
const PAGES_USUAL: ParamDef = ParamDef {
    default: "usual",
    ..PAGES
};

/// The smallest that all arrays together may be: a page of the smallest kind, which holds a few steps of each.
const SIZE_MIN: u64 = 4096;

/// Bytes of each array that one operation goes through: long enough that what it costs to begin is not seen.
const PIECE_BYTES: usize = 1 << 20;

fn kernel(params: &Params) -> Kernel {
    Kernel {
        op: match params.text("op") {
            "read" => Op::Read,
            "write" => Op::Write,
            "copy" => Op::Copy,
            "scale" => Op::Scale,
            "add" => Op::Add,
            _ => Op::Triad,
        },
        stores: match params.text("stores") {
            "streaming" => Stores::Streaming,
            _ => Stores::Regular,
        },
        width: match params.text("vectors") {
            "avx512" => Width::Avx512,
            "avx2" => Width::Avx2,
            "sse2" => Width::Sse2,
            "portable" => Width::Portable,
            _ => Width::best(),
        },
        strides: usize::try_from(params.count("strides")).unwrap_or(1),
    }
}

impl Workload for Bandwidth {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, params: &Params) -> Option<Headline> {
        let plain = params.text("node") == "local" && params.count("strides") == 1;
        let words = match params.text("op") {
            "read" => ["read", "読み込み"],
            "write" => ["write", "書き込み"],
            "copy" => ["copy", "コピー"],
            "triad" => ["triad", "triad"],
            _ => return None,
        };
        let streaming = params.text("stores") == "streaming";
        let words = words.map(|word| word.to_owned() + if streaming { " nt" } else { "" });
        plain.then(|| Headline {
            words,
            ..Headline::named(Topic::Memory, "")
        })
    }

    fn shape(&self, params: &Params) -> Shape {
        // Touching, filling and giving back: two seconds for a GiB on a small virtual machine; where the caches are to
        // be found first, they are once per run.
        let bytes = params.size("size").0.max(256 << 20);
        Shape {
            setup: Nanos(bytes.saturating_mul(2)),
            ..Shape::DEFAULT
        }
    }

    fn shape_of(&self, params: &Params, copies: u32) -> Shape {
        set_up_by_each(self.shape(params), copies)
    }

    fn check_params(&self, params: &Params) -> Result<(), BadValue> {
        let size = params.size("size").0;
        if size == 0 || size >= SIZE_MIN {
            return Ok(());
        }
        Err(BadValue::new("size", "0, or a size from 4 KiB on"))
    }

    fn supported(&self, params: &Params, host: &HostFacts) -> Result<(), String> {
        let kernel = kernel(params);
        if !kernel.available() {
            let name = kernel.width.name();
            return Err(if kernel.width.available() {
                format!("{name} vectors have no streaming stores")
            } else {
                format!("this CPU has no {name} vectors")
            });
        }
        super::supported(params, host, params.size("size").0)
    }

    fn supported_with(&self, params: &Params, host: &HostFacts, copies: u32) -> Result<(), String> {
        let each = params.size("size").0;
        super::supported(params, host, each.saturating_mul(u64::from(copies)))
    }

    fn implementation(&self, params: &Params) -> Option<String> {
        Some(kernel(params).width.name().to_owned())
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        self.check_params(params)?;
        self.supported(params, &HostFacts::default())
            .map_err(WorkError::Unsupported)?;
        let kernel = kernel(params);
        let cpu = super::keep_on_a_cpu(place)?;
        let size = params.size("size").0;
        let extent = if size == 0 {
            beyond_the_caches(place, "arrays", |room| super::room_of_each(room, place))?
        } else {
            super::check_room(size, place)?;
            Extent {
                bytes: size,
                note: None,
            }
        };
        let mut streams = Streams::new(kernel, extent.bytes, params, place, cpu)?;
        streams.notes.extend(extent.note);
        Ok(Box::new(streams))
    }
}

struct Streams {
    kernel: Kernel,
    pages: sys::memory::Pages,
    region: Region,
    /// Elements of each array, and of one piece; a whole number of pieces.
    len: usize,
    piece: usize,
    /// Where each array begins, in elements.
    starts: [usize; 3],
    next: usize,
    clone: u32,
    pass: u64,
    wrong: u64,
    /// What is said of the node and of the size.
    notes: Vec<String>,
}

/// Elements between the ends of arrays, at most: they begin at other places within a page in each round, because
/// stores that are 4 KiB from a load are taken to touch it.
const OFFSET_MAX: u64 = 4096 / 8;

impl Streams {
    fn new(
        kernel: Kernel,
        bytes: u64,
        params: &Params,
        place: &Place,
        cpu: u32,
    ) -> Result<Self, WorkError> {
        let arrays = usize::from(kernel.op.arrays());
        let all = usize::try_from(bytes).unwrap_or(usize::MAX) / 8;
        let step = kernel.step();
        let each = (all / arrays).max(step);
        let piece = (PIECE_BYTES / 8).clamp(step, each) / step * step;
        let len = each / piece * piece;
        let mut rng = Rng::stream(place.seed, 3);
        let mut starts = [0; 3];
        let mut end = 0;
        for start in starts.iter_mut().take(arrays) {
            // Whole lines.
            *start = end + usize::try_from(rng.below(OFFSET_MAX / 8)).unwrap_or(0) * 8;
            end = *start + len;
        }
        let pages = super::pages(params);
        let remote = super::remote_node(params, cpu)?;
        let mut region = super::region("the arrays", end as u64 * 8, pages, cpu, remote)?;
        super::page_values(region.paging(), pages)?;
        for start in starts.iter().take(arrays) {
            let array = &mut region.numbers()[*start..*start + len];
            for (element, index) in array.iter_mut().zip(0_u32..) {
                *element = value(index);
            }
        }
        Ok(Self {
            kernel,
            pages,
            region,
            len,
            piece,
            starts,
            next: 0,
            clone: place.round,
            pass: 0,
            wrong: 0,
            notes: remote.map(super::Remote::note).into_iter().collect(),
        })
    }

    /// The scalar of a pass: small, whole, and another one in the next.
    fn scalar(pass: u64) -> f64 {
        approx(3 + pass % 5)
    }

    /// The sum of one piece of a source.
    fn piece_sum(&self) -> f64 {
        // Eight values in a row are 1 to 8, and pieces are whole rows.
        36.0 * model::num::count(self.piece / 8)
    }

    fn one(&mut self) {
        let at = self.next;
        let (first, piece) = (self.starts, self.piece);
        let numbers = self.region.numbers();
        let scalar = Self::scalar(self.pass);
        // The destination is the last array, so that the sources lie before it.
        let last = first[usize::from(self.kernel.op.arrays()) - 1];
        let (sources, dests) = numbers.split_at_mut(last);
        let dest = &mut dests[at..at + piece];
        let range = |start: usize| start + at..start + at + piece;
        let mut arrays = match self.kernel.op {
            Op::Read => Arrays {
                dest: &mut [],
                a: dest,
                b: &[],
            },
            Op::Write => Arrays {
                dest,
                a: &[],
                b: &[],
            },
            Op::Copy | Op::Scale => Arrays {
                dest,
                a: &sources[range(first[0])],
                b: &[],
            },
            Op::Add | Op::Triad => Arrays {
                dest,
                a: &sources[range(first[0])],
                b: &sources[range(first[1])],
            },
        };
        let result = self.kernel.pass(&mut arrays, scalar, self.clone);
        let right = match self.kernel.op {
            Op::Read => self.piece_sum(),
            _ => scalar,
        };
        self.wrong += u64::from(result.to_bits() != right.to_bits());
        self.next += piece;
        if self.next == self.len {
            self.next = 0;
            self.pass += 1;
        }
    }

    /// Compares every element with what the last pass over it must have left, where it lies: there need not be room
    /// for a copy.
    fn check(&mut self) -> Result<(), WorkError> {
        let (op, next, pass, len) = (self.kernel.op, self.next, self.pass, self.len);
        let start = self.starts[usize::from(op.arrays()) - 1];
        let array = &self.region.numbers()[start..start + len];
        for (index, found) in array.iter().enumerate() {
            let x = value(u32::try_from(index % 8).unwrap_or(0));
            let expected = match (index < next, pass) {
                (true, pass) => expected(op, x, Self::scalar(pass)),
                (false, 0) => x,
                (false, pass) => expected(op, x, Self::scalar(pass - 1)),
            };
            if found.to_bits() != expected.to_bits() {
                return Err(WorkError::Wrong(format!(
                    "element {index} is {found} in place of {expected}"
                )));
            }
        }
        Ok(())
    }
}

/// What the operation must leave where both sources hold `x`.
fn expected(op: Op, x: f64, scalar: f64) -> f64 {
    match op {
        Op::Read | Op::Copy => x,
        Op::Write => scalar,
        Op::Scale => scalar * x,
        Op::Add => x + x,
        Op::Triad => x + scalar * x,
    }
}

/// What a source holds at `index`: small whole numbers, so that every sum is exact.
fn value(index: u32) -> f64 {
    f64::from(index % 8 + 1)
}

impl Body for Streams {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            self.one();
        }
        Ok(ops)
    }

    fn work_per_op(&self) -> f64 {
        let elements = model::num::count(self.piece);
        elements * approx(self.kernel.op.bytes_per_element())
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        if self.wrong > 0 {
            return Err(WorkError::Wrong(format!(
                "{} pieces gave another result than their elements",
                self.wrong
            )));
        }
        self.check()?;
        let mut reported: std::collections::BTreeMap<_, _> =
            super::page_values(self.region.paging(), self.pages)?.into();
        let vector = approx(self.kernel.width.bytes());
        reported.insert("vector_bytes".to_owned(), vector);
        reported.insert("array_bytes".to_owned(), model::num::count(self.len * 8));
        let vectors = format!("vectors used: {}", self.kernel.width.name());
        Ok(Finish {
            digest: Digest::EMPTY.word(self.piece_sum().to_bits()),
            reported,
            notes: [vec![vectors], self.notes.clone()].concat(),
            ..Finish::default()
        })
    }
}

#[cfg(test)]
mod tests;
