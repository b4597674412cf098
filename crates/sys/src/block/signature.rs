//! What a block device holds: the marks that file systems, partition tables, swap areas and volume managers leave.
//!
//! A table of magic bytes, from the published on-disk formats; what lies in partitions is looked at as well. It is not
//! complete and cannot be, so that a device with none of these marks but with any byte other than 0 in its first or
//! last MiB counts as "data of an unknown kind": a raw database volume looks like that. It only reads.

mod partitions;
mod table;

use std::io::{self, Read, Seek, SeekFrom};
use table::{BOOT_SECTORS, MARKS};

/// What kind of owner a mark speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A file system, swap area or encrypted volume: it has an identity that a user can type.
    Content,
    /// A table of partitions.
    Table,
    /// Part of something larger (LVM, RAID, ZFS, bcache): the whole would be damaged.
    Member,
    /// Bytes that nothing here knows.
    Unknown,
}

/// A mark that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// What left it: `ext2/3/4`, `LVM`, `data of an unknown kind`.
    pub kind: &'static str,
    /// What that means.
    pub class: Class,
    /// Its identity in the format that blkid(8) prints, where the format has one.
    pub uuid: Option<String>,
}

/// Where a mark lies.
#[derive(Clone, Copy, Debug)]
enum At {
    /// So many bytes from the start.
    Start(u64),
    /// So many bytes before the end, after the size was rounded down to a multiple of `align` bytes.
    End {
        /// Distance from the end.
        back: u64,
        /// Rounding.
        align: u64,
    },
}

/// How an identity is written down.
#[derive(Clone, Copy, Debug)]
enum Id {
    /// The format has none, or none worth typing.
    None,
    /// Sixteen bytes, printed as 8-4-4-4-12 hexadecimal digits; at this distance from the mark's own place.
    Uuid(i64),
    /// The same, with the first three groups little-endian (GPT).
    Guid(i64),
    /// So many bytes of text.
    Text(i64, usize),
    /// Four bytes as a little-endian hexadecimal number (MBR).
    Hex(i64),
    /// The same in capitals, in two halves (FAT, exFAT).
    Halves(i64),
    /// The same of eight bytes in capitals (NTFS).
    Capitals(i64),
    /// The time of the last change, or of the making where that is not told (ISO 9660): digits, with signs between.
    Date(i64),
}

/// One entry of the table.
struct Mark {
    kind: &'static str,
    class: Class,
    at: At,
    /// In how many places, one KiB after the other, it may stand: some formats have a ring of headers.
    places: u64,
    magic: &'static [u8],
    id: Id,
}

/// How much of each end is searched for data of an unknown kind.
const ENDS: u64 = 1 << 20;

/// Every mark on a device of `size` bytes; an empty list means a blank device.
pub fn probe(device: &mut (impl Read + Seek), size: u64) -> io::Result<Vec<Signature>> {
    let mut found = marks(device, size)?;
    if found.is_empty() && !blank(device, size)? {
        // Somebody may have written it between the first look and the second.
        found = marks(device, size)?;
        if found.is_empty() {
            found.push(Signature {
                kind: "data of an unknown kind",
                class: Class::Unknown,
                uuid: None,
            });
        }
    }
    Ok(found)
}

/// The known marks, those in partitions included: the kernel may not have read the table, or have been built without
/// its format.
fn marks(device: &mut (impl Read + Seek), size: u64) -> io::Result<Vec<Signature>> {
    let mut found: Vec<Signature> = Vec::new();
    for part in std::iter::once(0..size).chain(partitions::ranges(device, size)?) {
        let mut inside = Part {
            device: &mut *device,
            start: part.start,
        };
        for signature in marks_of(&mut inside, part.end - part.start)? {
            if !found.contains(&signature) {
                found.push(signature);
            }
        }
    }
    Ok(found)
}

/// The known marks of one device or partition.
fn marks_of(device: &mut (impl Read + Seek), size: u64) -> io::Result<Vec<Signature>> {
    let mut found: Vec<Signature> = Vec::new();
    for mark in MARKS {
        let Some(first) = place(mark.at, size) else {
            continue;
        };
        for number in 0..mark.places {
            let here = first + number * 1024;
            if read_at(device, here, mark.magic.len(), size)?.as_deref() != Some(mark.magic) {
                continue;
            }
            let signature = Signature {
                kind: mark.kind,
                class: mark.class,
                uuid: identity(device, mark.id, here, size)?,
            };
            if !found.contains(&signature) {
                found.push(signature);
            }
            break;
        }
    }
    // The boot sectors of these end like a partition table, and hold code where its number would be.
    if found.iter().any(|mark| BOOT_SECTORS.contains(&mark.kind)) {
        found.retain(|mark| mark.kind != "MBR");
    }
    Ok(found)
}

