//! Pages on a terminal: columns, lines that are broken where it ends, and headings in bold.
//!
//! Nothing is cut off: what has no room in one form stands in another.

use super::drawing::Drawing;
use crate::page::block::{Align, Block, Cell, MARK, Picture, Table, Text};
use crate::style::Style;
use crate::table::{Grid, indent, wrapped};
use dialects::printable::printable;
use std::ops::Range;

/// Fewer blocks than this are no picture.
const BLOCKS_MIN: usize = 16;

/// For people at a terminal.
pub(crate) static TEXT: Drawing = Drawing {
    of_terminal: true,
    draw: text,
};

/// The page as text.
pub fn text(page: &[Block], style: Style) -> String {
    let room = Room {
        style,
        indent: 0,
        depth: 0,
    };
    room.blocks(page)
}

/// Where blocks are drawn.
#[derive(Clone, Copy)]
struct Room {
    style: Style,
    /// Columns before every line.
    indent: usize,
    /// In how many sections.
    depth: usize,
}

impl Room {
    /// Columns of a line.
    fn width(self) -> usize {
        self.style.columns().saturating_sub(self.indent)
    }

    /// Columns of a list: the same under a heading and without one.
    fn list_width(self) -> usize {
        self.width().min(self.style.columns() - 2)
    }

    /// The blocks, one below the other.
    fn blocks(self, blocks: &[Block]) -> String {
        let mut out = String::new();
        let mut gap = false;
        for block in blocks.iter().filter(|block| !block.is_empty()) {
            let text = self.block(block);
            if text.is_empty() {
                continue;
            }
            let apart = self.depth == 0 || matches!(block, Block::Section(..));
            if !out.is_empty() && (apart || gap) {
                out.push('\n');
            }
            gap = apart;
            out.push_str(&text);
        }
        out
    }

    fn block(self, block: &Block) -> String {
        match block {
            Block::Title(_, line, below) => self.title(line, below),
            Block::Section(heading, blocks) => self.section(heading.as_ref(), blocks),
            Block::Within(width, blocks) => {
                let width = self.style.columns().min(*width);
                let style = Style {
                    width,
                    ..self.style
                };
                Self { style, ..self }.inner(false).blocks(blocks)
            }
            Block::Name(text) | Block::Line(text) => wrapped(text, self.width()),
            Block::Facts(list) => self.facts(list),
            Block::Table(table) => self.table(table),
            Block::Bullets(lines) => {
                let bullet = |line: &Text| (Text::sign("-"), line.clone());
                self.facts(&lines.iter().map(bullet).collect::<Vec<_>>())
            }
            Block::Course(picture, ends) => self.course(picture, ends),
            Block::Commands(list) => self.commands(list),
            Block::Chart(_) | Block::Comment(_) | Block::Long(_) => String::new(),
            Block::Fitting(forms) => {
                let fits = |form: &&Vec<Block>| form.iter().all(|block| self.fits(block));
                let form = forms.iter().find(fits).or(forms.last());
                form.map_or_else(String::new, |form| self.blocks(form))
            }
        }
    }

    fn title(self, line: &str, below: &str) -> String {
        let lines = wrapped(line, self.width());
        let lines: String = lines
            .lines()
            .filter(|line| !line.is_empty())
            .map(|line| self.style.heading(line) + "\n")
            .collect();
        if below.is_empty() {
            lines
        } else {
            lines + &indent(&wrapped(below, self.width() - 2))
        }
    }

    /// What stands under a heading is indented.
    fn section(self, heading: Option<&Text>, blocks: &[Block]) -> String {
        let inner = self.inner(heading.is_some());
        let Some(heading) = heading else {
            return inner.blocks(blocks);
        };
        let heading = printable(&heading.text);
        let heading = if self.depth == 0 {
            self.style.heading(&heading)
        } else {
            heading
        };
        format!("{heading}\n{}", indent(&inner.blocks(blocks)))
    }

    fn inner(self, indented: bool) -> Self {
        Self {
            indent: self.indent + if indented { 2 } else { 0 },
            depth: self.depth + 1,
            ..self
        }
    }

