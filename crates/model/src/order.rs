//! Sorting in as little code as possible.
//!
//! The standard library compiles its sort anew for every type and every way to compare: 3 to 10 kB each, and the
//! program sorted more than a hundred. Here numbers of places are sorted, by one sort for all, and the items go to
//! their places afterwards. A comparison is a call then, which nobody notices where hundreds are sorted; whoever sorts
//! samples asks the standard library.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Items that can be put in order.
pub trait Order<T> {
    /// Puts the items in order; equal ones stay as they are to each other.
    fn order(&mut self)
    where
        T: Ord;

    /// Like [`Order::order`], by a comparison.
    fn order_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Like [`Order::order`], by what `key` says of each.
    fn order_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> Order<T> for [T] {
    fn order(&mut self)
    where
        T: Ord,
    {
        self.order_by(T::cmp);
    }

    fn order_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut places = places(self.len(), &mut |a, b| compare(&self[a], &self[b]));
        // Each round of places that follow each other is gone along once, with one item on the way.
        for start in 0..self.len() {
            let mut at = start;
            loop {
                let from = std::mem::replace(&mut places[at], at);
                if from == start {
                    break;
                }
                self.swap(at, from);
                at = from;
            }
        }
    }

    fn order_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.order_by(|a, b| key(a).cmp(&key(b)));
    }
}

/// Where the items of each place come from: the only sort there is.
fn places(n: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..n).collect();
    places.sort_by(|&a, &b| compare(a, b));
    places
}

/// What can be kept by its keys.
///
/// A map that is collected sorts everything first, which is what [`Order`] is there to spare; so it takes one by one.
pub trait Keyed: IntoIterator + Sized {
    /// A map of these pairs; of those with the same key the last one counts.
    fn into_map<K: Ord, V>(self) -> BTreeMap<K, V>
    where
        Self: IntoIterator<Item = (K, V)>,
    {
        let mut map = BTreeMap::new();
        for (key, value) in self {
            map.insert(key, value);
        }
        map
    }

    /// A set of these.
    fn into_set(self) -> BTreeSet<Self::Item>
    where
        Self::Item: Ord,
    {
        let mut set = BTreeSet::new();
        for item in self {
            set.insert(item);
        }
        set
    }
}

impl<I: IntoIterator> Keyed for I {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    #[test]
    fn order_is_that_of_the_standard_library() {
        let mut rng = Rng::new(7);
        for n in 0..200 {
            let items: Vec<(u64, usize)> = (0..n).map(|at| (rng.below(20), at)).collect();
            let mut expected = items.clone();
            expected.sort_by_key(|item| item.0);
            let mut ordered = items.clone();
            ordered.order_by_key(|item| item.0);
            assert_eq!(ordered, expected, "{items:?}");
            expected.sort_by(|a, b| b.cmp(a));
            ordered.order_by(|a, b| b.cmp(a));
            assert_eq!(ordered, expected);
            ordered.order();
            assert!(ordered.is_sorted());
        }
    }

    #[test]
    fn maps_and_sets_are_those_that_are_collected() {
        let pairs = [(2, 'a'), (1, 'b'), (2, 'c')];
        assert_eq!(
            pairs.into_map(),
            pairs.into_iter().collect::<BTreeMap<_, _>>()
        );
        assert_eq!([2, 1, 2].into_set(), BTreeSet::from([1, 2]));
    }
}
