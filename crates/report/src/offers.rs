//! What runs say of offers: claims and needs, value for money, and which offer to take. The same values are shown on
//! pages and written into documents.

use crate::number;
use crate::why_not::WhyNot;
use dialects::unixbench;
use model::estimate::Interval;
use model::figure::{FigureName, Requirement};
use model::money::Money;
use model::offer::{Catalogue, Offer};
use model::order::{Keyed as _, Order as _};
use model::record::Run;
use model::spec::{Better, MetricClass};
use model::units::Unit;
use schemars::JsonSchema;
use serde::Serialize;
use stats::figure::{Absent, Figure, Figures, What};
use stats::server::{self, Held, Judged, Standing};
use stats::value::{self, Place, Priced, Ranged};
use std::collections::BTreeMap;

/// The figure of this name, which may be an index.
pub fn find<'a>(figures: &Figures<'a>, name: &FigureName) -> Result<Figure<'a>, Absent> {
    if name.test != unixbench::INDEX_ID || name.quantity.is_some() {
        return figures.find(name);
    }
    let copies = name.copies.unwrap_or(1);
    let Some((cases, passes)) = unixbench::by_pass(figures.run(), copies) else {
        return figures.find(&FigureName {
            test: unixbench::TYPED_INDEX.to_owned(),
            copies: Some(copies),
            quantity: None,
        });
    };
    let what = What {
        name: FigureName {
            copies: Some(copies),
            ..name.clone()
        },
        unit: Unit::Number,
        better: Better::Higher,
        class: MetricClass::System,
        cases,
    };
    let found = figures.of_passes(what, &passes);
    found.ok_or_else(|| Absent::NoValue("no pass is complete".to_owned()))
}

/// The quantity by which a figure is scaled: what has none is an index.
pub(crate) fn quantity(what: &What<'_>) -> String {
    let quantity = what.name.quantity.clone();
    quantity.unwrap_or_else(|| number::INDEX.to_owned())
}

/// An offer with the runs that were measured on it.
pub struct Measured<'a> {
    /// The offer.
    pub offer: &'a Offer,
    /// Its runs, the oldest first.
    pub runs: Vec<Figures<'a>>,
}

impl<'a> Measured<'a> {
    /// An offer and its runs.
    pub fn new(offer: &'a Offer, runs: &[&'a Run]) -> Self {
        Self {
            offer,
            runs: runs.iter().map(|run| Figures::of(run)).collect(),
        }
    }

    /// What its runs show of a figure: those that measured the same as the latest one that has it.
    fn show(&self, name: &FigureName) -> Result<(What<'a>, Standing), WhyNot> {
        let (mut found, mut absent, mut set_otherwise) = (Vec::new(), None, false);
        for run in &self.runs {
            match find(run, name) {
                // A claim is about the test as it is; what was set otherwise is another test.
                Ok(figure)
                    if figure
                        .what
                        .cases
                        .iter()
                        .any(|case| !case.in_place_of.is_empty()) =>
                {
                    set_otherwise = true;
                }
                Ok(figure) => found.push(figure),
                Err(other) => absent = Some(other),
            }
        }
        let Some(latest) = found.last() else {
            if set_otherwise {
                return Err(WhyNot::SetOtherwise);
            }
            return Err(absent.map_or(WhyNot::NoRun, WhyNot::Absent));
        };
        let alike: Vec<&Figure<'_>> = found.iter().filter(|one| one.is_alike(latest)).collect();
        Ok((latest.what.clone(), server::standing(&alike)))
    }

    /// Holds its runs against what somebody needs or claims.
    fn check(&self, is: &Requirement, says: Option<&String>) -> Checked {
        let without = |why: Option<WhyNot>| Checked {
            is: is.to_string(),
            says: says.cloned(),
            unit: None,
            quantity: String::new(),
            level: is.level.value,
            figure: None,
            missing: why,
            judged: Judged {
                verdict: Held::Unclear,
                needed: None,
                minutes_told: false,
            },
        };
        match self.show(&is.figure) {
            Err(why) => without(Some(why)),
            Ok((what, _)) if !is.level.fits(what.unit) => without(Some(WhyNot::NoLevel {
                level: is.level.text.clone(),
                unit: what.unit,
            })),
            Ok((what, figure)) => Checked {
                judged: figure.judged(is.bound, &is.level),
                unit: Some(what.unit),
                quantity: quantity(&what),
                figure: Some(figure),
                ..without(None)
            },
        }
    }
}

