//! What can be rented: catalogues, claims, value for money, recommendations and ranks.

use crate::bed::{Bed, Done};
use crate::comparisons::{copy, on_machine};
use crate::documents::validate;
use serde_json::Value;

const SERIES: &str = "100,101,99,100,102,98,100,101,99";

const CATALOGUE: &str = r#"
base = "JPY"

[rates]
USD = 150

[[offer]]
id = "small"
provider = "Cloud A"
plan = "small"
region = "tokyo"
resources = { vcpus = 1, memory_gb = 1 }
price_per_month = 300
currency = "JPY"
tax = "included"

[[offer.claim]]
metric = "selftest.replay:ops_per_s"
at_least = 95

[[offer.claim]]
metric = "selftest.replay:ops_per_s"
at_least = "200 /s"
says = "twice as fast"

[[offer.claim]]
metric = "os.pipe@1:ops_per_s"
at_least = 3

[[offer]]
id = "large"
provider = "Cloud A"
plan = "large"
region = "tokyo"
resources = { vcpus = 2, memory_gb = 1 }
price_per_hour = 0.0064
currency = "USD"
tax = "10%"

[[offer]]
id = "dear"
provider = "Cloud B"
plan = "x"
price_per_month = 900
currency = "JPY"
tax = "included"
"#;

/// A bed whose catalogue is this.
fn bed(catalogue: &str) -> Bed {
    let bed = Bed::new();
    std::fs::create_dir(bed.path().join("kurabe")).unwrap();
    std::fs::write(bed.path().join("kurabe/offers.toml"), catalogue).unwrap();
    bed
}

/// The binary with this bed's catalogue.
fn with(bed: &Bed, args: &[&str]) -> Done {
    let mut command = bed.command(args);
    command.env("XDG_CONFIG_HOME", bed.path());
    command.output().unwrap().into()
}

/// Four runs of `offer`, an hour apart, this many times as fast as the series.
fn visits(bed: &Bed, offer: &str, level: f64) {
    for hour in 0..4_u64 {
        copy(bed, "base", &format!("{offer}{hour}"), |run| {
            let spread = level * [1.0, 1.01, 0.99, 1.005][usize::try_from(hour).unwrap()];
            let later = |at: &mut Value| {
                *at = (at.as_u64().unwrap() + hour * 3_600_000_000_000).into();
            };
            run["meta"]["offer"] = offer.into();
            later(&mut run["meta"]["started"]);
            later(&mut run["meta"]["finished"]);
            on_machine(run, offer);
            for round in run["rounds"].as_array_mut().unwrap() {
                later(&mut round["started"]);
                let value = &mut round["outcome"]["done"]["values"]["ops_per_s"];
                *value = (value.as_f64().unwrap() * spread).into();
            }
        });
    }
}

fn three_offers() -> Bed {
    let bed = bed(CATALOGUE);
    bed.replay("base", SERIES);
    visits(&bed, "small", 1.0);
    visits(&bed, "large", 1.6);
    visits(&bed, "dear", 1.2);
    bed
}

fn json(bed: &Bed, args: &[&str]) -> Value {
    let done = with(bed, &[args, &["--json"]].concat());
    let schema = match args[0] {
        "rank" => "kurabe.ranking.1.json",
        "show" => "kurabe.run.1.json",
        _ => "kurabe.offers.1.json",
    };
    validate(schema, &done.out)
}

#[test]
fn offers_are_listed_with_a_month_with_tax_in_one_currency() {
    let bed = bed(CATALOGUE);
    let done = with(&bed, &["offers"]).code(0);
    // 0.0064 USD x 730 h x 1.1 x 150.
    done.out_says(&[
        "small Cloud A, small, tokyo memory_gb 1, vcpus 1 300 JPY 0",
        "large Cloud A, large, tokyo memory_gb 1, vcpus 2 771 JPY 5.14 USD 0",
        "dear Cloud B, x 900 JPY 0",
    ]);
    let document = json(&bed, &["offers"]);
    assert_eq!(document["schema"], "kurabe.offers/1");
    assert_eq!(document["offers"][1]["monthly"]["amount"], "770.88");
    with(&bed, &["offers", "--lang", "ja"])
        .code(0)
        .out_has(&["月額（税込）"]);
}

