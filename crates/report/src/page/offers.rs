//! Offers: their prices, their claims against what was measured, value for money, and which one to take.

use super::block::{Align, Block, Cell, Chart, Table, Text, Tone};
use super::{charts, ranking};
use crate::lang::{Lang, say};
use crate::number::{self, NONE, Scale};
use crate::offers::{
    Candidate, Checked, OfferPart, OffersView, Recommendation, Stands, ValueView, estimate,
};
use crate::view::RunView;
use crate::why_not::WhyNot;
use model::units::Unit;
use stats::server::{About, Held, Needed, Standing, Undecided};

/// What was asked of offers: the one to take, value for money, or what there is.
pub fn page(view: &OffersView, lang: Lang) -> Vec<Block> {
    match (&view.value, &view.recommendation) {
        (Some(value), _) => self::value(value, lang),
        (_, Some(recommendation)) => self::recommendation(recommendation, lang),
        _ => list(&view.offers, lang),
    }
}

/// Every offer with what a month of it costs.
pub fn list(offers: &[OfferPart], lang: Lang) -> Vec<Block> {
    let columns = lang.pick(
        "offer|provider and plan|resources|a month, tax in|as charged|runs",
        "オファー|事業者とプラン|資源|月額（税込）|請求通貨|測定",
    );
    let right = [3, 4, 5];
    let columns = columns.split('|').enumerate().map(|(at, head)| {
        let align = if right.contains(&at) {
            Align::Right
        } else {
            Align::Left
        };
        (head, align)
    });
    let row = |offer: &OfferPart| {
        let charged = if offer.charged.currency == offer.monthly.currency {
            String::new()
        } else {
            offer.charged.to_string()
        };
        vec![
            Text::name(offer.id.as_str()).into(),
            whose(offer).into(),
            resources(offer).into(),
            offer.monthly.to_string().into(),
            charged.into(),
            offer.runs.len().to_string().into(),
        ]
    };
    vec![Block::Table(Table {
        rows: offers.iter().map(row).collect(),
        ..Table::new(columns)
    })]
}

pub(crate) fn whose(offer: &OfferPart) -> String {
    let parts = [
        Some(&offer.provider),
        Some(&offer.plan),
        offer.region.as_ref(),
    ];
    let parts: Vec<&str> = parts.into_iter().flatten().map(String::as_str).collect();
    parts.join(", ")
}

pub(crate) fn resources(offer: &OfferPart) -> String {
    let list = offer.resources.iter();
    let list: Vec<String> = list
        .map(|(name, amount)| format!("{name} {amount}"))
        .collect();
    list.join(", ")
}

/// The claims of every offer that has some, against what was measured.
pub fn claims(offers: &[OfferPart], lang: Lang) -> Vec<Block> {
    let with_claims = offers.iter().filter(|offer| !offer.claims.is_empty());
    let sections = with_claims.map(|offer| {
        let heading = format!("{}: {}", offer.id, whose(offer));
        Block::section(heading, sentences(&offer.claims, lang))
    });
    sections.collect()
}

/// What was rented for a run, and what is claimed of it.
pub(crate) fn of_run(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let Some(offer) = &view.offer else {
        let named = view.run.meta.offer.as_ref();
        return named
            .map(|id| {
                let words = say!(
                    lang,
                    "offer {id} (no catalogue has it: its price and claims are not known)",
                    "オファー {id}（カタログにないため、価格と公称値は不明です）"
                );
                Block::Line(words)
            })
            .into_iter()
            .collect();
    };
    let (id, whose, price) = (&offer.id, whose(offer), &offer.monthly);
    let heading = say!(
        lang,
        "Offer {id}: {whose}, {price} a month with tax",
        "オファー {id}: {whose}、月額 {price}（税込）"
    );
    let mut blocks = sentences(&offer.claims, lang);
    if blocks.is_empty() {
        blocks.push(Block::Line(
            lang.pick("its provider claims nothing", "公称値の記載なし")
                .to_owned(),
        ));
    }
    vec![Block::section(heading, blocks)]
}

fn sentences(claims: &[Checked], lang: Lang) -> Vec<Block> {
    if claims.is_empty() {
        return Vec::new();
    }
    let lines = claims.iter().map(|claim| {
        Text::doubtful(
            claim.judged.verdict == Held::Missed,
            claim_text(claim, lang),
        )
    });
    vec![Block::bullets(lines)]
}

