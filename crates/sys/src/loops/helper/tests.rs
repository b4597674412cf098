//! The helper does its work, ends with whoever started it, and says why it cannot start.

use super::*;

#[test]
fn every_task_does_what_is_asked_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let mut linkings = vec![Linking::Dynamic];
    if !STATIC.is_empty() {
        linkings.push(Linking::Static);
    }
    for linking in linkings {
        for task in [Task::Spawn, Task::Chain, Task::Run(&["/bin/true".as_ref()])] {
            let mut helper = Helper::start(linking, task, dir.path()).unwrap();
            for ops in [1, 2, 25, 0] {
                assert_eq!(helper.batch(ops).unwrap(), ops, "{task:?}");
            }
            assert!(crate::process::exists(helper.pid()));
            assert!(helper.finish(), "{task:?}");
            assert!(!crate::process::exists(helper.pid()));
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
    }
}

#[test]
fn what_it_has_used_is_known_while_it_lives_with_its_children() {
    let dir = tempfile::tempdir().unwrap();
    let spin: [&OsStr; 3] = [
        "/bin/sh".as_ref(),
        "-c".as_ref(),
        "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done".as_ref(),
    ];
    let cpu = |used: Usage| used.user + used.system;
    for task in [Task::Spawn, Task::Chain, Task::Run(&spin)] {
        let mut helper = Helper::start(Linking::Dynamic, task, dir.path()).unwrap();
        let before = helper.used().unwrap();
        let mut last = before;
        for _ in 0..3 {
            let ops = if matches!(task, Task::Run(_)) { 1 } else { 200 };
            assert_eq!(helper.batch(ops).unwrap(), ops);
            let now = helper.used().unwrap();
            assert!(cpu(now) > cpu(last), "{task:?}: {now:?} after {last:?}");
            assert!(now.minor_faults > last.minor_faults, "{task:?}");
            last = now;
        }
        // Nothing was asked of it since: it uses nothing but the answer.
        let idle = cpu(helper.used().unwrap()) - cpu(last);
        assert!(idle * 2 < cpu(last) - cpu(before), "{task:?}: {idle}");
        assert!(helper.finish(), "{task:?}");
    }
}

#[test]
fn the_helper_runs_from_memory_too() {
    let memory = in_memory(DYNAMIC).unwrap();
    let launch = Launch {
        program: Program::Fd(memory.as_fd()),
        args: &["0".as_ref(), "0".as_ref(), "0".as_ref(), "0".as_ref()],
        dir: Path::new("/"),
        env: None,
    };
    let mut helper = Helper {
        child: start(&launch).unwrap(),
        file: None,
    };
    helper.reply().unwrap();
    assert_eq!(helper.batch(20).unwrap(), 20);
    assert!(helper.finish());
}

#[test]
fn a_failing_command_is_reported_with_its_status() {
    let dir = tempfile::tempdir().unwrap();
    let run = |command: &[&OsStr]| {
        let mut helper = Helper::start(Linking::Dynamic, Task::Run(command), dir.path()).unwrap();
        helper.batch(3).unwrap_err().to_string()
    };
    assert_eq!(
        run(&["/bin/false".as_ref()]),
        "check the status: the child ended with exit status: 1"
    );
    assert_eq!(
        run(&["/nowhere/at-all".as_ref()]),
        "check the status: the child ended with exit status: 127"
    );
}

#[test]
fn a_killed_helper_is_an_error_and_not_a_death() {
    let dir = tempfile::tempdir().unwrap();
    let mut helper = Helper::start(Linking::Dynamic, Task::Spawn, dir.path()).unwrap();
    helper.child.kill();
    let failure = helper.batch(3).unwrap_err();
    assert!(matches!(
        failure.error.kind(),
        io::ErrorKind::BrokenPipe | io::ErrorKind::UnexpectedEof
    ));
    assert!(!helper.finish());
}