/// Something that was claimed or is needed, and what runs say of it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Checked {
    /// The figure and its level, such as `storage.randread-4k:iops >= 10000`.
    #[serde(rename = "requirement")]
    pub is: String,
    /// The provider's own words; null where none are given.
    pub says: Option<String>,
    /// The unit of the figure; null where there is none.
    pub unit: Option<Unit>,
    /// Which quantity it is; decides the word for the unit.
    #[serde(skip)]
    pub quantity: String,
    /// The level, in that unit.
    pub level: f64,
    /// What the runs show; null where `missing` says why.
    pub figure: Option<Standing>,
    /// Why there is no figure; null where there is one.
    #[schemars(with = "Option<String>")]
    pub missing: Option<WhyNot>,
    /// Whether it holds.
    #[serde(flatten)]
    pub judged: Judged,
}

/// An offer as documents have it.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OfferPart {
    /// By what runs name it.
    pub id: String,
    /// Who rents it out.
    pub provider: String,
    /// What it is called there.
    pub plan: String,
    /// Where it stands; null where nobody says.
    pub region: Option<String>,
    /// How much of what it has, exactly.
    pub resources: BTreeMap<String, String>,
    /// A month with tax, as it is charged.
    pub charged: Money,
    /// The same in the base currency.
    pub monthly: Money,
    /// The runs that name it, by id, the oldest first.
    pub runs: Vec<String>,
    /// What its provider claims, and what these runs say of that.
    pub claims: Vec<Checked>,
}

/// An offer, and what its runs say of its claims.
pub fn part(measured: &Measured<'_>) -> OfferPart {
    let offer = measured.offer;
    let resources = offer.resources.iter();
    let runs = measured.runs.iter();
    let claims = offer.claims.iter();
    OfferPart {
        id: offer.id.clone(),
        provider: offer.provider.clone(),
        plan: offer.plan.clone(),
        region: offer.region.clone(),
        resources: resources
            .map(|(name, amount)| (name.clone(), amount.to_string()))
            .into_map(),
        charged: offer.charged.clone(),
        monthly: offer.monthly.clone(),
        runs: runs.map(|run| run.run().meta.id.clone()).collect(),
        claims: claims
            .map(|claim| measured.check(&claim.is, claim.says.as_ref()))
            .collect(),
    }
}

/// The offers of runs that are shown together, each with its runs.
pub fn of_runs<'a>(runs: &[&'a Run], catalogue: &'a Catalogue) -> Vec<Measured<'a>> {
    let mut runs = runs.to_vec();
    runs.order_by_key(|run| run.meta.started);
    let offers = catalogue.offers.iter().map(|offer| {
        let own = runs.iter().copied();
        let own = own.filter(|run| run.meta.offer.as_ref() == Some(&offer.id));
        (offer, own.collect::<Vec<_>>())
    });
    let rented = offers.filter(|(_, runs)| !runs.is_empty());
    rented
        .map(|(offer, runs)| Measured::new(offer, &runs))
        .collect()
}

/// The figures that people quote of these offers' runs, each against their prices, where two offers have it.
pub fn values(offers: &[Measured<'_>]) -> Vec<ValueView> {
    let runs = offers.iter().flat_map(|offer| &offer.runs);
    let first = runs.map(Figures::run).next();
    let names = crate::ranking::headlines(first.as_slice());
    let values = names.iter().map(|name| value(offers, name));
    let measured = |view: &ValueView| view.rows.iter().filter(|row| row.figure.is_some()).count();
    values.filter(|view| measured(view) > 1).collect()
}

/// Every offer, and what was asked of them.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OffersView {
    /// `kurabe.offers/1`.
    pub schema: &'static str,
    /// The currency in which prices are told beside one another.
    pub base: String,
    /// Every offer, in the order of the catalogue.
    pub offers: Vec<OfferPart>,
    /// Value for money; null where nobody asked.
    pub value: Option<ValueView>,
    /// Which offer to take; null where nobody asked.
    pub recommendation: Option<Recommendation>,
}

/// Every offer of a catalogue.
pub fn view(catalogue: &Catalogue, offers: &[Measured<'_>]) -> OffersView {
    OffersView {
        schema: crate::json::OFFERS_SCHEMA,
        base: catalogue.base.clone(),
        offers: offers.iter().map(part).collect(),
        value: None,
        recommendation: None,
    }
}

/// A figure against the price of each offer.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ValueView {
    /// The figure.
    pub metric: String,
    /// Its unit; null where no offer has the figure.
    pub unit: Option<Unit>,
    /// Which quantity it is.
    #[serde(skip)]
    pub quantity: String,
    /// In which direction it is good; `None` where no offer has the figure.
    #[serde(skip)]
    pub better: Option<Better>,
    /// One for each offer, the cheapest first.
    pub rows: Vec<ValueRow>,
    /// What one more of a resource buys, between two offers of one provider that differ in that alone.
    pub steps: Vec<Step>,
}

