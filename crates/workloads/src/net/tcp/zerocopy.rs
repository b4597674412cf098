//! Writes of which the kernel makes no copy, as long as it does not make one after all.
//!
//! Of what goes over a link within a machine, or over a card that cannot collect a packet from several places, it makes
//! a copy later, and the account of that costs more than the copy had. So the first of them are a probe: where the
//! kernel says that it copied, plain writes go on.

use std::io::{self, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use sys::datagrams::is_full;
use sys::zerocopy;

/// What is done is asked for behind so many writes.
const ASK_EVERY: u64 = 16;

/// What the kernel has said of a flow's writes.
#[derive(Debug, Default)]
pub(super) struct Said {
    copied: AtomicBool,
    sent_as_is: AtomicBool,
    /// It keeps account of no more of them.
    refused: AtomicBool,
}

/// The writes of a flow.
pub(super) struct Writes<'a> {
    stream: &'a TcpStream,
    said: &'a Said,
    /// Whether they are without a copy.
    shares: bool,
    /// So many are not done with.
    under_way: u64,
}

impl<'a> Writes<'a> {
    /// Without a copy where that is wanted and the socket has been asked for it.
    pub(super) const fn new(stream: &'a TcpStream, shares: bool, said: &'a Said) -> Self {
        Self {
            stream,
            said,
            shares,
            under_way: 0,
        }
    }

    /// As [`Write::write`]; `bytes` stay as they are as long as the socket is open.
    #[inline]
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.shares {
            return self.share(bytes);
        }
        self.stream.write(bytes)
    }

    fn share(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match zerocopy::send(self.stream.as_fd(), bytes) {
            Ok(sent) => {
                self.under_way += 1;
                if self.under_way.is_multiple_of(ASK_EVERY) {
                    self.ask()?;
                }
                Ok(sent)
            }
            Err(error) if is_full(&error) => {
                self.said.refused.store(true, Ordering::Relaxed);
                // Not even one: it is never another way.
                self.shares = self.under_way > 0;
                self.ask()?;
                self.stream.write(bytes)
            }
            Err(error) => Err(error),
        }
    }

    fn ask(&mut self) -> io::Result<()> {
        let done = zerocopy::done(self.stream.as_fd())?;
        self.under_way = self.under_way.saturating_sub(done.sends);
        if done.copied < done.sends {
            self.said.sent_as_is.store(true, Ordering::Relaxed);
        }
        if done.copied > 0 {
            self.said.copied.store(true, Ordering::Relaxed);
            self.shares = false;
        }
        Ok(())
    }
}

impl Drop for Writes<'_> {
    /// What the kernel still has of our pages does not outlive the socket: it would send what they hold by then.
    fn drop(&mut self) {
        if self.under_way == 0 {
            return;
        }
        let asked = self.ask();
        if asked.is_err() || self.under_way > 0 {
            // Where it cannot be set, the socket is closed all the same.
            let _ = sys::socket::reset_at_close(self.stream.as_fd());
        }
    }
}

/// What is to be told of all flows.
pub(super) fn note<'a>(all: impl Iterator<Item = &'a Said>) -> String {
    let (mut copied, mut sent_as_is, mut refused) = (false, false, false);
    for said in all {
        copied |= said.copied.load(Ordering::Relaxed);
        sent_as_is |= said.sent_as_is.load(Ordering::Relaxed);
        refused |= said.refused.load(Ordering::Relaxed);
    }
    let what = if copied {
        "the kernel copied what was sent all the same, as it does on a link within this machine or for a card that \
         cannot collect a packet: plain writes went on"
    } else if refused {
        "part of what was sent was copied, because the kernel locks no more pages (`ulimit -l`) or keeps account of no \
         more sends (`net.core.optmem_max`)"
    } else if sent_as_is {
        "the kernel copied nothing of what was sent"
    } else {
        "the kernel did not say whether it copied what was sent"
    };
    format!("`zerocopy`: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{Ipv4Addr, TcpListener};

    #[test]
    fn a_kernel_that_copies_is_found_out_and_gets_plain_writes() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let ours = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut theirs, _) = listener.accept().unwrap();
        zerocopy::allow(ours.as_fd()).unwrap();
        let (block, said) = ([7; 1000], Said::default());
        assert!(note([&said].into_iter()).contains("did not say"));
        let mut writes = Writes::new(&ours, true, &said);
        let mut turns = 0;
        while writes.shares {
            assert_eq!(writes.write(&block).unwrap(), block.len());
            theirs.read_exact(&mut [0; 1000]).unwrap();
            turns += 1;
            assert!(turns < 10_000, "the kernel says nothing");
        }
        assert_eq!(writes.write(&block).unwrap(), block.len());
        theirs.read_exact(&mut [0; 1000]).unwrap();
        drop(writes);
        assert!(note([&Said::default(), &said].into_iter()).contains("plain writes went on"));
        let full = Said::default();
        full.refused.store(true, Ordering::Relaxed);
        assert!(note([&full].into_iter()).contains("part of what was sent was copied"));
    }
}
