//! What to type next.

use super::block::Block;
use crate::duel;
use crate::lang::Lang;
use crate::view::RunView;
use dialects::command::go_on;

/// Commands that make sense below a page that has not everything, each with what it does.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    below(commands(view, lang), lang)
}

/// Likewise below one that has everything.
pub(crate) fn below_full(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    below(commands(view, lang).split_off(1), lang)
}

fn below(commands: Vec<(String, &'static str)>, lang: Lang) -> Vec<Block> {
    let commands = commands
        .into_iter()
        .map(|(command, what)| (command, what.to_owned()));
    let heading = lang.pick("next", "次にできること");
    vec![Block::section(
        heading,
        vec![Block::Commands(commands.collect())],
    )]
}

fn commands(view: &RunView<'_>, lang: Lang) -> Vec<(String, &'static str)> {
    let id = &view.typed();
    let show = lang.pick("for a blog; or csv, json", "ブログ用（csv、json も）");
    let full = lang.pick(
        "everything: percentiles, reasons, host",
        "すべて（パーセンタイル、理由など）",
    );
    let mut list = vec![
        (format!("kurabe show {id} --full"), full),
        (format!("kurabe show {id} --format markdown"), show),
    ];
    if view.soak.is_some() {
        return list;
    }
    let duel = view.run.plan.duel.as_ref();
    // The other side of a duel is in no file of this one.
    let duel = duel.filter(|_| view.path.is_none());
    list.push(match duel.map(|duel| duel.runs(id)) {
        Some([a, b]) => (format!("kurabe compare {a} {b}"), duel::next_compare(lang)),
        None => (
            format!(
                "kurabe compare {other} {id}",
                other = lang.pick("OTHER", "別の測定")
            ),
            lang.pick(
                "with another of `kurabe list`",
                "`kurabe list` の別の測定と比較",
            ),
        ),
    });
    // What another program measured has none of what these layouts print.
    if view.run.meta.origin.is_some() {
        return list;
    }
    if !view.indexes.is_empty() {
        let layout = lang.pick("in UnixBench's layout", "UnixBench の書式で");
        list.push((format!("kurabe show {id} --format unixbench"), layout));
    }
    if view.run.plan.of_fio().is_some() && view.path.is_none() {
        let fio = lang.pick(
            "as fio reports it; or json, terse with `--output-format`",
            "fio と同じ書式で出力します（`--output-format` で json、terse も選べます）",
        );
        list.push((format!("kurabe fio --show={id}"), fio));
    }
    if view.run.plan.of_vdbench().is_some() && view.path.is_none() {
        let vdbench = lang.pick(
            "as vdbench reports it; or json with `--output-format`",
            "vdbench と同じ書式で出力します（`--output-format` で json も選べます）",
        );
        list.push((format!("kurabe vdbench --show {id}"), vdbench));
    }
    list
}

/// How to go on with a run that is not complete.
pub(crate) fn resume(view: &RunView<'_>) -> Option<String> {
    let plan = &view.run.plan;
    let can = !view.complete() && !plan.is_of_a_language() && view.path.is_none();
    can.then(|| go_on(&view.run.meta.id, &[plan]))
}
