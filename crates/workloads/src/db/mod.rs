//! Family `db`: what a database does with transactions, and how many clients it takes at the same time.
//!
//! The parts of a test know no driver: [`statement`] says what is asked, [`mix`] what a transaction is made of,
//! [`rows`] which rows, [`client`] carries transactions out, and a [`session::Session`] is all that a driver has to be.
//! The first one is the SQLite inside of this program ([`sqlite`]).

mod check;
mod client;
mod mix;
mod oltp;
mod rows;
mod session;
mod spec;
mod sqlite;
mod statement;
mod tables;
mod text;

pub(crate) use oltp::OLTP;

#[cfg(test)]
mod tests;
