//! One end of a test: its job, sockets and buffers.

use std::marker::PhantomData;

use netperf_model::{Address, EndJob, EndSetup, Token};
use netperf_os::{SockAddr, Socket};
use netperf_transport::place::Placed;

use super::sockets::{open, placed};
use crate::error::EngineError;
use crate::meet::Work;
use crate::program::Program;

/// One end of a test, ready to run once.
#[derive(Debug)]
pub struct TestEnd<P> {
    pub(super) program: PhantomData<P>,
    pub(crate) work: Work,
    pub(crate) socket: Socket,
    pub(crate) placed: Placed,
    /// The test has one flow, which runs as one of many.
    pub(super) alone: bool,
    /// netperf's second socket, where data that comes has its own connection.
    pub(super) second: Option<SecondSocket>,
    /// Addresses for connections that only receive, where they are separate.
    pub(super) second_remotes: Vec<Address>,
    /// netserver's sockets of further flows, where each has its own, and the ports of all.
    pub(crate) further: Vec<Socket>,
    /// netperf's sockets of further flows, where netserver must know them.
    pub(crate) receivers: Vec<SecondSocket>,
    pub(super) ports: Vec<u16>,
    /// First bytes of the data of each session, where it goes to the port of the control
    /// connection.
    pub(super) tokens: Vec<Token>,
    /// Socket that announces datagrams through the port of the control connection.
    pub(super) handoff: Option<Socket>,
    /// Keeps the kernel stamping.
    pub(super) stamping: Option<std::net::UdpSocket>,
}

/// A second data socket.
#[derive(Debug)]
pub(crate) struct SecondSocket {
    pub(super) socket: Socket,
    pub(super) placed: Placed,
}

/// Addresses that netperf's flows connect to.
#[derive(Debug, Default)]
pub(crate) struct Targets {
    /// netserver's sockets, which flows take in turn.
    pub(crate) there: Vec<SockAddr>,
    /// Addresses for connections that only receive, where they are separate.
    pub(crate) back: Vec<SockAddr>,
}

impl<P: Program> TestEnd<P> {
    /// The ports of all data sockets, where each flow has its own.
    #[must_use]
    pub fn ports(&self) -> &[u16] {
        &self.ports
    }

    /// Sizes of the socket and the buffers in force.
    #[must_use]
    pub const fn setup(&self) -> &EndSetup {
        &self.work.setup
    }

    /// The port that netperf must use, 0 where there is none.
    #[must_use]
    pub fn data_port(&self) -> u32 {
        self.placed.port()
    }

    /// Address of the data socket; `None` while it is not bound.
    #[must_use]
    pub const fn address(&self) -> Option<&Address> {
        self.placed.address.as_ref()
    }

    /// Address of the data socket of a flow; `None` while it is not bound.
    #[must_use]
    pub fn flow_address(&self, index: u32) -> Option<&Address> {
        let Some(further) = index.checked_sub(1) else {
            return self.address();
        };
        let receiver = self.receivers.get(usize::try_from(further).ok()?)?;
        receiver.placed.address.as_ref()
    }

    /// Sets the first bytes of data, where it goes to the port of the control connection: those of
    /// each session.
    pub fn set_tokens(&mut self, tokens: Vec<Token>) {
        self.work.job.token = tokens.first().copied();
        self.tokens = tokens;
    }

    /// netserver began to send datagrams of many flows then, by `CLOCK_MONOTONIC`: what came since
    /// counts, unless there is an agreed begin.
    pub fn began_at(&mut self, time: Option<u64>) {
        if let Some(flows) = &mut self.work.job.flows {
            flows.sent_since = time;
        }
    }

    /// Numbers requests with so many bytes, which responses repeat.
    pub fn set_numbers(&mut self, bytes: u8) {
        self.work.job.end.numbers = Some(bytes);
        if let Some(due) = &mut self.work.due {
            due.number(Some(bytes));
        }
    }
}

impl<P: Program> TestEnd<P> {
    /// Address of the second data socket, where there is one and it is bound.
    #[must_use]
    pub fn second_address(&self) -> Option<&Address> {
        self.second.as_ref()?.placed.address.as_ref()
    }

    /// Sets where the connections lead to that data comes from, where it has its own.
    pub fn set_second_remotes(&mut self, remotes: Vec<Address>) {
        self.second_remotes = remotes;
    }
}

impl SecondSocket {
    pub(crate) fn into_parts(self) -> (Socket, Placed) {
        (self.socket, self.placed)
    }

    pub(super) fn open(job: &EndJob) -> Result<Self, EngineError> {
        let opened = open(job)?;
        // The first socket has the port that was asked for.
        let any_port = EndJob {
            port: 0,
            ..job.clone()
        };
        Ok(Self {
            placed: placed(&any_port, &opened.socket)?,
            socket: opened.socket,
        })
    }
}
