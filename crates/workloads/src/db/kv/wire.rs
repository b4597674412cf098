//! A connection: one write for a batch of commands, and reads into one buffer until all replies to it are there.

use super::error::{is_refusal, told, unquoted};
use super::resp::{self, Found, Kind, Reply};
use crate::db::address::Address;
use crate::db::engines::{Engine, REDIS_USER};
use crate::db::server::line::Line;
use crate::db::server::trouble::Trouble;
use engine::secret::Secret;
use std::time::Duration;

/// A request that takes longer never ends: latencies end at 60 s.
pub(super) const REQUEST_MAX: Duration = Duration::from_secs(50);

/// A reply in the buffer of the connection.
pub(super) type Said = Reply;

/// A connection.
#[derive(Debug)]
pub(super) struct Wire {
    pub(super) line: Line,
    /// The number of the database that is selected.
    pub(super) database: u32,
}

impl Wire {
    /// Connects, proves who we are, and selects the database.
    pub(super) fn log_in(to: &Address, secret: Option<&Secret>) -> Result<Self, Trouble> {
        let mut wire = Self::over(Line::connect(to)?);
        match wire.let_in(to, secret) {
            Ok(()) => Ok(wire),
            Err(trouble) => Err(wire.line.at_login(Engine::Redis, trouble)),
        }
    }

    fn let_in(&mut self, to: &Address, secret: Option<&Secret>) -> Result<(), Trouble> {
        self.line.encrypt(to)?;
        let user = (to.user != REDIS_USER).then_some(to.user.as_bytes());
        let password = secret.map(|secret| secret.reveal().as_bytes());
        // AUTH has no other form, so that on this machine it goes as it is.
        let may = self.line.is_loopback() || self.line.is_private() || to.may_be_clear;
        if password.is_some() && !may {
            return Err(Trouble::Clear(Engine::Redis));
        }
        let proof = match (user, password) {
            (Some(user), Some(password)) => self.ok(&[b"AUTH", user, password]),
            (None, Some(password)) => self.ok(&[b"AUTH", password]),
            // A user without a password proves it with any, an empty one too.
            (Some(user), None) => self.ok(&[b"AUTH", user, b""]),
            (None, None) => Ok(()),
        };
        proof.map_err(unquoted)?;
        // Also where it is the first: who is not let in hears of it here, and not in what is measured.
        self.select(to.database.parse().unwrap_or(u32::MAX))?;
        self.line.wait_at_most(REQUEST_MAX).map_err(Trouble::Io)
    }

    pub(super) const fn over(line: Line) -> Self {
        Self { line, database: 0 }
    }

    /// Goes to another database of the server.
    pub(super) fn select(&mut self, database: u32) -> Result<(), Trouble> {
        self.ok(&[b"SELECT", database.to_string().as_bytes()])?;
        self.database = database;
        Ok(())
    }

    /// Writes what has been put into the line.
    #[inline]
    pub(super) fn send(&mut self) -> Result<(), Trouble> {
        self.line.send()
    }

    /// The next reply, where it is there in whole; or how long it is at least.
    #[inline]
    pub(super) fn there(&mut self) -> Result<Found, Trouble> {
        let mut found = resp::reply(self.line.there())?;
        if let Found::Whole(reply) = &mut found {
            let whole = self.line.take(reply.length);
            reply.body = whole.start + reply.body.start..whole.start + reply.body.end;
        }
        Ok(found)
    }

    /// The next reply; waits for it.
    pub(super) fn next(&mut self) -> Result<Said, Trouble> {
        loop {
            match self.there()? {
                Found::Whole(said) => return Ok(said),
                Found::Part(least) => self.line.fill(least)?,
            }
        }
    }

    /// The text or value of a reply that was the last one.
    #[inline]
    pub(super) fn body(&self, said: &Said) -> &[u8] {
        self.line.taken(said.body.clone())
    }

    /// The next reply, where it is no error.
    pub(super) fn good(&mut self) -> Result<Said, Trouble> {
        let said = self.next()?;
        if said.kind == Kind::Error {
            return Err(told(self.body(&said)));
        }
        Ok(said)
    }

    /// Sends one command and waits for its reply.
    pub(super) fn ask(&mut self, parts: &[&[u8]]) -> Result<Said, Trouble> {
        resp::command(&mut self.line.out, parts);
        match self.send() {
            // Who ends a connection may have said why.
            Err(Trouble::Ended) => match self.good() {
                why @ Err(Trouble::Told(_)) => why,
                _ => Err(Trouble::Ended),
            },
            Err(trouble) => Err(trouble),
            Ok(()) => self.good(),
        }
    }

    /// A command that is answered with a word.
    pub(super) fn ok(&mut self, parts: &[&[u8]]) -> Result<(), Trouble> {
        match self.ask(parts)?.kind {
            Kind::Word => Ok(()),
            _ => Err(Trouble::Garbage(Engine::Redis)),
        }
    }

    /// A command that is answered with a number.
    pub(super) fn number(&mut self, parts: &[&[u8]]) -> Result<u64, Trouble> {
        self.ask(parts).and_then(|said| number_of(&said))
    }

