//! Whether a dependency has a known weakness: `cargo deny check advisories`, with a list that is fetched first and
//! whose age is said.
//!
//! The list is `RustSec`'s, a git repository, so that this wants a network. It is no part of `ci`, which passes or
//! fails for what a change does, and is run by hand: every month, and before a release. Refused: to pass by no list, or
//! by one of long ago.

use crate::ci::{INSTALL_DENY, has, metadata};
use crate::process::{cargo, command, output, shown, succeed, target_dir};
use anyhow::{Context, bail, ensure};
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How old a list may be, in days, which could not be fetched anew: a month between two looks, and a few days.
const MOST_DAYS: i64 = 35;

/// Fetches the list, says how old it is, and fails where a dependency is on it.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    ensure!(
        has(root, "deny"),
        "cargo-deny is missing\nhint: `{INSTALL_DENY}` installs it"
    );
    let place = target_dir(root).join("advisories");
    let check = Check::new(root, &place, &[])?;
    let list = check.list(Timestamp::now())?;
    say!("{}", list.words());
    check.judge(&list)
}

/// The list that is here.
#[derive(Debug)]
struct List {
    /// When it was last changed.
    of: Timestamp,
    /// How long ago that is, in days.
    days: i64,
    /// Why it may not be the newest, in the words of who tried to fetch it.
    unfetched: Option<String>,
}

impl List {
    fn words(&self) -> String {
        let Self {
            of,
            days,
            unfetched,
        } = self;
        let age = format!("the list of advisories is of {of}, {days} days ago");
        match unfetched {
            None => age,
            Some(why) => format!("the newest list could not be fetched: {why}\n{age}"),
        }
    }
}

struct Check<'a> {
    root: &'a Path,
    /// Where lists are kept.
    place: &'a Path,
    /// Variables for git.
    env: &'a [(&'a str, String)],
    config: PathBuf,
    metadata: PathBuf,
}

impl<'a> Check<'a> {
    fn new(root: &'a Path, place: &'a Path, env: &'a [(&'a str, String)]) -> anyhow::Result<Self> {
        std::fs::create_dir_all(place).with_context(|| format!("make `{}`", place.display()))?;
        let text = std::fs::read_to_string(root.join("deny.toml")).context("read `deny.toml`")?;
        let mut table: toml::Table = text.parse().context("read `deny.toml`")?;
        let advisories = table
            .get_mut("advisories")
            .and_then(toml::Value::as_table_mut)
            .context("`deny.toml` says nothing of advisories")?;
        let kept = place.join("lists").display().to_string();
        advisories.insert("db-path".to_owned(), kept.into());
        let config = place.join("deny.toml");
        std::fs::write(&config, table.to_string())
            .with_context(|| format!("write `{}`", config.display()))?;
        let metadata = metadata(root)?;
        Ok(Self {
            root,
            place,
            env,
            config,
            metadata,
        })
    }

    fn deny(&self, arguments: &[&str]) -> Command {
        let mut deny = cargo(self.root, &["deny", "--config"]);
        deny.arg(&self.config)
            .arg("--metadata-path")
            .arg(&self.metadata);
        deny.args(arguments)
            .envs(self.env.iter().map(|(name, value)| (name, value)));
        deny
    }

    /// Fetches the list; where that cannot be done, the one that was fetched before.
    fn list(&self, now: Timestamp) -> anyhow::Result<List> {
        let mut fetch = self.deny(&["-L", "error", "fetch", "db"]);
        let done = fetch
            .output()
            .with_context(|| format!("start `{}`", shown(&fetch)))?;
        let unfetched = (!done.status.success()).then(|| reason(&done.stderr));
        let Some(clone) = clone(&self.place.join("lists")) else {
            let why = unfetched.unwrap_or_else(|| "cargo-deny fetched none".to_owned());
            bail!("there is no list of advisories: {why}\nhint: run it where there is a network");
        };
        let time = output(command(&clone, "git").args(["show", "-s", "--format=%ct", "HEAD"]))?;
        let seconds: i64 = time.trim().parse().context("read the time of the list")?;
        let of = Timestamp::from_second(seconds).context("read the time of the list")?;
        let days = (now.as_second() - seconds).max(0) / 86_400;
        Ok(List {
            of,
            days,
            unfetched,
        })
    }

    /// An error where a dependency is on the list, and where the list is too old to say so.
    fn judge(&self, list: &List) -> anyhow::Result<()> {
        // It tries the download of what other systems need all the same, and says so as an error in its log that
        // changes nothing: no log.
        succeed(&mut self.deny(&["-L", "off", "--offline", "check", "advisories"]))?;
        let days = list.days;
        ensure!(
            days <= MOST_DAYS,
            "the list of advisories is {days} days old, and may be {MOST_DAYS}\nhint: run it where there is a network"
        );
        Ok(())
    }
}

