//! What a file holds that somebody names as a run: an export of kurabe, or outputs of other programs.

use crate::context::{FIGURES_BYTES_MAX, bytes_of, no_text};
use crate::exit::{Exit, failure};
use crate::new_run::binary;
use dialects::figures::line::plain;
use dialects::figures::run::{Source, of_rounds, of_text};
use dialects::figures::{Figure, Figures, Found, LeftOut, Ours, READERS, Reader};
use dialects::printable::said;
use engine::workload::StandIn;
use model::bounds;
use model::named::NamedKind;
use model::order::Order as _;
use model::params::Params;
use model::plan::{CaseId, PlannedCase};
use model::record::Run;
use model::spec::Better;
use model::units::Unit;
use std::path::Path;
use store::export::{self, Export, ImportError};

/// What a file holds.
pub(crate) enum Held {
    /// A run that kurabe exported.
    Export(Box<Export>),
    /// Figures of other programs.
    Figures(Texts),
}

/// The outputs in one file.
pub(crate) struct Texts {
    /// The file's name, without directories.
    file: String,
    text: String,
    /// What each reader found that found anything.
    found: Vec<(&'static Reader, Vec<Figures>)>,
    /// What became nothing.
    pub(crate) left_out: Vec<LeftOut>,
}

/// Reads a file; `-` is standard input.
pub(crate) fn held(path: &Path) -> anyhow::Result<Held> {
    let bytes = in_utf8(bytes_of(path)?);
    if is_ours(&bytes) {
        let text = String::from_utf8(bytes).map_err(|error| no_text(error.as_bytes(), path))?;
        let export = Export::of(text).map_err(|error| refused(path, &error))?;
        return Ok(Held::Export(Box::new(export)));
    }
    texts(path, &bytes).map(Held::Figures)
}

/// The run that a file holds, for whoever means one.
pub(crate) fn run(path: &Path) -> anyhow::Result<Run> {
    let bytes = in_utf8(bytes_of(path)?);
    if is_ours(&bytes) {
        let text = String::from_utf8(bytes).map_err(|error| no_text(error.as_bytes(), path))?;
        return export::read(&text).map_err(|error| refused(path, &error));
    }
    let texts = texts(path, &bytes)?;
    let mut runs = texts.runs();
    match (runs.pop(), runs.len()) {
        (Some(mut run), 0) => {
            if let Some(why) = beyond(&run) {
                let what = format!("read `{}`: {}", path.display(), said(&why));
                return Err(failure(Exit::Usage, what, Some(WITHIN)));
            }
            // Nobody gave it a name, and its id says nothing.
            let name = path.file_stem().map(|name| name.to_string_lossy());
            run.meta.label = name.and_then(|name| bounds::run_label(&name).ok());
            Ok(run)
        }
        (_, more) => {
            let runs = more + 1;
            let what = format!("read `{}`: it holds {runs} runs", path.display());
            let hint = "`kurabe import FILE` keeps each under an id of its own";
            Err(failure(Exit::Usage, what, Some(hint)))
        }
    }
}

/// The same text without a byte order mark, in UTF-8 where it is UTF-16: both are what some editors write.
fn in_utf8(mut bytes: Vec<u8>) -> Vec<u8> {
    match bytes.as_slice() {
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => plain(&bytes).map_or(bytes, String::into_bytes),
        [0xef, 0xbb, 0xbf, ..] => bytes.split_off(3),
        _ => bytes,
    }
}

/// Whether a text begins as a JSON document of kurabe's begins, whole or not.
fn is_ours(bytes: &[u8]) -> bool {
    let head = bytes.iter().filter(|byte| !byte.is_ascii_whitespace());
    let head: Vec<u8> = head.take(20).copied().collect();
    let begins = |of: &[u8]| head.starts_with(&of[..of.len().min(head.len())]) && head.len() > 5;
    begins(b"{\"format\":") || begins(b"{\"schema\":\"kurabe.")
}

fn refused(path: &Path, error: &ImportError) -> anyhow::Error {
    // Words of the document may be in it, and may look like our own.
    let what = format!("read `{}`: {}", path.display(), said(&error.to_string()));
    failure(Exit::Usage, what, Some(error.hint()))
}

fn texts(path: &Path, bytes: &[u8]) -> anyhow::Result<Texts> {
    let refused = |why: &str, hint: &str| {
        let what = format!("read `{}`: {why}", path.display());
        Err(failure(Exit::Usage, what, Some(hint)))
    };
    if u64::try_from(bytes.len()).is_ok_and(|bytes| bytes > FIGURES_BYTES_MAX) {
        let mib = FIGURES_BYTES_MAX >> 20;
        return refused(
            &format!("it has more than {mib} MiB, and is no export of kurabe"),
            "name the file in which the output of the benchmark is",
        );
    }
    let Some(text) = plain(bytes) else {
        return Err(no_text(bytes, path));
    };
    let mut texts = Texts {
        file: path
            .file_name()
            .map_or_else(|| "-".to_owned(), |name| said(&name.to_string_lossy())),
        text,
        found: Vec::new(),
        left_out: Vec::new(),
    };
    let mut nothing_of = Vec::new();
    for reader in READERS {
        let mut found = reader.find(&texts.text);
        take_out_declared_otherwise(&texts.text, &mut found);
        if found.figures.is_empty() {
            nothing_of.extend(
                found
                    .left_out
                    .into_iter()
                    .map(|left| (reader.program, left)),
            );
        } else {
            let outputs = found.figures.iter().map(|one| one.output + 1).max();
            let (outputs, most) = (outputs.unwrap_or_default(), bounds::IMPORTED_MAX);
            if outputs > most {
                return refused(
                    &format!(
                        "it holds {outputs} outputs of {}, and {most} are the most of one file",
                        reader.program
                    ),
                    "cut it into several files",
                );
            }
            texts.found.push((reader, found.figures));
            texts.left_out.extend(found.left_out);
        }
    }
    if let (true, Some((program, left))) = (texts.found.is_empty(), nothing_of.first()) {
        let (line, what) = (left.line, said(&left.what));
        return refused(
            &format!(
                "it looks like an output of {program}, and has no figure that can be kept; line {line}: {what}"
            ),
            WITHIN,
        );
    }
    if texts.found.is_empty() {
        let programs: Vec<&str> = READERS.iter().map(|reader| reader.program).collect();
        return refused(
            "no output of a benchmark that kurabe reads is in it, and no export of kurabe",
            &format!(
                "`kurabe export RUN` writes exports; outputs are read of {}",
                programs.join(", ")
            ),
        );
    }
    // Beside what was read it is told too, by the name of its program.
    texts
        .left_out
        .extend(nothing_of.into_iter().map(|(program, left)| LeftOut {
            what: format!("an output of {program}: {}", left.what),
            ..left
        }));
    texts.left_out.order_by_key(|left| left.line);
    Ok(texts)
}

/// Takes out the figures whose quantity our own test declares with another unit or good direction: they would stand
/// under its name and be none of it. Only tables name tests of ours as they like; one without a column `better` means
/// the direction of the test.
fn take_out_declared_otherwise(text: &str, found: &mut Found) {
    let first = text.lines().next().unwrap_or_default().to_ascii_lowercase();
    let says_better = first.contains("better");
    let mut told = Vec::new();
    for one in &mut found.figures {
        let Some(case) = one.ours.as_ref().and_then(|ours| own(ours, one.copies)) else {
            continue;
        };
        let declared = |figure: &Figure| {
            let mut metrics = case.metrics.iter();
            metrics.find(|metric| metric.quantity == figure.quantity)
        };
        for figure in one.values.iter_mut().filter(|_| !says_better) {
            figure.better = declared(figure).map_or(figure.better, |own| own.better);
        }
        let otherwise = |figure: &mut Figure| {
            declared(figure)
                .is_some_and(|own| (own.unit, own.better) != (figure.unit, figure.better))
        };
        for figure in one.values.extract_if(.., otherwise) {
            let line = line_of(text, &one.test, &figure, &told);
            told.push(line);
            let said = |unit: Unit, better: Better| {
                let better = match better {
                    Better::Higher => "higher",
                    Better::Lower => "lower",
                };
                format!("{}, {better} is better", unit.key())
            };
            let ours = declared(&figure).map(|own| said(own.unit, own.better));
            found.left_out.push(LeftOut {
                line,
                what: format!(
                    "kurabe's test `{}` has `{}` in {}; this row has {}",
                    one.test,
                    figure.quantity,
                    ours.unwrap_or_default(),
                    said(figure.unit, figure.better)
                ),
            });
        }
    }
    found.figures.retain(|one| !one.values.is_empty());
}

/// The first line whose cells hold all of a figure, of those that were not told yet; 1 where there is none.
fn line_of(text: &str, test: &str, figure: &Figure, told: &[usize]) -> usize {
    let words = [test, &figure.quantity, figure.unit.key()];
    let holds = |line: &str| {
        let cells = line.split([',', ';', '\t']);
        let cells: Vec<&str> = cells.map(|cell| cell.trim_matches([' ', '"'])).collect();
        let has_value = || cells.iter().any(|cell| cell.parse() == Ok(figure.value));
        words.iter().all(|word| cells.contains(word)) && has_value()
    };
    let mut lines = (1..).zip(text.lines());
    let found = lines.find(|(at, line)| !told.contains(at) && holds(line));
    found.map_or(1, |(at, _)| at)
}

impl Texts {
    /// The runs that it holds. What kurabe would not keep of itself is not kept of others.
    pub(crate) fn runs(&self) -> Vec<Run> {
        let binary = binary();
        let runs = self
            .found
            .iter()
            .flat_map(|(reader, figures)| of_text(figures, self.source(reader, &binary), &own));
        runs.collect()
    }

