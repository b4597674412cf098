//! Whether we run in a container, and whose.
//!
//! Container managers leave different traces: a variable in the environment of process 1, a marker file, a name in
//! the control group's path. Marker files alone prove nothing: a virtual machine made from a container image carries
//! them too. They count only where at least one of the PID, IPC and UTS namespaces is not the first one of the kernel,
//! whose inode numbers are fixed (`include/linux/proc_ns.h`). A PID namespace without any known trace is a container
//! of an unknown kind.

use model::host::Fact;
use sys::tree::Tree;

/// The inode numbers of the kernel's first namespaces: `PROC_IPC_INIT_INO`, `PROC_UTS_INIT_INO`, `PROC_PID_INIT_INO`.
const FIRST: [(&str, u64); 3] = [
    ("ipc", 0xefff_ffff),
    ("uts", 0xefff_fffe),
    ("pid", 0xefff_fffc),
];

/// The container's kind, `None` outside of containers. `groups` are our control group's paths.
pub(super) fn fact(tree: &Tree, groups: &[String]) -> Fact<Option<String>> {
    let namespaces = Namespaces::read(tree);
    let name = declared(tree)
        .or_else(|| {
            groups
                .iter()
                .find_map(|path| by_group(path))
                .map(str::to_owned)
        })
        .or_else(|| {
            let marked = namespaces != Namespaces::First;
            marked.then(|| by_marker(tree)).flatten().map(str::to_owned)
        });
    match (name, namespaces) {
        (Some(name), _) => Fact::Known(Some(name)),
        (None, Namespaces::Own { pid: true }) => Fact::Known(Some("other".to_owned())),
        (None, Namespaces::First | Namespaces::Own { pid: false }) => Fact::Known(None),
        (None, Namespaces::Unknown) => {
            Fact::Missing("/proc/self/ns does not tell the namespaces".to_owned())
        }
    }
}

/// Whose namespaces we are in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Namespaces {
    /// The kernel's first ones: not in a container.
    First,
    /// At least one is not the first.
    Own {
        /// The PID namespace is one of them.
        pid: bool,
    },
    /// /proc does not tell.
    Unknown,
}

impl Namespaces {
    fn read(tree: &Tree) -> Self {
        let mut own = false;
        let mut own_pid = false;
        for (name, first) in FIRST {
            let Ok(link) = tree.link(&format!("/proc/self/ns/{name}")) else {
                return Self::Unknown;
            };
            // `pid:[4026531836]`.
            if !link.ends_with(&format!(":[{first}]")) {
                own = true;
                own_pid |= name == "pid";
            }
        }
        if own {
            Self::Own { pid: own_pid }
        } else {
            Self::First
        }
    }
}

/// What a container manager says in as many words.
fn declared(tree: &Tree) -> Option<String> {
    if tree.exists("/proc/vz") && !tree.exists("/proc/bc") {
        return Some("openvz".to_owned());
    }
    let release = tree
        .read("/proc/sys/kernel/osrelease")
        .unwrap_or_default()
        .to_ascii_lowercase();
    if release.contains("microsoft") || release.contains("wsl") {
        return Some("wsl".to_owned());
    }
    // systemd's interface: the manager's name, also for those who may not read process 1's environment.
    ["/run/host/container-manager", "/run/systemd/container"]
        .iter()
        .find_map(|path| tree.read_trimmed(path).ok())
        .or_else(|| {
            let environment = tree.read("/proc/1/environ").ok()?;
            environment
                .split('\0')
                .find_map(|variable| variable.strip_prefix("container="))
                .filter(|name| !name.is_empty())
                .map(str::to_owned)
        })
        .filter(|name| name.len() <= 64 && name.chars().all(|c| c.is_ascii_graphic()))
}

fn by_marker(tree: &Tree) -> Option<&'static str> {
    [
        ("/var/run/secrets/kubernetes.io", "kubernetes"),
        ("/run/.containerenv", "podman"),
        ("/.dockerenv", "docker"),
    ]
    .iter()
    .find(|(path, _)| tree.exists(path))
    .map(|(_, name)| *name)
}

/// Container managers name their control groups in a way of their own. Whole parts of the path are compared, so that
/// `docker.service`, which is Docker itself, is no container.
fn by_group(path: &str) -> Option<&'static str> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let scope = |prefix: &str| {
        parts
            .iter()
            .any(|part| scope_name(part).is_some_and(|name| name.starts_with(prefix)))
    };
    let below = |name: &str| {
        parts
            .iter()
            .position(|part| *part == name)
            .is_some_and(|place| place + 1 < parts.len())
    };
    let starts = |prefix: &str| parts.iter().any(|part| part.starts_with(prefix));
    if starts("kubepods") {
        Some("kubernetes")
    } else if below("docker") || scope("docker-") {
        Some("docker")
    } else if starts("libpod-") || below("libpod_parent") {
        Some("podman")
    } else if below("lxc") || starts("lxc.payload") {
        Some("lxc")
    } else if scope("cri-containerd-") || scope("crio-") {
        Some("kubernetes")
    } else {
        None
    }
}

/// The name of a systemd scope.
fn scope_name(part: &str) -> Option<&str> {
    part.strip_suffix(".scope")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_group_paths_name_the_manager_and_not_its_service() {
        let check = |path: &str, expect: Option<&str>| assert_eq!(by_group(path), expect, "{path}");
        check("/", None);
        check("/docker", None);
        check("/docker/0123abcd", Some("docker"));
        check("/system.slice/docker-0123abcd.scope", Some("docker"));
        check("/system.slice/docker.service", None);
        check("/system.slice/docker-gc.service", None);
        check(
            "/kubepods.slice/kubepods-burstable.slice/cri-containerd-01.scope",
            Some("kubernetes"),
        );
        check("/kubepods/besteffort/pod1/2", Some("kubernetes"));
        check("/machine.slice/libpod-0123.scope/container", Some("podman"));
        check("/lxc/web1", Some("lxc"));
        check("/lxc.payload.web1/init.scope", Some("lxc"));
        check("/user.slice/user-1000.slice/session-1.scope", None);
    }
}
