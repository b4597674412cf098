//! `kurabe offers`: what can be rented, what providers claim, and what a price buys.

use crate::args::{OffersArgs, OffersWhat};
use crate::catalogue;
use crate::context::Context;
use crate::exit::{Exit, failure};
use crate::joined;
use crate::known::Known;
use crate::output;
use model::figure::FigureName;
use report::formats::Shown;
use report::offers::{self, OffersView};

pub(crate) fn run(context: &Context, args: &OffersArgs) -> anyhow::Result<Exit> {
    let format = args.format.chosen();
    let metric = metric(args)?;
    let catalogue = catalogue::needed(args.catalogue.file())?;
    let claims = catalogue.offers.iter().flat_map(|offer| &offer.claims);
    let asked = claims
        .map(|claim| &claim.is.figure)
        .chain(args.need.iter().map(|need| &need.figure))
        .chain(&metric);
    let mut quantities = asked.clone().map(|figure| figure.quantity.as_ref());
    let whole = quantities.any(catalogue::takes_latencies);
    let mut runs = catalogue::runs(context, |id| catalogue.find(id).is_some(), whole)?;
    if asked.clone().next().is_some() {
        joined::under_asked_names(&mut runs, asked);
    }
    let known = Known::of(&runs);
    known.check("value for money", &metric)?;
    known.check_levels("recommend an offer", &args.need)?;
    for offer in &catalogue.offers {
        catalogue::check_claims(offer, &known)?;
    }
    let claims = catalogue.offers.iter().flat_map(|offer| &offer.claims);
    if args.what == OffersWhat::Claims && claims.count() == 0 {
        output::say("no offer of the catalogue has a claim");
    }
    let measured = catalogue::measured(&catalogue, &runs);
    let view = OffersView {
        value: metric.map(|metric| offers::value(&measured, &metric)),
        recommendation: (args.what == OffersWhat::Recommend)
            .then(|| offers::recommend(&measured, &args.need)),
        ..offers::view(&catalogue, &measured)
    };
    let shown = match args.what {
        OffersWhat::Claims => Shown::Claims(&view),
        OffersWhat::List | OffersWhat::Value | OffersWhat::Recommend => Shown::Offers(&view),
    };
    output::print(&format.draw(context, shown)?)?;
    Ok(exit(&view))
}

/// What was asked that cannot be told yet ends as what is incomplete.
fn exit(view: &OffersView) -> Exit {
    let none = view
        .recommendation
        .as_ref()
        .filter(|one| one.cheapest.is_none());
    if none.is_some() {
        output::say("no offer is known to meet every need");
        return Exit::Incomplete;
    }
    let value = view.value.as_ref();
    if value.is_some_and(|value| value.rows.iter().all(|row| row.figure.is_none())) {
        output::say("nothing can be told: no run of an offer has such a figure");
        return Exit::Incomplete;
    }
    Exit::Ok
}

/// The figure of `value`; refuses options that belong to another question.
fn metric(args: &OffersArgs) -> anyhow::Result<Option<FigureName>> {
    let usage = |text: &str, hint: &str| Err(failure(Exit::Usage, text, Some(hint)));
    match (args.what, &args.metric, args.need.is_empty()) {
        (OffersWhat::Recommend, _, true) => usage(
            "recommend an offer: nothing is needed",
            "`kurabe offers recommend --need 'storage.randread-4k:iops >= 5000'`",
        ),
        (OffersWhat::Value, None, _) => usage(
            "value for money: of which figure?",
            "`kurabe offers value storage.randread-4k:iops`; `kurabe list metrics` names them",
        ),
        (OffersWhat::Value, Some(text), true) => match text.parse() {
            Ok(name) => Ok(Some(name)),
            Err(why) => usage(
                &format!("value for money: {why}"),
                "`kurabe list metrics` names figures",
            ),
        },
        (OffersWhat::List | OffersWhat::Claims | OffersWhat::Recommend, Some(_), _) => usage(
            "a metric is for `kurabe offers value METRIC`",
            "`recommend` takes `--need`",
        ),
        (OffersWhat::List | OffersWhat::Claims | OffersWhat::Value, _, false) => usage(
            "`--need` is for `kurabe offers recommend`",
            "`kurabe offers recommend --need 'unixbench@1 >= 1500'`",
        ),
        _ => Ok(None),
    }
}
