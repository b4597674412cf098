//! The Dhrystone loop: procedure calls, integer arithmetic, small copies and one string comparison.
//!
//! Written from Reinhold P. Weicker, "Dhrystone: a synthetic systems programming benchmark" (CACM 27(10), 1984) and
//! his version 2 (SIGPLAN Notices 23(8), 1988). The procedures keep their published numbers, so that a reader can
//! hold this file next to the paper.
//!
//! What a C compiler leaves of the program is the yardstick, because that is what published figures measure:
//! - The paper asks for two files compiled separately, so that a caller knows nothing of what a procedure of the
//!   other file does. Here each of those is `#[inline(never)]`, and hides its arguments ([`opaque_i32`]) and what it
//!   does to memory ([`compiler_fence`]) from its callers; neither costs an instruction. Procedures 3, 4, 5 and
//!   function 3 share a file with their only callers, where C compilers inline them; so may ours.
//! - Procedure 2 and the multiplication and division that end an iteration compute what nobody reads. C compilers
//!   remove them, so they are not here.
//! - A string is assigned as four stores of eight bytes. Wider ones would change whether the vector loads of the
//!   comparison can be served from the store buffer, and waiting for that buffer is a good part of an iteration.
//! - For the same reason the data is global, as in the paper: passing its address along would cost a register and so
//!   a few more stores (of saved registers) in each iteration, and 7 % of the rate.
//! - The comparison is the C library's `strcmp`, which picks its vector variant when the program starts.
//!
//! The procedures are compiled three times, in clones at other places of their cache lines (see [`super::align`]).
//!
//! It refuses nothing: any number of iterations is done, none included. Two threads that call [`run`] take turns.
#![expect(
    unsafe_code,
    reason = "strcmp of the C library, global data, and records that point to each other"
)]

use super::align::{clone_of, three_clones};
use super::opaque::opaque_u64;
use std::cell::Cell;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// Elements of the arrays in each direction. Source: the paper.
pub const ARRAY_LEN: usize = 50;

/// Characters of a string, without the NUL. Source: the paper.
pub const TEXT_LEN: usize = 30;

/// The text of the first string variable. Any text does: what counts is the length, that the first two agree up to
/// the 19th character and then differ, the second one being greater, and that character 2 of the first is not
/// character 3 of the second.
const FIRST_TEXT: &[u8; TEXT_LEN] = b"COMPARE MACHINES A 1ST EXAMPLE";
/// The text assigned to the second string variable in every iteration.
const SECOND_TEXT: &[u8; TEXT_LEN] = b"COMPARE MACHINES A 2ND EXAMPLE";
/// The text that would be assigned to it where function 1 found two equal letters, which never happens.
const THIRD_TEXT: &[u8; TEXT_LEN] = b"COMPARE MACHINES A 3RD EXAMPLE";
/// The text in the first record, which every iteration copies to the second.
pub const RECORD_TEXT: &[u8; TEXT_LEN] = b"COMPARE MACHINES, ONE AND TWO.";

/// All data that lives from one iteration to the next, by value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    /// Iterations done, modulo 2^64.
    pub iterations: u64,
    /// The global integer.
    pub integer: i32,
    /// The global truth value, 0 or 1.
    pub boolean: i32,
    /// The two global characters.
    pub characters: [u8; 2],
    /// The two records. Between iterations both point to the second one.
    pub records: [RecordState; 2],
    /// The array of one dimension.
    pub array_1: [i32; ARRAY_LEN],
    /// The array of two dimensions. Element `[8][7]` counts the iterations, from 10, modulo 2^32.
    pub array_2: [[i32; ARRAY_LEN]; ARRAY_LEN],
}

/// A record, by value, but for its pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordState {
    /// Which variant it is.
    pub discriminant: Identity,
    /// Its component of the enumeration.
    pub enumeration: Identity,
    /// Its integer component.
    pub integer: i32,
    /// Its string component, with the NUL.
    pub text: [u8; TEXT_LEN + 1],
}

/// The five identifiers of the paper's enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[expect(missing_docs, reason = "they have no meaning but their order")]
pub enum Identity {
    One,
    Two,
    Three,
    Four,
    Five,
}

