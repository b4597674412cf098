//! The profiles that come with the program.

use engine::profile::{Profile, ProfileError};

/// Name and text of every profile, by name.
const TEXTS: &[(&str, &str)] = &[
    ("all", include_str!("all.toml")),
    ("article-1", include_str!("article-1.toml")),
    ("article-2", include_str!("article-2.toml")),
    ("article-3", include_str!("article-3.toml")),
    ("article-4", include_str!("article-4.toml")),
    ("article-5", include_str!("article-5.toml")),
    ("bonnie", include_str!("bonnie.toml")),
    ("cpu", include_str!("cpu.toml")),
    ("dbench", include_str!("dbench.toml")),
    ("familiar", include_str!("familiar.toml")),
    ("files", include_str!("files.toml")),
    ("fileio", include_str!("fileio.toml")),
    ("kv", include_str!("kv.toml")),
    ("mbw", include_str!("mbw.toml")),
    ("memory", include_str!("memory.toml")),
    ("net", include_str!("net.toml")),
    ("net-local", include_str!("net-local.toml")),
    ("oltp", include_str!("oltp.toml")),
    ("quick", include_str!("quick.toml")),
    ("scaling", include_str!("scaling.toml")),
    ("storage", include_str!("storage.toml")),
    ("storage-load", include_str!("storage-load.toml")),
    ("sysbench", include_str!("sysbench.toml")),
    ("unixbench", include_str!("unixbench.toml")),
];

/// Every profile that comes with the program.
pub fn all() -> Result<Vec<Profile>, ProfileError> {
    TEXTS
        .iter()
        .map(|(name, text)| Profile::parse(name, text))
        .collect()
}

#[cfg(test)]
mod tests {
    mod articles;

    use super::*;
    use engine::resolve::{Catalog, Request, resolve};
    use engine::workload::StandIn;
    use model::headline::Topic;
    use model::host::{Fact, HostFacts};
    use model::named::NamedKind;
    use model::units::Nanos;
    use std::collections::BTreeSet;

    /// A machine with so many CPUs, a quota, and threads per core.
    fn host(cpus: u32, quota: Option<f64>, threads_per_core: u32) -> HostFacts {
        let mut host = HostFacts::default();
        host.limits.cpus_allowed = Fact::Known(cpus);
        host.limits.cpu_quota = Fact::Known(quota);
        host.cpu.online = Fact::Known(cpus);
        host.cpu.threads_per_core = Fact::Known(threads_per_core);
        host.cpu.cores = Fact::Known(cpus.div_ceil(threads_per_core));
        host
    }

    #[test]
    fn copies_that_are_typed_hold_for_all_of_a_profile() {
        let request = Request {
            what: vec!["oltp".to_owned()],
            copies: Some(["1", "4"].map(|text| text.parse().unwrap()).to_vec()),
            ..Request::default()
        };
        let cases = resolved(&request, &host(4, None, 1)).cases;
        assert!(cases.iter().all(|case| matches!(case.id.copies, 1 | 4)));
        let is_update = |copies| {
            let mut all = cases.iter();
            all.any(|case| case.id.test == "db.update-index" && case.id.copies == copies)
        };
        assert!(is_update(1) && is_update(4));
    }

    #[test]
    fn the_scaling_profile_fits_every_machine() {
        let check = |host: &HostFacts, expected: &[u32]| {
            let plan = planned("scaling", &[], host);
            let copies: Vec<u32> = plan
                .cases
                .iter()
                .filter(|case| case.id.test == "cpu.sha256")
                .map(|case| case.id.copies)
                .collect();
            assert_eq!(copies, expected);
            let budget = plan.budget.unwrap();
            assert!(engine::budget::expected(&plan) <= budget);
        };
        check(&host(1, None, 1), &[1, 2]);
        check(&host(2, None, 2), &[1, 2, 4]);
        check(&host(3, None, 1), &[1, 2, 3, 4]);
        check(&host(8, None, 1), &[1, 2, 4, 8, 16]);
        check(&host(8, Some(1.5), 1), &[1, 2, 4]);
        check(&host(96, None, 2), &[1, 2, 4, 8, 16, 32, 48, 64, 96, 128]);
    }

