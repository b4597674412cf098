//! Pages for web logs.

use super::page;
use crate::comparison::{self, CompareOptions};
use crate::lang::Lang;
use crate::offers::{self, Measured};
use crate::render::markdown;
use crate::testkit::{self, BYTES, Quantity};
use crate::view::view;
use model::headline::{Headline, Topic};
use model::offer::Catalogue;
use model::plan::CaseId;
use model::record::Run;
use model::spec::Better;
use model::units::{Unit, UnixNanos};

const IOPS: Quantity = Quantity("iops", Unit::OpsPerSecond, Better::Higher);

const CATALOGUE: &str = r#"
base = "JPY"
[rates]
USD = 150
[[offer]]
id = "a"
provider = "Cloud A"
plan = "2 cores, 4 GB"
resources = { vcpus = 2 }
price_per_month = 10
currency = "USD"
tax = "10%"
"#;

/// Adds a job of a disk of 4 KiB at so many operations a second, or of 1 MiB.
fn add_disk(run: &mut Run, test: &str, topic: Topic, word: &str, level: f64) -> CaseId {
    let block = if topic == Topic::LargeBlocks {
        1 << 20
    } else {
        4096
    };
    let metrics = if topic == Topic::LargeBlocks {
        [BYTES, IOPS]
    } else {
        [IOPS, BYTES]
    };
    let id = testkit::add_case(run, test, 1, "off", &metrics);
    let case = run.plan.cases.last_mut().unwrap();
    case.headline = Some(Headline::named(topic, word));
    if test.ends_with("qd32") {
        case.load.as_mut().unwrap().depth = 32;
    }
    for (pass, value) in (1..).zip(testkit::six_around(level)) {
        let values = [("iops", value), ("bytes_per_s", value * f64::from(block))];
        testkit::add_round(run, &id, pass, Ok(&values));
    }
    id
}

/// A server whose figures are so many times those of the first one.
fn server(label: &str, times: f64) -> Run {
    let mut run = testkit::unixbench("off", 100.0 * times);
    run.meta.id = format!("20261121-004311-{}", label.len());
    run.meta.label = Some(label.to_owned());
    run.meta.offer = Some("a".to_owned());
    let reads = Topic::SmallReads;
    add_disk(
        &mut run,
        "storage.randread-4k",
        reads,
        "qd1",
        10_000.0 * times,
    );
    add_disk(&mut run, "storage.fsync-4k", Topic::Syncs, "fsync", 250.0);
    add_disk(
        &mut run,
        "storage.randread-4k-qd32",
        reads,
        "qd32",
        100_000.0,
    );
    add_disk(
        &mut run,
        "storage.write-1m",
        Topic::LargeBlocks,
        "write",
        500.0,
    );
    add_disk(
        &mut run,
        "storage.read-1m",
        Topic::LargeBlocks,
        "read",
        2000.0,
    );
    run
}

fn blog(runs: &[Run], lang: Lang) -> String {
    let catalogue = Catalogue::parse("offers.toml", CATALOGUE).unwrap();
    let mut views: Vec<_> = runs.iter().map(view).collect();
    for view in &mut views {
        let id = view.run.meta.offer.as_ref();
        let offer = id.and_then(|id| catalogue.find(id));
        view.offer = offer.map(|offer| offers::part(&Measured::new(offer, &[view.run])));
    }
    let others: Vec<&Run> = runs[1..].iter().collect();
    let compared = comparison::view(&runs[0], &others, &CompareOptions::default());
    let compared = Some(&compared).filter(|_| !others.is_empty());
    markdown(&page(views.iter().collect(), compared, &[], lang))
}

/// The lines, below their headings, that hold this.
#[track_caller]
fn line<'a>(text: &'a str, with: &str) -> &'a str {
    let found = text.lines().find(|line| line.contains(with));
    found.unwrap_or_else(|| panic!("no line has `{with}`:\n{text}"))
}

#[test]
fn an_article_has_the_order_of_its_kind() {
    let run = server("server-a", 1.0);
    insta::assert_snapshot!("blog_en", blog(std::slice::from_ref(&run), Lang::En));
    let ja = blog(&[run], Lang::Ja);
    insta::assert_snapshot!("blog_ja", ja);
    let headings: Vec<&str> = ja.lines().filter(|line| line.starts_with("### ")).collect();
    let order = ["### 計測手段", "### 計測条件", "### 計測結果", "### 考察"];
    assert_eq!(headings, order);
    let (_, author) = ja.split_once("### 考察\n").unwrap();
    assert!(author.trim().starts_with("<!-- ") && author.trim().ends_with(" -->"));
}

