//! Parameter files made up for each rule, real ones, and random ones.

mod corpus;
mod fuzz;

use super::*;
use crate::fio::testkit::Files;
use model::fileset::{Before, FileIo, FileOperation, FileSelect, StopAfter};
use model::job::{Arrivals, Blocks, Mix, Target};
use model::units::Nanos;

/// The plan of these files, the first of which is asked for, with these words of the command line.
fn plan_of(files: &[(&str, &str)], words: &[&str]) -> Result<Plan, Error> {
    let map = files
        .iter()
        .map(|(path, text)| ((*path).to_owned(), (*text).to_owned()));
    let request = Request {
        files: vec![files[0].0.to_owned()],
        words: words.iter().map(|&word| word.to_owned()).collect(),
    };
    parse(&request, &Files(map.collect()))
}

fn plan(text: &str) -> Plan {
    plan_of(&[("params", text)], &[]).unwrap_or_else(|error| panic!("{error}"))
}

fn error(text: &str) -> String {
    plan_of(&[("params", text)], &[]).unwrap_err().to_string()
}

fn parts(run: &Run) -> &[Part] {
    match &run.work {
        Work::Raw(parts) => parts,
        Work::Files(_) => panic!("on files"),
    }
}

fn work(run: &Run) -> &model::fileset::FileWork {
    match &run.work {
        Work::Files(work) => work,
        Work::Raw(_) => panic!("on storages"),
    }
}

const RAW: &str = "\
* what holds for all
sd=default,size=64m,threads=4
sd=sd1,lun=/d/one,openflags=o_direct    the first one
sd=sd2,lun=/d/two,size=1g
wd=wd1,sd=sd*,seekpct=random,rdpct=50,xfersize=8192
rd=rd1,wd=wd*,elapsed=300,interval=60,iorate=max
";

#[test]
fn a_run_does_each_workload_on_each_of_its_storages() {
    let plan = plan(RAW);
    let [run] = &plan.runs[..] else {
        panic!("{plan:?}")
    };
    let names: Vec<String> = parts(run).iter().map(Part::name).collect();
    assert_eq!(names, ["wd1-sd1", "wd1-sd2"]);
    let first = &parts(run)[0];
    assert_eq!(
        (first.lun.as_str(), first.size, first.threads),
        ("/d/one", Some(64 << 20), 4)
    );
    assert_eq!((first.reads_percent, first.random_percent), (50, 100));
    assert_eq!(
        (first.transfers.clone(), first.flags.direct),
        (Blocks::Fixed(8192), true)
    );
    assert!((first.share - 0.5).abs() < 1e-9);
    assert_eq!(parts(run)[1].size, Some(1 << 30));
    assert_eq!(
        (
            run.times.before(),
            run.times.counted(),
            run.times.averaged()
        ),
        (60, 240, (2, 5))
    );
    assert_eq!(run.loops_in_words(), None);
}

#[test]
fn lines_go_on_behind_commas_and_blanks_and_marks_begin_comments() {
    let text = "\
<title>Vdbench output/parmfile.html</title><pre>
/ one
# two
* three
sd=sd1,
  lun=/d/one,      the file
  size=1m
wd=wd1,sd=sd1
rd=rd1,wd=wd1
eof
this is nothing
";
    assert_eq!(parts(&plan(text).runs[0])[0].size, Some(1 << 20));
    assert_eq!(
        error("sd=sd1,\n"),
        "`params` line 1: the line ends in a comma, and nothing follows"
    );
    assert!(
        error("sd=sd1, lun=/d/one\n").contains("`lun=/d/one` stands behind a comma and a blank")
    );
}

