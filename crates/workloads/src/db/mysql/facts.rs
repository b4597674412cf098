//! What a MySQL or MariaDB server says of itself that decides a figure.

use super::link::names;
use crate::db::server::facts::{fact, in_memory, is, listed, of, product, version, warnings};
use crate::db::server::trouble::Trouble;
use crate::db::server::{Link, Rows, value};
use model::named::ServerFact;

/// What is asked for, with other names for the same in other versions. Durability first, then what transactions wait
/// for, then memory and the log.
const SETTINGS: [&[&str]; 20] = [
    &["innodb_flush_log_at_trx_commit"],
    &["log_bin"],
    &["sync_binlog"],
    &["innodb_doublewrite"],
    &["innodb_flush_method"],
    &["transaction_isolation", "tx_isolation"],
    &["innodb_snapshot_isolation"],
    &["innodb_lock_wait_timeout"],
    &["innodb_deadlock_detect"],
    &["innodb_rollback_on_timeout"],
    &["innodb_buffer_pool_size"],
    &["innodb_redo_log_capacity", "innodb_log_file_size"],
    &["innodb_io_capacity"],
    &["innodb_page_size"],
    &["max_connections"],
    &["thread_handling"],
    &["performance_schema"],
    &["query_cache_type"],
    &["sql_mode"],
    &["collation_database"],
];

/// Settings that are kept with the run and not told in words: they seldom decide a figure.
const NOT_TOLD: [&str; 8] = [
    "innodb_lock_wait_timeout",
    "innodb_deadlock_detect",
    "innodb_rollback_on_timeout",
    "innodb_io_capacity",
    "thread_handling",
    "performance_schema",
    "sql_mode",
    "collation_database",
];

/// Settings in bytes.
const SIZES: [&str; 4] = [
    POOL,
    "innodb_redo_log_capacity",
    "innodb_log_file_size",
    "innodb_page_size",
];

/// Settings that not every version or product has: nothing is said where one is not told.
const NOT_EVERYWHERE: [&str; 2] = ["innodb_snapshot_isolation", "query_cache_type"];

/// The cache of tables.
const POOL: &str = "innodb_buffer_pool_size";

/// What the version is called of the one whose variables have a table of their own.
const MARIADB: &str = "MariaDB";

/// The version, and the settings that the server tells.
pub(super) fn settings(link: &mut dyn Link) -> Result<Vec<ServerFact>, Trouble> {
    let all = SETTINGS.concat().into_iter();
    let all: Vec<String> = all.map(|name| format!("'{name}'")).collect();
    let all = all.join(", ");
    let own = value(link.ask("SELECT CONCAT(VERSION(), ', ', @@version_comment)")?);
    let own = own.unwrap_or_default();
    let is_maria = own.contains(MARIADB);
    let rows = if is_maria {
        link.ask(&format!(
            "SELECT variable_name, global_value, global_value_origin FROM information_schema.system_variables \
             WHERE variable_name IN ({all})"
        ))
    } else {
        link.ask(&format!(
            "SHOW GLOBAL VARIABLES WHERE variable_name IN ({all})"
        ))
    }?;
    let product = if is_maria { MARIADB } else { "MySQL" };
    let mut told = read(rows);
    told.insert(0, version(product, &own));
    Ok(told)
}

/// Asks the server, and looks at our tables.
pub(super) fn ask(link: &mut dyn Link, tables: &[String]) -> Result<Vec<String>, Trouble> {
    let settings = settings(link)?;
    let engines = link.ask(&format!(
        "SELECT DISTINCT engine FROM information_schema.tables WHERE table_schema = DATABASE() \
         AND table_name IN ({})",
        names(tables)
    ))?;
    let engines: Vec<String> = engines.into_iter().flatten().flatten().collect();
    let redo = link.ask("SHOW GLOBAL STATUS LIKE 'Innodb_redo_log_enabled'")?;
    let has_redo = !redo
        .into_iter()
        .flatten()
        .flatten()
        .any(|word| word == "OFF");
    let bytes = link.bytes(tables)?;
    let pool = of(&settings, POOL).and_then(|pool| pool.value.parse().ok());
    let less = not_durable(&settings, has_redo);
    let mut notes = vec![described(&settings, less.is_empty())];
    notes.extend(less);
    notes.extend(other(&settings, &engines));
    notes.extend(
        bytes
            .zip(pool)
            .and_then(|(own, pool)| in_memory(own, (POOL, pool))),
    );
    Ok(notes)
}

