//! A client on a directory: small loads, other results than expected, patterns.

use super::*;
use crate::fs::dbench::loadfile;
use crate::fs::dbench::trace::Class;

fn client(dir: &Path, text: &str) -> Client {
    let load = loadfile::read(text.as_bytes()).unwrap();
    Client::new(load.trace, dir, Clock::Kernel, || 0).unwrap()
}

fn run(client: &mut Client, ops: u64) -> Result<u64, WorkError> {
    client.batch(ops, &mut Recorder::off())
}

const LOOP: &str = r#"Deltree "\c" NT_STATUS_OK
NTCreateX "\c" 0x1 0x2 9 NT_STATUS_OK
Close 9 NT_STATUS_OK
NTCreateX "\c\A.TXT" 0x40 0x2 1 NT_STATUS_OK
WriteX 1 0 1000 1000 NT_STATUS_OK
WriteX 1 5000 1 1 NT_STATUS_OK
ReadX 1 4096 4096 905 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 258 NT_STATUS_OK
SET_FILE_INFORMATION 1 1004 NT_STATUS_OK
LockX 1 2147483538 1 NT_STATUS_OK
UnlockX 1 2147483538 1 NT_STATUS_OK
Flush 1 NT_STATUS_OK
Close 1 NT_STATUS_OK
NTCreateX "\c\NO.TXT" 0x40 0x1 1 NT_STATUS_OBJECT_NAME_NOT_FOUND
QUERY_PATH_INFORMATION "\c\a.txt" 1004 NT_STATUS_OBJECT_NAME_NOT_FOUND
QUERY_PATH_INFORMATION "\c\no\x" 1004 NT_STATUS_OBJECT_PATH_NOT_FOUND
QUERY_FS_INFORMATION 1 NT_STATUS_OK
FIND_FIRST "\c\*" 260 1366 3 NT_STATUS_OK
FIND_FIRST "\no\*" 260 1366 0 NT_STATUS_NO_SUCH_FILE
Rename "\c\A.TXT" "\c\B.TXT" NT_STATUS_OK
Rename "\c\A.TXT" "\c\B.TXT" NT_STATUS_OBJECT_NAME_NOT_FOUND
Unlink "\c\A.TXT" 0x6 NT_STATUS_OBJECT_NAME_NOT_FOUND
"#;

#[test]
fn a_load_is_done_again_and_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut client = client(dir.path(), LOOP);
    let ops = client.trace.ops.len() as u64;
    assert_eq!(run(&mut client, 3 * ops).unwrap(), 3 * ops);
    assert_eq!(client.work(), Some(3.0 * (1000.0 + 1.0 + 905.0)));
    let left: Vec<_> = std::fs::read_dir(dir.path().join("c")).unwrap().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(
        std::fs::metadata(dir.path().join("c/B.TXT")).unwrap().len(),
        5001
    );
    let finish = client.finish().unwrap();
    assert_eq!(
        (
            finish.latencies["writex"].count(),
            finish.latencies["deltree"].count()
        ),
        (6, 3)
    );
    assert!(finish.notes.is_empty(), "{:?}", finish.notes);
    assert_eq!(
        finish.latencies.values().map(Latencies::count).sum::<u64>(),
        3 * ops
    );
}

#[test]
fn other_results_are_counted_and_told() {
    let dir = tempfile::tempdir().unwrap();
    let text = r#"NTCreateX "a" 0x40 0x2 1 NT_STATUS_OK
ReadX 1 0 100 100 NT_STATUS_OK
QUERY_PATH_INFORMATION "b" 1004 NT_STATUS_OK
NTCreateX "a" 0x40 0x1 2 NT_STATUS_OBJECT_NAME_NOT_FOUND
Close 1 NT_STATUS_OK
"#;
    let mut client = client(dir.path(), text);
    run(&mut client, 5).unwrap();
    let notes = client.finish().unwrap().notes;
    assert_eq!(
        notes,
        ["3 operations had another result than the load file expects, the first of them in line 2"]
    );
}

#[test]
fn what_changes_names_must_have_its_result() {
    let fails = |text: &str, expected: &str| {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("x"), "").unwrap();
        let error = run(&mut client(dir.path(), text), 1)
            .unwrap_err()
            .to_string();
        assert!(error.starts_with(expected), "{error}");
    };
    fails(
        "Unlink \"a\" 0x6 NT_STATUS_OK",
        "unlink of line 1 on `a`: No such file or directory",
    );
    fails(
        "Unlink \"x\" 0x6 NT_STATUS_NO_SUCH_FILE",
        "unlink of line 1 on `x`: it was expected to fail",
    );
    fails(
        "\nNTCreateX \"a\" 0x40 0x1 1 NT_STATUS_OK",
        "ntcreatex of line 2 on `a`: No such file or directory",
    );
    fails(
        "Rename \"b\" \"c\" NT_STATUS_OK",
        "rename of line 1 on `b`: No such file or directory",
    );
}

#[test]
fn patterns_are_those_of_windows() {
    let cases = [
        ("*", "anything", true),
        ("*.txt", "A.TXT", true),
        ("*.txt", "a.tx", false),
        ("a?c", "abc", true),
        ("a?c", "ac", false),
        ("<.txt", "x.txt", true),
        ("a\"b", "a.b", true),
        ("a\"b", "axb", false),
        ("*b*d", "abcbd", true),
        ("*b*d", "abcbe", false),
        ("", "", true),
        ("", "a", false),
        ("a*", "a", true),
    ];
    for (pattern, name, expected) in cases {
        assert_eq!(
            fits(pattern.as_bytes(), name.as_bytes()),
            expected,
            "{pattern} {name}"
        );
    }
}

#[test]
fn every_class_stands_at_its_own_place() {
    for (place, class) in Class::ALL.into_iter().enumerate() {
        assert_eq!(class.place(), place);
    }
}
