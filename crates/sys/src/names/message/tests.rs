//! What is read of answers: those that servers send, those that they should not, and bytes that nobody meant.

use super::super::fake::{
    self, A as TYPE_A, AAAA as TYPE_AAAA, ANSWER, ASKED, CUT, Record, address, name, reply,
};
use super::*;
use proptest::prelude::*;

const ID: u16 = 0x4b52;

fn question(kind: Kind) -> Question {
    Question::new(ID, "Db.Example", kind, false)
}

/// The answer to `question(kind)` with these flags and records.
fn answer(kind: Kind, flags: u16, records: &[Record]) -> Vec<u8> {
    reply(&question(kind).message(), flags, records)
}

fn addresses(texts: &[&str]) -> Answer {
    let texts = texts.iter();
    Answer::Addresses(texts.map(|text| text.parse().unwrap()).collect())
}

fn alias(owner: &str, target: &str) -> Record {
    (name(owner), fake::CNAME, name(target))
}

fn of(owner: &str, text: &str) -> Record {
    let (_, kind, content) = address(text);
    (name(owner), kind, content)
}

#[test]
fn a_question_is_written_as_the_standard_says() {
    let mut expect = b"\x4b\x52\x01\0\0\x01\0\0\0\0\0\0\x02db\x07example\0\0\x1c\0\x01".to_vec();
    assert_eq!(question(Kind::Aaaa).message(), expect);
    // With EDNS: one addition, of the root, OPT, 1232 bytes.
    let edns = Question::new(ID, "db.example", Kind::Aaaa, true);
    expect[11] = 1;
    expect.extend(b"\0\0\x29\x04\xd0\0\0\0\0\0\0");
    assert_eq!(edns.message(), expect);
}

#[test]
fn answers_are_read() {
    let check = |kind, flags, records: &[Record], expect: Result<Answer, Broken>| {
        let message = answer(kind, flags, records);
        assert_eq!(question(kind).answered(&message), Some(expect));
    };
    let (a, aaaa) = (Kind::A, Kind::Aaaa);
    let one = address("192.0.2.1");
    check(
        a,
        ANSWER,
        std::slice::from_ref(&one),
        Ok(addresses(&["192.0.2.1"])),
    );
    check(
        a,
        ANSWER,
        &[address("192.0.2.2"), one.clone()],
        Ok(addresses(&["192.0.2.2", "192.0.2.1"])),
    );
    check(
        aaaa,
        ANSWER,
        &[address("2001:db8::1")],
        Ok(addresses(&["2001:db8::1"])),
    );
    // The other kind, another class and a type that nobody knows are passed over.
    let unknown = (ASKED.to_vec(), 65_280, vec![1, 2, 3]);
    check(aaaa, ANSWER, &[one.clone(), unknown], Ok(addresses(&[])));
    check(a, ANSWER, &[], Ok(addresses(&[])));
    check(a, ANSWER | CUT, &[one], Ok(Answer::Cut));
    check(a, ANSWER | 3, &[], Ok(Answer::NoSuchName));
    for code in [FORMERR, SERVFAIL, NOTIMP, REFUSED, 15] {
        check(a, ANSWER | u16::from(code), &[], Ok(Answer::Code(code)));
    }
    // Neither its own knowledge (AA) nor somebody to ask (RA): it only refers.
    check(a, 0x8100, &[], Err("it refers to other servers"));
    check(a, 0x8500, &[], Ok(addresses(&[])));
}

#[test]
fn aliases_are_followed_in_any_order_and_not_for_ever() {
    let check = |records: &[Record], expect: Result<Answer, Broken>| {
        let message = answer(Kind::A, ANSWER, records);
        assert_eq!(question(Kind::A).answered(&message), Some(expect));
    };
    let mut chain = vec![
        alias("DB.example", "a.example"),
        alias("a.EXAMPLE", "b.example"),
        of("B.Example", "192.0.2.1"),
        of("c.example", "192.0.2.9"),
    ];
    check(&chain, Ok(addresses(&["192.0.2.1"])));
    chain.reverse();
    check(&chain, Ok(addresses(&["192.0.2.1"])));
    check(&[alias("db.example", "a.example")], Ok(addresses(&[])));
    check(&[of("c.example", "192.0.2.9")], Ok(addresses(&[])));
    let circle = Err("its aliases lead in a circle, or through more than 16 names");
    check(&[alias("db.example", "db.example")], circle.clone());
    let two = [
        alias("db.example", "a.example"),
        alias("a.example", "db.example"),
    ];
    check(&two, circle.clone());
    let long = |count: usize| {
        let names = |number| match number {
            0 => "db.example".to_owned(),
            _ => format!("a{number}.example"),
        };
        let mut records: Vec<Record> = (0..count)
            .map(|number| alias(&names(number), &names(number + 1)))
            .collect();
        records.push(of(&names(count), "192.0.2.1"));
        records
    };
    check(&long(16), Ok(addresses(&["192.0.2.1"])));
    check(&long(17), circle);
}

