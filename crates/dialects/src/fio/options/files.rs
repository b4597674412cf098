//! Options that say which files are used, and how they come to be.

use super::super::draft::Draft;
use super::super::job::Job;
use super::work::skewed;
use super::{Kind, OptionDef, small};
use model::job::{FileOrder, Layout, OrderHint};

/// Files of one job at most. fio has no limit; a list of names must fit in memory here.
const MAX_FILES: u64 = 65_536;

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "filename",
        "",
        Kind::Text("paths with `:` between, `\\:` for a colon", filename),
        "The files or devices, the same for all clones. `nrfiles` then has no \
             meaning.",
    ),
    OptionDef::new(
        "directory",
        "",
        Kind::Text("paths with `:` between", |d, text| {
            d.job.target.directory = Some(text.to_owned());
            Ok(())
        }),
        "Where the files are. Several directories are dealt out to the clones in \
             turn.",
    ),
    OptionDef::new(
        "filename_format",
        "$jobname.$jobnum.$filenum",
        Kind::Text("a name", |d, text| {
            text.clone_into(&mut d.job.target.format);
            Ok(())
        }),
        "How files are called that are not named: `$jobname`, `$jobnum` (clone, \
             from 0) and `$filenum` are replaced.",
    ),
    OptionDef::new(
        "nrfiles",
        "1",
        Kind::Int(0..=MAX_FILES, |d, n| d.job.target.count = small(n).max(1)),
        "Number of files among which the region of the job is divided.",
    )
    .or(&["nr_files"]),
    OptionDef::new(
        "openfiles",
        "",
        Kind::Int(0..=MAX_FILES, |_, _| {}),
        "How many of them are open at a time; all where not said.",
    ),
    OptionDef::new(
        "file_service_type",
        "roundrobin",
        Kind::Text(
            "`roundrobin`, `sequential` or `random`, each with `:N`; `zipf`, `pareto`, `normal` or `gauss` as \
                    in `random_distribution`",
            service,
        ),
        "Which file comes next, after N operations on the one before. The law of favourites holds over 1024 ranks to \
             each file.",
    ),
    OptionDef::new(
        "fallocate",
        "native",
        Kind::Choice(
            &["none", "native", "posix", "keep", "truncate", "0", "1"],
            |d, w| {
                d.job.target.layout = match w {
                    "none" | "0" => Layout::Empty,
                    "keep" => Layout::Kept,
                    "truncate" => Layout::Sparse,
                    _ => Layout::Reserved,
                };
            },
        ),
        "How space is reserved for a new file that a job only writes; files that are read are written whole. `posix` is \
             `native`.",
    ),
    OptionDef::new(
        "fadvise_hint",
        "1",
        Kind::Choice(&["0", "1", "random", "sequential"], |d, w| {
            d.job.does.order_hint = match w {
                "0" => OrderHint::None,
                "random" => OrderHint::Random,
                "sequential" => OrderHint::Sequential,
                _ => OrderHint::AsPattern,
            };
        }),
        "What the kernel is told of the order to come, where the page cache takes \
             part: nothing, what the job does, or the word given.",
    ),
    OptionDef::new(
        "create_on_open",
        "0",
        Kind::Bool(|d, on| d.job.target.made_on_open = on),
        "Files that a job only writes begin empty, as if they were created when the work opens them.",
    ),
    OptionDef::new(
        "create_only",
        "0",
        Kind::Bool(|d, on| d.job.target.creates_only = on),
        "Files are laid out and nothing else is done.",
    ),
    OptionDef::new(
        "create_serialize",
        "1",
        Kind::Bool(|_, _| {}),
        "Jobs lay their files out one after the other.",
    ),
    OptionDef::new(
        "create_fsync",
        "1",
        Kind::Bool(|_, _| {}),
        "A file that was laid out is synced before the work starts.",
    ),
    OptionDef::new(
        "allow_file_create",
        "1",
        Kind::Bool(|d, on| d.job.target.may_create = on),
        "Files that are missing may be created.",
    ),
    OptionDef::new(
        "allow_mounted_write",
        "0",
        Kind::Bool(|d, on| {
            if on {
                d.warn(
                    "`allow_mounted_write=1` changes nothing: this program never writes to a \
             device that is in use",
                );
            }
        }),
        "Read and kept, but a device that is mounted or otherwise in use is never \
             written.",
    ),
    OptionDef::new(
        "overwrite",
        "0",
        Kind::Bool(|d, on| d.job.target.overwrites = on),
        "A file is written whole before a write job starts on it.",
    ),
    OptionDef::new(
        "file_append",
        "0",
        Kind::Bool(|_, _| {}),
        "Writes go behind the end of the file.",
    ),
    OptionDef::new(
        "invalidate",
        "1",
        Kind::Bool(|d, on| d.job.does.invalidate = on),
        "Cached pages of the files are dropped before the work, again each time that a \
             job has gone through a file, and before what was written is read back; dirty \
             ones stay.",
    ),
    OptionDef::new(
        "pre_read",
        "0",
        Kind::Bool(|d, on| {
            d.job.does.pre_read = on;
            if on {
                d.job.does.invalidate = false;
            }
        }),
        "Files are read into the cache before the work; `invalidate` is then off.",
    ),
    OptionDef::new(
        "unlink",
        "0",
        Kind::Bool(|d, on| d.job.target.unlinks = on),
        "Files are removed when the job has ended. Only files that this program \
             created are.",
    ),
    OptionDef::new(
        "unlink_each_loop",
        "0",
        Kind::Bool(|_, _| {}),
        "Files are removed after every one of the `loops`.",
    ),
];

