//! Memory tests on the real binary where the machine has little: one CPU, no huge pages, a limit on memory.

use crate::bed::Bed;

#[test]
fn on_one_cpu_what_needs_two_is_left_out_with_its_reason_and_the_rest_is_measured() {
    let bed = Bed::new();
    let args = [
        "run",
        "memory.round-trip",
        "memory.latency-16k",
        "memory.loaded-100@2",
        "memory.loaded-100@1",
        "--set",
        "memory.loaded-100.size=2M",
        "--set",
        "memory.loaded-100.pages=small",
        "--passes",
        "1",
        "--full",
    ];
    // What cannot be measured with two copies is a round that failed; what no copy can is left out of the plan.
    let done = bed.behind(&["taskset", "-c", "0"], &args).code(4);
    done.out_has(&[
        "memory.latency-16k@1",
        "only one CPU is allowed",
        "a chain and 1 streams need a CPU each, and 1 are allowed",
        "memory.loaded-100@1:load_bytes_per_s",
        "one copy is the chain alone: there are no streams",
    ]);
}

#[test]
fn copies_that_wait_for_a_cpu_are_said_to_wait() {
    let bed = Bed::new();
    let args = [
        "run",
        "memory.latency-16k",
        "--copies",
        "3",
        "--passes",
        "1",
        "--full",
    ];
    let done = bed.behind(&["taskset", "-c", "0"], &args).code(0);
    done.out_says(&[
        "of the time the test was not on a CPU",
        "there are only 1 CPU",
    ]);
}

#[cfg(target_arch = "x86_64")]
#[test]
fn where_there_are_no_huge_pages_nothing_is_measured_with_them_and_the_rest_is() {
    // prctl(PR_SET_THP_DISABLE), which programs inherit.
    const WITHOUT: &str = "syscall(157, 41, 1, 0, 0, 0) == 0 or die $!; exec @ARGV or die $!";
    let bed = Bed::new();
    let args = [
        "run",
        "memory.latency-8m-huge",
        "memory.latency-16k",
        "--passes",
        "1",
    ];
    let done = bed.behind(&["perl", "-e", WITHOUT], &args).code(4);
    done.out_has(&[
        "memory.latency-16k@1",
        "huge pages: 0 % of the memory obtained them",
    ]);
}

#[test]
fn a_size_that_does_not_fit_is_left_out_with_what_it_needs() {
    let bed = Bed::new();
    let args = [
        "run",
        "memory.latency-512m",
        "memory.latency-16k",
        "--set",
        "memory.latency-512m.size=256G",
        "--passes",
        "1",
        "--full",
    ];
    let done = bed.run(&args).code(0);
    done.out_has(&[
        "memory.latency-16k@1",
        "too little memory: 278528 MiB are needed",
    ]);
}

mod root {
    use super::*;
    use crate::root::MemoryLimit;

    /// Pages that were swapped out on this machine since it was started.
    fn swapped_out() -> String {
        let counts = std::fs::read_to_string("/proc/vmstat").unwrap();
        let line = counts.lines().find(|line| line.starts_with("pswpout "));
        line.expect("the kernel counts what it swaps out")
            .to_owned()
    }

    #[test]
    #[ignore = "root: makes a memory cgroup"]
    fn the_limit_of_a_cgroup_is_kept_and_nothing_is_swapped() {
        let bed = Bed::new();
        let limit = MemoryLimit::new(300 << 20);
        let before = swapped_out();
        // Its first line is the heading.
        if std::fs::read_to_string("/proc/swaps")
            .unwrap()
            .lines()
            .count()
            < 2
        {
            eprintln!("skipped in part: there is no swap here, so that nothing can be swapped out");
        }
        let args = [
            "run",
            "memory.latency-512m",
            "memory.latency-128m",
            "memory.latency-128m@2",
            "--passes",
            "1",
        ];
        // What fits once and not twice is left out for two copies.
        let done = limit.run(&bed, "", &args).code(0);
        done.out_has(&[
            "memory.latency-128m@1",
            "too little memory: 544 MiB are needed",
            "memory.latency-128m@2",
            "too little memory: 272 MiB are needed",
        ]);
        // Arrays beyond the last cache, or a cache so large that there is no room for them, whichever machine this is.
        let done = limit.run(
            &bed,
            "",
            &["run", "memory.triad", "--passes", "1", "--full"],
        );
        let refused = done.out.contains("too little memory: ");
        let done = done.code(if refused { 4 } else { 0 });
        let told = done.out.contains("array_bytes ");
        assert_eq!(told, !refused, "{}", done.out);
        assert_eq!(swapped_out(), before);
        assert_eq!(bed.left_behind(), [""; 0]);
    }