#[test]
fn what_answers_something_else_is_no_answer() {
    let message = answer(Kind::A, ANSWER, &[address("192.0.2.1")]);
    assert!(question(Kind::A).answered(&message).is_some());
    let not_ours = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut message = message.clone();
        change(&mut message);
        assert_eq!(question(Kind::A).answered(&message), None, "{message:?}");
    };
    not_ours(&|message| message[1] ^= 1);
    // A question, another operation, no question, two of them.
    not_ours(&|message| message[2] &= 0x7f);
    not_ours(&|message| message[2] |= 0x08);
    not_ours(&|message| message[5] = 0);
    not_ours(&|message| message[5] = 2);
    // Another name, type or class.
    not_ours(&|message| message[13] = b'x');
    not_ours(&|message| message[25] = 28);
    not_ours(&|message| message[27] = 3);
    for length in 0..28 {
        not_ours(&|message| message.truncate(length));
    }
    // Capitals are no difference, and some servers change them.
    let mut capitals = message.clone();
    capitals[12..23].make_ascii_uppercase();
    let expect = Some(Ok(addresses(&["192.0.2.1"])));
    assert_eq!(question(Kind::A).answered(&capitals), expect);
    assert_eq!(question(Kind::Aaaa).answered(&message), None);
}

#[test]
fn a_server_without_edns_may_answer_without_the_question() {
    let head = [0x4b, 0x52, 0x81, 0x81, 0, 0, 0, 0, 0, 0, 0, 0];
    let with = Question::new(ID, "db.example", Kind::A, true);
    assert_eq!(with.answered(&head), Some(Ok(Answer::Code(FORMERR))));
    assert_eq!(question(Kind::A).answered(&head), None);
}

#[test]
fn broken_records_are_told() {
    let check = |records: &[Record], expect: Broken| {
        let message = answer(Kind::A, ANSWER, records);
        assert_eq!(question(Kind::A).answered(&message), Some(Err(expect)));
    };
    let record = |owner: &[u8]| (owner.to_vec(), TYPE_A, vec![192, 0, 2, 1]);
    let length = "an address is not as long as addresses are";
    check(&[(ASKED.to_vec(), TYPE_A, vec![1; 5])], length);
    check(&[(ASKED.to_vec(), TYPE_A, vec![])], length);
    // The record begins at byte 28.
    check(&[record(&[0xc0, 28])], "a name in it has no end");
    check(&[record(&[1, b'a', 0xc0, 28])], "a name in it is too long");
    check(&[record(&[0xff, 0xff])], TOO_SHORT);
    check(
        &[record(&[0x40])],
        "a name in it begins with bits that have no meaning",
    );
    check(
        &[record(&[0x80])],
        "a name in it begins with bits that have no meaning",
    );
    let mut long = [[63; 64]; 4].concat();
    long.push(0);
    check(&[record(&long)], "a name in it is too long");
    let content = [ASKED.to_vec(), vec![0]].concat();
    let alias_length = "an alias is not as long as it says";
    check(&[(ASKED.to_vec(), fake::CNAME, content)], alias_length);
    check(&[(ASKED.to_vec(), fake::CNAME, vec![0xc0])], TOO_SHORT);
    check(&[(ASKED.to_vec(), fake::CNAME, vec![])], TOO_SHORT);
}

#[test]
fn an_answer_that_is_cut_anywhere_is_broken_and_counts_may_lie() {
    let records = [
        alias("db.example", "a.example"),
        of("a.example", "192.0.2.1"),
    ];
    let whole = answer(Kind::A, ANSWER, &records);
    for length in 28..whole.len() {
        let found = question(Kind::A).answered(&whole[..length]);
        assert_eq!(found, Some(Err(TOO_SHORT)), "{length}");
    }
    let with_count = |count: u16| {
        let mut message = whole.clone();
        message[6..8].copy_from_slice(&count.to_be_bytes());
        question(Kind::A).answered(&message)
    };
    assert_eq!(with_count(2), Some(Ok(addresses(&["192.0.2.1"]))));
    assert_eq!(with_count(1), Some(Ok(addresses(&[]))));
    assert_eq!(with_count(0), Some(Ok(addresses(&[]))));
    assert_eq!(with_count(3), Some(Err(TOO_SHORT)));
    assert_eq!(with_count(u16::MAX), Some(Err(TOO_SHORT)));
}

