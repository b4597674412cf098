//! Options that ask something of the machine, and values that ask for nothing.

use super::*;

fn null(bed: &Bed, more: &[&str]) -> Done {
    fio(
        bed,
        &[&["--name=t", "--size=1m", "--ioengine=null"], more].concat(),
    )
}

#[test]
fn values_that_change_nothing_end_no_job() {
    let bed = Bed::new();
    for option in [
        "--threads=1",
        "--verify_dump=1",
        "--iomem_align=4096",
        "--nice=0",
        "--flow_watermark=1024",
        "--lockfile=none",
        "--atomic=0",
        "--trim_percentage=0",
        "--trim_backlog=0",
        "--numa_mem_policy=default",
        "--numa_cpu_nodes=all",
        "--random_distribution=zipf:0",
        "--cpus_allowed=0-",
        "--buffer_pattern=\"abcd\"-120xdeadface",
    ] {
        fio(&bed, &["--name=t", "--size=1m", "--parse-only", option]).code(0);
    }
    null(
        &bed,
        &[
            "--numa_cpu_nodes=all",
            "--numa_mem_policy=local",
            "--nice=1",
            "--prio=7",
        ],
    )
    .code(0);
    null(&bed, &["--numa_cpu_nodes=999"])
        .code(3)
        .err_has(&["there is no NUMA node 999", "job `t`"]);
}

#[test]
fn operations_of_different_priorities_are_told_apart() {
    let bed = Bed::new();
    for (engine, format) in [("libaio", "json"), ("io_uring", "json+")] {
        let job = [
            "--name=t",
            "--rw=randrw",
            "--size=4m",
            "--bssplit=4k/50:8k/50",
            "--iodepth=4",
            "--prioclass=2",
            "--prio=4",
            &format!("--ioengine={engine}"),
            "--cmdprio_bssplit=4k/100/2/1:8k/0,8k/40:8k/10/3/0",
            "--cmdprio_class=2",
            "--cmdprio=6",
            &format!("--output-format={format}"),
        ];
        let done = fio(&bed, &job).code(0);
        let doc: serde_json::Value = serde_json::from_str(&done.out).unwrap();
        let counts = |way: &str| {
            let way = &doc["jobs"][0][way];
            let prios = way["prios"].as_array().unwrap();
            let of = |one: &serde_json::Value| {
                let whole = |name: &str| one[name].as_u64().unwrap();
                let count = one["clat_ns"]["N"].as_u64().unwrap();
                ((whole("prioclass"), whole("prio")), count)
            };
            let counts: Vec<_> = prios.iter().map(of).collect();
            let all: u64 = counts.iter().map(|(_, count)| count).sum();
            assert_eq!(Some(all), way["total_ios"].as_u64());
            counts
        };
        let ways = ["read", "write"].map(|way| {
            counts(way)
                .into_iter()
                .map(|(priority, _)| priority)
                .collect::<Vec<_>>()
        });
        assert_eq!(ways[0], [(2, 4), (2, 1)]);
        assert_eq!(ways[1], [(2, 4), (2, 6), (3, 0)]);
    }
    let refused = |args: &[&str], expect: &str| {
        let job = [&["--name=t", "--size=1m"], args].concat();
        fio(&bed, &job).code(2).err_has(&[expect]);
    };
    refused(
        &["--cmdprio_percentage=20"],
        "`cmdprio_percentage` is no option of `ioengine=psync`",
    );
    refused(
        &[
            "--ioengine=libaio",
            "--cmdprio_percentage=1",
            "--cmdprio_bssplit=4k/10",
        ],
        "exclude each other",
    );
    refused(
        &["--ioengine=libaio", "--cmdprio_bssplit=4k/60:4k/60"],
        "120 % of the operations of 4096 bytes",
    );
    let global = "[global]\nioengine=libaio\ncmdprio_percentage=50\ncmdprio_class=2\nsize=64k\ngroup_reporting\n\
                  [a]\n[b]\nioengine=psync\n";
    std::fs::write(bed.path().join("job.fio"), global).unwrap();
    let done = fio(&bed, &["job.fio", "--output-format=json"]).code(0);
    let doc: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let read = &doc["jobs"][0]["read"];
    let prios = read["prios"].as_array().unwrap().iter();
    let counted: u64 = prios.map(|one| one["clat_ns"]["N"].as_u64().unwrap()).sum();
    assert_eq!(Some(counted), read["total_ios"].as_u64());
    let told = |more: &[&str]| {
        let job = [
            "--name=t",
            "--rw=randwrite",
            "--size=256k",
            "--ioengine=libaio",
            "--cmdprio_class=2",
            "--cmdprio_percentage=50",
        ];
        fio(&bed, &[&job[..], more].concat()).code(0).out
    };
    assert!(!told(&["--disable_clat=1"]).contains("prio"));
    for (options, word) in [
        (&["--lat_percentiles=1"][..], " lat prio 0/0 ("),
        (
            &["--lat_percentiles=1", "--disable_clat=1"],
            " lat prio 0/0 (",
        ),
        (
            &["--lat_percentiles=1", "--disable_lat=1"],
            " clat prio 0/0 (",
        ),
    ] {
        let told = told(options);
        // Its latency, and its percentiles.
        assert_eq!(told.matches(word).count(), 2, "{options:?}: {told}");
    }
    let checked = told(&["--verify=crc32c"]);
    assert_eq!(checked.matches("clat prio 0/0 (").count(), 2, "{checked}");
    let best_effort = told(&["--cmdprio_percentage=0", "--cmdprio_bssplit=4k/50/0/3"]);
    assert!(best_effort.contains("clat prio 2/3 ("), "{best_effort}");
    refused(
        &["--ioengine=libaio", "--cmdprio_bssplit=4k/10/9/1"],
        "`9` is no class from 0 to 3",
    );
}

