//! Where a partition table says that partitions lie: MBR with its chain of extended partitions, and GPT with the copy
//! at the end of the device.
//!
//! It is read without trust: what points outside the device is passed over, chains and tables have a largest length,
//! and both sizes of sectors are tried, because the table does not say which one it counts in. A range too many costs
//! a look at a place that holds no mark. Sources: the UEFI specification, chapter 5; the kernel's block/partitions.

use super::read_at;
use std::io::{self, Read, Seek};
use std::ops::Range;

/// The sizes of sectors that tables count in.
const SECTORS: [u64; 2] = [512, 4096];

/// More logical partitions than this make a chain that has lost its end.
const CHAIN_MAX: u32 = 128;

/// The entries of a GPT that are looked at; the usual number is 128.
const ENTRIES_MAX: u64 = 1024;

/// The ranges of bytes in which partitions lie.
pub(super) fn ranges(device: &mut (impl Read + Seek), size: u64) -> io::Result<Vec<Range<u64>>> {
    let mut found = Vec::new();
    for sector in SECTORS {
        let mut add = |start: u64, sectors: u64| {
            let from = start.saturating_mul(sector);
            let to = from
                .saturating_add(sectors.saturating_mul(sector))
                .min(size);
            // A protective partition begins behind the table and is the whole device: nothing begins there.
            if start > 1 && from < to && !found.contains(&(from..to)) {
                found.push(from..to);
            }
        };
        mbr(device, size, sector, &mut add)?;
        let last = (size / sector).saturating_sub(1);
        for header in [1, last] {
            gpt(device, size, sector, header, &mut add)?;
        }
    }
    Ok(found)
}

fn mbr(
    device: &mut (impl Read + Seek),
    size: u64,
    sector: u64,
    add: &mut impl FnMut(u64, u64),
) -> io::Result<()> {
    let Some(entries) = entries_at(device, 0, size)? else {
        return Ok(());
    };
    for (kind, start, sectors) in entries {
        if !EXTENDED.contains(&kind) {
            add(start, sectors);
            continue;
        }
        // Each link has one partition, counted from the link, and the next link, counted from the first.
        let mut link = start;
        for _ in 0..CHAIN_MAX {
            let Some(entries) = entries_at(device, link.saturating_mul(sector), size)? else {
                break;
            };
            let mut next = None;
            for (kind, ahead, sectors) in entries {
                if EXTENDED.contains(&kind) {
                    next = Some(start.saturating_add(ahead));
                } else {
                    add(link.saturating_add(ahead), sectors);
                }
            }
            match next {
                Some(further) if further > link => link = further,
                _ => break,
            }
        }
    }
    Ok(())
}

/// The types of partitions that hold others.
const EXTENDED: [u8; 3] = [0x05, 0x0f, 0x85];

/// Type, start and length of the used entries of the table at `offset`; `None` where there is no table.
fn entries_at(
    device: &mut (impl Read + Seek),
    offset: u64,
    size: u64,
) -> io::Result<Option<Vec<(u8, u64, u64)>>> {
    let Some(sector) = read_at(device, offset, 512, size)? else {
        return Ok(None);
    };
    let entries: Vec<&[u8]> = sector[446..510].chunks_exact(16).collect();
    // In a boot sector of something else there is code where these would be.
    let is_table =
        sector[510..] == [0x55, 0xaa] && entries.iter().all(|entry| matches!(entry[0], 0 | 0x80));
    if !is_table {
        return Ok(None);
    }
    let used = entries.into_iter().filter(|entry| entry[4] != 0);
    Ok(Some(
        used.map(|entry| (entry[4], number(&entry[8..12]), number(&entry[12..16])))
            .collect(),
    ))
}

