//! Family `fs`: what goes through the file system as programs use it, page cache included.

mod copy;

pub(crate) use copy::COPY;
