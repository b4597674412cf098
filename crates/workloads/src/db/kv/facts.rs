//! What a server says of itself that decides a figure: its version and settings, and in words how durable a write is.
//!
//! A user may not be allowed to ask: what is not told is said to be so. Source: Redis' documentation, "INFO",
//! "Redis persistence" and redis.conf.

use super::wire::Wire;
use crate::db::engines::Engine;
use crate::db::server::facts::fact;
use crate::db::server::trouble::Trouble;
use model::named::ServerFact;

/// What is asked for. Durability first, then threads and memory.
const SETTINGS: [&str; 7] = [
    "appendonly",
    "appendfsync",
    "save",
    "io-threads",
    "maxmemory",
    "maxmemory-policy",
    "maxclients",
];

/// What INFO says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Info(String);

impl Info {
    #[cfg(test)]
    pub(super) fn read(text: &str) -> Self {
        Self(text.to_owned())
    }

    pub(super) fn ask(wire: &mut Wire) -> Result<Self, Trouble> {
        let text = wire.text(&[b"INFO"])?;
        Ok(Self(text.ok_or(Trouble::Garbage(Engine::Redis))?))
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.0.lines().filter_map(|line| line.split_once(':'));
        let found = fields.find(|(key, _)| *key == name)?.1.trim();
        Some(found).filter(|value| !value.is_empty())
    }

    /// The server's process, as it calls it.
    pub(super) fn process(&self) -> Option<u32> {
        self.field("process_id")?.parse().ok()
    }

    /// A number that it tells.
    pub(super) fn number(&self, name: &str) -> Option<u64> {
        self.field(name)?.parse().ok()
    }

    /// Keys that the server has deleted by itself; `None` where it does not tell.
    pub(super) fn evicted(&self) -> Option<u64> {
        self.number("evicted_keys")
    }

    /// How many keys each database has, by its number, of those that have any; `None` where it does not tell.
    pub(super) fn databases(&self) -> Option<Vec<(u32, u64)>> {
        let (_, all) = self.0.split_once("# Keyspace")?;
        let each = all.lines().filter_map(|line| {
            let (number, rest) = line.strip_prefix("db")?.split_once(":keys=")?;
            let keys = rest.split(',').next()?;
            Some((number.parse().ok()?, keys.trim().parse().ok()?))
        });
        Some(each.collect())
    }

    /// Why it cannot be measured; `None` where it can.
    pub(super) fn unfit(&self) -> Option<String> {
        let is = |name: &str, value: &str| self.field(name) == Some(value);
        if is("role", "slave") {
            Some(
                "it is a replica, which nobody writes to\nhint: name the primary server".to_owned(),
            )
        } else if is("redis_mode", "cluster") || is("cluster_enabled", "1") {
            Some(
                "it is a node of a cluster, which sends clients from one node to another\n\
                 hint: kurabe measures a server by itself"
                    .to_owned(),
            )
        } else if is("redis_mode", "sentinel") {
            Some(
                "it is a sentinel, which holds no data\nhint: name the server that it watches"
                    .to_owned(),
            )
        } else if is("loading", "1") {
            Some("it reads its data after a start\nhint: wait until it has".to_owned())
        } else {
            None
        }
    }

    /// Its name and version.
    fn version(&self) -> String {
        let of = |name| self.field(name);
        let told = match (of("valkey_version"), of("redis_version")) {
            (Some(valkey), _) => format!("Valkey {valkey}"),
            (None, Some(redis)) => format!("Redis {redis}"),
            (None, None) => "Redis or Valkey, version not told".to_owned(),
        };
        fact(ServerFact::VERSION, &told, "").value
    }
}

/// That a password went where others may listen.
pub(super) fn in_the_clear(has_password: bool, is_here: bool) -> Option<String> {
    (has_password && !is_here).then(|| {
        "the password went over the network as it is (AUTH, without TLS): whoever listens there has it".to_owned()
    })
}

/// What is said of a server with the figures.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// A sentence each.
    pub(super) notes: Vec<String>,
}

impl Facts {
    /// Asks the server.
    pub(super) fn ask(wire: &mut Wire, info: Option<&Info>) -> Result<Self, Trouble> {
        let settings = Settings::ask(wire, info)?;
        let mut notes = vec![settings.described(info)];
        notes.extend(settings.durability());
        notes.extend(settings.forgets());
        Ok(Self { notes })
    }
}

