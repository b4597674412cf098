//! Values of options: as fio reads them, and what is said about them.

use super::*;
use crate::fio::job::*;
use model::job::{Arrivals, FileOrder, IoEngine, VerifyMethod, Zones};
use model::units::Nanos;

#[test]
fn traps_of_the_language_are_kept_and_said() {
    let check = |option: &str, part: &str, holds: fn(&Job) -> bool| {
        let plan = file(&format!("[a]\n{option}\n")).unwrap();
        assert!(holds(first(&plan)), "{option}: {:?}", first(&plan));
        assert!(warned(&plan, part), "{option}: {:?}", plan.warnings);
    };
    check("bs=4KiB", "4000, not 4096", |job| {
        job.does.blocks.read == Some(Blocks::Fixed(4000))
    });
    check("bs= 8k", "space before", |job| {
        job.does.blocks.read == Some(Blocks::Fixed(8))
    });
    check("bs=4k-16k", "is no range", |job| {
        job.does.blocks.read == Some(Blocks::Fixed(4096))
            && job.does.blocks.write == Some(Blocks::Fixed(16384))
            && job.does.blocks.trim == Some(Blocks::Fixed(16384))
    });
    check("bs=8k,", "empty place", |job| {
        job.does.blocks.write == Some(Blocks::Fixed(4096))
    });
    check("io_size=1.5g", "no decimal point", |job| {
        job.amount.io_size == Some(Extent::Bytes(1))
    });
    check("runtime=30sec", "30 microseconds", |job| {
        job.does.end.time == Some(Nanos(30_000))
    });
    check("runtime=1min", "1 microseconds", |job| {
        job.does.end.time == Some(Nanos(1_000))
    });
    check("ramp_time=5sec", "microseconds", |job| {
        job.does.ramp == Nanos(5_000)
    });
    check("time_based", "without `runtime`", |job| {
        !job.does.end.time_based
    });
    check("iodepth=32", "has no effect", |job| job.does.depth == 32);
    check("bssplit=4k/60:8k/60", "beyond 100", |job| {
        job.does.blocks.read == Some(Blocks::Split(vec![(4096, 60.0), (8192, 40.0)]))
    });
    check("bssplit=4k/10:8k/10", "takes the rest", |job| {
        job.does.blocks.read == Some(Blocks::Split(vec![(4096, 10.0), (8192, 90.0)]))
    });
    check("ss=iops:5%", "without `ss_dur`", |job| {
        job.does.steady_state.is_none()
    });
    check("filename=${NOPE}x", "no `NOPE`", |job| {
        job.target.files == ["x"]
    });
    check("numjobs=2\nfilename=x\nrw=write", "same blocks", |job| {
        job.clones == 2
    });
    check("ioengine=libaio\niodepth=4", "without `direct=1`", |job| {
        job.does.depth == 4
    });
}

