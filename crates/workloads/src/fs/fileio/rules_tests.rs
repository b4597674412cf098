//! The row of requests against what sysbench does.

use super::*;

fn setting(mode: Mode) -> Setting {
    Setting {
        mode,
        files: 4,
        blocks: 8,
        block_bytes: 16_384,
        fsync_freq: 100,
        fsync_all: false,
        fsync_end: true,
        data_only: false,
    }
}

/// The first requests as letters: r, w and s for the sync of a file.
fn course(setting: &Setting, count: usize) -> (String, Vec<Request>) {
    let mut course = Course::new(setting);
    let mut rng = Rng::new(7);
    let all: Vec<Request> = (0..count).map(|_| course.next(setting, &mut rng)).collect();
    let letters = all.iter().map(|request| match request {
        Request::Read { .. } => 'r',
        Request::Write { .. } => 'w',
        Request::Sync { .. } => 's',
    });
    (letters.collect(), all)
}

#[test]
fn all_files_are_synced_after_every_100_requests_that_wrote() {
    let writes = "w".repeat(100);
    let expected = format!("{writes}ssss{writes}ssss{writes}");
    for mode in [Mode::SeqWrite, Mode::SeqRewrite, Mode::RandomWrite] {
        let (letters, all) = course(&setting(mode), 308);
        assert_eq!(letters, expected);
        let synced = all.iter().filter_map(|request| match request {
            Request::Sync { file } => Some(*file),
            _ => None,
        });
        assert_eq!(synced.collect::<Vec<_>>(), [0, 1, 2, 3, 0, 1, 2, 3]);
    }
    for mode in [Mode::SeqRead, Mode::RandomRead] {
        assert_eq!(course(&setting(mode), 308).0, "r".repeat(308));
    }
    // A request is a read or a write.
    let (letters, _) = course(&setting(Mode::RandomBoth), 104);
    assert_eq!(letters, format!("{}ssss", "rwrwr".repeat(20)));
}

#[test]
fn files_are_synced_as_often_as_they_are_asked_to_be() {
    let of = |fsync_freq, fsync_all| Setting {
        fsync_freq,
        fsync_all,
        ..setting(Mode::RandomBoth)
    };
    assert_eq!(course(&of(0, false), 300).0, "rwrwr".repeat(60));
    assert_eq!(course(&of(100, true), 300).0, "rwrwr".repeat(60));
    // Nothing is synced where nothing was written.
    assert_eq!(course(&of(1, false), 17).0, "rwssssrwssssrrwss");
    assert_eq!(course(&of(2, false), 18).0, "rwssssrwssssrrwrss");
}

#[test]
fn reads_and_writes_go_one_behind_the_other_and_begin_anew() {
    for mode in [Mode::SeqRead, Mode::SeqRewrite] {
        let (_, all) = course(&setting(mode), 34);
        let places: Vec<(u32, u64)> = all
            .iter()
            .map(|request| match *request {
                Request::Read { file, offset } | Request::Write { file, offset } => (file, offset),
                Request::Sync { .. } => panic!("too early"),
            })
            .collect();
        let all_blocks: Vec<(u32, u64)> = (0..4)
            .flat_map(|file| (0..8).map(move |block| (file, block * 16_384)))
            .collect();
        assert_eq!(places[..32], all_blocks[..]);
        assert_eq!(places[32..], all_blocks[..2]);
    }
}

#[test]
fn random_places_are_whole_blocks_anywhere() {
    let (_, all) = course(&setting(Mode::RandomRead), 3200);
    let mut hits = [0_u32; 32];
    for request in all {
        let Request::Read { file, offset } = request else {
            panic!("no read");
        };
        assert_eq!(offset % 16_384, 0);
        hits[usize::try_from(u64::from(file) * 8 + offset / 16_384).unwrap()] += 1;
    }
    assert!(
        hits.iter().all(|hits| (60..=140).contains(hits)),
        "{hits:?}"
    );
}
