//! Which tables of a database of MySQL or MariaDB are ours.
//!
//! A comment alone is no mark: `CREATE TABLE ... LIKE` copies it, and so does a dump. So a table of ours stands in a
//! table of marks, [`MARKS`], with its name and the time at which the server made it, which is another one for a copy,
//! a table that was renamed, and one that was restored. The table of marks stands in itself in the same way. A server
//! changes the time of a table when it makes an index; before that, and before a table is there at all, its row says
//! what the table holds, which decides where a connection ended in between: for a table that the server made since, and
//! not long after. The comment has a number that the server gives out once, and so has the row: a row whose table was
//! never made fits no other. Times are whole seconds.

use super::Garbage;
use super::link::MysqlLink;
use crate::db::server::trouble::Trouble;
use crate::db::server::{Link as _, MAKING_MAX, MARK, Relation, value};
use std::collections::BTreeMap;

/// The table of marks.
pub(super) const MARKS: &str = "kurabe_tables";

/// What the comment of the table of marks says.
const COMMENT: &str = "kurabe: tables of kurabe in this database";

/// What the comment of a table of ours says whose row has this number.
fn comment(number: &str) -> String {
    format!("{MARK}table {number}, of which kurabe_tables says what is in it")
}

/// Errors of a table without a column that is asked for, and of one that is not there.
const OTHER_COLUMNS: [&str; 2] = ["1054", "1146"];

/// What the row of a table says.
struct Mark {
    /// The number in its comment.
    number: String,
    made: Option<String>,
    /// What the table holds while the server may change its time.
    holds: Option<Holding>,
    words: String,
}

/// Rows and sum of `k`, and since when that is so.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Holding {
    content: String,
    since: u64,
}

impl Holding {
    /// Whether a table was made in the time in which it may have been by us.
    fn may_be(&self, made: Option<&str>) -> bool {
        let until = self.since.saturating_add(MAKING_MAX.as_secs());
        let made = made.and_then(|made| made.parse().ok());
        made.is_some_and(|made: u64| (self.since..=until).contains(&made))
    }
}

/// A table as the server lists it.
struct Listed {
    schema: String,
    name: String,
    comment: String,
    is_table: bool,
    made: Option<String>,
}

impl Listed {
    fn read(row: Vec<Option<String>>) -> Result<Self, Garbage> {
        let [schema, name, comment, is_table, made]: [Option<String>; 5] =
            row.try_into().map_err(|_| Garbage)?;
        Ok(Self {
            schema: schema.ok_or(Garbage)?,
            name: name.ok_or(Garbage)?,
            comment: comment.ok_or(Garbage)?,
            is_table: is_table.ok_or(Garbage)? == "1",
            made,
        })
    }
}

/// What a table holds, in SQL.
fn content(table: &str) -> String {
    format!("SELECT CONCAT(COUNT(*), ' ', COALESCE(SUM(k), 0)) FROM {table}")
}

impl MysqlLink {
    /// All tables and views, but for the table of marks where it is ours.
    pub(super) fn marked_relations(&mut self) -> Result<Vec<Relation>, Trouble> {
        let listed: Vec<Listed> = self.listed("1")?;
        let marks = self.marks(&listed)?;
        let mut found = Vec::new();
        for table in listed {
            let is_marks = table.name == MARKS;
            if is_marks && marks.is_some() {
                continue;
            }
            let mark = marks.as_ref().and_then(|marks| marks.get(&table.name));
            let has_comment = |mark: &&Mark| table.comment == comment(&mark.number);
            let is_ours = match mark.filter(has_comment).filter(|_| !is_marks) {
                Some(mark) => self.is_bound(&table, mark)?,
                None => false,
            };
            found.push(Relation {
                words: mark.filter(|_| is_ours).map(|mark| mark.words.clone()),
                schema: table.schema,
                name: table.name,
                is_here: true,
                is_table: table.is_table,
            });
        }
        Ok(found)
    }

    fn listed(&mut self, condition: &str) -> Result<Vec<Listed>, Trouble> {
        let rows = self.ask(&format!(
            "SELECT table_schema, table_name, COALESCE(table_comment, ''), table_type = 'BASE TABLE', \
             UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() \
             AND {condition} ORDER BY table_name"
        ))?;
        let listed: Result<_, Garbage> = rows.into_iter().map(Listed::read).collect();
        Ok(listed?)
    }

