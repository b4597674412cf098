//! Work on file sets at anchors: what stands there is not touched, and nothing of ours stays, however a run ends.
//!
//! The plan of such a run is put into the store as the command that reads parameter files puts it there, and
//! `kurabe run --resume` carries it out.

use crate::bed::{Bed, Done, eventually, processes_in, signal};
use engine::resolve::planned_case;
use engine::workload::Workload;
use model::fileset::{
    Before, FileOperation, FileSelect, FileSet, FileSizes, FileSpread, FileTask, FileWork, Format,
};
use model::plan::{CaseId, Plan};
use model::record::{End, RunMeta};
use model::units::Nanos;
use std::fs;
use std::path::{Path, PathBuf};
use workloads::fs::sets::{SETS, params};

/// A set of eight files of 20,000 bytes in two directories.
fn set(anchor: &Path) -> FileSet {
    FileSet {
        name: anchor.file_name().unwrap().to_str().unwrap().to_owned(),
        anchor: anchor.to_owned(),
        depth: 1,
        width: 2,
        files: 4,
        sizes: FileSizes::Split(vec![(20_000, 100.0)]),
        spread: FileSpread::Bottom,
        total: None,
        working_set: None,
    }
}

fn task(set: u32, operation: FileOperation) -> FileTask {
    FileTask {
        name: format!("fwd{set}-{}", operation.word()),
        set,
        operation,
        threads: 2,
        ..FileTask::default()
    }
}

fn work(sets: Vec<FileSet>, tasks: Vec<FileTask>, millis: u64) -> FileWork {
    FileWork {
        sets,
        tasks,
        format: Format {
            before: Before::Anew,
            ..Format::default()
        },
        elapsed: Nanos::from_millis(millis),
        interval: Nanos::from_millis(100),
        ..FileWork::default()
    }
}

/// The id of the run that is put into the store.
const ID: &str = "20200101-000010-aaaa";

/// Puts a run of this work into the store, which has none yet; it works in the directory of the first set. Each of the
/// works is a case.
fn begin(bed: &Bed, works: Vec<FileWork>, passes: u32) {
    let first = works[0].sets[0].anchor.to_str().unwrap().to_owned();
    let like = ["run", "selftest.null", "--passes", "1", "--dir", &first];
    bed.run(&like).code(0);
    let store = store::Store::open(&bed.store()).unwrap();
    let run = store.load(&store.resolve("latest").unwrap()).unwrap();
    let cases = works.into_iter().enumerate().map(|(number, work)| {
        let id = CaseId {
            test: format!("vdbench.rd{number}"),
            copies: u32::try_from(work.tasks.len()).unwrap().max(1),
        };
        let params = params(work);
        SETS.check_params(&params).unwrap();
        SETS.supported(&params, &run.host).unwrap();
        let mut case = planned_case(&SETS, id, "a run of file workloads", &params);
        case.ground = SETS.ground(&params, &run.host, None);
        case
    });
    let plan = Plan {
        cases: cases.collect(),
        budget: None,
        passes: Some(passes),
        ordered: true,
        ..run.plan
    };
    let meta = RunMeta {
        id: ID.to_owned(),
        finished: None,
        end: End::Interrupted,
        ..run.meta
    };
    store.begin(&meta, &plan, &run.host).unwrap();
}

/// Carries it out.
fn carry_out(bed: &Bed) -> Done {
    bed.run(&["run", "--resume", ID])
}

/// What a directory holds, with the contents of its files, that is not ours.
fn contents(dir: &Path) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut next = vec![dir.to_owned()];
    while let Some(dir) = next.pop() {
        for entry in fs::read_dir(&dir).unwrap().flatten() {
            let (path, kind) = (entry.path(), entry.file_type().unwrap());
            if kind.is_dir() {
                next.push(path.clone());
            }
            let text = if kind.is_file() {
                fs::read_to_string(&path).unwrap()
            } else {
                fs::read_link(&path).map_or_else(|_| String::new(), |to| to.display().to_string())
            };
            found.push((path, text));
        }
    }
    found.sort();
    found
}

