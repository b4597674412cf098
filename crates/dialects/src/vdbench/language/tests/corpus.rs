//! Real parameter files that cannot be part of this repository: read, or refused for their hosts.

use super::*;
use crate::figures::testkit::corpus;
use crate::vdbench::language::definitions::Definitions;

#[test]
#[ignore = "corpus: KURABE_CORPUS names a directory with expected.json"]
fn every_definition_of_the_corpus_is_read_or_refused_for_its_host() {
    let mut refused = 0;
    for (path, text, entry) in corpus("vdbenchparm") {
        let facts = &entry["facts"];
        let count = |kind: &str| facts["counts"][kind].as_u64().unwrap_or(0);
        let plan = match plan_of(&[("params", &text)], &[]) {
            Ok(plan) => plan,
            Err(error) => {
                refused += 1;
                assert!(count("hd") > 1, "{path}: {error}");
                assert!(
                    error.to_string().contains("`hd` is refused"),
                    "{path}: {error}"
                );
                continue;
            }
        };
        assert_eq!(plan.runs.len() as u64, count("rd"), "{path}");
        let mut reader = Reader::new(&crate::fio::testkit::Nowhere, BTreeMap::new());
        for line in plan.lines {
            reader.argument(&line, Place::default()).unwrap();
        }
        let mut definitions = Definitions::default();
        for line in std::mem::take(&mut reader.lines) {
            definitions.add(line).unwrap();
        }
        for kind in [Kind::Wd, Kind::Fwd, Kind::Rd] {
            let all = facts["definitions"][kind.word()].as_array();
            for entry in all
                .into_iter()
                .flatten()
                .filter(|entry| entry["name"] != "default")
            {
                let found = definitions
                    .of(kind)
                    .find(|one| entry["name"] == one.name.as_str());
                let found = found.unwrap_or_else(|| panic!("{path}: {entry}"));
                for (word, value) in entry["values"].as_object().unwrap() {
                    let words::Sought::Found(word) = words::find(kind, word) else {
                        panic!("{path}: {word}");
                    };
                    let own = found.get(word.name).unwrap();
                    assert_eq!(
                        value,
                        own.value.to_string().as_str(),
                        "{path}: {}",
                        word.name
                    );
                }
            }
        }
    }
    assert_eq!(refused, 2, "those that name other hosts");
}
