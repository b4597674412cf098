//! counters.
