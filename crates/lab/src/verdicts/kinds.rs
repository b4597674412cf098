//! Every kind, with what is promised of it.

use super::kind::{Batch, Between, Kind, MARGIN, Rounds, Runs, Tests};
use super::noises::{self, Course};
use super::score::{Bounds, CLASS, EARLIER, GIVEN, SHIPPED};

const METRICS: [usize; 4] = [1, 6, 24, 100];

const ROUNDS: [(usize, usize); 6] = [(6, 6), (9, 9), (13, 13), (28, 28), (6, 28), (9, 28)];

const DEVIATIONS: [f64; 3] = [0.005, 0.01, 0.02];

/// Machines and runs from which the program can tell what runs differ by.
const KNOWN: [(&str, Runs, &str); 6] = [
    (
        "one machine, 20 earlier runs",
        Runs::with_earlier(Batch::apart(20)),
        EARLIER,
    ),
    (
        "one machine, 5 earlier runs",
        Runs::with_earlier(Batch::apart(5)),
        EARLIER,
    ),
    ("one machine, three runs a side", Runs::THREE_A_SIDE, GIVEN),
    (
        "two machines, 20 earlier runs",
        Runs::with_earlier(Batch::apart(20)).of_two_machines(),
        EARLIER,
    ),
    (
        "two machines, 5 earlier runs",
        Runs::with_earlier(Batch::apart(5)).of_two_machines(),
        EARLIER,
    ),
    (
        "two machines, three runs a side",
        Runs::THREE_A_SIDE.of_two_machines(),
        GIVEN,
    ),
];

/// The same where runs follow one another, or see several hours: what one sitting shows is not what hours differ by.
const SITTINGS: [(&str, Runs, &str); 6] = [
    (
        "20 earlier runs in five sittings",
        Runs::with_earlier(Batch {
            runs: 20,
            per_sitting: 4,
        }),
        EARLIER,
    ),
    (
        "20 earlier runs in one sitting",
        Runs::with_earlier(Batch::at_once(20)),
        CLASS,
    ),
    (
        "three runs a side, each side in one sitting",
        Runs {
            side: Batch::at_once(3),
            ..Runs::TWO
        },
        CLASS,
    ),
    (
        "nine runs a side, each side in three sittings",
        Runs {
            side: Batch {
                runs: 9,
                per_sitting: 3,
            },
            ..Runs::TWO
        },
        GIVEN,
    ),
    (
        "two runs, each spread over nine hours",
        Runs {
            spread: true,
            ..Runs::TWO
        },
        CLASS,
    ),
    (
        "20 earlier runs and two, each spread over nine hours",
        Runs {
            spread: true,
            ..Runs::with_earlier(Batch::apart(20))
        },
        EARLIER,
    ),
];

/// All of them.
pub(super) fn all() -> Vec<Kind> {
    [
        independent(),
        ended_at_targets(),
        dependent(),
        dependent_at_the_margin(),
        of_a_shared_course(),
        between_runs(),
        in_sittings(),
        by_figures(),
        in_slow_moments(),
        in_duels(),
        power(),
    ]
    .concat()
}

fn independent() -> Vec<Kind> {
    let mut kinds = Vec::new();
    for (name, noise) in noises::PAIRS {
        for n in ROUNDS {
            let rounds = Rounds {
                n,
                noise,
                ..Rounds::NINE
            };
            kinds.extend(METRICS.map(|metrics| {
                let kind = Kind::of(&format!("independent, {name}"), metrics, rounds);
                as_independent(kind)
            }));
            let some = Kind::of(&format!("5 of 100 differ, {name}"), 100, rounds);
            let some = some.differing(5, 1.3).bounded(Bounds::FALSE_DISCOVERIES);
            kinds.push(some);
        }
    }
    kinds
}

fn as_independent(kind: Kind) -> Kind {
    let bounds = Bounds::INDEPENDENT.covering(93.5);
    if kind.metrics == 1 {
        kind.bounded(bounds).remarked(
            "no upper bound of coverage: one test alone cannot show that its rounds are independent",
        )
    } else {
        kind.bounded(bounds.covering_at_most(98.5))
    }
}

