//! Does as many Whetstone passes of scale 1 as its argument says, and nothing else: for counting instructions with a
//! tool such as callgrind. It fails where passes do not agree with each other.

use sys::loops::whetstone::pass;

fn main() {
    let passes: u64 = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .expect("the argument is a number of passes");
    let first = pass(1, 0);
    assert!((1..passes).all(|_| pass(1, 0) == first));
}