    /// The marks by name; `None` where there is no table of marks that is ours.
    fn marks(&mut self, listed: &[Listed]) -> Result<Option<BTreeMap<String, Mark>>, Trouble> {
        let mut all = listed.iter();
        let Some(own) = all.find(|table| table.name == MARKS && table.comment == COMMENT) else {
            return Ok(None);
        };
        // A table of other columns is none of ours.
        let all = format!("SELECT name, number, made, holds, since, words FROM {MARKS}");
        let rows = match self.ask(&all) {
            Err(trouble) if trouble.is_told(&OTHER_COLUMNS) => return Ok(None),
            rows => rows?,
        };
        let marks: BTreeMap<String, Mark> = rows.into_iter().filter_map(mark).collect();
        // One without a row was made a moment before its connection ended, and there is nothing in it to be lost.
        let itself = marks.get(MARKS).and_then(|mark| mark.made.as_ref());
        let is_ours = marks.is_empty() || (itself.is_some() && itself == own.made.as_ref());
        Ok(is_ours.then_some(marks))
    }

    /// Whether the mark is that of this very table.
    fn is_bound(&mut self, table: &Listed, mark: &Mark) -> Result<bool, Trouble> {
        if table.made.is_some() && table.made == mark.made {
            return Ok(true);
        }
        let may_be = |holding: &&Holding| holding.may_be(table.made.as_deref());
        let Some(holding) = mark.holds.as_ref().filter(may_be) else {
            return Ok(false);
        };
        match self.ask(&content(&table.name)) {
            // It has no such column.
            Err(trouble) if trouble.is_told(&OTHER_COLUMNS) => Ok(false),
            rows => Ok(value(rows?).as_ref() == Some(&holding.content)),
        }
    }

    /// Makes a table by this statement, with its mark.
    pub(super) fn make_marked(
        &mut self,
        name: &str,
        sql: &str,
        words: &str,
    ) -> Result<(), Trouble> {
        self.begin_marks()?;
        let number = self.ask("SELECT UUID_SHORT()").map(value)?.ok_or(Garbage)?;
        self.ask(&format!(
            "REPLACE INTO {MARKS} VALUES ('{name}', '{number}', NULL, '0 0', UNIX_TIMESTAMP(), '{words}')"
        ))?;
        let made = self.ask(&format!("{sql} COMMENT='{}'", comment(&number)));
        if let Err(trouble @ Trouble::Told(_)) = made {
            // It is not there, or of others. What went wrong is told, and a row that stays fits no table.
            let _ = self.forget(name);
            return Err(trouble);
        }
        made?;
        self.bind(name)
    }

    /// Makes the table of marks where there is none.
    fn begin_marks(&mut self) -> Result<(), Trouble> {
        if self.listed(&format!("table_name = '{MARKS}'"))?.is_empty() {
            self.ask(&format!(
                "CREATE TABLE {MARKS} (name VARCHAR(64) NOT NULL PRIMARY KEY, number VARCHAR(20) NOT NULL, made BIGINT, \
                 holds VARCHAR(64), since BIGINT, words VARCHAR(255) NOT NULL) ENGINE=InnoDB COMMENT='{COMMENT}'"
            ))?;
        }
        let made = self.made(MARKS)?;
        self.ask(&format!(
            "INSERT IGNORE INTO {MARKS} VALUES ('{MARKS}', '', {made}, NULL, NULL, '')"
        ))
        .map(drop)
    }

    /// When the server made a table.
    fn made(&mut self, table: &str) -> Result<String, Trouble> {
        let found = self.listed(&format!("table_name = '{table}'"))?;
        let made = found.into_iter().find_map(|table| table.made);
        made.ok_or_else(|| Garbage.into())
    }

    /// Notes the time of a table.
    pub(super) fn bind(&mut self, table: &str) -> Result<(), Trouble> {
        let made = self.made(table)?;
        self.ask(&format!(
            "UPDATE {MARKS} SET made = {made}, holds = NULL, since = NULL WHERE name = '{table}'"
        ))
        .map(drop)
    }

