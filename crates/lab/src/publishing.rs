//! How long it takes to import a thousand files, to rank a hundred runs, and to publish twenty runs or a day's soak;
//! how large such a page is, and how long a browser takes to open it.
//!
//! `cargo lab publishing` measures the static release binary (`cargo xtask dist` first). What is published is made out
//! of real rounds and real windows, so that its texts are as long as real ones.

use crate::{asked, comparison};
use anyhow::{Context, bail, ensure};
use model::num::approx;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use xtask::process::{command, output, shown, succeeds, target_dir};

/// How often each is done; the median counts.
const REPETITIONS: usize = 5;

/// Files that are imported at once.
const FILES: usize = 1000;

/// Windows of the soak: those of a day, of 100 ms each.
const WINDOWS: usize = 864_000;

/// The longest that each may take, in milliseconds.
const IMPORT_MS: f64 = 10_000.0;
const RANK_MS: f64 = 1000.0;
const REPORT_MS: f64 = 2000.0;
const OPEN_MS: f64 = 1000.0;

/// The most that a page may have.
const BYTES_MAX: u64 = 1_500_000;

/// What was measured of something, and its limit.
struct Taken {
    what: String,
    ms: f64,
    limit_ms: f64,
    /// The page that was made, where one was.
    page: Option<PathBuf>,
}

/// The program that is measured, and where.
struct Bench {
    binary: PathBuf,
    dir: PathBuf,
}

/// Makes what is published, does it again and again, and prints the medians.
pub(crate) fn run(root: &Path, binaries: &[&str]) -> anyhow::Result<()> {
    let bench = Bench {
        binary: asked::binary(root, binaries.first().map(Path::new))?,
        dir: target_dir(root).join("publishing"),
    };
    let _ = fs::remove_dir_all(&bench.dir);
    fs::create_dir_all(&bench.dir).with_context(|| format!("create `{}`", bench.dir.display()))?;
    let mut all = vec![bench.import(root)?];
    all.extend(bench.ranked_and_published()?);
    all.push(bench.soak()?);
    if let Some(browser) = xtask::pages::browser(root) {
        all.extend(bench.opened(browser, &all)?);
    } else {
        let install = xtask::pages::INSTALL;
        say!("no browser: pages are not opened; `{install}` installs one");
    }
    say!("medians of {REPETITIONS}\n\n| what | wall | limit | bytes |\n|---|---|---|---|");
    let mut over = Vec::new();
    for taken in &all {
        let size = |page: &PathBuf| fs::metadata(page).map(|file| file.len());
        let bytes = taken.page.as_ref().map(size).transpose()?;
        let bytes_shown = bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        let Taken {
            what, ms, limit_ms, ..
        } = taken;
        say!("| {what} | {ms:.0} ms | {limit_ms} ms | {bytes_shown} |");
        if ms > limit_ms || bytes.is_some_and(|bytes| bytes > BYTES_MAX) {
            over.push(what.as_str());
        }
    }
    if over.is_empty() {
        return Ok(());
    }
    bail!(
        "over the limit: {}\nhint: on a busy machine times say nothing; try again when it is quiet",
        over.join("; ")
    )
}

impl Bench {
    fn kurabe(&self, store: &str, words: &[&str]) -> std::process::Command {
        let mut kurabe = command(&self.dir, &self.binary);
        kurabe.args(words).args(["--store", store]);
        kurabe
    }

