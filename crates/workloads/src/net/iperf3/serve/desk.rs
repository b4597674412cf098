//! Who is served: one client, and by what further connections are known to be its own.

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

/// How long a client that has all it came for may keep others waiting.
const LEAVES_WITHIN: Duration = Duration::from_secs(1);

/// A further connection, or why there are no more of them.
pub(super) type Arrival = io::Result<TcpStream>;

/// The place of the one who is served.
#[derive(Default)]
pub(super) struct Desk(Mutex<Option<Busy>>);

struct Busy {
    /// What streams of iperf3 show.
    cookie: Option<Cookie>,
    /// By what further connections of ours are known.
    key: Option<SessionKey>,
    /// The lowest number that none of those has shown yet: each is taken once.
    next: u64,
    /// Connections that are expected yet.
    expected: usize,
    /// Whether the door answers them all, and how many it has.
    answers: Option<u64>,
    streams: Sender<Arrival>,
    /// When it is over, as far as that is known.
    until: Option<u64>,
    /// Until when the next client is let wait: this one is about to go.
    goes: Option<u64>,
}

/// What becomes of a connection that shows something.
pub(super) enum Shown {
    /// It is answered by a byte, and given on.
    Taken(Sender<Arrival>),
    /// It is answered by a byte, and that is all.
    Answered,
    /// Nobody waits for it.
    Nobody,
}

impl Desk {
    fn lock(&self) -> MutexGuard<'_, Option<Busy>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the one who is served has all it came for, and may be waited for.
    pub(super) fn is_about_to_be_free(&self) -> bool {
        let goes = self.lock().as_ref().and_then(|busy| busy.goes);
        goes.is_some_and(|goes| monotonic() < goes)
    }

    /// Lets a client in, where nobody is: where its further connections come from, and what makes the desk free again.
    pub(super) fn seat(
        &self,
        cookie: Option<Cookie>,
        key: Option<SessionKey>,
    ) -> Option<(Receiver<Arrival>, Seat<'_>)> {
        let mut desk = self.lock();
        if desk.is_some() {
            return None;
        }
        let (streams, receiver) = channel();
        *desk = Some(Busy {
            cookie,
            key,
            next: 0,
            expected: 0,
            answers: None,
            streams,
            until: None,
            goes: None,
        });
        Some((receiver, Seat(self)))
    }

    /// How long somebody is served yet, as far as that is known.
    pub(super) fn left(&self) -> Option<Duration> {
        let until = self.lock().as_ref()?.until?;
        Some(Duration::from_nanos(until.saturating_sub(monotonic())))
    }

    /// A stream of iperf3, where this cookie's are expected; it is given back where they are not.
    pub(super) fn stream(&self, cookie: &Cookie, stream: TcpStream) -> Result<(), TcpStream> {
        match self.lock().as_mut() {
            Some(busy) if busy.cookie.as_ref() == Some(cookie) && busy.expected > 0 => {
                busy.expected -= 1;
                // A test that has ended meanwhile takes nobody.
                let _ = busy.streams.send(Ok(stream));
                Ok(())
            }
            _ => Err(stream),
        }
    }

    /// Nobody can be let in: whoever expects connections gets no more of them, and hears why.
    pub(super) fn fails(&self, why: &io::Error) {
        if let Some(busy) = self.lock().as_mut().filter(|busy| busy.expected > 0) {
            busy.expected = 0;
            let of_system = why.raw_os_error().map(io::Error::from_raw_os_error);
            let why = of_system.unwrap_or_else(|| why.kind().into());
            // A test that has ended meanwhile asks nobody.
            let _ = busy.streams.send(Err(why));
        }
    }

    /// A further connection of ours.
    pub(super) fn shown(&self, hello: &Hello) -> Shown {
        let mut desk = self.lock();
        let (Some(busy), Kind::Data(number)) = (desk.as_mut(), hello.kind()) else {
            return Shown::Nobody;
        };
        let is_own = busy.key.as_ref().is_some_and(|key| hello.is_of(key));
        if !is_own || number < busy.next {
            return Shown::Nobody;
        }
        if let Some(count) = &mut busy.answers {
            *count += 1;
            busy.next = number.saturating_add(1);
            return Shown::Answered;
        }
        if busy.expected == 0 {
            return Shown::Nobody;
        }
        busy.expected -= 1;
        busy.next = number.saturating_add(1);
        Shown::Taken(busy.streams.clone())
    }
}

/// The client's side of the desk; it makes the desk free, however a test ends.
pub(super) struct Seat<'a>(&'a Desk);

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

