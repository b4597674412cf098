//! Sections, groups, includes, command lines, and errors with their place.

use super::*;
use crate::fio::job::*;
use model::job::{IoEngine, Mix};

#[test]
fn every_global_section_counts_for_the_jobs_behind_it() {
    let plan = file("[global]\nbs=8k\nrw=randread\n[a]\n[global]\nbs=16k\n[b]\n").unwrap();
    let blocks = |plan: &Plan| -> Vec<Option<Blocks>> {
        let jobs = plan.jobs();
        jobs.map(|job| job.does.blocks.read.clone()).collect()
    };
    let expect = [8192, 16384].map(|bytes| Some(Blocks::Fixed(bytes)));
    assert_eq!(blocks(&plan), expect);
    let words = "--name=global --bs=8k --rw=randread --name=a --name=global --bs=16k --name=b";
    let same = line(words).unwrap();
    assert_eq!(blocks(&same), expect);
    assert!(
        plan.jobs()
            .all(|job| job.does.pattern.random && job.does.steps.ops_per_offset == 1)
    );
    assert_eq!(plan.global_options.len(), 3);
}

#[test]
fn comments_cut_a_line_anywhere() {
    let plan = file(
        "; first\n# second\n [a] \n  rw=write # c\n\tbs=8k;x\nnumjobs=4\t; four\nname=zz # q\n",
    )
    .unwrap();
    let job = first(&plan);
    assert_eq!(
        (job.does.pattern.mix, job.clones, job.name.as_str()),
        (Mix::Write, 4, "zz")
    );
    assert_eq!(job.does.blocks.write, Some(Blocks::Fixed(8192)));
    assert!(warned(&plan, "`;x` is a comment"));
    assert_eq!(
        plan.warnings
            .iter()
            .filter(|remark| remark.text.contains("comment"))
            .count(),
        1
    );
    let plan = file("[a]\nfilename=\"x;y\"\n").unwrap();
    assert_eq!(first(&plan).target.files, ["\"x"]);
}

#[test]
fn what_is_wrong_is_named_with_file_and_line() {
    let check = |text: &str, expect: &str| assert_eq!(file(text).unwrap_err().to_string(), expect);
    check(
        "[a]\nsiz=1m\n",
        "`job.fio` line 2: no option `siz`\nhint: the nearest supported option is `size`",
    );
    check(
        "[a]\nBS=4k\n",
        "`job.fio` line 2: no option `BS`\nhint: the nearest supported option is `bs`",
    );
    check(
        "[a]\nflow_watermark=8\n",
        "`job.fio` line 2: option `flow_watermark` is refused: a job that is ahead waits at once\n\
         hint: the nearest supported option is `flow`",
    );
    check(
        "[a]\nbs\n",
        "`job.fio` line 2: option `bs` needs a value\nhint: write `bs=VALUE`",
    );
    check(
        "[a]\n\ndirect=yes\n",
        "`job.fio` line 3: option `direct` does not take `yes`: 0 or 1",
    );
    check(
        "[a]\nbs=0\n",
        "`job.fio` line 2: option `bs` does not take `0`: at least 1 byte",
    );
    check(
        "bs=8k\n[a]\n",
        "`job.fio` line 1: option `bs=8k` stands before the first section; put it under `[global]` or a job",
    );
    check(
        "[a\nbs=4k\n",
        "`job.fio` line 1: a section's name ends with `]` and nothing behind it",
    );
    check(
        "[a]\ninclude x.fio\n",
        "`job.fio` line 2: read job file `x.fio`: no such file",
    );
    check(
        "[global]\nbs=4k\n",
        "no job: no section but `[global]`\nhint: name a job file, or give --name=NAME and its options",
    );
    check(
        "[a]\nrate=1m\nrate_iops=5\n",
        "`job.fio` line 1: job `a`: `rate` and `rate_iops` exclude each other",
    );
    // As fio 3.33 has it: of each direction, whether the job has it or not.
    check(
        "[a]\nrate_iops=1000,10\nrate_iops_min=500\n",
        "`job.fio` line 1: job `a`: `rate_iops_min=500` is above `rate_iops=10` of writes: it can never be kept",
    );
    check(
        "[a]\nrate_iops=1000\nrate_iops_min=500,,2000\n",
        "`job.fio` line 1: job `a`: `rate_iops_min=2000` is above `rate_iops=1000` of trims: it can never be kept",
    );
    check(
        "[a]\nrate=1m\nrate_min=,2m\n",
        "`job.fio` line 1: job `a`: `rate_min=2097152` is above `rate=1048576` of writes: it can never be kept",
    );
    check(
        "[a]\nsize=1m\nbs=2m\n",
        "`job.fio` line 1: job `a`: size=1048576 is less than one operation of 2097152 bytes",
    );
    check(
        "[a]\nhipri\n",
        "`job.fio` line 1: job `a`: `hipri` is no option of `ioengine=psync`",
    );
    check(
        "[a]\nnumjobs=5000\n",
        "`job.fio` line 2: option `numjobs` does not take `5000`: a whole number from 1 to 4096",
    );
    check(
        "[a]\nnumjobs=4000\n[b]\nnumjobs=4000\n",
        "`job.fio` line 3: jobs: at most 4096",
    );
}

