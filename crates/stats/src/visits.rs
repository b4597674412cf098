//! At how many times a machine was seen. What runs of it differ by comes with the hour, so that rounds of one
//! quarter of an hour say nothing of it, however many runs they are of.

/// Rounds that began so far apart, in ns, saw the machine at two times.
pub(crate) const APART: u64 = 20 * 60 * 1_000_000_000;

/// The times at which it was seen, out of those at which rounds or runs began: the first, and each that is
/// [`APART`] from the one before it.
pub(crate) fn visits(began: impl IntoIterator<Item = u64>) -> Vec<u64> {
    let mut began: Vec<u64> = began.into_iter().collect();
    began.sort_unstable();
    let mut times: Vec<u64> = Vec::new();
    for at in began {
        if times.last().is_none_or(|last| at - last >= APART) {
            times.push(at);
        }
    }
    times
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_began_close_together_is_one_visit() {
        let minutes = |began: &[u64]| {
            let times = visits(began.iter().map(|minute| minute * 60_000_000_000));
            let times = times.into_iter().map(|at| at / 60_000_000_000);
            times.collect::<Vec<_>>()
        };
        assert_eq!(minutes(&[]), [0; 0]);
        assert_eq!(minutes(&[30, 0, 19, 20, 39, 41]), [0, 20, 41]);
    }
}
