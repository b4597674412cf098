//! Jobs on files and devices that somebody names.

use super::*;
use engine::consent::{self, Consent, Granted};
use model::job::Target;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::tree::Tree;

/// The place of a round that may touch what its jobs touch, as the user said.
fn allowed(place: &Place, jobs: &[&Job], consent: &Consent) -> (Granted, Place) {
    let mut touches = Vec::new();
    for touch in jobs
        .iter()
        .flat_map(|job| crate::storage::job::touches(job))
    {
        match touches
            .iter_mut()
            .find(|known: &&mut consent::Touch| known.path == touch.path)
        {
            Some(known) => known.writes |= touch.writes,
            None => touches.push(touch),
        }
    }
    let granted = consent::decide(&Tree::real(), touches, consent, &|_| None).unwrap();
    let permits = granted.permits.clone();
    let place = Place {
        permits,
        ..place.clone()
    };
    (granted, place)
}

fn on_file(path: &Path, create: bool, overrides: &[(&str, &str)]) -> Job {
    Job {
        target: Target::File {
            path: path.to_owned(),
            create,
        },
        ..job(overrides)
    }
}

/// Not in memory, where files may carry no marks.
fn marked_place() -> (TempDir, Place) {
    let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
    let place = testing::place_in(&root);
    (root, place)
}

#[test]
fn a_file_that_a_job_asks_for_is_made_once_stays_and_is_ours() {
    let (root, place) = marked_place();
    // Room is no matter here: the smallest file that a job can ask for.
    let path = root.path().join("asked for");
    let number = || std::fs::metadata(&path).unwrap().ino();
    let go = |job: &Job| {
        let (_granted, place) = allowed(&place, &[job], &Consent::default());
        run(job, &place, 10);
    };
    let read = on_file(&path, true, &[]);
    go(&read);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 20);
    let first = number();
    go(&on_file(&path, true, &[("rw", "randwrite")]));
    go(&read);
    assert_eq!(
        number(),
        first,
        "it is used again, and written to without consent"
    );
    // A larger one is another file, and so is one of other content.
    go(&on_file(&path, true, &[("size", "2M")]));
    let larger = std::fs::read(&path).unwrap();
    assert_eq!(larger.len(), 2 << 20);
    let half = [("size", "2M"), ("buffer_compress_percentage", "50")];
    go(&on_file(&path, true, &half));
    let zeros = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte == 0)).sum::<u64>();
    let other = std::fs::read(&path).unwrap();
    assert!(zeros(&larger) < 1 << 20 && zeros(&other) >= 1 << 20);
    // A job that makes none takes what there is.
    go(&on_file(&path, false, &[("size", "0")]));
    assert_eq!(std::fs::read_dir(root.path()).unwrap().count(), 4);
}

#[test]
fn a_file_that_was_not_finished_is_written_again() {
    let (root, place) = marked_place();
    let path = root.path().join("asked for");
    let job = on_file(&path, true, &[("rw", "randwrite")]);
    let (_granted, place) = allowed(&place, &[&job], &Consent::default());
    // As a worker leaves it that is killed.
    let permit = place.permits.of(&path).unwrap();
    let half = permit.empty().unwrap();
    half.set_len(1 << 19).unwrap();
    assert_eq!(permit.note().unwrap(), None);
    run(&job, &place, 10);
    assert_eq!(std::fs::metadata(&path).unwrap().len(), 1 << 20);
}

#[test]
fn a_file_of_others_is_used_as_it_is_and_never_made_longer() {
    let (root, place) = marked_place();
    let path = root.path().join("theirs");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    let read = on_file(&path, true, &[]);
    let (_granted, reading) = allowed(&place, &[&read], &Consent::default());
    run(&read, &reading, 300);
    assert!(std::fs::read(&path).unwrap() == vec![7; 1 << 20]);
    let write = on_file(&path, true, &[("rw", "randwrite")]);
    // Leave to read is no leave to write, whatever the job says.
    let refused = open(&write, &reading).err().unwrap().to_string();
    assert!(refused.contains("no permit"), "{refused}");

    let consent = Consent {
        overwrite: vec![path.clone()],
        ..Consent::default()
    };
    let longer = on_file(&path, true, &[("rw", "randwrite"), ("size", "2M")]);
    let (_granted, writing) = allowed(&place, &[&write, &longer], &consent);
    let refused = open(&longer, &writing).err().unwrap().to_string();
    assert!(refused.contains("is not made longer"), "{refused}");
    run(&write, &writing, 300);
    let after = std::fs::read(&path).unwrap();
    assert!(after.len() == 1 << 20 && after != vec![7; 1 << 20]);
}

