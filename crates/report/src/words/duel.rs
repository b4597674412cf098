//! What is said about duels, in both languages.

use model::comparison::Refusal;

/// About the two sides of a duel.
#[derive(Debug)]
pub struct DuelWords {
    /// Fact: which side of which duel a run is.
    pub fact: &'static str,
    /// A side by its letter, where it is the base and where it is not.
    pub party: fn(&str, bool) -> String,
    /// Nothing was said of this side alone: where it is.
    pub as_is: fn(&str) -> String,
    /// The command that sets it up.
    pub set_up: fn(&str) -> String,
    /// The run of the other side.
    pub against: fn(&str, &str) -> String,
    /// The sides are the same in all that was asked for.
    pub same: &'static str,
    /// Two directories of one file system, which is mounted here.
    pub one_file_system: fn(&str) -> String,
    /// How many pairs a case has, the fewest and the most.
    pub pairs: fn(usize, usize) -> String,
    /// How many rounds of a side failed for one reason: the side, how many, of how many, the reason.
    pub failed: fn(&str, usize, usize, &str) -> String,
    /// A side that could not be set up so often in a row that the duel ended.
    pub given_up: fn(&str, u32) -> String,
    /// Further reasons.
    pub more_reasons: fn(&str, usize) -> String,
    /// How a run ended, followed by how many of its rounds failed.
    pub end: fn(&str, usize, usize) -> String,
    /// What `kurabe compare` does with both sides.
    pub next_compare: &'static str,
    /// A refusal whose usual words would name a run where a duel is what helps; `None` for the others.
    pub refusal: fn(&Refusal) -> Option<String>,
}

pub(super) const EN: DuelWords = DuelWords {
    fact: "duel",
    party: |letter, is_base| {
        let role = if is_base { "base" } else { "other" };
        format!("{letter} ({role})")
    },
    as_is: |dir| format!("as it is, in `{dir}`"),
    set_up: |command| format!("set up before each round with `{command}`"),
    against: |letter, id| format!("side {letter}, against {id}"),
    same: "both sides are the same (an A/A duel): what differs is noise, or comes from measuring itself",
    one_file_system: |mount| {
        format!(
            "both directories are on one file system, the one mounted on `{mount}`: its disk is the same for both"
        )
    },
    pairs: |fewest, most| match (fewest, most) {
        (1, 1) => "1 pair of rounds".to_owned(),
        (n, most) if n == most => format!("{n} pairs of rounds"),
        _ => format!("{fewest} to {most} pairs of rounds"),
    },
    failed: |side, failed, of, why| {
        let rounds = if of == 1 { "round" } else { "rounds" };
        format!(
            "side {side}: {failed} of {of} {rounds} failed, and a pair that lacks one does not count: {why}"
        )
    },
    given_up: |side, n| {
        format!("the duel ended because side {side} could not be set up {n} times in a row")
    },
    more_reasons: |side, n| {
        let reasons = if n == 1 { "reason" } else { "reasons" };
        format!(
            "side {side}: rounds failed for {n} more {reasons}: `kurabe show RUN --format csv-rounds`"
        )
    },
    end: |end, failed, of| {
        let rounds = if of == 1 { "round" } else { "rounds" };
        format!("{end}, {failed} of {of} {rounds} failed")
    },
    next_compare: "both sides of the duel",
    refusal: |refusal| {
        match refusal {
        Refusal::OneSideOnly { .. } => {
            Some("only one side of the duel has it, because the sides differ in what they measure".to_owned())
        }
        Refusal::NoRatio { base_is_zero: true, other_is_zero: true } => None,
        Refusal::NoRatio { .. } => Some(
            "a value is zero, negative or missing, so there is no ratio: see the rounds with `kurabe show RUN --format csv-rounds`"
                .to_owned(),
        ),
        Refusal::NoValue { why, .. } => Some(format!(
            "no pair has both values: {why}; the rounds are in `kurabe show RUN --format csv-rounds`"
        )),
        _ => None,
    }
    },
};

pub(super) const JA: DuelWords = DuelWords {
    fact: "デュエル",
    party: |letter, is_base| {
        let role = if is_base { "基準" } else { "比較対象" };
        format!("{letter}（{role}）")
    },
    as_is: |dir| format!("変更なし（`{dir}`）"),
    set_up: |command| format!("各ラウンドの前に `{command}` を実行"),
    against: |letter, id| format!("{letter} 側（相手は {id}）"),
    same: "両側の条件は同じです（A/A デュエル）。差が出ても、ノイズか測定そのものの影響です",
    one_file_system: |mount| {
        format!(
            "両側のディレクトリーは同じファイルシステム（マウント先 `{mount}`）にあり、ディスクも同じです"
        )
    },
    pairs: |fewest, most| {
        if fewest == most {
            format!("ラウンドの組は {fewest} 組です")
        } else {
            format!("ラウンドの組は {fewest} から {most} 組です")
        }
    },
    failed: |side, failed, of, why| {
        format!("{side} 側: {of} 回中 {failed} 回が失敗しました。片方が欠けた組は数えません: {why}")
    },
    given_up: |side, n| {
        format!("{side} 側の準備が {n} 回続けて失敗したため、デュエルを終了しました")
    },
    more_reasons: |side, n| {
        format!(
            "{side} 側: ほかに {n} 種類の失敗があります（`kurabe show RUN --format csv-rounds` で確認できます）"
        )
    },
    end: |end, failed, of| format!("{end}、{of} 回中 {failed} 回失敗"),
    next_compare: "デュエルの両側",
    refusal: |refusal| {
        match refusal {
        Refusal::OneSideOnly { .. } => {
            Some("両側で測定内容が異なるため、デュエルの片側にしかありません".to_owned())
        }
        Refusal::NoRatio { base_is_zero: true, other_is_zero: true } => None,
        Refusal::NoRatio { .. } => Some(
            "値がゼロ、負、または欠けているため、比を計算できません。`kurabe show RUN --format csv-rounds` で確認してください"
                .to_owned(),
        ),
        Refusal::NoValue { why, .. } => Some(format!(
            "両側に値がある組がありません: {why}。各ラウンドは `kurabe show RUN --format csv-rounds` で確認できます"
        )),
        _ => None,
    }
    },
};
