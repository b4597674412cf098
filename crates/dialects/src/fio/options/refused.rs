//! Options of fio that are known and refused: what they do is not done here, and leaving it out would change the work.
//! A value that asks for nothing, as fio's own default does, changes nothing and is noted.

use super::OptionDef;

const fn no(name: &'static str, doc: &'static str, why: &'static str) -> OptionDef {
    OptionDef::refused(name, doc, why)
}

const fn trace(name: &'static str, doc: &'static str) -> OptionDef {
    no(name, doc, "recorded traces are not supported")
}

const fn zoned(name: &'static str, doc: &'static str) -> OptionDef {
    no(name, doc, "zoned block devices are not supported")
}

const fn command(name: &'static str, doc: &'static str) -> OptionDef {
    no(name, doc, "no command of a job file is executed")
}

const fn trim(name: &'static str, doc: &'static str) -> OptionDef {
    no(name, doc, "trims among verified writes are not supported")
}

const fn machine(name: &'static str, doc: &'static str) -> OptionDef {
    no(name, doc, "settings of the machine are not changed")
}

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    no(
        "bs_is_seq_rand",
        "The two sizes of `bs` are for operations in sequence and at random, instead of reads and \
         writes.",
        "sizes go by direction",
    )
    .instead("bs")
    .but(&["0"]),
    no(
        "lockfile",
        "Locks files between jobs.",
        "files are not locked",
    )
    .but(&["none"]),
    no(
        "opendir",
        "Uses every file below a directory.",
        "files are named one by one",
    )
    .instead("filename"),
    no(
        "write_barrier",
        "Barriers among the writes.",
        "the kernel no longer has them",
    )
    .instead("fdatasync")
    .but(&["0"]),
    no(
        "sync_file_range",
        "Writes ranges back early.",
        "it is no durability",
    )
    .instead("fdatasync"),
    no(
        "atomic",
        "Atomic writes.",
        "atomic writes are not supported",
    )
    .instead("direct")
    .but(&["0"]),
    no(
        "uncached",
        "Buffered and dropped from the cache.",
        "not in the kernels supported",
    )
    .instead("direct")
    .but(&["0"]),
    no(
        "nowait",
        "Fails instead of waiting.",
        "operations always wait",
    )
    .but(&["0"]),
    no(
        "force_async",
        "Forces requests into worker threads.",
        "requests go the kernel's way",
    )
    .but(&["0"]),
    no(
        "hipri_percentage",
        "Polls for a share of operations.",
        "all or none are polled",
    )
    .instead("hipri"),
    no(
        "userspace_reap",
        "Reads completions from the ring without a system call.",
        "not needed with io_uring",
    )
    .alone()
    .instead("ioengine")
    .but(&["0"]),
    no(
        "priohint",
        "Hint of I/O priority.",
        "hints of priorities are not supported",
    )
    .instead("prio"),
    machine("cgroup", "Runs in a cgroup."),
    machine("cgroup_weight", "Weight of that cgroup."),
    machine("cgroup_nodelete", "Keeps that cgroup.").but(&["0"]),
    no(
        "uid",
        "Runs as another user.",
        "jobs run as the user who starts them",
    ),
    no(
        "gid",
        "Runs as another group.",
        "jobs run as the user who starts them",
    ),
    no(
        "iomem_align",
        "Alignment of buffers.",
        "buffers start at a page",
    )
    .or(&["mem_align"])
    .instead("direct")
    .but(&["0", "512", "1024", "2048", "4096", "1k", "2k", "4k"]),
    command("exec_prerun", "A command before the job."),
    command("exec_postrun", "A command after the job."),
    no(
        "profile",
        "A built-in set of jobs.",
        "fio's built-in profiles are not supported",
    ),
    no(
        "flow_watermark",
        "How far a job may be ahead.",
        "a job that is ahead waits at once",
    )
    .instead("flow")
    .but(&["1024"]),
    trace("read_iolog", "Replays a trace."),
    trace("write_iolog", "Records a trace."),
    trace("read_iolog_chunked", "Replays a trace in parts.").but(&["0"]),
    trace("replay_no_stall", "Replays without pauses.").but(&["0"]),
    trace("replay_redirect", "Replays on another device."),
    trace("replay_scale", "Scales replayed offsets.").but(&["1"]),
    trace("replay_align", "Aligns replayed offsets."),
    trace("replay_time_scale", "Scales replayed time.").but(&["100"]),
    trace("replay_skip", "Leaves kinds of operations out."),
    trace("merge_blktrace_file", "Merges traces."),
    trace("merge_blktrace_scalars", "Scales merged traces."),
    trace("merge_blktrace_iters", "Repeats merged traces."),
    zoned("zonecapacity", "Usable part of a zone.").instead("zonesize"),
    zoned("read_beyond_wp", "Reads behind the write pointer.").but(&["0"]),
    zoned("max_open_zones", "Open zones at most.").but(&["0"]),
    zoned("job_max_open_zones", "Open zones of a job at most.").but(&["0"]),
    zoned("ignore_zone_limits", "Ignores the device's limits.").but(&["0"]),
    zoned("zone_reset_threshold", "When zones are reset.").but(&["0"]),
    zoned("zone_reset_frequency", "How often zones are reset.").but(&["0"]),
    no(
        "verify_state_load",
        "Continues an interrupted check.",
        "a check starts from the beginning",
    )
    .instead("verify_only")
    .but(&["0"]),
    no(
        "exit_on_io_done",
        "Ends a job of `cpuio` when no other job goes on.",
        "a job of `cpuio` ends by its time",
    )
    .instead("runtime")
    .but(&["0"]),
    trim("trim_percentage", "Trims a share of verified blocks.").but(&["0"]),
    trim("trim_verify_zero", "Trimmed blocks must read as zeros.").but(&["1"]),
    trim("trim_backlog", "Trims after so many blocks.").but(&["0"]),
    trim("trim_backlog_batch", "How many are trimmed then.").but(&["0"]),
];
