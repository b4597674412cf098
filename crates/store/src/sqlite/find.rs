//! Which run the user means: an id, a label, `latest`, `latest~N`, or the beginning or the end of an id.
//!
//! In this order, and the first that fits wins, so that a full id always means that run whatever labels exist. A
//! label given to several runs means the latest of them: that is what "again, under the same name" is for. Each form is
//! one look into an index, so that a hundred thousand runs are as quick as ten; only what to propose for a name that
//! nothing has is looked for among all names.

use super::Store;
use crate::Meant;
use crate::codec;
use crate::error::StoreError;
use model::host::HostFacts;
use model::line::Machine;
use model::order::Order as _;
use model::units::UnixNanos;
use rusqlite::Params;
use std::collections::HashSet;

/// How many suggestions an error shows: more is a list, and `kurabe list` is better at it.
const NEAREST_MAX: usize = 3;

/// How many of the runs an error shows that a beginning of an id may mean.
const CANDIDATES_MAX: u32 = 5;

const BY_ID: &str = "SELECT id FROM runs WHERE id = ?1";
const BY_AGE: &str = "SELECT id FROM runs ORDER BY started DESC, id DESC LIMIT 1 OFFSET ?1";
const BY_LABEL: &str = "SELECT id FROM runs WHERE label = ?1 ORDER BY started DESC, id DESC";
const BY_BEGINNING: &str =
    "SELECT id FROM runs WHERE id >= ?1 AND id < ?2 ORDER BY id DESC LIMIT ?3";
const COUNT_BEGINNING: &str = "SELECT count(*) FROM runs WHERE id >= ?1 AND id < ?2";
/// Those with this tail, which is all of the end or its last part.
const BY_TAIL: &str = "SELECT id FROM runs WHERE tail = ?1 ORDER BY id DESC";
/// Those whose tail begins so.
const BY_TAIL_BEGINNING: &str =
    "SELECT id FROM runs WHERE tail >= ?1 AND tail < ?2 ORDER BY id DESC LIMIT ?3";
const COUNT_TAIL_BEGINNING: &str = "SELECT count(*) FROM runs WHERE tail >= ?1 AND tail < ?2";
const BY_MACHINE: &str = "SELECT id FROM runs WHERE machine = ?1 AND started < ?2 AND ending <> 'open' \
                          AND duel IS NULL AND plan ->> 'soak' IS NULL \
                          ORDER BY started DESC LIMIT ?3";
/// The same expressions as those of the index; what is damaged is said where it is read.
const OFFERED: &str = "SELECT iif(json_valid(meta), meta ->> 'offer', NULL), id FROM runs \
                       WHERE iif(json_valid(meta), meta ->> 'offer', NULL) IS NOT NULL \
                       ORDER BY iif(json_valid(meta), meta ->> 'offer', NULL), started, id";
const IMPORTED: &str = "SELECT meta ->> '$.origin.program', meta ->> '$.origin.file', id FROM runs \
                        WHERE iif(json_valid(meta), meta ->> '$.origin.file', NULL) IS NOT NULL \
                        ORDER BY key";
const COUNT: &str = "SELECT count(*) FROM runs";
const LABELS: &str = "SELECT label FROM runs WHERE label IS NOT NULL GROUP BY label \
                      ORDER BY max(started) DESC";
const IDS: &str = "SELECT id FROM runs ORDER BY started DESC, id DESC";

impl Store {
    /// The id of the run that the user means by an id, a label (the latest run of that name), `latest`, `latest~N`
    /// (N runs before it), or the beginning of an id, or its end from a `-` on, as lists show it,
    /// or the beginning of that.
    pub fn resolve(&self, text: &str) -> Result<String, StoreError> {
        self.meant(text).map(|meant| meant.id)
    }

    /// Likewise, with the other runs of that name.
    pub fn meant(&self, text: &str) -> Result<Meant, StoreError> {
        self.reading("find a run", || {
            let found = self.find(text)?;
            found.map_or_else(|| Err(self.unknown(text)), Ok)
        })
    }

    /// The ids of the latest `most` runs that are over, are no soak and no side of a duel, and began before then on a
    /// machine of the same name and processors, the latest first. Whether that is the same one, their host facts say.
    pub fn earlier(
        &self,
        host: &HostFacts,
        before: UnixNanos,
        most: usize,
    ) -> Result<Vec<String>, StoreError> {
        let machine = codec::encode("the machine of a run", &Machine::of(host))?;
        let before = super::runs::instant(before)?;
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.reading("find earlier runs", || {
            self.names(BY_MACHINE, (&machine, before, most))
        })
    }

