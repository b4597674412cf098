//! The consent that it takes to write to devices and files of others, and to work where others have a say.

use clap::Args as ClapArgs;
use engine::consent::Consent;
use std::path::PathBuf;

/// The group of these options in help.
pub(crate) const CONSENT: &str = "What may be lost, and who is trusted";

/// Likewise, where nothing can be lost.
pub(crate) const TRUST: &str = "Who is trusted";

/// What may be lost, and who may be trusted. Never read from a profile, a job file or a kept run.
#[derive(Debug, Default, ClapArgs)]
pub(crate) struct ConsentArgs {
    /// Everything on this device may be lost; where it holds something, add its serial number or UUID
    #[arg(long, value_name = "DEVICE[=ID]")]
    pub(crate) yes_erase: Vec<String>,
    /// Everything in this file may be lost
    #[arg(long, value_name = "FILE")]
    pub(crate) overwrite_file: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) others: OthersArgs,
}

/// Who may be trusted, where nothing can be lost.
#[derive(Debug, Default, ClapArgs)]
pub(crate) struct OthersArgs {
    /// As root, make and write files even where other users may rename them or what they lie in
    #[arg(long)]
    pub(crate) dir_of_others: bool,
}

impl ConsentArgs {
    /// What the user agreed to.
    pub(crate) fn consent(&self) -> Consent {
        Consent {
            erase: self.yes_erase.clone(),
            overwrite: self.overwrite_file.clone(),
            dir_of_others: self.others.dir_of_others,
            ..Consent::default()
        }
    }
}