    fn facts(self, list: &[(Text, Text)]) -> String {
        let mut grid = Grid::new(2);
        for (name, text) in list {
            grid.row(vec![name.text.clone(), text.text.clone()]);
        }
        let lines = grid.render_wrapped(self.list_width(), &[]);
        self.tinted(lines, list.iter().flat_map(|(name, text)| [name, text]))
    }

    /// The lines with the tones of their texts, which stand there in this order. Where a line breaks within a text its
    /// first word has the tone.
    fn tinted<'a>(self, lines: String, texts: impl Iterator<Item = &'a Text>) -> String {
        if !self.style.color {
            return lines;
        }
        let (mut out, mut rest) = (String::new(), lines.as_str());
        for text in texts {
            let whole = printable(&text.text);
            let word = whole.split([' ', '\u{a0}']).next().unwrap_or_default();
            let forms = [whole.as_str(), word].into_iter();
            let mut found = forms.filter(|form| !form.is_empty());
            let Some((at, form)) = found.find_map(|form| Some((rest.find(form)?, form))) else {
                continue;
            };
            out += &rest[..at];
            out += &self.style.toned(text.tone, form);
            rest = &rest[at + form.len()..];
        }
        out + rest
    }

    fn table(self, table: &Table) -> String {
        let picture = table.rows.iter().flatten().find_map(picture);
        let blocks = picture.map_or(0, |picture| {
            let beside = grid(table, 0).width();
            let blocks = self.width().saturating_sub(beside) / picture.columns;
            if blocks < BLOCKS_MIN { 0 } else { blocks }
        });
        let grid = grid(table, blocks);
        let lines = if picture.is_some() && blocks == 0 && grid.width() <= self.width() {
            self.with_pictures_below(table)
        } else if grid.width() <= self.width() || table.columns.len() == 1 {
            grid.render(&right(table))
        } else if table.wrapped && grid.has_room_for_last(self.width()) {
            grid.render_wrapped(self.width(), &right(table))
        } else {
            self.on_two_lines(table)
        };
        let cells = table.rows.iter().flatten();
        let texts = cells.filter_map(|cell| match cell {
            Cell::Text(text) => Some(text),
            Cell::Below(..) | Cell::Bar(..) | Cell::Picture(_) => None,
        });
        self.tinted(lines, texts)
    }

    /// Each row with its picture below it, where there is no room for one beside it.
    fn with_pictures_below(self, table: &Table) -> String {
        let lines = grid(table, 0).render(&right(table));
        let heads = lines.lines().count().saturating_sub(table.rows.len());
        let mut out = String::new();
        for (place, line) in lines.lines().enumerate() {
            out = out + line + "\n";
            let row = place.checked_sub(heads).and_then(|row| table.rows.get(row));
            for picture in row.into_iter().flatten().filter_map(picture) {
                out += &indent(&picture.draw((self.width() - 2) / picture.columns));
            }
        }
        out
    }

    /// Each row on two lines: as many columns as there is room for, and the others below them.
    fn on_two_lines(self, table: &Table) -> String {
        let all = table.columns.len();
        let fits = |part: &Table, width| grid(part, 0).width() <= width;
        let most = (1..all)
            .rev()
            .find(|&columns| fits(&part(table, 0..columns), self.width()));
        let above = part(table, 0..most.unwrap_or(1));
        let below = part(table, most.unwrap_or(1)..all);
        // The headings of a part, and its rows.
        let lines = |part: &Table, width| {
            if !fits(part, width) {
                let rows = part.rows.iter().map(|row| in_words(part, row, width));
                return (String::new(), rows.collect());
            }
            let text = grid(part, 0).render(&right(part));
            let mut lines: Vec<String> = text.lines().map(|line| format!("{line}\n")).collect();
            let rows = lines.split_off(lines.len() - part.rows.len());
            (lines.concat(), rows)
        };
        let (heads, above) = lines(&above, self.width());
        let (heads_below, below) = lines(&below, self.width() - 2);
        let rows = above.into_iter().zip(below);
        let rows = rows.map(|(above, below)| above + &indent(below.trim_start_matches('\n')));
        heads + &indent(&heads_below) + &rows.collect::<String>()
    }

    fn course(self, picture: &Picture, [from, to]: &[String; 2]) -> String {
        let line = picture.draw(self.width());
        let width = line.chars().count();
        let axis = if from.len() + to.len() < width {
            format!("{from}{}{to}", " ".repeat(width - from.len() - to.len()))
        } else {
            format!("{from} .. {to}")
        };
        format!("{line}\n{axis}\n")
    }

    /// A command that is broken over lines cannot be copied.
    fn commands(self, list: &[(String, String)]) -> String {
        let rows = list.iter().map(|(command, what)| [command, what]);
        self.table(&Table {
            rows: rows
                .map(|row| row.map(|text| text.as_str().into()).to_vec())
                .collect(),
            ..Table::plain([Align::Left; 2])
        })
    }

    /// Whether there is room for a block in this form. Names of facts leave half of the line to what is said of them.
    fn fits(self, block: &Block) -> bool {
        match block {
            Block::Section(heading, blocks) => {
                let inner = self.inner(heading.is_some());
                blocks.iter().all(|block| inner.fits(block))
            }
            Block::Table(table) => table.wrapped || grid(table, 0).width() <= self.width(),
            Block::Facts(list) => {
                let mut names = Grid::new(1);
                for (name, _) in list {
                    names.row(vec![name.text.clone()]);
                }
                names.width() <= self.width() / 2
            }
            _ => true,
        }
    }
}

