//! Whether what we write fits into what a server has left, so that nothing of others has to go for it.
//!
//! A server of keys makes room by its policy: it deletes keys of any database, or writes nothing more for its users. So
//! all of it is looked at, and not the database alone in which we work, before the first key is made and while they are
//! made. Where the server does not tell, only an empty one is written to.

use super::facts::Info;
use super::keys::Keys;
use super::server::Server;
use super::wire::Wire;
use crate::db::server::left_there;
use engine::workload::WorkError;
use model::params::Params;
use std::path::Path;
use sys::tree::Tree;

/// What a server keeps for a connection: its own buffers, and what a batch has grown them to.
const CONNECTION_BYTES: u64 = 64 << 10;

/// What a request has beside its value.
const REQUEST_BYTES: u64 = 64;

/// The part of what is free that is left free.
const SPARE: u64 = 10;

/// A log below this is not written anew (`auto-aof-rewrite-min-size` by default).
const LOG_LEAST: u64 = 64 << 20;

/// What helps where a server does not tell.
const LET_ASK: &str =
    "let the user ask INFO under this name (`ACL SETUSER USER +info` where it is not renamed)";

/// So many databases are looked at where the server does not tell which have keys. It has 16 by default.
const DATABASES_MAX: u32 = 1024;

/// What a test has a server keep.
#[derive(Clone, Copy, Debug)]
pub(in crate::db) struct Needs {
    pub(super) keys: Keys,
    clients: u32,
    /// Requests that a client sends at once.
    pipeline: u64,
}

impl Needs {
    pub(in crate::db) fn of(params: &Params, clients: u32) -> Self {
        Self {
            keys: Keys::of(params),
            clients,
            pipeline: params.count("pipeline"),
        }
    }

    /// The buffers of its connections at most, in bytes.
    pub(super) fn buffers(&self) -> u64 {
        let request = (self.keys.size as u64).saturating_add(REQUEST_BYTES);
        let each = connection(self.pipeline.saturating_mul(request));
        // The connection for what is not measured is one more.
        u64::from(self.clients)
            .saturating_mul(each)
            .saturating_add(making(self.keys))
    }

    /// Its buffers, and so many of its keys that are still to be made.
    pub(super) fn more(&self, number: u64) -> More {
        let keys = Keys {
            number,
            ..self.keys
        };
        let of_keys = if number > 0 { keys.bytes_at_most() } else { 0 };
        More {
            bytes: of_keys.saturating_add(self.buffers()),
            rewritten: self.keys.bytes_at_most(),
        }
    }
}

/// What a server is to keep more than it does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct More {
    /// At most.
    bytes: u64,
    /// What the keys take that are written again and again: twice of that while a fork of the server saves them.
    rewritten: u64,
}

impl More {
    /// Where so many bytes are given back before.
    pub(super) const fn less(self, bytes: u64) -> Self {
        Self {
            bytes: self.bytes.saturating_sub(bytes),
            ..self
        }
    }

    /// What is enough for either.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            bytes: self.bytes.max(other.bytes),
            rewritten: self.rewritten.max(other.rewritten),
        }
    }
}

/// What a server keeps for a connection with batches of so many bytes.
const fn connection(batch: u64) -> u64 {
    CONNECTION_BYTES.saturating_add(batch.saturating_add(batch / 4))
}

/// What it keeps for the connection that makes keys: of those only the request under way.
const fn making(keys: Keys) -> u64 {
    connection((keys.size as u64).saturating_mul(2))
}

/// What a server says of its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Room {
    /// Its `maxmemory`; 0 for none.
    most: u64,
    policy: String,
    used: u64,
    /// What its machine, or its control group, has left; `None` where that is not known.
    machine: Option<u64>,
    /// That was asked of the machine for the server's process. What a server says of its machine is more than a
    /// container has.
    is_asked: bool,
    /// Forks of it may save its keys (BGSAVE, AOF rewrite).
    forks: bool,
    /// Where it saves them, if it is here and can be seen.
    disk: Option<Disk>,
}

/// The file system of the directory of a server's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Disk {
    free_bytes: u64,
    /// It keeps a log of all writes (AOF).
    has_log: bool,
}

impl Disk {
    /// What its files grow by at most for keys that take so many bytes, beside a server that uses `used`: a snapshot is
    /// written beside the one before; a log is written anew once it has twice the size that it had then, from
    /// [`LOG_LEAST`] on, beside the old one.
    const fn grows(self, used: u64, keys: u64) -> u64 {
        let whole = used.saturating_add(keys);
        if self.has_log {
            whole.saturating_mul(3).saturating_add(LOG_LEAST)
        } else {
            whole
        }
    }
}

