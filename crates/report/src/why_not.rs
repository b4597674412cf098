//! Why an offer or a run has no figure, in a few words: in English in documents, in either language on pages.

use crate::lang::{Lang, say};
use crate::said::missing;
use model::units::Unit;
use serde::Serialize;
use stats::figure::{Absent, Figure};

/// Why there is no figure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "String")]
pub enum WhyNot {
    /// No run names the offer.
    NoRun,
    /// The run, or the latest one, has none.
    Absent(Absent),
    /// It was measured with parameters that are not the test's own.
    SetOtherwise,
    /// The level that is asked for is in no unit of it.
    NoLevel {
        /// The level as it was written.
        level: String,
        /// The unit of the figure.
        unit: Unit,
    },
    /// It is declared otherwise than the figure that it is put beside: the unit or the good direction.
    DeclaredOtherwise,
    /// It was measured by another version, or with other parameters.
    MeasuredOtherwise,
}

impl WhyNot {
    /// Why `other` does not stand beside `first`; `None` where it does.
    pub(crate) fn unlike(first: &Figure<'_>, other: &Figure<'_>) -> Option<Self> {
        let declared = |figure: &Figure<'_>| (figure.what.unit, figure.what.better);
        if declared(first) != declared(other) {
            return Some(Self::DeclaredOtherwise);
        }
        (!first.is_alike(other)).then_some(Self::MeasuredOtherwise)
    }

    /// In words.
    pub(crate) fn text(&self, lang: Lang) -> String {
        match self {
            Self::NoRun => say!(
                lang,
                "no run names this offer",
                "このオファーの測定はありません"
            ),
            Self::Absent(Absent::NoTest) => say!(lang, "not measured", "測定していません"),
            Self::Absent(Absent::NoQuantity(known)) => say!(
                lang,
                "no such quantity; there is {known}",
                "この値はありません。あるのは {known} です",
                known = known.join(", ")
            ),
            Self::Absent(Absent::NoValue(why)) => missing(Some(why), lang),
            Self::SetOtherwise => say!(
                lang,
                "measured with other parameters than the test's own",
                "テスト本来のパラメーターで測定していません"
            ),
            Self::NoLevel { level, unit } => say!(
                lang,
                "`{level}` is no level of a figure in {unit}",
                "`{level}` は {unit} の値の水準ではありません"
            ),
            Self::DeclaredOtherwise => say!(
                lang,
                "its unit or its good direction is another one",
                "単位または良い方向が異なります"
            ),
            Self::MeasuredOtherwise => say!(
                lang,
                "it measured another version, or with other parameters",
                "バージョンまたはパラメーターが異なります"
            ),
        }
    }
}

impl From<WhyNot> for String {
    fn from(why: WhyNot) -> Self {
        why.text(Lang::En)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_is_said_in_every_language() {
        let all = [
            WhyNot::NoRun,
            WhyNot::Absent(Absent::NoTest),
            WhyNot::Absent(Absent::NoQuantity(vec!["iops".to_owned()])),
            WhyNot::Absent(Absent::NoValue(stats::NO_VALUE.to_owned())),
            WhyNot::SetOtherwise,
            WhyNot::NoLevel {
                level: "3 ms".to_owned(),
                unit: Unit::OpsPerSecond,
            },
            WhyNot::DeclaredOtherwise,
            WhyNot::MeasuredOtherwise,
        ];
        for why in all {
            let [en, ja] = Lang::ALL.map(|lang| why.text(lang));
            assert!(en.is_ascii() && !ja.is_ascii(), "{en} {ja}");
        }
    }
}
