//! Workloads on storages: which of them a run does at the same time, each on one storage, and each one's share.

use super::definitions::{Definition, Definitions};
use super::error::Error;
use super::runs::{Rate, Standing};
use super::transfers::{At, Seek, range, seek, transfers};
use super::value::{self, Value, means, percent, size, whole};
use super::words::Kind;
use crate::fio::Place;
use model::job::{Blocks, SyncOn};
use model::num::{approx, count, round_to_u64};

/// A workload on one storage.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The workload's name.
    pub workload: String,
    /// The storage's name.
    pub storage: String,
    /// Where the storage is defined.
    pub place: Place,
    /// Its device or file.
    pub lun: String,
    /// How much of it is used; `None` for all.
    pub size: Option<u64>,
    /// The threads of the storage, which its workloads share.
    pub threads_of_storage: u32,
    /// Those of this part.
    pub threads: u32,
    /// The share of reads, in per cent.
    pub reads_percent: u32,
    /// The share of random places, in per cent; 0 for one after the other.
    pub random_percent: u8,
    /// The sizes of operations.
    pub transfers: Blocks,
    /// Its share of the operations of the run.
    pub share: f64,
    /// Where its part of the storage begins and ends.
    pub(super) range: Option<(At, At)>,
    /// Where offsets begin, in bytes.
    pub offset: u64,
    /// What random offsets are multiples of, in bytes.
    pub align: Option<u64>,
    /// How it is opened.
    pub flags: OpenFlags,
    /// The share of what is written that is zeros, in per cent.
    pub compress_percent: u32,
}

/// How files are opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OpenFlags {
    /// Past the page cache.
    pub direct: bool,
    /// When writes return.
    pub sync: Option<SyncOn>,
    /// Synced when closed.
    pub syncs_on_close: bool,
}

impl OpenFlags {
    /// What a value says.
    pub(super) fn of(value: Option<&Value>) -> Self {
        let mut flags = Self::default();
        for word in value.and_then(Value::words).unwrap_or_default() {
            match word.to_ascii_lowercase().as_str() {
                "o_direct" | "directio" | "open_no_cache" => flags.direct = true,
                "nodirectio" => flags.direct = false,
                "o_dsync" => flags.sync = flags.sync.or(Some(SyncOn::Dsync)),
                "fsync" => flags.syncs_on_close = true,
                _ => flags.sync = Some(SyncOn::Sync),
            }
        }
        flags
    }
}

/// The definitions of a kind that a value names.
pub(super) fn named<'d>(
    value: &Value,
    kind: Kind,
    definitions: &'d Definitions,
    by: &Definition,
) -> Result<Vec<&'d Definition>, Error> {
    let mut found: Vec<&Definition> = Vec::new();
    for pattern in value.words().unwrap_or_default() {
        let mut any = false;
        for one in definitions.of(kind).filter(|one| means(pattern, &one.name)) {
            any = true;
            if !found.iter().any(|other| other.name == one.name) {
                found.push(one);
            }
        }
        if !any {
            let pattern = crate::printable::said(pattern);
            return Err(by.error(format!("there is no {} `{pattern}`", kind.word())));
        }
    }
    Ok(found)
}

/// What a run does at the same time.
pub(super) fn parts(
    rd: &Definition,
    standing: &Standing,
    rate: Rate,
    definitions: &Definitions,
) -> Result<Vec<Part>, Error> {
    let of_rd = |word: &str| rd.get(word).map(|setting| &setting.value);
    let wds = match of_rd("wd") {
        Some(value) => named(value, Kind::Wd, definitions, rd)?,
        None => Vec::new(),
    };
    let shares = shares(&wds, rate, rd)?;
    let mut parts: Vec<Part> = Vec::new();
    for (wd, share) in wds.iter().zip(shares) {
        let sds = of_rd("sd").or_else(|| wd.get("sd").map(|setting| &setting.value));
        let sds = sds.ok_or_else(|| wd.error("it names no storage\nhint: `sd=sd*`"))?;
        let sds = named(sds, Kind::Sd, definitions, wd)?;
        let each = share / count(sds.len());
        for sd in sds {
            parts.push(part((rd, wd, sd), standing, each, definitions)?);
        }
    }
    if parts.len() > PARTS_MAX {
        return Err(Error::TooMuch {
            place: rd.place.clone(),
            found: parts.len().to_string(),
            what: "workloads on storages at the same time",
            limit: PARTS_MAX as u64,
        });
    }
    share_threads(&mut parts);
    Ok(parts)
}

/// Workloads on storages at the same time: each is a process.
const PARTS_MAX: usize = 1024;

/// The workloads of a storage have its threads together.
fn share_threads(parts: &mut [Part]) {
    let storages: Vec<String> = parts.iter().map(|part| part.storage.clone()).collect();
    let mut given: Vec<(String, u32)> = Vec::new();
    for part in parts {
        let workloads = storages
            .iter()
            .filter(|storage| **storage == part.storage)
            .count();
        let workloads = u32::try_from(workloads).unwrap_or(u32::MAX).max(1);
        let turn = if let Some((_, turn)) = given
            .iter_mut()
            .find(|(storage, _)| *storage == part.storage)
        {
            *turn += 1;
            *turn
        } else {
            given.push((part.storage.clone(), 0));
            0
        };
        let all = part.threads_of_storage;
        let more = u32::from(turn < all % workloads);
        part.threads = (all / workloads + more).max(1);
    }
}

