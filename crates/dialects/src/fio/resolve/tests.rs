//! Every supported option changes what is done or told, or the table of limits says what becomes of it; regions, ends
//! and seeds are as fio means them.

use super::*;
use crate::fio::options::{self, Kind, OptionDef, Reach, Standing, Status, check_limits};
use crate::fio::testkit::Nowhere;
use crate::fio::{Plan, Remark, Surroundings};
use model::job::Layout;
use std::fmt::Write as _;

fn nowhere(path: &str) -> Result<Found, String> {
    Nowhere.find(path)
}

/// What there is where every file has the length that `length` says.
/// There is room for a file of 1 MiB and a little more.
fn found(job: &Job, length: impl Fn(&str) -> Option<u64>) -> Vec<Found> {
    let of = |path: &String| Found {
        length_bytes: length(path),
        room_bytes: Some((1 << 20) + 1000),
        ..nowhere(path).unwrap()
    };
    job.target.files.iter().map(of).collect()
}

/// A value that is not the default, with what the job must have before and behind it for the option to mean anything.
struct Sample {
    before: &'static str,
    value: &'static str,
    behind: &'static str,
}

const fn value(value: &'static str) -> Sample {
    with("", value)
}

const fn with(before: &'static str, value: &'static str) -> Sample {
    Sample {
        before,
        value,
        behind: "",
    }
}

const LIBAIO: &str = "--ioengine=libaio --iodepth=8";
const URING: &str = "--ioengine=io_uring --iodepth=8";

