//! fio's engines: those that are here, and each of the others with why it is not.
//!
//! One table: what `ioengine` takes, the refusals, `--enghelp` and docs/fio.md come from it.

use super::{OptionDef, Standing, find};
use model::job::IoEngine;

/// An engine of fio.
#[derive(Debug)]
pub struct Engine {
    /// Its names, the main one first.
    pub names: &'static [&'static str],
    /// What it is.
    pub doc: &'static str,
    /// What does it here, or why nothing does.
    pub here: Here,
}

/// Whether an engine is here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Here {
    /// It is.
    Done(IoEngine),
    /// It is for this hardware, or for a server or a library that speaks to one.
    Needs(&'static str),
    /// It does something else than an engine here does, or something that is not to be done.
    Refused(&'static str),
}

const fn done(names: &'static [&'static str], engine: IoEngine, doc: &'static str) -> Engine {
    Engine {
        names,
        doc,
        here: Here::Done(engine),
    }
}

const fn needs(names: &'static [&'static str], doc: &'static str, what: &'static str) -> Engine {
    Engine {
        names,
        doc,
        here: Here::Needs(what),
    }
}

const fn refused(names: &'static [&'static str], doc: &'static str, why: &'static str) -> Engine {
    Engine {
        names,
        doc,
        here: Here::Refused(why),
    }
}

/// The engines, those that are here first.
pub static ENGINES: &[Engine] = &[
    done(
        &["cpuio"],
        IoEngine::Cpu,
        "keeps a CPU busy for a share of the time; nothing is read or written",
    ),
    done(
        &["dircreate"],
        IoEngine::DirCreate,
        "makes directories: each is one operation",
    ),
    done(
        &["dirdelete"],
        IoEngine::DirDelete,
        "removes directories that are there",
    ),
    done(
        &["dirstat"],
        IoEngine::DirStat,
        "looks at directories with stat",
    ),
    done(
        &["e4defrag"],
        IoEngine::Defrag,
        "moves extents of files of ext4 as a defragmenter does, in the place of writes; the data stays",
    ),
    done(
        &["exec"],
        IoEngine::Exec,
        "executes a program beside the other jobs, with `--allow-exec` alone; nothing is read or written",
    ),
    done(
        &["falloc"],
        IoEngine::Falloc,
        "fallocate of the range: a write gets room, a read gets room behind the end too, a trim gives it back",
    ),
    done(
        &["filecreate"],
        IoEngine::FileCreate,
        "makes files: each is one operation",
    ),
    done(
        &["filedelete"],
        IoEngine::FileDelete,
        "removes files that are there",
    ),
    done(
        &["filestat"],
        IoEngine::FileStat,
        "looks at files with stat",
    ),
    done(
        &["ftruncate"],
        IoEngine::Ftruncate,
        "ftruncate to the offset of each write",
    ),
    done(
        &["io_uring"],
        IoEngine::IoUring,
        "io_uring_enter: many operations at a time",
    ),
    done(
        &["libaio", "aio", "linuxaio"],
        IoEngine::Libaio,
        "io_submit and io_getevents: many operations at a time",
    ),
    done(
        &["mmap"],
        IoEngine::Mmap,
        "files lie in memory, operations copy, and a sync is msync",
    ),
    done(
        &["null", "cpp_null"],
        IoEngine::Null,
        "nothing is transferred: what the program itself costs",
    ),
    done(
        &["posixaio"],
        IoEngine::IoUring,
        "many operations at a time, through io_uring, or libaio where that is not allowed: not through threads of the \
         C library",
    ),
    done(
        &["psync"],
        IoEngine::Psync,
        "pread and pwrite, one at a time; the default",
    ),
    done(
        &["pvsync"],
        IoEngine::Pvsync2,
        "preadv2 and pwritev2, one at a time",
    ),
    done(
        &["pvsync2"],
        IoEngine::Pvsync2,
        "preadv2 and pwritev2, one at a time; can poll (hipri)",
    ),
    done(
        &["sync"],
        IoEngine::Psync,
        "pread and pwrite, one at a time",
    ),
    done(
        &["vsync"],
        IoEngine::Pvsync2,
        "preadv2 and pwritev2, one at a time",
    ),
    refused(
        &["splice"],
        "splice between files and pipes",
        "no engine here moves data without buffers",
    ),
    refused(
        &["external"],
        "an engine from a file",
        "no code of others is loaded",
    ),
    needs(
        &["io_uring_cmd"],
        "commands past the block layer",
        "NVMe character devices",
    ),
    needs(&["sg"], "SCSI commands", "SCSI devices"),
    needs(
        &["dev-dax"],
        "persistent memory as a device",
        "persistent memory",
    ),
    needs(
        &["libpmem", "pmemblk"],
        "persistent memory through its library",
        "persistent memory",
    ),
    needs(
        &["libzbc"],
        "zoned disks through their library",
        "zoned block devices",
    ),
    needs(
        &["mtd"],
        "flash memory without a controller",
        "raw flash memory",
    ),
    needs(&["libcufile"], "storage to the memory of a GPU", "a GPU"),
    needs(
        &["rdma"],
        "transfers between the memories of two hosts",
        "RDMA adapters",
    ),
    needs(
        &[
            "librpma_apm_client",
            "librpma_apm_server",
            "librpma_gpspm_client",
            "librpma_gpspm_server",
        ],
        "persistent memory of another host",
        "RDMA adapters and persistent memory",
    ),
    needs(
        &["xnvme"],
        "NVMe through a library",
        "NVMe devices of their own",
    ),
    needs(
        &["libblkio"],
        "block devices through a library",
        "devices behind VFIO or vhost",
    ),
    needs(
        &["binject"],
        "errors from a kernel module of fio's",
        "a kernel module that none has any more",
    ),
    needs(&["net", "netsplice"], "data over the network", "a peer"),
    needs(&["rbd", "rados"], "Ceph", "a Ceph cluster"),
    needs(&["gfapi", "gfapi_async"], "Gluster", "a Gluster volume"),
    needs(&["libhdfs"], "HDFS", "a Hadoop cluster"),
    needs(&["libiscsi"], "iSCSI", "an iSCSI target"),
    needs(&["nbd"], "network block devices", "an NBD server"),
    needs(
        &["nfs"],
        "NFS past the kernel",
        "an NFS server; through the kernel, name its files",
    ),
    needs(&["http"], "WebDAV, S3 and Swift", "a web server"),
    needs(&["dfs"], "DAOS", "a DAOS cluster"),
    needs(
        &["ime_psync", "ime_psyncv", "ime_aio"],
        "DDN's burst buffer",
        "an IME cluster",
    ),
    refused(
        &["windowsaio", "solarisaio", "guasi"],
        "engines of other systems",
        "they are none of Linux",
    ),
];