    #[test]
    fn the_scaling_profile_has_a_bandwidth_and_leaves_out_what_the_page_says() {
        let check = |cpus: u32, expected: &[&str]| {
            let plan = planned("scaling", &[], &host(cpus, None, 1));
            let dropped: Vec<&str> = plan.dropped.iter().map(|d| d.what.as_str()).collect();
            assert_eq!(dropped, expected, "{cpus} CPUs");
            let has = |test: &str| plan.cases.iter().any(|case| case.id.test == test);
            assert_eq!(has("memory.triad"), !expected.contains(&"memory.triad"));
            assert_eq!(plan.budget, Some(model::units::Nanos::from_secs(360)));
        };
        check(1, &[]);
        check(2, &[]);
        check(16, &[]);
        check(64, &[]);
        check(96, &[]);
        check(192, &[]);
        check(512, &[]);
        check(1024, &["os.spawn", "os.pipe"]);
    }

    #[test]
    fn a_short_budget_of_the_scaling_profile_leaves_out_what_the_page_says_in_its_order() {
        let order = ["os.spawn", "os.pipe", "memory.triad", "cpu.sort"];
        for cpus in [2, 8] {
            let host = host(cpus, None, 1);
            let mut least = 0;
            let mut numbers = BTreeSet::new();
            for seconds in (1..=360).rev() {
                let plan = planned_all(&["scaling"], Some(Nanos::from_secs(seconds)), &host);
                let dropped: Vec<&str> = plan.dropped.iter().map(|d| d.what.as_str()).collect();
                let (first, _) = dropped.split_at(dropped.len().min(order.len()));
                assert!(order.starts_with(first), "{cpus}, {seconds} s: {dropped:?}");
                assert!(dropped.len() >= least, "{cpus}, {seconds} s: {dropped:?}");
                least = dropped.len();
                numbers.insert(least);
            }
            // Then what takes longest, and one test is left in the end.
            assert_eq!(numbers, (0..=8).collect(), "{cpus} CPUs");
        }
    }

    #[test]
    fn a_short_budget_of_one_disk_test_has_a_smaller_file_and_says_so() {
        let made = |what: &[&str], seconds| {
            let budget = Some(Nanos::from_secs(seconds));
            let mut plan = planned_all(what, budget, &host(2, None, 1));
            let ground = plan.cases[0].ground.take().unwrap();
            let own = plan.own_ground.map(|own| (own.bytes.0 >> 20, own.budget));
            (ground.bytes.unwrap().0 >> 20, own)
        };
        let one = ["storage.randread-4k-qd32"];
        let (own, none) = made(&one, 160);
        assert_eq!(none, None);
        let enough = own / 128 * 10;
        let not_made = (own, Nanos::from_secs(enough));
        assert_eq!(made(&one, 20), (256, Some(not_made)));
        assert_eq!(made(&one, 8).0, 256);
        assert_eq!(made(&one, 41).0, 512);
        assert_eq!(made(&one, enough), (own, None));
        // Several tests make one file for all.
        assert_eq!(made(&[one[0], "storage.randread-4k"], 100), (own, None));
    }

    fn planned(what: &str, sets: &[&str], host: &HostFacts) -> model::plan::Plan {
        let sets = sets.iter().map(|text| text.parse().unwrap()).collect();
        // They work on a server, or with a peer, alone.
        let stand_in = match what {
            "kv" => Some(("redis://127.0.0.1:6379/0", NamedKind::Server)),
            "net" => Some(("127.0.0.1:5201", NamedKind::Peer)),
            _ => None,
        };
        let stand_in = stand_in.map(|(path, kind)| StandIn {
            path: path.into(),
            kind,
        });
        resolved(
            &Request {
                what: vec![what.to_owned()],
                sets,
                stand_ins: stand_in.into_iter().collect(),
                ..Request::default()
            },
            host,
        )
    }

