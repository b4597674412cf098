//! What programs that we start get of us: nothing but what the user gave us; and what becomes of workers without us.

use crate::bed::{Bed, Done, eventually, processes_in, signal};
use std::fs;
use std::path::{Path, PathBuf};

/// The bit of SIGXFSZ (25) and of SIGPIPE (13) in a mask of signals.
const IGNORED: u64 = 1 << 24 | 1 << 12;

/// A run behind a shell with a soft limit of open files that nobody else sets.
const LIMIT: [&str; 4] = ["sh", "-c", "ulimit -S -n 347; exec \"$@\"", "sh"];

#[test]
fn a_command_that_sets_a_side_up_inherits_what_the_user_had() {
    let bed = Bed::new();
    let own = fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    let command =
        "{ cat /proc/self/oom_score_adj; ulimit -S -n; grep SigIgn /proc/self/status; } > told";
    let what = ["duel", "selftest.null", "--passes", "1"];
    let how = ["--a-cmd", command, "--b-cmd", "true", "--quiet"];
    bed.behind(&LIMIT, &[&what[..], &how].concat()).code(0);
    let told = fs::read_to_string(bed.path().join("told")).unwrap();
    let mut lines = told.lines();
    assert_eq!(lines.next(), Some(own.trim()));
    assert_eq!(lines.next(), Some("347"));
    assert_eq!(ignored(lines.next().unwrap()), 0, "{told}");
}

fn ignored(line: &str) -> u64 {
    let mask = line.split_whitespace().last().unwrap();
    u64::from_str_radix(mask, 16).unwrap() & IGNORED
}

/// What /proc says of the process that runs below `dir` and has `name` on its command line: the file `about`.
fn about(dir: &Path, name: &str, about: &str) -> Option<String> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries
        .filter(|entry| {
            let line = fs::read_to_string(entry.path().join("cmdline")).unwrap_or_default();
            let cwd = fs::read_link(entry.path().join("cwd"));
            cwd.is_ok_and(|cwd| cwd.starts_with(dir)) && line.contains(name)
        })
        .find_map(|entry| fs::read_to_string(entry.path().join(about)).ok())
}

#[test]
fn a_measured_program_inherits_what_the_user_had_and_only_the_worker_dies_first() {
    let bed = Bed::new();
    let own = fs::read_to_string("/proc/self/oom_score_adj").unwrap();
    let script = "ulimit -S -n 347; exec \"$@\" 2> /dev/null > /dev/null";
    let mut run = bed.command(&[]);
    let program = run.get_program().to_owned();
    run = {
        #[expect(clippy::disallowed_methods, reason = "the binary behind a shell")]
        let mut shell = std::process::Command::new("sh");
        shell.args(["-c", script, "sh"]).arg(program);
        shell.args(["run", "os.spawn", "--passes", "99", "--quiet"]);
        shell
            .current_dir(bed.path())
            .env("KURABE_STORE", bed.store());
        shell
    };
    let child = run.spawn().unwrap();
    let found = || {
        let of = |name, what| about(bed.path(), name, what);
        // Between fork and execve it is still a copy of the worker.
        let helper = ["oom_score_adj", "limits", "status"].map(|what| of("copy-0/helper", what));
        let [Some(score), Some(limits), Some(status)] = helper else {
            return false;
        };
        let files = limits
            .lines()
            .find(|line| line.starts_with("Max open files"))
            .unwrap();
        assert_eq!(score, own);
        assert_eq!(files.split_whitespace().nth(3), Some("347"), "{files}");
        let mask = status
            .lines()
            .find(|line| line.starts_with("SigIgn"))
            .unwrap();
        assert_eq!(ignored(mask), 0);
        of("__worker", "oom_score_adj").is_some_and(|score| score.trim() == "1000")
    };
    eventually(60, found);
    signal(&child, "-INT");
    Done::from(child.wait_with_output().unwrap()).code(130);
}

#[test]
fn a_limit_of_no_bytes_in_a_file_is_an_error_in_words() {
    let bed = Bed::new();
    let limit = ["sh", "-c", "ulimit -f 0; exec \"$@\"", "sh"];
    for args in [
        &["run", "selftest.null", "--passes", "1"][..],
        &["fio", "--name=a", "--size=64k"],
    ] {
        let done = bed.behind(&limit, args);
        done.code(2)
            .err_has(&["`ulimit -f`", "\nhint: `ulimit -f unlimited`"]);
    }
}

mod root {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "setcap is a program")]
    fn with_capabilities(bed: &Bed) -> PathBuf {
        let copy = bed.path().join("kurabe");
        fs::copy(env!("CARGO_BIN_EXE_kurabe"), &copy).unwrap();
        let done = std::process::Command::new("setcap")
            .arg("cap_sys_nice+ep")
            .arg(&copy)
            .status();
        assert!(done.unwrap().success());
        copy
    }

    #[test]
    #[ignore = "root: gives a copy of the binary capabilities, and another user executes it"]
    #[expect(clippy::disallowed_methods, reason = "setpriv is a program")]
    fn workers_of_a_binary_with_capabilities_do_not_outlive_the_supervisor() {
        let bed = Bed::new();
        let copy = with_capabilities(&bed);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
        fs::set_permissions(bed.path(), open).unwrap();
        let hangs = [
            "--set",
            "selftest.fault.kind=hang",
            "--set",
            "selftest.fault.round=0",
        ];
        let mut child = std::process::Command::new("setpriv")
            .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
            .arg(copy)
            .args(["run", "selftest.fault", "--passes", "1", "--quiet"])
            .args(hangs)
            .current_dir(bed.path())
            .env("KURABE_STORE", bed.store())
            .spawn()
            .unwrap();
        let workers = || {
            let all = processes_in(bed.path());
            all.into_iter()
                .filter(|line| line.contains("__worker"))
                .count()
        };
        eventually(30, || workers() == 1);
        // It hangs in its loop by now.
        std::thread::sleep(std::time::Duration::from_secs(1));
        child.kill().unwrap();
        child.wait().unwrap();
        eventually(3, || workers() == 0);
    }
}
