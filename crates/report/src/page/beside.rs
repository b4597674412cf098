//! Machines side by side: every fact that is known of one of them, a column for each, and which facts differ.

use super::block::{Align, Block, Cell, Table, Text, Tone};
use super::host;
use crate::lang::Lang;
use model::record::Run;

/// The table, a line for each fact.
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
    let facts: Vec<Vec<(String, String)>> = runs
        .iter()
        .map(|run| host::brief(&run.host, lang))
        .collect();
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in facts.iter().flatten() {
        if !name.is_empty() && !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        let cells: Vec<String> = facts.iter().map(|facts| of(facts, name)).collect();
        // What one side does not tell may be the same.
        let mut known = cells.iter().filter(|cell| !cell.is_empty());
        let first = known.next();
        let differs = known.any(|cell| Some(cell) != first);
        let sign = if differs {
            Text::with(Tone::Attention, lang.pick("yes", "あり"))
        } else {
            Text::from("")
        };
        let cells = cells.into_iter().map(|cell| {
            if cell.is_empty() {
                Cell::from(lang.pick("not known", "不明"))
            } else {
                Cell::from(cell)
            }
        });
        table.rows.push(
            [name.into(), sign.into()]
                .into_iter()
                .chain(cells)
                .collect(),
        );
    }
    vec![Block::Table(table)]
}

/// What is known under a name; lines without a name belong to the one above.
fn of(facts: &[(String, String)], name: &str) -> String {
    let mut from = facts.iter().skip_while(|(one, _)| one != name);
    let first = from.next().map(|(_, text)| text.as_str());
    let rest = from.take_while(|(one, _)| one.is_empty());
    let rest = rest.map(|(_, text)| text.as_str());
    first.into_iter().chain(rest).collect::<Vec<_>>().join("; ")
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
        assert_eq!(unknown.count(), 1);
    }
}
