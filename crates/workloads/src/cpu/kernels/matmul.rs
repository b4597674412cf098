//! `cpu.matmul`: how many floating-point operations a core does a second when nothing else limits it.

use super::all_right;
use crate::cpu::work_metrics;
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::num::approx;
use model::params::Params;
use model::rng::Rng;
use model::spec::{MetricDef, Nature, ParamDef, ParamKind, Spec, TestDef};
use sys::loops::matmul::{FLOPS, Matrix, N, Path, multiply, zeros};

/// The workload.
pub(crate) static MATMUL: Matmul = Matmul;

/// Products of small square matrices in double precision.
#[derive(Debug)]
pub(crate) struct Matmul;

static SPEC: Spec = Spec {
    name: "cpu.matmul",
    version: 2,
    nature: Nature::Compute,
    title: "matrix multiplication in double precision",
    doc: "One operation multiplies two matrices of 96 x 96 numbers in double precision: 1,769,472 multiplications \
          and additions. Sums stay in registers and matrices in the second-level cache, so the figure is what the \
          vector units can do: the other extreme to Whetstone, which waits for one operation after the other. AVX2 \
          with FMA is used where the CPU has it, else what every CPU of the architecture has; the result names \
          which. AVX-512 is not used. Matrices hold small whole numbers, so that every product is exact on every \
          machine, and one row of it is checked after each. Nothing is allocated.",
    params: &[ParamDef {
        name: "path",
        kind: ParamKind::Choice(&["best", "portable"]),
        default: "best",
        doc: "`portable` does without AVX2, for comparing with CPUs that lack it.",
    }],
    metrics: &METRICS,
    tests: &[TestDef::new(
        "cpu.matmul",
        "products of 96 x 96 matrices, double precision",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

static METRICS: [MetricDef; 2] = work_metrics(
    ["flops_per_s", "flops_per_cpu_s"],
    [
        "Floating-point multiplications and additions, over the wall time from the start of the first product to the \
         end of the last.",
        "Floating-point multiplications and additions, over the CPU time that all copies together spent in between.",
    ],
);

fn path(params: &Params) -> Path {
    match params.text("path") {
        "portable" => Path::Portable,
        _ => Path::best(),
    }
}

impl Workload for Matmul {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        Some(Headline::named(Topic::Cpu, "matmul").and_all())
    }

    fn implementation(&self, params: &Params) -> Option<String> {
        let name = match (path(params), sys::features::architecture()) {
            (Path::Avx2Fma, _) => "AVX2 with FMA",
            (Path::Portable, "x86_64") => "SSE2",
            (Path::Portable, "aarch64") => "NEON",
            (Path::Portable, _) => "portable",
        };
        Some(name.to_owned())
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        let mut rng = Rng::stream(place.seed, 0x6d61_746d);
        let (a, b) = (small_numbers(&mut rng), small_numbers(&mut rng));
        let right = slow_product(&a, &b);
        Ok(Box::new(Products {
            product: zeros(),
            a,
            b,
            right,
            path: path(params),
            clone: place.round,
            next: 0,
            different: 0,
        }))
    }
}

/// Whole numbers from -8 to 8: products of two add up without a rounding, whatever the order.
fn small_numbers(rng: &mut Rng) -> Box<Matrix> {
    let mut matrix = zeros();
    for x in matrix.as_flattened_mut() {
        *x = approx(rng.below(17)) - 8.0;
    }
    matrix
}

/// The product by definition.
fn slow_product(a: &Matrix, b: &Matrix) -> Box<Matrix> {
    let mut product = zeros();
    for (row, line) in product.iter_mut().enumerate() {
        for (column, x) in line.iter_mut().enumerate() {
            *x = (0..N).map(|k| a[row][k] * b[k][column]).sum();
        }
    }
    product
}

struct Products {
    a: Box<Matrix>,
    b: Box<Matrix>,
    product: Box<Matrix>,
    right: Box<Matrix>,
    path: Path,
    clone: u32,
    /// The row that is checked next.
    next: usize,
    different: u64,
}

/// Equal to the last bit; products of whole numbers are never negative zeros or NaNs unless they are wrong.
fn same(a: &[f64], b: &[f64]) -> bool {
    a.iter().zip(b).all(|(x, y)| x.to_bits() == y.to_bits())
}

impl Body for Products {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        for _ in 0..ops {
            recorder.time(|| multiply(self.path, &self.a, &self.b, &mut self.product, self.clone));
            let row = self.next;
            self.different += u64::from(!same(&self.product[row], &self.right[row]));
            // Spoilt, so that a product that is not made again shows when this row's turn comes.
            self.product[row] = [f64::NAN; N];
            self.next = (row + 1) % N;
        }
        Ok(ops)
    }

    fn work_per_op(&self) -> f64 {
        approx(FLOPS)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        multiply(self.path, &self.a, &self.b, &mut self.product, self.clone);
        if !same(self.product.as_flattened(), self.right.as_flattened()) {
            return Err(WorkError::Wrong(
                "the product is not that of the definition".to_owned(),
            ));
        }
        Ok(Finish {
            digest: all_right(self.different, "row", Digest::EMPTY)?,
            ..Finish::default()
        })
    }
}
