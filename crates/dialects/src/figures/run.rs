//! Runs made of figures: the one place.
//!
//! A figure is one sample: the run has one round per case and no interval. A case is one of kurabe's own where the
//! definition is the same ([`Figures::ours`]); it then compares with what kurabe measures. Every other case is of the
//! program's own test and compares only with others of that program whose parameters agree.

use super::{Figure, Figures, Ours};
use model::digest::Digest;
use model::host::{Fact, HostFacts};
use model::noise::Noise;
use model::order::Keyed as _;
use model::origin::Origin;
use model::params::{ParamValue, Params};
use model::plan::{CaseId, Plan, PlannedCase, PlannedMetric, Shape};
use model::record::{Binary, End, Measured, Outcome, Round, Run, RunMeta};
use model::spec::{Fold, How, Role};
use model::units::{Nanos, UnixNanos};
use model::warning::Warning;
use std::collections::{BTreeMap, HashMap, HashSet};

/// Where a text comes from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The program that printed it.
    pub program: &'a str,
    /// The name of its file, without directories.
    pub file: &'a str,
    /// The text as it was read.
    pub text: &'a str,
    /// This program, which makes the run.
    pub binary: &'a Binary,
}

/// What makes a case of a test of our own: [`Ours`] at so many copies; `None` where there is none.
pub type Own<'a> = dyn Fn(&Ours, u32) -> Option<PlannedCase> + 'a;

/// Why figures do not become rounds of one run.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum Unlike {
    /// They were not measured alike.
    #[error("`{test}` was measured with `{param}` {one}, and in `{file}` {other}")]
    Params {
        /// The file that differs from those before it.
        file: String,
        /// The test.
        test: String,
        /// What differs.
        param: String,
        /// What the first one has.
        one: String,
        /// What the other one has.
        other: String,
    },
    /// Different versions of the program.
    #[error("they were measured by version {0} and by version {1}")]
    Versions(String, String),
    /// One has a test that another one has not.
    #[error("`{with}` has `{test}`, which `{without}` has not")]
    Tests {
        /// The test.
        test: String,
        /// The file that has it.
        with: String,
        /// The file that has not.
        without: String,
    },
}

/// The runs of a text: one of each output, and outputs that follow each other are one run as long as no case comes
/// twice and the version is the same, because people keep what they measured of a server in one file.
pub fn of_text(figures: &[Figures], source: Source<'_>, own: &Own<'_>) -> Vec<Run> {
    let mut groups: Vec<Vec<Case<'_>>> = Vec::new();
    let mut in_last: HashSet<CaseId> = HashSet::new();
    for output in figures.chunk_by(|a, b| a.output == b.output) {
        let cases = cases(output, own);
        let ids = || cases.iter().map(|case| case.planned.id.clone());
        let last = groups.last_mut().filter(|group| {
            let first = group.first().map(|case| &case.figures.version);
            first.is_none_or(|version| *version == output[0].version)
                && ids().all(|id| !in_last.contains(&id))
        });
        if let Some(group) = last {
            in_last.extend(ids());
            group.extend(cases);
        } else {
            in_last = ids().collect();
            groups.push(cases);
        }
    }
    let of_text = digest(&[source]);
    let all = groups.into_iter().enumerate();
    all.map(|(at, group)| {
        let digest = numbered(of_text, at);
        run(group, source, digest)
    })
    .collect()
}

