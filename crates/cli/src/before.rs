//! Before the first round: a look at the machine, which says at once what will disturb and is kept with the runs, and
//! waiting until that has passed.

use crate::args::LookArgs;
use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::output;
use crate::session::Ready;
use engine::{budget, look};
use model::ground::GroundKind;
use model::host::HostFacts;
use model::look::{Look, Space};
use model::record::Run;
use model::units::{Bytes, Nanos};
use report::{Lang, number, said};
use stats::look::Seen;
use std::path::Path;
use std::slice;
use sys::clock::monotonic;
use workloads::storage;

/// While it is waited, the same is said again after this time.
const SAID_EVERY: Nanos = Nanos::from_secs(20);

/// Looks before the first round of what is ready, where that is wanted and anything of it uses the machine, and waits
/// for quiet where that was asked for. Gives the time that it took, all of it after [`Context::began`]; what was seen
/// is with the runs.
pub(crate) fn look(
    context: &Context,
    ready: &mut Ready,
    args: LookArgs,
    quiet: bool,
) -> anyhow::Result<Nanos> {
    let span = look::span(ready.runs.iter().map(|run| &run.plan));
    let Some(first) = ready.runs.first() else {
        return Ok(Nanos::ZERO);
    };
    if args.no_look || span == Nanos::ZERO {
        return Ok(Nanos::ZERO);
    }
    let began = monotonic();
    let seen = match args.wait_quiet {
        Some(most) => quiet_within(most, &first.host, (context.lang, quiet))?,
        None => looked(span)?,
    };
    let mut told: Vec<Seen> = Vec::new();
    let is_new = !ready.kept;
    for run in &mut ready.runs {
        let space = is_new.then(|| space(run)).flatten();
        let look = Look {
            space,
            ..seen.clone()
        };
        let news = stats::look::seen(&look, &run.host).into_iter();
        told.extend(news.filter(|seen| !told.contains(seen)).collect::<Vec<_>>());
        if is_new {
            // It begins where the waiting ends: a page says for how long a machine was watched.
            run.meta.started.0 += look.waited.0;
        }
        run.meta.looks.push(look);
    }
    for seen in told.iter().filter(|_| !quiet) {
        output::say(&note(seen, context.lang));
    }
    if args.wait_quiet.is_some() && is_new {
        let spent = Nanos(monotonic() - context.began);
        for run in &mut ready.runs {
            budget::refit(&mut run.plan, spent);
        }
    }
    Ok(Nanos(monotonic() - began))
}

fn looked(span: Nanos) -> anyhow::Result<Look> {
    let interrupted = || failure(Exit::Interrupted, "interrupted: nothing was measured", None);
    look::look(span).ok_or_else(interrupted)
}

/// Looks again and again, until nothing is seen that passes by itself. Where that does not come about within `most`, it
/// is an error: nothing was made or kept yet.
fn quiet_within(
    most: Nanos,
    host: &HostFacts,
    (lang, quiet): (Lang, bool),
) -> anyhow::Result<Look> {
    let began = monotonic();
    let elapsed = || Nanos(monotonic() - began);
    let span = look::SPAN.min(most);
    let (mut said, mut said_at) = (Vec::new(), Nanos::ZERO);
    loop {
        let waited = elapsed();
        let look = looked(span)?;
        let mut disturbing = stats::look::seen(&look, host);
        disturbing.retain(Seen::passes);
        if disturbing.is_empty() {
            return Ok(Look { waited, ..look });
        }
        let left = most.since(elapsed());
        if left < span {
            return Err(never_quiet(most, &disturbing));
        }
        let who: Vec<String> = disturbing.iter().map(who).collect();
        if !quiet && (who != said || elapsed().since(said_at) >= SAID_EVERY) {
            output::say(&waiting(left, &disturbing, lang));
            (said, said_at) = (who, elapsed());
        }
    }
}

/// What makes one line another one than the line before: not that a share has changed a little.
fn who(seen: &Seen) -> String {
    match seen {
        Seen::Others { programs, .. } => programs
            .first()
            .map_or_else(String::new, |busiest| busiest.name.clone()),
        other => said::seen(slice::from_ref(other), Lang::En),
    }
}

fn waiting(left: Nanos, disturbing: &[Seen], lang: Lang) -> String {
    let what = said::seen(disturbing, lang);
    let left = number::duration(left, lang);
    lang.pick(
        format!("waiting for quiet, {left} more at most: {what}"),
        format!("静かになるのを待っています（最長であと {left}）: {what}"),
    )
}

fn never_quiet(most: Nanos, disturbing: &[Seen]) -> anyhow::Error {
    let what = said::seen(disturbing, Lang::En);
    let most = number::duration(most, Lang::En);
    let hint = "stop it, wait longer, or measure without `--wait-quiet`: the page then says what disturbed";
    failure(
        Exit::Incomplete,
        format!("it did not become quiet within {most}: {what}; nothing was measured"),
        Some(hint),
    )
}

fn note(seen: &Seen, lang: Lang) -> String {
    let (what, advice) = (said::seen(slice::from_ref(seen), lang), advice(seen, lang));
    lang.pick(
        format!("note: before the first round: {what}; {advice}"),
        format!("注: 測定前: {what}。{advice}"),
    )
}

/// What helps against it, or what becomes of it.
pub(crate) fn advice(seen: &Seen, lang: Lang) -> &'static str {
    match seen {
        Seen::Others { .. } => lang.pick(
            "stop it, or let `--wait-quiet 5m` wait",
            "止めるか、`--wait-quiet 5m` で待ってください",
        ),
        Seen::MemoryPressure { .. } | Seen::LittleMemory { .. } => lang.pick(
            "stop what takes it, or measure less at a time",
            "メモリを使っているものを止めるか、測定を小さくしてください",
        ),
        Seen::LittleSpace { .. } => lang.pick(
            "choose a place with more room with `--dir`",
            "`--dir` で空きのある場所を指定してください",
        ),
        Seen::Quota { .. } => lang.pick(
            "the figures are those of the quota: quote it with them",
            "数値はクォータのものです。併せて引用してください",
        ),
        Seen::Governor { .. } => lang.pick(
            "`cpupower frequency-set -g performance` asks for speed",
            "`cpupower frequency-set -g performance` で性能を優先できます",
        ),
        Seen::Steal { .. } => lang.pick(
            "this is what is rented: other hours may differ",
            "これも借りている性能の一部です。時間帯により変わります",
        ),
    }
}

/// The files that the run is about to keep in its directory, and the room there.
fn space(run: &Run) -> Option<Space> {
    let files = run
        .plan
        .grounds()
        .filter(|ground| ground.kind == GroundKind::File);
    let needed = Bytes(files.filter_map(|ground| Some(ground.bytes?.0)).sum());
    let taken =
        (needed.0 > 0).then(|| storage::space::taken(Path::new(&run.meta.dir), Some(needed)));
    taken.flatten()
}