/// The engine of this name.
pub fn engine(name: &str) -> Option<&'static Engine> {
    let name = if name.starts_with("external:") {
        "external"
    } else {
        name
    };
    ENGINES.iter().find(|engine| engine.names.contains(&name))
}

impl Engine {
    /// Why it is not here; `None` where it is.
    pub fn refusal(&self) -> Option<String> {
        match self.here {
            Here::Done(_) => None,
            Here::Needs(what) => Some(format!("it needs {what}")),
            Here::Refused(why) => Some(why.to_owned()),
        }
    }
}

/// Options that only some engines have, with the engines by their main names.
static OWN: &[(&[&str], &[&str])] = &[
    (&["stat_type"], &["dirstat", "filestat"]),
    (&["cpuload", "cpuchunks", "cpumode"], &["cpuio"]),
    (
        &["program", "arguments", "grace_time", "std_redirect"],
        &["exec"],
    ),
    (&["inplace", "donorname"], &["e4defrag"]),
    (&["hipri"], &["io_uring", "pvsync2"]),
    (
        &[
            "cmdprio_percentage",
            "cmdprio_class",
            "cmdprio",
            "cmdprio_bssplit",
        ],
        &["io_uring", "libaio"],
    ),
    (
        &[
            "fixedbufs",
            "registerfiles",
            "sqthread_poll",
            "sqthread_poll_cpu",
            "nonvectored",
        ],
        &["io_uring"],
    ),
];

/// Whether the engine of this main name has this option, as it has those that belong to none.
pub(in super::super) fn has(engine: &str, option: &str) -> bool {
    let own = OWN.iter().find(|(options, _)| options.contains(&option));
    own.is_none_or(|(_, engines)| engines.contains(&engine))
}

/// The options that this engine has and others have not, but for those that are refused.
pub fn options(engine: &Engine) -> impl Iterator<Item = &'static OptionDef> {
    let name = engine.names[0];
    let own = OWN
        .iter()
        .filter(move |(_, engines)| engines.contains(&name));
    let defs = own.flat_map(|(options, _)| options.iter().filter_map(|option| find(option)));
    defs.filter(|def| def.standing() != Standing::Refused)
}

/// Those that are here.
pub fn available() -> impl Iterator<Item = &'static Engine> {
    let all = ENGINES.iter();
    all.filter(|engine| matches!(engine.here, Here::Done(_)))
}

/// Their names.
pub(super) fn here() -> String {
    let names = available().map(|engine| format!("`{}`", engine.names[0]));
    names.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn no_engine_stands_twice_and_each_has_its_reason() {
        let mut names = BTreeSet::new();
        for engine in ENGINES {
            for name in engine.names {
                assert!(names.insert(name), "{name}");
            }
            assert!(!engine.doc.is_empty());
        }
        assert_eq!(engine("external:/tmp/x.so").unwrap().names, ["external"]);
        assert!(engine("bogus").is_none());
        assert_eq!(
            engine("rbd").unwrap().refusal().as_deref(),
            Some("it needs a Ceph cluster")
        );
        assert!(here().contains("`psync`"));
    }

    #[test]
    fn options_of_single_engines_are_options_and_their_engines_are_here() {
        for (options, engines) in OWN {
            for option in *options {
                assert_eq!(find(option).unwrap().name, *option, "its main name");
            }
            for name in *engines {
                let engine = engine(name).unwrap();
                assert_eq!((engine.names[0], engine.refusal()), (*name, None));
            }
        }
        let of =
            |name| -> Vec<&str> { options(engine(name).unwrap()).map(|def| def.name).collect() };
        assert_eq!(of("linuxaio").len(), 4);
        assert!(of("io_uring").contains(&"hipri") && of("null").is_empty());
        assert!(
            !of("io_uring").contains(&"sqthread_poll_cpu"),
            "it is refused"
        );
    }
}