    fn source<'a>(&'a self, reader: &'a Reader, binary: &'a model::record::Binary) -> Source<'a> {
        Source {
            program: reader.program,
            file: &self.file,
            text: &self.text,
            binary,
        }
    }
}

/// What helps where a figure is beyond what kurabe keeps of itself.
pub(crate) const WITHIN: &str = "mend that, or leave it out";

/// One run for each program, whose rounds are what each of these files says.
pub(crate) fn as_rounds(all: &[Texts]) -> anyhow::Result<Vec<Run>> {
    let binary = binary();
    for (at, one) in all.iter().enumerate() {
        if let Some(same) = all[..at].iter().find(|other| other.text == one.text) {
            let what = format!(
                "make rounds of `{}` and `{}`: they hold the same text",
                same.file, one.file
            );
            let hint = "a round is an execution of its own; name each output once";
            return Err(failure(Exit::Usage, what, Some(hint)));
        }
    }
    let of = |reader: &'static Reader| {
        let texts = all.iter().map(|texts| {
            let mut found = texts.found.iter();
            let mine = found.find(|(one, _)| one.program == reader.program);
            let figures = mine.map_or(&[][..], |(_, figures)| figures);
            (texts.source(reader, &binary), figures)
        });
        let texts: Vec<_> = texts.collect();
        of_rounds(&texts, &own).map_err(|why| {
            let what = format!("make one run of outputs of {}: {why}", reader.program);
            let hint = "repeated runs are measured alike; without `--as-rounds` each becomes a run of its own";
            failure(Exit::Usage, what, Some(hint))
        })
    };
    let runs = READERS.iter().map(of);
    Ok(runs
        .collect::<anyhow::Result<Vec<_>>>()?
        .into_iter()
        .flatten()
        .collect())
}

