//! Does as many events of trial division as its first argument says, up to the limit in its second, with the bound
//! (0 for `Float`, 1 for `Whole`) and the clone that the others name, and nothing else: for counting instructions with
//! a tool such as callgrind. It fails where events do not find the same primes.

use sys::loops::prime::{Bound, event};

fn main() {
    let arguments: Vec<u64> = std::env::args()
        .skip(1)
        .map(|text| text.parse().expect("arguments are numbers"))
        .collect();
    let [events, limit, bound, clone] = arguments[..] else {
        panic!("the arguments are events, limit, bound and clone");
    };
    let bound = match bound {
        0 => Bound::Float,
        1 => Bound::Whole,
        other => panic!("no bound has the number {other}"),
    };
    let clone = u32::try_from(clone).expect("a clone's number is small");
    let first = event(limit, bound, clone);
    assert!((1..events).all(|_| event(limit, bound, clone) == first));
}
