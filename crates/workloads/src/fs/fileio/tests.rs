//! The test on small files: every mode in every way, what is counted, and the files.

use super::*;
use crate::os::testing::{params, place};
use model::spec::How;

const SMALL: [(&str, &str); 3] = [("files", "4"), ("size", "1M"), ("time", "1s")];

fn with(more: &[(&'static str, &'static str)]) -> Params {
    let all: Vec<(&str, &str)> = SMALL.iter().chain(more).copied().collect();
    params(&FILEIO, &all)
}

fn send(errand: ErrandKind, params: &Params, place: &Place) -> Result<Told, WorkError> {
    FILEIO.errand(errand, params, place, &mut |_| ())
}

/// What a round of so many events reports, and how many latencies there are.
fn round(params: &Params, threads: u32, ops: u64) -> (Finish, u64) {
    let (_root, mut place) = place();
    place.copies = threads;
    if FILEIO.ground(params, &HostFacts::default(), None).is_some() {
        assert!(send(ErrandKind::Make, params, &place).unwrap().holds);
    }
    let mut body = FILEIO.prepare(params, &place).unwrap();
    assert!(body.batch(ops, &mut Recorder::off()).unwrap() >= ops);
    let finish = body.finish().unwrap();
    let events = finish.latencies["lat"].count();
    (finish, events)
}

#[test]
fn every_mode_works_in_every_way() {
    for mode in Mode::WORDS {
        for io in ["sync", "async", "mmap"] {
            for threads in [1, 3] {
                let params = with(&[("mode", mode), ("io", io)]);
                let (finish, events) = round(&params, threads, 450);
                let rate = |quantity: &str| finish.reported[quantity];
                let of = Mode::of(mode);
                assert!(events >= 450, "{mode} {io}");
                assert_eq!(rate("read_iops") > 0.0, of.reads(), "{mode} {io}");
                assert_eq!(rate("write_iops") > 0.0, of.writes(), "{mode} {io}");
                assert_eq!(rate("fsyncs_per_s") > 0.0, of.writes(), "{mode} {io}");
                let bytes = rate("read_bw_bytes_per_s") / 16_384.0;
                assert!((bytes - rate("read_iops")).abs() < 1e-6 * rate("ops_per_s"));
                assert!((rate("size_bytes") - 1_048_576.0).abs() < 0.5);
                for metric in FILEIO.metrics(&params) {
                    if matches!(metric.how, How::Reported(_) | How::Setting) {
                        assert!(finish.reported.contains_key(metric.quantity));
                    }
                }
            }
        }
    }
}

/// Of so many events: reads and writes, and fsyncs of 4 files after each 100 of them.
fn parts(events: u64) -> [f64; 2] {
    let syncs = events / 104 * 4 + (events % 104).saturating_sub(100);
    [events - syncs, syncs].map(approx)
}

#[test]
fn fsyncs_are_events_but_for_those_in_the_end() {
    let near = |a: f64, b: f64| assert!((a - b).abs() < 1e-9, "{a} {b}");
    for mode in ["seqwr", "seqrewr", "rndwr"] {
        let (finish, events) = round(&with(&[("mode", mode)]), 1, 700);
        let share = |quantity: &str| finish.reported[quantity] / finish.reported["ops_per_s"];
        let [writes, syncs] = parts(events);
        near(share("write_iops"), writes / approx(events));
        near(share("fsyncs_per_s"), (syncs + 4.0) / approx(events));
    }
    let (finish, events) = round(&with(&[("mode", "rndrw")]), 1, 250);
    let share = |quantity: &str| finish.reported[quantity] / finish.reported["ops_per_s"];
    let [requests, syncs] = parts(events);
    let reads = share("read_iops") * approx(events);
    assert!(
        (reads - 0.6 * requests).abs() < 1.0,
        "{reads} of {requests}"
    );
    near(
        share("read_iops") + share("write_iops"),
        requests / approx(events),
    );
    near(share("fsyncs_per_s"), (syncs + 4.0) / approx(events));
    let all = with(&[("mode", "rndwr"), ("fsync_all", "yes")]);
    let (finish, _) = round(&all, 1, 50);
    near(
        finish.reported["fsyncs_per_s"] / finish.reported["write_iops"],
        1.0,
    );
    near(
        finish.reported["ops_per_s"] / finish.reported["write_iops"],
        1.0,
    );
    let never = with(&[("mode", "rndwr"), ("fsync_freq", "0"), ("fsync_end", "no")]);
    assert!(round(&never, 2, 300).0.reported["fsyncs_per_s"] <= 0.0);
    assert!(
        FILEIO
            .metrics(&never)
            .iter()
            .all(|metric| metric.quantity != "fsyncs_per_s")
    );
}

#[test]
fn the_files_are_made_once_and_whole() {
    let (_root, place) = place();
    let params = with(&[("mode", "rndrw")]);
    let holds = |errand| send(errand, &params, &place).unwrap().holds;
    assert!(!holds(ErrandKind::Check));
    let why = FILEIO.prepare(&params, &place).err().unwrap().to_string();
    assert!(why.contains("not there in whole"), "{why}");
    assert!(holds(ErrandKind::Make) && holds(ErrandKind::Check));
    let dir = place.run_dir.join(files::key(&params));
    let file = std::fs::File::options()
        .write(true)
        .open(dir.join("test_file.2"))
        .unwrap();
    file.set_len(100).unwrap();
    assert!(!holds(ErrandKind::Check));
    assert!(holds(ErrandKind::Make) && holds(ErrandKind::Check));
    // Killed before the note was written.
    std::fs::remove_file(dir.join("complete")).unwrap();
    assert!(!holds(ErrandKind::Check));
    assert!(!holds(ErrandKind::Remove) && !dir.exists());
}

#[test]
fn cases_of_the_same_files_share_their_ground() {
    let ground = |more: &[(&'static str, &'static str)]| {
        FILEIO.ground(&with(more), &HostFacts::default(), None)
    };
    let one = ground(&[]).unwrap();
    assert_eq!(one.bytes, Some(Bytes(1 << 20)));
    assert_eq!(
        ground(&[("mode", "rndwr"), ("io", "mmap")]),
        Some(one.clone())
    );
    assert_ne!(ground(&[("files", "8")]), Some(one));
    assert_eq!(ground(&[("mode", "seqwr")]), None);
}

#[test]
fn files_that_are_smaller_than_asked_for_are_told() {
    let params = with(&[]);
    assert_eq!(files::note(&params, 262_144), None);
    let note = files::note(&params, 131_072).unwrap();
    assert!(
        note.starts_with("the files have 0 MiB together in place of 1 MiB"),
        "{note}"
    );
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (param, value) in [
        ("block", "0"),
        ("block", "17M"),
        ("size", "1k"),
        ("time", "10ms"),
    ] {
        let error = FILEIO.check_params(&with(&[(param, value)])).unwrap_err();
        assert_eq!(error.param, param);
    }
    let odd = with(&[("flags", "direct"), ("block", "1000")]);
    assert_eq!(FILEIO.check_params(&odd).unwrap_err().param, "block");
}
