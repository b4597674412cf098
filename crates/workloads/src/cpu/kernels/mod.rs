//! Kernels: the inner work of real programs, most of it by the crates that real programs use for it.
//!
//! Compression, digests, encryption and JSON come from well-kept crates at exactly pinned versions: what they do is
//! part of the workload's version, and a test fails where a crate moves and the version does not ([`pinned`]).
//! Sorting and matrix multiplication are our own. Data is generated from the seed, every result is checked, and which
//! implementation ran (SHA-NI, AVX2, portable...) is kept with the result.

mod aes_gcm;
mod data;
mod hash;
mod json;
mod matmul;
#[cfg(test)]
mod pinned;
mod sort;
mod zstd;

pub(crate) use self::aes_gcm::AES_GCM;
pub(crate) use self::zstd::ZSTD;
pub(crate) use hash::{BLAKE3, SHA256};
pub(crate) use json::JSON;
pub(crate) use matmul::MATMUL;
pub(crate) use sort::SORT;

use engine::workload::{BadValue, Place, WorkError};
use model::digest::Digest;
use model::num::approx;
use model::params::Params;
use model::spec::{Amount, How, MetricClass, MetricDef, ParamDef, ParamKind, Time};
use model::units::Unit;

/// The two metrics of a kernel that works through bytes.
const fn bytes_per_s(wall: &'static str, cpu: &'static str) -> [MetricDef; 2] {
    [
        MetricDef::rate(
            "bytes_per_s",
            Unit::BytesPerSecond,
            MetricClass::Compute,
            How::Per(Amount::Work, Time::Wall),
            wall,
        ),
        MetricDef::rate(
            "bytes_per_cpu_s",
            Unit::BytesPerSecond,
            MetricClass::Compute,
            How::Per(Amount::Work, Time::Cpu),
            cpu,
        ),
    ]
}

/// The size of what one operation works on.
const fn size_param(default: &'static str, doc: &'static str) -> ParamDef {
    ParamDef {
        name: "size",
        kind: ParamKind::Size,
        default,
        doc,
    }
}

/// The largest block: more would measure the memory, and take it from small machines.
const SIZE_MAX: u64 = 256 << 20;

/// Refuses a block of [`size_param`] that is not from 64 bytes to [`SIZE_MAX`].
fn check_size(params: &Params) -> Result<(), BadValue> {
    if (64..=SIZE_MAX).contains(&params.size("size").0) {
        return Ok(());
    }
    Err(BadValue::new("size", "a size from 64 bytes to 256 MiB"))
}

/// The size asked for, of which a copy keeps `times` as much.
fn size(params: &Params, place: &Place, times: u64) -> Result<usize, WorkError> {
    check_size(params)?;
    let size = params.size("size").0;
    room_for(size.saturating_mul(times), place)?;
    usize::try_from(size).map_err(|error| WorkError::failed("set", "size", error))
}

/// What any process takes without asking whether there is room.
const ASKED_FROM: u64 = 16 << 20;

/// Refuses what would make anybody swap or be killed: `bytes` for each of the copies.
fn room_for(bytes: u64, place: &Place) -> Result<(), WorkError> {
    if bytes < ASKED_FROM {
        return Ok(());
    }
    crate::memory::check_room(bytes, place)
}

/// Bytes of one operation.
fn work(size: usize) -> f64 {
    approx(size as u64)
}

/// An error for operations whose results were not what they must be; the digest where there were none.
fn all_right(different: u64, what: &str, digest: Digest) -> Result<Digest, WorkError> {
    if different > 0 {
        return Err(WorkError::Wrong(format!(
            "{different} operations gave a wrong {what}"
        )));
    }
    Ok(digest)
}

#[cfg(test)]
mod tests;
