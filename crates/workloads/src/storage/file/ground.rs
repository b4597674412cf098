//! The test file as the ground of a run: made before the first round that needs it, and told with its bytes and time.

use super::layout::{Tell, remove, room_for, size_auto};
use super::{complete, ensure_telling, given_back, key, name, paths};
use engine::workload::{ErrandKind, Place, Told, WorkError};
use model::ground::{Ground, GroundKind};
use model::job::{Job, Target};
use model::units::{Bytes, Nanos};

/// What storage is expected to take when nothing is known of it: bytes a second, written and synced.
const USUAL_BYTES_PER_S: u64 = 128 << 20;

/// The slowest storage that is waited for, and how long at least.
const SLOWEST_BYTES_PER_S: u64 = 4 << 20;
const AT_MOST: Nanos = Nanos::from_secs(600);

/// The smallest test file that is chosen for want of time.
const SIZE_OF_SHORT: u64 = 256 << 20;

/// The size of the test file that usual storage makes in `time`, where the job would choose a larger one by itself: a
/// power of two, so that budgets that differ a little have the same file.
pub(in super::super) fn size_made_in(job: &Job, time: Nanos, free: Option<Bytes>) -> Option<Bytes> {
    let chooses = job.engine.has_data() && job.target == Target::TestFile && job.size.is_none();
    let made = u128::from(time.0) * u128::from(USUAL_BYTES_PER_S) / 1_000_000_000;
    let made = u64::try_from(made).unwrap_or(u64::MAX).max(SIZE_OF_SHORT);
    let usual = size_auto().min(room_for(free.map_or(u64::MAX, |free| free.0)));
    (chooses && made < usual).then(|| Bytes(1 << made.ilog2()))
}

/// What a job stands on; `None` where nothing is written before it, or where each round does so for itself.
pub(in super::super) fn ground(job: &Job, free: Option<Bytes>) -> Option<Ground> {
    if !job.engine.has_data() {
        return None;
    }
    let (key, kind, room) = match &job.target {
        Target::TestFile => {
            let free = free.map_or(u64::MAX, |free| free.0);
            (name(job), GroundKind::File, room_for(free))
        }
        // A round that gives ranges back fills it again.
        Target::Device { path, fill: true } if job.writes() && !job.pattern.mix.trims() => {
            (key(path), GroundKind::Device, u64::MAX)
        }
        Target::Device { .. } | Target::File { .. } => return None,
    };
    let bytes = job.size.unwrap_or_else(|| size_auto().min(room));
    let bytes = Bytes(bytes);
    Some(Ground {
        key,
        kind,
        bytes: Some(bytes),
        expected: bytes.time_at(USUAL_BYTES_PER_S),
        at_most: AT_MOST.plus(bytes.time_at(SLOWEST_BYTES_PER_S)),
    })
}

/// Does an errand for what the job works on.
pub(in super::super) fn errand(
    errand: ErrandKind,
    job: &Job,
    place: &Place,
    tell: Tell<'_>,
) -> Result<Told, WorkError> {
    let is_own = job.target == Target::TestFile;
    let [path, note_path] = paths(job, place);
    match errand {
        ErrandKind::Make => {
            if is_own {
                remove(&path, &note_path)?;
            }
            let made = ensure_telling(job, place, tell)?;
            Ok(holding(made.size))
        }
        ErrandKind::Check if is_own => {
            let note = complete(&path, &note_path, job);
            let note = note.filter(|note| given_back(&path, note, job) == 0);
            Ok(note.map_or_else(Told::default, |note| holding(note.size)))
        }
        // What making finds done already, it does not do again.
        ErrandKind::Check => Ok(Told::default()),
        ErrandKind::Remove => {
            if is_own {
                remove(&path, &note_path)?;
            }
            Ok(Told::default())
        }
    }
}

fn holding(bytes: u64) -> Told {
    Told {
        holds: true,
        bytes: Some(Bytes(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::tests::{job, place};
    use super::super::missing;
    use super::*;
    use std::fs;

    #[test]
    fn a_file_is_made_found_whole_and_taken_away() {
        let (_root, place) = place();
        let job = job(&[("rw", "randread"), ("size", "65M")]);
        let mut made = Vec::new();
        let mut send = |kind| errand(kind, &job, &place, &mut |bytes| made.push(bytes.0 >> 20));
        let check = |told: Result<Told, WorkError>, bytes: Option<u64>| {
            let told = told.unwrap();
            assert_eq!(
                (told.holds, told.bytes),
                (bytes.is_some(), bytes.map(Bytes))
            );
        };
        check(send(ErrandKind::Check), None);
        check(send(ErrandKind::Make), Some(65 << 20));
        check(send(ErrandKind::Check), Some(65 << 20));
        // Killed before its note was written: it is no whole file, whatever its length.
        fs::remove_file(&paths(&job, &place)[1]).unwrap();
        check(send(ErrandKind::Check), None);
        check(send(ErrandKind::Make), Some(65 << 20));
        check(send(ErrandKind::Remove), None);
        check(send(ErrandKind::Remove), None);
        let left: Vec<_> = fs::read_dir(&place.run_dir).unwrap().collect();
        assert_eq!(left.len(), 1, "the lock goes with the directory: {left:?}");
        assert_eq!(made, [64, 64], "told as it grows");
    }

    #[test]
    fn no_round_stands_on_a_file_that_lost_its_data() {
        // On a disk: in memory nobody can tell.
        let root = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let place = crate::os::testing::place_in(&root);
        let job = job(&[("rw", "randread"), ("size", "65M")]);
        let send = |kind| errand(kind, &job, &place, &mut |_| ()).unwrap().holds;
        let ready = || super::super::ensure(&job, &place);
        assert!(send(ErrandKind::Make) && send(ErrandKind::Check));
        ready().unwrap();
        let own = fs::File::options()
            .write(true)
            .read(true)
            .open(&paths(&job, &place)[0])
            .unwrap();
        own.set_len(64 << 20).unwrap();
        own.set_len(65 << 20).unwrap();
        if missing(&own, 65 << 20) == 0 {
            eprintln!("skipped: this file system does not tell what was written");
            return;
        }
        let why = ready().unwrap_err().to_string();
        assert!(why.contains("1048576 of its 68157440 bytes"), "{why}");
        assert!(!send(ErrandKind::Check));
        assert!(send(ErrandKind::Make) && send(ErrandKind::Check));
        ready().unwrap();
    }

    #[test]
    fn cases_of_the_same_content_share_a_file_and_its_time_is_told() {
        let free = Some(Bytes(100 << 30));
        let of = |overrides: &[(&str, &str)]| ground(&job(overrides), free);
        let one = of(&[("size", "1G")]).unwrap();
        assert_eq!(
            (one.bytes, one.expected),
            (Some(Bytes(1 << 30)), Nanos::from_secs(8))
        );
        assert_eq!(one.at_most, Nanos::from_secs(600 + 256));
        let same = of(&[("size", "1G"), ("rw", "randwrite"), ("bs", "8k")]);
        assert_eq!(same.as_ref(), Some(&one));
        assert_ne!(of(&[("size", "2G")]).unwrap().key, one.key);
        assert_eq!(of(&[("ioengine", "null")]), None);
        let auto = of(&[("size", "0")]).unwrap().bytes;
        assert!(auto >= Some(Bytes(1 << 30)) && auto <= Some(Bytes(2 << 30)));
        let little = ground(&job(&[("size", "0")]), Some(Bytes(1 << 30)));
        assert_eq!(little.unwrap().bytes, Some(Bytes(1 << 29)));
    }
}
