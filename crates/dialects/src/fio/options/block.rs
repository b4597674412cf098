//! Operation sizes: `bs`, `bsrange` and `bssplit`, and which of them counts where several are given.
//!
//! As in fio, a split wins over a range and a range over a size, whatever their order in the file.

use super::super::draft::Draft;
use super::super::job::{Blocks, Directions};
use super::super::value::{self, KbBase};
use super::parts;
use model::num::{approx, count};

/// fio's limit of entries per direction.
const MAX_SPLIT: usize = 64;
/// The largest operation: the kernel transfers at most 2 GiB less a page at once.
const MAX_BLOCK: u64 = 0x7fff_f000;

/// `bs=4k`, `bs=4k,8k,16k`.
pub(super) fn sizes(draft: &mut Draft, text: &str) -> Result<(), String> {
    let parts: Vec<&str> = text.split(',').collect();
    if let [only] = parts[..]
        && let Some((read, write)) = only.split_once(['-', ':'])
    {
        let [read, write] = [block(draft, read)?, block(draft, write)?];
        draft.bs = Directions {
            read: Some(read),
            write: Some(write),
            trim: Some(write),
        };
        draft.warn(format!(
            "`bs={text}` is no range: reads are {read} bytes, writes and trims {write}; a range is `bsrange={text}`"
        ));
        return Ok(());
    }
    if parts.len() > 3 || parts.iter().any(|part| part.contains(['-', ':'])) {
        return Err(
            "one to three sizes such as `4k` or `4k,8k,16k`; ranges go to `bsrange`".to_owned(),
        );
    }
    let mut sizes = Vec::new();
    for part in &parts {
        sizes.push(if part.trim().is_empty() {
            None
        } else {
            Some(block(draft, part)?)
        });
    }
    // An empty place keeps what an earlier `bs` said.
    let kept = draft.bs;
    draft.bs = match sizes[..] {
        [read] => Directions::all(read),
        [read, write] => Directions {
            read: read.or(kept.read),
            write: write.or(kept.write),
            trim: write.or(kept.trim),
        },
        [read, write, trim] => Directions {
            read: read.or(kept.read),
            write: write.or(kept.write),
            trim: trim.or(kept.trim),
        },
        _ => return Err("one to three sizes".to_owned()),
    };
    if sizes.iter().skip(1).any(Option::is_none) {
        draft.warn(format!("`bs={text}`: an empty place does not repeat the size before it; it stays at the default"));
    }
    Ok(())
}

/// `bsrange=4k-16k`, `bsrange=4k-16k,1k-2k`.
pub(super) fn ranges(draft: &mut Draft, text: &str) -> Result<(), String> {
    let mut ranges = Vec::new();
    for part in text.split(',') {
        let range = match part.split_once(['-', ':']) {
            Some((a, b)) => (block(draft, a)?, block(draft, b)?),
            // The first must be a range; fio takes a single size for the others.
            None if ranges.is_empty() => return Err("a range such as `4k-16k`".to_owned()),
            None => (block(draft, part)?, block(draft, part)?),
        };
        ranges.push(Some((range.0.min(range.1), range.0.max(range.1))));
    }
    draft.ranges = spread(&ranges).ok_or("one to three ranges")?;
    Ok(())
}

/// `bssplit=4k/50:64k/50`, `bssplit=4k/50:8k/50,16k/100`.
pub(super) fn split(draft: &mut Draft, text: &str) -> Result<(), String> {
    let mut splits = Vec::new();
    for part in text.split(',') {
        let blocks = one_split(part, draft.base(), &mut draft.warnings)?;
        splits.push(Some(blocks));
    }
    draft.splits = spread(&splits).ok_or("one to three lists")?;
    Ok(())
}

/// Puts the sizes that count into the job.
pub(in super::super) fn finish_blocks(draft: &mut Draft) {
    let resolve = |size: Option<u64>, range: Option<(u64, u64)>, split: &Option<Blocks>| {
        Some(match (split, range) {
            (Some(split), _) => split.clone(),
            (None, Some((min_bytes, max_bytes))) if min_bytes != max_bytes => Blocks::Range {
                min_bytes,
                max_bytes,
            },
            (None, Some((bytes, _))) => Blocks::Fixed(bytes),
            (None, None) => Blocks::Fixed(size.unwrap_or(4096)),
        })
    };
    draft.job.does.blocks = Directions {
        read: resolve(draft.bs.read, draft.ranges.read, &draft.splits.read),
        write: resolve(draft.bs.write, draft.ranges.write, &draft.splits.write),
        trim: resolve(draft.bs.trim, draft.ranges.trim, &draft.splits.trim),
    };
}

/// The last value given holds for the directions behind it.
fn spread<T: Clone>(values: &[T]) -> Option<Directions<T>> {
    match values {
        [all] => Some(Directions::all(all.clone())),
        [read, write] => Some(Directions {
            read: read.clone(),
            write: write.clone(),
            trim: write.clone(),
        }),
        [read, write, trim] => Some(Directions {
            read: read.clone(),
            write: write.clone(),
            trim: trim.clone(),
        }),
        _ => None,
    }
}

fn block(draft: &mut Draft, text: &str) -> Result<u64, String> {
    let read = value::size(text, draft.base()).ok_or_else(|| format!("`{text}` is no size"))?;
    checked(draft.take(read))
}

fn checked(bytes: u64) -> Result<u64, String> {
    match bytes {
        0 => Err("at least 1 byte".to_owned()),
        1..=MAX_BLOCK => Ok(bytes),
        _ => Err(format!(
            "at most {MAX_BLOCK} bytes, the most that the kernel transfers at once"
        )),
    }
}

fn one_split(text: &str, base: KbBase, warnings: &mut Vec<String>) -> Result<Blocks, String> {
    let entries = parts::shares(text, MAX_SPLIT)?;
    let given: u64 = entries
        .iter()
        .filter_map(|(_, share)| *share)
        .map(u64::from)
        .sum();
    let blanks = entries.iter().filter(|(_, share)| share.is_none()).count();
    let each = if blanks == 0 {
        0.0
    } else {
        approx(100_u64.saturating_sub(given)) / count(blanks)
    };
    let mut parts = Vec::new();
    let mut left = 100.0_f64;
    for (size, share) in &entries {
        let bytes = checked(parts::size(size, base, warnings)?)?;
        // fio walks through the list until the shares reach 100; what comes behind is never drawn.
        let share = share.map_or(each, f64::from).min(left);
        left -= share;
        if share > 0.0 {
            parts.push((bytes, share));
        }
    }
    if given > 100 {
        warnings.push(format!(
            "`bssplit={text}`: shares add up to {given} %; what is beyond 100 is never used"
        ));
    }
    if left > 1e-9 {
        let Some(last) = parts.last_mut() else {
            return Err("at least one share above 0".to_owned());
        };
        last.1 += left;
        warnings.push(format!(
            "`bssplit={text}`: shares add up to {given} %; {} bytes takes the rest",
            last.0
        ));
    }
    Ok(Blocks::Split(parts))
}