#[test]
fn the_helper_is_small_dynamic_and_asks_for_no_new_libc() {
    assert!(
        (10_000..30_000).contains(&DYNAMIC.len()),
        "{}",
        DYNAMIC.len()
    );
    assert!(
        no_loader(DYNAMIC).contains("/ld-"),
        "{}",
        no_loader(DYNAMIC)
    );
    let text = String::from_utf8_lossy(DYNAMIC);
    for version in text.split("GLIBC_2.").skip(1) {
        let minor: String = version.chars().take_while(char::is_ascii_digit).collect();
        // 2.17 is of 2012; riscv64 began with 2.27.
        let newest = if cfg!(target_arch = "riscv64") {
            27
        } else {
            17
        };
        assert!(minor.parse::<u32>().unwrap() <= newest, "GLIBC_2.{minor}");
    }
}

#[test]
fn the_helper_dies_with_the_thread_that_started_it() {
    let dir = tempfile::tempdir().unwrap();
    for task in [Task::Spawn, Task::Chain] {
        let mut helper = std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    let mut helper = Helper::start(Linking::Dynamic, task, dir.path()).unwrap();
                    // The signal must survive a replacement of the program.
                    helper.batch(3).unwrap();
                    helper
                })
                .join()
                .unwrap()
        });
        let state = || {
            let stat = std::fs::read_to_string(format!("/proc/{}/stat", helper.pid())).unwrap();
            stat.rsplit(") ").next().unwrap().chars().next()
        };
        let deadline = crate::clock::monotonic() + 1_000_000_000;
        while state() != Some('Z') && crate::clock::monotonic() < deadline {
            crate::clock::sleep(1_000_000);
        }
        assert_eq!(
            state(),
            Some('Z'),
            "{task:?}: ended, and not yet waited for"
        );
        assert!(!helper.finish(), "it was killed");
    }
}

#[test]
fn a_machine_without_the_dynamic_loader_is_told_apart_from_other_failures() {
    let dir = tempfile::tempdir().unwrap();
    let mut program = DYNAMIC.to_vec();
    let at = program
        .windows(4)
        .position(|window| window == b"/ld-")
        .unwrap();
    program[at + 1] = b'x';
    let error = launch(
        &program,
        Linking::Dynamic,
        dir.path(),
        &["spawn".as_ref()],
        dir.path(),
        None,
    );
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with("no dynamic loader: the machine has no `/lib"),
        "{text}"
    );
    assert!(text.contains("/xd-"), "{text}");

    program[0] = b'x';
    let error = launch(
        &program,
        Linking::Dynamic,
        dir.path(),
        &["spawn".as_ref()],
        dir.path(),
        None,
    );
    let text = error.unwrap_err().to_string();
    assert!(
        text.starts_with("execute `") && text.contains("Exec format error"),
        "{text}"
    );
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

mod root {
    use super::*;

    #[test]
    #[ignore = "root: mounts a tmpfs with noexec"]
    #[expect(
        clippy::disallowed_methods,
        reason = "mount(8) is run to its end by the test"
    )]
    fn where_programs_may_not_be_executed_the_helper_runs_from_memory() {
        let dir = tempfile::tempdir().unwrap();
        let mount = |args: &[&str]| {
            let done = std::process::Command::new(args[0])
                .args(&args[1..])
                .arg(dir.path())
                .status();
            assert!(done.unwrap().success(), "{args:?}");
        };
        mount(&["mount", "-t", "tmpfs", "-o", "noexec", "kurabe-test"]);
        let result = std::panic::catch_unwind(|| {
            let mut helper = Helper::start(Linking::Dynamic, Task::Chain, dir.path()).unwrap();
            assert_eq!(helper.file, None);
            assert_eq!(helper.batch(20).unwrap(), 20);
            assert!(helper.finish());
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        });
        mount(&["umount"]);
        result.unwrap();
    }
}
