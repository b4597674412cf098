//! What every command needs: the store, the language, where output goes.

use crate::args::{ColorArg, Global, LangArg};
use crate::directory;
use crate::exit::{Exit, failure};
use crate::foreign;
use crate::output;
use dialects::printable::{quoted, said};
use model::host::HostFacts;
use model::record::{End, Run};
use model::units::UnixNanos;
use report::formats::Look;
use report::{Lang, Style};
use std::cell::OnceCell;
use std::io::{IsTerminal, Read};
use std::path::{Path, PathBuf};
use store::{Store, StoreError};

/// The surroundings of one command.
#[derive(Debug)]
pub(crate) struct Context {
    /// The language.
    pub(crate) lang: Lang,
    /// How text on standard output is laid out.
    pub(crate) style: Style,
    /// The same for lists and plans: what is no terminal gets each of their lines whole.
    pub(crate) lines: Style,
    /// False where text must do without the blocks of pictures.
    blocks: bool,
    /// The monotonic clock when the program started.
    pub(crate) began: u64,
    store: Option<PathBuf>,
}

impl Context {
    pub(crate) fn new(global: &Global, began: u64) -> Self {
        let lang = match global.lang {
            Some(LangArg::En) => Lang::En,
            Some(LangArg::Ja) => Lang::Ja,
            None => Lang::from_env(&locale("LC_MESSAGES")),
        };
        let [style, lines] = styles(global.color);
        Self {
            lang,
            style,
            lines,
            blocks: shows_blocks(),
            began,
            store: global.store.clone().or_else(store_of_environment),
        }
    }

    /// How things are shown here, all there is of them or what is usual.
    pub(crate) const fn look(&self, full: bool) -> Look {
        Look {
            lang: self.lang,
            style: self.style,
            lines: self.lines,
            blocks: self.blocks,
            full,
        }
    }

    /// Opens the store for writing, making it where there is none. Only where nobody named it are directories made for
    /// it: a name that leads nowhere is a slip, and what was measured would lie where nobody looks for it. Root makes
    /// none where others may rename, unless that is agreed to.
    pub(crate) fn store(&self, of_others: bool) -> anyhow::Result<Store> {
        if let Some(path) = &self.store {
            has_directory(path)?;
        }
        let path = self.store_path()?;
        let path = directory::refuse_strangers_to_file(&path, "--store FILE", of_others)?;
        directory::refuse_file_of_strangers(&path, "--store FILE", of_others)?;
        Ok(Store::open(&path)?)
    }

    /// Opens the store for changing what is kept in it; none is made for it.
    pub(crate) fn store_to_change(&self, of_others: bool) -> anyhow::Result<Store> {
        Store::require(&self.store_path()?)?;
        self.store(of_others)
    }

    /// Opens the store for reading.
    pub(crate) fn store_to_read(&self) -> anyhow::Result<Store> {
        Ok(Store::open_read_only(&self.store_path()?)?)
    }

    /// Where the store is, or would be.
    pub(crate) fn store_path(&self) -> anyhow::Result<PathBuf> {
        if let Some(path) = &self.store {
            return Ok(path.clone());
        }
        let absolute = |name: &str| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let data =
            absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")));
        let data = data.ok_or_else(|| {
            failure(
                Exit::Usage,
                "find a place for the store: neither XDG_DATA_HOME nor HOME names a directory",
                Some("name the file with `--store FILE` or KURABE_STORE"),
            )
        })?;
        Ok(data.join("kurabe/kurabe.db"))
    }

    /// The run that the user means: a path to an exported file, or a run in the store.
    pub(crate) fn load(&self, text: &str) -> anyhow::Result<Run> {
        self.reader().read(text, Store::load)
    }

    /// Reads several runs.
    pub(crate) const fn reader(&self) -> Reader<'_> {
        Reader {
            context: self,
            store: OnceCell::new(),
        }
    }
}

