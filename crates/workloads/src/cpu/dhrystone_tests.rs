//! Tests of `cpu.dhrystone`, against a reference that is written differently: the paper's whole program, with what
//! compilers remove, in safe Rust that follows the text of the paper statement by statement, on owned data with
//! indices where the paper has pointers.

use super::*;
use crate::os::testing::{place, prepare};
use sys::loops::dhrystone::{ARRAY_LEN, RECORD_TEXT, RecordState};

/// The paper's program. Enumeration values and truth values are numbers, pointers are indices of records.
struct Reference {
    int_glob: i32,
    bool_glob: bool,
    ch_1_glob: u8,
    ch_2_glob: u8,
    ptr_glob: usize,
    records: Vec<ReferenceRecord>,
    arr_1_glob: Vec<i32>,
    arr_2_glob: Vec<Vec<i32>>,
    runs: u64,
    /// The three integers of the main program and its enumeration value after the last iteration.
    locals: (i32, i32, i32, u32),
}

#[derive(Clone)]
struct ReferenceRecord {
    ptr_comp: usize,
    discr: u32,
    enum_comp: u32,
    int_comp: i32,
    str_comp: String,
}

impl Reference {
    fn new() -> Self {
        let record = |int_comp, enum_comp, text: &str| ReferenceRecord {
            ptr_comp: 1,
            discr: 0,
            enum_comp,
            int_comp,
            str_comp: text.to_owned(),
        };
        let mut arr_2_glob = vec![vec![0; ARRAY_LEN]; ARRAY_LEN];
        arr_2_glob[8][7] = 10;
        Self {
            int_glob: 0,
            bool_glob: false,
            ch_1_glob: 0,
            ch_2_glob: 0,
            ptr_glob: 0,
            records: vec![
                record(40, 2, std::str::from_utf8(RECORD_TEXT).unwrap()),
                record(0, 0, ""),
            ],
            arr_1_glob: vec![0; ARRAY_LEN],
            arr_2_glob,
            runs: 0,
            locals: (0, 0, 0, 0),
        }
    }

    fn iterate(&mut self) {
        self.runs += 1;
        self.proc_5();
        self.proc_4();
        let (mut int_1, mut int_2, mut int_3) = (2, 3, 0);
        // Only their order and two of their letters matter, so other texts must lead to the same.
        let str_1 = "SOME OTHER TEXT: A";
        let mut str_2 = "SOME OTHER TEXT: B".to_owned();
        let mut enum_loc = 1;
        self.bool_glob = !self.func_2(str_1, &str_2);
        while int_1 < int_2 {
            int_3 = 5 * int_1 - int_2;
            // By chance what the procedure makes of the variable is what it was before.
            assert_eq!(int_3, 7);
            int_3 = Self::proc_7(int_1, int_2);
            int_1 += 1;
        }
        self.proc_8(int_1, int_3);
        self.proc_1(self.ptr_glob);
        for letter in b'A'..=self.ch_2_glob {
            if enum_loc == self.func_1(letter, b'C') {
                enum_loc = self.proc_6(0);
                "SOME OTHER TEXT: C".clone_into(&mut str_2);
                int_2 = i32::try_from(self.runs).unwrap();
                self.int_glob = int_2;
            }
        }
        int_2 *= int_1;
        int_1 = int_2 / int_3;
        int_2 = 7 * (int_2 - int_3) - int_1;
        int_1 = self.proc_2(int_1);
        self.locals = (int_1, int_2, int_3, enum_loc);
    }

    fn proc_1(&mut self, at: usize) {
        let next = self.records[at].ptr_comp;
        self.records[next] = self.records[self.ptr_glob].clone();
        self.records[at].int_comp = 5;
        self.records[next].int_comp = self.records[at].int_comp;
        self.records[next].ptr_comp = self.records[at].ptr_comp;
        self.records[next].ptr_comp = self.proc_3();
        if self.records[next].discr == 0 {
            self.records[next].int_comp = 6;
            self.records[next].enum_comp = self.proc_6(self.records[at].enum_comp);
            self.records[next].ptr_comp = self.records[self.ptr_glob].ptr_comp;
            self.records[next].int_comp = Self::proc_7(self.records[next].int_comp, 10);
        } else {
            self.records[at] = self.records[self.records[at].ptr_comp].clone();
        }
    }

    fn proc_2(&self, int_par: i32) -> i32 {
        let mut int_loc = int_par + 10;
        loop {
            if self.ch_1_glob == b'A' {
                int_loc -= 1;
                return int_loc - self.int_glob;
            }
        }
    }

    fn proc_3(&mut self) -> usize {
        self.records[self.ptr_glob].int_comp = Self::proc_7(10, self.int_glob);
        self.records[self.ptr_glob].ptr_comp
    }

    fn proc_4(&mut self) {
        self.bool_glob |= self.ch_1_glob == b'A';
        self.ch_2_glob = b'B';
    }

    fn proc_5(&mut self) {
        self.ch_1_glob = b'A';
        self.bool_glob = false;
    }

    fn proc_6(&self, value: u32) -> u32 {
        match value {
            0 => 0,
            1 if self.int_glob > 100 => 0,
            1 | 3 => 3,
            2 => 1,
            4 => 2,
            other => unreachable!("no identifier {other}"),
        }
    }

    fn proc_7(one: i32, two: i32) -> i32 {
        one + 2 + two
    }