#[test]
fn shares_of_a_file_may_have_their_sign_doubled() {
    let bed = Bed::new();
    std::fs::write(bed.path().join("f"), vec![1; 64 << 10]).unwrap();
    std::fs::write(bed.path().join("job.fio"), "[t]\nfilename=f\nsize=100%%\n").unwrap();
    fio(&bed, &["job.fio"])
        .code(0)
        .out_has(&["issued rwts: total=16,0,0,0 "]);
}

#[test]
fn posixaio_is_done_by_an_engine_of_ours_and_says_so() {
    let bed = Bed::new();
    let report = json(
        &bed,
        &[
            "--name=t",
            "--size=1m",
            "--rw=randwrite",
            "--ioengine=posixaio",
            "--iodepth=8",
            "--end_fsync=1",
        ],
    );
    let job = &report["jobs"][0];
    assert_eq!(total(job, "write"), 256);
    assert_eq!(job["job options"]["ioengine"], "posixaio");
    let notes = report["kurabe"]["notes"].to_string();
    assert!(
        notes.contains("`ioengine=posixaio`: many operations at a time, through io_uring"),
        "{notes}"
    );
}

#[test]
fn directories_on_the_way_to_files_are_made_and_empty_ones_go() {
    let bed = Bed::new();
    let dir = work_dir();
    let root = dir.path();
    let format = format!("--filename_format={}/$jobnum/deep/f.$filenum", "made");
    let job = [
        "--name=t",
        "--size=64k",
        "--rw=write",
        "--numjobs=2",
        &format,
    ];
    let directory = format!("--directory={}", root.display());
    fio(&bed, &[&job[..], &[&directory]].concat()).code(0);
    for clone in ["0", "1"] {
        let file = root.join("made").join(clone).join("deep/f.0");
        assert_eq!(std::fs::metadata(&file).unwrap().len(), 64 << 10);
    }
    let file = format!("--filename={}", root.join("one/two/f").display());
    fio(
        &bed,
        &["--name=t", "--size=64k", "--rw=write", "--unlink=1", &file],
    )
    .code(0);
    assert!(!root.join("one").exists());
    // Nothing is made for a job that is refused, nor below a directory that is said to be there.
    let refused = [
        "--name=t",
        "--size=64k",
        "--rw=write",
        "--allow_file_create=0",
        &file,
    ];
    fio(&bed, &refused).code(2);
    assert!(!root.join("one").exists());
    let missing = format!("--directory={}", root.join("none").display());
    fio(&bed, &["--name=t", "--size=64k", "--rw=write", &missing])
        .code(2)
        .err_has(&["is no directory"]);
    assert!(!root.join("none").exists());
}

