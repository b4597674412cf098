//! The page of a run: which run, on which machine, what it measured, and what to type next.

use super::block::Block;
use super::{host, scaling, title};
use crate::duel;
use crate::lang::Lang;
use crate::scope;
use crate::set_otherwise;
use crate::view::RunView;

/// What stands between the machine and the end of the page, from top to bottom; a section that has nothing to say of a
/// run has no blocks.
const SECTIONS: &[fn(&RunView<'_>, Lang) -> Vec<Block>] = &[
    super::metrics::blocks,
    super::soak::blocks,
    super::set_up::blocks,
    super::storage::blocks,
    super::memory::blocks,
    super::loaded::blocks,
    super::scaling::blocks,
    super::indexes::blocks,
    super::notes::blocks,
    super::next::blocks,
];

/// The page of a run.
pub fn page(view: &RunView<'_>, lang: Lang) -> Vec<Block> {
    let facts = Block::facts(facts(view, lang));
    let sections = SECTIONS.iter().flat_map(|blocks| blocks(view, lang));
    [title::block(view.run, lang), facts]
        .into_iter()
        .chain(sections)
        .collect()
}

/// Which machine, and what the figures are about.
fn facts(view: &RunView<'_>, lang: Lang) -> Vec<(String, String)> {
    let mut list = host::brief(&view.run.host, lang);
    list.extend(host::works_on(&view.run.plan, lang));
    list.extend(duel::fact(view.run, lang));
    list.extend(scaling::facts(view, lang));
    list.extend(set_otherwise::fact(&view.run.plan, lang));
    if !view.run.rounds.is_empty() {
        let scope = scope::text(&stats::scope::of_run(view.run), lang);
        list.push((lang.pick("scope", "対象").to_owned(), scope));
    }
    list
}

#[cfg(test)]
pub(crate) mod tests;
