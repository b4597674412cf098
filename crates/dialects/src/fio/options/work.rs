//! Options that say what is done, and to which offsets.

use super::super::draft::Draft;
use super::super::job::{Directions, Distribution};
use super::super::value;
use super::{Kind, OptionDef, block, parts};
use model::job::Pattern;

/// Zones of a distribution at most; fio's limit.
const MAX_ZONES: usize = 256;

/// The table.
pub(super) static OPTIONS: &[OptionDef] = &[
    OptionDef::new(
        "rw",
        "read",
        Kind::Text(PATTERNS, rw),
        "Reads, writes, trims or a mix, in sequence or at random. `:N` behind a \
             sequential pattern leaves out N bytes after each operation; behind a \
             random one it takes a new offset only every N operations.",
    )
    .or(&["readwrite"]),
    OptionDef::new(
        "rw_sequencer",
        "sequential",
        Kind::Choice(&["sequential", "identical"], |d, w| {
            d.job.does.steps.repeats_offset = w == "identical";
        }),
        "What comes between two new offsets of `rw=rand...:N`: the following \
             blocks, or the same one again.",
    ),
    OptionDef::new(
        "bs",
        "4096",
        Kind::Text("one to three sizes: reads, writes, trims", block::sizes),
        "Bytes of an operation. A missing size repeats the one before; a range \
             such as `4k-16k` is read as two sizes, as in fio, with a warning.",
    )
    .or(&["blocksize"]),
    OptionDef::new(
        "bsrange",
        "",
        Kind::Text("one to three ranges", block::ranges),
        "Operation sizes drawn uniformly from the multiples of the smaller end. \
             Wins over `bs`.",
    )
    .or(&["blocksize_range"]),
    OptionDef::new(
        "bssplit",
        "",
        Kind::Text(
            "`SIZE/PERCENT:SIZE/PERCENT`, lists separated by commas",
            block::split,
        ),
        "Operation sizes with their shares; empty shares divide what is left. \
             Wins over `bs` and `bsrange`.",
    ),
    OptionDef::new(
        "bs_unaligned",
        "0",
        Kind::Flag(|d, on| d.job.does.steps.is_unaligned = on),
        "Sizes of a range need not be multiples of its smaller end.",
    )
    .or(&["blocksize_unaligned"]),
    OptionDef::new(
        "ba",
        "",
        Kind::List(1..=u64::MAX, |d, v| d.job.does.steps.align_bytes.merge(v)),
        "What random offsets are multiples of; the operation size where not said.",
    )
    .or(&["blockalign"]),
    OptionDef::new(
        "rwmixread",
        "50",
        Kind::Int(0..=100, |d, n| {
            d.job.does.read_percent = u32::from(percent(n));
        }),
        "Share of reads among reads and writes. Of `rwmixread` and `rwmixwrite` \
             the later one counts.",
    ),
    OptionDef::new(
        "rwmixwrite",
        "50",
        Kind::Int(0..=100, |d, n| {
            d.job.does.read_percent = 100 - u32::from(percent(n));
        }),
        "Share of writes among reads and writes.",
    ),
    OptionDef::new(
        "percentage_random",
        "100",
        Kind::List(0..=100, |d, v| {
            let now = d.job.does.steps.random_percent;
            d.job.does.steps.random_percent = Directions {
                read: v.read.map_or(now.read, percent),
                write: v.write.map_or(now.write, percent),
                trim: v.trim.map_or(now.trim, percent),
            };
        }),
        "Share of operations of a random pattern that take a random offset; the \
             others follow the one before.",
    ),
    OptionDef::new(
        "norandommap",
        "0",
        Kind::Flag(|d, on| d.job.does.repeat_blocks = on),
        "A block may come again before all blocks of the region were visited.",
    ),
    OptionDef::new(
        "randrepeat",
        "1",
        Kind::Bool(|d, on| d.job.repeats.order = on),
        "What is drawn of the work (offsets, sizes, kinds) is the same in every run. `randseed` and `allrandrepeat` \
             make it so as well, as in fio.",
    ),
    OptionDef::new(
        "allrandrepeat",
        "0",
        Kind::Bool(|d, on| d.job.repeats.all = on),
        "The same, whatever `randrepeat` says.",
    ),
    OptionDef::new(
        "randseed",
        "0x89",
        Kind::Int(0..=u64::MAX, |d, n| d.job.seed = n),
        "Seed of what is random; given, it is that of every run.",
    ),
    OptionDef::new(
        "random_generator",
        "tausworthe",
        Kind::Choice(&["tausworthe", "tausworthe64", "lfsr"], |_, _| {}),
        "Which generator was asked for. The order of offsets is this program's \
             own, as even, and needs no map.",
    ),
    OptionDef::new(
        "random_distribution",
        "random",
        Kind::Text(DISTRIBUTIONS, distribution),
        "How often parts of the region are visited: all alike, by Zipf's or \
             Pareto's law, normally distributed, or in zones with a share of the \
             operations each.",
    ),
];

