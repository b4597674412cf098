//! Who is let in to a Redis server, what is told to whom, and that what opens it is shown nowhere.

use crate::bed::{Bed, eventually};
use crate::password::{
    PASSWORD, is_seen_with_a_worker, kept_nowhere, readable, refused_when_typed, shows,
};
use crate::redis::{Server, short};
use crate::servers::says;
use std::process::Stdio;

#[test]
fn what_keeps_us_out_is_one_error_with_a_hint() {
    let Some(server) = Server::start("what_keeps_us_out", &["--maxclients", "6"]) else {
        return;
    };
    let bed = Bed::new();
    let check = |url: &str, more: &[&str], words: &[&str]| {
        let args = [short("db.kv-set", &["--db", url]), more.to_vec()].concat();
        let done = bed.run(&args);
        assert_ne!(done.code, Some(0), "{done:#?}");
        says(&done, words);
        assert_eq!(
            done.err.lines().count(),
            2,
            "one error and a hint: {done:#?}"
        );
        assert!(bed.listed().is_empty(), "nothing is kept");
    };
    check(
        "redis://127.0.0.1:1",
        &[],
        &["Connection refused", "`bind`"],
    );
    check(
        "redis:///0?socket=/nowhere/s",
        &[],
        &["/nowhere/s", "unixsocket"],
    );
    check("redis://db..example", &[], &["read the host `db..example`"]);
    check(
        &server.loopback().replace("/0", "/99"),
        &[],
        &["DB index", "`databases`"],
    );
    server.ask(&[
        "ACL",
        "SETUSER",
        "reader",
        "on",
        "nopass",
        "~*",
        "+@read",
        "+@connection",
    ]);
    let reader = server.loopback().replace("//", "//reader@");
    check(&reader, &[], &["NOPERM", "the user needs the commands"]);
    server.ask(&["REPLICAOF", "127.0.0.1", "1"]);
    check(&server.socket(), &[], &["replica", "primary"]);
    server.ask(&["REPLICAOF", "NO", "ONE"]);
    // What shows when keys are made, or clients connect, is told by the run.
    let url = server.socket();
    let check = |more: &[&str], words: &[&str]| {
        let args = [short("db.kv-set", &["--db", &url]), more.to_vec()].concat();
        let done = bed.run(&args);
        assert_ne!(done.code, Some(0), "{done:#?}");
        says(&done, words);
    };
    check(
        &["--copies", "16"],
        &["max number of clients", "maxclients"],
    );
    let large = ["--set", "db.*.data_size=1k"];
    server.ask(&["CONFIG", "SET", "maxmemory", "1100kb"]);
    check(&large, &["OOM", "`maxmemory`"]);
    server.ask(&["CONFIG", "SET", "maxmemory-policy", "allkeys-lru"]);
    check(&large, &["by itself (`evicted_keys`)"]);
    assert_eq!(
        server.ask(&["DBSIZE"]),
        "0",
        "what does not fit is not left behind"
    );
}

#[test]
fn a_user_who_may_not_ask_for_settings_measures_and_is_told_less() {
    let Some(server) = Server::start("a_user_who_may_not_ask", &[]) else {
        return;
    };
    let bed = Bed::new();
    let rights = "on nopass ~kurabe:kv* +get +set +del +exists +strlen +dbsize +select";
    let words: Vec<&str> = ["ACL", "SETUSER", "few"]
        .into_iter()
        .chain(rights.split(' '))
        .collect();
    server.ask(&words);
    let url = server.loopback().replace("//", "//few@");
    let done = bed
        .run(&short("db.kv-mixed", &["--full", "--db", &url]))
        .code(0);
    says(
        &done,
        &[
            "version not told",
            "appendonly not told",
            "cannot be told from others",
        ],
    );
}

#[test]
fn a_password_is_shown_nowhere() {
    let settings = ["--requirepass", PASSWORD];
    let Some(server) = Server::start("a_password_is_shown_nowhere", &settings) else {
        return;
    };
    let bed = Bed::new();
    let url = server.loopback();
    let with = url.replace("//", &format!("//:{PASSWORD}@"));
    let typed = ["", "?nonsense=1", "%zz"].map(|end| format!("{with}{end}"));
    refused_when_typed(&bed, "db.kv-get", &typed, &["KURABE_DB_URL"]);
    let args = short("db.kv-get", &["--db", &url]);
    let done = bed.run(&args);
    assert_ne!(done.code, Some(0), "{done:#?}");
    says(&done, &["NOAUTH", "REDISCLI_AUTH"]);
    let wrong = bed
        .command(&args)
        .env("REDISCLI_AUTH", "guess")
        .output()
        .unwrap();
    assert!(!wrong.status.success());
    says(&wrong.into(), &["WRONGPASS", "REDISCLI_AUTH"]);
    assert!(bed.listed().is_empty(), "nothing is kept");
    // From each of the places where it may stand.
    let done = bed
        .command(&args)
        .env("REDISCLI_AUTH", PASSWORD)
        .output()
        .unwrap();
    assert!(
        done.status.success() && !shows(&done.stdout) && !shows(&done.stderr),
        "{done:?}"
    );
    let file = bed.path().join("address");
    std::fs::write(&file, format!("{with}\n")).unwrap();
    readable(&file, 0o600);
    let by_file = short("db.kv-get", &["--db-file", "address"]);
    bed.run(&by_file).code(0);
    readable(&file, 0o640);
    bed.run(&by_file).code(2).err_has(&["others may read it"]);
    std::fs::remove_file(&file).unwrap();
    let plain = short("db.kv-get", &["--copies", "2"]);
    let done = bed
        .command(&plain)
        .env("KURABE_DB_URL", &with)
        .output()
        .unwrap();
    assert!(
        done.status.success() && !shows(&done.stdout) && !shows(&done.stderr),
        "{done:?}"
    );
    // A user of a name.
    let words = ["ACL", "SETUSER", "bob", "on", ">other-w0rd", "~*", "+@all"];
    let done = server
        .cli()
        .env("REDISCLI_AUTH", PASSWORD)
        .args(words)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    let bob = url.replace("//", "//bob:other-w0rd@");
    let done = bed
        .command(&plain)
        .env("KURABE_DB_URL", &bob)
        .output()
        .unwrap();
    assert!(done.status.success(), "{done:?}");
    kept_nowhere(&bed, &[PASSWORD, "other-w0rd", "guess"]);
    // Nor does a worker inherit it.
    let long = [
        "run",
        "db.kv-get",
        "--passes",
        "4",
        "--set",
        "db.*.keys=1000",
        "--db",
        &url,
    ];
    let child = bed
        .command(&long)
        .env("REDISCLI_AUTH", PASSWORD)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    eventually(60, || is_seen_with_a_worker(child.id(), false));
    assert!(child.wait_with_output().unwrap().status.success());
}
