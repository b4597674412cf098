//! What says whose a machine is, taken out of runs before a page is made of them: names of hosts, addresses, paths,
//! serial numbers, and the digests that tell instances apart.
//!
//! Each of them becomes the same name wherever it stands, so that two runs of one machine are still known to be of one.
//! Labels, tags and offers stay: the user gave them to be read.

use kept::Kept;
use model::host::Fact;
use model::named::SERVER_SCHEMES;
use model::record::{Outcome, Round, Run};
use serde_json::Value;
use std::mem::take;
use std::net::IpAddr;
use std::path::Path;

/// Directories that every Linux has: their paths say nothing of anybody.
const EVERYWHERE: [&str; 14] = [
    "/bin/",
    "/boot/",
    "/etc/",
    "/lib/",
    "/lib32/",
    "/lib64/",
    "/proc/",
    "/sbin/",
    "/sys/",
    "/usr/bin/",
    "/usr/lib/",
    "/usr/lib64/",
    "/usr/sbin/",
    "/usr/share/",
];

/// The options of fio whose values are files and directories, with or without a `/`, or what somebody's own programs
/// are told.
const OF_FILES: [&str; 11] = [
    "program",
    "arguments",
    "filename",
    "directory",
    "output",
    "read_iolog",
    "write_iolog",
    "write_bw_log",
    "write_lat_log",
    "write_iops_log",
    "write_hist_log",
];

/// Takes it out of runs that are shown together.
///
/// # Errors
///
/// Where a run cannot be written and read again without it.
pub fn leave_out(runs: &mut [&mut Run]) -> serde_json::Result<()> {
    let mut names = Names::default();
    for run in &mut *runs {
        names.of_run(run)?;
    }
    // Of a machine alone nobody asks whether it is another one's.
    if let [alone] = runs {
        alone.host.hostname = not_told();
    }
    Ok(())
}

/// Calls a run by a letter where it has no label.
pub fn call(run: &mut Run, letter: &str) {
    run.meta.label.get_or_insert_with(|| letter.to_owned());
}

/// A, B, ... Z, AA, AB, ... for sides.
pub fn letter(place: usize) -> String {
    let last = u32::try_from(place % 26).unwrap_or(0);
    let last = char::from_u32(u32::from('A') + last).unwrap_or('?');
    match place / 26 {
        0 => last.to_string(),
        more => letter(more - 1) + &last.to_string(),
    }
}

/// What stands for what was taken out, in the order in which it was found.
#[derive(Default)]
struct Names {
    known: Vec<(&'static str, String)>,
    /// Names of hosts, which may stand in any sentence.
    hosts: Vec<(String, String)>,
}

impl Names {
    /// The name that stands for `text`, which is one of this kind.
    fn name(&mut self, kind: &'static str, text: &str) -> String {
        let same = |(of, known): &(&str, String)| *of == kind && known == text;
        let place = self.known.iter().position(same).unwrap_or_else(|| {
            self.known.push((kind, text.to_owned()));
            self.known.len() - 1
        });
        let of_kind = self.known[..=place].iter().filter(|(of, _)| *of == kind);
        format!("{kind}-{}", of_kind.count())
    }

    fn fact(&mut self, kind: &'static str, fact: &mut Fact<String>) {
        if let Fact::Known(text) = fact {
            *text = self.name(kind, text);
        }
    }