impl Room {
    /// By what the server says, and what is left on this machine, where it is here. `None` where it does not tell all
    /// of it, or not whether it deletes keys.
    fn of(info: &Info, here: Option<u64>, forks: bool, free: Option<u64>) -> Option<Self> {
        info.evicted()?;
        let used = info.number("used_memory")?;
        let total = info
            .number("total_system_memory")
            .filter(|total| *total > 0);
        Some(Self {
            most: info.number("maxmemory")?,
            policy: info.field("maxmemory_policy")?.to_owned(),
            used,
            machine: here.or(total.map(|total| total.saturating_sub(used))),
            is_asked: here.is_some(),
            forks,
            disk: free.filter(|_| forks).map(|free_bytes| Disk {
                free_bytes,
                has_log: info.number("aof_enabled") != Some(0),
            }),
        })
    }

    /// What happens to others where `maxmemory` is reached.
    fn costs(&self) -> String {
        let policy = &self.policy;
        if policy == "noeviction" {
            "its policy `noeviction` lets their owners write nothing more".to_owned()
        } else if policy.starts_with("volatile-") {
            format!("its policy `{policy}` deletes those of them that expire")
        } else {
            format!("its policy `{policy}` deletes keys of others to make room")
        }
    }
}

/// Why so many bytes cannot be written beside so many keys of others; `None` where they can.
fn refusal(room: Option<&Room>, others: u64, needs: More) -> Option<String> {
    let keys = if others == 1 { "key" } else { "keys" };
    let Some(room) = room else {
        return (others > 0).then(|| {
            format!(
                "in all of its databases it holds {others} {keys} of others, and it does not tell this user what \
                 memory it has left and what it does without (INFO): ours might cost theirs\n\
                 hint: {LET_ASK}, or name a server that holds nothing of others"
            )
        });
    };
    if others > 0 && room.most == 0 && !room.is_asked {
        return Some(format!(
            "in all of its databases it holds {others} {keys} of others, it has no `maxmemory`, and what its process may \
             take cannot be asked from here: a container may have less than its machine\n\
             hint: set `maxmemory` of the server, or name a server that holds nothing of others"
        ));
    }
    let left = room.most.saturating_sub(room.used);
    if others > 0 && room.most > 0 && !fits(left, needs.bytes) {
        return Some(format!(
            "in all of its databases it holds {others} {keys} of others, and where `maxmemory` ({}) is reached {}: \
             kurabe needs up to {}, and of {} that are free a tenth is to stay free\n\
             hint: fewer `keys`, a smaller `data_size`, a larger `maxmemory`, or a server that holds nothing of others",
            shown(room.most),
            room.costs(),
            shown(needs.bytes),
            shown(left)
        ));
    }
    of_machine(room, needs).or_else(|| of_disk(room, needs))
}

/// Whether it fits, with what is left free.
const fn fits(left: u64, needs: u64) -> bool {
    needs <= left - left / SPARE
}

/// Why it does not fit into the memory of the machine.
fn of_machine(room: &Room, needs: More) -> Option<String> {
    let left = room.machine?;
    let copied = if room.forks { needs.rewritten } else { 0 };
    let all = needs.bytes.saturating_add(copied);
    let of_them = match copied {
        0 => String::new(),
        copied => format!(
            ", {} of them while the server saves its data (BGSAVE, AOF rewrite)",
            shown(copied)
        ),
    };
    (!fits(left, all)).then(|| {
        format!(
            "its machine, or its control group, has {} of memory left, of which a tenth is to stay free, and kurabe \
             needs up to {}{of_them}\nhint: fewer `keys`, or a smaller `data_size`",
            shown(left),
            shown(all)
        )
    })
}

/// Why what the server saves does not fit on its disk.
fn of_disk(room: &Room, needs: More) -> Option<String> {
    let disk = room.disk?;
    let grows = disk.grows(room.used, needs.rewritten);
    (!fits(disk.free_bytes, grows)).then(|| {
        format!(
            "the directory of its data has {} of disk left, of which a tenth is to stay free, and what it saves there \
             may grow by up to {}: a server whose disk is full refuses writes of others, or ends\n\
             hint: fewer `keys`, a smaller `data_size`, or a server that saves nothing (`save ''`, `appendonly no`)",
            shown(disk.free_bytes),
            shown(grows)
        )
    })
}

