//! What is told about a duel beside its figures: what either side is, how many pairs there are, and which rounds
//! failed. A reader who sees only this page must know what A and B are.

use crate::lang::{Lang, say};
use crate::number::counted;
use crate::party::Party;
use crate::said;
use crate::table::cut;
use dialects::printable::printable;
use model::comparison::{Difference, Refusal};
use model::plan::{Duel, PlannedCase};
use model::record::{Failure, Run, brief};

/// A side takes no more columns of a list: a command may be a script.
const LIST_MAX: usize = 60;

/// The most reasons for failed rounds that are told of a side.
const REASONS_MAX: usize = 3;

/// What makes this side what it is; `None` for a run that is no side of a duel.
pub fn side(run: &Run, lang: Lang) -> Option<String> {
    let duel = run.plan.duel.as_ref()?;
    let mut parts = duel.traits.clone();
    parts.extend(duel.prepare.as_deref().map(|command| set_up(command, lang)));
    if parts.is_empty() {
        let dir = &run.meta.dir;
        parts.push(say!(lang, "as it is, in `{dir}`", "変更なし（`{dir}`）"));
    }
    Some(printable(&parts.join("; ")))
}

fn set_up(command: &str, lang: Lang) -> String {
    say!(
        lang,
        "set up before each round with `{command}`",
        "各ラウンドの前に `{command}` を実行"
    )
}

/// A side in a list: its letter and what was said of it.
pub fn side_in_list(duel: &Duel, lang: Lang) -> String {
    let mut parts = duel.traits.clone();
    let commands = duel.prepare.iter();
    parts.extend(commands.map(|command| format!("`{}`", brief(command))));
    let letter = duel.letter();
    let mut text = say!(lang, "side {letter}", "{letter} 側");
    if !parts.is_empty() {
        text = format!("{text}: {}", parts.join("; "));
    }
    cut(printable(&text), LIST_MAX)
}

/// What a reader must know about the two sides before he believes a difference: that there is none between them, or
/// that two directories are one file system.
pub fn remarks(a: &Run, b: &Run, lang: Lang) -> Vec<String> {
    if stats::duel::is_same(a, b) {
        return vec![same(lang).to_owned()];
    }
    let say = |at: &String| {
        printable(&say!(
            lang,
            "both directories are on one file system, the one mounted on `{at}`: its disk is the same for both",
            "両側のディレクトリは同じファイルシステム（マウント先 `{at}`）にあり、ディスクも同じです"
        ))
    };
    let shared = stats::duel::shared_file_system(a, b);
    shared.into_iter().map(say).collect()
}

/// The sides are the same in all that was asked for.
fn same(lang: Lang) -> &'static str {
    lang.pick(
        "both sides are the same (an A/A duel): what differs is noise, or comes from measuring itself",
        "両側の条件は同じです（A/A デュエル）。差が出ても、ノイズか測定そのものの影響です",
    )
}

/// How a failure is told, on one line.
pub fn failure(failure: &Failure, lang: Lang) -> String {
    printable(&said::failure(failure, lang))
}

/// The sides of a duel that two parties are, the base first; `None` where they are not the two sides of one.
pub(crate) fn sides<'a>(base: &Party<'a>, other: &Party<'a>) -> Option<[(&'a Run, &'a Duel); 2]> {
    if base.is_group() || other.is_group() {
        return None;
    }
    let of = |party: &Party<'a>| {
        let run = party.first();
        Some((run, run.plan.duel.as_ref()?))
    };
    let (base, other) = (of(base)?, of(other)?);
    base.0.is_against(other.0).then_some([base, other])
}

/// Which side a run is, what makes it that, and against which run it stands.
pub(crate) fn fact(run: &Run, lang: Lang) -> Option<(String, String)> {
    let duel = run.plan.duel.as_ref()?;
    let [a, b] = duel.runs(&run.meta.id);
    let (letter, id) = (duel.letter(), if a == run.meta.id { b } else { a });
    let against = say!(
        lang,
        "side {letter}, against {id}",
        "{letter} 側（相手は {id}）"
    );
    let text = format!("{against}: {}", side(run, lang)?);
    Some((lang.pick("duel", "デュエル").to_owned(), printable(&text)))
}

/// How a run ended, followed by how many of its rounds failed.
pub(crate) fn end(end: &str, failed: usize, of: usize, lang: Lang) -> String {
    let rounds = if of == 1 { "round" } else { "rounds" };
    say!(
        lang,
        "{end}, {failed} of {of} {rounds} failed",
        "{end}、{of} ラウンド中 {failed} 失敗"
    )
}

/// What `kurabe compare` does with both sides.
pub(crate) fn next_compare(lang: Lang) -> &'static str {
    lang.pick("both sides of the duel", "デュエルの両側")
}

/// A side by its letter.
pub(crate) fn role(letter: &str, is_base: bool, lang: Lang) -> String {
    let role = crate::comparison::role(is_base, lang);
    say!(lang, "{letter} ({role})", "{letter}（{role}）")
}

