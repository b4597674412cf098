//! Messages and answers over loopback, with others that lose, hold, double and forge them.

use super::*;
use std::net::{Ipv4Addr, TcpListener};

const SHORT: Duration = Duration::from_millis(500);

fn streams() -> [TcpStream; 2] {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    [client, listener.accept().unwrap().0]
}

fn sockets() -> [UdpSocket; 2] {
    let both = [0, 0].map(|port| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap());
    let [a, b] = both.each_ref().map(|one| one.local_addr().unwrap());
    both[0].connect(b).unwrap();
    both[1].connect(a).unwrap();
    both
}

/// Asks so many times while `other` is at the other end, and says how the last one went.
fn asked<T: Send + 'static>(
    (link, patience): (Link, Duration),
    bytes: usize,
    times: u64,
    other: impl FnOnce() -> T + Send + 'static,
) -> (Asker, io::Result<()>, T) {
    let mut asker = Asker::new(link, bytes, patience).unwrap();
    std::thread::scope(|scope| {
        let other = scope.spawn(other);
        let done = (0..times).try_for_each(|_| asker.exchange());
        let ended = asker.end();
        // The other end may have gone where it did not answer.
        assert!(done.is_err() || ended.is_ok(), "{ended:?}");
        (asker, done, other.join().unwrap())
    })
}

#[test]
fn each_message_is_answered_and_both_sides_count_alike() {
    for bytes in [1, 2, 8, 9, 16_384] {
        let [client, server] = streams();
        let serve = move || answer(&Link::Tcp(server), bytes, None, || false).unwrap();
        let (asker, done, answered) = asked((Link::Tcp(client), PATIENCE), bytes, 300, serve);
        done.unwrap();
        assert_eq!((asker.done(), asker.lost(), answered), (300, 0, 300));

        let [client, server] = sockets();
        let serve = move || answer(&Link::Udp(server), bytes, None, || false).unwrap();
        let (asker, done, answered) = asked((Link::Udp(client), PATIENCE), bytes, 300, serve);
        done.unwrap();
        assert_eq!((asker.done(), asker.lost(), answered), (300, 0, 300));
    }
}

#[test]
fn who_is_trusted_has_no_time_out_and_its_end_is_seen() {
    let [client, server] = streams();
    let seen = client.try_clone().unwrap();
    let mut asker = Asker::new(Link::Tcp(client), 1, PATIENCE).unwrap();
    asker.trust(PATIENCE).unwrap();
    assert_eq!(seen.read_timeout().unwrap(), None);
    assert_eq!(seen.write_timeout().unwrap(), None);
    drop(server);
    assert!(asker.exchange().is_err());
}

#[test]
fn messages_come_back_with_times_where_the_other_side_gives_them() {
    for (bytes, gives) in [(1, true), (16, true), (16_384, true), (5, false)] {
        let [client, server] = sockets();
        let serve = move || {
            let stamps = Cell::new(0);
            let wanted = gives.then_some(&stamps);
            let answered = answer(&Link::Udp(server), bytes, wanted, || false).unwrap();
            (answered, stamps.get())
        };
        let mut asker = Asker::new(Link::Udp(client), bytes, PATIENCE).unwrap();
        let (all, (answered, stamps)) = std::thread::scope(|scope| {
            let other = scope.spawn(serve);
            asker.exchange().unwrap();
            let all = asker.stamped(50, PATIENCE);
            asker.end().unwrap();
            (all, other.join().unwrap())
        });
        let count = if gives { 50 } else { 0 };
        assert_eq!((all.len() as u64, stamps), (count, count));
        assert!(asker.fits(answered), "{answered}");
        let is_ordered = |one: &Stamped| one.sent <= one.received && one.received <= one.answered;
        assert!(
            all.iter()
                .all(|one| is_ordered(one) && one.answered <= one.came)
        );
    }
}

