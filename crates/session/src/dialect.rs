//! The request of a client, OMNI or classic, and the form of the answers.
//!
//! A stock client of today sends OMNI for most tests and classic requests for the
//! rest; older ones and builds without OMNI send classic requests for all.

mod classic;
mod omni;

use std::net::IpAddr;

use netperf_model::{Address, EndJob, EndResult, EndSetup, HostFacts, Token, TransportId};
use netperf_wire::messages::OmniRequest;
use netperf_wire::{Frame, Message, RemoteErrno, RequestKind};

use crate::extension;

pub use classic::Classic;

/// A request that was understood; remembers what its answers must echo.
#[derive(Clone, Debug, PartialEq)]
pub enum Dialect {
    /// OMNI (97).
    Omni {
        /// The request.
        request: Box<OmniRequest>,
        /// True if the results contain the number of failed sends.
        failed_sends: bool,
        /// True if the response tells whether netserver is bound to a CPU.
        tells_cpu: bool,
    },
    /// Any other test.
    Classic(Classic),
}

/// netserver's end once it is prepared.
#[derive(Clone, Debug, PartialEq)]
pub struct Ready {
    /// Its socket and buffers.
    pub setup: EndSetup,
    /// Transport of its data socket.
    pub transport: TransportId,
    /// The port of its data socket, 0 where there is none.
    pub data_port: u32,
    /// Address of its data socket, if a port alone does not identify it.
    pub address: Option<Address>,
    /// Ports of its data sockets, if each flow has a separate one.
    pub ports: Vec<u16>,
    /// Prefix of the data, if it arrives at the port of the control connection.
    pub token: Option<Token>,
    /// Bytes of each request that its response begins with.
    pub numbers: Option<u8>,
    /// True if the request went beyond OMNI and all of it is in force.
    pub as_asked: bool,
    /// Its CPU calibration rate, clock ticks per second.
    pub cpu_rate: f32,
    /// The facts of its host, where the job wants them.
    pub host: Option<Box<HostFacts>>,
}

impl Dialect {
    /// Understands a test request.
    ///
    /// `peer` is the address that the control connection comes from.
    ///
    /// # Errors
    /// The error number to answer with: 998 for a request that is not a test we know.
    pub fn understand(frame: &Frame, peer: Option<IpAddr>) -> Result<(Self, EndJob), RemoteErrno> {
        if frame.request() == RequestKind::Omni {
            let request: OmniRequest = decode(frame)?;
            let job = omni::job(&request, frame, peer)?;
            let omni = Self::Omni {
                request: Box::new(request),
                failed_sends: job.end.failed_sends,
                tells_cpu: extension::of_request(frame)
                    .is_some_and(|asked| extension::wants_cpu(&asked)),
            };
            return Ok((omni, job));
        }
        let (classic, job) = Classic::understand(frame).ok_or(RemoteErrno::UNKNOWN_REQUEST)??;
        Ok((Self::Classic(classic), job))
    }

    /// The request's number, which its answers carry.
    #[must_use]
    pub fn kind(&self) -> RequestKind {
        match self {
            Self::Omni { .. } => RequestKind::Omni,
            Self::Classic(classic) => classic.kind(),
        }
    }

    /// The answer that says netserver is ready.
    #[must_use]
    pub fn response(&self, ready: &Ready) -> Frame {
        match self {
            Self::Omni {
                request, tells_cpu, ..
            } => omni::response(request, ready, *tells_cpu),
            Self::Classic(classic) => classic.response(ready),
        }
    }

    /// The answer that tells what netserver measured.
    #[must_use]
    pub fn results(&self, result: &EndResult) -> Frame {
        match self {
            Self::Omni { failed_sends, .. } => omni::results(result, *failed_sends),
            Self::Classic(classic) => classic.results(result),
        }
    }
}

fn decode<M: Message>(frame: &Frame) -> Result<M, RemoteErrno> {
    M::decode(frame).map_err(|_| RemoteErrno::EINVAL)
}