#[test]
fn a_claim_is_held_against_every_run_of_the_offer_and_one_run_decides_none() {
    let bed = bed(CATALOGUE);
    bed.replay("base", SERIES);
    with(&bed, &["label", "base", "--offer", "small"])
        .code(0)
        .err_has(&["was measured on the offer `small`"]);
    let one = with(&bed, &["show", "base"]).code(0);
    one.out_says(&[
        "Offer small: Cloud A, small, tokyo, 300 JPY a month with tax",
        "claims selftest.replay:ops_per_s >= 95: measured 100",
        "unclear; one run says nothing of other hours; about",
        "runs in all, 20 minutes or more apart, would tell",
        "claims os.pipe@1:ops_per_s >= 3: unclear: not measured",
    ]);
    with(&bed, &["label", "base", "--no-offer"]).code(0);
    visits(&bed, "small", 1.0);
    let claims = with(&bed, &["offers", "claims"]).code(0);
    claims.out_says(&[
        "claims selftest.replay:ops_per_s >= 95: measured 100",
        "met; this instance",
        "claims \"twice as fast\" (selftest.replay:ops_per_s >= 200 /s): measured",
        "missed; this instance",
    ]);
    let japanese = with(&bed, &["show", "small1", "--lang", "ja"]).code(0);
    japanese.out_has(&[
        "月額 300 JPY（税込）",
        "達成",
        "未達",
        "不明: 測定していません",
    ]);
    let document = json(&bed, &["offers", "claims"]);
    let claims = &document["offers"][0]["claims"];
    assert_eq!(claims[0]["verdict"], "met");
    assert_eq!(claims[1]["verdict"], "missed");
    assert_eq!(claims[2]["missing"], "not measured");
    assert_eq!(json(&bed, &["show", "small1"])["run"]["offer"], "small");
}

#[test]
fn value_for_money_names_what_is_dominated_and_what_one_more_buys() {
    let bed = three_offers();
    let args = ["offers", "value", "selftest.replay:ops_per_s"];
    let done = with(&bed, &args).code(0);
    done.out_says(&[
        "selftest.replay@1:ops_per_s: what a month buys, the cheapest first",
        "on the frontier",
        "dominated by large",
        "from small to large: one more vcpus costs 471 JPY a month and buys 60.1 ops/s",
    ]);
    let document = json(&bed, &args);
    let rows = document["value"]["rows"].as_array().unwrap();
    let places: Vec<&str> = rows
        .iter()
        .map(|row| row["place"].as_str().unwrap())
        .collect();
    assert_eq!(places, ["frontier", "frontier", "dominated"]);
    let per_price = rows[0]["per_price"]["value"].as_f64().unwrap();
    let value = rows[0]["figure"]["value"].as_f64().unwrap();
    assert!((per_price * 300.0 - value).abs() < 1e-9);
    let unknown = with(&bed, &["offers", "value", "os.pipe"]).code(4);
    unknown.out_says(&["not measured"]);
}

#[test]
fn figures_of_another_unit_do_not_stand_beside_one_another() {
    let bed = bed(CATALOGUE);
    let of = |offer: &str, unit: &str, estimate: &str| {
        let table = format!(
            "run,test,quantity,unit,better,estimate\nr,my.test,rate,{unit},higher,{estimate}\n"
        );
        std::fs::write(bed.path().join("figures.csv"), table).unwrap();
        with(&bed, &["import", "figures.csv", "--label", offer]).code(0);
        with(&bed, &["label", offer, "--offer", offer]).code(0);
    };
    of("small", "ops_per_s", "1000");
    of("dear", "ns", "500000");
    let document = json(&bed, &["offers", "value", "my.test:rate"]);
    assert_eq!(document["value"]["unit"], "ops_per_s");
    let rows = document["value"]["rows"].as_array().unwrap();
    let dear = rows.iter().find(|row| row["offer"] == "dear").unwrap();
    assert_eq!(dear["figure"], Value::Null);
    let missing = dear["missing"].as_str().unwrap();
    assert!(missing.contains("its unit or its good direction is another one"));
}

#[test]
fn the_cheapest_offer_that_is_known_to_do_is_recommended() {
    let bed = three_offers();
    let need = |level: &str| format!("selftest.replay:ops_per_s >= {level}");
    let check = |level: &str, code: i32, says: &[&str]| {
        let done = with(&bed, &["offers", "recommend", "--need", &need(level)]).code(code);
        done.out_says(says);
    };
    let met = "the cheapest offer that meets every need:";
    check("90", 0, &[&format!("{met} small, 300 JPY")]);
    check(
        "110",
        0,
        &[&format!("{met} large, 771 JPY"), "Refused small, 300 JPY"],
    );
    check(
        "100",
        0,
        &[&format!("{met} large"), "Unclear small", "runs in all"],
    );
    check("1000", 4, &["no offer is known to meet every need"]);
    let both = [
        "offers",
        "recommend",
        "--need",
        &need("90"),
        "--need",
        "os.pipe >= 3",
    ];
    let done = with(&bed, &both).code(4);
    done.out_says(&["os.pipe >= 3: unclear: not measured"]);
    let document = json(&bed, &["offers", "recommend", "--need", &need("110")]);
    assert_eq!(document["recommendation"]["cheapest"], "large");
}

