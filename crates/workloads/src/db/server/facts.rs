//! What a server says of itself that decides a figure: settings with their source, and in words what makes a commit
//! less than durable.

/// A setting as the server tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::db) struct Setting {
    pub(in crate::db) name: String,
    pub(in crate::db) value: String,
    /// Where it comes from; `None` where that is the default, or not told.
    pub(in crate::db) source: Option<String>,
}

/// All settings of these names, in their order, as one list. Versions have different names for some: the first of each
/// group that is told counts.
pub(in crate::db) fn listed(names: &[&[&str]], settings: &[Setting]) -> String {
    let told = |group: &&[&str]| {
        let mut own = group.iter();
        match own.find_map(|name| of(settings, name)) {
            None => format!("{} not told", group[0]),
            Some(one) => {
                let value = if one.value.is_empty() {
                    "empty"
                } else {
                    &one.value
                };
                let source = one.source.as_ref();
                let source = source.map_or_else(String::new, |source| format!(" ({source})"));
                format!("{} {value}{source}", one.name)
            }
        }
    };
    names.iter().map(told).collect::<Vec<_>>().join(", ")
}

/// The setting of this name.
pub(in crate::db) fn of<'a>(settings: &'a [Setting], name: &str) -> Option<&'a Setting> {
    settings.iter().find(|one| one.name == name)
}

/// Whether a setting has one of these values, however they are written.
pub(in crate::db) fn is(settings: &[Setting], name: &str, values: &[&str]) -> bool {
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

    fn set(name: &str, value: &str, source: Option<&str>) -> Setting {
        Setting {
            name: name.to_owned(),
            value: value.to_owned(),
            source: source.map(str::to_owned),
        }
    }

    #[test]
    fn settings_are_told_with_their_source_and_what_is_hidden_is_said_to_be() {
        let settings = [
            set("fsync", "on", None),
            set("shared_buffers", "1GB", Some("configuration file")),
            set("synchronous_standby_names", "", None),
            set("tx_isolation", "SERIALIZABLE", None),
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
    fn tables_in_memory_are_said_to_be() {
        assert!(in_memory(5, ("a", 5)).is_some_and(|said| said.contains("(a)")));
        assert_eq!(in_memory(6, ("a", 5)), None);
    }
}