/// The samples of options whose kind does not tell one.
#[expect(
    clippy::match_same_arms,
    reason = "a line for each option, in the order of the tables"
)]
fn sample(def: &OptionDef) -> Sample {
    match def.name {
        "rw" => value("write"),
        "rw_sequencer" => with("--rw=randread:8", "identical"),
        "bs" | "ba" => value("8k"),
        "bsrange" => value("4k-8k"),
        "bssplit" => value("4k/50:8k/50"),
        "bs_unaligned" => with("--bsrange=4k-64k", "1"),
        "rwmixread" | "rwmixwrite" => value("70"),
        "percentage_random" | "dedupe_percentage" | "buffer_compress_percentage" => value("40"),
        "cmdprio_percentage" => with(LIBAIO, "20"),
        "cmdprio_class" => with("--ioengine=libaio --cmdprio_percentage=20", "2"),
        "cmdprio" => with("--ioengine=libaio --cmdprio_percentage=20", "3"),
        "cmdprio_bssplit" => with(LIBAIO, "4k/50"),
        "cpuload" => with("--ioengine=cpuio --runtime=1 --cpuload=50", "20"),
        "cpuchunks" => with("--ioengine=cpuio --runtime=1 --cpuload=50", "1000"),
        "cpumode" => with("--ioengine=cpuio --runtime=1 --cpuload=50", "qsort"),
        "program" => with("--ioengine=exec --program=a", "b"),
        "arguments" | "grace_time" | "std_redirect" => with(
            "--ioengine=exec --program=a",
            if def.default == "1" { "0" } else { "b" },
        ),
        "inplace" => with("--ioengine=e4defrag --rw=write", "1"),
        "donorname" => with("--ioengine=e4defrag --rw=write", "donor"),
        "dedupe_mode" => value("working_set"),
        "dedupe_working_set_percentage" => with("--dedupe_mode=working_set", "40"),
        "dedupe_global" => with("--dedupe_mode=working_set", "1"),
        "allrandrepeat" => with("--randrepeat=0", "1"),
        "randseed" => value("7"),
        "random_generator" => value("lfsr"),
        "random_distribution" => value("zipf:1.2"),
        "size" | "io_size" => value("512k"),
        "filesize" => value("4m"),
        "offset" => value("64k"),
        "offset_increment" => with("--numjobs=2", "64k"),
        "offset_align" => with("--offset=10%", "64k"),
        "number_ios" => value("10"),
        "loops" => value("2"),
        "zonemode" => with("--zonesize=64k", "strided"),
        "zonesize" => value("64k"),
        "zonerange" | "zoneskip" => with("--zonesize=64k", "128k"),
        "kb_base" => Sample {
            before: "",
            value: "1000",
            behind: "--size=64k",
        },
        "unit_base" => value("1"),
        "filename" => value("some.file"),
        "directory" => value("/tmp"),
        "filename_format" => value("$jobname.x"),
        "nrfiles" => value("2"),
        "openfiles" => with("--nrfiles=2", "1"),
        "file_service_type" => with("--nrfiles=2", "random"),
        "fallocate" => with("--rw=write", "none"),
        "create_on_open" | "overwrite" => with("--rw=write", "1"),
        "fadvise_hint" => value("0"),
        "ioengine" => value("libaio"),
        "stat_type" => with("--ioengine=filestat", "statx"),
        "iodepth" => with(URING, "4"),
        "iodepth_batch" | "iodepth_batch_complete_min" => with(URING, "2"),
        "iodepth_batch_complete_max" | "iodepth_low" => with(URING, "4"),
        "io_submit_mode" => with(URING, "offload"),
        "serialize_overlap" => with(URING, "1"),
        "buffered" => with("--direct=1", "1"),
        "hipri" | "fixedbufs" | "registerfiles" | "sqthread_poll" => with(URING, "1"),
        "sqthread_poll_cpu" | "nonvectored" => with(URING, "0"),
        "mem" => value("mmap"),
        "rate" | "rate_min" => value("1m"),
        "rate_iops" | "rate_iops_min" => value("100"),
        "rate_process" => with("--rate_iops=100", "poisson"),
        "rate_cycle" => with("--rate_iops=100 --rate_iops_min=10", "2000"),
        "rate_ignore_thinktime" => with("--rate_iops=100 --thinktime=10", "1"),
        "thinktime" | "max_latency" => value("1000"),
        "latency_target" => with(
            "--latency_window=100000 --ioengine=io_uring --iodepth=8",
            "1000",
        ),
        "latency_window" => with("--latency_target=1000 --latency_window=50000", "100000"),
        "latency_percentile" => with(
            "--latency_target=1000 --latency_window=100000 --ioengine=io_uring --iodepth=8",
            "90",
        ),
        "latency_run" => with(
            "--latency_target=1000 --latency_window=100000 --ioengine=io_uring --iodepth=8",
            "1",
        ),
        "thinktime_spin" | "thinktime_blocks" => with("--thinktime=1000", "10"),
        "thinktime_blocks_type" => with("--thinktime=1000", "issue"),
        "thinktime_iotime" => with("--thinktime=1000", "1"),
        "sync" => value("dsync"),
        "fsync" | "fdatasync" => value("4"),
        "buffer_pattern" => value("0xabcd"),
        "buffer_compress_chunk" => with("--buffer_compress_percentage=50", "4096"),
        "verify" => value("crc32c"),
        "verify_pattern" => with("--verify=md5", "0xab"),
        "do_verify" => with("--verify=md5", "0"),
        "verify_only" | "verify_fatal" | "verify_dump" | "verify_state_save" => {
            let on = if def.default == "1" { "0" } else { "1" };
            with("--verify=md5", on)
        }
        "verify_backlog" | "verify_backlog_batch" => with("--verify=md5 --verify_backlog=8", "4"),
        "verify_interval" => with("--verify=md5", "512"),
        "verify_offset" => with("--verify=md5", "64"),
        "name" => value("b"),
        "description" => value("text"),
        "numjobs" => value("2"),
        "thread" => with("--numjobs=2 --group_reporting --filename=x", "1"),
        "stonewall" | "new_group" => with("--name=b", "1"),
        "runtime" => value("3"),
        "time_based" => with("--runtime=3", "1"),
        "ramp_time" | "startdelay" => value("1"),
        "wait_for" => with("--numjobs=1 --name=b", "a"),
        "exit_what" => with("--exitall=1", "stonewall"),
        "continue_on_error" => value("io"),
        "flow" => value("2"),
        "flow_id" | "flow_sleep" => with("--flow=2", "3"),
        "ignore_error" => value("EIO,ENOSPC:122"),
        "steadystate" => with("--ss_dur=3", "iops:5%"),
        "ss_interval" => with("--ss_dur=3 --ss=iops:5%", "2"),
        "steadystate_duration" | "steadystate_ramp_time" => with("--ss_dur=3 --ss=iops:5%", "4"),
        "cpus_allowed" => value("0"),
        "cpumask" => value("1"),
        "cpus_allowed_policy" => with("--cpus_allowed=0,1", "split"),
        "nice" => value("5"),
        "prio" | "prioclass" => value("3"),
        "numa_cpu_nodes" => value("0"),
        "numa_mem_policy" => value("bind:0"),
        "ioscheduler" => value("none"),
        "unified_rw_reporting" => value("mixed"),
        "percentile_list" => value("50:99"),
        "bwavgtime" | "iopsavgtime" => value("1000"),
        "write_bw_log" | "write_iops_log" => with("--log_avg_msec=500", "x"),
        "write_lat_log" => with("--log_avg_msec=500", "y"),
        "log_avg_msec" => with("--write_lat_log=x", "500"),
        "log_max_value" | "per_job_logs" | "log_offset" => {
            let word = if def.default == "1" { "0" } else { "1" };
            with("--write_lat_log=x --log_avg_msec=500", word)
        }
        _ => match &def.status {
            Status::Supported(Kind::Flag(_) | Kind::Bool(_)) if def.default == "1" => value("0"),
            Status::Supported(Kind::Flag(_) | Kind::Bool(_)) => value("1"),
            _ => panic!("`{}` needs a sample", def.name),
        },
    }
}

