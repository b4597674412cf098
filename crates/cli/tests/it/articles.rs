//! The articles' profiles as somebody types them: their plans, and a run on a file and with a peer at once.

use crate::bed::{Bed, Done};
use crate::net_serve::Server;
use crate::servers::says;
use model::record::Outcome;

#[test]
fn a_plan_of_all_says_what_it_has_no_time_for_and_what_it_needs() {
    let bed = Bed::new();
    let plan = |args: &[&str]| {
        let args = [&["run", "all", "--dry-run"], args].concat();
        bed.run(&args).code(0)
    };
    let short = plan(&["--budget", "5m"]);
    says(
        &short,
        &[
            "cpu.dhrystone@1",
            "(no time within 5m; hint: `--budget ",
            "left out: net.tcp, net.tcp-down (it works with another machine",
            "about 5 min 0 s while nothing else runs",
        ],
    );
    let peer = plan(&["--peer", "127.0.0.1:1", "--passes", "1"]);
    says(&peer, &["works on: peer `127.0.0.1:1`", "net.tcp-down@4"]);
    assert!(!peer.out.contains("no time"), "{}", peer.out);
    let both = [
        "--db",
        "postgres://u@127.0.0.1:1/d",
        "--peer",
        "127.0.0.1:1",
    ];
    says(
        &plan(&both),
        &[
            "works on: server `postgres://u@127.0.0.1:1/d",
            "works on: peer `127.0.0.1:1`",
        ],
    );
}

#[test]
fn the_fifth_article_without_a_peer_says_what_is_missing() {
    let bed = Bed::new();
    let plan = bed.run(&["run", "article-5", "--dry-run"]).code(0);
    says(
        &plan,
        &[
            "fs.vdbench@8",
            "storage.mixed-8k-qd8@1",
            "left out: net.tcp, net.tcp-down (it works with another machine",
        ],
    );
}

#[test]
fn a_file_and_a_peer_are_each_for_the_tests_that_work_on_them() {
    let bed = Bed::new();
    let file = bed.path().join("volume");
    std::fs::write(&file, vec![1; 16 << 20]).unwrap();
    let server = Server::start(&bed, &[]);
    let peer = server.peer();
    let file = file.to_str().unwrap();
    let named = ["--file", file, "--overwrite-file", file, "--peer", &peer];
    let short = [
        "--passes",
        "1",
        "--set",
        "net.tcp*.time=1s",
        "--set",
        "fs.vdbench.time=500ms",
    ];
    let mut command = bed.command(&[&["run", "article-5"][..], &named, &short].concat());
    let command = command.env("KURABE_TOKEN", server.token());
    Done::from(command.output().unwrap()).code(0);
    let kept = bed.run(&["export", "latest"]).code(0).out;
    let run = store::export::read(&kept).unwrap();
    let names: Vec<_> = run.plan.named.iter().map(|one| one.path.as_str()).collect();
    assert_eq!(names, [file, &peer]);
    assert_eq!(run.rounds.len(), 6);
    for round in &run.rounds {
        let Outcome::Done(measured) = &round.outcome else {
            panic!("{}: {:?}", round.case, round.outcome);
        };
        let first = match round.case.test.as_str() {
            "fs.vdbench" => "ops_per_s",
            "storage.mixed-8k-qd8" => "iops",
            _ => "bytes_per_s",
        };
        assert!(measured.values[first] > 0.0, "{}", round.case);
    }
    // What was written to is the file that was named: it is not what it was.
    let now = std::fs::read(file).unwrap();
    assert!(now.len() == 16 << 20 && now.iter().any(|byte| *byte != 1));
}
