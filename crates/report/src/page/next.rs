//! What to type next.

use super::block::Block;
use crate::duel;
use crate::lang::Lang;
use crate::view::RunView;

/// Commands that make sense now, each with what it does.
pub(crate) fn blocks(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let commands = commands(view, lang);
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
    let (id, plan) = (&view.run.meta.id, &view.run.plan);
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
        if !view.complete() {
            let resume = lang.pick(
                "go on with it until its time is over",
                "残りの時間の測定を続けます",
            );
            list.push((format!("kurabe soak --resume {id}"), resume));
        }
        return list;
    }
    list.push(match duel::both_ids(view.run) {
        Some((a, b)) => (format!("kurabe compare {a} {b}"), duel::next_compare(lang)),
        None => (
            format!("kurabe compare OTHER {id}"),
            lang.pick(
                "with another of `kurabe list`",
                "`kurabe list` の別の測定と比較",
            ),
        ),
    });
    if !view.indexes.is_empty() {
        let layout = lang.pick("in UnixBench's layout", "UnixBench の書式で");
        list.push((format!("kurabe show {id} --format unixbench"), layout));
    }
    if plan.of_fio().is_some() {
        let fio = lang.pick(
            "as fio reports it; or json, terse with `--output-format`",
            "fio と同じ書式で出力します（`--output-format` で json、terse も選べます）",
        );
        list.push((format!("kurabe fio --show={id}"), fio));
    } else if !view.complete() {
        let command = if plan.duel.is_some() { "duel" } else { "run" };
        let resume = lang.pick(
            "go on with it: this run is not complete",
            "この測定は途中までのため、続きを測定します",
        );
        list.push((format!("kurabe {command} --resume {id}"), resume));
    }
    list
}