fn read(rows: Rows) -> Vec<ServerFact> {
    let one = |row: Vec<Option<String>>| {
        let mut values = row.into_iter();
        let name = values.next()??.to_ascii_lowercase();
        let value = values.next()?.unwrap_or_default();
        let source = values.next().flatten().unwrap_or_default();
        let source = source.to_ascii_lowercase();
        // By this word MariaDB calls its defaults.
        let source = if source == "compile-time" {
            "default"
        } else {
            &source
        };
        Some(fact(&name, &value, source))
    };
    rows.into_iter().filter_map(one).collect()
}

/// A size in the largest unit of which it is a whole number.
fn with_unit(bytes: u64) -> String {
    let units = [(30, "GiB"), (20, "MiB"), (10, "KiB")];
    let mut fits = units.into_iter();
    let fits = fits.find(|(shift, _)| bytes > 0 && bytes.trailing_zeros() >= *shift);
    fits.map_or_else(
        || format!("{bytes} B"),
        |(shift, unit)| format!("{} {unit}", bytes >> shift),
    )
}

/// What decides most, in one sentence, which is the same in every round of a run where nothing was changed; short words
/// first.
fn described(settings: &[ServerFact], is_durable: bool) -> String {
    let product = product(settings);
    let from = if product.starts_with(MARIADB) {
        "information_schema.system_variables; with the source where it is not the default"
    } else {
        "SHOW GLOBAL VARIABLES"
    };
    let told = SETTINGS.into_iter();
    let told: Vec<&[&str]> = told
        .filter(|group| of(settings, group[0]).is_some() || !NOT_EVERYWHERE.contains(&group[0]))
        .filter(|group| !NOT_TOLD.contains(&group[0]))
        .collect();
    let readable = settings.iter().map(|one| {
        let bytes = one.value.parse().ok();
        let bytes = bytes.filter(|_| SIZES.contains(&&*one.name));
        ServerFact {
            value: bytes.map_or_else(|| one.value.clone(), with_unit),
            ..one.clone()
        }
    });
    let readable: Vec<ServerFact> = readable.collect();
    // A server that hides what decides it is not said to be durable.
    let asked = of(settings, "innodb_flush_log_at_trx_commit");
    let durable = match (is_durable, asked) {
        (false, _) => "durable at commit: not in every case (see below); ",
        (true, Some(_)) => "durable at commit: yes; ",
        (true, None) => "",
    };
    format!(
        "{product}, {durable}by its own word ({from}): {}",
        listed(&told, &readable)
    )
}

/// What makes a commit less than durable. Source: MariaDB's documentation, "InnoDB System Variables".
fn not_durable(settings: &[ServerFact], has_redo: bool) -> Vec<String> {
    const LOG: &str = "innodb_flush_log_at_trx_commit";
    let is = |name: &str, values: &[&str]| is(settings, name, values);
    let cases = [
        (
            is(LOG, &["0"]),
            "innodb_flush_log_at_trx_commit is 0: the last second of commits is lost when the server ends",
        ),
        (
            is(LOG, &["2"]),
            "innodb_flush_log_at_trx_commit is 2: the last second of commits is lost in a crash of the machine",
        ),
        (
            is("log_bin", &["ON", "1"]) && !is("sync_binlog", &["1"]),
            "log_bin is on and sync_binlog is not 1: after a crash of the machine the binary log may lack commits",
        ),
        (
            is("innodb_doublewrite", &["OFF", "0"]),
            "innodb_doublewrite is off: a page that was half written in a crash stays broken",
        ),
        (
            is("innodb_doublewrite", &["DETECT_ONLY"]),
            "innodb_doublewrite is DETECT_ONLY: a page that was half written in a crash is found and stays broken",
        ),
        (
            is("innodb_flush_method", &["nosync", "littlesync"]),
            "innodb_flush_method asks the disk for no sync",
        ),
        (
            !has_redo,
            "the redo log is off: when the server crashes the whole data may be lost",
        ),
    ];
    let mut told = warnings("durability is off", cases);
    let in_doubt = (
        is("innodb_flush_method", &["O_DIRECT_NO_FSYNC"]),
        "innodb_flush_method is O_DIRECT_NO_FSYNC: data files are not synced, which some file systems need",
    );
    told.extend(warnings("durability is in doubt", [in_doubt]));
    told
}

