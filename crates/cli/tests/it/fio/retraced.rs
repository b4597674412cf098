//! Checks of what an earlier run wrote: they write nothing, and blame no sound file, whichever program wrote it.

use super::beside::{missing, theirs};
use super::*;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Ways to write that are drawn anew in each run unless something says otherwise, or leave places out.
const WAYS: [&str; 16] = [
    "--rw=randwrite --randrepeat=0 --bsrange=4k-16k",
    "--rw=randwrite --randrepeat=0 --bssplit=4k/50:16k/50",
    "--rw=write --randrepeat=0 --bsrange=4k-16k",
    "--rw=randwrite --randrepeat=0 --random_distribution=zipf:1.2",
    "--rw=randwrite --allrandrepeat=1 --randrepeat=0 --bsrange=4k-16k",
    "--rw=randwrite --randseed=77 --norandommap",
    "--rw=randwrite --randrepeat=0 --norandommap --bsrange=4k-16k",
    "--rw=randrw --randrepeat=0",
    "--rw=randrw --rwmixread=30 --bsrange=4k-8k,4k-16k",
    "--rw=rw --bssplit=4k/50:8k/50",
    "--rw=randwrite --number_ios=40 --randrepeat=0",
    "--rw=randwrite --io_size=512k --bsrange=4k-16k",
    "--rw=randwrite --loops=2 --bsrange=4k-16k",
    "--rw=write:4k",
    "--rw=randwrite --zonemode=strided --zonesize=64k --zonerange=128k --bsrange=4k-16k",
    "--rw=randwrite --runtime=60 --randrepeat=0 --percentage_random=50",
];

/// What all of them have in common.
const FRAME: [&str; 4] = [
    "--name=v",
    "--size=1m",
    "--verify=crc32c",
    "--verify_state_save=0",
];

/// The error of the one job of a line, and what was said.
fn error(mut command: std::process::Command, dir: &Path, line: &str) -> (u64, String) {
    let directory = format!("--directory={}", dir.display());
    let command = command.current_dir(dir).args(FRAME).arg(directory);
    let command = command.arg("--output-format=json").args(line.split(' '));
    let done = command.output().unwrap();
    let (text, said) = (
        String::from_utf8_lossy(&done.stdout),
        String::from_utf8_lossy(&done.stderr),
    );
    let Some(at) = text.find('{') else {
        panic!("{line}: {text}{said}");
    };
    let report: Value = serde_json::from_str(&text[at..]).unwrap();
    (
        report["jobs"][0]["error"].as_u64().unwrap(),
        said.into_owned(),
    )
}

/// Changes a byte of data behind a header in the middle of the file.
fn damage(path: &Path) {
    let data = std::fs::read(path).unwrap();
    let mut blocks = (0..data.len())
        .step_by(4096)
        .filter(|at| data[*at..].starts_with(&[0xca, 0xac]));
    let at = blocks.find(|at| *at >= data.len() / 3).unwrap() + 1000;
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.write_all_at(&[!data[at]], u64::try_from(at).unwrap())
        .unwrap();
}

/// What `writer` wrote in each way is sound to us, and damage in it is found.
fn is_judged(writer: impl Fn(&Bed) -> std::process::Command) {
    let bed = Bed::new();
    for way in WAYS {
        let dir = work_dir();
        let dir = dir.path();
        let wrote = error(writer(&bed), dir, &format!("{way} --do_verify=0"));
        assert_eq!(wrote.0, 0, "{way}");
        let check = || error(bed.command(&["fio"]), dir, &format!("{way} --verify_only"));
        let found = check();
        assert_eq!(found.0, 0, "{way}: {}", found.1);
        damage(&dir.join("v.0.0"));
        let found = check();
        assert_eq!(found.0, 84, "{way}: {}", found.1);
    }
}

#[test]
fn a_check_in_a_later_run_blames_no_sound_file_and_finds_damage() {
    is_judged(|bed| bed.command(&["fio"]));
}

#[test]
fn what_fio_wrote_is_not_blamed_and_damage_in_it_is_found() {
    if let Some(why) = missing() {
        eprintln!("skipped: {why}");
        return;
    }
    is_judged(|_| theirs());
}

