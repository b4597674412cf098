//! `kurabe net serve --iperf3-open`: the other end of iperf3's clients.
//!
//! It is open to whoever reaches its port, so that it is reached from this machine alone unless somebody names an
//! address, ends by itself, and has the rights of nobody before the first client is heard.

use crate::args::{NetArgs, NetWhat, ServeArgs};
use crate::exit::{Exit, failure};
use crate::output;
use anyhow::Context as _;
use dialects::printable::printable;
use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::time::Duration;
use workloads::net::iperf3::serve::{Door, Limits};

/// How long may be asked for the addresses of a name.
const NAMED_WITHIN: Duration = Duration::from_secs(5);

pub(crate) fn run(args: &NetArgs) -> anyhow::Result<Exit> {
    match &args.what {
        NetWhat::Serve(args) => serve(args),
    }
}

fn serve(args: &ServeArgs) -> anyhow::Result<Exit> {
    if !args.iperf3_open {
        return Err(failure(
            Exit::Usage,
            "`kurabe net serve` serves clients of iperf3 alone so far, and those know no password",
            Some(
                "`--iperf3-open` serves whoever reaches the port; who that is, `--bind` and a firewall decide",
            ),
        ));
    }
    // A stream takes a descriptor, and there may be 256.
    sys::limits::raise_open_files().context("raise the limit of open files")?;
    let door = open(address(args)?)?;
    let at = door.address().context("ask for the address of a socket")?;
    let gave_up = sys::user::may_be_root();
    if gave_up {
        sys::user::give_up_root().map_err(|error| {
            failure(
                Exit::Unsupported,
                error,
                Some("start it as a user who is not root"),
            )
        })?;
    }
    sys::signal::catch_stop_signals().context("catch signals")?;
    said(args, at, gave_up)?;
    let limits = Limits {
        bits_per_s: args.max_rate,
        time: Duration::from_nanos(args.max_time.0),
    };
    let stop = || sys::signal::interrupted().is_some();
    let span = Duration::from_nanos(args.span.0);
    door.serve(limits, span, &stop, &line)
        .context("serve clients of iperf3")?;
    if stop() {
        line("interrupted: this server ends").context("write to standard output")?;
        return Ok(Exit::Interrupted);
    }
    line("the time of `--for` is over: this server ends").context("write to standard output")?;
    Ok(Exit::Ok)
}

/// Where to listen.
fn address(args: &ServeArgs) -> anyhow::Result<SocketAddr> {
    let found = sys::names::addresses(&args.bind, args.port, NAMED_WITHIN)
        .map_err(|error| failure(Exit::Usage, error, None))?;
    found.first().copied().context("a name without an address")
}

fn open(at: SocketAddr) -> anyhow::Result<Door> {
    Door::open(at).map_err(|error| {
        let hint = match error.kind() {
            ErrorKind::AddrInUse => Some(
                "another server has this port: end it, or take another one with `--port`, which clients name with `-p`",
            ),
            ErrorKind::AddrNotAvailable => {
                Some("`ip address` lists the addresses of this machine; `0.0.0.0` and `::` are all of them")
            }
            _ => None,
        };
        failure(Exit::Unsupported, format!("listen at `{at}`: {error}"), hint)
    })
}

/// What is served, where, and to whom; before anybody comes.
fn said(args: &ServeArgs, at: SocketAddr, gave_up: bool) -> anyhow::Result<()> {
    let seconds = |nanos: u64| Duration::from_nanos(nanos).as_secs_f64();
    let mut text = format!(
        "serving clients of iperf3 at {at}, TCP and UDP, for {} s\n\
         one test at a time, of at most {} s and {} Mbit/s each way\n",
        seconds(args.span.0),
        seconds(args.max_time.0),
        model::num::approx(args.max_rate) / 1e6,
    );
    text += if at.ip().is_loopback() {
        "only this machine reaches that address; `--bind` names one that others reach\n"
    } else {
        "whoever reaches that address is served, without a password, and nothing is encrypted\n"
    };
    output::print(&text)?;
    if gave_up {
        let nobody = sys::user::NOBODY;
        output::print(&format!("root is given up: this is user {nobody} now"))?;
    }
    Ok(())
}

/// A line of the journal, with its time. What a peer said may be in it.
fn line(text: &str) -> io::Result<()> {
    use std::io::Write as _;
    let now = jiff::Timestamp::from_nanosecond(sys::clock::wall().into());
    let now = now.unwrap_or(jiff::Timestamp::UNIX_EPOCH);
    let now = now.strftime("%Y-%m-%dT%H:%M:%SZ");
    let mut out = io::stdout().lock();
    writeln!(out, "{now} {}", printable(text))?;
    out.flush()
}