#[test]
fn files_include_others_and_variables_come_from_the_command_line() {
    let main = "sd=sd1,lun=/d/$name,size=$size\ninclude=sub/rest\n";
    let files = [
        ("dir/main", main),
        ("dir/sub/rest", "wd=wd1,sd=sd1\nrd=rd1,wd=wd1,el=60\n"),
    ];
    let plan = plan_of(&files, &["name=x", "size=4m", "threads=(1,2)"]).unwrap();
    assert_eq!(plan.runs.len(), 2);
    let part = &parts(&plan.runs[1])[0];
    assert_eq!(
        (part.lun.as_str(), part.size, part.threads),
        ("/d/x", Some(4 << 20), 2)
    );
    let missing = plan_of(&files, &["name=x"]).unwrap_err().to_string();
    assert!(
        missing.starts_with("`dir/main` line 1: variable `$size` has no value\nhint: `size=VALUE`")
    );
    let unused = plan_of(&files, &["name=x", "size=1m", "sise=2m"])
        .unwrap_err()
        .to_string();
    assert!(
        unused.contains("argument 3: `sise` is no word of a run, and no file has `$sise`"),
        "{unused}"
    );
    let none = plan_of(&[("a", "include=b\n")], &[])
        .unwrap_err()
        .to_string();
    assert!(
        none.contains("`a` line 1: read parameter file `b`"),
        "{none}"
    );
    let endless = plan_of(&[("a", "include=a\n")], &[])
        .unwrap_err()
        .to_string();
    assert!(endless.contains("include each other"), "{endless}");
}

#[test]
fn loops_go_on_in_the_order_in_which_they_stand_and_rates_within_them() {
    let head: String = RAW.split_inclusive('\n').take(5).collect();
    let text = format!(
        "{head}rd=rd1,wd=wd1,forxfersize=(4k,8k),forthreads=(1-4,d),iorate=(100-300,100)\n"
    );
    let plan = plan(&text);
    assert_eq!(plan.runs.len(), 2 * 3 * 3);
    let words = |at: usize| plan.runs[at].loops_in_words().unwrap();
    assert_eq!(words(0), "xfersize=4k threads=1 iorate=100");
    assert_eq!(words(2), "xfersize=4k threads=1 iorate=300");
    assert_eq!(words(3), "xfersize=4k threads=2 iorate=100");
    assert_eq!(words(17), "xfersize=8k threads=4 iorate=300");
    assert_eq!(parts(&plan.runs[17])[0].transfers, Blocks::Fixed(8192));
}

#[test]
fn a_curve_measures_the_maximum_and_then_shares_of_it() {
    let with = |rate: &str| plan(&RAW.replace("iorate=max", rate));
    let curve = with("iorate=curve,curve=(20,100)");
    let rates: Vec<Rate> = curve.runs.iter().map(|run| run.rate).collect();
    let of = |percent| Rate::OfMax { percent, of: 0 };
    assert_eq!(rates, [Rate::Max, of(20), of(100)]);
    assert_eq!(with("iorate=curve").runs.len(), 7);
    let tasks = tasks(&curve.runs[1], &Files::default()).unwrap();
    let shares: Vec<Option<f64>> = tasks.iter().map(|task| task.rate_share).collect();
    assert_eq!(shares, [Some(0.1), Some(0.1)]);
}

#[test]
fn shares_of_a_rate_are_what_workloads_say_and_what_is_left() {
    let text = "\
sd=sd1,lun=/d/one,size=1m,threads=8
wd=wd1,sd=sd1,skew=80
wd=wd2,sd=sd1
wd=wd3,sd=sd1
rd=rd1,wd=wd*,iorate=1000,distribution=deterministic
";
    let plan = plan(text);
    let tasks = tasks(&plan.runs[0], &Files::default()).unwrap();
    let rates: Vec<Option<u64>> = tasks.iter().map(|task| task.job.rate_iops).collect();
    assert_eq!(rates, [Some(800), Some(100), Some(100)]);
    let depths: Vec<u32> = tasks.iter().map(|task| task.job.depth).collect();
    assert_eq!(
        depths,
        [3, 3, 2],
        "the threads of a storage are its workloads' together"
    );
    assert_eq!(tasks[0].job.arrivals, Arrivals::Linear);
    let looks: Vec<bool> = tasks.iter().map(|task| task.looks_at_file).collect();
    assert_eq!(looks, [true, false, false]);
    assert!(
        error(&text.replace("iorate=1000", "iorate=max"))
            .contains("line 2: parameter `skew` is refused")
    );
    assert!(
        error(&text.replace("skew=80", "skew=100")).contains("come to 100 %, which leaves nothing")
    );
    assert!(
        error(&text.replace("wd=wd2,sd=sd1", "wd=wd2,sd=sd1,skew=30")).contains("come to 110 %")
    );
    let few = plan_of(&[("p", &text.replace("iorate=1000", "iorate=5"))], &[]).unwrap();
    let few = super::tasks(&few.runs[0], &Files::default())
        .unwrap_err()
        .to_string();
    assert!(
        few.contains("less than one for each of its 3 workloads"),
        "{few}"
    );
}

