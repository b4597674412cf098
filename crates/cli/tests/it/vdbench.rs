//! `kurabe vdbench`: parameter files end to end, with lines while runs go on, files in vdbench's forms, and runs that
//! are kept.

use crate::bed::{Bed, Done, eventually, signal};
use serde_json::Value;
use std::fs;

/// A file of 8 MiB in the bed.
fn raw(bed: &Bed, rd: &str) -> String {
    let file = bed.path().join("params");
    let lun = bed.path().join("lun");
    let text = format!(
        "* a file\nsd=sd1,lun={},size=8m,threads=2\nwd=wd1,sd=sd*,rdpct=50,xfersize=4k\n\
         rd=rd1,wd=wd*,elapsed=2,interval=1,{rd}\n",
        lun.display()
    );
    fs::write(&file, text).unwrap();
    file.to_str().unwrap().to_owned()
}

fn vdbench(bed: &Bed, args: &[&str]) -> Done {
    bed.run(&[&["vdbench"], args].concat())
}

#[test]
fn lines_are_printed_for_each_interval_and_the_average_leaves_out_the_first() {
    let bed = Bed::new();
    let params = raw(&bed, "iorate=max");
    let out = bed.path().join("out");
    let out = out.to_str().unwrap();
    let done = vdbench(&bed, &["-f", &params, "-o", out]).code(0);
    for words in [
        "Starting RD=rd1; I/O rate: Uncontrolled MAX; elapsed=2; For loops: None",
        " interval ",
        "avg_2-2",
    ] {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
    // Interval 2 and the average are of the same time.
    let column = |label: &str| -> f64 {
        let is_of = |line: &&str| line.split_whitespace().nth(1) == Some(label);
        let line = done
            .out
            .lines()
            .find(is_of)
            .unwrap_or_else(|| panic!("{label}: {}", done.out));
        line.split_whitespace().nth(2).unwrap().parse().unwrap()
    };
    let (second, average) = (column("2"), column("avg_2-2"));
    assert!(
        average > 0.0 && (second / average - 1.0).abs() < 0.5,
        "{second} {average}"
    );
    // What is written is read back.
    bed.run(&["import", &format!("{out}/flatfile.html")])
        .code(0);
    let imported = bed.run(&["show", "latest", "--json"]).code(0);
    let imported: Value = serde_json::from_str(&imported.out).unwrap();
    let own = vdbench(&bed, &["--show", "latest~1", "--output-format", "json"]).code(0);
    let own: Value = serde_json::from_str(&own.out).unwrap();
    let own = own["runs"][0]["average"]["ops_per_s"].as_f64().unwrap();
    let metrics = imported["metrics"].as_array().unwrap();
    let iops = metrics
        .iter()
        .find(|one| one["quantity"] == "iops")
        .unwrap();
    let iops = iops["estimate"].as_f64().unwrap();
    assert!((iops / own - 1.0).abs() < 1e-9, "{iops} {own}");
    for name in ["summary.html", "totals.html"] {
        bed.run(&["import", &format!("{out}/{name}")]).code(0);
    }
}

#[test]
fn loops_are_cases_and_rates_are_kept_to() {
    let bed = Bed::new();
    let params = raw(
        &bed,
        "forthreads=(1,2),iorate=(200,400),distribution=deterministic",
    );
    let listed = vdbench(&bed, &["-f", &params, "-s"]).code(0);
    assert_eq!(
        listed.out.matches("Starting RD=rd1").count(),
        4,
        "{}",
        listed.out
    );
    let done = vdbench(
        &bed,
        &["-f", &params, "--output-format", "json", "--passes", "2"],
    )
    .code(0);
    let document: Value = serde_json::from_str(&done.out).unwrap();
    let runs = document["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    for (run, rate) in runs.iter().zip([200.0, 400.0, 200.0, 400.0]) {
        let done = run["average"]["ops_per_s"].as_f64().unwrap();
        // A loaded machine may come too late for the last of them.
        assert!((done / rate - 1.0).abs() < 0.1, "{done} of {rate}");
        assert_eq!(run["requested_ops_per_s"].as_f64(), Some(rate));
        assert!(run["from_intended_start"]["resp_ns_mean"].as_f64().unwrap() > 0.0);
    }
    let kept = bed.run(&["show", "latest", "--json"]).code(0);
    for case in [
        "vdbench.rd1.threads-1.iorate-200@1",
        "vdbench.rd1.threads-2.iorate-400@1",
    ] {
        assert!(kept.out.contains(case), "{case}");
    }
}

#[test]
fn a_point_of_a_curve_is_a_share_of_the_maximum() {
    let bed = Bed::new();
    let params = raw(&bed, "iorate=curve,curve=(20)");
    let done = vdbench(&bed, &["-f", &params, "--output-format", "json", "--quiet"]).code(0);
    let document: Value = serde_json::from_str(&done.out).unwrap();
    let of = |at: usize, key: &str| document["runs"][at][key].clone();
    let most = of(0, "average")["ops_per_s"].as_f64().unwrap();
    let asked = of(1, "requested_ops_per_s").as_f64().unwrap();
    assert!((asked / most - 0.2).abs() < 0.001, "{asked} of {most}");
}

#[test]
fn file_sets_stand_in_the_anchor_and_go_with_the_run() {
    let bed = Bed::new();
    let anchor = bed.path().join("anchor");
    fs::create_dir(&anchor).unwrap();
    fs::write(anchor.join("vdb1.1.dir"), "somebody's").unwrap();
    let params = bed.path().join("params");
    let text = format!(
        "fsd=fsd1,anchor={},depth=1,width=2,files=5,size=16k\n\
         fwd=default,xfersize=4k,fileio=random,threads=2,\nstopafter=4\n\
         fwd=fwd1,fsd=fsd1,operation=read\nfwd=fwd2,fsd=fsd1,operation=write\n\
         rd=rd1,fwd=fwd*,fwdrate=max,format=yes,elapsed=2,interval=1\nrd=rd2,fwd=fwd1,format=(yes,only)\n",
        anchor.display()
    );
    fs::write(&params, text).unwrap();
    let done = vdbench(&bed, &["-f", params.to_str().unwrap()]).code(0);
    for words in ["fwdrate=max. For loops: None", "ReqstdOps", "avg_2-2"] {
        assert!(done.out.contains(words), "{words}: {}", done.out);
    }
    let left: Vec<_> = fs::read_dir(&anchor)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left, ["vdb1.1.dir"]);
    let kept = bed.run(&["show", "latest", "--json"]).code(0);
    for metric in [
        "vdbench.rd1@2:ops_per_s",
        "vdbench.rd1@2:read_ns_mean",
        "vdbench.rd1@2:write_bytes_per_s",
    ] {
        assert!(kept.out.contains(metric), "{metric}");
    }
}

