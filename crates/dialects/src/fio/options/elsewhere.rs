//! Options of fio's engines and profiles that are not here, one row for each engine: those that fio 3.33 lists, and
//! those that its manual names of engines that a build may lack. They are known so that they are refused as what they
//! are. An option that several engines have stands with the first.

use super::OptionDef;
use super::Takes::Value;

const ENGINES: &str = "other engines than those for files and block devices are not supported";

const fn of(names: &'static [&'static str], doc: &'static str) -> OptionDef {
    let [name, others @ ..] = names else {
        panic!("an engine without options has no row");
    };
    OptionDef::refused(name, doc, ENGINES).or(others)
}

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    of(
        &[
            "hostname",
            "port",
            "protocol",
            "proto",
            "nodelay",
            "listen",
            "pingpong",
            "interface",
            "ttl",
            "window_size",
            "mss",
        ],
        "Options of the network engines `net`, `netsplice`, `rdma` and `libhdfs`.",
    ),
    of(&["bindname", "verb"], "Options of the engine `rdma`."),
    of(
        &["serverip", "direct_write_to_pmem", "busy_wait_polling"],
        "Options of the engines `librpma_*`.",
    ),
    of(
        &[
            "clustername",
            "rbdname",
            "pool",
            "clientname",
            "conf",
            "busy_poll",
            "touch_objects",
        ],
        "Options of the engines `rados` and `rbd` of Ceph.",
    ),
    of(
        &["volume", "brick", "single-instance"],
        "Options of the engines `gfapi` and `gfapi_async` of Gluster.",
    ),
    of(
        &["namenode", "hdfsdirectory", "chunk_size"],
        "Options of the engine `libhdfs`.",
    ),
    of(&["cont", "object_class"], "Options of the engine `dfs`."),
    of(&["nfs_url"], "Option of the engine `nfs`."),
    of(&["uri"], "Option of the engine `nbd`."),
    of(
        &[
            "http_host",
            "http_user",
            "http_pass",
            "https",
            "http_mode",
            "http_s3_region",
            "http_s3_key",
            "http_s3_keyid",
            "http_s3_sse_customer_key",
            "http_s3_sse_customer_algorithm",
            "http_s3_storage_class",
            "http_swift_auth_token",
            "http_verbose",
        ],
        "Options of the engine `http`.",
    ),
    of(
        &["readfua", "writefua", "sg_write_mode", "stream_id"],
        "Options of the engine `sg`.",
    ),
    of(&["cmd_type"], "Option of the engine `io_uring_cmd`."),
    of(
        &[
            "xnvme_async",
            "xnvme_sync",
            "xnvme_admin",
            "xnvme_dev_nsid",
            "xnvme_iovec",
        ],
        "Options of the engine `xnvme`.",
    ),
    of(
        &["gpu_dev_ids", "cuda_io"],
        "Options of the engine `libcufile`.",
    ),
    of(&["skip_bad"], "Option of the engine `mtd`."),
    of(&["thp"], "Option of the engine `mmap`."),
    OptionDef::noted(
        "device-names",
        Value,
        "Options of fio's built-in profiles, which any job of fio may have.",
        "without `profile` it changes nothing in fio either",
    )
    .or(&[
        "load",
        "test-duration",
        "threads-per-queue",
        "read-req-num-512-blocks",
        "large-block-op-kbytes",
        "prep",
        "block",
        "numruns",
        "dir",
        "threads",
    ]),
];
