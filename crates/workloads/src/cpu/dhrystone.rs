//! `cpu.dhrystone`: how fast a core runs ordinary integer code: procedure calls, branches, small copies, a comparison.

use super::work_metrics;
use crate::unixbench::{COMPAT, Length, shape};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::digest::Digest;
use model::headline::{Headline, Topic};
use model::params::Params;
use model::plan::Shape;
use model::spec::{Nature, Spec, TestDef};
use sys::loops::dhrystone::{Identity, State, run};

/// The workload.
pub(crate) static DHRYSTONE: Dhrystone = Dhrystone;

/// Dhrystone 2, as a C compiler leaves it.
#[derive(Debug)]
pub(crate) struct Dhrystone;

static SPEC: Spec = Spec {
    name: "cpu.dhrystone",
    version: 2,
    nature: Nature::Compute,
    title: "integer code: procedure calls, branches, small copies",
    doc: "One operation is one iteration of Dhrystone 2 (Weicker 1988): nine procedure calls, a copy of a record of 56 \
          bytes and of a string of 31, a few array elements, and one comparison of two strings that differ in their \
          20th character, which the C library's `strcmp` does. It is about 170 instructions, of which `strcmp` is \
          20, and everything stays in the first-level cache.\n\n\
          It is good for comparing the speed of cores at plain integer code, and with figures of UnixBench. It says \
          nothing about memory, floating point or vector units. Much of an iteration is waiting for loads of what \
          was just stored in smaller pieces, so the figure follows the store buffer as much as the arithmetic; and \
          figures of differently compiled Dhrystones are figures of different programs.",
    params: &[COMPAT],
    metrics: &work_metrics(
        ["ops_per_s", "ops_per_cpu_s"],
        [
            "Iterations, over the wall time from the start of the first to the end of the last.",
            "Iterations, over the CPU time that all copies together spent in between.",
        ],
    ),
    tests: &[TestDef::new(
        "cpu.dhrystone",
        "Dhrystone 2 using register variables",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

impl Workload for Dhrystone {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        Some(Headline::named(Topic::Cpu, "dhrystone").and_all())
    }

    fn shape(&self, params: &Params) -> Shape {
        shape(params, 10, Length::Long, Shape::DEFAULT)
    }

    fn prepare(&self, _: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        Ok(Box::new(Iterations {
            state: State::new(),
            clone: place.round,
            asked: 0,
        }))
    }
}

struct Iterations {
    state: State,
    clone: u32,
    asked: u64,
}

impl Body for Iterations {
    /// Iterations are never timed one by one: reading the clock takes longer than an iteration.
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        run(&mut self.state, ops, self.clone);
        self.asked = self.asked.wrapping_add(ops);
        Ok(ops)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let expected = expected(self.asked);
        if self.state != expected {
            return Err(WorkError::Wrong(format!(
                "after {} iterations the data is not what they must leave: {}",
                self.asked,
                difference(&self.state, &expected)
            )));
        }
        Ok(Finish {
            digest: digest(&self.state),
            ..Finish::default()
        })
    }
}

/// The data that any number of iterations must leave: the paper lists it, because all but the counters is the same
/// after every iteration.
fn expected(iterations: u64) -> State {
    let mut state = State::new();
    if iterations == 0 {
        return state;
    }
    state.iterations = iterations;
    state.integer = 5;
    state.boolean = 1;
    state.characters = *b"AB";
    let text = state.records[0].text;
    let [first, second] = &mut state.records;
    first.integer = 17;
    second.enumeration = Identity::Two;
    second.integer = 18;
    second.text = text;
    for (index, value) in [(8, 7), (9, 7), (38, 8)] {
        state.array_1[index] = value;
    }
    for (row, column, value) in [(8, 8, 8), (8, 9, 8), (28, 8, 7)] {
        state.array_2[row][column] = value;
    }
    let [a, b, c, d, ..] = iterations.to_le_bytes();
    state.array_2[8][7] = i32::from_le_bytes([a, b, c, d]).wrapping_add(10);
    state
}

/// The digest of everything but the two counters, which depend on how many iterations there were.
fn digest(state: &State) -> Digest {
    let mut digest = Digest::EMPTY;
    let mut number = |value: i32| digest = digest.word(u64::from(value.cast_unsigned()));
    number(state.integer);
    number(state.boolean);
    for byte in state.characters {
        number(i32::from(byte));
    }
    for record in &state.records {
        number(record.discriminant as i32);
        number(record.enumeration as i32);
        number(record.integer);
        for byte in record.text {
            number(i32::from(byte));
        }
    }
    for value in state.array_1 {
        number(value);
    }
    for (row, values) in state.array_2.iter().enumerate() {
        for (column, value) in values.iter().enumerate() {
            if (row, column) != (8, 7) {
                number(*value);
            }
        }
    }
    digest
}

/// The first thing in which two states differ.
fn difference(got: &State, want: &State) -> String {
    let scalars = |state: &State| (state.iterations, state.integer, state.boolean);
    if scalars(got) != scalars(want) || got.characters != want.characters {
        return format!(
            "counter, integer and truth value are {:?} in place of {:?}, characters {:?} in place of {:?}",
            scalars(got),
            scalars(want),
            got.characters,
            want.characters
        );
    }
    if got.records != want.records {
        return format!(
            "records are {:?} in place of {:?}",
            got.records, want.records
        );
    }
    let elements = |state: &State| -> Vec<i32> {
        let rows = state.array_2.as_flattened().iter();
        state.array_1.iter().chain(rows).copied().collect()
    };
    let (got, want) = (elements(got), elements(want));
    match got.iter().zip(&want).position(|(got, want)| got != want) {
        Some(at) => format!("array element {at} is {} in place of {}", got[at], want[at]),
        None => "nothing".to_owned(),
    }
}

#[cfg(test)]
#[path = "dhrystone_tests.rs"]
mod tests;