/// Refuses a file in a directory that does not exist.
fn has_directory(path: &Path) -> anyhow::Result<()> {
    let Some(dir) = path.parent().filter(|dir| *dir != Path::new("")) else {
        return Ok(());
    };
    match dir.try_exists() {
        Ok(false) => Err(failure(
            Exit::Usage,
            format!(
                "open the store `{}`: there is no directory `{}`",
                path.display(),
                dir.display()
            ),
            Some(&format!(
                "`mkdir -p {}` makes it; or name another file with `--store FILE` or KURABE_STORE",
                quoted(&dir.display().to_string())
            )),
        )),
        // What else may be wrong is said when it is opened.
        Ok(true) | Err(_) => Ok(()),
    }
}

/// The store that the environment names; a variable without a value names none.
fn store_of_environment() -> Option<PathBuf> {
    std::env::var_os("KURABE_STORE")
        .filter(|path| !path.is_empty())
        .map(PathBuf::from)
}

/// Reads runs; the store is opened for the first one that is in it, once, because opening checks the whole file.
pub(crate) struct Reader<'a> {
    context: &'a Context,
    store: OnceCell<Store>,
}

impl Reader<'_> {
    /// The run that the user means, as far as a comparison looks at it, and the ids of the others of that label.
    pub(crate) fn load_to_compare(&self, text: &str) -> anyhow::Result<(Run, Vec<String>)> {
        self.load_meant(text, Store::load_to_compare)
    }

    /// The whole run that the user means, and the ids of the others of that label.
    pub(crate) fn load_whole(&self, text: &str) -> anyhow::Result<(Run, Vec<String>)> {
        self.load_meant(text, Store::load)
    }

    fn load_meant(
        &self,
        text: &str,
        load: fn(&Store, &str) -> Result<Run, StoreError>,
    ) -> anyhow::Result<(Run, Vec<String>)> {
        if let Some(path) = file(text) {
            return Ok((foreign::run(Path::new(path))?, Vec::new()));
        }
        let found = || {
            let store = self.store()?;
            let meant = store.meant(text)?;
            if let Some(other) = meant.hidden.first() {
                output::say(&match self.context.lang {
                    Lang::En => {
                        format!(
                            "note: `{text}` is a run's name; the id of run {other} ends in it too"
                        )
                    }
                    Lang::Ja => format!(
                        "注: `{text}` は測定の名前です。測定 {other} の ID もこの文字列で終わります"
                    ),
                });
            }
            Ok((load(store, &meant.id)?, meant.alike))
        };
        found().map_err(|error| neither(text, error))
    }

    /// The run that the user means, as far as a comparison looks at it, or `whole`.
    pub(crate) fn load_in_full(&self, text: &str, whole: bool) -> anyhow::Result<Run> {
        self.read(
            text,
            if whole {
                Store::load
            } else {
                Store::load_to_compare
            },
        )
    }

    /// The ids of the latest runs that are kept of this machine and began before then; none where there is no store.
    pub(crate) fn earlier(
        &self,
        host: &HostFacts,
        before: UnixNanos,
        most: usize,
    ) -> anyhow::Result<Vec<String>> {
        if self.store.get().is_none() && !self.context.store_path()?.exists() {
            return Ok(Vec::new());
        }
        Ok(self.store()?.earlier(host, before, most)?)
    }

    /// One of them, as far as a comparison looks at it.
    pub(crate) fn load_earlier(&self, id: &str) -> anyhow::Result<Run> {
        Ok(self.store()?.load_to_compare(id)?)
    }

    /// A path to an exported file, or a run in the store, read in this way.
    fn read(
        &self,
        text: &str,
        load: fn(&Store, &str) -> Result<Run, StoreError>,
    ) -> anyhow::Result<Run> {
        self.load_meant(text, load).map(|(run, _)| run)
    }

    /// Whether somebody is measuring the next round of this run.
    pub(crate) fn is_measured(&self, run: &Run) -> anyhow::Result<bool> {
        let store = self.store.get();
        store.map_or(Ok(false), |store| {
            is_measured(store, &run.meta.id, run.meta.end)
        })
    }

    fn store(&self) -> anyhow::Result<&Store> {
        if let Some(store) = self.store.get() {
            return Ok(store);
        }
        let opened = self.context.store_to_read()?;
        Ok(self.store.get_or_init(|| opened))
    }
}

