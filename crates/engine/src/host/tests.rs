//! Machines we do not have, as text: exact facts for each, and no panic whatever the files hold.

use super::*;
use model::host::IoFacts;
use model::units::{Bytes, Nanos};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

mod garbage;
mod pieces;
mod root;

const VM: &str = include_str!("../../tests/fixtures/hosts/firecracker-vm.txt");
const METAL: &str = include_str!("../../tests/fixtures/hosts/bare-metal-2-sockets.txt");
const CONTAINER: &str = include_str!("../../tests/fixtures/hosts/container-v2-quota.txt");
const V1: &str = include_str!("../../tests/fixtures/hosts/cgroup-v1.txt");
const ARM: &str = include_str!("../../tests/fixtures/hosts/arm-server.txt");
const MACHINES: [&str; 5] = [VM, METAL, CONTAINER, V1, ARM];

/// One entry of a machine's text.
#[derive(Clone, Debug)]
enum Entry {
    File { content: String, executable: bool },
    Link(String),
    Directory,
}

/// Takes a machine's text apart: `== path` starts a file (`== path *` an executable one), `== path -> target` is a
/// link, `== path/` a directory; lines before the first entry are a comment; `␀` stands for NUL.
fn entries(text: &str) -> Vec<(String, Entry)> {
    let mut found: Vec<(String, Entry)> = Vec::new();
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("== ") {
            let file = |executable| Entry::File {
                content: String::new(),
                executable,
            };
            let (path, entry) = if let Some((path, target)) = head.split_once(" -> ") {
                (path, Entry::Link(target.to_owned()))
            } else if let Some(path) = head.strip_suffix(" *") {
                (path, file(true))
            } else if let Some(path) = head.strip_suffix('/') {
                (path, Entry::Directory)
            } else {
                (head, file(false))
            };
            found.push((path.to_owned(), entry));
        } else if let Some((_, Entry::File { content, .. })) = found.last_mut() {
            content.push_str(&line.replace('␀', "\0"));
            content.push('\n');
        }
    }
    found
}

/// A machine on disk, removed with the value.
struct Machine(tempfile::TempDir);

impl Machine {
    fn of(text: &str) -> Self {
        Self::build(&entries(text))
    }

    /// In memory where that is possible: thousands of small files take a disk seconds.
    fn build(entries: &[(String, Entry)]) -> Self {
        let dir = tempfile::tempdir_in("/dev/shm")
            .or_else(|_| tempfile::tempdir())
            .unwrap();
        for (path, entry) in entries {
            let place = dir.path().join(path.trim_start_matches('/'));
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            match entry {
                Entry::Directory => fs::create_dir_all(&place).unwrap(),
                Entry::Link(target) => symlink(target, &place).unwrap(),
                Entry::File {
                    content,
                    executable,
                } => {
                    fs::write(&place, content).unwrap();
                    let mode = if *executable { 0o755 } else { 0o644 };
                    fs::set_permissions(&place, fs::Permissions::from_mode(mode)).unwrap();
                }
            }
        }
        Self(dir)
    }

    fn facts(&self, probes: &Probes) -> HostFacts {
        facts(&Tree::at(self.0.path()), probes)
    }
}

/// The probes of a machine where everything works.
fn probes(arch: &str, work_dir: &str, cpus: u32) -> Probes {
    Probes {
        work_dir: PathBuf::from(work_dir),
        arch: arch.to_owned(),
        cpus_allowed: Fact::Known(cpus),
        page_size: Fact::Known(Bytes(4096)),
        root: false,
        alone: Fact::Missing("connect `@kurabe-measures`: EACCES".to_owned()),
        free: Fact::Known(Bytes(10 << 30)),
        io: IoFacts {
            io_uring: Fact::Known(None),
            libaio: Fact::Known(None),
            o_direct: Fact::Known(None),
        },
        clock_cost: Fact::Known(Nanos(20)),
        hypervisor: None,
        path: "/usr/local/bin:/usr/bin:/bin".to_owned(),
        locale: Locale::default(),
        version: gnu,
    }
}

/// What GNU programs print.
fn gnu(program: &Path, argument: &str) -> Fact<String> {
    assert_eq!(argument, "--version");
    let name = program.file_name().unwrap().to_string_lossy();
    Fact::Known(match name.as_ref() {
        "bash" => "GNU bash, version 5.2.15(1)-release (x86_64-pc-linux-gnu)".to_owned(),
        "grep" => "grep (GNU grep) 3.8".to_owned(),
        name => format!("{name} (GNU coreutils) 9.1"),
    })
}

fn busybox(program: &Path, argument: &str) -> Fact<String> {
    assert_eq!((program, argument), (Path::new("/bin/busybox"), "--help"));
    Fact::Known("BusyBox v1.36.1 (2024-06-10 07:11:47 UTC) multi-call binary.".to_owned())
}

/// The whole of the facts, as they are kept in a run's record.
fn snapshot(name: &str, facts: &HostFacts) {
    insta::assert_snapshot!(name, serde_json::to_string_pretty(facts).unwrap());
}