#[test]
fn plain_values_are_read_without_a_warning() {
    let check = |option: &str, holds: fn(&Job) -> bool| {
        let plan = file(&format!("[a]\n{option}\n")).unwrap();
        assert!(holds(first(&plan)), "{option}: {:?}", first(&plan));
        assert_eq!(plan.warnings, [], "{option}");
    };
    check("bs=4kb", |job| {
        job.does.blocks.read == Some(Blocks::Fixed(4096))
    });
    check("bs=4k,8k", |job| {
        job.does.blocks.write == Some(Blocks::Fixed(8192))
            && job.does.blocks.trim == Some(Blocks::Fixed(8192))
    });
    check("bs=4k,8k,16k", |job| {
        job.does.blocks.trim == Some(Blocks::Fixed(16384))
    });
    check("bsrange=16k-4k", |job| {
        job.does.blocks.read
            == Some(Blocks::Range {
                min_bytes: 4096,
                max_bytes: 16384,
            })
    });
    check("bsrange=4k-8k\nbs=1k", |job| {
        job.does.blocks.read
            == Some(Blocks::Range {
                min_bytes: 4096,
                max_bytes: 8192,
            })
    });
    check("bsrange=4k-4k", |job| {
        job.does.blocks.read == Some(Blocks::Fixed(4096))
    });
    check("bssplit=4k/50:8k/:32k/", |job| {
        job.does.blocks.write
            == Some(Blocks::Split(vec![
                (4096, 50.0),
                (8192, 25.0),
                (32768, 25.0),
            ]))
    });
    check("bssplit=4k/50:64k/50,8k/100", |job| {
        job.does.blocks.trim == Some(Blocks::Split(vec![(8192, 100.0)]))
    });
    check("size=50%", |job| {
        job.amount.size == Some(Extent::Percent(50))
    });
    check("kb_base=1000\nsize=1mib", |job| {
        job.amount.size == Some(Extent::Bytes(1 << 20))
    });
    check("size=1mib\nkb_base=1000", |job| {
        job.amount.size == Some(Extent::Bytes(1 << 20))
    });
    check("ramp_time=5", |job| job.does.ramp == Nanos::from_secs(5));
    check("timeout=60\ntime_based", |job| {
        job.does.end.time == Some(Nanos::from_secs(60)) && job.does.end.time_based
    });
    check("startdelay=2-5", |job| {
        job.life.start_delay_ns == (2_000_000_000, 5_000_000_000)
    });
    check("rate=1m,500k", |job| {
        let rates = job.does.pacing.rates.map(|rate| rate.bytes_per_s);
        (rates.read, rates.write, rates.trim) == (Some(1 << 20), Some(512_000), Some(512_000))
    });
    check("rate_iops=,100\nrate_process=poisson", |job| {
        let rates = job.does.pacing.rates;
        (rates.read.iops, rates.write.iops) == (None, Some(100))
            && job.does.arrivals == Arrivals::Poisson
    });
    check("rwmixwrite=70\nrwmixread=60", |job| {
        job.does.read_percent == 60
    });
    check("rwmixread=60\nrwmixwrite=70", |job| {
        job.does.read_percent == 30
    });
    check("rw=randread:8", |job| {
        job.does.pattern.random && job.does.steps.ops_per_offset == 8
    });
    check("rw=write:4k", |job| {
        !job.does.pattern.random && job.does.steps.skip_bytes == 4096
    });
    check("rw=read:-4k", |job| {
        !job.does.pattern.random && job.does.steps.skip_bytes == -4096
    });
    check("direct=1\nbuffered=1", |job| !job.does.direct);
    check("norandommap=0", |job| !job.does.repeat_blocks);
    check("group_reporting=2", |job| job.reporting.by_group);
    check("verify=crc32c-intel\nverify_pattern=0xff", |job| {
        job.verify.is_on && job.verify.how.method == VerifyMethod::Crc32c
    });
    check("random_distribution=zipf:1.2", |job| {
        job.does.distribution
            == Distribution::Zipf {
                theta: 1.2,
                center: None,
            }
    });
    check("random_distribution=zoned:50/5:30/15:20/", |job| {
        job.does.distribution
            == Distribution::Zoned(Directions::all(vec![(50, 5), (30, 15), (20, 80)]))
    });
    check("ss=iops_slope:0.3%\nss_dur=30m\nss_ramp=10", |job| {
        let state = job.does.steady_state.unwrap();
        state.by_slope
            && state.is_percent
            && state.duration == Nanos::from_secs(1800)
            && state.ramp == Nanos::from_secs(10)
    });
    check("latency_target=5ms\nlatency_percentile=99.9", |job| {
        job.latency.latency == Nanos::from_millis(5)
    });
    check("filename=/tmp/${HOME}/x$HOME", |job| {
        job.target.files == ["/tmp//home/me/x$HOME"]
    });
    check("bs=$pagesize*2\nnumjobs=$ncpus", |job| {
        job.clones == 2 && job.does.blocks.read == Some(Blocks::Fixed(8192))
    });
    check("cpus_allowed=0-1,3", |job| {
        job.life.cpus.iter().copied().eq([0, 1, 3])
    });
    check("zonesize=4k\nzoneskip=8k", |job| {
        job.does.zones
            == Some(Zones {
                work_bytes: 4096,
                range_bytes: 4096,
                skip_bytes: 8192,
            })
    });
    check("gtod_reduce=1", |job| {
        job.reporting.no_clat && job.reporting.no_slat && job.reporting.no_lat
    });
    check("ioengine=aio\ndirect=1\niodepth=8", |job| {
        job.does.engine == IoEngine::Libaio
    });
    check("ioengine=io_uring\nhipri\nsqthread_poll=1", |job| {
        job.does.poll_device && job.does.poll_submissions
    });
    check("hipri\nioengine=io_uring", |job| job.does.poll_device);
}

#[test]
fn values_that_fio_refuses_are_refused() {
    for option in [
        "rw=foo",
        "rw=RandRead",
        "rw = read",
        "ioengine= null",
        "ioengine=nul",
        "ioengine=rbd",
        "bs=abc",
        "bs=k",
        "bsrange=4k",
        "bsrange=4k,8k",
        "bssplit=abc",
        "runtime=abc",
        "rwmixread=300",
        "iodepth=0",
        "random_distribution=zipf:1",
        "random_distribution=pareto:2",
        "random_distribution=zipf:1.1:2",
        "random_distribution=zoned:60/10",
        "random_distribution=zoned:50/50:30/30:20/30",
        "random_distribution=uniform",
        "verify=foo",
        "verify_pattern=abc",
        "ss=foo:1",
        "sync=2",
        "fallocate=yes",
        "random_generator=foo",
        "io_size=200%",
        "zonemode=none\nzonesize=4k",
        "percentage_random=101",
        "size=5z",
    ] {
        assert!(file(&format!("[a]\n{option}\n")).is_err(), "{option}");
    }
}