#[test]
fn the_longest_name_can_be_read_through_a_pointer_in_front_of_every_part() {
    // 127 parts of one letter and the end are 255 bytes; each part but the last is followed by a pointer.
    let text = vec!["a"; 127].join(".");
    let asked = Question::new(ID, &text, Kind::A, false);
    let mut message = reply(&asked.message(), ANSWER, &[]);
    message[7] = 1;
    // Its name begins at byte 1000.
    let record = [
        &[0xc3, 0xe8][..],
        &[0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 192, 0, 2, 1],
    ]
    .concat();
    message.extend(record);
    message.resize(1000, 0);
    for number in 1..=127_u16 {
        let next = (0xc000 + 1000 + 4 * number).to_be_bytes();
        message.extend([&[1, b'a'][..], &next].concat());
    }
    message.push(0);
    let expect = Some(Ok(addresses(&["192.0.2.1"])));
    assert_eq!(asked.answered(&message), expect);
}

#[test]
fn the_largest_answers_are_read() {
    let records: Vec<Record> = (0..4000_u32)
        .map(|number| address(&Ipv4Addr::from(number).to_string()))
        .collect();
    let message = answer(Kind::A, ANSWER, &records);
    assert!(message.len() > 64_000 && message.len() < 65_536);
    let found = question(Kind::A).answered(&message);
    assert!(matches!(found, Some(Ok(Answer::Addresses(all))) if all.len() == 4000));
}

/// An answer with every kind of record in it.
fn rich() -> Vec<u8> {
    let mut records = vec![
        alias("db.example", "a.example"),
        alias("a.example", "b.example"),
        of("b.example", "192.0.2.1"),
        of("b.example", "2001:db8::1"),
        (ASKED.to_vec(), 46, vec![7; 40]),
    ];
    records.push((vec![1, b'b', 0xc0, 15], TYPE_A, vec![192, 0, 2, 2]));
    records.push((vec![1, b'b', 0xc0, 15], TYPE_AAAA, vec![1; 16]));
    answer(Kind::A, ANSWER, &records)
}

/// Whatever is read of a message has room in it.
fn holds(message: &[u8]) {
    if let Some(Ok(Answer::Addresses(found))) = question(Kind::A).answered(message) {
        // A record has a name of a byte, ten bytes of numbers, and the address.
        assert!(found.len() <= message.len() / 15);
    }
}

/// A byte, and every fourth time one that names, types and pointers are made of.
fn likely(byte: u8) -> u8 {
    const USED: [u8; 8] = [0, 0, 1, 4, 5, 12, 28, 0xc0];
    if byte.is_multiple_of(4) {
        USED[usize::from(byte / 32)]
    } else {
        byte
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn random_bytes_are_survived(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
        holds(&bytes);
    }

    #[test]
    fn random_bytes_behind_the_question_are_survived(
        count in any::<u16>(),
        bytes in proptest::collection::vec(any::<u8>().prop_map(likely), 0..400),
    ) {
        let mut message = answer(Kind::A, ANSWER, &[]);
        message[6..8].copy_from_slice(&count.to_be_bytes());
        message.extend(bytes);
        holds(&message);
    }

    #[test]
    fn changed_answers_are_survived(
        changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..8),
        length in any::<proptest::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut message = rich();
        for (place, value) in changes {
            let place = place.index(message.len());
            message[place] = value;
        }
        if is_cut {
            message.truncate(length.index(message.len()));
        }
        holds(&message);
    }

    #[test]
    fn a_name_is_read_as_it_was_written(
        parts in proptest::collection::vec("[a-zA-Z0-9_-]{1,63}", 1..4),
    ) {
        let text = parts.join(".");
        let bytes = written(&text);
        let mut reader = Reader { message: &bytes, at: 0 };
        let name = reader.name();
        prop_assert_eq!(name.as_ref(), Ok(&bytes));
        prop_assert_eq!(reader.at, bytes.len());
    }
}
