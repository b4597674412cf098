//! Why a round has no value. English is the words of the record itself.

use crate::lang::Lang;
use model::record::{CommandEnd, Failure, brief};

/// Why a round has no value.
pub fn failure(failure: &Failure, lang: Lang) -> String {
    match lang {
        Lang::En => failure.to_string(),
        Lang::Ja => failure_ja(failure),
    }
}

/// The system's own words stay in English.
fn failure_ja(failure: &Failure) -> String {
    let with = |said: &str| {
        if said.is_empty() {
            String::new()
        } else {
            format!(": {said}")
        }
    };
    match failure {
        Failure::Unsupported(why) => format!("ここでは実行できません: {why}"),
        Failure::Error(what) => format!("エラーが発生しました: {what}"),
        Failure::Exited { code, said } => {
            format!("ワーカーが終了コード {code} で終了しました{}", with(said))
        }
        Failure::Signal { signal, said } => format!(
            "ワーカーがシグナル {signal} で強制終了されました{}",
            with(said)
        ),
        Failure::OutOfMemory => {
            "メモリ不足のため、ワーカーがカーネルに強制終了されました".to_owned()
        }
        Failure::Hung { stage, after } => format!(
            "ワーカーが応答しなくなりました（{}が {:.1} 秒以内に終わらず強制終了）。同時に動かすコピーを減らすか、ほかの処理を\
             止めてください。応答しないデバイスやファイルシステムは `dmesg` で分かることがあります",
            stage_word(stage),
            after.as_secs_f64()
        ),
        Failure::WrongResult(what) => format!("計算結果が誤っています: {what}"),
        Failure::SetUp { command, end, said } => format!(
            "準備コマンド `{}` が失敗しました（{}）{}",
            brief(command),
            command_end(end),
            with(said)
        ),
    }
}

/// How a command ended that did not do its work.
fn command_end(end: &CommandEnd) -> String {
    match end {
        CommandEnd::Exited(code) => format!("終了コード {code}"),
        CommandEnd::Signal(signal) => format!("シグナル {signal} で終了"),
        CommandEnd::Hung(after) => format!("{:.0} 秒以内に終わらず強制終了", after.as_secs_f64()),
        CommandEnd::NotStarted(why) => format!("起動できません: {why}"),
    }
}

/// The stages that [`Failure::Hung`] names; a stage of a later version stays as it is.
fn stage_word(stage: &str) -> &str {
    match stage {
        "set-up" => "準備",
        "making" => "事前の作成",
        "measuring" => "測定",
        "finishing" => "終了処理",
        other => other,
    }
}
