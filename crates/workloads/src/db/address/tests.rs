//! Addresses that are read, kept and read again, and such as are none.

use super::*;
use proptest::prelude::*;

fn read(url: &str) -> Result<(String, Option<String>), BadAddress> {
    let defaults = Defaults {
        user: Some("me".to_owned()),
        ..Defaults::default()
    };
    let typed = Address::read(url, &defaults)?;
    Ok((typed.address.to_string(), typed.password))
}

#[test]
fn addresses_have_one_form_and_no_password() {
    let check = |url: &str, expected: &str, password: Option<&str>| {
        let found = read(url).unwrap_or_else(|why| panic!("{url}: {why}"));
        assert_eq!(
            found,
            (expected.to_owned(), password.map(str::to_owned)),
            "{url}"
        );
        // What is kept is read again.
        assert_eq!(
            read(expected).unwrap(),
            (expected.to_owned(), None),
            "{url}"
        );
    };
    check(
        "postgres://bob@db:5433/shop",
        "postgres://bob@db:5433/shop",
        None,
    );
    check("postgresql://db", "postgres://me@db:5432/me", None);
    check(
        "postgres://bob:s%40c@10.0.0.1/shop",
        "postgres://bob@10.0.0.1:5432/shop",
        Some("s@c"),
    );
    check(
        "postgres://bob:a@b@db/x",
        "postgres://bob@db:5432/x",
        Some("a@b"),
    );
    check("postgres://bob@[::1]:7/x", "postgres://bob@[::1]:7/x", None);
    check(
        "postgres:///shop?host=/run/postgresql",
        "postgres://me@/shop?host=/run/postgresql&port=5432",
        None,
    );
    check(
        "postgres://b@%2Frun%2Fpg:7/shop",
        "postgres://b@/shop?host=/run/pg&port=7",
        None,
    );
    check(
        "postgres://db/x?user=eve&password=p%26w&sslmode=disable&port=9&dbname=y",
        "postgres://eve@db:9/y",
        Some("p&w"),
    );
    check(
        "postgres://b%20c@db/a%2Fb",
        "postgres://b%20c@db:5432/a%2Fb",
        None,
    );
    check("mariadb://db/x", "mysql://me@db:3306/x", None);
    check(
        "mysql://bob:a%40b@localhost:7/x?ssl-mode=DISABLED",
        "mysql://bob@localhost:7/x",
        Some("a@b"),
    );
    check(
        "mysql:///x?socket=/run/mysqld/mysqld.sock&user=eve&password=p",
        "mysql://eve@/x?socket=/run/mysqld/mysqld.sock",
        Some("p"),
    );
    check("redis://", "redis://127.0.0.1:6379/0", None);
    check("redis://:pw@db/3", "redis://db:6379/3", Some("pw"));
    check("valkey://bob:pw@db:7", "redis://bob@db:7/0", Some("pw"));
    check(
        "redis:///2?socket=/run/redis.sock",
        "redis:///2?socket=/run/redis.sock",
        None,
    );
}

#[test]
fn the_word_for_a_password_in_the_clear_is_kept_and_means_something() {
    let check = |url: &str, shown: &str, may_be: bool, password: Option<&str>| {
        let typed = Address::read(url, &Defaults::default()).unwrap();
        assert_eq!(typed.address.to_string(), shown, "{url}");
        assert_eq!(typed.address.may_be_clear, may_be, "{url}");
        assert_eq!(typed.password.as_deref(), password, "{url}");
        let again = Address::read(shown, &Defaults::default()).unwrap();
        assert_eq!(again.address, typed.address, "{url}");
    };
    let own = "postgres://b@h:5432/d";
    let with = "postgres://b@h:5432/d?password=clear";
    check("postgres://b@h/d?password=clear", with, true, None);
    check("postgres://b:p@h/d?password=clear", with, true, Some("p"));
    check("postgres://b:clear@h/d", own, false, Some("clear"));
    check("postgres://b@h/d?password=Clear", own, false, Some("Clear"));
    check(
        "postgres://b@h/d?password=p&password=clear",
        with,
        true,
        Some("p"),
    );
    check(
        "redis://:p@h/1?password=clear",
        "redis://h:6379/1?password=clear",
        true,
        Some("p"),
    );
    // MySQL has no such word: there it is the password.
    check(
        "mysql://b@h/d?password=clear",
        "mysql://b@h:3306/d",
        false,
        Some("clear"),
    );
    let refused = |url: &str, words: &str| {
        let why = read(url).unwrap_err().to_string();
        assert!(
            why.contains(words) && !why.contains("hunter2"),
            "{url}: {why}"
        );
    };
    refused("redis://h?password=hunter2", "one word, `clear`");
    for url in [
        "postgres://b@/d?host=/run/pg&password=clear",
        "postgres://b@h/d?sslmode=require&password=clear",
        "rediss://h?password=clear",
        "redis:///0?socket=/s&password=clear",
    ] {
        refused(
            url,
            "`password=clear` is for connections over a network without TLS",
        );
    }
}