const PATTERNS: &str = "`read`, `write`, `trim`, `randread`, `randwrite`, `randtrim`, `rw`, \
             `readwrite`, `randrw`, `trimwrite`, `randtrimwrite`, each with `:N`";
const DISTRIBUTIONS: &str = "`random`, `zipf:THETA`, `pareto:H`, `normal:DEVIATION`, \
             `zoned:OPS%/SIZE%:...`, `zoned_abs:OPS%/SIZE:...`";

/// A per cent that the table has already bounded.
fn percent(n: u64) -> u8 {
    u8::try_from(n).unwrap_or(100)
}

fn rw(draft: &mut Draft, text: &str) -> Result<(), String> {
    let (word, step) = text
        .split_once(':')
        .map_or((text, None), |(word, step)| (word, Some(step)));
    let Some(pattern) = Pattern::from_word(word) else {
        let trap = if word.starts_with(' ') {
            "a space before the word belongs to it; "
        } else {
            ""
        };
        return Err(format!("{trap}one of {PATTERNS}"));
    };
    let (skip_bytes, ops_per_offset) = match step {
        None => (0, 1),
        Some(step) if pattern.random => {
            let ops = step.parse::<u64>();
            let ops = ops.map_err(|_| "a number of operations behind `:`".to_owned())?;
            (0, ops.max(1))
        }
        Some(step) => (skip(draft, step)?, 1),
    };
    let does = &mut draft.job.does;
    does.pattern = pattern;
    (does.steps.skip_bytes, does.steps.ops_per_offset) = (skip_bytes, ops_per_offset);
    Ok(())
}

/// Bytes left out after each operation; negative goes backwards.
fn skip(draft: &mut Draft, step: &str) -> Result<i64, String> {
    let base = draft.base();
    let (digits, sign) = step
        .strip_prefix('-')
        .map_or((step, 1), |digits| (digits, -1));
    let bytes = parts::size(digits, base, &mut draft.warnings)?;
    let bytes = i64::try_from(bytes).map_err(|_| "a size behind `:`".to_owned())?;
    Ok(sign * bytes)
}

fn distribution(draft: &mut Draft, text: &str) -> Result<(), String> {
    let (word, rest) = text
        .split_once(':')
        .map_or((text, ""), |(word, rest)| (word, rest));
    if let Some(skewed) = skewed(word, rest)? {
        draft.job.does.distribution = skewed;
        return Ok(());
    }
    draft.job.does.distribution = match word {
        "random" => Distribution::Uniform,
        "zoned" => Distribution::Zoned(per_direction(rest, zones)?),
        "zoned_abs" => {
            let base = draft.base();
            let mut warnings = Vec::new();
            let zones = per_direction(rest, |text| absolute_zones(text, base, &mut warnings))?;
            draft.warnings.append(&mut warnings);
            Distribution::ZonedAbsolute(zones)
        }
        _ => return Err(format!("one of {DISTRIBUTIONS}")),
    };
    Ok(())
}

