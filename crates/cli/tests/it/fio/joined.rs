//! The same job under two names: outputs of fio, imported, and runs of `kurabe fio` and `kurabe run` are compared by
//! what their jobs are. The outputs are made by fio itself.

use super::*;
use std::path::Path;

/// A bed with a directory for files, and the runs that were kept in it.
struct Jobs {
    bed: Bed,
    dir: TempDir,
}

/// Two jobs one after the other: a group of two, and one that reads and writes.
const TWO: &str = "[rand 4k]\nrw=randread\niodepth=8\nnumjobs=2\n\n\
                   [mixed]\nstonewall\nrw=randrw\nrwmixread=70\niodepth=4\n";

/// Options of each job here: small, through the page cache, and over when all is done.
const GLOBAL: &str = "[global]\nioengine=libaio\nbs=4k\nsize=2m\ngroup_reporting\n";

/// What a comparison says: ratios by the id of the metric, the pairs that were joined with what is not known of them,
/// and the document.
struct Found {
    ratios: BTreeSet<String>,
    joined: Vec<(String, String, Vec<String>)>,
    document: Value,
}

impl Jobs {
    fn new() -> Self {
        Self {
            bed: Bed::new(),
            dir: work_dir(),
        }
    }

    fn write(&self, sections: &str) -> String {
        let directory = format!("directory={}\n", self.dir.path().display());
        let path = self.bed.path().join("job.fio");
        std::fs::write(&path, [GLOBAL, &directory, sections].concat()).unwrap();
        path.display().to_string()
    }

    /// What fio prints of these jobs, imported.
    fn imported(&self, label: &str, sections: &str, format: &str) {
        let job = self.write(sections);
        let output = self.bed.path().join(format!("{label}.out"));
        let done = beside::theirs()
            .arg(job)
            .arg(format!("--output-format={format}"))
            .arg(format!("--output={}", output.display()))
            .current_dir(self.dir.path())
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
        self.import(label, &output);
    }

    fn import(&self, label: &str, path: &Path) {
        let path = path.display().to_string();
        self.bed.run(&["import", "--label", label, &path]).code(0);
    }

    /// The jobs as kurabe does them; what it prints.
    fn ours(&self, label: &str, sections: &str, more: &[&str]) -> String {
        let job = self.write(sections);
        // The files that fio made carry no mark of ours.
        for entry in std::fs::read_dir(self.dir.path()).unwrap() {
            std::fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let line = [&["fio", "--label", label, &job][..], more].concat();
        self.bed.run(&line).code(0).out
    }

    fn compare(&self, base: &str, other: &str) -> Found {
        // Nothing has an interval: one figure a side.
        let done = self.bed.run(&["compare", base, other, "--json"]).code(4);
        let document: Value = serde_json::from_str(&done.out).unwrap();
        let one = &document["others"][0];
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let metrics = one["metrics"].as_array().unwrap().iter();
        let ratios = metrics.filter(|metric| !metric["ratio"].is_null());
        let unknown = |value: &Value| value.as_array().unwrap().iter().map(text).collect();
        let joined = one["joined"].as_array().unwrap().iter();
        let joined = joined.map(|of| {
            (
                text(&of["base"]),
                text(&of["other"]),
                unknown(&of["unknown"]),
            )
        });
        Found {
            ratios: ratios.map(|metric| text(&metric["id"])).collect(),
            joined: joined.collect(),
            document: one.clone(),
        }
    }
}

impl Found {
    #[track_caller]
    fn has(&self, metrics: &[&str]) -> &Self {
        for metric in metrics {
            assert!(
                self.ratios.contains(*metric),
                "{metric}: {:#?}",
                self.ratios
            );
        }
        self
    }

    fn pairs(&self) -> Vec<(&str, &str)> {
        let pairs = self.joined.iter();
        pairs
            .map(|(base, other, _)| (base.as_str(), other.as_str()))
            .collect()
    }