#[test]
fn what_is_wrong_is_said_before_anything_is_made() {
    let bed = Bed::new();
    let bad = raw(&bed, "iorate=fast");
    let check = |args: &[&str], words: &[&str]| {
        vdbench(&bed, args).code(2).err_has(words);
        assert!(!bed.path().join("lun").exists());
    };
    check(
        &["-f", &bad],
        &["line 4: parameter `iorate` does not take `fast`"],
    );
    check(&[], &["no parameter file is named"]);
    check(
        &["-f", bed.path().to_str().unwrap()],
        &["read parameter file"],
    );
    check(&["-f", "/dev/null"], &["read parameter file"]);
    check(
        &["-f", "nope"],
        &["read parameter file `nope`: No such file"],
    );
    let good = raw(&bed, "iorate=max");
    check(
        &["-f", &good, "thraeds=3"],
        &["`thraeds` is no word of a run"],
    );
    check(
        &["-f", &good, "th=(1-99999,1)"],
        &["`forthreads` does not take"],
    );
    let other = bed.path().join("other");
    fs::create_dir(&other).unwrap();
    fs::write(other.join("totals.html"), "somebody's").unwrap();
    check(
        &["-f", &good, "-o", other.to_str().unwrap()],
        &["begins as no report of vdbench"],
    );
}

#[test]
fn what_no_run_can_do_is_told_by_the_line_that_asks_for_it() {
    let bed = Bed::new();
    let dir = bed.path().join("sets");
    fs::create_dir(&dir).unwrap();
    std::os::unix::fs::symlink(&dir, bed.path().join("same")).unwrap();
    let check = |text: &str, code: i32, words: &str| {
        let text = text.replace("DIR", bed.path().to_str().unwrap());
        fs::write(bed.path().join("params"), text).unwrap();
        let done = vdbench(&bed, &["-f", "params"]).code(code);
        assert!(done.err_has(&[words]).out.is_empty());
        assert_eq!(fs::read_dir(&dir).unwrap().count(), 0);
    };
    let run = "\nfwd=w,fsd=*\nrd=r,fwd=w,fwdrate=10,elapsed=2,format=yes\n";
    let sets = |sets: &str| format!("{sets}{run}");
    let none = "fsd=a,anchor=DIR/params,files=1,size=4k";
    check(&sets(none), 2, "`params` line 1: `fsd=a`: anchor `");
    let same = "fsd=a,anchor=DIR/sets,files=1,size=4k\nfsd=b,anchor=DIR/same,files=1,size=4k";
    check(
        &sets(same),
        2,
        "`rd=r`: file sets `a` and `b` stand at the same anchor",
    );
    let large = "fsd=a,anchor=DIR/sets,files=1000,size=1t";
    check(&sets(large), 3, "`params` line 3: `rd=r`: ");
    let raw = |sd: &str| format!("sd=s,{sd}\nwd=w,sd=s,xfersize=1m\nrd=r,wd=w,elapsed=2\n");
    check(
        &raw("lun=DIR/new,size=64k"),
        2,
        "line 1: `sd=s`: no operation of 1048576 bytes",
    );
    check(
        &raw("lun=/dev/null,size=64m"),
        2,
        "neither a file nor a block device",
    );
}