fn ended_at_targets() -> Vec<Kind> {
    let kinds = noises::PAIRS.map(|(name, noise)| {
        let rounds = Rounds {
            n: (28, 28),
            noise,
            target: true,
            ..Rounds::NINE
        };
        let equal = Kind::of(&format!("target, {name}"), 24, rounds);
        let apart = Kind::of(&format!("target, at the margin, {name}"), 24, rounds);
        [as_independent(equal), at_the_margin(apart)]
    });
    kinds.concat()
}

/// A kind for each dependence, number of rounds and number of metrics, of rounds that keep what `course` makes of it.
fn of_courses(
    rhos: &[f64],
    numbers: &[(usize, usize)],
    course: fn(f64) -> Course,
    name: impl Fn(f64) -> String,
) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for &rho in rhos {
        for &n in numbers {
            let rounds = Rounds {
                n,
                noise: noises::BOTH_TWO_PERCENT,
                course: course(rho),
                ..Rounds::NINE
            };
            kinds.extend(METRICS.map(|metrics| Kind::of(&name(rho), metrics, rounds)));
        }
    }
    kinds
}

fn dependent() -> Vec<Kind> {
    let kinds = of_courses(&[0.5, 0.8], &ROUNDS, Course::Own, |rho| {
        format!("dependent {rho}")
    });
    let bounded = kinds.into_iter().map(|kind| match kind.metrics {
        1 => kind
            .bounded(Bounds::SURE)
            .remarked("no bound of coverage: one test alone cannot show its dependence"),
        2..=6 => kind
            .bounded(Bounds::SURE)
            .remarked("no bound of coverage: six tests hardly show their dependence"),
        _ => kind.bounded(Bounds::SURE.covering(93.0)),
    });
    bounded.collect()
}

fn dependent_at_the_margin() -> Vec<Kind> {
    let kinds = of_courses(&[0.5, 0.8], &ROUNDS, Course::Own, |rho| {
        format!("dependent {rho}, at the margin")
    });
    kinds.into_iter().map(at_the_margin).collect()
}

/// All metrics differ by as much as still counts as the same.
fn at_the_margin(kind: Kind) -> Kind {
    let metrics = kind.metrics;
    kind.differing(metrics, 1.0 + MARGIN)
        .bounded(Bounds::AT_THE_MARGIN)
}

fn of_a_shared_course() -> Vec<Kind> {
    let kinds = of_courses(&[0.8], &[(9, 9), (28, 28)], Course::HalfShared, |rho| {
        format!("common AR(1) {rho} plus own noise, half of the variance each")
    });
    let reported = kinds
        .into_iter()
        .map(|kind| kind.remarked("no bound: dependence is estimated from each test's own course"));
    reported.collect()
}