#[test]
fn a_task_begins_to_count_behind_the_first_interval() {
    let plan = plan(RAW);
    let tasks = tasks(&plan.runs[0], &Files::default()).unwrap();
    let job = &tasks[0].job;
    assert_eq!(job.pattern.mix, Mix::ReadWrite);
    assert!(job.repeat_blocks && job.direct && job.end.time_based);
    assert_eq!(job.end.time, Some(Nanos::from_secs(240)));
    assert_eq!(job.ramp, Nanos::from_secs(60).plus(Nanos::from_millis(50)));
    assert_eq!(job.log.unwrap().window, Nanos::from_secs(60));
    assert!(matches!(&job.target, Target::File { create: true, .. }));
    let text = RAW.replace("interval=60", "interval=60,warmup=30,maxdata=1g");
    let warm = plan_of(&[("p", &text)], &[]).unwrap();
    let job = &super::tasks(&warm.runs[0], &Files::default()).unwrap()[0].job;
    assert_eq!(
        (job.end.time, job.end.bytes),
        (Some(Nanos::from_secs(300)), Some(512 << 20))
    );
    assert_eq!(warm.runs[0].times.averaged(), (2, 6));
}

#[test]
fn parts_of_storages_are_where_ranges_say() {
    let region = |range: &str| {
        let text = format!(
            "sd=sd1,lun=/d/one,size=100m{range}\nwd=wd1,sd=sd1,xfersize=64k\nrd=rd1,wd=wd1\n"
        );
        let job = tasks(&plan(&text).runs[0], &Files::default())
            .unwrap()
            .remove(0)
            .job;
        (job.offset_bytes >> 20, job.size.unwrap() >> 20)
    };
    assert_eq!(region(""), (0, 100));
    assert_eq!(region(",range=(10,30)"), (10, 20));
    assert_eq!(region(",range=(10m,30m)"), (10, 20));
    assert_eq!(region(",offset=8m"), (8, 92));
    let none = plan("sd=sd1,lun=/d/one\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1\n");
    let none = tasks(&none.runs[0], &Files::default())
        .unwrap_err()
        .to_string();
    assert!(
        none.contains("line 1: `sd=sd1`: `/d/one` is not there")
            && none.contains("hint: `size=10g`"),
        "{none}"
    );
    let small = plan("sd=sd1,lun=/d/one,size=4k\nwd=wd1,sd=sd1,xfersize=64k\nrd=rd1,wd=wd1\n");
    let small = tasks(&small.runs[0], &Files::default())
        .unwrap_err()
        .to_string();
    assert!(small.contains("fits into its part"), "{small}");
    let device = plan("sd=sd1,lun=/dev/nope,size=1m\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1\n");
    let device = tasks(&device.runs[0], &Files::default())
        .unwrap_err()
        .to_string();
    assert!(device.contains("no file is made below /dev"), "{device}");
}

const FILES: &str = "\
fsd=fsd1,anchor=/bench,depth=2,width=3,files=1000,size=128k
fwd=format,threads=24,xfersize=64k
fwd=default,xfersize=4k,fileio=random,fileselect=random,threads=8,
    stopafter=100
fwd=fwd1,fsd=fsd1,operation=read
fwd=fwd2,fsd=fsd1,operations=(write,getattr),rdpct=20
rd=rd1,fwd=fwd*,fwdrate=max,format=yes,elapsed=300,interval=60,fordepth=(1,2)
";

#[test]
fn file_workloads_become_tasks_on_sets() {
    let plan = plan(FILES);
    assert_eq!(plan.runs.len(), 2);
    let work = work(&plan.runs[1]);
    let set = &work.sets[0];
    assert_eq!((set.depth, set.width, set.files), (2, 3, 1000));
    let told: Vec<(&str, FileOperation, u32)> = work
        .tasks
        .iter()
        .map(|task| (task.name.as_str(), task.operation, task.threads))
        .collect();
    let expect = [
        ("fwd1-fsd1", FileOperation::Read, 8),
        ("fwd2-fsd1-write", FileOperation::Write, 4),
        ("fwd2-fsd1-getattr", FileOperation::Getattr, 4),
    ];
    assert_eq!(told, expect);
    let task = &work.tasks[0];
    assert_eq!((task.io, task.select), (FileIo::Random, FileSelect::Random));
    assert_eq!(task.stop_after, Some(StopAfter::Operations(100)));
    let format = &work.format;
    assert_eq!(
        (format.before, format.threads, format.transfer),
        (Before::Anew, 24, 65_536)
    );
    assert_eq!(format.made_for, "rd1 fordepth=2");
    assert_eq!(
        (work.elapsed, work.warmup),
        (Nanos::from_secs(240), Nanos::from_secs(60))
    );
}

