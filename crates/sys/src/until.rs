//! An instant until which something is waited for: a wait that is made of many shares one.

use crate::clock::monotonic;
use std::time::Duration;

/// An instant of the monotonic clock, in nanoseconds.
#[derive(Clone, Copy, Debug)]
pub struct Until(u64);

impl Until {
    /// The instant that is `span` away.
    pub fn after(span: Duration) -> Self {
        let nanos = u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
        Self(monotonic().saturating_add(nanos))
    }

    /// The instant that is `span` away, or this one where that is sooner.
    #[must_use]
    pub fn or_after(self, span: Duration) -> Self {
        Self(self.0.min(Self::after(span).0))
    }

    /// What is left; `None` where it is over.
    pub fn left(self) -> Option<Duration> {
        let nanos = self.0.saturating_sub(monotonic());
        (nanos > 0).then(|| Duration::from_nanos(nanos))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_never_more_than_was_given_and_ends() {
        let hour = Duration::from_secs(3600);
        let until = Until::after(hour);
        assert!(until.left().is_some_and(|left| left <= hour));
        let sooner = until.or_after(Duration::from_secs(1));
        assert!(sooner.left().is_some_and(|left| left.as_secs() <= 1));
        let later = sooner.or_after(Duration::MAX);
        assert!(later.left().is_some_and(|left| left.as_secs() <= 1));
        assert_eq!(Until::after(Duration::ZERO).left(), None);
        assert!(Until::after(Duration::MAX).left() > Some(hour));
    }
}
