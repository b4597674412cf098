//! A pooler between a run and its server: `PgBouncer` of the distribution, before a server of the test's own.
//!
//! Where no `PgBouncer` is installed the test says that it was skipped, by its name.

use crate::bed::{Bed, eventually, program};
use crate::postgres::{Server, as_server};
use std::path::{Path, PathBuf};
use std::process::Stdio;

const BOUNCER: &str = "/usr/sbin/pgbouncer";

/// A pooler with this mode, which goes with this value.
struct Pooler {
    pid: PathBuf,
    port: u16,
}

impl Pooler {
    fn start(server: &Server, mode: &str) -> Self {
        let port = crate::servers::free_port();
        let dir = server.dir().display();
        let file = |end: &str| server.dir().join(format!("pooler-{mode}.{end}"));
        let (config, users, pid) = (file("ini"), file("users"), file("pid"));
        std::fs::write(&users, "\"postgres\" \"\"\n").unwrap();
        let text = format!(
            "[databases]\nshop = host={dir} port={} dbname=shop\n[pgbouncer]\nlisten_addr = 127.0.0.1\n\
             listen_port = {port}\nunix_socket_dir =\nauth_type = trust\nauth_file = {}\npool_mode = {mode}\n\
             pidfile = {}\nlogfile = {}\n",
            server.port(),
            users.display(),
            pid.display(),
            file("log").display(),
        );
        std::fs::write(&config, text).unwrap();
        let mut command = as_server(Path::new(BOUNCER));
        let started = command
            .current_dir(server.dir())
            .arg("-d")
            .arg(&config)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        assert!(started.unwrap().success(), "{}", config.display());
        eventually(20, || {
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        Self { pid, port }
    }

    fn url(&self) -> String {
        format!("postgres://postgres@127.0.0.1:{}/shop", self.port)
    }
}

impl Drop for Pooler {
    fn drop(&mut self) {
        let noted = std::fs::read_to_string(&self.pid).unwrap_or_default();
        let pid = noted.trim().parse::<u32>().ok().filter(|pid| *pid > 1);
        let Some(pid) = pid else { return };
        let _ = program("kill").args(["-KILL", &pid.to_string()]).status();
    }
}

#[test]
fn a_pooler_that_shares_connections_is_one_error_with_the_way_out() {
    const TEST: &str = "a_pooler_that_shares_connections";
    if !Path::new(BOUNCER).is_file() {
        eprintln!("skipped: {TEST}: no PgBouncer");
        return;
    }
    let Some(server) = Server::start(TEST, &[]) else {
        return;
    };
    let bed = Bed::new();
    let args = [
        "run",
        "db.oltp-read-write",
        "--passes",
        "2",
        "--copies",
        "2",
    ];
    let more = ["--set", "db.*.table_size=1000", "--set", "db.*.time=500ms"];
    let args = [&args[..], &more].concat();
    let sharing = Pooler::start(&server, "transaction");
    let done = bed
        .run(&[&args[..], &["--db", &sharing.url()]].concat())
        .code(3);
    assert!(done.out.is_empty(), "{done:#?}");
    let done = done.err_has(&[
        "cannot work on `postgres://",
        "pool_mode = transaction",
        "pool_mode = session",
    ]);
    assert_eq!(done.err.matches("error: ").count(), 1, "{done:#?}");
    assert!(bed.listed().is_empty(), "nothing was measured");
    // One connection of the server for each of ours is as good as the server.
    let apart = Pooler::start(&server, "session");
    bed.run(&[&args[..], &["--db", &apart.url()]].concat())
        .code(0);
    let left = "SELECT to_regclass('sbtest1') IS NULL";
    assert_eq!(server.ask("shop", left), "t");
}
