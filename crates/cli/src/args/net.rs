//! What may be typed behind `kurabe net`.

use super::duration;
use clap::{Args as ClapArgs, Subcommand};
use model::units::Nanos;
use std::path::PathBuf;

/// Options of `net`.
#[derive(Debug, ClapArgs)]
pub(crate) struct NetArgs {
    #[command(subcommand)]
    pub(crate) what: NetWhat,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum NetWhat {
    /// Be the other end of `kurabe run net`, for those who have its token, one test at a time
    Serve(ServeArgs),
}

/// Options of `net serve`.
#[derive(Debug, ClapArgs)]
pub(crate) struct ServeArgs {
    /// Take the token from this file, which only its owner may read, and not a new one [such a file: `(umask 077;
    /// openssl rand -hex 16 > FILE)`]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Listen at this address of this machine; `0.0.0.0` and `::` are all of them
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    pub(crate) bind: String,
    /// The port, for TCP and for UDP: from 1024 up, or 0 for one that is free
    #[arg(long, value_name = "PORT", default_value = "5201", value_parser = port)]
    pub(crate) port: u16,
    /// End by itself after this time; a test that would take longer is refused
    #[arg(long = "for", value_name = "TIME", default_value = "1h", value_parser = duration)]
    pub(crate) span: Nanos,
}

/// Root is given up before the first client is served, and every stream of UDP binds to the port again.
fn port(text: &str) -> Result<u16, String> {
    match text.parse::<u16>() {
        Ok(port) if port == 0 || port >= 1024 => Ok(port),
        _ => Err("expected a port from 1024 to 65535, or 0 for one that is free".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_those_that_anybody_may_have() {
        assert_eq!(
            [port("0"), port("1024"), port("65535")],
            [Ok(0), Ok(1024), Ok(65535)]
        );
        for wrong in ["80", "1023", "65536", "-1", "x"] {
            assert!(port(wrong).is_err(), "{wrong}");
        }
    }
}