    #[test]
    #[ignore = "root: makes a memory cgroup"]
    fn a_curve_that_the_limit_of_a_cgroup_ends_says_so() {
        let bed = Bed::new();
        // Not even the 128 MiB that a curve has at least.
        let limit = MemoryLimit::new(120 << 20);
        let args = ["run", "memory.levels-small", "--passes", "1", "--full"];
        let done = limit.run(&bed, "", &args).code(0);
        done.out_says(&[
            "the curve ends at",
            "MiB: four times the last cache",
            "do not fit into the memory",
        ]);
    }

    #[test]
    #[ignore = "root: makes a memory cgroup"]
    fn copies_share_little_memory_evenly_and_stay_within_it() {
        let bed = Bed::new();
        // What arrays are on machines of other caches is tested in `memory::curve::observed`; here, that two processes
        // agree within a limit of the kernel's, or are refused by it, whatever the caches of this machine are.
        let limit_mib = 700;
        let limit = MemoryLimit::new(limit_mib << 20);
        let args = ["run", "memory.triad@2", "--passes", "2", "--full"];
        let done = limit.run(&bed, "", &args);
        let said: Vec<&str> = done.out.split_whitespace().collect();
        if let Some((_, why)) = said.join(" ").split_once("too little memory: ") {
            let mib = |text: &str| text.split(' ').find_map(|word| word.parse::<u64>().ok());
            let (needed, left) = why.split_once("each copy may take").unwrap();
            let (needed, left) = (mib(needed).unwrap(), mib(left).unwrap());
            assert!(left < needed && 2 * left < limit_mib, "{}", done.out);
            return;
        }
        done.code(0);
        let text = bed.run(&["export", "latest"]).code(0).out;
        let kept: serde_json::Value = serde_json::from_str(&text).unwrap();
        let rounds = kept["run"]["rounds"].as_array().unwrap();
        assert_eq!(rounds.len(), 2);
        for round in rounds {
            let copies = &round["outcome"]["done"]["copies"];
            let bytes = |copy: usize| copies[copy]["reported"]["array_bytes"].as_f64().unwrap();
            assert_eq!(bytes(0).to_bits(), bytes(1).to_bits());
            // All three arrays of both, within the limit.
            assert!(bytes(0) * 6.0 < 700.0 * 1_048_576.0, "{copies}");
        }
    }

    /// The last CPU, taken offline until the end.
    struct Offline(String);

    impl Offline {
        fn new() -> (Self, usize) {
            let cpus = std::fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
            let last = cpus.trim().rsplit([',', '-']).next().unwrap();
            let file = format!("/sys/devices/system/cpu/cpu{last}/online");
            let before = std::thread::available_parallelism().unwrap().get();
            assert!(before > 1, "one CPU cannot spare any");
            std::fs::write(&file, "0").unwrap_or_else(|error| panic!("{file}: {error}"));
            (Self(file), before - 1)
        }
    }

    impl Drop for Offline {
        fn drop(&mut self) {
            std::fs::write(&self.0, "1").unwrap();
        }
    }

    #[test]
    #[ignore = "root: takes a CPU offline for a few seconds"]
    fn an_offline_cpu_does_not_count_and_nothing_is_kept_on_it() {
        let bed = Bed::new();
        let (_offline, left) = Offline::new();
        let args = [
            "run",
            "memory.latency-16k",
            "cpu.prime",
            "--copies",
            "all",
            "--passes",
            "2",
        ];
        let done = bed.run(&args).code(0);
        done.out_has(&[
            &format!("memory.latency-16k@{left}"),
            &format!("cpu.prime@{left}"),
        ]);
    }
}
