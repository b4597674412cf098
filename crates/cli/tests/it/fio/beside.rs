//! The same jobs with fio itself: what is done and what is told must be the same. Only how long it took may differ.

use super::*;
use std::path::Path;

/// Where fio is, if it is there.
pub(super) const FIO: &str = "/usr/bin/fio";

/// Why nothing can be compared with fio 3.33, where it is not installed.
pub(super) fn missing() -> Option<String> {
    let version = sys::process::first_line(Path::new(FIO), &["--version"], 5000);
    let is_there = version.as_deref().ok() == Some("fio-3.33");
    (!is_there).then(|| format!("fio 3.33 is not installed: {version:?}"))
}

/// fio as a user runs it.
#[expect(clippy::disallowed_methods, reason = "fio runs as a user runs it")]
pub(super) fn theirs() -> std::process::Command {
    std::process::Command::new(FIO)
}

/// Ours, where it runs beside fio.
pub(super) const OURS: [&str; 2] = [env!("CARGO_BIN_EXE_kurabe"), "fio"];

/// Job files beside the ones on the line, by name.
pub(super) type Files = &'static [(&'static str, &'static str)];

/// Runs a program with this line, after `more`, in a directory of its own: its code, and what it says on either stream.
pub(super) fn run(
    program: &[&str],
    more: &[&str],
    line: &str,
    files: Files,
) -> (Option<i32>, String, String) {
    let dir = work_dir();
    for (name, text) in files {
        std::fs::write(dir.path().join(name), text).unwrap();
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "both programs run as a user runs them"
    )]
    let mut command = std::process::Command::new(program[0]);
    let done = command
        .args(&program[1..])
        .args(more)
        .args(line.split(' '))
        .current_dir(dir.path())
        .env("SIZE_OF_TEST", "96k")
        .env("KURABE_STORE", dir.path().join("kurabe.db"))
        // Tests run beside each other, and each has a lock of its own.
        .env("KURABE_LOCK", dir.path())
        .stdin(std::process::Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    let text = String::from_utf8(done.stdout).unwrap();
    (done.status.code(), text, said)
}

mod slow {
    use super::*;
    use crate::bed::at_once;

