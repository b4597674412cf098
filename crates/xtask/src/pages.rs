//! Opens published pages in a browser without a screen, as readers will: nothing may overflow, ask anybody, or fail.
//!
//! The browser prints what a script found that stands beside the page's own and is allowed by its digest, so that the
//! policy of the page stays in force for everything else. The three widths are frames of one page, since a window has a
//! least width. Pictures are kept among the build products for a person to look at.

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

/// The most sheets of paper of a comparison of two `quick` runs.
const SHEETS_MAX: usize = 6;

/// What is measured for it, in the shortest time that has every test.
const BUDGET: &str = "60s";

/// What a page is asked. It stands in the page, and tells the page around it what it found.
const PROBE: &str = include_str!("pages/probe.js");

/// The browser that is here.
pub fn browser(root: &Path) -> Option<&'static str> {
    let mut browsers = BROWSERS.into_iter();
    browsers.find(|browser| succeeds(command(root, browser).arg("--version")))
}

/// Measures twice, publishes, and looks at what came of it.
pub(crate) fn check(root: &Path, browser: &str) -> anyhow::Result<()> {
    let dir = target_dir(root).join("report-shots");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).with_context(|| format!("make `{}`", dir.display()))?;
    let kurabe = |arguments: &[&str]| {
        let mut kurabe =
            crate::process::cargo(root, &["run", "--locked", "-q", "-p", "kurabe", "--"]);
        kurabe
            .args(arguments)
            .env("KURABE_STORE", dir.join("runs.db"));
        kurabe
    };
    let place = dir.to_str().context("a path that is no text")?;
    for label in ["server-a", "server-b"] {
        let what = [
            "run", "quick", "--budget", BUDGET, "--dir", place, "--label", label, "--format",
            "short",
        ];
        // How it ended is no matter here: a busy machine cannot do all of it.
        let _ = kurabe(&what).status();
    }
    let reports: [(&str, &[&str]); 2] = [
        ("compared", &["server-a", "server-b"]),
        ("one", &["server-a"]),
    ];
    for (name, runs) in reports {
        let file = dir.join(format!("{name}.html"));
        let made = ["-o", file.to_str().context("a path that is no text")?];
        succeed(kurabe(&["report"]).args(runs).args(made))?;
        look(root, browser, &dir, name)?;
    }
    print(root, browser, &dir.join("compared.html"))
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
    ]);
    command.args([
        "--host-resolver-rules=MAP * ~NOTFOUND",
        "--virtual-time-budget=20000",
    ]);
    command
}

/// A file's address.
pub fn url(path: &Path) -> String {
    format!("file://{}", path.display())
}

/// Opens a page in every width, and takes its pictures.
fn look(root: &Path, browser: &str, dir: &Path, name: &str) -> anyhow::Result<()> {
    let read = |path: &PathBuf| {
        fs::read_to_string(path).with_context(|| format!("read `{}`", path.display()))
    };
    let write = |path: &PathBuf, text: &str| {
        fs::write(path, text).with_context(|| format!("write `{}`", path.display()))
    };
    let page = read(&dir.join(format!("{name}.html")))?;
    let probed = dir.join(format!("{name}-probed.html"));
    let allowed = format!("script-src '{}' ", report::render::html::digest(PROBE));
    let with_probe = page.replacen("script-src ", &allowed, 1);
    write(
        &probed,
        &with_probe.replacen("</body>", &format!("<script>{PROBE}</script></body>"), 1),
    )?;
    let frames = WIDTHS.map(|width| {
        format!(
            "<iframe width={width} height=900 src='{}'></iframe>",
            url(&probed)
        )
    });
    let around = dir.join(format!("{name}-around.html"));
    let listen = "onmessage=function(e){var p=document.createElement('pre');p.textContent='FOUND '+e.data;\
                  document.body.append(p)}";
    write(
        &around,
        &format!(
            "<!DOCTYPE html><meta charset=utf-8><script>{listen}</script>{}",
            frames.concat()
        ),
    )?;
    let found = output(headless(root, browser).args(["--dump-dom", &url(&around)]))?;
    let found: Vec<&str> = found.split("<pre>FOUND ").skip(1).collect();
    let found: Vec<&str> = found
        .iter()
        .filter_map(|one| one.split("</pre>").next())
        .collect();
    ensure!(
        found.len() == WIDTHS.len(),
        "{name}: {} of {} widths answered",
        found.len(),
        WIDTHS.len()
    );
    let wrong: Vec<&&str> = found
        .iter()
        .filter(|one| !one.ends_with("px: fine"))
        .collect();
    ensure!(wrong.is_empty(), "{name}: {wrong:?}");
    say!("{name}: {}", found.join("; "));
    for (lang, theme) in [
        ("en", "light"),
        ("en", "dark"),
        ("ja", "light"),
        ("ja", "dark"),
    ] {
        let chosen = |id: &str| format!("id=\"{id}\"");
        let mut page = page.replace(" checked", "");
        for id in [format!("lang-{lang}"), format!("theme-{theme}")] {
            page = page.replace(&chosen(&id), &(chosen(&id) + " checked"));
        }
        let shown = dir.join(format!("{name}-{lang}-{theme}.html"));
        write(&shown, &page)?;
        for width in [WIDTHS[0], WIDTHS[2]] {
            let frame = format!(
                "<style>*{{margin:0;border:0}}</style><iframe width={width} height=2400 src='{}'></iframe>",
                url(&shown)
            );
            write(&around, &frame)?;
            let picture = dir.join(format!("{name}-{lang}-{theme}-{width}.png"));
            let mut shot = headless(root, browser);
            shot.arg(format!("--window-size={},2400", width.max(500)));
            shot.arg(format!("--screenshot={}", picture.display()))
                .arg(url(&around));
            ensure!(
                succeeds(&mut shot) && picture.exists(),
                "{name}: no picture of {width} px"
            );
        }
    }
    Ok(())
}

/// Prints a page and counts its sheets.
fn print(root: &Path, browser: &str, page: &Path) -> anyhow::Result<()> {
    let paper = page.with_extension("pdf");
    let to = format!("--print-to-pdf={}", paper.display());
    let mut print = headless(root, browser);
    ensure!(
        succeeds(print.args(["--no-pdf-header-footer", &to, &url(page)])),
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
    say!("compared: {sheets} sheets of A4");
    Ok(())
}
