//! Classic requests at netserver (control-protocol.md 2.7), read and answered by the names of
//! their fields.
//!
//! A stock client of a Unix-domain test asks for buffers of 0 unless its user says otherwise,
//! and a stock server really asks the kernel for them, so that it measures with the smallest
//! buffers that there are. Here 0 is no wish, and the kernel's default stays: results are better
//! than a stock server's for that reason alone. DG_STREAM's wish, which a stock server never
//! looks at, counts as well.
//!
//! No exchange of an SCTP, SDP, XTI or link-level test was captured. XTI requests name no
//! address family: there was IPv4 only. An SDP socket has a separate family, over IPv4 unless
//! the request says otherwise.

use netperf_model::plan::TouchPlan;
use netperf_model::{
    Address, CpuPlan, EndJob, EndResult, Ending, Family, Flow, Limit, PlacePlan, RingPlan,
    SocketKind, SocketPlan, TestId, TransportId,
};
use netperf_wire::messages::SctpStreamRequest;
use netperf_wire::{
    FieldValue, Frame, Header, RemoteErrno, RequestKind, Stage, SwappedStr, WireFamily, messages,
};

use super::{Ready, decode, from_wire, to_wire};
use crate::extension;
use crate::fields::{Fields, test_of};

/// A classic request that was understood; the answers repeat some of its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Classic {
    kind: RequestKind,
    test: TestId,
    asked: Fields,
}

impl Classic {
    /// Understands a request; `None` if it is not a classic one that this netserver knows.
    ///
    /// # Errors
    /// The error number to answer with.
    pub(super) fn understand(frame: &Frame) -> Option<Result<(Self, EndJob), RemoteErrno>> {
        let kind = frame.request();
        let test = test_of(kind)?;
        let asked = Fields::read(kind, Stage::Request, frame)?;
        let classic = Self { kind, test, asked };
        Some(classic.job(frame).map(|job| (classic, job)))
    }

    /// The request's number.
    pub(super) const fn kind(&self) -> RequestKind {
        self.kind
    }

    /// The job of netserver.
    ///
    /// A client that sends a byte count as a positive number ends the connection long before
    /// that many seconds are over.
    fn job(&self, frame: &Frame) -> Result<EndJob, RemoteErrno> {
        let asked = &self.asked;
        let (transport, flow) = (self.test.row().transport, self.test.row().flow);
        let limit = from_wire::limit(asked.or_zero("test_length"));
        let (limit, ending) = self.ending(limit)?;
        let mut job = EndJob::new(transport, self.family()?, flow, limit);
        job.ending = ending;
        job.port = self.port(frame)?;
        job.end.socket = self.socket()?;
        if let Some(ring) = self.ring("send_size", "send_alignment", "send_offset")? {
            job.end.send = ring;
        }
        let size = if asked.integer("message_size").is_some() {
            "message_size"
        } else {
            "receive_size"
        };
        if let Some(ring) = self.ring(size, "recv_alignment", "recv_offset")? {
            job.end.recv = ring;
        }
        if job.is_request_response() {
            job.request = Some(self.message("request_size")?);
            job.response = Some(self.message("response_size")?);
        }
        job.end.touch = TouchPlan {
            dirty: self.touched("dirty_count"),
            clean: self.touched("clean_count"),
        };
        let avoids = matches!(self.kind, RequestKind::TcpStream | RequestKind::SdpStream);
        job.end.copy_avoidance = avoids && asked.or_zero("so_rcvavoid") == 1;
        job.end.place = self.place()?;
        // The one thing that a netperf of ours says behind a classic request.
        let method = extension::of_request(frame).and_then(|asked| extension::cpu_method(&asked));
        job.end.cpu = (asked.or_zero("measure_cpu") != 0).then(|| CpuPlan {
            rate: Some(asked.float("cpu_rate")),
            method: method.unwrap_or(CpuPlan::default().method),
        });
        Ok(job)
    }

    /// The limit and the end of a run.
    fn ending(&self, limit: Limit) -> Result<(Limit, Ending), RemoteErrno> {
        use RequestKind as Kind;
        if matches!(self.kind, Kind::UdpStream | Kind::XtiUdpStream) {
            let size = self.message("message_size")?;
            return Ok((limit, Ending::OddDatagram(size)));
        }
        // A stock client does not mark its end. A count below 0 is as good as no time.
        if matches!(self.kind, Kind::DgStream | Kind::DlpiClStream) {
            let size = self.message("message_size")?;
            let limit = match limit {
                Limit::Units(_) | Limit::Messages(_) => Limit::UntilStopped,
                Limit::Time(_) | Limit::UntilStopped => limit,
            };
            return Ok((limit, Ending::Silence(Some(size))));
        }
        // A stock client keeps its Unix-domain socket open while it waits for the results;
        // its server of SCTP ends by time.
        let silence = matches!(
            self.kind,
            Kind::StreamRr
                | Kind::DgRr
                | Kind::SctpRr
                | Kind::SctpRrMany
                | Kind::DlpiCoRr
                | Kind::DlpiClRr
        );
        let ending = if silence {
            Ending::Silence(None)
        } else {
            Ending::Omni
        };
        Ok((limit, ending))
    }