/// Why a run cannot be kept, where it cannot.
pub(crate) fn beyond(run: &Run) -> Option<String> {
    let cases = run.plan.cases.len();
    if cases > bounds::IMPORTED_MAX {
        let most = bounds::IMPORTED_MAX;
        return Some(format!(
            "it has {cases} tests, and {most} are the most of one run"
        ));
    }
    let mut seen = bounds::Seen::default();
    let mut rounds = run.rounds.iter();
    let rounds = rounds.try_for_each(|round| bounds::check_round(round, &mut seen));
    rounds
        .and_then(|()| bounds::check_frame(run, run.rounds.len()))
        .err()
}

/// The case of our own test, as it is planned; `None` where we have no such test or parameter.
fn own(ours: &Ours, copies: u32) -> Option<PlannedCase> {
    let mut all = workloads::ALL.iter().flat_map(|workload| {
        let tests = workload.spec().tests.iter();
        tests.map(move |test| (*workload, test))
    });
    let (workload, test) = all.find(|(_, test)| test.name == ours.test)?;
    let set = ours.set.iter().map(|(name, value)| (*name, value.as_str()));
    let params = test.params.iter().copied().chain(set);
    let params = Params::resolve(workload.spec(), params).ok()?;
    let id = CaseId {
        test: test.name.to_owned(),
        copies: copies.max(1),
    };
    let mut case = engine::resolve::planned_case(workload, id, test.title, &params);
    let own = Params::resolve(workload.spec(), test.params.iter().copied());
    case.in_place_of = params.differing(&own.unwrap_or_default());
    if let Some(server) = ours.server {
        let stand_in = StandIn {
            path: server.into(),
            kind: NamedKind::Server,
        };
        let there = workload.on_stand_in(&params, &stand_in).ok().flatten()?;
        engine::resolve::put_on(&mut case, &there);
    }
    Some(case)
}