/// `claims 10 kIOPS: measured 9.42 kIOPS (9.31 .. 9.54), missed; this instance`.
fn claim_text(claim: &Checked, lang: Lang) -> String {
    let what = claim.says.as_ref().unwrap_or(&claim.is);
    let found = found(claim, lang);
    match &claim.says {
        Some(_) => {
            let is = &claim.is;
            say!(
                lang,
                "claims \"{what}\" ({is}): {found}",
                "公称「{what}」（{is}）: {found}"
            )
        }
        None => say!(lang, "claims {what}: {found}", "公称 {what}: {found}"),
    }
}

/// What was measured, the verdict, and what it is about or would take.
fn found(checked: &Checked, lang: Lang) -> String {
    let (Some(figure), Some(unit)) = (&checked.figure, checked.unit) else {
        let why = checked.missing.as_ref().map(|why| why.text(lang));
        let why = why.unwrap_or_default();
        return say!(lang, "unclear: {why}", "不明: {why}");
    };
    let value = with_range(figure, unit, &checked.quantity);
    let verdict = held(checked.judged.verdict, lang);
    let mut parts = vec![say!(
        lang,
        "measured {value}, {verdict}",
        "実測 {value}、{verdict}"
    )];
    if checked.judged.verdict == Held::Unclear {
        parts.extend(figure.undecided.map(|why| undecided(why, figure, lang)));
        if checked.judged.minutes_told && figure.undecided.is_none() {
            parts.push(
                lang.pick(
                    "the minutes that were measured lie on one side, the server may not",
                    "測定した時間帯は一方に収まりますが、サーバーとしては断定できません",
                )
                .to_owned(),
            );
        }
        parts.extend(
            checked
                .judged
                .needed
                .map(|needed| needed_text(needed, lang)),
        );
    } else {
        parts.push(about(figure, lang));
    }
    parts.join(lang.pick("; ", "。"))
}

/// A figure with its interval: `9.42 kIOPS (9.31 .. 9.54)`.
fn with_range(figure: &Standing, unit: Unit, quantity: &str) -> String {
    let scale = number::scale(unit, quantity, figure.value);
    let (value, ends) = scale.estimate(&estimate(figure.value, figure.interval));
    let unit = &scale.unit;
    let space = if unit.is_empty() { "" } else { " " };
    match ends {
        Some((lo, hi)) => format!("{value}{space}{unit} ({lo} .. {hi})"),
        None => format!("{value}{space}{unit}"),
    }
}

/// The word for a verdict.
pub(crate) const fn held(held: Held, lang: Lang) -> &'static str {
    match (held, lang) {
        (Held::Met, Lang::En) => "met",
        (Held::Missed, Lang::En) => "missed",
        (Held::Unclear, Lang::En) => "unclear",
        (Held::Met, Lang::Ja) => "達成",
        (Held::Missed, Lang::Ja) => "未達",
        (Held::Unclear, Lang::Ja) => "不明",
    }
}

/// What a figure is about.
pub(crate) fn about(figure: &Standing, lang: Lang) -> String {
    let runs = figure.runs;
    match figure.scope {
        About::ThisInstance => {
            let runs = number::counted(runs, "run", "runs");
            say!(
                lang,
                "this instance ({runs})",
                "このインスタンス（{runs}）",
                runs = match lang {
                    Lang::En => runs,
                    Lang::Ja => format!("測定 {} 件", figure.runs),
                }
            )
        }
        About::ThisPlan { instances } => say!(
            lang,
            "this plan ({instances} instances)",
            "このプラン（{instances} 台）"
        ),
        About::TheseInstances { instances } => say!(
            lang,
            "these {instances} instances, no plan",
            "この {instances} 台のみ（プランではありません）"
        ),
        About::TheseRuns => say!(lang, "these {runs} runs", "この測定 {runs} 件"),
    }
}

