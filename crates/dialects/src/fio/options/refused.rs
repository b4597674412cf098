//! Options of fio that are known and refused: what they do is not done here, and leaving it out would change the work.
//! A value that asks for nothing, as fio's own default does, changes nothing and is noted.

use super::OptionDef;
use super::Takes::{Flag, Value};

const TRACES: &str = "recorded traces are not supported";
const ZBD: &str = "zoned block devices are not supported";
const PRIORITY: &str = "priorities are not set";
const COMMANDS: &str = "no command of a job file is executed";
const FLOW: &str = "jobs that hold each other back are not supported";
const TRIM: &str = "trims among verified writes are not supported";

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::refused(
        "bs_is_seq_rand",
        Value,
        "The two sizes of `bs` are for operations in sequence and at random, instead of reads and writes.",
        "sizes go by direction",
    )
    .instead("bs")
    .but(&["0"]),
    OptionDef::refused(
        "wait_for",
        Value,
        "Waits for one named job.",
        "jobs wait for all before them or for none",
    )
    .instead("stonewall"),
    OptionDef::refused(
        "lockfile",
        Value,
        "Locks files between jobs.",
        "files are not locked",
    )
    .but(&["none"]),
    OptionDef::refused(
        "opendir",
        Value,
        "Uses every file below a directory.",
        "files are named one by one",
    )
    .instead("filename"),
    OptionDef::refused(
        "ignore_error",
        Value,
        "Single error numbers that do not end the job.",
        "errors are let pass by kind",
    )
    .instead("continue_on_error"),
    OptionDef::refused(
        "write_barrier",
        Value,
        "Barriers among the writes.",
        "the kernel no longer has them",
    )
    .instead("fdatasync")
    .but(&["0"]),
    OptionDef::refused(
        "sync_file_range",
        Value,
        "Writes ranges back early.",
        "it is no durability",
    )
    .instead("fdatasync"),
    OptionDef::refused(
        "atomic",
        Value,
        "Atomic writes.",
        "atomic writes are not supported",
    )
    .instead("direct")
    .but(&["0"]),
    OptionDef::refused(
        "uncached",
        Value,
        "Buffered and dropped from the cache.",
        "not in the kernels supported",
    )
    .instead("direct")
    .but(&["0"]),
    OptionDef::refused(
        "nowait",
        Value,
        "Fails instead of waiting.",
        "operations always wait",
    )
    .but(&["0"]),
    OptionDef::refused(
        "force_async",
        Value,
        "Forces requests into worker threads.",
        "requests go the kernel's way",
    )
    .but(&["0"]),
    OptionDef::refused(
        "hipri_percentage",
        Value,
        "Polls for a share of operations.",
        "all or none are polled",
    )
    .instead("hipri"),
    OptionDef::refused(
        "userspace_reap",
        Flag,
        "Reads completions from the ring without a system call.",
        "not needed with io_uring",
    )
    .instead("ioengine"),
    OptionDef::refused(
        "cmdprio_percentage",
        Value,
        "Priorities of a share of operations.",
        PRIORITY,
    ),
    OptionDef::refused("cmdprio_class", Value, "The class of those.", PRIORITY),
    OptionDef::refused("cmdprio", Value, "The level of those.", PRIORITY),
    OptionDef::refused("cmdprio_bssplit", Value, "Priorities by size.", PRIORITY),
    OptionDef::refused("prio", Value, "Level of I/O priority.", PRIORITY),
    OptionDef::refused("prioclass", Value, "Class of I/O priority.", PRIORITY),
    OptionDef::refused("priohint", Value, "Hint of I/O priority.", PRIORITY),
    OptionDef::refused("nice", Value, "CPU priority.", PRIORITY)
    .but(&["0"]),
    OptionDef::refused(
        "ioscheduler",
        Value,
        "Changes the scheduler of the device.",
        "settings of the machine are not changed",
    ),
    OptionDef::refused(
        "cgroup",
        Value,
        "Runs in a cgroup.",
        "settings of the machine are not changed",
    ),
    OptionDef::refused(
        "cgroup_weight",
        Value,
        "Weight of that cgroup.",
        "settings of the machine are not changed",
    ),
    OptionDef::refused(
        "cgroup_nodelete",
        Value,
        "Keeps that cgroup.",
        "settings of the machine are not changed",
    )
    .but(&["0"]),
    OptionDef::refused(
        "uid",
        Value,
        "Runs as another user.",
        "jobs run as the user who starts them",
    ),
    OptionDef::refused(
        "gid",
        Value,
        "Runs as another group.",
        "jobs run as the user who starts them",
    ),
    OptionDef::refused(
        "numa_cpu_nodes",
        Value,
        "NUMA nodes to run on.",
        "nodes are not bound",
    )
    .instead("cpus_allowed"),
    OptionDef::refused(
        "numa_mem_policy",
        Value,
        "NUMA nodes of the memory.",
        "nodes are not bound",
    ),
    OptionDef::refused(
        "iomem_align",
        Value,
        "Alignment of buffers.",
        "buffers start at a page",
    )
    .or(&["mem_align"])
    .instead("direct")
    .but(&["0", "512", "1024", "2048", "4096", "1k", "2k", "4k"]),
    OptionDef::refused("exec_prerun", Value, "A command before the job.", COMMANDS),
    OptionDef::refused("exec_postrun", Value, "A command after the job.", COMMANDS),
    OptionDef::refused(
        "profile",
        Value,
        "A built-in set of jobs.",
        "fio's built-in profiles are not supported",
    ),
    OptionDef::refused("flow", Value, "Balance between jobs.", FLOW).instead("rate_iops")
    .but(&["0"]),
    OptionDef::refused("flow_id", Value, "Which jobs are balanced.", FLOW)
    .but(&["0"]),
    OptionDef::refused("flow_sleep", Value, "Pause of a job that is ahead.", FLOW)
    .but(&["0"]),
    OptionDef::refused("flow_watermark", Value, "How far a job may be ahead.", FLOW),
    OptionDef::refused("read_iolog", Value, "Replays a trace.", TRACES),
    OptionDef::refused("write_iolog", Value, "Records a trace.", TRACES),
    OptionDef::refused(
        "read_iolog_chunked",
        Value,
        "Replays a trace in parts.",
        TRACES,
    )
    .but(&["0"]),
    OptionDef::refused("replay_no_stall", Value, "Replays without pauses.", TRACES)
    .but(&["0"]),
    OptionDef::refused(
        "replay_redirect",
        Value,
        "Replays on another device.",
        TRACES,
    ),
    OptionDef::refused("replay_scale", Value, "Scales replayed offsets.", TRACES)
    .but(&["1"]),
    OptionDef::refused("replay_align", Value, "Aligns replayed offsets.", TRACES),
    OptionDef::refused("replay_time_scale", Value, "Scales replayed time.", TRACES)
    .but(&["100"]),
    OptionDef::refused(
        "replay_skip",
        Value,
        "Leaves kinds of operations out.",
        TRACES,
    ),
    OptionDef::refused("merge_blktrace_file", Value, "Merges traces.", TRACES),
    OptionDef::refused(
        "merge_blktrace_scalars",
        Value,
        "Scales merged traces.",
        TRACES,
    ),
    OptionDef::refused(
        "merge_blktrace_iters",
        Value,
        "Repeats merged traces.",
        TRACES,
    ),
    OptionDef::refused("zonecapacity", Value, "Usable part of a zone.", ZBD).instead("zonesize"),
    OptionDef::refused(
        "read_beyond_wp",
        Value,
        "Reads behind the write pointer.",
        ZBD,
    )
    .but(&["0"]),
    OptionDef::refused("max_open_zones", Value, "Open zones at most.", ZBD)
    .but(&["0"]),
    OptionDef::refused(
        "job_max_open_zones",
        Value,
        "Open zones of a job at most.",
        ZBD,
    )
    .but(&["0"]),
    OptionDef::refused(
        "ignore_zone_limits",
        Value,
        "Ignores the device's limits.",
        ZBD,
    )
    .but(&["0"]),
    OptionDef::refused("zone_reset_threshold", Value, "When zones are reset.", ZBD),
    OptionDef::refused(
        "zone_reset_frequency",
        Value,
        "How often zones are reset.",
        ZBD,
    ),
    OptionDef::refused(
        "verify_state_load",
        Value,
        "Continues an interrupted check.",
        "a check starts from the beginning",
    )
    .instead("verify_only"),
    OptionDef::refused(
        "trim_percentage",
        Value,
        "Trims a share of verified blocks.",
        TRIM,
    )
    .but(&["0"]),
    OptionDef::refused(
        "trim_verify_zero",
        Value,
        "Trimmed blocks must read as zeros.",
        TRIM,
    )
    .but(&["1"]),
    OptionDef::refused("trim_backlog", Value, "Trims after so many blocks.", TRIM),
    OptionDef::refused(
        "trim_backlog_batch",
        Value,
        "How many are trimmed then.",
        TRIM,
    ),
    OptionDef::refused(
        "dedupe_mode",
        Value,
        "Which earlier buffers are repeated.",
        "the one before is repeated",
    )
    .instead("dedupe_percentage")
    .but(&["repeat"]),
    OptionDef::refused(
        "dedupe_working_set_percentage",
        Value,
        "From how many buffers.",
        "the one before is repeated",
    )
    .instead("dedupe_percentage")
    .but(&["5"]),
    OptionDef::refused(
        "dedupe_global",
        Value,
        "Across jobs.",
        "each job has its own data",
    )
    .instead("dedupe_percentage")
    .but(&["0"]),
];