/// What makes the figures those of something else.
fn other(settings: &[ServerFact], engines: &[String]) -> Vec<String> {
    let is_innodb = |engine: &String| engine.eq_ignore_ascii_case("InnoDB");
    let cases = [
        (
            !engines.iter().all(is_innodb),
            "the tables are not InnoDB's: BEGIN and COMMIT mean nothing there",
        ),
        (
            is(settings, "query_cache_type", &["ON", "1"]),
            "query_cache_type is on: reads may be answered without being carried out",
        ),
    ];
    warnings("the figures are of something else", cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(all: &[(&str, &str)]) -> Vec<ServerFact> {
        let rows = all
            .iter()
            .map(|(name, value)| vec![Some((*name).to_owned()), Some((*value).to_owned())]);
        read(rows.collect())
    }

    #[test]
    fn what_is_not_durable_is_said() {
        let safe = [
            ("innodb_flush_log_at_trx_commit", "1"),
            ("log_bin", "OFF"),
            ("sync_binlog", "0"),
            ("innodb_doublewrite", "ON"),
            ("innodb_flush_method", "O_DIRECT"),
        ];
        assert!(not_durable(&set(&safe), true).is_empty());
        assert_eq!(not_durable(&set(&safe), false).len(), 1);
        for (place, value, word) in [
            (0, "0", "off"),
            (0, "2", "off"),
            (1, "ON", "off"),
            (3, "OFF", "off"),
            (3, "detect_only", "off"),
            (4, "nosync", "off"),
            (4, "O_DIRECT_NO_FSYNC", "in doubt"),
        ] {
            let mut one = safe;
            one[place].1 = value;
            let told = not_durable(&set(&one), true);
            assert_eq!(told.len(), 1, "{one:?}: {told:?}");
            let begins = format!("durability is {word}: {}", one[place].0);
            assert!(told[0].starts_with(&begins), "{told:?}");
        }
        let both = [("log_bin", "ON"), ("sync_binlog", "1")];
        assert!(not_durable(&set(&both), true).is_empty());
    }

    #[test]
    fn tables_without_transactions_and_answers_without_work_are_said_to_be() {
        let innodb = ["InnoDB".to_owned()];
        assert!(other(&[], &innodb).is_empty());
        let told = other(&[], &[innodb[0].clone(), "Aria".to_owned()]);
        assert!(told[0].contains("BEGIN"), "{told:?}");
        let told = other(&set(&[("query_cache_type", "ON")]), &innodb);
        assert!(told[0].contains("query_cache_type"), "{told:?}");
    }

    #[test]
    fn what_another_product_has_is_not_missed() {
        let mut own = set(&[("INNODB_DOUBLEWRITE", "ON")]);
        own.push(version(MARIADB, "10.11"));
        let said = described(&own, true);
        assert!(said.starts_with("MariaDB 10.11, by its own"), "{said}");
        assert!(
            said.contains("innodb_doublewrite ON, innodb_flush_method not told"),
            "{said}"
        );
        assert!(!said.contains("query_cache_type"), "{said}");
        own.extend(set(&[
            ("innodb_flush_log_at_trx_commit", "1"),
            (POOL, "134217728"),
            ("innodb_page_size", "16384"),
            ("sql_mode", "STRICT_TRANS_TABLES"),
        ]));
        let said = described(&own, true);
        for words in [
            "durable at commit: yes; ",
            "size 128 MiB",
            "page_size 16 KiB",
        ] {
            assert!(said.contains(words), "{words}: {said}");
        }
        assert!(!said.contains("sql_mode"), "{said}");
        assert!(described(&own, false).contains("not in every case"));
    }
}