#[test]
fn a_disk_is_told_as_disk_marks_are_in_millions_of_bytes() {
    let text = blog(&[server("server-a", 1.0)], Lang::En);
    let rows = text.lines().skip_while(|line| *line != "#### Disk");
    let rows: Vec<&str> = rows.skip(4).take(5).collect();
    let expect = [
        "| SEQ1M Q1T1 read | 2098 MB/s +-0.2 % (2.001 kIOPS) |",
        "| SEQ1M Q1T1 write | ",
        "| RND4K Q32T1 read | 409.7 MB/s",
        "| RND4K Q1T1 read | ",
        "| fsync | ",
    ];
    for (row, expect) in rows.iter().zip(expect) {
        assert!(row.starts_with(expect), "{row} is not {expect}:\n{text}");
    }
    let mut wild = testkit::empty();
    let id = testkit::add_case(&mut wild, "storage.x", 1, "off", &[IOPS, BYTES]);
    wild.plan.cases[0].headline = Some(Headline::named(Topic::SmallReads, "qd1"));
    for (pass, level) in (1..).zip([1e3, 9e5, 3e4, 7e4, 2e3, 4e5]) {
        let values = [("iops", level), ("bytes_per_s", level * 1e3)];
        testkit::add_round(&mut wild, &id, pass, Ok(&values));
    }
    let text = blog(&[wild], Lang::En);
    let row = line(&text, "RND4K Q1T1 read");
    assert_eq!(
        row,
        "| RND4K Q1T1 read | unstable, 1.00 .. 900 MB/s (1.00 .. 900 kIOPS) |"
    );
}

#[test]
fn a_month_has_its_tax_and_buys_so_much_of_the_index() {
    let text = blog(&[server("server-a", 1.0)], Lang::En);
    assert_eq!(
        line(&text, "a month, with tax"),
        "| a month, with tax | 1650 JPY (11.00 USD) |"
    );
    // Ten times the reference machine's hundredfold, for 1650 JPY.
    let row = line(&text, "for the price of a month");
    assert_eq!(row, "| 1 copy, for the price of a month | 0.606 / JPY |");
    let mut without = server("server-a", 1.0);
    without.meta.offer = None;
    let text = blog(&[without], Lang::En);
    assert!(!text.contains("month") && !text.contains("JPY"), "{text}");
}

#[test]
fn only_what_is_proven_best_is_bold() {
    let check = |text: &str, row: &str, bold: &[usize]| {
        let cells: Vec<&str> = line(text, row).split(" | ").skip(1).collect();
        let found: Vec<usize> = (0..cells.len())
            .filter(|&at| cells[at].starts_with("**"))
            .collect();
        assert_eq!(found, bold, "{row}: {cells:?}");
    };
    let two = blog(&[server("a", 1.0), server("bb", 2.0)], Lang::En);
    check(&two, "| 1 copy |", &[1]);
    check(&two, "RND4K Q1T1 read", &[1]);
    // The same on both.
    check(&two, "RND4K Q32T1 read", &[]);
    check(&two, "SEQ1M Q1T1 write", &[]);
    let three = [server("a", 1.0), server("bb", 2.0), server("ccc", 2.001)];
    let three = blog(&three, Lang::En);
    // Both others beat the first one, and neither the other.
    check(&three, "RND4K Q1T1 read", &[]);
    check(&three, "| 1 copy |", &[]);
    let three = [server("a", 1.0), server("bb", 4.0), server("ccc", 2.0)];
    check(&blog(&three, Lang::En), "RND4K Q1T1 read", &[1]);
    let alone = blog(&[server("a", 1.0)], Lang::En);
    assert!(!alone.contains("**") && !alone.contains("Bold"), "{alone}");
}

