//! The page of a run: first what is read in ten seconds, then what it measured, and what to type next.

use super::block::Block;
use super::{first, host, scaling, title};
use crate::duel;
use crate::grounds;
use crate::lang::Lang;
use crate::scope;
use crate::set_otherwise;
use crate::view::RunView;

/// How much of a run a page shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Detail {
    /// The first lines alone.
    Short,
    /// The figures of each case, and what must be known of them.
    #[default]
    Usual,
    /// Everything.
    Full,
}

/// A part of the page; one that has nothing to say of a run has no blocks.
type Section = fn(&RunView<'_>, Lang) -> Vec<Block>;

impl Detail {
    /// What stands below the first lines, from top to bottom.
    const fn sections(self) -> &'static [Section] {
        match self {
            Self::Short => &[],
            Self::Usual => &[
                super::familiar::blocks,
                super::usual::tables,
                super::soak::blocks,
                super::memory::alone,
                super::loaded::blocks,
                super::offered::blocks,
                super::database::blocks,
                super::scaling::brief,
                super::indexes::blocks,
                super::usual::sentences,
                super::causes::blocks,
                super::offers::of_run,
                super::next::blocks,
            ],
            Self::Full => &[
                facts,
                super::familiar::blocks,
                super::metrics::blocks,
                super::soak::blocks,
                super::set_up::blocks,
                super::storage::blocks,
                super::memory::blocks,
                super::loaded::blocks,
                super::offered::blocks,
                super::database::blocks,
                super::scaling::blocks,
                super::indexes::blocks,
                super::notes::blocks,
                super::causes::blocks,
                super::offers::of_run,
                super::next::below_full,
            ],
        }
    }
}

/// The page of a run.
pub fn page(view: &RunView<'_>, detail: Detail, lang: Lang) -> Vec<Block> {
    let sections = detail.sections().iter();
    let sections = sections.flat_map(|blocks| blocks(view, lang));
    std::iter::once(first::block(view, lang))
        .chain(sections)
        .collect()
}

/// Which run and machine, and what the figures are about.
fn facts(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let run = (
        lang.pick("run", "測定").to_owned(),
        title::line(view.run, lang),
    );
    let mut list = vec![run];
    let tags = view.run.meta.tags.iter();
    let tags: Vec<String> = tags
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    if !tags.is_empty() {
        list.push((lang.pick("tags", "タグ").to_owned(), tags.join(" ")));
    }
    list.extend(host::brief(&view.run.host, lang));
    list.extend(host::works_on(&view.run.plan, lang));
    list.extend(grounds::fact(view.run, lang));
    list.extend(duel::fact(view.run, lang));
    list.extend(scaling::facts(view, lang));
    list.extend(set_otherwise::fact(&view.run.plan, lang));
    if !view.run.rounds.is_empty() {
        let scope = scope::text(&stats::scope::of_run(view.run), lang);
        list.push((lang.pick("scope", "対象").to_owned(), scope));
    }
    vec![Block::facts(list)]
}

#[cfg(test)]
pub(crate) mod tests;
