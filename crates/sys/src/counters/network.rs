//! What the kernel counts of the network of this process' namespace: everybody's there, since it was made.
//!
//! Source: the kernel's `networking/snmp_counter.rst`, and `net/core/net-procfs.c` for the columns of `softnet_stat`,
//! which has a line of hexadecimal numbers for each CPU.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Counters that are read, by the names that they have here.
pub const COUNTERS: [&str; 12] = [
    "softnet_dropped",
    "softnet_squeezed",
    "tcp_in_segments",
    "tcp_out_segments",
    "tcp_retransmitted_segments",
    "udp_in_errors",
    "udp_receive_buffer_errors",
    "udp_send_buffer_errors",
    "udp_checksum_errors",
    "tcp_timeouts",
    "tcp_listen_drops",
    "tcp_pruned",
];

/// Those of each file: its row there, and its column.
const FILES: [(&str, &[(&str, &str)]); 3] = [
    ("softnet_stat", &[("", "1"), ("", "2")]),
    (
        "snmp",
        &[
            ("Tcp", "InSegs"),
            ("Tcp", "OutSegs"),
            ("Tcp", "RetransSegs"),
            ("Udp", "InErrors"),
            ("Udp", "RcvbufErrors"),
            ("Udp", "SndbufErrors"),
            ("Udp", "InCsumErrors"),
        ],
    ),
    (
        "netstat",
        &[
            ("TcpExt", "TCPTimeouts"),
            ("TcpExt", "ListenDrops"),
            ("TcpExt", "RcvPruned"),
        ],
    ),
];

/// What IPv6 adds to these places, a name and a value in a line: the others count both.
const UDP6: [(usize, &str); 4] = [
    (5, "Udp6InErrors"),
    (6, "Udp6RcvbufErrors"),
    (7, "Udp6SndbufErrors"),
    (8, "Udp6InCsumErrors"),
];

/// A value for each of [`COUNTERS`]; `None` where this kernel, or this container, does not tell.
pub type Counts = [Option<u64>; COUNTERS.len()];

/// The longest file: that of some hundred CPUs.
const ROOM: usize = 128 << 10;

/// The files, open: reading them takes no memory.
#[derive(Debug)]
pub struct Network {
    files: [Option<File>; FILES.len()],
    udp6: Option<File>,
    room: Vec<u8>,
}

impl Network {
    /// Of the namespace that this process is in.
    pub fn open() -> Self {
        Self::at(Path::new("/proc/net"))
    }

    fn at(directory: &Path) -> Self {
        Self {
            files: FILES.map(|(name, _)| File::open(directory.join(name)).ok()),
            udp6: File::open(directory.join("snmp6")).ok(),
            room: vec![0; ROOM],
        }
    }

    /// All of them; some tens of microseconds.
    pub fn read(&mut self) -> Counts {
        let mut counts = [None; COUNTERS.len()];
        let mut to = counts.iter_mut();
        for (file, (_, columns)) in self.files.iter().zip(FILES) {
            let text = file.as_ref().and_then(|file| text(file, &mut self.room));
            for ((row, column), count) in columns.iter().zip(&mut to) {
                *count = text.and_then(|text| match *row {
                    "" => of_every_cpu(text, column.parse().ok()?),
                    row => of_row(text, row, column),
                });
            }
        }
        let text = self
            .udp6
            .as_ref()
            .and_then(|file| text(file, &mut self.room));
        for (place, name) in UDP6 {
            let more = text.and_then(|text| of_line(text, name));
            if let Some((count, more)) = counts[place].as_mut().zip(more) {
                *count = count.saturating_add(more);
            }
        }
        counts
    }
}

/// All of a file that the kernel makes up a page at a time.
fn text<'a>(file: &File, room: &'a mut [u8]) -> Option<&'a str> {
    let mut have = 0;
    while have < room.len() {
        match file.read_at(&mut room[have..], have as u64).ok()? {
            0 => break,
            got => have += got,
        }
    }
    str::from_utf8(&room[..have]).ok()
}

