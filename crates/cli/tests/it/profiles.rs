//! Profiles on the real binary: all of their tests run, on one CPU too, and what a machine cannot tell is said.

use crate::bed::Bed;
use serde_json::Value;

/// The document of the last run.
fn document(bed: &Bed) -> Value {
    let shown = bed.run(&["show", "--format", "json"]).code(0);
    serde_json::from_str(&shown.out).unwrap()
}

/// The estimate of a metric such as `cpu.prime@2:ops_per_s`.
fn estimate(document: &Value, id: &str) -> f64 {
    let mut metrics = document["metrics"].as_array().unwrap().iter();
    let metric = metrics
        .find(|metric| metric["id"] == id)
        .unwrap_or_else(|| panic!("no {id}"));
    metric["estimate"]
        .as_f64()
        .unwrap_or_else(|| panic!("{metric}"))
}

/// Every step of every block about scaling: test, copies, and the step.
fn steps(document: &Value) -> Vec<(String, f64, &Value)> {
    let mut found = Vec::new();
    for block in document["scaling"].as_array().unwrap() {
        let test = block["test"].as_str().unwrap();
        for step in block["steps"].as_array().unwrap() {
            let copies = step["concurrency"].as_f64().unwrap();
            found.push((test.to_owned(), copies, step));
        }
    }
    found
}

/// So many CPUs cannot give more time than they have. A hundredth is for the instants at which clocks are read, and
/// more where processes take turns: their measured parts do not begin at the same instant.
#[track_caller]
fn check_on_cpu(document: &Value, cpus: f64) {
    for (test, copies, step) in steps(document) {
        let share = step["on_cpu_share"].as_f64().unwrap();
        let room = if copies > cpus { 1.1 } else { 1.01 };
        assert!(
            share > 0.0 && share * copies <= room * copies.min(cpus),
            "{test}@{copies} is said to be on a CPU for {share} of the time"
        );
    }
}

#[test]
fn what_lives_through_the_warm_up_is_not_counted_as_more_time_than_a_cpu_has() {
    let bed = Bed::new();
    let args = [
        "run",
        "os.spawn",
        "os.execl",
        "os.context",
        "os.shell-1",
        "--copies",
        "steps",
        "--passes",
        "1",
    ];
    bed.behind(&["taskset", "-c", "0"], &args).code(0);
    let document = document(&bed);
    assert_eq!(steps(&document).len(), 8);
    check_on_cpu(&document, 1.0);
}

#[test]
fn the_cpu_and_memory_profiles_fit_into_one_run() {
    let bed = Bed::new();
    let args = ["run", "cpu", "memory", "--dry-run"];
    let planned = bed.run(&args).code(0);
    let planned = planned.out_has(&[
        "cpu.whetstone@1",
        "cpu.json-write@1",
        "memory.levels-small@1",
        "memory.loaded-50@",
        "memory.copy-nt@1",
        "memory.triad-nt@1",
        "memory.round-trip@1",
    ]);
    let text = &planned.out;
    assert!(!text.contains("do not fit"), "{text}");
}

#[test]
fn a_first_look_says_what_it_writes_and_what_it_does_without() {
    let bed = Bed::new();
    let memory = bed.run(&["run", "--dry-run", "--dir", "/dev/shm"]).code(0);
    let memory = memory.out_has(&[
        "cpu.whetstone@1",
        "fs.copy-4096@1",
        "left out: storage.randread-4k and 6 more (`/dev/shm` is in memory (tmpfs))",
    ]);
    assert!(!memory.out.contains("writes to storage"), "{}", memory.out);
    // Nobody can make a file there, root neither.
    let refused = "create a file in `/sys`";
    let read_only = bed.run(&["run", "--dry-run", "--dir", "/sys"]).code(0);
    read_only
        .err_has(&["note: ", refused, "and no disk"])
        .out_has(&["cpu.whetstone@1", "storage.randread-4k and 6 more", refused]);
    let asked_for = ["run", "fs.copy-256", "--dry-run", "--dir", "/sys"];
    bed.run(&asked_for).code(2).err_has(&[refused]);
    let asked_for = ["run", "quick", "fs.copy-256", "--dry-run", "--dir", "/sys"];
    bed.run(&asked_for).code(2).err_has(&[refused]);
    // Who asks for a disk test by its name gets it, wherever it is.
    let named = ["run", "storage.write-1m", "--dry-run", "--dir", "/dev/shm"];
    let named = bed.run(&named).code(0);
    named.out_has(&[
        "storage.write-1m@1",
        "writes to storage: up to",
        "GiB in files, and without a pause for 14 s",
    ]);
}

