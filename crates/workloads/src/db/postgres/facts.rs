//! What a PostgreSQL server says of itself that decides a figure.

use crate::db::server::facts::{fact, in_memory, is, listed, of, product, version, warnings};
use crate::db::server::trouble::Trouble;
use crate::db::server::{Link, value};
use model::named::ServerFact;
use model::order::Order as _;

/// What is asked for. Durability first, then what transactions wait for, then memory and the log.
const SETTINGS: [&[&str]; 14] = [
    &["fsync"],
    &["synchronous_commit"],
    &["full_page_writes"],
    &["wal_sync_method"],
    &["wal_level"],
    &["synchronous_standby_names"],
    &["default_transaction_isolation"],
    &["deadlock_timeout"],
    &["shared_buffers"],
    &["max_wal_size"],
    &["checkpoint_timeout"],
    &["max_connections"],
    &["autovacuum"],
    &["jit"],
];

/// What is kept of the server beside that. Some are there in later versions alone.
const KEPT: [&str; 4] = [
    "random_page_cost",
    "commit_delay",
    "io_method",
    "data_checksums",
];

/// The version, and the settings that the server tells, in their order.
pub(super) fn settings(link: &mut dyn Link) -> Result<Vec<ServerFact>, Trouble> {
    let names = [&SETTINGS.concat()[..], &KEPT].concat();
    let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let rows = link.ask(&format!(
        "SELECT name, coalesce(current_setting(name, true), ''), \
         CASE WHEN pending_restart THEN source || ', another value waits for a restart' ELSE source END \
         FROM pg_settings WHERE name IN ({})",
        list.join(", ")
    ))?;
    let own = value(link.ask("SELECT current_setting('server_version')")?).unwrap_or_default();
    let told = rows.into_iter().filter_map(setting);
    let mut told: Vec<ServerFact> = told
        .filter(|one| names.contains(&one.name.as_str()))
        .take(names.len())
        .collect();
    told.order_by_key(|one| names.iter().position(|name| *name == one.name));
    told.insert(0, version("PostgreSQL", &own));
    Ok(told)
}

/// Asks the server, and looks at our tables.
pub(super) fn ask(link: &mut dyn Link, tables: &[String]) -> Result<Vec<String>, Trouble> {
    let settings = settings(link)?;
    let names: Vec<String> = tables
        .iter()
        .map(|name| format!("'{name}'::regclass"))
        .collect();
    let logged = link.ask(&format!(
        "SELECT bool_and(relpersistence = 'p') FROM pg_class WHERE oid IN ({})",
        names.join(", ")
    ))?;
    let is_logged = value(logged).as_deref() == Some("t");
    let bytes = link.bytes(tables)?;
    let cache = value(link.ask("SELECT pg_size_bytes(current_setting('shared_buffers'))")?);
    let mut notes = vec![described(&settings)];
    notes.extend(not_durable(&settings, is_logged));
    let sizes = bytes.zip(cache.and_then(|bytes| bytes.parse().ok()));
    notes.extend(sizes.and_then(|(own, cache)| in_memory(own, ("shared_buffers", cache))));
    Ok(notes)
}

fn setting(row: Vec<Option<String>>) -> Option<ServerFact> {
    let [name, value, source]: [Option<String>; 3] = row.try_into().ok()?;
    Some(fact(&name?, &value?, &source?))
}

/// All of it in one sentence, which is the same in every round of a run where nothing was changed.
fn described(settings: &[ServerFact]) -> String {
    format!(
        "{}, by its own word (pg_settings; with the source where it is not the default): {}",
        product(settings),
        listed(&SETTINGS, settings)
    )
}

/// What makes a commit less than durable. Source: PostgreSQL's documentation, "Write Ahead Log".
fn not_durable(settings: &[ServerFact], is_logged: bool) -> Vec<String> {
    let off = |name: &str| is(settings, name, &["off"]);
    let cases = [
        (
            off("fsync"),
            "fsync is off: when the machine crashes the whole database may be lost",
        ),
        (
            off("synchronous_commit"),
            "synchronous_commit is off: a commit returns before it is on the disk, and the last ones are lost in a crash",
        ),
        (
            off("full_page_writes"),
            "full_page_writes is off: a page that was half written in a crash stays broken",
        ),
        (
            !is_logged,
            "the tables are not logged: they are empty after a crash",
        ),
    ];
    let mut told = warnings("durability is off", cases);
    let has_standbys =
        of(settings, "synchronous_standby_names").is_some_and(|one| !one.value.is_empty());
    let in_doubt = (
        has_standbys && is(settings, "synchronous_commit", &["local", "remote_write"]),
        "synchronous_commit does not wait until the synchronous standbys have a commit on their disks",
    );
    told.extend(warnings("durability is in doubt", [in_doubt]));
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_durable_is_said() {
        assert!(not_durable(&[fact("fsync", "on", "")], true).is_empty());
        for (name, logged) in [
            ("fsync", true),
            ("synchronous_commit", true),
            ("full_page_writes", true),
            ("jit", false),
        ] {
            let told = not_durable(&[fact(name, "off", "")], logged);
            assert_eq!(told.len(), 1, "{name}: {told:?}");
            assert!(told[0].starts_with("durability is off: "), "{told:?}");
        }
        let standbys = |names: &str, commit: &str| {
            let all = [
                fact("synchronous_standby_names", names, ""),
                fact("synchronous_commit", commit, ""),
            ];
            not_durable(&all, true)
        };
        assert!(standbys("", "local").is_empty() && standbys("one", "on").is_empty());
        for commit in ["local", "remote_write"] {
            let told = standbys("one", commit);
            assert!(
                told.len() == 1 && told[0].starts_with("durability is in doubt: "),
                "{told:?}"
            );
        }
    }
}
