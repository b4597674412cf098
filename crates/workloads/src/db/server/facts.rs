//! What a server says of itself that decides a figure: settings with their source, and in words what makes a commit
//! less than durable.

use model::named::ServerFact;

/// More is no value that anybody reads.
const CHARS_MAX: usize = 200;

/// A setting as the server tells it: kept and printed, so that it is one line of bounded length.
pub(in crate::db) fn fact(name: &str, value: &str, source: &str) -> ServerFact {
    let plain = |text: &str| {
        let shown = text.chars().filter(|one| !one.is_control());
        shown.take(CHARS_MAX).collect()
    };
    ServerFact {
        name: plain(name),
        value: plain(value),
        source: plain(source),
    }
}

/// The product and its version, as the first of what a server says of itself.
pub(in crate::db) fn version(product: &str, version: &str) -> ServerFact {
    fact(ServerFact::VERSION, &format!("{product} {version}"), "")
}

/// What [`version`] says, of all that a server says.
pub(in crate::db) fn product(facts: &[ServerFact]) -> &str {
    of(facts, ServerFact::VERSION).map_or("", |one| &one.value)
}

/// All settings of these names, in their order, as one list. Versions have different names for some: the first of each
/// group that is told counts.
pub(in crate::db) fn listed(names: &[&[&str]], settings: &[ServerFact]) -> String {
    let told = |group: &&[&str]| {
        let mut own = group.iter();
        match own.find_map(|name| of(settings, name)) {
            None => format!("{} not told", group[0]),
            Some(one) => format!("{} {}", one.name, one.told()),
        }
    };
    names.iter().map(told).collect::<Vec<_>>().join(", ")
}

/// The setting of this name.
pub(in crate::db) fn of<'a>(settings: &'a [ServerFact], name: &str) -> Option<&'a ServerFact> {
    settings.iter().find(|one| one.name == name)
}

/// Whether a setting has one of these values, however they are written.
pub(in crate::db) fn is(settings: &[ServerFact], name: &str, values: &[&str]) -> bool {
    let found = of(settings, name);
    found.is_some_and(|one| {
        let mut all = values.iter();
        all.any(|value| one.value.eq_ignore_ascii_case(value))
    })
}

/// A sentence for each of these cases that is so.
pub(in crate::db) fn warnings<'a>(
    about: &'static str,
    cases: impl IntoIterator<Item = (bool, &'a str)>,
) -> Vec<String> {
    let found = cases.into_iter().filter(|(is_so, _)| *is_so);
    found
        .map(|(_, words)| format!("{about}: {words}"))
        .collect()
}

/// What is said where the tables, of so many bytes, stay in the server's own cache.
pub(in crate::db) fn in_memory(tables: u64, cache: (&str, u64)) -> Option<String> {
    let (name, bytes) = cache;
    (tables <= bytes).then(|| {
        format!("our tables fit into the server's memory ({name}): what is read there comes from no disk")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_told_with_their_source_and_what_is_hidden_is_said_to_be() {
        let settings = [
            fact("fsync", "on", "default"),
            fact("shared_buffers", "1GB", "configuration file"),
            fact("synchronous_standby_names", "", ""),
            fact("tx_isolation", "SERIALIZABLE", ""),
        ];
        let names: [&[&str]; 5] = [
            &["fsync"],
            &["shared_buffers"],
            &["jit"],
            &["synchronous_standby_names"],
            &["transaction_isolation", "tx_isolation"],
        ];
        assert_eq!(
            listed(&names, &settings),
            "fsync on, shared_buffers 1GB (configuration file), jit not told, \
             synchronous_standby_names empty, tx_isolation SERIALIZABLE"
        );
        assert!(is(&settings, "fsync", &["ON", "1"]) && !is(&settings, "jit", &["on"]));
    }

    #[test]
    fn what_a_server_says_is_one_line_of_bounded_length() {
        assert_eq!(fact("x", "a\u{1b}[31m\nb\0", "").value, "a[31mb");
        assert_eq!(fact("x", &"x".repeat(1 << 20), "").value.len(), CHARS_MAX);
    }

    #[test]
    fn tables_in_memory_are_said_to_be() {
        assert!(in_memory(5, ("a", 5)).is_some_and(|said| said.contains("(a)")));
        assert_eq!(in_memory(6, ("a", 5)), None);
    }
}