#[test]
fn a_run_without_a_disk_is_complete_and_its_page_says_what_is_left_out() {
    let bed = Bed::new();
    let text = "title = 'mine'\ntests = ['selftest.replay']\ndisk = ['storage.*k@1']\npasses = 6";
    std::fs::write(bed.path().join("mine.toml"), text).unwrap();
    let run = ["run", "mine.toml", "--dir", "/dev/shm", "--copies", "1"];
    let done = bed.run(&run).code(0);
    done.out_says(&[
        "9 left out, kurabe",
        "and 8 more (`/dev/shm` is in memory (tmpfs)",
    ]);
}

#[test]
fn an_ordered_profile_runs_its_tests_as_listed_in_every_pass() {
    const PASSES: usize = 9;
    let order_of = |more: &str| {
        let bed = Bed::new();
        let copies = "copies = ['1', '2', '3']";
        let text = format!(
            "title = 'mine'\ntests = ['selftest.replay']\npasses = {PASSES}\n{copies}\n{more}"
        );
        std::fs::write(bed.path().join("mine.toml"), text).unwrap();
        let planned = bed.run(&["run", "mine.toml", "--dry-run"]).code(0).out;
        let says = planned.contains("order: as listed, in every pass; nothing is shuffled\n");
        bed.run(&["run", "mine.toml", "--seed", "7"]).code(0);
        let kept = bed.run(&["export", "latest"]).code(0).out;
        let run = store::export::read(&kept).unwrap();
        let copies: Vec<u32> = run.rounds.iter().map(|round| round.case.copies).collect();
        (says, copies)
    };
    let (says, listed) = order_of("ordered = true");
    assert!(says);
    assert_eq!(listed, [1, 2, 3].repeat(PASSES));
    let (says, shuffled) = order_of("");
    assert!(!says);
    assert_eq!(shuffled.len(), listed.len());
    assert_ne!(shuffled, listed, "of 6 to the ninth orders it is one");
}

mod slow {
    use super::*;

    /// With less work in an event and smaller arrays than usual.
    #[test]
    #[ignore = "slow: two profiles, half a minute"]
    fn sysbench_and_mbw_give_all_their_figures_on_one_cpu() {
        let bed = Bed::new();
        let mut args = vec!["run", "sysbench", "mbw", "--passes", "1"];
        for set in [
            "mbw.size=8M",
            "os.threads.yields=100",
            "os.mutex.locks=2000",
        ] {
            args.extend(["--set", set]);
        }
        let done = bed.behind(&["taskset", "-c", "0"], &args).code(0);
        done.out_has(&["mean time"]);
        let document = document(&bed);
        for test in [
            "cpu.prime",
            "os.threads",
            "os.mutex",
            "memory.block-write",
            "memory.block-read",
        ] {
            for threads in [1, 2, 4, 8, 16] {
                let of = |what: &str| estimate(&document, &format!("{test}@{threads}:{what}"));
                for quantity in ["ops_per_s", "ops_per_cpu_s", "lat_ns_min", "lat_ns_mean"] {
                    assert!(of(quantity) > 0.0, "{test}@{threads} {quantity}");
                }
                assert!(of("lat_ns_mean") <= of("lat_ns_max"), "{test}@{threads}");
            }
        }
        for method in ["memcpy", "dumb", "mcblock"] {
            let id = format!("memory.mbw-{method}@1:bytes_per_s");
            assert!(estimate(&document, &id) > 0.0);
        }
        let steps = steps(&document);
        assert_eq!(steps.len(), 25);
        for (test, copies, step) in &steps {
            let mean = step["event_mean_ns"]["estimate"].as_f64().unwrap();
            let id = format!("{test}@{copies}:lat_ns_mean");
            assert!((mean / estimate(&document, &id) - 1.0).abs() < 1e-9, "{id}");
        }
        check_on_cpu(&document, 1.0);
    }

