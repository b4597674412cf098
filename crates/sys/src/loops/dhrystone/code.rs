//! The procedures of Dhrystone: compiled three times, each time into a section of its own, so that all of them lie at
//! other places within their cache lines in each clone. What is around them is in the file above.

use super::{
    ARRAY_LEN, Array1, Array2, FIRST_TEXT, GLOBAL, Identity, Record, SECOND_TEXT, TEXT_LEN,
    THIRD_TEXT, Text,
};
use crate::loops::align::begin_section;
use crate::loops::opaque::opaque_i32;
use std::cell::Cell;
use std::hint::black_box;
use std::sync::atomic::{Ordering, compiler_fence};

begin_section!(section!(), pad!());

/// The paper's main program, until `last` iterations have been done in all.
#[inline(never)]
#[unsafe(link_section = section!())]
pub(super) fn iterate(last: u64) {
    let first = Text::new(FIRST_TEXT);
    let second = Text::new(&[0; TEXT_LEN]);
    let integer_3 = Cell::new(0);
    let enumeration = Cell::new(Identity::One);
    // From here on the compiler assumes that any procedure may use these.
    black_box((&GLOBAL, &first, &second, &integer_3, &enumeration));
    while GLOBAL.iterations.get() != last {
        GLOBAL
            .iterations
            .set(GLOBAL.iterations.get().wrapping_add(1));
        procedure_5();
        procedure_4();
        let mut integer_1 = 2;
        let integer_2 = 3;
        second.assign(SECOND_TEXT);
        enumeration.set(Identity::Two);
        GLOBAL.boolean.set(i32::from(!function_2(&first, &second)));
        while integer_1 < integer_2 {
            integer_3.set(5 * integer_1 - integer_2);
            procedure_7(integer_1, integer_2, &integer_3);
            integer_1 += 1;
        }
        procedure_8(&GLOBAL.array_1, &GLOBAL.array_2, integer_1, integer_3.get());
        procedure_1(GLOBAL.record());
        let mut letter = b'A';
        while letter <= GLOBAL.character_2.get() {
            if enumeration.get() == function_1(i32::from(letter), i32::from(b'C')) {
                procedure_6(Identity::One, &enumeration);
                second.assign(THIRD_TEXT);
                GLOBAL.integer.set(low_half(GLOBAL.iterations.get()));
            }
            letter = letter.wrapping_add(1);
        }
    }
}

#[inline(never)]
#[unsafe(link_section = section!())]
fn procedure_1(pointer: &Record) {
    compiler_fence(Ordering::SeqCst);
    let next = pointer.next();
    next.assign(GLOBAL.record());
    pointer.integer.set(5);
    next.integer.set(pointer.integer.get());
    next.next.set(pointer.next.get());
    procedure_3(&next.next);
    if next.discriminant.get() == Identity::One {
        next.integer.set(6);
        procedure_6(pointer.enumeration.get(), &next.enumeration);
        next.next.set(GLOBAL.record().next.get());
        procedure_7(next.integer.get(), 10, &next.integer);
    } else {
        pointer.assign(pointer.next());
    }
}

#[inline]
fn procedure_3(reference: &Cell<*const Record>) {
    reference.set(GLOBAL.record().next.get());
    procedure_7(10, GLOBAL.integer.get(), &GLOBAL.record().integer);
}

#[inline]
fn procedure_4() {
    let boolean = GLOBAL.character_1.get() == b'A';
    GLOBAL
        .boolean
        .set(i32::from(boolean) | GLOBAL.boolean.get());
    GLOBAL.character_2.set(b'B');
}

#[inline]
fn procedure_5() {
    GLOBAL.character_1.set(b'A');
    GLOBAL.boolean.set(0);
}

/// Branches in the order in which C compilers leave them: the value that function 3 asks for first.
#[inline(never)]
#[unsafe(link_section = section!())]
fn procedure_6(value: Identity, reference: &Cell<Identity>) {
    compiler_fence(Ordering::SeqCst);
    if function_3(value) {
        reference.set(Identity::Two);
        return;
    }
    reference.set(Identity::Four);
    if value == Identity::One || (value == Identity::Two && GLOBAL.integer.get() > 100) {
        reference.set(Identity::One);
    } else if value == Identity::Five {
        reference.set(Identity::Three);
    }
}

#[inline(never)]
#[unsafe(link_section = section!())]
fn procedure_7(first: i32, second: i32, reference: &Cell<i32>) {
    compiler_fence(Ordering::SeqCst);
    let local = opaque_i32(first).wrapping_add(2);
    reference.set(opaque_i32(second).wrapping_add(local));
}

#[inline(never)]
#[unsafe(link_section = section!())]
fn procedure_8(array_1: &Array1, array_2: &Array2, index: i32, value: i32) {
    compiler_fence(Ordering::SeqCst);
    let local = opaque_i32(opaque_i32(index).wrapping_add(5));
    // One check in place of one for each access: with it the compiler sees that all of them are inside.
    if !(1..20).contains(&local.cast_unsigned()) {
        return;
    }
    let at = usize::try_from(local.cast_unsigned()).unwrap_or(ARRAY_LEN);
    array_1[at].set(value);
    array_1[at + 1].set(array_1[at].get());
    array_1[at + 30].set(local);
    for column in [at, at + 1] {
        array_2[at][column].set(local);
    }
    array_2[at][at - 1].set(array_2[at][at - 1].get().wrapping_add(1));
    array_2[at + 20][at].set(array_1[at].get());
    GLOBAL.integer.set(5);
}

#[inline(never)]
#[unsafe(link_section = section!())]
fn function_1(first: i32, second: i32) -> Identity {
    compiler_fence(Ordering::SeqCst);
    compare_letters(opaque_i32(first), opaque_i32(second))
}

/// The body of function 1, which C compilers inline into function 2, of the same file.
#[inline]
fn compare_letters(first: i32, second: i32) -> Identity {
    if first == second {
        GLOBAL.character_1.set(first.to_le_bytes()[0]);
        Identity::Two
    } else {
        Identity::One
    }
}

#[inline(never)]
#[unsafe(link_section = section!())]
fn function_2(first: &Text, second: &Text) -> bool {
    compiler_fence(Ordering::SeqCst);
    let mut local = 2;
    let mut letter = 0;
    while local <= 2 {
        if compare_letters(first.character(local), second.character(local + 1)) == Identity::One {
            letter = b'A';
            local += 1;
        }
    }
    if (b'W'..b'Z').contains(&letter) {
        local = 7;
    }
    if letter == b'R' {
        return true;
    }
    // SAFETY: both texts end with a NUL inside of their array.
    let order = unsafe { libc::strcmp(first.as_ptr(), second.as_ptr()) };
    if order > 0 {
        GLOBAL.integer.set(if local == 7 { 14 } else { 10 });
        return true;
    }
    false
}

#[inline]
fn function_3(value: Identity) -> bool {
    value == Identity::Three
}

/// The low 32 bits, as C converts a long to an int.
fn low_half(word: u64) -> i32 {
    let [a, b, c, d, ..] = word.to_le_bytes();
    i32::from_le_bytes([a, b, c, d])
}

/// Where every procedure of this clone begins.
#[cfg(test)]
pub(super) fn addresses() -> Vec<usize> {
    let all = [
        iterate as *const (),
        procedure_1 as *const (),
        procedure_6 as *const (),
        procedure_7 as *const (),
        procedure_8 as *const (),
        function_1 as *const (),
        function_2 as *const (),
    ];
    all.map(<*const ()>::addr).to_vec()
}