#[test]
fn stonewalls_and_new_groups_make_groups() {
    let check = |text: &str, expect: &[(bool, usize)]| {
        let plan = file(text).unwrap();
        let groups: Vec<(bool, usize)> = plan
            .groups
            .iter()
            .map(|group| (group.waits, group.jobs.len()))
            .collect();
        assert_eq!(groups, expect, "{text}");
        assert!(
            plan.groups
                .iter()
                .zip(0..)
                .all(|(group, id)| group.id == id)
        );
    };
    check("[a]\n[b]\n", &[(false, 2)]);
    check(
        "[a]\nstonewall\n[b]\nstonewall\n[c]\n",
        &[(false, 1), (true, 2)],
    );
    check(
        "[a]\n[d]\nnew_group\n[e]\nstonewall\nnew_group\n",
        &[(false, 1), (false, 1), (true, 1)],
    );
    check(
        "[global]\nwait_for_previous\n[a]\nnumjobs=3\n[b]\n",
        &[(false, 3), (true, 1)],
    );
    check("[a]\nstonewall=0\n[b]\nstonewall=0\n", &[(false, 2)]);
}

#[test]
fn includes_continue_their_section_and_lie_beside_their_file() {
    let plan = files(&[
        ("dir/m.fio", "[a]\ninclude sub.inc\n[b]\n"),
        ("dir/sub.inc", "bs=8k\n"),
    ])
    .unwrap();
    let blocks: Vec<Option<Blocks>> = plan
        .jobs()
        .map(|job| job.does.blocks.read.clone())
        .collect();
    assert_eq!(blocks, [8192, 4096].map(|bytes| Some(Blocks::Fixed(bytes))));
    let refused = |inner: &str| {
        files(&[("m.fio", "[a]\ninclude n.fio\n"), ("n.fio", inner)])
            .unwrap_err()
            .to_string()
    };
    assert_eq!(
        refused("[b]\n"),
        "`n.fio` line 1: no new sections in included files"
    );
    assert_eq!(
        refused("include n.fio\n"),
        "`n.fio` line 1: includes inside each other: at most 16"
    );
    let wide = "include n.fio\n".repeat(20_000);
    // 280 kB that include themselves: bounded by bytes before the depth is reached.
    assert!(refused(&wide).contains("with its includes: at most 4194304"));
    let many = files(&[("m.fio", &format!("[a]\n{wide}")), ("n.fio", "\n")])
        .unwrap_err()
        .to_string();
    assert_eq!(
        many,
        "`m.fio` line 16386: options of a job file: at most 16384"
    );
}