/// An anchor with what others have there: a set that vdbench made, files and directories that are called like ours, and
/// links.
fn anchor(bed: &Bed, name: &str) -> PathBuf {
    let dir = fs::canonicalize(bed.path()).unwrap().join(name);
    for inside in ["vdb.1_1.dir", "d_000001.dir", "kurabe-work-other", "run"] {
        fs::create_dir_all(dir.join(inside)).unwrap();
    }
    for file in [
        "vdb.1_1.dir/vdb_f0001.file",
        "vdb_control.file",
        "d_000001.dir/f_00000001.file",
        "kurabe-work-other/precious",
        "set-0123456789abcdef.state",
    ] {
        fs::write(dir.join(file), "precious").unwrap();
    }
    std::os::unix::fs::symlink("vdb.1_1.dir", dir.join("link")).unwrap();
    std::os::unix::fs::symlink("/", dir.join("root")).unwrap();
    dir
}

/// The rates of a case of the run, in its last round.
fn measured(bed: &Bed, number: usize) -> serde_json::Value {
    let text = bed.run(&["export", ID]).code(0).out;
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let case = format!("vdbench.rd{number}@");
    let rounds = document["run"]["rounds"].as_array().unwrap();
    let of_case = |round: &&serde_json::Value| round["case"].as_str().unwrap().starts_with(&case);
    let last = rounds.iter().rfind(of_case).unwrap();
    let done = &last["outcome"]["done"];
    assert!(done.is_object(), "{last}");
    done.clone()
}

#[test]
fn several_anchors_one_inside_another_are_worked_in_and_left_as_they_were() {
    let bed = Bed::new();
    let (one, two) = (anchor(&bed, "one"), anchor(&bed, "two"));
    let inside = anchor(&bed, "one/inside");
    let before = [&one, &two].map(|dir| contents(dir));
    let sets = vec![set(&one), set(&two), set(&inside)];
    let copy = FileTask {
        target: Some(1),
        ..task(0, FileOperation::Copy)
    };
    let tasks = vec![
        task(0, FileOperation::Read),
        copy,
        task(2, FileOperation::Delete),
    ];
    let first = work(sets, tasks, 400);
    let mut second = work(vec![set(&two)], vec![task(0, FileOperation::Getattr)], 300);
    second.format.before = Before::Left;
    begin(&bed, vec![first, second], 1);
    let done = carry_out(&bed).code(0);
    done.out_says(&["vdbench.rd0", "vdbench.rd1"]);
    let first = measured(&bed, 0);
    for quantity in ["ops_per_s", "read_per_s", "copy_ns_mean", "resp_ns_max"] {
        assert!(
            first["values"][quantity].as_f64().unwrap() > 0.0,
            "{quantity}: {first}"
        );
    }
    let deleted = first["copies"][0]["reported"]["delete_ops"].as_f64();
    assert_eq!(deleted, Some(8.0));
    let intervals = first["series"]["read_per_s_at"]["values"]
        .as_array()
        .unwrap();
    assert_eq!(intervals.len(), 4, "{intervals:?}");
    assert!(
        measured(&bed, 1)["values"]["getattr_per_s"]
            .as_f64()
            .unwrap()
            > 0.0
    );
    assert_eq!([&one, &two].map(|dir| contents(dir)), before);
}

#[test]
fn two_names_of_one_directory_get_one_work_directory() {
    let bed = Bed::new();
    let one = anchor(&bed, "one");
    let link = one.parent().unwrap().join("other-name");
    std::os::unix::fs::symlink(&one, &link).unwrap();
    let before = contents(&one);
    let tasks = vec![task(0, FileOperation::Read), task(1, FileOperation::Delete)];
    begin(&bed, vec![work(vec![set(&one), set(&link)], tasks, 200)], 1);
    carry_out(&bed).code(0);
    let deleted = measured(&bed, 0)["copies"][0]["reported"]["delete_ops"].as_f64();
    assert_eq!(deleted, Some(8.0), "of a set of its own");
    assert_eq!(contents(&one), before);
}

#[test]
fn an_anchor_that_is_a_file_or_is_not_there_ends_the_run_before_anything_is_made() {
    let bed = Bed::new();
    let one = anchor(&bed, "one");
    let before = contents(&one);
    let sets = vec![set(&one), set(&one.join("vdb_control.file"))];
    begin(
        &bed,
        vec![work(sets, vec![task(0, FileOperation::Read)], 200)],
        1,
    );
    let done = carry_out(&bed);
    assert_ne!(done.code, Some(0));
    done.err_has(&["vdb_control.file"]);
    assert_eq!(contents(&one), before);
}

/// The work directories at an anchor.
fn work_dirs(anchor: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(anchor).unwrap().flatten();
    let named = entries.filter(|entry| entry.file_name().to_string_lossy().contains(ID));
    named.map(|entry| entry.path()).collect()
}

