//! The quicksort: compiled three times, each time into a section of the program of its own.

use crate::loops::align::begin_section;

begin_section!(section!(), pad!());

/// Below this length insertion is quicker than another partition (Sedgewick, Comm. ACM 21 (1978) 847: 5 to 20).
const INSERTION_MAX: usize = 12;

/// Hoare's partition around the median of three; the shorter part is sorted by recursion, which bounds its depth.
#[inline(never)]
#[unsafe(link_section = section!())]
pub(super) fn quicksort(mut numbers: &mut [u32]) {
    while numbers.len() > INSERTION_MAX {
        let pivot = median_of_three(numbers);
        let split = partition(numbers, pivot);
        let (low, high) = std::mem::take(&mut numbers).split_at_mut(split);
        if low.len() < high.len() {
            quicksort(low);
            numbers = high;
        } else {
            quicksort(high);
            numbers = low;
        }
    }
    for i in 1..numbers.len() {
        let number = numbers[i];
        let mut hole = i;
        while hole > 0 && numbers[hole - 1] > number {
            numbers[hole] = numbers[hole - 1];
            hole -= 1;
        }
        numbers[hole] = number;
    }
}

#[inline]
fn median_of_three(numbers: &[u32]) -> u32 {
    let (a, b, c) = (
        numbers[0],
        numbers[numbers.len() / 2],
        numbers[numbers.len() - 1],
    );
    a.max(b).min(a.min(b).max(c))
}

/// Puts numbers up to the pivot before those from it on, and returns where the second part begins: neither at the
/// start nor at the end, because the pivot is the median of three numbers that are there.
#[inline]
fn partition(numbers: &mut [u32], pivot: u32) -> usize {
    let (mut low, mut high) = (0, numbers.len());
    loop {
        while numbers[low] < pivot {
            low += 1;
        }
        high -= 1;
        while numbers[high] > pivot {
            high -= 1;
        }
        if low >= high {
            return low.max(1);
        }
        numbers.swap(low, high);
        low += 1;
    }
}

/// Where the code of this clone begins.
#[cfg(test)]
pub(super) fn addresses() -> Vec<usize> {
    vec![(quicksort as *const ()).addr()]
}