/// Counts and buffer sizes as the wire has them.
mod to_wire {
    /// A 32-bit counter, which wraps as the original's does.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the field wraps by definition"
    )]
    pub(super) const fn wrapping(count: u64) -> u32 {
        count as u32
    }

    /// A value of at most 31 bits.
    pub(super) fn signed(value: u32) -> i32 {
        i32::try_from(value).unwrap_or(i32::MAX)
    }

    /// A size that may be unknown.
    pub(super) fn size(value: Option<u32>) -> i32 {
        value.map_or(-1, signed)
    }

    /// A figure in single precision.
    #[expect(clippy::cast_possible_truncation, reason = "the field is a float")]
    pub(super) const fn float(value: f64) -> f32 {
        value as f32
    }
}

/// Fields of a request as the plan has them.
mod from_wire {
    use std::time::Duration;

    use netperf_model::{Family, Limit, RingPlan, TransportId};
    use netperf_wire::{RemoteErrno, WireFamily, WireProtocol, WireSocketType};

    /// A size that was asked for; -1 is not asked, anything else below 0 makes no sense.
    pub(super) fn size(value: i32) -> Result<Option<u32>, RemoteErrno> {
        match value {
            -1 => Ok(None),
            other => u32::try_from(other)
                .map(Some)
                .map_err(|_| RemoteErrno::EINVAL),
        }
    }

    /// A size of which 0 means that netserver derives it.
    pub(super) fn derived(value: i32) -> Result<Option<u32>, RemoteErrno> {
        Ok(size(value)?.filter(|size| *size > 0))
    }

    /// A buffer ring.
    pub(super) fn ring(
        size: Option<u32>,
        width: u32,
        align: i32,
        offset: i32,
    ) -> Result<RingPlan, RemoteErrno> {
        Ok(RingPlan {
            size,
            width: (width > 0).then_some(width),
            // An alignment of 0 divides by zero in the original: it means none.
            align: u32::try_from(align)
                .map_err(|_| RemoteErrno::EINVAL)?
                .max(1),
            offset: u32::try_from(offset).map_err(|_| RemoteErrno::EINVAL)?,
        })
    }

    pub(super) fn family(family: WireFamily) -> Result<Family, RemoteErrno> {
        match family {
            WireFamily::Inet => Ok(Family::V4),
            WireFamily::Inet6 => Ok(Family::V6),
            WireFamily::Unspecified | WireFamily::Rds | WireFamily::Other(_) => {
                Err(RemoteErrno::EAFNOSUPPORT)
            }
        }
    }

    pub(super) fn transport(
        kind: WireSocketType,
        protocol: WireProtocol,
    ) -> Result<TransportId, RemoteErrno> {
        use netperf_model::SocketKind;
        let kind = match kind {
            WireSocketType::Stream => SocketKind::Stream,
            WireSocketType::Datagram => SocketKind::Datagram,
            WireSocketType::SeqPacket => SocketKind::SeqPacket,
            WireSocketType::Dccp => SocketKind::Dccp,
            WireSocketType::Unknown | WireSocketType::Other(_) => {
                return Err(RemoteErrno::ESOCKTNOSUPPORT);
            }
        };
        TransportId::from_wire(protocol.code(), kind).ok_or(RemoteErrno::EPROTONOSUPPORT)
    }

    /// Seconds, minus a number of units, or 0 until netperf ends it.
    pub(super) fn limit(test_length: i32) -> Limit {
        match u64::try_from(test_length) {
            Ok(0) => Limit::UntilStopped,
            Ok(seconds) => Limit::Time(Duration::from_secs(seconds)),
            Err(_) => Limit::Units(u64::from(test_length.unsigned_abs())),
        }
    }

    pub(super) fn port(port: u32) -> Result<u16, RemoteErrno> {
        u16::try_from(port).map_err(|_| RemoteErrno::EINVAL)
    }
}
