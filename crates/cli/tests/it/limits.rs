//! Limits of the process that are too small: they are named, with a way out, and nothing aborts.

use crate::bed::{Bed, Done, eventually, signal};
use std::os::unix::process::ExitStatusExt;

/// The binary behind a shell that sets this limit first.
fn limited(bed: &Bed, limit: &str, args: &[&str]) -> Done {
    let script = format!("ulimit {limit} && exec \"$@\"");
    bed.behind(&["sh", "-c", &script, "sh"], args)
}

#[test]
fn a_stack_or_a_number_of_files_that_does_not_suffice_is_named() {
    let bed = Bed::new();
    let run = ["run", "selftest.replay", "--passes", "1"];
    for limit in ["-s 32", "-s 64", "-s 256"] {
        limited(&bed, limit, &run)
            .code(3)
            .err_has(&["`ulimit -s`", "\nhint: `ulimit -s 8192`"]);
    }
    for limit in ["-n 5", "-n 8", "-n 16"] {
        limited(&bed, limit, &run)
            .code(3)
            .err_has(&["`ulimit -n`", "\nhint: "]);
    }
    // What the user may raise is raised.
    for limit in ["-S -s 64", "-S -n 16"] {
        limited(&bed, limit, &run).code(0);
    }
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
fn more_copies_than_files_may_be_open_cost_the_round_and_name_the_limit() {
    let bed = Bed::new();
    let args = ["run", "selftest.sleep", "--copies", "20", "--passes", "1"];
    limited(&bed, "-n 40", &args)
        .code(4)
        .out_says(&["hint: fewer `--copies`, or more open files (`ulimit -n`)"]);
}

#[test]
fn memory_that_a_limit_refuses_is_named_once_with_its_purpose_and_its_size() {
    let bed = Bed::new();
    let triad = ["run", "memory.triad", "--passes", "1"];
    let set = ["--set", "memory.triad.size=512M", "--quiet"];
    let done = limited(&bed, "-v 300000", &[&triad[..], &set].concat()).code(4);
    let words: Vec<&str> = done.out.split_whitespace().collect();
    let said = words.join(" ");
    assert_eq!(said.matches("KiB for the arrays: ").count(), 1, "{said}");
    assert!(said.contains("hint: `ulimit -v unlimited`"), "{said}");
    // The order of a chain is on the heap: 32 MiB beside the 512 MiB of the chain.
    let chain = ["run", "memory.latency-512m", "--passes", "1", "--quiet"];
    limited(&bed, "-v 580000", &chain)
        .code(4)
        .out_says(&["worker exited with code 4: error: get 33554432 bytes of memory"]);
}

#[test]
fn no_address_space_is_too_small_for_a_word() {
    let bed = Bed::new();
    let room: u64 = 1 << 20;
    for mib in (48..72).step_by(4) {
        let limit = format!("-v {}", mib * room / 1024);
        let run = ["run", "selftest.replay", "--passes", "1", "--quiet"];
        let done = limited(&bed, &limit, &run);
        // By the loader, or by us.
        let ended = done.code.unwrap_or_else(|| panic!("{limit}: {done:?}"));
        assert!([0, 3, 4, 127].contains(&ended), "{limit}: {done:?}");
        assert!(ended == 0 || !done.err.is_empty(), "{limit}: {done:?}");
    }
}

#[test]
fn an_interrupt_is_noticed_while_copies_are_started() {
    const COPIES: u32 = 600;
    let bed = Bed::new();
    let copies = COPIES.to_string();
    let child = bed.start(&["run", "selftest.sleep", "--copies", &copies]);
    let started = || -> u32 {
        let work = std::fs::read_dir(bed.path()).unwrap().flatten();
        let rounds = work.flat_map(|dir| std::fs::read_dir(dir.path().join("round-1")));
        let names = rounds.flatten().flatten().map(|entry| entry.file_name());
        let numbers = names.filter_map(|name| {
            let number = name.to_str()?.strip_prefix("copy-")?.parse::<u32>();
            number.ok()
        });
        numbers.max().unwrap_or(0)
    };
    eventually(60, || started() > 5);
    signal(&child, "-INT");
    let most = std::cell::Cell::new(0);
    let pid = child.id();
    eventually(60, || {
        most.set(most.get().max(started()));
        // A child that has ended and is not waited for has no command line.
        std::fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.is_empty())
    });
    let ended = child.wait_with_output().unwrap().status;
    assert_eq!((ended.code(), ended.signal()), (Some(130), None));
    assert!(most.get() < COPIES - 1, "all copies were started");
}