#[test]
fn runs_are_ranked_with_their_prices() {
    let bed = three_offers();
    let runs = ["small0", "large0", "dear0", "small1"];
    let args = [&["rank", "selftest.replay:ops_per_s"], &runs[..]].concat();
    let done = with(&bed, &args).code(0);
    done.out_says(&[
        "1 large0",
        "2 dear0",
        "large 771 JPY",
        "rank: 1 + the runs proven better",
    ]);
    let document = json(&bed, &args);
    assert_eq!(document["schema"], "kurabe.ranking/1");
    let rows = document["tables"][0]["rows"].as_array().unwrap();
    let ranks: Vec<(u64, u64)> = rows
        .iter()
        .map(|row| {
            (
                row["best"].as_u64().unwrap(),
                row["worst"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(ranks[..2], [(1, 1), (2, 2)]);
    with(&bed, &["rank", "small0", "large0"])
        .code(0)
        .out_has(&["selftest.replay@1:ops_per_s"]);
    with(&bed, &["rank", "small0", "small0"])
        .code(2)
        .err_has(&["a second time"]);
    with(&bed, &["rank", "unixbench@1"])
        .code(2)
        .err_has(&["no run is named"]);
    with(&bed, &["rank", "nobody", "small0"])
        .code(2)
        .err_has(&["nobody"]);
    let sheet = "test,quantity,unit,estimate\nblog.requests,rate,ops_per_s,7012\n";
    std::fs::write(bed.path().join("blog.csv"), sheet).unwrap();
    with(&bed, &["rank", "blog.csv", "small0"])
        .code(4)
        .err_has(&["no two of these runs have a figure in common"]);
    let none = with(&bed, &["rank", "os.pipe:ops_per_s", "small0"]).code(4);
    none.out_says(&["not ranked", "not measured"]);
}

#[test]
fn an_offer_is_named_by_the_run_and_checked_where_there_is_a_catalogue() {
    let bed = bed(CATALOGUE);
    let run = [
        "run",
        "selftest.replay",
        "--passes",
        "1",
        "--quiet",
        "--label",
        "x",
    ];
    let refused = with(&bed, &[&run[..], &["--offer", "nope"]].concat()).code(2);
    refused.err_has(&["no `nope`", "hint: it has small, large, dear"]);
    with(&bed, &[&run[..], &["--offer", "large"]].concat()).code(0);
    assert_eq!(json(&bed, &["show", "x"])["run"]["offer"], "large");
    with(&bed, &["label", "x", "--offer", "nope"])
        .code(2)
        .err_has(&["no `nope`"]);
    with(&bed, &["label", "x", "--no-offer"])
        .code(0)
        .err_has(&["no offer any more"]);
    // Without a catalogue every name is fine, and the page says that nothing is known of it.
    bed.run(&["label", "x", "--offer", "nope"]).code(0);
    bed.run(&["show", "x"])
        .code(0)
        .out_has(&["offer nope (no catalogue has it"]);
}

#[test]
fn a_bad_catalogue_is_refused_with_file_offer_and_field() {
    let check = |old: &str, new: &str, needles: &[&str]| {
        assert!(CATALOGUE.contains(old), "{old}");
        let bed = bed(&CATALOGUE.replacen(old, new, 1));
        let done = with(&bed, &["offers"]).code(2).err_has(needles);
        assert_eq!(
            done.err
                .lines()
                .filter(|line| line.starts_with("hint: "))
                .count(),
            1,
            "{done:?}"
        );
        assert!(done.out.is_empty());
    };
    check(
        "= 300",
        "= -300",
        &["kurabe/offers.toml`: offer `small`: `price_per_month`: `-300` is negative"],
    );
    check(
        "= 300",
        "= nan",
        &["offer `small`: `price_per_month`", "no number"],
    );
    check(
        "price_per_month = 300",
        "",
        &["`price_per_month`: it is missing"],
    );
    check(
        "= 300",
        "= 300\nprice_per_hour = 1",
        &["`price_per_hour`: a price of a month is given too"],
    );
    check(
        "id = \"large\"",
        "id = \"small\"",
        &["offer `small`: `id`: another offer has this id"],
    );
    check(
        "USD = 150",
        "",
        &["offer `large`: `currency`: there is no rate from USD to JPY"],
    );
    check(
        "tax = \"10%\"",
        "",
        &["offer `large`: `tax`: it is missing"],
    );
    check(
        "at_least = 95",
        "at_least = 95\nat_most = 3",
        &["`claim 1: at_least`"],
    );
    check("plan = \"x\"", "plam = \"x\"", &["unknown field `plam`"]);
    let long = format!("= {}", "9".repeat(30));
    check("= 300", &long, &["line 13: a number is too large"]);
    check(CATALOGUE, "base = \"JPY\"", &["it lists no offer"]);
    let bed = Bed::new();
    bed.run(&["offers"]).code(2).err_has(&["hint: "]);
    let named = ["offers", "--offers", "nope.toml"];
    bed.run(&named)
        .code(2)
        .err_has(&["read offers `nope.toml`", "hint: "]);
    std::fs::create_dir(bed.path().join("dir")).unwrap();
    let dir = ["offers", "--offers", "dir"];
    bed.run(&dir)
        .code(2)
        .err_has(&["read offers `dir`: it is no regular file"]);
    let bed = super::offers::bed(CATALOGUE);
    for (args, why) in [
        (&["offers", "recommend"][..], "nothing is needed"),
        (&["offers", "value"], "of which figure?"),
        (&["offers", "value", "a b"], "is no TEST"),
        (&["offers", "list", "x"], "a metric is for"),
        (&["offers", "--need", "a.b >= 3"], "`--need` is for"),
        (&["offers", "recommend", "--need", "a.b > 3"], "is no need"),
        (
            &["offers", "recommend", "--need", "a.b >= nan"],
            "no number",
        ),
    ] {
        with(&bed, args).code(2).err_has(&[why]);
    }
    // A run stays readable beside a catalogue that is not.
    std::fs::write(bed.path().join("kurabe/offers.toml"), "offer = 3").unwrap();
    let run = [
        "run",
        "selftest.replay",
        "--passes",
        "1",
        "--quiet",
        "--label",
        "x",
    ];
    with(&bed, &run).code(0);
    bed.run(&["label", "x", "--offer", "small"]).code(0);
    with(&bed, &["show", "x"])
        .code(0)
        .err_has(&["going on without the catalogue of offers"]);
}

#[test]
fn a_mistyped_metric_is_an_error_that_names_the_nearest() {
    let bed = bed(CATALOGUE);
    let check = |args: &[&str], needles: &[&str]| {
        let done = with(&bed, args).code(2).err_has(needles);
        assert!(done.out.is_empty());
    };
    check(
        &["offers", "value", "os.pip:ops_per_s"],
        &[
            "`os.pip:ops_per_s`: neither a test of kurabe",
            "nearest: os.pipe",
        ],
    );
    check(
        &[
            "offers",
            "recommend",
            "--need",
            "storage.randread-4k:iosp >= 3",
        ],
        &["has no such figure", "nearest: storage.randread-4k:iops;"],
    );
    bed.replay("base", SERIES);
    check(
        &["rank", "os.pipe:ops", "base"],
        &["rank: `os.pipe:ops`", "nearest: os.pipe:ops_per_s"],
    );
    let claim = "[[offer.claim]]\nmetric = \"blog.requests:rate\"\nat_least = 3";
    std::fs::write(
        bed.path().join("kurabe/offers.toml"),
        CATALOGUE.replacen("[[offer.claim]]", &format!("{claim}\n\n[[offer.claim]]"), 1),
    )
    .unwrap();
    check(&["offers"], &["offer `small`: claim: `blog.requests:rate`"]);
    // What a run of the offer has is known.
    let sheet = "test,quantity,unit,estimate\nblog.requests,rate,ops_per_s,7012\n";
    std::fs::write(bed.path().join("blog.csv"), sheet).unwrap();
    bed.run(&["import", "blog.csv", "--label", "blog"]).code(0);
    with(&bed, &["label", "blog", "--offer", "small"]).code(0);
    let claims = with(&bed, &["offers", "claims"]).code(0);
    claims.out_says(&[
        "claims blog.requests:rate >= 3: measured 7.01 kops/s, unclear; another program measured it, which decides \
         nothing: run the test with kurabe",
    ]);
}

#[test]
fn a_catalogue_that_is_named_counts_for_the_page_too_and_lists_show_the_offer() {
    let bed = Bed::new();
    std::fs::write(bed.path().join("mine.toml"), CATALOGUE).unwrap();
    let run = [
        "run",
        "selftest.replay",
        "--passes",
        "1",
        "--quiet",
        "--label",
        "x",
    ];
    let price = "Offer dear: Cloud B, x, 900 JPY a month";
    bed.run(&[&run[..], &["--offer", "dear", "--offers", "mine.toml"]].concat())
        .code(0)
        .out_has(&[price]);
    bed.run(&["show", "x", "--offers", "mine.toml"])
        .code(0)
        .out_has(&[price]);
    bed.run(&["list"])
        .code(0)
        .out_says(&["label offer machine", "x dear"]);
    let list = bed.run(&["list", "--json"]).code(0).out;
    let list: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(list["runs"][0]["offer"], "dear");
    bed.run(&["label", "x", "--no-offer"]).code(0);
    bed.run(&["list"]).code(0).out_says(&["label machine"]);
}
