//! Load files that are right, wrong, too large, and made of anything.

use super::*;
use crate::fs::dbench::trace::Class;
use proptest::prelude::*;

const GOOD: &str = r#"# a comment, and an empty line

Deltree "\clients\client1" NT_STATUS_OK
Mkdir "\clients" NT_STATUS_OK
NTCreateX "\clients\client1" 0x1 0x2 101 NT_STATUS_OK
Close 101 NT_STATUS_OK
NTCreateX "\clients\client1\A B.TXT" 0x40 0x2 1 NT_STATUS_OK
NTCreateX "\clients\client1\NO.TXT" 0x40 0x1 16000 NT_STATUS_OBJECT_NAME_NOT_FOUND
NTCreateX "/clients/client1/NO.TXT" 0x40 0x1 16000 0xc0000034
WriteX 1 65534 1 1 NT_STATUS_OK
ReadX 1 0 4096 535 NT_STATUS_OK
QUERY_FILE_INFORMATION 1 258 NT_STATUS_OK
SET_FILE_INFORMATION 1 1004 0x00000000
LockX 1 2147483538 1 NT_STATUS_OK
UnlockX 1 2147483538 1 NT_STATUS_OK
Flush 1 NT_STATUS_OK
QUERY_PATH_INFORMATION "\clients\client1" 1004 NT_STATUS_OK
QUERY_FS_INFORMATION 1 NT_STATUS_OK
FIND_FIRST "\clients\client1\*.TXT" 260 1366 1 NT_STATUS_OK
Rename "\clients\client1\A B.TXT" "\clients\client1\C" NT_STATUS_OK
Unlink "\clients\client1\C" 0x6 NT_STATUS_OK
Rmdir "\clients\client1" NT_STATUS_OK
"#;

#[test]
fn every_operation_is_read() {
    let load = read(GOOD.as_bytes()).unwrap();
    let trace = load.trace;
    // What is open at the end is closed.
    assert_eq!(trace.ops.last(), Some(&Op::Close { slot: 0 }));
    assert_eq!((trace.ops.len(), trace.lines.len()), (21, 21));
    let classes = Class::ALL
        .iter()
        .filter(|class| trace.ops.iter().any(|op| op.class() == **class));
    assert_eq!(classes.count(), Class::ALL.len());
    assert_eq!((trace.slots, trace.longest, trace.lines[0]), (1, 4096, 3));
    assert_eq!(
        trace.names,
        [
            "clients/client1",
            "clients",
            "clients/client1/A B.TXT",
            "clients/client1/NO.TXT",
            "clients/client1/*.TXT",
            "clients/client1/C",
        ]
    );
    assert_eq!(
        trace.ops[2],
        Op::OpenDirectory {
            name: 0,
            slot: 0,
            expected: Expected::Success
        }
    );
    assert_eq!(
        trace.ops[8],
        Op::Read {
            slot: 0,
            length: 4096,
            offset: 0,
            there: 535
        }
    );
}

#[test]
fn the_digest_is_of_every_byte() {
    let digest = |text: &str| read(text.as_bytes()).unwrap().digest;
    assert_eq!(digest(GOOD), digest(GOOD));
    assert_ne!(digest(GOOD), digest(&format!("{GOOD}\n")));
    assert_eq!(digest(GOOD).len(), 16);
}