#[test]
fn what_is_refused_is_not_quoted() {
    let check = |url: &str, words: &str| {
        let why = read(url).unwrap_err().to_string();
        assert!(why.contains(words), "{url}: {why}");
        assert!(!why.contains("hunter2"), "{url}: {why}");
    };
    check(
        "oracle://u:hunter2@h/d",
        "`mysql://`, `mariadb://`, `redis://`, `valkey://`, `rediss://`",
    );
    check("mysql://u:hunter2@h", "database");
    check("mysql://u@h/d?socket=hunter2", "socket");
    check(
        "mysql://u@h/d?charset=utf8",
        "none of socket, user, password, ssl-mode, ssl-ca",
    );
    check("redis://:hunter2@h/db", "database number");
    check("redis://h/123456", "database number");
    check("hunter2", "postgres://");
    check("postgres://u:hunter2%zz@h/d", "hexadecimal");
    check("postgres://u:hunter2@h:99999/d", "port");
    check("postgres://u:hunter2@h:0/d", "port");
    check("postgres://u@h/d?a=b&hunter2%40=1", "parameter");
    // What is not escaped splits a password where a host or a parameter begins.
    for url in [
        "mysql://u:12/hunter2@h/d",
        "postgres://u:1?hunter2=x@h/d",
        "redis://u:1/hunter2@h/0",
    ] {
        check(url, "`%2F`");
    }
    check("postgres://u:hunter2@a,b/d", "several");
    check("postgres://u@h/d?host=a,b", "several");
    check("postgres://u:hunter2@h h/d", "host");
    check("postgres://u%0a:hunter2@h/d", "user");
    check("postgres://u:hunter2%00@h/d", "password");
    for url in ["postgres://h/d", "mysql://h/d"] {
        let none = Address::read(url, &Defaults::default());
        assert_eq!(none.err(), Some(BadAddress::Part("user")), "{url}");
    }
}

#[test]
fn what_an_address_does_not_name_is_that_of_the_defaults() {
    let file = Defaults {
        user: Some("eve".to_owned()),
        host: Some("db".to_owned()),
        port: Some("3307".to_owned()),
    };
    let with_socket = Defaults {
        host: Some("/run/own.sock".to_owned()),
        ..file.clone()
    };
    let check = |url: &str, defaults: &Defaults, expected: &str| {
        let found = Address::read(url, defaults).unwrap().address.to_string();
        assert_eq!(found, expected, "{url}");
    };
    check("mysql:///x", &file, "mysql://eve@db:3307/x");
    check(
        "mysql:///x",
        &with_socket,
        "mysql://eve@/x?socket=/run/own.sock",
    );
    check(
        "mysql://bob@other/x",
        &with_socket,
        "mysql://bob@other:3306/x",
    );
    check("mysql://:7/x", &with_socket, "mysql://eve@127.0.0.1:7/x");
    check(
        "mysql:///x?socket=/s",
        &with_socket,
        "mysql://eve@/x?socket=/s",
    );
}

#[test]
fn a_password_is_that_of_a_user_of_a_database_however_it_is_connected_to() {
    let read = |url: &str| {
        let defaults = Defaults {
            user: Some("me".to_owned()),
            ..Defaults::default()
        };
        Address::read(url, &defaults).unwrap().address
    };
    let check = |a: &str, b: &str, expected: bool| {
        assert_eq!(read(a).opens_like(&read(b)), expected, "{a} {b}");
        assert_eq!(read(b).opens_like(&read(a)), expected, "{b} {a}");
    };
    let redis = "redis://:pw@192.0.2.7/0";
    check(redis, "redis://192.0.2.7/0?password=clear", true);
    check(redis, "rediss://192.0.2.7:6379/0", true);
    check(redis, "redis://192.0.2.7/1", false);
    check(redis, "redis://bob@192.0.2.7/0", false);
    check(redis, "redis://192.0.2.8/0", false);
    check(redis, "redis://192.0.2.7:6380/0", false);
    let postgres = "postgres://bob:pw@db/shop";
    check(
        postgres,
        "postgres://bob@db:5432/shop?sslmode=require",
        true,
    );
    check(postgres, "postgres://eve@db/shop", false);
    check(postgres, "mysql://bob@db:5432/shop", false);
    check(postgres, "postgres://bob@/shop?host=/run/postgresql", false);
    // Databases of one server are on one server, over the network or a socket.
    let server = |url: &str| read(url).server();
    assert_eq!(server("mysql://a@db/x"), server("mysql://b@db:3306/y"));
    assert_ne!(server("mysql://a@db/x"), server("mysql://a@db:3307/x"));
    assert_eq!(
        server("postgres://a@/x?host=/run"),
        server("postgres://b@/y?host=/run")
    );
    assert_ne!(
        server("mysql://a@/x?socket=/s"),
        server("mysql://a@/x?socket=/t")
    );
}

proptest! {
    #[test]
    fn no_text_breaks_it_and_what_is_read_is_read_again(url in "((postgres|mysql|redis)://)?.{0,80}") {
        if let Ok((address, _)) = read(&url) {
            prop_assert_eq!(read(&address).unwrap(), (address.clone(), None));
        }
    }
}
