//! Catalogues that are read, and those that are refused.

use super::*;

const SMALL: &str = r#"
[[offer]]
id = "a-small"
provider = "Cloud A"
plan = "small"
price_per_month = 300
currency = "JPY"
tax = "included"
"#;

fn read(text: &str) -> Result<Catalogue, OfferError> {
    Catalogue::parse("offers.toml", text)
}

/// The first offer of the file in which `old` is `new`.
fn changed(old: &str, new: &str) -> Result<Offer, OfferError> {
    assert!(SMALL.contains(old), "{old}");
    Ok(read(&SMALL.replace(old, new))?.offers.remove(0))
}

#[test]
fn a_month_is_told_with_tax_in_one_currency() {
    let check = |old: &str, new: &str, charged: &str, monthly: &str| {
        let offer = changed(old, new).unwrap();
        let found = (offer.charged.to_string(), offer.monthly.to_string());
        assert_eq!(found, (charged.to_owned(), monthly.to_owned()), "{new}");
    };
    check("300", "300", "300 JPY", "300 JPY");
    check("\"included\"", "\"10%\"", "330 JPY", "330 JPY");
    check("\"included\"", "\"0 %\"", "300 JPY", "300 JPY");
    check(
        "price_per_month = 300",
        "price_per_hour = 0.5",
        "365 JPY",
        "365 JPY",
    );
    check("300", "\"1,315\"", "1315 JPY", "1315 JPY");
    let by_resource = "price_per_month_of = { vcpus = 15, memory_gb = 12.60 }\n\
                       resources = { vcpus = 2, memory_gb = 4, disk_gb = 40 }";
    check("price_per_month = 300", by_resource, "80 JPY", "80 JPY");
    let both = format!("price_per_month = 10\n{by_resource}");
    check("price_per_month = 300", &both, "90 JPY", "90 JPY");
}

#[test]
fn rates_come_from_the_file_and_are_exact() {
    let dollars = SMALL
        .replace("JPY", "USD")
        .replace("a-small", "b")
        .replace("300", "80.40");
    let text = format!("base = \"JPY\"\n[rates]\nUSD = 157.25\n{SMALL}{dollars}");
    let found = read(&text).unwrap();
    let told: Vec<String> = found
        .offers
        .iter()
        .map(|one| one.monthly.amount.to_string())
        .collect();
    assert_eq!(
        (found.base.as_str(), told.as_slice()),
        ("JPY", &["300".to_owned(), "12642.9".to_owned()][..])
    );
    assert_eq!(found.find("b").unwrap().charged.to_string(), "80.40 USD");
    assert!(found.find("c").is_none());
    let none = read("").unwrap_err().to_string();
    assert!(none.contains("it lists no offer"), "{none}");
}

#[test]
fn claims_are_read_with_their_units() {
    let claims = "tax = \"included\"\n[[offer.claim]]\nmetric = \"storage.randread-4k:iops\"\nat_least = 10000\n\
                  says = \"4k random read: 10,000 IOPS\"\n[[offer.claim]]\n\
                  metric = \"storage.randread-4k:lat_ns_mode\"\nat_most = \"0.26 ms\"";
    let offer = changed("tax = \"included\"", claims).unwrap();
    let told: Vec<String> = offer
        .claims
        .iter()
        .map(|claim| claim.is.to_string())
        .collect();
    assert_eq!(
        told,
        [
            "storage.randread-4k:iops >= 10000",
            "storage.randread-4k:lat_ns_mode <= 0.26 ms"
        ]
    );
    assert_eq!(
        offer.claims[0].says.as_deref(),
        Some("4k random read: 10,000 IOPS")
    );
}