fn picture(cell: &Cell) -> Option<&Picture> {
    match cell {
        Cell::Picture(picture) => Some(picture),
        _ => None,
    }
}

/// Some of the columns.
fn part(table: &Table, columns: Range<usize>) -> Table {
    let cells = |row: &Vec<Cell>| row[columns.clone()].to_vec();
    Table {
        columns: table.columns[columns.clone()].to_vec(),
        rows: table.rows.iter().map(cells).collect(),
        wrapped: table.wrapped,
    }
}

/// A row whose cells have no room beside one another, each behind its heading where there are several. One text is
/// broken over lines in tables of sentences.
fn in_words(table: &Table, row: &[Cell], width: usize) -> String {
    let cells = row.iter().zip(&table.columns).map(|(cell, (head, _))| {
        let text = shown(cell, Align::Left, 0);
        let head = if row.len() > 1 { head } else { "" };
        format!("{head} {text}").trim().to_owned()
    });
    let cells: Vec<String> = cells.filter(|text| !text.is_empty()).collect();
    let line = cells.join("; ");
    if row.len() == 1 && !table.wrapped {
        return printable(&line) + "\n";
    }
    wrapped(&line, width)
}

/// The columns whose cells stand on the right.
fn right(table: &Table) -> Vec<usize> {
    let columns = table.columns.iter().enumerate();
    let right = columns.filter(|(_, (_, align))| *align != Align::Left);
    right.map(|(place, _)| place).collect()
}

/// The table with pictures of so many blocks.
fn grid(table: &Table, blocks: usize) -> Grid {
    let heads: Vec<&str> = table
        .columns
        .iter()
        .map(|(head, _)| head.as_str())
        .collect();
    let mut grid = if heads.iter().all(|head| head.is_empty()) {
        Grid::new(heads.len())
    } else {
        Grid::with_header(&heads)
    };
    for row in &table.rows {
        let cells = row.iter().zip(&table.columns);
        grid.row(
            cells
                .map(|(cell, column)| shown(cell, column.1, blocks))
                .collect(),
        );
    }
    grid
}

fn shown(cell: &Cell, align: Align, blocks: usize) -> String {
    match cell {
        // A no-break space survives the trimming that cells get.
        Cell::Text(text) if align == Align::Marked && !text.text.ends_with(MARK) => {
            format!("{} \u{a0}", text.text)
        }
        Cell::Text(text) => text.text.clone(),
        Cell::Below(_, short) => format!("\u{a0}\u{a0}{short}"),
        Cell::Bar(filled, missing) => "#".repeat(*filled) + &".".repeat(*missing),
        Cell::Picture(picture) => picture.draw(blocks),
    }
}
