//! Cases of other names that are the same work, and cases of one name that are not.

use super::*;
use crate::compare::{CompareOptions, compare};
use crate::fixture;
use model::comparison::{Comparison, Refusal};
use model::job::{IoEngine, Job, Task};
use model::spec::{Better, MetricClass};
use model::units::Unit;

/// What tests say of a case: its job, and what that is called.
#[derive(Clone)]
struct Said {
    id: &'static str,
    /// With what the title ends, where the case is about one direction of several.
    direction: Option<Direction>,
    name: Option<&'static str>,
    change: fn(&mut Job),
    /// Only what every description says is known.
    partial: bool,
    /// Quantity and value.
    values: Vec<(&'static str, f64)>,
}

fn said(id: &'static str, name: Option<&'static str>, values: &[(&'static str, f64)]) -> Said {
    Said {
        id,
        direction: None,
        name,
        change: |_| (),
        partial: false,
        values: values.to_vec(),
    }
}

impl Said {
    /// Another one for each job and each way of telling it.
    fn workload(&self, imported: bool) -> String {
        format!("{} {:?} {imported}", self.id, self.work())
    }

    fn work(&self) -> Work {
        let mut job = Job {
            engine: IoEngine::Libaio,
            depth: 32,
            size: Some(1 << 24),
            ..Job::default()
        };
        (self.change)(&mut job);
        let task = Task {
            job,
            ..Task::default()
        };
        let definition = Definition::of(&[task]).unwrap();
        Work {
            definition: if self.partial {
                definition.partial()
            } else {
                definition
            },
            name: self.name.map(str::to_owned),
            direction: self.direction,
        }
    }
}

/// A run of these cases, each of a workload of its own, with one round for each value of the first of them.
fn run(said: &[Said], imported: bool) -> Run {
    let mut run = fixture::run(&[]);
    for said in said {
        let metric = |quantity: &str| {
            let (unit, better) = if quantity.ends_with("iops") {
                (Unit::OpsPerSecond, Better::Higher)
            } else {
                (Unit::Nanoseconds, Better::Lower)
            };
            fixture::metric(quantity, unit, better, MetricClass::Throughput)
        };
        let mut case = testkit::case(
            said.id,
            said.values.iter().map(|(q, _)| metric(q)).collect(),
        );
        case.workload = said.workload(imported);
        run.rounds.push(fixture::done(&case.id, 1, &said.values));
        run.plan.cases.push(case);
    }
    run.meta.origin = imported.then(|| Box::new(testkit::origin()));
    run
}

/// What comes of two runs: what was joined, and of each metric the ratio or why there is none.
fn compared(base: (&[Said], bool), other: (&[Said], bool)) -> (Told, Comparison, Run) {
    let all: Vec<(bool, Said)> = [base, other]
        .into_iter()
        .flat_map(|(said, imported)| said.iter().map(move |one| (imported, one.clone())))
        .collect();
    let of = |case: &PlannedCase| {
        let mut all = all.iter();
        let found = all.find(|(imported, said)| said.workload(*imported) == case.workload);
        found.map(|(_, said)| said.work())
    };
    let (mut here, mut there) = ([run(base.0, base.1)], [run(other.0, other.1)]);
    let mut joined = join(&mut here, &mut [&mut there[..]], &mut [], &of);
    let found = compare(&here[0], &there[0], &CompareOptions::default());
    let [there] = there;
    (joined.remove(0), found, there)
}

fn ratio(found: &Comparison, id: &str) -> Option<f64> {
    let mut metrics = found.metrics.iter();
    let metric = metrics.find(|metric| metric.id.to_string() == id);
    metric
        .unwrap_or_else(|| panic!("{id}: {:?}", found.metrics))
        .ratio
}

fn refused<'a>(found: &'a Comparison, id: &str) -> &'a Refusal {
    let mut metrics = found.metrics.iter();
    let metric = metrics.find(|metric| metric.id.to_string() == id).unwrap();
    metric.refused.as_ref().unwrap()
}

fn pairs(joined: &[Joined]) -> Vec<(String, String)> {
    let pair = |one: &Joined| (one.base.to_string(), one.other.to_string());
    joined.iter().map(pair).collect()
}

fn near(found: Option<f64>, expect: f64) {
    assert!(
        found.is_some_and(|found| (found - expect).abs() < 1e-9),
        "{found:?}"
    );
}

#[test]
fn the_parts_of_an_imported_job_are_the_one_case_of_ours() {
    let import = [
        said(
            "storage.randread@2",
            None,
            &[("iops", 100.0), ("clat_ns_p99", 8.0)],
        ),
        said(
            "fio.r-4k@2",
            Some("r-4k"),
            &[("clat_ns_mean", 4.0), ("clat_ns_max", 9.0)],
        ),
    ];
    let own = [said(
        "fio.r_4k@2",
        Some("r_4k"),
        &[
            ("iops", 110.0),
            ("read_clat_ns_mean", 2.0),
            ("read_clat_ns_p99", 4.0),
            ("cpu_ns", 7.0),
        ],
    )];
    let (joined, found, _) = compared((&import, true), (&own, false));
    assert_eq!(
        pairs(&joined.joined),
        [
            ("storage.randread@2".to_owned(), "fio.r_4k@2".to_owned()),
            ("fio.r-4k@2".to_owned(), "fio.r_4k@2".to_owned()),
        ]
    );
    near(ratio(&found, "storage.randread@2:iops"), 1.1);
    near(ratio(&found, "storage.randread@2:clat_ns_p99"), 2.0);
    near(ratio(&found, "fio.r-4k@2:clat_ns_mean"), 2.0);
    let only_other = Refusal::OneSideOnly { base_has_it: false };
    assert_eq!(*refused(&found, "fio.r_4k@2:cpu_ns"), only_other);
    // The other way round.
    let (joined, found, _) = compared((&own, false), (&import, true));
    assert_eq!(
        pairs(&joined.joined),
        [
            ("fio.r_4k@2".to_owned(), "storage.randread@2".to_owned()),
            ("fio.r_4k@2".to_owned(), "fio.r-4k@2".to_owned()),
        ]
    );
    near(ratio(&found, "fio.r_4k@2:iops"), 100.0 / 110.0);
    near(ratio(&found, "fio.r_4k@2:read_clat_ns_mean"), 0.5);
}

#[test]
fn reads_and_writes_of_a_mixed_job_stay_apart() {
    let mixed: fn(&mut Job) = |job| job.pattern.mix = model::job::Mix::ReadWrite;
    let side = |id, direction, iops| Said {
        direction: Some(direction),
        change: mixed,
        ..said(id, Some("m"), &[("iops", iops), ("clat_ns_p99", 10.0)])
    };
    let import = [
        side("fio.m-read@1", Direction::Read, 70.0),
        side("fio.m-write@1", Direction::Write, 30.0),
    ];
    let values = [
        ("iops", 200.0),
        ("read_iops", 140.0),
        ("write_iops", 15.0),
        ("read_clat_ns_p99", 20.0),
    ];
    let own = [Said {
        change: mixed,
        ..said("fio.m@1", Some("m"), &values)
    }];
    let (_, found, _) = compared((&import, true), (&own, false));
    near(ratio(&found, "fio.m-read@1:iops"), 2.0);
    near(ratio(&found, "fio.m-write@1:iops"), 0.5);
    near(ratio(&found, "fio.m-read@1:clat_ns_p99"), 0.5);
}

#[test]
fn jobs_of_one_name_that_differ_are_not_joined_and_say_in_what() {
    let here = [said("fio.a@1", Some("a"), &[("iops", 1.0)])];
    let check = |change: fn(&mut Job), name: &str| {
        let there = [Said {
            change,
            ..said("fio.a@1", Some("a"), &[("iops", 2.0)])
        }];
        let (joined, found, _) = compared((&here, true), (&there, false));
        assert_eq!(joined, Told::default());
        let Refusal::Parameters(differing) = refused(&found, "fio.a@1:iops") else {
            panic!("{found:?}");
        };
        // The import does not say what it worked on.
        let target = differing.iter().find(|of| of.0 == "target").unwrap();
        assert_eq!(target.1, "not known");
        let names = differing.iter().map(|(name, ..)| name.as_str());
        let names: Vec<&str> = names.filter(|name| *name != "target").collect();
        assert_eq!(names, [name]);
    };
    check(|job| job.depth = 1, "iodepth");
    check(|job| job.size = Some(1 << 30), "size");
    check(|job| job.direct = false, "direct");
    check(|job| job.rate_iops = Some(100), "rate_iops");
    check(|job| job.think = model::units::Nanos(5), "thinktime");
    check(|job| job.end.bytes = Some(1 << 20), "io_size");
    check(|job| job.end.ops = Some(100), "number_ios");
    check(
        |job| (job.end.time_based, job.end.loops) = (false, 3),
        "loops",
    );
    check(|job| job.continue_on.read = true, "continue_on_error");
}

#[test]
fn names_that_were_exchanged_are_joined_by_what_the_jobs_are() {
    let deep: fn(&mut Job) = |job| job.depth = 64;
    let of = |id, change, iops| Said {
        change,
        ..said(id, None, &[("iops", iops)])
    };
    let here = [of("fio.a@1", |_| (), 1.0), of("fio.b@1", deep, 10.0)];
    let there = [of("fio.a@1", deep, 20.0), of("fio.b@1", |_| (), 3.0)];
    let (joined, found, run) = compared((&here, false), (&there, false));
    assert_eq!(joined.joined.len(), 2, "{joined:?}");
    near(ratio(&found, "fio.a@1:iops"), 3.0);
    near(ratio(&found, "fio.b@1:iops"), 2.0);
    assert_eq!((run.plan.cases.len(), run.rounds.len()), (2, 2));
}

/// Which of several it is would be a guess: their files are no part of a definition.
#[test]
fn the_same_job_twice_is_joined_by_name_and_under_another_one_where_a_single_one_is_left() {
    let of = |id, name| said(id, Some(name), &[("iops", 1.0)]);
    let base_a = of("fio.a@1", "a");
    let base_b = of("fio.b@1", "b");
    let check = |here: &[Said], there: &[Said], joined: &[(&str, &str)], left: &[(&str, &str)]| {
        let (told, found, _) = compared((here, false), (there, false));
        let ids = |pairs: &[(&str, &str)]| -> Vec<(String, String)> {
            let owned = pairs
                .iter()
                .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()));
            owned.collect()
        };
        assert_eq!(pairs(&told.joined), ids(joined));
        let near = told.not_joined.iter();
        let near = near.map(|one| (one.base.to_string(), one.other.to_string()));
        assert_eq!(near.collect::<Vec<_>>(), ids(left));
        for one in &told.not_joined {
            let expect = [here, there].map(|side| side.len().to_string());
            let found = &one.parameters[..];
            let [(name, base, other)] = found else {
                panic!("{found:?}");
            };
            assert_eq!(name, "number of such jobs");
            assert_eq!([base, other], expect.each_ref());
        }
        let ratios = found.metrics.iter().filter(|one| one.ratio.is_some());
        assert_eq!(ratios.count(), joined.len());
    };
    // The name, and then the only one that is left.
    check(
        &[base_a.clone(), base_b.clone()],
        &[of("fio.c@1", "c"), of("fio.a-2@1", "a")],
        &[("fio.b@1", "fio.c@1"), ("fio.a@1", "fio.a-2@1")],
        &[],
    );
    // Two and two, such as disks that have other names now.
    check(
        &[of("fio.sda@1", "sda"), of("fio.sdb@1", "sdb")],
        &[of("fio.disk-b@1", "disk-b"), of("fio.disk-a@1", "disk-a")],
        &[],
        &[("fio.sda@1", "fio.disk-b@1"), ("fio.sda@1", "fio.disk-a@1")],
    );
    // A warm-up and what is measured.
    check(
        &[of("fio.warm@1", "warm"), of("fio.measured@1", "measured")],
        &[of("fio.final@1", "final")],
        &[],
        &[("fio.warm@1", "fio.final@1")],
    );
    check(
        &[of("fio.final@1", "final")],
        &[of("fio.warm@1", "warm"), of("fio.measured@1", "measured")],
        &[],
        &[
            ("fio.final@1", "fio.warm@1"),
            ("fio.final@1", "fio.measured@1"),
        ],
    );
    // More than are looked at.
    let ids = (0..=NEAR_MAX).map(|at| &*format!("fio.x{at}@1").leak());
    let many: Vec<Said> = ids.map(|id| said(id, None, &[("iops", 1.0)])).collect();
    let (told, ..) = compared((&many, false), (&[base_a], false));
    assert_eq!((told.joined.len(), told.not_joined.len()), (0, 1));
}

