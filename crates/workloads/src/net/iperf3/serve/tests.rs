//! The server against clients that are written here, byte by byte, over loopback.

pub(in crate::net) mod client;
mod datagrams;
mod doors;
mod tokens;
mod versions;

use super::super::{Cookie, State, stream_id};
use client::{Client, serving, serving_with};