/// An offer's figure and price.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ValueRow {
    /// The offer's id.
    pub offer: String,
    /// A month with tax, in the base currency.
    pub monthly: Money,
    /// What its runs show; null where `missing` says why.
    pub figure: Option<Standing>,
    /// Why there is no figure.
    #[schemars(with = "Option<String>")]
    pub missing: Option<WhyNot>,
    /// The figure per unit of the currency and month; null for what is better the less there is of it.
    pub per_price: Option<Ranged>,
    /// Where it stands among the others.
    #[serde(flatten)]
    pub place: Stands,
}

/// Where an offer stands, price against performance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "place", rename_all = "snake_case")]
pub enum Stands {
    /// No other one costs as little and may be as good.
    Frontier,
    /// Another one costs no more and is proven not to be worse.
    Dominated {
        /// That one's id.
        by: String,
    },
    /// Nobody can tell.
    Unclear,
    /// It has no figure.
    NotMeasured,
}

impl Stands {
    /// True where more is known of it than that it was measured.
    pub const fn is_known(&self) -> bool {
        matches!(self, Self::Frontier | Self::Dominated { .. })
    }
}

/// What one more of a resource buys.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Step {
    /// From this offer.
    pub from: String,
    /// To that one.
    pub to: String,
    /// The resource.
    pub resource: String,
    /// How much one more of it costs a month.
    pub costs: Money,
    /// How much more of the figure it buys, in its unit.
    pub buys: Ranged,
}

/// A figure against the price of each of these offers.
pub fn value(offers: &[Measured<'_>], name: &FigureName) -> ValueView {
    let mut sorted: Vec<&Measured<'_>> = offers.iter().collect();
    sorted.order_by_key(|one| one.offer.monthly.amount);
    let mut shown: Vec<_> = sorted.iter().map(|one| one.show(name)).collect();
    let what = shown
        .iter()
        .find_map(|found| Some(found.as_ref().ok()?.0.clone()));
    let declared = |what: &What<'_>| (what.unit, what.better);
    let first = what.as_ref().map(declared);
    for found in &mut shown {
        if found
            .as_ref()
            .is_ok_and(|(what, _)| Some(declared(what)) != first)
        {
            *found = Err(WhyNot::DeclaredOtherwise);
        }
    }
    let better = what.as_ref().map_or(Better::Higher, |what| what.better);
    let priced = |at: usize| {
        let (_, standing) = shown[at].as_ref().ok()?;
        Some(Priced {
            price: sorted[at].offer.monthly.amount.approx(),
            value: standing.value,
            interval: standing.decides(),
        })
    };
    let measured: Vec<(usize, Priced)> = (0..sorted.len())
        .filter_map(|at| Some((at, priced(at)?)))
        .collect();
    let all: Vec<Priced> = measured.iter().map(|&(_, priced)| priced).collect();
    let places = value::places(&all, better);
    let price = |at: usize| sorted[at].offer.monthly.amount.approx();
    let unmeasured_costs_no_more = |at: usize| {
        (0..sorted.len()).any(|other| shown[other].is_err() && price(other) <= price(at))
    };
    let row = |at: usize| {
        let offer = sorted[at].offer;
        let among = measured.iter().position(|&(place, _)| place == at);
        let standing = shown[at].as_ref().ok().map(|(_, standing)| standing);
        let per_price = among.zip(standing).and_then(|(among, standing)| {
            let shown = Priced {
                interval: standing.interval,
                ..all[among]
            };
            value::per_price(&shown, better)
        });
        ValueRow {
            offer: offer.id.clone(),
            monthly: offer.monthly.clone(),
            figure: standing.cloned(),
            missing: shown[at].as_ref().err().cloned(),
            per_price,
            place: match among.map(|among| places[among]) {
                None => Stands::NotMeasured,
                Some(Place::Frontier) if unmeasured_costs_no_more(at) => Stands::Unclear,
                Some(Place::Frontier) => Stands::Frontier,
                Some(Place::Unclear) => Stands::Unclear,
                Some(Place::Dominated(by)) => Stands::Dominated {
                    by: sorted[measured[by].0].offer.id.clone(),
                },
            },
        }
    };
    ValueView {
        metric: what
            .as_ref()
            .map_or_else(|| name.to_string(), |what| what.name.to_string()),
        unit: what.as_ref().map(|what| what.unit),
        better: what.as_ref().map(|what| what.better),
        quantity: what.as_ref().map(quantity).unwrap_or_default(),
        rows: (0..sorted.len()).map(row).collect(),
        steps: steps(
            &measured
                .iter()
                .map(|(at, one)| (sorted[*at].offer, *one))
                .collect::<Vec<_>>(),
        ),
    }
}

/// What one more of a resource buys between neighbours: offers of one provider and region that differ in it alone.
fn steps(offers: &[(&Offer, Priced)]) -> Vec<Step> {
    let mut steps = Vec::new();
    for (at, (from, here)) in offers.iter().enumerate() {
        let mut told: Vec<&String> = Vec::new();
        for (to, there) in &offers[at + 1..] {
            let one_house = from.provider == to.provider && from.region == to.region;
            let Some(resource) = only_difference(from, to).filter(|_| one_house) else {
                continue;
            };
            if told.contains(&resource) {
                continue;
            }
            told.push(resource);
            let amount = |offer: &Offer| offer.resources[resource].approx();
            let more = amount(to) - amount(from);
            let costs = (there.price - here.price) / more;
            let (Some(buys), Ok(costs)) = (
                value::of_one_more(here, there, more),
                format!("{costs:.6}").parse(),
            ) else {
                continue;
            };
            steps.push(Step {
                from: from.id.clone(),
                to: to.id.clone(),
                resource: resource.clone(),
                costs: Money {
                    amount: costs,
                    currency: from.monthly.currency.clone(),
                },
                buys,
            });
        }
    }
    steps
}

/// The one resource in which two offers differ; `None` where they differ in more, or in none.
fn only_difference<'a>(one: &'a Offer, other: &Offer) -> Option<&'a String> {
    if !one.resources.keys().eq(other.resources.keys()) {
        return None;
    }
    let differ = |(name, amount): &(&String, _)| other.resources.get(*name) != Some(*amount);
    let mut differing = one.resources.iter().filter(differ);
    match (differing.next(), differing.next()) {
        (Some((name, _)), None) => Some(name),
        _ => None,
    }
}

