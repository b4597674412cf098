//! What can be rented: a catalogue that the user writes, as TOML.
//!
//! ```toml
//! base = "JPY"
//!
//! [rates]
//! USD = 157.2                     # one dollar in the base currency
//!
//! [[offer]]
//! id = "cloud-a-small"
//! provider = "Cloud A"
//! plan = "small"
//! region = "tokyo"
//! resources = { vcpus = 1, memory_gb = 1 }
//! price_per_month = 300           # or price_per_hour
//! currency = "JPY"
//! tax = "included"                # or what is added, such as "10%"
//!
//! [[offer.claim]]
//! metric = "storage.randread-4k:iops"
//! at_least = 10000                # or at_most = "0.26 ms"
//! ```
//!
//! Prices of resources (`price_per_month_of = { vcpus = 15, memory_gb = 12.60 }`) are multiplied with the amounts in
//! `resources`. Whatever is wrong names the file, the offer and the field.

use crate::bounds;
use crate::figure::{Bound, FigureName, Level, Requirement};
use crate::money::{Decimal, Money};
use crate::order::Order as _;
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use toml::Value;

/// Hours of a month: 365 days of 24 hours by twelve.
pub const HOURS_PER_MONTH: u32 = 730;

/// Everything that a file offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalogue {
    /// The currency in which prices are told beside one another.
    pub base: String,
    /// In the order of the file.
    pub offers: Vec<Offer>,
}

/// What can be rented.
#[derive(Clone, Debug, PartialEq)]
pub struct Offer {
    /// By what runs name it.
    pub id: String,
    /// Who rents it out.
    pub provider: String,
    /// What it is called there.
    pub plan: String,
    /// Where it stands.
    pub region: Option<String>,
    /// How much of what it has, by name: `vcpus`, `memory_gb`, `disk_gb` and whatever else is counted.
    pub resources: BTreeMap<String, Decimal>,
    /// A month of it with tax, as it is charged.
    pub charged: Money,
    /// The same in the base currency.
    pub monthly: Money,
    /// What the provider claims.
    pub claims: Vec<Claim>,
}

/// What a provider claims.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The figure, and the level that it is to keep.
    pub is: Requirement,
    /// In the provider's own words, where they are given.
    pub says: Option<String>,
}

/// What is wrong with a catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OfferError {
    /// The file, as the user named it.
    pub file: String,
    /// The offer, by its id or its place.
    pub offer: Option<String>,
    /// The field.
    pub field: Option<String>,
    /// What is wrong with it.
    pub what: String,
    /// What helps.
    pub hint: String,
}

impl fmt::Display for OfferError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "read offers `{}`", self.file)?;
        if let Some(offer) = &self.offer {
            write!(f, ": offer {offer}")?;
        }
        if let Some(field) = &self.field {
            write!(f, ": `{field}`")?;
        }
        write!(f, ": {}", self.what)
    }
}

impl std::error::Error for OfferError {}

/// A catalogue of offers as it is written.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// The currency in which prices are compared; may be left out where all offers are in one.
    base: Option<String>,
    /// What one unit of another currency is in it.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Number>")]
    rates: BTreeMap<String, Value>,
    /// What can be rented.
    #[serde(default)]
    #[schemars(required, length(min = 1))]
    offer: Vec<Entry>,
}

