//! `docs/vdbench.md`: every word of vdbench's parameter files as supported, noted or refused, from the tables that the
//! parser uses.

use super::push;
use dialects::vdbench::language::words::{self, Kind, LIMITS, Status, Word};

const HEAD: &str = "# vdbench's language

What `kurabe vdbench` makes of the words of vdbench's parameter files. *Supported* words are carried out, with
vdbench's meaning and defaults. *In part* means that some values are refused or change nothing, as the row says.
*Noted* words are accepted and change nothing, and a note says why. *Refused* words end the reading, with their file
and line; a value that asks for nothing, such as `rhpct=0`, is accepted. Anything else is refused as unknown.

The names of words and values, their defaults, and the layouts of the reports are vdbench's: they are the language.
What stands behind them, and every sentence about them, is our own. The language was learned from descriptions of it
and from files and reports that people published.

## How files are read

* Lines that begin with `/`, `#`, `*` or `<` are comments. A blank ends the parameters of a line, and what stands
  behind it is a comment; a parameter behind a comma and a blank would be lost, and is an error.
* A line that ends in `,` goes on in the next one. `eof` ends the file. `include=FILE` reads another one beside it.
* Sizes take `k`, `m`, `g`, `t`, by 1024; times are in seconds or take `m` and `h`.
* Words may be cut where only one begins so: `el=60`, `in=1`, `th=8`, `forx=4k`.
* `xx=default` gives defaults to the lines behind it. `sd*` and `(sd1-sd9)` name several. `count=(1,5)` makes five of
  one line, numbered in their names and files.
* `$word` stands for what `word=value` on the command line says. A `word=value` for which no file asks is a word of all
  runs (`threads=16`), or a whole line (`rd=rd9,wd=wd1`).
* Loops (`forxfersize=(4k,8k)`, `forthreads=(1-64,d)`, `forrdpct=(0-100,25)`) go on in the order in which they stand,
  the last one fastest, and rates within them. At most 4096 runs come of one file.

## Where a run does something else here

* Figures begin to count behind the first interval, or behind `warmup`: `avg_2-N` is what is kept, shown and compared.
  The line of the first interval is printed, and not kept.
* Threads of a storage are places of one queue: so many operations are under way at the same time. What the page cache
  answers comes from one CPU. Several workloads on one storage share its threads.
* `resp` is the time of the call, as vdbench has it. Where a rate is asked for, operations wait for a free place as
  they would wait for a thread; with that wait, a latency counts from the intended start, and is told below the
  average and kept as `lat_ns`.
* `cpu%` is what this program used and the kernel used for it, over all CPUs.
* Files that are not there are made with `size`, written whole, and stay, with our mark. A file of others is written
  only with `--overwrite-file FILE`, a device only with `--yes-erase DEVICE`, and never its first and last MiB.
* File sets stand in the run's own directory inside the anchor, and go with the run. What else is there is never
  touched. `format=no` and `format=restart` find what earlier runs of the same file left, and not what earlier
  commands did.
* An operation list of a file workload (`operations=(read,write)`) is a workload for each, which share its threads.

This page is generated from the program by `cargo xtask gen`.
";

/// The page.
pub(crate) fn page() -> String {
    let mut page = HEAD.to_owned();
    for kind in Kind::ALL {
        let title = match kind {
            Kind::General => "What holds for all runs".to_owned(),
            kind => {
                let title = kind.title();
                title[..1].to_uppercase() + &title[1..]
            }
        };
        push(
            &mut page,
            &format!(
                "\n## {title}\n\n| Word | Status | Takes | Default | Meaning |\n|---|---|---|---|---|\n"
            ),
        );
        for word in words::of(kind) {
            row(&mut page, kind, word);
        }
    }
    page
}

fn row(page: &mut String, kind: Kind, word: &Word) {
    let names: Vec<String> = word.names().map(|name| format!("`{name}`")).collect();
    let mut meaning = word.doc.to_owned();
    match word.only {
        Some(Kind::Wd) => meaning.push_str(" For storages."),
        Some(_) => meaning.push_str(" For file sets."),
        None => (),
    }
    let (mut status, mut takes) = ("supported", word.takes.words());
    match word.status {
        Status::Done => {
            for limit in LIMITS
                .iter()
                .filter(|limit| limit.kind == kind && limit.word == word.name)
            {
                status = "in part";
                let verb = if limit.is_refused {
                    "Refused in part"
                } else {
                    "Changes nothing in part"
                };
                push(&mut meaning, &format!(" {verb}: {}.", limit.why));
                if let Some(instead) = limit.instead {
                    push(&mut meaning, &format!(" Instead: {instead}."));
                }
            }
        }
        Status::Noted(why) => {
            (status, takes) = ("noted", String::new());
            push(&mut meaning, &format!(" Changes nothing: {why}."));
        }
        Status::Refused(why, instead, but) => {
            (status, takes) = ("refused", String::new());
            push(&mut meaning, &format!(" Refused: {why}."));
            if let Some(instead) = instead {
                push(&mut meaning, &format!(" Instead: {instead}."));
            }
            if !but.is_empty() {
                let values: Vec<String> = but.iter().map(|value| format!("`{value}`")).collect();
                push(
                    &mut meaning,
                    &format!(" With {} it changes nothing.", values.join(", ")),
                );
            }
        }
    }
    let default = match word.default {
        "" => String::new(),
        text => format!("`{text}`"),
    };
    let cells = [names.join(", "), status.to_owned(), takes, default, meaning];
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    push(page, &format!("| {} |\n", cells.join(" | ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_every_word_is_on_the_page() {
        let page = page();
        for kind in Kind::ALL {
            for word in words::of(kind) {
                assert!(
                    word.names().all(|name| page.contains(&format!("`{name}`"))),
                    "{}",
                    word.name
                );
                assert!(page.contains(word.doc), "{}", word.name);
            }
        }
        for line in page.lines().filter(|line| line.starts_with("| ")) {
            assert_eq!(line.replace("\\|", "").matches('|').count(), 6, "{line}");
        }
    }
}
