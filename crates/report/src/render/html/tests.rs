//! What the file must be, whatever is in it.

use super::*;
use crate::page::block::{Align, Cell, Picture, Table, Text, Tone};
use crate::page::charts;
use crate::published::Published;
use crate::render::svg::svg;
use crate::testkit;
use crate::view::view;
use model::record::{Outcome, Run};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

fn file(run: &Run) -> String {
    Published::new(None, &[run], None, &[])
        .html(Lang::En)
        .unwrap()
}

/// What stands between each pair of tags.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    let parts = text.split(open).skip(1);
    parts
        .filter_map(|part| Some(part.split_once(close)?.0))
        .collect()
}

#[test]
fn hostile_text_is_text_in_the_page_and_in_the_picture() {
    let mut run = testkit::hostile();
    run.meta.label = Some("</script><script>alert(1)</script>\"'&\u{202e}\u{1b}[31m".to_owned());
    let page = file(&run);
    let chart = charts::headlines(&view(&run), Lang::En).unwrap();
    let picture = svg(&crate::page::block::Chart {
        title: "</title><script>alert(1)</script>\u{202e}\"".to_owned(),
        ..chart
    });
    for text in [&page, &picture] {
        assert!(!text.contains("<script>alert") && !text.contains("<script>`"));
        let unsafe_one =
            |c: char| c != '\n' && (c.is_control() || ('\u{202a}'..='\u{202e}').contains(&c));
        assert!(!text.contains(unsafe_one));
        assert!(text.contains("&lt;script&gt;alert(1)"));
    }
    // One script that runs, and the figures.
    assert_eq!(page.matches("<script").count(), 2);
    assert_eq!(page.matches("</script").count(), 2);
    assert_eq!(picture.matches("<script").count(), 0);
}

#[test]
fn what_is_laid_out_late_on_a_screen_is_on_paper() {
    let page = file(&testkit::normal());
    let [style] = between(&page, "<style>", "</style>")[..] else {
        panic!("one style");
    };
    assert_eq!(style.matches("content-visibility").count(), 1);
    assert!(style.contains("\n@media screen{.part{content-visibility:auto;"));
}

/// A soak that is longer than its chart is wide.
fn long_soak() -> Run {
    let mut run = crate::page::soak::tests::run();
    for round in &mut run.rounds {
        if let Outcome::Done(done) = &mut round.outcome {
            let windows = done.windows.iter().cycle().take(500);
            done.windows = windows.copied().collect();
        }
    }
    run
}

#[test]
fn the_policy_allows_these_bytes_and_nothing_asks_anybody() {
    for (run, number) in [(testkit::normal(), 1), (long_soak(), 3)] {
        policy_holds(&file(&run), number);
    }
}

/// A page with so many scripts that run.
fn policy_holds(page: &str, number: usize) {
    let [style] = between(page, "<style>", "</style>")[..] else {
        panic!("one style");
    };
    let scripts = between(page, "<script>", "</script>");
    assert_eq!(scripts.len(), number);
    let policy = policy::policy(style, &scripts);
    assert!(
        page.contains(&format!("content=\"{policy}\"")),
        "{}",
        &page[..600]
    );
    let without = |page: String, script: &&str| page.replace(script, "");
    let outside = scripts.iter().fold(page.replace(style, ""), without);
    for word in [
        " style=",
        " src=",
        "http-equiv=\"refresh",
        " onclick=",
        " onload=",
        "url(",
        "@import",
        "eval(",
    ] {
        assert!(!outside.contains(word), "{word}");
    }
    for link in between(page, "href=\"", "\"") {
        assert!(link.starts_with('#') || link.starts_with("data:"), "{link}");
    }
    assert!(!style.contains("url(") && !style.contains("@import"));
}

#[test]
fn a_long_series_has_its_figures_once_and_a_place_in_each_language() {
    let page = file(&long_soak());
    let [block] = between(&page, "id=\"long0\">", "</script>")[..] else {
        panic!("one series");
    };
    let found: serde_json::Value = serde_json::from_str(block).unwrap();
    let pieces = found["middle"].as_array().unwrap();
    assert_eq!(pieces.len(), 4000);
    assert!(found["step"].as_f64().unwrap() > 0.0);
    let middles: Vec<f64> = pieces
        .iter()
        .filter_map(serde_json::Value::as_f64)
        .collect();
    assert!(middles.len() > 3000 && middles.iter().all(|x| (0.1..1000.0).contains(x)));
    assert!(page.contains(LONG_LICENCE));
    assert_eq!(page.matches("data-long=\"long0\"").count(), 2);
    assert!(!file(&testkit::normal()).contains("uPlot"));
}

#[test]
fn the_library_is_the_one_that_was_published() {
    let sums = include_str!("../../../vendor/uplot-1.6.32/SHA256SUMS");
    let library = LONG.text();
    let files = [LONG_LICENCE, &library, LONG_CSS];
    assert_eq!(sums.lines().count(), files.len());
    for (line, file) in sums.lines().zip(files) {
        let bytes = Sha256::digest(file.as_bytes());
        let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        assert!(line.starts_with(&hex.concat()), "{line}");
    }
}