fn filename(draft: &mut Draft, text: &str) -> Result<(), String> {
    let names = split_names(text);
    if names.is_empty() {
        return Err("at least one path".to_owned());
    }
    if names.iter().any(|name| name == "-") {
        return Err("a path; standard input and output are no storage".to_owned());
    }
    if names.len() > 4096 {
        return Err("at most 4096 paths".to_owned());
    }
    draft.job.target.filename = Some(text.to_owned());
    Ok(())
}

fn service(draft: &mut Draft, text: &str) -> Result<(), String> {
    let (word, ios) = text
        .split_once(':')
        .map_or((text, None), |(word, ios)| (word, Some(ios)));
    draft.job.does.files.order = match word {
        "roundrobin" => FileOrder::RoundRobin,
        "sequential" => FileOrder::Sequential,
        "random" => FileOrder::Random,
        word => match skewed(word, ios.unwrap_or(""))? {
            // What stands behind `:` is the law's.
            Some(law) => {
                draft.job.does.files.order = FileOrder::Favours(law);
                return Ok(());
            }
            None => {
                return Err(
                    "`roundrobin`, `sequential`, `random`, `zipf`, `pareto`, `normal` or `gauss`"
                        .to_owned(),
                );
            }
        },
    };
    if let Some(ios) = ios {
        let ios = ios
            .parse::<u64>()
            .map_err(|_| "a number of operations behind `:`".to_owned())?;
        draft.job.does.files.ops_per_file = ios.max(1);
    }
    Ok(())
}

/// Paths separated by `:`, where `\:` is a colon in a path.
pub(in super::super) fn split_names(text: &str) -> Vec<String> {
    let mut names = vec![String::new()];
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.peek() == Some(&':') => {
                letters.next();
                names.last_mut().expect("starts with one").push(':');
            }
            ':' => names.push(String::new()),
            letter => names.last_mut().expect("starts with one").push(letter),
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

/// Names the files of a clone, as fio does: the named ones, or the format filled in, in the clone's directory.
pub(in super::super) fn finish_files(job: &mut Job) {
    let directories = job
        .target
        .directory
        .as_deref()
        .map(split_names)
        .unwrap_or_default();
    let turn = directories.len().max(1);
    let clone = usize::try_from(job.clone).unwrap_or(0);
    let prefix = directories
        .get(clone % turn)
        .map_or_else(String::new, |dir| format!("{}/", dir.trim_end_matches('/')));
    let names = match &job.target.filename {
        _ if job.does.engine.has_no_operations() => Vec::new(),
        Some(names) => split_names(names),
        None => (0..job.target.count)
            .map(|file| generated(job, file))
            .collect(),
    };
    // As in fio, a directory goes in front of an absolute name too.
    job.target.files = names
        .into_iter()
        .map(|name| {
            format!(
                "{prefix}{}",
                name.trim_start_matches(|c| c == '/' && !prefix.is_empty())
            )
        })
        .collect();
}

/// The name of a file that nobody named.
pub(in super::super) fn generated(job: &Job, file: u32) -> String {
    job.target
        .format
        .replace("$jobname", &job.name)
        .replace("$jobnum", &job.clone.to_string())
        .replace("$filenum", &file.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_split_at_colons_but_not_at_escaped_ones() {
        let check = |text: &str, expect: &[&str]| assert_eq!(split_names(text), expect, "{text}");
        check("/dev/sda:/dev/sdb", &["/dev/sda", "/dev/sdb"]);
        check(
            r"/dev/disk/by-path/pci-0000\:00\:1f.2",
            &["/dev/disk/by-path/pci-0000:00:1f.2"],
        );
        check("a::b:", &["a", "b"]);
        check(r"a\b", &[r"a\b"]);
        check(":", &[]);
    }

    #[test]
    fn clones_get_the_files_that_fio_creates() {
        // Names as listed after real runs of fio 3.33.
        let check = |set: fn(&mut Job), clone: u32, expect: &[&str]| {
            let mut job = Job {
                name: "j".to_owned(),
                clone,
                clones: 3,
                ..Job::default()
            };
            set(&mut job);
            finish_files(&mut job);
            assert_eq!(job.target.files, expect);
        };
        check(|_| {}, 1, &["j.1.0"]);
        check(|job| job.target.count = 2, 0, &["j.0.0", "j.0.1"]);
        check(
            |job| job.target.format = "$jobname-$jobnum.$filenum.x".to_owned(),
            1,
            &["j-1.0.x"],
        );
        check(
            |job| job.target.directory = Some("/e:/d".to_owned()),
            1,
            &["/d/j.1.0"],
        );
        check(
            |job| job.target.directory = Some("/e:/d".to_owned()),
            2,
            &["/e/j.2.0"],
        );
        check(
            |job| job.target.filename = Some("x:y".to_owned()),
            2,
            &["x", "y"],
        );
        let both = |job: &mut Job| {
            job.target.directory = Some("/e".to_owned());
            job.target.filename = Some("/tmp/zz".to_owned());
        };
        check(both, 0, &["/e/tmp/zz"]);
    }
}