fn known<T: Clone>(fact: &Fact<T>) -> T {
    fact.known()
        .unwrap_or_else(|| panic!("{:?}", fact.missing()))
        .clone()
}

#[test]
fn the_firecracker_vm() {
    let facts = Machine::of(VM).facts(&Probes {
        hypervisor: Some("KVMKVMKVM".to_owned()),
        root: true,
        locale: Locale {
            lang: Some("C.UTF-8".to_owned()),
            ..Locale::default()
        },
        ..probes("x86_64", "/srv/bench", 2)
    });
    assert_eq!(known(&facts.cpu.online), 2);
    assert_eq!(known(&facts.limits.cgroup), "hybrid");
    assert_eq!(known(&facts.limits.cpu_quota), None);
    assert_eq!(known(&facts.limits.memory), None);
    assert_eq!(
        known(&facts.limits.container),
        None,
        "an image's marker file does not make a virtual machine a container"
    );
    assert_eq!(
        known(&facts.platform.virtualization).as_deref(),
        Some("kvm")
    );
    assert_eq!(known(&facts.storage.devices)[0].name, "vda");
    assert_eq!(known(&facts.locale), "C.UTF-8");
    assert_eq!(
        known(&facts.programs["sh"]),
        "/usr/bin/sh -> /usr/bin/dash (no version told)"
    );
    snapshot("firecracker-vm", &facts);
}

#[test]
fn bare_metal_with_two_sockets_and_smt() {
    let machine = Machine::of(METAL);
    let facts = machine.facts(&probes("x86_64", "/srv/bench", 15));
    assert_eq!(known(&facts.cpu.online), 15);
    assert_eq!(known(&facts.cpu.offline), 1);
    assert_eq!(known(&facts.cpu.sockets), 2);
    assert_eq!(known(&facts.cpu.cores), 8);
    assert_eq!(known(&facts.cpu.threads_per_core), 2);
    assert_eq!(known(&facts.cpu.numa_nodes), 2);
    assert!((known(&facts.cpu.mhz) - 3600.0).abs() < 1e-9);
    assert_eq!(known(&facts.platform.virtualization), None);
    assert_eq!(known(&facts.limits.container), None);
    let devices = known(&facts.storage.devices);
    let chain: Vec<(&str, &str)> = devices
        .iter()
        .map(|device| (device.kind.as_str(), device.name.as_str()))
        .collect();
    assert_eq!(
        chain,
        [
            ("dm", "dm-2"),
            ("md", "md0"),
            ("partition", "nvme0n1p2"),
            ("disk", "nvme0n1"),
            ("partition", "nvme1n1p2"),
            ("disk", "nvme1n1"),
        ]
    );
    snapshot("bare-metal-2-sockets", &facts);

    let scratch = machine.facts(&probes("x86_64", "/srv/scratch space/x", 15));
    assert_eq!(known(&scratch.storage.file_system), "tmpfs");
    assert_eq!(known(&scratch.storage.mount_point), "/srv/scratch space");
    assert_eq!(known(&scratch.storage.devices), []);
}

#[test]
fn a_container_with_a_quota_of_one_and_a_half_cpus_under_v2() {
    let machine = Machine::of(CONTAINER);
    let container = Probes {
        hypervisor: Some("KVMKVMKVM".to_owned()),
        version: busybox,
        io: IoFacts {
            io_uring: Fact::Known(Some("io_uring_setup: EPERM (a seccomp filter)".to_owned())),
            ..probes("x86_64", "/", 4).io
        },
        ..probes("x86_64", "/tmp/bench", 4)
    };
    let facts = machine.facts(&container);
    assert_eq!(known(&facts.limits.cgroup), "v2");
    assert_eq!(known(&facts.limits.cpu_quota), Some(1.5));
    assert_eq!(facts.limits.copies_all(), 2);
    assert_eq!(known(&facts.limits.memory), Some(Bytes(1 << 30)));
    assert_eq!(known(&facts.limits.container).as_deref(), Some("docker"));
    assert_eq!(known(&facts.storage.file_system), "overlay");
    assert_eq!(
        facts.storage.devices.missing(),
        Some("the overlay's upper directory cannot be seen from here")
    );
    assert_eq!(
        known(&facts.programs["sort"]),
        "/usr/bin/sort -> /bin/busybox (BusyBox v1.36.1)"
    );
    snapshot("container-v2-quota", &facts);

    let volume = machine.facts(&Probes {
        work_dir: PathBuf::from("/data/bench"),
        ..container
    });
    assert_eq!(known(&volume.storage.file_system), "ext4");
    let devices = known(&volume.storage.devices);
    assert_eq!(devices[1].name, "nvme0n1", "a volume's disk can be seen");
}

