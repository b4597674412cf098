//! Lists of what can be run and of what was.

use super::block::{Align, Block, Cell, Table, Text};
use super::{fit, host, title};
use crate::brief;
use crate::duel::side_in_list;
use crate::json::list::{List, ParamPart, ProfilePart};
use crate::lang::{Lang, say};
use crate::number;
use model::line::{Machine, RunLine};
use model::record::End;
use model::units::{Nanos, UnixNanos};
use stats::Brief;

/// Rows that end in a sentence: behind the other columns, or below them where there is no room.
pub fn described(rows: Vec<Vec<String>>) -> Block {
    let columns = rows.first().map_or(0, Vec::len);
    let rows = rows.into_iter();
    let rows = rows.map(|row| row.into_iter().map(Into::into).collect());
    Block::Table(Table {
        rows: rows.collect(),
        wrapped: true,
        ..Table::plain(vec![Align::Left; columns])
    })
}

/// Kept runs, each in a line where there is room; what is long is cut before a line is broken.
pub fn runs(lines: &[RunLine], lang: Lang) -> Block {
    let [en, ja] = HEADINGS;
    let rows: Vec<[String; COLUMNS]> = lines.iter().map(|line| row(line, lang)).collect();
    let form = |most: [usize; COLUMNS]| {
        let row = |(line, row): (&RunLine, &[String; COLUMNS])| {
            let [id, label, offer, machine, when, what, headline, trust] = row.clone();
            // Of an instant the day is what tells runs apart.
            let day = when.split(' ').next().filter(|_| most == CUT);
            let when = day.unwrap_or(&when).to_owned();
            let texts = [id, label, offer, machine, when, what, headline];
            let texts = texts.iter().zip(most);
            let cells = texts.map(|(text, most)| fit::cut(text, most).into());
            let mut cells: Vec<Cell> = cells.collect();
            cells.push(Text::doubtful(is_doubtful(line), trust).into());
            cells
        };
        let headings = lang.pick(en, ja).split('|');
        let mut table = Table {
            rows: lines.iter().zip(&rows).map(row).collect(),
            ..Table::new(headings.map(|heading| (heading, Align::Left)))
        };
        if lines.iter().all(|line| line.offer.is_none()) {
            table.leave_out(OFFER);
        }
        vec![Block::Table(table)]
    };
    Block::Fitting(vec![form([usize::MAX; COLUMNS]), form(CUT)])
}

/// The columns of a run.
const COLUMNS: usize = 8;

/// That of the offer, which stands there where a run names one.
const OFFER: usize = 2;

/// So many columns of the screen each may take where a line has 80.
const CUT: [usize; COLUMNS] = [20, 12, 12, 14, 10, 8, usize::MAX, usize::MAX];

const HEADINGS: [&str; 2] = [
    "id|label|offer|machine|when (UTC)|what|headline|trust",
    "ID|ラベル|オファー|マシン|日時 (UTC)|内容|代表値|信頼性",
];

fn row(line: &RunLine, lang: Lang) -> [String; COLUMNS] {
    let mut what = line.what.join(" ");
    if let Some(duel) = &line.duel {
        what = format!("{what} ({})", side_in_list(duel, lang));
    }
    let brief = Brief::of_line(line);
    let headline = match (&brief, line.end) {
        (Some(brief), _) => brief::headline(brief, lang),
        (None, End::Open) => title::end_word(End::Open, lang).to_owned(),
        (None, _) => lang.pick("none noted", "記録なし").to_owned(),
    };
    let trust = brief
        .as_ref()
        .map(|brief| brief::trust(brief, lang).to_owned());
    let interrupted = line.end == End::Interrupted;
    let interrupted = interrupted.then(|| lang.pick("interrupted", "中断").to_owned());
    let failed =
        (line.failed > 0).then(|| say!(lang, "{n} failed", "失敗 {n} ラウンド", n = line.failed));
    let trust: Vec<String> = [trust, interrupted, failed].into_iter().flatten().collect();
    [
        line.short.clone(),
        line.label.clone().unwrap_or_default(),
        line.offer.clone().unwrap_or_default(),
        machine(&line.machine, lang),
        // An import without a date stands before everything else.
        if line.started == UnixNanos(0) {
            lang.pick("not known", "不明").to_owned()
        } else {
            number::minute(line.started)
        },
        what,
        headline,
        trust.join(lang.pick(", ", "、")),
    ]
}

fn is_doubtful(line: &RunLine) -> bool {
    let brief = Brief::of_line(line);
    line.failed > 0 || brief.is_some_and(|brief| brief.is_doubtful())
}

/// `EPYC 7B13, 2 CPUs`: the processor without what every name of one has.
pub(super) fn machine(machine: &Machine, lang: Lang) -> String {
    let cpu = machine.cpu.as_deref().map(Machine::processor);
    let cpus = machine.cpus.map(|n| host::cpus(n, lang));
    let parts: Vec<String> = [cpu, cpus].into_iter().flatten().collect();
    parts.join(lang.pick(", ", "、"))
}