#[test]
fn command_lines_are_read_as_fio_does() {
    let check = |text: &str, holds: fn(&Plan) -> bool| {
        let plan = line(text).unwrap();
        assert!(holds(&plan), "{text}: {plan:?}");
    };
    check(
        "-name=a -rw randread -ioengine null -size=1m -bs=8k",
        |plan| first(plan).does.pattern.random && first(plan).does.engine == IoEngine::Null,
    );
    check("--bs=8k --name=a --rw=randread --name=b --bs=16k", |plan| {
        plan.jobs().count() == 2
            && first(plan).does.blocks.read == Some(Blocks::Fixed(8192))
            && plan.groups.len() == 1
    });
    check("--name=a --thread --readw=randread --ioeng=null", |plan| {
        first(plan).is_thread
    });
    check(
        "-filename=/dev/sdb -direct=1 -iodepth 1 -thread -rw=randread -ioengine=psync -bs=16k -size=200G \
         -numjobs=10 -runtime=1000 -group_reporting -name=mytest",
        |plan| {
            plan.jobs().count() == 10
                && plan.groups[0].is_reported_as_one()
                && first(plan).target.files == ["/dev/sdb"]
        },
    );
    check("--name=a --minimal --eta=never --output=x", |plan| {
        plan.output.formats == [Format::Terse]
            && plan.output.eta == Eta::Never
            && plan.output.file.as_deref() == Some("x")
    });
    check("--name=a --output-format=normal,json,json+,terse", |plan| {
        plan.output.formats == [Format::Terse, Format::JsonPlus, Format::Normal]
    });
    check("--name=a --parse-only", |plan| {
        plan.request == Request::ParseOnly
    });
    check("--cmdhelp=bs", |plan| {
        plan.request == Request::OptionHelp("bs".to_owned())
    });
    // Variables are the shell's on a command line; fio takes the text as it is.
    check("--name=a --filename=${HOME}x", |plan| {
        first(plan).target.files == ["${HOME}x"]
    });
    // Without a value behind it, the order of kb_base counts on a command line.
    check("--name=a --bs=4kib --kb_base=1000", |plan| {
        first(plan).does.blocks.read == Some(Blocks::Fixed(4000))
    });
    check("--name=a --kb_base=1000 --bs=4kib", |plan| {
        first(plan).does.blocks.read == Some(Blocks::Fixed(4096))
    });
}

#[test]
fn command_lines_that_fio_refuses_are_refused() {
    let check = |text: &str, part: &str| {
        let error = line(text).unwrap_err().to_string();
        assert!(error.contains(part), "{text}: {error}");
    };
    check("--name=a --iode=3", "`iodepth_low`");
    check("--name=a --time=1", "`time_based`");
    check(
        "--name=a --foo=1",
        "command line, argument 2: no option `foo`",
    );
    check("--name=a --direct --rw=read", "does not take `--rw=read`");
    check("--name=a --direct", "needs a value");
    check("--name=a --time_based 1", "read job file `1`");
    check("--bs=4k --rw=read", "no job");
    check(
        "--client=host --name=a",
        "refused: jobs run on this machine only",
    );
    check(
        "--name=a --output-format=foo",
        "normal, terse, json or json+",
    );
    check("--name=a --terse-version=2", "3, 4 or 5");
    check("--name=a --rw=write --readonly", "forbids it");
    check("--name=a --rw=randrw --verify=md5 --readonly", "forbids it");
    line("--name=a --size=1m --rw=randrw --verify=md5 --verify_only --readonly").unwrap();
    check("--name=a --runtime=30sec --warnings-fatal", "microseconds");
    check(
        "nowhere.fio",
        "command line, argument 1: read job file `nowhere.fio`: no such file",
    );
}

