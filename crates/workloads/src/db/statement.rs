//! The statements of sysbench's OLTP tests and of pgbench's transaction, and what a database answers to them.

use std::ops::Deref;

/// Which statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// `c` of one row.
    Point,
    /// `c` of a range of rows.
    Range,
    /// The sum of `k` over a range of rows.
    Sum,
    /// `c` of a range of rows, in the order of `c`.
    Ordered,
    /// The same, each value once.
    Distinct,
    /// `k` of one row grows by one, and its place in the index changes.
    UpdateIndex,
    /// `c` of one row is replaced, which no index has.
    UpdateNonIndex,
    /// One row goes away.
    Delete,
    /// A row of this number is added.
    Insert,
    /// A row is added, and the database gives it its number.
    Append,
    /// The balance of an account grows.
    Account,
    /// The balance of an account is read.
    Balance,
    /// The balance of a teller grows.
    Teller,
    /// The balance of a branch grows.
    Branch,
    /// A row of the history is added.
    History,
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub(super) const ALL: [Self; 15] = [
        Self::Point,
        Self::Range,
        Self::Sum,
        Self::Ordered,
        Self::Distinct,
        Self::UpdateIndex,
        Self::UpdateNonIndex,
        Self::Delete,
        Self::Insert,
        Self::Append,
        Self::Account,
        Self::Balance,
        Self::Teller,
        Self::Branch,
        Self::History,
    ];

    /// Those of sysbench.
    pub(super) fn of_sysbench() -> &'static [Self] {
        &Self::ALL[..10]
    }

    /// Its text for the table of this number, from 0, where it is one of sysbench's; parameters are `?` in the order of
    /// [`Statement::values`].
    pub(super) fn sql(self, table: u32) -> String {
        let table = name(table);
        match self {
            Self::Point => format!("SELECT c FROM {table} WHERE id=?"),
            Self::Range => format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ?"),
            Self::Sum => format!("SELECT SUM(k) FROM {table} WHERE id BETWEEN ? AND ?"),
            Self::Ordered => {
                format!("SELECT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c")
            }
            Self::Distinct => {
                format!("SELECT DISTINCT c FROM {table} WHERE id BETWEEN ? AND ? ORDER BY c")
            }
            Self::UpdateIndex => format!("UPDATE {table} SET k=k+1 WHERE id=?"),
            Self::UpdateNonIndex => format!("UPDATE {table} SET c=? WHERE id=?"),
            Self::Delete => format!("DELETE FROM {table} WHERE id=?"),
            Self::Insert => format!("INSERT INTO {table} (id, k, c, pad) VALUES (?, ?, ?, ?)"),
            Self::Append => format!("INSERT INTO {table} (k, c, pad) VALUES (?, ?, ?)"),
            Self::Account => credit("account", "a"),
            Self::Balance => "SELECT abalance FROM pgbench_accounts WHERE aid = ?".to_owned(),
            Self::Teller => credit("teller", "t"),
            Self::Branch => credit("branche", "b"),
            Self::History => {
                "INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP)"
                    .to_owned()
            }
        }
    }

    /// What is done to a database, in words of a message.
    pub(super) const fn operation(self) -> &'static str {
        match self {
            Self::Point
            | Self::Range
            | Self::Sum
            | Self::Ordered
            | Self::Distinct
            | Self::Balance => "select from",
            Self::UpdateIndex
            | Self::UpdateNonIndex
            | Self::Account
            | Self::Teller
            | Self::Branch => "update a row of",
            Self::Delete => "delete a row from",
            Self::Insert | Self::Append | Self::History => "insert a row into",
        }
    }
}

/// pgbench's tables, the largest first.
pub(super) const BANK: [&str; 4] = [
    "pgbench_accounts",
    "pgbench_tellers",
    "pgbench_branches",
    "pgbench_history",
];

fn credit(what: &str, letter: &str) -> String {
    format!("UPDATE pgbench_{what}s SET {letter}balance = {letter}balance + ? WHERE {letter}id = ?")
}

/// The name of a table of sysbench by its number, from 0: `sbtest1` is the first.
pub(super) fn name(table: u32) -> String {
    format!("sbtest{}", table + 1)
}

/// One statement with its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Statement<'a> {
    /// [`Kind::Point`].
    Point { id: u32 },
    /// [`Kind::Range`]; both ends belong to it.
    Range { first: u32, last: u32 },
    /// [`Kind::Sum`].
    Sum { first: u32, last: u32 },
    /// [`Kind::Ordered`].
    Ordered { first: u32, last: u32 },
    /// [`Kind::Distinct`].
    Distinct { first: u32, last: u32 },
    /// [`Kind::UpdateIndex`].
    UpdateIndex { id: u32 },
    /// [`Kind::UpdateNonIndex`].
    UpdateNonIndex { c: &'a str, id: u32 },
    /// [`Kind::Delete`].
    Delete { id: u32 },
    /// [`Kind::Insert`].
    Insert {
        id: u32,
        k: u32,
        c: &'a str,
        pad: &'a str,
    },
    /// [`Kind::Append`].
    Append { k: u32, c: &'a str, pad: &'a str },
    /// [`Kind::Account`], [`Kind::Teller`] or [`Kind::Branch`].
    Credit { kind: Kind, delta: i32, id: u32 },
    /// [`Kind::Balance`].
    Balance { aid: u32 },
    /// [`Kind::History`].
    History {
        tid: u32,
        bid: u32,
        aid: u32,
        delta: i32,
    },
}