    /// How many runs are kept.
    pub fn count(&self) -> Result<usize, StoreError> {
        self.reading("count the runs", || self.counted(COUNT, []))
    }

    /// Offer and id of every run that names an offer, by offer, the oldest first.
    pub fn offered(&self) -> Result<Vec<(String, String)>, StoreError> {
        self.reading("find the runs of offers", || {
            let read = || -> rusqlite::Result<Vec<(String, String)>> {
                let mut statement = self.conn().prepare_cached(OFFERED)?;
                let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
                rows.collect()
            };
            read().map_err(|error| self.failed("find the runs of offers", &error))
        })
    }

    /// Program, file and id of every run of figures that another program measured, in the order of keeping.
    pub fn imported(&self) -> Result<Vec<[String; 3]>, StoreError> {
        self.reading("find imported runs", || {
            let read = || -> rusqlite::Result<Vec<[String; 3]>> {
                let mut statement = self.conn().prepare_cached(IMPORTED)?;
                let rows =
                    statement.query_map([], |row| Ok([row.get(0)?, row.get(1)?, row.get(2)?]))?;
                rows.collect()
            };
            read().map_err(|error| self.failed("find imported runs", &error))
        })
    }

    fn find(&self, text: &str) -> Result<Option<Meant>, StoreError> {
        let surely = |id: String| Meant {
            id,
            alike: Vec::new(),
            hidden: Vec::new(),
        };
        if let Some(id) = self.names(BY_ID, [text])?.pop() {
            return Ok(Some(surely(id)));
        }
        if let Some(back) = steps_back(text) {
            let found = self.names(BY_AGE, [back])?.pop().map(surely);
            return match (found, self.counted(COUNT, [])?) {
                (None, runs @ 1..) => Err(StoreError::TooFarBack {
                    text: text.to_owned(),
                    runs,
                }),
                (found, _) => Ok(found),
            };
        }
        let mut labelled = self.names(BY_LABEL, [text])?.into_iter();
        if let Some(id) = labelled.next() {
            let alike: Vec<String> = labelled.collect();
            let mut hidden = self.ending_so(text)?;
            hidden.retain(|other| *other != id && !alike.contains(other));
            return Ok(Some(Meant { id, alike, hidden }));
        }
        let Some(end) = past(text) else {
            return Ok(None);
        };
        let mut candidates = self.ending_so(text)?;
        let (ends, mut count) = (candidates.len(), COUNT_BEGINNING);
        candidates.extend(self.names(BY_BEGINNING, (text, &end, CANDIDATES_MAX))?);
        // Lists show tails, and that of an import is long.
        if candidates.is_empty() {
            candidates = self.names(BY_TAIL_BEGINNING, (text, &end, CANDIDATES_MAX))?;
            count = COUNT_TAIL_BEGINNING;
        }
        if candidates.len() > 1 {
            candidates.truncate(usize::try_from(CANDIDATES_MAX).unwrap_or(usize::MAX));
            return Err(StoreError::Ambiguous {
                text: text.to_owned(),
                candidates,
                runs: ends + self.counted(count, (text, &end))?,
            });
        }
        Ok(candidates.pop().map(surely))
    }

    /// The ids of which `text` is the end behind a `-`.
    fn ending_so(&self, text: &str) -> Result<Vec<String>, StoreError> {
        let mut ids = self.names(BY_TAIL, [tail(text)])?;
        ids.retain(|id| is_end(text, id));
        Ok(ids)
    }

    /// The shortest end of this id, from a `-` on, that means it and nothing else; else the id.
    pub(super) fn shortest(&self, id: &str) -> String {
        let means_it = |text: &&str| {
            let found = self.find(text);
            found.is_ok_and(|found| {
                found.is_some_and(|meant| meant.id == *id && meant.alike.is_empty())
            })
        };
        let mut ends = id.rmatch_indices('-').map(|(at, _)| &id[at + 1..]);
        ends.find(means_it).unwrap_or(id).to_owned()
    }

