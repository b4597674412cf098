//! Family `selftest`.
