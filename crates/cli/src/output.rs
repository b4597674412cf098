//! Data to standard output, words to standard error: the only two places that print.

use anyhow::Context as _;
use std::io::{IsTerminal, Write};

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

/// Whether somebody is there who can read a question and answer it.
pub(crate) fn can_ask() -> bool {
    std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
}

/// The answer to a question, which is no longer than a line. Whoever ends the input says nothing.
pub(crate) fn ask(question: &str) -> anyhow::Result<String> {
    let question = dialects::printable::printable(question);
    let mut err = std::io::stderr();
    // A question that cannot be put is not to be taken as answered.
    write!(err, "{question} ")
        .and_then(|()| err.flush())
        .context("ask")?;
    let mut answer = String::new();
    std::io::stdin()
        .read_line(&mut answer)
        .context("read the answer")?;
    Ok(answer.trim().to_owned())
}
