//! `net.local-connect`: connections over loopback, each with a byte there and back (netperf's `TCP_CRR`).
//!
//! Whoever closes first keeps the pair of ports for a minute (`TIME_WAIT`), so that 28,000 connections to one port
//! would be all of a minute, and what earlier rounds left would be in the way of later ones. Here the client closes
//! first, and the server, which has seen that end, closes by a reset: the client's half, which waits for nothing but
//! the other end, is gone with it. All data have been delivered by then. Further addresses (127.0.0.2...) were
//! rejected: the kernel's tables would be full of pairs that wait, and slower for every round that follows. So was a
//! reset by the client, for which `SO_LINGER` would have to be set for each connection: the server's sockets take it
//! over from the one that listens.

use super::{CPU_PER_OP, Call, IP, failed, gone, listen, loopback};
use crate::net::exchange::{PATIENCE, again, is_time_out, ops_per_s};
use crate::storage::{mean, p50, p99};
use crate::sysbench::LAT_MAX;
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError, Workload};
use model::headline::{Headline, Topic};
use model::latency::LAT;
use model::params::Params;
use model::spec::{Nature, Spec, TestDef};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use sys::loops::team::{Member, Team};

/// The workload.
pub(crate) static LOCAL_CONNECT: LocalConnect = LocalConnect;

/// Connections, one after the other.
#[derive(Debug)]
pub(crate) struct LocalConnect;

/// So often a server that nobody connects to looks whether it is to end.
const LOOK: Duration = Duration::from_millis(200);

static SPEC: Spec = Spec {
    name: "net.local-connect",
    version: 1,
    nature: Nature::Network,
    title: "connections over loopback",
    doc: "One operation is one connection of TCP: the client makes a socket and connects, sends a byte, receives it \
          again, and closes; then the next one begins (netperf's TCP_CRR). The server accepts, and answers, and closes \
          when it has seen the client's end, by a reset, so that no pair of ports is kept in TIME_WAIT: rounds would \
          run out of ports, and each would find what the last one left.\n\n\
          Both sides are on this machine: two threads of one process for each copy, on CPUs that the scheduler \
          chooses. What the server has to do after the client's close goes on beside the next connection.",
    params: &[IP],
    metrics: &[
        ops_per_s(
            "Connections of all copies, over the wall time from before the first socket is made to the return of the \
             last close by a client.",
        ),
        mean(
            "lat_ns_mean",
            LAT,
            "Mean time of a connection: from the close before it, after which its socket is made at once, to its own \
             close, both by the client.",
        ),
        p50("lat_ns_p50", LAT),
        p99("lat_ns_p99", LAT),
        LAT_MAX,
        CPU_PER_OP,
    ],
    tests: &[TestDef::new(
        "net.local-connect",
        "TCP over loopback: connect, 1 byte there and back, close",
        &[],
    )],
    simulated: false,
    on_disk: false,
};

impl Workload for LocalConnect {
    fn spec(&self) -> &'static Spec {
        &SPEC
    }

    fn headline(&self, _: &Params) -> Option<Headline> {
        let words = ["connections on loopback", "ループバックの接続"];
        Some(Headline::new(Topic::Network, words))
    }

    fn hands_over(&self) -> bool {
        true
    }

    fn prepare(&self, params: &Params, _: &Place) -> Result<Box<dyn Body>, WorkError> {
        Ok(Box::new(Connections::start(loopback(params))?))
    }
}

/// The listener such that its accepts, and reads of what it accepted, end after a while, and that what it accepted is
/// closed by a reset: accepted sockets take both over from it.
fn with_options(listener: TcpListener) -> io::Result<TcpListener> {
    sys::socket::reset_at_close(listener.as_fd())?;
    // A listener has the same time-out as other sockets; std has no name for it.
    let socket = TcpStream::from(OwnedFd::from(listener));
    socket.set_read_timeout(Some(LOOK))?;
    Ok(TcpListener::from(OwnedFd::from(socket)))
}