/// One run of several texts: what each says of a case is a round of it.
pub fn of_rounds(texts: &[(Source<'_>, &[Figures])], own: &Own<'_>) -> Result<Option<Run>, Unlike> {
    let each = texts
        .iter()
        .map(|(source, figures)| (source.file, cases(figures, own)));
    let each: Vec<(&str, Vec<Case<'_>>)> = each.collect();
    let all = || each.iter().flat_map(|(_, cases)| cases);
    let Some(first) = all().next() else {
        return Ok(None);
    };
    for (file, cases) in &each {
        let ids: HashSet<&CaseId> = cases.iter().map(|case| &case.planned.id).collect();
        let has = |case: &Case<'_>| ids.contains(&case.planned.id);
        let others = each
            .iter()
            .flat_map(|(with, all)| all.iter().map(move |case| (with, case)));
        if let Some((with, case)) = others.clone().find(|(_, case)| !has(case)) {
            return Err(Unlike::Tests {
                test: case.planned.id.to_string(),
                with: (*with).to_owned(),
                without: (*file).to_owned(),
            });
        }
    }
    let mut known: HashMap<&CaseId, &Case<'_>> = HashMap::new();
    for (file, case) in each
        .iter()
        .flat_map(|(file, all)| all.iter().map(move |one| (file, one)))
    {
        if case.figures.version != first.figures.version {
            let word = |case: &Case<'_>| {
                let version = case.figures.version.as_deref();
                version.unwrap_or("unknown").to_owned()
            };
            return Err(Unlike::Versions(word(first), word(case)));
        }
        let like = known.entry(&case.planned.id).or_insert(case);
        alike(&like.planned, &case.planned).map_err(|unlike| unlike.within(file))?;
    }
    let sources: Vec<Source<'_>> = texts.iter().map(|(source, _)| *source).collect();
    // Another one than that of the same text as runs by themselves.
    let digest = numbered(digest(&sources), usize::MAX);
    let all = each.into_iter().flat_map(|(_, cases)| cases).collect();
    Ok(sources.first().map(|source| run(all, *source, digest)))
}

impl Unlike {
    /// The same, with the name of the file in which it was found.
    fn within(mut self, name: &str) -> Self {
        if let Self::Params { file, .. } = &mut self {
            name.clone_into(file);
        }
        self
    }
}

fn alike(one: &PlannedCase, other: &PlannedCase) -> Result<(), Unlike> {
    let text = |case: &PlannedCase, name: &str| {
        let value = case.params.get(name);
        value.map_or_else(|| "not said".to_owned(), ParamValue::readable)
    };
    let names = one.params.iter().chain(other.params.iter());
    let mut names = names.map(|(name, _)| name);
    match names.find(|name| one.params.get(name) != other.params.get(name)) {
        Some(name) => Err(Unlike::Params {
            file: String::new(),
            test: one.id.to_string(),
            param: name.to_owned(),
            one: text(one, name),
            other: text(other, name),
        }),
        None => Ok(()),
    }
}

/// A case and what it takes of its figures.
struct Case<'a> {
    planned: PlannedCase,
    figures: &'a Figures,
    values: Vec<&'a Figure>,
}

fn cases<'a>(figures: &'a [Figures], own: &Own<'_>) -> Vec<Case<'a>> {
    let cases = figures.iter().flat_map(|figures| {
        let ours = figures.ours.as_ref();
        let ours = ours.and_then(|ours| own(ours, figures.copies));
        let declared = |figure: &Figure| {
            let metrics = ours.iter().flat_map(|case| &case.metrics);
            let same = |metric: &PlannedMetric| {
                let unit = (metric.unit, metric.better);
                metric.quantity == figure.quantity && unit == (figure.unit, figure.better)
            };
            metrics.filter(|metric| !metric.is_setting()).any(same)
        };
        let (known, foreign): (Vec<_>, Vec<_>) =
            figures.values.iter().partition(|figure| declared(figure));
        let own = ours.filter(|_| !known.is_empty()).map(|mut planned| {
            let has =
                |metric: &PlannedMetric| known.iter().any(|one| one.quantity == metric.quantity);
            planned.metrics.retain(has);
            planned.pictures.clear();
            (planned, known)
        });
        let foreign = (!foreign.is_empty()).then(|| (theirs(figures, &foreign), foreign));
        [own, foreign]
            .into_iter()
            .flatten()
            .map(|(planned, values)| Case {
                planned,
                figures,
                values,
            })
    });
    let mut named = Named::default();
    cases.map(|case| named.name(case)).collect()
}

/// What one output tells of a test twice are two rounds where it was measured alike, and two tests otherwise: the names
/// that were given.
#[derive(Default)]
struct Named {
    /// What is declared under each name.
    metrics: HashMap<CaseId, Vec<PlannedMetric>>,
    /// The names of a test with the same settings.
    alike: HashMap<(CaseId, String), Vec<CaseId>>,
    /// How many names a test has.
    numbers: HashMap<CaseId, u32>,
}

impl Named {
    fn name<'a>(&mut self, mut case: Case<'a>) -> Case<'a> {
        let id = case.planned.id.clone();
        let settings = case.planned.params.iter();
        let settings = settings.map(|(name, value)| format!("{name}\0{}\0", value.readable()));
        let alike = self.alike.entry((id.clone(), settings.collect()));
        let alike = alike.or_default();
        let metrics = &self.metrics;
        let fits = |id: &&CaseId| {
            let declared = |new: &PlannedMetric| {
                let mut have = metrics.get(*id).into_iter().flatten();
                let same = (new.unit, new.better);
                have.all(|one| one.quantity != new.quantity || (one.unit, one.better) == same)
            };
            case.planned.metrics.iter().all(declared)
        };
        let name = alike.iter().find(fits).cloned().unwrap_or_else(|| {
            let number = self.numbers.entry(id.clone()).or_insert(1);
            let mut name = id.clone();
            while metrics.contains_key(&name) {
                *number += 1;
                name.test = format!("{}-{number}", id.test);
            }
            alike.push(name.clone());
            name
        });
        add(
            self.metrics.entry(name.clone()).or_default(),
            &case.planned.metrics,
        );
        case.planned.id = name;
        case
    }
}

