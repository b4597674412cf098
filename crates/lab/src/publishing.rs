//! How long it takes to import a thousand files, to rank and to compare a hundred runs, and to publish twenty runs or a
//! day's soak; how large such a page is, and how long a browser takes to open it.
//!
//! `cargo lab publishing` measures the static release binary (`cargo xtask dist` first), and keeps what it found with
//! `--out DIR`. What is published is made out of real rounds and real windows, so that its texts are as long as real
//! ones.

use crate::truth::machine::Machine;
use crate::{asked, comparison};
use anyhow::{Context, bail, ensure};
use clap::Parser;
use model::num::approx;
use serde_json::Value;
use std::fmt::Write as _;
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
const COMPARE_MS: f64 = 1000.0;
const REPORT_MS: f64 = 2000.0;
const OPEN_MS: f64 = 1000.0;

/// The most that a page may have.
const BYTES_MAX: u64 = 1_500_000;

/// The name of the page that is kept.
const PAGE: &str = "README.md";

/// How long importing, ranking, comparing and publishing take.
#[derive(Debug, Parser)]
#[command(name = "cargo lab publishing", no_binary_name = true)]
struct Options {
    /// Measure this binary [default: target/dist/kurabe]
    #[arg(value_name = "FILE")]
    binary: Option<PathBuf>,
    /// Keep what was found in this directory [default: it is printed only]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

/// What was measured of something, and its limit.
struct Taken {
    what: String,
    /// The command line, with FILE, RUN or PAGE for names.
    by: String,
    /// Each time, in order, in milliseconds.
    all_ms: Vec<f64>,
    limit_ms: f64,
    /// The page that was made, where one was.
    page: Option<PathBuf>,
}

/// The program that is measured, and where.
struct Bench {
    binary: PathBuf,
    dir: PathBuf,
}

/// Makes what is published, does it again and again, prints the medians, and keeps them where that is asked for.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> anyhow::Result<()> {
    let Some(options) = asked::options::<Options>(arguments, "")? else {
        return Ok(());
    };
    let bench = Bench {
        binary: asked::binary(root, options.binary.as_deref())?,
        dir: target_dir(root).join("publishing"),
    };
    let _ = fs::remove_dir_all(&bench.dir);
    fs::create_dir_all(&bench.dir).with_context(|| format!("create `{}`", bench.dir.display()))?;
    let machine = Machine::ask(&bench.dir, &bench.binary, None)?;
    let mut facts = machine.facts();
    facts.push(format!("date: {}", machine.date()));
    let mut all = vec![bench.import(root)?];
    all.extend(bench.of_many()?);
    all.push(bench.soak()?);
    if let Some(browser) = xtask::pages::browser(root) {
        let version = output(command(root, browser).arg("--version"))?;
        facts.push(format!("browser: {}", version.trim()));
        all.extend(bench.opened(browser, &all)?);
    } else {
        let install = xtask::pages::INSTALL;
        say!("no browser: pages are not opened; `{install}` installs one");
    }
    let page = page(&facts, &all)?;
    say!("{page}");
    if let Some(out) = &options.out {
        fs::create_dir_all(out).with_context(|| format!("create `{}`", out.display()))?;
        let path = out.join(PAGE);
        fs::write(&path, page).with_context(|| format!("write `{}`", path.display()))?;
    }
    let over = all.iter().filter_map(|taken| taken.is_over().transpose());
    let over = over.collect::<anyhow::Result<Vec<&str>>>()?;
    if over.is_empty() {
        return Ok(());
    }
    bail!(
        "over the limit: {}\nhint: on a busy machine times say nothing; try again when it is quiet",
        over.join("; ")
    )
}

/// What was found, with the machine and how it was done.
fn page(facts: &[String], all: &[Taken]) -> anyhow::Result<String> {
    let mut page = "# Importing, ranking, comparing and publishing\n\n".to_owned();
    for fact in facts {
        // Writing to a string cannot fail.
        let _ = writeln!(page, "- {fact}");
    }
    let _ = write!(
        page,
        "\nMade by `cargo lab publishing`: the wall time of whole commands, {REPETITIONS} times after one that is not \
         counted. Runs are made out of one real round, the soak out of ten real seconds.\n\n\
         | what | median | least .. most | limit | bytes | command |\n|---|---|---|---|---|---|\n"
    );
    for taken in all {
        let bytes = taken.bytes()?;
        let bytes = bytes.map_or_else(|| "-".to_owned(), |bytes| bytes.to_string());
        let least = taken.all_ms.iter().copied().fold(f64::INFINITY, f64::min);
        let most = taken.all_ms.iter().copied().fold(0.0, f64::max);
        let median = taken.median_ms()?;
        let Taken {
            what, by, limit_ms, ..
        } = taken;
        let _ = writeln!(
            page,
            "| {what} | {median:.0} ms | {least:.0} .. {most:.0} | {limit_ms} ms | {bytes} | `{by}` |"
        );
    }
    Ok(page)
}

impl Taken {
    fn median_ms(&self) -> anyhow::Result<f64> {
        stats::quantile::median(&self.all_ms).context("nothing was measured")
    }

