//! What control groups let us do with a block device: the throttles of v1 (`blkio.throttle.*`) and v2 (`io.max`).
//!
//! Refused: `io.weight`, `io.latency` and `io.cost`, which give way to others and limit nobody who is alone. Sources:
//! `admin-guide/cgroup-v1/blkio-controller.rst`, `admin-guide/cgroup-v2.rst`.

use super::{Cgroups, TreeError};
use crate::tree::{Tree, shorten};

/// The most of a device that a second allows; `None` where nothing limits it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Throttle {
    /// Bytes read.
    pub read_bytes: Option<u64>,
    /// Bytes written.
    pub write_bytes: Option<u64>,
    /// Reads.
    pub reads: Option<u64>,
    /// Writes.
    pub writes: Option<u64>,
}

/// What it is called in both versions.
const NAMES: [(&str, &str); 4] = [
    ("rbps", "read_bps"),
    ("wbps", "write_bps"),
    ("riops", "read_iops"),
    ("wiops", "write_iops"),
];

impl Throttle {
    const fn field(&mut self, index: usize) -> &mut Option<u64> {
        match index {
            0 => &mut self.read_bytes,
            1 => &mut self.write_bytes,
            2 => &mut self.reads,
            _ => &mut self.writes,
        }
    }

    /// The tighter of both, each by itself.
    fn tighter(mut self, mut other: Self) -> Self {
        for index in 0..NAMES.len() {
            let found = *other.field(index);
            let least = self.field(index);
            *least = least.iter().chain(&found).min().copied();
        }
        self
    }
}

impl Cgroups {
    /// What our group may do with the device of this number (`8:0`): the tightest of all visible levels, `None` where
    /// no level limits it.
    pub fn throttle(&self, tree: &Tree, device: &str) -> Result<Option<Throttle>, TreeError> {
        let group = self.io.as_ref().map_err(Clone::clone)?;
        let at_level = if group.unified { at_v2 } else { at_v1 };
        let levels = group.over_levels(|level| at_level(tree, level, device))?;
        let tightest = levels
            .into_iter()
            .fold(Throttle::default(), Throttle::tighter);
        Ok((tightest != Throttle::default()).then_some(tightest))
    }
}

/// A file for each, with a line `8:0 300` for each device.
fn at_v1(tree: &Tree, level: &str, device: &str) -> Result<Throttle, TreeError> {
    let mut found = Throttle::default();
    for (index, (_, name)) in NAMES.into_iter().enumerate() {
        let path = format!("{level}/blkio.throttle.{name}_device");
        let text = tree.read(&path)?;
        *found.field(index) = of_device(&text, device)
            .map(|value| number(&path, value))
            .transpose()?;
    }
    Ok(found)
}

/// A line `8:0 rbps=max wbps=max riops=300 wiops=max` for each device.
fn at_v2(tree: &Tree, level: &str, device: &str) -> Result<Throttle, TreeError> {
    let path = format!("{level}/io.max");
    let text = tree.read(&path)?;
    let mut found = Throttle::default();
    for part in of_device(&text, device)
        .into_iter()
        .flat_map(str::split_whitespace)
    {
        let Some((name, value)) = part.split_once('=') else {
            continue;
        };
        let known = NAMES.iter().position(|(known, _)| *known == name);
        if let Some(index) = known.filter(|_| value != "max") {
            *found.field(index) = Some(number(&path, value)?);
        }
    }
    Ok(found)
}

/// What stands behind the number of a device, in the lines of a file.
fn of_device<'a>(text: &'a str, device: &str) -> Option<&'a str> {
    text.lines()
        .filter_map(|line| line.split_once(' '))
        .find_map(|(number, rest)| (number == device).then_some(rest.trim()))
}

