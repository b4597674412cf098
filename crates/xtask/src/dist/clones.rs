//! Where the clones of measured code lie in the binary that is shipped.
//!
//! Tests of the crate that has them look at addresses, but are built with flags of their own: a flag that aligned every
//! function once put all clones at the same place, and no test could see it. So this looks at the file. It refuses a
//! binary in which the bytes in front of a clone do not begin on a line, or in which a compiler has filled the line up
//! behind them.

use anyhow::ensure;

/// What stands in front of a clone, once for every 16 bytes of its offset (`sys::loops::align`).
const MARK: &[u8] = b"a clone's offset";

/// Bytes of a line; offsets in the file are those in memory but for whole pages.
const LINE: usize = 64;

/// Files of measured code, each with a clone at 16 bytes and one at 32, beside the one at 0, which has no mark.
const FILES: usize = 3;

/// What fills a line up: zeros, traps, and the no-operations of x86-64 and of aarch64, which begin no function.
const FILLERS: &[&[u8]] = &[
    b"\0\0\0\0",
    b"\xcc",
    b"\x90",
    b"\x66\x90",
    b"\x66\x66",
    b"\x66\x2e",
    b"\x66\x0f\x1f",
    b"\x0f\x1f",
    b"\x1f\x20\x03\xd5",
];

/// Makes sure that the clones in `file` lie where they should.
pub(super) fn check(file: &[u8]) -> anyhow::Result<()> {
    let mut offsets = Vec::new();
    let mut at = 0;
    while let Some(found) = next(&file[at..]) {
        let start = at + found;
        let marks = file[start..].chunks(MARK.len());
        let length = MARK.len() * marks.take_while(|chunk| *chunk == MARK).count();
        at = start + length;
        ensure!(
            start % LINE == 0,
            "a clone's section begins {} bytes behind a cache line",
            start % LINE
        );
        let filled = |filler: &&[u8]| file[at..].starts_with(filler);
        ensure!(
            !FILLERS.iter().any(filled),
            "a clone does not begin at its offset of {length} bytes, but behind what fills the line up"
        );
        offsets.push(length);
    }
    offsets.sort_unstable();
    let expected = [[16; FILES], [32; FILES]].concat();
    ensure!(
        offsets == expected,
        "the clones lie at {offsets:?}, beside those at 0, in place of {expected:?}"
    );
    Ok(())
}

fn next(bytes: &[u8]) -> Option<usize> {
    bytes.windows(MARK.len()).position(|window| window == MARK)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with these offsets, each on a line and with a function behind it.
    fn file(offsets: &[usize]) -> Vec<u8> {
        let mut file = vec![0; LINE];
        for offset in offsets {
            file.extend(MARK.repeat(offset / MARK.len()));
            file.extend(b"\x55\x53");
            file.resize(file.len().next_multiple_of(LINE), 0x90);
        }
        file
    }

    #[test]
    fn clones_that_do_not_lie_at_their_offsets_are_found() {
        let right = file(&[16, 32, 32, 16, 16, 32]);
        check(&right).unwrap();
        let refused = |file: &[u8], why: &str| {
            let error = check(file).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        };
        refused(&right[1..], "63 bytes behind");
        let mut filled = right.clone();
        filled[LINE + 16] = 0x90;
        refused(&filled, "behind what fills");
        refused(&file(&[16, 32]), "[16, 32]");
        refused(b"", "[]");
    }
}
