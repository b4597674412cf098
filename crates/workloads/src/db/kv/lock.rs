//! One round at a time works in a database: by the name of its connection, which goes with it.

use super::server::Server;
use super::wire::Wire;
use crate::db::server::{locked, taken};
use engine::workload::WorkError;

/// What our connection for what is not measured is called, and while it steps back.
const CONNECTION: &str = "kurabe";
const STEPS_BACK: &str = "kurabe-waits";

/// What a run's own connection is called, which is there in rests too.
const RUN: &str = "kurabe-run";

const LOOK: &str = "look at the connections of";

impl Server {
    /// Waits until no other connection of our name is there. A connection that has the name and finds no other one has
    /// the database to itself: one that comes later sees it. Of several that find each other the first one keeps its
    /// name, and the others step back. Where a user may not look at connections no other one is kept out.
    pub(super) fn lock(&mut self) -> Result<(), WorkError> {
        let own = self.tried(LOOK, |wire| wire.number(&[b"CLIENT", b"ID"]))?;
        let Some(own) = own else { return Ok(()) };
        let database = self.named.address.database.clone();
        let got = locked(|| {
            let named =
                |wire: &mut Wire, name: &str| wire.ok(&[b"CLIENT", b"SETNAME", name.as_bytes()]);
            let list = self.tried(LOOK, |wire| {
                named(wire, CONNECTION)?;
                wire.text(&[b"CLIENT", b"LIST"])
            })?;
            let list = list.flatten().unwrap_or_default();
            let first = first_other(&list, CONNECTION, own, &database);
            if first.is_some_and(|first| first < own) {
                self.tried(LOOK, |wire| named(wire, STEPS_BACK))?;
            }
            Ok(first.is_none())
        })?;
        if got {
            Ok(())
        } else {
            Err(taken(&self.named.address))
        }
    }
}

impl Server {
    /// Names the connection of a run.
    pub(super) fn names_run(&mut self) -> Result<(), WorkError> {
        let named = |wire: &mut Wire| wire.ok(&[b"CLIENT", b"SETNAME", RUN.as_bytes()]);
        self.tried("name a connection to", named).map(drop)
    }

    /// Waits until no run goes on in the database. Where a user may not look at connections it is not known.
    pub(super) fn without_runs(&mut self) -> Result<(), WorkError> {
        let database = self.named.address.database.clone();
        let got = locked(|| {
            let list = self.tried(LOOK, |wire| wire.text(&[b"CLIENT", b"LIST"]))?;
            let list = list.flatten().unwrap_or_default();
            Ok(first_other(&list, RUN, u64::MAX, &database).is_none())
        })?;
        if got {
            Ok(())
        } else {
            Err(taken(&self.named.address))
        }
    }
}

/// Of the other connections of this name in this database, the one that was made first.
fn first_other(list: &str, called: &str, own: u64, database: &str) -> Option<u64> {
    let others = list.lines().filter_map(|line| {
        let field = |name: &str| {
            let mut fields = line.split(' ').filter_map(|field| field.split_once('='));
            fields.find(|(key, _)| *key == name).map(|(_, value)| value)
        };
        let id = field("id")?.parse::<u64>().ok()?;
        let is_one = field("name") == Some(called) && field("db") == Some(database);
        (is_one && id != own).then_some(id)
    });
    others.min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_connections_of_our_name_the_first_is_found() {
        let list = "id=3 addr=127.0.0.1:1 name= db=0 cmd=get\n\
                    id=5 addr=127.0.0.1:2 name=kurabe db=0 cmd=get\n\
                    id=7 addr=127.0.0.1:3 name=kurabe db=1 cmd=client\n\
                    id=9 addr=127.0.0.1:4 name=kurabeX db=2 cmd=client\n";
        let list = format!("{list}id=6 name=kurabe db=0\nid=8 name=kurabe-waits db=0\n");
        assert_eq!(first_other(&list, CONNECTION, 9, "0"), Some(5));
        assert_eq!(
            first_other(&list, CONNECTION, 5, "0"),
            Some(6),
            "also one that came later"
        );
        assert_eq!(
            first_other(&list, CONNECTION, 7, "1"),
            None,
            "it is our own"
        );
        assert_eq!(
            first_other(&list, CONNECTION, 99, "2"),
            None,
            "it is called otherwise"
        );
        assert_eq!(first_other("", CONNECTION, 6, "0"), None);
        // A run's own is another one.
        let list = format!("{list}id=11 name=kurabe-run db=4\n");
        assert_eq!(first_other(&list, CONNECTION, 9, "4"), None);
        assert_eq!(first_other(&list, RUN, u64::MAX, "4"), Some(11));
        assert_eq!(first_other(&list, RUN, u64::MAX, "0"), None);
    }
}
