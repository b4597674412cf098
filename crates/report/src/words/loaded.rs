//! What is said about latency under load, in both languages.

/// About latency under load.
#[derive(Debug)]
pub struct LoadedWords {
    /// Heading.
    pub heading: &'static str,
    /// Column: the test.
    pub test: &'static str,
    /// Column: what the streams read, in this unit.
    pub streams: fn(&str) -> String,
    /// Column: nanoseconds per load.
    pub per_load: &'static str,
    /// Column: how many times as long as without load.
    pub times: &'static str,
    /// What the largest load costs: the load, and how many times as long a load of the chain takes.
    pub costs: fn(&str, &str) -> String,
    /// How to read the lines.
    pub legend: &'static str,
}

pub(super) const EN: LoadedWords = LoadedWords {
    heading: "latency under load",
    test: "test",
    streams: |unit| format!("streams {unit}"),
    per_load: "ns/load",
    times: "times idle",
    costs: |load, times| {
        format!("while the others read {load}, a load takes {times} times as long as without them")
    },
    legend: "one chain of dependent loads beside streams on the other CPUs; # in proportion to ns/load",
};

pub(super) const JA: LoadedWords = LoadedWords {
    heading: "負荷時のレイテンシー",
    test: "テスト",
    streams: |unit| format!("ストリーム {unit}"),
    per_load: "ns/ロード",
    times: "無負荷比",
    costs: |load, times| {
        format!(
            "他の CPU が {load} を読み出している間、1 回のロードは無負荷時の {times} 倍かかります"
        )
    },
    legend: "依存ロードのチェーン 1 本を測り、他の CPU はメモリーを連続して読みます。# は ns/ロードに比例します",
};