#[test]
fn an_error_names_line_word_and_what_was_expected() {
    let opened = "NTCreateX \"a\" 0x40 0x2 1 NT_STATUS_OK\n";
    let cases = [
        (
            "Clos 1 NT_STATUS_OK",
            "`Clos`: expected an operation of dbench 4: NTCreateX, Close,",
        ),
        (
            "Close 2 NT_STATUS_OK",
            "`2`: expected a handle that a line before has opened",
        ),
        ("Close x NT_STATUS_OK", "`x`: expected a handle"),
        (
            "Close 1",
            "`end of the line`: expected a result such as NT_STATUS_OK",
        ),
        (
            "Close 1 SUCCESS",
            "`SUCCESS`: expected a result such as NT_STATUS_OK",
        ),
        (
            "Close 1 NT_STATUS_OK 7",
            "`7`: expected the end of the line",
        ),
        (
            "Close 1 NT_STATUS_NO_SUCH_FILE",
            "`NT_STATUS_NO_SUCH_FILE`: expected NT_STATUS_OK: this operation",
        ),
        (
            "NTCreateX b 0x40 0x2 3 NT_STATUS_OK",
            "`b`: expected a path between quotation marks",
        ),
        (
            "NTCreateX \"b\" 0x40 0x3 3 NT_STATUS_OK",
            "`0x3`: expected 0x1 (open), 0x2 (make) or 0x5",
        ),
        (
            "NTCreateX \"b\" 0x40 0x2 1 NT_STATUS_OK",
            "`1`: expected a handle that is not open already",
        ),
        (
            "Unlink \"\\..\\..\\etc\\passwd\" 0x6 NT_STATUS_OK",
            "`\\..\\..\\etc\\passwd`: expected a path below",
        ),
        (
            "Unlink \"\\\" 0x6 NT_STATUS_OK",
            "`\\`: expected a path below",
        ),
        (
            "WriteX 1 0 20000000 20000000 NT_STATUS_OK",
            "`20000000`: expected how many bytes, up to 16777216",
        ),
        (
            "WriteX 1 0 10 9 NT_STATUS_OK",
            "`9`: expected how many bytes it moved, 10",
        ),
        (
            "ReadX 1 0 10 11 NT_STATUS_OK",
            "`11`: expected how many bytes it moved, at most 10",
        ),
        (
            "ReadX 1 18446744073709551615 1 1 NT_STATUS_OK",
            "`18446744073709551615`: expected an offset",
        ),
        (
            "QUERY_FS_INFORMATION NT_STATUS_OK",
            "`NT_STATUS_OK`: expected a level",
        ),
    ];
    for (line, expected) in cases {
        let error = read(format!("{opened}{line}\n").as_bytes())
            .unwrap_err()
            .to_string();
        let expected = format!("line 2: {expected}");
        assert!(error.starts_with(&expected), "{line}: {error}");
    }
    assert_eq!(
        read(&b"\n# nothing\n"[..]).unwrap_err().to_string(),
        "it has no operation"
    );
    let long = format!("Close {}\n", "1".repeat(LINE_MAX));
    assert!(
        read(long.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("a line of at most 8192 bytes")
    );
    assert!(
        read(&b"Close \xff\n"[..])
            .unwrap_err()
            .to_string()
            .contains("expected text in UTF-8")
    );
}

#[test]
fn handles_and_names_are_bounded() {
    use std::fmt::Write;
    let mut text = String::new();
    for handle in 0..=OPEN_MAX {
        writeln!(
            text,
            "NTCreateX \"a{handle}\" 0x40 0x2 {handle} NT_STATUS_OK"
        )
        .unwrap();
    }
    let error = read(text.as_bytes()).unwrap_err().to_string();
    assert!(
        error.starts_with("line 901: `900`: expected no more than 900 handles"),
        "{error}"
    );
    text.clear();
    for name in 0..=NAMES_MAX {
        writeln!(text, "Unlink \"a{name}\" 0x6 NT_STATUS_OK").unwrap();
    }
    let error = read(text.as_bytes()).unwrap_err().to_string();
    assert!(
        error.starts_with("line 65537: `a65536`: expected no more than 65536"),
        "{error}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Whatever stands in a file, reading it ends, and what is read can be done: slots and names are there.
    #[test]
    fn no_file_breaks_the_reader(
        parts in prop::collection::vec((0..30_usize, any::<u16>(), ".{0,12}"), 0..40),
    ) {
        let lines: Vec<&str> = GOOD.lines().collect();
        let mut text = String::new();
        for (line, cut, odd) in parts {
            let line = lines.get(line).copied().unwrap_or("WriteX 1 0 10 10 NT_STATUS_OK");
            let mut at = usize::from(cut) % (3 * line.len() + 1);
            while !line.is_char_boundary(at.min(line.len())) { at -= 1; }
            let (before, after) = line.split_at(at.min(line.len()));
            text.push_str(before);
            if at < line.len() { text.push_str(&odd); }
            text.push_str(after);
            text.push('\n');
        }
        if let Ok(load) = read(text.as_bytes()) {
            let names = load.trace.names.len();
            for name in &load.trace.names {
                prop_assert!(!name.starts_with('/') && !name.split('/').any(|part| part == ".."));
            }
            for op in &load.trace.ops {
                if let Op::Open { slot, name, expected: Expected::Success, .. } = op {
                    prop_assert!(*slot < load.trace.slots && (*name as usize) < names);
                }
            }
        }
    }

    #[test]
    fn no_bytes_break_the_reader(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(bytes.as_slice());
    }
}