    /// A command that is answered with a text, or nothing.
    pub(super) fn text(&mut self, parts: &[&[u8]]) -> Result<Option<String>, Trouble> {
        let said = self.ask(parts)?;
        match said.kind {
            Kind::Value | Kind::Word => {
                Ok(Some(String::from_utf8_lossy(self.body(&said)).into_owned()))
            }
            Kind::Nothing => Ok(None),
            _ => Err(Trouble::Garbage(Engine::Redis)),
        }
    }

    /// Asks for INFO, and takes what is wanted of it where it lies: nothing is allocated.
    pub(super) fn info<T>(&mut self, take: impl FnOnce(&[u8]) -> T) -> Result<T, Trouble> {
        self.line.send_this(b"*1\r\n$4\r\nINFO\r\n")?;
        let said = self.good()?;
        match said.kind {
            Kind::Value => Ok(take(self.body(&said))),
            _ => Err(Trouble::Garbage(Engine::Redis)),
        }
    }

    /// The second of the two parts that a setting is answered with; `None` where there is no such setting, or nobody
    /// may ask.
    pub(super) fn setting(&mut self, name: &str) -> Result<Option<String>, Trouble> {
        let said = match self.ask(&[b"CONFIG", b"GET", name.as_bytes()]) {
            Err(trouble) if is_refusal(&trouble) => return Ok(None),
            other => other?,
        };
        let Kind::Array(parts) = said.kind else {
            return Err(Trouble::Garbage(Engine::Redis));
        };
        let mut found = None;
        for part in 0..parts {
            let said = self.good()?;
            if !matches!(said.kind, Kind::Value | Kind::Word) {
                return Err(Trouble::Garbage(Engine::Redis));
            }
            if part == 1 {
                found = Some(String::from_utf8_lossy(self.body(&said)).into_owned());
            }
        }
        Ok(found)
    }
}

/// The number that a reply is.
pub(super) fn number_of(said: &Said) -> Result<u64, Trouble> {
    match said.kind {
        Kind::Number(number) => u64::try_from(number).map_err(|_| Trouble::Garbage(Engine::Redis)),
        _ => Err(Trouble::Garbage(Engine::Redis)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::db::server::line::READ_BYTES;
    use bytes::BytesMut;
    use proptest::prelude::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;

    /// A connection to whom says these bytes, after which nothing comes.
    fn to(bytes: &[u8]) -> Wire {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        theirs.write_all(bytes).unwrap();
        drop(theirs);
        Wire::over(Line::over(ours))
    }

    #[test]
    fn replies_across_the_ends_of_reads_are_whole() {
        // More than the buffer, in values of odd lengths.
        let mut bytes = BytesMut::new();
        for length in 0..2000_usize {
            resp::head(&mut bytes, b'$', length % 97);
            bytes.extend_from_slice(&vec![b'\r'; length % 97]);
            bytes.extend_from_slice(b"\r\n");
        }
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let mut wire = Wire::over(Line::over(ours));
        std::thread::scope(|scope| {
            scope.spawn(|| theirs.write_all(&bytes).unwrap());
            for length in 0..2000 {
                let said = wire.next().unwrap();
                let body = wire.body(&said);
                assert!(body.len() == length % 97 && body.iter().all(|byte| *byte == b'\r'));
            }
        });
        assert_eq!(wire.line.capacity(), READ_BYTES);
    }

    #[test]
    fn what_ends_in_the_middle_or_is_endless_is_an_error_and_takes_no_memory() {
        for bytes in [&b""[..], b"$3\r\n", b"$3\r\nab", b"+O"] {
            let why = to(bytes).next().unwrap_err();
            assert!(
                matches!(why, Trouble::Ended),
                "{}: {why}",
                bytes.escape_ascii()
            );
        }
        for bytes in [
            &b"$99999999999\r\n"[..],
            b"*99999999\r\n",
            b"SSH-2.0-OpenSSH\r\n",
        ] {
            let mut wire = to(bytes);
            assert!(matches!(wire.next(), Err(Trouble::Garbage(_))));
            assert_eq!(wire.line.capacity(), READ_BYTES);
        }
    }

    #[test]
    fn a_setting_is_the_second_of_two_parts() {
        let setting = |bytes: &[u8]| {
            let (ours, mut theirs) = UnixStream::pair().unwrap();
            theirs.write_all(bytes).unwrap();
            Wire::over(Line::over(ours)).setting("save")
        };
        let two = b"*2\r\n$4\r\nsave\r\n$7\r\n3600 1 \r\n";
        assert_eq!(setting(two).unwrap().as_deref(), Some("3600 1 "));
        assert_eq!(setting(b"*0\r\n").unwrap(), None);
        assert_eq!(setting(b"-NOPERM no\r\n").unwrap(), None);
        assert!(setting(b"-ERR syntax error\r\n").is_err());
        assert!(matches!(setting(b"+OK\r\n"), Err(Trouble::Garbage(_))));
    }

    proptest! {
        #[test]
        fn no_bytes_break_a_connection(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let mut wire = to(&bytes);
            while wire.next().is_ok() {}
            prop_assert!(wire.line.capacity() <= resp::VALUE_MAX + resp::LINE_MAX);
        }
    }
}
