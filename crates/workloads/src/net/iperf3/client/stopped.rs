//! Why a test did not come to its end, in the words that iperf3 has for it, which scripts look for.

use super::Order;
use crate::connect::NotConnected;
use crate::net::exchange::is_time_out;
use crate::net::iperf3::control::Trouble;
use model::flows::Ended;
use std::io;

/// The end of a test before its end.
#[derive(Debug)]
pub struct Stopped {
    /// One sentence.
    pub words: String,
    /// What helps.
    pub hint: Option<String>,
    /// We were told to stop: it is no failure of the test.
    pub is_ours: bool,
    /// What was counted here until then, where data flowed.
    pub so_far: Option<Box<Ended>>,
}

impl Stopped {
    pub(super) fn failed(words: String) -> Self {
        Self {
            words,
            hint: None,
            is_ours: false,
            so_far: None,
        }
    }

    /// We were told to stop.
    pub(super) fn ours(so_far: Option<Ended>) -> Self {
        Self {
            is_ours: true,
            so_far: so_far.map(Box::new),
            ..Self::failed("the client has terminated".to_owned())
        }
    }

    /// The system refused.
    pub(super) fn system(doing: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::failed(format!("unable to {doing}: {}", plain(&error)))
    }

    /// A socket does not take what was asked for.
    pub(super) fn unset(what: &str, error: &io::Error) -> Self {
        Self {
            hint: (what == "TCP_CONGESTION").then(|| {
                "`sysctl net.ipv4.tcp_available_congestion_control` has those of this machine"
                    .to_owned()
            }),
            ..Self::failed(format!("unable to set {what}: {}", plain(error)))
        }
    }

    /// The other end, or the way to it.
    pub(super) fn of(why: &Trouble, order: &Order, so_far: Option<Ended>) -> Self {
        if matches!(why, Trouble::Interrupted) {
            return Self::ours(so_far);
        }
        let told = Self::told(&why.told(&order.peer, "test with").to_string());
        Self {
            words: in_words(why, order).unwrap_or(told.words),
            hint: hint(why, order).or(told.hint),
            is_ours: false,
            so_far: so_far.map(Box::new),
        }
    }

    /// In words that may have what helps behind them.
    pub(super) fn told(words: &str) -> Self {
        match words.split_once("\nhint: ") {
            Some((first, hint)) => Self {
                hint: Some(hint.to_owned()),
                ..Self::failed(first.to_owned())
            },
            None => Self::failed(words.to_owned()),
        }
    }
}

/// What helps a client that has no token.
fn hint(why: &Trouble, order: &Order) -> Option<String> {
    let port = order.peer.port();
    match why {
        _ if why.is_refused() => Some(format!(
            "no server listens at TCP port {port} there: `iperf3 -s -p {port}` starts one"
        )),
        Trouble::Busy(_) => Some(
            "it has one client at a time; if it is `kurabe net serve`, it serves `kurabe run net` alone, with its \
             token: `iperf3 -s` is the server for this client"
                .to_owned(),
        ),
        _ => None,
    }
}

/// As iperf3 says it.
fn in_words(why: &Trouble, order: &Order) -> Option<String> {
    let unable = |why: &str| Some(format!("unable to connect to server: {why}"));
    match why {
        Trouble::Connect(NotConnected::Name(error)) => {
            let error = error.to_string();
            unable(error.lines().next().unwrap_or_default())
        }
        Trouble::Connect(NotConnected::Late) => unable("Connection timed out"),
        Trouble::Connect(NotConnected::Refused(error)) if is_time_out(error) => {
            unable("Connection timed out")
        }
        Trouble::Connect(NotConnected::Refused(error)) => match (error.kind(), order.family) {
            (io::ErrorKind::NotFound, Some(_)) => {
                unable("Address family for hostname not supported")
            }
            _ => unable(&plain(error)),
        },
        Trouble::Busy(_) => Some("the server is busy running a test. try again later".to_owned()),
        Trouble::Terminated => Some("the server has terminated".to_owned()),
        Trouble::Gone => Some("control socket has closed unexpectedly".to_owned()),
        Trouble::Told(error) => Some(format!("the server ended the test: {error}")),
        // What our own protocol says beside these is never heard here.
        _ => None,
    }
}

/// Without the number that Rust adds.
fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error ") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}
