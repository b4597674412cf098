//! Histograms in fio's buckets.
//!
//! Below 128 ns each nanosecond has its own; above, every power of two is cut into 64, and a bucket is named by its
//! middle. Learned from the keys that `json+` prints.

/// Each power of two has so many buckets.
const PER_OCTAVE: u64 = 64;

/// The name of the bucket in which `ns` lies.
pub(super) fn middle(ns: u64) -> u64 {
    if ns < 2 * PER_OCTAVE {
        return ns;
    }
    let width = (1 << ns.ilog2()) / PER_OCTAVE;
    (ns / width).saturating_mul(width).saturating_add(width / 2)
}

/// Pairs of nanoseconds and counts, sorted, in fio's buckets.
pub(super) fn bins(pairs: &[(u64, u64)]) -> Vec<(u64, u64)> {
    let mut bins: Vec<(u64, u64)> = Vec::new();
    for (ns, count) in pairs {
        let middle = middle(*ns);
        match bins.last_mut() {
            Some((last, sum)) if *last == middle => *sum = sum.saturating_add(*count),
            _ => bins.push((middle, *count)),
        }
    }
    bins
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_have_the_names_that_fio_prints() {
        // Keys of real json+ outputs of fio 3.33; each lies in its own bucket.
        for key in [
            57, 126, 169, 213, 470, 708, 764, 1080, 1304, 8160, 823_296, 2_007_040, 3_948_544,
            4_620_288, 12_648_448,
        ] {
            assert_eq!(middle(key), key);
        }
        assert_eq!(middle(128), 129);
        assert_eq!(middle(u64::MAX), u64::MAX - (1 << 56) + 1);
    }

    #[test]
    fn no_sample_is_lost() {
        let pairs: Vec<(u64, u64)> = (0..5000).map(|ns| (ns * 7, 3)).collect();
        let bins = bins(&pairs);
        assert_eq!(bins.iter().map(|(_, count)| count).sum::<u64>(), 15_000);
        assert!(bins.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
