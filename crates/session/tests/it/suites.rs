//! The classic requests of the Unix-domain, SCTP, SDP, XTI and link-level tests: what
//! netserver makes of them.

use std::time::Duration;

use crate::common::{PATH, any_frame, much, served};
use netperf_model::{EndJob, EndResult, Ending, Family, Flow, Limit, Tally, TransportId};
use netperf_wire::messages::{
    DgRrRequest, DgStreamRequest, DgStreamResults, DlpiClRrRequest, DlpiClRrResponse,
    DlpiClStreamRequest, DlpiClStreamResults, DlpiCoRrRequest, DlpiCoRrResponse,
    DlpiCoStreamRequest, DlpiCoStreamResponse, DlpiCoStreamResults, DlpiRrResults, MaertsRequest,
    MaertsResults, RrResults, SctpRrRequest, SctpRrResponse, SctpStreamRequest, SctpStreamResponse,
    SctpStreamResults, StreamRrRequest, StreamRrResponse, StreamRrResults, StreamStreamRequest,
    StreamStreamResponse, StreamStreamResults, UdpStreamResults, XtiRrRequest, XtiTcpStreamRequest,
    XtiTcpStreamResults, XtiUdpStreamRequest,
};
use netperf_wire::{Frame, Header, Message, RequestKind, SwappedStr, WireFamily};
use proptest::prelude::*;

fn ask(message: &impl Message, kind: RequestKind) -> Frame {
    message.encode(Header::request(kind))
}

fn job(message: &impl Message, kind: RequestKind) -> EndJob {
    let (sent, job) = served(ask(message, kind), None);
    assert_eq!(sent.len(), 2, "{kind}");
    assert!(sent.iter().all(|frame| frame.errno().is_ok()), "{kind}");
    assert_eq!(sent[0].header().kind, kind.response_number(), "{kind}");
    assert_eq!(sent[1].header().kind, kind.stock_results_number(), "{kind}");
    job.unwrap()
}

fn refusal(message: &impl Message, kind: RequestKind) -> i32 {
    let (sent, job) = served(ask(message, kind), None);
    assert!(sent.len() == 1 && job.is_none(), "{kind}");
    sent[0].errno().0
}

fn answers<A: Message, B: Message>(
    message: &impl Message,
    kind: RequestKind,
    ran: EndResult,
) -> (A, B) {
    let (sent, _) = served(ask(message, kind), Some(ran));
    (A::decode(&sent[0]).unwrap(), B::decode(&sent[1]).unwrap())
}

#[expect(clippy::cast_possible_truncation, reason = "the field wraps")]
const fn wrapped(count: u64) -> i32 {
    count as i32
}

fn stream_rr() -> StreamRrRequest {
    StreamRrRequest {
        request_size: 10,
        response_size: 20,
        test_length: 3,
        ..StreamRrRequest::default()
    }
}

fn dg_stream() -> DgStreamRequest {
    DgStreamRequest {
        message_size: 1000,
        test_length: 3,
        ..DgStreamRequest::default()
    }
}

fn dg_rr() -> DgRrRequest {
    DgRrRequest {
        request_size: 10,
        response_size: 20,
        test_length: -5,
        ..DgRrRequest::default()
    }
}

fn sctp_stream() -> SctpStreamRequest {
    SctpStreamRequest {
        send_buf_size: -1,
        recv_buf_size: -1,
        test_length: 3,
        ipfamily: WireFamily::Inet6,
        ..SctpStreamRequest::default()
    }
}

fn sctp_rr() -> SctpRrRequest {
    SctpRrRequest {
        request_size: 10,
        response_size: 20,
        test_length: 3,
        port: 5000,
        ipfamily: WireFamily::Inet,
        non_blocking: 1,
        no_delay: 1,
        ..SctpRrRequest::default()
    }
}

