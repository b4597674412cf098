//! A server of ours, and before it a relay that drops, holds, doubles and delays datagrams that are known by their
//! numbers. It tells which it let pass.

use crate::net::iperf3::datagram::{Datagram, Width};
use crate::net::iperf3::serve::tests::client::token;
use crate::net::iperf3::serve::{Listener, Offer};
use crate::net::own::Machine;
use crate::net::peer::Peer;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::Scope;
use std::time::Duration;
use sys::clock::monotonic;

/// What becomes of a datagram.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Fate {
    Pass,
    Drop,
    Twice,
    /// It comes behind so many later ones.
    Behind(u64),
    /// So many nanoseconds later, and with it what comes behind it.
    Late(u64),
}

/// What decides it: the number of the datagram, and the time.
pub(super) type Rule = dyn Fn(u64, u64) -> Fate + Sync;

/// A datagram that passed, and when.
pub(super) type Passed = (Datagram, u64);

const LOOK: Duration = Duration::from_millis(20);

/// Nothing here takes so long; it is an end for what would hang.
const LONG: Duration = Duration::from_secs(100);

struct Relay<'a> {
    server: SocketAddr,
    /// Whether the rule is for what goes to the server, or for what comes from it.
    up: bool,
    rule: &'a Rule,
    passed: Mutex<Vec<Passed>>,
    stops: AtomicBool,
}

/// Does something with a server behind a relay; what of it passed in the direction of the rule.
pub(super) fn through<T>(
    (up, rule): (bool, &Rule),
    client: impl FnOnce(&Peer) -> T,
) -> (T, Vec<Passed>) {
    // The server takes its port of UDP for each flow anew.
    let (serves, _) = free_by_udp(Listener::bind, |serves| serves.address().unwrap());
    let relay = Relay {
        server: serves.address().unwrap(),
        up,
        rule,
        passed: Mutex::default(),
        stops: AtomicBool::new(false),
    };
    let (listener, entry) = free_by_udp(TcpListener::bind, |at| at.local_addr().unwrap());
    let peer = listener.local_addr().unwrap().to_string().parse().unwrap();
    let offer = Offer {
        token: token(),
        machine: Machine::default(),
    };
    let done = std::thread::scope(|scope| {
        let (relay, offer) = (&relay, &offer);
        let stop = || relay.stops.load(Ordering::Relaxed);
        scope.spawn(move || serves.serve(offer, LONG, &stop, &|_| Ok(())).unwrap());
        scope.spawn(move || relay.connections(&listener, scope));
        scope.spawn(move || relay.datagrams(entry, scope));
        // A test that fails ends the others too.
        let _ends = Ends(&relay.stops);
        client(&peer)
    });
    (done, relay.passed.into_inner().unwrap())
}

struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Whoever listens at a port of TCP, one that is free by UDP too.
fn free_by_udp<T>(
    open: impl Fn(SocketAddr) -> io::Result<T>,
    at: impl Fn(&T) -> SocketAddr,
) -> (T, UdpSocket) {
    loop {
        let listens = open((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        if let Ok(socket) = UdpSocket::bind(at(&listens)) {
            return (listens, socket);
        }
    }
}

impl<'a> Relay<'a> {
    fn stopped(&self) -> bool {
        self.stops.load(Ordering::Relaxed)
    }

    fn connections<'scope>(&'scope self, listener: &TcpListener, scope: &'scope Scope<'scope, '_>) {
        listener.set_nonblocking(true).unwrap();
        while !self.stopped() {
            let Ok((ours, _)) = listener.accept() else {
                std::thread::sleep(Duration::from_millis(1));
                continue;
            };
            let theirs = TcpStream::connect(self.server).unwrap();
            for stream in [&ours, &theirs] {
                stream.set_nonblocking(false).unwrap();
                stream.set_nodelay(true).unwrap();
                stream.set_read_timeout(Some(LOOK)).unwrap();
            }
            let (ours, theirs) = (Arc::new(ours), Arc::new(theirs));
            for (from, to) in [(&ours, &theirs), (&theirs, &ours)] {
                let (from, to) = (Arc::clone(from), Arc::clone(to));
                scope.spawn(move || self.copy(&from, &to));
            }
        }
    }

    fn copy(&self, mut from: &TcpStream, mut to: &TcpStream) {
        let mut room = [0; 4096];
        while !self.stopped() {
            match from.read(&mut room) {
                Ok(0) => break,
                Ok(got) if to.write_all(&room[..got]).is_ok() => {}
                Err(error) if is_nothing(&error) => {}
                _ => break,
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    }

    fn datagrams<'scope>(&'scope self, entry: UdpSocket, scope: &'scope Scope<'scope, '_>) {
        entry.set_read_timeout(Some(LOOK)).unwrap();
        let entry = Arc::new(entry);
        let mut known: Vec<(SocketAddr, Arc<UdpSocket>, Way<'a>)> = Vec::new();
        let mut room = [0; 2048];
        while !self.stopped() {
            let Ok((got, from)) = entry.recv_from(&mut room) else {
                continue;
            };
            let place = known.iter().position(|(at, _, _)| *at == from);
            let place = place.unwrap_or_else(|| {
                let there = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                there.connect(self.server).unwrap();
                there.set_read_timeout(Some(LOOK)).unwrap();
                let there = Arc::new(there);
                let (back, entry) = (Arc::clone(&there), Arc::clone(&entry));
                scope.spawn(move || self.back(&back, &entry, from));
                known.push((from, there, Way::new(self.up.then_some(self.rule))));
                known.len() - 1
            });
            let (_, there, way) = &mut known[place];
            way.pass(&room[..got], &self.passed, |bytes| drop(there.send(bytes)));
        }
    }

    fn back(&self, there: &UdpSocket, entry: &UdpSocket, to: SocketAddr) {
        let mut way = Way::new((!self.up).then_some(self.rule));
        let mut room = [0; 2048];
        while !self.stopped() {
            if let Ok(got) = there.recv(&mut room) {
                let send = |bytes: &[u8]| drop(entry.send_to(bytes, to));
                way.pass(&room[..got], &self.passed, send);
            }
        }
    }
}

fn is_nothing(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut)
}

/// A stream in a direction, with what is held of it and behind how many more it comes.
struct Way<'a> {
    rule: Option<&'a Rule>,
    held: Vec<(u64, Vec<u8>)>,
}

impl<'a> Way<'a> {
    const fn new(rule: Option<&'a Rule>) -> Self {
        let held = Vec::new();
        Self { rule, held }
    }

    fn pass(&mut self, bytes: &[u8], passed: &Mutex<Vec<Passed>>, mut send: impl FnMut(&[u8])) {
        let datagram = Datagram::read(bytes, Width::Bits64);
        let Some((rule, datagram)) = self.rule.zip(datagram) else {
            return send(bytes);
        };
        let mut let_pass = |bytes: &[u8]| {
            let datagram = Datagram::read(bytes, Width::Bits64).unwrap();
            passed.lock().unwrap().push((datagram, monotonic()));
            send(bytes);
        };
        match rule(datagram.count, monotonic()) {
            Fate::Pass => let_pass(bytes),
            Fate::Drop => return,
            Fate::Twice => [bytes; 2].into_iter().for_each(&mut let_pass),
            Fate::Behind(later) => return self.held.push((later, bytes.to_vec())),
            Fate::Late(nanos) => {
                sys::clock::sleep(nanos);
                let_pass(bytes);
            }
        }
        for (later, _) in &mut self.held {
            *later -= 1;
        }
        let (due, held) = std::mem::take(&mut self.held)
            .into_iter()
            .partition(|(later, _)| *later == 0);
        self.held = held;
        let due: Vec<(u64, Vec<u8>)> = due;
        for (_, bytes) in &due {
            let_pass(bytes);
        }
    }
}