    /// Lines whose figures do not depend on chance or time.
    const LINES: &[(&str, Files)] = &[
        ("-name=t -rw=read -bs 4k -size=256k", &[]),
        ("--name=t --rw=read --bs=4k --size=10k", &[]),
        ("--name=t --rw=write --bs=4k --size=10k --loops=3", &[]),
        ("--name=t --rw=randread --bs=4k --size=10k", &[]),
        ("--name=t --rw=read --bs=4k --size=64k --io_size=10k", &[]),
        ("--name=t --rw=read --bs=4k --size=20k --nrfiles=2", &[]),
        ("--name=t --rw=read --bs=4k --size=64k --io_size=160k", &[]),
        ("--name=t --rw=read --bs=4k --filesize=32k --size=96k", &[]),
        (
            "--name=t --rw=randread --bs=4k --filesize=32k --size=96k --nrfiles=2",
            &[],
        ),
        (
            "--name=t --rw=read --bs=4k --size=64k --offset=64k --filesize=256k",
            &[],
        ),
        (
            "--name=t --rw=write --bs=4k --size=64k --offset_increment=64k --numjobs=2 --filename=f",
            &[],
        ),
        (
            "--name=t --rw=read --bs=4k --size=256k --zonesize=8k --zonerange=16k --zoneskip=16k --zonemode=strided",
            &[],
        ),
        ("--name=t --rw=read:4k --bs=4k --size=128k", &[]),
        ("--name=t --rw=read:8k --bs=4k --size=256k", &[]),
        ("--name=t --rw=write:8k --bs=4k --size=256k --loops=3", &[]),
        (
            "--name=t --rw=read:8k --bs=4k --size=256k --io_size=256k",
            &[],
        ),
        (
            "--name=t --rw=read:12k --bs=4k --size=64k --filesize=256k",
            &[],
        ),
        (
            "--name=t --rw=read --bs=4k --size=64k --io_size=160k --loops=2",
            &[],
        ),
        (
            "--name=t --rw=randread --bs=4k --size=64k --io_size=160k --loops=2",
            &[],
        ),
        (
            "--name=t --rw=read --bs=4k --size=64k --io_size=10k --loops=3",
            &[],
        ),
        (
            "--name=t --rw=randread --bs=4k --size=64k --norandommap --io_size=160k --loops=2",
            &[],
        ),
        (
            "--name=t --rw=randwrite --bs=4k --size=256k --ioengine=mmap --fsync=4",
            &[],
        ),
        (
            "--name=t --rw=read --bs=4k --size=256k --ioengine=mmap",
            &[],
        ),
        (
            "--name=t --rw=write --bs=4k --size=256k --ioengine=ftruncate",
            &[],
        ),
        (
            "--name=t --rw=randtrim --bs=4k --size=256k --ioengine=falloc",
            &[],
        ),
        (
            "--name=t --rw=randread --bs=4k --size=256k --ioengine=falloc",
            &[],
        ),
        (
            "a.fio",
            &[(
                "a.fio",
                "[global]\nbs=4k\nsize=64k\n[a]\nrw=write\nnumjobs=2\n[b]\nwait_for=a\nrw=read\n[c]\nwait_for=b\nrw=randread\n",
            )],
        ),
        ("--name=t --rw=read:-8k --bs=4k --size=128k", &[]),
        ("--name=t --rw=randread:8 --bs=4k --size=256k", &[]),
        (
            "--name=t --rw=write --bs=4k --size=128k --verify=crc32c --verify_backlog=8",
            &[],
        ),
        (
            "--name=t --rw=randwrite --bs=4k --size=128k --verify=md5",
            &[],
        ),
        (
            "--name=t --rw=write --bs=4k --size=128k --verify=pattern --verify_pattern=0xdeadbeef",
            &[],
        ),
        (
            "--name=t --rw=write --bs=4k --size=128k --verify=crc32c --verify_pattern=0xdeadbeef",
            &[],
        ),
        (
            "--name=s --ioengine=null --size=1m --exitall_on_error --name=d --ioengine=null --size=2m",
            &[],
        ),
        ("--name=t --rw=write --bs=4k --size=128k --fsync=4", &[]),
        (
            "--name=t --rw=randread --bs=4k --size=1m --number_ios=10 --loops=2",
            &[],
        ),
        (
            "--name=t --rw=randread --bs=4k --size=1m --ioengine=null --iodepth=8",
            &[],
        ),
        (
            "--name=t --rw=randread --bs=4k --size=256k --ioengine=libaio --iodepth=4",
            &[],
        ),
        ("--name=t --rw=read --bs=4KiB --size=40k", &[]),
        ("--name=t --rw=read --bs=4k --size=40k --kb_base=1000", &[]),
        (
            "--name=t --rw=read --bs=4k --size=64k --numjobs=3 --group_reporting",
            &[],
        ),
        (
            "--name=t --rw=read --bs=4k --size=64k --numjobs=3 --group_reporting --thread --filename=f",
            &[],
        ),
        (
            "--name=t --rw=read --size=64k --lat_percentiles=1 --percentile_list=50:99.9",
            &[],
        ),
        ("--name=t --rw=read --size=64k --clat_percentiles=0", &[]),
        (
            "--name=t --rw=read --size=64k --gtod_reduce=1 --description=words",
            &[],
        ),
        ("--name=t --rw=read --size=64k --continue_on_error=all", &[]),
        (
            "a.fio",
            &[(
                "a.fio",
                "[global]\nbs=4k\nsize=128k\n[a]\nrw=write\n[b]\nstonewall\nrw=randread\nnumjobs=2\ngroup_reporting\n",
            )],
        ),
        (
            "a.fio",
            &[(
                "a.fio",
                "[global]\nbs=4k\nsize=64k\n[a]\nrw=read\n[global]\nbs=8k\n[b]\nrw=read\n",
            )],
        ),
        (
            "a.fio b.fio",
            &[
                ("a.fio", "[a]\nsize=64k\n"),
                ("b.fio", "[b]\nsize=64k\nbs=8k\n"),
            ],
        ),
        (
            "a.fio",
            &[
                (
                    "a.fio",
                    "[global]\ninclude own.inc\n[a]\nsize=${SIZE_OF_TEST}\n",
                ),
                ("own.inc", "bs=8k\n"),
            ],
        ),
        (
            "--section=b a.fio",
            &[("a.fio", "[a]\nsize=16k\n[b]\nsize=32k\n")],
        ),
    ];