    fn proc_8(&mut self, index: i32, value: i32) {
        let at = usize::try_from(index + 5).unwrap();
        let number = index + 5;
        self.arr_1_glob[at] = value;
        self.arr_1_glob[at + 1] = self.arr_1_glob[at];
        self.arr_1_glob[at + 30] = number;
        self.arr_2_glob[at][at..=at + 1].fill(number);
        self.arr_2_glob[at][at - 1] += 1;
        self.arr_2_glob[at + 20][at] = self.arr_1_glob[at];
        self.int_glob = 5;
    }

    fn func_1(&mut self, one: u8, two: u8) -> u32 {
        if one == two {
            self.ch_1_glob = one;
            1
        } else {
            0
        }
    }

    fn func_2(&mut self, one: &str, two: &str) -> bool {
        assert_eq!(self.func_1(one.as_bytes()[2], two.as_bytes()[3]), 0);
        if one > two {
            self.int_glob = 10;
        }
        one > two
    }

    fn state(&self) -> State {
        let identity = |value: u32| {
            use Identity::{Five, Four, One, Three, Two};
            [One, Two, Three, Four, Five][value as usize]
        };
        let records: Vec<RecordState> = self
            .records
            .iter()
            .map(|record| {
                let mut text = [0; 31];
                text[..record.str_comp.len()].copy_from_slice(record.str_comp.as_bytes());
                RecordState {
                    discriminant: identity(record.discr),
                    enumeration: identity(record.enum_comp),
                    integer: record.int_comp,
                    text,
                }
            })
            .collect();
        let row = |row: &Vec<i32>| <[i32; ARRAY_LEN]>::try_from(row.as_slice()).unwrap();
        State {
            iterations: self.runs,
            integer: self.int_glob,
            boolean: i32::from(self.bool_glob),
            characters: [self.ch_1_glob, self.ch_2_glob],
            records: records.try_into().unwrap(),
            array_1: row(&self.arr_1_glob),
            array_2: std::array::from_fn(|at| row(&self.arr_2_glob[at])),
        }
    }
}

#[test]
fn the_loop_leaves_what_the_papers_program_leaves() {
    let mut reference = Reference::new();
    let mut state = State::new();
    for iterations in [0, 1, 1, 2, 3, 100, 1000] {
        (0..iterations).for_each(|_| reference.iterate());
        run(&mut state, iterations, 1);
        assert_eq!(
            state,
            reference.state(),
            "{}",
            difference(&state, &reference.state())
        );
        assert_eq!(state, expected(reference.runs));
    }
    // The values that the paper prints for its local variables.
    assert_eq!(reference.locals, (5, 13, 7, 1));
    // The digest of all that, whatever the number of iterations.
    assert_eq!(digest(&reference.state()), digest(&expected(7)));
}

#[test]
fn twice_the_iterations_count_twice() {
    let count = |iterations| {
        let mut state = State::new();
        run(&mut state, iterations, 1);
        (state.iterations, state.array_2[8][7] - 10)
    };
    assert_eq!(count(12_345), (12_345, 12_345));
    assert_eq!(count(24_690), (24_690, 24_690));
}

#[test]
fn the_counter_in_the_array_wraps_like_an_int_in_c() {
    let start = u64::from(u32::MAX) - 20;
    let mut state = expected(start);
    run(&mut state, 50, 2);
    assert_eq!(state, expected(start + 50));
}

#[test]
fn batches_add_up_and_their_result_is_accepted() {
    let (_root, place) = place();
    for batches in [vec![], vec![0], vec![1], vec![7, 0, 1000, 1]] {
        let mut body = prepare(&DHRYSTONE, &[], &place).unwrap();
        for ops in &batches {
            assert_eq!(body.batch(*ops, &mut Recorder::off()).unwrap(), *ops);
        }
        let done: u64 = batches.iter().sum();
        assert_eq!(body.finish().unwrap().digest, digest(&expected(done)));
    }
}

#[test]
fn any_wrong_result_is_found() {
    let spoilt: [fn(&mut Iterations); 9] = [
        |body| body.asked += 1,
        |body| body.state.iterations += 1,
        |body| body.state.integer = 4,
        |body| body.state.boolean = 0,
        |body| body.state.characters[1] = b'C',
        |body| body.state.records[1].text[29] ^= 1,
        |body| body.state.records[0].enumeration = Identity::Four,
        |body| body.state.array_1[49] = 1,
        |body| body.state.array_2[8][7] += 1,
    ];
    for (number, spoil) in spoilt.into_iter().enumerate() {
        let mut body = Iterations {
            clone: 0,
            state: State::new(),
            asked: 0,
        };
        body.batch(100, &mut Recorder::off()).unwrap();
        spoil(&mut body);
        let error = body.finish().unwrap_err();
        assert!(matches!(error, WorkError::Wrong(_)), "{number}: {error}");
        let text = error.to_string();
        assert!(text.contains("in place of"), "{number}: {text}");
    }
}

#[test]
fn compat_keeps_the_originals_length_and_passes() {
    let params = |compat| crate::os::testing::params(&DHRYSTONE, &[("compat", compat)]);
    assert_eq!(DHRYSTONE.shape(&params("off")), Shape::DEFAULT);
    for compat in ["5.1.3", "6"] {
        let shape = DHRYSTONE.shape(&params(compat));
        assert_eq!((shape.measure.0, shape.rounds), (10_000_000_000, Some(10)));
    }
}