/// Bytes in words.
fn shown(bytes: u64) -> String {
    let tenths = (u128::from(bytes) * 10) >> 20;
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}

impl Server {
    /// Refuses where this would cost others something. Counts all keys of others first.
    pub(super) fn fits(&mut self, needs: More) -> Result<(), WorkError> {
        self.others = self.others_here + self.others_elsewhere()?;
        self.forks = self.may_fork()?;
        self.room_for(needs)
    }

    /// Whether forks of the server may save its keys: also for a replica that connects anew.
    fn may_fork(&mut self) -> Result<bool, WorkError> {
        let save = self.ask("ask for the settings of", |wire| wire.setting("save"))?;
        let is_none = |name| {
            let info = self.info.as_ref();
            info.and_then(|info| info.number(name)) == Some(0)
        };
        let never = save.as_deref() == Some("");
        Ok(!(never && is_none("aof_enabled") && is_none("connected_slaves")))
    }

    /// Looks again: an error where the server has deleted keys by itself, or this would cost others something.
    pub(super) fn spares(&mut self, needs: More) -> Result<(), WorkError> {
        match self.gone()? {
            0 => self.room_for(needs),
            gone => Err(self.evicts(gone, "")),
        }
    }

    fn room_for(&mut self, needs: More) -> Result<(), WorkError> {
        let process = self.process();
        let here = process.and_then(|own| sys::memory::limits::room_of(&Tree::real(), own).ok());
        let here = here.map(|room| room.bytes);
        // A server goes to the directory of its data when it starts.
        let there = process.and_then(|own| {
            let data = format!("/proc/{own}/cwd");
            sys::probe::file_system(Path::new(&data)).ok()
        });
        let free = there.map(|there| there.free_bytes);
        let info = self.info.as_ref();
        let room = info.and_then(|info| Room::of(info, here, self.forks, free));
        let why = refusal(room.as_ref(), self.others, needs);
        why.map_or(Ok(()), |why| Err(self.refused(&why)))
    }

    /// Keys of others in databases of other numbers. What a marker of ours counts there is ours.
    fn others_elsewhere(&mut self) -> Result<u64, WorkError> {
        let own: Option<u32> = self.named.address.database.parse().ok();
        let told = self.info.as_ref().and_then(Info::databases);
        let is_told = told.is_some();
        let numbers: Box<dyn Iterator<Item = u32>> = match told {
            Some(told) => Box::new(told.into_iter().map(|(number, _)| number)),
            None => Box::new(0..DATABASES_MAX),
        };
        let mut numbers = numbers.filter(|number| Some(*number) != own).peekable();
        if numbers.peek().is_none() {
            return Ok(0);
        }
        let wire = self.named.entered(Wire::log_in)?;
        let mut there = Self::over(wire, self.named.clone());
        let mut others = 0;
        let mut is_all = is_told;
        for number in numbers {
            match there.wire.select(number) {
                Ok(()) => others += there.others_in_all()?,
                Err(trouble) if !is_told && trouble.to_string().contains("DB index") => {
                    is_all = true;
                    break;
                }
                Err(trouble) => {
                    return Err(self.refused(&format!(
                        "whose keys are in its database {number} cannot be told: {trouble}"
                    )));
                }
            }
        }
        if is_all {
            return Ok(others);
        }
        Err(self.refused(&format!(
            "it does not tell how many databases it has (INFO), and more than can be looked at\nhint: {LET_ASK}"
        )))
    }

    /// Keys that the server has deleted by itself since it was first looked at, to keep within its memory.
    pub(super) fn gone(&mut self) -> Result<u64, WorkError> {
        if let Some(info) = self.tried("look at", Info::ask)? {
            self.evicted.learn(info.evicted());
            self.info = Some(info);
        } else {
            self.info = None;
        }
        Ok(self.evicted.grown())
    }

    /// That others have next to no room left beside ours.
    pub(super) fn short(&self) -> WorkError {
        WorkError::Failed(format!(
            "keep keys in `{}`: others have next to no room left there, and kurabe deletes its own\n\
             hint: fewer `keys`, a smaller `data_size`, a larger `maxmemory`, or a server that holds nothing of others",
            self.named.address
        ))
    }

