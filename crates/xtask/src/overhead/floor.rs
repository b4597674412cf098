//! The floor below both programs: a bare ring that does the same operations on the same file, and nothing else.
//!
//! A part of what an operation costs is the way to the disk in the kernel, which no program can go around. How much
//! better than fio a program can be is therefore not for it to choose: this loop, on a ring with the best switches the
//! kernel has, hands over what is free and waits for a whole group in one call, keeps no latencies, walks a table of
//! offsets and writes the same data again. What it takes over fio is the ceiling of what can be reached beside fio on
//! the machine at hand. It runs as a process of its own and is measured as the other two are.

use super::side::Side;
use anyhow::{Context, ensure};
use clap::Parser;
use model::num::approx;
use model::rng::Rng;
use serde_json::json;
use std::path::{Path, PathBuf};
use sys::io::file::{Access, SyncMode, open};
use sys::io::{Kind, Op, Setup, Uring, UringOptions};

/// The hidden word behind `overhead`.
pub(super) const WORD: &str = "__floor";

/// Bytes of an operation.
const BLOCK: u32 = 4096;

/// The words of fio's that it knows; all others are not its business.
#[derive(Clone, Debug, Parser)]
#[command(no_binary_name = true)]
struct Options {
    #[arg(long)]
    filename: PathBuf,
    #[arg(long)]
    rw: String,
    #[arg(long)]
    iodepth: u32,
    #[arg(long)]
    together: u32,
    #[arg(long, default_value_t = 0)]
    runtime: u64,
    #[arg(long = "number_ios")]
    number_ios: Option<u64>,
    #[arg(long = "time_based")]
    time_based: bool,
    #[arg(long)]
    output_format: Option<String>,
}

/// The floor of a comparison on the file; `together` operations are waited for at a time.
pub(super) fn side(words: &[String], together: u32) -> anyhow::Result<Side> {
    let known = ["--filename=", "--rw=", "--iodepth="];
    let is_known = |word: &&String| known.iter().any(|known| word.starts_with(known));
    Ok(Side {
        program: std::env::current_exe().context("find this program")?,
        environment: Vec::new(),
        before: ["overhead", WORD].map(str::to_owned).to_vec(),
        words: words
            .iter()
            .filter(is_known)
            .cloned()
            .chain([format!("--together={together}")])
            .collect(),
    })
}

/// Does what `arguments` say and reports as fio does.
pub(super) fn run(arguments: &[&str]) -> anyhow::Result<()> {
    let options = Options::try_parse_from(arguments)?;
    let name = match options.rw.as_str() {
        "randread" => "read",
        "randwrite" => "write",
        other => anyhow::bail!("the floor knows `randread` and `randwrite`, and not `{other}`"),
    };
    let (ios, nanos) = work(&options, name == "write")?;
    let iops = approx(ios) * 1e9 / approx(nanos.max(1));
    say!(
        "{}",
        json!({"jobs": [{name: {"total_ios": ios, "iops": iops}}]})
    );
    Ok(())
}

/// Operations and nanoseconds.
fn work(options: &Options, writes: bool) -> anyhow::Result<(u64, u64)> {
    let path = &options.filename;
    let (mut ring, bytes) = ring(path, writes, options.iodepth)?;
    let offsets = offsets(bytes);
    ensure!(!offsets.is_empty(), "`{}` has no block", path.display());
    let op = Op {
        kind: if writes { Kind::Write } else { Kind::Read },
        file: 0,
        offset: 0,
        len: BLOCK,
        at: 0,
    };
    let start = sys::clock::monotonic();
    let ios = ring
        .repeat(
            op,
            &offsets,
            options.together,
            start + options.runtime * 1_000_000_000,
        )
        .with_context(|| format!("repeat operations on `{}`", path.display()))?;
    Ok((ios, sys::clock::monotonic() - start))
}

/// A ring on the file, and the file's length. Buffers hold random data.
fn ring(path: &Path, writes: bool, depth: u32) -> anyhow::Result<(Uring, u64)> {
    use sys::io::Engine as _;
    let access = Access {
        write: writes,
        direct: true,
        sync: SyncMode::None,
    };
    let file = open(path, access).with_context(|| format!("open `{}`", path.display()))?;
    let bytes = file.metadata()?.len();
    let setup = Setup {
        files: vec![file],
        slots: depth,
        slot_bytes: usize::try_from(BLOCK)?,
    };
    let mut ring = Uring::new(setup, UringOptions::default()).context("make a ring")?;
    let notes = ring.notes();
    ensure!(notes.is_empty(), "no floor: {}", notes.join("; "));
    let mut rng = Rng::new(1);
    for slot in 0..ring.slots() {
        for word in ring.buffer(slot).chunks_mut(8) {
            word.copy_from_slice(&rng.next().to_le_bytes()[..word.len()]);
        }
    }
    Ok((ring, bytes))
}

/// Every whole block of a file, in random order.
fn offsets(bytes: u64) -> Vec<u64> {
    let block = u64::from(BLOCK);
    let mut all: Vec<u64> = (0..bytes / block).map(|number| number * block).collect();
    Rng::new(2).shuffle(&mut all);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_comes_in_an_order_of_its_own() {
        let all = offsets(100 * 4096 + 5);
        let mut ascending = all.clone();
        ascending.sort_unstable();
        assert_ne!(all, ascending);
        let expected: Vec<u64> = (0..100).map(|number| number * 4096).collect();
        assert_eq!(ascending, expected);
        assert!(offsets(4095).is_empty());
    }

    #[test]
    fn it_works_on_the_file_of_the_others_and_does_what_they_do() {
        let words: Vec<String> =
            "--name=t --size=2g --filename=/x/f --rw=randwrite --bs=4k --iodepth=8 --direct=1"
                .split(' ')
                .map(str::to_owned)
                .collect();
        let side = side(&words, 4).unwrap();
        let all: Vec<&str> = side.words.iter().map(String::as_str).collect();
        assert_eq!(
            all,
            [
                "--filename=/x/f",
                "--rw=randwrite",
                "--iodepth=8",
                "--together=4"
            ]
        );
        let later = [
            "--time_based",
            "--runtime=3",
            "--output-format=json",
            "--number_ios=1",
        ];
        let options = Options::try_parse_from(all.into_iter().chain(later)).unwrap();
        assert_eq!(
            (options.iodepth, options.together, options.runtime),
            (8, 4, 3)
        );
    }

    #[test]
    fn a_short_time_does_every_slot_once_and_changes_what_it_writes() {
        let dir = tempfile::tempdir_in(env!("CARGO_MANIFEST_DIR")).unwrap();
        let path = dir.path().join("file");
        std::fs::write(&path, vec![0; 8 * 4096]).unwrap();
        let mut options = Options {
            filename: path.clone(),
            rw: "randwrite".to_owned(),
            iodepth: 8,
            together: 8,
            runtime: 0,
            number_ios: Some(1),
            time_based: false,
            output_format: None,
        };
        assert_eq!(work(&options, true).unwrap().0, 8);
        let content = std::fs::read(&path).unwrap();
        assert!(
            content
                .chunks(4096)
                .all(|block| block.iter().any(|&byte| byte > 0))
        );
        options.filename = dir.path().join("nothing");
        assert!(work(&options, false).is_err());
    }
}
