//! TLS over a socket: records are read into one buffer, and what is written is encrypted in another one.
//!
//! rustls gives records to whoever holds the buffers, so that an answer of 13 KB is one read here and not four. It
//! takes memory for each record in either direction, which a round over TLS says (`OnStandIn::allocates`). Whether the
//! server is the right one is in [`super::trust`].

use super::line::READ_BYTES;
use super::trouble::Trouble;
use super::trust::{self, TlsTrouble};
use crate::db::address::{Address, Host};
use crate::db::encryption::{Check, Encryption};
use crate::db::server::facts::fact;
use model::named::ServerFact;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::unbuffered::{ConnectionState, EncodeError, EncryptError, UnbufferedStatus};
use std::fmt;
use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::time::Duration;
use sys::clock::monotonic;

/// Certificates of a server may have 64 KiB together, in several records.
const COMING_MAX: usize = 128 << 10;

/// An encrypted connection.
pub(super) struct Tls {
    pub(super) socket: TcpStream,
    session: UnbufferedClientConnection,
    /// What was read and not decrypted, from `begin` to `end`.
    coming: Vec<u8>,
    begin: usize,
    end: usize,
    /// What is encrypted.
    going: Vec<u8>,
    /// What was decrypted and not fetched, from `taken` on.
    plain: Vec<u8>,
    taken: usize,
    is_broken: bool,
    /// Version, cipher, and in words what is known of the server.
    version: String,
    cipher: String,
    known: String,
}

/// What a connection waits for.
enum State {
    /// So many bytes were fetched.
    Fetched(usize),
    /// Bytes of the server's, before anything of ours may be sent.
    Blocked,
    /// Nothing is there, or what was to be sent is.
    Open,
    /// The server has taken leave.
    Ended,
}

/// What went wrong below.
enum Fault {
    Io(io::Error),
    Tls(rustls::Error),
}

impl From<io::Error> for Fault {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::Io(error) => Self::from_io(error),
            Fault::Tls(error) => Self::Io(io::Error::other(format!("TLS: {error}"))),
        }
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tls({:?}, {})", self.socket, self.cipher)
    }
}

/// Shakes hands over a socket that is connected, within this time, however the server drips.
pub(super) fn open(
    socket: TcpStream,
    (to, asked): (&Address, &Encryption),
    within: Duration,
) -> Result<Tls, Trouble> {
    let Host::Name(host) = &to.host else {
        return Err(TlsTrouble::Absent(to.engine).into());
    };
    let (config, authorities) = trust::config(to.engine, asked)?;
    let refused = |error, first: &[u8]| Trouble::from(trust::told(to, &authorities, error, first));
    let name = ServerName::try_from(host.clone());
    let name = name.map_err(|_| rustls::Error::UnsupportedNameType);
    let session = name.and_then(|name| UnbufferedClientConnection::new(config, name));
    let mut tls = Tls {
        socket,
        session: session.map_err(|error| refused(error, &[]))?,
        coming: vec![0; READ_BYTES],
        begin: 0,
        end: 0,
        going: vec![0; 4096],
        plain: Vec::new(),
        taken: 0,
        is_broken: false,
        version: String::new(),
        cipher: String::new(),
        known: known(asked.check, &authorities),
    };
    tls.shake_hands(within).map_err(|fault| match fault {
        Fault::Tls(error) => refused(error, &tls.coming[..tls.end]),
        Fault::Io(error) => match Trouble::from_io(error) {
            Trouble::Silent => TlsTrouble::Slow(to.engine).into(),
            Trouble::Ended => TlsTrouble::Ended(to.engine).into(),
            other => other,
        },
    })?;
    Ok(tls)
}

/// What is known of the server once hands are shaken. The host stands in the address, which is made unknown where a run
/// is published.
fn known(check: Check, authorities: &str) -> String {
    let what = match check {
        Check::Nothing => {
            return "the server's certificate was not verified: somebody between could have answered in its place"
                .to_owned();
        }
        Check::Authority => "the host that it names was not looked at",
        Check::Name => "names the host of the address",
    };
    format!("the server's certificate is of an authority in `{authorities}`, and {what}")
}

