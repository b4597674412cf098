//! On which part of its files a job works, and how much of that it does where nothing else is said.

use super::stream;
use crate::fio::job::{Extent, Job};
use crate::fio::jobfile::Found;

/// The part of the files on which a job works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Region {
    pub(super) offset: u64,
    pub(super) size: u64,
    /// What of each file, where they are not alike.
    pub(super) sizes: Vec<u64>,
}

/// The sizes of the files where they are drawn: whole blocks, evenly, and the same in every run.
fn drawn(job: &Job) -> Result<Option<Vec<u64>>, String> {
    let range = job.amount.file_size_bytes;
    let Some((low, high)) = range.filter(|(low, high)| low != high) else {
        return Ok(None);
    };
    let block = job.does.size_range().0.max(1);
    let (first, last) = (low.div_ceil(block).max(1), high / block);
    if first > last {
        return Err(format!(
            "no whole number of blocks of {block} bytes lies between a `filesize` of {low} and {high}"
        ));
    }
    let mut rng = stream(job, 2);
    let files = job.target.files.iter();
    Ok(Some(
        files
            .map(|_| (first + rng.below(last - first + 1)) * block)
            .collect(),
    ))
}

/// A region as fio means it: from the offset on, as long as said, or to the end of what is there.
pub(super) fn region(job: &Job, found: &[Found]) -> Result<Region, String> {
    let amount = &job.amount;
    let path = job.target.files.first().map_or("", String::as_str);
    let drawn = drawn(job)?;
    let fixed = amount.file_size_bytes.map(|(_, high)| high);
    let smallest = drawn.as_ref().and_then(|sizes| sizes.iter().min().copied());
    let file_bytes = smallest.or(fixed);
    // Every file has the same part of the region: what the shortest one holds.
    let files = job.target.files.len().max(1) as u64;
    let lengths: Option<Vec<u64>> = found.iter().map(|found| found.length_bytes).collect();
    let shortest = lengths.and_then(|lengths| lengths.into_iter().min());
    let there = file_bytes.or(shortest);
    let share = |what: &str, percent: u8| {
        let bytes = there.ok_or_else(|| {
            format!(
                "`{what}` is a share of `{path}`, which is not there\nhint: give a size in bytes"
            )
        })?;
        Ok::<u64, String>(portion(bytes, percent))
    };
    let align = amount.offset_align_bytes.max(1);
    let bytes = |what: &str, extent: Extent| -> Result<u64, String> {
        match extent {
            Extent::Bytes(bytes) => Ok(bytes),
            Extent::Percent(percent) => {
                let bytes = share(what, percent)?;
                Ok(bytes.checked_next_multiple_of(align).unwrap_or(u64::MAX))
            }
        }
    };
    let step = bytes("offset_increment", amount.offset_increment)?;
    let offset =
        bytes("offset", amount.offset)?.saturating_add(step.saturating_mul(u64::from(job.clone)));
    let rest = || {
        there
            .map(|there| there.saturating_sub(offset).saturating_mul(files))
            .ok_or_else(|| {
                format!(
                    "`{path}` is not there, and no size is given\nhint: give one, such as `size=1g`"
                )
            })
    };
    let fill = || {
        let room = found.first().and_then(|found| found.room_bytes);
        let Some(room) = room.filter(|room| *room > there.unwrap_or(0)) else {
            return rest();
        };
        let block = job.does.size_range().0.max(1);
        let of_file = (room / files).saturating_sub(offset) / block * block;
        Ok(of_file.saturating_mul(files))
    };
    let mut sizes = Vec::new();
    let size = match (file_bytes, amount.size) {
        _ if amount.fills_device => fill()?,
        (Some(file), _) if file > offset && drawn.as_ref().is_some_and(|all| all.len() > 1) => {
            sizes.extend(drawn.iter().flatten().map(|bytes| bytes - offset));
            sizes.iter().sum()
        }
        (Some(file), _) => file.saturating_sub(offset).saturating_mul(files),
        (None, Some(Extent::Bytes(0)) | None) => rest()?,
        (None, Some(Extent::Bytes(size))) => size,
        (None, Some(Extent::Percent(percent))) => share("size", percent)?.saturating_mul(files),
    };
    if size == 0 {
        return Err(format!("nothing of `{path}` lies behind offset {offset}"));
    }
    Ok(Region {
        offset,
        size,
        sizes,
    })
}

/// Whole per cents of an amount, without overflow.
pub(super) fn portion(bytes: u64, percent: u8) -> u64 {
    let share = u128::from(bytes) * u128::from(percent) / 100;
    u64::try_from(share).unwrap_or(u64::MAX)
}

/// What of a region is done where nothing else is said: whole blocks of each file. A rest that holds none stays, as in
/// fio.
pub(super) fn whole_blocks(job: &Job, region: &Region) -> u64 {
    let smallest = job.does.size_range().0.max(1);
    let whole = |bytes: u64| bytes / smallest * smallest;
    let files = job.target.files.len().max(1) as u64;
    if region.sizes.is_empty() {
        whole(region.size / files) * files
    } else {
        region.sizes.iter().map(|bytes| whole(*bytes)).sum()
    }
}
