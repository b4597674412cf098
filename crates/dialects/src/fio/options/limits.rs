//! What of the language the storage engine does not do.
//!
//! The parser reads more than can be carried out, so that every job file is understood. One table says what is then
//! refused and what changes nothing; docs/fio.md is written from it and every job is checked against it, so that the
//! two cannot differ. Nothing is ever read and forgotten.

use super::super::error::Error;
use super::super::job::{Extent, Job};
use super::super::plan::{Plan, Remark};
use super::{OptionDef, Status};

/// What of an option is not carried out.
#[derive(Debug)]
pub struct Limit {
    /// The option's main name.
    pub option: &'static str,
    /// How far it reaches.
    pub reach: Reach,
    /// Whether a job is concerned.
    applies: fn(&Job) -> bool,
    /// Why.
    pub why: &'static str,
    /// What to use instead, where there is something.
    pub instead: Option<&'static str>,
}

/// How far a limit reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every value but the default is refused.
    Refused,
    /// Some values are refused, or some company of other options.
    RefusedInPart,
    /// No value changes anything.
    Noted,
    /// Some values change nothing.
    NotedInPart,
}

/// What an option comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is carried out.
    Supported,
    /// It is, and there are limits.
    InPart,
    /// It is accepted and changes nothing.
    Noted,
    /// It is refused.
    Refused,
}

impl OptionDef {
    /// What of it is not carried out.
    pub fn limits(&self) -> impl Iterator<Item = &'static Limit> + use<> {
        let name = self.name;
        LIMITS.iter().filter(move |limit| limit.option == name)
    }

    /// What it comes to.
    pub fn standing(&self) -> Standing {
        match self.status {
            Status::Noted { .. } => return Standing::Noted,
            Status::Refused { .. } => return Standing::Refused,
            Status::Supported(_) => {}
        }
        let reaches: Vec<Reach> = self.limits().map(|limit| limit.reach).collect();
        if reaches.contains(&Reach::Refused) {
            Standing::Refused
        } else if reaches.contains(&Reach::Noted) {
            Standing::Noted
        } else if reaches.is_empty() {
            Standing::Supported
        } else {
            Standing::InPart
        }
    }
}

/// Checks every job of a plan: an error for the first that cannot be carried out, and a remark for each option that
/// changes nothing.
pub fn check_limits(plan: &Plan) -> Result<Vec<Remark>, Error> {
    let mut remarks: Vec<Remark> = Vec::new();
    for job in plan.jobs().filter(|job| job.clone == 0) {
        for limit in LIMITS.iter().filter(|limit| (limit.applies)(job)) {
            let setting = job.setting(limit.option);
            let place = setting.map_or_else(|| job.place.clone(), |setting| setting.place.clone());
            if matches!(limit.reach, Reach::Refused | Reach::RefusedInPart) {
                return Err(Error::Refused {
                    place,
                    option: limit.option.to_owned(),
                    reason: limit.why.to_owned(),
                    nearest: limit.instead,
                });
            }
            let text = format!("`{}` changes nothing here: {}", limit.option, limit.why);
            let remark = Remark { place, text };
            // A default for all jobs is one place.
            if !remarks.contains(&remark) {
                remarks.push(remark);
            }
        }
    }
    Ok(remarks)
}

const fn refused(option: &'static str, applies: fn(&Job) -> bool, why: &'static str) -> Limit {
    limit(option, Reach::Refused, applies, why)
}

const fn in_part(option: &'static str, applies: fn(&Job) -> bool, why: &'static str) -> Limit {
    limit(option, Reach::RefusedInPart, applies, why)
}

const fn noted(option: &'static str, applies: fn(&Job) -> bool, why: &'static str) -> Limit {
    limit(option, Reach::Noted, applies, why)
}

const fn limit(
    option: &'static str,
    reach: Reach,
    applies: fn(&Job) -> bool,
    why: &'static str,
) -> Limit {
    Limit {
        option,
        reach,
        applies,
        why,
        instead: None,
    }
}

fn offloads(job: &Job) -> bool {
    job.written("io_submit_mode") == Some("offload")
}

