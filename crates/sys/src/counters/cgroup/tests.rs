//! Control groups of every layout, in trees that the tests build.

use super::*;
use crate::counters::tests::{Fake, why};

const V1_MOUNTS: &str = "\
31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
33 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset
34 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory
35 31 0:37 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd
";
const V1_SELF: &str = "\
9:name=systemd:/system.slice/bench.service
4:memory:/system.slice/bench.service
3:cpuset:/
2:cpu,cpuacct:/system.slice/bench.service
";
const NO_LIMIT: &str = "9223372036854771712\n";

#[test]
fn v1_takes_the_tightest_of_all_levels() {
    let cpu = "/sys/fs/cgroup/cpu,cpuacct";
    let memory = "/sys/fs/cgroup/memory";
    let files: Vec<(String, &str)> = vec![
        ("/proc/self/cgroup".to_owned(), V1_SELF),
        ("/proc/self/mountinfo".to_owned(), V1_MOUNTS),
        (format!("{cpu}/cpu.cfs_quota_us"), "-1\n"),
        (format!("{cpu}/cpu.cfs_period_us"), "100000\n"),
        (
            format!("{cpu}/cpu.stat"),
            "nr_periods 0\nthrottled_time 0\n",
        ),
        (format!("{cpu}/system.slice/cpu.cfs_quota_us"), "150000\n"),
        (format!("{cpu}/system.slice/cpu.cfs_period_us"), "100000\n"),
        (
            format!("{cpu}/system.slice/cpu.stat"),
            "nr_periods 8\nnr_throttled 2\nthrottled_time 2000\n",
        ),
        (
            format!("{cpu}/system.slice/bench.service/cpu.cfs_quota_us"),
            "400000\n",
        ),
        (
            format!("{cpu}/system.slice/bench.service/cpu.cfs_period_us"),
            "100000\n",
        ),
        (
            format!("{cpu}/system.slice/bench.service/cpu.stat"),
            "throttled_time 7\n",
        ),
        (format!("{memory}/memory.limit_in_bytes"), NO_LIMIT),
        (
            format!("{memory}/system.slice/memory.limit_in_bytes"),
            NO_LIMIT,
        ),
        (
            format!("{memory}/system.slice/bench.service/memory.limit_in_bytes"),
            "536870912\n",
        ),
        (
            format!("{memory}/system.slice/bench.service/memory.oom_control"),
            "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n",
        ),
    ];
    let borrowed: Vec<(&str, &str)> = files.iter().map(|(path, text)| (&**path, *text)).collect();
    let fake = Fake::new(&borrowed);
    let tree = fake.tree();
    let groups = Cgroups::find(&tree).unwrap();
    assert_eq!(groups.version, Version::V1);
    assert_eq!(groups.paths, ["/", "/system.slice/bench.service"]);
    assert_eq!(groups.cpu_quota(&tree).unwrap(), Some(1.5));
    assert_eq!(groups.memory_limit(&tree).unwrap(), Some(512 << 20));
    assert_eq!(groups.throttled(&tree).unwrap(), Duration::from_nanos(2007));
    assert_eq!(groups.memory_kills(&tree).unwrap(), 4);
}

#[test]
fn a_path_that_is_not_visible_means_the_root_of_the_mount() {
    // A v1 container without a cgroup namespace: the mount shows our own group, and so mountinfo's root is our path;
    // or it shows it with root `/` (a bind mount seen from inside), and our path is nowhere below it.
    for root in ["/docker/abc", "/", "/../..", "/docker/ab"] {
        let mounts = format!(
            "40 1 0:29 {root} /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n\
             41 1 0:30 {root} /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory\n"
        );
        let fake = Fake::new(&[
            (
                "/proc/self/cgroup",
                "2:cpu:/docker/abc\n3:memory:/docker/abc\n",
            ),
            ("/proc/self/mountinfo", &mounts),
            ("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000"),
            ("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", NO_LIMIT),
            (
                "/sys/fs/cgroup/memory/memory.stat",
                "cache 0\nhierarchical_memory_limit 268435456\n",
            ),
        ]);
        let tree = fake.tree();
        let groups = Cgroups::find(&tree).unwrap();
        assert_eq!(groups.cpu_quota(&tree).unwrap(), Some(0.5), "{root}");
        assert_eq!(
            groups.memory_limit(&tree).unwrap(),
            Some(256 << 20),
            "the limit of a level above the container, {root}"
        );
    }
}

#[test]
fn v2_takes_the_tightest_of_all_levels_and_its_root_has_none() {
    let fake = Fake::new(&[
        ("/proc/self/cgroup", "0::/user.slice/a:b.scope\n"),
        (
            "/proc/self/mountinfo",
            "30 1 0:26 / /sys/fs/cgroup rw shared:4 - cgroup2 cgroup2 rw,nsdelegate\n",
        ),
        ("/sys/fs/cgroup/cpu.stat", "usage_usec 5\n"),
        ("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n"),
        (
            "/sys/fs/cgroup/user.slice/cpu.stat",
            "usage_usec 5\nthrottled_usec 11\n",
        ),
        ("/sys/fs/cgroup/user.slice/memory.max", "1073741824\n"),
        (
            "/sys/fs/cgroup/user.slice/a:b.scope/cpu.max",
            "250000 100000\n",
        ),
        (
            "/sys/fs/cgroup/user.slice/a:b.scope/cpu.stat",
            "usage_usec 5\nthrottled_usec 31\n",
        ),
        ("/sys/fs/cgroup/user.slice/a:b.scope/memory.max", "max\n"),
        (
            "/sys/fs/cgroup/user.slice/a:b.scope/memory.events",
            "low 0\nhigh 0\nmax 0\noom 2\noom_kill 1\noom_group_kill 0\n",
        ),
    ]);
    let tree = fake.tree();
    let groups = Cgroups::find(&tree).unwrap();
    assert_eq!(groups.version, Version::V2);
    assert_eq!(groups.cpu_quota(&tree).unwrap(), Some(2.5));
    assert_eq!(groups.memory_limit(&tree).unwrap(), Some(1 << 30));
    assert_eq!(groups.throttled(&tree).unwrap(), Duration::from_micros(42));
    assert_eq!(groups.memory_kills(&tree).unwrap(), 1);
}

