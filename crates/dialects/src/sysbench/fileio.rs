//! Which outputs of sysbench's fileio test are kurabe's own test. 1.0 prints all that decides it, but for how files are
//! synced and for how long it ran: the command line alone says that.

use super::read::bytes;
use super::text::Output;
use crate::figures::Ours;

impl Output {
    /// kurabe's own test of the same definition; `None` where it is not known.
    pub(super) fn fileio(&self, test: &str) -> Option<Ours> {
        let is_1_0 = self.version.as_deref()?.starts_with("1.0.");
        let mode = test.strip_prefix("fileio-").filter(|_| is_1_0)?;
        let param = |name: &str| self.params.get(name).map(String::as_str);
        let options = &self.command.as_ref()?.options;
        let is_usual = |name: &str, usual: &[&str]| {
            options
                .get(name)
                .is_none_or(|value| usual.contains(&value.as_str()))
        };
        let known = is_usual("file-fsync-all", &["off"])
            && is_usual("file-fsync-end", &["on"])
            && is_usual("file-fsync-mode", &["fsync"])
            && is_usual("file-merged-requests", &["0"])
            && is_usual("file-async-backlog", &["128"])
            && is_usual("file-rw-ratio", &["1.5", "1.50"])
            && is_usual("rand-type", &["uniform"]);
        let files: u64 = param("file-num")?.parse().ok()?;
        let size = bytes(param("file-size")?)?.checked_mul(files)?;
        let seconds: u64 = options
            .get("time")
            .map_or(Some(10), |time| time.parse().ok())?;
        let io = match param("file-io-mode")? {
            "synchronous" => "sync",
            "asynchronous" => "async",
            "mmapped" | "mmap" | "fast mmaped" => "mmap",
            _ => return None,
        };
        let flags = param("file-extra-flags").map_or("none", |flags| match flags {
            "directio" | "direct" => "direct",
            other => other,
        });
        let is_known = known && ["none", "sync", "dsync", "direct"].contains(&flags);
        let block = bytes(param("file-block-size")?)?;
        (is_known && seconds > 0).then(|| Ours {
            test: format!("fs.fileio-{mode}").into(),
            set: vec![
                ("files", files.to_string()),
                ("size", size.to_string()),
                ("block", block.to_string()),
                ("io", io.to_owned()),
                ("flags", flags.to_owned()),
                (
                    "fsync_freq",
                    param("file-fsync-freq").unwrap_or("0").to_owned(),
                ),
                ("time", format!("{seconds}s")),
            ],
            server: None,
        })
    }
}