    /// Copies of the examples, each with a value of its own, into a store that is new every time.
    fn import(&self, root: &Path) -> anyhow::Result<Taken> {
        let examples = root.join("examples");
        let tables = fs::read_dir(&examples)
            .with_context(|| format!("read `{}`", examples.display()))?
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|end| end == "csv"));
        let tables: Vec<PathBuf> = tables.collect();
        ensure!(!tables.is_empty(), "no tables in `{}`", examples.display());
        let mut files = Vec::with_capacity(FILES);
        for (number, table) in (0..FILES).zip(tables.iter().cycle()) {
            let text =
                fs::read_to_string(table).with_context(|| format!("read `{}`", table.display()))?;
            let name = format!("table-{number}.csv");
            let path = self.dir.join(&name);
            // Empty lines say nothing, and make another file of it.
            fs::write(&path, format!("{text}{}", "\n".repeat(number)))
                .with_context(|| format!("write `{}`", path.display()))?;
            files.push(name);
        }
        let words: Vec<&str> = ["import"]
            .into_iter()
            .chain(files.iter().map(String::as_str))
            .collect();
        let ms = median_ms(|| {
            for end in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(self.dir.join(format!("imported.db{end}")));
            }
            self.kurabe("imported.db", &words)
        })?;
        Ok(Taken {
            what: format!("import of {FILES} tables"),
            ms,
            limit_ms: IMPORT_MS,
            page: None,
        })
    }

    /// A hundred runs in an order, and twenty of them on a page.
    fn ranked_and_published(&self) -> anyhow::Result<[Taken; 2]> {
        let scene = &comparison::OF_MANY;
        scene.prepare(&self.binary, &self.dir)?;
        let labels: Vec<String> = (0..scene.runs).map(comparison::label).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let rank = [&["rank", "f0.test-0@1:ops_per_s"], &labels[..]].concat();
        let ranked = Taken {
            what: format!("rank of {} runs", labels.len()),
            ms: median_ms(|| self.kurabe("many.db", &rank))?,
            limit_ms: RANK_MS,
            page: None,
        };
        Ok([
            ranked,
            self.published("many.db", "page of 20 runs", &labels[..20])?,
        ])
    }

    /// A soak of a day on a page.
    fn soak(&self) -> anyhow::Result<Taken> {
        let what = [
            "soak", "os.pipe", "--for", "10s", "--window", "100ms", "--quiet",
        ];
        ensure!(
            succeeds(&mut self.kurabe("short.db", &what)),
            "measure a soak"
        );
        let export = output(&mut self.kurabe("short.db", &["export"]))?;
        let long = lengthened(&export).context("read the export of a soak")?;
        let path = self.dir.join("long.json");
        fs::write(&path, long).with_context(|| format!("write `{}`", path.display()))?;
        self.published(
            "short.db",
            &format!("page of a soak of {WINDOWS} windows"),
            &["long.json"],
        )
    }

    /// A page of these runs.
    fn published(&self, store: &str, what: &str, runs: &[&str]) -> anyhow::Result<Taken> {
        let name = format!("{}.html", what.replace(' ', "-"));
        let words = [&["report", "-o", &name], runs].concat();
        let page = self.dir.join(&name);
        let ms = median_ms(|| {
            let _ = fs::remove_file(&page);
            self.kurabe(store, &words)
        })?;
        Ok(Taken {
            what: what.to_owned(),
            ms,
            limit_ms: REPORT_MS,
            page: Some(page),
        })
    }

    /// How much longer a browser takes until it has painted each page than an empty one, in turns.
    fn opened(&self, browser: &str, pages: &[Taken]) -> anyhow::Result<Vec<Taken>> {
        let empty = self.dir.join("empty.html");
        fs::write(&empty, "<!DOCTYPE html><title>-</title>")
            .with_context(|| format!("write `{}`", empty.display()))?;
        let picture = self.dir.join("opened.png");
        let open = |page: &Path| {
            let mut open = xtask::pages::headless(&self.dir, browser);
            open.args(["--window-size=1280,800", &xtask::pages::url(page)]);
            open.arg(format!("--screenshot={}", picture.display()));
            ms(&mut open)
        };
        let with_page = pages
            .iter()
            .filter_map(|taken| taken.page.as_ref().map(|page| (taken, page)));
        with_page
            .map(|(taken, page)| {
                let longer = median(|| {
                    let start = open(&empty)?;
                    Ok(open(page)? - start)
                })?;
                Ok(Taken {
                    what: format!("opening the {}, beyond an empty page", taken.what),
                    ms: longer,
                    limit_ms: OPEN_MS,
                    page: None,
                })
            })
            .collect()
    }
}

/// An export of a short soak with as many windows as a long one has: its own ones, again and again.
fn lengthened(export: &str) -> Option<String> {
    let mut export: Value = serde_json::from_str(export).ok()?;
    let rounds = export["run"]["rounds"].as_array_mut()?;
    let of_each = WINDOWS.div_ceil(rounds.len().max(1));
    for round in rounds {
        let windows = round["outcome"]["done"]["windows"].as_array_mut()?;
        *windows = windows.iter().cycle().take(of_each).cloned().collect();
    }
    Some(export.to_string())
}

/// The median wall time of a command that must succeed.
fn median_ms(mut made: impl FnMut() -> std::process::Command) -> anyhow::Result<f64> {
    median(|| ms(&mut made()))
}

/// The median of what is measured several times, after one time that fills the page cache.
fn median(mut measure: impl FnMut() -> anyhow::Result<f64>) -> anyhow::Result<f64> {
    let all = (0..=REPETITIONS).map(|_| measure());
    let all = all.collect::<anyhow::Result<Vec<f64>>>()?;
    stats::quantile::median(&all[1..]).context("nothing was measured")
}

/// The wall time of a command that must succeed, in milliseconds.
fn ms(command: &mut std::process::Command) -> anyhow::Result<f64> {
    let start = sys::clock::monotonic();
    let done = succeeds(command);
    let took = sys::clock::monotonic() - start;
    ensure!(done, "`{}` failed", shown(command));
    Ok(approx(took) / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::export;

    #[test]
    fn a_short_soak_becomes_one_of_a_day() {
        let long: Value = serde_json::from_str(&lengthened(&export()).unwrap()).unwrap();
        let windows = long["run"]["rounds"][0]["outcome"]["done"]["windows"]
            .as_array()
            .unwrap();
        assert_eq!(windows.len(), WINDOWS);
        assert_eq!(windows[..3], [99.0, 101.0, 99.0]);
        assert!(lengthened("{}").is_none());
    }
}