#[test]
fn what_a_shell_puts_in_the_place_of_a_command_is_read() {
    let bed = Bed::new();
    let params = raw(&bed, "iorate=max");
    let script = "exec \"$0\" vdbench -s -f <(cat \"$1\")";
    bed.behind(&["bash", "-c", script], &[&params])
        .code(0)
        .out_has(&["Starting RD=rd1"]);
}

#[test]
fn a_file_that_a_killed_run_was_writing_to_is_told_of_and_stays() {
    use std::io::Read;
    let bed = Bed::new();
    let params = raw(&bed, "iorate=max");
    let mut child = bed.start(&["vdbench", "-f", &params, "-e", "60"]);
    // Its lines begin when the file is there.
    let mut byte = [0];
    child
        .stdout
        .as_mut()
        .unwrap()
        .read_exact(&mut byte)
        .unwrap();
    let lun = bed.path().join("lun");
    eventually(20, || {
        fs::read(&lun).is_ok_and(|bytes| bytes.iter().any(|&byte| byte != 0))
    });
    signal(&child, "-KILL");
    child.wait().unwrap();
    let told = [
        "left alone ",
        "lun: a killed run was writing to it",
        "`rm -- ",
    ];
    for args in [&["clean", "--dry-run"][..], &["clean"], &["clean"]] {
        // Workers end a moment behind it.
        eventually(20, || bed.run(args).code(0).err.contains(told[1]));
        bed.run(args).code(0).err_has(&told);
    }
    assert!(lun.exists());
    fs::remove_file(&lun).unwrap();
    bed.run(&["clean"]).code(0).err_has(&["nothing to remove"]);
}

#[test]
fn a_file_of_others_is_read_and_never_written() {
    let bed = Bed::new();
    let params = raw(&bed, "iorate=max");
    let lun = bed.path().join("lun");
    let text = "x".repeat(8 << 20);
    fs::write(&lun, &text).unwrap();
    vdbench(&bed, &["-f", &params])
        .code(2)
        .err_has(&["--overwrite-file"]);
    assert!(fs::read_to_string(&lun).unwrap() == text);
    vdbench(&bed, &["-f", &params, "rdpct=100", "--quiet"]).code(0);
    assert!(fs::read_to_string(&lun).unwrap() == text);
    let leave = [
        "-f",
        &params,
        "--quiet",
        "--overwrite-file",
        lun.to_str().unwrap(),
    ];
    vdbench(&bed, &leave).code(0);
    assert!(fs::read(&lun).unwrap() != text.as_bytes());
}

#[test]
fn lines_that_cannot_be_printed_are_an_error_and_the_run_is_kept() {
    let bed = Bed::new();
    let params = raw(&bed, "iorate=max");
    let full = fs::OpenOptions::new()
        .write(true)
        .open("/dev/full")
        .unwrap();
    let mut command = bed.command(&["vdbench", "-f", &params]);
    let done: Done = command.stdout(full).output().unwrap().into();
    done.code(4)
        .err_has(&["write to standard output: No space left"]);
    vdbench(&bed, &["--show", "latest"])
        .code(0)
        .out_has(&["avg_2-"]);
}

#[test]
fn what_is_interrupted_is_kept_as_far_as_it_came() {
    use std::io::Read;
    let bed = Bed::new();
    let params = raw(&bed, "iorate=max");
    let mut child = bed.start(&["vdbench", "-f", &params, "-e", "60"]);
    let mut told = Vec::new();
    let mut byte = [0];
    let out = child.stdout.as_mut().unwrap();
    // The line of the second interval has begun.
    while String::from_utf8_lossy(&told).matches('\n').count() < 6 {
        assert!(
            out.read(&mut byte).unwrap() > 0,
            "{}",
            String::from_utf8_lossy(&told)
        );
        told.push(byte[0]);
    }
    signal(&child, "-INT");
    let done = child.wait_with_output().unwrap();
    assert_eq!(
        done.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    vdbench(&bed, &["--show", "latest"])
        .code(130)
        .out_has(&["avg_2-"]);
}
