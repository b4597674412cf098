//! Look-ups against real sockets: servers on loopback that say what each test tells them to.

mod answers;
mod local;
mod servers;

use super::error::Reason;
use super::fake::{
    A, AAAA, ANSWER, ASKED, CNAME, CUT, Query, Say, Script, address, beside, name, reply,
};
use super::*;
use crate::clock::monotonic;

/// More than any look-up here takes, on a machine that does other things too.
const AMPLE: Duration = Duration::from_secs(20);

/// Little, for look-ups that wait to its end.
const SHORT: Duration = Duration::from_millis(400);

struct Lookup {
    found: Result<Vec<String>, NamesError>,
    servers: Vec<SocketAddr>,
    queries: Vec<Query>,
}

impl Lookup {
    #[track_caller]
    fn finds(&self, expect: &[&str]) {
        let expect: Vec<String> = expect.iter().map(|text| format!("{text}:80")).collect();
        assert_eq!(self.found.as_ref(), Ok(&expect));
    }

    /// The text of the error, with a letter for each server.
    #[track_caller]
    fn fails(&self, expect: &str) {
        let mut text = self.found.as_ref().unwrap_err().to_string();
        for (server, letter) in self.servers.iter().zip(["A", "B", "C"]) {
            text = text.replace(&server.to_string(), letter);
        }
        assert_eq!(text, expect);
    }

    /// What was asked, as `db.example/1`, each once.
    fn asked(&self) -> Vec<String> {
        let mut asked: Vec<String> = Vec::new();
        for query in &self.queries {
            let text = format!("{}/{}", query.name, query.kind);
            if !asked.contains(&text) {
                asked.push(text);
            }
        }
        asked
    }

    fn reasons(&self) -> Vec<Reason> {
        match &self.found {
            Err(NamesError::Unanswered { servers, .. }) => {
                servers.iter().map(|(_, reason)| reason.clone()).collect()
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Looks `host` up at servers with these scripts.
fn look_up(host: &str, file: &str, within: Duration, scripts: &[Script]) -> Lookup {
    let (result, queries) = beside(scripts, |servers| {
        let mut config = config::parse(file, None);
        config.servers.clone_from(&servers);
        let host = Host::read(host).unwrap();
        (by_dns(host, 80, &config, Until::after(within)), servers)
    });
    let texts = |found: Vec<SocketAddr>| found.iter().map(ToString::to_string).collect();
    Lookup {
        found: result.0.map(texts),
        servers: result.1,
        queries,
    }
}

/// Looks up `db.example` without a search list at one server.
fn ask(script: Script) -> Lookup {
    look_up("db.example", "", AMPLE, &[script])
}

fn send(query: &Query, flags: u16, records: &[fake::Record]) -> Vec<Say> {
    vec![Say::Send(reply(&query.message, flags, records))]
}

/// Those of these addresses that are of the kind that is asked for.
fn serve(query: &Query, addresses: &[&str]) -> Vec<Say> {
    let records = addresses.iter().map(|text| address(text));
    let records: Vec<fake::Record> = records.filter(|(_, kind, _)| *kind == query.kind).collect();
    send(query, ANSWER, &records)
}

fn both(query: &Query) -> Vec<Say> {
    serve(query, &["192.0.2.2", "192.0.2.1", "2001:db8::1"])
}

fn silent(_: &Query) -> Vec<Say> {
    Vec::new()
}

fn code(code: u16) -> impl Fn(&Query) -> Vec<Say> + Sync {
    move |query| send(query, ANSWER | code, &[])
}

const BOTH: [&str; 3] = ["192.0.2.2", "192.0.2.1", "[2001:db8::1]"];
