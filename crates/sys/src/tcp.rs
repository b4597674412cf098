//! What the kernel knows of a TCP connection (`TCP_INFO`).
//!
//! Its structure has grown with the kernel, always at the end: how much of it there is says the length that comes back,
//! and what a kernel does not know is `None` here.

use crate::socket::get;
use std::io;
use std::os::fd::BorrowedFd;

/// Of the structure as far as 6.18 has it; what comes behind is not asked for.
const INFO_BYTES: usize = 256;

/// What every kernel since 2.6.24 gives.
const INFO_BYTES_MIN: usize = 104;

/// The longest name of a congestion control, with its NUL: `TCP_CA_NAME_MAX` of linux/tcp.h.
pub(crate) const NAME_BYTES: usize = 16;

/// A connection at one moment. Source: `struct tcp_info` of linux/tcp.h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Info {
    /// Bytes of TCP's header in a segment with data.
    pub header: u32,
    /// The smoothed round-trip time, in microseconds.
    pub rtt_us: u32,
    /// How much it varies.
    pub rttvar_us: u32,
    /// Bytes that the other end's kernel has acknowledged, since the connection began; since 4.1.
    pub bytes_acked: Option<u64>,
    /// The shortest of the last minutes (`tcp_min_rtt_wlen`); since 4.6.
    pub min_rtt_us: Option<u32>,
    /// Segments that were sent again, since the connection began.
    pub total_retrans: u32,
    /// Bytes of data in a full segment: the other end may take no longer ones.
    pub snd_mss: u32,
    /// The congestion window, in segments.
    pub snd_cwnd: u32,
    /// Bytes of the largest packet that the way there takes, as far as it is known: of the interface, or what a machine
    /// on the way has said.
    pub pmtu: u32,
    /// The window that the other end offers, in bytes; since 5.4.
    pub snd_wnd: Option<u32>,
    /// Time with something to send or to be acknowledged, in microseconds; since 4.10.
    pub busy_us: Option<u64>,
    /// The part of it in which the receiver's window was full.
    pub rwnd_limited_us: Option<u64>,
    /// The part of it in which our own buffer was too small.
    pub sndbuf_limited_us: Option<u64>,
}

/// Asks for a connection.
pub fn info(socket: BorrowedFd<'_>) -> io::Result<Info> {
    let mut bytes = [0; INFO_BYTES];
    let length = get(socket, (libc::IPPROTO_TCP, libc::TCP_INFO), &mut bytes)?;
    Info::of(&bytes[..length]).ok_or_else(|| io::ErrorKind::Unsupported.into())
}

/// The name of the congestion control: `cubic`, `bbr`.
pub fn congestion(socket: BorrowedFd<'_>) -> io::Result<String> {
    let mut bytes = [0; NAME_BYTES];
    let length = get(
        socket,
        (libc::IPPROTO_TCP, libc::TCP_CONGESTION),
        &mut bytes,
    )?;
    let name = bytes[..length].split(|byte| *byte == 0).next();
    Ok(String::from_utf8_lossy(name.unwrap_or_default()).into_owned())
}