    /// Notes what a table holds whose time is about to be changed.
    pub(super) fn unbind(&mut self, table: &str) -> Result<(), Trouble> {
        let holds = self.ask(&content(table)).map(value)?.ok_or(Garbage)?;
        self.ask(&format!(
            "UPDATE {MARKS} SET holds = '{holds}', since = UNIX_TIMESTAMP() WHERE name = '{table}'"
        ))
        .map(drop)
    }

    /// Notes these words.
    pub(super) fn note_words(&mut self, table: &str, words: &str) -> Result<(), Trouble> {
        self.ask(&format!(
            "UPDATE {MARKS} SET words = '{words}' WHERE name = '{table}'"
        ))
        .map(drop)
    }

    pub(super) fn forget(&mut self, table: &str) -> Result<(), Trouble> {
        self.ask(&format!("DELETE FROM {MARKS} WHERE name = '{table}'"))
            .map(drop)
    }

    /// Whether there is a table of marks that is ours.
    pub(super) fn has_marks(&mut self) -> Result<bool, Trouble> {
        let listed = self.listed("1")?;
        Ok(self.marks(&listed)?.is_some())
    }

    /// Drops the table of marks where it is ours and no table of ours is there.
    pub(super) fn end_marks(&mut self) -> Result<(), Trouble> {
        let is_left = self.has_marks()?;
        let mut found = self.marked_relations()?.into_iter();
        if is_left && !found.any(|table| table.words.is_some()) {
            self.ask(&format!("DROP TABLE {MARKS}"))?;
        }
        Ok(())
    }
}

/// A row of name, number, time, what the table holds, since when, and words.
fn mark(row: Vec<Option<String>>) -> Option<(String, Mark)> {
    let [name, number, made, content, since, words]: [Option<String>; 6] = row.try_into().ok()?;
    let holding = |since: String| {
        Some(Holding {
            content: content?,
            since: since.parse().ok()?,
        })
    };
    let mark = Mark {
        number: number?,
        made,
        holds: since.and_then(holding),
        words: words?,
    };
    Some((name?, mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(values: &[Option<&str>]) -> Vec<Option<String>> {
        let own = |value: Option<&str>| value.map(str::to_owned);
        values.iter().copied().map(own).collect()
    }

    #[test]
    fn a_row_of_other_columns_is_no_mark() {
        let of = |made, content, since| {
            let words = Some("being made");
            mark(row(&[
                Some("sbtest1"),
                Some("7"),
                made,
                content,
                since,
                words,
            ]))
        };
        let (name, whole) = of(Some("1700000000"), None, None).unwrap();
        assert_eq!((&*name, whole.holds), ("sbtest1", None));
        // What a table holds counts together with the time alone.
        let holds = |content, since| of(None, content, since).unwrap().1.holds.is_some();
        assert!(holds(Some("0 0"), Some("1700000000")));
        assert!(!holds(Some("0 0"), None) && !holds(None, Some("1700000000")));
        assert!(!holds(Some("0 0"), Some("x")));
        assert!(mark(row(&[Some("sbtest1"), None, None])).is_none());
        assert!(mark(row(&[Some("sbtest1"), None, None, None, None, None])).is_none());
        assert!(mark(row(&[Some("a"), None, None, None, None, Some("")])).is_none());
    }

    #[test]
    fn a_table_that_cannot_be_read_is_not_left_out() {
        let whole = [Some("shop"), Some("a"), Some(""), Some("0"), None];
        assert!(!Listed::read(row(&whole)).unwrap().is_table);
        for missing in 0..4 {
            let mut part = whole;
            part[missing] = None;
            assert!(Listed::read(row(&part)).is_err(), "{missing}");
        }
        assert!(Listed::read(row(&whole[..4])).is_err());
    }

    #[test]
    fn what_a_table_holds_counts_for_one_that_was_made_then() {
        let holding = Holding {
            content: "0 0".to_owned(),
            since: 1_700_000_000,
        };
        for (made, expected) in [
            (Some("1700000000"), true),
            (Some("1700000600"), true),
            (Some("1699999999"), false),
            (Some("1700000601"), false),
            (Some("1700000000.5"), false),
            (Some(""), false),
            (None, false),
        ] {
            assert_eq!(holding.may_be(made), expected, "{made:?}");
        }
    }
}
