//! Workloads on sets of files: what a run makes of them, in the nouns of the engine that does it.

use super::definitions::{Definition, Definitions};
use super::error::Error;
use super::raw::{OpenFlags, named, shares};
use super::runs::{Rate, Standing, Times};
use super::transfers::{files, select, transfers};
use super::value::{Value, percent, size, whole};
use super::words::Kind;
use model::fileset::{
    Before, Blocks, FileIo, FileOperation, FileSelect, FileSet, FileSizes, FileSpread, FileTask,
    FileWork, Format, StopAfter,
};
use model::job::SyncOn;
use model::num::{approx, count, round_to_u64};
use model::units::{Bytes, Nanos};
use std::fmt::Write as _;

/// What a run does on file sets. Anchors are as they were written.
pub(super) fn work(
    (rd, standing): (&Definition, &Standing),
    (rate, times): (Rate, Times),
    definitions: &Definitions,
) -> Result<FileWork, Error> {
    let fwds = match rd.get("fwd") {
        Some(setting) => named(&setting.value, Kind::Fwd, definitions, rd)?,
        None => Vec::new(),
    };
    let mut work = FileWork {
        elapsed: Nanos::from_secs(times.counted().min(LONGEST_S)),
        warmup: Nanos::from_secs(times.before().min(LONGEST_S)),
        interval: Nanos::from_secs(times.interval),
        format: format(rd, standing, definitions),
        ..FileWork::default()
    };
    let shares = shares(&fwds, Rate::Fixed(1), rd)?;
    for (fwd, share) in fwds.iter().zip(shares) {
        let fsds = fwd
            .get("fsd")
            .ok_or_else(|| fwd.error("it names no file set\nhint: `fsd=fsd*`"))?;
        let fsds = named(&fsds.value, Kind::Fsd, definitions, fwd)?;
        let operations = operations(fwd, standing);
        let each = share / (count(fsds.len()) * count(operations.len()));
        for fsd in fsds {
            let set = set_of(fsd, standing, &mut work.sets)?;
            for operation in &operations {
                let skewed = fwd.get("skew").is_some();
                let task = FileTask {
                    set,
                    rate: match rate {
                        Rate::Fixed(rate) => Some(approx(rate) * each),
                        Rate::Max | Rate::OfMax { .. } => None,
                    },
                    skew: (skewed && rate == Rate::Max).then_some(each * 100.0),
                    ..task((rd, fwd, fsd), standing, (*operation, operations.len()))
                };
                work.tasks.push(task);
            }
        }
    }
    if only_makes(rd) {
        work.tasks.clear();
    }
    let checked = FileWork {
        sets: work.sets.iter().map(anchored).collect(),
        ..work.clone()
    };
    checked.check().map_err(|what| rd.error(what))?;
    Ok(work)
}

/// The longest run, in seconds: nine years, because people write `elapsed=600000000` for ever.
const LONGEST_S: u64 = 9 * 365 * 24 * 3600;

/// The same set at a place that can be checked: anchors are made absolute by whoever knows where he is.
fn anchored(set: &FileSet) -> FileSet {
    let anchor = std::path::Path::new("/").join(&set.anchor);
    FileSet {
        anchor,
        ..set.clone()
    }
}

fn word<'d>(one: &'d Definition, name: &str) -> Option<&'d str> {
    one.get(name)?.value.word()
}

/// A number that a loop or the definition says.
fn number(one: &Definition, standing: &Standing, name: &str, usual: u64) -> u64 {
    let looped = standing.of(&format!("for{name}"));
    looped
        .or_else(|| word(one, name))
        .and_then(whole)
        .unwrap_or(usual)
}

/// The place of a set among those of the run, where it comes to stand.
fn set_of(fsd: &Definition, standing: &Standing, sets: &mut Vec<FileSet>) -> Result<u32, Error> {
    let known = sets.iter().position(|set| set.name == fsd.name);
    let at = known.unwrap_or(sets.len());
    if known.is_none() {
        sets.push(set(fsd, standing)?);
    }
    u32::try_from(at).map_err(|_| fsd.error("there are too many file sets"))
}

fn set(fsd: &Definition, standing: &Standing) -> Result<FileSet, Error> {
    let anchor = word(fsd, "anchor").ok_or_else(|| fsd.error("it has no `anchor`"))?;
    let sizes = match standing.of("forsizes") {
        Some(bytes) => files(&Value::One(bytes.to_owned())),
        None => fsd.get("sizes").and_then(|setting| files(&setting.value)),
    };
    let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
    let bytes = |of_loop: &str, name: &str| {
        let text = standing.of(of_loop).or_else(|| word(fsd, name));
        text.and_then(size).map(Bytes)
    };
    Ok(FileSet {
        name: fsd.name.clone(),
        anchor: anchor.into(),
        depth: small(number(fsd, standing, "depth", 1)),
        width: small(number(fsd, standing, "width", 1)),
        files: number(fsd, standing, "files", 10),
        sizes: sizes.unwrap_or_else(|| FileSizes::Split(vec![(4096, 100.0)])),
        spread: match word(fsd, "distribution") {
            Some("all") => FileSpread::All,
            _ => FileSpread::Bottom,
        },
        total: bytes("fortotal", "totalsize"),
        working_set: bytes("forwss", "workingsetsize"),
    })
}

