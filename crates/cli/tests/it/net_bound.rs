//! `--max-bytes`: what a run may move to its peer and from there.

use crate::bed::{Bed, Done};
use crate::net_serve::Server;
use crate::net_token::kept;
use crate::servers::{free_port, says};
use model::record::Run;

fn run(bed: &Bed, server: &Server, args: &[&str]) -> Done {
    let peer = server.peer();
    let mut command = bed.command(&[args, &["--peer", &peer]].concat());
    let command = command.env("KURABE_TOKEN", server.token());
    command.output().unwrap().into()
}

fn moved(run: &Run) -> u64 {
    let each = run.rounds.iter().filter_map(|round| round.moved);
    each.map(|bytes| bytes.0).sum()
}

#[test]
fn a_plan_that_moves_more_is_refused_before_anybody_is_asked() {
    let bed = Bed::new();
    let peer = format!("127.0.0.1:{}", free_port());
    let with = |args: &[&str]| bed.run(&[args, &["--peer", &peer]].concat());
    // 100 Mbit/s for 3 s, nine times.
    let args = ["run", "net.udp", "--max-bytes", "300MB"];
    with(&args).code(2).err_has(&[
        "the plan could move 0.34 GB, and `--max-bytes` allows 0.30 GB",
        "hint: ",
    ]);
    let page = with(&[&args[..], &["--dry-run"]].concat()).code(0);
    page.err_has(&["would be refused: the plan could move"])
        .out_says(&["0.34 GB at the rates that are asked for, and no more than 0.30 GB in all"]);
    // A rate that nobody knows, on a link that has none, is no reason.
    let page = with(&["run", "net.tcp", "--max-bytes", "1GB", "--dry-run"]).code(0);
    assert!(!page.err.contains("refused"), "{page:?}");
    page.out_says(&["as much as it takes for", "no more than 1.00 GB in all"]);
    let page = with(&["run", "net.tcp", "--dry-run"]).code(0);
    page.out_says(&["which is not bounded (`--max-bytes`)"]);
    for args in [
        &["run", "os.pipe", "--max-bytes", "1GB"][..],
        &["soak", "os.pipe", "--for", "1h", "--max-bytes", "1GB"],
    ] {
        let done = bed.run(args).code(2);
        says(&done, &["`--max-bytes`: the run works with no peer"]);
    }
    assert!(bed.listed().is_empty());
}

/// What one flow of loopback passes in a second at least, by far.
const BOUND: &str = "40MB";
const BYTES: u64 = 40_000_000;

/// What a block of `net.tcp` is.
const BLOCK: u64 = 128 << 10;

#[test]
fn a_run_ends_where_it_has_moved_what_it_may() {
    for test in ["net.tcp", "net.tcp-down", "net.rr-loaded"] {
        let bed = Bed::new();
        let server = Server::start(&bed, &[]);
        let args = ["run", test, "--passes", "3", "--max-bytes", BOUND];
        let done = run(&bed, &server, &args).code(4);
        says(
            &done,
            &["no further round begins: of the 40000000 B of `--max-bytes`"],
        );
        let kept = kept(&bed);
        // One that is ended, and none behind it.
        let [ended, _] = kept.rounds.as_slice() else {
            panic!("{} rounds", kept.rounds.len());
        };
        let why = ended.failure().unwrap().to_string();
        let is_loaded = test == "net.rr-loaded";
        let says = if is_loaded {
            "of the 40.00 MB that were left of `--max-bytes` one half is for load from the peer"
        } else {
            "40.00 MB that were left of `--max-bytes` have passed"
        };
        assert!(why.contains(says), "{why}");
        let moved = moved(&kept);
        assert!(moved <= BYTES, "{test}: {moved}");
        // A block of a flow, or a batch of messages, was not begun or not ended.
        let least = if is_loaded { BYTES / 2 } else { BYTES };
        assert!(moved + BLOCK >= least, "{test}: {moved}");
        assert_eq!(kept.plan.max_bytes.map(|most| most.0), Some(BYTES));
    }
}

#[test]
fn no_round_begins_that_would_go_beyond_it() {
    let bed = Bed::new();
    let server = Server::start(&bed, &[]);
    // At a rate, so that rounds move alike however busy the machine is.
    let sets = ["--set", "net.rr.size=32k", "--set", "net.rr.rate=100"];
    let large = [&["run", "net.rr"], &sets[..], &["--passes"]].concat();
    let one = [&large[..], &["1", "--max-bytes", "1TB"]].concat();
    run(&bed, &server, &one).code(0);
    let each = moved(&kept(&bed));
    assert!(each > 64 << 10, "{each}");
    let bound = each * 5 / 2;
    let words = bound.to_string();
    let done = run(
        &bed,
        &server,
        &[&large[..], &["6", "--full", "--max-bytes", &words]].concat(),
    );
    let kept = kept(&bed);
    let did = kept.rounds.iter().filter(|round| round.failure().is_none());
    assert!((1..6).contains(&did.count()), "{done:?}");
    assert!(moved(&kept) <= bound, "{}", moved(&kept));
    says(
        &done,
        &[&format!(
            "no further round begins: of the {bound} B of `--max-bytes`"
        )],
    );
}
