//! fio's text as its versions print it.

use super::*;

pub(super) const OLD: &str = "\
web: (g=0): rw=randread, bs=4K-4K/4K-4K, ioengine=libaio, iodepth=2
fio 1.57
Starting 1 process

web: (groupid=0, jobs=1): err= 0: pid=77
  read : io=2000.0KB, bw=200.50KB/s, iops=50 , runt=  9975msec
    slat (usec): min=2 , max=40 , avg= 5.50, stdev= 1.00
    clat (usec): min=100 , max=1200.5K, avg=900.25, stdev=30.00
     lat (usec): min=110 , max=1200.6K, avg=905.75, stdev=31.00
    bw (KB/s) : min=  100, max=  300, per=100.00%, avg=200.00, stdev= 5.00
  cpu          : usr=0.10%, sys=0.20%, ctx=500, majf=0, minf=20
  IO depths    : 1=0.1%, 2=99.9%, 4=0.0%, 8=0.0%, 16=0.0%, 32=0.0%, >=64=0.0%
     issued r/w/d: total=500/0/0, short=0/0/0
     lat (usec): 250=10.00%, 1000=70.00%
     lat (msec): 2=15.00%, >=2000=5.00%

Run status group 0 (all jobs):
   READ: io=2000KB, aggrb=200KB/s, minb=205KB/s, maxb=205KB/s, mint=9975msec, maxt=9975msec
";

pub(super) const MIDDLE: &str = "\
db: (g=0): rw=randrw, bs=16K-16K/16K-16K/16K-16K, ioengine=psync, iodepth=1
...
log: (g=0): rw=write, bs=512-1K/512-1K/512-1K, ioengine=sync, iodepth=1
fio-2.0.13
Starting 9 processes

db: (groupid=0, jobs=9): err= 0: pid=900: Tue Mar  4 05:06:07 2014
  read : io=1024.0MB, bw=900001 B/s, iops=54 , runt=300284msec
    clat (msec): min=2 , max=900 , avg=80.50, stdev=70.00
     lat (msec): min=2 , max=900 , avg=80.50, stdev=70.00
    clat percentiles (msec):
     |  1.00th=[    4],  5.00th=[    9], 50.00th=[   75], 99.00th=[  500],
     | 99.90th=[  800]
    bw (KB/s)  : min=    1, max=   93, per=4.31%, avg=20.90, stdev= 9.97
  write: io=39955KB, bw=135719 B/s, iops=1.5K, runt=301456msec
    clat (usec): min=3 , max=28301K, avg=3815334.86, stdev=4531880.45
    clat percentiles (usec):
     |  1.00th=[    5], 99.99th=[>=16711680]
    lat (usec) : 4=0.01%, 10=1.99%
    lat (msec) : 2=18.00%, 4=40.00%, 100=40.00%
  cpu          : usr=0.00%, sys=0.00%, ctx=43255, majf=0, minf=4661
     issued    : total=r=9114/w=5685/d=0, short=r=0/w=0/d=0

Run status group 0 (all jobs):
   READ: io=145824KB, aggrb=485KB/s, minb=485KB/s, maxb=485KB/s, mint=300284msec, maxt=300284msec
";

pub(super) const NEW: &str = "\
sync test: (g=0): rw=write, bs=(R) 2300B-2300B, (W) 2300B-2300B, (T) 2300B-2300B, ioengine=sync, iodepth=1
Mix: (g=1): rw=randrw, bs=(R) 4096B-4096B, (W) 8192B-8192B, (T) 4096B-4096B, ioengine=io_uring, iodepth=16
...
fio-3.28
Starting 4 processes

sync test: (groupid=0, jobs=1): err= 0: pid=10: Sat Jul 15 09:07:13 2023
  write: IOPS=24, BW=55.8KiB/s (57.1kB/s)(22.0MiB/403805msec); 0 zone resets
    clat (nsec): min=5298, max=94.3k, avg=15811.61, stdev=7763.87
     lat (nsec): min=5564, max=95136, avg=16324.40, stdev=7938.34
    clat percentiles (usec):
     | 50.000th=[   14], 99.000th=[   42]
   bw (  KiB/s): min=    4, max=  166, per=98.59%, avg=55.91, stdev=29.15, samples=797
   iops        : min=    2, max=   74, avg=25.15, stdev=12.95, samples=797
  lat (usec)   : 10=16.51%, 20=63.05%, 50=20.05%, 100=0.39%
  fsync/fdatasync/sync_file_range:
    sync (msec): min=5, max=1523, avg=40.24, stdev=57.53
    sync percentiles (msec):
     | 50.000th=[   23], 99.000th=[  268]
  cpu          : usr=0.02%, sys=0.11%, ctx=31762, majf=0, minf=15
     issued rwts: total=0,10029,0,0 short=10029,0,0,0 dropped=0,0,0,0
