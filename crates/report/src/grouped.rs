//! What shares a line: items of which the same is said, and the names of all of them.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// The items of each key, in the order of the first of each.
pub(crate) fn grouped<K: PartialEq, T>(items: impl Iterator<Item = (K, T)>) -> Vec<(K, Vec<T>)> {
    let mut groups: Vec<(K, Vec<T>)> = Vec::new();
    for (key, item) in items {
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(item),
            None => groups.push((key, vec![item])),
        }
    }
    groups
}

/// The name of each of `here`, once; in place of the parts of a whole that are all here, that of the whole. `all` has
/// the whole of every part that there is.
pub(crate) fn names<W>(here: &[(W, String)], all: impl Iterator<Item = W>) -> Vec<String>
where
    W: Copy + Eq + Hash + ToString,
{
    let parts_here = counted(here.iter().map(|(whole, _)| *whole));
    let parts = counted(all);
    let mut named = HashSet::new();
    let name = |(whole, own): &(W, String)| {
        if parts_here.get(whole) == parts.get(whole) {
            whole.to_string()
        } else {
            own.clone()
        }
    };
    let names = here.iter().map(name);
    names.filter(|name| named.insert(name.clone())).collect()
}

fn counted<W: Eq + Hash>(wholes: impl Iterator<Item = W>) -> HashMap<W, usize> {
    let mut counted = HashMap::new();
    for whole in wholes {
        *counted.entry(whole).or_default() += 1;
    }
    counted
}
