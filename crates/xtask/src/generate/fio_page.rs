//! `docs/fio.md`: every option of fio's language as supported, noted or refused, from the tables that the parser uses.

use super::push;
use dialects::fio::options::{self, Kind, OptionDef, Reach, Standing, Status, Table};
use dialects::fio::{Bare, Has, PROGRAM};
use std::ops::RangeInclusive;

const HEAD: &str = "# fio's language

What `kurabe fio` makes of the options of fio's job files and command lines. *Supported* options are carried out, with
fio's meaning, defaults and spelling of values. *In part* means that some values are refused or change nothing, as the
row says. *Noted* options are accepted and change nothing, and a note says why. *Refused* options end the reading, with
their file and line and the nearest option that is supported; a value that asks for nothing, as fio's own default does,
is accepted with a note. Anything else is refused as unknown.

Every option is here that fio 3.33 lists (`fio --cmdhelp=all`, `fio --enghelp=ENGINE`, `fio --help`) or that its manual
page names, those of engines and profiles that are not here too. Left out are options of engines that are loaded from a
file (`ioengine=external:FILE`), and what the options of fio's own tools are.

How values are read was learned by running fio 3.33. Sizes take `k`, `m`, `g`, `t` and `p`; with `kb_base=1024`, the
default, `4k` is 4096 bytes and `4KiB` is **4000**. Times take `us`, `ms`, `s`, `m`, `h` and `d`; any other suffix is
**microseconds**, `30sec` among them. Both are kept, and said in a warning.

The names of options, values and engines, their defaults, and the keys and layouts of the reports are fio's: they are
the language. What stands behind them, and every sentence about them, is our own: no code and no prose is fio's.

This page is generated from the program by `cargo xtask gen`.

## Where a job does something else here

What was found by running fio 3.33 beside this program on the same jobs, and is meant:

