//! What rounds stand on, in words: what is made before they begin, how much that is and how long it took.

use crate::lang::{Lang, say};
use crate::number::{alone, counted, in_seconds, time};
use model::ground::{Did, Errand, Ground, GroundKind};
use model::num::approx;
use model::params::budget_text;
use model::plan::Plan;
use model::record::Run;
use model::units::{Bytes, Unit};

/// What it is called.
fn name(kind: GroundKind, lang: Lang) -> &'static str {
    match kind {
        GroundKind::File => lang.pick("the test file", "テストファイル"),
        GroundKind::FileSet => lang.pick("the test files", "テスト用ファイル群"),
        GroundKind::Device => lang.pick("the data on the device", "デバイス上のデータ"),
        GroundKind::Data => lang.pick("the test data", "テストデータ"),
    }
}

/// How much that is.
fn bytes(size: Bytes) -> String {
    if size.0.is_multiple_of(1 << 20) {
        size.exact()
    } else {
        alone(Unit::Bytes, approx(size.0))
    }
}

/// What is done for a ground, and how far it has come, for the line of progress.
pub fn preparing(ground: &Ground, did: Did, made: Bytes, lang: Lang) -> (String, String) {
    let name = name(ground.kind, lang);
    let doing = match did {
        Did::Make => say!(lang, "making {name}", "{name}を作成中"),
        Did::Check => say!(lang, "looking at {name}", "{name}を確認中"),
    };
    let whole = ground.bytes.map(bytes).unwrap_or_default();
    let far = if did == Did::Make && made.0 > 0 && ground.bytes.is_some() {
        let made = bytes(made);
        say!(lang, "{made} of {whole}", "{whole} のうち {made}")
    } else {
        whole
    };
    (doing, far)
}

/// What a plan makes first: for the page of a plan, in English.
pub(crate) fn planned(plan: &Plan) -> Vec<String> {
    let line = |ground: &Ground| {
        let size = ground.bytes.map(|size| format!(" of {}", bytes(size)));
        format!(
            "made first: {}{}, about {}{}",
            name(ground.kind, Lang::En),
            size.unwrap_or_default(),
            in_seconds(ground.expected),
            with_more_time(plan, Lang::En)
        )
    };
    plan.grounds().map(line).collect()
}

/// What the only test of a plan would make in a longer budget, and how to have it; nothing where it makes that.
fn with_more_time(plan: &Plan, lang: Lang) -> String {
    let Some((own, case)) = plan.own_ground.zip(plan.cases.first()) else {
        return String::new();
    };
    let size = own.bytes.exact();
    let budget = budget_text(own.budget);
    let set = format!("--set {}.size={}", case.id.test, size.replace(' ', ""));
    say!(
        lang,
        "; with more time it has {size}: `--budget {budget}`, or `{set}`",
        "。時間があれば {size} です: `--budget {budget}` または `{set}`"
    )
}

/// What was made for the rounds of a run, and what that took; `None` where nothing was.
pub(crate) fn fact(run: &Run, lang: Lang) -> Option<(String, String)> {
    let all = || run.rounds.iter().flat_map(|round| &round.errands);
    let made = all().filter(|errand| errand.did == Did::Make && errand.holds);
    let mut list: Vec<String> = made.map(|errand| one(errand, lang)).collect();
    let failed: Vec<&Errand> = all()
        .filter(|errand| errand.did == Did::Make && !errand.holds)
        .collect();
    if !failed.is_empty() {
        let took = time(failed.iter().map(|errand| errand.took).sum(), lang);
        let n = failed.len();
        let times = lang.pick(counted(n as u64, "try", "tries"), n.to_string());
        list.push(say!(
            lang,
            "{times} failed ({took})",
            "失敗 {times} 回（{took}）"
        ));
    }
    let found = all().any(|errand| errand.did == Did::Check && errand.holds);
    if found {
        let again = lang.pick("found again in whole", "再開時に完全であることを確認");
        list.push(again.to_owned());
    }
    let label = lang.pick("made first", "事前の作成");
    let said = list.join("; ") + &with_more_time(&run.plan, lang);
    (!list.is_empty()).then(|| (label.to_owned(), said))
}

fn one(errand: &Errand, lang: Lang) -> String {
    let (name, took) = (name(errand.kind, lang), time(errand.took, lang));
    match errand.bytes.map(bytes) {
        Some(size) => say!(lang, "{name}, {size} in {took}", "{name}、{size}（{took}）"),
        None => say!(lang, "{name}, in {took}", "{name}（{took}）"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{self, BYTES};
    use model::plan::OwnGround;
    use model::units::Nanos;

    #[test]
    fn a_ground_that_is_smaller_for_want_of_time_names_the_way_to_a_whole_one() {
        let mut run = testkit::empty();
        let case = testkit::add_case(&mut run, "storage.randread-4k", 1, "off", &[BYTES]);
        run.plan.cases[0].ground = Some(Ground {
            key: "file".to_owned(),
            kind: GroundKind::File,
            bytes: Some(Bytes(256 << 20)),
            expected: Nanos::from_secs(2),
            at_most: Nanos::from_secs(600),
        });
        testkit::add_round(&mut run, &case, 1, Ok(&[(BYTES.0, 1e9)]));
        run.rounds[0].errands.push(Errand {
            ground: "file".to_owned(),
            kind: GroundKind::File,
            did: Did::Make,
            holds: true,
            took: Nanos::from_secs(1),
            bytes: Some(Bytes(256 << 20)),
        });
        let said = |run: &Run| {
            let facts = [Lang::En, Lang::Ja].map(|lang| fact(run, lang).unwrap().1);
            (planned(&run.plan).concat(), facts)
        };
        let (plan, facts) = said(&run);
        assert_eq!(plan, "made first: the test file of 256 MiB, about 2 s");
        assert!(facts.iter().all(|fact| !fact.contains("--budget")));
        run.plan.own_ground = Some(OwnGround {
            bytes: Bytes(2 << 30),
            budget: Nanos::from_millis(159_500),
        });
        let (plan, [english, japanese]) = said(&run);
        let way = "`--budget 3m`, or `--set storage.randread-4k.size=2GiB`";
        let more = format!("; with more time it has 2 GiB: {way}");
        assert!(
            plan.ends_with(&more) && english.ends_with(&more),
            "{english}"
        );
        assert!(
            japanese.contains("。時間があれば 2 GiB です: `--budget 3m` または"),
            "{japanese}"
        );
    }
}
