//! A plan: what would be measured, and what is expected of it, before anything is.

use super::block::{Align, Block, Table};
use crate::duel;
use crate::grounds;
use crate::grouped::grouped;
use crate::lang::{Lang, say};
use crate::number::{self, counted, in_seconds};
use crate::set_otherwise;
use model::named::{Named, NamedKind};
use model::num::approx;
use model::params::{budget_text, duration_text};
use model::plan::{Plan, PlannedCase};
use model::record::Run;
use model::soak::Soak;
use model::units::{Bytes, Nanos, Unit};
use schemars::JsonSchema;
use serde::Serialize;

/// What would be measured, and what is expected of it.
pub struct PlanView<'a> {
    /// `run`, `soak` or `duel`.
    pub command: &'a str,
    /// What all of it takes at most.
    pub expected: Nanos,
    /// What is to be known of the time, in English.
    pub note: Option<String>,
    /// Why it would be refused as it was typed.
    pub refused: Option<String>,
    /// What all of it writes to storage.
    pub writes: Written,
    /// What all of it takes on each server of tables.
    pub on_servers: Vec<OnServer>,
    /// One run, or the two sides of a duel, before their first round.
    pub runs: &'a [Run],
    /// How many rounds a case is to have.
    pub rounds: &'a dyn Fn(&Plan, &PlannedCase) -> PlannedRounds,
}

/// How many rounds a case is to have, as far as that is known before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlannedRounds {
    /// At least, unless somebody interrupts.
    pub least: Option<u32>,
    /// At most.
    pub most: Option<u32>,
    /// About how many fit, where time alone decides.
    pub fit: Option<u32>,
    /// What each takes.
    pub each: Nanos,
    /// What each measures; of a soak with pauses, each sample.
    pub measure: Nanos,
}

/// What a plan writes to storage, small files apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// In files whose size is known before, at most.
    pub files: Bytes,
    /// How long rounds write as much as the storage takes.
    pub throughout: Nanos,
    /// How long data goes to peers or comes from them, as fast as it can: each direction counts.
    pub to_peers: Nanos,
    /// What goes over networks at rates that were asked for.
    pub at_rates: Bytes,
}

/// What a plan is expected to take on a server of tables.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct OnServer {
    /// The server.
    pub address: String,
    /// Tables with their indexes.
    #[serde(rename = "tables_bytes")]
    pub tables: Bytes,
    /// Logs of making them, with the steps in which a server takes room.
    #[serde(rename = "logs_bytes")]
    pub logs: Bytes,
    /// What transactions add to tables and logs.
    #[serde(rename = "added_bytes")]
    pub added: Bytes,
    /// The transactions in a second for which that is told, where a test orders no rate of its own.
    #[serde(rename = "transactions_per_s")]
    pub per_s: u64,
    /// All of it.
    #[serde(rename = "all_bytes")]
    pub all: Bytes,
    /// What is allowed.
    #[serde(rename = "allowed_bytes")]
    pub most: Bytes,
}

/// The plan in words: cases, rounds, time. The sides of a duel have the same cases.
pub fn page(view: &PlanView<'_>, lang: Lang) -> Vec<Block> {
    let Some(Run { plan, .. }) = view.runs.first() else {
        return Vec::new();
    };
    let mut blocks = sides(view.runs, lang);
    match (&plan.soak, plan.cases.as_slice()) {
        (Some(soak), [case]) => blocks.push(of_soak(view, plan, soak, case)),
        _ => blocks.push(cases(view, plan)),
    }
    blocks.extend(view.runs.iter().flat_map(|run| &run.plan.named).map(target));
    blocks.extend(written(view.writes).map(Block::Line));
    blocks.extend(view.on_servers.iter().map(on_server).map(Block::Line));
    blocks.extend(sent(view.writes, plan.max_bytes).map(Block::Line));
    let grounds = view.runs.iter();
    let grounds = grounds.flat_map(|run| grounds::planned(&run.plan));
    blocks.extend(grounds.map(Block::Line));
    if plan.soak.is_none() {
        blocks.extend(end(view, plan));
    }
    vec![Block::Section(None, blocks)]
}