fn xti_rr() -> XtiRrRequest {
    XtiRrRequest {
        request_size: 10,
        response_size: 20,
        no_delay: 1,
        xti_device: SwappedStr::from_bytes_truncated(b"/dev/tcp"),
        ..XtiRrRequest::default()
    }
}

fn co_stream() -> DlpiCoStreamRequest {
    DlpiCoStreamRequest {
        recv_win_size: 5,
        send_win_size: 6,
        sap: 84,
        ppa: 4,
        dlpi_device: SwappedStr::from_bytes_truncated(b"eth0"),
        ..DlpiCoStreamRequest::default()
    }
}

fn co_rr() -> DlpiCoRrRequest {
    DlpiCoRrRequest {
        request_size: 10,
        response_size: 20,
        sap: 84,
        ..DlpiCoRrRequest::default()
    }
}

fn cl_stream() -> DlpiClStreamRequest {
    DlpiClStreamRequest {
        message_size: 1000,
        sap: 84,
        ..DlpiClStreamRequest::default()
    }
}

fn cl_rr() -> DlpiClRrRequest {
    DlpiClRrRequest {
        request_size: 10,
        response_size: 20,
        sap: 84,
        ..DlpiClRrRequest::default()
    }
}

#[test]
fn every_classic_request_runs_over_what_it_names() {
    use RequestKind as K;
    use TransportId as T;
    let maerts = MaertsRequest::default();
    let xti_udp = XtiUdpStreamRequest {
        message_size: 1000,
        ..XtiUdpStreamRequest::default()
    };
    let jobs = [
        (
            job(&StreamStreamRequest::default(), K::StreamStream),
            T::UnixStream,
            Flow::SEND,
        ),
        (job(&stream_rr(), K::StreamRr), T::UnixStream, Flow::RR),
        (job(&dg_stream(), K::DgStream), T::UnixDatagram, Flow::SEND),
        (job(&dg_rr(), K::DgRr), T::UnixDatagram, Flow::RR),
        (job(&sctp_stream(), K::SctpStream), T::Sctp, Flow::SEND),
        (job(&sctp_rr(), K::SctpRr), T::Sctp, Flow::RR),
        (
            job(&sctp_stream(), K::SctpStreamMany),
            T::SctpMany,
            Flow::SEND,
        ),
        (job(&sctp_rr(), K::SctpRrMany), T::SctpMany, Flow::RR),
        (job(&sctp_stream(), K::SdpStream), T::Sdp, Flow::SEND),
        (job(&maerts, K::SdpMaerts), T::Sdp, Flow::RECEIVE),
        (job(&sctp_rr(), K::SdpRr), T::Sdp, Flow::RR),
        (job(&sctp_rr(), K::SdpCrr), T::Sdp, Flow::CRR),
        (job(&sctp_rr(), K::SdpCc), T::Sdp, Flow::CC),
        (
            job(&XtiTcpStreamRequest::default(), K::XtiTcpStream),
            T::XtiTcp,
            Flow::SEND,
        ),
        (job(&xti_rr(), K::XtiTcpRr), T::XtiTcp, Flow::RR),
        (job(&xti_rr(), K::XtiTcpCrr), T::XtiTcp, Flow::CRR),
        (job(&xti_rr(), K::XtiUdpRr), T::XtiUdp, Flow::RR),
        (job(&xti_udp, K::XtiUdpStream), T::XtiUdp, Flow::SEND),
        (job(&co_stream(), K::DlpiCoStream), T::Llc2, Flow::SEND),
        (job(&co_rr(), K::DlpiCoRr), T::Llc2, Flow::RR),
        (job(&cl_stream(), K::DlpiClStream), T::Llc1, Flow::SEND),
        (job(&cl_rr(), K::DlpiClRr), T::Llc1, Flow::RR),
    ];
    for (job, transport, flow) in jobs {
        assert_eq!((job.transport, job.test_flow()), (transport, flow));
        let sized = flow.is_request_response();
        assert_eq!(job.request, sized.then_some(10));
        assert_eq!(job.response, sized.then_some(20));
    }
}

