//! What is reported of a job, held against what the kernel counted of it: in the worker, and at the device.

mod root {
    use super::super::*;

    /// What every job transfers: each block of its region once.
    const BLOCK: u64 = 8 << 10;
    const BYTES: u64 = 16 << 20;

    /// What others may read of a device meanwhile: udev looks for signatures at both of its ends.
    const OTHERS: u64 = 256 << 10;
    /// What a file system may read or write of its own for so small a file: the inode, its extents, and the journal.
    const METADATA: u64 = 1 << 20;
    /// What is read before a job begins: 1 MiB to find out whether `O_DIRECT` is ignored, and places that are looked at
    /// for signatures and data.
    const LOOKS: u64 = 4 << 20;

    const ENGINES: [(&str, &str); 3] = [
        ("--ioengine=psync", "--iodepth=1"),
        ("--ioengine=libaio", "--iodepth=8"),
        ("--ioengine=io_uring", "--iodepth=8"),
    ];

    const DIRECTIONS: [&str; 2] = ["read", "write"];

    /// Bytes that a device has read and written since it was made.
    fn counted(device: &str) -> [u64; 2] {
        let name = device.trim_start_matches("/dev/");
        let text = std::fs::read_to_string(format!("/sys/block/{name}/stat")).unwrap();
        let fields: Vec<u64> = text
            .split_whitespace()
            .map(|field| field.parse().unwrap())
            .collect();
        // The kernel's sectors have 512 bytes, whatever the device's own have.
        [fields[2] * 512, fields[6] * 512]
    }

    /// Does the job, holds what is reported against what is done, and returns what the kernel counted of it: in the
    /// worker, and at the device while it was at work.
    #[track_caller]
    fn done(bed: &Bed, device: &str, direction: &str, more: &[&str]) -> [u64; 2] {
        let rw = format!("--rw=rand{direction}");
        let job = [
            &["fio", "--name=t", &rw, "--bs=8k", "--size=16m"][..],
            &["--direct=1", "--output-format=json"],
            more,
        ];
        let done = bed.run(&job.concat()).code(0);
        let report: Value = serde_json::from_str(&done.out).unwrap();
        let told = &report["jobs"][0][direction];
        assert_eq!(told["total_ios"], BYTES / BLOCK, "{more:?}");
        assert_eq!(told["io_bytes"], BYTES, "{more:?}");
        let run = exported(bed);
        let copies = &run["rounds"][0]["outcome"]["done"]["copies"];
        assert_eq!(copies.as_array().unwrap().len(), 1);
        let name = device.trim_start_matches("/dev/");
        let way = usize::from(direction == "write");
        let process = &copies[0]["reported"][["fetched_bytes", "sent_bytes"][way]];
        let disk = &copies[0]["apart"]["job"]["disk"];
        assert_eq!(disk["name"], name, "{copies}");
        [process, &disk["bytes"][way]].map(|bytes| {
            let bytes = bytes
                .as_f64()
                .unwrap_or_else(|| panic!("no bytes: {copies}"));
            model::num::round_to_u64(bytes)
        })
    }

    /// The engines that work here.
    fn engines() -> impl Iterator<Item = [&'static str; 2]> {
        let uring = sys::probe::io_uring(&sys::tree::Tree::real()).is_ok();
        let works = move |engine: &str| uring || !engine.ends_with("io_uring");
        ENGINES
            .into_iter()
            .filter(move |(engine, _)| works(engine))
            .map(|(engine, depth)| [engine, depth])
    }

    #[test]
    #[ignore = "root: makes loop devices"]
    fn bytes_of_a_device_are_those_that_the_kernel_counts_of_the_worker_and_of_the_device() {
        for engine in engines() {
            for (at, direction) in DIRECTIONS.into_iter().enumerate() {
                let (bed, disk) = (Bed::new(), Loop::new("64M"));
                let name = format!("--filename={}", disk.device);
                let erase = disk.erase();
                let more = [&engine[..], &[&name, "--offset=8m", &erase]].concat();
                let before = counted(&disk.device)[at];
                let [process, device] = done(&bed, &disk.device, direction, &more);
                let whole = counted(&disk.device)[at] - before;
                assert_eq!(process, BYTES, "{engine:?} {direction}");
                assert!(
                    (BYTES..=BYTES + OTHERS).contains(&device),
                    "{engine:?} {direction}: {device}"
                );
                assert!(
                    (device..=BYTES + LOOKS).contains(&whole),
                    "{engine:?} {direction}: {whole}"
                );
            }
        }
    }

    #[test]
    #[ignore = "root: mounts loop devices"]
    fn bytes_of_a_file_are_those_that_the_kernel_counts_but_for_the_file_systems_own() {
        for engine in engines() {
            for direction in DIRECTIONS {
                // The kernel writes tables of inodes in the background otherwise.
                let (bed, disk) = (Bed::new(), Disk::new("3G", "", "noatime,noinit_itable"));
                let directory = format!("--directory={}", disk.dir());
                let more = [&engine[..], &[&directory]].concat();
                for counted in done(&bed, &disk.disk.device, direction, &more) {
                    assert!(
                        (BYTES..=BYTES + METADATA).contains(&counted),
                        "{engine:?} {direction}: {counted}"
                    );
                }
            }
        }
    }
}