/// Values in the order of [`SETTINGS`]; `None` where one was not told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Settings([Option<String>; SETTINGS.len()]);

/// The product and version where they are told, and the settings that are.
pub(super) fn settings(wire: &mut Wire, info: Option<&Info>) -> Result<Vec<ServerFact>, Trouble> {
    let settings = Settings::ask(wire, info)?;
    let version = info.map(|info| fact(ServerFact::VERSION, &info.version(), ""));
    let told = SETTINGS.into_iter().zip(&settings.0);
    let told = told.filter_map(|(name, value)| Some(fact(name, value.as_ref()?, "")));
    Ok(version.into_iter().chain(told).collect())
}

impl Settings {
    fn ask(wire: &mut Wire, info: Option<&Info>) -> Result<Self, Trouble> {
        let mut settings = Self::default();
        for (place, name) in SETTINGS.into_iter().enumerate() {
            let value = wire.setting(name)?;
            // In one line, and not endless.
            settings.0[place] = value.map(|value| fact(name, &value, "").value);
        }
        settings.complete(info);
        Ok(settings)
    }

    fn of(&self, name: &str) -> Option<&str> {
        let place = SETTINGS.iter().position(|own| *own == name)?;
        self.0[place].as_deref()
    }

    /// Takes from INFO what the settings did not say.
    fn complete(&mut self, info: Option<&Info>) {
        let Some(info) = info else { return };
        for (place, name) in SETTINGS.into_iter().enumerate() {
            let there = match name {
                "appendonly" => match info.field("aof_enabled") {
                    Some("1") => Some("yes"),
                    Some("0") => Some("no"),
                    _ => None,
                },
                "maxmemory" => info.field("maxmemory"),
                "maxmemory-policy" => info.field("maxmemory_policy"),
                "maxclients" => info.field("maxclients"),
                _ => None,
            };
            if self.0[place].is_none() {
                self.0[place] = there.map(str::to_owned);
            }
        }
    }

    /// All of it in one sentence, which is the same in every round of a run where nothing was changed.
    fn described(&self, info: Option<&Info>) -> String {
        let told = |name: &str| match self.of(name) {
            None => format!("{name} not told"),
            Some("") => format!("{name} empty"),
            Some(value) => format!("{name} {value}"),
        };
        let version = info.map_or_else(
            || "Redis or Valkey, version not told".to_owned(),
            Info::version,
        );
        format!(
            "{version}, by its own word (INFO, CONFIG GET): {}",
            SETTINGS.map(told).join(", ")
        )
    }

    /// How durable a write is when it is answered.
    fn durability(&self) -> Option<String> {
        let words = match (self.of("appendonly")?, self.of("appendfsync")) {
            ("yes", Some("always")) => {
                return Some(
                    "a write is in the log on the disk before it is answered (appendfsync always)"
                        .to_owned(),
                );
            }
            ("yes", Some("everysec")) => {
                "appendfsync is everysec: a write is answered before it is on the disk, and a power cut loses about \
                 the last second"
            }
            ("yes", Some("no")) => {
                "appendfsync is no: a write is answered before it is on the disk, and a power cut loses what the \
                 kernel has not written by itself"
            }
            ("no", _) => match self.of("save") {
                Some("") => {
                    "appendonly is no and save is empty: nothing is written to a disk, and a server that ends has lost \
                     everything"
                }
                _ => {
                    "appendonly is no: a write is answered from memory, and a server that crashes loses what came \
                     after its last snapshot"
                }
            },
            _ => return None,
        };
        Some(format!("durability is off: {words}"))
    }