    fn family(&self) -> Result<Family, RemoteErrno> {
        let transport = self.test.row().transport;
        let Some(code) = self.asked.word("ipfamily") else {
            return Ok(if transport.is_inet() {
                Family::V4
            } else {
                Family::Unspecified
            });
        };
        let family = from_wire::family(WireFamily::from_code(code));
        if transport == TransportId::Sdp {
            return Ok(family.unwrap_or(Family::V4));
        }
        family
    }

    /// The port for the data socket, 0 for any.
    fn port(&self, frame: &Frame) -> Result<u16, RemoteErrno> {
        use RequestKind as Kind;
        let twice = matches!(
            self.kind,
            Kind::SctpStream | Kind::SctpStreamMany | Kind::SdpStream
        );
        let port = if twice {
            decode::<SctpStreamRequest>(frame)?.wanted_port()
        } else {
            self.asked.or_zero("port")
        };
        u16::try_from(port).map_err(|_| RemoteErrno::EINVAL)
    }

    fn socket(&self) -> Result<SocketPlan, RemoteErrno> {
        let transport = self.test.row().transport;
        let buffer = |name| {
            let size = self.asked.integer(name).unwrap_or(-1);
            if transport.is_inet() {
                from_wire::size(size)
            } else {
                from_wire::derived(size)
            }
        };
        let datagrams = transport.row().kind == SocketKind::Datagram;
        Ok(SocketPlan {
            send_buffer: buffer("send_buf_size")?,
            recv_buffer: buffer("recv_buf_size")?,
            nodelay: !datagrams && self.asked.or_zero("no_delay") != 0,
            non_blocking: self.asked.or_zero("non_blocking") != 0,
            connected_datagram: self.asked.or_zero("recv_connected") != 0,
            ..SocketPlan::default()
        })
    }

    /// A buffer ring of calls of a size, 0 where netserver derives it; `None` where the request
    /// has none.
    fn ring(&self, size: &str, align: &str, offset: &str) -> Result<Option<RingPlan>, RemoteErrno> {
        let Some(align) = self.asked.integer(align) else {
            return Ok(None);
        };
        let size = from_wire::derived(self.asked.or_zero(size))?;
        from_wire::ring(size, 0, align, self.asked.or_zero(offset)).map(Some)
    }

    /// The size of a message: there must be one.
    fn message(&self, name: &str) -> Result<u32, RemoteErrno> {
        from_wire::derived(self.asked.or_zero(name))?.ok_or(RemoteErrno::EINVAL)
    }

    /// Bytes touched in each buffer; classic requests count integers of four bytes. Counts below
    /// 0 come from clients that have no such thing.
    fn touched(&self, name: &str) -> u32 {
        let integers = u32::try_from(self.asked.or_zero(name)).unwrap_or(0);
        integers.saturating_mul(4)
    }

    /// Location of netserver's end in XTI and link-level tests.
    fn place(&self) -> Result<PlacePlan, RemoteErrno> {
        let asked = &self.asked;
        let device = asked.text("xti_device").or(asked.text("dlpi_device"));
        let device = device.filter(|name| !name.is_empty());
        // A window of 0 frames would block all data: it stands for no request.
        let window = |name| {
            let frames = u32::try_from(asked.integer(name)?).ok();
            frames.filter(|frames| *frames > 0)
        };
        let sap = asked.integer("sap").map(u8::try_from).transpose();
        Ok(PlacePlan {
            device: device.map(|name| String::from_utf8_lossy(name).into_owned()),
            unit: asked.integer("ppa"),
            sap: sap.map_err(|_| RemoteErrno::EINVAL)?,
            window: window("send_win_size"),
            recv_window: window("recv_win_size"),
            ..PlacePlan::default()
        })
    }

    /// A record of an answer.
    fn answer(
        &self,
        stage: Stage,
        header: Header,
        value: impl Fn(&str) -> Option<FieldValue>,
    ) -> Frame {
        match messages::find(self.kind, stage) {
            Some(row) => row.build(header, value),
            None => Frame::new(header),
        }
    }

