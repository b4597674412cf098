//! Data for the kernels that is like what servers handle: prose, and orders of a shop as JSON.
//!
//! Made from a seed, so that nothing foreign has to be shipped or fetched. The words and how often each is used are
//! the same for every seed; their order differs, so that every round works on other data that is as hard.

use model::num::{approx, round_to_u64, round_to_usize};
use model::rng::Rng;
use serde::{Deserialize, Serialize};

/// Different words in a text: the working vocabulary of a long newspaper article.
const WORDS: usize = 4_000;

/// Seeds the words themselves, which are the same for every text.
const WORDS_SEED: u64 = 0x006b_7572_6162_6521;

const ONSETS: [&str; 20] = [
    "", "b", "br", "c", "ch", "d", "f", "g", "h", "k", "l", "m", "n", "p", "pr", "r", "s", "st",
    "t", "w",
];
const VOWELS: [&str; 8] = ["a", "e", "e", "i", "o", "u", "ea", "ou"];
const CODAS: [&str; 10] = ["", "", "", "n", "r", "s", "t", "l", "nd", "ck"];

fn pick<'a>(rng: &mut Rng, from: &[&'a str]) -> &'a str {
    from[rng.index(from.len())]
}

/// Words of one to four syllables; the frequent ones, which come first, are short.
fn words() -> Vec<String> {
    let mut rng = Rng::new(WORDS_SEED);
    (0..WORDS)
        .map(|rank| {
            let longest = if rank < 100 { 1 } else { 3 };
            (0..=rng.below(longest + 1).min(longest))
                .map(|_| {
                    [
                        pick(&mut rng, &ONSETS),
                        pick(&mut rng, &VOWELS),
                        pick(&mut rng, &CODAS),
                    ]
                    .concat()
                })
                .collect()
        })
        .collect()
}

/// The rank of the next word: the chance of a word is about inversely proportional to its rank, as in natural
/// language (Zipf, Human Behavior and the Principle of Least Effort, 1949).
fn rank(rng: &mut Rng, below: usize) -> usize {
    let most = model::num::count(below + 1);
    let rank = (rng.unit() * most.ln()).exp();
    round_to_usize(rank.floor())
        .saturating_sub(1)
        .min(below - 1)
}

/// Prose of exactly `bytes` bytes: sentences with commas, numbers and paragraphs.
pub(super) fn text(seed: u64, bytes: usize) -> Vec<u8> {
    let words = words();
    let mut rng = Rng::stream(seed, 0x7465_7874);
    let mut out = String::with_capacity(bytes + 64);
    while out.len() < bytes {
        let length = 5 + rng.below(20);
        for i in 0..length {
            let word = &words[rank(&mut rng, words.len())];
            if i == 0 {
                let (first, rest) = word.split_at(1);
                out.push_str(&first.to_ascii_uppercase());
                out.push_str(rest);
            } else if rng.below(60) == 0 {
                out.push_str(&rng.below(3_000).to_string());
            } else {
                out.push_str(word);
            }
            let last = i + 1 == length;
            out.push_str(match (last, rng.below(12)) {
                (true, 0 | 1) => ".\n\n",
                (true, _) => ". ",
                (false, 0) => ", ",
                (false, _) => " ",
            });
        }
    }
    let mut out = out.into_bytes();
    out.truncate(bytes);
    out
}

/// An order as a shop's service would receive it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) id: u64,
    pub(super) created: String,
    pub(super) customer: Customer,
    pub(super) items: Vec<Item>,
    pub(super) paid: bool,
    pub(super) note: Option<String>,
}

/// Who ordered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Customer {
    pub(super) name: String,
    pub(super) email: String,
    pub(super) city: String,
    pub(super) location: [f64; 2],
}

/// What was ordered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Item {
    pub(super) article: String,
    pub(super) quantity: u32,
    pub(super) price: f64,
    pub(super) tags: Vec<String>,
}

/// `count` orders.
pub(super) fn orders(seed: u64, count: usize) -> Vec<Order> {
    let words = words();
    let mut rng = Rng::stream(seed, 0x6a73_6f6e);
    (0..count).map(|_| order(&mut rng, &words)).collect()
}

fn order(rng: &mut Rng, words: &[String]) -> Order {
    let word = |rng: &mut Rng| words[rank(rng, words.len())].clone();
    let several =
        |rng: &mut Rng, n: u64| (0..n).map(|_| word(rng)).collect::<Vec<String>>().join(" ");
    let (name, family) = (word(rng), word(rng));
    let created = format!(
        "2026-{:02}-{:02}T{:02}:{:02}:{:02}Z",
        1 + rng.below(12),
        1 + rng.below(28),
        rng.below(24),
        rng.below(60),
        rng.below(60)
    );
    Order {
        id: rng.below(1 << 40),
        created,
        customer: Customer {
            email: format!("{name}.{family}@example.org"),
            name: format!("{name} {family}"),
            city: word(rng),
            location: [decimal(rng, 180, 1e4), decimal(rng, 90, 1e4)],
        },
        items: (0..=rng.below(4))
            .map(|_| Item {
                article: several(rng, 3),
                quantity: 1 + u32::try_from(rng.below(9)).unwrap_or(0),
                price: decimal(rng, 500, 100.0),
                tags: (0..rng.below(4)).map(|_| word(rng)).collect(),
            })
            .collect(),
        paid: rng.below(2) == 0,
        // One of eight holds characters that JSON has to escape.
        note: (rng.below(8) == 0).then(|| format!("\"{}\"\n{}", several(rng, 5), several(rng, 9))),
    }
}

/// A number below `bound` with the decimals that `parts` of one allow, as prices and coordinates have.
fn decimal(rng: &mut Rng, bound: u64, parts: f64) -> f64 {
    approx(rng.below(round_to_u64(approx(bound) * parts))) / parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_data_and_another_seed_other_data() {
        assert_eq!(text(1, 10_000), text(1, 10_000));
        assert_ne!(text(1, 10_000), text(2, 10_000));
        assert_eq!(orders(1, 20), orders(1, 20));
        assert_ne!(orders(1, 20), orders(2, 20));
        for bytes in [0, 1, 100_000] {
            assert_eq!(text(3, bytes).len(), bytes);
        }
    }

    #[test]
    fn text_compresses_like_prose_whatever_the_seed() {
        let ratios: Vec<f64> = (0..6)
            .map(|seed| {
                let text = text(seed, 1 << 20);
                let packed = zstd::bulk::compress(&text, 3).unwrap();
                model::num::count(text.len()) / model::num::count(packed.len())
            })
            .collect();
        let (lo, hi) = ratios
            .iter()
            .fold((f64::MAX, 0.0_f64), |(lo, hi), &x| (lo.min(x), hi.max(x)));
        // English prose of a megabyte packs 2.5 to 3.5 times at this level.
        assert!((2.3..3.7).contains(&lo), "{ratios:?}");
        assert!(hi / lo < 1.01, "seeds are equally hard: {ratios:?}");
    }

    #[test]
    fn orders_hold_everything_that_json_has() {
        let text = serde_json::to_string(&orders(1, 200)).unwrap();
        for part in [
            "null", "true", "false", "\\\"", "\\n", "[]", ".", "{\"id\":",
        ] {
            assert!(text.contains(part), "{part}");
        }
        let each = model::num::count(text.len()) / 200.0;
        assert!((420.0..460.0).contains(&each), "{each}");
    }
}