#[test]
fn an_answer_that_is_another_one_is_found() {
    let [client, mut server] = streams();
    let (_, done, ()) = asked((Link::Tcp(client), SHORT), 3, 1, move || {
        let mut message = [0; 3];
        server.read_exact(&mut message).unwrap();
        message[2] ^= 1;
        server.write_all(&message).unwrap();
    });
    assert_eq!(done.unwrap_err().kind(), ErrorKind::InvalidData);

    // Another number of bytes is another answer as well.
    for wrong in [&[1][..], &[], &[0, 1]] {
        let [client, server] = sockets();
        let (_, done, ()) = asked((Link::Udp(client), SHORT), 2, 1, move || {
            server.recv(&mut [0; 2]).unwrap();
            server.send(wrong).unwrap();
        });
        assert_eq!(
            done.unwrap_err().kind(),
            ErrorKind::InvalidData,
            "{wrong:?}"
        );
    }
}

#[test]
fn datagrams_that_are_lost_are_sent_again_and_counted() {
    let [client, server] = sockets();
    let (asker, done, seen) = asked((Link::Udp(client), PATIENCE), 1, 20, move || {
        let (mut byte, mut seen) = ([0], 0);
        while server.recv(&mut byte).unwrap() > 0 {
            seen += 1;
            // Every tenth is lost on its way.
            if seen % 10 > 0 {
                server.send(&byte).unwrap();
            }
        }
        seen
    });
    done.unwrap();
    assert_eq!((asker.done(), asker.lost(), seen), (20, 2, 22));
}

#[test]
fn questions_and_answers_that_come_twice_are_no_others() {
    for bytes in [1, 8, 300] {
        let [client, server] = sockets();
        let (asker, done, seen) = asked((Link::Udp(client), PATIENCE), bytes, 600, move || {
            let (mut message, mut seen) = (vec![0; bytes], 0);
            while server.recv(&mut message).unwrap() > 0 {
                seen += 1;
                for _ in 0..=seen % 3 {
                    server.send(&message).unwrap();
                }
            }
            seen
        });
        done.unwrap();
        assert_eq!((asker.done(), asker.lost(), seen), (600, 0, 600));
        assert!(asker.fits(600) && asker.fits(1200) && !asker.fits(1201) && !asker.fits(599));
    }
    let earlier = |came: &[u8], message: &[u8], number| is_earlier(came, (message, number));
    assert!(earlier(&[255], &[0], 256) && !earlier(&[255], &[0], 0));
    assert!(!earlier(&[0, 0], &[1], 1) && !earlier(&[], &[1], 1));
    let message = |number: u64, rest: u8| [&number.to_le_bytes()[..], &[rest]].concat();
    assert!(earlier(&message(6, 9), &message(7, 9), 7));
    assert!(!earlier(&message(6, 8), &message(7, 9), 7));
    assert!(!earlier(&message(8, 9), &message(7, 9), 7));
}

#[test]
fn an_answer_that_comes_late_is_no_answer_to_what_is_asked_next() {
    let [client, server] = sockets();
    let (asker, done, ()) = asked((Link::Udp(client), PATIENCE), 1, 5, move || {
        let mut byte = [0];
        server.recv(&mut byte).unwrap();
        // The first is held until it was sent again.
        server.recv(&mut byte).unwrap();
        for _ in 0..2 {
            server.send(&byte).unwrap();
        }
        while server.recv(&mut byte).unwrap() > 0 {
            server.send(&byte).unwrap();
        }
    });
    done.unwrap();
    assert_eq!((asker.done(), asker.lost()), (5, 1));
}

#[test]
fn a_side_that_never_answers_or_ends_is_given_up() {
    let [client, server] = streams();
    let (_, done, _) = asked((Link::Tcp(client), SHORT), 1, 1, move || server);
    assert!(is_time_out(&done.unwrap_err()));

    let [client, server] = sockets();
    let (asker, done, _) = asked((Link::Udp(client), SHORT), 1, 1, move || server);
    assert!(is_time_out(&done.unwrap_err()));
    assert_eq!((asker.done(), asker.lost()), (0, u64::from(TRIES)));

    let [client, server] = streams();
    let (_, done, ()) = asked((Link::Tcp(client), SHORT), 1, 1, move || {
        server.shutdown(std::net::Shutdown::Write).unwrap();
    });
    assert_eq!(done.unwrap_err().kind(), ErrorKind::UnexpectedEof);
}

#[test]
fn who_answers_datagrams_ends_when_it_is_stopped_though_nobody_says_so() {
    let [_client, server] = sockets();
    assert_eq!(answer(&Link::Udp(server), 1, None, || true).unwrap(), 0);
}
