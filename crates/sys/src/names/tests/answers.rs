//! What is concluded from what servers say.

use super::*;

#[test]
fn one_kind_of_address_is_enough() {
    let ipv4 = ask(&|query| serve(query, &["192.0.2.1"]));
    ipv4.finds(&["192.0.2.1"]);
    let ipv6 = ask(&|query| serve(query, &["2001:db8::1"]));
    ipv6.finds(&["[2001:db8::1]"]);
    let none = ask(&|query| serve(query, &[]));
    none.fails(
        "look up `db.example`: `A` says that `db.example` exists and has no address\nhint: it may be the name of a \
         domain and not of a host in it; only /etc/hosts and DNS are asked (no mDNS, NIS or LDAP); write the address \
         where another program knows it",
    );
}

#[test]
fn whatever_is_said_of_ipv6_an_address_counts() {
    for code in [2, 3, 5] {
        let lookup = ask(&|query| match query.kind {
            AAAA => send(query, ANSWER | code, &[]),
            _ => both(query),
        });
        lookup.finds(&["192.0.2.2", "192.0.2.1"]);
    }
    let lost = |query: &Query| match query.kind {
        AAAA => Vec::new(),
        _ => both(query),
    };
    let lookup = look_up("db.example", "", SHORT * 4, &[&lost]);
    lookup.finds(&["192.0.2.2", "192.0.2.1"]);
    let again = lookup.queries.iter().filter(|query| query.kind == A);
    assert_eq!(again.count(), 1, "what was answered is not asked again");
}

#[test]
fn capitals_in_the_answer_are_no_difference() {
    let lookup = ask(&|query| {
        let mut message = reply(&query.message, ANSWER, &[]);
        message[12..24].make_ascii_uppercase();
        let kind = query.kind;
        let records = [address("192.0.2.1"), address("2001:db8::1")];
        let records = records.into_iter().filter(|record| record.1 == kind);
        let records: Vec<fake::Record> = records.collect();
        vec![Say::Send(reply(&message, ANSWER, &records))]
    });
    lookup.finds(&["192.0.2.1", "[2001:db8::1]"]);
}

#[test]
fn aliases_are_followed_inside_of_an_answer() {
    let lookup = ask(&|query| {
        let target = |(_, kind, content)| (name("c.other"), kind, content);
        let records = [
            (ASKED.to_vec(), CNAME, name("b.other")),
            (name("b.other"), CNAME, name("c.other")),
            target(address("192.0.2.1")),
            target(address("2001:db8::1")),
        ];
        send(query, ANSWER, &records)
    });
    lookup.finds(&["192.0.2.1", "[2001:db8::1]"]);
    let circle = ask(&|query| send(query, ANSWER, &[(ASKED.to_vec(), CNAME, ASKED.to_vec())]));
    assert!(matches!(circle.reasons()[..], [Reason::Broken(_)]));
}

#[test]
fn refusals_are_told_apart_and_say_what_helps() {
    ask(&code(3)).fails(
        "look up `db.example`: `A` says that there is no `db.example` (NXDOMAIN)\nhint: only /etc/hosts and DNS are \
         asked (no mDNS, NIS or LDAP); write the address where another program knows it",
    );
    ask(&code(2)).fails(
        "look up `db.example`: asked for `db.example`, `A` could not find out (SERVFAIL)\nhint: the servers of that \
         domain may be down: try again later, or write the address; where the search list made the name, write the \
         whole name with a dot at its end",
    );
    ask(&code(5)).fails(
        "look up `db.example`: asked for `db.example`, `A` refuses to answer (REFUSED)\nhint: name a `nameserver` in \
         `/etc/resolv.conf` that serves this machine, or write the address",
    );
    let two = look_up("db.example", "", SHORT, &[&code(9), &silent]);
    two.fails(
        "look up `db.example`: asked for `db.example`, `A` answers with the code 9, and `B` does not answer in \
         time\nhint: see whether port 53 of every `nameserver` in `/etc/resolv.conf` can be reached, or write the \
         address",
    );
    let none = look_up("db.example", "", Duration::ZERO, &[&both]);
    none.fails(
        "look up `db.example`: no time was left to ask for `db.example`\nhint: give it more time, or write the address",
    );
}

#[test]
fn the_search_list_is_gone_through_until_a_name_has_an_address() {
    let script = |query: &Query| match query.name.as_str() {
        "db.two.example" | "a.b" => serve(query, &["192.0.2.1"]),
        "db.empty.example" => serve(query, &[]),
        _ => send(query, ANSWER | 3, &[]),
    };
    let check = |host: &str, file: &str, expect: &[&str]| {
        let file = format!("{file}\noptions no-aaaa\n");
        let lookup = look_up(host, &file, AMPLE, &[&script]);
        let expect: Vec<String> = expect.iter().map(|name| format!("{name}/1")).collect();
        assert_eq!(lookup.asked(), expect);
        lookup
    };
    let search = "search one.example empty.example two.example";
    let names = ["db.one.example", "db.empty.example", "db.two.example"];
    check("db", search, &names).finds(&["192.0.2.1"]);
    check("a.b", search, &["a.b"]).finds(&["192.0.2.1"]);
    let dots = "search one.example\noptions ndots:2";
    check("a.b", dots, &["a.b.one.example", "a.b"]).finds(&["192.0.2.1"]);
    check("db.", search, &["db"]).fails(
        "look up `db`: `A` says that there is no `db` (NXDOMAIN)\nhint: only /etc/hosts and DNS are asked (no mDNS, \
         NIS or LDAP); write the address where another program knows it",
    );
    let lookup = check("db", "search x.example", &["db.x.example", "db"]);
    let NamesError::NoSuchName { names, .. } = lookup.found.unwrap_err() else {
        panic!("another error");
    };
    assert_eq!(names, ["db.x.example", "db"]);
    let lookup = check("db", "search empty.example", &["db.empty.example", "db"]);
    let NamesError::NoAddress { name, .. } = lookup.found.unwrap_err() else {
        panic!("another error");
    };
    assert_eq!(name, "db.empty.example");
}

#[test]
fn a_name_that_was_not_answered_for_is_not_taken_for_absent() {
    let script = |query: &Query| match query.name.as_str() {
        "db.one.example" => send(query, ANSWER | 2, &[]),
        _ => both(query),
    };
    let search = "search one.example two.example\n";
    let lookup = look_up("db", search, AMPLE, &[&script]);
    assert_eq!(lookup.reasons(), [Reason::Failed]);
    assert_eq!(lookup.asked(), ["db.one.example/1", "db.one.example/28"]);
}