#[test]
fn formats_say_what_is_there_before() {
    let with = |format: &str| plan(&FILES.replace("format=yes", format));
    for (format, expect, makes_only) in [
        ("format=no", Before::Left, false),
        ("format=NO", Before::Left, false),
        ("format=restart", Before::Missing, false),
        ("format=(Yes,ONLY)", Before::Anew, true),
        ("format=(yes,only)", Before::Anew, true),
        ("format=(restart,only)", Before::Missing, true),
        ("format=clean", Before::Nothing, true),
        ("format=once", Before::Anew, false),
    ] {
        let plan = with(format);
        let work = work(&plan.runs[0]);
        assert_eq!(
            (work.format.before, work.tasks.is_empty()),
            (expect, makes_only),
            "{format}"
        );
    }
    assert_eq!(work(&with("format=once").runs[1]).format.made_for, "rd1");
    let no_files = "format=(yes,directories)";
    let refused = error(&FILES.replace("format=yes", no_files));
    assert!(refused.contains("directories alone are made"), "{refused}");
    let makes = FILES
        .replace("fwd=fwd*", "fwd=fwd3")
        .replace("rd=rd1", "fwd=fwd3,fsd=fsd1,operation=mkdir\nrd=rd1");
    let plan = plan(&makes.replace("format=yes", no_files));
    assert!(work(&plan.runs[0]).format.directories_only);
    assert!(
        error(&FILES.replace("fwdrate=max", "fwdrate=curve"))
            .contains("`fwdrate=curve` is refused")
    );
}

#[test]
fn what_is_wrong_names_its_file_its_line_and_what_was_expected() {
    let check = |from: &str, to: &str, words: &str| {
        let text = RAW.replace(from, to);
        assert_ne!(text, RAW, "{from}");
        let error = error(&text);
        assert!(error.contains(words), "{to}: {error}");
    };
    check(
        "rdpct=50",
        "rdpct=500",
        "`params` line 5: parameter `rdpct` does not take `500`: expected a share",
    );
    let unknown =
        "line 5: no parameter `rdpkt` of a workload (`wd`)\nhint: the nearest word is `rdpct`";
    check("rdpct=50", "rdpkt=50", unknown);
    check("elapsed=300", "e=300", "no parameter `e` of a run");
    check("elapsed=300", "for=1", "`for` can mean");
    check(
        "elapsed=300",
        "elapsed=60",
        "a run has two intervals at least: 120 s",
    );
    check("wd=wd*", "wd=x*", "line 6: `rd=rd1`: there is no wd `x*`");
    check("sd=sd*", "sd=sd7-sd9", "there is no sd `sd7-sd9`");
    check(
        "sd=sd2,",
        "sd=sd1,",
        "line 4: `sd=sd1`: the name is taken already, at `params` line 3",
    );
    check(
        "iorate=max",
        "iorate=fast",
        "does not take `fast`: expected a rate",
    );
    check("iorate=max", "forthreads=(1", "a parenthesis is not closed");
    check(
        "iorate=max",
        "iorate",
        "`iorate` is no parameter: expected `word=value`",
    );
    check(
        "rd=rd1",
        "fsd=fsd1,anchor=/x\nrd=rd1",
        "line 6: a file set (`fsd`) stands behind lines",
    );
    check(
        "wd=wd1",
        "fsd=fsd1,anchor=/x\nwd=wd1",
        "storages and file sets do not go together",
    );
    check(
        "sd=sd1",
        "hd=host2,system=10.0.0.2\nsd=sd1",
        "stands behind lines that are read after it",
    );
    check(
        "* what",
        "hd=host2,system=10.0.0.2\n* what",
        "run the file on every host, and compare the runs as groups",
    );
    check(
        "rdpct=50",
        "rhpct=20",
        "`rhpct` is refused: blocks that come again",
    );
    check("seekpct=random", "seekpct=eof", "`seekpct=eof` is refused");
    check(
        "rdpct=50",
        "rdpct=50,rdpct=60",
        "line 5: `rdpct` stands twice in this line",
    );
    check(
        "* what",
        "compratio=0\n* what",
        "`compratio` does not take `0`: expected a ratio",
    );
    check(
        "* what",
        "compratio=\0\n* what",
        "a character that cannot be seen",
    );
    check(
        "iorate=max",
        "forthreads=(1-4097,1)",
        "`(a-b,d)`, at most 4096 values",
    );
    check(
        "iorate=max",
        "fwdrate=curve",
        "line 6: parameter `fwdrate=curve` is refused",
    );
    check(
        "iorate=max",
        "format=(no,yes)",
        "`format=(no,yes)` is refused: `no` stands alone",
    );
    check(
        "iorate=max",
        "forthreads=(1-100,1),forrdpct=(0-99,1)",
        "10000 runs come of the loops",
    );
    check(
        "rd=rd1,wd=wd*,elapsed=300,interval=60,iorate=max",
        "",
        "no run definition was found",
    );
}