/// Whether somebody is measuring the next round of a run that ended so.
pub(crate) fn is_measured(store: &Store, id: &str, end: End) -> anyhow::Result<bool> {
    if end != End::Open {
        return Ok(false);
    }
    let dirs = store.work_dirs()?;
    let mut dirs = dirs.iter().filter(|dir| dir.run == id);
    Ok(dirs.any(|dir| engine::workdir::may_be_in_use(&dir.path)))
}

/// The file that the text names, where it names one that is there.
pub(crate) fn file(text: &str) -> Option<&str> {
    (is_named_as_file(text) && Path::new(text).exists()).then_some(text)
}

fn is_named_as_file(text: &str) -> bool {
    let ends = ["json", "txt", "csv", "log", "html"];
    let end = Path::new(text).extension();
    text.contains('/') || end.is_some_and(|end| ends.iter().any(|one| end == *one))
}

/// What is said of a name that is no run, where it may be meant as that of a file too.
fn neither(text: &str, error: anyhow::Error) -> anyhow::Error {
    let nearest = match error.downcast_ref() {
        Some(StoreError::Unknown { nearest, .. }) => nearest.as_slice(),
        Some(StoreError::Missing { .. }) => &[],
        _ => return error,
    };
    if !is_named_as_file(text) {
        return error;
    }
    let what = format!(
        "there is neither a run nor a file of the name `{}`",
        said(text)
    );
    let list = "`kurabe list --all` shows every run";
    let hint = match nearest {
        [] => list.to_owned(),
        names => format!("nearest runs: {}; {list}", names.join(", ")),
    };
    failure(Exit::Usage, what, Some(&hint))
}

/// An export of a long soak has some 100 MB; a file larger than this is something else.
const EXPORT_BYTES_MAX: u64 = 1 << 30;

/// Outputs of other programs are texts of some kilobytes; a text larger than this is something else.
pub(crate) const FIGURES_BYTES_MAX: u64 = 16 << 20;

/// All of standard input. What is no JSON document is not waited for as long as an export may be.
fn stdin(bytes: &mut Vec<u8>) -> anyhow::Result<()> {
    let mut stdin = std::io::stdin();
    for max in [FIGURES_BYTES_MAX, EXPORT_BYTES_MAX] {
        let room = max + 1 - u64::try_from(bytes.len())?;
        stdin.by_ref().take(room).read_to_end(bytes)?;
        if u64::try_from(bytes.len())? <= max {
            return Ok(());
        }
        let is_document = max < EXPORT_BYTES_MAX && bytes.trim_ascii_start().starts_with(b"{");
        anyhow::ensure!(is_document, "it has more than {max} bytes");
    }
    Ok(())
}

/// The bytes of a file; `-` is standard input.
pub(crate) fn bytes_of(path: &Path) -> anyhow::Result<Vec<u8>> {
    let bytes = if path == Path::new("-") {
        let mut bytes = Vec::new();
        stdin(&mut bytes).map(|()| bytes)
    } else {
        bytes_capped(path, EXPORT_BYTES_MAX)
    };
    bytes.map_err(|error| {
        let what = format!("read `{}`: {}", path.display(), said(&format!("{error:#}")));
        let hint = "name the file in which the output of a benchmark is, or that `kurabe export RUN` wrote";
        failure(Exit::Usage, what, Some(hint))
    })
}

