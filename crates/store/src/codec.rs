//! Model types as JSON text that is proven to read back as the same value, with a digest against bit rot.
//!
//! JSON has no NaN and no infinity, and serde writes `null` for them without a word. So every text is read back and
//! compared before it is kept: it costs microseconds per round, outside of anything measured, and holds for every
//! field that may be added later. The digest finds what neither SQLite's structure check nor JSON's grammar can: a
//! digit that became another digit.

use crate::error::StoreError;
use kept::Kept;
use model::digest::Digest;
use model::record::Round;

/// `value` as JSON on one line.
pub(crate) fn encode<T>(what: &str, value: &T) -> Result<String, StoreError>
where
    T: Kept + PartialEq,
{
    let unkeepable = |why: String| StoreError::Unkeepable {
        what: what.to_owned(),
        why,
    };
    let text = value
        .write()
        .map_err(|error| unkeepable(error.to_string()))?;
    match T::read(&text) {
        Ok(back) if back == *value => Ok(text),
        _ => Err(unkeepable("a number in it is NaN or infinite".to_owned())),
    }
}

/// A round as JSON on one line; the error names the field that cannot be kept.
pub(crate) fn encode_round(round: &Round) -> Result<String, StoreError> {
    let what = format!("round {} of `{}`", round.seq, round.case);
    encode(&what, round).map_err(|error| match culprit(round) {
        Some(why) => StoreError::Unkeepable { what, why },
        None => error,
    })
}

/// The digest of the texts that belong together. Each is followed by its length, so that none can borrow from the
/// next.
pub(crate) fn digest(texts: &[&str]) -> Digest {
    texts.iter().fold(Digest::EMPTY, |digest, text| {
        digest.bytes(text.as_bytes()).word(text.len() as u64)
    })
}

/// The digests of four texts, each alone.
pub(crate) fn digest_each(texts: [&str; 4]) -> [Digest; 4] {
    let mut digests = Digest::side_by_side([Digest::EMPTY; 4], texts.map(str::as_bytes));
    for (digest, text) in digests.iter_mut().zip(texts) {
        *digest = digest.word(text.len() as u64);
    }
    digests
}

/// Which number of a round is NaN or infinite, where it is one of those that a workload computes.
fn culprit(round: &Round) -> Option<String> {
    let measured = round.told()?;
    let values = measured.values.iter().map(|(name, &x)| (name.clone(), x));
    let windows = measured
        .windows
        .iter()
        .enumerate()
        .map(|(index, &x)| (format!("window {}", index + 1), x));
    let copies = measured
        .copies
        .iter()
        .enumerate()
        .flat_map(|(index, copy)| {
            let work = std::iter::once((format!("work of copy {index}"), copy.work));
            let reported = copy
                .reported
                .iter()
                .map(move |(name, &x)| (format!("{name} of copy {index}"), x));
            work.chain(reported)
        });
    let apart = measured
        .copies
        .iter()
        .enumerate()
        .flat_map(|(index, copy)| {
            let series = copy.apart.iter().flat_map(|detail| &detail.series);
            series.map(move |(name, series)| (format!("{name} of copy {index}"), series))
        });
    let together = measured.series.iter();
    let together = together.map(|(name, series)| (name.clone(), series));
    let series = together.chain(apart).flat_map(|(name, series)| {
        let values = series.values.iter().flatten();
        values.map(move |&x| (name.clone(), x))
    });
    values
        .chain(windows)
        .chain(copies)
        .chain(series)
        .find(|(_, x)| !x.is_finite())
        .map(|(name, x)| format!("`{name}` is {x}, which is no number that can be kept"))
}
