//! The job files of fio's own distribution (the package fio-examples): each that fio reads is read here, but for those
//! that ask for what is not here, which are named with why.

use super::beside::{FIO, missing};
use super::*;
use std::path::Path;

/// Where the package puts them.
const EXAMPLES: &str = "/usr/share/doc/fio/examples";

/// Files that are refused, with words of the refusal.
const REFUSED: &[(&str, &str)] = &[
    ("butterfly.fio", "option `flow` is refused"),
    ("cmdprio-bssplit.fio", "option `cmdprio_bssplit` is refused"),
    (
        "cmdprio-percentage.fio",
        "option `cmdprio_percentage` is refused",
    ),
    (
        "cpuio.fio",
        "`cpuio`: that engine of fio is not here: jobs here are about files",
    ),
    ("dedupe-global.fio", "option `dedupe_mode` is refused"),
    (
        "dev-dax.fio",
        "`dev-dax`: that engine of fio is not here: it needs persistent memory",
    ),
    (
        "e4defrag.fio",
        "`e4defrag`: that engine of fio is not here: extents of files are not moved",
    ),
    (
        "e4defrag2.fio",
        "`e4defrag`: that engine of fio is not here: extents of files are not moved",
    ),
    ("enospc-pressure.fio", "option `ignore_error` is refused"),
    (
        "exec.fio",
        "`exec`: that engine of fio is not here: no command of a job file is executed",
    ),
    (
        "falloc.fio",
        "`falloc`: that engine of fio is not here: files are laid out before the work, not during it",
    ),
    (
        "filecreate-ioengine.fio",
        "`filecreate`: that engine of fio is not here: jobs read and write files",
    ),
    (
        "filedelete-ioengine.fio",
        "`filedelete`: that engine of fio is not here: jobs read and write files",
    ),
    (
        "filestat-ioengine.fio",
        "`filestat`: that engine of fio is not here: jobs read and write files",
    ),
    ("flow.fio", "option `flow_sleep` is refused"),
    (
        "ftruncate.fio",
        "`ftruncate`: that engine of fio is not here: files keep their size",
    ),
    (
        "gfapi.fio",
        "`gfapi`: that engine of fio is not here: it needs a Gluster volume",
    ),
    (
        "ime.fio",
        "`ime_psync`: that engine of fio is not here: it needs an IME cluster",
    ),
    (
        "libhdfs.fio",
        "`libhdfs`: that engine of fio is not here: it needs a Hadoop cluster",
    ),
    (
        "libiscsi.fio",
        "`libiscsi`: that engine of fio is not here: it needs an iSCSI target",
    ),
    (
        "libpmem.fio",
        "`libpmem`: that engine of fio is not here: it needs persistent memory",
    ),
    ("libzbc-rand-write.fio", "`zbd` needs a zoned block device"),
    ("libzbc-seq-read.fio", "`zbd` needs a zoned block device"),
    (
        "mtd.fio",
        "`mtd`: that engine of fio is not here: it needs raw flash memory",
    ),
    (
        "nbd.fio",
        "`nbd`: that engine of fio is not here: it needs an NBD server",
    ),
    (
        "netio.fio",
        "`net`: that engine of fio is not here: it needs a peer",
    ),
    (
        "netio_multicast.fio",
        "`net`: that engine of fio is not here: it needs a peer",
    ),
    (
        "pmemblk.fio",
        "`pmemblk`: that engine of fio is not here: it needs persistent memory",
    ),
    (
        "rados.fio",
        "`rados`: that engine of fio is not here: it needs a Ceph cluster",
    ),
    (
        "rbd.fio",
        "`rbd`: that engine of fio is not here: it needs a Ceph cluster",
    ),
    (
        "sg_verify-fail.fio",
        "`sg`: that engine of fio is not here: it needs SCSI devices",
    ),
    (
        "sg_verify.fio",
        "`sg`: that engine of fio is not here: it needs SCSI devices",
    ),
    (
        "sg_write_same_ndob.fio",
        "`sg`: that engine of fio is not here: it needs SCSI devices",
    ),
    ("surface-scan.fio", "`verify` does not take `meta`"),
    (
        "uring-cmd-ng.fio",
        "`io_uring_cmd`: that engine of fio is not here: it needs NVMe character devices",
    ),
    (
        "uring-cmd-zoned.fio",
        "`io_uring_cmd`: that engine of fio is not here: it needs NVMe character devices",
    ),
    ("waitfor.fio", "option `wait_for` is refused"),
    ("zbd-rand-write.fio", "`zbd` needs a zoned block device"),
    ("zbd-seq-read.fio", "`zbd` needs a zoned block device"),
];

#[test]
fn every_example_that_fio_reads_is_read_or_refused_with_its_reason() {
    let examples = Path::new(EXAMPLES);
    let is_there = missing()
        .or_else(|| (!examples.is_dir()).then(|| "fio-examples is not installed".to_owned()));
    if let Some(why) = is_there {
        eprintln!("skipped: {why}");
        return;
    }
    let bed = Bed::new();
    let mut names: Vec<String> = std::fs::read_dir(examples)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension() == Some("fio".as_ref()))
        .collect();
    names.sort();
    let (mut read, mut refused) = (0, 0);
    for name in &names {
        let path = examples.join(name);
        let path = path.to_str().unwrap();
        #[expect(clippy::disallowed_methods, reason = "fio says what it reads")]
        let theirs = std::process::Command::new(FIO)
            .args(["--parse-only", path])
            .current_dir(bed.path())
            .output()
            .unwrap();
        if !theirs.status.success() {
            continue;
        }
        let done = bed.run(&["fio", "--parse-only", path]);
        match REFUSED.iter().find(|(file, _)| file == name) {
            None => {
                done.code(0);
                read += 1;
            }
            Some((_, why)) => {
                done.code(2).err_has(&[why]);
                refused += 1;
            }
        }
    }
    assert_eq!(refused, REFUSED.len(), "of {names:?}");
    assert!(read >= 28, "{read}");
}