impl Tls {
    fn shake_hands(&mut self, within: Duration) -> Result<(), Fault> {
        let deadline = monotonic() + u64::try_from(within.as_nanos()).unwrap_or(u64::MAX);
        loop {
            match self.advance(&mut [], None)? {
                State::Open => break,
                State::Fetched(_) => {}
                State::Ended => return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into()),
                State::Blocked => {
                    let left = deadline.saturating_sub(monotonic());
                    if left == 0 {
                        return Err(io::Error::from(io::ErrorKind::TimedOut).into());
                    }
                    let left = Duration::from_nanos(left).max(Duration::from_millis(1));
                    self.socket.set_read_timeout(Some(left))?;
                    if self.more()? == 0 {
                        return Err(io::Error::from(io::ErrorKind::UnexpectedEof).into());
                    }
                }
            }
        }
        // As standards write them: these are `TLSv1_3` and `TLS13_AES_256_GCM_SHA384` here.
        let version = self.session.protocol_version();
        self.version = version.map_or_else(String::new, |version| {
            format!("{version:?}").replace('_', ".")
        });
        let suite = self.session.negotiated_cipher_suite();
        self.cipher = suite.map_or_else(String::new, |suite| {
            format!("{:?}", suite.suite()).replace("TLS13_", "TLS_")
        });
        Ok(())
    }

    /// After an error nothing is right any more: tells the server what was wrong, where there is anything to tell.
    fn broken(&mut self, error: rustls::Error) -> Fault {
        self.is_broken = true;
        if self.session.wants_write() {
            let coming = &mut self.coming[self.begin..self.end];
            let state = self.session.process_tls_records(coming).state;
            if let Ok(ConnectionState::EncodeTlsData(mut alert)) = state
                && let Ok(length) = alert.encode(&mut self.going)
            {
                // Who is not there any more needs no words.
                let _ = self.socket.write_all(&self.going[..length]);
            }
        }
        Fault::Tls(error)
    }

    /// Fetches what is decrypted, after one read of the socket at most; 0 where the server has ended the connection,
    /// and `None` where what came is no whole record yet.
    pub(super) fn read(&mut self, room: &mut [u8]) -> Result<Option<usize>, Trouble> {
        let mut has_read = false;
        loop {
            if self.holds_more() {
                let rest = &self.plain[self.taken..];
                let fetched = rest.len().min(room.len());
                room[..fetched].copy_from_slice(&rest[..fetched]);
                self.taken += fetched;
                return Ok(Some(fetched));
            }
            self.plain.clear();
            self.taken = 0;
            match self.advance(room, None)? {
                State::Fetched(mut fetched) => {
                    // All records that are here as a whole: of none of them does the socket say anything any more.
                    while let State::Fetched(more) = self.advance(&mut room[fetched..], None)? {
                        fetched += more;
                    }
                    if fetched > 0 {
                        return Ok(Some(fetched));
                    }
                }
                State::Ended => return Ok(Some(0)),
                State::Blocked | State::Open if has_read => return Ok(None),
                State::Blocked | State::Open => {
                    if self.more()? == 0 {
                        return Ok(Some(0));
                    }
                    has_read = true;
                }
            }
        }
    }

    /// Encrypts and writes.
    pub(super) fn write(&mut self, out: &[u8]) -> Result<(), Trouble> {
        loop {
            match self.advance(&mut [], Some(out))? {
                State::Open => return Ok(()),
                State::Fetched(_) => {}
                // Hands are shaken: nothing of the server's is waited for.
                State::Blocked | State::Ended => return Err(Trouble::Ended),
            }
        }
    }

    /// Whether more was decrypted than was fetched.
    pub(super) const fn holds_more(&self) -> bool {
        self.taken < self.plain.len()
    }

    /// Reads what the server sent next.
    fn more(&mut self) -> Result<usize, Fault> {
        if self.begin == self.end {
            (self.begin, self.end) = (0, 0);
        } else if self.end == self.coming.len() {
            self.coming.copy_within(self.begin..self.end, 0);
            (self.begin, self.end) = (0, self.end - self.begin);
        }
        if self.end == self.coming.len() {
            if self.end >= COMING_MAX {
                return Err(Fault::Tls(rustls::Error::PeerSentOversizedRecord));
            }
            self.coming.resize(2 * self.end, 0);
        }
        loop {
            match self.socket.read(&mut self.coming[self.end..]) {
                Ok(read) => {
                    self.end += read;
                    return Ok(read);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Does what there is to do, up to the next record of the server's. Fetches its text into `room`, and behind
    /// [`Self::plain`] what does not fit; sends `out` as soon as it may be sent.
    fn advance(&mut self, room: &mut [u8], out: Option<&[u8]>) -> Result<State, Fault> {
        if self.is_broken {
            return Ok(State::Ended);
        }
        let mut encoded = 0;
        loop {
            let coming = &mut self.coming[self.begin..self.end];
            let UnbufferedStatus { mut discard, state } = self.session.process_tls_records(coming);
            let (mut reached, mut wrong) = (None, None);
            match state {
                Err(error) => {
                    self.begin += discard;
                    return Err(self.broken(error));
                }
                Ok(ConnectionState::ReadTraffic(mut traffic)) => {
                    let mut fetched = 0;
                    while let Some(record) = traffic.next_record() {
                        let record = match record {
                            Ok(record) => record,
                            Err(error) => {
                                wrong = Some(error);
                                break;
                            }
                        };
                        discard += record.discard;
                        let text = record.payload;
                        match room.get_mut(fetched..fetched + text.len()) {
                            Some(place) if self.plain.is_empty() => {
                                place.copy_from_slice(text);
                                fetched += text.len();
                            }
                            _ => self.plain.extend_from_slice(text),
                        }
                    }
                    reached = Some(State::Fetched(fetched));
                }
                Ok(ConnectionState::EncodeTlsData(mut data)) => loop {
                    match data.encode(&mut self.going[encoded..]) {
                        Ok(length) => {
                            encoded += length;
                            break;
                        }
                        Err(EncodeError::InsufficientSize(size)) => {
                            self.going.resize(encoded + size.required_size, 0);
                        }
                        Err(EncodeError::AlreadyEncoded) => break,
                    }
                },
                Ok(ConnectionState::TransmitTlsData(data)) => {
                    self.socket.write_all(&self.going[..encoded])?;
                    encoded = 0;
                    data.done();
                }
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let out = out.unwrap_or_default();
                    let length = loop {
                        match traffic.encrypt(out, &mut self.going) {
                            Ok(length) => break length,
                            Err(EncryptError::InsufficientSize(size)) => {
                                self.going.resize(size.required_size, 0);
                            }
                            Err(EncryptError::EncryptExhausted) => {
                                return Err(Fault::Tls(rustls::Error::EncryptError));
                            }
                        }
                    };
                    if length > 0 {
                        self.socket.write_all(&self.going[..length])?;
                    }
                    reached = Some(State::Open);
                }
                Ok(ConnectionState::BlockedHandshake) => reached = Some(State::Blocked),
                Ok(ConnectionState::PeerClosed | ConnectionState::Closed) => {
                    reached = Some(State::Ended);
                }
                // Early data is a server's, and there are no further states.
                Ok(_) => return Err(Fault::Tls(rustls::Error::HandshakeNotComplete)),
            }
            self.begin += discard;
            if let Some(error) = wrong {
                return Err(self.broken(error));
            }
            if let Some(reached) = reached {
                return Ok(reached);
            }
        }
    }

    /// What decides a figure.
    pub(super) fn facts(&self) -> [ServerFact; 2] {
        [
            fact(super::line::TLS, &self.version, ""),
            fact("tls_cipher", &self.cipher, ""),
        ]
    }

    /// What is said with the figures.
    pub(super) fn note(&self) -> String {
        format!(
            "the connections are encrypted ({}, {}), and what that costs the client is in its CPU time; {}",
            self.version, self.cipher, self.known
        )
    }
}