impl State {
    /// The data before the first iteration.
    pub const fn new() -> Self {
        let mut text = [0; TEXT_LEN + 1];
        text.first_chunk_mut::<TEXT_LEN>()
            .expect("the text fits")
            .copy_from_slice(RECORD_TEXT);
        let first = RecordState {
            discriminant: Identity::One,
            enumeration: Identity::Three,
            integer: 40,
            text,
        };
        let second = RecordState {
            discriminant: Identity::One,
            enumeration: Identity::One,
            integer: 0,
            text: [0; TEXT_LEN + 1],
        };
        let mut array_2 = [[0; ARRAY_LEN]; ARRAY_LEN];
        array_2[8][7] = 10;
        Self {
            iterations: 0,
            integer: 0,
            boolean: 0,
            characters: [0; 2],
            records: [first, second],
            array_1: [0; ARRAY_LEN],
            array_2,
        }
    }
}

impl Default for State {
    fn default() -> Self {
        Self::new()
    }
}

three_clones!("dhrystone/code.rs", ".text.kurabe.dhrystone");

/// Does `iterations` iterations on `state`. `number` chooses the clone.
pub fn run(state: &mut State, iterations: u64, number: u32) {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    GLOBAL.load(state);
    let last = state.iterations.wrapping_add(iterations);
    clone_of!(number, iterate(last));
    GLOBAL.store(state);
}

/// The program's global data, from the start of a cache line: where it lies in one is the same in every build.
#[repr(align(64))]
struct Global {
    iterations: Cell<u64>,
    integer: Cell<i32>,
    boolean: Cell<i32>,
    character_1: Cell<u8>,
    character_2: Cell<u8>,
    /// Points to the first record.
    pointer: Cell<*const Record>,
    records: [Chunk; 2],
    array_1: Array1,
    array_2: Array2,
}

type Array1 = [Cell<i32>; ARRAY_LEN];
type Array2 = [Array1; ARRAY_LEN];

static GLOBAL: Global = Global {
    iterations: Cell::new(0),
    integer: Cell::new(0),
    boolean: Cell::new(0),
    character_1: Cell::new(0),
    character_2: Cell::new(0),
    pointer: Cell::new(ptr::null()),
    records: [const { Chunk(Record::new()) }; 2],
    array_1: [const { Cell::new(0) }; ARRAY_LEN],
    array_2: [const { [const { Cell::new(0) }; ARRAY_LEN] }; ARRAY_LEN],
};

// SAFETY: only `run` and what it calls use the data, and `run` lets one thread in at a time.
unsafe impl Sync for Global {}

impl Global {
    /// Takes over `state`, and makes the pointers point where they do between any two iterations.
    fn load(&'static self, state: &State) {
        self.iterations.set(state.iterations);
        self.integer.set(state.integer);
        self.boolean.set(state.boolean);
        self.character_1.set(state.characters[0]);
        self.character_2.set(state.characters[1]);
        self.pointer.set(&raw const self.records[0].0);
        for (Chunk(record), state) in self.records.iter().zip(&state.records) {
            record.next.set(&raw const self.records[1].0);
            record.discriminant.set(state.discriminant);
            record.enumeration.set(state.enumeration);
            record.integer.set(state.integer);
            record.text.set(state.text);
        }
        load_array(&self.array_1, &state.array_1);
        for (row, state) in self.array_2.iter().zip(&state.array_2) {
            load_array(row, state);
        }
    }

    /// Hands the data back.
    fn store(&self, state: &mut State) {
        state.iterations = self.iterations.get();
        state.integer = self.integer.get();
        state.boolean = self.boolean.get();
        state.characters = [self.character_1.get(), self.character_2.get()];
        for (Chunk(record), state) in self.records.iter().zip(&mut state.records) {
            state.discriminant = record.discriminant.get();
            state.enumeration = record.enumeration.get();
            state.integer = record.integer.get();
            state.text = record.text.get();
        }
        state.array_1 = self.array_1.each_ref().map(Cell::get);
        for (row, state) in self.array_2.iter().zip(&mut state.array_2) {
            *state = row.each_ref().map(Cell::get);
        }
    }

