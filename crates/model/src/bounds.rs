//! How long names are, how many parts a run has and what its figures come to: what the command line refuses, and what
//! an imported document may not bring in past it.
//!
//! Said once, here. A document from elsewhere is read by people in tables that were made for names of this length, and
//! by code whose work grows with these counts; nothing that a command makes comes near to them.

use crate::host::HostFacts;
use crate::job::Report;
use crate::look::Look;
use crate::plan::{Plan, PlannedCase};
use crate::record::{CopyRecord, Round, Run, RunMeta};
use crate::units::UnixNanos;
use std::collections::HashSet;

/// Characters of a label, and of a tag's key or value: a table of runs still fits a wide terminal.
pub const LABEL_CHARS_MAX: usize = 80;
/// Characters of the name of a test or a quantity: the longest that a command makes, of a section of a job file, has
/// some 70.
pub const NAME_CHARS_MAX: usize = 100;
/// Characters of the name of a host, or of a part of it, of its kernel or of its storage: what DNS allows (RFC 1035),
/// and more than any of them says of itself.
pub const HOST_CHARS_MAX: usize = 255;
/// Characters of what is one line by nature: titles, versions, the names of what was counted.
pub const LINE_CHARS_MAX: usize = 1000;
/// Bytes of any other text as JSON spells it: the longest, the jobs of a file of fio (1 MiB), are kept as one.
pub const TEXT_BYTES_MAX: usize = 8 << 20;
/// Rounds of a run that is imported: at the shortest, half a second each, six days.
pub const ROUNDS_MAX: usize = 1 << 20;
/// Cases of a plan that is imported: some thirty times as many as there are tests.
pub const CASES_MAX: usize = 10_000;
/// Cases of a run that another program measured, and runs in one text of such.
pub const IMPORTED_MAX: usize = 1000;
/// Rounds times cases: every figure of a case looks through all rounds. The longest plan of all tests, a thousand
/// times.
pub const ROUNDS_TIMES_CASES_MAX: usize = 1 << 28;
/// Looks before the parts of a run that is imported: one for each time that somebody went on with it.
pub const LOOKS_MAX: usize = 1000;
/// Metrics of a case that is imported.
pub const METRICS_MAX: usize = 1000;
/// The last instant of an imported document: a store has signed 64 bits for it, which end in the year 2262.
pub const INSTANT_MAX: UnixNanos = UnixNanos(i64::MAX.unsigned_abs());
/// All times and counts of the rounds of an imported document together: no sum of some of them, nor of one with an
/// instant, then overflows. 1024 copies that work and count without a pause have room for more than a month.
pub const FIGURES_MAX: u64 = i64::MAX.unsigned_abs();

/// A name that a user gives: one line, not too long, without characters that are not seen; comes back without the
/// blanks around it.
pub fn label(text: &str) -> Result<String, String> {
    let text = text.trim();
    if text.is_empty() || !is_line(text, LABEL_CHARS_MAX) {
        return Err(format!(
            "expected 1 to {LABEL_CHARS_MAX} characters on one line, all of them to be seen"
        ));
    }
    Ok(text.to_owned())
}

/// What a run is called in other commands, where `latest` and `-` already mean something.
pub fn run_label(text: &str) -> Result<String, String> {
    let text = label(text)?;
    if text == "-" || text == "latest" || text.starts_with("latest~") {
        Err("`latest` and `-` mean other runs already".to_owned())
    } else if text.contains(',') {
        Err("a comma separates the runs of a list, as in `kurabe compare A1,A2 B1,B2`".to_owned())
    } else {
        Ok(text)
    }
}

/// Whether this is the id of a run: the start in UTC, and up to 16 letters, digits or `-` that keep apart what started
/// in the same second, such as `20261121-004311-9f3c`; an `a` or `b` at the end is the side of a duel.
pub fn is_id(text: &str) -> bool {
    let mut parts = text.splitn(3, '-');
    let mut digits = |n: usize| {
        let part = parts.next().unwrap_or_default();
        part.len() == n && part.bytes().all(|byte| byte.is_ascii_digit())
    };
    let starts = digits(8) && digits(6);
    let rest = parts.next().unwrap_or_default();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    starts && (1..=16).contains(&rest.len()) && rest.bytes().all(plain)
}

/// Why `run`, whose rounds are looked at one by one and are this many, cannot be one that a command made, in words;
/// nothing where it can.
pub fn check_frame(run: &Run, rounds: usize) -> Result<(), String> {
    of_meta(&run.meta)?;
    of_host(&run.host)?;
    let cases = run.plan.cases.len();
    at_most("cases", cases, CASES_MAX)?;
    at_most(
        "rounds times cases",
        rounds.saturating_mul(cases),
        ROUNDS_TIMES_CASES_MAX,
    )?;
    of_plan(&run.plan)
}

/// The rounds of a document as far as they were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// How many.
    pub rounds: usize,
    /// The sum of their times in nanoseconds and of their counts.
    pub figures: u64,
}

