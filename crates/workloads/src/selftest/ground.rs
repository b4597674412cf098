//! `selftest.ground`: rounds that stand on something that is made before them, in a known time, well or not.

use engine::recorder::Recorder;
use engine::workload::{Body, ErrandKind, Finish, Place, StandIn, Told, WorkError, Workload};
use model::ground::{Ground as Declared, GroundKind};
use model::host::HostFacts;
use model::params::Params;
use model::spec::{
    Amount, Better, How, MetricClass, MetricDef, Nature, ParamDef, ParamKind, Role, Spec, TestDef,
    Time,
};
use model::units::{Bytes, Nanos, Unit};
use std::fs;
use std::io::Write;
use std::path::PathBuf;

pub(crate) static GROUND: Ground = Ground;

/// The workload.
#[derive(Debug)]
pub(crate) struct Ground;

static SPEC: Spec = Spec {
    name: "selftest.ground",
    version: 1,
    nature: Nature::System,
    title: "rounds that stand on what is made before them",
    doc: "Before the first round a file of ten lines is written in `make`, a line at a time, and all rounds of all \
          cases with the same parameters read it. It shows that what is made is made once, in a time of its own, \
          and what becomes of rounds where it cannot be.",
    params: &[
        ParamDef {
            name: "make",
            kind: ParamKind::Duration,
            default: "200ms",
            doc: "How long making it takes.",
        },
        ParamDef {
            name: "kind",
            kind: ParamKind::Choice(&["good", "error", "unsupported", "abort", "hang", "lost"]),
            default: "good",
            doc: "How making it goes: `error` fails, `unsupported` says that the machine cannot, `abort` ends the \
                  process, `hang` does not end; `lost` is made well, and round 2 loses it and fails.",
        },
    ],
    metrics: &[MetricDef {
        quantity: "ops_per_s",
        unit: Unit::OpsPerSecond,
        better: Better::Higher,
        class: MetricClass::System,
        how: How::Per(Amount::Work, Time::Wall),
        role: Role::Plain,
        doc: "Milliseconds slept per second of wall time.",
    }],
    tests: &[
        TestDef {
            name: "selftest.ground",
            title: "rounds on a ground",
            params: &[],
        },
        TestDef {
            name: "selftest.ground-too",
            title: "rounds on the same ground",
            params: &[],
        },
    ],
    simulated: false,
    on_disk: false,
};

/// Lines of a whole ground.
const LINES: u64 = 10;
/// Bytes of a line.
const LINE: &str = "a line of what rounds stand on\n";

/// The file, and the note that it is whole.
fn paths(place: &Place) -> [PathBuf; 2] {
    ["ground", "ground.complete"].map(|name| place.run_dir.join(name))
}

fn holds(place: &Place) -> bool {
    let [file, note] = paths(place);
    let whole = LINE.len() as u64 * LINES;
    note.is_file() && file.metadata().is_ok_and(|found| found.len() == whole)
}

impl Workload for Ground {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn ground(&self, params: &Params, _: &HostFacts, _: Option<&StandIn>) -> Option<Declared> {
        let make = params.duration("make");
        Some(Declared {
            key: format!("{} {}", params.text("kind"), make.0),
            kind: GroundKind::Data,
            bytes: Some(Bytes(LINE.len() as u64 * LINES)),
            expected: make,
            at_most: Nanos(make.0.saturating_mul(2)).plus(Nanos::from_secs(1)),
        })
    }

    fn errand(
        &self,
        errand: ErrandKind,
        params: &Params,
        place: &Place,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<Told, WorkError> {
        match errand {
            ErrandKind::Make => make(params, place, tell)?,
            ErrandKind::Check => {}
            ErrandKind::Remove => paths(place).iter().rev().for_each(|path| {
                let _ = fs::remove_file(path);
            }),
        }
        Ok(Told {
            holds: holds(place),
            bytes: paths(place)[0]
                .metadata()
                .ok()
                .map(|found| Bytes(found.len())),
        })
    }

    fn prepare(&self, params: &Params, place: &Place) -> Result<Box<dyn Body>, WorkError> {
        if !holds(place) {
            let why = "it is not there, or not in whole";
            return Err(WorkError::failed(
                "stand on",
                paths(place)[0].display(),
                why,
            ));
        }
        let loses = params.text("kind") == "lost" && place.round == 2;
        Ok(Box::new(Standing(loses.then(|| paths(place)))))
    }
}

fn make(params: &Params, place: &Place, tell: &mut dyn FnMut(Bytes)) -> Result<(), WorkError> {
    let [path, note] = paths(place);
    let failed = |error: std::io::Error| WorkError::failed("write", path.display(), error);
    let _ = fs::remove_file(&note);
    let mut file = fs::File::create(&path).map_err(failed)?;
    for line in 1..=LINES {
        if line > LINES / 2 {
            match params.text("kind") {
                "error" => return Err(failed(std::io::Error::other("as it was told to"))),
                "unsupported" => {
                    let why = "selftest.ground was told that it cannot be made";
                    return Err(WorkError::Unsupported(why.to_owned()));
                }
                "abort" => std::process::abort(),
                "hang" => loop {
                    sys::clock::sleep(1_000_000_000);
                },
                _ => {}
            }
        }
        sys::clock::sleep(params.duration("make").0 / LINES);
        file.write_all(LINE.as_bytes()).map_err(failed)?;
        tell(Bytes(line * LINE.len() as u64));
    }
    // Last: whoever is killed before leaves a file that nobody takes for whole.
    fs::write(&note, "").map_err(failed)
}

/// Sleeps, and loses in the end what it stands on, where there are paths.
struct Standing(Option<[PathBuf; 2]>);

impl Body for Standing {
    fn batch(&mut self, ops: u64, _: &mut Recorder) -> Result<u64, WorkError> {
        sys::clock::sleep(ops * 1_000_000);
        Ok(ops)
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let Some(paths) = &self.0 else {
            return Ok(Finish::default());
        };
        for path in paths {
            fs::remove_file(path)
                .map_err(|error| WorkError::failed("remove", path.display(), error))?;
        }
        Err(WorkError::Failed(
            "what the round stood on is lost".to_owned(),
        ))
    }
}
