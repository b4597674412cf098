//! What was seen before the first round, in words that stand beside it and after it.

use crate::lang::{Lang, say};
use crate::number::percent;
use crate::page::host::quota;
use model::look::Busy;
use stats::look::Seen;

/// What was seen, each in a few words.
pub fn seen(all: &[Seen], lang: Lang) -> String {
    let words: Vec<String> = all.iter().map(|seen| one(seen, lang)).collect();
    words.join(lang.pick("; ", "、"))
}

fn one(seen: &Seen, lang: Lang) -> String {
    match seen {
        Seen::Others { programs, .. } => {
            let used = programs.iter().map(|Busy { name, cpu_share }| {
                let share = percent(*cpu_share);
                say!(
                    lang,
                    "`{name}` at {share} of a CPU",
                    "`{name}` が CPU の {share} を使用"
                )
            });
            used.collect::<Vec<_>>().join(lang.pick(", ", "、"))
        }
        Seen::MemoryPressure { wait_share } => say!(
            lang,
            "programs waiting for memory {share} of the time",
            "メモリ待ちが時間の {share}",
            share = percent(*wait_share)
        ),
        Seen::LittleMemory { left_bytes } => {
            let left = left_bytes.rounded();
            say!(lang, "only {left} of memory left", "メモリの残りが {left}")
        }
        Seen::LittleSpace {
            needed_bytes,
            room_bytes,
        } => say!(
            lang,
            "room for {room} of files, where {needed} are to be written",
            "書き込むファイル {needed} に対し、使える空きが {room}",
            needed = needed_bytes.rounded(),
            room = room_bytes.rounded()
        ),
        Seen::Quota { cpus: Some(cpus) } => quota(*cpus, lang),
        Seen::Quota { cpus: None } => lang.pick("a CPU quota", "CPU クォータ").to_owned(),
        Seen::Governor { name } => say!(
            lang,
            "the frequency governor `{name}`, which saves power",
            "省電力の周波数ガバナー `{name}`"
        ),
        Seen::Steal { share } => say!(
            lang,
            "the host taking {share} of the CPU time asked for",
            "要求した CPU 時間の {share} をホストが占有",
            share = percent(*share)
        ),
    }
}