    /// Deletes our keys, of which so many were made, before another one has to go. Says why, or how many went.
    pub(super) fn given_up(&mut self, made: u64, why: WorkError) -> WorkError {
        let removed = self.remove();
        let gone = self.gone().unwrap_or_else(|_| self.evicted.grown());
        let (gone @ 1.., Ok(removed)) = (gone, &removed) else {
            return match removed {
                Ok(_) => why,
                Err(not) => {
                    let both = WorkError::Failed(format!("{not}\nbefore that: {why}"));
                    left_there(&both, &self.named.address)
                }
            };
        };
        let ours = made.saturating_sub(*removed).min(gone);
        self.evicts(gone, &format!(", {ours} of them kurabe's"))
    }

    /// That the server has deleted so many keys by itself.
    pub(super) fn evicts(&self, gone: u64, ours: &str) -> WorkError {
        let keys = if gone == 1 { "key" } else { "keys" };
        WorkError::Failed(format!(
            "keep keys in `{}`: the server reached its `maxmemory` and deleted {gone} {keys} by itself \
             (`evicted_keys`){ours}: kurabe deletes its own and ends the run\n\
             hint: fewer `keys`, a smaller `data_size`, a larger `maxmemory`, or a server that holds nothing of others",
            self.named.address
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    fn room(most: u64, policy: &str, used: u64, machine: Option<u64>) -> Room {
        Room {
            most: most * MIB,
            policy: policy.to_owned(),
            used: used * MIB,
            machine: machine.map(|machine| machine * MIB),
            is_asked: machine.is_some(),
            forks: false,
            disk: None,
        }
    }

    #[test]
    fn what_a_server_saves_has_to_fit_on_its_disk() {
        let check = |free: u64, has_log: bool, needs: u64, fits: bool| {
            let disk = Some(Disk {
                free_bytes: free * MIB,
                has_log,
            });
            let room = Room {
                disk,
                ..room(0, "noeviction", 5, Some(10_000))
            };
            let why = refusal(Some(&room), 1, more(needs));
            assert_eq!(why.is_none(), fits, "{why:?}");
            assert!(why.is_none_or(|why| why.contains("of disk left")));
        };
        check(100, false, 85, true);
        check(100, false, 86, false);
        check(100, true, 3, true);
        check(100, true, 4, false);
        check(24, true, 0, false);
        check(1000, true, 273, true);
        check(1000, true, 274, false);
        let info = "used_memory:7\r\nmaxmemory:0\r\nmaxmemory_policy:x\r\nevicted_keys:0\r\n";
        let disk = |info: &str, forks| {
            Room::of(&Info::read(info), None, forks, Some(9))
                .unwrap()
                .disk
        };
        let has_log = |has_log| {
            Some(Disk {
                free_bytes: 9,
                has_log,
            })
        };
        assert_eq!(
            disk(&format!("{info}aof_enabled:0\r\n"), true),
            has_log(false)
        );
        assert_eq!(disk(info, true), has_log(true));
        assert_eq!(disk(info, false), None);
    }

    /// So many MiB, and as many of keys.
    fn more(needs: u64) -> More {
        More {
            bytes: needs * MIB,
            rewritten: needs * MIB,
        }
    }

    #[test]
    fn what_would_cost_others_something_is_refused_whatever_the_policy() {
        let check = |room: Option<Room>, others: u64, needs: u64, words: Option<&str>| {
            let why = refusal(room.as_ref(), others, more(needs));
            match words {
                None => assert_eq!(why, None, "{room:?}"),
                Some(words) => assert!(
                    why.as_ref()
                        .is_some_and(|why| why.contains(words) && why.contains("\nhint: ")),
                    "{room:?}: {why:?}"
                ),
            }
        };
        for (policy, words) in [
            ("allkeys-lru", "`allkeys-lru` deletes keys of others"),
            ("allkeys-lfu", "`allkeys-lfu` deletes keys of others"),
            ("allkeys-random", "`allkeys-random` deletes keys"),
            ("volatile-lru", "deletes those of them that expire"),
            ("volatile-ttl", "deletes those of them that expire"),
            ("noeviction", "lets their owners write nothing"),
            ("of a later version", "`of a later version` deletes"),
        ] {
            let of = |used| Some(room(100, policy, used, Some(1000)));
            check(of(40), 1, 54, None);
            check(of(40), 1, 55, Some(words));
            check(of(40), 0, 55, None);
            // More than there may be, as once its owner has lowered it.
            check(of(400), 1, 1, Some(words));
            check(of(400), 1, 0, None);
        }
        // Without a bound of its own it is the machine's, also where nothing of others is there.
        let unbound = |machine| Some(room(0, "allkeys-lru", 5, machine));
        check(unbound(Some(100)), 7, 90, None);
        check(
            unbound(Some(100)),
            7,
            91,
            Some("has 100.0 MiB of memory left"),
        );
        check(unbound(Some(100)), 0, 91, Some("control group"));
        check(unbound(None), 0, 1 << 30, None);
        // What its machine has is not what a container has: nothing of others may be there.
        let elsewhere = |most, machine| {
            Some(Room {
                is_asked: false,
                ..room(most, "allkeys-lru", 5, machine)
            })
        };
        check(unbound(None), 7, 0, Some("hint: set `maxmemory`"));
        check(elsewhere(0, Some(100)), 1, 1, Some("a container may"));
        check(elsewhere(0, Some(100)), 0, 90, None);
        check(elsewhere(0, Some(100)), 0, 91, Some("control group"));
        check(elsewhere(50, Some(100)), 1, 40, None);
        check(elsewhere(50, Some(100)), 1, 41, Some("deletes keys of"));
        // A fork keeps the keys twice in the machine, and in no `maxmemory`.
        let forks = |most, machine| {
            Some(Room {
                forks: true,
                ..room(most, "noeviction", 5, Some(machine))
            })
        };
        check(forks(0, 100), 7, 45, None);
        check(forks(0, 100), 7, 46, Some("46.0 MiB of them while"));
        check(forks(0, 100), 0, 46, Some("needs up to 92.0 MiB"));
        check(forks(100, 1000), 7, 85, None);
        check(forks(100, 1000), 7, 86, Some("`maxmemory`"));
        check(forks(100, 100), 7, 46, Some("while the server saves"));
        // And where its own is larger than the machine.
        check(
            Some(room(1 << 20, "noeviction", 5, Some(50))),
            1,
            46,
            Some("control group"),
        );
        check(None, 0, 1 << 30, None);
        check(None, 1, 0, Some("+info"));
        check(None, 7, 1, Some("7 keys of others"));
    }

    #[test]
    fn what_is_not_told_in_whole_is_not_known() {
        let of = |text: &str| Room::of(&Info::read(text), None, true, None);
        let whole =
            "used_memory:7\r\nmaxmemory:100\r\nmaxmemory_policy:allkeys-lru\r\nevicted_keys:0\r\n";
        let told = of(whole).unwrap();
        assert_eq!((told.most, told.used, told.machine), (100, 7, None));
        for left_out in [
            "used_memory:7",
            "maxmemory:100",
            "maxmemory_policy:",
            "evicted_keys:0",
        ] {
            assert_eq!(of(&whole.replace(left_out, "x:")), None, "{left_out}");
        }
        assert_eq!(of(&whole.replace("100", "-1")), None);
        assert_eq!(of(""), None);
        // Elsewhere it is what the server says of its machine, here what is left of that.
        let with = format!("{whole}total_system_memory:50\r\n");
        let there = of(&with).unwrap();
        assert_eq!((there.machine, there.is_asked), (Some(43), false));
        let here = Room::of(&Info::read(&with), Some(9), true, None).unwrap();
        assert_eq!((here.machine, here.is_asked), (Some(9), true));
        // It is not to be overflown by what a server says.
        let large = with.replace(":7", ":18446744073709551615");
        let large = of(&large).unwrap();
        assert!(refusal(Some(&large), 1, more(1)).is_some());
    }

    #[test]
    fn what_is_needed_has_no_end_that_wraps() {
        let needs = |number, size, clients, pipeline| Needs {
            keys: Keys { number, size },
            clients,
            pipeline,
        };
        let all = |needs: Needs| needs.more(needs.keys.number);
        let small = all(needs(100_000, 3, 1, 1));
        assert!(small.bytes < 16 * MIB && small.rewritten < small.bytes);
        assert!(needs(1, 1 << 20, 50, 16).buffers() > 50 * 16 * MIB);
        let most = all(needs(100_000_000, usize::MAX, u32::MAX, u64::MAX));
        assert_eq!((most.bytes, most.rewritten), (u64::MAX, u64::MAX));
        // Of keys that are there only the buffers are more.
        let there = needs(100_000, 3, 1, 1);
        assert_eq!(there.more(0).bytes, there.buffers());
        assert_eq!(there.more(0).less(u64::MAX).bytes, 0);
        assert_eq!(more(2).or(more(3)), more(3));
    }
}