/// The line of git's that says what is wrong, or the first one of whoever else.
fn reason(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let fatal = text.lines().find(|line| line.starts_with("fatal: "));
    let line = fatal.or_else(|| text.lines().next());
    line.unwrap_or("cargo-deny does not say why").to_owned()
}

/// The repository in `lists`, in which cargo-deny names it by its address.
fn clone(lists: &Path) -> Option<PathBuf> {
    let entries = std::fs::read_dir(lists).ok()?.filter_map(Result::ok);
    let mut paths = entries.map(|entry| entry.path());
    paths.find(|path| path.join(".git").is_dir())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A list of one advisory that nobody wrote, against every version of a crate.
    fn write(origin: &Path, of: &str) {
        let dir = origin.join("crates").join(of);
        std::fs::create_dir_all(&dir).unwrap();
        let text = format!(
            "```toml\n[advisory]\nid = \"RUSTSEC-2026-9999\"\npackage = \"{of}\"\ndate = \"2026-10-01\"\n\n\
             [versions]\npatched = []\n```\n\n# Made up\n\nNothing is wrong.\n"
        );
        std::fs::write(dir.join("RUSTSEC-2026-9999.md"), text).unwrap();
        let git = |arguments: &[&str]| {
            let identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"];
            output(command(origin, "git").args(identity).args(arguments)).unwrap()
        };
        git(&["init", "--quiet", "--initial-branch=main"]);
        git(&["add", "--all"]);
        git(&["commit", "--quiet", "--message", of]);
    }

    #[test]
    fn a_list_that_hits_is_old_or_cannot_be_fetched_is_told() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .canonicalize()
            .unwrap();
        if !has(&root, "deny") {
            eprintln!("skipped: cargo-deny is not installed");
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let (origin, place) = (dir.path().join("origin"), dir.path().join("place"));
        let env = [
            ("GIT_CONFIG_COUNT", "1".to_owned()),
            (
                "GIT_CONFIG_KEY_0",
                format!("url.file://{}.insteadOf", origin.display()),
            ),
            (
                "GIT_CONFIG_VALUE_0",
                "https://github.com/rustsec/advisory-db".to_owned(),
            ),
        ];
        let check = Check::new(&root, &place, &env).unwrap();
        let now = Timestamp::now();
        // Half a day on top: the list is a moment younger than `now`, or older.
        let later =
            |days: i64| Timestamp::from_second(now.as_second() + 86_400 * days + 43_200).unwrap();
        let none = check.list(now).unwrap_err().to_string();
        assert!(
            none.starts_with("there is no list of advisories: fatal: "),
            "{none}"
        );

        write(&origin, "serde_json");
        let list = check.list(now).unwrap();
        assert_eq!((list.days, &list.unfetched), (0, &None));
        let hit = check.judge(&list).unwrap_err().to_string();
        assert!(hit.contains("check advisories` failed"), "{hit}");

        std::fs::remove_dir_all(&origin).unwrap();
        write(&origin, "no-dependency-of-ours");
        std::fs::remove_dir_all(&place).unwrap();
        let check = Check::new(&root, &place, &env).unwrap();
        let list = check.list(now).unwrap();
        check.judge(&list).unwrap();

        // Without a network the list from before is used, as long as it is not too old.
        std::fs::remove_dir_all(&origin).unwrap();
        let list = check.list(later(MOST_DAYS)).unwrap();
        assert!(
            list.words().contains("could not be fetched: fatal: "),
            "{list:?}"
        );
        assert!(list.words().ends_with("35 days ago"), "{list:?}");
        check.judge(&list).unwrap();
        let list = check.list(later(MOST_DAYS + 2)).unwrap();
        let old = check.judge(&list).unwrap_err().to_string();
        assert!(
            old.starts_with("the list of advisories is 37 days old"),
            "{old}"
        );
    }
}
