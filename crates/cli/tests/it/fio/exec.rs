//! `ioengine=exec`: programs of jobs, which are executed by consent of the command line alone.

use super::*;
use std::path::Path;

/// A job that executes a shell with these words, in a bed whose temporary directory can carry our marks.
fn script(dir: &Path, name: &str, text: &str) -> String {
    let path = dir.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    let mut mode = std::fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o755);
    std::fs::set_permissions(&path, mode).unwrap();
    format!("--program={}", path.display())
}

fn exec(bed: &Bed, program: &str, more: &[&str]) -> Done {
    let job = ["--name=ex", "--ioengine=exec", program];
    fio(bed, &[&job[..], more].concat())
}

fn read(bed: &Bed, name: &str) -> String {
    std::fs::read_to_string(bed.path().join(name)).unwrap()
}

#[test]
fn nothing_is_executed_without_consent_and_the_job_file_is_read_all_the_same() {
    let bed = Bed::new();
    let program = script(bed.path(), "p", "touch executed");
    let file = format!("[ex]\nioengine=exec\n{}\n", &program[2..]);
    std::fs::write(bed.path().join("job.fio"), &file).unwrap();
    fio(&bed, &["--parse-only", "job.fio"]).code(0);
    let refused = fio(&bed, &["job.fio"]).code(2);
    refused.err_has(&["execute `/", "/p` for job `ex`", "hint: ", "`--allow-exec`"]);
    // A job file gives none, nor does a kept run.
    std::fs::write(bed.path().join("own.fio"), format!("{file}allow-exec\n")).unwrap();
    fio(&bed, &["own.fio"]).code(2);
    assert!(!bed.path().join("executed").exists() && !bed.store().exists());
    assert!(!bed.path().join("ex.stdout").exists());
    fio(&bed, &["--allow-exec", "job.fio"]).code(0);
    assert!(bed.path().join("executed").exists());
    std::fs::remove_file(bed.path().join("executed")).unwrap();
    fio(&bed, &["--show=latest"]).code(0);
    fio(&bed, &["--show=latest", "--allow-exec"]).code(2);
    assert!(!bed.path().join("executed").exists());
}

#[test]
fn a_program_gets_its_arguments_and_what_it_says_lies_in_files_named_by_the_job() {
    let bed = Bed::new();
    let program = script(
        bed.path(),
        "p",
        "for a; do echo \"<$a>\"; done; pwd; echo no >&2",
    );
    let arguments = "--arguments=-c  %r \"x y\" %n%r %z";
    let done = exec(&bed, &program, &["--allow-exec", "--runtime=20", arguments]);
    let done = done
        .code(0)
        .err_has(&["note: job `ex`: program `", "/p`: exit code 0"]);
    let head = format!("ex : {}, arguments=-c  %r", &program[2..]);
    done.out_has(&[&head, "err= 0: pid=", "issued rwts: total=0,0,0,0 "]);
    let dir = bed.path().canonicalize().unwrap();
    let expect = format!(
        "<-c>\n<20>\n<\"x>\n<y\">\n<ex20>\n<%z>\n{}\n",
        dir.display()
    );
    assert_eq!(
        (read(&bed, "ex.stdout"), read(&bed, "ex.stderr")),
        (expect, "no\n".to_owned())
    );
    // Again: what is there is ours. Of each further clone it is another file.
    exec(&bed, &program, &["--allow-exec", "--numjobs=2"]).code(0);
    let here = format!("{}\n", dir.display());
    assert_eq!(
        (read(&bed, "ex.stdout"), read(&bed, "ex.1.stdout")),
        (here.clone(), here)
    );
    std::fs::write(bed.path().join("ex.stdout"), "mine").unwrap();
    let refused = exec(&bed, &program, &["--allow-exec"]).code(2);
    refused.err_has(&["ex.stdout", "--overwrite-file"]);
    assert_eq!(read(&bed, "ex.stdout"), "mine");
    let to_us = exec(&bed, &program, &["--allow-exec", "--std_redirect=0"]).code(0);
    to_us.err_has(&[&format!("{}\nno\n", dir.display())]);
    std::fs::remove_file(bed.path().join("ex.stdout")).unwrap();
    exec(&bed, &program, &["--allow-exec", "--unlink=1"]).code(0);
    for name in ["ex.stdout", "ex.stderr"] {
        assert!(!bed.path().join(name).exists(), "{name}");
    }
}