/// What is said of the bytes of a file that are no text.
pub(crate) fn no_text(bytes: &[u8], path: &Path) -> anyhow::Error {
    let (why, hint) = no_text_because(bytes, path);
    let what = format!("read `{}`: {why}", path.display());
    failure(Exit::Usage, what, Some(&hint))
}

/// What these bytes of a file are, which are no UTF-8, and what helps.
fn no_text_because(bytes: &[u8], path: &Path) -> (&'static str, String) {
    let known: [(&[u8], _, _); 4] = [
        (b"\x1f\x8b", "it is compressed by gzip", "gunzip -c"),
        (b"(\xb5/\xfd", "it is compressed by zstd", "zstd -dc"),
        (b"\xfd7zXZ", "it is compressed by xz", "xz -dc"),
        (b"BZh", "it is compressed by bzip2", "bzip2 -dc"),
    ];
    let is_of = |(begin, ..): &&(&[u8], _, _)| bytes.starts_with(begin);
    match known.iter().find(is_of) {
        Some(&(_, why, turn)) => {
            let path = quoted(&path.display().to_string());
            let hint = format!("`{turn} {path} > FILE` writes what can be read");
            (why, hint)
        }
        None if std::str::from_utf8(bytes).is_ok() => (
            "it has bytes of 0, which no text has",
            "name the file in which the output of a benchmark is".to_owned(),
        ),
        None => (
            "it is no UTF-8 text",
            "is it an export? `kurabe export RUN > FILE` writes one".to_owned(),
        ),
    }
}

/// The text of a regular file of at most `max` bytes.
pub(crate) fn read_capped(path: &Path, max: u64) -> anyhow::Result<String> {
    String::from_utf8(bytes_capped(path, max)?).map_err(|_| anyhow::anyhow!("it is no UTF-8 text"))
}

/// The bytes of a regular file of at most `max` of them: neither a pipe that never ends nor a device.
fn bytes_capped(path: &Path, max: u64) -> anyhow::Result<Vec<u8>> {
    let found = std::fs::metadata(path)?;
    anyhow::ensure!(found.is_file(), "it is no regular file");
    anyhow::ensure!(found.len() <= max, "it has more than {max} bytes");
    // To open and close it would drop the locks of the store that we have open.
    anyhow::ensure!(!store::is_open_store(&found), "it is the store itself");
    let mut bytes = Vec::with_capacity(usize::try_from(found.len()).unwrap_or(0));
    std::fs::File::open(path)?
        .take(max)
        .read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The locale in force for `category`. POSIX: `LC_ALL`, then the category's own variable, then `LANG`.
fn locale(category: &str) -> String {
    ["LC_ALL", category, "LANG"]
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.is_empty())
        .unwrap_or_default()
}

fn shows_blocks() -> bool {
    let term = std::env::var("TERM").ok();
    report::style::shows_blocks(&locale("LC_CTYPE"), term.as_deref())
}

/// Columns where there is no terminal: room for every column of a run's table.
const WIDTH_ELSEWHERE: usize = 120;

/// Columns of a line that nobody breaks: more than any list has.
const WIDTH_UNBROKEN: usize = 1 << 16;

/// The layout of text on standard output, and that of lists and plans: as wide as `COLUMNS` says, or the terminal is.
fn styles(color: ColorArg) -> [Style; 2] {
    let out = std::io::stdout();
    let terminal = out.is_terminal();
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    let color = match color {
        ColorArg::Always => true,
        ColorArg::Never => false,
        ColorArg::Auto => terminal && !set("NO_COLOR") && !dumb,
    };
    let asked = || std::env::var("COLUMNS").ok()?.trim().parse::<usize>().ok();
    let width = asked().filter(|&columns| columns > 0);
    let width = width.or_else(|| terminal.then(sys::process::terminal_width).flatten());
    // A file or a pipe has no width of its own; long lines are better there than broken tables.
    [WIDTH_ELSEWHERE, WIDTH_UNBROKEN].map(|elsewhere| Style {
        width: width.unwrap_or(elsewhere),
        color,
    })
}