* Files that are read are written whole before the jobs begin, so that no place is measured that was never written.
  Those that a job only writes get room and nothing more, as in fio: the first write of each place then changes metadata
  too, which a disk that is synced after every write feels (the check of etcd's documentation). A second run finds the
  file written and is faster, in fio as here; `overwrite=1` writes it before. With `--passes` the first round alone
  meets a new file. Ranges that a job gave back are written again before the next job that reads. fio trims devices
  alone; here trims of a file give its blocks back to the file system.
* A file that somebody else made is neither written to nor made longer; a section whose name or
  `filename_format` leads out of its directory (`[../x]`) is refused. Directories that are missing on the way to a
  `filename` are made, as in fio; those in which nothing came to lie go again. The files of all jobs together take half
  of what is free at most.
* `verify_only`, and `verify` of a job that only reads, want files that are there. fio makes them, and finds them wrong.
* `verify_only` writes nothing, whatever `rw` says, and needs no consent. It goes through the writes of the options
  again and looks for the last one of each place, so that blocks which were written over in part are not missed. Blocks
  say their own length, and headers of this program which options wrote them. A place without a block is damage only
  where all headers that are found are of this program and of the same options, and only before the last write that is
  found: the job may have ended early. Everywhere else (another program, other options, `rw=read`, a pattern, the end of
  the writes) such a place is counted in a note, and a block that was lost as a whole is not found. A block that is
  there, or most of its header, is always judged. Where blocks of others are found, the whole region is searched.
  With `verify`, what is drawn is the same in every run, also with `randrepeat=0`.
* The header of `verify` is fio's, and either checks what the other wrote, but for `verify=sha512`: fio 3.33 keeps no
  checksum there, and finds no damage (a byte that was changed inside of such a block passes). Here it is the real one;
  fio takes blocks of ours for damaged, and the other way round. In `verify=sha256` fio keeps 64 bits of the checksum
  and the end of the data; that is done here too. Where fio's header has the time of a write, ours has its number. With
  a `verify_interval` below the block size fio 3.33 overlooks damage in some intervals; here each is checked.
* `ioengine=mmap`: a page that the device cannot read, and a file that becomes shorter meanwhile, end the process with
  SIGBUS, as in fio. The job is told as failed, without what it had done.
* `iodepth_batch_complete_min=0` looks for completions without waiting, and keeps the queue full. fio 3.33 has one
  operation under way then, whatever the depth, unless `iodepth_batch_complete_max` says more. The null engine has as
  many under way as `iodepth` says; fio's has one.
* Clones of a random mix with several sizes do all of their region: an operation is cut where it would meet a block that
  has come already. fio ends earlier.
* Of a full queue an eighth, and at most two, of the operations are taken at a time and begun again in one call; fio
  takes one. Where a job says anything of batches (`iodepth_batch`, `iodepth_batch_complete_min`,
  `iodepth_batch_complete_max`, `iodepth_low`) the others are as in fio, and `iodepth_batch=1` is fio's own way.
* The engines on names (`filecreate` and its like) work on names of the run's own, in a directory that is made in
  `directory` and removed after the round, and all jobs of a run share it. fio leaves its files where they are.
* A `runtime` of a few microseconds does one operation; fio does one or none.
* Operations that failed and were let pass (`continue_on_error`) are not among `total_ios`. As in fio the exit code is 0
  then, and `error`, `total_err` and `first_error` tell them.
* A job that fails is reported as far as it came, with its `error`, and the others go on, as in fio; the operation that
  failed is not among `total_ios`. What is read beyond the end of a file that became shorter is error 5 with every
  engine; fio's libaio and io_uring let it pass. No figure of such a round counts in an interval or a comparison.
* `--output` replaces an empty file and an earlier report, of kurabe or fio, and refuses any other file; fio writes over
  it. The report takes its place when it is whole.
* Standard error stays empty where all went well and it is no terminal, as fio's does. What fio says on standard output
  (`note: ...`), and what this program has to say of its figures, stands under the key `kurabe` of the JSON, with the id
  of the run and the files that stay; `--verbose` says it on standard error. Errors are always said there.
* The text has fio's lines. The line of the version names this program behind fio's version, `err=` has the kernel's
  words for an error and no place in fio's source, the last number of `issued rwts` counts fdatasync too, the sums of
  `unified_rw_reporting=both` are sums, and bandwidths of a steady state have both units right.
* `ioengine=exec` executes its program only with `--allow-exec` on the command line, and is refused without before
  anything is done; a job file cannot allow it, and a run that is gone on with executes nothing. The job ends with its
  program, but with `time_based` at the end of `runtime`; fio waits for the end of `runtime` in any case, and for ever
  without one. How the program ended is told: a program that cannot be started fails its job, and one that ends by
  itself with another exit code than 0 is warned of; fio says nothing of either. At the end everything that the
  program started ends too. Its CPU time is in the job's `cpu`.
* `idle-prof` counts the kernel's idle ticks of 10 ms, and takes no time of the CPUs for it; of jobs that are shorter
  nothing is told.
* `ioscheduler` is set back after the jobs.
* Rates are exact also where `runtime`, in whole milliseconds and at least 1, is too coarse to divide by.
* The sync of `end_fsync` is counted with the others, and so are those of `fdatasync`.
* Exit codes are those of kurabe: 2 for what is wrong in a job, 3 for what this machine cannot do, 4 where a job failed,
  130 after an interruption; fio has 1 for all, and 128.

Ctrl-C ends the jobs, reports them as far as they came, and keeps the run. `kurabe fio --show=RUN` reports a kept run
again, in the form that `--output-format` asks for.
";

/// The page.
pub(crate) fn page() -> String {
    let mut page = HEAD.to_owned();
    // A row for another engine stands for all of its options; elsewhere further names are names of the same option.
    let count = |standing| {
        let tables = options::OPTIONS.iter();
        let counts = tables.map(|table| {
            let rows = table
                .options
                .iter()
                .filter(|def| def.standing() == standing);
            if table.is_elsewhere() {
                rows.flat_map(options::OptionDef::names).count()
            } else {
                rows.count()
            }
        });
        counts.sum::<usize>()
    };
    let [supported, in_part, noted, refused] = [
        Standing::Supported,
        Standing::InPart,
        Standing::Noted,
        Standing::Refused,
    ]
    .map(count);
    push(
        &mut page,
        &format!(
            "\n{supported} options are supported, {in_part} in part, {noted} noted, {refused} refused.\n"
        ),
    );
    for table in options::OPTIONS {
        theme(&mut page, table);
    }
    engines(&mut page);
    program(&mut page);
    page
}

fn engines(page: &mut String) {
    push(
        page,
        "\n## Engines\n\n| Engine | Status | What it is |\n|---|---|---|\n",
    );
    for engine in options::engines::ENGINES {
        let names: Vec<String> = engine
            .names
            .iter()
            .map(|name| format!("`{name}`"))
            .collect();
        let (status, what) = match engine.refusal() {
            None => ("supported", format!("{}.", engine.doc)),
            Some(why) => ("refused", format!("{}. Refused: {why}.", engine.doc)),
        };
        row(page, &[names.join(", "), status.to_owned(), what]);
    }
}

fn theme(page: &mut String, table: &Table) {
    push(
        page,
        &format!(
            "\n## {}\n\n| Option | Status | Takes | Default | Meaning |\n|---|---|---|---|---|\n",
            table.title
        ),
    );
    for def in table.options {
        let names: Vec<String> = def.names().map(|name| format!("`{name}`")).collect();
        let default = match def.default {
            "" => String::new(),
            text => format!("`{text}`"),
        };
        let default = def.fio_default.map_or(default.clone(), |fios| {
            format!("{default}; `{fios}` in fio")
        });
        let (status, takes, meaning) = describe(def);
        row(
            page,
            &[names.join(", "), status.to_owned(), takes, default, meaning],
        );
    }
}

fn describe(def: &OptionDef) -> (&'static str, String, String) {
    let status = match def.standing() {
        Standing::Supported => "supported",
        Standing::InPart => "in part",
        Standing::Noted => "noted",
        Standing::Refused => "refused",
    };
    match &def.status {
        Status::Supported(kind) => (status, takes(kind), with_limits(def)),
        Status::Noted { why, .. } => (
            "noted",
            String::new(),
            format!("{} Changes nothing: {why}.", def.doc),
        ),
        Status::Refused {
            why, instead, but, ..
        } => {
            let instead = instead.map_or_else(String::new, |name| format!(" Nearest: `{name}`."));
            let but: Vec<String> = but.iter().map(|value| format!("`{value}`")).collect();
            let but = match &but[..] {
                [] => String::new(),
                values => format!(" With {} it changes nothing.", values.join(", ")),
            };
            (
                "refused",
                String::new(),
                format!("{} Refused: {why}.{instead}{but}", def.doc),
            )
        }
    }
}

/// What an option means, and what of it is not carried out.
fn with_limits(def: &OptionDef) -> String {
    let mut text = def.doc.to_owned();
    for limit in def.limits() {
        let word = match limit.reach {
            Reach::Refused => "Refused",
            Reach::RefusedInPart => "Refused in part",
            Reach::Noted => "Changes nothing",
            Reach::NotedInPart => "Changes nothing in part",
        };
        push(&mut text, &format!(" {word}: {}.", limit.why));
        if let Some(instead) = limit.instead {
            push(&mut text, &format!(" Nearest: `{instead}`."));
        }
    }
    text
}

fn takes(kind: &Kind) -> String {
    let number = |range: &RangeInclusive<u64>| match (range.start(), range.end()) {
        (min, &u64::MAX) => format!("number from {min}"),
        (min, max) => format!("number from {min} to {max}"),
    };
    match kind {
        Kind::Flag(_) => "nothing, or 0 or 1".to_owned(),
        Kind::Bool(_) => "0 or 1".to_owned(),
        Kind::Int(range, _) => number(range),
        Kind::Size(_) => "size".to_owned(),
        Kind::Extent(_) => "size or share such as `50%`".to_owned(),
        Kind::Time(Bare::Seconds, _) => "time, seconds without a unit".to_owned(),
        Kind::Time(Bare::Micros, _) => "time, microseconds without a unit".to_owned(),
        Kind::Choice(words, _) => {
            let words: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
            words.join(", ")
        }
        Kind::List(range, _) => format!("one to three of {}: reads, writes, trims", number(range)),
        Kind::Floats(max, count, _) => {
            format!("up to {count} numbers to {max} with `:` between")
        }
        Kind::Name(_) => "a name; in a job file it may be left out".to_owned(),
        Kind::Text(takes, _) => (*takes).to_owned(),
    }
}

fn program(page: &mut String) {
    push(
        page,
        "\n## Options of the program\n\nThey stand on a command line alone.\n",
    );
    push(
        page,
        "\n| Option | Status | Value | Meaning |\n|---|---|---|---|\n",
    );
    for option in PROGRAM {
        let value = match option.has {
            Has::Nothing => "",
            Has::Optional => "may have one",
            Has::Value => "needs one",
        };
        let (status, meaning) = match option.refused {
            None => ("supported", option.doc.to_owned()),
            Some(why) => ("refused", format!("Refused: {why}.")),
        };
        row(
            page,
            &[
                format!("`{}`", option.name),
                status.to_owned(),
                value.to_owned(),
                meaning,
            ],
        );
    }
}

fn row(page: &mut String, cells: &[String]) {
    let cells: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
    push(page, &format!("| {} |\n", cells.join(" | ")));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_every_option_is_on_the_page() {
        let page = page();
        for def in options::all() {
            for name in def.names() {
                assert!(page.contains(&format!("`{name}`")), "{name}");
            }
            assert!(page.contains(def.doc), "{}", def.name);
        }
        for option in PROGRAM {
            assert!(
                page.contains(&format!("| `{}` |", option.name)),
                "{}",
                option.name
            );
        }
    }

    #[test]
    fn every_row_has_the_cells_of_its_table() {
        let bars = |line: &str| line.replace("\\|", "").matches('|').count();
        let mut of_table = 0;
        for line in page().lines() {
            let is_row = line.starts_with('|');
            of_table = match (is_row, of_table) {
                (false, _) => 0,
                (true, 0) => bars(line),
                (true, known) => known,
            };
            assert!(!is_row || bars(line) == of_table, "{line}");
        }
    }
}