#[test]
fn a_job_without_a_permit_opens_nothing() {
    let (root, place) = marked_place();
    let path = root.path().join("theirs");
    std::fs::write(&path, vec![7; 1 << 20]).unwrap();
    for job in [
        on_file(&path, false, &[]),
        on_file(&root.path().join("new"), true, &[]),
        Job {
            target: Target::Device {
                path: "/dev/null".into(),
                fill: true,
            },
            ..job(&[])
        },
    ] {
        let refused = open(&job, &place).err().unwrap().to_string();
        assert!(refused.contains("no permit"), "{refused}");
    }
    assert!(!root.path().join("new").exists());
}

#[test]
fn the_run_own_file_is_opened_under_its_own_name_alone() {
    let (_root, place) = place();
    let job = job(&[("rw", "randwrite")]);
    let found = file::ensure(&job, &place).unwrap();
    file::open(&job, &found, &place).unwrap();
    let precious = place.dir.join("precious");
    std::fs::write(&precious, vec![7; 1 << 20]).unwrap();
    let swap = |put: &dyn Fn()| {
        std::fs::remove_file(&found.path).unwrap();
        put();
        file::open(&job, &found, &place).unwrap_err();
    };
    swap(&|| std::os::unix::fs::symlink(&precious, &found.path).unwrap());
    swap(&|| std::fs::hard_link(&precious, &found.path).unwrap());
    swap(&|| std::fs::write(&found.path, vec![7; 1 << 20]).unwrap());
    assert!(std::fs::read(&precious).unwrap() == vec![7; 1 << 20]);
    // The next round writes it anew.
    run(&job, &place, 10);
}

mod root {
    use super::*;

    #[expect(clippy::disallowed_methods, reason = "the test waits for its command")]
    fn losetup(arguments: &[&str]) -> String {
        let output = std::process::Command::new("losetup")
            .args(arguments)
            .output()
            .unwrap();
        assert!(output.status.success(), "{arguments:?}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    #[test]
    #[ignore = "root: makes a loop device"]
    fn what_a_trim_gave_back_is_filled_again_before_the_next_test() {
        let (root, place) = marked_place();
        let image = root.path().join("image");
        std::fs::File::create(&image)
            .unwrap()
            .set_len(32 << 20)
            .unwrap();
        let device = losetup(&["--find", "--show", image.to_str().unwrap()]);
        let on_device = |overrides: &[(&str, &str)]| Job {
            target: Target::Device {
                path: device.clone().into(),
                fill: true,
            },
            ..job(overrides)
        };
        let consent = Consent {
            erase: vec![device.clone()],
            ..Consent::default()
        };
        let size = [("size", "8M")];
        let (read, trim) = (on_device(&size), on_device(&[size[0], ("rw", "trim")]));
        let (granted, place) = allowed(&place, &[&read, &trim], &consent);
        let round = |name: &str| {
            let shared_dir = place.shared_dir.join(name);
            std::fs::create_dir_all(&shared_dir).unwrap();
            Place {
                shared_dir,
                ..place.clone()
            }
        };
        let blank = || {
            let bytes = std::fs::read(&device).unwrap();
            let used = &bytes[1 << 20..9 << 20];
            used.chunks(4096)
                .filter(|block| block.iter().all(|&byte| byte == 0))
                .count()
        };
        run(&read, &round("1"), 10);
        assert_eq!(blank(), 0);
        run(&trim, &round("2"), 1500);
        assert!(blank() > 1000, "{}", blank());
        // Another copy of the same round does not fill it under the first one's hands.
        run(&trim, &round("2"), 10);
        assert!(blank() > 1000, "{}", blank());
        run(&trim, &round("3"), 10);
        assert!(blank() < 100, "{}", blank());
        run(&read, &round("4"), 10);
        assert_eq!(blank(), 0);
        // Jobs that ask for more go another way, and leave the ends alone as well.
        let more = Job {
            offset_bytes: 4096,
            ..on_device(&[("size", "29M"), ("rw", "write"), ("bs", "64k")])
        };
        run(&more, &round("5"), 1000);
        let bytes = std::fs::read(&device).unwrap();
        let (head, tail) = (&bytes[..1 << 20], &bytes[31 << 20..]);
        assert!(head.iter().chain(tail).all(|&byte| byte == 0));
        drop(granted);
        losetup(&["--detach", &device]);
    }
}