    fn names(&self, query: &str, params: impl Params) -> Result<Vec<String>, StoreError> {
        let read = || -> rusqlite::Result<Vec<String>> {
            let mut statement = self.conn().prepare_cached(query)?;
            let rows = statement.query_map(params, |row| row.get(0))?;
            rows.collect()
        };
        read().map_err(|error| self.failed("find a run", &error))
    }

    fn counted(&self, query: &str, params: impl Params) -> Result<usize, StoreError> {
        let count: rusqlite::Result<u32> = self.conn().query_row(query, params, |row| row.get(0));
        let count = count.map_err(|error| self.failed("count the runs", &error))?;
        Ok(usize::try_from(count).unwrap_or(usize::MAX))
    }

    /// That no run is meant by `text`, with the names nearest to it.
    pub(super) fn unknown(&self, text: &str) -> StoreError {
        let names = || -> Result<Vec<String>, StoreError> {
            Ok([self.names(LABELS, [])?, self.names(IDS, [])?].concat())
        };
        match names() {
            Ok(names) => unknown(text, &names),
            Err(error) => error,
        }
    }
}

/// What stands behind the last `-`.
pub(super) fn tail(id: &str) -> &str {
    id.rsplit('-').next().unwrap_or(id)
}

/// Whether `text` is the end of `id` behind one of its `-`.
fn is_end(text: &str, id: &str) -> bool {
    id.strip_suffix(text)
        .is_some_and(|before| before.ends_with('-'))
}

/// The number of runs to go back from the latest; `None` where `text` is not of that form.
fn steps_back(text: &str) -> Option<u32> {
    match text.strip_prefix("latest")? {
        "" => Some(0),
        rest => rest.strip_prefix('~')?.parse().ok(),
    }
}

/// What stands behind every text that begins with `text` in the order of the index, and in front of all others behind
/// them; `None` where there is no such text.
fn past(text: &str) -> Option<String> {
    let last = text.chars().next_back()?;
    let before = &text[..text.len() - last.len_utf8()];
    match (last..=char::MAX).nth(1) {
        Some(next) => Some(format!("{before}{next}")),
        None => past(before),
    }
}