#[test]
fn a_check_asks_for_no_consent_and_is_within_readonly() {
    let bed = Bed::new();
    for way in [
        "--rw=randrw",
        "--rw=rw",
        "--rw=randwrite",
        "--rw=write",
        "--rw=randread",
    ] {
        let (written, copy) = (work_dir(), work_dir());
        let line = |dir: &TempDir, more: &[&str]| {
            let directory = format!("--directory={}", dir.path().display());
            fio(&bed, &[&FRAME[..], &[&directory, way], more].concat())
        };
        let writes = if way == "--rw=randread" {
            "--rw=write"
        } else {
            way
        };
        line(&written, &[writes, "--do_verify=0"]).code(0);
        // A copy carries no mark of ours: it is a file of the user's.
        let path = copy.path().join("v.0.0");
        let data = std::fs::read(written.path().join("v.0.0")).unwrap();
        std::fs::write(&path, &data).unwrap();
        line(&copy, &["--verify_only"]).code(0);
        line(&copy, &["--verify_only", "--readonly"]).code(0);
        assert_eq!(std::fs::read(&path).unwrap(), data, "{way}");
        if way != "--rw=randread" {
            line(&copy, &[]).code(2).err_has(&["overwrite"]);
            line(&copy, &["--readonly"])
                .code(2)
                .err_has(&["forbids it"]);
        }
    }
}

#[test]
fn jobs_that_write_the_same_blocks_do_not_blame_each_other() {
    let bed = Bed::new();
    let check = |options: &str, code: i32| {
        let dir = work_dir();
        let directory = format!("--directory={}", dir.path().display());
        let mut line = vec![
            "--filename=shared",
            &directory,
            "--size=1m",
            "--verify=crc32c",
        ];
        line.extend(options.split(' '));
        let done = fio(&bed, &line).code(code);
        if code == 2 {
            done.err_has(&["can be told from damage", "hint: `offset_increment`"]);
        }
        if code == 0 && !options.contains("verify_only") {
            // So does a check in a later run.
            fio(&bed, &[&line[..], &["--verify_only"]].concat()).code(0);
        }
    };
    check("--name=s --numjobs=2 --rw=randwrite", 0);
    check("--name=s --numjobs=3 --rw=write", 0);
    check("--name=s --numjobs=2 --rw=randwrite --norandommap", 0);
    check(
        "--name=s --numjobs=2 --rw=randwrite --bsrange=4k-16k --do_verify=0",
        0,
    );
    check(
        "--name=s --numjobs=2 --rw=randwrite --bsrange=4k-16k --offset_increment=1m",
        0,
    );
    check("--name=s --numjobs=2 --rw=randwrite --bsrange=4k-16k", 2);
    check("--name=s --rw=write --name=t --bs=8k --rw=write", 2);
}

#[test]
fn one_file_by_two_names_is_one() {
    let bed = Bed::new();
    let dir = work_dir();
    let at = |name: &str| dir.path().join(name);
    let directory = format!("--directory={}", dir.path().display());
    let start = [&directory, "--size=1m", "--verify=crc32c"];
    std::fs::create_dir(at("d")).unwrap();
    std::os::unix::fs::symlink(at("d"), at("link")).unwrap();
    // Before the file is made, and once it is there.
    for is_first in [true, false] {
        let other = "--filename=link/f --rw=write --bs=8k";
        let options = format!("--name=s --filename=d/f --rw=write --name=t {other}");
        let line: Vec<&str> = start.into_iter().chain(options.split(' ')).collect();
        fio(&bed, &line)
            .code(2)
            .err_has(&["can be told from damage"]);
        if is_first {
            let line = [&start[..], &["--name=s", "--filename=d/f", "--rw=write"]].concat();
            fio(&bed, &line).code(0);
        }
    }
}

#[test]
fn either_option_alone_makes_a_run_repeat_itself() {
    let check = |options: &str, repeats: bool| {
        let orders: Vec<Vec<u8>> = (0..2)
            .map(|_| {
                let bed = Bed::new();
                let dir = work_dir();
                let directory = format!("--directory={}", dir.path().display());
                let mut line = vec![
                    "--name=r",
                    "--size=256k",
                    "--rw=randwrite",
                    "--number_ios=16",
                ];
                line.extend(options.split(' '));
                line.push(&directory);
                fio(&bed, &line).code(0);
                let path = dir.path().join("r.0.0");
                places(&path)
            })
            .collect();
        let [one, other] = &orders[..] else {
            panic!("two runs");
        };
        assert_eq!(one == other, repeats, "{options}");
    };
    check("--randrepeat=1 --buffer_pattern=0x55", true);
    check(
        "--allrandrepeat=1 --randrepeat=0 --buffer_pattern=0x55",
        true,
    );
    check(
        "--randrepeat=0 --allrandrepeat=1 --buffer_pattern=0x55",
        true,
    );
    check("--randrepeat=0 --randseed=5 --buffer_pattern=0x55", true);
    check("--randrepeat=0 --buffer_pattern=0x55", false);
    check(
        "--randrepeat=0 --allrandrepeat=0 --buffer_pattern=0x55",
        false,
    );
}

/// Which blocks of a file hold the pattern.
fn places(path: &Path) -> Vec<u8> {
    let data = std::fs::read(path).unwrap();
    data.chunks(4096)
        .map(|block| u8::from(block[0] == 0x55))
        .collect()
}
