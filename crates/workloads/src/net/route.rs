//! The way to the peer, as this end knows it: the interface, the largest packet, and what a cloud held back there.

use super::peer::Peer;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::time::Duration;
use sys::link::{Link, counters, of_address};
use sys::names::addresses;

/// How the driver of AWS' machines (`ena`) calls its counters of packets that were queued or dropped because the
/// instance had used up what it is allowed. Source: AWS, "Monitor network performance for ENA settings".
const HELD_BACK: &str = "_allowance_exceeded";

/// Of the clouds' own drivers, what they stand for.
const CLOUDS: [(&str, &str); 3] = [
    ("ena", "AWS' Elastic Network Adapter"),
    ("gve", "Google's Virtual NIC"),
    ("mana", "Microsoft Azure's Network Adapter"),
];

/// How long a name may be asked for.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);

/// Bits per second of the link by which packets leave for a peer, where its driver tells them. The peer hears nothing.
pub fn link_bits_per_s(peer: &str) -> Option<u64> {
    let peer: Peer = peer.parse().ok()?;
    let places = addresses(peer.host(), peer.port(), KNOWN_WITHIN).ok()?;
    let place = places.first()?;
    let any: IpAddr = if place.is_ipv4() {
        Ipv4Addr::UNSPECIFIED.into()
    } else {
        Ipv6Addr::UNSPECIFIED.into()
    };
    let socket = UdpSocket::bind((any, 0)).ok()?;
    socket.connect(place).ok()?;
    let link = of_address(socket.local_addr().ok()?.ip()).ok()??;
    sys::link::bits_per_s(&link.name)
}

/// What was known when a round began.
#[derive(Debug)]
pub(super) struct Route {
    link: Option<Link>,
    held_back: Vec<(String, u64)>,
}

impl Route {
    /// Of a connection to the peer.
    pub(super) fn of(stream: &TcpStream) -> Self {
        let address = stream.local_addr().ok();
        let link = address.and_then(|address| of_address(address.ip()).ok().flatten());
        let held_back = link.as_ref().map(held_back).unwrap_or_default();
        Self { link, held_back }
    }

    /// What is to be said of it when the round is over, in the same words in every round.
    pub(super) fn notes(&self, stream: &TcpStream) -> Vec<String> {
        let Some(link) = &self.link else {
            return Vec::new();
        };
        let driver = link.driver.as_deref().map(|driver| {
            let cloud = CLOUDS.iter().find(|(name, _)| *name == driver);
            cloud.map_or_else(
                || format!(" (driver `{driver}`)"),
                |(_, cloud)| format!(" (driver `{driver}`: {cloud})"),
            )
        });
        let mtu = path_mtu(stream).map(|mtu| format!(", path MTU {mtu} bytes"));
        let mut notes = vec![format!(
            "the way to the peer: interface `{}`{}{}",
            link.name,
            driver.unwrap_or_default(),
            mtu.unwrap_or_default()
        )];
        let now = held_back(link);
        let grew = now.iter().filter(|(name, count)| {
            let before = self.held_back.iter().find(|(own, _)| own == name);
            before.is_some_and(|(_, before)| before < count)
        });
        notes.extend(grew.map(|(name, _)| {
            format!(
                "the cloud held packets back: `{name}` of `{}` grew (`ethtool -S {}`)",
                link.name, link.name
            )
        }));
        notes
    }
}

/// The largest packet: what the way takes, or the longest segment that the peer asks for, with the header of IP.
fn path_mtu(stream: &TcpStream) -> Option<u32> {
    let info = sys::tcp::info(stream.as_fd()).ok()?;
    let header = if stream.peer_addr().ok()?.is_ipv4() {
        20
    } else {
        40
    };
    Some(info.pmtu.min(info.snd_mss + info.header + header))
}

fn held_back(link: &Link) -> Vec<(String, u64)> {
    counters(&link.name, HELD_BACK).unwrap_or_default()
}
