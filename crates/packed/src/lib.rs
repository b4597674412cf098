//! Data that the program carries compressed, because it may not be large and holds zstd in any case.
//!
//! A build script packs what a crate carries ([`write`]), so that what is edited and reviewed is the text itself and no
//! packed copy of it can be out of date; a copy in the repository would have to be kept in step. [`carried`] includes
//! what was packed, and it is unpacked where it is used, each time: no data here is used often.
//!
//! Only for what is large and seldom used. What measured loops read is carried as it is.

use std::fmt;
use std::io;
use std::path::Path;

/// The level that is used: the highest one that zstd itself calls no "ultra", of which packing what is carried here
/// takes a second. The levels above it need more memory to unpack and save less than a thousandth.
const LEVEL: i32 = 19;

/// What is behind the name of a packed file.
const ENDING: &str = "zst";

/// Data that has been packed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Packed(&'static [u8]);

impl Packed {
    /// What [`write`] wrote.
    pub const fn new(bytes: &'static [u8]) -> Self {
        Self(bytes)
    }

    /// The data as it was.
    pub fn bytes(self) -> Vec<u8> {
        unpack(self.0).expect("what was packed when this program was built is part of its file")
    }

    /// Whether there is nothing in it.
    pub fn is_empty(self) -> bool {
        zstd::decompressed_size(self.0) == Some(0)
    }

    /// The text as it was.
    pub fn text(self) -> String {
        String::from_utf8(self.bytes()).expect("a text was packed")
    }
}

impl fmt::Debug for Packed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packed({} bytes)", self.0.len())
    }
}

/// What the build script of the crate that uses this has packed under a name.
#[macro_export]
macro_rules! carried {
    ($name:literal) => {
        $crate::Packed::new(include_bytes!(concat!(env!("OUT_DIR"), "/", $name, ".zst")))
    };
}

/// Packs `data` under a name into `out`, the directory of a build script's products.
pub fn write(out: &Path, name: &str, data: &[u8]) -> io::Result<()> {
    let packed = zstd::bulk::compress(data, LEVEL)?;
    std::fs::write(out.join(format!("{name}.{ENDING}")), packed)
}

fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let size = zstd::decompressed_size(packed).and_then(|size| usize::try_from(size).ok());
    let size = size.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidData))?;
    zstd::bulk::decompress(packed, size)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_comes_out_as_it_was() {
        for data in [&b""[..], b"a", &b"one and the same ".repeat(9_999)] {
            let packed = zstd::bulk::compress(data, LEVEL).unwrap();
            assert_eq!(unpack(&packed).unwrap(), data);
        }
    }

    #[test]
    fn what_is_damaged_or_none_of_ours_is_refused() {
        let packed = zstd::bulk::compress(&b"text ".repeat(99), LEVEL).unwrap();
        for end in 0..packed.len() {
            assert!(unpack(&packed[..end]).is_err(), "cut at {end}");
        }
        assert!(unpack(b"plain text").is_err());
    }
}
