//! What each fact about a machine is called and how it is told: one row each, from which the page of a machine and the
//! differences between two set-ups derive. Documents for programs hold [`HostFacts`] as they are.
//!
//! The names stand here in every language, because a second list of facts would be one to forget; sentences are in
//! `report`.

use crate::host::{BlockDevice, Cache, Fact, HostFacts};
use crate::units::{Bytes, Nanos};
use std::collections::BTreeMap;

/// What facts are about: a heading on the page of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Section {
    /// Which machine it is, and whose.
    Platform,
    /// Processors.
    Cpu,
    /// What of the machine may be used.
    Limits,
    /// Memory.
    Memory,
    /// Kernel and distribution.
    Kernel,
    /// Clock.
    Clock,
    /// What is behind the work directory.
    Storage,
    /// Kinds of I/O.
    Io,
}

impl Section {
    /// Every section, in the order of the page.
    pub const ALL: [Self; 8] = [
        Self::Platform,
        Self::Cpu,
        Self::Limits,
        Self::Memory,
        Self::Kernel,
        Self::Clock,
        Self::Storage,
        Self::Io,
    ];

    /// Its heading in English and in Japanese.
    pub const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Platform => ("platform", "プラットフォーム"),
            Self::Cpu => ("CPU", "CPU"),
            Self::Limits => ("limits", "制限"),
            Self::Memory => ("memory", "メモリ"),
            Self::Kernel => ("kernel", "カーネル"),
            Self::Clock => ("clock", "クロックソース"),
            Self::Storage => ("storage", "ストレージ"),
            Self::Io => ("I/O", "I/O"),
        }
    }

    /// Its facts, in the order of the page.
    pub fn rows(self) -> impl Iterator<Item = &'static Row> {
        ROWS.iter().filter(move |row| row.section == self)
    }
}

