//! The common parts of classic requests at netserver (control-protocol.md 2.7).

use netperf_model::plan::TouchPlan;
use netperf_model::{
    CpuPlan, EndJob, EndPlan, EndResult, Family, Flow, Limit, RingPlan, SocketPlan, Tally,
    TransportId,
};
use netperf_wire::messages::{
    DgRrRequest, DgStreamRequest, DlpiClRrRequest, DlpiClStreamRequest, DlpiCoRrRequest,
    DlpiCoStreamRequest, MaertsRequest, RrRequest, SctpRrRequest, SctpStreamRequest, StreamRequest,
    StreamRrRequest, StreamStreamRequest, UdpStreamRequest, XtiRrRequest, XtiTcpStreamRequest,
    XtiUdpStreamRequest,
};
use netperf_wire::{Frame, Message, RemoteErrno, RequestKind};

use super::{Ready, from_wire, to_wire};
use crate::{errno, extension};

/// A classic request that was understood, and how it is answered.
#[derive(Clone, Debug)]
pub struct Classic {
    kind: RequestKind,
    said: RepeatedFields,
    form: &'static Form,
}

impl PartialEq for Classic {
    /// The form follows from the kind.
    fn eq(&self, other: &Self) -> bool {
        self.kind == other.kind && self.said == other.said
    }
}

impl Classic {
    /// Understands a request; `None` if it is not a classic one that this netserver knows.
    ///
    /// # Errors
    /// The error number to answer with.
    pub(super) fn understand(frame: &Frame) -> Option<Result<(Self, EndJob), RemoteErrno>> {
        let kind = frame.request();
        let form = form(kind)?;
        let understood = (form.understand)(kind, frame);
        Some(understood.map(|(said, mut job)| {
            // The one thing that a netperf of ours says behind a classic request.
            let method =
                extension::of_request(frame).and_then(|asked| extension::cpu_method(&asked));
            if let (Some(cpu), Some(method)) = (&mut job.end.cpu, method) {
                cpu.method = method;
            }
            (Self { kind, said, form }, job)
        }))
    }

    /// The request's number.
    pub(super) const fn kind(&self) -> RequestKind {
        self.kind
    }

    /// The answer that says netserver is ready.
    pub(super) fn response(&self, ready: &Ready) -> Frame {
        (self.form.response)(self.kind, &self.said, ready)
    }

    /// The answer that tells what netserver measured.
    pub(super) fn results(&self, result: &EndResult) -> Frame {
        (self.form.results)(self.kind, result)
    }
}

/// The message of a classic request, and the answers to it.
pub(super) trait ClassicRequest: Message {
    /// The fields that the answers repeat.
    fn said(&self) -> RepeatedFields;

    /// The job of netserver.
    ///
    /// # Errors
    /// The error number to answer with.
    fn job(&self, kind: RequestKind) -> Result<EndJob, RemoteErrno>;

    /// The answer that says netserver is ready.
    fn response(kind: RequestKind, said: &RepeatedFields, ready: &Ready) -> Frame;

    /// The answer that tells what netserver measured.
    fn results(kind: RequestKind, result: &EndResult) -> Frame;
}

/// Result of reading a request.
type Understood = Result<(RepeatedFields, EndJob), RemoteErrno>;

/// The functions of a [`ClassicRequest`], without its type.
#[derive(Debug)]
struct Form {
    understand: fn(RequestKind, &Frame) -> Understood,
    response: fn(RequestKind, &RepeatedFields, &Ready) -> Frame,
    results: fn(RequestKind, &EndResult) -> Frame,
}

impl Form {
    const fn of<M: ClassicRequest>() -> Self {
        Self {
            understand: |kind, frame| {
                let request: M = super::decode(frame)?;
                Ok((request.said(), request.job(kind)?))
            },
            response: M::response,
            results: M::results,
        }
    }
}

