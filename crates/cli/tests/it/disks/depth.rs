//! A depth is a depth: what a job of `kurabe fio` tells of its queue on a device of its own, and fio beside it.

use super::*;

/// A job on the device, and what it must tell: the shares of operations with a depth from 16 and from 32 on, in per
/// cent, the class of all submissions, and that of all completions.
type Line = (&'static str, [f64; 2], &'static str, &'static str);

/// As it comes; and half of the queue waited for, handed over in one go, in fours, and one by one.
const LINES: [Line; 4] = [
    ("", [0.0, 100.0], "4", "4"),
    (
        "--iodepth_batch=16 --iodepth_batch_complete_min=16",
        [0.0, 100.0],
        "16",
        "16",
    ),
    (
        "--iodepth_batch=4 --iodepth_batch_complete_min=16",
        [75.0, 25.0],
        "4",
        "16",
    ),
    (
        "--iodepth_batch=1 --iodepth_batch_complete_min=16",
        [93.75, 6.25],
        "4",
        "16",
    ),
];

/// What the report of this program says of the queue.
fn check(program: &str, job: &str, (batches, levels, submit, complete): Line) {
    let text = sh(&format!("{program} {job} {batches} --output-format=json"));
    let report: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
    let told = &report["jobs"][0];
    let share = |of: &str, class: &str| told[of][class].as_f64().unwrap();
    let case = || {
        let queue = ["iodepth_level", "iodepth_submit", "iodepth_complete"].map(|of| &told[of]);
        format!("{program} {job} {batches}: {queue:?}")
    };
    for (class, expect) in ["16", "32"].into_iter().zip(levels) {
        let found = share("iodepth_level", class);
        assert!((found - expect).abs() < 1.0, "{}", case());
    }
    assert!(share("iodepth_submit", submit) > 99.0, "{}", case());
    assert!(share("iodepth_complete", complete) > 99.0, "{}", case());
}

mod root {
    use super::*;

    #[test]
    #[ignore = "root: a loop device"]
    fn a_depth_of_32_is_kept_and_told_as_fio_does() {
        let disk = Loop::with("64m", "");
        let bed = Bed::new();
        let kurabe = format!(
            "KURABE_STORE={} {} fio --quiet",
            bed.path().join("store.db").display(),
            env!("CARGO_BIN_EXE_kurabe")
        );
        let has_fio = is_installed("fio");
        if !has_fio {
            eprintln!("skipped beside fio: it is not installed");
        }
        for engine in ["io_uring", "libaio"] {
            let job = format!(
                "--name=t --filename={} --rw=randread --bs=4k --direct=1 --iodepth=32 --number_ios=10000 \
                 --size=32m --ioengine={engine}",
                disk.device
            );
            for line in LINES {
                check(&kurabe, &job, line);
                if has_fio {
                    check("fio", &job, line);
                }
            }
        }
    }
}