#[test]
fn what_an_article_about_a_server_lacks_is_said_and_one_test_lacks_nothing() {
    let text = blog(&[server("server-a", 1.0)], Lang::En);
    for heading in ["#### Memory", "#### Network"] {
        let (_, below) = text.split_once(heading).unwrap();
        assert!(below.trim_start().starts_with("not measured yet"));
    }
    let mut one = testkit::empty();
    add_disk(
        &mut one,
        "storage.read-1m",
        Topic::LargeBlocks,
        "read",
        2000.0,
    );
    let text = blog(&[one], Lang::En);
    assert!(
        !text.contains("not measured") && !text.contains("UnixBench"),
        "{text}"
    );
}

#[test]
fn one_sample_has_no_steadiness() {
    let mut run = server("server-a", 1.0);
    run.rounds.retain(|round| round.pass == 1);
    let text = blog(&[run.clone(), server("bb", 1.0)], Lang::En);
    let row = line(&text, "| storage.fsync-4k@1 |");
    assert!(
        row.starts_with("| storage.fsync-4k@1 | - | 250 IOPS, "),
        "{row}"
    );
    let alone = blog(&[run], Lang::En);
    assert!(!alone.contains("Steadiness"), "{alone}");
}

#[test]
fn hours_are_told_where_there_are_some_with_the_evening_apart() {
    let mut run = testkit::empty();
    let reads = Topic::SmallReads;
    let id = add_disk(&mut run, "storage.randread-4k", reads, "qd1", 10_000.0);
    let short = blog(std::slice::from_ref(&run), Lang::Ja);
    assert!(!short.contains("時間帯"), "{short}");
    run.rounds.clear();
    // From noon in Japan, at 3 h UTC, a round an hour; half the rate from 18 h on.
    for hour in 0..14_u64 {
        let level = if hour < 6 { 10_000.0 } else { 5000.0 };
        let values = [("iops", level), ("bytes_per_s", level * 4096.0)];
        testkit::add_round(&mut run, &id, 1, Ok(&values));
        let day = 20_000 * 24;
        run.rounds.last_mut().unwrap().started = UnixNanos((day + 3 + hour) * 3_600_000_000_000);
    }
    let ja = blog(std::slice::from_ref(&run), Lang::Ja);
    let row = |text: &str, name: &str| line(text, &format!("| {name} |")).to_owned();
    assert_eq!(
        row(&ja, "昼間（2–18 時）"),
        "| 昼間（2–18 時） | 6 | 10.0 kIOPS | 0 % |"
    );
    assert_eq!(
        row(&ja, "夜間（18–2 時）"),
        "| 夜間（18–2 時） | 8 | 5.00 kIOPS | 0 % |"
    );
    assert_eq!(row(&ja, "1 時"), "| 1 時 | 1 | 5.00 kIOPS | - |");
    assert!(!ja.contains("| 3 時 |"), "{ja}");
    let en = blog(&[run], Lang::En);
    assert!(
        row(&en, "3 h").starts_with("| 3 h | 1 | 10.0 kIOPS"),
        "{en}"
    );
}

#[test]
fn a_soak_says_how_it_went() {
    let run = crate::page::soak::tests::run();
    let text = blog(&[run], Lang::En);
    assert!(text.contains("A soak is load of one test"), "{text}");
    let (_, steady) = text.split_once("#### Steadiness").unwrap();
    assert!(
        steady.contains("| storage.randread@1 | 10.0 kops/s, 11 % |"),
        "{steady}"
    );
}

#[test]
fn hostile_names_stay_text() {
    let mut run = testkit::hostile();
    let id = testkit::add_case(&mut run, "os.pipe", 3, "off", &[testkit::OPS]);
    testkit::add_round(&mut run, &id, 1, Ok(&[("ops_per_s", 1.0)]));
    let other = {
        let mut other = run.clone();
        other.meta.id += "-b";
        other
    };
    for text in [
        blog(std::slice::from_ref(&run), Lang::En),
        blog(&[run, other], Lang::Ja),
    ] {
        let html = text
            .replace("<!-- ", "")
            .replace(" -->", "")
            .replace("\\<", "");
        assert!(
            !html.contains('<') && !text.contains(['\u{202e}', '\u{1b}']),
            "{text}"
        );
        for row in text.lines().filter(|line| line.starts_with('|')) {
            let bars = row.replace("\\\\", "").replace("\\|", "");
            let columns = bars.matches('|').count() - 1;
            assert!([2, 3, 4].contains(&columns), "{row}");
        }
    }
}