/// A line for each side of a duel; nothing for other runs.
pub fn sides(runs: &[Run], lang: Lang) -> Vec<Block> {
    let line = |run: &Run| {
        let letter = run.plan.duel.as_ref()?.letter();
        let side = duel::side(run, lang)?;
        Some(Block::Line(format!("side {letter}: {side}")))
    };
    runs.iter().filter_map(line).collect()
}

/// Each case with its rounds, and what it is.
fn cases(view: &PlanView<'_>, plan: &Plan) -> Block {
    let row = |case: &PlannedCase| {
        let rounds = (view.rounds)(plan, case);
        let measure = span(rounds.measure);
        vec![
            case.id.to_string(),
            rounds.in_words(),
            // Fixed work takes what it takes.
            if case.shape.fixed_work {
                format!("about {measure}")
            } else {
                measure
            },
            set_otherwise::title(case),
        ]
    };
    let rows = plan.cases.iter().map(row);
    let rows = rows.map(|row| row.into_iter().map(Into::into).collect());
    let rounds = if view.runs.len() > 1 {
        "pairs"
    } else {
        "rounds"
    };
    let heads = ["case", rounds, "each measures", "what it is"];
    Block::Table(Table {
        rows: rows.collect(),
        wrapped: true,
        ..Table::new(heads.map(|head| (head, Align::Left)))
    })
}

impl PlannedRounds {
    fn in_words(self) -> String {
        match (self.least, self.most) {
            (_, None) => match self.fit {
                None | Some(0) => "as many as fit".to_owned(),
                Some(n) => format!("about {n}"),
            },
            (None, Some(most)) => format!("up to {most}"),
            (Some(least), Some(most)) if least == most => most.to_string(),
            (Some(least), Some(most)) => format!("{least} to {most}"),
        }
    }
}

/// A time as every line of a plan has it: in minutes from one minute on.
fn span(span: Nanos) -> String {
    if span < Nanos::from_secs(60) {
        in_seconds(span)
    } else {
        number::time(span, Lang::En)
    }
}

/// How a soak spends its time.
fn of_soak(view: &PlanView<'_>, plan: &Plan, soak: &Soak, case: &PlannedCase) -> Block {
    let measure = span((view.rounds)(plan, case).measure);
    let mut facts = vec![("test", case.id.to_string())];
    facts.extend(set_otherwise::parameters(case).map(|set| ("set otherwise", set)));
    facts.push(("time", span(soak.span)));
    facts.push(("windows of", span(case.shape.window)));
    match soak.every {
        None => facts.push((
            "load",
            format!("without a pause, in stretches of {measure}"),
        )),
        Some(every) => {
            let opening = format!("load without a pause for {}", span(soak.opening));
            facts.push(("opening", opening));
            facts.push(("samples", format!("of {measure} every {}", span(every))));
        }
    }
    facts.push(("seed", plan.seed.to_string()));
    Block::facts(facts)
}

/// What the plan works on beside the run's own directory.
fn target(named: &Named) -> Block {
    let how = match (named.writes, named.kind) {
        (_, kind) if kind.is_peer() => "data goes to it or comes from it",
        (false, _) => "only read",
        // Nothing but what carries our mark is ever dropped there.
        (true, NamedKind::Server) => {
            "written to: only tables or keys of kurabe's own are made and dropped there"
        }
        (true, _) => "written to: what is in it is lost",
    };
    Block::Line(format!("works on: {} `{}`, {how}", named.kind, named.path))
}

/// How much is written to storage, as far as that is known before; nothing where nothing is.
fn written(writes: Written) -> Option<String> {
    let files = (writes.files > Bytes(0)).then(|| {
        let size = number::alone_exact(Unit::Bytes, approx(writes.files.0));
        format!("up to {size} in files")
    });
    let throughout = (writes.throughout > Nanos::ZERO).then(|| {
        let time = span(writes.throughout);
        format!("without a pause for {time}")
    });
    let parts: Vec<String> = files.into_iter().chain(throughout).collect();
    (!parts.is_empty()).then(|| format!("writes to storage: {}", parts.join(", and ")))
}

