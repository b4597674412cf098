//! The UnixBench-style indexes.

use super::block::{Align, Block, Table};
use crate::lang::{Lang, say};
use crate::number::{self, NONE, counted};
use crate::view::RunView;
use dialects::unixbench;
use model::estimate::{Estimate, IndexSummary};

/// One line for each concurrency; nothing where no index was asked for.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let mut table = Table {
        wrapped: true,
        ..Table::new([
            ("", Align::Left),
            (lang.pick("value", "値"), Align::Right),
            (lang.pick("95 % interval", "95 % 信頼区間"), Align::Right),
            ("", Align::Left),
        ])
    };
    for index in &view.indexes {
        let (value, ends) = match &index.estimate {
            Some(estimate) => number::index(estimate),
            None => (NONE.to_owned(), None),
        };
        table.rows.push(vec![
            copies(index.copies, lang).into(),
            value.into(),
            number::range(ends.as_ref()).into(),
            remarks(index, view.run.meta.origin.is_some(), lang)
                .join("; ")
                .into(),
        ]);
    }
    let heading = match &view.run.meta.origin {
        None => lang
            .pick(
                "UnixBench-style index (measured by kurabe, not by UnixBench)",
                "UnixBench 形式の指数（UnixBench ではなく kurabe による測定）",
            )
            .to_owned(),
        Some(origin) => say!(
            lang,
            "UnixBench-style index (of figures of {who})",
            "UnixBench 形式の指数（{who} の値から計算）",
            who = origin.who()
        ),
    };
    vec![Block::section(heading, vec![Block::Table(table)])]
}

/// `4 copies`.
pub(crate) fn copies(n: u32, lang: Lang) -> String {
    let copies = counted(n, "copy", "copies");
    say!(lang, "{copies}", "{n} 並列")
}

/// Of how many tests an index is, where that is not all of them.
pub(super) fn partial(index: &IndexSummary, lang: Lang) -> Option<String> {
    let (have, of) = (index.parts.len(), dialects::unixbench::TESTS.len());
    index.partial.then(|| {
        say!(
            lang,
            "partial: {have} of {of} tests",
            "一部のみ: {of} 項目中 {have} 項目"
        )
    })
}

/// What must be known to read an index rightly.
fn remarks(index: &IndexSummary, is_imported: bool, lang: Lang) -> Vec<String> {
    let mut remarks: Vec<String> = Vec::new();
    match (&index.compat, index.estimate) {
        (Some(version), Some(_)) => remarks.push(say!(
            lang,
            "by the rules of UnixBench {version}: one figure, no interval",
            "UnixBench {version} の規則で算出した単一の値（区間はありません）"
        )),
        (None, Some(Estimate { n, .. })) => {
            let passes = counted(n, "pass", "passes");
            remarks.push(say!(lang, "from {passes}", "{n} 巡の中央値"));
        }
        (_, None) => remarks.extend(index.missing.clone()),
    }
    remarks.extend(partial(index, lang));
    if is_imported && index.compat.is_some() {
        let [low, high] = unixbench::printable_ends(index).map(|end| format!("{end:.1}"));
        if low != high {
            remarks.push(say!(
                lang,
                "its scores were printed rounded: {low} .. {high}",
                "スコアは丸めて表示されたもの（{low} .. {high}）"
            ));
        }
    }
    let torn = index.without_single_number.iter();
    let torn: Vec<&str> = torn.map(|case| case.test.as_str()).collect();
    if !torn.is_empty() {
        let tests = torn.join(", ");
        let en = format!("no single number describes {tests}");
        remarks.push(lang.pick(en, format!("{tests} は一つの値では表せません")));
    }
    remarks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::text;
    use crate::style::Style;
    use crate::testkit;
    use crate::view::view;
    use model::record::{Outcome, Run};

    #[test]
    fn an_index_names_its_tests_that_no_single_number_describes() {
        let mut run = testkit::unixbench("off", 2.0);
        let shown = |run: &Run| {
            let view = view(run);
            let page = text(&blocks(&view, Lang::En), Style::PLAIN);
            page + &text(&[super::super::first::block(&view, Lang::En)], Style::PLAIN)
        };
        assert!(!shown(&run).contains(['~']) && !shown(&run).contains("no single"));
        let pipe = run.rounds.iter_mut();
        let pipe = pipe.filter(|round| round.case.test == "os.pipe");
        for (share, round) in [1.0, 2.0, 3.0, 1.0, 2.0, 3.0].into_iter().zip(pipe) {
            let Outcome::Done(done) = &mut round.outcome else {
                panic!()
            };
            done.values.values_mut().for_each(|value| *value *= share);
        }
        let page = shown(&run);
        assert!(
            page.contains("no single number describes os.pipe"),
            "{page}"
        );
        assert!(
            page.contains("1\u{a0}copy\u{a0}~") || page.contains("1 copy ~"),
            "{page}"
        );
    }

    #[test]
    fn an_imported_index_says_where_its_last_digit_is_open() {
        let run = testkit::unixbench("5.1.3", 1.0);
        let mut index = view(&run).indexes.remove(0);
        let mut said = |times: f64, is_imported| {
            for part in &mut index.parts {
                part.score = times * part.baseline;
            }
            remarks(&index, is_imported, Lang::En).join("; ")
        };
        let open = "; its scores were printed rounded: 110.8 .. 110.9";
        assert!(said(11.085, true).ends_with(open), "{}", said(11.085, true));
        assert!(!said(11.085, false).contains("rounded"));
        assert!(!said(11.08, true).contains("rounded"));
    }

    #[test]
    fn one_is_never_several() {
        assert_eq!(copies(1, Lang::En), "1 copy");
        assert_eq!(copies(2, Lang::En), "2 copies");
    }
}