/// What a page says about a duel beneath the names of its sides: nothing for other comparisons.
pub(crate) fn about(base: &Party<'_>, other: &Party<'_>, lang: Lang) -> Vec<String> {
    let Some([(a, _), (b, _)]) = sides(base, other) else {
        return Vec::new();
    };
    let mut lines = remarks(a, b, lang);
    let pairs_of = |case: &PlannedCase| stats::duel::pairs_of(a, b, &case.id);
    let counts = || a.plan.cases.iter().map(pairs_of);
    if let (Some(fewest), Some(most)) = (counts().min(), counts().max()) {
        lines.push(pairs(fewest, most, lang));
    }
    lines.extend(servers(a, b, ["A", "B"], lang));
    lines.extend([a, b].into_iter().flat_map(|run| failures(run, lang)));
    lines.extend(ended(a, b, lang));
    lines
}

/// What the servers of the sides say of themselves and differs.
pub(crate) fn servers(a: &Run, b: &Run, names: [&str; 2], lang: Lang) -> Option<String> {
    let [a_name, b_name] = names;
    let found = stats::of_servers(&a.plan, &b.plan);
    let each = found.iter().map(|Difference { what, base, other }| {
        let what = what.trim_start_matches("server: ");
        say!(
            lang,
            "{what} {base} ({a_name}) and {other} ({b_name})",
            "{what} は {base}（{a_name}）と {other}（{b_name}）"
        )
    });
    let list = each.collect::<Vec<_>>().join(lang.pick("; ", "、"));
    let said = say!(
        lang,
        "the servers differ: {list}",
        "サーバーの設定に違いがあります: {list}"
    );
    (!found.is_empty()).then(|| printable(&said))
}

/// How many pairs a case has, the fewest and the most.
fn pairs(fewest: usize, most: usize, lang: Lang) -> String {
    match (lang, fewest == most) {
        (Lang::En, true) if most == 1 => "1 pair of rounds".to_owned(),
        (Lang::En, true) => format!("{most} pairs of rounds"),
        (Lang::En, false) => format!("{fewest} to {most} pairs of rounds"),
        (Lang::Ja, true) => format!("ラウンドの組は {fewest} 組です"),
        (Lang::Ja, false) => format!("ラウンドの組は {fewest} から {most} 組です"),
    }
}

/// What the run as a whole ended with, where it concerns the verdicts: said once for both sides.
fn ended(a: &Run, b: &Run, lang: Lang) -> Option<String> {
    let short = model::warning::Warning::BudgetShort;
    let mut both = [a, b].into_iter().flat_map(|run| &run.meta.warnings);
    let found = both.find(|warning| **warning == short)?;
    Some(said::warning(found, lang))
}

/// Which rounds of a side failed, a line for each reason, the most frequent first.
fn failures(run: &Run, lang: Lang) -> Vec<String> {
    let side = run.plan.duel.as_ref().map(Duel::letter).unwrap_or_default();
    let (reasons, all) = (stats::duel::reasons(run), run.rounds.len());
    let told = reasons.iter().take(REASONS_MAX);
    let mut lines: Vec<String> = told
        .map(|(why, n)| failed_for(&side, *n, all, &failure(why, lang), lang))
        .collect();
    if stats::duel::was_given_up(run) {
        lines.push(given_up(&side, Duel::SET_UP_FAILURES_MAX, lang));
    }
    match reasons.len().saturating_sub(REASONS_MAX) {
        0 => {}
        more => lines.push(more_reasons(&side, more, lang)),
    }
    lines
}

/// How many rounds of a side failed for one reason.
fn failed_for(side: &str, failed: usize, of: usize, why: &str, lang: Lang) -> String {
    let rounds = if of == 1 { "round" } else { "rounds" };
    say!(
        lang,
        "side {side}: {failed} of {of} {rounds} failed, and a pair that lacks one does not count: {why}",
        "{side} 側: {of} ラウンド中 {failed} ラウンドが失敗しました。片方が欠けた組は数えません: {why}"
    )
}

/// A side that could not be set up so often in a row that the duel ended.
fn given_up(side: &str, n: u32, lang: Lang) -> String {
    say!(
        lang,
        "the duel ended because side {side} could not be set up {n} times in a row",
        "{side} 側の準備が {n} 回続けて失敗したため、デュエルを終了しました"
    )
}

/// Further reasons.
fn more_reasons(side: &str, n: usize, lang: Lang) -> String {
    let more = counted(n, "more reason", "more reasons");
    say!(
        lang,
        "side {side}: rounds failed for {more}: `kurabe show RUN --format csv-rounds`",
        "{side} 側: ほかに {n} 種類の失敗があります（`kurabe show RUN --format csv-rounds` で確認できます）"
    )
}