/// A row of names, and behind it one of numbers.
fn of_row(text: &str, row: &str, column: &str) -> Option<u64> {
    let rows = text.lines().filter_map(|line| line.split_once(':'));
    let mut own = rows.filter(|(name, _)| *name == row);
    let ((_, names), (_, numbers)) = (own.next()?, own.next()?);
    let place = names.split_whitespace().position(|name| name == column)?;
    numbers.split_whitespace().nth(place)?.parse().ok()
}

/// What stands behind this name.
fn of_line(text: &str, name: &str) -> Option<u64> {
    let mut lines = text
        .lines()
        .filter_map(|line| line.split_once(char::is_whitespace));
    let (_, value) = lines.find(|(own, _)| *own == name)?;
    value.trim().parse().ok()
}

/// The sum of a column over the CPUs.
fn of_every_cpu(text: &str, column: usize) -> Option<u64> {
    let of_cpu = |line: &str| {
        let number = line.split_whitespace().nth(column)?;
        u64::from_str_radix(number, 16).ok()
    };
    let mut cpus = text.lines().map(of_cpu);
    let first = cpus.next()?;
    cpus.fold(first, |sum, one| sum?.checked_add(one?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of Linux 6.18, shortened in the middle; with a column that nobody knows.
    const SNMP: &str = "\
Ip: Forwarding DefaultTTL InReceives\n\
Ip: 2 64 215065927\n\
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors\n\
Tcp: 1 200 120000 -1 797000 0 186393531 186371242 31768 0 732666 0\n\
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors Novelty InCsumErrors IgnoredMulti MemErrors\n\
Udp: 28033749 1984 1054746 29111615 1054745 3 99 1 0 0\n\
UdpLite: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors\n\
UdpLite: 0 0 7 0 7 7 7 0 0\n";
    const NETSTAT: &str = "\
TcpExt: SyncookiesSent PruneCalled RcvPruned ListenOverflows ListenDrops TCPTimeouts\n\
TcpExt: 0 12 0 4 5 509\n\
IpExt: InNoRoutes InTruncatedPkts\n\
IpExt: 0 0\n";
    /// Two CPUs, and as older kernels have it.
    const SOFTNET: &str = "\
0765a32e 00000002 0000000a 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n\
0859d26f 00000001 0000000c 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000\n";

    const SNMP6: &str =
        "Udp6InDatagrams                 \t7\nUdp6InErrors\t2\nUdp6RcvbufErrors \t1\n";

    fn read(files: &[(&str, &str)]) -> Counts {
        let place = std::env::temp_dir().join(format!(
            "network-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::create_dir_all(&place).unwrap();
        for (name, text) in files {
            std::fs::write(place.join(name), text).unwrap();
        }
        let counts = Network::at(&place).read();
        std::fs::remove_dir_all(&place).unwrap();
        counts
    }

    #[test]
    fn each_counter_is_found_by_its_name_whatever_stands_beside_it() {
        let counts = read(&[
            ("snmp", SNMP),
            ("snmp6", SNMP6),
            ("netstat", NETSTAT),
            ("softnet_stat", SOFTNET),
        ]);
        let expected = [
            3,
            22,
            186_393_531,
            186_371_242,
            31_768,
            1_054_748,
            1_054_746,
            3,
            1,
            509,
            5,
            0,
        ];
        assert_eq!(counts, expected.map(Some));
    }

    #[test]
    fn what_is_not_there_or_not_understood_is_none_and_not_0() {
        assert_eq!(read(&[]), [None; COUNTERS.len()]);
        let cut = SNMP.replace("31768 ", "many ").replace("Udp: 2", "Odd: 2");
        let counts = read(&[("snmp", &cut), ("softnet_stat", "1 2\n"), ("netstat", "")]);
        let known: Vec<bool> = counts.iter().map(Option::is_some).collect();
        let mut expected = [false; COUNTERS.len()];
        // One of the columns, and two of the rows' numbers.
        for place in [0, 2, 3] {
            expected[place] = true;
        }
        assert_eq!(known, expected);
    }

    #[test]
    fn this_machine_s_are_read_twice_and_never_run_backwards() {
        let mut network = Network::open();
        let (first, second) = (network.read(), network.read());
        for (first, second) in first.iter().zip(second) {
            assert_eq!(first.is_some(), second.is_some());
            assert!(*first <= second);
        }
        assert!(first[2].is_some(), "Linux has /proc/net/snmp");
    }
}
