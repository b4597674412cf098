//! Command lines as fio takes them, and job files named on them.
//!
//! `--name=value`, `--name value`, `-name=value` and unambiguous abbreviations; `--name=NAME` starts a job, options
//! before the first one are defaults for all jobs, those of job files too. Job files come behind the jobs of the
//! command line, and each further one waits for the one before. Refused: what runs fio on other machines, and what
//! runs other commands.

use super::apply::Raw;
use super::draft::Draft;
use super::error::{Error, Place};
use super::jobfile::{self, MAX_VALUE_BYTES, Surroundings};
use super::options;
use super::plan::{Builder, Eta, Format, IdleProf, Plan, Request, Section};
use super::program::{Has, PROGRAM, ProgramOption};
use super::value::{self, Bare};
use model::job::Mix;

/// Arguments at most; the kernel's own limit for all of them together is 2 MiB.
const MAX_ARGUMENTS: usize = 16_384;

/// Reports so far more often than this would be most of what is done.
const STATUS_INTERVAL_NS_MIN: u64 = 100_000_000;

/// Reads a command line: what would stand behind `fio`.
pub fn parse(arguments: &[String], surroundings: &dyn Surroundings) -> Result<Plan, Error> {
    let mut line = Line::default();
    line.read(arguments)?;
    let Line {
        mut builder,
        globals,
        jobs,
        files,
        sections,
        sections_at,
        has_terse,
        is_fatal,
    } = line;
    if has_terse && !builder.plan.output.formats.contains(&Format::Terse) {
        builder.plan.output.formats.insert(0, Format::Terse);
    }
    let mut defaults = Draft::default();
    builder.globals(&mut defaults, &globals)?;
    for job in &jobs {
        if !has_defaults(&mut builder, &mut defaults, job)? {
            builder.section(&defaults, job)?;
        }
    }
    for (index, (path, place)) in files.iter().enumerate() {
        job_file(
            &mut builder,
            &defaults,
            path,
            place,
            index > 0,
            &sections,
            surroundings,
        )?;
    }
    if let Some(place) = sections_at.filter(|_| files.is_empty()) {
        let text = "`--section` changes nothing here: no job file is named whose sections it could choose from";
        builder.note(&place, text.to_owned());
    }
    let plan = builder.plan;
    checked(plan, &jobs, &files, &sections, is_fatal)
}

/// Reads one job file without a command line.
pub fn parse_file(path: &str, surroundings: &dyn Surroundings) -> Result<Plan, Error> {
    parse(&[path.to_owned()], surroundings)
}

/// Whether a section of this name is no job.
fn is_global(name: &str) -> bool {
    name.to_ascii_lowercase().starts_with("global")
}

/// Whether a section is no job and gives defaults to those behind it, which it then does.
fn has_defaults(
    builder: &mut Builder,
    defaults: &mut Draft,
    section: &Section,
) -> Result<bool, Error> {
    if !is_global(&section.name) {
        return Ok(false);
    }
    if !section.name.eq_ignore_ascii_case("global") {
        let text = format!(
            "section `[{}]` holds defaults and is no job: its name begins with `global`",
            section.name
        );
        builder.warn(&section.place, text);
    }
    builder.globals(defaults, &section.options)?;
    Ok(true)
}

fn job_file(
    builder: &mut Builder,
    defaults: &Draft,
    path: &str,
    place: &Place,
    mut is_behind: bool,
    wanted: &[String],
    surroundings: &dyn Surroundings,
) -> Result<(), Error> {
    let file = jobfile::read(path, place, surroundings, builder)?;
    let mut defaults = defaults.clone();
    for mut section in file.sections {
        if has_defaults(builder, &mut defaults, &section)? {
            continue;
        }
        if wanted.is_empty() || wanted.contains(&section.name) {
            section.is_behind = std::mem::take(&mut is_behind);
            builder.section(&defaults, &section)?;
        }
    }
    Ok(())
}

