//! Whatever byte of the file is damaged: an error that names the file, or the same run. Never another run.

use crate::fixture::run;
use model::record::Run;
use std::path::Path;
use store::{Store, StoreError};

/// What opening `path` and loading `run` yields; the file's bytes must stay what they are where it is an error.
fn load(path: &Path, run: &str) -> Result<Run, StoreError> {
    let before = std::fs::read(path).unwrap();
    let result = Store::open(path).and_then(|store| {
        store.list()?;
        store.load(run)
    });
    if result.is_err() {
        assert_eq!(std::fs::read(path).unwrap(), before, "the file was touched");
    }
    result
}

fn store_file(dir: &Path, rounds: u32) -> (Run, Vec<u8>) {
    let path = dir.join("whole.db");
    let kept = run("20261121-090000-a0a0", rounds);
    let store = Store::open(&path).unwrap();
    store.import(&kept).unwrap();
    drop(store);
    (kept, std::fs::read(&path).unwrap())
}

#[test]
fn a_flipped_byte_never_yields_another_run() {
    let dir = tempfile::tempdir().unwrap();
    let (kept, bytes) = store_file(dir.path(), 4);
    let path = dir.path().join("kurabe.db");
    let mut found = 0;
    // Every byte of the header, then every 37th: a prime stride meets every kind of place in a page.
    for at in (0..100).chain((100..bytes.len()).step_by(37)) {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x15;
        std::fs::write(&path, &damaged).unwrap();
        match load(&path, "20261121-090000-a0a0") {
            Ok(loaded) => assert_eq!(loaded, kept, "byte {at}"),
            Err(error @ StoreError::Unknown { .. }) => {
                assert!(error.to_string().contains("nearest"), "byte {at}: {error}");
            }
            Err(error) => {
                found += 1;
                let text = error.to_string();
                assert!(text.contains(path.to_str().unwrap()), "byte {at}: {text}");
            }
        }
    }
    assert!(found > 50, "only {found} flips were noticed");
}

#[test]
fn a_digit_that_changed_in_place_is_noticed() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = store_file(dir.path(), 4);
    let path = dir.path().join("kurabe.db");
    let digits = b"\"ops\":12345";
    let at = bytes
        .windows(digits.len())
        .position(|window| window == digits)
        .unwrap();
    let mut damaged = bytes.clone();
    damaged[at + digits.len() - 1] = b'6';
    std::fs::write(&path, &damaged).unwrap();
    let text = load(&path, "20261121-090000-a0a0").unwrap_err().to_string();
    assert!(
        text.contains("is not what was kept: its digest differs"),
        "{text}"
    );
    assert!(text.contains("round "), "{text}");
}

#[test]
fn a_file_that_was_cut_short_is_damaged_and_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (_, bytes) = store_file(dir.path(), 40);
    let path = dir.path().join("kurabe.db");
    for keep in [
        17,
        99,
        100,
        512,
        4096,
        8192,
        bytes.len() / 2,
        bytes.len() - 1,
    ] {
        std::fs::write(&path, &bytes[..keep]).unwrap();
        let error = load(&path, "20261121-090000-a0a0").unwrap_err();
        assert!(
            matches!(error, StoreError::Damaged { .. }),
            "{keep} bytes: {error}"
        );
        let text = error.to_string();
        assert!(text.contains(path.to_str().unwrap()), "{text}");
        assert!(text.contains("\nhint: "), "{text}");
        let side_files = std::fs::read_dir(dir.path()).unwrap().count();
        assert_eq!(side_files, 2, "{keep} bytes: side files were left");
    }
}

#[test]
fn a_page_of_zeros_in_the_middle_is_damage() {
    let dir = tempfile::tempdir().unwrap();
    let (_, mut bytes) = store_file(dir.path(), 40);
    let path = dir.path().join("kurabe.db");
    bytes[4096..8192].fill(0);
    std::fs::write(&path, &bytes).unwrap();
    let error = load(&path, "20261121-090000-a0a0").unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error}");
}

/// The rollback journal that a process leaves that was killed while it made the very first tables: it says that the
/// file was empty before. Layout: <https://www.sqlite.org/fileformat.html>, "The Rollback Journal".
fn journal_of_an_empty_file() -> Vec<u8> {
    let mut journal = vec![0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
    for number in [0_u32, 1, 0, 512, 4096] {
        // Records, nonce, pages before, sector size, page size.
        journal.extend(number.to_be_bytes());
    }
    journal.resize(512, 0);
    journal
}

#[test]
fn a_store_whose_maker_was_killed_at_once_is_made_again() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kurabe.db");
    drop(Store::open(&path).unwrap());
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(raw);
    let left = || {
        std::fs::write(
            dir.path().join("kurabe.db-journal"),
            journal_of_an_empty_file(),
        )
    };

    left().unwrap();
    assert!(matches!(
        Store::open_read_only(&path),
        Err(StoreError::Missing { .. })
    ));
    drop(Store::open(&path).unwrap());
    let raw = rusqlite::Connection::open(&path).unwrap();
    raw.pragma_update(None, "journal_mode", "DELETE").unwrap();
    drop(raw);
    left().unwrap();
    let store = Store::open(&path).unwrap();
    assert_eq!(store.list().unwrap(), []);
}