fn gpt(
    device: &mut (impl Read + Seek),
    size: u64,
    sector: u64,
    header: u64,
    add: &mut impl FnMut(u64, u64),
) -> io::Result<()> {
    let Some(header) = read_at(device, header.saturating_mul(sector), 92, size)? else {
        return Ok(());
    };
    if &header[..8] != b"EFI PART" {
        return Ok(());
    }
    let (table, count) = (number(&header[72..80]), number(&header[80..84]));
    let entry_bytes = number(&header[84..88]);
    if !(128..=4096).contains(&entry_bytes) {
        return Ok(());
    }
    for entry in 0..count.min(ENTRIES_MAX) {
        let at = table
            .saturating_mul(sector)
            .saturating_add(entry * entry_bytes);
        let Some(entry) = read_at(device, at, 128, size)? else {
            break;
        };
        if entry[..16].iter().any(|&byte| byte != 0) {
            let (first, last) = (number(&entry[32..40]), number(&entry[40..48]));
            add(first, last.saturating_sub(first).saturating_add(1));
        }
    }
    Ok(())
}

/// A little-endian number of at most eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    const SIZE: usize = 4 << 20;

    fn found(bytes: &[u8]) -> Vec<Range<u64>> {
        ranges(&mut Cursor::new(bytes), bytes.len() as u64).unwrap()
    }

    /// Writes an entry of an MBR into the sector at `at`.
    fn entry(bytes: &mut [u8], at: usize, number: usize, kind: u8, start: u32, sectors: u32) {
        bytes[at + 510..at + 512].copy_from_slice(&[0x55, 0xaa]);
        let place = at + 446 + 16 * number;
        bytes[place + 4] = kind;
        bytes[place + 8..place + 12].copy_from_slice(&start.to_le_bytes());
        bytes[place + 12..place + 16].copy_from_slice(&sectors.to_le_bytes());
    }

    #[test]
    fn primary_and_logical_partitions_are_found() {
        let mut bytes = vec![0; SIZE];
        assert_eq!(found(&bytes), []);
        entry(&mut bytes, 0, 0, 0x83, 8, 8);
        entry(&mut bytes, 0, 1, 0x05, 100, 1000);
        entry(&mut bytes, 100 * 512, 0, 0x8e, 2, 10);
        entry(&mut bytes, 100 * 512, 1, 0x05, 50, 100);
        entry(&mut bytes, 150 * 512, 0, 0xfd, 2, 20);
        let in_small_sectors = [(8, 8), (102, 10), (152, 20)]
            .map(|(start, sectors): (u64, u64)| start * 512..(start + sectors) * 512);
        let all = found(&bytes);
        assert_eq!(all[..3], in_small_sectors);
        assert!(all.contains(&(8 * 4096..16 * 4096)), "{all:?}");
    }

    #[test]
    fn a_gpt_is_read_at_either_end() {
        for at in [512, SIZE - 512] {
            let mut bytes = vec![0; SIZE];
            bytes[at..at + 8].copy_from_slice(b"EFI PART");
            bytes[at + 72] = 2;
            bytes[at + 80] = 128;
            bytes[at + 84] = 128;
            let second = 2 * 512 + 128;
            bytes[second] = 1;
            bytes[second + 32] = 64;
            bytes[second + 40] = 71;
            let all = found(&bytes);
            assert_eq!((all.len(), &all[0]), (1, &(64 * 512..72 * 512)));
        }
    }

    #[test]
    fn a_table_that_lies_is_survived() {
        // A chain that leads back to itself, starts and lengths beyond the device.
        let mut bytes = vec![0; SIZE];
        entry(&mut bytes, 0, 0, 0x83, u32::MAX, u32::MAX);
        entry(&mut bytes, 0, 1, 0x0f, 10, 10);
        entry(&mut bytes, 10 * 512, 1, 0x0f, 0, 10);
        entry(&mut bytes, 0, 2, 0x83, 100, u32::MAX);
        let all = found(&bytes);
        assert!(all.iter().all(|part| part.end <= SIZE as u64), "{all:?}");
        for fill in [0xff, 0x55] {
            let mut bytes = vec![fill; SIZE];
            bytes[512..520].copy_from_slice(b"EFI PART");
            assert_eq!(found(&bytes), []);
            for length in [0, 1, 511, 512, 513, 4096] {
                found(&bytes[..length]);
            }
        }
    }
}