#[test]
fn the_end_is_noticed_by_what_tells_of_it() {
    let stream = job(&StreamStreamRequest::default(), RequestKind::StreamStream);
    assert_eq!(stream.ending, Ending::Omni);
    let silent = Ending::Silence(None);
    assert_eq!(job(&stream_rr(), RequestKind::StreamRr).ending, silent);
    assert_eq!(job(&dg_rr(), RequestKind::DgRr).ending, silent);
    assert_eq!(job(&sctp_rr(), RequestKind::SctpRr).ending, silent);
    assert_eq!(job(&co_rr(), RequestKind::DlpiCoRr).ending, silent);
    assert_eq!(job(&cl_rr(), RequestKind::DlpiClRr).ending, silent);
    let odd = Ending::Silence(Some(1000));
    assert_eq!(job(&dg_stream(), RequestKind::DgStream).ending, odd);
    assert_eq!(job(&cl_stream(), RequestKind::DlpiClStream).ending, odd);
}

#[test]
fn a_length_is_a_time_or_transactions_and_of_datagrams_never_a_count() {
    let three = Limit::Time(Duration::from_secs(3));
    assert_eq!(job(&stream_rr(), RequestKind::StreamRr).limit, three);
    assert_eq!(job(&dg_rr(), RequestKind::DgRr).limit, Limit::Units(5));
    assert_eq!(job(&dg_stream(), RequestKind::DgStream).limit, three);
    let count = DgStreamRequest {
        test_length: -5,
        ..dg_stream()
    };
    let limit = job(&count, RequestKind::DgStream).limit;
    assert_eq!(limit, Limit::UntilStopped);
}

#[test]
fn buffers_of_zero_that_a_stock_client_of_the_unix_tests_asks_for_are_the_default() {
    let none = job(&StreamStreamRequest::default(), RequestKind::StreamStream);
    let socket = none.end.socket;
    assert_eq!((socket.send_buffer, socket.recv_buffer), (None, None));
    let some = StreamStreamRequest {
        recv_buf_size: 60_000,
        send_buf_size: 50_000,
        receive_size: 3333,
        dirty_count: 2,
        clean_count: 3,
        ..StreamStreamRequest::default()
    };
    let end = job(&some, RequestKind::StreamStream).end;
    let buffers = (end.socket.send_buffer, end.socket.recv_buffer);
    assert_eq!(buffers, (Some(50_000), Some(60_000)));
    assert_eq!(end.recv.size, Some(3333));
    assert_eq!((end.touch.dirty, end.touch.clean), (8, 12));
}

#[test]
fn sctp_requests_say_family_port_and_whether_to_block() {
    // As a little-endian stock client sends port 5000.
    let twice = SctpStreamRequest {
        port: 5000_i32.swap_bytes(),
        ..sctp_stream()
    };
    let stream = job(&twice, RequestKind::SctpStream);
    assert_eq!((stream.port, stream.family), (5000, Family::V6));
    assert!(!stream.end.socket.non_blocking);
    let rr = job(&sctp_rr(), RequestKind::SctpRr);
    assert_eq!((rr.port, rr.family), (5000, Family::V4));
    assert!(rr.end.socket.non_blocking && rr.end.socket.nodelay);
}

#[test]
fn devices_units_and_access_points_are_where_netservers_end_is_to_be() {
    let xti = job(&xti_rr(), RequestKind::XtiTcpRr);
    assert_eq!(xti.end.place.device.as_deref(), Some("/dev/tcp"));
    assert!(xti.end.socket.nodelay);
    let udp = job(&xti_rr(), RequestKind::XtiUdpRr);
    assert!(!udp.end.socket.nodelay);
    let place = job(&co_stream(), RequestKind::DlpiCoStream).end.place;
    assert_eq!(place.device.as_deref(), Some("eth0"));
    assert_eq!(
        (place.unit, place.sap, place.window),
        (Some(4), Some(84), Some(6))
    );
    assert_eq!(place.recv_window, Some(5));
    let unnamed = job(&cl_rr(), RequestKind::DlpiClRr).end.place;
    assert_eq!((unnamed.device, unnamed.window), (None, None));
}

