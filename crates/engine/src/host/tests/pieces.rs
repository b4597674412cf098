//! Single facts on machines of a few files only, and the small parsers.

use super::*;
use sys::mounts;

#[test]
fn the_choice_is_the_word_in_brackets_or_the_only_word() {
    let check = |text: &str, expect: Option<&str>| assert_eq!(chosen(text), expect, "{text}");
    check("always [madvise] never\n", Some("madvise"));
    check("[none] mq-deadline", Some("none"));
    check("none", Some("none"));
    check("none mq-deadline", None);
    check("", None);
    check("[]", None);
    check("[", None);
}

#[test]
fn number_lists_are_read_and_nonsense_is_refused() {
    let check = |text: &str, expect: Option<&[u32]>| {
        let expect = expect.map(|numbers| numbers.iter().copied().collect());
        assert_eq!(number_list(text), expect, "{text}");
    };
    check("0-3,8\n", Some(&[0, 1, 2, 3, 8]));
    check("0", Some(&[0]));
    check("\n", Some(&[]));
    check("3-1", None);
    check("0-4294967295", None);
    check("0-", None);
    check("a", None);
    check("-1", None);
}

#[test]
fn the_first_locale_variable_that_is_set_decides() {
    let some = |text: &str| Some(text.to_owned());
    let check = |all: Option<String>, collate: Option<String>, lang: Option<String>, expect| {
        let locale = Locale {
            lc_all: all,
            lc_collate: collate,
            lang,
        };
        assert_eq!(locale.collation(), expect);
    };
    check(None, None, None, "C");
    check(None, None, some("ja_JP.UTF-8"), "ja_JP.UTF-8");
    check(some(""), some("POSIX"), some("de_DE"), "POSIX");
    check(some("C"), some("POSIX"), some("de_DE"), "C");
}

/// A machine of a few files only.
fn small(files: &str) -> (Tree, Machine) {
    let machine = Machine::of(files);
    (Tree::at(machine.0.path()), machine)
}

#[test]
fn virtual_or_not_is_told_by_signature_then_table_then_kernel() {
    let check = |files: &str, signature: Option<&str>, expect: Result<Option<&str>, &str>| {
        let (tree, _machine) = small(files);
        let probes = Probes {
            hypervisor: signature.map(str::to_owned),
            ..probes("any", "/", 1)
        };
        let found = platform::facts(&tree, &cpu::Info::read(&tree), &probes).virtualization;
        let expect = match expect {
            Ok(name) => Fact::Known(name.map(str::to_owned)),
            Err(why) => Fact::Missing(why.to_owned()),
        };
        assert_eq!(found, expect, "{files}");
    };
    let dmi = |vendor: &str, product: &str| {
        format!(
            "== /sys/class/dmi/id/sys_vendor\n{vendor}\n== /sys/class/dmi/id/product_name\n{product}\n"
        )
    };
    let guest = "== /proc/cpuinfo\nflags : fpu hypervisor avx\n";
    let host = "== /proc/cpuinfo\nflags : fpu avx\n";
    let no_dmi = "read `/sys/class/dmi/id/product_name`: ENOENT";
    check("", Some("Microsoft Hv"), Ok(Some("hyper-v")));
    check("", Some("NewVisor 1.0"), Ok(Some("NewVisor 1.0")));
    check("", None, Err(no_dmi));
    check(guest, None, Ok(Some("unknown")));
    check(host, None, Ok(None));
    let virtualbox = guest.to_owned() + &dmi("innotek GmbH", "VirtualBox");
    check(&virtualbox, Some("KVMKVMKVM"), Ok(Some("virtualbox")));
    check(
        &dmi("Microsoft Corporation", "Virtual Machine"),
        None,
        Ok(Some("hyper-v")),
    );
    check(&dmi("Microsoft Corporation", "Surface Pro"), None, Ok(None));
    check(&dmi("Amazon EC2", "m7g.large"), None, Ok(Some("kvm")));
    check(&dmi("Amazon EC2", "m7g.metal"), None, Ok(None));
    check(&dmi("Hetzner", "vServer"), None, Ok(Some("kvm")));
    check(&dmi("QEMU", "KVM Virtual Machine"), None, Ok(Some("kvm")));
    check(
        &(host.to_owned() + &dmi("Google", "Google Compute Engine")),
        None,
        Ok(None),
    );
    check("== /sys/hypervisor/type\nxen\n", None, Ok(Some("xen")));
    let control = "== /sys/hypervisor/type\nxen\n== /proc/xen/capabilities\ncontrol_d\n";
    check(control, Some("XenVMMXenVMM"), Ok(None));
    check(
        "== /proc/cpuinfo\nvendor_id : User Mode Linux\n",
        None,
        Ok(Some("uml")),
    );
    check(
        "== /proc/sysinfo\nManufacturer: IBM\nVM00 Control Program: KVM/Linux\n",
        None,
        Ok(Some("kvm")),
    );
    let base = "/sys/firmware/devicetree/base";
    check(
        &format!("== {base}/compatible\nlinux,dummy-virt␀\n"),
        None,
        Ok(Some("kvm")),
    );
    check(
        &format!("== {base}/hypervisor/compatible\nxen,xen-4.17␀xen,xen␀\n"),
        None,
        Ok(Some("xen")),
    );
    check(
        &format!("== {base}/compatible\nraspberrypi,4-model-b␀brcm,bcm2711␀\n"),
        None,
        Ok(None),
    );
}