/// How much is taken on a server of tables.
fn on_server(taken: &OnServer) -> String {
    let added = (taken.added > Bytes(0)).then(|| {
        format!(
            ", and {} that transactions add at {} a second where no `rate` is set",
            taken.added.rounded_up(),
            taken.per_s
        )
    });
    format!(
        "takes on the server: about {} of the {} that `--db-max` allows: {} in tables, {} in logs of making them{}",
        taken.all.rounded_up(),
        taken.most.exact(),
        taken.tables.rounded_up(),
        taken.logs.rounded_up(),
        added.unwrap_or_default()
    )
}

/// Gigabytes, as they are billed, of a second of 1 Gbit/s.
const GB_PER_S: f64 = 0.125;

/// What goes over networks, in English, and no more than the `most` that the user allows: nobody knows how fast they
/// are, and some are paid for by what was sent.
pub fn sent(writes: Written, most: Option<Bytes>) -> Option<String> {
    let (time, bytes) = (writes.to_peers, writes.at_rates);
    let known = (bytes > Bytes(0)).then(|| {
        let gigabytes = approx(bytes.0) / 1e9;
        format!("{gigabytes:.2} GB at the rates that are asked for")
    });
    let unknown = (time > Nanos::ZERO).then(|| {
        let gigabytes = time.as_secs_f64() * GB_PER_S;
        let bound = if most.is_some() {
            ""
        } else {
            "is not bounded (`--max-bytes`) and "
        };
        format!(
            "as much as it takes for {} (each direction counts), which {bound}may be paid for: {gigabytes:.1} GB at 1 Gbit/s",
            span(time)
        )
    });
    let bound = most.map(|most| {
        let gigabytes = approx(most.0) / 1e9;
        format!("no more than {gigabytes:.2} GB in all (`--max-bytes`)")
    });
    let parts: Vec<String> = known.into_iter().chain(unknown).chain(bound).collect();
    (!parts.is_empty()).then(|| format!("network: {}", parts.join(", and ")))
}

/// What is left out, what is to be known, and what all of it takes.
fn end(view: &PlanView<'_>, plan: &Plan) -> Vec<Block> {
    let left_out = |(what, why): (String, String)| format!("left out: {what} ({why})");
    let note = view.note.iter().map(|note| format!("note: {note}"));
    let order = (plan.ordered && plan.cases.len() > 1)
        .then(|| "order: as listed, in every pass; nothing is shuffled".to_owned());
    let all = format!(
        "{}, about {} while nothing else runs, seed {}",
        counted(plan.cases.len() as u64, "case", "cases"),
        span(view.expected),
        plan.seed
    );
    let lines = left_out_of(plan, Lang::En)
        .into_iter()
        .map(left_out)
        .chain(order)
        .chain(note)
        .chain([all]);
    lines.map(Block::Line).collect()
}

/// So many are all said by their names that are left out for one reason; of more the first.
const NAMED: usize = 3;

/// What was left out of a plan and why; what was for the same reason is said once.
pub(crate) fn left_out_of(plan: &Plan, lang: Lang) -> Vec<(String, String)> {
    let dropped = plan.dropped.iter();
    let reasons = grouped(dropped.map(|one| (one.why.as_str(), one.what.as_str())));
    let said = |(why, all): (&str, Vec<&str>)| {
        let what = if let [first, further @ ..] = all.as_slice()
            && all.len() > NAMED
        {
            let n = further.len();
            say!(lang, "{first} and {n} more", "{first} ほか {n} 件")
        } else {
            all.join(", ")
        };
        let mut of_time = plan.dropped.iter().filter(|one| one.why == why);
        let why = match (of_time.find_map(|one| one.needs), plan.budget) {
            (Some(needs), Some(budget)) => too_little_time(budget, needs, lang),
            _ => why.to_owned(),
        };
        (what, why)
    };
    reasons.into_iter().map(said).collect()
}

