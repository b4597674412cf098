//! What a person publishes of some runs: their comparison, their machines side by side, and each of them, in every
//! language, with the figures for programs; or one picture, the one that says the most.

use crate::comparison::ComparisonView;
use crate::lang::{Lang, say};
use crate::offers::{self, Measured, ValueView};
use crate::page::block::{Block, Chart};
use crate::page::run::Detail;
use crate::page::{self, charts};
use crate::ranking::{self, RankingView};
use crate::render::html::{Document, Part, Raw, html};
use crate::view::{self, RunView};
use crate::{csv, json};
use model::offer::Catalogue;
use model::record::Run;

/// The most bytes of a file: it is sent by mail, and opened on phones.
pub const BYTES_MAX: usize = 1_500_000;

/// How much of everything a file has.
#[derive(Clone, Copy)]
struct Room {
    comparison: Detail,
    /// Of each run; `None` for none of them.
    runs: Option<Detail>,
    /// The most bytes of figures for programs.
    raw: usize,
}

/// What is tried in turn, until a file is small enough.
const ROOMS: [Room; 5] = [
    Room {
        comparison: Detail::Full,
        runs: Some(Detail::Full),
        raw: 700_000,
    },
    Room {
        comparison: Detail::Usual,
        runs: Some(Detail::Usual),
        raw: 500_000,
    },
    Room {
        comparison: Detail::Usual,
        runs: Some(Detail::Usual),
        raw: 0,
    },
    Room {
        comparison: Detail::Short,
        runs: Some(Detail::Short),
        raw: 0,
    },
    Room {
        comparison: Detail::Short,
        runs: None,
        raw: 0,
    },
];

/// Runs that are published together.
#[derive(Debug)]
pub struct Published<'a> {
    /// Their comparison; `None` for one side alone.
    pub comparison: Option<ComparisonView<'a>>,
    /// Each of them, at least one.
    pub runs: Vec<RunView<'a>>,
    /// What is quoted of them against what they cost, where several offers were measured.
    pub values: Vec<ValueView>,
    /// Their order, where there are many.
    pub ranking: Option<RankingView>,
    /// Earlier runs of their machines, which show what runs of one machine differ by.
    pub earlier: &'a [Run],
}

/// Runs that have an order: two are a comparison.
const RANKED_MIN: usize = 3;

/// Charts of latencies beside a comparison.
const LATENCIES_MAX: usize = 8;

impl<'a> Published<'a> {
    /// These runs, with what they cost where a catalogue is known.
    pub fn new(
        comparison: Option<ComparisonView<'a>>,
        runs: &[&'a Run],
        catalogue: Option<&Catalogue>,
        earlier: &'a [Run],
    ) -> Self {
        let rented = catalogue.map(|catalogue| offers::of_runs(runs, catalogue));
        let rented = rented.unwrap_or_default();
        let view = |run: &&'a Run| {
            let own = |one: &&Measured<'_>| run.meta.offer.as_ref() == Some(&one.offer.id);
            let mut view = view::view(run);
            view.offer = rented.iter().find(own).map(offers::part);
            view
        };
        Self {
            comparison,
            values: offers::values(&rented),
            ranking: (runs.len() >= RANKED_MIN).then(|| ranking::view(runs, &[], catalogue)),
            runs: runs.iter().map(view).collect(),
            earlier,
        }
    }
}

