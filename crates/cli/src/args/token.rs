//! The option that names the token of a peer. It is typed again with `--resume`: what opens a peer is kept nowhere.

use clap::Args as ClapArgs;
use std::path::PathBuf;

/// Where the token is, where it is in no variable.
#[derive(Clone, Debug, Default, ClapArgs)]
pub(crate) struct TokenArgs {
    /// Read the token of `kurabe net serve` at the peer, which may stand in `KURABE_TOKEN` too, from this file, which
    /// only its owner may read
    #[arg(help_heading = "What and where", long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
}