/// Adds those of which none has the quantity yet.
fn add(known: &mut Vec<PlannedMetric>, metrics: &[PlannedMetric]) {
    for metric in metrics {
        if known.iter().all(|one| one.quantity != metric.quantity) {
            known.push(metric.clone());
        }
    }
}

/// A case of the other program's own test.
fn theirs(figures: &Figures, values: &[&Figure]) -> PlannedCase {
    let params = figures.params.iter();
    let params = params.map(|(name, value)| (name.clone(), ParamValue::Text(value.clone())));
    PlannedCase {
        id: CaseId {
            test: figures.test.clone(),
            copies: figures.copies.max(1),
        },
        title: figures.title.clone(),
        workload: figures.test.clone(),
        workload_version: 1,
        params: params.collect(),
        nature: figures.nature,
        metrics: values.iter().map(|figure| metric(figure)).collect(),
        pictures: Vec::new(),
        headline: None,
        load: None,
        ground: None,
        needs: None,
        shape: Shape::DEFAULT,
        hands_over: figures.test == crate::unixbench::SWITCHES,
        simulated: false,
        on_disk: false,
        allocates: false,
        implementation: None,
        anchors: Vec::new(),
        exceeds_memory: false,
        in_place_of: Params::default(),
    }
}

fn metric(figure: &Figure) -> PlannedMetric {
    PlannedMetric {
        quantity: figure.quantity.clone(),
        unit: figure.unit,
        better: figure.better,
        class: figure.class,
        how: How::Reported(Fold::Mean),
        role: Role::Plain,
    }
}

fn run(cases: Vec<Case<'_>>, source: Source<'_>, digest: Digest) -> Run {
    let first = cases.first().map(|case| case.figures);
    let when = first.and_then(|figures| figures.when);
    // Without a date it goes before everything that has one, and is never taken for the latest.
    let started = when.unwrap_or_default();
    let mut warnings: Vec<Warning> = Vec::new();
    for what in cases
        .iter()
        .filter_map(|case| case.figures.cut_short.clone())
    {
        let warning = Warning::Other { what };
        if !warnings.contains(&warning) {
            warnings.push(warning);
        }
    }
    let (mut rounds, mut planned): (Vec<Round>, Vec<PlannedCase>) = (Vec::new(), Vec::new());
    let mut passes: BTreeMap<CaseId, u32> = BTreeMap::new();
    let mut places: HashMap<CaseId, usize> = HashMap::new();
    for case in cases {
        let pass = passes.entry(case.planned.id.clone()).or_default();
        *pass += 1;
        let seq = u32::try_from(rounds.len() + 1).unwrap_or(u32::MAX);
        rounds.push(round(&case, *pass, seq, started));
        let place = *places
            .entry(case.planned.id.clone())
            .or_insert(planned.len());
        match planned.get_mut(place) {
            Some(known) => add(&mut known.metrics, &case.planned.metrics),
            None => planned.push(case.planned),
        }
    }
    Run {
        meta: RunMeta {
            id: id(started, digest),
            label: None,
            tags: BTreeMap::new(),
            started,
            finished: Some(started),
            end: End::Complete,
            binary: source.binary.clone(),
            warnings,
            looks: Vec::new(),
            origin: Some(Box::new(Origin {
                program: source.program.to_owned(),
                version: first.and_then(|figures| figures.version.clone()),
                when: when.map_or_else(
                    || Fact::Missing("the text does not say it".to_owned()),
                    Fact::Known,
                ),
                digest: format!("{:016x}", digest.0),
                file: source.file.to_owned(),
            })),
            offer: None,
            dir: String::new(),
        },
        plan: Plan {
            what: vec![source.program.to_owned()],
            cases: planned,
            seed: 0,
            budget: None,
            passes: passes.values().copied().max(),
            target: None,
            duel: None,
            soak: None,
            named: Vec::new(),
            dropped: Vec::new(),
            room: None,
            own_ground: None,
            spread: None,
            ordered: false,
            max_bytes: None,
        },
        host: HostFacts::default(),
        rounds,
    }
}

fn round(case: &Case<'_>, pass: u32, seq: u32, started: UnixNanos) -> Round {
    let values = case.values.iter();
    Round {
        case: case.planned.id.clone(),
        pass,
        seq,
        started,
        took: Nanos::ZERO,
        errands: Vec::new(),
        layout_seed: 0,
        outcome: Outcome::Done(Measured {
            values: values
                .map(|one| (one.quantity.clone(), one.value))
                .into_map(),
            missing: BTreeMap::new(),
            windows: Vec::new(),
            cpu_windows: Vec::new(),
            copies: Vec::new(),
            latencies: BTreeMap::new(),
            series: BTreeMap::new(),
            notes: Vec::new(),
        }),
        partial: None,
        moved: None,
        stretch: None,
        noise: Noise::default(),
    }
}

