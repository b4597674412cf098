//! Options that ask the kernel for something for the process of a job: its priorities, its NUMA nodes, and the
//! scheduler of the device below it.

use super::super::draft::Draft;
use super::super::job::CpuNodes;
use super::{Kind, OptionDef, cmdprio, small};
use model::job::{MemoryMode, MemoryPolicy};
use std::collections::BTreeSet;

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "nice",
        "0",
        Kind::Text("a number from -20 to 19", nice),
        "CPU priority; below 0 it needs root.",
    ),
    OptionDef::new(
        "prio",
        "",
        Kind::Int(0..=7, |d, n| d.job.life.io_level = u8::try_from(n).ok()),
        "Level of I/O priority, 0 the highest; in the class best-effort where `prioclass` names no other. Schedulers \
             other than bfq hardly look at it.",
    ),
    OptionDef::new(
        "prioclass",
        "",
        Kind::Int(0..=3, |d, n| d.job.life.io_class = u8::try_from(n).ok()),
        "Class of I/O priority: 1 realtime, which needs root, 2 best-effort, 3 idle.",
    ),
    OptionDef::new(
        "cmdprio_percentage",
        "0",
        Kind::List(0..=100, |d, v| d.cmdprio.percent.merge(v)),
        "The shares of reads and of writes (trims have none) that have an I/O priority of their own; with `libaio` and `io_uring`. Latencies \
             of each priority are reported apart. It counts where the scheduler or the drive looks at it.",
    ),
    OptionDef::new(
        "cmdprio_class",
        "1",
        Kind::List(1..=3, |d, v| d.cmdprio.class.merge(v)),
        "The class of those priorities.",
    ),
    OptionDef::new(
        "cmdprio",
        "0",
        Kind::List(0..=7, |d, v| d.cmdprio.level.merge(v)),
        "The level of those priorities.",
    ),
    OptionDef::new(
        "cmdprio_bssplit",
        "",
        Kind::Text(
            "`SIZE/PERCENT` or `SIZE/PERCENT/CLASS/LEVEL`, colons between, lists separated by commas",
            cmdprio::split,
        ),
        "The shares by the size of the operation, each with a priority of its own where it says one.",
    ),
    OptionDef::new(
        "numa_cpu_nodes",
        "",
        Kind::Text("nodes such as `0-1,3`, or `all`", cpu_nodes),
        "NUMA nodes on whose CPUs the job may run; beside `cpus_allowed`, on those of both.",
    ),
    OptionDef::new(
        "numa_mem_policy",
        "",
        Kind::Text(
            "`default`, `local`, `prefer:NODE`, `bind:NODES` or `interleave:NODES`",
            memory,
        ),
        "From which NUMA nodes the memory of the job comes (set_mempolicy).",
    ),
    OptionDef::new(
        "ioscheduler",
        "",
        Kind::Text("the name of a scheduler, such as `none`", |d, text| {
            d.job.life.scheduler = Some(text.to_owned());
            Ok(())
        }),
        "The scheduler of the device below the files, from before the jobs until after them; needs root. The one before \
             is set again afterwards, which fio does not do. One device has one for all jobs.",
    ),
];

fn nice(draft: &mut Draft, text: &str) -> Result<(), String> {
    let nice = text
        .trim()
        .parse()
        .ok()
        .filter(|nice| (-20..=19).contains(nice));
    draft.job.life.nice = nice.ok_or("a number from -20 to 19")?;
    Ok(())
}

fn cpu_nodes(draft: &mut Draft, text: &str) -> Result<(), String> {
    draft.job.life.cpu_nodes = Some(match text {
        "all" => CpuNodes::All,
        list => CpuNodes::Some(nodes(list)?),
    });
    Ok(())
}

fn memory(draft: &mut Draft, text: &str) -> Result<(), String> {
    let (word, list) = text.split_once(':').unwrap_or((text, ""));
    let mode = match word {
        "default" | "local" if !list.is_empty() => return Err(format!("no nodes behind `{word}`")),
        "default" => {
            draft.job.life.memory = None;
            return Ok(());
        }
        "local" => MemoryMode::Local,
        "prefer" => MemoryMode::Prefer,
        "bind" => MemoryMode::Bind,
        "interleave" => MemoryMode::Interleave,
        _ => return Err("`default`, `local`, `prefer`, `bind` or `interleave`".to_owned()),
    };
    let nodes: Vec<u32> = if mode == MemoryMode::Local {
        Vec::new()
    } else {
        nodes(list)?.into_iter().collect()
    };
    if mode == MemoryMode::Prefer && nodes.len() > 1 {
        return Err("one node behind `prefer`".to_owned());
    }
    draft.job.life.memory = Some(MemoryPolicy { mode, nodes });
    Ok(())
}

/// Nodes as `0-1,3`.
fn nodes(text: &str) -> Result<BTreeSet<u32>, String> {
    /// The largest number that kernels are configured for.
    const NODE_MAX: u64 = 1023;
    let expected = || format!("numbers of nodes up to {NODE_MAX} such as `0-1,3`");
    let number = |text: &str| {
        text.trim()
            .parse()
            .ok()
            .filter(|n| *n <= NODE_MAX)
            .map(small)
    };
    let mut nodes = BTreeSet::new();
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = number(first).zip(number(last)).ok_or_else(expected)?;
        if first > last {
            return Err(expected());
        }
        nodes.extend(first..=last);
    }
    Ok(nodes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::testkit::line;

    #[test]
    fn policies_and_nodes_are_read() {
        let memory = |text: &str| {
            let plan = line(&format!("--name=a --size=1m --numa_mem_policy={text}"));
            let plan = plan.ok()?;
            let policy = plan.jobs().next()?.life.memory.clone();
            Some(policy.map(|policy| (policy.mode, policy.nodes)))
        };
        assert_eq!(memory("default"), Some(None));
        assert_eq!(memory("local"), Some(Some((MemoryMode::Local, vec![]))));
        assert_eq!(
            memory("prefer:1"),
            Some(Some((MemoryMode::Prefer, vec![1])))
        );
        assert_eq!(
            memory("bind:0-2,5"),
            Some(Some((MemoryMode::Bind, vec![0, 1, 2, 5])))
        );
        for bad in [
            "bind",
            "prefer:0-1",
            "local:0",
            "bind:1-0",
            "bind:5000",
            "near:0",
        ] {
            assert_eq!(memory(bad), None, "{bad}");
        }
        let nodes = |text: &str| {
            let plan = line(&format!("--name=a --size=1m --numa_cpu_nodes={text}"));
            plan.ok()?.jobs().next()?.life.cpu_nodes.clone()
        };
        assert_eq!(nodes("all"), Some(CpuNodes::All));
        assert_eq!(nodes("1,0"), Some(CpuNodes::Some([0, 1].into())));
        assert_eq!(nodes("-1"), None);
    }

    #[test]
    fn priorities_are_within_the_kernel_s_bounds() {
        for (option, is_taken) in [
            ("nice=-20", true),
            ("nice=20", false),
            ("nice=x", false),
            ("prio=7", true),
            ("prio=8", false),
            ("prioclass=3", true),
            ("prioclass=4", false),
        ] {
            let plan = line(&format!("--name=a --size=1m --{option}"));
            assert_eq!(plan.is_ok(), is_taken, "{option}");
        }
    }
}