/// Serves one connection after the other until it is `stopped`. Returns how many were served in whole.
fn serve(listener: &TcpListener, stopped: impl Fn() -> bool) -> io::Result<u64> {
    let mut served = 0;
    loop {
        match again(|| listener.accept()) {
            Ok((stream, _)) => match answer(&stream, &stopped) {
                Ok(true) => served += 1,
                // One without a byte tells a server that waits that it is stopped.
                Ok(false) | Err(_) if stopped() => return Ok(served),
                // Everybody on this machine may connect and go away. One of ours would be missed in the end.
                Ok(false) | Err(_) => {}
            },
            Err(error) if is_time_out(&error) && stopped() => return Ok(served),
            Err(error) if is_time_out(&error) => {}
            Err(error) if error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Gives the byte back and waits for the end. False where none came.
#[inline]
fn answer(mut stream: &TcpStream, stopped: &impl Fn() -> bool) -> io::Result<bool> {
    let mut byte = [0];
    if read(stream, &mut byte, stopped)? == 0 {
        return Ok(false);
    }
    stream.write_all(&byte)?;
    Ok(read(stream, &mut byte, stopped)? == 0)
}

/// Reads what comes, however long that takes.
#[inline]
fn read(mut stream: &TcpStream, byte: &mut [u8], stopped: &impl Fn() -> bool) -> io::Result<usize> {
    loop {
        match again(|| stream.read(byte)) {
            Err(error) if is_time_out(&error) && !stopped() => {}
            other => return other,
        }
    }
}

/// One connection.
#[inline]
fn connect(at: SocketAddr, byte: u8) -> Result<(), (Call, io::Error)> {
    let stream = TcpStream::connect(at).map_err(|error| (Call::Connect, error))?;
    ask(&stream, byte).map_err(|error| (Call::Talk, error))
}

/// Sends the byte and waits for the same one.
#[inline]
fn ask(mut stream: &TcpStream, byte: u8) -> io::Result<()> {
    stream.write_all(&[byte])?;
    let mut came = [0];
    stream.read_exact(&mut came)?;
    if came == [byte] {
        Ok(())
    } else {
        Err(ErrorKind::InvalidData.into())
    }
}

/// A client at work, and its server.
struct Connections {
    team: Team<io::Result<u64>>,
    stop: Arc<AtomicBool>,
    at: SocketAddr,
    done: u64,
}

impl Connections {
    /// Starts the server, and connects once, with a deadline: connections that are measured have none of their own.
    fn start(ip: IpAddr) -> Result<Self, WorkError> {
        let (listener, at) = listen(ip)?;
        let listener = with_options(listener).map_err(|error| failed(Call::Bind, at, &error))?;
        let stop = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stop);
        let work = move |member: &Member| {
            member.wait();
            serve(&listener, || {
                stops.load(Ordering::Relaxed) || member.stopped()
            })
        };
        let team = Team::start(vec![work])
            .map_err(|error| WorkError::failed("start", "a thread", error))?;
        team.next_part();
        let stream = TcpStream::connect_timeout(&at, PATIENCE)
            .map_err(|error| failed(Call::Connect, at, &error))?;
        stream
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| ask(&stream, 0))
            .map_err(|error| failed(Call::Talk, at, &error))?;
        Ok(Self {
            team,
            stop,
            at,
            done: 1,
        })
    }

    /// A server that has ended says why.
    #[cold]
    fn told(&mut self, (call, error): (Call, io::Error)) -> WorkError {
        let ended = if self.team.anybody_ended() {
            self.team.end().pop()
        } else {
            None
        };
        match ended {
            Some(Err(error)) => failed(Call::Accept, self.at, &error),
            _ => failed(call, self.at, &error),
        }
    }
}

impl Body for Connections {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        let mut laps = recorder.laps();
        for _ in 0..ops {
            let byte = self.done.to_le_bytes()[0];
            if let Err(error) = laps.lap(|| connect(self.at, byte)) {
                return Err(self.told(error));
            }
            self.done += 1;
        }
        Ok(ops)
    }

    fn records_latency(&self) -> bool {
        true
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        self.stop.store(true, Ordering::Relaxed);
        // Where it has seen that by itself, nobody is there any more.
        drop(TcpStream::connect_timeout(&self.at, PATIENCE));
        let served = self.team.end().pop().ok_or_else(|| gone(self.at))?;
        let served = served.map_err(|error| failed(Call::Accept, self.at, &error))?;
        if served != self.done {
            return Err(WorkError::Wrong(format!(
                "`{}` served {served} connections, and {} were made",
                self.at, self.done
            )));
        }
        Ok(Finish::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn started() -> Connections {
        Connections::start(Ipv4Addr::LOCALHOST.into()).unwrap()
    }

    /// Connections to this port that the kernel still knows, in whatever state. Source: proc(5), `/proc/net/tcp`.
    fn known(port: u16) -> usize {
        let table = std::fs::read_to_string("/proc/net/tcp").unwrap();
        let port = format!(":{port:04X}");
        let is_known = |line: &&str| {
            let words = line.split_whitespace().skip(1).take(2);
            words.into_iter().any(|end| end.ends_with(&port))
        };
        table.lines().filter(is_known).count()
    }

    /// What listens at a port of which the kernel knows nothing else: another test's connection may yet keep it.
    fn alone<T>(listens: impl Fn() -> T, port: impl Fn(&T) -> u16) -> T {
        let mut all = std::iter::repeat_with(listens);
        let is_alone = |one: &T| known(port(one)) == 1;
        all.find(is_alone).unwrap()
    }

    #[test]
    fn no_connection_keeps_its_ports_but_one_that_the_server_does_not_reset() {
        let mut body = alone(started, |body| body.at.port());
        body.batch(200, &mut Recorder::off()).unwrap();
        body.finish().unwrap();
        let begin = sys::clock::monotonic();
        // TIME_WAIT takes a minute.
        while known(body.at.port()) > 0 {
            assert!(
                sys::clock::monotonic() - begin < 5_000_000_000,
                "{}",
                body.at
            );
            sys::clock::sleep(10_000_000);
        }
        let listens = || listen(Ipv4Addr::LOCALHOST.into()).unwrap();
        let (listener, at) = alone(listens, |(_, at)| at.port());
        let client = TcpStream::connect(at).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        drop((client, listener));
        assert_eq!(server.read(&mut [0]).unwrap(), 0);
        drop(server);
        assert_eq!(known(at.port()), 1);
    }

    #[test]
    fn who_connects_and_says_nothing_is_not_counted_and_one_that_is_missed_is_found() {
        let mut body = started();
        drop(TcpStream::connect(body.at).unwrap());
        body.batch(10, &mut Recorder::off()).unwrap();
        body.done += 1;
        let error = body.finish().unwrap_err();
        assert!(matches!(error, WorkError::Wrong(_)), "{error}");
        assert!(error.to_string().contains("served 11 "), "{error}");
    }

    #[test]
    fn a_server_that_is_gone_is_told() {
        let mut body = started();
        body.stop.store(true, Ordering::Relaxed);
        let error = loop {
            // It looks within a while.
            if let Err(error) = body.batch(1, &mut Recorder::off()) {
                break error;
            }
            sys::clock::sleep(2 * u64::try_from(LOOK.as_nanos()).unwrap());
        };
        assert!(
            error.to_string().contains("connect to `127.0.0.1:"),
            "{error}"
        );
    }
}