/// The digest of the texts and their program.
fn digest(sources: &[Source<'_>]) -> Digest {
    let texts = sources.iter().map(|source| source.text.as_bytes());
    let digest = texts.fold(Digest::EMPTY, Digest::bytes);
    digest.bytes(sources.first().map_or("", |one| one.program).as_bytes())
}

/// The same of the run of this number.
fn numbered(digest: Digest, at: usize) -> Digest {
    digest.word(u64::try_from(at).unwrap_or(u64::MAX))
}

/// The same for the same text: importing it twice makes no second run.
fn id(started: UnixNanos, digest: Digest) -> String {
    let seconds = i64::try_from(started.0 / 1_000_000_000).unwrap_or(i64::MAX);
    let at = jiff::Timestamp::from_second(seconds).unwrap_or_default();
    let short = digest.0 >> 16;
    format!("{}-{short:012x}", at.strftime("%Y%m%d-%H%M%S"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::Figure;
    use model::spec::{MetricClass, Nature};
    use model::units::Unit;

    fn figures(output: usize, test: &str, depth: &str, value: f64) -> Figures {
        let class = MetricClass::Throughput;
        Figures {
            cut_short: None,
            output,
            version: None,
            when: None,
            test: test.to_owned(),
            title: test.to_owned(),
            copies: 1,
            nature: Nature::Storage,
            params: [("depth".to_owned(), depth.to_owned())].into(),
            values: vec![Figure::rate("iops", Unit::OpsPerSecond, class, value)],
            ours: None,
        }
    }

    fn none(_: &Ours, _: u32) -> Option<PlannedCase> {
        None
    }

    /// The values of each case of each run.
    fn told(runs: &[Run]) -> Vec<Vec<(String, Vec<f64>)>> {
        let case = |run: &Run, case: &PlannedCase| {
            let rounds = run.rounds_of(&case.id).filter_map(|round| round.told());
            let values = rounds.map(|told| told.values["iops"]);
            (case.id.to_string(), values.collect())
        };
        let run = |run: &Run| run.plan.cases.iter().map(|one| case(run, one)).collect();
        runs.iter().map(run).collect()
    }

    #[test]
    fn outputs_are_one_run_until_a_case_comes_again() {
        let binary = testkit::meta("20261121-004311-9f3c").binary;
        let source = Source {
            program: "fio",
            file: "a.txt",
            text: "a text",
            binary: &binary,
        };
        let all = [
            figures(0, "a", "1", 1.0),
            figures(1, "b", "1", 2.0),
            figures(2, "a", "1", 3.0),
            figures(3, "c", "1", 4.0),
            figures(3, "c", "1", 5.0),
            figures(3, "c", "9", 6.0),
        ];
        let runs = of_text(&all, source, &none);
        let case = |id: &str, values: &[f64]| (id.to_owned(), values.to_vec());
        assert_eq!(
            told(&runs),
            [
                vec![case("a@1", &[1.0]), case("b@1", &[2.0])],
                vec![
                    case("a@1", &[3.0]),
                    case("c@1", &[4.0, 5.0]),
                    case("c-2@1", &[6.0])
                ],
            ]
        );
        assert_ne!(runs[0].meta.id, runs[1].meta.id);
        assert!(runs.iter().all(|run| run.meta.warnings.is_empty()));
        let what = "the end is not there".to_owned();
        let cut = all[..2].iter().map(|one| Figures {
            cut_short: Some(what.clone()),
            ..one.clone()
        });
        let cut: Vec<Figures> = cut.collect();
        let of_cut = of_text(&cut, source, &none);
        assert_eq!(of_cut[0].meta.warnings, [Warning::Other { what }]);
        assert_eq!(runs, of_text(&all, source, &none));
        let same = [(source, &all[..1]), (source, &all[2..3])];
        let rounds = of_rounds(&same, &none).unwrap();
        assert_eq!(told(rounds.as_slice()), [[case("a@1", &[1.0, 3.0])]]);
        let unlike = [figures(0, "a", "2", 9.0)];
        let error = of_rounds(&[(source, &all[..1]), (source, &unlike)], &none).unwrap_err();
        let expect = "`a@1` was measured with `depth` 1, and in `a.txt` 2";
        assert_eq!(error.to_string(), expect);
        let other = [figures(0, "b", "1", 9.0)];
        let named = Source {
            file: "b.txt",
            ..source
        };
        let error = of_rounds(&[(source, &all[..1]), (named, &other)], &none).unwrap_err();
        assert_eq!(
            error.to_string(),
            "`b.txt` has `b@1`, which `a.txt` has not"
        );
    }
}
