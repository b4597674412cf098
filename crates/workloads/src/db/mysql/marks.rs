//! Which tables of a database of MySQL or MariaDB are ours.
//!
//! A comment alone is no mark: `CREATE TABLE ... LIKE` copies it, and so does a dump. So a table of ours stands in a
//! table of marks, [`MARKS`], with its name and the time at which the server made it, which is another one for a copy,
//! a table that was renamed, and one that was restored. The table of marks stands in itself in the same way. A server
//! changes the time of a table when it makes an index; before that, and before a table is there at all, its row says
//! what the table holds, which decides where a connection ended in between. Times are whole seconds.

use super::Garbage;
use super::link::MysqlLink;
use crate::db::server::trouble::Trouble;
use crate::db::server::{Link as _, MARK, Relation, value};
use std::collections::BTreeMap;

/// The table of marks.
pub(super) const MARKS: &str = "kurabe_tables";

/// What the comment of each table of ours says.
const COMMENT: &str = "the table kurabe_tables says what is in it";

/// What the row of a table says.
struct Mark {
    made: Option<String>,
    /// Rows and sum of `k`, where the server may just be changing the time of the table.
    holds: Option<String>,
    words: String,
}

/// A table as the server lists it.
struct Listed {
    schema: String,
    name: String,
    has_comment: bool,
    is_table: bool,
    made: Option<String>,
}

impl Listed {
    fn read(row: Vec<Option<String>>) -> Option<Self> {
        let [schema, name, has_comment, is_table, made]: [Option<String>; 5] =
            row.try_into().ok()?;
        Some(Self {
            schema: schema?,
            name: name?,
            has_comment: has_comment? == "1",
            is_table: is_table? == "1",
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
            let is_ours = match mark.filter(|_| table.has_comment && !is_marks) {
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
            "SELECT table_schema, table_name, table_comment = '{MARK}{COMMENT}', table_type = 'BASE TABLE', \
             UNIX_TIMESTAMP(create_time) FROM information_schema.tables WHERE table_schema = DATABASE() \
             AND {condition} ORDER BY table_name"
        ))?;
        Ok(rows.into_iter().filter_map(Listed::read).collect())
    }

    /// The marks by name; `None` where there is no table of marks that is ours.
    fn marks(&mut self, listed: &[Listed]) -> Result<Option<BTreeMap<String, Mark>>, Trouble> {
        let mut all = listed.iter();
        let Some(own) = all.find(|table| table.name == MARKS && table.has_comment) else {
            return Ok(None);
        };
        // A table of other columns is none of ours.
        let rows = match self.ask(&format!("SELECT name, made, holds, words FROM {MARKS}")) {
            Err(Trouble::Told(_)) => return Ok(None),
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
        let Some(holds) = &mark.holds else {
            return Ok(false);
        };
        match self.ask(&content(&table.name)) {
            // It has no such column.
            Err(Trouble::Told(_)) => Ok(false),
            rows => Ok(value(rows?).as_ref() == Some(holds)),
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
        self.ask(&format!(
            "REPLACE INTO {MARKS} VALUES ('{name}', NULL, '0 0', '{words}')"
        ))?;
        let made = self.ask(&format!("{sql} COMMENT='{MARK}{COMMENT}'"));
        if let Err(trouble @ Trouble::Told(_)) = made {
            // It is not there, or of others. What went wrong is told.
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
                "CREATE TABLE {MARKS} (name VARCHAR(64) NOT NULL PRIMARY KEY, made BIGINT, holds VARCHAR(64), \
                 words VARCHAR(255) NOT NULL) ENGINE=InnoDB COMMENT='{MARK}{COMMENT}'"
            ))?;
        }
        let made = self.made(MARKS)?;
        self.ask(&format!(
            "INSERT IGNORE INTO {MARKS} VALUES ('{MARKS}', {made}, NULL, '')"
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
            "UPDATE {MARKS} SET made = {made}, holds = NULL WHERE name = '{table}'"
        ))
        .map(drop)
    }

    /// Notes what a table holds whose time is about to be changed.
    pub(super) fn unbind(&mut self, table: &str) -> Result<(), Trouble> {
        let holds = self.ask(&content(table)).map(value)?.ok_or(Garbage)?;
        self.ask(&format!(
            "UPDATE {MARKS} SET holds = '{holds}' WHERE name = '{table}'"
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

    /// Drops the table of marks where it is ours and no table of ours is there.
    pub(super) fn end_marks(&mut self) -> Result<(), Trouble> {
        let listed = self.listed("1")?;
        let is_left = self.marks(&listed)?.is_some();
        let mut found = self.marked_relations()?.into_iter();
        if is_left && !found.any(|table| table.words.is_some()) {
            self.ask(&format!("DROP TABLE {MARKS}"))?;
        }
        Ok(())
    }
}

/// A row of name, time, what the table holds, and words.
fn mark(row: Vec<Option<String>>) -> Option<(String, Mark)> {
    let [name, made, holds, words]: [Option<String>; 4] = row.try_into().ok()?;
    let words = words?;
    Some((name?, Mark { made, holds, words }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_other_columns_is_no_mark() {
        let row = |values: &[Option<&str>]| -> Vec<Option<String>> {
            values
                .iter()
                .map(|value| value.map(str::to_owned))
                .collect()
        };
        let whole = row(&[
            Some("sbtest1"),
            Some("1700000000"),
            None,
            Some("being made"),
        ]);
        assert_eq!(mark(whole).unwrap().0, "sbtest1");
        assert!(mark(row(&[Some("sbtest1"), None, None])).is_none());
        assert!(mark(row(&[Some("sbtest1"), None, None, None])).is_none());
        assert!(Listed::read(row(&[Some("shop"), Some("a"), None, Some("1"), None])).is_none());
    }
}
