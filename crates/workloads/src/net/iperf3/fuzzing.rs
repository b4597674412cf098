//! Any bytes as what an end of iperf3's protocol says: for `fuzz/` and the tests.

use super::datagram::Width;
use super::frame::{PARAMETERS_MAX, RESULTS_MAX};
use super::{Cookie, Datagram, Parameters, Results, ServerError, State, WireError};

/// What is read of JSON has a few numbers and no more than the text that came.
const PER_BYTE_MAX: usize = 8;

/// One part after the other, each as the first byte before it says, until one is not understood.
pub fn wire(bytes: &[u8]) {
    for width in [Width::Bits32, Width::Bits64] {
        let read = Datagram::read(bytes, width);
        assert_eq!(read.is_some(), bytes.len() >= width.header());
    }
    // What stands without a length, too: a search finds JSON sooner there.
    let _ = Parameters::of(bytes);
    let _ = Results::of(bytes);
    let mut from = bytes;
    while let Some((way, rest)) = from.split_first() {
        from = rest;
        let before = from.len();
        let Err(why) = part(*way, &mut from) else {
            assert!(from.len() < before, "nothing was taken");
            continue;
        };
        assert!(why.to_string().len() < 400, "{why}");
        return;
    }
}

fn part(way: u8, from: &mut &[u8]) -> Result<(), WireError> {
    match way % 5 {
        0 => Cookie::read(from).map(drop),
        1 => {
            let state = State::read(from)?;
            assert_eq!(State::of(state.byte())?, state);
            Ok(())
        }
        2 => ServerError::read(from).map(|error| drop(error.to_string())),
        3 => {
            let read = Parameters::read(from)?;
            assert!(read.all_streams() > 0);
            let _ = read.check().map_err(|error| error.to_string());
            let mut again = Vec::new();
            // Text that is escaped may become longer than it may be.
            if read.write(&mut again).is_ok() {
                assert!(again.len() <= PARAMETERS_MAX as usize + 4);
                let mut back = Parameters::read(&mut again.as_slice())?;
                back.has_authtoken = read.has_authtoken;
                assert_eq!(back, read);
            }
            Ok(())
        }
        _ => {
            let held = from.len();
            let read = Results::read(from)?;
            let text = read.server_output_text.as_ref().map_or(0, String::len);
            assert!(text <= held.min(RESULTS_MAX as usize));
            let all = read.streams.len() * size_of::<super::StreamResults>();
            assert!(all <= held * PER_BYTE_MAX);
            Ok(())
        }
    }
}

/// The files in which a search of this target begins.
#[cfg(test)]
pub(in crate::net) fn seeds(target: &str) -> Vec<Vec<u8>> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let files = std::fs::read_dir(root.join(target)).unwrap().flatten();
    let mut files: Vec<_> = files.map(|file| file.path()).collect();
    files.sort();
    assert!(!files.is_empty());
    files
        .iter()
        .map(|file| std::fs::read(file).unwrap())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_files_of_the_corpus_are_read_to_their_ends() {
        for seed in seeds("iperf3_wire") {
            wire(&seed);
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
            wire(&bytes);
        }

        #[test]
        fn nor_do_changed_files_of_the_corpus(
            seed in any::<prop::sample::Index>(),
            cut in any::<prop::sample::Index>(),
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        ) {
            let seeds = seeds("iperf3_wire");
            let mut bytes = seeds[seed.index(seeds.len())].clone();
            for (place, byte) in &changes {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            wire(&bytes);
            wire(&bytes[..cut.index(bytes.len() + 1)]);
        }
    }
}