/// A number, or a text with one.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "it is the schema of a value that is read by hand")]
enum Number {
    Number(f64),
    Text(String),
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// By what runs name it.
    #[schemars(required)]
    id: Option<String>,
    /// Who rents it out.
    #[schemars(required)]
    provider: Option<String>,
    /// What it is called there.
    #[schemars(required)]
    plan: Option<String>,
    /// Where it stands.
    region: Option<String>,
    /// How much of what it has, such as `vcpus` and `memory_gb`.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, Number>")]
    resources: BTreeMap<String, Value>,
    /// The price of a month.
    #[schemars(with = "Option<Number>")]
    price_per_month: Option<Value>,
    /// The price of an hour, of which 730 are a month.
    #[schemars(with = "Option<Number>")]
    price_per_hour: Option<Value>,
    /// The price of a month for one of each resource.
    #[schemars(with = "Option<BTreeMap<String, Number>>")]
    price_per_month_of: Option<BTreeMap<String, Value>>,
    /// Likewise of an hour.
    #[schemars(with = "Option<BTreeMap<String, Number>>")]
    price_per_hour_of: Option<BTreeMap<String, Value>>,
    /// The code of the currency, such as `JPY`.
    #[schemars(required, regex(pattern = "^[A-Z]{3}$"))]
    currency: Option<String>,
    /// `included`, or what is added to the price, such as `10%`.
    #[schemars(required)]
    tax: Option<String>,
    /// What the provider claims.
    #[serde(default)]
    claim: Vec<ClaimEntry>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ClaimEntry {
    /// The figure, such as `storage.randread-4k:iops`.
    #[schemars(required)]
    metric: Option<String>,
    /// The least that it is to be: a number in the figure's base unit, or a text such as `0.26 ms`.
    #[schemars(with = "Option<Number>")]
    at_least: Option<Value>,
    /// The most.
    #[schemars(with = "Option<Number>")]
    at_most: Option<Value>,
    /// The provider's own words.
    says: Option<String>,
}

/// What is wrong with a field, before it is known of which offer: field, words, hint.
type Wrong = (String, String, String);

fn wrong<T>(field: &str, what: impl Into<String>, hint: &str) -> Result<T, Wrong> {
    Err((field.to_owned(), what.into(), hint.to_owned()))
}

impl Catalogue {
    /// Reads the text of `file`.
    pub fn parse(file: &str, text: &str) -> Result<Self, OfferError> {
        let at = |offer: Option<String>, (field, what, hint): Wrong| OfferError {
            file: file.to_owned(),
            offer,
            field: (!field.is_empty()).then_some(field),
            what,
            hint,
        };
        let read: File = toml::from_str(text).map_err(|error| {
            // The parser keeps whole numbers of 128 bits, and the rest of it those of 64.
            let what = match error.message() {
                long if long.contains("integer") && long.contains("i128") => {
                    "a number is too large"
                }
                short => short,
            };
            let line = error.span().and_then(|span| text.get(..span.start));
            let line = line.map_or(1, |before| 1 + before.matches('\n').count());
            let hint = "`docs/guide/offers.md` shows a whole file".to_owned();
            let what = format!("line {line}: {}", what.trim_end());
            at(None, (String::new(), what, hint))
        })?;
        if read.offer.is_empty() {
            let hint = "`[[offer]]` begins one; `docs/guide/offers.md` shows a whole file";
            return Err(at(
                None,
                (
                    String::new(),
                    "it lists no offer".to_owned(),
                    hint.to_owned(),
                ),
            ));
        }
        let mut charged = Vec::new();
        for (place, entry) in (1..).zip(&read.offer) {
            let name = match &entry.id {
                Some(id) => format!("`{id}`"),
                None => format!("number {place}"),
            };
            let offer = offer(entry).map_err(|wrong| at(Some(name.clone()), wrong))?;
            let same = |(other, _): &(Offer, String)| other.id == offer.id;
            if charged.iter().any(same) {
                let what = "another offer has this id".to_owned();
                let hint = "an id means one offer: give one of them another".to_owned();
                return Err(at(Some(name), ("id".to_owned(), what, hint)));
            }
            charged.push((offer, name));
        }
        let base = base(&read, &charged).map_err(|wrong| at(None, wrong))?;
        let rates = rates(&read, &base).map_err(|wrong| at(None, wrong))?;
        let mut offers = Vec::new();
        for (offer, name) in charged {
            let monthly = in_base(&offer.charged, &base, &rates);
            let monthly = monthly.map_err(|wrong| at(Some(name), wrong))?;
            offers.push(Offer { monthly, ..offer });
        }
        Ok(Self { base, offers })
    }

