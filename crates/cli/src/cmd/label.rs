//! `kurabe label RUN NAME`: calls a kept run by a name. What was measured stays as it is.

use crate::args::LabelArgs;
use crate::catalogue;
use crate::context::Context;
use crate::exit::Exit;
use crate::output;
use report::Lang;

pub(crate) fn run(context: &Context, args: &LabelArgs) -> anyhow::Result<Exit> {
    let store = context.store_to_change(args.others.dir_of_others)?;
    let id = store.resolve(&args.run)?;
    if let Some(offer) = &args.offer {
        catalogue::offer(offer, args.catalogue.file())?;
    }
    if args.offer.is_some() || args.no_offer {
        store.set_offer(&id, args.offer.as_deref())?;
        output::say(&match (&args.offer, context.lang) {
            (Some(offer), Lang::En) => format!("run {id} was measured on the offer `{offer}`"),
            (Some(offer), Lang::Ja) => format!("測定 {id} のオファーは `{offer}` です"),
            (None, Lang::En) => format!("run {id} names no offer any more"),
            (None, Lang::Ja) => format!("測定 {id} のオファーを外しました"),
        });
        if args.name.is_none() && !args.none {
            return Ok(Exit::Ok);
        }
    }
    store.set_label(&id, args.name.as_deref())?;
    let Some(name) = &args.name else {
        output::say(&match context.lang {
            Lang::En => format!("run {id} has no name any more"),
            Lang::Ja => format!("測定 {id} の名前を外しました"),
        });
        return Ok(Exit::Ok);
    };
    output::say(&match context.lang {
        Lang::En => format!("run {id} is called `{name}`"),
        Lang::Ja => format!("測定 {id} の名前は `{name}` です"),
    });
    let meant = store.meant(name)?;
    if let Some(other) = meant.hidden.first() {
        output::say(&match context.lang {
            Lang::En => format!(
                "note: the id of run {other} ends so too; `{name}` means the run of that name, and `kurabe rm` takes neither by it"
            ),
            Lang::Ja => format!(
                "注: 測定 {other} の ID もこの文字列で終わります。`{name}` はこの名前の実行を指し、`kurabe rm` はどちらも削除しません"
            ),
        });
    }
    if !meant.alike.is_empty() {
        let (runs, latest) = (meant.alike.len() + 1, meant.id);
        output::say(&match context.lang {
            Lang::En => {
                format!("note: {runs} runs are called so; the name means the latest, {latest}")
            }
            Lang::Ja => {
                format!("注: 同じ名前の測定が {runs} 件あり、名前は最新の {latest} を指します")
            }
        });
    } else if meant.id != id {
        output::say(&match context.lang {
            Lang::En => format!("note: `{name}` is the id of another run, and means that one"),
            Lang::Ja => format!("注: `{name}` は別の測定の ID で、そちらを指します"),
        });
    }
    Ok(Exit::Ok)
}