#[test]
fn figures_are_read_back_as_they_were() {
    let run = testkit::hostile();
    let page = file(&run);
    let [block] = between(
        &page,
        "<script type=\"application/json\" id=\"raw0\">",
        "</script>",
    )[..] else {
        panic!("one document");
    };
    assert!(!block.contains('<'));
    let found: serde_json::Value = serde_json::from_str(block).unwrap();
    let expect: serde_json::Value = serde_json::from_str(&crate::json::run(&view(&run))).unwrap();
    assert_eq!(found, expect);
    let csv: String = serde_json::from_str(&data("a,b\n<c>")).unwrap();
    assert_eq!(csv, "a,b\n<c>");
}

#[test]
fn every_id_is_one_and_every_picture_and_table_has_its_name() {
    let runs = [
        testkit::unixbench("off", 1.0),
        testkit::with_failures(),
        crate::page::soak::tests::run(),
    ];
    for run in &runs {
        let page = file(run);
        let ids = between(&page, " id=\"", "\"");
        let different: BTreeSet<&&str> = ids.iter().collect();
        assert_eq!(different.len(), ids.len());
        for of in between(&page, "aria-labelledby=\"", "\"") {
            assert!(of.split(' ').all(|id| ids.contains(&id)), "{of}");
        }
        let twice = between(&page, "<", ">");
        let twice = twice.iter().find(|tag| tag.matches(" class=").count() > 1);
        assert_eq!(twice, None);
        let tables = page.matches("<table>").count();
        assert_eq!(page.matches("<caption>").count(), tables);
        assert_eq!(
            page.matches(" role=\"group\" tabindex=\"0\" aria-label=\"")
                .count(),
            tables
        );
        for picture in between(&page, "role=\"img\"", "</svg>") {
            let names = [
                between(picture, "<title", "</title>"),
                between(picture, "<desc", "</desc>"),
            ];
            assert!(
                names
                    .iter()
                    .all(|name| name.len() == 1 && !name[0].ends_with('>'))
            );
        }
        let levels: Vec<u32> = between(&page, "<h", ">")
            .iter()
            .filter_map(|tag| tag.chars().next()?.to_digit(10))
            .collect();
        let skips = levels.windows(2).any(|pair| pair[1] > pair[0] + 1);
        assert!(!skips && levels[0] == 1, "{levels:?}");
    }
}

/// Relative luminance, WCAG 2.2.
fn luminance(colour: &str) -> f64 {
    let digits = colour.trim_start_matches('#');
    let digits: String = match digits.len() {
        3 => digits.chars().flat_map(|c| [c, c]).collect(),
        _ => digits.to_owned(),
    };
    let part = |at: usize| {
        let value = f64::from(u32::from_str_radix(&digits[at..at + 2], 16).unwrap()) / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * part(0) + 0.7152 * part(2) + 0.0722 * part(4)
}

fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

#[test]
fn colours_can_be_read_in_light_and_in_dark() {
    assert!((contrast("#fff", "#000") - 21.0).abs() < 1e-9);
    for theme in [LIGHT, DARK] {
        let of = |name: &str| {
            let mut all = theme.split(';').filter_map(|one| one.split_once(':'));
            let found = all.find(|(known, _)| known.trim() == format!("--{name}"));
            found.unwrap_or_else(|| panic!("{name}")).1
        };
        let check = |front: &str, behind: &str, least: f64| {
            let found = contrast(front, of(behind));
            assert!(
                found >= least,
                "{front} on {behind}: {found:.2}, below {least}"
            );
        };
        for text in ["text", "muted", "link"] {
            check(of(text), "page", 4.5);
            check(of(text), "soft", 4.5);
        }
        check(of("line"), "page", 3.0);
        for series in ["#0072b2", "#d55e00", "#009e73", "#cc79a7"] {
            assert!(STYLE.contains(series));
            check(series, "page", 3.0);
        }
    }
}

#[test]
fn each_block_is_the_element_that_it_means() {
    let mut table = Table::new([
        ("name", Align::Left),
        ("value", Align::Right),
        ("", Align::Left),
    ]);
    table.rows.push(vec![
        Text::name("os.pipe@1").into(),
        Text::with(Tone::Best, "1.5 *").into(),
        Cell::Bar(3, 1),
    ]);
    let picture = Picture::course(&[vec![1.0, 2.0]], 8);
    let page = vec![
        Block::Title(
            vec!["server".into()],
            "EPYC  2 CPUs".to_owned(),
            "below".to_owned(),
        ),
        Block::section(
            "part",
            vec![
                Block::facts([("cpu", "1 copy  8.9"), ("", "2 copies")]),
                Block::Facts(vec![(
                    Text::sign("!"),
                    Text::doubtful(true, "run `kurabe run`"),
                )]),
                Block::Table(table),
                Block::bullets(["a & b"]),
                Block::section(
                    "empty",
                    vec![Block::Commands(vec![("x".to_owned(), "y".to_owned())])],
                ),
            ],
        ),
        Block::Course(picture, ["0 s".to_owned(), "9 s".to_owned()]),
        Block::Fitting(vec![
            vec![Block::Line("wide".to_owned())],
            vec![Block::Line("narrow".to_owned())],
        ]),
    ];
    let text = Writer::new(Lang::En)
        .blocks(&page, 0, "heading")
        .into_string();
    insta::assert_snapshot!("blocks", text.replace("><", ">\n<"));
}

#[test]
fn a_chart_is_drawn_as_it_was() {
    let run = testkit::unixbench("off", 1.0);
    let view = view(&run);
    let chart = charts::headlines(&view, Lang::Ja).unwrap();
    insta::assert_snapshot!("headlines_ja", svg(&chart).replace("><", ">\n<"));
}