/// Each workload's share of the operations: what it says, and alike what is left.
pub(super) fn shares(wds: &[&Definition], rate: Rate, rd: &Definition) -> Result<Vec<f64>, Error> {
    let said: Vec<Option<f64>> = wds
        .iter()
        .map(|wd| {
            wd.get("skew")
                .and_then(|setting| percent(setting.value.word()?))
        })
        .map(|skew| skew.filter(|skew| *skew > 0.0))
        .collect();
    if rate == Rate::Max
        && let Some((wd, _)) = wds.iter().zip(&said).find(|(_, skew)| skew.is_some())
        && wds.len() > 1
    {
        let setting = wd.get("skew");
        return Err(Error::Refused {
            place: setting.map_or_else(|| wd.place.clone(), |setting| setting.place.clone()),
            word: "skew".to_owned(),
            reason: "without a rate each workload goes as fast as it can",
            instead: Some("give the run a rate: `iorate=1000`"),
        });
    }
    let sum: f64 = said.iter().flatten().sum();
    let silent = said.iter().filter(|skew| skew.is_none()).count();
    let left = 100.0 - sum;
    if left < -1e-6 || (silent == 0 && left.abs() > 1e-6) || (silent > 0 && left < 1e-6) {
        let but = if silent > 0 {
            "which leaves nothing for those that say none"
        } else {
            "and not to 100"
        };
        let what = format!("the shares (`skew`) of its workloads come to {sum} %, {but}");
        return Err(rd.error(what));
    }
    let each = |skew: Option<f64>| skew.unwrap_or(left / count(silent)) / 100.0;
    Ok(said.into_iter().map(each).collect())
}

fn part(
    (rd, wd, sd): (&Definition, &Definition, &Definition),
    standing: &Standing,
    share: f64,
    definitions: &Definitions,
) -> Result<Part, Error> {
    let of = |one: &Definition, word: &str| one.get(word).map(|setting| setting.value.clone());
    let word = |one: &Definition, name: &str| -> Option<String> {
        Some(one.get(name)?.value.word()?.to_owned())
    };
    let looped = |name: &str| standing.of(name).map(str::to_owned);
    let lun = word(sd, "lun").ok_or_else(|| sd.error("it has no `lun`"))?;
    let threads = looped("forthreads").or_else(|| word(sd, "threads"));
    let threads = threads.and_then(|n| whole(&n)).unwrap_or(8);
    let transfers = match looped("forxfersize") {
        Some(bytes) => transfers(&Value::One(bytes)),
        None => of(wd, "xfersize").and_then(|value| transfers(&value)),
    };
    let reads = looped("forrdpct").or_else(|| word(wd, "rdpct"));
    let seeks = looped("forseekpct").or_else(|| word(wd, "seekpct"));
    let flags = [rd, wd, sd]
        .into_iter()
        .find_map(|one| of(one, "openflags"));
    let ratio = looped("forcompratio").or_else(|| {
        let setting = definitions.general("compratio")?;
        Some(setting.value.word()?.to_owned())
    });
    let threads = u32::try_from(threads).unwrap_or(u32::MAX);
    Ok(Part {
        workload: wd.name.clone(),
        storage: sd.name.clone(),
        place: sd.place.clone(),
        lun,
        size: word(sd, "size").and_then(|text| size(&text)),
        threads_of_storage: threads,
        threads,
        reads_percent: match reads.and_then(|text| percent(&text)) {
            Some(share) => u32::try_from(round_to_u64(share)).unwrap_or(100),
            None => 100,
        },
        random_percent: match seeks.and_then(|text| seek(&text)) {
            Some(Seek::Sequential) => 0,
            Some(Seek::Random(share)) => share,
            None => 100,
        },
        transfers: transfers.unwrap_or(Blocks::Fixed(4096)),
        share,
        range: of(wd, "range")
            .or_else(|| of(sd, "range"))
            .and_then(|value| range(&value)),
        offset: word(sd, "offset").and_then(|text| size(&text)).unwrap_or(0),
        align: word(sd, "align")
            .and_then(|text| size(&text))
            .filter(|bytes| *bytes > 0),
        flags: OpenFlags::of(flags.as_ref()),
        compress_percent: ratio
            .and_then(|text| value::ratio(&text))
            .map_or(0, compress),
    })
}

/// The share of zeros in per cent that lets data shrink to one in `ratio`.
fn compress(ratio: f64) -> u32 {
    u32::try_from(round_to_u64(100.0 - 100.0 / ratio)).unwrap_or(0)
}

impl Part {
    /// What it is called in errors and results.
    pub fn name(&self) -> String {
        format!("{}-{}", self.workload, self.storage)
    }

    /// The bytes of a storage of this length that it works on: from where, and how many.
    pub(super) fn region(&self, length: u64) -> (u64, u64) {
        let at = |place: At| match place {
            At::Percent(share) => round_to_u64(approx(length) / 100.0 * share),
            At::Bytes(bytes) => bytes,
        };
        let (from, to) = self
            .range
            .map_or((0, length), |(from, to)| (at(from), at(to)));
        let grain = self
            .transfers
            .max_bytes()
            .max(self.align.unwrap_or(1))
            .max(1);
        let from = from
            .saturating_add(self.offset)
            .div_ceil(GRAIN)
            .saturating_mul(GRAIN);
        let bytes = to.min(length).saturating_sub(from);
        (from, bytes / grain * grain)
    }
}

/// Where parts of storages may begin: what direct transfers are multiples of.
const GRAIN: u64 = 4096;
