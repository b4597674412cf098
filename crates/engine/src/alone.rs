//! One measurement at a time on a machine: two that run beside each other measure each other.
//!
//! Whoever measures holds a lock that everybody sees and that dies with its holder ([`sys::lock`]). Where it cannot be
//! had, or does not reach all of the machine, nothing is refused: that it is not known who else measures is then a fact
//! of the run.

use model::digest::Digest;
use model::host::Fact;
use sys::lock::{self, Held, Holder};
use sys::tree::{Tree, error_name};

/// The name of the machine's lock.
const NAME: &str = "kurabe-measures";

/// Names a lock of one's own in the place of the machine's: for machines that are divided among those who measure, and
/// for tests. The run then keeps that it is not known who else measures.
pub const VARIABLE: &str = "KURABE_LOCK";

/// The lock, held or not.
#[derive(Debug)]
pub enum Lock {
    /// It is ours as long as this value lives; and whether nobody else measures, as far as that shows.
    Ours(Held, Fact<bool>),
    /// It could not be had, so that it is not known who else measures.
    Unseen(Fact<bool>),
    /// Somebody else has it.
    Taken(Holder),
}

/// How often the lock is tried again that somebody had and whom nobody finds: who ends does so in between.
const TRIES: u32 = 10;

/// Takes the lock.
pub fn take() -> Lock {
    let name = name();
    let mut found = Holder::default();
    for _ in 0..TRIES {
        match lock::hold(&name) {
            Ok(Some(held)) => return Lock::Ours(held, reaches_all()),
            Ok(None) => {}
            Err(error) => return Lock::Unseen(unseen("bind", &error)),
        }
        if let Ok(Some(holder)) = lock::holder(&name) {
            found = holder;
            break;
        }
    }
    Lock::Taken(found)
}

/// Whether nobody else measures on this machine, looked at and not held.
pub fn seen() -> Fact<bool> {
    match lock::holder(&name()) {
        Ok(Some(_)) => Fact::Known(false),
        Ok(None) => reaches_all(),
        Err(error) => unseen("connect", &error),
    }
}

fn own() -> Option<std::ffi::OsString> {
    std::env::var_os(VARIABLE).filter(|own| !own.is_empty())
}

fn name() -> String {
    // As a digest, because such a name may not be long.
    own().map_or_else(
        || NAME.to_owned(),
        |own| {
            let digest = Digest::EMPTY.bytes(own.as_encoded_bytes());
            format!("{NAME}-{:016x}", digest.0)
        },
    )
}

/// What the lock says, where it is one that everybody on the machine takes.
fn reaches_all() -> Fact<bool> {
    if own().is_some() {
        return Fact::Missing(format!("{VARIABLE} names a lock of its own"));
    }
    match lock::is_of_first_namespace(&Tree::real()) {
        Some(true) => Fact::Known(true),
        Some(false) => Fact::Missing(
            "this is a network namespace of its own, beyond which no lock is seen".to_owned(),
        ),
        None => Fact::Missing("/proc does not tell whose network namespace this is".to_owned()),
    }
}

fn unseen(call: &str, error: &std::io::Error) -> Fact<bool> {
    Fact::Missing(format!("{call} `@{}`: {}", name(), error_name(error)))
}