impl Seat<'_> {
    fn with(&self, change: impl FnOnce(&mut Busy)) {
        if let Some(busy) = self.0.lock().as_mut() {
            change(busy);
        }
    }

    /// So many further connections are expected from now on.
    pub(super) fn expect(&self, count: usize) {
        self.with(|busy| busy.expected = count);
    }

    /// They show this.
    pub(super) fn by_cookie(&self, cookie: Cookie) {
        self.with(|busy| busy.cookie = Some(cookie));
    }

    /// It lasts so long at most, from now.
    pub(super) fn lasts(&self, span: Duration) {
        let until = monotonic().saturating_add(Nanos::from(span).0);
        self.with(|busy| busy.until = Some(until));
    }

    /// It has all it came for: who comes now may wait until it has gone, but not for long.
    pub(super) fn goes(&self) {
        let goes = monotonic().saturating_add(Nanos::from(LEAVES_WITHIN).0);
        self.with(|busy| busy.goes = Some(goes));
    }

    /// The door answers every further connection.
    pub(super) fn answer_all(&self) {
        self.with(|busy| busy.answers = Some(0));
    }

    /// How many it has answered.
    pub(super) fn answered(&self) -> u64 {
        let desk = self.0.lock();
        desk.as_ref().and_then(|busy| busy.answers).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_is_taken_once_and_only_where_it_is_expected() {
        let desk = Desk::default();
        let key = SessionKey::of_test(1);
        let hello = |number| Hello::data(number, &key);
        assert!(matches!(desk.shown(&hello(0)), Shown::Nobody));
        let (_streams, seat) = desk.seat(None, Some(key.clone())).unwrap();
        assert!(desk.seat(None, None).is_none(), "one at a time");
        assert!(
            matches!(desk.shown(&hello(0)), Shown::Nobody),
            "none is expected"
        );
        seat.expect(2);
        assert!(matches!(desk.shown(&hello(0)), Shown::Taken(_)));
        assert!(matches!(desk.shown(&hello(0)), Shown::Nobody), "a replay");
        assert!(matches!(
            desk.shown(&Hello::data(1, &SessionKey::of_test(2))),
            Shown::Nobody
        ));
        assert!(matches!(desk.shown(&hello(1)), Shown::Taken(_)));
        assert!(
            matches!(desk.shown(&hello(2)), Shown::Nobody),
            "two were expected"
        );
        seat.answer_all();
        assert!(matches!(desk.shown(&hello(1)), Shown::Nobody), "a replay");
        for number in 2..5 {
            assert!(matches!(desk.shown(&hello(number)), Shown::Answered));
        }
        assert_eq!(seat.answered(), 3);
        drop(seat);
        assert!(matches!(desk.shown(&hello(9)), Shown::Nobody));
        assert!(desk.seat(None, None).is_some());
    }

    #[test]
    fn whoever_expects_connections_hears_once_why_there_are_no_more() {
        let desk = Desk::default();
        let fails = || desk.fails(&io::Error::from_raw_os_error(24));
        fails();
        let (streams, seat) = desk.seat(None, None).unwrap();
        fails();
        assert!(streams.try_recv().is_err(), "none is expected");
        seat.expect(2);
        fails();
        fails();
        let told = streams.try_recv().unwrap();
        assert_eq!(told.unwrap_err().raw_os_error(), Some(24));
        assert!(streams.try_recv().is_err(), "once");
    }

    #[test]
    fn one_who_goes_may_be_waited_for_until_it_has_gone() {
        let desk = Desk::default();
        assert!(!desk.is_about_to_be_free());
        let (_streams, seat) = desk.seat(None, None).unwrap();
        assert!(!desk.is_about_to_be_free(), "it has only come");
        seat.goes();
        assert!(desk.is_about_to_be_free() && desk.seat(None, None).is_none());
        seat.with(|busy| busy.goes = Some(monotonic()));
        assert!(!desk.is_about_to_be_free(), "it stays");
        drop(seat);
        assert!(!desk.is_about_to_be_free() && desk.seat(None, None).is_some());
    }

    #[test]
    fn how_long_it_takes_yet_is_told_where_it_is_known() {
        let desk = Desk::default();
        assert_eq!(desk.left(), None);
        let (_streams, seat) = desk.seat(None, None).unwrap();
        assert_eq!(desk.left(), None);
        seat.lasts(Duration::from_secs(100));
        let left = desk.left().unwrap();
        assert!(
            left <= Duration::from_secs(100) && !left.is_zero(),
            "{left:?}"
        );
    }
}