fn checked(
    plan: Plan,
    jobs: &[Section],
    files: &[(String, Place)],
    sections: &[String],
    is_fatal: bool,
) -> Result<Plan, Error> {
    if matches!(
        plan.request,
        Request::Help
            | Request::Version
            | Request::OptionHelp(_)
            | Request::EngineHelp(_)
            | Request::Calibrate
    ) {
        return Ok(plan);
    }
    if plan.groups.is_empty() {
        let what = match (jobs, files, sections) {
            ([], [], _) => "neither --name nor a job file".to_owned(),
            (_, _, []) => "no section but `[global]`".to_owned(),
            (_, _, wanted) => format!("no section called {}", wanted.join(", ")),
        };
        return Err(Error::NoJob { what });
    }
    if plan.output.is_readonly {
        for job in plan.jobs() {
            if job.does.pattern.mix != Mix::Read && !job.only_checks() {
                let what = "writes, and `--readonly` forbids it".to_owned();
                return Err(Error::Conflict {
                    place: job.place.clone(),
                    job: job.name.clone(),
                    what,
                });
            }
        }
    }
    if is_fatal && let Some(warning) = plan.warnings.first() {
        return Err(Error::Syntax {
            place: warning.place.clone(),
            what: warning.text.clone(),
        });
    }
    Ok(plan)
}

#[derive(Default)]
struct Line {
    builder: Builder,
    globals: Vec<Raw>,
    jobs: Vec<Section>,
    files: Vec<(String, Place)>,
    sections: Vec<String>,
    sections_at: Option<Place>,
    has_terse: bool,
    is_fatal: bool,
}

/// What a name on the command line stands for.
enum Meaning {
    Job(&'static options::OptionDef, &'static str),
    Program(&'static ProgramOption),
}

impl Meaning {
    fn has(&self) -> Has {
        match self {
            Self::Program(option) => option.has,
            Self::Job(def, _) if def.needs_value() => Has::Value,
            Self::Job(..) => Has::Optional,
        }
    }
}

impl Line {
    fn read(&mut self, arguments: &[String]) -> Result<(), Error> {
        let mut rest = arguments.iter().enumerate();
        let mut only_files = false;
        while let Some((index, argument)) = rest.next() {
            let place = Place {
                file: None,
                line: index + 1,
            };
            if index >= MAX_ARGUMENTS {
                return Err(Error::TooMuch {
                    place,
                    what: "arguments",
                    limit: MAX_ARGUMENTS,
                });
            }
            if argument.len() > MAX_VALUE_BYTES {
                return Err(Error::TooMuch {
                    place,
                    what: "bytes of an argument",
                    limit: MAX_VALUE_BYTES,
                });
            }
            if only_files || argument == "-" || !argument.starts_with('-') {
                self.files.push((argument.clone(), place));
                continue;
            }
            if argument == "--" {
                only_files = true;
                continue;
            }
            let text = argument
                .strip_prefix("--")
                .unwrap_or(argument.get(1..).unwrap_or_default());
            let (name, value) = text
                .split_once('=')
                .map_or((text, None), |(name, value)| (name, Some(value.to_owned())));
            let meaning = look_up(name, &place)?;
            let value = match (value, meaning.has()) {
                (None, Has::Value) => {
                    let missing = || Error::MissingValue {
                        place: place.clone(),
                        option: name.to_owned(),
                    };
                    Some(rest.next().ok_or_else(missing)?.1.clone())
                }
                (Some(_), Has::Nothing) => {
                    let what = format!("option `{name}` has no value");
                    return Err(Error::Syntax { place, what });
                }
                (value, _) => value,
            };
            match meaning {
                Meaning::Program(option) => self.program(option, value.as_deref(), &place)?,
                Meaning::Job(_, name) => self.job_option(name, value, place),
            }
        }
        Ok(())
    }

    fn job_option(&mut self, name: &str, value: Option<String>, place: Place) {
        let raw = Raw {
            name: name.to_owned(),
            value,
            place,
        };
        if name == "name" {
            let name = raw.value.clone().unwrap_or_default();
            let place = raw.place.clone();
            self.jobs.push(Section {
                options: if is_global(&name) {
                    Vec::new()
                } else {
                    vec![raw]
                },
                name,
                place,
                is_behind: false,
            });
        } else if let Some(job) = self.jobs.last_mut() {
            job.options.push(raw);
        } else {
            self.globals.push(raw);
        }
    }