    /// Lines of which a job fails: fio's exit code is 1 then, ours 4.
    const FAILING: &[(&str, Files)] = &[
        (
            "--name=a --rw=read --bs=1m --size=4m --max_latency=1 --name=b --rw=read --size=64k",
            &[],
        ),
        (
            "--name=a --rw=read --bs=1m --size=4m --max_latency=1 --exitall_on_error --name=c --stonewall \
             --ioengine=null --size=64k",
            &[],
        ),
    ];

    fn output(program: &[&str], form: &str, line: &str, files: Files) -> String {
        let (code, text, said) = run(program, &[form], line, files);
        assert_eq!(code, Some(0), "{program:?} {line}: {said}");
        text
    }

    /// What of a report must not depend on how fast the machine is.
    fn told(text: &str) -> (Vec<String>, BTreeSet<String>) {
        let document: Value = serde_json::from_str(&text[text.find('{').unwrap()..]).unwrap();
        let mut found = BTreeSet::new();
        keys(&document, "", &mut found);
        let is_ours = |key: &str| key.starts_with("/disk_util") || key.starts_with("/kurabe");
        found.retain(|key| !is_ours(key));
        let jobs = document["jobs"].as_array().unwrap().iter();
        let of_job = |job: &Value| {
            let amounts = ["read", "write", "trim"].map(|direction| {
                let direction = &job[direction];
                [
                    &direction["total_ios"],
                    &direction["io_bytes"],
                    &direction["short_ios"],
                ]
                .map(Value::to_string)
            });
            let names = [
                "jobname",
                "groupid",
                "error",
                "job options",
                "latency_depth",
                "desc",
            ];
            let names = names.map(|name| job[name].to_string());
            format!(
                "{names:?} {amounts:?} {} {}",
                job["sync"]["total_ios"], job["total_err"]
            )
        };
        (jobs.map(of_job).collect(), found)
    }

    #[test]
    #[ignore = "slow: runs every job with fio 3.33 too, which must be installed"]
    fn what_is_done_and_told_is_what_fio_does_and_tells() {
        if let Some(why) = missing() {
            eprintln!("skipped: {why}");
            return;
        }
        at_once(3, LINES, |(line, files)| {
            let json =
                |program: &[&str]| told(&output(program, "--output-format=json", line, files));
            assert_eq!(json(&OURS), json(&[FIO]), "{line} {files:?}");
            let fields = |program: &[&str]| -> Vec<usize> {
                let text = output(program, "--output-format=terse", line, files);
                let lines = text.lines().filter(|line| line.starts_with("3;"));
                lines.map(|line| line.split(';').count()).collect()
            };
            assert_eq!(fields(&OURS), fields(&[FIO]), "{line}");
        });
        for (line, files) in FAILING {
            let json = |program: &[&str], expect: i32| {
                let (code, text, said) = run(program, &["--output-format=json"], line, files);
                assert_eq!(code, Some(expect), "{program:?} {line}: {said}");
                told(&text)
            };
            assert_eq!(json(&OURS, 4), json(&[FIO], 1), "{line}");
        }
    }
}