    /// The record that the paper's global pointer points to.
    #[inline]
    fn record(&self) -> &'static Record {
        // SAFETY: `run` has called `load` before any procedure comes here, and nothing else sets the pointer: it
        // points into static data.
        unsafe { &*self.pointer.get() }
    }
}

fn load_array(array: &Array1, values: &[i32; ARRAY_LEN]) {
    for (cell, value) in array.iter().zip(values) {
        cell.set(*value);
    }
}

/// A record where C's `malloc` would put it: no copy of 16 bytes crosses a cache line.
#[repr(align(16))]
struct Chunk(Record);

/// A record of the paper: 56 bytes.
#[repr(C)]
struct Record {
    next: Cell<*const Record>,
    discriminant: Cell<Identity>,
    enumeration: Cell<Identity>,
    integer: Cell<i32>,
    text: Cell<[u8; TEXT_LEN + 1]>,
    /// What C leaves as padding: bytes that are in no cell may not be written behind a shared reference.
    padding: Cell<[u8; 5]>,
}

impl Record {
    const fn new() -> Self {
        Self {
            next: Cell::new(ptr::null()),
            discriminant: Cell::new(Identity::One),
            enumeration: Cell::new(Identity::One),
            integer: Cell::new(0),
            text: Cell::new([0; TEXT_LEN + 1]),
            padding: Cell::new([0; 5]),
        }
    }

    /// The record that this one points to.
    #[inline]
    fn next(&self) -> &'static Self {
        // SAFETY: `run` has called `Global::load`, which makes all pointers point into static data, before any
        // procedure comes here. From then on pointers are only copied from record to record.
        unsafe { &*self.next.get() }
    }

    /// Assigns all of `other` to `self`: the structure assignment of C.
    #[inline]
    fn assign(&self, other: &Self) {
        let to: *mut Self = ptr::from_ref(self).cast_mut();
        // SAFETY: both are valid for the size of a record and may be the same one; every byte lies in a cell, so the
        // memory behind a shared reference may be written; no reference to the inside of a cell exists.
        unsafe { ptr::copy(other, to, 1) }
    }
}

/// A string variable on the stack: 30 characters, NUL and one byte of padding, aligned as C compilers align arrays
/// of this size.
#[repr(C, align(16))]
struct Text([Cell<u64>; 4]);

impl Text {
    fn new(text: &[u8; TEXT_LEN]) -> Self {
        Self(words(text).map(Cell::new))
    }

    /// Copies `text` and its NUL, eight bytes at a time.
    #[inline]
    fn assign(&self, text: &[u8; TEXT_LEN]) {
        for (cell, word) in self.0.iter().zip(words(text)) {
            cell.set(opaque_u64(word));
        }
    }

    /// The character at `index`, below 8.
    #[inline]
    fn character(&self, index: usize) -> i32 {
        i32::from(self.0[0].get().to_ne_bytes()[index])
    }

    fn as_ptr(&self) -> *const libc::c_char {
        self.0.as_ptr().cast()
    }
}

/// The words of a string variable that holds `text`.
fn words(text: &[u8; TEXT_LEN]) -> [u64; 4] {
    let mut bytes = [0; 32];
    bytes[..TEXT_LEN].copy_from_slice(text);
    let mut words = [0; 4];
    for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_ne_bytes(*chunk);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_of_a_record_lies_in_a_cell() {
        let Record {
            next,
            discriminant,
            enumeration,
            integer,
            text,
            padding,
        } = &Record::new();
        let cells = size_of_val(next)
            + size_of_val(discriminant)
            + size_of_val(enumeration)
            + size_of_val(integer)
            + size_of_val(text)
            + size_of_val(padding);
        assert_eq!(size_of::<Record>(), cells);
    }

    #[test]
    fn every_clone_does_the_same_work_and_lies_at_another_place_of_its_lines() {
        let mut first = State::new();
        run(&mut first, 7, 0);
        for number in 1..super::super::CLONES {
            let mut state = State::new();
            run(&mut state, 7, number);
            assert_eq!(state, first);
        }
        let all = [at_0::addresses(), at_16::addresses(), at_32::addresses()];
        super::super::align::check_clones(&all);
    }
}