/// Likewise for its next round. The round's case is one of the plan, whose names are looked at there.
pub fn check_round(round: &Round, seen: &mut Seen) -> Result<(), String> {
    seen.rounds += 1;
    at_most("rounds", seen.rounds, ROUNDS_MAX)?;
    of_round(round, seen).map_err(|why| format!("round {}: {why}", round.seq))
}

fn of_round(round: &Round, seen: &mut Seen) -> Result<(), String> {
    instant("the start", round.started)?;
    let told = round.told();
    let copies = told.iter().flat_map(|told| &told.copies);
    let kinds = told.iter().flat_map(|told| told.latencies.values());
    let figures = std::iter::once(round.took.0)
        .chain(copies.flat_map(figures))
        .chain(kinds.flatten().map(|pair| pair.1));
    seen.figures = figures.fold(seen.figures, u64::saturating_add);
    if seen.figures > FIGURES_MAX {
        return Err(format!(
            "times in nanoseconds and counts come to more than {FIGURES_MAX} by then"
        ));
    }
    let Some(told) = told else {
        return Ok(());
    };
    let copies = told.copies.iter().flat_map(|copy| copy.reported.keys());
    let names = told.values.keys().chain(told.missing.keys());
    names
        .chain(told.latencies.keys())
        .chain(copies)
        .try_for_each(|key| line("a quantity", key))
}

/// The times and counts of a copy that are added up somewhere.
fn figures(copy: &CopyRecord) -> impl Iterator<Item = u64> {
    let times = [copy.wall, copy.user, copy.system].map(|span| span.0);
    let apart = copy.apart.as_deref();
    let counts = apart.map(|apart| {
        [
            apart.voluntary_switches,
            apart.involuntary_switches,
            apart.major_faults,
            apart.minor_faults,
        ]
    });
    let jobs = apart.and_then(|apart| apart.job.as_deref());
    let kinds = apart.into_iter().flat_map(|apart| apart.latencies.values());
    let pairs = kinds.flatten().map(|pair| pair.1);
    let counts = counts.into_iter().flatten();
    times
        .into_iter()
        .chain([copy.ops, copy.allocations])
        .chain(counts)
        .chain(jobs.into_iter().flat_map(Report::figures))
        .chain(pairs)
}

fn of_meta(meta: &RunMeta) -> Result<(), String> {
    if !is_id(&meta.id) {
        return Err(format!("`{}` cannot be the id of a run", begin(&meta.id)));
    }
    instant("the start", meta.started)?;
    instant("the end", meta.finished.unwrap_or_default())?;
    if let Some(label) = &meta.label {
        run_label(label).map_err(|why| format!("the label `{}`: {why}", begin(label)))?;
    }
    for text in meta.tags.iter().flat_map(|(key, value)| [key, value]) {
        let short = text.chars().count() <= LABEL_CHARS_MAX;
        short.then_some(()).ok_or_else(|| {
            format!(
                "the tag `{}`: expected at most {LABEL_CHARS_MAX} characters",
                begin(text)
            )
        })?;
    }
    at_most("looks", meta.looks.len(), LOOKS_MAX)?;
    for look in &meta.looks {
        at_most("busy programs", look.busy.len(), Look::BUSY_MAX)?;
        let mut busy = look.busy.iter();
        busy.try_for_each(|busy| line("a program", &busy.name))?;
    }
    let binary = &meta.binary;
    let commit = binary.commit.as_ref();
    for text in [&binary.version, &binary.build, &binary.target]
        .into_iter()
        .chain(commit)
    {
        line("the program", text)?;
    }
    if let Some(origin) = &meta.origin {
        let texts = [&origin.program, &origin.digest, &origin.file];
        for text in texts.into_iter().chain(&origin.version) {
            line("the origin", text)?;
        }
    }
    let mut offer = meta.offer.iter();
    offer.try_for_each(|offer| line("the offer", offer))
}

fn of_host(host: &HostFacts) -> Result<(), String> {
    let HostFacts {
        cpu,
        kernel,
        platform,
        storage,
        ..
    } = host;
    let names = [
        ("the host", host.hostname.known()),
        ("the CPU", cpu.model.known()),
        ("the architecture", Some(&cpu.arch)),
        ("the governor", cpu.governor.known()),
        ("the kernel", kernel.release.known()),
        ("the kernel's version", kernel.version.known()),
        ("the distribution", kernel.distribution.known()),
        (
            "the virtualization",
            platform.virtualization.known().and_then(Option::as_ref),
        ),
        ("the vendor", platform.vendor.known()),
        ("the product", platform.product.known()),
        ("the clock source", host.clock.source.known()),
        ("the file system", storage.file_system.known()),
    ];
    let devices = storage.devices.known().into_iter().flatten();
    let devices = devices.flat_map(|device| {
        [
            ("the device", Some(&device.name)),
            ("the kind of device", Some(&device.kind)),
            ("the scheduler", device.scheduler.known()),
            ("the model of the device", device.model.known()),
        ]
    });
    for (what, name) in names.into_iter().chain(devices) {
        let long = name.filter(|name| name.chars().count() > HOST_CHARS_MAX);
        if let Some(name) = long {
            return Err(format!(
                "{what} `{}`: expected at most {HOST_CHARS_MAX} characters",
                begin(name)
            ));
        }
    }
    Ok(())
}