/// A kind for each deviation, per metric and common to all, each way to know it, and each number of metrics.
fn of_runs(name: &str, deviations: &[f64], known: &[(&str, Runs, &'static str)]) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for &deviation in deviations {
        for common in [false, true] {
            let between = Between { deviation, common };
            for &(what, runs, source) in known {
                let what = format!("{name}, {}, {what}", between.words());
                kinds.extend(METRICS.map(|metrics| {
                    Kind::of(&what, metrics, Rounds::NINE).of_runs(between, runs, source)
                }));
            }
        }
    }
    kinds
}

fn between_runs() -> Vec<Kind> {
    let kinds = of_runs("between runs", &DEVIATIONS, &KNOWN).into_iter();
    kinds.map(|kind| kind.bounded(Bounds::SURE)).collect()
}

fn in_sittings() -> Vec<Kind> {
    let kinds = of_runs("sittings", &DEVIATIONS, &SITTINGS).into_iter();
    kinds.map(|kind| kind.bounded(Bounds::SURE)).collect()
}

/// Two runs of a machine of which nothing else is known, judged by what others saw.
fn by_figures() -> Vec<Kind> {
    let class = of_runs(
        "by the class's 3 %",
        &DEVIATIONS,
        &[("two runs", Runs::TWO, CLASS)],
    );
    let shipped = of_runs(
        "by a shipped figure",
        &DEVIATIONS,
        &[("two runs", Runs::TWO, SHIPPED)],
    );
    let shipped = shipped.into_iter().map(|kind| Kind {
        tests: Tests::Shipped,
        ..kind.remarked("no bound: a figure of other machines")
    });
    let class = class.into_iter().map(|kind| kind.bounded(Bounds::SURE));
    class.chain(shipped).collect()
}

/// Rounds with windows, so that slow moments are judged.
fn in_slow_moments() -> Vec<Kind> {
    let mut kinds = Vec::new();
    for (name, noise) in noises::PAIRS {
        for n in [(6, 6), (9, 9), (28, 28), (6, 28)] {
            let rounds = Rounds {
                n,
                noise,
                windows: true,
                ..Rounds::NINE
            };
            kinds.push(as_independent(Kind::of(
                &format!("slow moments, {name}"),
                24,
                rounds,
            )));
        }
    }
    let rounds = Rounds {
        windows: true,
        ..Rounds::NINE
    };
    for common in [false, true] {
        let deviation = 0.01;
        let between = Between { deviation, common };
        for (what, runs, source) in KNOWN {
            let what = format!("slow moments, {}, {what}", between.words());
            let kind = Kind::of(&what, 24, rounds).of_runs(between, runs, source);
            kinds.push(kind.bounded(Bounds::SURE));
        }
    }
    kinds
}

/// Ways to look for a difference.
const WAYS: [(&str, Runs, &str); 3] = [
    (
        "one run against one, 20 earlier runs",
        Runs::with_earlier(Batch::apart(20)),
        EARLIER,
    ),
    ("one run against one, the class's 3 %", Runs::TWO, CLASS),
    ("three runs a side", Runs::THREE_A_SIDE, GIVEN),
];

/// Of how many metrics how many differ.
const DIFFERING: [(usize, usize, &str); 3] = [
    (1, 1, ""),
    (1, 100, ", one differs"),
    (100, 100, ", all differ"),
];

/// Equal servers in pairs, which Student's t alone judges.
fn in_duels() -> Vec<Kind> {
    let pairs = noises::PAIRS
        .iter()
        .flat_map(|pair| [6, 9, 13].map(|n| (pair, n)));
    let kinds = pairs.map(|(&(name, noise), n)| {
        let rounds = Rounds {
            n: (n, n),
            noise,
            ..Rounds::NINE
        };
        let kind = Kind {
            runs: Runs::DUEL,
            source: None,
            ..Kind::of(&format!("duel, {name}"), 24, rounds)
        };
        kind.remarked("no bound: for the method page")
    });
    kinds.collect()
}

/// How often a difference is called `worse`.
fn power() -> Vec<Kind> {
    let mut kinds = Vec::new();
    for slower in [3_u8, 5, 10] {
        for (differing, metrics, which) in DIFFERING {
            let of = |way: &str| {
                let what = format!("power, {slower} % slower, {way}{which}");
                let kind = Kind::of(&what, metrics, Rounds::NINE);
                // The base is so much faster: the smaller of the two readings of a difference.
                kind.differing(differing, 1.0 / (1.0 + f64::from(slower) / 100.0))
            };
            let duel = Kind {
                runs: Runs::DUEL,
                source: None,
                ..of("duel, nine pairs")
            };
            kinds.push(with_power(duel, slower));
            for deviation in [0.005, 0.01] {
                let between = Between {
                    deviation,
                    common: false,
                };
                for (way, runs, source) in WAYS {
                    let way = format!("{way}, {} % between runs", 100.0 * deviation);
                    let kind = of(&way).of_runs(between, runs, source);
                    kinds.push(with_power(kind, slower));
                }
            }
        }
    }
    kinds
}

/// What is promised: one metric that is 5 % slower is found by a duel, and by three runs a side that differ by 0.5 %.
fn with_power(kind: Kind, slower: u8) -> Kind {
    let three = kind.source == Some(GIVEN) && kind.between.deviation < 0.01;
    if slower == 5 && kind.metrics == 1 && (kind.runs.duel || three) {
        kind.bounded(Bounds::POWER)
    } else {
        kind.remarked("no bound: for the table of the method page")
    }
}