/// A fact that is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Known<'a> {
    /// A text.
    Text(&'a str),
    /// How many.
    Count(u32),
    /// An amount that kernels state a little differently at every boot.
    Amount(Bytes),
    /// A time.
    Span(Nanos),
    /// A stated clock rate in MHz.
    Megahertz(f64),
    /// Yes or no.
    YesNo(bool),
    /// A quota of so many CPUs, or none.
    Quota(Option<f64>),
    /// A limit, or none.
    Limit(Option<Bytes>),
    /// A kind of something that need not be there; of kinds of I/O, why one is refused.
    Optional(Option<&'a str>),
    /// Caches of CPU 0.
    Caches(&'a [Cache]),
    /// What the CPU can do.
    Flags(&'a [String]),
    /// Texts by name.
    Table(&'a BTreeMap<String, String>),
    /// Block devices, from the file system down to the disk.
    Devices(&'a [BlockDevice]),
}

/// How a fact is told in few words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Brief {
    /// It says itself what it is.
    Alone,
    /// Behind its name.
    Named,
}

/// One fact.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// Where it stands.
    pub section: Section,
    /// Its name in English and in Japanese.
    pub names: (&'static str, &'static str),
    /// What a difference between two machines is called; `None` for facts that are no set-up.
    pub differs: Option<&'static str>,
    /// How it stands among the few that are told of every run; `None` for the others.
    pub brief: Option<Brief>,
    /// The fact itself.
    pub of: for<'a> fn(&'a HostFacts) -> Fact<Known<'a>>,
}

/// `Section { field: names, what a difference is called => how it stands among few; field: names ... }`
macro_rules! rows {
    ($($section:ident {
        $($($field:ident).+: $en:literal, $ja:literal $(, differs $differs:literal)? $(=> $brief:ident)?;)+
    })+) => {
        &[$($(Row {
            section: Section::$section,
            names: ($en, $ja),
            differs: rows!(@ $($differs)?),
            brief: rows!(@ brief $($brief)?),
            of: |host| host.$($field).+.told(),
        },)+)+]
    };
    (@ brief) => { None };
    (@ brief $brief:ident) => { Some(Brief::$brief) };
    (@) => { None };
    (@ $differs:literal) => { Some($differs) };
}

/// Every fact, in the order of the page.
pub const ROWS: &[Row] = rows! {
    Platform {
        hostname: "name", "ホスト名" => Alone;
        identity.machine: "hashed machine id", "マシン ID のハッシュ";
        identity.boot: "hashed boot id", "ブート ID のハッシュ";
        platform.virtualization: "virtualization", "仮想化", differs "virtualization" => Alone;
        platform.vendor: "vendor", "ベンダー", differs "vendor" => Alone;
        platform.product: "product", "製品", differs "product" => Alone;
        locale: "locale", "ロケール", differs "locale";
    }
    Cpu {
        cpu.model: "CPU", "CPU", differs "CPU model" => Alone;
        cpu.arch: "architecture", "アーキテクチャ", differs "CPU architecture";
        cpu.online: "CPUs online", "有効な CPU 数", differs "CPUs online" => Named;
        cpu.offline: "CPUs offline", "無効な CPU 数", differs "CPUs offline";
        cpu.sockets: "sockets", "ソケット数", differs "CPU sockets" => Named;
        cpu.cores: "cores", "コア数", differs "CPU cores" => Named;
        cpu.threads_per_core: "threads per core", "コアあたりのスレッド数", differs "threads per core" => Named;
        cpu.mhz: "nominal clock rate", "公称クロック", differs "CPU clock rate stated";
        cpu.governor: "frequency governor", "周波数ガバナー", differs "CPU governor";
        cpu.frequency_driver: "frequency driver", "周波数ドライバー", differs "CPU frequency driver";
        cpu.caches: "caches", "キャッシュ", differs "CPU caches";
        cpu.numa_nodes: "NUMA nodes", "NUMA ノード数", differs "NUMA nodes";
        cpu.flags: "flags", "機能フラグ", differs "CPU flags";
    }
    Limits {
        limits.cgroup: "cgroup", "cgroup", differs "cgroup version";
        limits.cpu_quota: "CPU quota", "CPU クォータ", differs "CPU quota" => Alone;
        limits.cpus_allowed: "CPUs allowed", "使用できる CPU 数", differs "CPUs allowed" => Named;
        limits.memory: "memory limit", "メモリ上限", differs "memory limit" => Named;
        limits.container: "container", "コンテナ", differs "container" => Alone;
        limits.alone: "only kurabe", "単独の測定";
        limits.root: "root", "root 権限", differs "root";
    }
    Memory {
        memory.total: "memory", "メモリ", differs "memory" => Alone;
        memory.available: "available", "使用可能";
        memory.swap: "swap", "スワップ", differs "swap" => Named;
        memory.transparent_huge_pages: "transparent huge pages", "透過的ヒュージページ",
            differs "transparent huge pages" => Named;
        memory.page_size: "page size", "ページサイズ", differs "page size";
    }
    Kernel {
        kernel.release: "kernel", "カーネル", differs "kernel" => Alone;
        kernel.version: "build", "ビルド", differs "kernel: build";
        kernel.distribution: "distribution", "ディストリビューション", differs "distribution" => Alone;
        kernel.mitigations: "mitigations", "脆弱性の緩和策", differs "mitigations" => Alone;
    }
    Clock {
        clock.source: "clock", "クロックソース", differs "clock source" => Alone;
        clock.cost: "cost of a reading", "読み取りの所要時間" => Named;
        clock.tsc_reliable: "TSC reliable", "TSC の信頼性", differs "clock: TSC reliable";
    }
    Storage {
        storage.path: "work directory", "作業ディレクトリ" => Alone;
        storage.file_system: "file system", "ファイルシステム", differs "file system" => Alone;
        storage.mount_point: "mount point", "マウントポイント";
        storage.mount_options: "mount options", "マウントオプション", differs "mount options";
        storage.free: "free", "空き容量" => Named;
        storage.devices: "devices", "デバイス", differs "block devices" => Alone;
    }
    Io {
        io.io_uring: "io_uring", "io_uring", differs "io_uring";
        io.libaio: "libaio", "libaio", differs "libaio";
        io.o_direct: "O_DIRECT", "O_DIRECT", differs "O_DIRECT";
    }
};

/// A field of the facts as one tells it.
trait Told {
    fn told(&self) -> Fact<Known<'_>>;
}

impl<T> Told for Fact<T>
where
    for<'a> Known<'a>: From<&'a T>,
{
    fn told(&self) -> Fact<Known<'_>> {
        match self {
            Self::Known(value) => Fact::Known(value.into()),
            Self::Missing(why) => Fact::Missing(why.clone()),
        }
    }
}

impl Told for String {
    fn told(&self) -> Fact<Known<'_>> {
        Fact::Known(self.into())
    }
}

impl Told for bool {
    fn told(&self) -> Fact<Known<'_>> {
        Fact::Known(self.into())
    }
}

/// How each type of a fact is told.
macro_rules! told {
    ($($type:ty => |$value:pat_param| $known:expr;)+) => {
        $(impl<'a> From<&'a $type> for Known<'a> {
            fn from($value: &'a $type) -> Self {
                $known
            }
        })+
    };
}

told! {
    String => |text| Self::Text(text);
    u32 => |&n| Self::Count(n);
    Bytes => |&amount| Self::Amount(amount);
    Nanos => |&span| Self::Span(span);
    f64 => |&mhz| Self::Megahertz(mhz);
    bool => |&yes| Self::YesNo(yes);
    Option<f64> => |&cpus| Self::Quota(cpus);
    Option<Bytes> => |&limit| Self::Limit(limit);
    Option<String> => |kind| Self::Optional(kind.as_deref());
    Vec<Cache> => |caches| Self::Caches(caches);
    Vec<String> => |flags| Self::Flags(flags);
    BTreeMap<String, String> => |table| Self::Table(table);
    Vec<BlockDevice> => |devices| Self::Devices(devices);
}
