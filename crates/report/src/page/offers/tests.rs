//! The pages of offers and ranks in either language, and their documents.

use super::*;
use crate::json;
use crate::json::tests::assert_valid;
use crate::offers::{Measured, OffersView, recommend};
use crate::page::ranking;
use crate::render::text;
use crate::style::Style;
use model::host::Fact;
use model::offer::Catalogue;
use model::record::{Outcome, Run};

const CATALOGUE: &str = r#"
base = "JPY"
[rates]
USD = 150

[[offer]]
id = "a-small"
provider = "Cloud A"
plan = "small"
region = "tokyo"
resources = { vcpus = 1, memory_gb = 1 }
price_per_month = 300
currency = "JPY"
tax = "included"

[[offer.claim]]
metric = "a.read:iops"
at_least = 10000
says = "10,000 IOPS"

[[offer.claim]]
metric = "a.read:iops"
at_least = "1 kIOPS"

[[offer.claim]]
metric = "a.read:iops"
at_least = "9.4 kIOPS"

[[offer.claim]]
metric = "a.read:iops"
at_most = "3 ms"

[[offer]]
id = "a-large"
provider = "Cloud A"
plan = "large"
region = "tokyo"
resources = { vcpus = 2, memory_gb = 1 }
price_per_month = 4
currency = "USD"
tax = "10%"

[[offer]]
id = "b"
provider = "Cloud B"
plan = "x"
price_per_month = 900
currency = "JPY"
tax = "included"

[[offer]]
id = "c"
provider = "Cloud C"
plan = "new"
price_per_month = 100
currency = "JPY"
tax = "included"
"#;

/// A run of nine rounds around this level on this machine, so many hours later.
fn run(offer: &str, machine: &str, level: f64, hours: u64) -> Run {
    let metric = testkit::metric("iops", Unit::OpsPerSecond, model::spec::Better::Higher);
    let case = testkit::case("a.read@1", vec![metric]);
    let id = case.id.clone();
    let mut run = testkit::run(vec![case]);
    run.meta.id = format!("20261121-{hours:02}4311-{machine}");
    run.meta.offer = Some(offer.to_owned());
    run.meta.started.0 += hours * 3_600_000_000_000;
    run.host.identity.machine = Fact::Known(machine.to_owned());
    run.host.hostname = Fact::Known(machine.to_owned());
    let shares = [1.0, 1.01, 0.99, 1.0, 1.02, 0.98, 1.0, 1.01, 0.99];
    for (pass, share) in (1..).zip(shares) {
        let measured = testkit::measured(&[("iops", level * share)]);
        let mut round = testkit::round(&id, pass, Outcome::Done(measured));
        round.started.0 += hours * 3_600_000_000_000;
        run.rounds.push(round);
    }
    run
}

/// Four visits of a small server, five instances of a large one, one run of the third offer, none of the fourth.
fn runs() -> Vec<Run> {
    let levels = [9420.0, 9400.0, 9500.0, 9380.0];
    let visits = (0..)
        .zip(levels)
        .map(|(hour, level)| run("a-small", "aa", level, hour));
    let machines = ["b0", "b1", "b2", "b3", "b4"];
    let instances = (0_u32..).zip(machines);
    let instances =
        instances.map(|(at, machine)| run("a-large", machine, 14_000.0 + 50.0 * f64::from(at), 0));
    let one = std::iter::once(run("b", "cc", 12_000.0, 3));
    visits.chain(instances).chain(one).collect()
}

/// What each page says, and its documents, which are valid.
fn shown(lang: Lang) -> String {
    let catalogue = Catalogue::parse("offers.toml", CATALOGUE).unwrap();
    let runs = runs();
    let of = |offer| {
        let own = runs
            .iter()
            .filter(|run| run.meta.offer.as_ref() == Some(&catalogue.find(offer).unwrap().id));
        Measured::new(catalogue.find(offer).unwrap(), &own.collect::<Vec<_>>())
    };
    let measured: Vec<Measured<'_>> = ["a-small", "a-large", "b", "c"].map(of).into();
    let needs = ["a.read:iops >= 9000".parse().unwrap()];
    let view = OffersView {
        value: Some(crate::offers::value(
            &measured,
            &"a.read:iops".parse().unwrap(),
        )),
        recommendation: Some(recommend(&measured, &needs)),
        ..crate::offers::view(&catalogue, &measured)
    };
    let schema = |name: &str| {
        let mut files = json::schema::files().into_iter();
        files.find(|(file, _)| *file == name).unwrap().1
    };
    assert_valid(&json::offers(&view), &schema("kurabe.offers.1.json"));
    let ranks = crate::ranking::view(&runs[2..].iter().collect::<Vec<_>>(), &[], Some(&catalogue));
    assert_valid(&json::ranking(&ranks), &schema("kurabe.ranking.1.json"));
    let mut of_run = crate::view::view(&runs[0]);
    let without = super::of_run(&of_run, lang);
    of_run.offer = Some(view.offers[0].clone());
    let pages = [
        list(&view.offers, lang),
        claims(&view.offers, lang),
        value(view.value.as_ref().unwrap(), lang),
        recommendation(view.recommendation.as_ref().unwrap(), lang),
        super::of_run(&of_run, lang),
        without,
        ranking::page(&ranks, lang),
    ];
    let style = Style {
        width: 120,
        color: false,
    };
    pages.map(|page| text(&page, style)).join("\n----\n")
}

#[test]
fn pages_say_what_is_known_and_what_would_tell() {
    insta::assert_snapshot!("offers_en", shown(Lang::En));
    insta::assert_snapshot!("offers_ja", shown(Lang::Ja));
}
