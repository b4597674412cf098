//! What needs root: full disks, read-only and noexec mounts, memory limits, other users.

#![expect(
    clippy::disallowed_methods,
    reason = "tests mount and start what a system would"
)]

use crate::bed::{Bed, Done, eventually};
use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) fn sh(script: &str) {
    let output = Command::new("sh").args(["-ec", script]).output().unwrap();
    assert!(
        output.status.success(),
        "{script}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// A small tmpfs, unmounted at the end. (A directory in memory is enough where only its size or flags matter.)
struct Mount(PathBuf);

impl Mount {
    fn new(bed: &Bed, options: &str) -> Self {
        let at = bed.path().join("mount");
        sh(&format!(
            "mkdir {0}; mount -t tmpfs -o {options} none {0}",
            at.display()
        ));
        Self(at)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        sh(&format!("umount {}", self.0.display()));
    }
}

/// Runs the bed's binary in a cgroup, with `prefix` before it.
fn run_in(group: &Path, bed: &Bed, prefix: &str, args: &[&str]) -> Done {
    let procs = group.join("cgroup.procs");
    let script = format!("echo $$ > {}; exec {prefix} \"$@\"", procs.display());
    bed.behind(&["sh", "-ec", &script, "sh"], args)
}

/// A memory cgroup with a limit, v1 or v2, whichever this machine has.
pub(crate) struct MemoryLimit(PathBuf);

impl MemoryLimit {
    pub(crate) fn new(bytes: u64) -> Self {
        let name = format!("kurabe-test-{}-{bytes}", std::process::id());
        let v1 = Path::new("/sys/fs/cgroup/memory");
        let v2 = Path::new("/sys/fs/cgroup");
        let (group, file) = if v1.join("memory.limit_in_bytes").exists() {
            (v1.join(name), "memory.limit_in_bytes")
        } else {
            sh("echo +memory > /sys/fs/cgroup/cgroup.subtree_control");
            (v2.join(name), "memory.max")
        };
        std::fs::create_dir(&group).unwrap();
        std::fs::write(group.join(file), bytes.to_string()).unwrap();
        Self(group)
    }

    /// Runs the bed's binary inside the limit, on one CPU, with `prefix` before it.
    pub(crate) fn run(&self, bed: &Bed, prefix: &str, args: &[&str]) -> Done {
        run_in(&self.0, bed, &format!("taskset -c 0 {prefix}"), args)
    }
}

impl Drop for MemoryLimit {
    fn drop(&mut self) {
        // Processes that were just killed leave the group a moment later.
        crate::bed::eventually(5, || std::fs::remove_dir(&self.0).is_ok());
    }
}

/// A CPU cgroup with a quota, v1 or v2, whichever this machine has.
pub(crate) struct CpuQuota(PathBuf);

impl CpuQuota {
    /// So many CPUs, counted over a tenth of a second.
    pub(crate) fn new(cpus: f64) -> Self {
        let name = format!("kurabe-test-{}-quota", std::process::id());
        let v1 = Path::new("/sys/fs/cgroup/cpu");
        let period = 100_000;
        let quota = (cpus * f64::from(period)).to_string();
        let (group, file, text) = if v1.join("cpu.cfs_quota_us").exists() {
            (v1.join(name), "cpu.cfs_quota_us", quota)
        } else {
            sh("echo +cpu > /sys/fs/cgroup/cgroup.subtree_control");
            let group = Path::new("/sys/fs/cgroup").join(name);
            (group, "cpu.max", format!("{quota} {period}"))
        };
        std::fs::create_dir(&group).unwrap();
        std::fs::write(group.join(file), text).unwrap();
        Self(group)
    }

    /// Runs the bed's binary inside the quota.
    pub(crate) fn run(&self, bed: &Bed, args: &[&str]) -> Done {
        run_in(&self.0, bed, "", args)
    }
}

impl Drop for CpuQuota {
    fn drop(&mut self) {
        crate::bed::eventually(5, || std::fs::remove_dir(&self.0).is_ok());
    }
}

#[test]
#[ignore = "root: mounts a file system"]
fn a_full_directory_is_said_before_measuring() {
    let bed = Bed::new();
    let mount = Mount::new(&bed, "size=1m");
    let done = bed
        .run(&["run", "fs.copy-256", "--dir", mount.path()])
        .code(2);
    done.err_has(&["MiB are free", "--dir"]);
    sh(&format!(
        "dd if=/dev/zero of={}/fill bs=4k 2>/dev/null || true",
        mount.path()
    ));
    bed.run(&["run", "os.pipe", "--dir", mount.path()])
        .code(2)
        .err_has(&["ENOSPC"]);
    assert!(!bed.store().exists());
}

#[test]
#[ignore = "root: mounts a file system"]
fn a_disk_that_fills_up_while_measuring_fails_rounds_and_not_the_run() {
    let bed = Bed::new();
    let mount = Mount::new(&bed, "size=40m");
    let fill = format!("{}/fill", mount.path());
    let child = bed.start(&[
        "run",
        "fs.copy-4096",
        "--passes",
        "60",
        "--dir",
        mount.path(),
        "--label",
        "f",
    ]);
    let rounds = || bed.run(&["show", "f", "--format", "csv-rounds"]).out;
    // Once a round is kept there is something to show, and the rounds that fail do not take it away.
    crate::bed::eventually(60, || rounds().lines().count() > 1);
    // Filled while a round has its files there is room for those of the next one, so that it takes several times.
    crate::bed::eventually(60, || {
        sh(&format!(
            "dd if=/dev/zero of={fill} bs=64k oflag=append conv=notrunc 2>/dev/null || true"
        ));
        rounds().contains("No space left on device")
    });
    let done: Done = child.wait_with_output().unwrap().into();
    // The test is given up, and what was measured before is kept.
    done.code(4);
    let csv = bed.run(&["show", "f", "--format", "csv-rounds"]).code(0);
    csv.out_has(&["No space left on device"]);
    std::fs::remove_file(fill).unwrap();
    assert_eq!(
        std::fs::read_dir(&mount.0).unwrap().count(),
        0,
        "nothing is left behind"
    );
}

#[test]
#[ignore = "root: mounts a small file system"]
fn a_rescued_run_for_which_there_is_no_room_is_written_elsewhere_and_no_cut_file_stays() {
    let bed = Bed::new();
    let mount = Mount::new(&bed, "size=2m");
    let store = mount.0.join("kurabe.db");
    let mut command = bed.command(&["run", "os.pipe@1", "--passes", "8"]);
    command.env("KURABE_STORE", &store);
    command.stderr(std::process::Stdio::piped());
    let child = command.spawn().unwrap();
    let log = mount.0.join("kurabe.db-wal");
    let kept = || std::fs::metadata(&log).map_or(0, |log| log.len());
    crate::bed::eventually(60, || kept() > 30_000);
    // What was removed and is open takes its room all the same.
    sh(&format!(
        "cd {}; rm kurabe.db*; cat /dev/zero > fill || truncate -s -4096 fill",
        mount.path()
    ));
    let done: Done = child.wait_with_output().unwrap().into();
    done.code(4).err_has(&["was removed", "kurabe import "]);
    let names = std::fs::read_dir(&mount.0).unwrap();
    let names: Vec<_> = names.map(|name| name.unwrap().file_name()).collect();
    assert_eq!(names, ["fill"]);
    assert!(
        bed.left_behind()
            .iter()
            .any(|name| name.starts_with("kurabe-rescued-"))
    );
}

#[test]
#[ignore = "root: mounts a file system"]
fn a_read_only_directory_is_said_before_measuring() {
    let bed = Bed::new();
    let mount = Mount::new(&bed, "size=1m,ro");
    bed.run(&["run", "os.pipe", "--dir", mount.path()])
        .code(2)
        .err_has(&["EROFS", "--dir"]);
}

#[test]
#[ignore = "root: mounts a file system"]
fn programs_run_from_memory_where_the_directory_forbids_it() {
    let bed = Bed::new();
    let mount = Mount::new(&bed, "size=64m,noexec");
    let args = [
        "run",
        "os.execl",
        "os.spawn",
        "--passes",
        "1",
        "--dir",
        mount.path(),
    ];
    bed.run(&args)
        .code(0)
        .out_has(&["os.execl@1", "os.spawn@1"]);
}

#[test]
#[ignore = "root: makes a memory cgroup"]
fn a_worker_killed_for_want_of_memory_is_a_failed_round_with_its_reason() {
    let bed = Bed::new();
    let limit = MemoryLimit::new(96 << 20);
    let args = [
        "run",
        "selftest.fault",
        "--set",
        "selftest.fault.kind=memory",
        "--passes",
        "3",
    ];
    limit.run(&bed, "", &args).code(0);
    let csv = bed.run(&["show", "--format", "csv-rounds"]).code(0).out;
    assert!(csv.contains("out of memory"), "{csv}");
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
#[ignore = "root: makes a memory cgroup"]
fn without_root_with_one_cpu_and_256_mb_everything_works() {
    let bed = Bed::new();
    sh(&format!("chmod 777 {}", bed.path().display()));
    let limit = MemoryLimit::new(256 << 20);
    let user = "setpriv --reuid 65534 --regid 65534 --clear-groups";
    let args = ["run", "unixbench", "--passes", "1"];
    let tests = ["os.shell-8@1", "fs.copy-4096@1", "cpu.dhrystone@1"];
    limit.run(&bed, user, &args).code(0).out_has(&tests);
    let args = ["run", "quick", "--passes", "1"];
    let small = ["--set", "storage.*.size=64M"];
    let done = limit.run(&bed, user, &[&args[..], &small].concat());
    // Where arrays beyond the last cache are larger than the limit, that one figure is missing, with its reason.
    let refused = done.says("no value: cannot be done here: too little memory: ");
    let tests = ["memory.copy@1", "os.spawn@1", "storage.fsync-4k@1"];
    let done = done.code(if refused { 4 } else { 0 }).out_has(&tests);
    assert_eq!(done.out.matches("no value").count(), usize::from(refused));
    let rounds = bed.run(&["show", "--format", "csv-rounds"]).code(0).out;
    let of_memory = rounds
        .lines()
        .filter(|line| line.contains("too little memory"));
    let of_memory: Vec<&str> = of_memory.collect();
    assert_eq!(!of_memory.is_empty(), refused, "{rounds}");
    let is_copy = |line: &&str| line.contains("memory.copy");
    assert!(of_memory.iter().all(is_copy), "{of_memory:?}");
    assert_eq!(bed.left_behind(), [""; 0]);
}

#[test]
#[ignore = "root: makes a mount and a PID namespace"]
fn where_processes_of_others_are_hidden_the_rest_is_watched_and_that_is_said() {
    for hidepid in [1, 2] {
        let bed = Bed::new();
        sh(&format!("chmod 777 {}", bed.path().display()));
        let script = format!(
            "mount -t proc -o hidepid={hidepid} proc /proc
             setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\""
        );
        let before = ["unshare", "-m", "-p", "-f", "sh", "-ec", &script, "sh"];
        bed.behind(&before, &["run", "os.pipe", "--passes", "1"])
            .code(0)
            .out_says(&["not every process of this machine could be seen"]);
        let run = bed.run(&["show", "--json"]).code(0).out;
        let run: serde_json::Value = serde_json::from_str(&run).unwrap();
        let share = &run["metrics"][0]["noise"]["foreign_cpu"];
        assert!(share.is_number(), "hidepid={hidepid}: {share}");
    }
}

#[test]
#[ignore = "root: becomes another user"]
fn who_writes_to_a_file_and_could_not_be_seen_is_said() {
    let bed = Bed::new();
    sh(&format!("chmod 777 {}", bed.path().display()));
    // Of a file of root's the kernel tells nobody else who has it open.
    let file = bed.path().join("theirs");
    std::fs::write(&file, vec![7; 64 << 10]).unwrap();
    sh(&format!("chmod 666 {}", file.display()));
    let user = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let named = |option: &str| format!("{option}={}", file.display());
    let (name, overwrite) = (named("--filename"), named("--overwrite-file"));
    let job = [
        "fio",
        "--name=a",
        "--rw=write",
        "--bs=4k",
        &name,
        &overwrite,
    ];
    bed.behind(&user, &job)
        .code(0)
        .err_has(&["warning: nobody was seen to use", "not every process"]);
    let done = bed.run(&[&job[..], &["--dir-of-others"]].concat()).code(0);
    assert!(!done.err.contains("nobody was seen"), "{}", done.err);
}

#[test]
#[ignore = "root: makes a PID namespace"]
fn clean_in_another_pid_namespace_leaves_a_live_run_alone() {
    let bed = Bed::new();
    let child = bed.start(&["run", "os.pipe", "--passes", "8", "--label", "long"]);
    crate::bed::eventually(30, || !bed.left_behind().is_empty());
    let script = format!(
        "cd {}; KURABE_STORE={} unshare -p -f --mount-proc {} clean",
        bed.path().display(),
        bed.store().display(),
        env!("CARGO_BIN_EXE_kurabe")
    );
    sh(&script);
    assert_eq!(bed.left_behind().len(), 1);
    let done: Done = child.wait_with_output().unwrap().into();
    done.code(0);
}

#[test]
#[ignore = "root: mounts a file system"]
fn what_is_mounted_in_a_work_directory_is_not_emptied() {
    let bed = Bed::new();
    let stale = bed.path().join("kurabe-work-dead");
    let precious = bed.path().join("precious");
    sh(&format!(
        "mkdir -p {0}/mnt {1}; echo x > {1}/file",
        stale.display(),
        precious.display()
    ));
    std::fs::write(stale.join(".kurabe-work"), r#"{"run":"dead"}"#).unwrap();
    sh(&format!(
        "mount --bind {} {}/mnt",
        precious.display(),
        stale.display()
    ));
    let done = bed.run(&["clean"]);
    sh(&format!("umount {}/mnt", stale.display()));
    done.code(4).err_has(&["something is mounted at"]);
    assert!(precious.join("file").exists());
    bed.run(&["clean"]).code(0).err_has(&["removed"]);
    assert!(!stale.exists() && precious.join("file").exists());
}

/// A loop device on 32 MiB in memory; detached at the end.
struct Loop(String);

impl Loop {
    fn new(bed: &Bed) -> (Mount, Self) {
        let mount = Mount::new(bed, "size=64M");
        let image = format!("{}/image", mount.path());
        sh(&format!("truncate -s 32M {image}"));
        let made = Command::new("losetup")
            .args(["--find", "--show", &image])
            .output()
            .unwrap();
        assert!(made.status.success(), "{made:?}");
        let device = String::from_utf8(made.stdout).unwrap().trim().to_owned();
        (mount, Self(device))
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        sh(&format!("losetup --detach {}", self.0));
    }
}

#[test]
#[ignore = "root: makes a loop device"]
fn a_scheduler_is_set_for_the_jobs_of_fio_and_set_back() {
    let bed = Bed::new();
    let (_mount, disk) = Loop::new(&bed);
    let device = format!("--filename={}", disk.0);
    let name = disk.0.rsplit('/').next().unwrap();
    let knob = format!("/sys/block/{name}/queue/scheduler");
    let before = std::fs::read_to_string(&knob).unwrap();
    let other = before
        .split_whitespace()
        .find(|word| !word.starts_with('['));
    let Some(other) = other else {
        eprintln!("skipped: the kernel offers one scheduler: {before}");
        return;
    };
    let set = format!("--ioscheduler={other}");
    let job = ["fio", "--name=a", &device, "--size=1m"];
    let time = ["--runtime=2", "--time_based", "--verbose", &set];
    let child = bed.start(&[&job[..], &time].concat());
    let is_set = || {
        std::fs::read_to_string(&knob)
            .unwrap()
            .contains(&format!("[{other}]"))
    };
    eventually(60, is_set);
    let done: Done = child.wait_with_output().unwrap().into();
    done.code(0);
    assert_eq!(std::fs::read_to_string(&knob).unwrap(), before);
    let none = [&job[..], &["--ioscheduler=none-such"]].concat();
    bed.run(&none).code(3).err_has(&["the device offers "]);
}

#[test]
#[ignore = "root: makes a loop device"]
fn jobs_of_fio_read_devices_and_write_them_only_with_leave() {
    let bed = Bed::new();
    let (_mount, disk) = Loop::new(&bed);
    let device = format!("--filename={}", disk.0);
    let job = |more: &[&str]| bed.run(&[&["fio", "--name=a", &device, "--bs=4k"], more].concat());
    job(&["--size=1m"])
        .code(0)
        .out_has(&["issued rwts: total=256,0,0,0 "]);
    // The whole of it, but for its ends.
    job(&["--bs=1m"])
        .code(0)
        .out_has(&["issued rwts: total=30,0,0,0 "]);
    let write = ["--rw=write", "--size=1m"];
    job(&write).code(2).err_has(&[
        "--yes-erase",
        &disk.0,
        "hint: if everything on it may be lost",
    ]);
    let leave = format!("--yes-erase={}", disk.0);
    job(&[&write[..], &[&leave]].concat())
        .code(0)
        .out_has(&["write: IOPS="]);
    let other = ["--rw=write", "--size=1m", "--yes-erase=/dev/null"];
    job(&other).code(2).err_has(&["--yes-erase"]);
    // A device that is filled is written to its end, whatever size is given.
    let fill = [
        "--rw=write",
        "--bs=1m",
        "--fill_device=1",
        "--size=1m",
        &leave,
    ];
    job(&fill)
        .code(0)
        .out_has(&["issued rwts: total=0,30,0,0 "]);
}

/// The raw file of an article, but for its length.
#[test]
#[ignore = "root: makes a loop device"]
fn workloads_of_vdbench_read_devices_and_write_them_only_with_leave() {
    let bed = Bed::new();
    let (_mount, disk) = Loop::new(&bed);
    let params = bed.path().join("params");
    let text = format!(
        "sd=sd1,lun={},openflags=o_direct\nwd=wd1,sd=sd*,seekpct=random,rdpct=50,xfersize=8192\n\
         rd=rd1,wd=wd*,elapsed=300,interval=60,iorate=max\n",
        disk.0
    );
    std::fs::write(&params, text).unwrap();
    let quick = [
        "vdbench",
        "-f",
        params.to_str().unwrap(),
        "-e",
        "2",
        "-i",
        "1",
    ];
    bed.run(&quick).code(2).err_has(&["--yes-erase", &disk.0]);
    bed.run(&[&quick[..], &["rdpct=100"]].concat())
        .code(0)
        .out_has(&["avg_2-2"]);
    let leave = [&quick[..], &["--yes-erase", &disk.0]].concat();
    bed.run(&leave).code(0).out_has(&["avg_2-2"]);
}

#[test]
#[ignore = "root: makes a loop device"]
fn jobs_of_fio_tell_errors_that_they_let_pass() {
    let bed = Bed::new();
    let (mount, disk) = Loop::new(&bed);
    // Of what is used, 1 to 31 MiB, the second half is gone.
    sh(&format!("truncate -s 16M {}/image", mount.path()));
    let device = format!("--filename={}", disk.0);
    let job = ["fio", "--name=a", &device, "--bs=64k", "--direct=1"];
    let json = ["--output-format=json", "--continue_on_error=all"];
    let done = bed.run(&[&job[..], &json].concat()).code(0);
    let report: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    let told = &report["jobs"][0];
    let numbers = ["error", "total_err", "first_error"].map(|name| told[name].as_u64());
    assert_eq!(numbers, [Some(5), Some(240), Some(5)]);
    assert_eq!(told["read"]["io_bytes"], 15 << 20);
    bed.run(&[&job[..], &["--continue_on_error=read", "--verbose"]].concat())
        .code(0)
        .out_has(&["err= 5 (", "errors    : total=240, first_error=5/"])
        .err_has(&[
            "240 operations failed and were let pass",
            "Input/output error",
        ]);
    bed.run(&[&job[..], &["--ignore_error=ENOSPC:EIO"]].concat())
        .code(0)
        .out_has(&["err= 5 (", "errors    : total=240, first_error=5/"]);
    bed.run(
        &[
            &job[..],
            &["--continue_on_error=all", "--ignore_error=ENOSPC"],
        ]
        .concat(),
    )
    .code(4)
    .err_has(&["error: job `a`: ", "os error 5"]);
    bed.run(&job)
        .code(4)
        .err_has(&["error: job `a`: ", "os error 5"]);
}

#[test]
#[ignore = "root: mounts a file system"]
fn half_of_what_is_free_is_filled_and_read_by_a_job_that_knows_no_size() {
    let bed = Bed::new();
    let mount = Mount::new(&bed, "size=32m");
    let file = format!("--filename={}/f", mount.path());
    let check = ["--verify=meta", "--verify_interval=512", "--bs=64k"];
    let fill = [
        "--name=a",
        &file,
        "--rw=write",
        "--fill_device=1",
        "--do_verify=0",
    ];
    let read = ["--name=b", &file, "--rw=read", "--stonewall"];
    bed.run(&[&["fio", "--verbose"], &fill[..], &check, &read, &check].concat())
        .code(0)
        .out_has(&[
            "issued rwts: total=0,240,0,0 ",
            "issued rwts: total=240,0,0,0 ",
        ])
        .err_has(&["`fill_device`: about half of what is free"]);
    let found = std::fs::metadata(format!("{}/f", mount.path())).unwrap();
    assert_eq!(found.len(), 15 << 20);
}
