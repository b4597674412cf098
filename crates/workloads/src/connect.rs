//! A connection of TCP to whoever has a name: the addresses of the host are tried one after the other.

use std::io;
use std::net::{SocketAddr, TcpStream};
use sys::names::{NamesError, addresses};
use sys::until::Until;

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum NotConnected {
    /// The host has no address, as far as anybody says.
    Name(NamesError),
    /// No time is left.
    Late,
    /// The last address that was tried refused, or did not answer.
    Refused(io::Error),
}

/// Connects. An address that does not answer leaves their share of the time to those behind it.
pub(crate) fn connect(host: &str, port: u16, until: Until) -> Result<TcpStream, NotConnected> {
    connect_where(host, port, until, |_| true)
}

/// The same to those of its addresses that are `wanted`.
pub(crate) fn connect_where(
    host: &str,
    port: u16,
    until: Until,
    wanted: impl Fn(&SocketAddr) -> bool,
) -> Result<TcpStream, NotConnected> {
    let left = || until.left().ok_or(NotConnected::Late);
    let places = addresses(host, port, left()?).map_err(NotConnected::Name)?;
    let places: Vec<SocketAddr> = places.into_iter().filter(wanted).collect();
    let mut last = NotConnected::Refused(io::ErrorKind::NotFound.into());
    for (place, others) in places.iter().zip((1..=places.len()).rev()) {
        let share = left()? / u32::try_from(others).unwrap_or(u32::MAX);
        match TcpStream::connect_timeout(place, share) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = NotConnected::Refused(error),
        }
    }
    Err(last)
}
