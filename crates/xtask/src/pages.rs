//! Opens published pages in a browser without a screen, as readers will: nothing may overflow, ask anybody, or fail.
//!
//! The browser prints what scripts found that stand beside the page's own and are allowed by their digests, so that the
//! policy of the page stays in force for everything else. The three widths are frames of one page, since a window has a
//! least width. Pictures are kept among the build products for a person to look at.

mod axe;
mod made;

use crate::process::{command, output, succeed, succeeds, target_dir};
use anyhow::{Context, ensure};
use std::fs;
use std::path::{Path, PathBuf};

/// The programs that a browser may be called.
const BROWSERS: [&str; 2] = ["chromium", "google-chrome"];
/// The command that installs one.
pub const INSTALL: &str = "apt install chromium";

/// Widths that readers have: a phone, a tablet, a desk.
const WIDTHS: [u32; 3] = [360, 768, 1280];

/// How a page may look.
const LOOKS: [(&str, &str); 4] = [
    ("en", "light"),
    ("en", "dark"),
    ("ja", "light"),
    ("ja", "dark"),
];

/// The height of a picture in CSS pixels.
const TALL: u32 = 2600;

/// The most sheets of paper of a comparison of two `quick` runs.
const SHEETS_MAX: usize = 6;

/// What sides of comparisons are made of.
const COMPARED: &[&str] = &["quick", "--passes", "1"];

/// These sides, and how many times as fast as what was measured.
const SIDES: [(&str, f64); 3] = [("server-a", 1.0), ("server-b", 1.2), ("server-c", 0.9)];

/// A run of everything that has a part of its own on a page, once: what it looks like takes no six rounds.
const EVERYTHING: &[&str] = &[
    "os.context",
    "memory.levels-small",
    "memory.loaded-100@all",
    "memory.loaded-100@1",
    "storage.randrw-4k-qd32",
    "storage.fsync-4k",
    "storage-load",
    "cpu.prime@1",
    "familiar.yabs-4k",
    "familiar.etcd",
    "--set",
    "familiar.*.runtime=1s",
    "--passes",
    "1",
];

/// A series that is longer than its chart is wide.
const SOAK: &[&str] = &["soak", "os.pipe", "--for", "12s", "--window", "20ms"];

/// What both sides are rented for.
const OFFERS: &str = include_str!("pages/offers.toml");

/// What a page is asked. It stands in the page, and tells the page around it what it found.
const PROBE: &str = include_str!("pages/probe.js");

/// The browser that is here.
pub fn browser(root: &Path) -> Option<&'static str> {
    let mut browsers = BROWSERS.into_iter();
    browsers.find(|browser| succeeds(command(root, browser).arg("--version")))
}

/// Where pages are looked at, and with what.
struct Desk<'a> {
    root: &'a Path,
    browser: &'a str,
    dir: PathBuf,
    axe: Option<String>,
}

/// Measures, publishes, and looks at what came of it. Says what was left out.
pub(crate) fn check(root: &Path, browser: &str) -> anyhow::Result<Option<String>> {
    let dir = target_dir(root).join("report-shots");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).with_context(|| format!("make `{}`", dir.display()))?;
    let (axe, left_out) = match axe::text(root) {
        Ok(text) => (Some(text), None),
        Err(why) => (None, Some(why)),
    };
    let desk = Desk {
        root,
        browser,
        dir,
        axe,
    };
    desk.measure()?;
    let offers = desk.text("offers.toml")?;
    let reports: [(&str, &[&str]); 5] = [
        ("compared", &["server-a", "server-b"]),
        (
            "ranked",
            &[
                "server-a",
                "server-b",
                "server-c",
                "--offers",
                offers.as_str(),
            ],
        ),
        ("one", &["server-a"]),
        ("everything", &["everything"]),
        ("soak", &["soak"]),
    ];
    for (name, runs) in reports {
        let file = desk.text(&format!("{name}.html"))?;
        succeed(
            desk.kurabe(&["report"])
                .args(runs)
                .args(["-o", file.as_str()]),
        )?;
        desk.ask(name)?;
        desk.take_pictures(name)?;
    }
    desk.print("compared.html")?;
    Ok(left_out)
}

