//! Passwords that a server wants as they are: where they go, and where the address has to say so first.

use crate::bed::Bed;
use crate::password::{PASSWORD, kept_nowhere, shows};
use crate::postgres;
use crate::servers::says;
use std::path::Path;

#[test]
fn a_server_that_wants_the_password_as_it_is_gets_it_where_the_address_says_so() {
    let test = "a_server_that_wants_the_password_as_it_is";
    let Some(server) = postgres::Server::start(test, &[]) else {
        return;
    };
    let bed = Bed::new();
    let lines =
        "SELECT 'local all all password' UNION ALL SELECT 'host all all 127.0.0.1/32 password'";
    let hba = server.ask("postgres", "SHOW hba_file");
    // The test's own questions come without a password.
    let own = format!("COPY (SELECT 'local postgres all trust' UNION ALL ({lines})) TO '{hba}'");
    server.ask("postgres", &own);
    server.ask("postgres", "SELECT pg_reload_conf()");
    let pass = bed.path().join("pass");
    let words = format!("*:*:*:postgres:{PASSWORD}\n");
    std::fs::write(&pass, words).unwrap();
    crate::password::readable(&pass, 0o600);
    let run = |url: &str| -> crate::bed::Done {
        let args = postgres::short("db.point-select", &["--db", url]);
        let mut command = bed.command(&args);
        let done = command.env("PGPASSFILE", &pass).output().unwrap();
        assert!(!shows(&done.stdout) && !shows(&done.stderr), "{done:?}");
        done.into()
    };
    let url = server.loopback();
    let refused = run(&url);
    assert_ne!(refused.code, Some(0), "{refused:#?}");
    says(
        &refused,
        &[
            "asks for the password as it is",
            "`?password=clear`",
            "scram-sha-256",
        ],
    );
    assert!(bed.listed().is_empty(), "nothing is kept");
    run(&format!("{url}?password=clear")).code(0);
    // A Unix socket is no network.
    run(&server.socket("shop")).code(0);
    // The word is a part of the address, by which a run is gone on with.
    says(
        &bed.run(&["show", "latest", "--full"]).code(0),
        &["postgres://"],
    );
    std::fs::remove_file(Path::new(&pass)).unwrap();
    kept_nowhere(&bed, &[PASSWORD]);
}

mod root {
    use super::*;
    use crate::redis;

    /// A server at an address of a network, which is another machine's as far as one can tell from it.
    const AT: &str = "ip link set lo up; ip addr add 10.77.0.1/24 dev lo; \
                      setpriv --reuid=65534 --regid=65534 --clear-groups -- redis-server --port 6379 --bind 10.77.0.1 \
                      127.0.0.1 --save '' --protected-mode no --requirepass \"$WORD\" >/dev/null 2>&1 & \
                      server=$!; trap 'kill $server' EXIT; \
                      n=0; until (exec 3<>/dev/tcp/127.0.0.1/6379) 2>/dev/null; do n=$((n+1)); [ $n -lt 100 ]; \
                      sleep 0.1; done; \"$@\"";

    #[test]
    #[ignore = "root: makes a network namespace"]
    fn auth_goes_over_a_network_where_the_address_says_so() {
        let test = "auth_goes_over_a_network";
        if redis::Server::start(test, &[]).is_none() {
            return;
        }
        let bed = Bed::new();
        let run = |host: &str, rest: &str| -> crate::bed::Done {
            let url = format!("redis://{host}/0{rest}");
            let args = redis::short("db.kv-get", &["--db", &url]);
            let before = ["unshare", "-n", "bash", "-ec", AT, "bash"];
            let mut command = bed.command_behind(&before, &args);
            command.env("REDISCLI_AUTH", PASSWORD).env("WORD", PASSWORD);
            command.output().unwrap().into()
        };
        let refused = run("10.77.0.1", "");
        assert_ne!(refused.code, Some(0), "{refused:#?}");
        says(
            &refused,
            &[
                "over the network as it is",
                "`?password=clear`",
                "rediss://",
            ],
        );
        let done = run("10.77.0.1", "?password=clear").code(0);
        says(&done, &["the password went over the network as it is"]);
        run("127.0.0.1", "").code(0);
    }
}