fn number(path: &str, text: &str) -> Result<u64, TreeError> {
    text.parse().map_err(|_| {
        let why = format!("`{}` is not a rate", shorten(text));
        TreeError::content(path, why)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::tests::Fake;

    /// What the device 8:0 may do on a machine of these files; `Err` with what the error names.
    fn check(files: &[(&str, &str)], expect: Result<Option<[Option<u64>; 4]>, &str>) {
        let fake = Fake::new(files);
        let found = Cgroups::find(&fake.tree())
            .unwrap()
            .throttle(&fake.tree(), "8:0");
        let found = found.map(|throttle| {
            throttle.map(|mut throttle| [0, 1, 2, 3].map(|index| *throttle.field(index)))
        });
        match (found, expect) {
            (Ok(found), Ok(expect)) => assert_eq!(found, expect, "{files:?}"),
            (Err(error), Err(words)) => {
                assert!(error.to_string().contains(words), "{error}");
            }
            (found, _) => panic!("{files:?}: {found:?}"),
        }
    }

    const V2: [(&str, &str); 2] = [
        ("/proc/self/cgroup", "0::/a/b\n"),
        (
            "/proc/self/mountinfo",
            "30 1 0:26 / /cg rw shared:4 - cgroup2 cgroup2 rw\n",
        ),
    ];
    const V1: [(&str, &str); 2] = [
        ("/proc/self/cgroup", "7:blkio:/a\n0::/\n"),
        (
            "/proc/self/mountinfo",
            "34 31 0:32 / /cg rw - cgroup cgroup rw,blkio\n35 31 0:33 / /v2 rw - cgroup2 cgroup2 rw\n",
        ),
    ];

    #[test]
    fn the_tightest_level_of_v2_counts_for_each_rate() {
        let max = |path, text| [V2[0], V2[1], ("/cg/a/b/keep", ""), (path, text)];
        let one = max(
            "/cg/a/b/io.max",
            "8:0 rbps=max wbps=max riops=300 wiops=max\n",
        );
        check(&one, Ok(Some([None, None, Some(300), None])));
        let other = max(
            "/cg/a/b/io.max",
            "8:16 rbps=max wbps=max riops=300 wiops=max\n",
        );
        check(&other, Ok(None));
        let two = [
            V2[0],
            V2[1],
            (
                "/cg/a/b/io.max",
                "8:0 rbps=2097152 wbps=9 riops=max wiops=max\n",
            ),
            (
                "/cg/a/io.max",
                "259:0 rbps=1 wbps=1 riops=1 wiops=1\n8:0 rbps=1048576 wbps=max riops=max wiops=7\n",
            ),
        ];
        check(&two, Ok(Some([Some(1 << 20), Some(9), None, Some(7)])));
        check(&max("/cg/a/b/io.max", ""), Ok(None));
        check(&V2, Ok(None));
        let wrong = max("/cg/a/b/io.max", "8:0 rbps=fast\n");
        check(&wrong, Err("`fast` is not a rate"));
    }

    #[test]
    fn the_files_of_v1_count_too() {
        let files = |own: &'static str, above: &'static str| {
            let [rbps, wbps, wiops] = [
                "/cg/a/blkio.throttle.read_bps_device",
                "/cg/a/blkio.throttle.write_bps_device",
                "/cg/a/blkio.throttle.write_iops_device",
            ];
            vec![
                V1[0],
                V1[1],
                (rbps, ""),
                (wbps, "8:0 1048576\n"),
                ("/cg/a/blkio.throttle.read_iops_device", own),
                (wiops, ""),
                ("/cg/blkio.throttle.read_bps_device", ""),
                ("/cg/blkio.throttle.write_bps_device", ""),
                ("/cg/blkio.throttle.read_iops_device", above),
                ("/cg/blkio.throttle.write_iops_device", ""),
            ]
        };
        let with = |reads| Ok(Some([None, Some(1 << 20), reads, None]));
        check(&files("", ""), with(None));
        check(&files("7:1 5\n8:0 300\n", ""), with(Some(300)));
        check(&files("8:0 300\n", "8:0 200\n"), with(Some(200)));
        check(&files("8:0 x\n", ""), Err("`x` is not a rate"));
        // A kernel that cannot throttle.
        check(&V1, Ok(None));
    }
}
