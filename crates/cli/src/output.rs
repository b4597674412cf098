//! Data to standard output, words to standard error: the only two places that print.

use anyhow::Context as _;
use std::io::Write;

/// Prints data.
pub(crate) fn print(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    let written = out
        .write_all(text.as_bytes())
        .and_then(|()| {
            if text.is_empty() || text.ends_with('\n') {
                Ok(())
            } else {
                out.write_all(b"\n")
            }
        })
        .and_then(|()| out.flush());
    printed(written)
}

/// What became of data that was printed.
pub(crate) fn printed(written: std::io::Result<()>) -> anyhow::Result<()> {
    written.context("write to standard output")
}

/// Says something to the user, beside the data. Names from outside may be in it, so nothing but printable text goes
/// out.
pub(crate) fn say(text: &str) {
    let lines: Vec<String> = text.lines().map(dialects::printable::printable).collect();
    let text = lines.join("\n");
    // Words that nobody can hear are no reason to stop.
    let _ = writeln!(std::io::stderr(), "{text}");
}
