//! What rounds stand on, in words: what is made before they begin, how much that is and how long it took.

use crate::lang::{Lang, say};
use crate::number::{alone, counted, in_seconds, time};
use model::ground::{Did, Errand, Ground, GroundKind};
use model::num::approx;
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
pub(crate) fn planned(ground: &Ground) -> String {
    let size = ground.bytes.map(|size| format!(" of {}", bytes(size)));
    format!(
        "made first: {}{}, about {}",
        name(ground.kind, Lang::En),
        size.unwrap_or_default(),
        in_seconds(ground.expected)
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
    (!list.is_empty()).then(|| (label.to_owned(), list.join("; ")))
}

fn one(errand: &Errand, lang: Lang) -> String {
    let (name, took) = (name(errand.kind, lang), time(errand.took, lang));
    match errand.bytes.map(bytes) {
        Some(size) => say!(lang, "{name}, {size} in {took}", "{name}、{size}（{took}）"),
        None => say!(lang, "{name}, in {took}", "{name}（{took}）"),
    }
}
