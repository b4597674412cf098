//! Priorities of single operations: `cmdprio_percentage`, `cmdprio_bssplit` and what goes with them.

use super::super::draft::Draft;
use super::super::job::Directions;
use super::parts;
use model::job::{IoPriority, Priorities, PriorityShare};

/// The most entries of a list: fio's own limit.
const MAX_SPLIT: usize = 64;

/// What was said of them.
#[derive(Clone, Debug, Default)]
pub(in super::super) struct CommandPriorities {
    /// `cmdprio_percentage`.
    pub(super) percent: Directions<Option<u64>>,
    /// `cmdprio_class`.
    pub(super) class: Directions<Option<u64>>,
    /// `cmdprio`.
    pub(super) level: Directions<Option<u64>>,
    /// `cmdprio_bssplit`, of reads and writes.
    splits: [Vec<Entry>; 2],
}

/// An entry of `cmdprio_bssplit`.
#[derive(Clone, Copy, Debug)]
struct Entry {
    bytes: u64,
    percent: u8,
    /// Where it has one of its own.
    priority: Option<IoPriority>,
}

/// `cmdprio_bssplit=64k/40:1024k/0,1024k/0`, `cmdprio_bssplit=64k/25/1/1:64k/75/3/2`.
pub(super) fn split(draft: &mut Draft, text: &str) -> Result<(), String> {
    let mut lists = Vec::new();
    for list in text.split(',') {
        let entries = list.split(':').filter(|entry| !entry.is_empty());
        let entries: Vec<Entry> = entries
            .map(|text| entry(draft, text))
            .collect::<Result<_, _>>()?;
        if entries.len() > MAX_SPLIT {
            return Err(format!("at most {MAX_SPLIT} entries"));
        }
        lists.push(entries);
    }
    draft.cmdprio.splits = match lists.as_slice() {
        [all] => [all.clone(), all.clone()],
        [read, write] | [read, write, _] => [read.clone(), write.clone()],
        _ => return Err("one to three lists".to_owned()),
    };
    Ok(())
}

fn entry(draft: &mut Draft, text: &str) -> Result<Entry, String> {
    let fields: Vec<&str> = text.split('/').map(str::trim).collect();
    let small = |what: &str, text: &str, most: u8| {
        let number = text.parse().ok().filter(|number: &u8| *number <= most);
        number.ok_or_else(|| format!("`{text}` is no {what} from 0 to {most}"))
    };
    let (size, percent, priority) = match fields.as_slice() {
        [size] | [size, ""] => (size, "0", None),
        [size, percent] => (size, *percent, None),
        [size, percent, class, level] => {
            let class = small("class", class, 3)?;
            let level = small("level", level, 7)?;
            (size, *percent, Some(IoPriority::of(class, level)))
        }
        _ => return Err("`SIZE/PERCENT` or `SIZE/PERCENT/CLASS/LEVEL`".to_owned()),
    };
    Ok(Entry {
        bytes: parts::size(size, draft.base(), &mut draft.warnings)?,
        percent: small("share", percent, 100)?,
        priority,
    })
}

/// Puts what the options say together into the job: of reads and of writes, where it has them. What has a percentage of
/// 0 has the priority of the process.
pub(in super::super) fn finish_priorities(draft: &mut Draft) -> Result<(), String> {
    let said = &draft.cmdprio;
    let usual = draft.job.life.io_priority().unwrap_or_default();
    let has_split = said.splits.iter().any(|list| !list.is_empty());
    let small = |number: Option<u64>| number.and_then(|number| u8::try_from(number).ok());
    let mix = draft.job.does.pattern.mix;
    let of = |at: usize, percent: Option<u64>, class: Option<u64>, level: Option<u64>| {
        let is_done = [mix.reads(), mix.writes()][at];
        let own = IoPriority {
            class: small(class).unwrap_or(IoPriority::REALTIME),
            level: small(level).unwrap_or(0),
        };
        let mut list: Vec<PriorityShare> = said.splits[at]
            .iter()
            .map(|entry| PriorityShare {
                bytes: Some(entry.bytes),
                percent: entry.percent,
                priority: entry.priority.unwrap_or(own),
            })
            .collect();
        list.extend(small(percent).map(|percent| PriorityShare {
            bytes: None,
            percent,
            priority: own,
        }));
        list.retain(|one| is_done && one.percent > 0);
        list
    };
    let priorities = Priorities {
        usual,
        read: of(0, said.percent.read, said.class.read, said.level.read),
        write: of(1, said.percent.write, said.class.write, said.level.write),
        tells_whole: draft.job.reporting.tells_whole(),
    };
    let any =
        |of: &Directions<Option<u64>>| [of.read, of.write].iter().any(|number| *number > Some(0));
    if has_split && any(&said.percent) {
        return Err("`cmdprio_percentage` and `cmdprio_bssplit` exclude each other".to_owned());
    }
    priorities.check()?;
    // Under another engine there are none, which is said with the options of engines.
    if draft.job.does.is_synchronous() {
        return Ok(());
    }
    if !priorities.is_empty() {
        draft.job.does.priorities = Some(priorities);
    } else if any(&said.class) || any(&said.level) {
        draft.note(
            "`cmdprio_class` and `cmdprio` change nothing without `cmdprio_percentage` or `cmdprio_bssplit`",
        );
    }
    Ok(())
}
