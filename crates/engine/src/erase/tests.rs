//! What it takes to erase a device, on marks made up and on loop devices.

use super::*;

fn mark(class: Class, uuid: Option<&str>) -> Signature {
    Signature {
        kind: "something",
        class,
        uuid: uuid.map(str::to_owned),
    }
}

/// What is said to `typed` about a device with these marks and serial numbers; nothing where it may be erased.
fn check(marks: &[Signature], serials: &[&str], typed: &[&str], expect: &str) {
    let own = |list: &[&str]| list.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    let said = confirmed(Path::new("/dev/sdx"), marks, &own(serials), &own(typed));
    let said = match said {
        Ok(()) => String::new(),
        Err(Refusal::NotConfirmed { why, word, .. }) => format!("{why}: {word}"),
        Err(other) => other.to_string(),
    };
    assert!(
        said.contains(expect) && said.is_empty() == expect.is_empty(),
        "{said:?} instead of {expect:?}"
    );
}

#[test]
fn a_blank_device_needs_its_name_typed() {
    check(&[], &["S1"], &["/dev/sdx"], "");
    check(&[], &["S1"], &["/dev/sdx=S1"], "");
    check(&[], &["S1"], &["/dev//sdx"], "");
    check(
        &[],
        &["S1"],
        &[],
        "blank, and would be written over: /dev/sdx",
    );
    check(
        &[],
        &["S1"],
        &["/dev/sdy", "S1", "sdx"],
        "would be written over",
    );
    check(
        &[],
        &[],
        &["/dev/sdx=S1"],
        "`S1` is neither its serial number",
    );
}

#[test]
fn a_device_with_content_needs_its_identity_typed() {
    for class in [Class::Content, Class::Table, Class::Unknown] {
        let marks = [mark(class, Some("u-u-i-d"))];
        check(&marks, &["S1"], &["/dev/sdx=S1"], "");
        check(&marks, &["S1"], &["/dev/sdx", "/dev/sdx=u-u-i-d"], "");
        check(
            &marks,
            &["S1"],
            &["/dev/sdx"],
            "it holds something: /dev/sdx=S1",
        );
        check(
            &marks,
            &["S1"],
            &["/dev/sdy=S1", "S1"],
            "it holds something",
        );
        check(
            &marks,
            &["S1"],
            &["/dev/sdx=S1", "/dev/sdx=s1"],
            "`s1` is neither",
        );
        check(&marks, &["S1"], &["/dev/sdx="], "`` is neither");
        check(&marks, &[], &["/dev/sdx"], "/dev/sdx=u-u-i-d");
        let unnamed = [mark(class, None)];
        check(
            &unnamed,
            &[],
            &["/dev/sdx"],
            "neither serial number nor UUID",
        );
        check(&unnamed, &[], &["/dev/sdx="], "`` is neither");
    }
}

#[test]
fn nothing_erases_a_part_of_something_larger() {
    let marks = [mark(Class::Content, None), mark(Class::Member, Some("u"))];
    let typed = ["/dev/sdx", "/dev/sdx=S1", "/dev/sdx=u"];
    check(&marks, &["S1"], &typed, "part of something larger");
}

#[test]
fn a_name_may_hold_the_sign_that_separates_the_identity() {
    for (word, path, expect) in [
        ("/dev/a", "/dev/a", Some(Meant::Name)),
        ("/dev/a=b", "/dev/a", Some(Meant::Identity("b"))),
        ("/dev/a=b", "/dev/a=b", Some(Meant::Name)),
        ("/dev/a=b=c", "/dev/a=b", Some(Meant::Identity("c"))),
        ("/dev/a=b=c", "/dev/a", Some(Meant::Identity("b=c"))),
        ("/dev/b", "/dev/a", None),
        ("", "/dev/a", None),
    ] {
        assert_eq!(meant(word, Path::new(path)), expect, "{word} {path}");
    }
}

#[test]
fn a_partition_is_not_looked_for_under_a_name_that_leads_elsewhere() {
    let dir = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = dir.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("sys/class/block/sda/sda1/partition", "1");
    write("sys/class/block/sda1/dev", "8:1");
    write("dev/sda1", "a file");
    let refused = in_partitions(&Tree::at(dir.path()), "/dev/sda", "sda").unwrap_err();
    let said = refused.to_string();
    assert!(
        said.contains("`/dev/sda1`: it is not the device 8:1"),
        "{said}"
    );
}