#[test]
fn a_program_that_fails_is_told_with_its_exit_code_and_one_that_is_not_there_fails_its_job() {
    let bed = Bed::new();
    let program = script(bed.path(), "p", "exit 3");
    let done = exec(&bed, &program, &["--allow-exec", "--output-format=json"]).code(0);
    let words = "/p`: exit code 3";
    let report: Value = serde_json::from_str(&done.out).unwrap();
    let said = report["kurabe"]["warnings"].to_string();
    assert!(said.contains(words), "{said}");
    let shown = bed.run(&["show", "latest", "--full"]).code(0);
    assert!(shown.says(words), "{shown:?}");
    let missing = exec(&bed, "--program=no-such-program", &["--allow-exec"]).code(4);
    missing.err_has(&["job `ex`: execute `no-such-program`: ", "os error 2"]);
    let refused = exec(&bed, "--runtime=1", &["--allow-exec"]).code(2);
    refused.err_has(&["needs `program`"]);
    let refused = fio(&bed, &["--name=t", "--size=4k", "--program=x"]).code(2);
    refused.err_has(&["`program` is no option of `ioengine=psync`"]);
}

#[test]
fn at_the_end_of_its_time_a_program_ends_with_all_that_it_started() {
    let bed = Bed::new();
    // One that listens, and one that has a child and is deaf with it.
    let listens = script(
        bed.path(),
        "a",
        "trap 'echo asked; exit 5' TERM\nwhile :; do sleep 0.05; done",
    );
    let done = exec(&bed, &listens, &["--allow-exec", "--runtime=1"]).code(0);
    done.err_has(&["/a`: exit code 5"]);
    assert_eq!(read(&bed, "ex.stdout"), "asked\n");
    let deaf = "trap '' TERM\nsleep 300 & echo $!; wait";
    let deaf = script(bed.path(), "b", deaf);
    let job = ["--allow-exec", "--runtime=500ms", "--grace_time=0"];
    let done = exec(&bed, &deaf, &job).code(0);
    done.err_has(&[
        "warning: ",
        "/b`: it did not end within 0 s of SIGTERM, and was killed",
    ]);
    let child = read(&bed, "ex.stdout");
    let state = std::fs::read_to_string(format!("/proc/{}/stat", child.trim()));
    assert!(state.is_err() || state.unwrap().contains(") Z "), "{child}");
}

#[test]
fn with_time_based_a_job_goes_on_behind_its_program_and_ends_others_with_it() {
    let bed = Bed::new();
    let program = "--program=true";
    let runtime = |more: &[&str]| -> u64 {
        let more = [&["--allow-exec", "--output-format=json"], more].concat();
        let done = exec(&bed, program, &more).code(0);
        let report: Value = serde_json::from_str(&done.out).unwrap();
        let jobs = report["jobs"].as_array().unwrap().iter();
        jobs.map(|job| job["job_runtime"].as_u64().unwrap())
            .max()
            .unwrap()
    };
    assert!(runtime(&["--runtime=1", "--time_based"]) >= 1000);
    assert!(runtime(&["--runtime=300"]) < 60_000);
    let beside = [
        "--exitall",
        "--name=b",
        "--ioengine=null",
        "--size=1m",
        "--time_based",
    ];
    let beside = [&beside[..], &["--runtime=300"]].concat();
    assert!(runtime(&beside) < 60_000);
}
