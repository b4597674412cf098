//! Does as many Dhrystone iterations as its argument says, and nothing else: for counting instructions with a tool
//! such as callgrind. It fails where the iterations were not done.

use sys::loops::dhrystone::{State, run};

fn main() {
    let iterations = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .expect("the argument is a number of iterations");
    let mut state = State::new();
    run(&mut state, iterations, 0);
    assert_eq!(state.iterations, iterations);
}