Mix: (groupid=1, jobs=3): err= 0: pid=11: Sat Jul 15 09:07:13 2023
  read: IOPS=22.7k, BW=88.6MiB/s (93.0MB/s)(887MiB/10001msec)
    lat percentiles (usec):
     | 99.900th=[  137]
     lat (usec): min=33, max=570, avg=87.47, stdev=12.24
    clat prio 0 (100.00%) (usec): min=1, max=2, avg=1, stdev=0
    clat percentiles (usec):
     | 99.900th=[  137]
  write: IOPS=1.25M, BW=1.50GiB/s (1611MB/s)(0.5TiB/10001msec); 0 zone resets
  mixed: IOPS=0, BW=0 (0)(0B/1msec)
  cpu          : usr=14.81%, sys=38.35%, ctx=113484, majf=0, minf=36
     issued rwts: total=226964,9,0,0 short=0,0,0,0 dropped=0,0,0,0

Run status group 0 (all jobs):
  WRITE: bw=55.8KiB/s (57.1kB/s), 55.8KiB/s-55.8KiB/s (57.1kB/s-57.1kB/s), io=22.0MiB (23.1MB), run=403805-403805msec
Disk stats (read/write):
  sda: ios=0/505, sectors=0/438096, merge=0/1028, ticks=0/856, in_queue=856, util=0.36%
";

#[test]
fn the_text_of_1_57_counts_in_1024_bytes_and_thousands() {
    let [job] = &figures(OLD)[..] else {
        panic!("one job")
    };
    assert_eq!(job.test, "fio.web");
    assert_eq!(
        job.title,
        "web: rw=randread, bs=4k, ioengine=libaio, iodepth=2"
    );
    assert_eq!(
        (job.version.as_deref(), job.when, job.copies),
        (Some("1.57"), None, 1)
    );
    // Whether it went past the page cache is not said.
    assert_eq!((&job.ours, job.params.get("direct")), (&None, None));
    check(
        job,
        &[
            ("iops", 50.0),
            ("bw_bytes_per_s", 200.5 * 1024.0),
            ("slat_ns_mean", 5500.0),
            ("clat_ns_mean", 900_250.0),
            ("clat_ns_max", 1.2005e9),
            ("lat_ns_mean", 905_750.0),
            ("lat_ns_mode", 1e6),
            ("lat_mode_share", 0.7),
        ],
    );
}

#[test]
fn a_group_of_unlike_jobs_has_only_what_they_have_in_common() {
    let found = figures(MIDDLE);
    assert_eq!(names(&found), ["fio.db-read", "fio.db-write", "fio.db"]);
    let [read, write, both] = &found[..] else {
        panic!("three of them were counted")
    };
    assert_eq!(read.copies, 9);
    let params: Vec<_> = read.params.iter().collect();
    assert_eq!(params, [(&"iodepth".to_owned(), &"1".to_owned())]);
    assert_eq!(
        read.when.unwrap().rfc3339(),
        "2014-03-04T05:06:07.000000000Z"
    );
    check(
        read,
        &[
            ("bw_bytes_per_s", 900_001.0),
            ("clat_ns_p50", 75e6),
            ("clat_ns_p999", 800e6),
        ],
    );
    check(
        write,
        &[
            ("iops", 1500.0),
            ("clat_ns_max", 28.301e9),
            ("clat_ns_p1", 5000.0),
            ("clat_ns_p9999", 16_711_680e3),
        ],
    );
    assert_eq!(value(write, "lat_ns_mean"), None);
    // The histogram is of reads and writes together; of two classes as full, the first.
    check(both, &[("lat_ns_mode", 4e6), ("lat_mode_share", 0.4)]);
    assert_eq!(both.values.len(), 2);
}

#[test]
fn the_text_of_3_x_names_the_unit_of_every_line() {
    let found = figures(NEW);
    assert_eq!(
        names(&found),
        ["fio.sync-test", "fio.mix-read", "fio.mix-write"]
    );
    let [sync, read, write] = &found[..] else {
        panic!("three of them were counted")
    };
    check(
        sync,
        &[
            ("bw_bytes_per_s", 55.8 * 1024.0),
            ("clat_ns_max", 94_300.0),
            ("clat_ns_p50", 14_000.0),
            ("clat_ns_p99", 42_000.0),
            ("sync_ns_mean", 40_240_000.0),
            ("sync_ns_p99", 268e6),
            ("lat_ns_mode", 20_000.0),
        ],
    );
    assert_eq!(sync.params["bs"], "2300");
    check(
        read,
        &[("iops", 22_700.0), ("bw_bytes_per_s", 88.6 * 1_048_576.0)],
    );
    check(read, &[("lat_ns_mean", 87_470.0)]);
    // Percentiles without a latency of that name before them are not given to another.
    assert_eq!(value(read, "clat_ns_p999"), None);
    check(
        write,
        &[("iops", 1.25e6), ("bw_bytes_per_s", 1.5 * 1_073_741_824.0)],
    );
    assert_eq!((read.copies, &read.params["bs"][..]), (3, "4k,8k,4k"));
}

