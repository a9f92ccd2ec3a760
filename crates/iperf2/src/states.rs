//! iperf 2, both ends (docs/spec/iperf2.md): state machines without sockets, clocks or threads.
//!
//! There is no control connection. [`connection`] is the server's end of a TCP connection,
//! [`flow`] that of a flow of datagrams, [`client`] builds what a client sends, [`blocks`] are those
//! with times, and [`finish`] is the end of a client's flow.

#![deny(clippy::indexing_slicing, clippy::host_endian_bytes)]

pub mod account;
pub mod blocks;
pub mod client;
pub mod connection;
pub mod finish;
pub mod flow;

use std::time::Duration;

use netperf_model::iperf2::{Iperf2Amount, Iperf2Rate};

use crate::messages::{Amount, ClientHeader};

/// Largest block that a server sends, bytes.
pub const MOST_BLOCK: usize = 4 << 20;
/// Largest datagram that a server sends, bytes.
pub const MOST_DATAGRAM: usize = 65_507;
/// Smallest datagram that a server sends: number and time.
pub const LEAST_DATAGRAM: usize = 16;

/// Data that one end sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendOrder {
    /// Time or bytes.
    pub amount: Iperf2Amount,
    /// Size of a block or datagram, bytes.
    pub block: usize,
    /// Rate.
    pub rate: Option<Iperf2Rate>,
}

/// When the server connects back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackTime {
    /// At once.
    Now,
    /// After the client's test.
    After,
}

/// Reason for a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Iperf2Refusal {
    /// The header is none.
    #[error("{0}")]
    Header(#[from] crate::messages::Iperf2Error),
    /// The block is too large.
    #[error("the client asks for blocks of {0} bytes; at most {most} are sent", most = MOST_BLOCK)]
    Block(u32),
    /// The port for a connection back is none.
    #[error("the client asks for a connection to port {0}; ports are 1 to 65535")]
    Port(u32),
    /// A permit key is not supported.
    #[error("the client sends a permit key (--permit-key), which is not supported")]
    Key,
}

/// Data that the server sends, by the header of a TCP client.
fn tcp_sending(header: &ClientHeader) -> Result<SendOrder, Iperf2Refusal> {
    let block = match usize::try_from(header.buffer_len) {
        Ok(0) => netperf_model::iperf2::BLOCK,
        Ok(block) if block <= MOST_BLOCK => block,
        _ => return Err(Iperf2Refusal::Block(header.buffer_len)),
    };
    let rate = header.extension.map(|one| u64::from(one.rate));
    Ok(SendOrder {
        amount: amount(header.amount),
        block,
        rate: rate.filter(|rate| *rate > 0).map(Iperf2Rate::Bits),
    })
}

/// Amount in a header, as the end that sends sees it.
fn amount(amount: Amount) -> Iperf2Amount {
    match amount {
        Amount::Bytes(bytes) => Iperf2Amount::Bytes(bytes.into()),
        Amount::Centiseconds(time) => {
            Iperf2Amount::Time(Duration::from_millis(u64::from(time) * 10))
        }
    }
}

/// Port in a header for a connection back.
fn port_back(header: &ClientHeader) -> Result<u16, Iperf2Refusal> {
    let port = u16::try_from(header.port).ok().filter(|port| *port > 0);
    port.ok_or(Iperf2Refusal::Port(header.port))
}
