//! For tests: a server of DNS on loopback that says what it is told to, and the messages that it sends.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub(super) const A: u16 = 1;
pub(super) const CNAME: u16 = 5;
pub(super) const AAAA: u16 = 28;

/// Flags of an answer by a server that asks others for us.
pub(super) const ANSWER: u16 = 0x8180;
pub(super) const CUT: u16 = 0x0200;

/// How long the server looks at one of its sockets before it looks at the other.
const TURN: Duration = Duration::from_millis(2);

/// A question as it came in.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) message: Vec<u8>,
    pub(super) name: String,
    pub(super) kind: u16,
    pub(super) over_tcp: bool,
    /// Which of the servers was asked, and from where.
    pub(super) server: usize,
    pub(super) from: SocketAddr,
}

/// One thing that is done about a question.
pub(super) enum Say {
    Send(Vec<u8>),
    /// From another port.
    SendFromElsewhere(Vec<u8>),
    /// A byte now and then, until nobody listens any more.
    SendSlowly(Vec<u8>),
}

pub(super) type Script<'a> = &'a (dyn Fn(&Query) -> Vec<Say> + Sync);

/// Runs `test` beside servers with these scripts. Returns what it returns, and what the servers were asked.
pub(super) fn beside<R>(
    scripts: &[Script],
    test: impl FnOnce(Vec<SocketAddr>) -> R,
) -> (R, Vec<Query>) {
    let over = AtomicBool::new(false);
    let seen = Mutex::new(Vec::new());
    let result = std::thread::scope(|scope| {
        // Also where the test fails, or its failure would wait for the servers for ever.
        let _over = SetAtEnd(&over);
        let mut addresses = Vec::new();
        for (server, &script) in scripts.iter().enumerate() {
            let (udp, tcp) = sockets();
            addresses.push(udp.local_addr().unwrap());
            let (over, seen) = (&over, &seen);
            scope.spawn(move || {
                while !over.load(Ordering::SeqCst) {
                    turn(server, &udp, &tcp, script, seen);
                }
            });
        }
        test(addresses)
    });
    (result, seen.into_inner().unwrap())
}

struct SetAtEnd<'a>(&'a AtomicBool);

impl Drop for SetAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

/// Two sockets with the same number.
fn sockets() -> (UdpSocket, TcpListener) {
    loop {
        let udp = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let Ok(tcp) = TcpListener::bind(udp.local_addr().unwrap()) else {
            continue;
        };
        udp.set_read_timeout(Some(TURN)).unwrap();
        tcp.set_nonblocking(true).unwrap();
        return (udp, tcp);
    }
}

fn turn(
    server: usize,
    udp: &UdpSocket,
    tcp: &TcpListener,
    script: Script,
    seen: &Mutex<Vec<Query>>,
) {
    let mut message = vec![0; 65_535];
    if let Ok((length, from)) = udp.recv_from(&mut message) {
        let query = query(&message[..length], false, server, from);
        let all = script(&query);
        seen.lock().unwrap().push(query);
        for say in all {
            match say {
                Say::Send(message) | Say::SendSlowly(message) => {
                    udp.send_to(&message, from).unwrap();
                }
                Say::SendFromElsewhere(message) => {
                    let other = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                    other.send_to(&message, from).unwrap();
                }
            }
        }
    }
    let Ok((mut stream, from)) = tcp.accept() else {
        return;
    };
    stream.set_nonblocking(false).unwrap();
    let mut length = [0; 2];
    // Who has waited for long enough is gone.
    if stream.read_exact(&mut length).is_err() {
        return;
    }
    let mut message = vec![0; usize::from(u16::from_be_bytes(length))];
    if stream.read_exact(&mut message).is_err() {
        return;
    }
    let query = query(&message, true, server, from);
    let all = script(&query);
    seen.lock().unwrap().push(query);
    for say in all {
        match say {
            Say::Send(message) => drop(stream.write_all(&framed(&message))),
            Say::SendSlowly(message) => slowly(&mut stream, &framed(&message)),
            Say::SendFromElsewhere(_) => unreachable!("a connection has one source"),
        }
    }
}

fn framed(message: &[u8]) -> Vec<u8> {
    let length = u16::try_from(message.len()).unwrap();
    [&length.to_be_bytes()[..], message].concat()
}

fn slowly(stream: &mut TcpStream, message: &[u8]) {
    for byte in message {
        crate::clock::sleep(20_000_000);
        if stream.write_all(&[*byte]).is_err() {
            return;
        }
    }
}

fn query(message: &[u8], over_tcp: bool, server: usize, from: SocketAddr) -> Query {
    let mut parts: Vec<String> = Vec::new();
    let mut at = 12;
    while message[at] != 0 {
        let end = at + 1 + usize::from(message[at]);
        parts.push(String::from_utf8(message[at + 1..end].to_vec()).unwrap());
        at = end;
    }
    Query {
        message: message.to_vec(),
        name: parts.join("."),
        kind: u16::from_be_bytes([message[at + 1], message[at + 2]]),
        over_tcp,
        server,
        from,
    }
}

/// A record of an answer: the name as it stands in messages, its type, and its content.
pub(super) type Record = (Vec<u8>, u16, Vec<u8>);

/// The name of the question, by a pointer to it.
pub(super) const ASKED: [u8; 2] = [0xc0, 12];

/// A name in full.
pub(super) fn name(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in text.split('.') {
        bytes.push(u8::try_from(part.len()).unwrap());
        bytes.extend(part.as_bytes());
    }
    bytes.push(0);
    bytes
}

/// A record with the address, of the name that was asked for.
pub(super) fn address(text: &str) -> Record {
    match text.parse().unwrap() {
        std::net::IpAddr::V4(address) => (ASKED.to_vec(), A, address.octets().to_vec()),
        std::net::IpAddr::V6(address) => (ASKED.to_vec(), AAAA, address.octets().to_vec()),
    }
}

/// The answer to a question: with its number, these flags and these records.
pub(super) fn reply(question: &[u8], flags: u16, records: &[Record]) -> Vec<u8> {
    let count = u16::try_from(records.len()).unwrap();
    let mut message = question[..2].to_vec();
    for word in [flags, 1, count, 0, 0] {
        message.extend(word.to_be_bytes());
    }
    let name_length = question[12..].iter().position(|&byte| byte == 0).unwrap() + 1;
    message.extend(&question[12..12 + name_length + 4]);
    for (owner, kind, content) in records {
        message.extend(owner);
        message.extend(kind.to_be_bytes());
        // The Internet, for five minutes.
        message.extend([0, 1, 0, 0, 1, 44]);
        message.extend(u16::try_from(content.len()).unwrap().to_be_bytes());
        message.extend(content);
    }
    message
}
