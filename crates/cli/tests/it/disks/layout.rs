//! A file that a job only writes is not written before: what the device is asked for is what fio asks it for.

mod root {
    use super::super::*;

    /// Writes that a device has been asked for since it was made.
    fn writes(device: &str) -> u64 {
        let name = device.trim_start_matches("/dev/");
        sh(&format!("sync; awk '{{print $5}}' /sys/block/{name}/stat"))
            .parse()
            .unwrap()
    }

    #[test]
    #[ignore = "root: mounts a loop device"]
    fn a_log_that_is_written_for_the_first_time_costs_the_journal_what_it_costs_fio() {
        // The check of a disk that etcd's documentation has, with a tenth of its size.
        const JOB: &str =
            "--name=etcd --rw=write --ioengine=sync --fdatasync=1 --size=2200k --bs=2300";
        let disk = Disk::new("512m", "", "noatime");
        let bed = Bed::new();
        let kurabe = format!(
            "KURABE_STORE={} {} fio --quiet",
            bed.path().join("store.db").display(),
            env!("CARGO_BIN_EXE_kurabe")
        );
        let asked = |program: &str, file: &str, more: &str| -> f64 {
            let before = writes(&disk.disk.device);
            sh(&format!(
                "{program} {JOB} --directory={} --filename={file} {more} 2>&1",
                disk.dir()
            ));
            model::num::approx(writes(&disk.disk.device) - before)
        };
        let (fresh, again) = (asked(&kurabe, "k", ""), asked(&kurabe, "k", ""));
        let whole = asked(&kurabe, "w", "--overwrite=1");
        assert!(fresh > 1.15 * again, "{fresh} {again}");
        if !is_installed("fio") {
            eprintln!("skipped beside fio: it is not installed");
            return;
        }
        let alike = |ours: f64, file: &str, more: &str| {
            let theirs = asked("fio", file, more);
            assert!(
                (ours / theirs - 1.0).abs() < 0.05,
                "{file} {more}: {ours} and {theirs} writes"
            );
        };
        alike(fresh, "f", "");
        alike(again, "f", "");
        alike(
            asked(&kurabe, "n", "--fallocate=none"),
            "fn",
            "--fallocate=none",
        );
        alike(whole, "fw", "--overwrite=1");
    }
}