    /// That keys may go by themselves.
    fn forgets(&self) -> Option<String> {
        let (most, policy) = (self.of("maxmemory")?, self.of("maxmemory-policy")?);
        (most != "0" && policy != "noeviction").then(|| {
            format!(
                "the server deletes keys where it needs the memory for others (maxmemory {most}, {policy}): a run ends \
                 where it does"
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(set: &[(&str, &str)]) -> Settings {
        let mut settings = Settings::default();
        for (name, value) in set {
            let place = SETTINGS.iter().position(|own| own == name).unwrap();
            settings.0[place] = Some((*value).to_owned());
        }
        settings
    }

    fn info(lines: &str) -> Info {
        Info(format!("# Server\r\n{}\r\n", lines.replace('\n', "\r\n")))
    }

    #[test]
    fn versions_are_those_of_either_product() {
        let check = |lines: &str, expected: &str| {
            let told = Settings::default().described(Some(&info(lines)));
            assert!(told.starts_with(expected), "{told}");
        };
        check(
            "redis_version:7.0.15\nprocess_id:77",
            "Redis 7.0.15, by its own word",
        );
        // As Valkey's documentation has it; no such server was asked.
        check(
            "redis_version:7.2.4\nserver_name:valkey\nvalkey_version:8.0.1",
            "Valkey 8.0.1, ",
        );
        check("os:Linux", "Redis or Valkey, version not told");
        assert_eq!(info("process_id:77").process(), Some(77));
        assert_eq!(info("process_id:").process(), None);
    }

    #[test]
    fn what_is_hidden_is_said_to_be_and_info_helps_out() {
        let mut some = settings(&[("save", ""), ("io-threads", "4")]);
        some.complete(Some(&info(
            "aof_enabled:1\nmaxmemory:0\nmaxmemory_policy:noeviction",
        )));
        let told = some.described(None);
        for words in [
            "appendonly yes,",
            "appendfsync not told",
            "save empty",
            "io-threads 4",
            "maxmemory 0",
        ] {
            assert!(told.contains(words), "{words}: {told}");
        }
    }

    #[test]
    fn how_durable_a_write_is_is_told_in_words() {
        let check = |set: &[(&str, &str)], words: Option<&str>| {
            let told = settings(set).durability();
            match words {
                None => assert_eq!(told, None),
                Some(words) => assert!(told.clone().unwrap().contains(words), "{told:?}"),
            }
        };
        check(&[], None);
        check(&[("appendonly", "yes")], None);
        let yes = ("appendonly", "yes");
        check(
            &[yes, ("appendfsync", "always")],
            Some("on the disk before"),
        );
        check(
            &[yes, ("appendfsync", "everysec")],
            Some("durability is off: appendfsync is everysec"),
        );
        check(&[yes, ("appendfsync", "no")], Some("appendfsync is no"));
        let no = ("appendonly", "no");
        check(&[no, ("save", "60 1")], Some("its last snapshot"));
        check(&[no, ("save", "")], Some("lost everything"));
    }

    #[test]
    fn a_password_that_others_may_hear_is_told() {
        assert!(in_the_clear(true, false).unwrap().contains("without TLS"));
        assert_eq!(in_the_clear(true, true), None);
        assert_eq!(in_the_clear(false, false), None);
    }

    #[test]
    fn keys_that_go_by_themselves_are_told() {
        let forgets = |most, policy| {
            let set = [("maxmemory", most), ("maxmemory-policy", policy)];
            settings(&set).forgets().is_some()
        };
        assert!(forgets("1048576", "allkeys-lru"));
        assert!(!forgets("0", "allkeys-lru"));
        assert!(!forgets("1048576", "noeviction"));
    }

    #[test]
    fn keys_of_all_databases_are_counted_where_they_are_told() {
        let of = |lines: &str| info(lines).databases();
        let told = "# Keyspace\ndb0:keys=7,expires=2,avg_ttl=0\ndb11:keys=1,expires=0,avg_ttl=0";
        assert_eq!(of(told), Some(vec![(0, 7), (11, 1)]));
        assert_eq!(of("# Keyspace"), Some(Vec::new()));
        assert_eq!(of("db0:keys=7,expires=2,avg_ttl=0"), None);
        assert_eq!(info("evicted_keys:12").number("evicted_keys"), Some(12));
        assert_eq!(info("evicted_keys:x").number("evicted_keys"), None);
    }

    #[test]
    fn servers_that_serve_others_by_nature_are_refused() {
        for (lines, words) in [
            ("role:slave", "replica"),
            ("redis_mode:cluster", "cluster"),
            ("cluster_enabled:1", "cluster"),
            ("redis_mode:sentinel", "sentinel"),
            ("loading:1", "after a start"),
        ] {
            let why = info(lines).unfit();
            assert!(
                why.as_ref().is_some_and(|why| why.contains(words)),
                "{why:?}"
            );
        }
        let plain = info("redis_mode:standalone\nrole:master\ncluster_enabled:0\nloading:0");
        assert_eq!(plain.unfit(), None);
    }
}