/// A part of a device, as a device of its own.
struct Part<'a, D> {
    device: &'a mut D,
    start: u64,
}

impl<D: Read> Read for Part<'_, D> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.device.read(bytes)
    }
}

impl<D: Seek> Seek for Part<'_, D> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match to {
            SeekFrom::Start(at) => self.device.seek(SeekFrom::Start(self.start + at)),
            // Nobody here asks for the end or for where it is.
            SeekFrom::End(_) | SeekFrom::Current(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }
}

fn place(at: At, size: u64) -> Option<u64> {
    match at {
        At::Start(offset) => Some(offset),
        At::End { back, align } => (size / align * align).checked_sub(back),
    }
}

/// `len` bytes at `offset`; `None` where the device ends before.
fn read_at(
    device: &mut (impl Read + Seek),
    offset: u64,
    len: usize,
    size: u64,
) -> io::Result<Option<Vec<u8>>> {
    let end = u64::try_from(len)
        .ok()
        .and_then(|len| offset.checked_add(len));
    if end.is_none_or(|end| end > size) {
        return Ok(None);
    }
    let mut bytes = vec![0; len];
    device.seek(SeekFrom::Start(offset))?;
    device.read_exact(&mut bytes)?;
    Ok(Some(bytes))
}

fn identity(
    device: &mut (impl Read + Seek),
    id: Id,
    mark: u64,
    size: u64,
) -> io::Result<Option<String>> {
    let (distance, len) = match id {
        Id::None => return Ok(None),
        Id::Uuid(distance) | Id::Guid(distance) => (distance, 16),
        Id::Text(distance, len) => (distance, len),
        Id::Hex(distance) | Id::Halves(distance) => (distance, 4),
        Id::Capitals(distance) => (distance, 8),
        // When it was made, with the offset of its time zone, and when it was changed.
        Id::Date(distance) => (distance, 17 + 16),
    };
    let Some(offset) = mark.checked_add_signed(distance) else {
        return Ok(None);
    };
    let Some(mut bytes) = read_at(device, offset, len, size)? else {
        return Ok(None);
    };
    if bytes.iter().all(|&byte| byte == 0) {
        return Ok(None);
    }
    Ok(match id {
        Id::Text(..) => Some(
            String::from_utf8_lossy(&bytes)
                .trim_end_matches('\0')
                .to_owned(),
        ),
        Id::Hex(_) | Id::Halves(_) | Id::Capitals(_) => {
            bytes.reverse();
            let number = hex(&bytes);
            Some(match id {
                Id::Hex(_) => number,
                Id::Capitals(_) => number.to_uppercase(),
                _ => format!("{}-{}", &number[..4], &number[4..]).to_uppercase(),
            })
        }
        Id::Date(_) => [&bytes[17..], &bytes[..16]].into_iter().find_map(date),
        Id::Guid(_) => {
            bytes[0..4].reverse();
            bytes[4..6].reverse();
            bytes[6..8].reverse();
            Some(uuid(&bytes))
        }
        Id::Uuid(_) | Id::None => Some(uuid(&bytes)),
    })
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Sixteen digits as year, month, day, hour, minute, second and hundredth; `None` where no time is told.
fn date(digits: &[u8]) -> Option<String> {
    let digits = std::str::from_utf8(digits).ok()?;
    let is_time = digits.bytes().all(|byte| byte.is_ascii_digit()) && digits.contains(|c| c != '0');
    let groups = [0..4, 4..6, 6..8, 8..10, 10..12, 12..14, 14..16];
    let groups: Option<Vec<&str>> = groups.into_iter().map(|group| digits.get(group)).collect();
    groups.filter(|_| is_time).map(|groups| groups.join("-"))
}

fn uuid(bytes: &[u8]) -> String {
    let groups = [0..4, 4..6, 6..8, 8..10, 10..16];
    groups.map(|group| hex(&bytes[group])).join("-")
}

/// Whether both ends hold nothing but zeros.
fn blank(device: &mut (impl Read + Seek), size: u64) -> io::Result<bool> {
    let len = ENDS.min(size);
    let bytes = usize::try_from(len).unwrap_or(0);
    for offset in [0, size - len] {
        let end = read_at(device, offset, bytes, size)?.unwrap_or_default();
        if end.iter().any(|&byte| byte != 0) {
            return Ok(false);
        }
    }
    Ok(true)
}

#[cfg(test)]
mod tests;