#[test]
fn the_root_of_v2_has_no_quota_and_counts_no_throttling() {
    let fake = Fake::new(&[
        ("/proc/self/cgroup", "0::/\n"),
        (
            "/proc/self/mountinfo",
            "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
        ),
        ("/sys/fs/cgroup/cpu.stat", "usage_usec 5\n"),
    ]);
    let tree = fake.tree();
    let groups = Cgroups::find(&tree).unwrap();
    assert_eq!(groups.cpu_quota(&tree).unwrap(), None);
    assert_eq!(groups.memory_limit(&tree).unwrap(), None);
    assert_eq!(
        why(groups.throttled(&tree)),
        "parse `/sys/fs/cgroup/cpu.stat`: it does not count throttled time"
    );
    assert_eq!(
        why(groups.memory_kills(&tree)),
        "read `/sys/fs/cgroup/memory.events`: ENOENT"
    );
}

#[test]
fn hybrid_uses_the_v1_controllers_and_v2_for_the_others() {
    let fake = Fake::new(&[
        ("/proc/self/cgroup", "1:cpu:/a\n2:name=systemd:/a\n0::/b\n"),
        (
            "/proc/self/mountinfo",
            "31 1 0:1 / /cg/cpu rw - cgroup cgroup rw,cpu\n\
             32 1 0:2 / /cg/unified rw - cgroup2 cgroup2 rw\n\
             33 1 0:3 / /cg/systemd rw - cgroup cgroup rw,name=systemd\n",
        ),
        ("/cg/cpu/a/cpu.cfs_quota_us", "100000"),
        ("/cg/cpu/a/cpu.cfs_period_us", "50000"),
        ("/cg/unified/b/memory.max", "4096"),
    ]);
    let tree = fake.tree();
    let groups = Cgroups::find(&tree).unwrap();
    assert_eq!(groups.version, Version::Hybrid);
    assert_eq!(groups.cpu_quota(&tree).unwrap(), Some(2.0));
    assert_eq!(groups.memory_limit(&tree).unwrap(), Some(4096));
}

#[test]
fn a_named_v1_hierarchy_beside_v2_does_not_hide_v2() {
    let fake = Fake::new(&[
        ("/proc/self/cgroup", "1:name=systemd:/a\n0::/b\n"),
        (
            "/proc/self/mountinfo",
            "32 1 0:2 / /cg rw - cgroup2 cgroup2 rw\n\
             33 1 0:3 / /cg-systemd rw - cgroup cgroup rw,xattr,name=systemd\n",
        ),
        ("/cg/b/cpu.max", "10000 100000"),
    ]);
    let tree = fake.tree();
    let groups = Cgroups::find(&tree).unwrap();
    assert_eq!(groups.version, Version::V2);
    assert_eq!(groups.cpu_quota(&tree).unwrap(), Some(0.1));
}

#[test]
fn a_quota_as_large_as_the_kernel_takes_is_a_number() {
    let fake = Fake::new(&[
        ("/proc/self/cgroup", "0::/\n"),
        (
            "/proc/self/mountinfo",
            "32 1 0:2 / /cg rw - cgroup2 cgroup2 rw\n",
        ),
        ("/cg/cpu.max", "17592186044416 1000000"),
    ]);
    let tree = fake.tree();
    let groups = Cgroups::find(&tree).unwrap();
    assert_eq!(groups.cpu_quota(&tree).unwrap(), Some(17_592_186.044_416));
}

#[test]
fn what_cannot_be_seen_is_an_error_and_not_unlimited() {
    let fake = Fake::new(&[
        ("/proc/self/cgroup", "0::/docker/abc\n"),
        (
            "/proc/self/mountinfo",
            "22 1 254:1 / / rw - ext4 /dev/vda rw\n",
        ),
    ]);
    let tree = fake.tree();
    let groups = Cgroups::find(&tree).unwrap();
    assert_eq!(groups.version, Version::None);
    assert_eq!(
        why(groups.cpu_quota(&tree)),
        "parse `/proc/self/mountinfo`: no control group file system with cpu is mounted"
    );
    let broken = Fake::new(&[
        ("/proc/self/cgroup", "0::/\n"),
        (
            "/proc/self/mountinfo",
            "30 1 0:26 / /cg rw - cgroup2 cgroup2 rw\n",
        ),
        ("/cg/cpu.max", "lots 100000"),
        ("/cg/memory.max", "-5"),
    ]);
    let tree = broken.tree();
    let groups = Cgroups::find(&tree).unwrap();
    assert_eq!(
        why(groups.cpu_quota(&tree)),
        "parse `/cg/cpu.max`: `lots` per `100000` is not a quota"
    );
    assert_eq!(
        why(groups.memory_limit(&tree)),
        "parse `/cg/memory.max`: the limit is `-5`, not a number"
    );
}
