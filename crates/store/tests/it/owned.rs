//! What an owner does to kept runs touches those, and of them nothing but what was asked for.

use crate::fixture::{self, host, keep, meta, plan, round, run};
use model::plan::Duel;
use model::record::{End, Run};
use model::units::UnixNanos;
use store::{Store, StoreError};
use tempfile::TempDir;

fn fresh() -> (TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(&dir.path().join("kurabe.db")).unwrap();
    (dir, store)
}

#[test]
fn a_removed_run_is_gone_with_its_rounds_and_others_stay() {
    let (_dir, store) = fresh();
    let other = run("r2", 3);
    store.import(&run("r1", 5)).unwrap();
    store.import(&other).unwrap();
    store.remove(&[store.line("r1").unwrap()]).unwrap();
    assert!(matches!(store.load("r1"), Err(StoreError::Unknown { .. })));
    assert_eq!(store.load("r2").unwrap(), other);
    // The id is free again, and nothing of the old rounds comes back with it.
    let empty = fixture::meta("r1", None, 1);
    store.begin(&empty, &plan(), &host()).unwrap();
    assert_eq!(store.load("r1").unwrap().rounds, []);
}

#[test]
fn runs_are_removed_together_or_not_at_all() {
    let (_dir, store) = fresh();
    store.import(&run("r1", 2)).unwrap();
    store.begin(&meta("r2", None, 5), &plan(), &host()).unwrap();
    let lines = store.list().unwrap();
    store.append("r2", &round(1, 1.0)).unwrap();
    let refused = store.remove(&lines);
    assert!(
        matches!(&refused, Err(StoreError::GoesOn { id }) if id == "r2"),
        "{refused:?}"
    );
    assert_eq!(store.count().unwrap(), 2);
    // One that ended, or was gone on with, since somebody looked.
    let lines = store.list().unwrap();
    store
        .finish("r2", UnixNanos(9), End::Interrupted, &[])
        .unwrap();
    assert!(store.remove(&lines).is_err());
    let lines = store.list().unwrap();
    store.reopen("r2", &[]).unwrap();
    assert!(store.remove(&lines).is_err());
    let mut lines = store.list().unwrap();
    lines.push(lines[0].clone());
    assert!(store.remove(&lines).is_err(), "one is named twice");
    assert_eq!(store.count().unwrap(), 2);
    store.remove(&store.list().unwrap()).unwrap();
    assert_eq!(store.count().unwrap(), 0);
}

#[test]
fn a_label_is_given_changed_and_taken_away_and_the_run_stays_what_it_was() {
    let (_dir, store) = fresh();
    let kept = run("20261121-090000-a0a0", 4);
    let id = kept.meta.id.as_str();
    keep(&store, &kept).unwrap();
    for label in [Some("新しい名前"), None, Some("x")] {
        store.set_label(id, label).unwrap();
        let mut expect = kept.clone();
        expect.meta.label = label.map(str::to_owned);
        assert_eq!(store.load(id).unwrap(), expect);
        assert_eq!(store.line(id).unwrap().label, expect.meta.label);
    }
    assert_eq!(store.resolve("x").unwrap(), id);
    assert!(store.resolve("基準").is_err());
    // An export of it from before is still the same run.
    assert!(!store.import(&kept).unwrap());
    assert_eq!(store.line(id).unwrap().label.as_deref(), Some("x"));
}

#[test]
fn runs_are_found_by_what_was_rented_for_them() {
    let (_dir, store) = fresh();
    let ids = [
        "20261121-090000-a0a0",
        "20261121-090001-b0b0",
        "20261121-090002-c0c0",
    ];
    for id in ids {
        keep(&store, &run(id, 2)).unwrap();
    }
    assert_eq!(store.offered().unwrap(), []);
    store.set_offer(ids[1], Some("b")).unwrap();
    store.set_offer(ids[2], Some("a")).unwrap();
    store.set_offer(ids[0], Some("b")).unwrap();
    store.set_label(ids[2], Some("x")).unwrap();
    let pair = |offer: &str, id: &str| (offer.to_owned(), id.to_owned());
    let found = store.offered().unwrap();
    assert_eq!(found[0], pair("a", ids[2]));
    assert_eq!(found.len(), 3);
    assert_eq!(store.load(ids[2]).unwrap().meta.offer.as_deref(), Some("a"));
    store.set_offer(ids[2], None).unwrap();
    assert_eq!(store.offered().unwrap().len(), 2);
    assert_eq!(store.line(ids[2]).unwrap().label.as_deref(), Some("x"));
    assert!(store.set_offer("nope", None).is_err());
}

#[test]
fn a_run_that_goes_on_keeps_the_name_it_is_given_meanwhile() {
    let (_dir, store) = fresh();
    store
        .begin(&meta("r1", Some("old"), 5), &plan(), &host())
        .unwrap();
    store.set_label("r1", Some("new")).unwrap();
    store.append("r1", &round(1, 1.0)).unwrap();
    store
        .finish("r1", UnixNanos(9), End::Complete, &[])
        .unwrap();
    assert_eq!(store.load("r1").unwrap().meta.label.as_deref(), Some("new"));
}

#[test]
fn the_other_side_is_the_one_of_the_same_duel() {
    let (_dir, store) = fresh();
    let duel = |id: &str, side: &str| Duel {
        id: id.to_owned(),
        side: side.to_owned(),
        prepare: None,
        traits: Vec::new(),
    };
    let side = |id: &str, duel: Duel| {
        let mut run: Run = run(id, 2);
        run.plan.duel = Some(duel);
        store.import(&run).unwrap();
    };
    side("r1-1a", duel("d1", "a"));
    side("r1-1b", duel("d1", "b"));
    side("r2-2a", duel("d2", "a"));
    side("r2-2b", duel("d3", "b"));
    side("r4-4a", duel("d4", "a"));
    let check = |run: &str, of: Duel, expect: Option<&str>| {
        let other = store.other_side(run, &of).unwrap();
        assert_eq!(other.map(|line| line.id).as_deref(), expect, "{run}");
    };
    check("r1-1a", duel("d1", "a"), Some("r1-1b"));
    check("r1-1b", duel("d1", "b"), Some("r1-1a"));
    check("r2-2a", duel("d2", "a"), None);
    check("r4-4a", duel("d4", "a"), None);
}