    /// The size of the page that was made.
    fn bytes(&self) -> anyhow::Result<Option<u64>> {
        let size = |page: &PathBuf| {
            let file = fs::metadata(page);
            let file = file.with_context(|| format!("look at `{}`", page.display()))?;
            Ok(file.len())
        };
        self.page.as_ref().map(size).transpose()
    }

    /// What it is called, where it took too long or became too large.
    fn is_over(&self) -> anyhow::Result<Option<&str>> {
        let is_large = self.bytes()?.is_some_and(|bytes| bytes > BYTES_MAX);
        let is_over = self.median_ms()? > self.limit_ms || is_large;
        Ok(is_over.then_some(self.what.as_str()))
    }
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
        let all_ms = each_ms(|| {
            for end in ["", "-wal", "-shm"] {
                let _ = fs::remove_file(self.dir.join(format!("imported.db{end}")));
            }
            self.kurabe("imported.db", &words)
        })?;
        Ok(Taken {
            what: format!("import of {FILES} tables"),
            by: "kurabe import FILE...".to_owned(),
            all_ms,
            limit_ms: IMPORT_MS,
            page: None,
        })
    }

    /// A hundred runs in an order and compared, and twenty of them on a page.
    fn of_many(&self) -> anyhow::Result<Vec<Taken>> {
        let scene = &comparison::OF_MANY;
        scene.prepare(&self.binary, &self.dir)?;
        let labels: Vec<String> = (0..scene.runs).map(comparison::label).collect();
        let labels: Vec<&str> = labels.iter().map(String::as_str).collect();
        let metric = "f0.test-0@1:ops_per_s";
        let rank = [&["rank", metric], &labels[..]].concat();
        let mut all = vec![Taken {
            what: format!("rank of {} runs", labels.len()),
            by: format!("kurabe rank {metric} RUN..."),
            all_ms: each_ms(|| self.kurabe("many.db", &rank))?,
            limit_ms: RANK_MS,
            page: None,
        }];
        let scenes = [
            (scene, "kurabe compare RUN,RUN... RUN,RUN..."),
            (&comparison::EACH_OF_MANY, "kurabe compare RUN RUN..."),
        ];
        for (scene, by) in scenes {
            let sides = scene.labels();
            let words = ["compare"].into_iter();
            let words: Vec<&str> = words.chain(sides.iter().map(String::as_str)).collect();
            all.push(Taken {
                what: format!("comparison of {}", scene.words()),
                by: by.to_owned(),
                all_ms: each_ms(|| self.kurabe("many.db", &words))?,
                limit_ms: COMPARE_MS,
                page: None,
            });
        }
        all.push(self.published("many.db", "page of 20 runs", &labels[..20])?);
        Ok(all)
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
        let all_ms = each_ms(|| {
            let _ = fs::remove_file(&page);
            self.kurabe(store, &words)
        })?;
        Ok(Taken {
            what: what.to_owned(),
            by: "kurabe report -o PAGE RUN...".to_owned(),
            all_ms,
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
                let longer = each(|| {
                    let start = open(&empty)?;
                    Ok(open(page)? - start)
                })?;
                Ok(Taken {
                    what: format!("opening the {}, beyond an empty page", taken.what),
                    by: format!("{browser} --headless=new --screenshot=FILE PAGE"),
                    all_ms: longer,
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

/// The wall times of a command that must succeed.
fn each_ms(mut made: impl FnMut() -> std::process::Command) -> anyhow::Result<Vec<f64>> {
    each(|| ms(&mut made()))
}

/// What is measured several times, after one time that fills the page cache.
fn each(mut measure: impl FnMut() -> anyhow::Result<f64>) -> anyhow::Result<Vec<f64>> {
    measure()?;
    (0..REPETITIONS).map(|_| measure()).collect()
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
    fn the_page_has_medians_and_names_what_is_over_a_limit() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a.html");
        fs::write(&file, "four").unwrap();
        let taken = |all_ms: [f64; 3], page| Taken {
            what: "rank".to_owned(),
            by: "kurabe rank RUN...".to_owned(),
            all_ms: all_ms.to_vec(),
            limit_ms: 10.0,
            page,
        };
        let all = [
            taken([9.0, 99.0, 8.0], Some(file)),
            taken([11.0, 1.0, 12.0], None),
        ];
        let page = page(&["CPUs: 2".to_owned()], &all).unwrap();
        assert!(page.contains("\n- CPUs: 2\n"), "{page}");
        for row in [
            "| rank | 9 ms | 8 .. 99 | 10 ms | 4 | `kurabe rank RUN...` |\n",
            "| rank | 11 ms | 1 .. 12 | 10 ms | - | `kurabe rank RUN...` |\n",
        ] {
            assert!(page.contains(row), "{page}");
        }
        let over = all.iter().map(|one| one.is_over().unwrap());
        assert_eq!(over.collect::<Vec<_>>(), [None, Some("rank")]);
        let lost = taken([1.0; 3], Some(dir.path().join("lost")));
        assert!(lost.is_over().unwrap_err().to_string().contains("lost"));
    }

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
