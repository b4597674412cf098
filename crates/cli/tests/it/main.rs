//! Tests of the binary.
