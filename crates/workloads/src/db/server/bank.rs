//! pgbench's tables: a bank with branches, tellers, accounts and a history, made by statements of PostgreSQL.
//!
//! Columns and rows are those that pgbench 15 makes, and so is the order: rows, VACUUM ANALYZE, primary keys. The
//! server makes the rows itself, as `pgbench -i -I dtGvp` has it.

use super::Server;
use crate::db::statement::BANK;
use crate::db::tables::{ACCOUNTS, TELLERS};
use engine::workload::WorkError;
use model::units::Bytes;

/// The columns of each, and its key.
const COLUMNS: [(&str, &str); 4] = [
    (
        "aid int NOT NULL, bid int, abalance int, filler char(84)",
        "aid",
    ),
    (
        "tid int NOT NULL, bid int, tbalance int, filler char(84)",
        "tid",
    ),
    ("bid int NOT NULL, bbalance int, filler char(88)", "bid"),
    (
        "tid int, bid int, aid int, delta int, mtime timestamp, filler char(22)",
        "",
    ),
];

/// What is done while rows are made.
const FILL: &str = "put rows into";

/// Bytes that the rows of a branch's accounts take.
const BRANCH_BYTES: u64 = ACCOUNTS * 130;

/// Rows of all four, the sum of what was paid in, and the least and the most of that and the balances of each kind.
pub(super) fn survey() -> String {
    let counts = BANK.map(|table| format!("(SELECT count(*) FROM {table})"));
    let sum = |column: &str, table: &str| {
        format!("(SELECT coalesce(sum({column}), 0) FROM {table}) AS {column}")
    };
    let columns = ["abalance", "tbalance", "bbalance", "delta"];
    let sums: Vec<String> = columns
        .into_iter()
        .zip(BANK)
        .map(|(c, t)| sum(c, t))
        .collect();
    let all = columns.join(", ");
    format!(
        "SELECT {}, delta, least({all}), greatest({all}) FROM (SELECT {}) AS sums",
        counts.join(" + "),
        sums.join(", ")
    )
}

impl Server {
    /// Makes the tables of this scale and fillfactor, whose marks say these words.
    pub(super) fn make_bank(
        &mut self,
        (scale, fillfactor): (u32, u64),
        words: &str,
        tell: &mut dyn FnMut(Bytes),
    ) -> Result<(), WorkError> {
        for (table, (columns, key)) in BANK.into_iter().zip(COLUMNS) {
            let with = match key {
                "" => String::new(),
                _ => format!(" WITH (fillfactor={fillfactor})"),
            };
            let sql = format!("CREATE TABLE {table} ({columns}){with}");
            self.with("make a table in", |link| link.make(table, &sql, words))?;
        }
        let numbers = |first: u64, last: u64| format!("generate_series({first}, {last}) AS n");
        let scale = u64::from(scale);
        let branches = numbers(1, scale);
        let tellers = numbers(1, scale * TELLERS);
        self.asked(
            FILL,
            &format!("INSERT INTO {} SELECT n, 0 FROM {branches}", BANK[2]),
        )?;
        self.asked(
            FILL,
            &format!(
                "INSERT INTO {} SELECT n, (n - 1) / {TELLERS} + 1, 0 FROM {tellers}",
                BANK[1]
            ),
        )?;
        for branch in 1..=scale {
            let accounts = numbers((branch - 1) * ACCOUNTS + 1, branch * ACCOUNTS);
            self.asked(
                FILL,
                &format!(
                    "INSERT INTO {} SELECT n, {branch}, 0, '' FROM {accounts}",
                    BANK[0]
                ),
            )?;
            tell(Bytes(BRANCH_BYTES));
        }
        for (table, (_, key)) in BANK.into_iter().zip(COLUMNS) {
            self.asked("look through", &format!("VACUUM ANALYZE {table}"))?;
            if !key.is_empty() {
                let sql = format!("ALTER TABLE {table} ADD PRIMARY KEY ({key})");
                self.asked("make an index in", &sql)?;
            }
        }
        Ok(())
    }

    fn asked(&mut self, operation: &str, sql: &str) -> Result<(), WorkError> {
        self.with(operation, |link| link.ask(sql)).map(drop)
    }
}
