//! The session that is on, of which there is one at a time, and by what further connections are known to be its own.

use super::super::Cookie;
use crate::net::own::SessionKey;
use crate::net::own::hello::{Hello, Kind};
use model::units::Nanos;
use std::io;
use std::net::TcpStream;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use sys::clock::monotonic;

/// A further connection, or why there are no more of them.
pub(super) type Arrival = io::Result<TcpStream>;

/// The session that is on.
#[derive(Default)]
pub(super) struct Active(Mutex<Option<Session>>);

struct Session {
    /// What streams of iperf3 show.
    cookie: Option<Cookie>,
    /// By what further connections of ours are known.
    key: SessionKey,
    /// The lowest number that none of those has shown yet: each is taken once.
    next: u64,
    /// Connections that are expected yet.
    expected: usize,
    /// Whether the listener answers them all, and how many it has.
    answers: Option<u64>,
    streams: Sender<Arrival>,
    /// When it is over, as far as that is known.
    until: Option<u64>,
}

/// What becomes of a connection that shows something.
pub(super) enum Shown {
    /// It is answered by a byte, and given on.
    Taken(Sender<Arrival>),
    /// It is answered by a byte, and that is all.
    Answered,
    /// It is expected by no session.
    Unexpected,
}

impl Active {
    fn lock(&self) -> MutexGuard<'_, Option<Session>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the session of this key, where no other is on: where its further connections come from, and what ends it.
    pub(super) fn claim(&self, key: SessionKey) -> Option<(Receiver<Arrival>, Claim<'_>)> {
        let mut active = self.lock();
        if active.is_some() {
            return None;
        }
        let (streams, receiver) = channel();
        *active = Some(Session {
            cookie: None,
            key,
            next: 0,
            expected: 0,
            answers: None,
            streams,
            until: None,
        });
        Some((receiver, Claim(self)))
    }

    /// How long the present client is still served, as far as that is known.
    pub(super) fn left(&self) -> Option<Duration> {
        let until = self.lock().as_ref()?.until?;
        Some(Duration::from_nanos(until.saturating_sub(monotonic())))
    }

    /// A stream of iperf3, where this cookie's are expected; it is given back where they are not.
    pub(super) fn stream(&self, cookie: &Cookie, stream: TcpStream) -> Result<(), TcpStream> {
        match self.lock().as_mut() {
            Some(session) if session.cookie.as_ref() == Some(cookie) && session.expected > 0 => {
                session.expected -= 1;
                // A test that has ended meanwhile takes no client.
                let _ = session.streams.send(Ok(stream));
                Ok(())
            }
            _ => Err(stream),
        }
    }

    /// No connection can be accepted: a test that expects connections gets no more of them, and hears why.
    pub(super) fn fails(&self, why: &io::Error) {
        if let Some(session) = self.lock().as_mut().filter(|session| session.expected > 0) {
            session.expected = 0;
            let of_system = why.raw_os_error().map(io::Error::from_raw_os_error);
            let why = of_system.unwrap_or_else(|| why.kind().into());
            // A test that has ended meanwhile asks no client.
            let _ = session.streams.send(Err(why));
        }
    }

    /// A further connection of ours.
    pub(super) fn shown(&self, hello: &Hello) -> Shown {
        let mut active = self.lock();
        let (Some(session), Kind::Data(number)) = (active.as_mut(), hello.kind()) else {
            return Shown::Unexpected;
        };
        let is_own = hello.is_of(&session.key);
        if !is_own || number < session.next {
            return Shown::Unexpected;
        }
        if let Some(count) = &mut session.answers {
            *count += 1;
            session.next = number.saturating_add(1);
            return Shown::Answered;
        }
        if session.expected == 0 {
            return Shown::Unexpected;
        }
        session.expected -= 1;
        session.next = number.saturating_add(1);
        Shown::Taken(session.streams.clone())
    }
}

/// That a session is on; it ends with this, however a test ends.
pub(super) struct Claim<'a>(&'a Active);

impl Drop for Claim<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

impl Claim<'_> {
    fn with(&self, change: impl FnOnce(&mut Session)) {
        if let Some(session) = self.0.lock().as_mut() {
            change(session);
        }
    }

    /// So many further connections are expected from now on.
    pub(super) fn expect(&self, count: usize) {
        self.with(|session| session.expected = count);
    }

    /// They show this.
    pub(super) fn by_cookie(&self, cookie: Cookie) {
        self.with(|session| session.cookie = Some(cookie));
    }

    /// It lasts so long at most, from now.
    pub(super) fn lasts(&self, span: Duration) {
        let until = monotonic().saturating_add(Nanos::from(span).0);
        self.with(|session| session.until = Some(until));
    }

    /// The listener answers every further connection.
    pub(super) fn answer_all(&self) {
        self.with(|session| session.answers = Some(0));
    }

    /// How many it has answered.
    pub(super) fn answered(&self) -> u64 {
        let active = self.0.lock();
        active
            .as_ref()
            .and_then(|session| session.answers)
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_taken_once_and_only_where_it_is_expected() {
        let active = Active::default();
        let key = SessionKey::of_test(1);
        let hello = |number| Hello::data(number, &key);
        assert!(matches!(active.shown(&hello(0)), Shown::Unexpected));
        let (_streams, claim) = active.claim(key.clone()).unwrap();
        assert!(
            active.claim(SessionKey::of_test(1)).is_none(),
            "one at a time"
        );
        assert!(
            matches!(active.shown(&hello(0)), Shown::Unexpected),
            "none is expected"
        );
        claim.expect(2);
        assert!(matches!(active.shown(&hello(0)), Shown::Taken(_)));
        assert!(
            matches!(active.shown(&hello(0)), Shown::Unexpected),
            "a replay"
        );
        assert!(matches!(
            active.shown(&Hello::data(1, &SessionKey::of_test(2))),
            Shown::Unexpected
        ));
        assert!(matches!(active.shown(&hello(1)), Shown::Taken(_)));
        assert!(
            matches!(active.shown(&hello(2)), Shown::Unexpected),
            "two were expected"
        );
        claim.answer_all();
        assert!(
            matches!(active.shown(&hello(1)), Shown::Unexpected),
            "a replay"
        );
        for number in 2..5 {
            assert!(matches!(active.shown(&hello(number)), Shown::Answered));
        }
        assert_eq!(claim.answered(), 3);
        drop(claim);
        assert!(matches!(active.shown(&hello(9)), Shown::Unexpected));
        assert!(active.claim(SessionKey::of_test(1)).is_some());
    }

    #[test]
    fn a_test_that_expects_connections_hears_once_why_there_are_no_more() {
        let active = Active::default();
        let fails = || active.fails(&io::Error::from_raw_os_error(24));
        fails();
        let (streams, claim) = active.claim(SessionKey::of_test(1)).unwrap();
        fails();
        assert!(streams.try_recv().is_err(), "none is expected");
        claim.expect(2);
        fails();
        fails();
        let told = streams.try_recv().unwrap();
        assert_eq!(told.unwrap_err().raw_os_error(), Some(24));
        assert!(streams.try_recv().is_err(), "once");
    }

    #[test]
    fn how_long_it_takes_yet_is_told_where_it_is_known() {
        let active = Active::default();
        assert_eq!(active.left(), None);
        let (_streams, claim) = active.claim(SessionKey::of_test(1)).unwrap();
        assert_eq!(active.left(), None);
        claim.lasts(Duration::from_secs(100));
        let left = active.left().unwrap();
        assert!(
            left <= Duration::from_secs(100) && !left.is_zero(),
            "{left:?}"
        );
    }
}
