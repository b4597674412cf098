//! Tests of `fs.copy`: what is copied, what is found wrong, and what is done before the copying.

use super::*;
use crate::os::testing;

const SMALL: [(&str, &str); 2] = [("bufsize", "256"), ("blocks", "4")];

#[test]
fn copies_the_whole_file_again_and_again() {
    for ops in [1, 15, 16, 17, 400] {
        let (_root, place) = testing::place();
        let mut body = testing::prepare(&COPY, &SMALL, &place).unwrap();
        assert_eq!(body.batch(ops, &mut Recorder::off()).unwrap(), ops);
        assert_eq!(body.work_per_op().to_bits(), 256_f64.to_bits());
        body.finish().unwrap();
        let size = std::fs::metadata(place.dir.join(NAMES[1])).unwrap().len();
        assert_eq!(size, ops.min(16) * 256);
    }
}

#[test]
fn the_three_tests_copy_2000_buffers() {
    for test in SPEC.tests {
        let params = testing::params(&COPY, test.params);
        let bufsize = params.size("bufsize").0;
        assert_eq!(
            params.count("blocks") * 1024 / bufsize,
            2000,
            "{}",
            test.name
        );
    }
}

#[test]
fn a_changed_or_missing_byte_is_found() {
    let check = |spoil: fn(&Path)| {
        let (_root, place) = testing::place();
        let mut body = testing::prepare(&COPY, &SMALL, &place).unwrap();
        body.batch(40, &mut Recorder::off()).unwrap();
        spoil(&place.dir.join(NAMES[1]));
        body.finish().unwrap_err()
    };
    let changed = check(|path| {
        let mut bytes = std::fs::read(path).unwrap();
        bytes[1000] ^= 1;
        std::fs::write(path, bytes).unwrap();
    });
    assert!(
        changed
            .to_string()
            .contains("does not hold what was copied, at byte 768")
    );
    let short = check(|path| {
        OpenOptions::new()
            .write(true)
            .open(path)
            .unwrap()
            .set_len(15 * 256)
            .unwrap();
    });
    assert!(
        short
            .to_string()
            .contains("has 3840 bytes, and 4096 were copied"),
        "{short}"
    );
}

#[test]
fn copies_share_their_files_only_in_the_mode_that_asks_for_it() {
    let (_root, place) = testing::place();
    let params = testing::params(&COPY, &SMALL);
    let open = |shared: bool| Copier {
        from: Target::open(place.shared_dir.join(NAMES[0])).unwrap(),
        to: Target::open(place.shared_dir.join(NAMES[1])).unwrap(),
        buffer: indices(256),
        buffers: params.count("blocks") * 4,
        copied: 0,
        shared,
    };
    let mut copiers = [open(true), open(true)];
    for copier in &mut copiers {
        let short = Nanos::from_millis(1);
        let steps = [Step::Write(short), Step::Read(short)];
        copier.rehearse(&steps, |_| {}).unwrap();
    }
    let [first, second] = &mut copiers;
    first.batch(20, &mut Recorder::off()).unwrap();
    second.batch(3, &mut Recorder::off()).unwrap();
    second.finish().unwrap();
    first.finish().unwrap();
    // A copy with files of its own must not find more than it wrote.
    second.shared = false;
    assert!(
        second
            .finish()
            .unwrap_err()
            .to_string()
            .contains("and 768 were copied")
    );
}

#[test]
fn both_versions_pause_two_seconds_after_every_sync_but_the_last() {
    let text = |step: &Step| match step {
        Step::Sync => "sync".to_owned(),
        Step::Pause(time) => format!("pause {}", time.0 / 1_000_000_000),
        Step::Write(time) => format!("write {}", time.0 / 1_000_000_000),
        Step::Read(time) => format!("read {}", time.0 / 1_000_000_000),
    };
    let steps: Vec<String> = REHEARSAL.iter().map(text).collect();
    let settled = "sync, pause 2, sync, pause 2";
    assert_eq!(
        steps.join(", "),
        format!("{settled}, write 2, {settled}, read 2, sync, pause 2, sync, pause 1")
    );
    for compat in ["5.1.3", "6"] {
        let shape = COPY.shape(&testing::params(&COPY, &[("compat", compat)]));
        assert_eq!(shape.setup, Nanos::from_secs(15), "compat {compat}");
    }
}

#[test]
fn the_steps_before_copying_are_done_in_order_with_the_file_written_and_read() {
    let (_root, place) = testing::place();
    let short = Nanos::from_millis(1);
    let (sync, write, read) = (Step::Sync, Step::Write(short), Step::Read(short));
    let from = place.dir.join(NAMES[0]);
    let mut copier = Copier {
        from: Target::open(from.clone()).unwrap(),
        to: Target::open(place.dir.join(NAMES[1])).unwrap(),
        buffer: indices(256),
        buffers: 16,
        copied: 0,
        shared: false,
    };
    // Reading before anything is written finds nothing.
    assert!(copier.rehearse(&[read], |_| {}).is_err());
    let mut seen = Vec::new();
    let steps = [sync, write, sync, Step::Pause(short), read, sync];
    let look = |step| seen.push((step, std::fs::metadata(&from).unwrap().len()));
    copier.rehearse(&steps, look).unwrap();
    let full = 16 * 256;
    assert_eq!(
        seen,
        [
            (sync, 0),
            (sync, full),
            (Step::Pause(short), full),
            (sync, full)
        ]
    );
}

#[test]
fn a_bufsize_out_of_bounds_is_refused_beforehand() {
    for bad in ["0", "2M"] {
        let params = testing::params(&COPY, &[("bufsize", bad)]);
        let why = COPY.check_params(&params).unwrap_err().to_string();
        assert!(why.contains("from 1 to 1048576"), "{why}");
    }
}

mod root {
    use super::*;

    #[test]
    #[ignore = "root: mounts a small tmpfs"]
    #[expect(
        clippy::disallowed_methods,
        reason = "mount(8) is run to its end by the test"
    )]
    fn a_full_file_system_is_an_error_that_names_the_file() {
        let root = tempfile::tempdir().unwrap();
        let mount = |args: &[&str]| {
            let status = std::process::Command::new(args[0])
                .args(&args[1..])
                .arg(root.path())
                .status()
                .unwrap();
            assert!(status.success(), "{args:?}");
        };
        mount(&["mount", "-t", "tmpfs", "-o", "size=64k", "kurabe-test"]);
        let place = testing::place_in(&root);
        let one = testing::prepare(&COPY, &[("blocks", "1000")], &place).err();
        std::fs::remove_file(place.dir.join(NAMES[0])).unwrap();
        std::fs::remove_file(place.dir.join(NAMES[1])).unwrap();
        let body = testing::prepare(&COPY, &[("blocks", "40")], &place);
        let two = body
            .and_then(|mut body| body.batch(100, &mut Recorder::off()))
            .err();
        mount(&["umount"]);
        for (error, name) in [(one, NAMES[0]), (two, NAMES[1])] {
            let error = error.unwrap().to_string();
            assert!(
                error.starts_with("write `") && error.contains(name),
                "{error}"
            );
            assert!(error.contains("No space left on device"), "{error}");
        }
    }
}