/// The form of each classic request.
fn form(kind: RequestKind) -> Option<&'static Form> {
    Some(match kind {
        RequestKind::TcpStream => const { &Form::of::<StreamRequest>() },
        RequestKind::TcpMaerts | RequestKind::SdpMaerts => const { &Form::of::<MaertsRequest>() },
        RequestKind::TcpRr | RequestKind::TcpCrr | RequestKind::TcpCc | RequestKind::UdpRr => {
            const { &Form::of::<RrRequest>() }
        }
        RequestKind::UdpStream => const { &Form::of::<UdpStreamRequest>() },
        RequestKind::StreamStream => const { &Form::of::<StreamStreamRequest>() },
        RequestKind::StreamRr => const { &Form::of::<StreamRrRequest>() },
        RequestKind::DgStream => const { &Form::of::<DgStreamRequest>() },
        RequestKind::DgRr => const { &Form::of::<DgRrRequest>() },
        RequestKind::SctpStream | RequestKind::SctpStreamMany | RequestKind::SdpStream => {
            const { &Form::of::<SctpStreamRequest>() }
        }
        RequestKind::SctpRr
        | RequestKind::SctpRrMany
        | RequestKind::SdpRr
        | RequestKind::SdpCrr
        | RequestKind::SdpCc => const { &Form::of::<SctpRrRequest>() },
        RequestKind::XtiTcpStream => const { &Form::of::<XtiTcpStreamRequest>() },
        RequestKind::XtiTcpRr | RequestKind::XtiUdpRr | RequestKind::XtiTcpCrr => {
            const { &Form::of::<XtiRrRequest>() }
        }
        RequestKind::XtiUdpStream => const { &Form::of::<XtiUdpStreamRequest>() },
        RequestKind::DlpiCoStream => const { &Form::of::<DlpiCoStreamRequest>() },
        RequestKind::DlpiCoRr => const { &Form::of::<DlpiCoRrRequest>() },
        RequestKind::DlpiClStream => const { &Form::of::<DlpiClStreamRequest>() },
        RequestKind::DlpiClRr => const { &Form::of::<DlpiClRrRequest>() },
        RequestKind::Omni
        | RequestKind::DebugOn
        | RequestKind::DebugOff
        | RequestKind::NodeIdentify
        | RequestKind::CpuCalibrate
        | RequestKind::Passphrase
        | RequestKind::SysInfo
        | RequestKind::Unknown(_) => return None,
    })
}

/// The fields of every classic request that the answers repeat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RepeatedFields {
    pub(super) measure_cpu: i32,
    pub(super) cpu_rate: f32,
    pub(super) test_length: i32,
    pub(super) so_rcvavoid: i32,
    pub(super) so_sndavoid: i32,
    /// The windows of a link-level test in frames, to receive and to send; -1 where the
    /// request has none.
    pub(super) windows: (i32, i32),
}

/// [`RepeatedFields`] of any classic request: they all have the fields, under the same names.
macro_rules! said {
    ($request:expr) => {
        $crate::dialect::classic::RepeatedFields {
            measure_cpu: $request.measure_cpu,
            cpu_rate: $request.cpu_rate,
            test_length: $request.test_length,
            so_rcvavoid: $request.so_rcvavoid,
            so_sndavoid: $request.so_sndavoid,
            windows: (-1, -1),
        }
    };
}
pub(super) use said;

/// Gives a job the buffers of a classic request/response request, and its sizes unless the
/// connections carry nothing: all these requests have the fields, under the same names.
macro_rules! exchange {
    ($job:ident, $request:expr) => {
        $job.end.send =
            $crate::dialect::classic::ring(0, $request.send_alignment, $request.send_offset)?;
        $job.end.recv =
            $crate::dialect::classic::ring(0, $request.recv_alignment, $request.recv_offset)?;
        if $job.is_request_response() {
            $job.request = Some($crate::dialect::classic::message($request.request_size)?);
            $job.response = Some($crate::dialect::classic::message($request.response_size)?);
        }
    };
}
pub(super) use exchange;

/// The record of a response. The fields that all classic responses have, under the same names,
/// are filled here.
macro_rules! response {
    ($kind:expr, $said:expr, $ready:expr => $message:ident { $($fields:tt)* }) => {
        netperf_wire::Message::encode(
            &$message {
                measure_cpu: $said.measures_cpu(),
                cpu_rate: $said.rate($ready),
                so_rcvavoid: $said.avoids_on_receive(),
                so_sndavoid: $said.avoids_on_send(),
                $($fields)*
            },
            netperf_wire::Header::response($kind),
        )
    };
}
pub(super) use response;

/// The record of results. The fields that all classic results have, under the same names, are
/// filled here.
macro_rules! results {
    ($kind:expr, $result:expr, $cpu:expr => $message:ident { $($fields:tt)* }) => {
        netperf_wire::Message::encode(
            &$message {
                elapsed_time: $crate::dialect::to_wire::float($result.elapsed),
                cpu_util: $cpu.util,
                num_cpus: $cpu.count,
                $($fields)*
            },
            netperf_wire::Header::results($kind),
        )
    };
}
pub(super) use results;