/// What can be run, as a reference; of kept runs there is more to say.
pub fn reference(list: &List) -> Block {
    let rows = match list {
        List::Runs(..) => Vec::new(),
        List::Tests(tests) => tests
            .iter()
            .map(|test| vec![test.name.to_owned(), test.title.clone()])
            .collect(),
        List::Metrics(metrics) => metrics
            .iter()
            .map(|one| vec![one.id.clone(), one.unit.clone(), one.definition.clone()])
            .collect(),
        List::Profiles(profiles) => profiles.iter().map(profile).collect(),
        List::Params(params) => params.iter().map(param).collect(),
    };
    described(rows)
}

/// A profile, with what it takes here.
fn profile(profile: &ProfilePart) -> Vec<String> {
    let title = match &profile.refused {
        None => profile.title.clone(),
        Some(why) => format!("{}; not here: {why}", profile.title),
    };
    let time = profile
        .expected_ns
        .map(|span| number::duration(Nanos(span), Lang::En));
    vec![profile.name.clone(), time.unwrap_or_default(), title]
}

/// A parameter, with its value in this test and what it takes.
fn param(param: &ParamPart) -> Vec<String> {
    let value = match param.value.as_str() {
        "" => "\"\"",
        value => value,
    };
    let said = format!("{} Takes {}.", param.meaning, param.takes);
    vec![param.name.to_owned(), value.to_owned(), said]
}

/// What is said of lists of tests, profiles and metrics, which are the reference to which every figure refers: a
/// translation could differ from it.
pub fn in_english(lang: Lang) -> Option<&'static str> {
    match lang {
        Lang::En => None,
        Lang::Ja => Some("注: テスト、プロファイル、測定項目の説明は英語のみです"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::render::text;
    use crate::style::Style;

    fn of(rows: &[&[&str]]) -> Vec<Vec<String>> {
        let owned = |row: &&[&str]| row.iter().map(|&cell| cell.to_owned()).collect();
        rows.iter().map(owned).collect()
    }

    fn check(block: Block, width: usize, expect: &str) {
        let style = Style {
            width,
            color: false,
        };
        assert_eq!(text(&[block], style), expect, "{width}");
    }

    #[test]
    fn a_sentence_is_broken_beside_the_other_columns_or_stands_below_them() {
        let said = "what this one is about takes more room than there is";
        let narrow = of(&[&["a", said], &["bcd", "short"]]);
        let whole = format!("a    {said}\nbcd  short\n");
        check(described(narrow.clone()), 1 << 16, &whole);
        check(
            described(narrow),
            40,
            "a    what this one is about takes more\n     room than there is\nbcd  short\n",
        );
        let wide = of(&[&["storage.randread-4k@1", "about six rounds", said]]);
        check(
            described(wide),
            40,
            "storage.randread-4k@1  about six rounds\n  what this one is about takes more room\n  than there is\n",
        );
    }

    fn line(id: &str, label: &str, brief: Option<&str>) -> RunLine {
        RunLine {
            id: format!("20261121-004311-{id}"),
            short: id.to_owned(),
            label: Some(label.to_owned()),
            offer: None,
            started: model::units::UnixNanos(1_790_000_000_000_000_000),
            finished: None,
            end: brief.map_or(End::Open, |_| End::Complete),
            what: vec!["quick".to_owned()],
            cases: 3,
            rounds: 9,
            failed: 0,
            duel: None,
            machine: Machine {
                hostname: None,
                cpu: Some("AMD EPYC 7763 64-Core Processor".to_owned()),
                cpus: Some(2),
            },
            brief: brief.map(str::to_owned),
        }
    }

    #[test]
    fn runs_stand_in_lines_which_are_cut_before_they_are_broken() {
        let brief = "{\"headline\":{\"metric\":\"os.pipe@1:ops_per_s\",\"unit\":\"ops_per_s\",\"value\":1.5e6,\
                     \"lo\":null,\"hi\":null},\"trust\":\"quiet\"}";
        let lines = [
            line("9f3c", "東京リージョンの一号機", Some(brief)),
            line("a0a0", "b", None),
        ];
        check(
            runs(&lines, Lang::En),
            120,
            "id    label                   machine                when (UTC)        what   headline     trust\n\
             9f3c  東京リージョンの一号機  AMD EPYC 7763, 2 CPUs  2026-09-21 14:13  quick  1.50 Mops/s  quiet\n\
             a0a0  b                       AMD EPYC 7763, 2 CPUs  2026-09-21 14:13  quick  unfinished\n",
        );
        check(
            runs(&lines[..1], Lang::En),
            80,
            "id    label        machine         when (UTC)  what   headline     trust\n\
             9f3c  東京リー...  AMD EPYC 77...  2026-09-21  quick  1.50 Mops/s  quiet\n",
        );
        check(
            runs(&lines[1..], Lang::Ja),
            40,
            "ID    ラベル  マシン          日時 (UTC)\n  内容   代表値  信頼性\n\
             a0a0  b       AMD EPYC 77...  2026-09-21\n  quick  未完了\n",
        );
    }

    #[test]
    fn an_end_that_is_none_of_a_whole_run_stands_beside_its_trust() {
        let mut one = line(
            "9f3c",
            "x",
            Some("{\"headline\":null,\"trust\":\"disturbed\"}"),
        );
        one.end = End::Interrupted;
        one.failed = 2;
        let cells = row(&one, Lang::En);
        assert_eq!(cells[6], "no headline");
        assert_eq!(cells[7], "disturbed, interrupted, 2 failed");
        one.brief = Some("of another program".to_owned());
        assert_eq!(row(&one, Lang::En)[6], "none noted");
    }
}