fn parse(line: &str) -> Result<Plan, Error> {
    let arguments: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    crate::fio::parse(&arguments, &Nowhere)
}

/// Everything of a plan that is looked at behind the reader.
fn looked_at(plan: &Plan) -> String {
    let mut text = format!("{:?}", plan.output);
    for group in &plan.groups {
        writeln!(text, "{} {}", group.id, group.waits).unwrap();
        for job in &group.jobs {
            let find = |path: &str| -> Result<Found, String> {
                Ok(Found {
                    length_bytes: Some(64 << 20),
                    room_bytes: Some((1 << 20) + 1000),
                    ..nowhere(path)?
                })
            };
            let task = settled(job, find).unwrap();
            writeln!(
                text,
                "{task:?} {} {:?} {:?} {:?} {:?} {} {} {} {} {:?} {:?} {:?}",
                job.shares_process(),
                job.life.waits_for,
                job.reporting,
                job.description,
                job.target.files,
                job.target.unlinks,
                job.target.may_create,
                job.life.ends_all,
                job.life.ends_all_on_error,
                job.life.exit_what,
                job.life.cpu_nodes,
                job.life.scheduler,
            )
            .unwrap();
        }
    }
    text
}

/// What is wrong with what becomes of an option; nothing where all is as it is said.
fn complaint(def: &OptionDef) -> Option<String> {
    let Sample {
        before,
        value,
        behind,
    } = sample(def);
    let plan = |option: &str| {
        parse(&format!(
            "--name=a --size=1m --rw=randrw {before} {option} {behind}"
        ))
        .unwrap_or_else(|error| panic!("{option}: {error}"))
    };
    let (without, with) = (plan(""), plan(&format!("--{}={value}", def.name)));
    let limited = check_limits(&with);
    let said = |remarks: &[Remark]| {
        let word = format!("`{}` changes nothing", def.name);
        remarks.iter().any(|remark| remark.text.contains(&word))
    };
    match (def.standing(), limited) {
        (Standing::Refused, Err(_)) => None,
        (Standing::Refused, Ok(_)) => Some("is refused in the table and not in truth".to_owned()),
        (Standing::Noted, Ok(remarks)) if said(&remarks) => None,
        (Standing::InPart, Err(Error::Refused { option, .. })) if option == def.name => None,
        (Standing::InPart, Ok(remarks)) if said(&remarks) => None,
        (Standing::Noted, other) => Some(format!("is noted in the table, and {other:?}")),
        (_, Err(error)) => Some(error.to_string()),
        (Standing::Supported | Standing::InPart, Ok(_)) => (looked_at(&without)
            == looked_at(&with))
        .then(|| "changes nothing and is not listed".to_owned()),
    }
}