fn undecided(why: Undecided, figure: &Standing, lang: Lang) -> String {
    let text = match why {
        Undecided::OneRun => lang.pick(
            "one run says nothing of other hours",
            "1 回の測定では他の時間帯のことは分かりません",
        ),
        Undecided::OneVisit => lang.pick(
            "all runs are of one visit: 20 minutes apart they would count",
            "すべて同じ時間帯の測定です。20 分以上空ければ数えられます",
        ),
        Undecided::Imported => lang.pick(
            "another program measured it, which decides nothing: run the test with kurabe",
            "他のプログラムの測定を取り込んだもので、判定には使えません。kurabe で測定してください",
        ),
        Undecided::FewInstances => {
            return format!(
                "{}{}",
                about(figure, lang),
                lang.pick(": a plan takes five", "。プランの判定には 5 台必要です")
            );
        }
        Undecided::UnknownInstances => lang.pick(
            "it is not known whether the runs come from one instance",
            "測定が同じインスタンスのものか分かりません",
        ),
        Undecided::NoLogarithm => lang.pick("a value is zero or less", "0 以下の値があります"),
    };
    text.to_owned()
}

fn needed_text(needed: Needed, lang: Lang) -> String {
    match needed {
        Needed::Runs(n) => say!(
            lang,
            "about {n} runs in all, 20 minutes or more apart, would tell",
            "20 分以上空けた測定が全部で約 {n} 件あれば判定できます"
        ),
        Needed::Instances(n) => say!(
            lang,
            "about {n} instances in all would tell",
            "全部で約 {n} 台を測定すれば判定できます"
        ),
        Needed::NotAtThisNoise => lang
            .pick(
                "no number of runs would tell at this scatter",
                "このばらつきでは何回測定しても判定できません",
            )
            .to_owned(),
    }
}

/// What each offer costs, what it does, and where it stands.
pub(super) fn value_table(view: &ValueView, lang: Lang) -> Table {
    let unit = view.unit.unwrap_or(Unit::Number);
    let largest = |of: &dyn Fn(usize) -> Option<f64>| {
        let all = (0..view.rows.len()).filter_map(of);
        all.fold(0.0, f64::max)
    };
    let figures = number::scale(
        unit,
        &view.quantity,
        largest(&|at| Some(view.rows[at].figure.as_ref()?.value)),
    );
    let prices = number::scale(
        unit,
        &view.quantity,
        largest(&|at| Some(view.rows[at].per_price?.value)),
    );
    let currency = view
        .rows
        .first()
        .map_or("", |row| row.monthly.currency.as_str());
    let named = |unit: &str| match unit {
        "" if view.quantity == number::INDEX => lang.pick("index", "指数").to_owned(),
        "" => lang.pick("value", "値").to_owned(),
        unit => unit.to_owned(),
    };
    let per = format!("{} / {currency}", named(&prices.unit));
    let columns = [
        (lang.pick("offer", "オファー").to_owned(), Align::Left),
        (lang.pick("a month", "月額").to_owned(), Align::Right),
        (named(&figures.unit), Align::Right),
        (
            lang.pick("95 % interval", "95 % 信頼区間").to_owned(),
            Align::Right,
        ),
        (per, Align::Right),
        (
            lang.pick("95 % interval", "95 % 信頼区間").to_owned(),
            Align::Right,
        ),
        (
            lang.pick("price against performance", "価格対性能")
                .to_owned(),
            Align::Left,
        ),
    ];
    let mut table = Table {
        wrapped: true,
        ..Table::new(columns)
    };
    for row in &view.rows {
        let mut cells: Vec<Cell> = vec![
            Text::name(row.offer.as_str()).into(),
            row.monthly.to_string().into(),
        ];
        let figure = row
            .figure
            .as_ref()
            .map(|one| estimate(one.value, one.interval));
        cells.extend(pair(&figures, figure));
        cells.extend(pair(
            &prices,
            row.per_price.map(|one| estimate(one.value, one.interval)),
        ));
        cells.push(stands(&row.place, row.figure.as_ref(), row.missing.as_ref(), lang).into());
        table.rows.push(cells);
    }
    table
}

/// A figure against the price of each offer.
pub fn value(view: &ValueView, lang: Lang) -> Vec<Block> {
    values(std::slice::from_ref(view), lang)
}

