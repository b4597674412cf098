//! What is said about memory tests point by point, in both languages.

/// About latency by working set, and round trips between CPUs.
#[derive(Debug)]
pub struct MemoryWords {
    /// Heading.
    pub heading: &'static str,
    /// Column: the working set.
    pub working_set: &'static str,
    /// Column: nanoseconds per load.
    pub per_load: &'static str,
    /// Column: the rounds with the least and the most.
    pub rounds: &'static str,
    /// How to read the bars.
    pub legend: &'static str,
    /// By how much a curve falls where it should not, as a percentage.
    pub falls: fn(&str) -> String,
    /// A curve that never falls.
    pub rises: &'static str,
    /// A curve that never falls by more than its noise, which is a percentage.
    pub rises_within: fn(&str) -> String,
    /// What a matrix shows.
    pub matrix: &'static str,
    /// Of a matrix that is too large to be shown: the CPUs, and the nearest and the farthest pairs.
    pub pairs: fn(usize, &str, &str) -> String,
}

pub(super) const EN: MemoryWords = MemoryWords {
    heading: "memory, point by point",
    working_set: "working set",
    per_load: "ns/load",
    rounds: "rounds",
    legend: "ns/load: median of the rounds, least and most beside it. # on a scale of factors, from the quickest to \
             the slowest",
    falls: |share| {
        format!(
            "from one size to the next the latency falls by up to {share}: noise, or a busy machine"
        )
    },
    rises: "the latency never falls from one size to the next",
    rises_within: |share| {
        format!("the latency never falls by more than {share} from one size to the next")
    },
    matrix: "round trip of a cache line between two CPUs, in nanoseconds",
    pairs: |cpus, nearest, farthest| {
        format!(
            "{cpus} CPUs: the nearest pairs are {nearest}; the farthest are {farthest} (all in the JSON document)"
        )
    },
};

pub(super) const JA: MemoryWords = MemoryWords {
    heading: "メモリーの詳細",
    working_set: "ワーキングセット",
    per_load: "ns/ロード",
    rounds: "各ラウンド",
    legend: "ns/ロードはラウンドの中央値で、横に最小と最大を示します。# は最速から最遅までの対数目盛です",
    falls: |share| {
        format!(
            "サイズが増えるときにレイテンシーが最大 {share} 下がっています。ノイズか、マシンが混雑しています"
        )
    },
    rises: "サイズが増えてもレイテンシーは下がりません",
    rises_within: |share| format!("サイズが増えてもレイテンシーは {share} を超えて下がりません"),
    matrix: "2 個の CPU 間のキャッシュライン往復時間（ナノ秒）",
    pairs: |cpus, nearest, farthest| {
        format!(
            "{cpus} CPU: 最も近い組は {nearest}、最も遠い組は {farthest} です（すべて JSON にあります）"
        )
    },
};
