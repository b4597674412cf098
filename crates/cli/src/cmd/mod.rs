//! One file per command.

pub(crate) mod clean;
pub(crate) mod compare;
pub(crate) mod completions;
pub(crate) mod doctor;
pub(crate) mod duel;
pub(crate) mod export;
pub(crate) mod fio;
pub(crate) mod import;
pub(crate) mod iperf3;
pub(crate) mod label;
pub(crate) mod licences;
pub(crate) mod list;
pub(crate) mod net;
pub(crate) mod offers;
pub(crate) mod rank;
pub(crate) mod report;
pub(crate) mod rm;
pub(crate) mod run;
pub(crate) mod show;
pub(crate) mod soak;
pub(crate) mod vdbench;