#[test]
fn job_files_come_behind_the_jobs_of_the_command_line_and_wait_for_each_other() {
    let map = [("u.fio", "[a]\n[b]\n"), ("v.fio", "[c]\n[d]\n")];
    let map = map.map(|(path, text)| (path.to_owned(), text.to_owned()));
    let surroundings = testkit::Files(map.into_iter().collect());
    let plan = |text: &str| {
        let arguments: Vec<String> = text.split(' ').map(str::to_owned).collect();
        parse(&arguments, &surroundings).unwrap()
    };
    let names = |plan: &Plan| -> Vec<String> {
        plan.groups
            .iter()
            .map(|group| group.jobs.iter().map(|job| job.name.as_str()).collect())
            .collect()
    };
    assert_eq!(names(&plan("u.fio v.fio")), ["ab", "cd"]);
    assert_eq!(names(&plan("u.fio --name=x --bs=16k")), ["xab"]);
    assert_eq!(
        names(&plan("--section=b --section=c u.fio v.fio")),
        ["b", "c"]
    );
    assert_eq!(
        first(&plan("--bs=8k u.fio")).does.blocks.read,
        Some(Blocks::Fixed(8192))
    );
}

#[test]
fn noted_options_say_why_they_change_nothing() {
    let plan = file("[a]\nwrite_hist_log=x\nlog_entries=500\nclocksource=cpu\n").unwrap();
    assert_eq!(plan.notes.len(), 3);
    assert_eq!(plan.notes[0].place.to_string(), "`job.fio` line 2");
    assert_eq!(plan.warnings, []);
}

#[test]
fn settings_keep_what_was_written_and_the_last_one_counts() {
    let plan = file("[global]\nbs=4k\n[a]\nreadwrite=read\nbs=8k\nthread\n").unwrap();
    let settings: Vec<(&str, Option<&str>, bool)> = first(&plan)
        .settings
        .iter()
        .map(|setting| (setting.name, setting.value.as_deref(), setting.is_global))
        .collect();
    assert_eq!(
        settings,
        [
            ("rw", Some("read"), false),
            ("bs", Some("8k"), false),
            ("thread", None, false)
        ]
    );
}

#[test]
fn names_of_clones_are_bounded_in_memory() {
    let long = "x".repeat(8000);
    let refused = file(&format!(
        "[a]\nfilename_format={}\nnrfiles=65536\nnumjobs=4\n",
        "$jobname".repeat(1000)
    ));
    assert!(refused.is_err());
    assert!(
        file(&format!("[a]\nfilename={long}\nnumjobs=4096\n"))
            .is_ok_and(|plan| plan.jobs().count() == 4096)
    );
    assert!(
        file(&format!(
            "[a]\nfilename={}\nnumjobs=4096\n",
            "x:".repeat(3000)
        ))
        .is_err()
    );
    assert!(file("[a]\nnrfiles=65536\nnumjobs=4096\n").is_err());
}

#[test]
fn names_that_are_made_of_a_pattern_do_not_lead_out_of_the_directory() {
    for (job, is_refused) in [
        ("[../x]", true),
        ("[/x]", true),
        ("[a]\nfilename_format=../../$jobnum", true),
        ("[a]\nfilename_format=$jobname/../../$jobnum", true),
        ("[a]\nfilename_format=/x/$jobnum", true),
        ("[.]\nfilename_format=.$jobname/x", true),
        ("[a]\ndirectory=/tmp\nfilename_format=/../$jobnum", true),
        ("[../x]\nfilename_format=$jobnum", false),
        ("[a]\nfilename_format=..$jobnum", false),
        ("[a]\ndirectory=/tmp\nfilename_format=/$jobnum", false),
        ("[a]\nfilename_format=../$jobnum\nfilename=../named", false),
        ("[a]\nfilename_format=../$jobnum\nioengine=null", false),
    ] {
        let read = file(&format!("{job}\nsize=1m\n"));
        assert_eq!(read.is_err(), is_refused, "{job}: {read:?}");
        if let Err(error) = read {
            let said = error.to_string();
            assert!(said.contains("lead out of the directory"), "{job}: {said}");
        }
    }
}