/// Why a metric of a duel was not compared, where the usual words would name a command that measures one side alone.
pub(crate) fn refusal(refusal: &Refusal, lang: Lang) -> Option<String> {
    Some(match refusal {
        Refusal::OneSideOnly { .. } => lang
            .pick(
                "only one side of the duel has it, because the sides differ in what they measure",
                "両側で測定内容が異なるため、デュエルの片側にしかありません",
            )
            .to_owned(),
        Refusal::NoRatio {
            base_is_zero: true,
            other_is_zero: true,
        } => return None,
        Refusal::NoRatio { .. } => lang
            .pick(
                "a value is zero, negative or missing, so there is no ratio: see the rounds with `kurabe show RUN --format csv-rounds`",
                "値がゼロ、負、または欠けているため、比を計算できません。`kurabe show RUN --format csv-rounds` で確認してください",
            )
            .to_owned(),
        Refusal::NoValue { why, .. } => say!(
            lang,
            "no pair has both values: {why}; the rounds are in `kurabe show RUN --format csv-rounds`",
            "両側に値がある組がありません: {why}。各ラウンドは `kurabe show RUN --format csv-rounds` で確認できます",
            why = said::missing(Some(why), lang)
        ),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;
    use model::record::Outcome;

    /// The two sides of a duel over `traits`, one case of six rounds each.
    fn duel(traits: [&str; 2]) -> [Run; 2] {
        let mut letters = ["a", "b"].into_iter();
        traits.map(|own| {
            let side = letters.next().unwrap();
            let mut run = testkit::empty();
            let case = testkit::add_case(&mut run, "fs.copy-1024", 1, "off", &[testkit::BYTES]);
            for (pass, value) in (1..).zip(testkit::six_around(1e9)) {
                testkit::add_round(&mut run, &case, pass, Ok(&[("bytes_per_s", value)]));
            }
            run.meta.id = format!("d{side}");
            run.plan.duel = Some(Duel {
                id: "d".to_owned(),
                side: side.to_owned(),
                prepare: None,
                traits: own.split_whitespace().map(ToOwned::to_owned).collect(),
            });
            run
        })
    }

    fn told(a: &Run, b: &Run) -> Vec<String> {
        about(&Party::one(a), &Party::one(b), Lang::En)
    }

    #[test]
    fn a_side_is_what_was_said_of_it_and_as_it_is_where_nothing_was() {
        let check = |own: &str, command: Option<&str>, expect: &str| {
            let [mut run, _] = duel([own, ""]);
            run.plan.duel.as_mut().unwrap().prepare = command.map(ToOwned::to_owned);
            assert_eq!(side(&run, Lang::En).unwrap(), expect);
        };
        check("dir=/mnt/x set=a.b=1", None, "dir=/mnt/x; set=a.b=1");
        check("", None, "as it is, in `/home/bench`");
        check("", Some("true"), "set up before each round with `true`");
        assert_eq!(side(&testkit::normal(), Lang::En), None);
    }

    #[test]
    fn equal_sides_and_one_file_system_are_remarked_and_different_disks_are_not() {
        let [a, mut b] = duel(["", ""]);
        assert_eq!(remarks(&a, &b, Lang::En), [same(Lang::En)]);
        b.meta.dir = "/home/other".to_owned();
        assert_eq!(
            remarks(&a, &b, Lang::En).len(),
            0,
            "where it is mounted is not known"
        );
        let mut on = a.clone();
        let at = |place: &str| model::host::Fact::Known(place.to_owned());
        (on.host.storage.mount_point, b.host.storage.mount_point) = (at("/"), at("/"));
        assert!(remarks(&on, &b, Lang::En)[0].contains("mounted on `/`"));
        b.host.storage.mount_point = at("/home/other");
        assert_eq!(remarks(&on, &b, Lang::En).len(), 0);
    }

    #[test]
    fn failures_are_counted_by_what_they_are_and_cost_their_pairs() {
        let [mut a, mut b] = duel(["x", "y"]);
        b.meta.dir = "/home/other".to_owned();
        assert_eq!(told(&a, &b), ["6 pairs of rounds"]);
        let case = a.plan.cases[0].id.clone();
        for pass in 7..=8 {
            let failure = Failure::Error(format!("create `round-{pass}`: ENOSPC"));
            testkit::add_round(&mut a, &case, pass, Err(failure));
        }
        a.rounds[2].outcome = Outcome::Failed(Failure::OutOfMemory);
        let lines = told(&a, &b);
        assert_eq!(lines[0], "5 pairs of rounds");
        assert!(
            lines[1].starts_with("side A: 2 of 8 rounds failed") && lines[1].contains("ENOSPC")
        );
        assert!(
            lines[2].starts_with("side A: 1 of 8 rounds failed"),
            "{lines:?}"
        );
        for pass in 9..=11 {
            let failure = Failure::SetUp {
                command: "mount".to_owned(),
                end: model::record::CommandEnd::Exited(1),
                said: String::new(),
            };
            testkit::add_round(&mut a, &case, pass, Err(failure));
        }
        let ended = given_up("A", 3, Lang::En);
        assert!(told(&a, &b).contains(&ended));
        let apart = about(&Party::one(&a), &Party::one(&testkit::normal()), Lang::En);
        assert_eq!(apart.len(), 0, "only of a duel");
    }

    #[test]
    fn one_is_never_several() {
        assert_eq!(pairs(1, 1, Lang::En), "1 pair of rounds");
        assert!(end("", 1, 1, Lang::En).contains("1 of 1 round failed"));
        assert!(more_reasons("A", 1, Lang::En).contains("1 more reason:"));
    }
}
