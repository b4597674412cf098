//! Priorities of single operations.

use serde::{Deserialize, Serialize};

/// A priority of I/O, as ionice(1) knows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct IoPriority {
    /// 1 realtime, 2 best effort, 3 idle; 0 for none.
    pub class: u8,
    /// From 0, the highest, to 7.
    pub level: u8,
}

impl IoPriority {
    /// The class of what goes before everything else; it needs root.
    pub const REALTIME: u8 = 1;

    /// A level without a class is one of best effort, as fio has it.
    pub const fn of(class: u8, level: u8) -> Self {
        const BEST_EFFORT: u8 = 2;
        let class = if class == 0 { BEST_EFFORT } else { class };
        Self { class, level }
    }

    /// Both in one number, as `ioprio_set(2)` takes them; 0 for no class.
    pub const fn ioprio(self) -> u16 {
        const CLASS_SHIFT: u32 = 13;
        if self.class == 0 {
            return 0;
        }
        ((self.class as u16) << CLASS_SHIFT) | self.level as u16
    }
}

/// What the latency `of` submission, completion or the whole is called for operations of this kind and priority.
pub fn prioritized(kind: &str, of: &str, priority: IoPriority) -> String {
    let IoPriority { class, level } = priority;
    format!("{kind}_{of}_prio_{class}_{level}")
}

/// A share of the operations that have a priority of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorityShare {
    /// Of operations of so many bytes; of all of them where not said.
    pub bytes: Option<u64>,
    /// The share, in per cent.
    pub percent: u8,
    /// The priority.
    pub priority: IoPriority,
}

/// Which reads and writes have priorities of their own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Priorities {
    /// The priority of all others: that of the process.
    pub usual: IoPriority,
    /// Of reads.
    pub read: Vec<PriorityShare>,
    /// Of writes.
    pub write: Vec<PriorityShare>,
    /// What is told of each priority is how long the whole took, and not its completion alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tells_whole: bool,
}

impl Priorities {
    /// Whether no operation has one of its own.
    pub const fn is_empty(&self) -> bool {
        self.read.is_empty() && self.write.is_empty()
    }

    /// The error says what is wrong with them.
    pub fn check(&self) -> Result<(), String> {
        for shares in [&self.read, &self.write] {
            for one in shares {
                let IoPriority { class, level } = one.priority;
                if class > 3 || level > 7 {
                    return Err(format!(
                        "an I/O priority of class {class} and level {level} is not one of classes 0 to 3 and levels 0 to 7"
                    ));
                }
                let alike = shares.iter().filter(|other| other.bytes == one.bytes);
                let percent: u32 = alike.map(|other| u32::from(other.percent)).sum();
                if percent > 100 {
                    let of = one.bytes.map(|bytes| format!(" of {bytes} bytes"));
                    let of = of.unwrap_or_default();
                    return Err(format!(
                        "priorities are asked for {percent} % of the operations{of}, which is more than all of them"
                    ));
                }
            }
        }
        Ok(())
    }
}
