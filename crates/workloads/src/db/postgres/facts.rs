//! What a server says of itself that decides a figure: its version and settings with their source, and in words what
//! makes a commit less than durable.

use super::server::Server;
use crate::db::statement::name;
use engine::workload::WorkError;
use model::named::ServerFact;

/// What is asked for. Durability first, then what transactions wait for, then memory and the log.
const SETTINGS: [&str; 14] = [
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_sync_method",
    "wal_level",
    "synchronous_standby_names",
    "default_transaction_isolation",
    "deadlock_timeout",
    "shared_buffers",
    "max_wal_size",
    "checkpoint_timeout",
    "max_connections",
    "autovacuum",
    "jit",
];

/// What is kept of the server beside that. Some are there in later versions alone.
const KEPT: [&str; 4] = [
    "random_page_cost",
    "commit_delay",
    "io_method",
    "data_checksums",
];

const ASK: &str = "ask for the settings of";

/// What is said of a server with the figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::db) struct Told {
    /// A sentence each.
    pub(in crate::db) notes: Vec<String>,
}

/// Asks the server, and looks at our tables.
pub(super) fn ask(server: &mut Server, tables: u32) -> Result<Told, WorkError> {
    let settings = settings(server, &SETTINGS)?;
    let version = version(server)?;
    let first = name(0);
    let logged = server.ask(
        ASK,
        &format!("SELECT relpersistence FROM pg_class WHERE oid = '{first}'::regclass"),
    )?;
    let is_logged = logged.into_iter().flatten().flatten().next().as_deref() == Some("p");
    let size = (0..tables).map(|table| format!("pg_total_relation_size('{}')", name(table)));
    let size = size.collect::<Vec<_>>().join(" + ");
    let size = server.ask(ASK, &format!("SELECT pg_size_pretty(({size})::bigint)"))?;
    let size = size.into_iter().flatten().flatten().next();
    let mut notes = vec![described(&version, &settings, size.as_deref())];
    notes.extend(not_durable(&settings, is_logged));
    Ok(Told { notes })
}

/// What is kept of the server with a run: its version, and the settings that decide.
pub(super) fn kept(server: &mut Server) -> Result<Vec<ServerFact>, WorkError> {
    let version = ServerFact {
        name: ServerFact::VERSION.to_owned(),
        value: format!("PostgreSQL {}", version(server)?),
        source: "server_version".to_owned(),
    };
    let names = [&SETTINGS[..], &KEPT].concat();
    let settings = settings(server, &names)?;
    Ok(std::iter::once(version).chain(settings).collect())
}

/// Those of these that the server tells, in their order.
fn settings(server: &mut Server, names: &[&str]) -> Result<Vec<ServerFact>, WorkError> {
    let list: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
    let rows = server.ask(
        ASK,
        &format!(
            "SELECT name, coalesce(current_setting(name, true), ''), source FROM pg_settings WHERE name IN ({})",
            list.join(", ")
        ),
    )?;
    let found = rows.into_iter().filter_map(setting);
    let mut found: Vec<ServerFact> = found
        .filter(|fact| names.contains(&fact.name.as_str()))
        .take(names.len())
        .collect();
    found.sort_by_key(|fact| names.iter().position(|name| *name == fact.name));
    Ok(found)
}

fn version(server: &mut Server) -> Result<String, WorkError> {
    let version = server.value(ASK, "SELECT current_setting('server_version')")?;
    Ok(plain(&version.unwrap_or_default()))
}

/// What a server says, in one line of a length that can be read: it is kept and printed.
fn plain(text: &str) -> String {
    const CHARS_MAX: usize = 200;
    let shown = text.chars().filter(|one| !one.is_control());
    shown.take(CHARS_MAX).collect()
}

fn setting(row: Vec<Option<String>>) -> Option<ServerFact> {
    let [name, value, source]: [Option<String>; 3] = row.try_into().ok()?;
    Some(ServerFact {
        name: name?,
        value: plain(&value?),
        source: plain(&source?),
    })
}

/// All of it in one sentence, which is the same in every round of a run where nothing was changed.
fn described(version: &str, settings: &[ServerFact], size: Option<&str>) -> String {
    let of = |name: &&str| settings.iter().find(|one| one.name == **name);
    let told = |name: &&str| match of(name) {
        None => format!("{name} not told"),
        Some(one) => format!("{name} {}", one.told()),
    };
    let all: Vec<String> = SETTINGS.iter().map(told).collect();
    let size = size.map_or_else(String::new, |size| {
        format!("; our tables before the round: {size}")
    });
    format!(
        "PostgreSQL {version}, by its own word (pg_settings; with the source where it is not the default): {}{size}",
        all.join(", ")
    )
}

/// What makes a commit less than durable. Source: PostgreSQL's documentation, "Write Ahead Log".
fn not_durable(settings: &[ServerFact], is_logged: bool) -> Vec<String> {
    let is = |name: &str, value: &str| {
        let mut all = settings.iter();
        all.any(|one| one.name == name && one.value == value)
    };
    let cases = [
        (
            is("fsync", "off"),
            "fsync is off: when the machine crashes the whole database may be lost",
        ),
        (
            is("synchronous_commit", "off"),
            "synchronous_commit is off: a commit returns before it is on the disk, and the last ones are lost in a crash",
        ),
        (
            is("full_page_writes", "off"),
            "full_page_writes is off: a page that was half written in a crash stays broken",
        ),
        (
            !is_logged,
            "the tables are not logged: they are empty after a crash",
        ),
    ];
    let found = cases.into_iter().filter(|(is_so, _)| *is_so);
    found
        .map(|(_, words)| format!("durability is off: {words}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(name: &str, value: &str, source: &str) -> ServerFact {
        ServerFact {
            name: name.to_owned(),
            value: value.to_owned(),
            source: source.to_owned(),
        }
    }

    #[test]
    fn settings_are_told_with_their_source_and_what_is_hidden_is_said_to_be() {
        let settings = [
            set("fsync", "on", "default"),
            set("shared_buffers", "1GB", "configuration file"),
            set("synchronous_standby_names", "", "default"),
        ];
        let text = described("15.18", &settings, Some("2904 kB"));
        for words in [
            "PostgreSQL 15.18,",
            ": fsync on,",
            "shared_buffers 1GB (configuration file)",
            "synchronous_standby_names empty",
            "jit not told",
            "our tables before the round: 2904 kB",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
    }

    #[test]
    fn what_a_server_says_is_one_line_of_bounded_length() {
        assert_eq!(plain("15.18 (Debian)"), "15.18 (Debian)");
        assert_eq!(plain("a\u{1b}[31m\nb\0"), "a[31mb");
        assert_eq!(plain(&"x".repeat(1 << 20)).len(), 200);
    }

    #[test]
    fn what_is_not_durable_is_said() {
        assert!(not_durable(&[set("fsync", "on", "default")], true).is_empty());
        for (name, logged) in [
            ("fsync", true),
            ("synchronous_commit", true),
            ("full_page_writes", true),
            ("jit", false),
        ] {
            let told = not_durable(&[set(name, "off", "command line")], logged);
            assert_eq!(told.len(), 1, "{name}: {told:?}");
            assert!(told[0].starts_with("durability is off: "), "{told:?}");
        }
    }
}