#[test]
fn values_that_make_no_sense_are_answered_with_an_error() {
    let size = StreamRrRequest {
        request_size: 0,
        ..stream_rr()
    };
    assert_eq!(refusal(&size, RequestKind::StreamRr), 22);
    assert_eq!(
        refusal(&DgStreamRequest::default(), RequestKind::DgStream),
        22
    );
    let buffer = DgRrRequest {
        recv_buf_size: -7,
        ..dg_rr()
    };
    assert_eq!(refusal(&buffer, RequestKind::DgRr), 22);
    let family = SctpRrRequest {
        ipfamily: WireFamily::Unspecified,
        ..sctp_rr()
    };
    assert_eq!(refusal(&family, RequestKind::SctpRr), 97);
    let port = SctpRrRequest {
        port: 70_000,
        ..sctp_rr()
    };
    assert_eq!(refusal(&port, RequestKind::SctpRrMany), 22);
    let sap = DlpiCoRrRequest {
        sap: 300,
        ..co_rr()
    };
    assert_eq!(refusal(&sap, RequestKind::DlpiCoRr), 22);
}

#[test]
fn an_sdp_request_of_an_odd_family_is_ipv4() {
    let odd = SctpRrRequest {
        ipfamily: WireFamily::from_code(27),
        ..sctp_rr()
    };
    assert_eq!(job(&odd, RequestKind::SdpRr).family, Family::V4);
    assert_eq!(
        job(&sctp_stream(), RequestKind::SdpStream).family,
        Family::V6
    );
}

#[test]
fn a_unix_test_is_told_the_path_of_the_socket() {
    let request = StreamStreamRequest {
        measure_cpu: 1,
        ..StreamStreamRequest::default()
    };
    let (response, results): (StreamStreamResponse, StreamStreamResults) =
        answers(&request, RequestKind::StreamStream, much());
    assert_eq!(response.unix_path.as_bytes(), PATH.as_bytes());
    assert_eq!(response.measure_cpu, 1);
    assert!((response.cpu_rate - 100.0).abs() < f32::EPSILON);
    assert_eq!(results.bytes_received, wrapped(5_000_000_000));
    assert_eq!((results.recv_calls, results.num_cpus), (7, 4));
    assert!((results.cpu_util - 50.0).abs() < f32::EPSILON);
    let (response, results): (StreamRrResponse, StreamRrResults) =
        answers(&stream_rr(), RequestKind::StreamRr, much());
    assert_eq!(response.unix_path.as_bytes(), PATH.as_bytes());
    // Both directions, in 32 bits.
    assert_eq!(results.bytes_received, wrapped(8_000_000_000));
    assert_eq!((results.trans_received, results.recv_calls), (13, 7));
}

#[test]
fn datagram_streams_say_minus_one_for_cpu_that_was_not_measured() {
    let unmeasured = EndResult {
        cpu: None,
        ..much()
    };
    let ran = || unmeasured.clone();
    let (_, unix): (StreamRrResponse, DgStreamResults) =
        answers(&dg_stream(), RequestKind::DgStream, ran());
    let (_, link): (StreamRrResponse, DlpiClStreamResults) =
        answers(&cl_stream(), RequestKind::DlpiClStream, ran());
    let xti = XtiUdpStreamRequest {
        message_size: 9,
        ..XtiUdpStreamRequest::default()
    };
    let (_, xti): (StreamRrResponse, UdpStreamResults) =
        answers(&xti, RequestKind::XtiUdpStream, ran());
    for util in [unix.cpu_util, link.cpu_util, xti.cpu_util] {
        assert!((util + 1.0).abs() < f32::EPSILON);
    }
    assert_eq!((unix.messages_recvd, link.messages_recvd), (7, 7));
}

