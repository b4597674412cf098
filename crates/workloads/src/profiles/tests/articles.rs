//! The profiles of the five articles, and the one that has all of them.

use super::*;
use model::plan::{Plan, PlannedCase};

const PEER: (&str, NamedKind) = ("127.0.0.1:5201", NamedKind::Peer);
const SERVER: (&str, NamedKind) = ("mysql://u@127.0.0.1:3306/db", NamedKind::Server);

fn plan_of(what: &str, minutes: Option<u64>, named: &[(&str, NamedKind)], cpus: u32) -> Plan {
    let stand_ins = named.iter().map(|&(path, kind)| StandIn {
        path: path.into(),
        kind,
    });
    let request = Request {
        what: vec![what.to_owned()],
        budget: minutes.map(|minutes| Nanos::from_secs(60 * minutes)),
        stand_ins: stand_ins.collect(),
        ..Request::default()
    };
    let mut host = host(cpus, None, 1);
    host.memory.total = Fact::Known(model::units::Bytes(24 << 30));
    resolved(&request, &host)
}

fn ids(plan: &Plan) -> Vec<String> {
    plan.cases.iter().map(|case| case.id.to_string()).collect()
}

fn case<'a>(plan: &'a Plan, id: &str) -> &'a PlannedCase {
    let mut cases = plan.cases.iter();
    cases.find(|case| case.id.to_string() == id).unwrap()
}

/// Why something is left out; `None` where it is not.
fn why<'a>(plan: &'a Plan, what: &str) -> Option<&'a str> {
    let mut dropped = plan.dropped.iter();
    dropped
        .find(|one| one.what == what)
        .map(|one| one.why.as_str())
}

#[test]
fn the_fifth_article_has_its_loads_three_times_and_its_transfers_where_there_is_a_peer() {
    let with_peer = plan_of("article-5", None, &[PEER], 2);
    let all = [
        "fs.vdbench@8",
        "storage.mixed-8k-qd8@1",
        "net.tcp@1",
        "net.tcp@4",
        "net.tcp-down@1",
        "net.tcp-down@4",
    ];
    assert_eq!(ids(&with_peer), all);
    assert!(with_peer.dropped.is_empty());
    assert_eq!((with_peer.passes, with_peer.budget), (Some(3), None));
    let files = &case(&with_peer, "fs.vdbench@8").params;
    assert_eq!(
        (files.count("files"), files.size("size").0),
        (1000, 128 << 10)
    );
    assert_eq!(
        (files.size("xfersize").0, files.count("stopafter")),
        (4096, 100)
    );
    let volume = &case(&with_peer, "storage.mixed-8k-qd8@1").params;
    assert_eq!((volume.text("rw"), volume.size("bs").0), ("randrw", 8192));
    assert_eq!(
        (volume.count("rwmixread"), volume.count("iodepth")),
        (50, 8)
    );
    assert!(volume.switch("direct") && volume.switch("norandommap"));

    let alone = plan_of("article-5", None, &[], 2);
    assert_eq!(ids(&alone), all[..2]);
    for test in ["net.tcp", "net.tcp-down"] {
        assert!(why(&alone, test).unwrap().contains("`--peer HOST`"));
    }
    let device = [("/dev/vdb", NamedKind::Device), PEER];
    assert_eq!(ids(&plan_of("article-5", None, &device, 2)), all);
}

#[test]
fn all_of_it_has_every_table_of_the_articles() {
    let named = [SERVER, PEER];
    let all = plan_of("all", Some(300), &named, 2);
    assert!(all.dropped.is_empty(), "{:?}", all.dropped);
    let here = ids(&all);
    for article in 1..=5 {
        let own = plan_of(&format!("article-{article}"), None, &named, 2);
        for id in ids(&own) {
            assert!(here.contains(&id), "article {article}: {id}");
        }
    }
    assert!(all.cases.iter().all(|case| case.shape.rounds.is_none()));
    // On the server, and not in a file of its own.
    assert!(!case(&all, "db.oltp-read-write@1").on_disk);
}

