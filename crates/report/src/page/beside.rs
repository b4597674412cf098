//! Machines side by side: the facts that are told of every run, others that differ, and a column for each machine.

use super::block::{Align, Block, Cell, Table, Text, Tone};
use super::host;
use crate::lang::Lang;
use model::record::Run;

/// The table, a line for each fact. What is known of one machine alone differs from nothing.
pub(crate) fn page<'a>(runs: impl Iterator<Item = &'a Run>, lang: Lang) -> Vec<Block> {
    let runs: Vec<&Run> = runs.collect();
    let name = |run: &&Run| {
        run.meta
            .label
            .clone()
            .unwrap_or_else(|| run.meta.id.clone())
    };
    let heads = runs.iter().map(name).map(|name| (name, Align::Left));
    let first = [(lang.pick("fact", "項目").to_owned(), Align::Left)];
    let mark = [(lang.pick("differs", "相違").to_owned(), Align::Left)];
    let mut table = Table::new(first.into_iter().chain(mark).chain(heads));
    let facts: Vec<Vec<_>> = runs
        .iter()
        .map(|run| {
            let mut facts = host::set_up(&run.host, lang);
            if run.meta.origin.is_some() {
                // Another program saw the machine.
                for (_, _, text) in &mut facts {
                    *text = None;
                }
            }
            facts
        })
        .collect();
    for (place, (name, is_usual, _)) in facts.first().into_iter().flatten().enumerate() {
        let texts = facts.iter().map(|facts| facts[place].2.as_deref());
        let texts: Vec<Option<&str>> = texts.collect();
        // What one side does not tell may be the same.
        let mut known = texts.iter().flatten();
        let Some(first) = known.next() else {
            continue;
        };
        let differs = known.any(|text| text != first);
        if !differs && !is_usual {
            continue;
        }
        let sign = if differs {
            Text::with(Tone::Attention, lang.pick("yes", "あり"))
        } else {
            Text::from("")
        };
        let unknown = lang.pick("not known", "不明");
        let cells = texts.iter().map(|text| Cell::from(text.unwrap_or(unknown)));
        let row = [(*name).into(), sign.into()].into_iter().chain(cells);
        table.rows.push(row.collect());
    }
    vec![Block::Table(table)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;
    use model::host::Fact;

    #[test]
    fn only_what_differs_is_marked() {
        let [mut a, mut b] = [testkit::normal(), testkit::normal()];
        a.meta.label = Some("one".to_owned());
        b.meta.label = Some("two".to_owned());
        b.host.kernel.release = Fact::Known("9.9.9".to_owned());
        b.host.memory = model::host::MemoryFacts::default();
        let page = page([&a, &b].into_iter(), Lang::En);
        let [Block::Table(table)] = &page[..] else {
            panic!("{page:?}");
        };
        let heads: Vec<&str> = table
            .columns
            .iter()
            .map(|(head, _)| head.as_str())
            .collect();
        assert_eq!(heads, ["fact", "differs", "one", "two"]);
        let marked: Vec<_> = table
            .rows
            .iter()
            .filter(|row| row[1] != Cell::from(""))
            .collect();
        assert_eq!(marked.len(), 1, "{marked:?}");
        assert!(format!("{:?}", marked[0][3]).contains("9.9.9"));
        assert!(table.rows.len() > 3);
        let unknown = table
            .rows
            .iter()
            .filter(|row| row[3] == Cell::from("not known"));
        assert!(unknown.count() > 0);
    }
}