#[test]
fn idleness_of_cpus_is_told_where_it_is_asked_for() {
    let bed = Bed::new();
    let job = [
        "--rate_iops=100",
        "--runtime=1",
        "--time_based",
        "--idle-prof=percpu",
    ];
    let done = null(&bed, &[&job[..], &["--output-format=json,normal"]].concat())
        .code(0)
        .out;
    let (document, text) = done.split_once("\n}\n").unwrap();
    let report: Value =
        serde_json::from_str(&format!("{}}}", &document[document.find('{').unwrap()..])).unwrap();
    let idle = report["cpu_idleness"].as_object().unwrap();
    let system = idle["system"].as_f64().unwrap();
    assert!(
        (0.0..=100.0).contains(&system) && idle.contains_key("cpu-0"),
        "{idle:?}"
    );
    assert!(idle["unit_mean"].as_f64().unwrap() > 0.0);
    assert!(
        text.contains(&format!(
            "\nCPU idleness:\n  system: {system:.2}%\n  percpu: "
        )),
        "{text}"
    );
    let again = fio(&bed, &["--show=latest", "--output-format=json"])
        .code(0)
        .out;
    let again: Value = serde_json::from_str(&again).unwrap();
    assert_eq!(again["cpu_idleness"], report["cpu_idleness"]);
    null(&bed, &["--idle-prof=calibrate"])
        .code(0)
        .out_has(&["CPU idleness:\n  unit work: mean="]);
    null(&bed, &["--idle-prof=x"])
        .code(2)
        .err_has(&["system, percpu or calibrate"]);
    let plain: Value =
        serde_json::from_str(&null(&bed, &["--output-format=json"]).code(0).out).unwrap();
    assert!(plain.get("cpu_idleness").is_none());
}

#[test]
fn a_scheduler_that_cannot_be_set_is_refused_with_its_reason() {
    let bed = Bed::new();
    let dir = work_dir();
    let directory = format!("--directory={}", dir.path().display());
    let job = [
        "--name=t",
        "--size=64k",
        "--ioscheduler=no-such-scheduler",
        &directory,
    ];
    let done = fio(&bed, &job).code(3);
    done.err_has(&["job `t`: set the scheduler `no-such-scheduler`: ", "hint: "]);
}

#[test]
fn a_cpu_is_kept_busy_for_its_share_and_moves_nothing() {
    let bed = Bed::new();
    let burn = [
        "--name=burn",
        "--ioengine=cpuio",
        "--cpuload=20",
        "--cpuchunks=5000",
        "--runtime=1",
    ];
    let share = |done: &Done| -> f64 {
        let line = done.out.lines().find_map(|line| line.split_once(": usr="));
        let text = line.and_then(|(_, rest)| rest.split_once('%'));
        text.unwrap().0.parse().unwrap()
    };
    for mode in ["--cpumode=noop", "--cpumode=qsort"] {
        let done = fio(&bed, &[&burn[..], &[mode]].concat());
        let done = done.code(0);
        let word = mode.split_once('=').unwrap().1;
        let head = format!("burn ({word}): ioengine=cpuio, cpuload=20, cpucycle=5000");
        let done = done.out_has(&[&head, "err= 0: pid=", "issued rwts: total=0,0,0,0 "]);
        let found = share(&done);
        assert!((1.0..=30.0).contains(&found), "{mode}: {found} %");
    }
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let directory = format!("--directory={}", dir.path().display());
    let job = ["--name=a", &directory, "--size=1m", "--rw=read"];
    fio(&bed, &[&burn[..], &job].concat())
        .code(0)
        .out_has(&["issued rwts: total=256,0,0,0 "]);
    let refused = |args: &[&str], expect: &str| {
        fio(&bed, args).code(2).err_has(&[expect]);
    };
    let engine = "--ioengine=cpuio";
    refused(&["--name=a", engine, "--runtime=1"], "needs `cpuload`");
    refused(&["--name=a", engine, "--cpuload=5"], "without `runtime`");
    refused(
        &["--name=a", "--size=1m", "--cpuload=5"],
        "`cpuload` is no option of `ioengine=psync`",
    );
}
