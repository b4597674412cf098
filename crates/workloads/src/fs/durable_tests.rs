//! Tests of what it costs to make data durable.

use super::*;
use crate::os::testing;
use std::collections::BTreeMap;
use std::io::ErrorKind;

/// What a round of so many copies reports and leaves: reported values, notes, and the sizes of its files.
fn round(way: &str, copies: u32, ops: u64) -> (Finish, BTreeMap<String, u64>) {
    let (_root, mut place) = testing::place();
    place.copies = copies;
    let mut body = testing::prepare(&DURABLE, &[("way", way), ("size", "1k")], &place).unwrap();
    body.batch(ops, &mut Recorder::off()).unwrap();
    body.measured_part_begins();
    let done = body.batch(ops, &mut Recorder::off()).unwrap();
    let finish = body.finish().unwrap();
    assert!(done >= ops && finish.latencies[LAT].count() > 0);
    let files = std::fs::read_dir(&place.dir).unwrap().map(|entry| {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        (name, entry.metadata().unwrap().len())
    });
    (finish, files.collect())
}

#[test]
fn every_message_has_its_file_and_every_record_its_place() {
    for copies in [1, 3] {
        let (_, files) = round("mail", copies, 20);
        assert!(files.len() > 40 && files["w0-0000000000"] == 1024);
        let (_, files) = round("log", copies, 20);
        let logs = files.iter().filter(|(name, _)| name.starts_with('w'));
        assert_eq!(logs.count(), usize::try_from(copies).unwrap());
        assert!(files["w0-0000000000"] >= 1024);
        let (_, files) = round("shared", copies, 20);
        assert!(files["log"] >= 40 * 1024, "{files:?}");
    }
}

#[test]
fn a_group_shares_its_syncs_and_one_writer_has_all_of_them() {
    let (alone, _) = round("group", 1, 20);
    let each = alone.reported["records_per_sync"];
    assert!((each - 1.0).abs() < 1e-9, "{each}");
    let (many, files) = round("group", 8, 50);
    assert!(many.reported["records_per_sync"] >= 1.0);
    assert!(files["log"] >= 100 * 1024);
}

fn log(folder: &Folder, path: &std::path::Path) -> Log {
    Log::new(folder, path, 1000).unwrap()
}

#[test]
fn a_commit_is_over_only_after_a_sync_that_began_behind_it() {
    let root = tempfile::tempdir().unwrap();
    let log = log(&Folder::open(root.path()).unwrap(), root.path());
    // A sync is under way when the record is written: the next one covers it.
    log.group.lock().unwrap().begun = 1;
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| log.commit().unwrap());
        sys::clock::sleep(20_000_000);
        assert!(!waiting.is_finished());
        log.group.lock().unwrap().ended = 1;
        log.over.notify_all();
    });
    let group = log.group.lock().unwrap();
    assert_eq!((group.begun, group.ended), (2, 2));
    assert_eq!(log.syncs.load(Ordering::Relaxed), 1);
}

#[test]
fn a_failed_sync_fails_all_that_wait_for_it() {
    let root = tempfile::tempdir().unwrap();
    let log = log(&Folder::open(root.path()).unwrap(), root.path());
    log.group.lock().unwrap().failed = Some(5);
    let failure = log.commit().unwrap_err();
    assert_eq!(
        (failure.operation, failure.error.raw_os_error()),
        ("fsync", Some(5))
    );
}

#[test]
fn names_are_used_again_where_there_is_little_room() {
    let (_root, place) = testing::place();
    let folder = Folder::open(&place.dir).unwrap();
    let log = Arc::new(log(&folder, &place.dir));
    let own = (folder, place.dir.clone(), 0);
    let mut writer = Writer::new(own, Way::Mail, vec![1; 10], 4, log).unwrap();
    for _ in 0..11 {
        writer.event().unwrap();
    }
    assert_eq!(
        std::fs::read_dir(&place.dir).unwrap().count(),
        5,
        "and the log"
    );
    std::fs::remove_file(place.dir.join("w0-0000000003")).unwrap();
    let failure = writer.event().unwrap_err();
    assert_eq!(failure.error.kind(), ErrorKind::NotFound);
    assert!(
        writer.object().ends_with("/w0-0000000003"),
        "{}",
        writer.object()
    );
}

#[test]
fn too_little_room_is_refused_with_the_rule() {
    let (_root, mut place) = testing::place();
    place.copies = u32::MAX;
    let error = turns(1 << 20, &place).unwrap_err();
    assert!(
        matches!(&error, WorkError::Unsupported(why) if why.contains("at most half")),
        "{error}"
    );
}