#[test]
fn only_block_devices_can_be_erased() {
    for path in ["/dev/null", "/tmp", "/proc/self/exe"] {
        let refused = permit(&Tree::real(), Path::new(path), &[path.to_owned()], None);
        assert!(matches!(refused, Err(Refusal::NotADevice(_))), "{path}");
    }
    let gone = permit(&Tree::real(), Path::new("/dev/no-such"), &[], None);
    assert!(matches!(gone, Err(Refusal::Look { .. })));
}

mod root {
    use super::*;
    use std::process::Command;

    const WRITE: Access = Access {
        write: true,
        direct: false,
        sync: sys::io::file::SyncMode::None,
    };

    /// A loop device on a file of 32 MiB, which nobody else has open; detached at the end.
    struct Loop {
        device: String,
        file: tempfile::TempPath,
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a test sets a device up with the system's own tools"
    )]
    fn tool(program: &str, arguments: &[&str]) -> String {
        let output = Command::new(program).args(arguments).output().unwrap();
        assert!(
            output.status.success(),
            "{program} {arguments:?}: {output:?}"
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    impl Loop {
        fn new() -> Self {
            let file = tempfile::NamedTempFile::new().unwrap();
            file.as_file().set_len(32 << 20).unwrap();
            let file = file.into_temp_path();
            let device = tool("losetup", &["--find", "--show", file.to_str().unwrap()]);
            Self { device, file }
        }

        fn permit(&self, typed: &[&str]) -> Result<Permit, Refusal> {
            let typed: Vec<String> = typed.iter().map(|&text| text.to_owned()).collect();
            permit(&Tree::real(), Path::new(&self.device), &typed, None)
        }

        /// The device's name and an identity, as they are typed.
        fn with(&self, identity: &str) -> String {
            format!("{}={identity}", self.device)
        }

        fn refused(&self, typed: &[&str]) -> String {
            self.permit(typed).unwrap_err().to_string()
        }
    }

    impl Drop for Loop {
        fn drop(&mut self) {
            tool("losetup", &["--detach", &self.device]);
        }
    }

    #[test]
    #[ignore = "root: makes a loop device"]
    fn a_blank_device_is_claimed_once_and_opened_under_the_claim_only() {
        let disk = Loop::new();
        assert!(disk.refused(&[]).contains("it is blank"));
        let permit = disk.permit(&[&disk.device]).unwrap();
        assert_eq!(permit.size_bytes(), 32 << 20);
        let me = std::process::id();
        let open = || permit.open(&Tree::real(), WRITE, me);
        assert!(matches!(open(), Err(Refusal::Unclaimed(_))));

        let claim = permit.claim(&Tree::real()).unwrap();
        // Another claim, even of this process: the kernel keeps it out.
        assert!(
            permit
                .claim(&Tree::real())
                .unwrap_err()
                .to_string()
                .contains("in use")
        );
        open().unwrap();
        let seen = disk.refused(&[&disk.device]);
        assert!(seen.contains("open for writing"), "{seen}");
        drop(claim);
        permit.claim(&Tree::real()).unwrap();
    }

    #[test]
    #[ignore = "root: makes loop devices"]
    fn a_device_that_changes_between_permit_and_opening_is_refused() {
        let (disk, other) = (Loop::new(), Loop::new());
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("disk");
        let point_to = |device: &str| {
            let _ = std::fs::remove_file(&link);
            std::os::unix::fs::symlink(device, &link).unwrap();
        };
        point_to(&disk.device);
        let typed = [link.display().to_string()];
        let me = std::process::id();
        let found = permit(&Tree::real(), &link, &typed, None).unwrap();
        let claim = found.claim(&Tree::real()).unwrap();
        found.open(&Tree::real(), WRITE, me).unwrap();

        // The name leads elsewhere now.
        point_to(&other.device);
        let opened = found.open(&Tree::real(), WRITE, me);
        assert!(matches!(opened, Err(Refusal::Changed(_))), "{opened:?}");
        assert!(matches!(
            found.claim(&Tree::real()),
            Err(Refusal::Changed(_))
        ));
        // Somebody makes a file system on it meanwhile.
        point_to(&disk.device);
        // By its own file, because mke2fs respects the claim.
        let made = Loop::new();
        tool("mke2fs", &["-q", "-F", &made.device]);
        let head = std::fs::read(&made.device).unwrap();
        std::fs::write(&disk.device, &head[..64 << 10]).unwrap();
        let opened = found.open(&Tree::real(), WRITE, me);
        assert!(
            matches!(opened, Err(Refusal::NotConfirmed { .. })),
            "{opened:?}"
        );
        drop(claim);
    }

    #[test]
    #[ignore = "root: makes a loop device and mounts it"]
    fn what_holds_a_file_system_is_safe_and_what_is_mounted_safer() {
        let disk = Loop::new();
        let uuid = "5b6c7d8e-0102-4304-8506-0708090a0b0c";
        tool("mke2fs", &["-q", "-F", "-U", uuid, &disk.device]);
        assert!(disk.refused(&[&disk.device]).contains("it holds ext2/3/4"));
        disk.permit(&[&disk.with(uuid)]).unwrap();

        let point = tempfile::tempdir().unwrap();
        let point = point.path().to_str().unwrap();
        tool("mount", &[&disk.device, point]);
        let said = disk.refused(&[&disk.with(uuid)]);
        tool("umount", &[point]);
        assert!(said.contains(&format!("mounted at `{point}`")), "{said}");
    }

    #[test]
    #[ignore = "root: makes a swap area on a loop device"]
    fn a_swap_area_in_use_and_a_volume_of_others_are_safe() {
        let disk = Loop::new();
        let uuid = "5b6c7d8e-0102-4304-8506-0708090a0b0d";
        tool("mkswap", &["-U", uuid, &disk.device]);
        tool("swapon", &[&disk.device]);
        let said = disk.refused(&[&disk.with(uuid)]);
        tool("swapoff", &[&disk.device]);
        assert!(said.contains("used as swap"), "{said}");
        disk.permit(&[&disk.with(uuid)]).unwrap();

        let lvm = Loop::new();
        let mut label = vec![0_u8; 512];
        label.extend_from_slice(b"LABELONE");
        std::fs::write(&lvm.device, label).unwrap();
        let said = lvm.refused(&[&lvm.device]);
        assert!(said.contains("part of something larger: LVM"), "{said}");
    }

    #[test]
    #[ignore = "root: mounts a loop device again and again"]
    fn a_mount_through_another_loop_device_and_a_claim_never_meet() {
        /// A thousand were tried when this was written.
        const TURNS: usize = 40;
        let disk = Loop::new();
        let uuid = "5b6c7d8e-0102-4304-8506-0708090a0b0e";
        tool("mke2fs", &["-q", "-F", "-U", uuid, &disk.device]);
        let image: &Path = &disk.file;
        let dir = tempfile::tempdir_in(image.parent().unwrap()).unwrap();
        let (link, point) = (dir.path().join("link"), dir.path().join("m"));
        std::fs::hard_link(image, &link).unwrap();
        std::fs::create_dir(&point).unwrap();
        let words = [&link, &point].map(|path| path.to_str().unwrap());
        let other = tool("losetup", &["--find", "--show", words[0]]);
        // It ends by itself, too, when the link goes away with the test.
        let [image, point] = words;
        let script = format!(
            "while [ -e {image} ]; do mount -o ro {other} {point} 2>/dev/null && umount {point}; done"
        );
        #[expect(clippy::disallowed_methods, reason = "somebody else mounts")]
        let mut attacker = Command::new("sh").args(["-c", &script]).spawn().unwrap();
        let mounted = || {
            let mounts = sys::mounts::read(&Tree::real()).unwrap();
            mounts.iter().any(|mount| mount.source == other)
        };
        let (mut claims, mut meetings) = (0, 0);
        for _ in 0..TURNS {
            let Ok(permit) = disk.permit(&[&disk.with(uuid)]) else {
                continue;
            };
            if let Ok(claim) = permit.claim(&Tree::real()) {
                claims += 1;
                sys::clock::sleep(2_000_000);
                meetings += usize::from(mounted());
                drop(claim);
            }
        }
        std::fs::remove_file(&link).unwrap();
        attacker.wait().unwrap();
        tool("losetup", &["--detach", &other]);
        assert_eq!(meetings, 0);
        assert!(claims > 0, "nothing was tried");
    }

    #[test]
    #[ignore = "root: looks at the disk of this machine"]
    fn the_disk_this_machine_runs_from_is_refused() {
        let mounts = sys::mounts::read(&Tree::real()).unwrap();
        let root = sys::mounts::holding(&mounts, "/").unwrap();
        let Ok(target) = Tree::real().link(&format!("/sys/dev/block/{}", root.device)) else {
            panic!(
                "the root file system `{}` lies on no block device",
                root.kind
            )
        };
        let device = PathBuf::from("/dev").join(target.rsplit('/').next().unwrap());
        let typed = [device.display().to_string()];
        let said = permit(&Tree::real(), &device, &typed, None).unwrap_err();
        assert!(matches!(said, Refusal::InUse { .. }), "{said}");
    }
}