/// A value of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Value<'a> {
    Number(i32),
    Text(&'a str),
}

/// The values of a statement, of which there are four at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Values<'a> {
    all: [Value<'a>; 4],
    number: usize,
}

impl<'a, const N: usize> From<[Value<'a>; N]> for Values<'a> {
    #[inline]
    fn from(own: [Value<'a>; N]) -> Self {
        let mut all = [Value::Number(0); 4];
        all[..N].copy_from_slice(&own);
        Self { all, number: N }
    }
}

impl<'a> Deref for Values<'a> {
    type Target = [Value<'a>];

    #[inline]
    fn deref(&self) -> &[Value<'a>] {
        &self.all[..self.number]
    }
}

impl<'a> Statement<'a> {
    /// Its values, in the order of the parameters of its text. No table has 2^31 rows.
    #[inline]
    pub(super) fn values(&self) -> Values<'a> {
        use Value::{Number, Text};
        let row = |number: u32| Number(number.cast_signed());
        match *self {
            Self::Point { id }
            | Self::UpdateIndex { id }
            | Self::Delete { id }
            | Self::Balance { aid: id } => [row(id)].into(),
            Self::Range { first, last }
            | Self::Sum { first, last }
            | Self::Ordered { first, last }
            | Self::Distinct { first, last } => [row(first), row(last)].into(),
            Self::UpdateNonIndex { c, id } => [Text(c), row(id)].into(),
            Self::Insert { id, k, c, pad } => [row(id), row(k), Text(c), Text(pad)].into(),
            Self::Append { k, c, pad } => [row(k), Text(c), Text(pad)].into(),
            Self::Credit { delta, id, .. } => [Number(delta), row(id)].into(),
            Self::History {
                tid,
                bid,
                aid,
                delta,
            } => [row(tid), row(bid), row(aid), Number(delta)].into(),
        }
    }

    /// Which one it is.
    pub(super) const fn kind(&self) -> Kind {
        match self {
            Self::Point { .. } => Kind::Point,
            Self::Range { .. } => Kind::Range,
            Self::Sum { .. } => Kind::Sum,
            Self::Ordered { .. } => Kind::Ordered,
            Self::Distinct { .. } => Kind::Distinct,
            Self::UpdateIndex { .. } => Kind::UpdateIndex,
            Self::UpdateNonIndex { .. } => Kind::UpdateNonIndex,
            Self::Delete { .. } => Kind::Delete,
            Self::Insert { .. } => Kind::Insert,
            Self::Append { .. } => Kind::Append,
            Self::Credit { kind, .. } => *kind,
            Self::Balance { .. } => Kind::Balance,
            Self::History { .. } => Kind::History,
        }
    }
}

/// What a database answered: rows are stepped through and not built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    /// Rows that were fetched, or changed, added, deleted.
    pub(super) rows: u64,
    /// Bytes of text in the rows that were fetched.
    pub(super) bytes: u64,
    /// The sum of the whole numbers in them.
    pub(super) sum: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_parameter_of_a_text_has_its_value() {
        let (id, first, last, k) = (1, 2, 3, 4);
        let (c, pad, delta) = ("c", "pad", -5);
        let (aid, bid, tid) = (6, 7, 8);
        let credit = |kind| Statement::Credit { kind, delta, id };
        let all = [
            Statement::Point { id },
            Statement::Range { first, last },
            Statement::Sum { first, last },
            Statement::Ordered { first, last },
            Statement::Distinct { first, last },
            Statement::UpdateIndex { id },
            Statement::UpdateNonIndex { c, id },
            Statement::Delete { id },
            Statement::Insert { id, k, c, pad },
            Statement::Append { k, c, pad },
            credit(Kind::Account),
            Statement::Balance { aid },
            credit(Kind::Teller),
            credit(Kind::Branch),
            Statement::History {
                tid,
                bid,
                aid,
                delta,
            },
        ];
        assert_eq!(all.map(|one| one.kind()), Kind::ALL);
        for one in all {
            let text = one.kind().sql(0);
            assert_eq!(text.matches('?').count(), one.values().len(), "{text}");
        }
        // As they stand in `tid, bid, aid, delta`.
        assert_eq!(*all[14].values(), [8, 7, 6, -5].map(Value::Number));
    }
}