#[test]
fn sctp_and_sdp_answers_have_ports_and_whole_counts() {
    let (response, results): (SctpStreamResponse, SctpStreamResults) =
        answers(&sctp_stream(), RequestKind::SctpStreamMany, much());
    assert_eq!(response.data_port_number, 4242);
    assert!((results.bytes_received - 5e9).abs() < 1.0);
    assert_eq!(
        (results.recv_calls, results.cpu_method, results.num_cpus),
        (7, 8, 4)
    );
    let (response, results): (SctpRrResponse, RrResults) =
        answers(&sctp_rr(), RequestKind::SctpRr, much());
    assert_eq!((response.data_port_number, response.test_length), (4242, 3));
    assert_eq!(results.trans_received, 13);
    let (_, results): (SctpRrResponse, MaertsResults) =
        answers(&MaertsRequest::default(), RequestKind::SdpMaerts, much());
    assert!((results.bytes_sent - 3e9).abs() < 1.0);
}

#[test]
fn the_bytes_of_xti_tcp_stream_come_with_their_words_the_wrong_way_round() {
    let request = XtiTcpStreamRequest::default();
    let (_, results): (SctpRrResponse, XtiTcpStreamResults) =
        answers(&request, RequestKind::XtiTcpStream, much());
    assert!((results.bytes_received.0 - 5e9).abs() < 1.0);
    let (_, as_usual): (SctpRrResponse, SctpStreamResults) =
        answers(&request, RequestKind::XtiTcpStream, much());
    assert!((as_usual.bytes_received - 5e9).abs() > 1.0);
}

#[test]
fn a_link_level_test_is_told_windows_and_station() {
    let (response, results): (DlpiCoStreamResponse, DlpiCoStreamResults) =
        answers(&co_stream(), RequestKind::DlpiCoStream, much());
    assert_eq!((response.recv_win_size, response.send_win_size), (5, 6));
    assert_eq!(response.station_addr_len, 6);
    assert_eq!(
        response.station_addr.to_wire()[..8],
        [0, 0, 0, 2, 0, 0, 7, 0]
    );
    assert_eq!(results.bytes_received, wrapped(5_000_000_000));
    let (response, results): (DlpiCoRrResponse, DlpiRrResults) =
        answers(&co_rr(), RequestKind::DlpiCoRr, much());
    assert_eq!(response.station_addr_len, 6);
    assert_eq!(results.trans_received, 13);
    let (response, _): (DlpiClRrResponse, DlpiRrResults) =
        answers(&cl_rr(), RequestKind::DlpiClRr, much());
    assert_eq!(response.station_addr_len, 6);
}

/// Every request whose layout this netserver knows.
fn classic_kinds() -> Vec<RequestKind> {
    let tests = RequestKind::NAMED.iter().copied();
    tests.filter(|kind| kind.is_test()).collect()
}

proptest! {
    #[test]
    fn no_classic_request_makes_netserver_panic_and_each_has_an_answer(
        mut frame in any_frame(),
        kind in proptest::sample::select(classic_kinds()),
        counts: (u64, u64, u64, u64),
        elapsed: f64,
    ) {
        frame.set_header(Header::request(kind));
        let ran = EndResult {
            tally: Tally {
                bytes_sent: counts.0,
                bytes_received: counts.1,
                recv_calls: counts.2,
                transactions: counts.3,
                ..Tally::default()
            },
            elapsed,
            ..EndResult::default()
        };
        let (sent, job) = served(frame, Some(ran));
        prop_assert_eq!(sent.len(), if job.is_some() { 2 } else { 1 });
        prop_assert_eq!(sent[0].errno().is_ok(), job.is_some());
    }
}