    fn of_run(&mut self, run: &mut Run) -> serde_json::Result<()> {
        if let Fact::Known(host) = run.host.hostname.clone() {
            let short = host.split('.').next().unwrap_or_default().to_owned();
            let name = self.name("machine", &host);
            self.hosts = [host, short].map(|host| (host, name.clone())).to_vec();
            run.host.hostname = Fact::Known(name);
        } else {
            self.hosts.clear();
        }
        self.fact("installation", &mut run.host.identity.machine);
        self.fact("boot", &mut run.host.identity.boot);
        for named in &mut run.plan.named {
            self.fact("serial", &mut named.serial);
            if named.kind.is_peer() {
                named.path = self.peer(&named.path);
            }
        }
        if let Some(origin) = &mut run.meta.origin {
            // A file that is named is called as its name begins: nobody chose that to be read.
            let stem = Path::new(&origin.file)
                .file_stem()
                .and_then(|stem| stem.to_str());
            run.meta.label.take_if(|label| Some(label.as_str()) == stem);
            origin.file = self.name("file", &origin.file);
        }
        // Bytes that were free at some instant tell whose machine it is, and nothing of what was measured; a name in
        // the place of the directory's would tell nothing at all.
        run.host.storage.free = not_told();
        run.host.storage.path.clear();
        let label = run.meta.label.take();
        self.rewritten(&mut run.host, true)?;
        self.rewritten(&mut run.meta, true)?;
        run.meta.label = label;
        let of_vdbench = run.plan.of_vdbench().is_some();
        if run.plan.is_of_a_language() {
            for argument in run.plan.what.iter_mut().skip(1) {
                let text = if of_vdbench {
                    self.line_of_vdbench(argument)
                } else {
                    self.argument(argument)
                };
                *argument = self.text(&text, true);
            }
        }
        self.rewritten(&mut run.plan.duel, true)?;
        // What a plan names are tests, which may be called as a host is.
        self.rewritten(&mut run.plan, false)?;
        run.rounds
            .iter_mut()
            .try_for_each(|round| self.of_round(round))
    }

    /// A peer, whose name and address may stand in any sentence from now on.
    fn peer(&mut self, shown: &str) -> String {
        let (host, port) = shown.rsplit_once(':').unwrap_or((shown, ""));
        let name = self.name("peer", host);
        let whole = format!("{name}:{port}");
        self.hosts.push((shown.to_owned(), whole.clone()));
        self.hosts.push((host.to_owned(), name));
        whole
    }

    /// An argument of fio, with names in the place of files.
    fn argument(&mut self, text: &str) -> String {
        let is_option = text.starts_with('-');
        match text.split_once('=') {
            Some((key, value)) if is_option => {
                if OF_FILES.contains(&key.trim_start_matches('-')) || is_relative(value) {
                    format!("{key}={}", self.name("path", value))
                } else {
                    text.to_owned()
                }
            }
            _ if !is_option
                && (is_relative(text)
                    || text.rsplit_once('.').is_some_and(|(_, end)| end == "fio")) =>
            {
                self.name("file", text)
            }
            _ => text.to_owned(),
        }
    }

    /// A line of a parameter file of vdbench, with names in the place of files.
    fn line_of_vdbench(&mut self, text: &str) -> String {
        let mut is_quoted = false;
        let at_comma = |c: char| {
            is_quoted ^= c == '"';
            c == ',' && !is_quoted
        };
        let words = text.split(at_comma).map(|word| match word.split_once('=') {
            Some((key @ ("lun" | "anchor"), path)) => format!("{key}={}", self.name("path", path)),
            _ => word.to_owned(),
        });
        let words: Vec<String> = words.collect();
        words.join(",")
    }

    /// The words of a round: its figures are many, and none of them says anything.
    fn of_round(&mut self, round: &mut Round) -> serde_json::Result<()> {
        self.rewritten(&mut round.errands, true)?;
        if round.partial.is_some() {
            self.rewritten(&mut round.partial, true)?;
        }
        match &mut round.outcome {
            Outcome::Failed(failure) => self.rewritten(failure, true),
            Outcome::Done(measured) => {
                let notes = measured.notes.iter_mut();
                for text in notes.chain(measured.missing.values_mut()) {
                    *text = self.text(text, true);
                }
                let apart = measured
                    .copies
                    .iter_mut()
                    .filter_map(|copy| copy.apart.as_mut());
                apart.into_iter().try_for_each(|one| {
                    // Thousands of figures, and not a word among them.
                    let (latencies, series) = (take(&mut one.latencies), take(&mut one.series));
                    self.rewritten(one, true)?;
                    (one.latencies, one.series) = (latencies, series);
                    Ok(())
                })
            }
        }
    }