#[test]
fn a_service_under_v1_with_the_quota_on_its_slice() {
    let facts = Machine::of(V1).facts(&Probes {
        hypervisor: Some("VMwareVMware".to_owned()),
        io: IoFacts {
            io_uring: Fact::Known(Some("io_uring_setup: ENOSYS (too old)".to_owned())),
            ..probes("x86_64", "/", 4).io
        },
        ..probes("x86_64", "/home/bench", 4)
    });
    assert_eq!(known(&facts.limits.cgroup), "v1");
    assert_eq!(known(&facts.limits.cpu_quota), Some(2.0));
    assert_eq!(known(&facts.limits.memory), Some(Bytes(2 << 30)));
    assert_eq!(
        known(&facts.platform.virtualization).as_deref(),
        Some("vmware")
    );
    assert!((known(&facts.cpu.mhz) - 2400.0).abs() < 1e-9);
    assert!(!known(&facts.clock.tsc_reliable));
    let devices = known(&facts.storage.devices);
    assert_eq!(devices[0].scheduler, Fact::Known("cfq".to_owned()));
    assert_eq!(devices[1].rotational, Fact::Known(true));
    snapshot("cgroup-v1", &facts);
}

#[test]
fn an_arm_server_without_a_model_name() {
    let facts = Machine::of(ARM).facts(&Probes {
        page_size: Fact::Known(Bytes(65_536)),
        ..probes("aarch64", "/var/bench", 4)
    });
    assert_eq!(known(&facts.cpu.model), "ARM Neoverse-N1");
    assert_eq!(known(&facts.cpu.sockets), 1);
    assert_eq!(known(&facts.clock.source), "arch_sys_counter");
    assert!(known(&facts.clock.tsc_reliable));
    assert_eq!(known(&facts.platform.virtualization), None);
    assert_eq!(known(&facts.limits.cpu_quota), None);
    assert!(facts.memory.transparent_huge_pages.missing().is_some());
    assert_eq!(
        facts.programs["expr"].missing(),
        Some("no `expr` in the search path `/usr/local/bin:/usr/bin:/bin`")
    );
    snapshot("arm-server", &facts);
}

#[test]
fn an_empty_machine_has_a_reason_for_everything() {
    let refuse = |_: &Path, _: &str| Fact::Missing("not run".to_owned());
    let nothing = Probes {
        cpus_allowed: Fact::Missing("sched_getaffinity: ENOSYS".to_owned()),
        page_size: Fact::Missing("sysconf(_SC_PAGESIZE): EINVAL".to_owned()),
        free: Fact::Missing("statvfs `/x`: ENOENT".to_owned()),
        io: IoFacts::default(),
        clock_cost: Fact::Missing("no clock".to_owned()),
        path: String::new(),
        version: refuse,
        ..probes("x86_64", "/x", 1)
    };
    let facts = Machine::of("").facts(&nothing);
    snapshot("empty", &facts);
    let json = serde_json::to_value(&facts).unwrap();
    let mut seen = 0;
    every_fact(&json, &mut |fact| {
        seen += 1;
        let why = fact["missing"].as_str().unwrap_or_default();
        assert!(!why.is_empty(), "{fact}");
    });
    assert_eq!(
        seen, 52,
        "every fact of the model was looked at, but the locale"
    );
}

/// Calls `check` for everything that is a fact, but the locale, whose default is known.
fn every_fact(json: &serde_json::Value, check: &mut impl FnMut(&serde_json::Value)) {
    let Some(fields) = json.as_object() else {
        return;
    };
    for (name, value) in fields {
        let is_fact = value.get("missing").is_some();
        if is_fact && name != "locale" {
            check(value);
        } else {
            every_fact(value, check);
        }
    }
}

#[test]
fn on_this_machine_the_essentials_are_known() {
    let dir = tempfile::tempdir().unwrap();
    let facts = facts(&Tree::real(), &Probes::real(dir.path()));
    assert!(known(&facts.cpu.online) >= 1);
    assert!(known(&facts.limits.cpus_allowed) >= 1);
    assert!(known(&facts.memory.total) > Bytes(1 << 20));
    assert!(!known(&facts.storage.file_system).is_empty());
    assert!(!known(&facts.kernel.release).is_empty());
    assert!(known(&facts.programs["sh"]).contains("/sh"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn instances_are_told_apart_and_nothing_private_is_given_away() {
    const BOOT: &str = "9f2c1d3e-4b5a-4678-8899-aabbccddeeff";
    let identity = |machine_id: &str| {
        let text = format!(
            "== /etc/machine-id\n{machine_id}\n== /proc/sys/kernel/random/boot_id\n{BOOT}\n"
        );
        let machine = Machine::of(&text);
        identity::facts(&Tree::at(machine.0.path()))
    };
    let (a, b) = (
        "0123456789abcdef0123456789abcdef",
        "0123456789abcdef0123456789abcdee",
    );
    let found = identity(a);
    assert_eq!(found, identity(a), "a second look sees the same instance");
    assert_ne!(found.machine, identity(b).machine);
    assert_eq!(found.boot, identity(b).boot);
    for (fact, original) in [(&found.machine, a), (&found.boot, BOOT)] {
        let digest = known(fact);
        assert_eq!(digest.len(), 16);
        assert!(!original.replace('-', "").contains(digest.as_str()));
    }
    for empty in [
        "uninitialized",
        "",
        "00000000000000000000000000000000",
        "0123",
    ] {
        assert!(identity(empty).machine.missing().is_some(), "{empty}");
    }
}
