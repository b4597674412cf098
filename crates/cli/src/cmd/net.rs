//! `kurabe net serve`: the other end of `kurabe run net`.
//!
//! It is reached from this machine alone unless the user names an address, ends by itself, and has given up root before
//! the first client is heard.

use crate::args::{NetArgs, NetWhat, ServeArgs};
use crate::exit::{Exit, failure};
use crate::output;
use crate::peer;
use anyhow::Context as _;
use dialects::printable::printable;
use engine::host::Probes;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use sys::tree::Tree;
use workloads::net::iperf3::PORT;
use workloads::net::iperf3::serve::{Listener, Offer};
use workloads::net::own::{Machine, Token};

/// How long may be asked for the addresses of a name.
const NAMED_WITHIN: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &NetArgs) -> anyhow::Result<Exit> {
    match &args.what {
        NetWhat::Serve(args) => serve(args),
    }
}

fn serve(args: &ServeArgs) -> anyhow::Result<Exit> {
    // Before root is given up, which may be who owns it.
    let (token, is_new) = token(args)?;
    // A stream takes a descriptor, and there may be 128.
    sys::limits::raise_open_files().context("raise the limit of open files")?;
    let listener = listen(address(args)?)?;
    let at = listener
        .address()
        .context("ask for the address of a socket")?;
    let gave_up = sys::user::may_be_root();
    if gave_up {
        sys::user::give_up_root().map_err(|error| {
            failure(
                Exit::Unsupported,
                error,
                Some("start it as a user who is not root"),
            )
        })?;
        // Another user's process may be traced, and leave a core, again.
        sys::process::keep_secrets();
    }
    sys::signal::catch_stop_signals().context("catch signals")?;
    said(args, at, is_new.then_some(&token), gave_up)?;
    let offer = Offer {
        token,
        machine: machine(),
    };
    let stop = || sys::signal::interrupted().is_some();
    let span = Duration::from_nanos(args.span.0);
    listener
        .serve(&offer, span, &stop, &line)
        .context("serve clients")?;
    if stop() {
        line("interrupted: this server ends").context("write to standard output")?;
        return Ok(Exit::Interrupted);
    }
    line("the time of `--for` is over: this server ends").context("write to standard output")?;
    Ok(Exit::Ok)
}

/// What lets clients in, and whether it was made now.
fn token(args: &ServeArgs) -> anyhow::Result<(Token, bool)> {
    let Some(file) = &args.token_file else {
        sys::process::keep_secrets();
        let token = Token::new().context("get random bytes")?;
        return Ok((token, true));
    };
    let token = peer::in_file(file)?.reveal().parse();
    Ok((token.context("read a token")?, false))
}

/// What clients are told of this machine. No program is executed for it.
fn machine() -> Machine {
    let probes = Probes {
        path: String::new(),
        ..Probes::real(Path::new("/"))
    };
    Machine::of(&engine::host::facts(&Tree::real(), &probes))
}

/// Where to listen.
fn address(args: &ServeArgs) -> anyhow::Result<SocketAddr> {
    let found = sys::names::addresses(&args.bind, args.port, NAMED_WITHIN)
        .map_err(|error| failure(Exit::Usage, error, None))?;
    found.first().copied().context("a name without an address")
}

fn listen(at: SocketAddr) -> anyhow::Result<Listener> {
    Listener::bind(at).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::AddrInUse => Some(
                "another server has this port: end it, or take another one with `--port`, which clients name as `--peer HOST:PORT`",
            ),
            ErrorKind::AddrNotAvailable => {
                Some("`ip address` lists the addresses of this machine; `0.0.0.0` and `::` are all of them")
            }
            _ => None,
        };
        failure(Exit::Unsupported, format!("listen at `{at}`: {error}"), hint)
    })
}

/// What is served and where; before the first client comes.
fn said(
    args: &ServeArgs,
    at: SocketAddr,
    new: Option<&Token>,
    gave_up: bool,
) -> anyhow::Result<()> {
    let place = command_peer(at);
    let mut lines = vec![
        format!(
            "serving at {at}, TCP and UDP, for {} s, one test at a time",
            Duration::from_nanos(args.span.0).as_secs_f64()
        ),
        match new {
            Some(token) => format!(
                "on the other machine: KURABE_TOKEN={} kurabe run net --peer {place}",
                token.reveal()
            ),
            None => format!(
                "on the other machine, with the token of the file: kurabe run net --peer {place} --token-file FILE"
            ),
        },
        "nothing is encrypted: the token itself is never sent, and everything else can be read on the way".to_owned(),
    ];
    if at.ip().is_loopback() {
        let only = "only this machine reaches that address; `--bind` names one that others reach";
        lines.push(only.to_owned());
    }
    output::print(&(lines.join("\n") + "\n"))?;
    if gave_up {
        let nobody = sys::user::NOBODY;
        output::print(&format!("root is given up: this is user {nobody} now"))?;
    }
    Ok(())
}

/// What is typed behind `--peer`: of a server at all addresses nobody knows which one leads there.
fn command_peer(at: SocketAddr) -> String {
    match (at.ip().is_unspecified(), at.port()) {
        (false, _) => at.to_string(),
        (true, PORT) => "HOST".to_owned(),
        (true, port) => format!("HOST:{port}"),
    }
}

/// A line of the log, with its time. What a peer said may be in it.
fn line(text: &str) -> io::Result<()> {
    use std::io::Write as _;
    let now = jiff::Timestamp::from_nanosecond(sys::clock::wall().into());
    let now = now.unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ");
    let mut out = io::stdout().lock();
    writeln!(out, "{now} {}", printable(text))?;
    out.flush()
}