    /// Rewrites every text in `of`.
    fn rewritten<T: Kept>(&mut self, of: &mut T, hosts: bool) -> serde_json::Result<()> {
        let mut value: Value = serde_json::from_str(&of.write()?)?;
        self.value(&mut value, hosts);
        *of = T::read(&value.to_string())?;
        Ok(())
    }

    fn value(&mut self, value: &mut Value, hosts: bool) {
        match value {
            Value::String(text) => *text = self.text(text, hosts),
            Value::Array(list) => list.iter_mut().for_each(|one| self.value(one, hosts)),
            Value::Object(map) => map.values_mut().for_each(|one| self.value(one, hosts)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// A text with names in the place of paths, addresses, and hosts.
    fn text(&mut self, text: &str, hosts: bool) -> String {
        let is_end = |c: char| c.is_whitespace() || "`'\"(),;=<>|".contains(c);
        let mut out = String::new();
        let mut text = text;
        // Before it is split into words: `=` stands in the address of a server.
        let first = |text: &str| SERVER_SCHEMES.iter().filter_map(|own| text.find(own)).min();
        while let Some(at) = first(text) {
            let (before, address) = text.split_at(at);
            let of_address = |c: char| c != '=' && is_end(c);
            let (address, after) =
                address.split_at(address.find(of_address).unwrap_or(address.len()));
            out += &self.text(before, hosts);
            out += &self.server(address);
            text = after;
        }
        for piece in text.split_inclusive(is_end) {
            let word = piece.trim_end_matches(is_end);
            out += &self.word(word, hosts);
            out += &piece[word.len()..];
        }
        out
    }

    /// The address of a database server, with names in the place of its host, or socket, and its database.
    fn server(&mut self, address: &str) -> String {
        let (scheme, rest) = address.split_once("://").unwrap_or(("", address));
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (at, database) = rest.split_once('/').unwrap_or((rest, ""));
        let at = at.rsplit_once('@').map_or(at, |(_, at)| at);
        let of_query = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            Some(pairs.find(|(key, _)| *key == name)?.1)
        };
        let (host, port) = match of_query("host").or(of_query("socket")) {
            Some(socket) => (socket, of_query("port")),
            None => match at.rsplit_once(':') {
                Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
                _ => (at, None),
            },
        };
        let port = port.map(|port| format!(":{port}")).unwrap_or_default();
        let host = self.name("host", host);
        let database = match database {
            "" => String::new(),
            named => format!("/{}", self.name("database", named)),
        };
        format!("{scheme}://{host}{port}{database}")
    }

    fn word(&mut self, word: &str, hosts: bool) -> String {
        if let Some((scheme, place)) = word.split_once("://") {
            return format!("{scheme}://{}", self.name("address", place));
        }
        // `server:/export` is a place too, and so is `/a:/b`.
        if let Some((before, path)) = word.split_once(":/") {
            let path = format!("/{path}");
            return self.word(before, hosts) + ":" + &self.word(&path, hosts);
        }
        let bare = word.trim_end_matches([':', '.']);
        let rest = &word[bare.len()..];
        let parts = bare.split('/').filter(|part| !part.is_empty()).count();
        let is_everywhere = EVERYWHERE.iter().any(|start| bare.starts_with(start))
            || bare.starts_with("/dev/") && parts == 2;
        let is_from_here = ["~/", "./", "../"]
            .iter()
            .any(|start| bare.starts_with(start));
        if (bare.starts_with('/') && bare.len() > 2 && !is_everywhere) || is_from_here {
            return self.name("path", bare) + rest;
        }
        let (user, host) = bare.rsplit_once('@').unwrap_or(("", bare));
        let known = self.hosts.iter().find(|(known, _)| hosts && *known == host);
        if let Some((_, name)) = known {
            return name.clone() + rest;
        }
        if is_address(host) || hosts && is_host(user, host) {
            return self.name("address", host) + rest;
        }
        word.to_owned()
    }
}

/// A fact that no reader is told.
fn not_told<T>() -> Fact<T> {
    Fact::Missing("left out of what is published".to_owned())
}

/// Whether it is the name of a host with that of its network, or of one that a user is at: `os.pipe@2` is none.
fn is_host(user: &str, host: &str) -> bool {
    let host = host.split_once(':').map_or(host, |(host, _)| host);
    let labels: Vec<&str> = host.split('.').collect();
    let is_label = |label: &&str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
        !label.is_empty() && label.chars().all(plain)
    };
    let is_end = |end: &&&str| end.len() > 1 && end.chars().all(|c| c.is_ascii_alphabetic());
    let is_of_network = labels.len() > 2 && labels.last().as_ref().is_some_and(is_end);
    let is_at = !user.is_empty() && host.starts_with(|c: char| c.is_ascii_alphabetic());
    labels.iter().all(is_label) && (is_of_network || is_at)
}

/// Whether it is a path from here: `50/50` is none.
fn is_relative(text: &str) -> bool {
    let begins = |part: &str| part.starts_with(|c: char| c.is_alphabetic() || "._~".contains(c));
    text.contains('/') && text.split('/').all(begins)
}

/// An address of the internet, with a port or a mask or without, or of a network card.
fn is_address(word: &str) -> bool {
    let word = word.split('/').next().unwrap_or_default();
    let bracketed = word.strip_prefix('[').and_then(|rest| rest.split_once(']'));
    let word = bracketed.map_or(word, |(inside, _)| inside);
    let is_ip = |word: &str| word.parse::<IpAddr>().is_ok();
    let of_port = word
        .rsplit_once(':')
        .is_some_and(|(host, _)| host.contains('.') && is_ip(host));
    let pairs: Vec<&str> = word.split(':').collect();
    let is_pair = |pair: &&str| pair.len() == 2 && pair.chars().all(|c| c.is_ascii_hexdigit());
    is_ip(word) && word.len() > 2 || of_port || pairs.len() == 6 && pairs.iter().all(is_pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit;
    use model::named::NamedKind;
    use model::record::Failure;

    #[test]
    fn paths_addresses_and_hosts_become_names_and_nothing_else_does() {
        let check = |text: &str, expect: &str| {
            let mut names = Names {
                hosts: vec![("web7".to_owned(), "machine-1".to_owned())],
                ..Names::default()
            };
            assert_eq!(names.text(text, true), expect);
        };
        check("open `/home/me/x.dat`: EACCES", "open `path-1`: EACCES");
        check("/mnt/a and /mnt/b, /mnt/a", "path-1 and path-2, path-1");
        check(
            "read `/proc/self/io`, /sys/block/vda",
            "read `/proc/self/io`, /sys/block/vda",
        );
        check("/usr/bin/gcc (gcc 14.2.0)", "/usr/bin/gcc (gcc 14.2.0)");
        check("/dev/vdb on /dev/mapper/vg-acme", "/dev/vdb on path-1");
        check("dir=/srv/x set=a.b=1", "dir=path-1 set=a.b=1");
        check("nas.example:/export on /", "nas.example:path-1 on /");
        check(
            "from 192.0.2.7:5201, 2001:db8::1.",
            "from address-1, address-2.",
        );
        check(
            "[2001:db8::1]:5201 http://web7/x",
            "address-1 http://address-2",
        );
        check(
            "~/x ../x ./y, /library/acme",
            "path-1 path-2 path-3, path-4",
        );
        check("/usr/local/acme/x", "path-1");
        check(
            "on `postgres://me@/shop?host=/tmp/x&port=5432`, postgres://me@db.acme.com:5433/shop (a)",
            "on `postgres://host-1:5432/database-1`, postgres://host-2:5433/database-1 (a)",
        );
        check(
            "mysql://me@/shop?socket=/run/s redis://[::1]:6379/0",
            "mysql://host-1/database-1 redis://host-2:6379/database-2",
        );
        check("mac 02:42:ac:11:00:02", "mac address-1");
        check(
            "web7: 20:11:56, os.pipe@2, 1.5 GB/s",
            "machine-1: 20:11:56, os.pipe@2, 1.5 GB/s",
        );
        check("root@web7 runs web70", "machine-1 runs web70");
        check("bob@db db2.corp.example:80", "address-1 address-2");
        check(
            "os.pipe@2, gcc 14.2.0, 6.18.44-fc, fio-3.33.x",
            "os.pipe@2, gcc 14.2.0, 6.18.44-fc, fio-3.33.x",
        );
        check("6.12.8, 4 KiB / 2, n/a", "6.12.8, 4 KiB / 2, n/a");
    }

    #[test]
    fn files_of_fio_become_names_and_what_is_to_be_done_stays() {
        let check = |text: &str, expect: &str| {
            assert_eq!(Names::default().argument(text), expect);
        };
        check("customer-acme/db.fio", "file-1");
        check("acme.fio", "file-1");
        check("--filename=acme.dat", "--filename=path-1");
        check("-directory=acme", "-directory=path-1");
        check("--write_bw_log=logs/acme", "--write_bw_log=path-1");
        check("--arguments=-h acme", "--arguments=path-1");
        check("--bssplit=4k/50:16k/50", "--bssplit=4k/50:16k/50");
        check("--rw=randread", "--rw=randread");
        check("--name=acme", "--name=acme");
    }

    #[test]
    fn files_of_vdbench_become_names() {
        let line = "sd=sd1,lun=acme.dat,size=1048576";
        let expect = "sd=sd1,lun=path-1,size=1048576";
        assert_eq!(Names::default().line_of_vdbench(line), expect);
        let quoted = "sd=sd1,lun=\"acme, inc/db\",size=1";
        let expect = "sd=sd1,lun=path-1,size=1";
        assert_eq!(Names::default().line_of_vdbench(quoted), expect);
    }

    #[test]
    fn nothing_of_a_host_is_left_and_two_runs_of_it_are_known_as_that() {
        let mut a = testkit::normal();
        a.host.hostname = Fact::Known("db1.acme.example".to_owned());
        a.host.identity.machine = Fact::Known("00112233aabbccdd".to_owned());
        a.meta.dir = "/srv/acme".to_owned();
        a.rounds[0].outcome = Outcome::Failed(Failure::Error(
            "open `/srv/acme/f` on db1: ENOSPC".to_owned(),
        ));
        let mut b = a.clone();
        let mut c = a.clone();
        c.host.identity.machine = Fact::Known("ffffffffaabbccdd".to_owned());
        leave_out(&mut [&mut a, &mut b, &mut c]).unwrap();
        assert_eq!(a.host.identity, b.host.identity);
        assert_ne!(a.host.identity, c.host.identity);
        assert_eq!(a.meta.dir, b.meta.dir);
        let text = serde_json::to_string(&a).unwrap();
        for word in ["acme", "db1", "00112233aabbccdd"] {
            assert!(!text.contains(word), "{word}: {text}");
        }
        assert!(text.contains("ENOSPC"));
        assert_eq!(a.host.storage.free.known(), None);
    }

    #[test]
    fn a_peer_is_named_nowhere() {
        let mut run = testkit::normal();
        run.plan.named.push(model::named::Named {
            kind: NamedKind::Peer,
            ..::testkit::server("gate:5201")
        });
        let failed = "connect to `gate:5201`: nobody answers at gate".to_owned();
        run.rounds[0].outcome = Outcome::Failed(Failure::Error(failed));
        leave_out(&mut [&mut run]).unwrap();
        let text = serde_json::to_string(&run).unwrap();
        assert!(!text.contains("gate"), "{text}");
        assert!(text.contains("connect to `peer-1:5201`: nobody answers at peer-1"));
        assert_eq!(run.plan.named[0].path, "peer-1:5201");
    }

    #[test]
    fn a_run_without_a_label_has_a_letter_and_a_label_stays() {
        let check = |place, expect: &str| assert_eq!(letter(place), expect);
        check(0, "A");
        check(25, "Z");
        check(26, "AA");
        check(53, "BB");
        let mut run = testkit::normal();
        run.meta.label = None;
        call(&mut run, "A");
        assert_eq!(run.meta.label.as_deref(), Some("A"));
        call(&mut run, "B");
        assert_eq!(run.meta.label.as_deref(), Some("A"));
    }
}