/// Several figures likewise: the tables, then the charts beside one another.
pub(crate) fn values(views: &[ValueView], lang: Lang) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for view in views {
        let metric = &view.metric;
        let heading = say!(
            lang,
            "{metric}: what a month buys, the cheapest first",
            "{metric}: 月額あたりの性能（安い順）"
        );
        blocks.push(Block::section(
            heading,
            vec![Block::Table(value_table(view, lang))],
        ));
        let heading = lang.pick("What one more buys", "資源を 1 増やすと");
        let steps = Block::bullets(steps(view, lang));
        blocks.push(Block::section(heading, vec![steps]));
    }
    // The tables stand above.
    let charts = views.iter().filter_map(|view| charts::price(view, lang));
    let charts = charts.map(|chart| Chart {
        table: Table::default(),
        ..chart
    });
    let charts = charts.map(|chart| Block::Chart(Box::new(chart))).collect();
    blocks.push(Block::Section(None, charts));
    blocks.push(Block::Line(ranking::of_server(lang).to_owned()));
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// What one more of a resource costs between two offers, and what it buys.
fn steps(view: &ValueView, lang: Lang) -> impl Iterator<Item = String> {
    let unit = view.unit.unwrap_or(Unit::Number);
    view.steps.iter().map(move |step| {
        let scale = number::scale(unit, &view.quantity, step.buys.value.abs());
        let (value, ends) = scale.estimate(&estimate(step.buys.value, step.buys.interval));
        let range = ends.map_or_else(String::new, |(lo, hi)| format!(" ({lo} .. {hi})"));
        let (from, to, resource) = (&step.from, &step.to, &step.resource);
        let (costs, unit) = (&step.costs, &scale.unit);
        say!(
            lang,
            "from {from} to {to}: one more {resource} costs {costs} a month and buys {value} {unit}{range}",
            "{from} から {to}: {resource} を 1 増やすと月額 {costs}、性能は {value} {unit}{range}"
        )
    })
}

fn pair(scale: &Scale, figure: Option<model::estimate::Estimate>) -> [Cell; 2] {
    let Some(figure) = figure else {
        return [NONE.into(), NONE.into()];
    };
    let (value, ends) = scale.estimate(&figure);
    [value.into(), number::range(ends.as_ref()).into()]
}

fn stands(place: &Stands, figure: Option<&Standing>, missing: Option<&WhyNot>, lang: Lang) -> Text {
    let why = figure.and_then(|figure| Some(undecided(figure.undecided?, figure, lang)));
    match place {
        Stands::Frontier => Text::with(Tone::Best, lang.pick("on the frontier", "フロンティア上")),
        Stands::Dominated { by } => Text::from(say!(lang, "dominated by {by}", "{by} に劣ります")),
        Stands::Unclear => {
            let word = lang.pick("cannot tell", "判定できません");
            Text::from(why.map_or_else(|| word.to_owned(), |why| format!("{word}: {why}")))
        }
        Stands::NotMeasured => Text::from(missing.map(|why| why.text(lang)).unwrap_or_default()),
    }
}

/// Which offer to take.
pub fn recommendation(view: &Recommendation, lang: Lang) -> Vec<Block> {
    let chosen = view
        .cheapest
        .as_ref()
        .and_then(|id| view.rows.iter().find(|row| row.offer == *id));
    let first = match chosen {
        Some(row) => {
            let (id, price) = (&row.offer, &row.monthly);
            say!(
                lang,
                "the cheapest offer that meets every need: {id}, {price} a month with tax",
                "すべての条件を満たす最も安いオファー: {id}、月額 {price}（税込）"
            )
        }
        None => lang
            .pick(
                "no offer is known to meet every need",
                "すべての条件を満たすと確認できたオファーはありません",
            )
            .to_owned(),
    };
    let mut blocks = vec![Block::Line(first)];
    for (verdict, heading) in [
        (Held::Met, lang.pick("Meets every need", "条件を満たすもの")),
        (Held::Unclear, lang.pick("Unclear", "不明なもの")),
        (Held::Missed, lang.pick("Refused", "条件を満たさないもの")),
    ] {
        let rows = view.rows.iter().filter(|row| row.all == verdict);
        let sections: Vec<Block> = rows.flat_map(|row| candidate(row, lang)).collect();
        if !sections.is_empty() {
            blocks.push(Block::section(heading, sections));
        }
    }
    blocks
}

fn candidate(row: &Candidate, lang: Lang) -> [Block; 2] {
    let lines = row.needs.iter().map(|need| {
        let found = found(need, lang);
        format!("{}: {found}", need.is)
    });
    let price = &row.monthly;
    [
        Block::Name(say!(
            lang,
            "{id}, {price} a month",
            "{id}、月額 {price}",
            id = row.offer
        )),
        Block::bullets(lines),
    ]
}

#[cfg(test)]
mod tests;
