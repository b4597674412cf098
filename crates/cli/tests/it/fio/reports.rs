//! Where reports go and what can be asked of a kept run: nothing is lost that is no report, and nothing is asked for in
//! vain.

use super::*;

const NULL: [&str; 3] = ["--name=t", "--size=1m", "--ioengine=null"];

#[test]
fn a_report_replaces_reports_alone() {
    let bed = Bed::new();
    let path = bed.path().join("out");
    let read = || std::fs::read_to_string(&path).unwrap();
    let write = |form: &str| {
        let form = format!("--output-format={form}");
        fio(&bed, &[&NULL[..], &["--output=out", &form]].concat())
    };
    // Scripts run again, in whatever form.
    std::fs::write(&path, "").unwrap();
    for form in ["normal", "json", "json+", "terse", "terse,json", "normal"] {
        let before = read();
        let done = write(form).code(0);
        assert_eq!(done.out, "", "{form}");
        assert!(!read().is_empty() && read() != before, "{form}");
    }
    // One of fio's own goes too.
    std::fs::write(&path, "t: (g=0): rw=read, bs=(R) 4096B-4096B\nfio-3.33\n").unwrap();
    write("json").code(0);
    assert!(read().starts_with("{\n  \"fio version\""));
    // A kept run is reported there again.
    let show = |more: &[&str]| fio(&bed, &[&["--show=latest", "--output=out"], more].concat());
    show(&["--minimal"]).code(0);
    assert!(read().starts_with("3;fio-3.33"));
    for theirs in [
        "letters of years",
        "{\n\"a\": 1}\n",
        "[global]\nbs=4k\n",
        "\n",
    ] {
        std::fs::write(&path, theirs).unwrap();
        for done in [write("json"), show(&[])] {
            done.code(2).err_has(&[
                "write the report to `out`: it is there already and begins as no report",
                "hint: ",
                "`rm out`",
            ]);
            assert_eq!(read(), theirs);
        }
    }
    assert_eq!(bed.left_behind(), ["out"]);
}

#[test]
fn a_kept_run_is_not_reported_over_a_jobs_file_or_into_nothing() {
    let bed = Bed::new();
    let dir = work_dir();
    let directory = format!("--directory={}", dir.path().display());
    fio(&bed, &[&SMALL[..], &["--rw=write", &directory]].concat()).code(0);
    let data = dir.path().join("t.0.0");
    let before = std::fs::read(&data).unwrap();
    let none = dir.path().join("none/report");
    for (path, why) in [
        (&data, "a job works on it"),
        (&none, "there is no such directory"),
    ] {
        let output = format!("--output={}", path.display());
        fio(&bed, &["--show=latest", &output])
            .code(2)
            .err_has(&[why]);
    }
    assert_eq!(std::fs::read(&data).unwrap(), before);
}

#[test]
fn a_kept_run_is_asked_for_its_report_alone() {
    let bed = Bed::new();
    fio(&bed, &[&NULL[..], &["--rw=read"]].concat()).code(0);
    std::fs::write(bed.path().join("job.fio"), "[b]\nsize=1m\n").unwrap();
    let kept = || bed.run(&["export", "latest"]).code(0).out;
    let before = kept();
    for more in [
        &["--rw=write"][..],
        &["--rw=read"],
        &["--name=b"],
        &["job.fio"],
        &["--section=t"],
        &["--showcmd"],
        &["--parse-only"],
        &["--status-interval=1"],
        &["--passes=2"],
        &["--passes=1"],
        &["--label=x"],
        &["--tag=a=b"],
        &["--yes-erase=/dev/null"],
        &["--overwrite-file=job.fio"],
    ] {
        let done = fio(&bed, &[&["--show=latest"], more].concat()).code(2);
        let name = more[0].split('=').next().unwrap();
        let done = done.err_has(&["asks for more than its report", "hint: ", name]);
        assert_eq!(done.out, "", "{more:?}");
    }
    for form in [
        &["--minimal"][..],
        &["--output-format=json+,normal", "--quiet"],
        &["--terse-version=5", "--append-terse"],
        &["--eta=never"],
    ] {
        fio(&bed, &[&["--show=latest"], form].concat()).code(0);
    }
    assert_eq!(kept(), before);
}

#[test]
fn a_section_is_chosen_among_those_of_job_files() {
    let bed = Bed::new();
    fio(
        &bed,
        &[&NULL[..], &["--section=x", "--parse-only"]].concat(),
    )
    .code(0)
    .err_has(&["note: command line, argument 4: `--section` changes nothing here"]);
}

#[test]
fn a_report_goes_into_no_knob_of_the_kernel_and_makes_no_device() {
    let bed = Bed::new();
    for (output, why) in [
        // The name of the process, which is harmless.
        ("/proc/self/comm", "the kernel makes up what is there"),
        (
            "/proc/thread-self/comm",
            "the kernel makes up what is there",
        ),
        ("/proc/1/comm", "the kernel makes up what is there"),
        ("/sys/kurabe-report", "the kernel makes up what is there"),
        ("/dev/kurabe-none", "there is no such device"),
        ("/dev/fd/77", "it is not open here"),
    ] {
        fio(
            &bed,
            &[&NULL[..], &[&format!("--output={output}")]].concat(),
        )
        .code(2)
        .err_has(&[why, "\nhint: name another file with `--output`"]);
    }
    assert!(!std::path::Path::new("/dev/kurabe-none").exists());
    for output in ["/dev/null", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
        let out = bed.path().join("out");
        std::fs::write(&out, "before\n").unwrap();
        let to = format!("exec \"$@\" --output={output} >> {}", out.display());
        let line = [&["fio"], &NULL[..], &["--rw=read"]].concat();
        let done = bed.behind(&["sh", "-c", &to, "sh"], &line).code(0);
        assert_eq!(done.out, "");
        let kept = std::fs::read_to_string(&out).unwrap();
        // Who opened it goes on writing behind what was there.
        let reported = kept.strip_prefix("before\n").unwrap();
        assert_eq!(reported.is_empty(), output == "/dev/null", "{output}");
    }
    let to = format!(
        "exec \"$@\" --output=/dev/stderr 2>> {}",
        bed.path().join("err").display()
    );
    let line = [&["fio"], &NULL[..], &["--rw=read", "--quiet"]].concat();
    bed.behind(&["sh", "-c", &to, "sh"], &line).code(0);
    let kept = std::fs::read_to_string(bed.path().join("err")).unwrap();
    assert!(kept.contains("groupid="), "{kept}");
}