impl Published<'_> {
    /// The file, this language first: all there is to say, or as much as has room in [`BYTES_MAX`]; `None` where even
    /// the least has none.
    pub fn html(&self, lang: Lang) -> Option<String> {
        let rooms = ROOMS.into_iter().enumerate();
        let mut files = rooms.map(|(place, room)| html(&self.document(lang, room, place > 0)));
        files.find(|text| text.len() <= BYTES_MAX)
    }

    fn document(&self, lang: Lang, room: Room, shortened: bool) -> Document {
        let (raw, left_out) = self.raw(room.raw);
        let left_out = |lang| {
            let lines = [
                said_of_shortened(shortened, lang),
                said_of_left_out(&left_out, lang),
            ];
            lines.concat()
        };
        Document {
            title: Lang::ALL.map(|lang| self.title(lang)),
            parts: Lang::ALL.map(|lang| self.parts(room, lang)),
            lang,
            raw,
            left_out: Lang::ALL.map(left_out),
        }
    }

    /// The picture that says the most: price against performance where that decides anything, ratios of a comparison,
    /// headlines of a run. Of several comparisons the first one's. `None` where there is nothing to draw.
    pub fn headline(&self, lang: Lang) -> Option<Chart> {
        // The cheapest is on the frontier whatever was measured.
        let decided = |view: &&ValueView| {
            let known = view.rows.iter().filter(|row| row.place.is_known());
            known.count() > 1
        };
        if let Some(value) = self.values.iter().find(decided) {
            return charts::price(value, lang);
        }
        match &self.comparison {
            Some(view) => view
                .compared(lang)
                .first()
                .copied()
                .and_then(charts::ratios),
            None => charts::headlines(self.runs.first()?, lang),
        }
    }

    fn title(&self, lang: Lang) -> String {
        let name = |view: &RunView<'_>| view.run.meta.label.clone();
        let names = self.runs.iter().filter_map(name);
        let names: Vec<String> = names.collect();
        match &names[..] {
            [] => say!(lang, "Measured by kurabe", "kurabe による測定"),
            [one] => one.clone(),
            [first, rest @ ..] if rest.len() < 4 => {
                let rest = rest.join(", ");
                say!(lang, "{rest} against {first}", "{rest} 対 {first}（基準）")
            }
            [first, rest @ ..] => {
                let n = rest.len();
                say!(
                    lang,
                    "{n} runs against {first}",
                    "{n} 件 対 {first}（基準）"
                )
            }
        }
    }

    fn parts(&self, room: Room, lang: Lang) -> Vec<Part> {
        let mut parts = Vec::new();
        if let Some(view) = &self.comparison {
            let mut page = page::comparison::page(view, room.comparison, lang);
            if room.comparison != Detail::Short {
                // Beside the ratios; of several comparisons below them all.
                let ratios = page
                    .iter()
                    .position(|block| matches!(block, Block::Chart(_)));
                let alone = ratios.filter(|_| view.others.len() == 1);
                let place = alone.map_or(page.len(), |place| place + 1);
                page.splice(place..place, self.latencies(view, lang));
            }
            parts.push(part(lang.pick("Comparison", "比較"), page));
        }
        if let Some(ranking) = self.ranking.as_ref().filter(|all| !all.tables.is_empty()) {
            let heading = lang.pick("All of them in order", "すべての順位");
            parts.push(part(heading, page::ranking::page(ranking, lang)));
        }
        if !self.values.is_empty() {
            let heading = lang.pick("Price against performance", "価格対性能");
            parts.push(part(heading, page::offers::values(&self.values, lang)));
        }
        if self.runs.len() > 1 {
            let hosts = self.runs.iter().map(|view| view.run);
            let heading = lang.pick("The machines", "マシンの比較");
            parts.push(part(heading, page::beside::page(hosts, lang)));
        }
        if let Some(detail) = room.runs {
            parts.extend(self.runs.iter().map(|view| self.alone(view, detail, lang)));
        }
        // What another program measured tells nothing of its machine, and has no heading above nothing.
        parts.retain(|part| !part.blocks.iter().all(Block::is_empty));
        parts
    }

    /// A run by itself.
    fn alone(&self, view: &RunView<'_>, detail: Detail, lang: Lang) -> Part {
        let is_alone = self.runs.len() == 1;
        let shown = match detail {
            // Of several, what they have in common is read before each.
            Detail::Full if !is_alone => Detail::Usual,
            detail => detail,
        };
        let meta = &view.run.meta;
        let name = meta.label.as_ref().unwrap_or(&meta.id);
        let mut page = page::run::page(view, shown, lang);
        let mut pictures: Vec<Chart> = charts::headlines(view, lang).into_iter().collect();
        if is_alone && detail != Detail::Short {
            pictures.extend(charts::values(view, lang));
        }
        let pictures = pictures.into_iter();
        page.splice(1..1, pictures.map(|chart| Block::Chart(Box::new(chart))));
        part(name, page)
    }

    /// The latencies of both sides of each comparison, beside one another.
    fn latencies(&self, of: &ComparisonView<'_>, lang: Lang) -> Vec<Block> {
        let all = of.compared(lang);
        let sections = all.iter().map(|compared| {
            let base = &compared.sides.both()[0].first().meta.id;
            let view = self.runs.iter().find(|view| view.run.meta.id == *base);
            let storage = view.and_then(|view| view.storage.as_ref());
            let cases = storage.iter().flat_map(|storage| &storage.cases);
            let charts = cases.filter_map(|case| charts::of_sides(*compared, case));
            let charts = charts.take(LATENCIES_MAX);
            let [base, other] = compared.sides.names(lang);
            let heading = say!(
                lang,
                "latencies: {other} against {base}",
                "レイテンシー: {other} 対 {base}（基準）"
            );
            let charts = charts.map(|chart| Block::Chart(Box::new(chart)));
            Block::section(heading, charts.collect())
        });
        sections.collect()
    }

    /// The document of each run, or where that has no room the table of its metrics; and the runs for which neither
    /// has.
    fn raw(&self, mut room: usize) -> (Vec<Raw>, Vec<&str>) {
        let (mut raw, mut left_out) = (Vec::new(), Vec::new());
        for (place, view) in self.runs.iter().enumerate() {
            let id = view.run.meta.id.as_str();
            // Whoever comes later has its share of the room too.
            let share = room / (self.runs.len() - place);
            let fits = |text: &String| text.len() <= share;
            let json = || Some(compact(&json::run(view))).filter(fits);
            let csv = || Some(csv::metrics(view)).filter(fits);
            let form = match share {
                0 => None,
                _ => json()
                    .map(|text| (text, "json"))
                    .or_else(|| csv().map(|text| (text, "csv"))),
            };
            match form {
                Some((text, end)) => {
                    room -= text.len();
                    let name = format!("{id}.{end}");
                    raw.push(Raw { name, text });
                }
                None => left_out.push(id),
            }
        }
        (raw, left_out)
    }
}

fn part(heading: &str, blocks: Vec<Block>) -> Part {
    Part {
        heading: heading.to_owned(),
        blocks,
    }
}

/// JSON without the spaces that are for people.
fn compact(text: &str) -> String {
    let value: Result<serde_json::Value, _> = serde_json::from_str(text);
    value.map_or_else(|_| text.to_owned(), |value| value.to_string())
}

fn said_of_shortened(shortened: bool, lang: Lang) -> String {
    let said = lang.pick(
        "Not everything has room here: `kurabe show RUN --full` and `kurabe compare A B --full` tell the rest. ",
        "すべては含まれていません。残りは `kurabe show RUN --full` と `kurabe compare A B --full` で確認できます。",
    );
    if shortened {
        said.to_owned()
    } else {
        String::new()
    }
}

fn said_of_left_out(ids: &[&str], lang: Lang) -> String {
    if ids.is_empty() {
        return String::new();
    }
    let list = ids.join(", ");
    say!(
        lang,
        "There is no room here for those of {list}: `kurabe show RUN --json` prints them.",
        "{list} のデータは大きすぎるため含まれていません。`kurabe show RUN --json` で出力できます。"
    )
}

#[cfg(test)]
mod tests;
