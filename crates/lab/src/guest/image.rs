//! What a guest starts from: a kernel, everything that runs in its memory, and a disk.

use anyhow::{Context, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use xtask::process::{command, output, succeed};

/// The disk, on which the job lies and its results are left.
pub(super) const DISK: &str = "disk.img";

/// What becomes the guest's memory file system.
pub(super) const MEMORY: &str = "memory.cpio";

/// What the guest said.
pub(super) const CONSOLE: &str = "console.log";

/// The size of the disk: sparse, and room for two disks of a truth experiment.
const DISK_BYTES: u64 = 20 << 30;

/// The first process.
const INIT: &str = include_str!("init.sh");

/// Modules in the order in which they can be loaded; those a kernel has built in are in no package.
const MODULES: [&str; 10] = [
    "virtio_ring",
    "virtio",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "virtio_blk",
    "loop",
    "dm-mod",
    "md-mod",
    "raid1",
];

/// Programs that busybox has not, or not with the options that are needed.
const PROGRAMS: [&str; 12] = [
    "bash",
    "fallocate",
    "losetup",
    "mount",
    "umount",
    "mkfs.ext4",
    "mkswap",
    "blkid",
    "setpriv",
    "taskset",
    "dmsetup",
    "mdadm",
];

/// Directories that are mounted over, or written to.
const DIRECTORIES: [&str; 13] = [
    "bin",
    "sbin",
    "lib",
    "lib64",
    "proc",
    "sys",
    "dev",
    "tmp",
    "run",
    "mnt",
    "scratch",
    "mod",
    "project/crates/lab",
];

/// A kernel and what it starts with.
#[derive(Debug)]
pub(super) struct Image {
    /// The kernel's file.
    pub(super) kernel: PathBuf,
}

impl Image {
    /// Makes everything in `here`: the kernel of `package`, a memory file system with `binary`, a disk with `job`.
    pub(super) fn make(
        here: &Path,
        package: &Path,
        binary: &Path,
        job: &str,
    ) -> anyhow::Result<Self> {
        let package = package
            .canonicalize()
            .with_context(|| format!("find `{}`", package.display()))?;
        let unpacked = anew(&here.join("kernel"))?;
        succeed(
            command(here, "dpkg-deb")
                .arg("-x")
                .args([&package, &unpacked]),
        )?;
        let boot = unpacked.join("boot");
        let kernel = files(&boot)?
            .into_iter()
            .find(|path| name(path).starts_with("vmlinuz-"))
            .with_context(|| format!("`{}` holds no kernel", package.display()))?;
        let root = anew(&here.join("root"))?;
        for dir in DIRECTORIES {
            make_dir(&root.join(dir))?;
        }
        modules(&root, &unpacked)?;
        programs(here, &root, binary)?;
        let pack = format!("find . | cpio --quiet -o -H newc > ../{MEMORY}");
        succeed(command(&root, "sh").args(["-c", &pack]))
            .context("pack the guest's memory\nhint: `apt-get install cpio`")?;
        disk(here, job)?;
        Ok(Self { kernel })
    }

    /// The kernel's name.
    pub(super) fn kernel_name(&self) -> String {
        name(&self.kernel).trim_start_matches("vmlinuz-").to_owned()
    }
}

fn modules(root: &Path, unpacked: &Path) -> anyhow::Result<()> {
    let found = output(command(unpacked, "find").args(["lib", "-name", "*.ko"]))?;
    let mut order = String::new();
    for module in MODULES {
        let file = format!("{module}.ko");
        if let Some(path) = found
            .lines()
            .find(|path| path.ends_with(&format!("/{file}")))
        {
            copy(&unpacked.join(path), &root.join("mod").join(file))?;
            order.push_str(module);
            order.push('\n');
        }
    }
    write(&root.join("mod/order"), &order)
}

fn programs(here: &Path, root: &Path, binary: &Path) -> anyhow::Result<()> {
    let busybox = which(here, "busybox")?;
    copy(&busybox, &root.join("bin/busybox"))?;
    let applets = output(command(here, &busybox).arg("--list"))?;
    for applet in applets.lines().filter(|&applet| applet != "busybox") {
        link("busybox", &root.join("bin").join(applet))?;
    }
    let ourselves = std::env::current_exe().context("find this program")?;
    let mut libraries = BTreeSet::new();
    for (path, name) in [(binary, "kurabe"), (&ourselves, "lab")] {
        put(here, root, path, name, &mut libraries)?;
    }
    for name in PROGRAMS {
        put(here, root, &which(here, name)?, name, &mut libraries)?;
    }
    // The shell of the experiments is the one that they have on a real machine.
    link("bash", &root.join("bin/sh"))?;
    for library in libraries {
        let there = root.join(library.trim_start_matches('/'));
        make_dir(there.parent().unwrap_or(root))?;
        copy(Path::new(&library), &there)?;
    }
    let init = root.join("init");
    write(&init, INIT)?;
    executable(&init)
}

/// Copies a program to `/bin`, in the place of busybox's, and notes the libraries that it needs.
fn put(
    here: &Path,
    root: &Path,
    program: &Path,
    name: &str,
    libraries: &mut BTreeSet<String>,
) -> anyhow::Result<()> {
    let there = root.join("bin").join(name);
    let _ = fs::remove_file(&there);
    copy(program, &there)?;
    executable(&there)?;
    // A static program has none, and `ldd` says so with an error.
    let listed = output(
        command(here, "sh")
            .args(["-c", "ldd \"$1\" 2>&1 || true", "sh"])
            .arg(program),
    )?;
    let words = listed
        .split_whitespace()
        .filter(|word| word.starts_with('/') && !word.ends_with(':'));
    libraries.extend(words.map(str::to_owned));
    Ok(())
}

fn disk(here: &Path, job: &str) -> anyhow::Result<()> {
    let content = anew(&here.join("content"))?;
    make_dir(&content.join("results"))?;
    write(&content.join("job.sh"), job)?;
    let path = here.join(DISK);
    let _ = fs::remove_file(&path);
    let file = fs::File::create(&path).with_context(|| format!("create `{}`", path.display()))?;
    file.set_len(DISK_BYTES)
        .with_context(|| format!("give `{}` its size", path.display()))?;
    let options = [
        "-q",
        "-F",
        "-E",
        "lazy_itable_init=0,lazy_journal_init=0",
        "-d",
    ];
    succeed(
        command(here, "mkfs.ext4")
            .args(options)
            .args([&content, &path]),
    )
}

fn which(here: &Path, program: &str) -> anyhow::Result<PathBuf> {
    let found =
        output(command(here, "sh").args(["-c", "command -v \"$1\" || true", "sh", program]))?;
    ensure!(
        !found.trim().is_empty(),
        "`{program}` is not installed\nhint: `apt-get install busybox-static util-linux e2fsprogs dmsetup mdadm`"
    );
    Path::new(found.trim())
        .canonicalize()
        .with_context(|| format!("find `{program}`"))
}

fn name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .unwrap_or_default()
}

/// An empty directory in the place of what was there.
pub(super) fn anew(path: &Path) -> anyhow::Result<PathBuf> {
    if path.exists() {
        fs::remove_dir_all(path).with_context(|| format!("empty `{}`", path.display()))?;
    }
    make_dir(path)?;
    Ok(path.to_owned())
}

fn files(dir: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = fs::read_dir(dir).with_context(|| format!("list `{}`", dir.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

fn make_dir(path: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(path).with_context(|| format!("create `{}`", path.display()))
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(path, text).with_context(|| format!("write `{}`", path.display()))
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::copy(from, to)
        .map(drop)
        .with_context(|| format!("copy `{}` to `{}`", from.display(), to.display()))
}

/// A link in the place of what was there.
fn link(target: &str, path: &Path) -> anyhow::Result<()> {
    let _ = fs::remove_file(path);
    symlink(target, path).with_context(|| format!("link `{}` to `{target}`", path.display()))
}

fn executable(path: &Path) -> anyhow::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .with_context(|| format!("make `{}` executable", path.display()))
}
