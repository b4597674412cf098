//! Host facts.