#[test]
fn what_terminals_and_trackers_add_does_not_matter() {
    let check = |what: &str, text: &str| {
        assert_eq!(read(text).figures, figures(NEW), "{what}");
    };
    let each = |before: &str| -> String {
        let lines = NEW.lines().map(|line| format!("{before}{line}\n"));
        lines.collect()
    };
    check("a quote", &each("> > "));
    check("an escaped quote", &each("&gt; "));
    check("tabs", &each("\t\t"));
    check(
        "markdown",
        &format!("It was slow:\n\n```\n{NEW}```\nAnd now?\n"),
    );
    check(
        "a prompt",
        &format!("root@host:~# fio a.fio\n{NEW}root@host:~# "),
    );
    check("no line end", NEW.trim_end());
    check(
        "collapsed blanks",
        &NEW.lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n")
            .collect::<String>(),
    );
    check(
        "lines of a script",
        &format!("{NEW}\n1GB:\n  read: IOPS=94, BW=380KiB/s (389kB/s)(44.5MiB/120019msec)\n"),
    );
    let glued = OLD.replacen("web: (g=0)", "# fio --name=webweb: (g=0)", 1);
    assert_eq!(read(&glued).figures, figures(OLD));
}

#[test]
fn several_outputs_of_a_text_are_told_apart() {
    let check = |text: &str, outputs: &[usize]| {
        let found: Vec<usize> = figures(text).iter().map(|part| part.output).collect();
        assert_eq!(found, outputs);
    };
    check(&format!("{OLD}{NEW}{OLD}"), &[0, 1, 1, 1, 2]);
    // Without the lines before the jobs.
    let bare = |text: &str| text.split_once("\n\n").unwrap().1.to_owned();
    check(&format!("{}{}", bare(OLD), bare(OLD)), &[0, 1]);
    // The same process again: what is printed while it goes on is in what is printed next.
    let early = NEW.replace("22.0MiB/", "21.0MiB/");
    check(&format!("{early}{NEW}"), &[0, 0, 0]);
}

#[test]
fn jobs_of_one_name_are_told_apart() {
    let job = OLD
        .split_once("\n\n")
        .unwrap()
        .1
        .split_once("\n\n")
        .unwrap()
        .0;
    let text = format!("{job}\n{job}\n{job}\n").replacen("web:", "web-2:", 1);
    assert_eq!(
        names(&figures(&text)),
        ["fio.web-2", "fio.web", "fio.web-3"]
    );
}

#[test]
fn a_failed_job_and_a_line_not_understood_are_named() {
    let check = |from: &str, to: &str, line: usize, what: &str| {
        let found = read(&OLD.replacen(from, to, 1));
        let mut left_out = found.left_out.iter();
        assert!(
            left_out.any(|part| part.line == line && part.what == what),
            "{found:?}"
        );
    };
    check(
        "err= 0",
        "err= 5 (file:io_u.c)",
        5,
        "job `web` of fio: it failed with error 5",
    );
    check(
        "iops=50 ",
        "iops=fast",
        6,
        "not understood: read : io=2000.0KB, bw=200.50KB/s, iops=fast, runt=  9975msec",
    );
    check(
        "avg=900.25",
        "avg=?",
        8,
        "not understood: clat (usec): min=100 , max=1200.5K, avg=?, stdev=30.00",
    );
    // What follows the line of another direction is not taken for more of the first.
    let lost = read(&MIDDLE.replace("  write: io", "  wr?te: io"));
    assert_eq!(names(&lost.figures), ["fio.db"]);
    let p1: Vec<_> = lost.figures[0]
        .values
        .iter()
        .filter(|one| one.quantity == "clat_ns_p1")
        .collect();
    assert_eq!(
        (p1.len(), value(&lost.figures[0], "clat_ns_p1")),
        (1, Some(4e6))
    );
    let lines: Vec<usize> = lost.left_out.iter().map(|part| part.line).collect();
    assert_eq!(lines, [15, 16]);
    let bits = NEW.replace("BW=88.6MiB/s", "BW=700Mibit/s");
    assert_eq!(read(&bits).left_out[0].line, 23);
}

#[test]
fn counters_below_zero_are_no_figures() {
    let text = OLD.replace("max=40 ", "max=18446744073709551614 ");
    let [job] = &figures(&text)[..] else {
        panic!("one job")
    };
    assert_eq!(value(job, "slat_ns_max"), None);
    check(job, &[("slat_ns_mean", 5500.0)]);
}

#[test]
fn rates_that_contradict_the_block_size_are_left_out_and_said() {
    let text = OLD.replace("iops=50 ,", "iops=500 ,");
    let found = read(&text);
    assert_eq!(value(&found.figures[0], "iops"), None);
    assert_eq!(value(&found.figures[0], "bw_bytes_per_s"), None);
    assert!(value(&found.figures[0], "clat_ns_mean").is_some());
    let said = &found.left_out[0].what;
    assert!(
        said.contains("500 operations/s of its blocks are 2048000 bytes/s"),
        "{said}"
    );
}

#[test]
fn a_job_whose_end_and_kind_are_not_seen_is_left_out() {
    let (_, no_header) = NEW.split_once("Starting").unwrap();
    let at = no_header.find("  cpu ").unwrap();
    let found = read(&no_header[..at]);
    assert_eq!(names(&found.figures), [""; 0]);
    assert!(
        found.left_out[0].what.contains("cut before its end"),
        "{found:?}"
    );
}
