//! Any bytes as what a client with the token asks, and as what a server answers: for `fuzz/` and the tests.

use super::hello::{Hello, Kind};
use super::words::{Answer, FLOWS_MAX, MESSAGE_MAX, Request, SECONDS_MAX};
use crate::net::iperf3::cookie::COOKIE_BYTES;
use crate::net::iperf3::wire_error::WireError;

/// One frame after the other, as the first byte before it says, until one is not understood.
pub fn words(bytes: &[u8]) {
    if let Some(first) = bytes.first_chunk::<COOKIE_BYTES>()
        && let Some(hello) = Hello::of(*first)
        && let Kind::Data(number) = hello.kind()
    {
        assert!(first[first.len() - 28..].starts_with(&number.to_be_bytes()));
    }
    let mut from = bytes;
    while let Some((way, rest)) = from.split_first() {
        from = rest;
        if let Err(why) = part(*way, &mut from) {
            assert!(why.to_string().len() < 400, "{why}");
            return;
        }
    }
}

fn part(way: u8, from: &mut &[u8]) -> Result<(), WireError> {
    if way.is_multiple_of(2) {
        let request = Request::read(from)?;
        if let Request::Rr(asked) = request {
            assert!((1..=MESSAGE_MAX).contains(&asked.size));
            assert!((1..=SECONDS_MAX).contains(&asked.seconds));
            assert!(asked.up.max(asked.down) <= FLOWS_MAX);
        }
        let mut again = Vec::new();
        request.write(&mut again)?;
        assert_eq!(Request::read(&mut again.as_slice())?, request);
        return Ok(());
    }
    let answer = Answer::read(from)?;
    let mut again = Vec::new();
    // Text that is escaped may become longer than it may be.
    if answer.write(&mut again).is_ok() {
        assert_eq!(Answer::read(&mut again.as_slice())?, answer);
    }
    if let Answer::Facts(machine) = answer {
        let facts = machine.facts();
        let is_line = |text: &str| !text.contains(char::is_control) && text.chars().count() <= 200;
        assert!(facts.iter().all(|fact| is_line(&fact.value)));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::net::iperf3::fuzzing::seeds;
    use proptest::prelude::*;

    #[test]
    fn the_files_of_the_corpus_are_read_to_their_ends() {
        for seed in seeds("kurabe_wire") {
            words(&seed);
            let mut from = seed.as_slice();
            while let Some((way, rest)) = from.split_first() {
                from = rest;
                part(*way, &mut from).unwrap();
            }
        }
    }

    proptest! {
        #[test]
        fn no_bytes_break_it(bytes in proptest::collection::vec(any::<u8>(), 0..500)) {
            words(&bytes);
        }

        #[test]
        fn nor_do_changed_files_of_the_corpus(
            seed in any::<prop::sample::Index>(),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            let seeds = seeds("kurabe_wire");
            let mut bytes = seeds[seed.index(seeds.len())].clone();
            for (place, byte) in &changes {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            words(&bytes);
        }
    }
}
