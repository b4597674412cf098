//! Family `os`.