fn too_little_time(budget: Nanos, needs: Nanos, lang: Lang) -> String {
    let (budget, needs) = (duration_text(budget), budget_text(needs));
    say!(
        lang,
        "no time within {budget}; hint: `--budget {needs}` has it",
        "{budget} では時間が足りません。`--budget {needs}` なら含まれます"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::plan::Dropped;

    #[test]
    fn what_is_written_is_said_as_far_as_it_is_known() {
        let check = |files, throughout, expected: Option<&str>| {
            let writes = Written {
                files: Bytes(files),
                throughout: Nanos::from_secs(throughout),
                ..Written::default()
            };
            assert_eq!(written(writes).as_deref(), expected);
        };
        check(0, 0, None);
        check(2 << 30, 0, Some("writes to storage: up to 2 GiB in files"));
        let both = "writes to storage: up to 2 GiB in files, and without a pause for 43 s";
        check(2 << 30, 43, Some(both));
        let only = "writes to storage: without a pause for 43 s";
        check(0, 43, Some(only));
    }

    #[test]
    fn what_is_taken_on_a_server_is_said_with_its_parts() {
        let mut taken = OnServer {
            address: "postgres://bob@10.0.0.7/bench".to_owned(),
            tables: Bytes(3_000_000),
            logs: Bytes(100 << 20),
            added: Bytes(0),
            per_s: 1000,
            all: Bytes((100 << 20) + 3_000_000),
            most: Bytes(1 << 30),
        };
        let made = "takes on the server: about 103 MiB of the 1 GiB that `--db-max` allows: 3 MiB in tables, 100 MiB \
                    in logs of making them";
        assert_eq!(on_server(&taken), made);
        taken.added = Bytes(1);
        let added = on_server(&taken);
        assert!(
            added.ends_with(
                "and 1 MiB that transactions add at 1000 a second where no `rate` is set"
            ),
            "{added}"
        );
    }

    #[test]
    fn what_goes_over_networks_is_told_as_what_it_would_be_at_a_known_rate() {
        let sent = |seconds, bytes| {
            let written = Written {
                to_peers: Nanos::from_secs(seconds),
                at_rates: Bytes(bytes),
                ..Written::default()
            };
            sent(written, None)
        };
        assert_eq!(sent(0, 0), None);
        let told = sent(16, 0).unwrap();
        assert!(told.starts_with(
            "network: as much as it takes for 16 s (each direction counts), which is not bounded"
        ));
        assert!(told.ends_with(": 2.0 GB at 1 Gbit/s"), "{told}");
        let known = "network: 0.19 GB at the rates that are asked for";
        assert_eq!(sent(0, 187_500_000).as_deref(), Some(known));
        let both = sent(16, 187_500_000).unwrap();
        let begins = format!("{known}, and as much as it takes for 16 s");
        assert!(both.starts_with(&begins), "{both}");
        let written = Written {
            to_peers: Nanos::from_secs(16),
            ..Written::default()
        };
        let bound = super::sent(written, Some(Bytes(5_000_000_000))).unwrap();
        assert!(!bound.contains("not bounded"), "{bound}");
        assert!(
            bound.ends_with("no more than 5.00 GB in all (`--max-bytes`)"),
            "{bound}"
        );
    }

    #[test]
    fn what_is_left_out_for_one_reason_is_said_once() {
        let mut run = crate::testkit::normal();
        let dropped = |(what, why): (&str, &str)| Dropped {
            what: what.to_owned(),
            why: why.to_owned(),
            needs: (why == "no time").then_some(Nanos::from_secs(180)),
        };
        let all = [
            ("a", "no room"),
            ("b", "no time"),
            ("c", "no room"),
            ("d", "no room"),
            ("e", "no room"),
        ];
        run.plan.dropped = all.map(dropped).to_vec();
        run.plan.budget = Some(Nanos::from_secs(60));
        let check = |lang, [first, second, why]: [&str; 3]| {
            let said = left_out_of(&run.plan, lang);
            let room = (first.to_owned(), "no room".to_owned());
            assert_eq!(said[0], room);
            assert!(said[1].0 == second && said[1].1.contains(why), "{said:?}");
        };
        check(
            Lang::En,
            [
                "a and 3 more",
                "b",
                "no time within 1m; hint: `--budget 3m`",
            ],
        );
        check(Lang::Ja, ["a ほか 3 件", "b", "1m では"]);
    }
}
