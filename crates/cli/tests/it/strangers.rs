//! Directories in which somebody else may rename: root refuses them, and where it was told not to, nothing that others
//! put in the way is executed.

mod root {
    use crate::bed::{Bed, Done};
    use std::collections::BTreeSet;
    use std::fs;
    use std::os::unix::fs::{MetadataExt, chown};
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};

    /// The user who owns nothing: nobody.
    const NOBODY: u32 = 65534;

    /// A directory in the bed that belongs to nobody.
    fn of_nobody(bed: &Bed, name: &str) -> PathBuf {
        // Others must be able to get there.
        mode(bed.path(), 0o755);
        let dir = bed.path().join(name);
        fs::create_dir(&dir).unwrap();
        chown(&dir, Some(NOBODY), Some(NOBODY)).unwrap();
        dir
    }

    fn mode(dir: &Path, mode: u32) {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
        fs::set_permissions(dir, mode).unwrap();
    }

    #[test]
    #[ignore = "root: gives directories to another user"]
    fn root_does_not_work_where_somebody_else_may_rename() {
        let bed = Bed::new();
        let theirs = of_nobody(&bed, "theirs");
        let inside = theirs.join("inside");
        fs::create_dir(&inside).unwrap();
        let dir = |dir: &Path| dir.to_str().unwrap().to_owned();
        let run =
            |at: &Path| bed.run(&["run", "selftest.null", "--passes", "1", "--dir", &dir(at)]);
        let refused = |done: Done, why: &str| {
            done.code(2)
                .err_has(&["as root", why, "\nhint: ", "`--dir-of-others`"]);
            assert!(!bed.store().exists());
            assert_eq!(fs::read_dir(&inside).unwrap().count(), 0);
        };
        refused(run(&inside), "belongs to user 65534");
        refused(run(&theirs), "belongs to user 65534");
        mode(&theirs, 0o1777);
        refused(run(&inside), "belongs to user 65534");
        chown(&theirs, Some(0), Some(0)).unwrap();
        for loose in [0o777, 0o775] {
            mode(&theirs, loose);
            refused(run(&inside), &format!("others may rename (mode {loose:o})"));
        }
        std::os::unix::fs::symlink(&inside, bed.path().join("link")).unwrap();
        refused(
            run(&bed.path().join("link")),
            "others may rename (mode 775)",
        );
        let at = dir(&inside);
        for args in [
            &["soak", "selftest.null", "--for", "1s", "--dir", &at][..],
            &[
                "duel",
                "selftest.null",
                "--a",
                &format!("dir={at}"),
                "--b",
                "dir=.",
            ],
            &[
                "fio",
                "--name=a",
                "--size=64k",
                &format!("--directory={at}"),
            ],
        ] {
            refused(bed.run(args), "others may rename (mode 775)");
        }
        // In a sticky directory only owners may, and the user who called sudo is no stranger.
        mode(&theirs, 0o1777);
        run(&inside).code(0);
        chown(&theirs, Some(NOBODY), None).unwrap();
        let args = ["run", "selftest.null", "--passes", "1", "--dir", &at];
        let mut by_sudo = bed.command(&args);
        let done: Done = by_sudo.env("SUDO_UID", "65534").output().unwrap().into();
        done.code(0);
        run(&inside).code(2);
        bed.run(&[&args[..], &["--dir-of-others"]].concat()).code(0);
        let job = ["fio", "--name=a", "--size=64k", "--dir-of-others"];
        bed.run(&[&job[..], &[&format!("--directory={at}")]].concat())
            .code(0);
    }

    #[test]
    #[ignore = "root: gives a directory to another user"]
    fn a_link_that_leads_nowhere_for_a_moment_is_no_way_around_the_refusal() {
        use std::os::unix::fs::symlink;
        use std::sync::atomic::{AtomicBool, Ordering};
        let bed = Bed::new();
        let theirs = of_nobody(&bed, "theirs");
        let inside = theirs.join("inside");
        fs::create_dir(&inside).unwrap();
        let (link, next) = (bed.path().join("link"), bed.path().join("next"));
        symlink(&inside, &link).unwrap();
        let dir = link.to_str().unwrap();
        let files = format!("--directory={dir}");
        let stop = AtomicBool::new(false);
        let done: Vec<Done> = std::thread::scope(|scope| {
            scope.spawn(|| {
                let missing = theirs.join("missing");
                for to in [&missing, &inside].into_iter().cycle() {
                    symlink(to, &next).unwrap();
                    fs::rename(&next, &link).unwrap();
                    if stop.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
            let runs = (0..60).map(|turn| {
                if turn % 2 == 0 {
                    bed.run(&["run", "selftest.null", "--passes", "1", "--dir", dir])
                } else {
                    bed.run(&["fio", "--name=a", "--size=64k", &files])
                }
            });
            let done = runs.collect();
            stop.store(true, Ordering::Relaxed);
            done
        });
        let refused = done
            .iter()
            .filter(|run| run.err.contains("as root"))
            .count();
        // Both moments were met.
        assert!(0 < refused && refused < done.len(), "{refused}");
        for run in done {
            run.code(2);
        }
        assert_eq!(fs::read_dir(&inside).unwrap().count(), 0);
    }

    /// Everything in a directory, without what is in its directories.
    fn within(dir: &Path) -> Vec<String> {
        let names = fs::read_dir(dir).unwrap();
        let mut names: Vec<String> = names
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    #[ignore = "root: gives directories and links to another user"]
    fn root_makes_and_writes_no_file_where_somebody_else_chooses_which() {
        use std::os::unix::fs::{lchown, symlink};
        let bed = Bed::new();
        let theirs = of_nobody(&bed, "theirs");
        let safe = bed.path().join("safe");
        fs::create_dir(&safe).unwrap();
        fs::create_dir(bed.path().join("calm")).unwrap();
        // A link that stands still leads where its owner wants.
        symlink(&safe, theirs.join("link")).unwrap();
        let shared = bed.path().join("shared");
        fs::create_dir(&shared).unwrap();
        mode(&shared, 0o1777);
        symlink(&safe, shared.join("link")).unwrap();
        lchown(shared.join("link"), Some(NOBODY), None).unwrap();
        symlink(&safe, shared.join("own")).unwrap();
        bed.replay("kept", "1");
        let job = |place: &str| {
            let first = ["fio", "--size=64k", "--rw=write", "--name=a"];
            let second = format!("--name=b --filename={place}/x");
            let words = first.into_iter().chain(["--filename=calm/x"]);
            words
                .chain(second.split(' '))
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let all = |place: &str| {
            let words = |line: String| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
            [
                job(place),
                words(format!(
                    "fio --name=a --size=64k --ioengine=null --output={place}/out"
                )),
                words(format!("fio --show=latest --output={place}/out")),
                words(format!("export kept --output {place}/run.json")),
                words(format!(
                    "run selftest.null --passes 1 --store {place}/other.db"
                )),
                words(format!(
                    "import {place}/../kept.json --store {place}/other.db"
                )),
            ]
        };
        bed.run(&["export", "kept", "--output", "kept.json"])
            .code(0);
        bed.run(&["fio", "--name=a", "--size=64k", "--ioengine=null"])
            .code(0);
        let run = |line: &[String], more: &[&str]| {
            let line: Vec<&str> = line.iter().map(String::as_str).collect();
            bed.run(&[&line[..], more].concat())
        };
        for (place, why) in [
            ("theirs", "belongs to user 65534"),
            ("theirs/link", "belongs to user 65534"),
            ("shared/link", "is a link of user 65534"),
        ] {
            for line in all(place) {
                run(&line, &[])
                    .code(2)
                    .err_has(&["as root", why, "\nhint: ", "`--dir-of-others`"]);
            }
            assert_eq!(within(&theirs), ["link"], "{place}");
            for dir in [&safe, &bed.path().join("calm")] {
                assert_eq!(within(dir), [""; 0], "{place}");
            }
        }
        // Whoever called sudo is no stranger, and nor is anybody who is trusted.
        for (place, more) in [
            ("safe", &[][..]),
            ("shared/own", &[]),
            ("shared", &[]),
            ("theirs", &["--dir-of-others"]),
            ("shared/link", &["--dir-of-others"]),
        ] {
            for line in all(place) {
                run(&line, more).code(0);
            }
            for dir in [&safe, &theirs, &shared, &bed.path().join("calm")] {
                for name in ["x", "out", "run.json", "other.db"] {
                    let _ = fs::remove_file(dir.join(name));
                }
            }
        }
        let mut by_sudo = bed.command(&["export", "kept", "--output", "theirs/run.json"]);
        let done: Done = by_sudo.env("SUDO_UID", "65534").output().unwrap().into();
        done.code(0);
    }

    /// Lets another user serve a file system at `served` that says of everything that it is root's, and runs the rest.
    const SERVED: &str = r#"
        rm -f node; mknod node c 10 229; chmod 666 node; mount --bind node /dev/fuse
        echo user_allow_other > conf; mount --bind conf /etc/fuse.conf
        mkdir -p source/inside served; chown -R "$1" source served
        setpriv --reuid "$1" --regid "$1" --clear-groups bindfs \
            -o allow_other,force-user=root,force-group=root,perms=0755 "$PWD/source" "$PWD/served"
        shift; code=0; "$@" || code=$?
        umount served; exit $code
    "#;

    #[test]
    #[ignore = "root: mounts a file system that another user serves"]
    fn root_does_not_work_where_another_user_serves_the_file_system() {
        if !crate::disks::is_installed("bindfs") {
            eprintln!("skipped: there is no bindfs");
            return;
        }
        let bed = Bed::new();
        mode(bed.path(), 0o755);
        let run = |as_user: &str, sudo: &str, dir: &str, more: &[&str]| {
            let before = ["env", sudo, "unshare", "--mount", "sh", "-ec", SERVED];
            let what = ["run", "selftest.null", "--passes", "1", "--dir", dir];
            bed.behind(
                &[&before[..], &["sh", as_user]].concat(),
                &[&what[..], more].concat(),
            )
        };
        for dir in ["served", "served/inside"] {
            run("65534", "A=B", dir, &[]).code(2).err_has(&[
                "as root",
                "served` lies on a file system that user 65534 serves",
                "`--dir-of-others`",
            ]);
        }
        assert!(!bed.store().exists());
        run("65534", "A=B", "served", &["--dir-of-others"]).code(0);
        run("65534", "SUDO_UID=65534", "served", &[]).code(0);
        run("0", "A=B", "served/inside", &[]).code(0);
    }

    /// Somebody who exchanges what he may rename with a tree of his own, which has everything that is executed.
    struct Attacker(Child, PathBuf);

    /// Waits for a work directory in `$in`, builds a tree like it in `$evil`, and exchanges `$name` and it until there
    /// is a file `stop`, a thousand times at least. Then everything is where it was.
    const ATTACK: &str = r##"
        my ($in, $name, $evil, $number, $executed, @files) = @ARGV;
        my ($work, $turns) = (undef, 0);
        until (defined $work) { ($work) = map { m{([^/]+)$} } glob("$in/kurabe-work-*"); }
        my $tree = $name eq "" ? $evil : "$evil/$work";
        my $mine = $name eq "" ? "$in/$work" : $name;
        my $bad = "#!/bin/sh\nid > $executed\n";
        for my $dir ($evil, $tree, "$tree/run") { mkdir $dir; }
        for my $round (1..30) {
            mkdir "$tree/round-$round"; mkdir "$tree/round-$round/shared";
            mkdir "$tree/round-$round/copy-0"; mkdir "$tree/round-$round/copy-0/made";
            for my $file (@files) {
                my $path = "$tree/round-$round/copy-0/$file";
                open(my $out, ">", $path); print $out $bad; close $out; chmod 0755, $path;
            }
        }
        until ($turns >= 1000 && $turns % 2 == 0 && -e "$evil.stop") {
            my $done = syscall($number, -100, $mine, -100, $evil, 2);
            # Gone in the end, where it was removed.
            last if $done != 0 && -e "$evil.stop";
            $turns++ if $done == 0;
            select(undef, undef, undef, 0.0005);
        }
        print "$turns\n";
    "##;

    impl Attacker {
        #[expect(clippy::disallowed_methods, reason = "the attacker is a program")]
        fn start(
            bed: &Bed,
            inside: &Path,
            name: Option<&PathBuf>,
            files: &BTreeSet<String>,
        ) -> Self {
            let number = match std::env::consts::ARCH {
                "x86_64" => "316",
                // The common table of system calls.
                _ => "276",
            };
            let evil = bed.path().join("theirs/evil");
            let child = Command::new("setpriv")
                .args(["--reuid", "65534", "--regid", "65534", "--clear-groups"])
                .args(["perl", "-e", ATTACK])
                .args([inside, name.map_or(Path::new(""), |name| name), &evil])
                .arg(number)
                .arg(bed.path().join("theirs/EXECUTED"))
                .args(files)
                .stdout(Stdio::piped())
                .spawn()
                .unwrap();
            Self(child, evil.with_extension("stop"))
        }

        /// How often he exchanged the two.
        fn stop(self) -> u32 {
            fs::write(&self.1, "").unwrap();
            let said = self.0.wait_with_output().unwrap();
            fs::remove_file(self.1).unwrap();
            let said = String::from_utf8(said.stdout).unwrap();
            said.trim().parse().unwrap()
        }
    }

    /// Adds the names of files of root's in every directory `copy-0` below `dir`. What the scripts make has the number
    /// of a process in its name, and is not executed.
    fn add_files_of_copies(dir: &Path, is_copy: bool, names: &mut BTreeSet<String>) {
        // It may go, or be exchanged, at any time.
        for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
            let Ok(what) = entry.metadata() else { continue };
            let name = entry.file_name().into_string().unwrap();
            if what.is_dir() {
                add_files_of_copies(&entry.path(), name == "copy-0", names);
            } else if is_copy && what.uid() == 0 {
                let number = name.rsplit_once('-').map(|(_, number)| number);
                if number.is_none_or(|number| number.parse::<u32>().is_err()) {
                    names.insert(name);
                }
            }
        }
    }

    /// Runs something, and collects what is in the copies' directories below `dir` meanwhile.
    fn files_of_copies(dir: &Path, run: impl FnOnce() -> Done) -> (Done, BTreeSet<String>) {
        use std::sync::atomic::{AtomicBool, Ordering};
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let names = scope.spawn(|| {
                let mut names = BTreeSet::new();
                while !stop.load(Ordering::Relaxed) {
                    add_files_of_copies(dir, false, &mut names);
                    std::thread::sleep(std::time::Duration::from_millis(1));
                }
                names
            });
            let done = run();
            stop.store(true, Ordering::Relaxed);
            (done, names.join().unwrap())
        })
    }

    #[test]
    #[ignore = "root: another user renames directories"]
    fn nothing_is_executed_that_another_user_puts_in_the_way() {
        for parent in [false, true] {
            let bed = Bed::new();
            let theirs = of_nobody(&bed, "theirs");
            let dir = if parent {
                let inside = theirs.join("inside");
                fs::create_dir(&inside).unwrap();
                inside
            } else {
                theirs.clone()
            };
            let what = ["run", "os.execl", "os.spawn", "os.shell-1", "--passes", "2"];
            let how = ["--dir-of-others", "--dir", dir.to_str().unwrap()];
            let run = || bed.run(&[&what[..], &how].concat());
            // What is there to be replaced.
            let (calm, files) = files_of_copies(&theirs, run);
            calm.code(0);
            for known in ["helper", "outer", "inner"] {
                assert!(files.contains(known), "{files:?}");
            }
            let attacker = Attacker::start(&bed, &dir, parent.then_some(&dir), &files);
            let (done, attacked) = files_of_copies(&theirs, run);
            assert!(attacked.is_subset(&files), "{attacked:?}, {files:?}");
            let turns = attacker.stop();
            assert!(turns >= 1000, "{turns}");
            let executed = fs::read_to_string(theirs.join("EXECUTED"));
            assert!(executed.is_err(), "{executed:?}");
            // They may get in the way of the removal, and of nothing else.
            let done = done.code(0);
            assert!(!done.out.contains("failed"), "{}", done.out);
        }
    }
}