    #[test]
    #[ignore = "slow: a profile, half a minute"]
    fn one_cpu_is_told_that_there_is_nothing_to_scale_to() {
        let bed = Bed::new();
        let args = [
            "run",
            "scaling",
            "--passes",
            "1",
            "--set",
            "memory.triad.size=16M",
        ];
        let done = bed.behind(&["taskset", "-c", "0"], &args).code(0);
        let done = done.out_says(&[
            "there is one CPU: nothing to scale to",
            "no Universal Scalability Law: its three figures need 3 concurrencies within the usable CPUs, here are 1",
            "they take turns on 1 CPU",
        ]);
        let blocks = done.out.matches("nothing to scale to").count();
        assert_eq!(blocks, 9, "one for each test:\n{}", done.out);
        check_on_cpu(&document(&bed), 1.0);
    }
}

mod root {
    use super::*;
    use crate::root::{CpuQuota, sh};

    #[test]
    #[ignore = "root: makes a CPU cgroup"]
    fn a_quota_is_named_as_what_limits_the_copies() {
        let cpus = std::thread::available_parallelism().unwrap().get();
        assert!(cpus > 1, "a quota below one CPU leaves nothing to scale to");
        let bed = Bed::new();
        // Of all CPUs but one a half: as many copies as CPUs may run, and not all the time.
        let allowed = f64::from(u32::try_from(cpus).unwrap()) - 0.5;
        let quota = CpuQuota::new(allowed);
        let args = ["run", "cpu.sha256", "--copies", "steps", "--passes", "6"];
        let done = quota.run(&bed, &args).code(0);
        let done = done.out_says(&[&format!("a quota allows {allowed} CPUs at the same time")]);
        // Where other programs take so much that the quota is never used up, they are named.
        let named = [
            &format!("a quota of {allowed} CPUs limits it, not the CPUs there are"),
            "other processes of this machine took",
        ];
        assert!(
            named.iter().any(|named| done.out.contains(named)),
            "{}",
            done.out
        );
    }

    #[test]
    #[ignore = "root: mounts a small file system"]
    fn a_first_look_leaves_the_disk_out_where_it_is_too_small_or_read_only() {
        let bed = Bed::new();
        let (image, at) = (bed.path().join("image"), bed.path().join("at"));
        let (image, at) = (image.display(), at.display().to_string());
        sh(&format!("truncate -s 120M {image}; mkfs.ext4 -qF {image}"));
        sh(&format!("mkdir {at}; mount -o loop {image} {at}"));
        let args = ["run", "--dry-run", "--dir", &at];
        let small = bed.run(&args);
        sh(&format!("mount -o remount,ro {at}"));
        let read_only = bed.run(&args);
        sh(&format!("umount {at}"));
        let left_out = "left out: storage.randread-4k and 6 more (";
        let small = small.code(0);
        small.out_has(&[
            "cpu.whetstone@1",
            left_out,
            "and at least 64 MiB are needed",
        ]);
        let read_only = read_only
            .code(0)
            .err_has(&["note: ", "EROFS", "and no disk"]);
        read_only.out_has(&["cpu.whetstone@1", left_out, "EROFS"]);
    }
}
