//! A depth is kept: what the queue is said to have held, over engines and batch options, is what fio's documentation
//! says of them, and what fio itself tells.

use super::*;

/// What a job says of its queue, and what that means: most that go in together, how many come out together, and to
/// what it drains before it is filled again.
type Batches = (&'static str, u32, u32, u32);

const DEPTH: u32 = 32;

const BATCHES: [Batches; 9] = [
    ("", 1, 1, DEPTH),
    ("iodepth_batch=4", 4, 1, DEPTH),
    ("iodepth_batch=8\niodepth_batch_complete_min=8", 8, 8, DEPTH),
    ("iodepth_batch_complete_min=4", 1, 4, DEPTH),
    ("iodepth_batch=4\niodepth_batch_complete=16", 4, 16, DEPTH),
    ("iodepth_low=8", 1, 1, 8),
    ("iodepth_low=8\niodepth_batch=4", 4, 1, 8),
    (
        "iodepth_low=16\niodepth_batch=16\niodepth_batch_complete_min=16",
        16,
        16,
        16,
    ),
    (
        "iodepth_batch=32\niodepth_batch_complete_min=32",
        32,
        32,
        DEPTH,
    ),
];

/// The shares of operations by how many were under way once they had gone in, in per cent: from 1, 2, 4, 8, 16 and 32.
fn expected((_, together, taken, low): Batches) -> [f64; 6] {
    let mut under_way = DEPTH;
    while under_way > low.min(DEPTH - 1) {
        under_way = under_way.saturating_sub(taken);
    }
    let all = f64::from(DEPTH - under_way);
    let mut shares = [0.0; 6];
    while under_way < DEPTH {
        let begun = together.min(DEPTH - under_way);
        under_way += begun;
        shares[under_way.ilog2() as usize] += 100.0 * f64::from(begun) / all;
    }
    shares
}

fn levels(job: &Value) -> [f64; 6] {
    ["1", "2", "4", "8", "16", "32"].map(|from| job["iodepth_level"][from].as_f64().unwrap())
}

fn check(program: &str, report: &Value, expected: &[(String, [f64; 6])]) {
    let jobs = report["jobs"].as_array().unwrap();
    assert_eq!(jobs.len(), expected.len());
    for (job, (case, shares)) in jobs.iter().zip(expected) {
        let found = levels(job);
        for (found_share, share) in found.iter().zip(shares) {
            assert!(
                (found_share - share).abs() < 2.0,
                "{program} {case}: {found:?}, and not {shares:?}"
            );
        }
    }
}

#[test]
fn a_depth_is_kept_over_engines_and_batches_as_fio_says_and_does() {
    let mut text = "[global]\nrw=randread\nbs=4k\nsize=16m\nfilename=f\niodepth=32\n".to_owned();
    let mut cases: Vec<(String, [f64; 6])> = Vec::new();
    let mut add = |engine: &str, options: &str, shares: [f64; 6]| {
        let name = format!("{engine}-{}", cases.len());
        let job = format!("[{name}]\nstonewall\nioengine={engine}\n{options}\n");
        text.push_str(&job);
        cases.push((format!("{engine} {options:?}"), shares));
    };
    let has_uring = sys::probe::io_uring(&sys::tree::Tree::real()).is_ok();
    if !has_uring {
        eprintln!("skipped with io_uring: it does not work here");
    }
    let queues = ["io_uring", "libaio"]
        .into_iter()
        .filter(|name| has_uring || *name == "libaio");
    for engine in queues {
        for batches in BATCHES {
            add(engine, batches.0, expected(batches));
        }
    }
    // One at a time, whatever is said.
    for engine in ["psync", "pvsync2", "mmap"] {
        for options in [
            "",
            "iodepth_batch=8\niodepth_batch_complete_min=8",
            "iodepth_low=8",
        ] {
            add(engine, options, [100.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        }
    }
    let dir = work_dir();
    std::fs::write(dir.path().join("q.fio"), &text).unwrap();
    let bed = Bed::new();
    let run = |mut command: std::process::Command| -> Value {
        let command = command.current_dir(dir.path());
        let done = command
            .args(["--output-format=json", "q.fio"])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "{said}");
        let text = String::from_utf8(done.stdout).unwrap();
        serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap()
    };
    check("kurabe", &run(bed.command(&["fio"])), &cases);
    if let Some(why) = beside::missing() {
        eprintln!("skipped beside fio: {why}");
        return;
    }
    std::fs::remove_file(dir.path().join("f")).unwrap();
    check("fio", &run(beside::theirs()), &cases);
}