#[test]
fn an_output_of_several_jobs_does_not_say_which_ran_at_the_same_time() {
    let of = |id, name, depth: fn(&mut Job)| Said {
        change: depth,
        ..said(id, Some(name), &[("iops", 1.0)])
    };
    let (a, b) = (
        of("fio.a@1", "a", |_| ()),
        of("fio.b@1", "b", |job| job.depth = 2),
    );
    let c = of("fio.c@1", "c", |_| ());
    let check = |import: &[Said], own: &Said, unknown: Option<&[&str]>| {
        let own = std::slice::from_ref(own);
        for (base, other) in [
            ((import, true), (own, false)),
            ((own, false), (import, true)),
        ] {
            let (told, found, _) = compared(base, other);
            let told = told.joined.first().map(|one| one.unknown.clone());
            let ratios = found.metrics.iter().filter(|one| one.ratio.is_some());
            assert_eq!(ratios.count(), usize::from(unknown.is_some()));
            let unknown = unknown.map(|all| all.iter().map(|name| (*name).to_owned()).collect());
            assert_eq!(told, unknown);
        }
    };
    // Alone it was alone, whatever it is called.
    check(std::slice::from_ref(&a), &a, Some(&["target"]));
    check(std::slice::from_ref(&a), &c, Some(&["target"]));
    let both = [a.clone(), b];
    check(&both, &a, Some(&["target", "jobs beside it"]));
    check(&both, &c, None);
}