#[test]
fn what_is_wrong_names_file_offer_and_field_and_says_what_helps() {
    let check = |old: &str, new: &str, field: &str, why: &str| {
        let error = changed(old, new).unwrap_err();
        let text = error.to_string();
        let begins = "read offers `offers.toml`: offer `";
        assert!(
            text.starts_with(begins) && text.contains(why),
            "{new}: {text}"
        );
        assert_eq!(error.field.as_deref(), Some(field), "{new}: {text}");
        assert!(!error.hint.is_empty(), "{new}");
    };
    let price = "price_per_month";
    for (value, why) in [
        ("-3", "`-3` is negative"),
        ("-0.5", "is negative"),
        ("nan", "no number"),
        ("inf", "no number"),
        ("-inf", "no number"),
        ("true", "no number"),
        ("[]", "no number"),
        ("\"three\"", "no number"),
        ("\"300 JPY\"", "no number"),
        ("0", "it is 0"),
        ("1e300", "too large"),
        ("0.00000000001", "more than nine decimals"),
    ] {
        check("300", value, price, why);
    }
    check("price_per_month = 300", "", price, "missing");
    let both = "price_per_month = 300\nprice_per_hour = 1";
    check(
        "price_per_month = 300",
        both,
        "price_per_hour",
        "a month is given too",
    );
    let of = "price_per_month_of = { vcpus = 15 }";
    check(
        "price_per_month = 300",
        of,
        "price_per_month_of.vcpus",
        "no resource `vcpus`",
    );
    check(
        "price_per_month = 300",
        "price_per_month = 1\nresources = { vcpus = -1 }",
        "resources.vcpus",
        "negative",
    );
    check("currency = \"JPY\"", "", "currency", "missing");
    check("\"JPY\"", "\"yen\"", "currency", "no code");
    check("tax = \"included\"", "", "tax", "missing");
    check("\"included\"", "\"-5%\"", "tax", "no tax");
    check("\"included\"", "\"10\"", "tax", "no tax");
    check("plan = \"small\"", "", "plan", "missing");
    check("\"Cloud A\"", "\"\"", "provider", "expected 1 to 80");
    check("\"a-small\"", "\"a\\u0007b\"", "id", "expected 1 to 80");
    let claim = |text: &str| format!("tax = \"included\"\n[[offer.claim]]\n{text}");
    for (text, field, why) in [
        ("at_least = 3", "claim 1: metric", "missing"),
        (
            "metric = \"a b\"\nat_least = 3",
            "claim 1: metric",
            "is no TEST",
        ),
        ("metric = \"a.b\"", "claim 1: at_least", "one of them"),
        (
            "metric = \"a.b\"\nat_least = 3\nat_most = 4",
            "claim 1: at_least",
            "one of them",
        ),
        (
            "metric = \"a.b\"\nat_least = -3",
            "claim 1: at_least",
            "no level",
        ),
        (
            "metric = \"a.b\"\nat_most = \"3 x\"",
            "claim 1: at_most",
            "no unit",
        ),
    ] {
        check("tax = \"included\"", &claim(text), field, why);
    }
}

#[test]
fn what_is_wrong_with_several_offers_is_said_too() {
    let check = |text: &str, why: &str| {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    };
    check(
        &format!("{SMALL}{SMALL}"),
        "offer `a-small`: `id`: another offer has this id",
    );
    let dollars = SMALL.replace("JPY", "USD").replace("a-small", "b");
    check(
        &format!("{SMALL}{dollars}"),
        "`base`: it is missing, and offers are in JPY, USD",
    );
    let base = format!("base = \"JPY\"\n{SMALL}{dollars}");
    check(
        &base,
        "offer `b`: `currency`: there is no rate from USD to JPY",
    );
    let rates = |rate: &str| format!("base = \"JPY\"\n[rates]\n{rate}\n{SMALL}{dollars}");
    check(&rates("USD = nan"), "`rates.USD`: `NaN`: it is no number");
    check(&rates("USD = 0"), "`rates.USD`: it is 0");
    check(&rates("usd = 3"), "`rates.usd`: `usd` is no code");
    check(&rates("JPY = 2"), "`rates.JPY`: it is the base currency");
    check(
        "[[offer]]\nprovider = \"x\"",
        "offer number 1: `id`: it is missing",
    );
    check("[[offer]]\nprice = 3", "unknown field `price`");
    check("[[offer", "read offers `offers.toml`: line 1: ");
    check("offer = 3", "invalid type");
}