fn operations(fwd: &Definition, standing: &Standing) -> Vec<FileOperation> {
    let of_word = |word: &str| FileOperation::from_word(&word.to_ascii_lowercase());
    if let Some(operation) = standing.of("foroperations").and_then(of_word) {
        return vec![operation];
    }
    let said = fwd
        .get("operation")
        .and_then(|setting| setting.value.words());
    let said: Vec<FileOperation> = said
        .unwrap_or_default()
        .into_iter()
        .filter_map(of_word)
        .collect();
    if said.is_empty() {
        vec![FileOperation::Read]
    } else {
        said
    }
}

fn task(
    (rd, fwd, fsd): (&Definition, &Definition, &Definition),
    standing: &Standing,
    (operation, operations): (FileOperation, usize),
) -> FileTask {
    let io = fwd
        .get("fileio")
        .and_then(|setting| setting.value.words())
        .unwrap_or_default();
    let does = |any: &[&str]| {
        io.iter()
            .any(|word| any.contains(&word.to_ascii_lowercase().as_str()))
    };
    let threads = number(fwd, standing, "threads", 1);
    let of_each = (threads / (operations as u64).max(1)).max(1);
    let transfer = match standing.of("forxfersize") {
        Some(bytes) => transfers(&Value::One(bytes.to_owned())),
        None => fwd
            .get("xfersize")
            .and_then(|setting| transfers(&setting.value)),
    };
    let reads = standing
        .of("forrdpct")
        .or_else(|| word(fwd, "rdpct"))
        .and_then(percent);
    let is_mixed = matches!(operation, FileOperation::Read | FileOperation::Write);
    let reads = reads.filter(|_| is_mixed);
    let flags = [rd, fwd, fsd]
        .into_iter()
        .find_map(|one| one.get("openflags"));
    let flags = OpenFlags::of(flags.map(|setting| &setting.value));
    let name = if operations > 1 {
        format!("{}-{}-{}", fwd.name, fsd.name, operation.word())
    } else {
        format!("{}-{}", fwd.name, fsd.name)
    };
    let select = fwd
        .get("fileselect")
        .and_then(|setting| select(&setting.value));
    FileTask {
        name,
        operation,
        read_percent: reads.and_then(|share| u32::try_from(round_to_u64(share)).ok()),
        io: if does(&["random"]) {
            FileIo::Random
        } else if does(&["sequentialnz", "seqnz"]) {
            FileIo::SequentialInside
        } else {
            FileIo::Sequential
        },
        shares_files: is_mixed && (does(&["shared"]) || word(fsd, "shared") == Some("yes")),
        deletes: is_mixed && does(&["delete"]),
        select: select.unwrap_or(FileSelect::Random),
        transfer: transfer.unwrap_or(Blocks::Fixed(4096)),
        stop_after: word(fwd, "stopafter").and_then(stop_after),
        threads: u32::try_from(of_each).unwrap_or(u32::MAX),
        direct: flags.direct,
        sync: flags.sync.unwrap_or(SyncOn::None),
        syncs_on_close: flags.syncs_on_close,
        arrivals: super::runs::arrivals(rd),
        ..FileTask::default()
    }
}

fn stop_after(text: &str) -> Option<StopAfter> {
    if text.ends_with('%') {
        percent(text).map(StopAfter::Percent)
    } else {
        whole(text).map(StopAfter::Operations)
    }
}

/// The words of `format` of a run.
fn of_format(rd: &Definition) -> Vec<&str> {
    let value = rd.get("format").map(|setting| &setting.value);
    value.and_then(Value::words).unwrap_or_default()
}

/// Whether a run makes or removes file sets, and does nothing with them.
fn only_makes(rd: &Definition) -> bool {
    let words = of_format(rd);
    words.contains(&"only") || words.contains(&"clean")
}

fn format(rd: &Definition, standing: &Standing, definitions: &Definitions) -> Format {
    let words = of_format(rd);
    let has = |word: &str| words.contains(&word);
    let of = |name: &str| {
        let mut settings = definitions.format.iter();
        settings.rfind(|setting| setting.word.name == name)
    };
    let usual = Format::default();
    let threads = of("threads").and_then(|setting| whole(setting.value.word()?));
    let transfer = of("xfersize").and_then(|setting| transfers(&setting.value));
    let mut made_for = rd.name.clone();
    if !has("once") {
        for (word, value) in &standing.loops {
            let _ = write!(made_for, " {word}={value}");
        }
    }
    Format {
        before: if has("clean") {
            Before::Nothing
        } else if has("restart") || has("complete") {
            Before::Missing
        } else if words.is_empty() || has("no") {
            Before::Left
        } else {
            Before::Anew
        },
        directories_only: has("directories"),
        threads: threads
            .and_then(|n| u32::try_from(n).ok())
            .unwrap_or(usual.threads),
        transfer: transfer.map_or(usual.transfer, |blocks| blocks.max_bytes()),
        made_for,
    }
}