#[test]
fn what_a_text_lacks_is_told_where_the_name_is_the_same_and_keeps_others_apart() {
    let text = |id, name| Said {
        partial: true,
        ..said(id, name, &[("iops", 50.0)])
    };
    let own = [said("fio.t@1", Some("t"), &[("iops", 100.0)])];
    let (joined, found, _) = compared((&[text("fio.t@1", Some("t"))], true), (&own, false));
    near(ratio(&found, "fio.t@1:iops"), 2.0);
    assert_eq!(joined.joined[0].unknown, ["direct", "size", "target"]);
    let (joined, found, _) = compared((&[text("fio.u@1", Some("u"))], true), (&own, false));
    assert_eq!(joined.joined, []);
    let [near] = &joined.not_joined[..] else {
        panic!("{joined:?}");
    };
    let text = |text: &str| text.to_owned();
    let of = |name, base| (text(name), text(base), text("yes"));
    assert_eq!(near.parameters[0], of("direct", "not known"));
    let only_base = Refusal::OneSideOnly { base_has_it: true };
    assert_eq!(*refused(&found, "fio.u@1:iops"), only_base);
}

#[test]
fn runs_without_anything_to_join_stay_as_they_are() {
    let case = [said("fio.a@1", Some("a"), &[("iops", 1.0)])];
    let (joined, found, there) = compared((&case, false), (&case, false));
    assert_eq!(joined, Told::default());
    near(ratio(&found, "fio.a@1:iops"), 1.0);
    assert_eq!(there, run(&case, false));
}