#[test]
fn every_supported_option_counts_or_is_listed() {
    let complaints: Vec<String> = options::all()
        .filter(|def| matches!(def.status, Status::Supported(_)))
        .filter_map(|def| Some(format!("{}: {}", def.name, complaint(def)?)))
        .collect();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[test]
fn limits_of_whole_options_leave_nothing_of_them() {
    for limit in options::LIMITS {
        let standing = options::find(limit.option).unwrap().standing();
        let expected = match limit.reach {
            Reach::Refused => Standing::Refused,
            Reach::Noted => Standing::Noted,
            Reach::RefusedInPart | Reach::NotedInPart => Standing::InPart,
        };
        assert_eq!(standing, expected, "{}", limit.option);
    }
}

#[test]
fn regions_are_as_long_as_said_or_as_what_is_there() {
    const M: u64 = 1 << 20;
    let check = |line: &str, expect: Result<(u64, u64), &str>| {
        let plan = parse(&format!("--name=a --filename=f {line}")).unwrap();
        let job = plan.jobs().last().unwrap();
        let found = region(job, &found(job, |path| (path == "f").then_some(64 * M)));
        match (found, expect) {
            (Ok(region), Ok(wanted)) => assert_eq!((region.offset, region.size), wanted, "{line}"),
            (Err(why), Err(words)) => assert!(why.contains(words), "{why}"),
            (found, _) => panic!("{line}: {found:?}"),
        }
    };
    check("--size=8m", Ok((0, 8 * M)));
    check("--rw=read", Ok((0, 64 * M)));
    check("--size=50%", Ok((0, 32 * M)));
    check("--offset=16m", Ok((16 * M, 48 * M)));
    check("--offset=25% --size=1m", Ok((16 * M, M)));
    check(
        "--size=1m --numjobs=3 --offset_increment=2m",
        Ok((4 * M, M)),
    );
    check("--filesize=4m --size=16m", Ok((0, 4 * M)));
    check("--filename=f:f --offset=16m", Ok((16 * M, 96 * M)));
    check("--size=8m --fill_device=1", Ok((0, 64 * M)));
    check("--filename=g --fill_device=1", Ok((0, M)));
    check(
        "--filename=g:h --fill_device=1 --bs=300k",
        Ok((0, 600 << 10)),
    );
    check("--offset=64m", Err("nothing of `f` lies behind"));
    check("--filename=g", Err("`g` is not there, and no size"));
    check("--filename=g --size=50%", Err("`size` is a share of `g`"));
}

#[test]
fn sizes_of_files_are_drawn_in_whole_blocks_and_always_the_same() {
    let sizes = |line: &str| -> Result<Vec<(u64, Vec<u64>)>, String> {
        let plan = parse(&format!("--name=a {line}")).unwrap();
        let of_job = |job: &Job| {
            region(job, &found(job, |_| None)).map(|region| (region.size, region.sizes))
        };
        plan.jobs().map(of_job).collect()
    };
    let line = "--filesize=10k-64k --bs=3k --nrfiles=20 --numjobs=2";
    let [first, second] = &sizes(line).unwrap()[..] else {
        panic!("two clones")
    };
    assert_ne!(first.1, second.1, "clones have sizes of their own");
    for (size, files) in [first, second] {
        assert_eq!((*size, files.len()), (files.iter().sum(), 20));
        let fits =
            |bytes: &u64| bytes.is_multiple_of(3072) && (10 << 10..=64 << 10).contains(bytes);
        assert!(files.iter().all(fits), "{files:?}");
        let distinct: std::collections::BTreeSet<&u64> = files.iter().collect();
        assert!(distinct.len() > 5, "{files:?}");
    }
    assert_eq!(sizes(line), sizes(line));
    assert_ne!(sizes(line), sizes(&format!("{line} --randseed=7")));
    // A single file is one of a size.
    let one = sizes("--filesize=8k-64k").unwrap();
    assert!(one[0].1.is_empty() && (8 << 10..=64 << 10).contains(&one[0].0));
    // What lies behind the offset counts.
    let behind = sizes("--filesize=32k-64k --nrfiles=2 --offset=16k").unwrap();
    let whole = sizes("--filesize=32k-64k --nrfiles=2").unwrap();
    assert_eq!(behind[0].0 + (32 << 10), whole[0].0);
    let why = sizes("--filesize=5k-7k --nrfiles=2").unwrap_err();
    assert!(why.contains("no whole number of blocks of 4096"), "{why}");
    let why = sizes("--filesize=8k-64k --nrfiles=9 --offset=48k").unwrap_err();
    assert!(why.contains("nothing of"), "{why}");
}

#[test]
fn a_job_ends_when_its_amount_is_done() {
    let check = |line: &str, expect: End| {
        let plan = parse(&format!("--name=a --size=1m --bs=4k {line}")).unwrap();
        let job = plan.jobs().next().unwrap();
        assert_eq!(resolve(job, nowhere).unwrap().job.end, expect, "{line}");
    };
    let once = End {
        time: None,
        bytes: Some(1 << 20),
        ops: None,
        loops: 1,
        time_based: false,
        behind: Behind::Ends,
    };
    let again = |bytes| End {
        bytes: Some(bytes),
        behind: Behind::Again,
        ..once
    };
    let bytes = |bytes| End {
        bytes: Some(bytes),
        ..once
    };
    let timed = |time_based| End {
        time: Some(Nanos::from_secs(5)),
        time_based,
        behind: if time_based {
            Behind::GoesOn
        } else {
            Behind::Ends
        },
        ..once
    };
    check("--rw=read", once);
    check("--io_size=4m", again(4 << 20));
    check("--io_size=50%", again(512 << 10));
    let anywhere = End {
        behind: Behind::GoesOn,
        ..again(4 << 20)
    };
    check("--io_size=4m --rw=randread --norandommap", anywhere);
    // As fio 3.33 does it: once through the files at most, and whole blocks of each.
    check("--filesize=512k --size=2m", bytes(512 << 10));
    check("--filesize=512k --size=256k", bytes(256 << 10));
    check("--filesize=512k --size=2m --io_size=4m", again(4 << 20));
    check("--size=10k", bytes(8 << 10));
    check("--size=20k --nrfiles=2", bytes(16 << 10));
    check(
        "--size=10k --loops=3",
        End {
            loops: 3,
            ..bytes(8 << 10)
        },
    );
    check("--size=10k --bsrange=2k-8k", bytes(10 << 10));
    check("--size=64k --io_size=10k", again(10 << 10));
    let ops = Some(10);
    check("--number_ios=10", End { ops, ..once });
    check("--loops=3", End { loops: 3, ..once });
    check("--runtime=5", timed(false));
    check("--runtime=5 --time_based", timed(true));
}

#[test]
fn queues_are_as_the_engine_likes_them_until_a_job_says_anything_of_them() {
    let check = |line: &str, expect: (Option<u32>, u32, Option<u32>, Option<u32>)| {
        let plan = parse(&format!("--name=a --size=1m {URING} {line}")).unwrap();
        let found = resolve(plan.jobs().next().unwrap(), nowhere)
            .unwrap()
            .job
            .batching;
        let found = (
            found.submit,
            found.complete_min,
            found.complete_max,
            found.low,
        );
        assert_eq!(found, expect, "{line}");
    };
    check("", (None, 1, None, None));
    check("--iodepth_batch=4", (Some(4), 1, Some(1), None));
    check("--iodepth_batch=0", (None, 1, Some(1), None));
    check(
        "--iodepth_batch_complete_min=4",
        (Some(1), 4, Some(4), None),
    );
    check("--iodepth_batch_complete=0", (Some(1), 0, Some(1), None));
    let both = "--iodepth_batch_complete_min=2 --iodepth_batch_complete_max=6";
    check(both, (Some(1), 2, Some(6), None));
    check("--iodepth_low=4", (Some(1), 1, Some(1), Some(4)));
}

#[test]
fn files_that_are_only_written_are_laid_out_as_in_fio() {
    let check = |line: &str, expect: Layout| {
        let plan = parse(&format!("--name=a --size=1m {line}")).unwrap();
        let job = resolve(plan.jobs().next().unwrap(), nowhere).unwrap().job;
        assert_eq!(job.layout, expect, "{line}");
    };
    check("--rw=read", Layout::Written);
    check("--rw=randrw", Layout::Written);
    check("--rw=trim", Layout::Written);
    check("--rw=write", Layout::Reserved);
    check("--rw=randwrite --fallocate=posix", Layout::Reserved);
    check("--rw=write --fallocate=keep", Layout::Kept);
    check("--rw=write --fallocate=truncate", Layout::Sparse);
    check("--rw=write --fallocate=none", Layout::Empty);
    check("--rw=write --create_on_open=1", Layout::Empty);
    check("--rw=write --overwrite=1", Layout::Written);
    check("--rw=write --ioengine=mmap", Layout::Written);
    check("--rw=write --verify=md5", Layout::Reserved);
    check("--rw=write --verify=md5 --verify_only", Layout::Written);
}

#[test]
fn a_job_waits_for_one_that_stands_before_it() {
    let check = |line: &str, words: Option<&str>| {
        let plan = parse(&format!("--size=1m --ioengine=null {line}"));
        match (plan, words) {
            (Ok(plan), None) => {
                let last = plan.jobs().last().unwrap();
                assert_eq!(last.life.waits_for.as_deref(), Some("a"), "{line}");
            }
            (Err(error), Some(words)) => assert!(error.to_string().contains(words), "{error}"),
            (found, _) => panic!("{line}: {found:?}"),
        }
    };
    check("--name=a --numjobs=3 --name=b --wait_for=a", None);
    check("--name=a --name=b --stonewall --wait_for=a", None);
    check(
        "--name=b --wait_for=a --name=a",
        Some("no job of that name stands before it"),
    );
    check("--name=a --wait_for=a", Some("would wait for itself"));
    check(
        "--wait_for=a --name=a --name=b",
        Some("would wait for itself"),
    );
    check(
        "--name=a --name=a --name=b --wait_for=a",
        Some("2 jobs have that name"),
    );
}

#[test]
fn clones_differ_in_their_seeds_and_runs_do_not() {
    let seeds = |line: &str| -> Vec<Option<u64>> {
        let plan = parse(&format!("--name=a --size=1m --numjobs=2 {line}")).unwrap();
        let jobs = plan.jobs();
        jobs.map(|job| resolve(job, nowhere).unwrap().job.seed)
            .collect()
    };
    let first = seeds("--rw=randread");
    assert!(first[0].is_some() && first[0] != first[1]);
    assert_eq!(first, seeds("--rw=randread"));
    assert_ne!(first, seeds("--randseed=5"));
    assert_eq!(seeds("--randrepeat=0"), [None, None]);
}