/// Which offer to take.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Recommendation {
    /// What is needed.
    pub needs: Vec<String>,
    /// The cheapest offer of which every need is met; null where there is none.
    pub cheapest: Option<String>,
    /// One for each offer, the cheapest first.
    pub rows: Vec<Candidate>,
}

/// An offer, and whether it meets what is needed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Candidate {
    /// The offer's id.
    pub offer: String,
    /// A month with tax, in the base currency.
    pub monthly: Money,
    /// `met` where every need is, `missed` where one is not, else `unclear`.
    pub all: Held,
    /// Each need.
    pub needs: Vec<Checked>,
}

/// The cheapest of these offers that meets every need.
pub fn recommend(offers: &[Measured<'_>], needs: &[Requirement]) -> Recommendation {
    let mut rows: Vec<(_, Candidate)> = Vec::new();
    for one in offers {
        let checked: Vec<Checked> = needs.iter().map(|need| one.check(need, None)).collect();
        let any = |verdict| checked.iter().any(|one| one.judged.verdict == verdict);
        let all = if any(Held::Missed) {
            Held::Missed
        } else if any(Held::Unclear) {
            Held::Unclear
        } else {
            Held::Met
        };
        let candidate = Candidate {
            offer: one.offer.id.clone(),
            monthly: one.offer.monthly.clone(),
            all,
            needs: checked,
        };
        rows.push((one.offer.monthly.amount, candidate));
    }
    rows.order_by_key(|(price, _)| *price);
    let rows: Vec<Candidate> = rows.into_iter().map(|(_, row)| row).collect();
    let cheapest = rows.iter().find(|row| row.all == Held::Met);
    Recommendation {
        needs: needs.iter().map(ToString::to_string).collect(),
        cheapest: cheapest.map(|row| row.offer.clone()),
        rows,
    }
}

/// The value and its interval as an estimate, for a scale.
pub(crate) fn estimate(value: f64, interval: Option<Interval>) -> model::estimate::Estimate {
    model::estimate::Estimate {
        value,
        interval,
        n: 0,
    }
}