impl RepeatedFields {
    /// The job as far as it follows from here.
    ///
    /// A client that sends a byte count as a positive number ends the connection long
    /// before that many seconds are over.
    pub(super) fn job(&self, transport: TransportId, flow: Flow, family: Family) -> EndJob {
        EndJob {
            end: EndPlan {
                cpu: (self.measure_cpu != 0).then_some(CpuPlan {
                    rate: Some(self.cpu_rate),
                    ..CpuPlan::default()
                }),
                ..EndPlan::default()
            },
            ..EndJob::new(transport, family, flow, from_wire::limit(self.test_length))
        }
    }

    /// 1 if CPU utilisation is measured, 0 otherwise.
    pub(super) fn measures_cpu(&self) -> i32 {
        i32::from(self.measure_cpu != 0)
    }

    /// The calibration rate; 0 when CPU is not measured.
    pub(super) const fn rate(&self, ready: &Ready) -> f32 {
        if self.measure_cpu == 0 {
            0.0
        } else {
            ready.cpu_rate
        }
    }

    /// Copy avoidance on receive.
    pub(super) fn avoids_on_receive(&self) -> i32 {
        i32::from(self.so_rcvavoid == 1)
    }

    /// Copy avoidance on send.
    pub(super) fn avoids_on_send(&self) -> i32 {
        i32::from(self.so_sndavoid == 1)
    }
}

/// A time that has no number of units: counts below 0 are as good as no time.
pub(super) const fn time_only(limit: Limit) -> Limit {
    match limit {
        Limit::Units(_) | Limit::Messages(_) => Limit::UntilStopped,
        Limit::Time(_) | Limit::UntilStopped => limit,
    }
}

/// Socket options that most requests have; a buffer size of -1 leaves the default.
pub(super) fn socket(send: i32, recv: i32, no_delay: i32) -> Result<SocketPlan, RemoteErrno> {
    Ok(SocketPlan {
        send_buffer: from_wire::size(send)?,
        recv_buffer: from_wire::size(recv)?,
        nodelay: no_delay != 0,
        ..SocketPlan::default()
    })
}

/// A buffer ring of calls of `size` bytes, 0 where netserver derives it.
pub(super) fn ring(size: i32, align: i32, offset: i32) -> Result<RingPlan, RemoteErrno> {
    from_wire::ring(from_wire::derived(size)?, 0, align, offset)
}

/// The size of a message: there must be one.
pub(super) fn message(size: i32) -> Result<u32, RemoteErrno> {
    from_wire::derived(size)?.ok_or(errno::INVALID)
}

/// A port, 0 for any.
pub(super) fn port(port: i32) -> Result<u16, RemoteErrno> {
    u16::try_from(port).map_err(|_| errno::INVALID)
}

/// Bytes touched in each buffer; classic requests count integers of four bytes.
pub(super) fn touch(dirty: i32, clean: i32) -> TouchPlan {
    // Counts below 0 come from clients that have no such thing.
    let bytes = |integers: i32| u32::try_from(integers).unwrap_or(0).saturating_mul(4);
    TouchPlan {
        dirty: bytes(dirty),
        clean: bytes(clean),
    }
}

/// A name of a device; `None` where the request has none.
pub(super) fn device(bytes: &[u8]) -> Option<String> {
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(bytes).into_owned())
}

/// CPU utilisation as classic results have it, zeros when not measured.
#[derive(Default)]
pub(super) struct CpuFields {
    pub(super) util: f32,
    pub(super) method: i32,
    pub(super) count: i32,
}

impl CpuFields {
    pub(super) fn of(result: &EndResult) -> Self {
        result.cpu.map_or_else(Self::default, |cpu| Self {
            util: to_wire::float(cpu.busy),
            method: to_wire::signed(cpu.method.code()),
            count: to_wire::signed(cpu.cpus),
        })
    }

    /// The same for the tests that say "not measured" with -1.
    pub(super) fn or_minus_one(result: &EndResult) -> Self {
        match result.cpu {
            Some(_) => Self::of(result),
            None => Self {
                util: -1.0,
                ..Self::default()
            },
        }
    }
}

/// The bytes of request/response results, which count both directions
/// (control-protocol.md 2.7.3 and 2.7.5).
pub(super) const fn both_directions(tally: &Tally) -> u64 {
    tally.bytes_received.wrapping_add(tally.bytes_sent)
}
