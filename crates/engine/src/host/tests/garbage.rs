//! No panic, whatever the files hold.

use super::*;
use proptest::prelude::*;

/// Contents that broke some parser somewhere.
const NASTY: [&str; 20] = [
    "",
    "\n",
    "-",
    "-1",
    "99999999999999999999",
    "18446744073709551615",
    "\0\0",
    "[",
    "]",
    "[]",
    ":",
    "a:b",
    "0-4294967295",
    ": : :\n::\n",
    "max",
    "max max",
    "1 2 3 4 5 6 7 8 - ",
    "\\",
    "1 1 8:1 / / rw - overlay o upperdir=/\n",
    "../../..",
];

#[test]
fn nasty_contents_make_no_panic_in_one_file_or_in_all() {
    let probes = probes("x86_64", "/srv/bench", 2);
    // Every file with some of the contents, in turn; a whole machine of each.
    let mut turn = NASTY.iter().cycle();
    for text in MACHINES {
        let entries = entries(text);
        let machine = Machine::build(&entries);
        let tree = Tree::at(machine.0.path());
        let place = |path: &str| machine.0.path().join(path.trim_start_matches('/'));
        let files: Vec<(&String, &String)> = entries
            .iter()
            .filter_map(|(path, entry)| match entry {
                Entry::File { content, .. } => Some((path, content)),
                _ => None,
            })
            .collect();
        for (path, content) in &files {
            for nasty in turn.by_ref().take(3) {
                fs::write(place(path), nasty).unwrap();
                facts_of_any(&tree, &probes);
            }
            fs::write(place(path), content).unwrap();
        }
        for nasty in NASTY {
            for (path, _) in &files {
                fs::write(place(path), nasty).unwrap();
            }
            let found = facts_of_any(&tree, &probes);
            assert!(found.cpu.mhz.known().is_none_or(|mhz| mhz.is_finite()));
        }
    }
}

/// Facts with version lines of whatever program is asked.
fn facts_of_any(tree: &Tree, probes: &Probes) -> HostFacts {
    facts(
        tree,
        &Probes {
            version: |_, _| Fact::Known("x 1".to_owned()),
            ..probes.clone()
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn cut_and_swapped_contents_make_no_panic(
        machine in 0..MACHINES.len(),
        changes in proptest::collection::vec(
            (any::<prop::sample::Index>(), 0..200_usize, any::<bool>(), ".{0,20}"),
            1..40,
        ),
    ) {
        let mut entries = entries(MACHINES[machine]);
        let count = entries.len();
        for (place, cut, swap, junk) in changes {
            let place = place.index(count);
            let other = entries[(place + cut) % count].1.clone();
            let entry = &mut entries[place].1;
            if let (Entry::File { content, .. }, Entry::File { content: other, .. }) = (entry, other) {
                if swap {
                    *content = other;
                } else {
                    *content = content.chars().take(cut).chain(junk.chars()).collect();
                }
            }
        }
        let machine = Machine::build(&entries);
        facts_of_any(&Tree::at(machine.0.path()), &probes("aarch64", "/srv/bench", 2));
    }
}
