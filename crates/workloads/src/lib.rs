//! Every workload there is: one file each, one line each in [`ALL`].

use engine::workload::Workload;

mod cpu;
mod fs;
mod os;
mod selftest;
mod unixbench;

/// Every workload, by name.
pub static ALL: &[&dyn Workload] = &[];

/// The workload of this name.
pub fn find(name: &str) -> Option<&'static dyn Workload> {
    ALL.iter()
        .copied()
        .find(|workload| workload.spec().name == name)
}