fn unknown(text: &str, names: &[String]) -> StoreError {
    let mut seen = HashSet::new();
    let mut scored: Vec<(f64, &String)> = names
        .iter()
        .filter(|name| seen.insert(*name))
        .map(|name| (strsim::jaro_winkler(text, name), name))
        .collect();
    // The sort is stable: among equals the latest run stays first.
    scored.order_by(|a, b| b.0.total_cmp(&a.0));
    StoreError::Unknown {
        text: text.to_owned(),
        nearest: scored
            .into_iter()
            .take(NEAREST_MAX)
            .map(|(_, name)| name.clone())
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::lines::{LINE, LINES};
    use rusqlite::types::Null;

    /// A store with runs of these ids and labels, the first one the latest.
    fn store(runs: &[(&str, Option<&str>)]) -> (tempfile::TempDir, Store) {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(&dir.path().join("kurabe.db")).unwrap();
        let insert = "INSERT INTO runs (id, label, started, ending, what, cases, tail, machine, \
                      record_version, digest, meta, plan, host) \
                      VALUES (?1, ?2, ?3, 'open', '[]', 0, ?4, '{}', 1, 0, '', '', '')";
        for (started, (id, label)) in (0_u32..).zip(runs.iter().rev()) {
            store
                .conn()
                .execute(insert, (id, label, started, tail(id)))
                .unwrap();
        }
        (dir, store)
    }

    const RUNS: &[(&str, Option<&str>)] = &[
        ("20261123-090000-77aa", Some("新サーバー")),
        ("20261122-090000-b1b1", Some("base")),
        ("20261121-090000-a0a0", Some("base")),
        ("20261121-080000-c2c2", Some("2026")),
        ("20251121-080000-d3d3", Some("20261121-090000-a0a0")),
    ];

    #[test]
    fn every_form_of_run_finds_the_run_it_means() {
        let (_dir, store) = store(RUNS);
        let check = |text, expect: &str| {
            assert_eq!(store.resolve(text).unwrap(), expect, "{text}");
        };
        check("20261122-090000-b1b1", "20261122-090000-b1b1");
        check("20261121-09", "20261121-090000-a0a0");
        check("77aa", "20261123-090000-77aa");
        check("090000-b1b1", "20261122-090000-b1b1");
        check("base", "20261122-090000-b1b1");
        check("新サーバー", "20261123-090000-77aa");
        check("latest", "20261123-090000-77aa");
        check("latest~0", "20261123-090000-77aa");
        check("latest~4", "20251121-080000-d3d3");
        // A label wins over the beginning of an id, an id over a label.
        check("2026", "20261121-080000-c2c2");
        check("20261121-090000-a0a0", "20261121-090000-a0a0");
    }

    #[test]
    fn a_label_of_several_runs_brings_the_others_too_and_nothing_else_does() {
        let (_dir, store) = store(RUNS);
        let check = |text, expect: &[&str]| {
            assert_eq!(store.meant(text).unwrap().alike, expect, "{text}");
        };
        check("base", &["20261121-090000-a0a0"]);
        check("新サーバー", &[]);
        check("20261122-090000-b1b1", &[]);
        check("20261122", &[]);
        check("latest~1", &[]);
    }

    #[test]
    fn a_label_tells_the_runs_whose_short_id_it_hides() {
        let (_dir, store) = store(&[
            ("20261123-090000-77aa", Some("b1b1")),
            ("20261122-090000-b1b1", None),
            ("20261121-090000-a0a0", Some("a0a0")),
        ]);
        let hidden = |text| store.meant(text).unwrap().hidden;
        assert_eq!(hidden("b1b1"), ["20261122-090000-b1b1"]);
        for text in ["a0a0", "77aa", "090000-b1b1", "20261122-090000-b1b1"] {
            assert_eq!(hidden(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn an_ambiguous_beginning_names_candidates_and_how_many_there_are() {
        let (_dir, few) = store(RUNS);
        let text = few.resolve("20261121").unwrap_err().to_string();
        assert_eq!(
            text,
            "`20261121` may mean `20261121-090000-a0a0`, `20261121-080000-c2c2`\nhint: type more of the id"
        );
        let ids: Vec<String> = (0..9).map(|n| format!("20261121-09000{n}-a0a0")).collect();
        let runs: Vec<(&str, Option<&str>)> = ids.iter().map(|id| (id.as_str(), None)).collect();
        let (_dir, many) = store(&runs);
        let text = many.resolve("20261121").unwrap_err().to_string();
        assert!(
            text.starts_with("`20261121` may mean `20261121-090008-a0a0`, "),
            "{text}"
        );
        assert!(
            text.contains("`20261121-090004-a0a0` and 4 more\n"),
            "{text}"
        );
    }

    #[test]
    fn soaks_and_duels_take_no_place_among_the_earlier_runs() {
        let (_dir, store) = store(RUNS);
        let host = HostFacts::default();
        let machine = codec::encode("the machine", &Machine::of(&host)).unwrap();
        let done = "UPDATE runs SET ending = 'complete', machine = ?1, plan = '{\"soak\":null}'";
        store.conn().execute(done, [&machine]).unwrap();
        let earlier = |most| store.earlier(&host, UnixNanos(4), most).unwrap();
        let ids: Vec<&str> = RUNS.iter().map(|(id, _)| *id).collect();
        assert_eq!(earlier(20), ids[1..], "the latest is not earlier");
        assert_eq!(earlier(2), ids[1..3]);
        let change = |set: &str, id: &str| {
            let change = format!("UPDATE runs SET {set} WHERE id = ?1");
            assert_eq!(store.conn().execute(&change, [id]).unwrap(), 1);
        };
        change("plan = '{\"soak\":{\"for\":1}}'", ids[1]);
        change("duel = 'd'", ids[2]);
        assert_eq!(earlier(2), ids[3..]);
        change("ending = 'open'", ids[3]);
        assert_eq!(earlier(2), ids[4..]);
    }

    #[test]
    fn a_short_id_means_its_run_whatever_else_there_is() {
        let runs = &[
            ("20261123-090000-77aa", Some("b1b1")),
            ("20261122-090000-b1b1", None),
            ("20261122-080000-c2c2", None),
            ("20261121-080000-c2c2", None),
            ("20261121-070000-c2c2", None),
            ("20261121-060000-2026", None),
            ("20261121-050000-other-77ab", None),
            ("20261121-040000-d3d3a", None),
        ];
        let (_dir, store) = store(runs);
        let shorts: Vec<String> = store
            .list()
            .unwrap()
            .into_iter()
            .map(|line| {
                assert_eq!(store.resolve(&line.short).unwrap(), line.id);
                assert_eq!(store.line(&line.id).unwrap(), line);
                line.short
            })
            .collect();
        let expect = [
            "77aa",
            // Another one is called so.
            "090000-b1b1",
            "20261122-080000-c2c2",
            "20261121-080000-c2c2",
            "070000-c2c2",
            // Ids begin so.
            "060000-2026",
            "77ab",
            "d3d3a",
        ];
        assert_eq!(shorts, expect);
        let text = store.resolve("c2c2").unwrap_err().to_string();
        assert!(text.contains("`20261122-080000-c2c2`"), "{text}");
        assert!(
            store.resolve("2c2").is_err(),
            "the middle of a part is no end"
        );
    }

    #[test]
    fn an_unknown_name_brings_the_nearest_ones() {
        let (_dir, full) = store(RUNS);
        let StoreError::Unknown { nearest, .. } = full.resolve("bsae").unwrap_err() else {
            panic!("not unknown");
        };
        assert_eq!(nearest.first().map(String::as_str), Some("base"));
        for text in ["", "latest~", "latest~x", "latest~-1", "Latest"] {
            assert!(
                matches!(full.resolve(text), Err(StoreError::Unknown { .. })),
                "{text}"
            );
        }
        let text = full.resolve("latest~5").unwrap_err().to_string();
        assert!(text.contains("holds 5 runs"), "{text}");
        let (_dir, empty) = store(&[]);
        for text in ["latest", "x"] {
            let text = empty.resolve(text).unwrap_err().to_string();
            assert!(text.contains("the store is empty"), "{text}");
        }
    }

    #[test]
    fn texts_with_a_beginning_lie_between_it_and_what_is_past_it() {
        let check = |text: &str, expect: Option<&str>| {
            assert_eq!(past(text).as_deref(), expect, "{text:?}");
        };
        check("", None);
        check("2026", Some("2027"));
        check("a\u{10ffff}", Some("b"));
        check("\u{10ffff}", None);
        // Between these two there are no characters.
        check("x\u{d7ff}", Some("x\u{e000}"));
    }

    #[test]
    fn no_question_that_is_asked_often_looks_at_every_run_or_sorts_them() {
        let (_dir, store) = store(RUNS);
        let plan = |query: &str| -> Vec<String> {
            let explain = format!("EXPLAIN QUERY PLAN {query}");
            let mut statement = store.conn().prepare(&explain).unwrap();
            for index in 1..=statement.parameter_count() {
                statement.raw_bind_parameter(index, Null).unwrap();
            }
            let mut rows = statement.raw_query();
            let mut lines = Vec::new();
            while let Some(row) = rows.next().unwrap() {
                lines.push(row.get(3).unwrap());
            }
            lines
        };
        let check = |query: &str, index: &str| {
            let lines = plan(query);
            let by_index = lines[0].contains(index);
            let tables = lines.iter().filter(|line| {
                (line.starts_with("SCAN") && !line.contains("INDEX")) || line.contains("TEMP")
            });
            assert!(by_index && tables.count() == 0, "{query}: {lines:?}");
        };
        check(BY_ID, "COVERING INDEX sqlite_autoindex_runs_1 (id=?)");
        check(BY_AGE, "COVERING INDEX runs_started");
        check(BY_LABEL, "COVERING INDEX runs_label (label=?)");
        check(
            BY_BEGINNING,
            "COVERING INDEX sqlite_autoindex_runs_1 (id>? AND id<?)",
        );
        check(COUNT_BEGINNING, "COVERING INDEX sqlite_autoindex_runs_1");
        check(COUNT, "COVERING INDEX");
        check(BY_TAIL, "COVERING INDEX runs_tail (tail=?)");
        check(LINE, "INDEX sqlite_autoindex_runs_1 (id=?)");
        check(LINES, "INDEX runs_started");
        check(BY_MACHINE, "INDEX runs_machine (machine=? AND started<?)");
        check(OFFERED, "INDEX runs_offer");
        let counts = plan(LINES).join("\n");
        assert!(
            counts.contains("COVERING INDEX sqlite_autoindex_rounds_1 (run=?)"),
            "{counts}"
        );
        assert!(counts.contains("INDEX rounds_failed (run=?)"), "{counts}");
        for shared in [
            "runs_tail (tail=?)",
            "runs_label (label=?)",
            "(id>? AND id<?)",
        ] {
            assert!(counts.contains(shared), "{counts}");
        }
    }
}