/// The browser, without a screen, a network, and a sandbox, which root cannot have.
pub fn headless(root: &Path, browser: &str) -> std::process::Command {
    let mut command = command(root, browser);
    command.args([
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        "--disable-background-networking",
        "--log-level=3",
    ]);
    command.arg("--host-resolver-rules=MAP * ~NOTFOUND");
    command
}

/// A file's address.
pub fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

impl Desk<'_> {
    fn text(&self, name: &str) -> anyhow::Result<String> {
        let path = self.dir.join(name);
        Ok(path.to_str().context("a path that is no text")?.to_owned())
    }

    fn kurabe(&self, arguments: &[&str]) -> std::process::Command {
        let run = ["run", "--locked", "-q", "-p", "kurabe", "--"];
        let mut kurabe = crate::process::cargo(self.root, &run);
        kurabe
            .args(arguments)
            .env("KURABE_STORE", self.dir.join("runs.db"));
        kurabe
    }

    /// Both sides, each of an offer of its own, and everything.
    fn measure(&self) -> anyhow::Result<()> {
        let place = self.text("")?;
        self.write("offers.toml", OFFERS)?;
        let offers = self.text("offers.toml")?;
        for (label, what) in [("once", COMPARED), ("everything", EVERYTHING)] {
            let mut run = self.kurabe(&["run", "--dir", &place, "--label", label]);
            run.args(["--format", "short", "--offer", label, "--offers", &offers]);
            // How it ended is no matter here: a busy machine cannot do all of it.
            let _ = run.args(what).status();
        }
        let once = output(&mut self.kurabe(&["export", "once"]))?;
        let once = store::export::read(&once)?;
        for (machine, times) in SIDES {
            let run = store::export::write(&made::run(&once, machine, times))?;
            let file = self.write(&format!("{machine}.json"), &run)?;
            succeed(self.kurabe(&["import"]).arg(file))?;
        }
        let soak = self
            .kurabe(SOAK)
            .args(["--label", "soak", "--format", "short"])
            .status();
        soak.context("start a soak")?;
        Ok(())
    }

    fn read(&self, name: &str) -> anyhow::Result<String> {
        let path = self.dir.join(name);
        fs::read_to_string(&path).with_context(|| format!("read `{}`", path.display()))
    }

    fn write(&self, name: &str, text: &str) -> anyhow::Result<PathBuf> {
        let path = self.dir.join(name);
        fs::write(&path, text).with_context(|| format!("write `{}`", path.display()))?;
        Ok(path)
    }

    fn headless(&self) -> std::process::Command {
        let mut command = headless(self.root, self.browser);
        command.arg("--virtual-time-budget=20000");
        command
    }

    /// Opens a page in every width with these scripts in it, and returns what they found.
    fn found(&self, name: &str, scripts: &[&str], widths: &[u32]) -> anyhow::Result<Vec<String>> {
        let digests = scripts.iter().map(|script| {
            let digest = report::render::html::digest(script);
            format!("'{digest}' ")
        });
        let allowed = format!("script-src {}", digests.collect::<String>());
        let added = scripts.iter();
        let added = added.map(|script| format!("<script>{script}</script>"));
        let added = added.collect::<String>() + "</body>";
        let page = self.read(&format!("{name}.html"))?;
        let page = page.replacen("script-src ", &allowed, 1);
        let probed = self.write(
            &format!("{name}-probed.html"),
            &page.replacen("</body>", &added, 1),
        )?;
        let frames = widths.iter().map(|width| {
            let url = url(&probed);
            format!("<iframe width={width} height=900 src='{url}'></iframe>")
        });
        let listen = "onmessage=function(e){var p=document.createElement('pre');p.textContent='FOUND '+e.data;\
                      document.body.append(p)}";
        let around = self.write(
            &format!("{name}-around.html"),
            &format!(
                "<!DOCTYPE html><meta charset=utf-8><script>{listen}</script>{}",
                frames.collect::<String>()
            ),
        )?;
        let found = output(self.headless().args(["--dump-dom", &url(&around)]))?;
        let found = found.split("<pre>FOUND ").skip(1);
        let found: Vec<String> = found
            .filter_map(|one| Some(one.split_once("</pre>")?.0.to_owned()))
            .collect();
        let (answers, asked) = (found.len(), widths.len());
        ensure!(answers == asked, "{name}: {answers} of {asked} answered");
        Ok(found)
    }

    /// Whether a page is in order in every width, and for everybody.
    fn ask(&self, name: &str) -> anyhow::Result<()> {
        let mut found = self.found(name, &[PROBE], &WIDTHS)?;
        if let Some(axe) = &self.axe {
            found.extend(self.found(name, &[axe, axe::PROBE], &WIDTHS[2..])?);
        }
        let wrong: Vec<&String> = found
            .iter()
            .filter(|one| !one.ends_with(": fine"))
            .collect();
        ensure!(wrong.is_empty(), "{name}: {wrong:#?}");
        say!("{name}: {}", found.join("; "));
        Ok(())
    }

    /// A picture for each width, with both languages and themes beside one another.
    fn take_pictures(&self, name: &str) -> anyhow::Result<()> {
        let page = self.read(&format!("{name}.html"))?;
        let mut shown = Vec::new();
        for (lang, theme) in LOOKS {
            let chosen = |id: &str| format!("id=\"{id}\"");
            let mut page = page.replace(" checked", "");
            for id in [format!("lang-{lang}"), format!("theme-{theme}")] {
                page = page.replace(&chosen(&id), &(chosen(&id) + " checked"));
            }
            shown.push(self.write(&format!("{name}-{lang}-{theme}.html"), &page)?);
        }
        for width in WIDTHS {
            let frames = shown.iter().map(|page| {
                let url = url(page);
                format!("<iframe width={width} height={TALL} src='{url}'></iframe>")
            });
            let style = "<style>*{margin:0;border:0}body{white-space:nowrap;font-size:0}</style>";
            let around = self.write(
                &format!("{name}-around.html"),
                &(style.to_owned() + &frames.collect::<String>()),
            )?;
            let picture = self.dir.join(format!("{name}-{width}.png"));
            let mut shot = self.headless();
            shot.arg(format!("--window-size={},{TALL}", 4 * width));
            shot.arg(format!("--screenshot={}", picture.display()))
                .arg(url(&around));
            ensure!(
                succeeds(&mut shot) && picture.exists(),
                "{name}: no picture of {width} px"
            );
        }
        Ok(())
    }

    /// Prints a page and counts its sheets.
    fn print(&self, name: &str) -> anyhow::Result<()> {
        let page = self.dir.join(name);
        let paper = page.with_extension("pdf");
        let to = format!("--print-to-pdf={}", paper.display());
        let mut print = self.headless();
        ensure!(
            succeeds(print.args(["--no-pdf-header-footer", &to, &url(&page)])),
            "print `{}`",
            page.display()
        );
        let paper = fs::read(&paper).with_context(|| format!("read `{}`", paper.display()))?;
        let is_sheet = |at: &[u8]| at.starts_with(b"/Type /Page") && at[11] != b's';
        let sheets = paper.windows(12).filter(|at| is_sheet(at)).count();
        ensure!(
            (1..=SHEETS_MAX).contains(&sheets),
            "a comparison takes {sheets} sheets, and {SHEETS_MAX} at most"
        );
        say!("{name}: {sheets} sheets of A4");
        Ok(())
    }
}