/// The law of that name with what stands behind its `:`; `None` where no law of favourites is called so.
pub(super) fn skewed(word: &str, rest: &str) -> Result<Option<Distribution>, String> {
    Ok(Some(match word {
        "zipf" => {
            let (theta, center) = skew(rest, 1.1)?;
            if theta < 0.0 || (theta - 1.0).abs() < 1e-12 {
                return Err("a theta of 0 or more and not 1".to_owned());
            }
            if theta == 0.0 {
                // Nothing is a favourite.
                return Ok(Some(Distribution::Uniform));
            }
            Distribution::Zipf { theta, center }
        }
        "pareto" => {
            let (power, center) = skew(rest, 0.2)?;
            if power <= 0.0 || power >= 1.0 {
                return Err("a power between 0 and 1".to_owned());
            }
            Distribution::Pareto { power, center }
        }
        "normal" | "gauss" => {
            let deviation_percent = if rest.is_empty() {
                0.0
            } else {
                value::float(rest).ok_or("a number")?
            };
            if !(0.0..100.0).contains(&deviation_percent) {
                return Err("a deviation from 0 to below 100 per cent".to_owned());
            }
            Distribution::Normal { deviation_percent }
        }
        _ => return Ok(None),
    }))
}

/// `THETA` or `THETA:CENTER`.
fn skew(text: &str, default: f64) -> Result<(f64, Option<f64>), String> {
    let (first, center) = text
        .split_once(':')
        .map_or((text, None), |(first, center)| (first, Some(center)));
    let first = if first.is_empty() {
        default
    } else {
        value::float(first).ok_or("a number behind `:`")?
    };
    let center = match center {
        None => None,
        Some(text) => {
            let center = value::float(text).filter(|center| (0.0..=1.0).contains(center));
            Some(center.ok_or("a centre from 0 to 1")?)
        }
    };
    Ok((first, center))
}

fn per_direction<T: Clone>(
    text: &str,
    mut read: impl FnMut(&str) -> Result<Vec<T>, String>,
) -> Result<Directions<Vec<T>>, String> {
    let lists: Vec<Vec<T>> = text.split(',').map(&mut read).collect::<Result<_, _>>()?;
    let [read, rest @ ..] = &lists[..] else {
        return Err("at least one zone".to_owned());
    };
    let write = rest.first().unwrap_or(read);
    let trim = rest.get(1).unwrap_or(write);
    if rest.len() > 2 {
        return Err("at most three lists".to_owned());
    }
    Ok(Directions {
        read: read.clone(),
        write: write.clone(),
        trim: trim.clone(),
    })
}

/// `OPS%/SIZE%` with empty sizes that share what is left.
fn zones(text: &str) -> Result<Vec<(u8, u8)>, String> {
    let entries = parts::shares(text, MAX_ZONES)?;
    let given: u32 = entries
        .iter()
        .filter_map(|(_, size)| *size)
        .map(u32::from)
        .sum();
    if given > 100 {
        return Err("sizes that add up to at most 100 per cent".to_owned());
    }
    let blanks =
        u32::try_from(entries.iter().filter(|(_, size)| size.is_none()).count()).unwrap_or(1);
    let each = u8::try_from((100 - given) / blanks.max(1)).unwrap_or(0);
    let mut zones = Vec::new();
    for (ops, size) in &entries {
        zones.push((operations(ops)?, size.unwrap_or(each)));
    }
    complete(zones.iter().map(|(ops, _)| *ops))?;
    Ok(zones)
}

fn absolute_zones(
    text: &str,
    base: value::KbBase,
    warnings: &mut Vec<String>,
) -> Result<Vec<(u8, u64)>, String> {
    let mut zones = Vec::new();
    for entry in text.split(':').filter(|entry| !entry.is_empty()) {
        let (ops, size) = entry.split_once('/').ok_or("`OPS%/SIZE`")?;
        if zones.len() == MAX_ZONES {
            return Err(format!("at most {MAX_ZONES} zones"));
        }
        zones.push((operations(ops)?, parts::size(size, base, warnings)?));
    }
    complete(zones.iter().map(|(ops, _)| *ops))?;
    Ok(zones)
}

fn operations(text: &str) -> Result<u8, String> {
    text.trim()
        .parse()
        .ok()
        .filter(|ops| *ops <= 100)
        .ok_or_else(|| format!("`{text}` is no share of the operations"))
}

fn complete(shares: impl Iterator<Item = u8>) -> Result<(), String> {
    let sum: u32 = shares.map(u32::from).sum();
    if sum == 100 {
        Ok(())
    } else {
        Err(format!(
            "shares of the operations that add up to 100, not {sum}"
        ))
    }
}
