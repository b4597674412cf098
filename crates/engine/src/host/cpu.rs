//! The processors: model, counts, clock rate, caches and flags.
//!
//! x86 kernels name the model; ARM kernels give numbers for designer and part, which [`super::parts`] turns into
//! names. The clock rate is the nominal one where the kernel tells it: the momentary rate of one CPU says nothing.

use super::{Probes, fact, number_list, parts, platform, topology};
use model::host::{Cache, CpuFacts, Fact};
use model::order::Order as _;
use model::units::Bytes;
use sys::tree::Tree;

const CPUINFO: &str = "/proc/cpuinfo";
const CPUFREQ: &str = "/sys/devices/system/cpu/cpu0/cpufreq";
const CACHES: &str = "/sys/devices/system/cpu/cpu0/cache";

/// /proc/cpuinfo, read once for everybody who needs it.
pub(super) struct Info(Result<String, String>);

impl Info {
    pub(super) fn read(tree: &Tree) -> Self {
        Self(tree.read(CPUINFO).map_err(|error| error.to_string()))
    }

    /// The values of `key`, over all CPUs.
    pub(super) fn values<'a>(&'a self, key: &str) -> impl Iterator<Item = &'a str> {
        let lines = self.0.as_deref().unwrap_or_default().lines();
        lines.filter_map(move |line| {
            let (name, value) = line.split_once(':')?;
            (name.trim() == key && !value.trim().is_empty()).then(|| value.trim())
        })
    }

    /// The value of the first of `keys` that is there, of the first CPU.
    pub(super) fn value(&self, keys: &[&str]) -> Result<&str, String> {
        if let Err(why) = &self.0 {
            return Err(why.clone());
        }
        keys.iter()
            .find_map(|key| self.values(key).next())
            .ok_or_else(|| format!("parse `{CPUINFO}`: it has no `{}`", keys.join("` or `")))
    }

    /// The feature flags.
    pub(super) fn flags(&self) -> Result<Vec<String>, String> {
        // `Features` is ARM's name, `isa` RISC-V's, `features` that of s390.
        let line = self.value(&["flags", "Features", "isa", "features"])?;
        Ok(line.split_ascii_whitespace().map(str::to_owned).collect())
    }
}

pub(super) fn facts(tree: &Tree, info: &Info, probes: &Probes) -> CpuFacts {
    let topology = topology::read(tree, info);
    CpuFacts {
        model: model(tree, info),
        arch: probes.arch.clone(),
        online: topology.online,
        offline: topology.offline,
        sockets: topology.sockets,
        cores: topology.cores,
        threads_per_core: topology.threads_per_core,
        mhz: fact(mhz(tree, info)),
        governor: fact(tree.read_trimmed(&format!("{CPUFREQ}/scaling_governor"))),
        frequency_driver: fact(tree.read_trimmed(&format!("{CPUFREQ}/scaling_driver"))),
        caches: fact(caches(tree)),
        flags: fact(info.flags()),
        numa_nodes: topology.numa_nodes,
    }
}

/// The name of the model; where no kernel text names it, the parts it is made of, and at last the machine.
fn model(tree: &Tree, info: &Info) -> Fact<String> {
    // `cpu` is POWER's name, `uarch` RISC-V's; ARM kernels in 32-bit mode have `model name` too.
    let why = match info.value(&["model name", "cpu", "uarch"]) {
        Ok(name) => return Fact::Known(words(name)),
        Err(why) => why,
    };
    if let Some(name) = parts::names(info) {
        return Fact::Known(name);
    }
    match platform::product(tree) {
        Fact::Known(product) => Fact::Known(format!("CPU of a {product}")),
        Fact::Missing(_) => Fact::Missing(why),
    }
}

/// Some firmware pads model names with blanks.
fn words(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// The nominal clock rate, from the best source there is.
fn mhz(tree: &Tree, info: &Info) -> Result<f64, String> {
    let cpufreq = |name: &str| {
        tree.read_number(&format!("{CPUFREQ}/{name}"))
            .map(|khz| model::num::approx(khz) / 1e3)
            .map_err(|error| error.to_string())
    };
    let nominal = cpufreq("base_frequency").ok();
    if let Some(rate) = nominal.or_else(|| rate_in_name(info)) {
        return Ok(rate);
    }
    rate_of_cpu_0(info).or_else(|why| cpufreq("cpuinfo_max_freq").map_err(|_| why))
}

/// `Intel(R) Xeon(R) CPU E5-2680 v4 @ 2.40GHz`.
fn rate_in_name(info: &Info) -> Option<f64> {
    let name = info.value(&["model name"]).ok()?;
    let (_, rate) = name.rsplit_once('@')?;
    let ghz = rate
        .trim()
        .strip_suffix("GHz")?
        .trim()
        .parse::<f64>()
        .ok()?;
    plausible(ghz * 1e3)
}

fn rate_of_cpu_0(info: &Info) -> Result<f64, String> {
    // `clock` is POWER's name: `3425.000000MHz`.
    let text = info.value(&["cpu MHz", "clock"])?;
    text.trim_end_matches("MHz")
        .parse::<f64>()
        .ok()
        .and_then(plausible)
        .ok_or_else(|| format!("parse `{CPUINFO}`: the clock rate is not a number"))
}

/// Hypervisors show 0 where they do not know.
fn plausible(mhz: f64) -> Option<f64> {
    (mhz.is_finite() && mhz > 0.0).then_some(mhz)
}

/// The caches of CPU 0, by level and kind.
fn caches(tree: &Tree) -> Result<Vec<Cache>, String> {
    let names = tree.list(CACHES).map_err(|error| error.to_string())?;
    let mut caches = names
        .iter()
        .filter(|name| name.starts_with("index"))
        .map(|name| cache(tree, &format!("{CACHES}/{name}")))
        .collect::<Result<Vec<Cache>, String>>()?;
    if caches.is_empty() {
        return Err(format!("list `{CACHES}`: it lists no cache"));
    }
    caches.order_by(|a, b| (a.level, &a.kind).cmp(&(b.level, &b.kind)));
    Ok(caches)
}

fn cache(tree: &Tree, dir: &str) -> Result<Cache, String> {
    let read = |name: &str| {
        tree.read_trimmed(&format!("{dir}/{name}"))
            .map_err(|error| error.to_string())
    };
    let odd = |name: &str, text: &str| format!("parse `{dir}/{name}`: `{text}` is not understood");
    let (level, size, sharers) = (read("level")?, read("size")?, read("shared_cpu_list")?);
    Ok(Cache {
        level: level.parse().map_err(|_| odd("level", &level))?,
        kind: read("type")?.to_ascii_lowercase(),
        size: cache_size(&size).ok_or_else(|| odd("size", &size))?,
        shared_by: number_list(&sharers)
            .map(|sharers| super::how_many(&sharers))
            .ok_or_else(|| odd("shared_cpu_list", &sharers))?,
    })
}

/// `32K`; the kernel always writes KiB, and the other units cost nothing.
fn cache_size(text: &str) -> Option<Bytes> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit: u64 = match &text[digits.len()..] {
        "" => 1,
        "K" => 1 << 10,
        "M" => 1 << 20,
        "G" => 1 << 30,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).map(Bytes)
}