impl Limit {
    const fn instead(mut self, option: &'static str) -> Self {
        self.instead = Some(option);
        self
    }
}

const READ_TOO: &str = "files that are read are written whole before, so that nothing is read from a place that was \
                        never written";

/// The table.
pub static LIMITS: &[Limit] = &[
    noted(
        "random_generator",
        |job| job.has("random_generator"),
        "the order of offsets is this program's own, and needs no map",
    ),
    limit(
        "randrepeat",
        Reach::NotedInPart,
        |job| job.verify.is_on && !job.is_repeatable(),
        "with `verify` the work is the same in every run, so that a later check finds the blocks",
    ),
    in_part(
        "verify_pattern",
        |job| {
            job.verify.pattern.is_some() && !job.verify.is_on
        },
        "without `verify` it means `verify=pattern_hdr` to fio, which is not supported",
    )
    .instead("verify"),
    // How much is done.
    noted(
        "zonemode",
        |job| job.has("zonemode"),
        "the work moves zone by zone where `zonesize` is given",
    ),
    // Files.
    noted(
        "openfiles",
        |job| job.number("openfiles").is_some_and(|n| n > 0),
        "all files of a job are open",
    ),
    limit(
        "fallocate",
        Reach::NotedInPart,
        |job| job.has("fallocate") && !job.leaves_unwritten(),
        READ_TOO,
    ),
    limit(
        "create_on_open",
        Reach::NotedInPart,
        |job| job.number("create_on_open") == Some(1) && !job.leaves_unwritten(),
        READ_TOO,
    ),
    limit(
        "dedupe_mode",
        Reach::NotedInPart,
        |job| {
            let is_set = job.data.equal.is_set;
            is_set && (job.does.redundancy.dedupe_percent == 0 || !job.does.writes())
        },
        "only writes with a `dedupe_percentage` draw from the set; files that are laid out repeat one block",
    ),
    limit(
        "dedupe_working_set_percentage",
        Reach::NotedInPart,
        |job| job.has("dedupe_working_set_percentage") && !job.data.equal.is_set,
        "without `dedupe_mode=working_set` there is no set",
    ),
    limit(
        "dedupe_global",
        Reach::NotedInPart,
        |job| job.data.equal.is_shared && !job.data.equal.is_set,
        "without `dedupe_mode=working_set` there is no set",
    ),
    noted(
        "create_serialize",
        |job| job.number("create_serialize") == Some(0),
        "how files are laid out is not part of what is measured",
    ),
    noted(
        "create_fsync",
        |job| job.number("create_fsync") == Some(0),
        "a file that is written before the work is synced in any case",
    ),
    noted(
        "allow_mounted_write",
        |job| job.number("allow_mounted_write") == Some(1),
        "a device that is in use is never written",
    ),
    refused(
        "file_append",
        |job| job.number("file_append") == Some(1),
        "files keep their size",
    )
    .instead("rw"),
    refused(
        "unlink_each_loop",
        |job| job.number("unlink_each_loop") == Some(1),
        "files stay until the end of the run",
    )
    .instead("unlink"),
    // Engine and queue.
    in_part(
        "io_submit_mode",
        |job| {
            offloads(job) && job.does.is_synchronous() && job.does.depth > 1
        },
        "a synchronous engine has one operation at a time, whoever submits it: for a queue use io_uring or libaio",
    )
    .instead("ioengine"),
    limit(
        "io_submit_mode",
        Reach::NotedInPart,
        offloads,
        "one thread submits; what `offload` is for, that latencies count from the intended start, holds in any case \
         where there is a rate",
    ),
    refused(
        "sqthread_poll_cpu",
        |job| job.has("sqthread_poll_cpu"),
        "the kernel chooses the CPU of its thread",
    )
    .instead("sqthread_poll"),
    noted(
        "nonvectored",
        |job| job.number("nonvectored") == Some(0),
        "operations have one buffer",
    ),
    noted(
        "mem",
        |job| job.has("mem"),
        "buffers are private page-aligned memory",
    ),
    // Jobs, start and end.
    limit(
        "thread",
        Reach::NotedInPart,
        |job| job.is_thread && !job.shares_process(),
        "clones are processes, except where `group_reporting` makes one result of clones on one `filename`",
    ),
    limit(
        "iopsavgtime",
        Reach::NotedInPart,
        |job| {
            let reporting = &job.reporting;
            job.has("iopsavgtime")
                && job.has("bwavgtime")
                && reporting.iops_window_ns != reporting.bw_window_ns
        },
        "rate and bandwidth are looked at together, over the shorter window of the two",
    ),
    limit(
        "log_avg_msec",
        Reach::NotedInPart,
        |job| job.reporting.logs.any() && job.reporting.logs.window_ms == 0,
        "without a length, windows of 100 ms are logged and not every operation",
    ),
    in_part(
        "log_max_value",
        |job| job.written("log_max_value") == Some("both"),
        "a line has one value: `avg` or `max`",
    ),
    // Data.
    noted(
        "verify_dump",
        |job| job.number("verify_dump") == Some(1),
        "what does not match is named by its place, and not kept",
    ),
    noted(
        "verify_state_save",
        |job| job.has("verify_state_save"),
        "no state is kept: `verify_only` checks without one",
    ),
    in_part(
        "buffer_compress_chunk",
        |job| !matches!(job.number("buffer_compress_chunk"), None | Some(512 | 4096)),
        "the share holds over 4096 bytes",
    ),
    limit(
        "buffer_compress_chunk",
        Reach::NotedInPart,
        |job| job.has("buffer_compress_chunk"),
        "the share holds over 4096 bytes",
    ),
    limit(
        "offset_align",
        Reach::NotedInPart,
        |job| job.amount.offset_align_bytes > 0 && matches!(job.amount.offset, Extent::Bytes(_)),
        "it rounds offsets that are given as a share",
    ),
];