fn of_plan(plan: &Plan) -> Result<(), String> {
    let mut planned = HashSet::new();
    for case in &plan.cases {
        let of = |why| format!("case `{}`: {why}", begin(&case.id.to_string()));
        of_case(case).map_err(of)?;
        // Its rounds would count twice, and nobody could tell whose they are.
        if !planned.insert(&case.id) {
            return Err(of("it is in the plan twice".to_owned()));
        }
    }
    if let Some(duel) = &plan.duel {
        line("the duel", &duel.id)?;
        line("the side", &duel.side)?;
    }
    Ok(())
}

fn of_case(case: &PlannedCase) -> Result<(), String> {
    name("the test", &case.id.test)?;
    line("the title", &case.title)?;
    line("the workload", &case.workload)?;
    at_most("metrics", case.metrics.len(), METRICS_MAX)?;
    let mut declared = HashSet::new();
    for metric in &case.metrics {
        let quantity = metric.quantity.as_str();
        name("the quantity", quantity)?;
        if !declared.insert(quantity) {
            return Err(format!("the quantity `{quantity}` is declared twice"));
        }
    }
    for (parameter, _) in case.params.iter() {
        line("the parameter", parameter)?;
    }
    Ok(())
}

fn at_most(what: &str, count: usize, most: usize) -> Result<(), String> {
    if count > most {
        return Err(format!("{count} {what}, and {most} are the most"));
    }
    Ok(())
}

fn instant(what: &str, at: UnixNanos) -> Result<(), String> {
    if at > INSTANT_MAX {
        return Err(format!(
            "{what} at {} ns after 1970: expected one before the year 2262",
            at.0
        ));
    }
    Ok(())
}

/// Refuses what is no name of a test or a quantity.
///
/// # Errors
///
/// In one sentence, where it is none.
pub fn name(what: &str, text: &str) -> Result<(), String> {
    let plain = |c: char| c.is_alphanumeric() || "-_.+".contains(c);
    if text.is_empty() || text.chars().count() > NAME_CHARS_MAX || !text.chars().all(plain) {
        return Err(format!(
            "{what} `{}`: expected a name of 1 to {NAME_CHARS_MAX} letters, digits and -_.+",
            begin(text)
        ));
    }
    Ok(())
}

fn line(what: &str, text: &str) -> Result<(), String> {
    if !is_line(text, LINE_CHARS_MAX) {
        return Err(format!(
            "{what} `{}`: expected at most {LINE_CHARS_MAX} characters on one line, all of them to be seen",
            begin(text)
        ));
    }
    Ok(())
}

fn is_line(text: &str, chars_max: usize) -> bool {
    text.chars().count() <= chars_max && !text.chars().any(is_unseen)
}

/// Whether a character is not seen itself and may change how others are: controls, separators of lines, marks of
/// Unicode's bidirectional algorithm (UAX #9), fillers and tags. A name with one is not the name it looks like.
fn is_unseen(c: char) -> bool {
    let is_mark = matches!(
        c,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{180e}'
            | '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fffe}'..='\u{ffff}'
            | '\u{e0000}'..='\u{e007f}'
    );
    c.is_control() || is_mark
}

/// As much of a text as shows which one it is.
fn begin(text: &str) -> String {
    crate::record::brief(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_stay_on_one_line() {
        assert_eq!(label(" vps a "), Ok("vps a".to_owned()));
        assert!(label(&"新".repeat(80)).is_ok());
        for bad in ["", "  ", "a\nb", "\u{1b}[31m", &"x".repeat(81)] {
            assert!(label(bad).is_err(), "{bad:?}");
        }
        for unseen in "\u{ad}\u{200b}\u{200f}\u{2028}\u{202a}\u{202e}\u{2066}\u{2069}\u{3164}\u{feff}\u{e0001}\u{e007f}"
            .chars()
        {
            assert!(label(&format!("a{unseen}b")).is_err(), "{unseen:?}");
        }
        assert!(label("é ü 新 한국어 🦀 ❤\u{fe0f}").is_ok());
        assert!(run_label("latest~1").is_err() && run_label("latest-kernel").is_ok());
        assert!(run_label("a,b").is_err() && run_label("a;b").is_ok());
    }

    #[test]
    fn ids_are_of_the_form_that_runs_are_given() {
        for good in [
            "20261121-004311-9f3c",
            "20261121-004311-9f3ca",
            "20200101-000000-other",
        ] {
            assert!(is_id(good), "{good}");
        }
        for bad in [
            "",
            "latest",
            "r1",
            "20261121-004311",
            "20261121-004311-",
            "2026112-004311-9f3c",
            "20261121-00431x-9f3c",
            "20261121-004311-9f3c/../x",
            "20261121-004311-新",
            &format!("20261121-004311-{}", "a".repeat(17)),
        ] {
            assert!(!is_id(bad), "{bad}");
        }
    }
}
