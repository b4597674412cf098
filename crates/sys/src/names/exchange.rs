//! One exchange with one server: the questions about a name, and its answers.
//!
//! Both questions are sent before the first answer is waited for, each by a socket of its own: two datagrams of one
//! socket at the same time are what address translation of Linux is known to lose one of. The sockets are connected, so
//! that the kernel lets through what comes from the address and the port that were asked, and nothing else, and tells
//! when nobody listens there. Answers wait in their sockets, which is why they can be fetched one after the other.

use super::any_port_for;
use super::error::Reason;
use super::message::{Answer, Kind, Question};
use crate::tree::error_name;
use crate::until::Until;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

/// The largest datagram, and the largest message over TCP.
const MESSAGE_BYTES: usize = 65_535;

/// How long is waited for an answer that is there already. A socket cannot be told to wait for no time.
const MOMENT: Duration = Duration::from_millis(1);

/// How to ask.
#[derive(Clone, Copy, Debug)]
pub(super) struct How {
    /// From the beginning over TCP, and not only where an answer is too large for UDP.
    pub(super) over_tcp: bool,
    /// Larger answers over UDP may come.
    pub(super) edns: bool,
}

/// Asks `server` for what is wanted of `name`. The answers are in the order of `kinds`, and there by `until`.
pub(super) fn ask(
    server: SocketAddr,
    name: &str,
    kinds: &[Kind],
    how: How,
    until: Until,
) -> Vec<Result<Answer, Reason>> {
    let question = |&kind: &Kind| -> Result<Question, Reason> {
        Ok(Question::new(random_id()?, name, kind, how.edns))
    };
    if how.over_tcp {
        let answer = |kind| by_stream(server, &question(kind)?, until);
        return kinds.iter().map(answer).collect();
    }
    let sent = kinds.iter().map(|kind| Sent::new(server, question(kind)?));
    let sent: Vec<Result<Sent, Reason>> = sent.collect();
    let answers = sent.into_iter();
    answers.map(|sent| sent?.answer(server, until)).collect()
}

/// A question that is under way.
struct Sent {
    socket: UdpSocket,
    question: Question,
}

impl Sent {
    fn new(server: SocketAddr, question: Question) -> Result<Self, Reason> {
        let failed = |operation| move |error| failure(operation, &error);
        let socket = UdpSocket::bind(any_port_for(server));
        let socket = socket.map_err(failed("open a UDP socket"))?;
        let connected = socket.connect(server);
        connected.map_err(failed("connect over UDP"))?;
        let sent = socket.send(&question.message());
        sent.map_err(failed("send over UDP"))?;
        Ok(Self { socket, question })
    }

    /// The answer, fetched over TCP where it is too large for UDP. What has come by now is looked at even where the
    /// time is over, because the other question may have been waited for.
    fn answer(self, server: SocketAddr, until: Until) -> Result<Answer, Reason> {
        let mut message = vec![0; MESSAGE_BYTES];
        loop {
            let left = until.left();
            let wait = self.socket.set_read_timeout(left.or(Some(MOMENT)));
            wait.map_err(|error| failure("set how long to wait", &error))?;
            let length = match self.socket.recv(&mut message) {
                Ok(length) => length,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => return Err(failure("receive over UDP", &error)),
            };
            match self.question.answered(&message[..length]) {
                Some(Ok(Answer::Cut)) => return by_stream(server, &self.question, until),
                Some(answer) => return answer.map_err(Reason::Broken),
                // Not ours. Whoever sends such things is not to make us wait longer.
                None if left.is_none() => return Err(Reason::Silent),
                None => {}
            }
        }
    }
}

/// Asks over TCP, where every message stands behind its length (RFC 1035, section 4.2.2; RFC 7766).
fn by_stream(server: SocketAddr, question: &Question, until: Until) -> Result<Answer, Reason> {
    let left = until.left().ok_or(Reason::Silent)?;
    let stream = TcpStream::connect_timeout(&server, left);
    let mut stream = stream.map_err(|error| failure("connect over TCP", &error))?;
    let question_message = question.message();
    let length = u16::try_from(question_message.len()).expect("questions are short");
    // In one piece: some servers want the length and the question in one segment.
    let message = [&length.to_be_bytes()[..], &question_message].concat();
    let sent = stream
        .set_write_timeout(until.left().or(Some(MOMENT)))
        .and_then(|()| stream.write_all(&message));
    sent.map_err(|error| failure("send over TCP", &error))?;
    let mut length = [0; 2];
    fill(&mut stream, &mut length, until)?;
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    fill(&mut stream, &mut message, until)?;
    match question.answered(&message) {
        Some(Ok(Answer::Cut)) => Err(Reason::Broken("it is cut, over TCP too")),
        Some(answer) => answer.map_err(Reason::Broken),
        None => Err(Reason::Broken("it answers another question")),
    }
}

/// Reads until `bytes` are full. The time for all of it is limited, so that a server that sends one byte now and then
/// holds nobody.
fn fill(stream: &mut TcpStream, bytes: &mut [u8], until: Until) -> Result<(), Reason> {
    let mut filled = 0;
    while filled < bytes.len() {
        let left = until.left().ok_or(Reason::Silent)?;
        let wait = stream.set_read_timeout(Some(left));
        match wait.and_then(|()| stream.read(&mut bytes[filled..])) {
            Ok(0) => return Err(Reason::Broken("the connection ends before it does")),
            Ok(count) => filled += count,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(failure("receive over TCP", &error)),
        }
    }
    Ok(())
}

fn failure(operation: &'static str, error: &io::Error) -> Reason {
    match error.kind() {
        ErrorKind::WouldBlock | ErrorKind::TimedOut => Reason::Silent,
        _ => Reason::Unreachable {
            operation,
            error: error_name(error),
        },
    }
}

/// A number that nobody can guess.
fn random_id() -> Result<u16, Reason> {
    let mut bytes = [0; 2];
    crate::random::fill(&mut bytes).map_err(|error| failure("take a random number", &error))?;
    Ok(u16::from_ne_bytes(bytes))
}