    fn planned_all(what: &[&str], budget: Option<Nanos>, host: &HostFacts) -> model::plan::Plan {
        resolved(
            &Request {
                what: what.iter().map(|&name| name.to_owned()).collect(),
                budget,
                ..Request::default()
            },
            host,
        )
    }

    fn resolved(request: &Request, host: &HostFacts) -> model::plan::Plan {
        let profiles = all().unwrap();
        let catalog = Catalog {
            workloads: crate::ALL,
            profiles: &profiles,
        };
        resolve(request, catalog, host).unwrap()
    }

    #[test]
    fn sysbench_runs_at_1_to_16_threads_however_few_cpus_there_are_and_tells_rates_and_latencies() {
        for cpus in [1, 2, 96] {
            let plan = planned("sysbench", &[], &host(cpus, None, 1));
            for test in [
                "cpu.prime",
                "os.threads",
                "os.mutex",
                "memory.block-write",
                "memory.block-read",
            ] {
                let cases = || plan.cases.iter().filter(|case| case.id.test == test);
                let threads: Vec<u32> = cases().map(|case| case.id.copies).collect();
                assert_eq!(threads, [1, 2, 4, 8, 16], "{test} on {cpus}");
                for case in cases() {
                    for quantity in [
                        "ops_per_s",
                        "lat_ns_min",
                        "lat_ns_mean",
                        "lat_ns_p95",
                        "lat_ns_max",
                    ] {
                        let mut metrics = case.metrics.iter();
                        assert!(
                            metrics.any(|metric| metric.quantity == quantity),
                            "{test} {quantity}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn one_word_makes_all_of_the_sysbench_profile_that_of_0_4() {
        let plan = planned("sysbench", &["sysbench.version=0.4"], &host(2, None, 1));
        assert_eq!(plan.cases.len(), 25);
        for case in &plan.cases {
            assert_eq!(case.params.text("version"), "0.4", "{}", case.id.test);
        }
    }

    #[test]
    fn the_memory_profile_has_every_kind_of_figure_with_one_copy_and_with_all() {
        let plan = planned("memory", &[], &host(4, None, 1));
        let budget = plan.budget.unwrap();
        assert!(engine::budget::expected(&plan) <= budget);
        for test in [
            "memory.levels",
            "memory.levels-small",
            "memory.latency-16k",
            "memory.latency-512m",
            "memory.latency-512m-huge",
            "memory.loaded-100",
            "memory.read",
            "memory.write",
            "memory.write-nt",
            "memory.copy",
            "memory.copy-nt",
            "memory.triad",
            "memory.triad-nt",
        ] {
            assert_eq!(copies_of(&plan, test), [1, 4], "{test}");
        }
    }

    #[test]
    fn memory_of_another_node_is_part_of_the_memory_profile_where_there_is_one() {
        let check = |nodes: Fact<u32>, read: &[u32], latency: &[u32]| {
            let mut host = host(4, None, 1);
            host.cpu.numa_nodes = nodes;
            let plan = planned("memory", &[], &host);
            assert_eq!(copies_of(&plan, "memory.read-remote"), read);
            assert_eq!(copies_of(&plan, "memory.latency-remote"), latency);
            let dropped: Vec<&str> = plan.dropped.iter().map(|d| d.what.as_str()).collect();
            assert_eq!(dropped, [""; 0]);
        };
        check(Fact::Known(1), &[], &[]);
        check(Fact::Missing("no such file".to_owned()), &[], &[]);
        check(Fact::Known(2), &[1, 4], &[1]);
    }

    #[test]
    fn a_first_look_has_a_figure_of_everything_in_three_minutes_with_room_for_the_test_file() {
        for cpus in [1, 2, 96] {
            let plan = planned("quick", &[], &host(cpus, None, 1));
            let dropped: Vec<&str> = plan.dropped.iter().map(|d| d.what.as_str()).collect();
            assert_eq!(dropped, [""; 0], "{cpus}");
            let shown = plan.cases.iter().filter_map(|case| case.headline.as_ref());
            let mut topics: Vec<Topic> = shown.map(|headline| headline.topic).collect();
            topics.sort_unstable();
            topics.dedup();
            let all = [
                Topic::Cpu,
                Topic::Os,
                Topic::Memory,
                Topic::SmallReads,
                Topic::SmallWrites,
                Topic::LargeBlocks,
                Topic::Syncs,
                Topic::PageCache,
            ];
            assert_eq!(topics, all, "{cpus}");
            let both = if cpus > 1 { vec![1, cpus] } else { vec![1] };
            assert_eq!(copies_of(&plan, "cpu.whetstone"), both);
            for test in ["storage.randread-4k-qd32", "storage.randwrite-4k-qd32"] {
                assert_eq!(copies_of(&plan, test), [1]);
            }
            let pass: f64 = plan
                .cases
                .iter()
                .map(|case| engine::budget::round_cost(case).as_secs_f64())
                .sum();
            // A disk that writes 100 MiB in a second takes 21 s for the largest file.
            let budget = plan.budget.unwrap().as_secs_f64();
            assert!(6.0 * pass + 21.0 < budget, "{cpus}: {pass} s a pass");
        }
    }

    #[test]
    fn what_everybody_quotes_fits_five_minutes_each_of_it_beside_ours() {
        for cpus in [1, 2, 8, 96] {
            let plan = planned("familiar", &[], &host(cpus, None, 1));
            let dropped: Vec<&str> = plan.dropped.iter().map(|d| d.what.as_str()).collect();
            assert_eq!(dropped, [""; 0], "{cpus}");
            assert_eq!(plan.budget, Some(Nanos::from_secs(300)));
            assert!(engine::budget::passes_that_fit(&plan) >= Some(6), "{cpus}");
            for block in ["4k", "64k", "512k", "1m"] {
                // YABS has two jobs, on however many CPUs.
                assert_eq!(copies_of(&plan, &format!("familiar.yabs-{block}")), [2]);
                assert_eq!(copies_of(&plan, &format!("storage.mixed-{block}")), [2]);
            }
            let both = if cpus > 1 { vec![1, cpus] } else { vec![1] };
            assert_eq!(copies_of(&plan, "os.shell-8"), both);
            let rounds = |test: &str| {
                let mut cases = plan.cases.iter();
                cases
                    .find(|case| case.id.test == test)
                    .unwrap()
                    .shape
                    .rounds
            };
            assert_eq!(rounds("familiar.yabs-4k"), Some(1));
            // Its three shots are one round.
            assert_eq!(rounds("familiar.dd"), Some(1));
            assert_eq!(rounds("familiar.etcd"), Some(1));
            assert_eq!(rounds("familiar.sysbench-cpu"), Some(1));
            assert_eq!(rounds("storage.read-1m-qd1"), None);
            // All stand on one file.
            assert_eq!(plan.grounds().count(), 1);
        }
    }

    #[test]
    fn transactions_have_their_curves_in_five_minutes() {
        for cpus in [1, 2, 96] {
            let plan = planned("oltp", &[], &host(cpus, None, 1));
            let dropped: Vec<&str> = plan.dropped.iter().map(|d| d.what.as_str()).collect();
            assert_eq!(dropped, [""; 0], "{cpus}");
            assert_eq!(plan.budget, Some(Nanos::from_secs(300)));
            assert!(engine::budget::passes_that_fit(&plan) >= Some(6), "{cpus}");
            for test in [
                "db.oltp-read-write",
                "db.oltp-read-write-normal",
                "db.oltp-read-only",
            ] {
                assert_eq!(copies_of(&plan, test), [1, 2, 4, 8, 16], "{test}");
            }
            // All stand on one database.
            assert_eq!(plan.grounds().count(), 1);
        }
    }

    #[test]
    fn requests_have_their_curves_in_two_minutes() {
        for cpus in [1, 2, 96] {
            let plan = planned("kv", &[], &host(cpus, None, 1));
            assert!(plan.dropped.is_empty(), "{cpus}");
            assert!(engine::budget::passes_that_fit(&plan) >= Some(6), "{cpus}");
            for test in ["db.kv-get", "db.kv-set", "db.kv-mixed"] {
                assert_eq!(copies_of(&plan, test), [1, 16, 50], "{test}");
            }
            // All stand on the same keys.
            assert_eq!(plan.grounds().count(), 1);
        }
    }

    #[test]
    fn the_articles_have_their_tables() {
        let plans = ["article-1", "article-2", "article-3", "article-4"]
            .map(|name| planned(name, &[], &host(2, None, 1)));
        assert!(plans.iter().all(|plan| plan.dropped.is_empty()));
        let [vps, cores, jobs, kernel] = &plans;
        // UnixBench by copies, and a disk as each article asked for it.
        assert_eq!(copies_of(vps, "os.context"), [1, 2]);
        assert_eq!(copies_of(vps, "storage.randread-4k-qd32"), [1]);
        assert_eq!(copies_of(cores, "os.context"), [1, 2, 4]);
        assert_eq!(copies_of(cores, "storage.write-1m"), [1]);
        assert_eq!(copies_of(jobs, "storage.randwrite-4k"), [64]);
        assert_eq!(copies_of(jobs, "storage.randwrite-32m"), [16]);
        // bonnie++ and mbw are alone; the rest is by clients or threads.
        assert_eq!(copies_of(kernel, "fs.bonnie"), [1]);
        assert_eq!(copies_of(kernel, "fs.dbench"), [1, 2, 4, 8, 16]);
        let threads = [1, 2, 4, 8, 16, 32, 64, 128];
        assert_eq!(copies_of(kernel, "os.threads"), threads);
        assert_eq!(copies_of(kernel, "db.oltp-read-write"), [1, 2, 4, 8, 16]);
    }

    #[test]
    fn the_network_stack_of_the_machine_alone_takes_a_minute() {
        for cpus in [1, 2, 96] {
            let plan = planned("net-local", &[], &host(cpus, None, 1));
            assert!(plan.dropped.is_empty(), "{cpus}");
            assert!(engine::budget::passes_that_fit(&plan) >= Some(6), "{cpus}");
            for test in [
                "net.local-rr",
                "net.local-rr-udp",
                "net.local-tcp",
                "net.local-connect",
            ] {
                assert_eq!(copies_of(&plan, test), [1, 4], "{test}");
            }
        }
    }

    #[test]
    fn what_everybody_quotes_of_a_disk_is_left_out_where_there_is_none() {
        let request = Request {
            what: vec!["familiar".to_owned()],
            no_disk: Some("it is in memory".to_owned()),
            ..Request::default()
        };
        let plan = resolved(&request, &host(2, None, 1));
        assert_eq!(plan.dropped.len(), 19);
        assert_eq!(copies_of(&plan, "familiar.sysbench-cpu"), [1]);
        assert_eq!(copies_of(&plan, "os.pipe"), [1, 2]);
    }

    #[test]
    fn a_first_look_without_a_disk_measures_everything_else() {
        let request = Request {
            what: vec!["quick".to_owned()],
            no_disk: Some("it is in memory".to_owned()),
            ..Request::default()
        };
        let plan = resolved(&request, &host(2, None, 1));
        let on_storage = |name: &str| name.starts_with("storage.");
        assert!(!plan.cases.iter().any(|case| on_storage(&case.id.test)));
        assert!(plan.cases.len() > 8);
        assert_eq!(plan.dropped.len(), 7);
        assert!(plan.dropped.iter().all(|dropped| on_storage(&dropped.what)));
    }

    #[test]
    fn the_index_of_one_copy_takes_a_minute_and_a_half_at_most() {
        let request = Request {
            what: vec!["unixbench".to_owned()],
            copies: Some(vec!["1".parse().unwrap()]),
            ..Request::default()
        };
        let plan = resolved(&request, &host(8, None, 1));
        assert!(engine::budget::expected(&plan) <= Nanos::from_secs(95));
    }

    #[test]
    fn copies_that_take_long_to_start_make_a_run_expected_to_last_longer() {
        let expected = |what: &str, cpus: u32| {
            let request = Request {
                what: vec![what.to_owned()],
                passes: Some(1),
                ..Request::default()
            };
            engine::budget::expected(&resolved(&request, &host(cpus, None, 1))).as_secs_f64()
        };
        let (one, many) = (expected("cpu.sort@1", 2), expected("cpu.sort@1001", 2));
        assert!(
            one < 1.0 && (one + 4.9..one + 5.1).contains(&many),
            "{one} {many}"
        );
        let on_many = expected("cpu.sort@1001", 1024);
        assert!((one + 0.4..one + 0.6).contains(&on_many), "{one} {on_many}");
        // Threads come with their process; of the tests that have some, this one has rounds as long with many of them.
        let threads = expected("memory.block-read@1000", 2);
        let one = expected("memory.block-read@1", 2);
        assert!(threads < one + 0.1, "{one} {threads}");
    }

    fn copies_of(plan: &model::plan::Plan, test: &str) -> Vec<u32> {
        let cases = plan.cases.iter().filter(|case| case.id.test == test);
        cases.map(|case| case.id.copies).collect()
    }

    #[test]
    fn the_memory_profile_measures_nothing_twice_under_two_names() {
        let plan = planned("memory", &[], &host(4, None, 1));
        // One matrix has all CPUs, and one chain alone is the same beside any streams that there are not.
        assert_eq!(copies_of(&plan, "memory.round-trip"), [1]);
        for (test, copies) in [
            ("memory.loaded-25", &[4][..]),
            ("memory.loaded-50", &[4]),
            ("memory.loaded-75", &[4]),
            ("memory.loaded-100", &[1, 4]),
        ] {
            assert_eq!(copies_of(&plan, test), copies, "{test}");
        }
        let plan = planned("memory", &[], &host(1, None, 1));
        for test in ["memory.loaded-25", "memory.loaded-50", "memory.loaded-75"] {
            assert_eq!(copies_of(&plan, test), [0; 0], "{test}");
            assert!(plan.dropped.iter().any(|dropped| dropped.what == test));
        }
        assert_eq!(copies_of(&plan, "memory.loaded-100"), [1]);
    }

    #[test]
    fn cpu_and_memory_fit_together_and_a_short_budget_leaves_out_what_is_optional() {
        for cpus in [2, 8, 96] {
            let both = planned_all(&["cpu", "memory"], None, &host(cpus, None, 2));
            assert!(both.dropped.is_empty(), "{cpus}: {:?}", both.dropped);
        }
        let host = host(2, None, 1);
        let short = planned_all(&["memory"], Some(Nanos::from_secs(200)), &host);
        let dropped: Vec<&str> = short.dropped.iter().map(|d| d.what.as_str()).collect();
        assert_eq!(dropped[..2], ["memory.loaded-25", "memory.loaded-75"]);
        assert_eq!(copies_of(&short, "memory.loaded-25"), [0; 0]);
        assert_eq!(copies_of(&short, "memory.loaded-100"), [1, 2]);
    }

    #[test]
    fn every_profile_has_time_for_its_own_passes() {
        for profile in all().unwrap() {
            let plan = planned(&profile.name, &[], &host(2, None, 1));
            assert_eq!(engine::budget::short_of(&plan), None, "{}", profile.name);
        }
    }

    #[test]
    fn every_profile_is_read_and_names_only_tests_that_exist() {
        let profiles = all().unwrap();
        let names = Catalog {
            workloads: crate::ALL,
            profiles: &profiles,
        }
        .test_names();
        for profile in &profiles {
            let (tests, disk) = (profile.tests.iter(), profile.disk.iter());
            for test in tests.chain(disk).chain(&profile.numa) {
                let (name, _) = engine::resolve::split_copies(test);
                let mut names = names.iter();
                let is_any = names.any(|known| engine::resolve::glob(name, known));
                assert!(is_any, "{}: {test}", profile.name);
            }
        }
    }
}