/// What stood in a directory.
type Stood = Vec<(PathBuf, String)>;

/// A run at two anchors that goes on for a minute, and what stood there before; it is measuring by now.
fn at_work(bed: &Bed) -> (std::process::Child, [PathBuf; 2], [Stood; 2]) {
    let anchors = [anchor(bed, "one"), anchor(bed, "two")];
    let before = [contents(&anchors[0]), contents(&anchors[1])];
    let both = [FileOperation::Write, FileOperation::Read];
    let tasks = both
        .iter()
        .enumerate()
        .map(|(set, of)| task(u32::try_from(set).unwrap(), *of));
    let sets = anchors.iter().map(|dir| set(dir)).collect();
    begin(bed, vec![work(sets, tasks.collect(), 60_000)], 1);
    let child = bed.start(&["run", "--resume", ID]);
    let begun = |dir: &PathBuf| {
        let set = work_dirs(dir).first().map(|dir| dir.join("run"));
        // What is known of a set is taken away when a round begins.
        let names = set.and_then(|set| fs::read_dir(set).ok());
        let names: Vec<_> = names.into_iter().flatten().flatten().collect();
        names.len() == 1 && fs::read_dir(names[0].path()).is_ok_and(|all| all.count() == 2)
    };
    eventually(60, || {
        work_dirs(&anchors[0])
            .iter()
            .any(|dir| dir.join("round-1").exists())
    });
    eventually(60, || anchors.iter().all(begun));
    std::thread::sleep(std::time::Duration::from_millis(300));
    (child, anchors, before)
}

#[test]
fn an_interrupted_run_keeps_what_it_did_and_leaves_nothing() {
    let bed = Bed::new();
    let (child, anchors, before) = at_work(&bed);
    signal(&child, "-INT");
    let done: Done = child.wait_with_output().unwrap().into();
    done.code(130);
    let done = measured(&bed, 0);
    assert!(
        done["values"]["write_per_s"].as_f64().unwrap() > 0.0,
        "{done}"
    );
    assert!(done["notes"].to_string().contains("interrupted"), "{done}");
    assert_eq!([contents(&anchors[0]), contents(&anchors[1])], before);
}

#[test]
fn what_a_killed_run_leaves_at_its_anchors_is_found_by_clean() {
    let bed = Bed::new();
    let (mut child, anchors, before) = at_work(&bed);
    signal(&child, "-KILL");
    child.wait().unwrap();
    eventually(60, || processes_in(bed.path()).is_empty());
    for dir in &anchors {
        assert_eq!(work_dirs(dir).len(), 1, "{}", dir.display());
    }
    let done = bed.run(&["clean"]).code(0);
    for dir in &anchors {
        done.err
            .contains(dir.to_str().unwrap())
            .then_some(())
            .unwrap();
        assert_eq!(work_dirs(dir), [""; 0].map(PathBuf::from));
    }
    assert_eq!([contents(&anchors[0]), contents(&anchors[1])], before);
}

#[test]
fn a_killed_run_goes_on_with_the_sets_that_it_left() {
    let bed = Bed::new();
    let one = anchor(&bed, "one");
    let before = contents(&one);
    let once = FileTask {
        select: FileSelect::Once,
        ..task(0, FileOperation::Delete)
    };
    let mut slow = work(vec![set(&one)], vec![task(0, FileOperation::Read)], 1500);
    slow.format.before = Before::Missing;
    let mut last = work(vec![set(&one)], vec![once], 1500);
    last.format.before = Before::Left;
    begin(&bed, vec![slow, last], 1);
    let mut child = bed.start(&["run", "--resume", ID]);
    let second = || {
        work_dirs(&one)
            .iter()
            .any(|dir| dir.join("round-2").exists())
    };
    let first = || {
        work_dirs(&one)
            .iter()
            .any(|dir| dir.join("round-1").exists())
    };
    eventually(60, || first() || second());
    std::thread::sleep(std::time::Duration::from_millis(300));
    signal(&child, "-KILL");
    child.wait().unwrap();
    eventually(60, || processes_in(bed.path()).is_empty());
    carry_out(&bed).code(0);
    let deleted = measured(&bed, 1)["copies"][0]["reported"]["delete_ops"].as_f64();
    assert_eq!(deleted, Some(8.0));
    assert_eq!(contents(&one), before);
}

mod root;
