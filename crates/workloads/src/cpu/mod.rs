//! Family `cpu`.
