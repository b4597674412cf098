//! Servers that are silent, late, wrong or not there, and how they are asked.

use super::*;

#[test]
fn both_kinds_are_asked_from_ports_of_their_own_and_answers_keep_their_order() {
    let lookup = ask(&both);
    lookup.finds(&BOTH);
    assert_eq!(lookup.asked().len(), 2);
    let ports: Vec<u16> = lookup
        .queries
        .iter()
        .map(|query| query.from.port())
        .collect();
    assert_ne!(ports[0], ports[1]);
}

#[test]
fn numbers_of_questions_differ() {
    let mut ids: Vec<Vec<u8>> = Vec::new();
    for _ in 0..8 {
        let queries = ask(&both).queries;
        ids.extend(queries.iter().map(|query| query.message[..2].to_vec()));
    }
    ids.sort();
    ids.dedup();
    // Of 16 random ones among 65,536 three pairs are never the same.
    assert!(ids.len() > 13, "{ids:?}");
}

#[test]
fn the_second_server_is_asked_where_the_first_gives_nothing() {
    let scripts: [Script; 4] = [&silent, &code(2), &code(5), &|query: &Query| {
        vec![Say::Send([&query.message[..2], &[0x81; 20]].concat())]
    }];
    for script in scripts {
        let lookup = look_up("db.example", "options timeout:1\n", AMPLE, &[script, &both]);
        lookup.finds(&BOTH);
        assert_eq!(lookup.queries.last().unwrap().server, 1);
    }
}

#[test]
fn the_second_server_is_asked_in_time_where_there_is_less_than_the_first_may_take() {
    let lookup = look_up("db.example", "", SHORT, &[&silent, &both]);
    lookup.finds(&BOTH);
}

#[test]
fn what_is_lost_is_asked_again() {
    let count = std::sync::atomic::AtomicU32::new(0);
    let lookup = look_up(
        "db.example",
        "options timeout:1\n",
        AMPLE,
        &[
            &|query| match count.fetch_add(1, std::sync::atomic::Ordering::SeqCst) {
                0 | 1 => Vec::new(),
                _ => both(query),
            },
        ],
    );
    lookup.finds(&BOTH);
}

#[test]
fn what_is_too_large_for_udp_is_fetched_over_tcp() {
    let lookup = ask(&|query| {
        if query.over_tcp {
            both(query)
        } else {
            send(query, ANSWER | CUT, &[])
        }
    });
    lookup.finds(&BOTH);
    assert_eq!(lookup.queries.len(), 4);
    let always = ask(&|query| send(query, ANSWER | CUT, &[]));
    assert_eq!(
        always.reasons(),
        [Reason::Broken("it is cut, over TCP too")]
    );
}

#[test]
fn tcp_alone_is_used_where_the_file_says_so_and_carries_the_largest_answers() {
    let many = |query: &Query| {
        let all = (0..4000_u32).map(|number| address(&Ipv4Addr::from(number).to_string()));
        let records: Vec<fake::Record> = all.filter(|_| query.kind == A).collect();
        send(query, ANSWER, &records)
    };
    let lookup = look_up("db.example", "options use-vc\n", AMPLE, &[&many]);
    assert_eq!(lookup.found.map(|found| found.len()), Ok(4000));
    assert!(lookup.queries.iter().all(|query| query.over_tcp));
}

#[test]
fn a_connection_that_ends_or_says_something_else_is_broken() {
    let tcp = "options use-vc attempts:1\n";
    let ends = look_up("db.example", tcp, AMPLE, &[&silent]);
    let reason = Reason::Broken("the connection ends before it does");
    assert_eq!(ends.reasons(), [reason]);
    let other = look_up(
        "db.example",
        tcp,
        AMPLE,
        &[&|query| vec![Say::Send(query.message.clone())]],
    );
    assert_eq!(
        other.reasons(),
        [Reason::Broken("it answers another question")]
    );
}

#[test]
fn only_answers_with_our_number_and_question_count() {
    let lookup = ask(&|query| {
        let wrong = |place: usize| {
            let mut wrong = reply(&query.message, ANSWER, &[address("203.0.113.9")]);
            wrong[place] ^= 1;
            Say::Send(wrong)
        };
        // The number, a letter of the name, the type, the class; nothing; the question itself.
        let strangers = [wrong(1), wrong(14), wrong(25), wrong(27)];
        let more = [Say::Send(Vec::new()), Say::Send(query.message.clone())];
        let answer = both(query);
        strangers.into_iter().chain(more).chain(answer).collect()
    });
    lookup.finds(&BOTH);
}

#[test]
fn only_answers_from_the_address_that_was_asked_count() {
    let elsewhere = |query: &Query| {
        let record = if query.kind == A {
            "203.0.113.9"
        } else {
            "2001:db8::9"
        };
        let message = reply(&query.message, ANSWER, &[address(record)]);
        vec![Say::SendFromElsewhere(message)]
    };
    let lookup = ask(&|query| elsewhere(query).into_iter().chain(both(query)).collect());
    lookup.finds(&BOTH);
    let alone = look_up("db.example", "", SHORT, &[&elsewhere]);
    assert_eq!(alone.reasons(), [Reason::Silent]);
}

#[test]
fn a_server_that_is_not_there_is_told_at_once() {
    let gone = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let server = gone.local_addr().unwrap();
    drop(gone);
    let mut config = config::parse("", None);
    config.servers = vec![server];
    let host = Host::read("db").unwrap();
    let error = by_dns(host, 80, &config, Until::after(AMPLE)).unwrap_err();
    let text = error.to_string();
    let expect = format!(
        "`{server}` cannot be asked: receive over UDP: ECONNREFUSED\nhint: see whether port 53"
    );
    assert!(text.contains(&expect), "{text}");
}

#[test]
fn extensions_are_left_out_where_a_server_does_not_know_them() {
    let is_extended = |query: &Query| query.message[11] == 1;
    let script = |query: &Query| {
        if is_extended(query) {
            send(query, ANSWER | 1, &[])
        } else {
            both(query)
        }
    };
    let lookup = look_up("db.example", "options edns0\n", AMPLE, &[&script]);
    lookup.finds(&BOTH);
    let extended = lookup.queries.iter().filter(|query| is_extended(query));
    assert_eq!(extended.count(), 2);
    let plain = ask(&both);
    assert!(!plain.queries.iter().any(is_extended));
}

#[test]
fn the_time_is_kept_whatever_servers_do() {
    let slow = |query: &Query| vec![Say::SendSlowly(reply(&query.message, ANSWER, &[]))];
    let stranger = |query: &Query| vec![Say::Send(query.message.clone())];
    let scripts: [(Script, &str); 3] =
        [(&silent, ""), (&stranger, ""), (&slow, "options use-vc\n")];
    for (script, file) in scripts {
        let begin = monotonic();
        let lookup = look_up("db.example", file, SHORT, &[script, script, script]);
        let took = Duration::from_nanos(monotonic() - begin);
        assert!(matches!(lookup.reasons()[0], Reason::Silent));
        // As long as it may take, and not as long as three servers, two attempts and five seconds each.
        assert!(took * 10 >= SHORT * 9 && took < SHORT * 10, "{took:?}");
    }
}