    fn program(
        &mut self,
        option: &ProgramOption,
        value: Option<&str>,
        place: &Place,
    ) -> Result<(), Error> {
        if let Some(why) = option.refused {
            return Err(Error::Refused {
                place: place.clone(),
                option: option.name.to_owned(),
                reason: why.to_owned(),
                nearest: None,
            });
        }
        let bad = |expected: &str| Error::BadValue {
            place: place.clone(),
            option: option.name.to_owned(),
            value: value.unwrap_or_default().to_owned(),
            expected: expected.to_owned(),
        };
        let text = value.unwrap_or_default();
        let plan = &mut self.builder.plan;
        match option.name {
            "section" => {
                self.sections.push(text.to_owned());
                self.sections_at.get_or_insert_with(|| place.clone());
            }
            "output" => plan.output.file = Some(text.to_owned()),
            "output-format" => {
                let formats = formats(text).ok_or_else(|| bad("normal, terse, json or json+"));
                plan.output.formats = formats?;
            }
            "minimal" => plan.output.formats = vec![Format::Terse],
            "append-terse" => self.has_terse = true,
            "terse-version" => {
                let version = text.parse().ok().filter(|version| matches!(version, 3..=5));
                plan.output.terse_version = version.ok_or_else(|| bad("3, 4 or 5"))?;
            }
            "eta" => {
                plan.output.eta = Eta::named(text).ok_or_else(|| bad("always, never or auto"))?;
            }
            "status-interval" => {
                let read = value::time_ns(text, Bare::Seconds);
                let read = read.filter(|read| read.value >= STATUS_INTERVAL_NS_MIN);
                let read =
                    read.ok_or_else(|| bad("a time such as `10` or `500ms`, 100ms at least"))?;
                plan.output.status_interval_ns = Some(read.value);
                if let Some(warning) = read.warning {
                    self.builder.warn(place, warning);
                }
            }
            "idle-prof" if text == "calibrate" => plan.request = Request::Calibrate,
            "idle-prof" => {
                let told = IdleProf::named(text);
                let told = told.ok_or_else(|| bad("system, percpu or calibrate"))?;
                plan.output.idleness = Some(told);
            }
            "readonly" => plan.output.is_readonly = true,
            "parse-only" => plan.request = Request::ParseOnly,
            "showcmd" => plan.request = Request::ShowCommand,
            "version" => plan.request = Request::Version,
            "help" => plan.request = Request::Help,
            "cmdhelp" => plan.request = Request::OptionHelp(value.unwrap_or("all").to_owned()),
            "enghelp" => plan.request = Request::EngineHelp(value.map(str::to_owned)),
            "warnings-fatal" => self.is_fatal = true,
            other => self
                .builder
                .note(place, format!("`--{other}` changes nothing here")),
        }
        Ok(())
    }
}

fn look_up(name: &str, place: &Place) -> Result<Meaning, Error> {
    if let Some((def, name)) = options::find_named(name) {
        return Ok(Meaning::Job(def, name));
    }
    if let Some(option) = PROGRAM.iter().find(|option| option.name == name) {
        return Ok(Meaning::Program(option));
    }
    let short = match name {
        "h" => Some("help"),
        "v" => Some("version"),
        "m" => Some("minimal"),
        "o" => Some("output"),
        _ => None,
    };
    if let Some(option) = short.and_then(|long| PROGRAM.iter().find(|option| option.name == long)) {
        return Ok(Meaning::Program(option));
    }
    let mut fitting: Vec<(&'static str, Meaning)> = Vec::new();
    if !name.is_empty() {
        let jobs = options::abbreviable().flat_map(|def| {
            def.names()
                .map(move |known| (known, Meaning::Job(def, known)))
        });
        let program = PROGRAM
            .iter()
            .map(|option| (option.name, Meaning::Program(option)));
        fitting.extend(
            jobs.chain(program)
                .filter(|(known, _)| known.starts_with(name)),
        );
    }
    if fitting.len() > 1 {
        let candidates = fitting
            .iter()
            .map(|(known, _)| format!("`{known}`"))
            .collect();
        return Err(Error::Ambiguous {
            place: place.clone(),
            option: name.to_owned(),
            candidates,
        });
    }
    fitting
        .pop()
        .map(|(_, meaning)| meaning)
        .ok_or_else(|| Error::UnknownOption {
            place: place.clone(),
            option: name.to_owned(),
            nearest: options::nearest(name),
        })
}

/// The forms, each once, in the order in which fio prints them.
fn formats(text: &str) -> Option<Vec<Format>> {
    let mut wanted = Vec::new();
    for word in text.split(',') {
        wanted.push(match word {
            "normal" => Format::Normal,
            "terse" | "minimal" => Format::Terse,
            "json" => Format::Json,
            "json+" => Format::JsonPlus,
            _ => return None,
        });
    }
    // With both, fio prints the larger one.
    let json = if wanted.contains(&Format::JsonPlus) {
        Format::JsonPlus
    } else {
        Format::Json
    };
    let order = [Format::Terse, json, Format::Normal];
    Some(
        order
            .into_iter()
            .filter(|format| wanted.contains(format))
            .collect(),
    )
}