#[test]
fn containers_are_told_by_their_traces() {
    let check = |files: &str, groups: &[&str], expect: Result<Option<&str>, &str>| {
        let (tree, _machine) = small(files);
        let groups: Vec<String> = groups.iter().map(|group| (*group).to_owned()).collect();
        let expect = match expect {
            Ok(name) => Fact::Known(name.map(str::to_owned)),
            Err(why) => Fact::Missing(why.to_owned()),
        };
        assert_eq!(container::fact(&tree, &groups), expect, "{files}");
    };
    let namespaces = |pid: u64| {
        format!(
            "== /proc/self/ns/pid -> pid:[{pid}]\n== /proc/self/ns/ipc -> ipc:[4026531839]\n\
             == /proc/self/ns/uts -> uts:[4026531838]\n"
        )
    };
    let (first, own) = (namespaces(4_026_531_836), namespaces(4_026_532_500));
    let unknown = "/proc/self/ns does not tell the namespaces";
    check("", &[], Err(unknown));
    check(&first, &["/"], Ok(None));
    check(&own, &["/"], Ok(Some("other")));
    check(&(first.clone() + "== /.dockerenv\n"), &[], Ok(None));
    check(&(own.clone() + "== /.dockerenv\n"), &[], Ok(Some("docker")));
    check("== /run/.containerenv\n", &[], Ok(Some("podman")));
    let pod = "== /.dockerenv\n== /var/run/secrets/kubernetes.io/\n";
    check(&(own.clone() + pod), &[], Ok(Some("kubernetes")));
    check(&first, &["/", "/docker/0123"], Ok(Some("docker")));
    let lxc = "== /proc/1/environ\nHOME=/␀container=lxc␀TERM=linux␀\n";
    check(&(own.clone() + lxc), &[], Ok(Some("lxc")));
    check("== /proc/1/environ\nnocontainer=x␀\n", &[], Err(unknown));
    check(
        "== /run/systemd/container\nsystemd-nspawn\n",
        &[],
        Ok(Some("systemd-nspawn")),
    );
    check("== /proc/vz/version\n1\n", &[], Ok(Some("openvz")));
    check(
        "== /proc/sys/kernel/osrelease\n5.15.90.1-microsoft-standard-WSL2\n",
        &[],
        Ok(Some("wsl")),
    );
}

#[test]
fn arm_models_fall_back_from_parts_to_the_machine() {
    let check = |files: &str, expect: &str| {
        let (tree, _machine) = small(files);
        let found = cpu::facts(&tree, &cpu::Info::read(&tree), &probes("aarch64", "/", 1)).model;
        match found {
            Fact::Known(name) => assert_eq!(name, expect),
            Fact::Missing(why) => assert_eq!(why, expect),
        }
    };
    let core = |part: &str| format!("CPU implementer : 0x41\nCPU part : {part}\n\n");
    check(
        &format!(
            "== /proc/cpuinfo\n{}{}{}",
            core("0xd05"),
            core("0xd05"),
            core("0xd0b")
        ),
        "ARM Cortex-A55 + ARM Cortex-A76",
    );
    let bare = "== /proc/cpuinfo\nprocessor : 0\n";
    check(
        &format!("{bare}== /sys/firmware/devicetree/base/model\nRaspberry Pi 4 Model B␀\n"),
        "CPU of a Raspberry Pi 4 Model B",
    );
    check(
        &format!("{bare}== /sys/class/dmi/id/product_name\nTo Be Filled By O.E.M.\n"),
        "parse `/proc/cpuinfo`: it has no `model name` or `cpu` or `uarch`",
    );
}