#[test]
fn smallest_rates_that_fio_runs_with_are_taken() {
    // Tried with fio 3.33.
    for options in [
        "rate_min=100k",
        "rate_iops_min=100",
        "rate=100k\nrate_min=100k",
        "rate=10k,0\nrate_min=5k",
        "rate_iops=10\nrate_iops_min=0,5,5",
        // Another unit than that of the rate.
        "rate=10k\nrate_iops_min=500",
        "rate_iops=1000\nrate_min=10m",
    ] {
        assert!(file(&format!("[a]\n{options}\n")).is_ok(), "{options}");
    }
}

#[test]
fn favourite_files_have_the_laws_of_favourite_offsets() {
    let check = |value: &str, expect: Option<FileOrder>| {
        let plan = file(&format!("[a]\nnrfiles=4\nfile_service_type={value}\n"));
        let order = plan.ok().map(|plan| first(&plan).does.files.order.clone());
        assert_eq!(order, expect, "{value}");
    };
    let zipf = |theta, center| Some(FileOrder::Favours(Distribution::Zipf { theta, center }));
    check("random:8", Some(FileOrder::Random));
    check("zipf", zipf(1.1, None));
    check("zipf:1.2", zipf(1.2, None));
    check("zipf:1.2:0.5", zipf(1.2, Some(0.5)));
    let pareto = Distribution::Pareto {
        power: 0.3,
        center: None,
    };
    check("pareto:0.3", Some(FileOrder::Favours(pareto)));
    for word in ["normal", "gauss"] {
        let normal = Distribution::Normal {
            deviation_percent: 10.0,
        };
        check(&format!("{word}:10"), Some(FileOrder::Favours(normal)));
    }
    // As fio 3.33 refuses them.
    for value in ["zipf:1", "zipf:abc", "pareto:2", "gauss:200", "popular"] {
        check(value, None);
    }
}

#[test]
fn nothing_is_a_share_wherever_shares_are_taken_and_more_than_all_is_none() {
    type Of = fn(&Job) -> Option<Extent>;
    let zero = Extent::Bytes(0);
    let options: [(&str, Of); 6] = [
        ("size", |job| job.amount.size),
        ("io_size", |job| job.amount.io_size),
        ("io_limit", |job| job.amount.io_size),
        ("offset", |job| Some(job.amount.offset)),
        ("fileoffset", |job| Some(job.amount.offset)),
        ("offset_increment", |job| Some(job.amount.offset_increment)),
    ];
    for (option, of) in options {
        let read = |value: &str| file(&format!("[a]\n{option}={value}\n"));
        let found = |value: &str| of(first(&read(value).unwrap()));
        // As fio 3.33 reads them.
        for nothing in ["0", "0%", "00%", "0%%", "0k", "0x0"] {
            assert_eq!(found(nothing), Some(zero), "{option}={nothing}");
        }
        assert_eq!(found("1%"), Some(Extent::Percent(1)), "{option}");
        assert_eq!(found("100%"), Some(Extent::Percent(100)), "{option}");
        for odd in [
            "101%", "256%", "-1%", "-1", "%", "1.5%", "50 %", "4z", "max",
        ] {
            assert!(read(odd).is_err(), "{option}={odd}");
        }
    }
}

#[test]
fn a_sign_of_per_cent_behind_a_percentile_is_none_of_its_own() {
    let of = |line: &str| first(&file(&format!("[a]\n{line}\n")).unwrap()).clone();
    let same = |one: &str, other: &str| {
        let (one, other) = (of(one), of(other));
        assert_eq!(one.latency, other.latency);
        assert_eq!(one.reporting.percentiles, other.reporting.percentiles);
    };
    same("latency_percentile=99%", "latency_percentile=99");
    same("percentile_list=50%:99.9%", "percentile_list=50:99.9");
    for odd in [
        "latency_percentile=101%",
        "latency_percentile=%",
        "percentile_list=50%%",
    ] {
        assert!(file(&format!("[a]\n{odd}\n")).is_err(), "{odd}");
    }
}

#[test]
fn what_is_drawn_repeats_where_one_of_three_options_says_so() {
    let check = |options: &str, repeats: bool| {
        let plan = file(&format!("[a]\nsize=1m\nrw=randwrite\n{options}\n")).unwrap();
        assert_eq!(first(&plan).is_repeatable(), repeats, "{options}");
    };
    // As fio 3.33 does it, whichever comes first.
    check("", true);
    check("randrepeat=0", false);
    check("randrepeat=0\nallrandrepeat=1", true);
    check("allrandrepeat=1\nrandrepeat=0", true);
    check("allrandrepeat=0\nrandrepeat=0", false);
    check("randrepeat=1\nallrandrepeat=0", true);
    check("randrepeat=0\nrandseed=7", true);
}