    /// The answer that says netserver is ready.
    pub(super) fn response(&self, ready: &Ready) -> Frame {
        self.answer(Stage::Response, Header::response(self.kind), |field| {
            self.responded(field, ready)
        })
    }

    /// The value of a field of a response.
    fn responded(&self, field: &str, ready: &Ready) -> Option<FieldValue> {
        let setup = &ready.setup;
        let measures = self.asked.or_zero("measure_cpu") != 0;
        Some(FieldValue::Signed(match field {
            "send_buf_size" => to_wire::size(setup.send_buffer),
            "recv_buf_size" => to_wire::size(setup.recv_buffer),
            "send_size" => to_wire::size(setup.send_size),
            "receive_size" => to_wire::size(setup.recv_size),
            "no_delay" => i32::from(setup.nodelay),
            "measure_cpu" => i32::from(measures),
            "cpu_rate" if measures => return Some(FieldValue::Single(ready.cpu_rate)),
            "so_rcvavoid" | "so_sndavoid" => i32::from(self.asked.or_zero(field) == 1),
            "test_length" if self.repeats_length() => self.asked.or_zero(field),
            "data_port_number" => to_wire::signed(ready.data_port),
            // DLPI_CL_STREAM has no window to send.
            "recv_win_size" | "send_win_size" => self.asked.integer(field).unwrap_or(-1),
            "unix_path" => return socket_path(ready),
            "station_addr_len" => i32::from(station(ready).map_or(0, |_| 6_u8)),
            "station_addr" => return Some(FieldValue::Bytes(station(ready)?.to_vec())),
            _ => return None,
        }))
    }

    /// True if the response repeats the length of the test (control-protocol.md 2.7).
    fn repeats_length(&self) -> bool {
        use RequestKind as Kind;
        !matches!(
            self.kind,
            Kind::TcpStream
                | Kind::TcpMaerts
                | Kind::XtiTcpStream
                | Kind::SctpStream
                | Kind::SctpStreamMany
                | Kind::SdpStream
                | Kind::SdpMaerts
                | Kind::StreamStream
                | Kind::StreamRr
                | Kind::DgRr
        )
    }

    /// The answer that tells what netserver measured.
    pub(super) fn results(&self, result: &EndResult) -> Frame {
        self.answer(Stage::Results, Header::results(self.kind), |field| {
            self.measured(field, result)
        })
    }

    /// The value of a field of results. Counts of bytes in request/response results are those of
    /// both directions (control-protocol.md 2.7.3 and 2.7.5).
    fn measured(&self, field: &str, result: &EndResult) -> Option<FieldValue> {
        let row = self.test.row();
        let tally = &result.tally;
        let datagrams = row.transport.row().kind == SocketKind::Datagram;
        let both = if row.flow.counts_transactions() {
            tally.bytes_sent
        } else {
            0
        };
        Some(match field {
            "bytes_received" => FieldValue::Counter(tally.bytes_received.wrapping_add(both)),
            "bytes_sent" => FieldValue::Counter(tally.bytes_sent),
            "recv_calls" | "messages_recvd" => FieldValue::Counter(tally.recv_calls),
            "send_calls" => FieldValue::Counter(tally.send_calls),
            "trans_received" => FieldValue::Counter(tally.transactions),
            "recv_buf_size" => FieldValue::Signed(to_wire::size(result.recv_buffer_end)),
            "send_buf_size" => FieldValue::Signed(to_wire::size(result.send_buffer_end)),
            "elapsed_time" => FieldValue::Single(to_wire::float(result.elapsed)),
            "cpu_util" => FieldValue::Single(match result.cpu {
                Some(cpu) => to_wire::float(cpu.busy),
                // Tests of datagrams that go one way say "not measured" with -1.
                None if row.flow == Flow::SEND && datagrams => -1.0,
                None => 0.0,
            }),
            "cpu_method" => FieldValue::Signed(to_wire::signed(result.cpu?.method.code())),
            "num_cpus" => FieldValue::Signed(to_wire::signed(result.cpu?.cpus)),
            _ => return None,
        })
    }
}

/// The path of netserver's data socket, with space for a NUL behind it.
fn socket_path(ready: &Ready) -> Option<FieldValue> {
    let Some(Address::Unix(path)) = &ready.address else {
        return None;
    };
    let path = SwappedStr::<32>::from_bytes_truncated(path.as_os_str().as_encoded_bytes());
    Some(FieldValue::Text(path.as_bytes().to_vec()))
}

/// The address of netserver's station.
fn station(ready: &Ready) -> Option<[u8; 6]> {
    match ready.address {
        Some(Address::Link { station, .. }) => Some(station),
        _ => None,
    }
}