#[test]
fn chains_go_through_loops_btrfs_members_and_visible_overlays() {
    let disk = |name: &str| {
        format!(
            "== /sys/class/block/{name} -> ../../devices/x/{name}\n== /sys/devices/x/{name}/size\n8\n"
        )
    };
    let check = |files: &str, work_dir: &str, expect: &[&str]| {
        let (tree, _machine) = small(files);
        let found = storage::facts(&tree, &probes("any", work_dir, 1)).devices;
        let devices = found.known().unwrap_or_else(|| panic!("{found:?}"));
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        assert_eq!(names, expect);
    };
    let mounts = "== /proc/self/mountinfo\n\
        1 0 8:0 / / rw - ext4 /dev/sda rw\n\
        2 1 7:3 / /image rw - ext4 /dev/loop3 rw\n\
        3 1 0:50 / /pool rw - btrfs /dev/sdc rw\n\
        4 1 0:51 / /merged rw - overlay overlay rw,lowerdir=/lower,upperdir=/pool/upper\n\
        5 1 0:52 / /nfs rw - nfs4 server:/export rw\n";
    let files = [
        mounts,
        &disk("sda"),
        &disk("sdb"),
        &disk("sdc"),
        &disk("loop3"),
        "== /sys/devices/x/loop3/loop/backing_file\n/var/disk.img\n",
        "== /sys/dev/block/8:0 -> ../../devices/x/sda\n",
        "== /sys/dev/block/7:3 -> ../../devices/x/loop3\n",
        "== /sys/fs/btrfs/features/\n",
        "== /sys/fs/btrfs/0-1-2/devices/sdb/\n== /sys/fs/btrfs/0-1-2/devices/sdc/\n",
        "== /pool/upper/\n",
    ]
    .concat();
    check(&files, "/image/x", &["loop3", "sda"]);
    check(&files, "/pool/x", &["sdb", "sdc"]);
    check(&files, "/merged", &["sdb", "sdc"]);
    check(&files, "/nfs", &[]);
}

#[test]
fn throttles_and_buffered_loops_are_facts_of_a_device() {
    let disk = "== /sys/class/block/vda -> ../../devices/vda\n== /sys/devices/vda/dev\n254:0\n";
    let looped =
        "== /sys/class/block/loop0 -> ../../devices/loop0\n== /sys/devices/loop0/dev\n7:0\n";
    let cgroups = "== /proc/self/cgroup\n0::/bench\n== /proc/self/mountinfo\n\
                   30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n\
                   31 1 254:0 / / rw - ext4 /dev/vda rw\n\
                   == /sys/dev/block/254:0 -> ../../devices/vda\n";
    let check = |files: &str, name: &str, throttle: Option<&str>, buffered: Fact<bool>| {
        let (tree, _machine) = small(files);
        let (mounts, mut chain) = (mounts::read(&tree).unwrap(), Vec::new());
        storage::descend(&tree, &mounts, name, &mut chain).unwrap();
        let found = chain[0].throttle.known().unwrap();
        assert_eq!(found.map(|found| found.to_string()).as_deref(), throttle);
        assert_eq!(chain[0].buffered, buffered);
    };
    let alone = disk.to_owned() + cgroups;
    check(&alone, "vda", None, Fact::Known(false));
    let limited = alone.clone()
        + "== /sys/fs/cgroup/bench/io.max\n254:0 rbps=104857600 wbps=max riops=300 wiops=max\n";
    let most = "read 100 MiB/s, read 300 IOPS";
    check(&limited, "vda", Some(most), Fact::Known(false));
    let dio = |dio: &str| format!("{alone}{looped}== /sys/devices/loop0/loop/dio\n{dio}\n");
    check(&dio("0"), "loop0", None, Fact::Known(true));
    check(&dio("1"), "loop0", None, Fact::Known(false));
    let why = "read `/sys/class/block/loop0/loop/dio`: ENOENT".to_owned();
    check(&(alone + looped), "loop0", None, Fact::Missing(why));
}
