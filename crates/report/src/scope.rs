//! What conclusions are about, in words: which machines, and for how long they were watched.

use crate::lang::{Lang, say};
use crate::number::counted;
use model::comparison::{Place, Scope, Watched};
use model::units::Nanos;

/// The scope, ready to follow a heading.
pub(crate) fn text(scope: &Scope, lang: Lang) -> String {
    let when = watched(scope.watched, lang);
    let place = place(scope.place, lang);
    match (scope.place, when) {
        (Place::Plan { .. } | Place::Runs { .. }, _) | (_, None) => place,
        (_, Some(when)) => say!(lang, "{place}, {when}", "{place}、{when}"),
    }
}

fn place(place: Place, lang: Lang) -> String {
    match place {
        Place::OneInstance => say!(lang, "this instance", "このインスタンス"),
        Place::TwoInstances => say!(lang, "these two instances", "この 2 台のインスタンス"),
        Place::TwoRuns => say!(lang, "these two runs", "この 2 件の測定"),
        Place::Plan { base, other } => say!(
            lang,
            "this plan ({base} and {other} instances)",
            "このプラン（{base} 台と {other} 台）"
        ),
        Place::Runs { base, other } => say!(
            lang,
            "these {base} and {other} runs, no plan",
            "この {base} 件と {other} 件の測定（プラン全体ではありません）"
        ),
    }
}

/// For how long; nothing where that is not known, as of what another program measured.
fn watched(watched: Watched, lang: Lang) -> Option<String> {
    Some(match watched {
        Watched::Once { span } => {
            let span = Span::of(span);
            let length = length(span, lang);
            match (span, lang) {
                (Span::Seconds(1), Lang::En) => "this second".to_owned(),
                (Span::Seconds(0) | Span::DayAndMore(_), _) => length,
                (_, Lang::En) => format!("these {length}"),
                (_, Lang::Ja) => format!("今回の {length}"),
            }
        }
        Watched::NotKnown {} => return None,
        Watched::Twice { base, other, apart } => {
            let [base, other] = [base, other].map(|span| length(Span::of(span), lang));
            let spans = if base == other {
                say!(lang, "{base} each", "それぞれ {base}")
            } else {
                say!(lang, "{base} and {other}", "{base}と {other}")
            };
            let apart = distance(apart, lang);
            say!(
                lang,
                "{spans}, begun {apart} apart",
                "{spans}（開始時刻の差は {apart}）"
            )
        }
    })
}

fn length(span: Span, lang: Lang) -> String {
    match span {
        Span::Seconds(0) => lang.pick("less than a second", "1 秒未満").to_owned(),
        Span::Seconds(n) => lang.pick(counted(n, "second", "seconds"), format!("{n} 秒間")),
        Span::Minutes(n) => lang.pick(counted(n, "minute", "minutes"), format!("{n} 分間")),
        Span::Hours(n) | Span::DayAndMore(n) => {
            lang.pick(counted(n, "hour", "hours"), format!("{n} 時間"))
        }
    }
}

/// What lies between two instants; in days where the later was on another day.
fn distance(apart: Nanos, lang: Lang) -> String {
    let hours = apart.0 / 3_600_000_000_000;
    if hours >= 48 {
        let days = (hours + 12) / 24;
        return lang.pick(counted(days, "day", "days"), format!("{days} 日"));
    }
    let length = length(Span::of(apart), lang);
    let distance = length.strip_suffix('間');
    let distance = distance.filter(|_| !length.ends_with("時間"));
    distance.map_or_else(|| length.clone(), ToOwned::to_owned)
}

/// A length of time in one unit, rounded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Span {
    /// Up to a minute and a half.
    Seconds(u64),
    /// Up to an hour and a half.
    Minutes(u64),
    /// Less than most of a day.
    Hours(u64),
    /// A day's round or more: every hour of the day was seen.
    DayAndMore(u64),
}

impl Span {
    /// A day's round in hours, less what a run may stop short of it.
    const DAY_HOURS: u64 = 23;

    const fn of(span: Nanos) -> Self {
        // Begun seconds do not count, as in `number::duration`: both stand on one page.
        let seconds = span.0 / 1_000_000_000;
        let hours = (seconds + 1800) / 3600;
        match seconds {
            0..90 => Self::Seconds(seconds),
            90..5400 => Self::Minutes((seconds + 30) / 60),
            _ if hours < Self::DAY_HOURS => Self::Hours(hours),
            _ => Self::DayAndMore(hours),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_gives_its_time_in_one_unit() {
        let check = |seconds: u64, en: &str, ja: &str| {
            let scope = Scope {
                place: Place::OneInstance,
                watched: Watched::Once {
                    span: Nanos::from_secs(seconds),
                },
            };
            assert_eq!(text(&scope, Lang::En), format!("this instance, {en}"));
            assert_eq!(text(&scope, Lang::Ja), format!("このインスタンス、{ja}"));
        };
        check(0, "less than a second", "1 秒未満");
        check(1, "this second", "今回の 1 秒間");
        check(45, "these 45 seconds", "今回の 45 秒間");
        check(700, "these 12 minutes", "今回の 12 分間");
        check(3 * 3600 + 60, "these 3 hours", "今回の 3 時間");
        check(24 * 3600 - 300, "24 hours", "24 時間");
    }

    #[test]
    fn nothing_is_said_of_a_time_that_nobody_knows() {
        let scope = Scope {
            place: Place::TwoRuns,
            watched: Watched::NotKnown {},
        };
        assert_eq!(text(&scope, Lang::En), "these two runs");
        assert_eq!(text(&scope, Lang::Ja), "この 2 件の測定");
    }

    #[test]
    fn runs_apart_give_the_time_of_each_and_how_far_apart_they_began() {
        let check = |seconds: [u64; 3], en: &str, ja: &str| {
            let [base, other, apart] = seconds.map(Nanos::from_secs);
            let scope = Scope {
                place: Place::TwoRuns,
                watched: Watched::Twice { base, other, apart },
            };
            assert_eq!(text(&scope, Lang::En), format!("these two runs, {en}"));
            assert_eq!(text(&scope, Lang::Ja), format!("この 2 件の測定、{ja}"));
        };
        check(
            [18, 23, 41],
            "18 seconds and 23 seconds, begun 41 seconds apart",
            "18 秒間と 23 秒間（開始時刻の差は 41 秒）",
        );
        check(
            [130, 135, 136],
            "2 minutes each, begun 2 minutes apart",
            "それぞれ 2 分間（開始時刻の差は 2 分）",
        );
        check(
            [1, 3600, 3 * 86_400],
            "1 second and 60 minutes, begun 3 days apart",
            "1 秒間と 60 分間（開始時刻の差は 3 日）",
        );
    }

    #[test]
    fn a_scope_and_what_the_run_took_agree() {
        // Below a minute and a half both count seconds, and neither counts one that has only begun.
        for millis in [400, 999, 1000, 1999, 18_600, 41_999, 59_999] {
            let span = Nanos::from_millis(millis);
            let took = crate::number::duration(span, Lang::En);
            let scope = Scope {
                place: Place::OneInstance,
                watched: Watched::Once { span },
            };
            let said = text(&scope, Lang::En);
            match took.strip_suffix(" s") {
                Some("1") => assert_eq!(said, "this instance, this second"),
                Some(n) => assert_eq!(said, format!("this instance, these {n} seconds")),
                None => assert_eq!(said, "this instance, less than a second", "{took}"),
            }
        }
    }
}