#[test]
fn words_of_the_other_side_are_refused() {
    let check = |text: &str, from: &str, to: &str, expect: &str| {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        let told = error(&changed);
        assert!(told.contains(expect), "{to}: {told}");
    };
    for word in words::of(Kind::Rd) {
        let value = match word.takes {
            _ if word.name == "foroperations" => "(read)",
            _ if word.name == "format" => "yes",
            _ => "1",
        };
        let (text, from) = match (word.only, word.name) {
            (None, _) | (_, "wd" | "fwd") => continue,
            (Some(Kind::Fwd), _) => (RAW, "rd=rd1,wd=wd*"),
            (Some(_), _) => (FILES, "rd=rd1,fwd=fwd*"),
        };
        let to = format!("{from},{}={value}", word.name);
        let expect = format!("`{}` is refused: it is about", word.name);
        check(text, from, &to, &expect);
    }
    check(
        FILES,
        "fsd=fsd1,anchor",
        "compratio=2\nfsd=fsd1,anchor",
        "line 1: parameter `compratio` is refused: it is about storages",
    );
    check(
        FILES,
        "fwd=format,",
        "fwd=format,openflags=o_direct,",
        "`openflags` is refused: only `threads` and `xfersize` say how file sets are made",
    );
}

#[test]
fn what_changes_nothing_is_said_and_values_that_ask_for_nothing_pass() {
    let text = format!(
        "messagescan=no\nhd=default,user=root\nhd=localhost\n{}",
        RAW.replace("rdpct=50", "rhpct=0")
    );
    let plan = plan(&text);
    let said: Vec<String> = plan.remarks.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("`params` line 1: `messagescan` changes nothing here"));
}

#[test]
fn many_come_of_one_line_with_a_count() {
    let text = "sd=s,lun=/d/f%03d,count=(5,3),size=1m\nwd=wd1,sd=s*\nrd=rd1,wd=wd1\n";
    let plan = plan(text);
    let luns: Vec<&str> = parts(&plan.runs[0])
        .iter()
        .map(|part| part.lun.as_str())
        .collect();
    assert_eq!(luns, ["/d/f005", "/d/f006", "/d/f007"]);
    assert_eq!(parts(&plan.runs[0])[2].storage, "s7");
}

#[test]
fn the_lines_of_a_plan_say_the_same_again() {
    let short = "compratio=2\nsd=s,lun=/d/f%d,count=(1,2),size=1m\nwd=w,sd=s1\nrd=r,wd=w,forth=(2,1),iorate=curve\n";
    for text in [RAW, FILES, short] {
        let first = plan(text);
        let request = Request {
            files: Vec::new(),
            words: first.lines.clone(),
        };
        let again = parse(&request, &Files::default()).unwrap();
        assert_eq!(again.lines, first.lines);
        let bare = |plan: &Plan| -> Vec<String> {
            let strip = |run: &Run| {
                let mut run = run.clone();
                run.place = Place::default();
                if let Work::Raw(parts) = &mut run.work {
                    for part in parts {
                        part.place = Place::default();
                    }
                }
                format!("{run:?}")
            };
            plan.runs.iter().map(strip).collect()
        };
        assert_eq!(bare(&again), bare(&first));
    }
}
