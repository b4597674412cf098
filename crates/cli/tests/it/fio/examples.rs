//! The job files of fio's own distribution (the package fio-examples): each that fio reads is read here, but for those
//! that ask for what is not here, which are named with why.

use super::beside::{missing, theirs};
use super::*;
use std::path::Path;

/// Where the package puts them.
const EXAMPLES: &str = "/usr/share/doc/fio/examples";

/// Files that are refused, with words of the refusal.
const REFUSED: &[(&str, &str)] = &[
    (
        "dev-dax.fio",
        "`dev-dax`: that engine of fio is not here: it needs persistent memory",
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
    (
        "uring-cmd-ng.fio",
        "`io_uring_cmd`: that engine of fio is not here: it needs NVMe character devices",
    ),
    (
        "uring-cmd-zoned.fio",
        "`io_uring_cmd`: that engine of fio is not here: it needs NVMe character devices",
    ),
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
    // fio takes longer to begin than to read, and is asked only about what is refused here for no known reason.
    let each = names.len().div_ceil(8);
    let (read, refused) = std::thread::scope(|scope| {
        let parts: Vec<_> = names
            .chunks(each)
            .map(|part| scope.spawn(|| look_at(&bed, examples, part)))
            .collect();
        let counts = parts.into_iter().map(|part| part.join().unwrap());
        counts.fold((0, 0), |sum, part| (sum.0 + part.0, sum.1 + part.1))
    });
    assert_eq!(refused, REFUSED.len(), "of {names:?}");
    assert!(read >= 39, "{read}");
}

/// How many of these files are read, and how many are refused as the table says.
fn look_at(bed: &Bed, examples: &Path, names: &[String]) -> (usize, usize) {
    let (mut read, mut refused) = (0, 0);
    for name in names {
        let path = examples.join(name);
        let path = path.to_str().unwrap();
        let done = bed.run(&["fio", "--parse-only", path]);
        if let Some((_, why)) = REFUSED.iter().find(|(file, _)| file == name) {
            done.code(2).err_has(&[why]);
            refused += 1;
        } else if done.code == Some(0) {
            read += 1;
        } else {
            assert!(!fio_reads(bed, path), "fio reads it: {done:?}");
        }
    }
    (read, refused)
}

fn fio_reads(bed: &Bed, path: &str) -> bool {
    let done = theirs()
        .args(["--parse-only", path])
        .current_dir(bed.path())
        .output()
        .unwrap();
    done.status.success()
}
