//! The statements of sysbench's OLTP tests, and what a database answers to them.

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
}

impl Kind {
    /// All of them, in the order of their numbers.
    pub(super) const ALL: [Self; 10] = [
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
    ];

    /// Its text for the table of this number, from 0; parameters are `?` in the order of [`Statement`]'s fields.
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
        }
    }

    /// What is done to a database, in words of a message.
    pub(super) const fn operation(self) -> &'static str {
        match self {
            Self::Point | Self::Range | Self::Sum | Self::Ordered | Self::Distinct => "select from",
            Self::UpdateIndex | Self::UpdateNonIndex => "update a row of",
            Self::Delete => "delete a row from",
            Self::Insert | Self::Append => "insert a row into",
        }
    }
}

/// The name of a table by its number, from 0: `sbtest1` is the first.
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
}

impl Statement<'_> {
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