/// Bytes of a segment: what is sent, or before the connection is made what was asked for.
pub fn mss(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut bytes = [0; size_of::<u32>()];
    get(socket, (libc::IPPROTO_TCP, libc::TCP_MAXSEG), &mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}

impl Info {
    /// Bytes that may be on their way.
    pub fn window_bytes(&self) -> u64 {
        u64::from(self.snd_cwnd) * u64::from(self.snd_mss)
    }

    /// As the kernel wrote it; `None` for fewer bytes than any kernel writes.
    fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.len() < INFO_BYTES_MIN {
            return None;
        }
        let half = |at: usize| Some(u32::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        let whole = |at: usize| Some(u64::from_ne_bytes(*bytes.get(at..)?.first_chunk()?));
        Some(Self {
            header: header(bytes[5]),
            rtt_us: half(68)?,
            rttvar_us: half(72)?,
            total_retrans: half(100)?,
            bytes_acked: whole(120),
            snd_mss: half(16)?,
            snd_cwnd: half(80)?,
            pmtu: half(60)?,
            snd_wnd: half(228),
            // All bits are set where none has been seen.
            min_rtt_us: half(148).filter(|&rtt| rtt != u32::MAX),
            busy_us: whole(168),
            rwnd_limited_us: whole(176),
            sndbuf_limited_us: whole(184),
        })
    }
}

/// Bytes of TCP's header in a segment with data. Source: RFC 9293, RFC 7323 (time stamps, filled up to 12 bytes),
/// linux/tcp.h (`TCPI_OPT_TIMESTAMPS`).
const fn header(options: u8) -> u32 {
    const TIMESTAMPS: u8 = 1;
    if options & TIMESTAMPS == 0 { 20 } else { 32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn a_connection_over_loopback_is_known() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let mut ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        ours.write_all(&[7; 1000]).unwrap();
        theirs.read_exact(&mut [0; 1000]).unwrap();
        theirs.write_all(&[7]).unwrap();
        ours.read_exact(&mut [0]).unwrap();
        let info = info(ours.as_fd()).unwrap();
        assert!(info.rtt_us > 0);
        assert!(
            info.min_rtt_us
                .is_none_or(|rtt| rtt <= info.rtt_us + 4 * info.rttvar_us)
        );
        assert_eq!(info.total_retrans, 0);
        // With what opened the connection, which some kernels count.
        assert!(
            info.bytes_acked
                .is_none_or(|acked| (1000..=1001).contains(&acked))
        );
        assert!(info.pmtu > info.snd_mss && info.window_bytes() >= u64::from(info.snd_mss));
        assert_eq!(info.snd_mss, mss(ours.as_fd()).unwrap());
        assert!(!congestion(ours.as_fd()).unwrap().is_empty());
        let file = std::fs::File::open("/").unwrap();
        assert!(super::info(file.as_fd()).is_err());
    }

    #[test]
    fn an_older_kernel_knows_less() {
        let mut bytes = [0; INFO_BYTES];
        bytes[5] = 0b11;
        bytes[16..20].copy_from_slice(&1448_u32.to_ne_bytes());
        bytes[60..64].copy_from_slice(&1500_u32.to_ne_bytes());
        bytes[68..72].copy_from_slice(&250_u32.to_ne_bytes());
        bytes[100..104].copy_from_slice(&3_u32.to_ne_bytes());
        bytes[120..128].copy_from_slice(&70_u64.to_ne_bytes());
        bytes[148..152].copy_from_slice(&100_u32.to_ne_bytes());
        bytes[168..176].copy_from_slice(&50_u64.to_ne_bytes());
        bytes[176..184].copy_from_slice(&20_u64.to_ne_bytes());
        bytes[184..192].copy_from_slice(&10_u64.to_ne_bytes());
        let all = Info::of(&bytes).unwrap();
        assert_eq!((all.pmtu, all.snd_mss, all.header), (1500, 1448, 32));
        assert_eq!((all.rtt_us, all.total_retrans), (250, 3));
        assert_eq!(all.bytes_acked, Some(70));
        assert_eq!((all.busy_us, all.rwnd_limited_us), (Some(50), Some(20)));
        assert_eq!(
            (all.sndbuf_limited_us, all.min_rtt_us),
            (Some(10), Some(100))
        );
        // 4.6 to 4.9, 2.6.24.
        bytes[228..232].copy_from_slice(&70_000_u32.to_ne_bytes());
        assert_eq!(
            (all.snd_wnd, Info::of(&bytes).unwrap().snd_wnd),
            (Some(0), Some(70_000))
        );
        let older = Info::of(&bytes[..168]).unwrap();
        assert_eq!(older.snd_wnd, None);
        assert_eq!((older.busy_us, older.min_rtt_us), (None, Some(100)));
        let oldest = Info::of(&bytes[..104]).unwrap();
        assert_eq!((oldest.min_rtt_us, oldest.total_retrans), (None, 3));
        assert_eq!(oldest.bytes_acked, None);
        assert_eq!(Info::of(&bytes[..103]), None);
        bytes[148..152].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(Info::of(&bytes).unwrap().min_rtt_us, None);
    }
}