    /// Why the metric is not compared: the names of what differs.
    fn differing(&self, id: &str) -> Vec<String> {
        let mut metrics = self.document["metrics"].as_array().unwrap().iter();
        let metric = metrics
            .find(|metric| metric["id"] == id)
            .unwrap_or_else(|| panic!("{id}"));
        let why = metric["missing"]["figures"]
            .as_array()
            .unwrap_or_else(|| panic!("{metric}"));
        why.iter()
            .map(|of| of[0].as_str().unwrap().to_owned())
            .collect()
    }
}

/// Whether fio is there to make the outputs; told where it is not.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
fn is_there() -> bool {
    let missing = beside::missing();
    if let Some(why) = &missing {
        eprintln!("skipped: {why}");
    }
    missing.is_none()
}

#[test]
fn an_output_of_fio_and_a_run_of_the_same_job_file_are_compared() {
    if !is_there() {
        return;
    }
    let jobs = Jobs::new();
    jobs.imported("json", TWO, "json");
    jobs.imported("text", TWO, "normal");
    let own = jobs.ours("own", TWO, &["--output-format=json"]);
    let path = jobs.bed.path().join("own.json");
    std::fs::write(&path, own).unwrap();
    jobs.import("report", &path);
    let of_group = ["iops", "bw_bytes_per_s", "clat_ns_mean", "clat_ns_p50"];
    let of_group = of_group.map(|quantity| format!("fio.rand-4k@2:{quantity}"));
    let of_group: Vec<&str> = of_group.iter().map(String::as_str).collect();
    let of_mixed = [
        "fio.mixed-read@1:iops",
        "fio.mixed-read@1:clat_ns_p50",
        "fio.mixed-write@1:iops",
    ];
    for import in ["json", "text", "report"] {
        let found = jobs.compare(import, "own");
        found.has(&of_group).has(&of_mixed);
        let pairs = found.pairs();
        assert!(
            pairs.contains(&("fio.mixed-write@1", "fio.mixed@1")),
            "{import}: {pairs:?}"
        );
        // And with the run as the base.
        let back = jobs.compare("own", import);
        back.has(&[
            "fio.rand_4k@2:iops",
            "fio.rand_4k@2:read_clat_ns_p50",
            "fio.mixed@1:write_iops",
        ]);
    }
    // Its own report, whose rates are rounded: jobs of a few milliseconds have their time in whole ones there.
    jobs.compare("report", "own")
        .has(&["fio.rand-4k@2:bw_bytes_per_s", "fio.mixed-read@1:iops"]);
    // A text and a document, of which each knows what the other does not.
    let found = jobs.compare("json", "text");
    found.has(&of_group).has(&of_mixed);
    assert!(
        found.joined[0].2.contains(&"direct".to_owned()),
        "{:?}",
        found.joined
    );
    let page = jobs.bed.run(&["compare", "json", "text"]).code(4);
    page.out_says(&["only one of them says `direct`"]);
    let page = jobs.bed.run(&["compare", "json", "own"]).code(4);
    page.out_says(&["`fio.mixed-read@1` with `fio.mixed@1`: the same job"]);
}

#[test]
fn jobs_are_known_by_what_they_do_and_not_by_their_names() {
    if !is_there() {
        return;
    }
    let jobs = Jobs::new();
    jobs.imported("theirs", "[a]\nrw=randread\niodepth=8\n", "json");
    // Another one has its name.
    jobs.ours(
        "own",
        "[b]\nrw=randread\niodepth=8\n\n[a]\nstonewall\nrw=write\n",
        &[],
    );
    let found = jobs.compare("theirs", "own");
    found.has(&["fio.a@1:iops"]);
    assert_eq!(found.pairs(), [("fio.a@1", "fio.b@1")]);
    let metrics = found.document["metrics"].as_array().unwrap();
    let title = |id: &str| metrics.iter().find(|one| one["id"] == id).unwrap()["title"].clone();
    assert!(title("fio.a@1:iops").as_str().unwrap().contains("randread"));
}

#[test]
fn jobs_of_one_name_that_differ_are_not_compared_and_the_page_says_in_what() {
    if !is_there() {
        return;
    }
    let jobs = Jobs::new();
    let section = |more: &str| format!("[a]\nrw=randread\niodepth=8\n{more}");
    jobs.imported("theirs", &section(""), "json");
    let kinds = [
        ("iodepth=16", "iodepth"),
        ("bs=8k", "bs"),
        ("rw=randwrite", "rw"),
        ("size=4m", "size"),
        ("rate_iops=100000", "rate_iops"),
        ("thinktime=1", "thinktime"),
        ("norandommap", "norandommap"),
        ("ioengine=psync\niodepth=1", "ioengine"),
    ];
    for (more, name) in kinds {
        jobs.ours("own", &section(more), &[]);
        let found = jobs.compare("theirs", "own");
        assert!(found.ratios.is_empty() && found.joined.is_empty(), "{more}");
        let differing = found.differing("fio.a@1:iops");
        assert!(
            differing.contains(&name.to_owned()),
            "{more}: {differing:?}"
        );
        let page = jobs.bed.run(&["compare", "theirs", "own"]).code(4);
        page.out_says(&["measured otherwise:"]);
    }
}

#[test]
fn a_test_and_a_job_of_the_same_definition_are_compared() {
    let jobs = Jobs::new();
    let size = "storage.randread-4k.size=2m";
    let direct = "storage.randread-4k.direct=no";
    let dir = jobs.dir.path().display().to_string();
    let run = [
        "run",
        "storage.randread-4k",
        "--copies",
        "1",
        "--passes",
        "1",
        "--label",
        "test",
        "--set",
        size,
        "--set",
        direct,
        "--dir",
        &dir,
    ];
    jobs.bed.run(&run);
    let section = "[mine]\nioengine=psync\nrw=randread\nruntime=1\ntime_based\ninvalidate=0\nfadvise_hint=0\n";
    jobs.ours("job", section, &[]);
    let found = jobs.compare("test", "job");
    found.has(&[
        "storage.randread-4k@1:iops",
        "storage.randread-4k@1:clat_ns_p50",
    ]);
    assert_eq!(found.pairs(), [("storage.randread-4k@1", "fio.mine@1")]);
    let ranked = jobs
        .bed
        .run(&["rank", "storage.randread-4k@1:iops", "test", "job"]);
    ranked.err_has(&["`storage.randread-4k@1` with `fio.mine@1`: the same job"]);
    // Through a page cache that is told to forget it is another job, and the page says so.
    let section = "[mine]\nioengine=psync\nrw=randread\nruntime=1\ntime_based\nfadvise_hint=0\n";
    jobs.ours("forgets", section, &[]);
    let found = jobs.compare("test", "forgets");
    assert!(found.ratios.is_empty(), "{:?}", found.ratios);
    let page = jobs.bed.run(&["compare", "test", "forgets"]).code(4);
    page.out_says(&["are not compared, because they are not known to be the same job: invalidate not set and yes"]);
}

#[test]
fn jobs_at_the_same_time_are_compared_each_by_itself() {
    if !is_there() {
        return;
    }
    let jobs = Jobs::new();
    let sections = "[a]\nrw=randread\niodepth=8\n\n[b]\nrw=write\nnew_group\n";
    jobs.imported("theirs", sections, "json");
    jobs.ours("own", sections, &[]);
    let found = jobs.compare("theirs", "own");
    found.has(&[
        "fio.a@1:iops",
        "fio.a@1:clat_ns_p50",
        "fio.b@1:bw_bytes_per_s",
    ]);
    // The same beside nothing is another job.
    jobs.ours("alone", "[a]\nrw=randread\niodepth=8\n", &[]);
    let found = jobs.compare("own", "alone");
    assert!(found.ratios.is_empty(), "{:?}", found.ratios);
    // Clones that are told apart.
    let clones = "[c]\nrw=randread\niodepth=8\nnumjobs=2\ngroup_reporting=0\n";
    jobs.imported("clones", clones, "json");
    jobs.ours("own-clones", clones, &[]);
    let found = jobs.compare("clones", "own-clones");
    found.has(&["fio.c@1:iops", "fio.c-2@1:iops", "fio.c-2@1:clat_ns_p50"]);
}

/// What an import keeps of a job has not changed since options decide what is compared: these options and no more.
#[test]
fn an_import_of_before_is_compared_with_a_run_of_now() {
    let jobs = Jobs::new();
    let output = serde_json::json!({
        "fio version": "fio-3.33",
        "timestamp": 1_700_000_000,
        "global options": {"ioengine": "libaio", "bs": "4k", "size": "2m", "group_reporting": ""},
        "jobs": [{
            "jobname": "old-job",
            "groupid": 0,
            "error": 0,
            "job options": {"name": "old-job", "rw": "randread", "iodepth": "8"},
            "read": {
                "io_bytes": 2_097_152, "bw": 4096, "bw_bytes": 4_194_304, "iops": 1024.0, "runtime": 500,
                "total_ios": 512,
                "clat_ns": {"min": 1, "max": 9, "mean": 5.0, "stddev": 1.0, "N": 512},
            },
        }],
    });
    let path = jobs.bed.path().join("old.json");
    std::fs::write(&path, output.to_string()).unwrap();
    jobs.import("before", &path);
    let kept = crate::servers::exported(&jobs.bed, "before");
    let params = kept["plan"]["cases"][0]["params"].as_object().unwrap();
    let names: Vec<&str> = params.keys().map(String::as_str).collect();
    assert_eq!(names, ["bs", "direct", "iodepth", "ioengine", "rw", "size"]);
    jobs.ours("now", "[mine]\nrw=randread\niodepth=8\n", &[]);
    let found = jobs.compare("before", "now");
    found.has(&["fio.old-job@1:iops", "fio.old-job@1:clat_ns_mean"]);
    assert_eq!(found.pairs(), [("fio.old-job@1", "fio.mine@1")]);
    assert_eq!(found.joined[0].2, ["target"]);
}