#[cfg(test)]
mod tests {
    use super::super::{all, find};
    use super::*;
    use crate::fio::testkit::{file, line};

    #[test]
    fn every_limit_belongs_to_an_option_that_is_read_and_hints_name_ones_that_are_done() {
        for limit in LIMITS {
            let def = find(limit.option).unwrap_or_else(|| panic!("{}", limit.option));
            assert_eq!(def.name, limit.option, "its main name");
            assert!(matches!(def.status, Status::Supported(_)), "{}", def.name);
            if let Some(instead) = limit.instead {
                let standing = find(instead).unwrap().standing();
                assert!(
                    matches!(standing, Standing::Supported | Standing::InPart),
                    "{}: {instead}",
                    limit.option
                );
            }
        }
    }

    #[test]
    fn the_defaults_are_within_every_limit() {
        let plan = line("--name=a --size=1m").unwrap();
        assert_eq!(check_limits(&plan).unwrap(), []);
        assert!(
            all()
                .filter(|def| def.standing() == Standing::Supported)
                .count()
                > 60
        );
    }

    #[test]
    fn what_is_not_done_is_refused_at_its_place_or_said() {
        let check = |text: &str, expect: Result<&str, &str>| {
            let plan = file(text).unwrap();
            let found = check_limits(&plan);
            match (&found, expect) {
                (Ok(remarks), Ok(words)) => {
                    assert!(
                        remarks.iter().any(|r| r.to_string().contains(words)),
                        "{found:?}"
                    );
                }
                (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
                _ => panic!("{text}: {found:?}"),
            }
        };
        check(
            "[global]
file_append=1
[a]
size=1m
",
            Err("line 2: option `file_append`"),
        );
        check(
            "[a]\nsize=1m\niodepth=8\nio_submit_mode=offload\n",
            Err("one operation at a time, whoever submits it"),
        );
        check(
            "[a]\nsize=1m\nioengine=libaio\niodepth=8\nio_submit_mode=offload\n",
            Ok("line 5: `io_submit_mode` changes nothing"),
        );
        check(
            "[a]\nsize=1m\nfallocate=none\n",
            Ok("line 3: `fallocate` changes nothing here: files that are read are written whole"),
        );
        check(
            "[a]\nsize=1m\nunlink_each_loop=1\n",
            Err("hint: the nearest supported option is `unlink`"),
        );
    }
}
