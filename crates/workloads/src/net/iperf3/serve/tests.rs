//! The server against clients that are written here, byte by byte, over loopback.

pub(in crate::net) mod client;
mod connections;
mod counts;
mod datagrams;
mod tokens;

use super::super::{Cookie, State};
use client::{Client, serving, serving_own};