    /// The offer of this id.
    pub fn find(&self, id: &str) -> Option<&Offer> {
        self.offers.iter().find(|offer| offer.id == id)
    }
}

/// The currency in which prices are told: what the file says, or the one in which all offers are.
fn base(read: &File, offers: &[(Offer, String)]) -> Result<String, Wrong> {
    if let Some(base) = &read.base {
        return currency("base", base);
    }
    let mut currencies: Vec<&str> = offers
        .iter()
        .map(|(offer, _)| offer.charged.currency.as_str())
        .collect();
    currencies.order();
    currencies.dedup();
    match currencies[..] {
        [] => Ok("USD".to_owned()),
        [only] => Ok(only.to_owned()),
        _ => wrong(
            "base",
            format!("it is missing, and offers are in {}", currencies.join(", ")),
            "`base = \"JPY\"` above all tables names the currency in which prices are compared",
        ),
    }
}

fn rates(read: &File, base: &str) -> Result<BTreeMap<String, Decimal>, Wrong> {
    let mut rates = BTreeMap::from([(base.to_owned(), Decimal::ONE)]);
    for (name, value) in &read.rates {
        let field = format!("rates.{name}");
        let name = currency(&field, name)?;
        let rate = above_zero(&field, value)?;
        if name == base && rate != Decimal::ONE {
            return wrong(
                &field,
                "it is the base currency, of which one is one",
                "take the line out",
            );
        }
        rates.insert(name, rate);
    }
    Ok(rates)
}

fn in_base(money: &Money, base: &str, rates: &BTreeMap<String, Decimal>) -> Result<Money, Wrong> {
    let Some(rate) = rates.get(&money.currency) else {
        let hint = format!(
            "`[rates]` with `{} = ...` says what one of it is in {base}",
            money.currency
        );
        let what = format!("there is no rate from {} to {base}", money.currency);
        return wrong("currency", what, &hint);
    };
    Ok(Money {
        amount: in_range(money.amount.times(*rate))?,
        currency: base.to_owned(),
    })
}

fn in_range(amount: Option<Decimal>) -> Result<Decimal, Wrong> {
    amount.map_or_else(
        || wrong("price", "it is too large", "is it in the right unit?"),
        Ok,
    )
}

fn offer(entry: &Entry) -> Result<Offer, Wrong> {
    let id = name("id", entry.id.as_ref())?;
    let region = entry.region.as_ref();
    let mut resources = BTreeMap::new();
    for (resource, value) in &entry.resources {
        let field = format!("resources.{resource}");
        resources.insert(resource.clone(), above_zero(&field, value)?);
    }
    let charged = Money {
        amount: price(entry, &resources)?,
        currency: match &entry.currency {
            Some(code) => currency("currency", code)?,
            None => {
                return wrong(
                    "currency",
                    "it is missing",
                    "a code of three letters, such as `currency = \"JPY\"`",
                );
            }
        },
    };
    let claims = entry.claim.iter().enumerate();
    let claims: Result<_, _> = claims.map(|(at, entry)| claim(at + 1, entry)).collect();
    Ok(Offer {
        id,
        provider: name("provider", entry.provider.as_ref())?,
        plan: name("plan", entry.plan.as_ref())?,
        region: region.map(|text| name("region", Some(text))).transpose()?,
        resources,
        monthly: charged.clone(),
        charged,
        claims: claims?,
    })
}

/// A month with tax, in the offer's own currency.
fn price(entry: &Entry, resources: &BTreeMap<String, Decimal>) -> Result<Decimal, Wrong> {
    let month = entry.price_per_month.is_some() || entry.price_per_month_of.is_some();
    let hour = entry.price_per_hour.is_some() || entry.price_per_hour_of.is_some();
    match (month, hour) {
        (true, true) => {
            return wrong(
                "price_per_hour",
                "a price of a month is given too",
                "give one of them; an hour is taken 730 times for a month",
            );
        }
        (false, false) => {
            return wrong(
                "price_per_month",
                "it is missing",
                "give `price_per_month`, `price_per_hour`, or the prices of resources: `price_per_month_of`",
            );
        }
        _ => {}
    }
    let (field, whole, each) = if month {
        (
            "price_per_month",
            &entry.price_per_month,
            &entry.price_per_month_of,
        )
    } else {
        (
            "price_per_hour",
            &entry.price_per_hour,
            &entry.price_per_hour_of,
        )
    };
    let mut sum = match whole {
        Some(value) => not_negative(field, value)?,
        None => Decimal::ZERO,
    };
    for (resource, value) in each.iter().flatten() {
        let field = format!("{field}_of.{resource}");
        let Some(amount) = resources.get(resource) else {
            let what = format!("the offer has no resource `{resource}`");
            let hint = format!("`resources = {{ {resource} = ... }}` says how much of it there is");
            return wrong(&field, what, &hint);
        };
        let part = not_negative(&field, value)?.times(*amount);
        sum = in_range(part.and_then(|part| sum.plus(part)))?;
    }
    if sum == Decimal::ZERO {
        return wrong(
            field,
            "it is 0, so that nothing can be told per price",
            "what costs nothing needs no offer: a run may be without one",
        );
    }
    let hours = if month { 1 } else { HOURS_PER_MONTH };
    let factor = tax(entry.tax.as_deref())?;
    in_range(
        sum.times(Decimal::whole(hours))
            .and_then(|sum| sum.times(factor)),
    )
}

/// What tax makes of a price.
fn tax(text: Option<&str>) -> Result<Decimal, Wrong> {
    const HINT: &str =
        "`tax = \"included\"`, or what is added to the price, such as `tax = \"10%\"`";
    let Some(text) = text.map(str::trim) else {
        return wrong(
            "tax",
            "it is missing: prices with and without tax do not compare",
            HINT,
        );
    };
    if text == "included" {
        return Ok(Decimal::ONE);
    }
    let percent = text
        .strip_suffix('%')
        .map(|number| number.trim().parse::<Decimal>());
    match percent {
        Some(Ok(percent)) if percent >= Decimal::ZERO && percent <= Decimal::whole(100) => {
            let hundredth: Decimal = "0.01".parse().unwrap_or_default();
            in_range(
                percent
                    .times(hundredth)
                    .and_then(|part| part.plus(Decimal::ONE)),
            )
        }
        _ => wrong("tax", format!("`{text}` is no tax"), HINT),
    }
}

fn claim(place: usize, entry: &ClaimEntry) -> Result<Claim, Wrong> {
    let field = |name: &str| format!("claim {place}: {name}");
    let Some(metric) = &entry.metric else {
        return wrong(
            &field("metric"),
            "it is missing",
            "`metric = \"storage.randread-4k:iops\"`; `kurabe list metrics` names them",
        );
    };
    let figure: Result<FigureName, String> = metric.parse();
    let figure =
        figure.or_else(|why| wrong(&field("metric"), why, "`kurabe list metrics` names them"))?;
    let (name, bound, value) = match (&entry.at_least, &entry.at_most) {
        (Some(value), None) => ("at_least", Bound::AtLeast, value),
        (None, Some(value)) => ("at_most", Bound::AtMost, value),
        _ => {
            return wrong(
                &field("at_least"),
                "a claim has `at_least` or `at_most`, one of them",
                "`at_least = 10000` or `at_most = \"0.26 ms\"`",
            );
        }
    };
    let level: Result<Level, String> = number(value)
        .ok_or_else(|| format!("`{value}` is no number"))
        .and_then(|text| text.parse());
    let level = level.or_else(|why| {
        let hint = "a number, or a text with its unit, such as \"0.26 ms\" or \"500 MB/s\"";
        wrong(&field(name), why, hint)
    })?;
    let says = entry.says.as_ref();
    Ok(Claim {
        is: Requirement {
            figure,
            bound,
            level,
        },
        says: says
            .map(|text| self::name(&field("says"), Some(text)))
            .transpose()?,
    })
}

fn name(field: &str, text: Option<&String>) -> Result<String, Wrong> {
    let Some(text) = text else {
        return wrong(
            field,
            "it is missing",
            &format!("`{field} = \"...\"` says it"),
        );
    };
    bounds::label(text).or_else(|why| wrong(field, why, "shorten it to what a table can show"))
}

fn currency(field: &str, code: &str) -> Result<String, Wrong> {
    if code.len() == 3 && code.bytes().all(|byte| byte.is_ascii_uppercase()) {
        return Ok(code.to_owned());
    }
    let what = format!("`{code}` is no code of a currency");
    wrong(field, what, "three capital letters, such as `JPY`")
}

/// A number as it was written, shortest first: the nearest binary number has the decimals that were typed.
fn number(value: &Value) -> Option<String> {
    match value {
        Value::Integer(n) => Some(n.to_string()),
        Value::Float(x) => Some(x.to_string()),
        Value::String(text) => Some(text.clone()),
        _ => None,
    }
}

fn not_negative(field: &str, value: &Value) -> Result<Decimal, Wrong> {
    const HINT: &str = "a number such as 1315 or 12.60, without a currency";
    let text = number(value).unwrap_or_else(|| value.to_string());
    match text.parse::<Decimal>() {
        Ok(number) if number < Decimal::ZERO => wrong(field, format!("`{text}` is negative"), HINT),
        Ok(number) => Ok(number),
        Err(why) => wrong(field, format!("`{text}`: {why}"), HINT),
    }
}

fn above_zero(field: &str, value: &Value) -> Result<Decimal, Wrong> {
    let number = not_negative(field, value)?;
    if number == Decimal::ZERO {
        return wrong(field, "it is 0", "leave out what there is none of");
    }
    Ok(number)
}

#[cfg(test)]
mod tests;