/// What is left out, and why, without a server and a peer.
#[test]
fn all_of_it_has_what_there_is_time_for_and_says_what_there_is_not() {
    let six = |plan: &Plan, id: &str| case(plan, id).shape.rounds.is_none();
    let mut fewer = usize::MAX;
    for minutes in [5, 15, 60] {
        let plan = plan_of("all", Some(minutes), &[], 2);
        // The headlines have their intervals in any of them.
        for id in [
            "cpu.dhrystone@1",
            "os.shell-8@2",
            "storage.randread-4k-qd32@1",
        ] {
            assert!(six(&plan, id), "{minutes} min: {id}");
        }
        assert!(why(&plan, "net.tcp").unwrap().contains("`--peer HOST`"));
        let rounds = |case: &PlannedCase| f64::from(case.shape.rounds.unwrap_or(6));
        let cost = |case: &PlannedCase| engine::budget::round_cost(case).as_secs_f64();
        let takes: f64 = plan
            .cases
            .iter()
            .map(|case| rounds(case) * cost(case))
            .sum();
        let takes = takes + engine::budget::making(&plan).as_secs_f64();
        let budget = Nanos::from_secs(60 * minutes).as_secs_f64();
        assert!(takes < budget, "{minutes} min: {takes} s");
        let mut of_time = plan.dropped.iter().filter(|one| one.needs.is_some());
        let within = format!("no time within {minutes}m; hint: `--budget ");
        assert!(
            of_time.all(|one| one.why.starts_with(&within)),
            "{:?}",
            plan.dropped
        );
        let of_time = plan
            .dropped
            .iter()
            .filter(|one| one.needs.is_some())
            .count();
        let thin = plan
            .cases
            .iter()
            .filter(|case| case.shape.rounds.is_some())
            .count();
        assert!(of_time + thin <= fewer, "{minutes} min: {of_time} {thin}");
        fewer = of_time + thin;
    }
    let (short, usual) = (
        plan_of("all", Some(5), &[], 2),
        plan_of("all", None, &[], 2),
    );
    assert_eq!(usual.budget, Some(Nanos::from_secs(900)));
    // A file of twice the memory has no time in either, and a longer one has it.
    for plan in [&short, &usual] {
        assert!(why(plan, "fs.bonnie").unwrap().contains("no time"));
    }
    // Of all tables but that and the slowest there is at least one figure in a quarter of an hour.
    for id in [
        "cpu.prime@16",
        "fs.dbench@16",
        "os.threads@128",
        "db.oltp-read-write@16",
    ] {
        assert!(
            ids(&usual).contains(&id.to_owned()),
            "{id}: {:?}",
            usual.dropped
        );
    }
    let needs = usual.dropped.iter().find(|one| one.what == "fs.bonnie");
    let minutes = needs.unwrap().needs.unwrap().0 / 60_000_000_000;
    let longer = plan_of("all", Some(minutes), &[], 2);
    assert!(ids(&longer).contains(&"fs.bonnie@1".to_owned()));
}

#[test]
fn all_of_it_with_a_peer_has_the_transfers_and_without_a_disk_no_disk() {
    for cpus in [1, 2, 96] {
        let plan = plan_of("all", Some(15), &[PEER], cpus);
        for id in ["net.tcp@1", "net.tcp@4", "net.tcp-down@1", "net.tcp-down@4"] {
            assert!(case(&plan, id).shape.rounds.is_none(), "{cpus}: {id}");
        }
        // The database is one of kurabe's own.
        assert!(case(&plan, "db.oltp-read-write@1").on_disk);
    }
    let request = Request {
        what: vec!["all".to_owned()],
        no_disk: Some("it is in memory".to_owned()),
        ..Request::default()
    };
    let plan = resolved(&request, &host(2, None, 1));
    let on_disk = |id: &String| id.starts_with("storage.") || id.starts_with("db.");
    assert!(!ids(&plan).iter().any(on_disk));
    assert_eq!(why(&plan, "fs.dbench"), Some("it is in memory"));
    assert!(ids(&plan).contains(&"fs.copy-1024@1".to_owned()));
}
