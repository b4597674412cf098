//! Jobs that hold each other back.

use super::*;

/// Runs this line and gives the operations of its jobs.
fn ops(line: &str) -> Vec<f64> {
    let args: Vec<&str> = std::iter::once("--ioengine=null")
        .chain(line.split(' '))
        .collect();
    let report = json(&Bed::new(), &args);
    let jobs = report["jobs"].as_array().unwrap().iter();
    jobs.map(|job| model::num::approx(total(job, "read")))
        .collect()
}

#[test]
fn what_jobs_of_a_flow_do_is_as_their_weights_until_the_first_is_over() {
    // All end with the first: nobody has time to itself on a busy machine.
    let line = "--size=100g --exitall --name=a --flow=1 --number_ios=200k --name=b --flow=3 --name=c --flow=1 \
                --flow_id=7";
    let done = ops(line);
    let [a, b, c] = done[..] else {
        panic!("{done:?}")
    };
    assert!((2.5..=3.5).contains(&(b / a)), "{done:?}");
    assert!(c > b, "alone in its flow it is not held back: {done:?}");
    // The second waits for nobody when the first is over, and the third never began with them.
    let done = ops(
        "--bs=4k --flow=1 --name=a --size=40k --name=b --size=40m --name=c --size=4m --stonewall",
    );
    assert_eq!(done, [10.0, 10_240.0, 1024.0]);
}
