//! Family `fs`.
