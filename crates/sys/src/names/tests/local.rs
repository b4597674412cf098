//! What needs no server: addresses, this machine, /etc/hosts, and the order of what was found.

use super::*;

fn tree(hosts: &str) -> (tempfile::TempDir, Tree) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("etc")).unwrap();
    std::fs::write(dir.path().join("etc/hosts"), hosts).unwrap();
    let tree = Tree::at(dir.path());
    (dir, tree)
}

#[test]
fn what_needs_no_server_is_known_at_once() {
    let (_dir, tree) = tree("192.0.2.1 db localhost db.localhost\n2001:db8::1 db\n");
    let check = |host: &str, expect: &[&str]| {
        let found = match known(host, 80, &tree).unwrap() {
            Known::Addresses(found) => found,
            Known::Ask(_) => Vec::new(),
        };
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expect, "{host}");
    };
    check("192.0.2.7", &["192.0.2.7:80"]);
    check("[2001:db8::7]", &["[2001:db8::7]:80"]);
    check("localhost", &["[::1]:80", "127.0.0.1:80"]);
    check("Db.LocalHost.", &["[::1]:80", "127.0.0.1:80"]);
    check("db", &["192.0.2.1:80", "[2001:db8::1]:80"]);
    check("DB.", &["192.0.2.1:80", "[2001:db8::1]:80"]);
    check("web", &[]);
}

#[test]
fn what_is_no_host_is_refused_with_a_hint() {
    let (dir, tree) = tree("");
    let check = |host: &str, expect: &str| {
        let error = known(host, 80, &tree).err().unwrap();
        assert_eq!(error.to_string(), expect);
    };
    check(
        "bücher.example",
        "read the host `bücher.example`: names are ASCII\nhint: write the form of it that begins with `xn--`, which \
         `idn2 NAME` prints, or an address",
    );
    check(
        "",
        "read the host ``: it is empty\nhint: write a name such as `db.example`, or an address",
    );
    check(
        "db:3306",
        "read the host `db:3306`: it is no IPv6 address\nhint: a colon stands in IPv6 addresses alone, such as \
         `2001:db8::7`; a port is not part of the host",
    );
    let long = known(&"x".repeat(100_000), 80, &tree).err().unwrap();
    assert!(long.to_string().len() < 300);
    std::fs::remove_file(dir.path().join("etc/hosts")).unwrap();
    std::fs::create_dir(dir.path().join("etc/hosts")).unwrap();
    check(
        "db",
        "look up `db`: read `/etc/hosts`: EISDIR\nhint: make the file readable, or write the address",
    );
}

#[test]
fn families_take_turns_and_the_route_decides_which_begins() {
    let check = |texts: &[&str], routed: bool, expect: &[&str]| {
        let found = texts.iter().map(|text| text.parse().unwrap()).collect();
        let found = ordered(found, |_| routed);
        let found: Vec<String> = found.iter().map(ToString::to_string).collect();
        assert_eq!(found, expect, "{texts:?} {routed}");
    };
    let old = ["192.0.2.1:1", "192.0.2.2:1", "192.0.2.3:1"];
    let new = ["[2001:db8::1]:1", "[2001:db8::2]:1"];
    let served = [old[2], old[0], old[1], new[1], new[0]];
    check(&served, true, &[new[1], old[2], new[0], old[0], old[1]]);
    check(&served, false, &[old[2], new[1], old[0], new[0], old[1]]);
    let twice = [old[0], old[0], new[0], old[1], new[0]];
    check(&twice, true, &[new[0], old[0], old[1]]);
    check(&old, true, &old);
    check(&new, false, &new);
    check(&[], true, &[]);
}

#[test]
fn a_route_is_known_without_sending() {
    assert!(has_route("127.0.0.1:9".parse().unwrap()));
    // Nobody can have a route to a multicast address on an interface that does not exist.
    assert!(!has_route("[ff02::1%4000000000]:9".parse().unwrap()));
}

#[test]
fn this_machine_finds_itself() {
    let found = addresses("localhost", 7, Duration::ZERO).unwrap();
    assert_eq!(found.len(), 2);
    assert!(
        found
            .iter()
            .all(|address| address.ip().is_loopback() && address.port() == 7)
    );
    let expect = SocketAddr::from(([192, 0, 2, 1], 7));
    assert_eq!(addresses("192.0.2.1", 7, Duration::ZERO), Ok(vec![expect]));
    let error = addresses("no such name", 7, AMPLE).unwrap_err();
    assert!(matches!(error, NamesError::NoHost { .. }));
}
