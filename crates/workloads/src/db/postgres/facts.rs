//! What a PostgreSQL server says of itself that decides a figure.

use crate::db::server::facts::{Setting, in_memory, is, listed, warnings};
use crate::db::server::trouble::Trouble;
use crate::db::server::{Link, value};
use crate::db::statement::name;

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

/// Asks the server, and looks at our tables.
pub(super) fn ask(link: &mut dyn Link, tables: u32) -> Result<Vec<String>, Trouble> {
    let names = SETTINGS.concat().into_iter();
    let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
    let rows = link.ask(&format!(
        "SELECT name, coalesce(current_setting(name, true), ''), source FROM pg_settings WHERE name IN ({})",
        names.join(", ")
    ))?;
    let settings: Vec<Setting> = rows.into_iter().filter_map(setting).collect();
    let version = value(link.ask("SELECT current_setting('server_version')")?).unwrap_or_default();
    let first = name(0);
    let logged = link.ask(&format!(
        "SELECT relpersistence FROM pg_class WHERE oid = '{first}'::regclass"
    ))?;
    let is_logged = value(logged).as_deref() == Some("p");
    let bytes = link.bytes(tables)?;
    let cache = value(link.ask("SELECT pg_size_bytes(current_setting('shared_buffers'))")?);
    let mut notes = vec![described(&version, &settings)];
    notes.extend(not_durable(&settings, is_logged));
    let sizes = bytes.zip(cache.and_then(|bytes| bytes.parse().ok()));
    notes.extend(sizes.and_then(|(own, cache)| in_memory(own, ("shared_buffers", cache))));
    Ok(notes)
}

fn setting(row: Vec<Option<String>>) -> Option<Setting> {
    let [name, value, source]: [Option<String>; 3] = row.try_into().ok()?;
    Some(Setting {
        name: name?,
        value: value?,
        source: source.filter(|source| source != "default"),
    })
}

/// All of it in one sentence, which is the same in every round of a run where nothing was changed.
fn described(version: &str, settings: &[Setting]) -> String {
    format!(
        "PostgreSQL {version}, by its own word (pg_settings; with the source where it is not the default): {}",
        listed(&SETTINGS, settings)
    )
}

/// What makes a commit less than durable. Source: PostgreSQL's documentation, "Write Ahead Log".
fn not_durable(settings: &[Setting], is_logged: bool) -> Vec<String> {
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
    warnings("durability is off", cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str) -> Setting {
        Setting {
            name: name.to_owned(),
            value: value.to_owned(),
            source: None,
        }
    }

    #[test]
    fn what_is_not_durable_is_said() {
        assert!(not_durable(&[set("fsync", "on")], true).is_empty());
        for (name, logged) in [
            ("fsync", true),
            ("synchronous_commit", true),
            ("full_page_writes", true),
            ("jit", false),
        ] {
            let told = not_durable(&[set(name, "off")], logged);
            assert_eq!(told.len(), 1, "{name}: {told:?}");
            assert!(told[0].starts_with("durability is off: "), "{told:?}");
        }
    }
}
