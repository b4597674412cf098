//! Which engine does many operations at a time on this machine: the first of `io_uring`, libaio and psync that works,
//! and why it is not the one before.

use super::{Aio, Psync, Setup, Uring, UringOptions};
use crate::tree::Tree;
use std::io;

/// The engine that works.
#[derive(Debug)]
pub enum Chosen {
    /// `io_uring`.
    Uring(Uring),
    /// libaio.
    Aio(Aio),
    /// One operation at a time.
    Psync(Psync),
}

/// The first engine that works, and what there is to say about the choice. `setup` is asked once for each engine tried.
pub fn first_that_works(
    setup: impl Fn() -> io::Result<Setup>,
    options: UringOptions,
) -> io::Result<(Chosen, Vec<String>)> {
    let no_ring = match Uring::new(setup()?, options) {
        Ok(uring) => {
            let notes = uring.notes().to_vec();
            return Ok((Chosen::Uring(uring), notes));
        }
        Err(error) => why_no_ring(&error),
    };
    match Aio::new(setup()?) {
        Ok(aio) => {
            let note = format!("libaio was used, because io_uring does not work here: {no_ring}");
            Ok((Chosen::Aio(aio), vec![note]))
        }
        Err(error) => {
            let note = format!(
                "psync was used, which does one operation at a time whatever the iodepth: io_uring does not work here \
                 ({no_ring}), nor does libaio ({})",
                why_no_context(&error)
            );
            Ok((Chosen::Psync(Psync::new(setup()?)?), vec![note]))
        }
    }
}

/// In words why there is no ring.
pub fn why_no_ring(error: &io::Error) -> String {
    match crate::probe::io_uring(&Tree::real()) {
        Err(refusal) => refusal,
        // It works in general, and not with these options.
        Ok(()) => error.to_string(),
    }
}

/// In words why there is no libaio context.
pub fn why_no_context(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::WouldBlock => {
            "the machine's limit is reached, see sysctl fs.aio-max-nr".to_owned()
        }
        _ => error.to_string(),
    }
}
