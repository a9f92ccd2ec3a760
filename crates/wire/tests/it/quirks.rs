//! One test for each oddity of the protocol that the codec has to know.
//! The section of `docs/spec/control-protocol.md` stands at each group.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use netperf_wire::messages::{
    CpuCalibrateReply, DgStreamResults, DlpiCoRrRequest, DlpiCoStreamResponse, HeaderOnly,
    OmniRequest, OmniResponse, OmniResults, Passphrase, RrResults, SctpStreamRequest,
    StreamRequest, StreamResults, StreamStreamResponse, SysInfoReply, UdpStreamResults,
    XtiTcpStreamResults, XtiUdpStreamRequest,
};
use netperf_wire::{
    Direction, FRAME_LEN, FixedStr, Frame, Header, LowWordFirst, Message, OmniFlags, RemoteErrno,
    RequestKind, SwappedBytes, SwappedStr, WireFamily, WireProtocol, WireSocketType, ip_to_words,
    words_to_ip,
};

use crate::vectors;

fn encoded(message: &impl Message) -> Frame {
    message.encode(Header::default())
}

// Section 1.1: the record.

#[test]
fn a_record_of_another_length_is_refused_with_its_length() {
    let error = Frame::try_from([0; 655].as_slice()).unwrap_err();
    assert_eq!(error.to_string(), "a control record has 656 bytes, not 655");
}

#[test]
fn type_and_error_are_the_first_two_words_big_endian() {
    let frame = Frame::new(Header {
        kind: 0x0102_0304,
        word1: -2,
    });
    assert!(
        frame
            .as_bytes()
            .starts_with(&[1, 2, 3, 4, 255, 255, 255, 254])
    );
}

// Section 1.2: byte order.

#[test]
fn words_are_big_endian() {
    let request = OmniRequest {
        send_buf_size: 0x0102_0304,
        ..OmniRequest::default()
    };
    assert_eq!(encoded(&request).as_bytes()[8..12], [1, 2, 3, 4]);
}

#[test]
fn single_floats_are_big_endian() {
    let reply = CpuCalibrateReply {
        cpu_rate: 100.0,
        num_cpus: 2,
    };
    assert_eq!(encoded(&reply).as_bytes()[8..12], [0x42, 0xc8, 0, 0]);
}

#[test]
fn doubles_are_plain_big_endian_and_aligned() {
    let results = StreamResults {
        bytes_received: 1.5,
        ..StreamResults::default()
    };
    assert_eq!(
        encoded(&results).as_bytes()[8..16],
        [0x3f, 0xf8, 0, 0, 0, 0, 0, 0]
    );
}

#[test]
fn long_counters_are_two_words_high_word_first() {
    let results = OmniResults {
        bytes_received: 0x0000_0001_0000_0002,
        bytes_sent: 0x0000_0003_0000_0004,
        ..OmniResults::default()
    };
    let frame = encoded(&results);
    assert_eq!(frame.as_bytes()[8..16], [0, 0, 0, 1, 0, 0, 0, 2]);
    assert_eq!(frame.as_bytes()[24..32], [0, 0, 0, 3, 0, 0, 0, 4]);
}

#[test]
fn omni_request_strings_start_raw_at_byte_160() {
    let request = OmniRequest::decode(&vectors::frame("tcp_rr_options", 0)).unwrap();
    assert_eq!(request.cong_control.as_str_lossy(), "reno");
    assert_eq!(request.fill_file.as_str_lossy(), "/etc/hosts");
    let frame = encoded(&request);
    assert!(frame.as_bytes()[160..].starts_with(b"reno\0"));
    assert!(frame.as_bytes()[176..].starts_with(b"/etc/hosts\0"));
}

#[test]
fn omni_response_strings_start_raw_at_byte_80() {
    let response = OmniResponse {
        system_model: FixedStr::from_str_truncated("system"),
        cpu_model: FixedStr::from_str_truncated("cpu"),
        security_string: FixedStr::from_str_truncated("none"),
        ..OmniResponse::default()
    };
    let frame = encoded(&response);
    assert!(frame.as_bytes()[80..].starts_with(b"system\0"));
    assert!(frame.as_bytes()[113..].starts_with(b"cpu\0"));
    assert!(frame.as_bytes()[193..].starts_with(b"none\0"));
}

#[test]
fn omni_results_strings_start_raw_at_byte_116() {
    let results = OmniResults {
        ifname: FixedStr::from_str_truncated("eth0"),
        cong_control: FixedStr::from_str_truncated("cubic"),
        ..OmniResults::default()
    };
    let frame = encoded(&results);
    assert!(frame.as_bytes()[116..].starts_with(b"eth0\0"));
    assert!(frame.as_bytes()[276..].starts_with(b"cubic\0"));
}

#[test]
fn a_passphrase_is_raw_from_byte_8() {
    let frame = vectors::frame("passphrase_ok", 0);
    assert!(frame.as_bytes()[8..].starts_with(b"sesame\0"));
    let message = Passphrase::decode(&frame).unwrap();
    assert_eq!(message.passphrase.as_bytes(), b"sesame");
}

#[test]
fn a_system_line_is_raw_from_byte_8_and_made_of_placeholders() {
    let frame = vectors::frame("raw_debug_sysinfo", 5);
    let reply = SysInfoReply::placeholder();
    assert_eq!(reply.encode(Header::response(RequestKind::SysInfo)), frame);
}

#[test]
fn unix_paths_are_reversed_in_groups_of_four() {
    let response = StreamStreamResponse {
        unix_path: SwappedStr::from_bytes_truncated(b"/tmp/netpeABCDEF"),
        ..StreamStreamResponse::default()
    };
    let frame = encoded(&response);
    assert_eq!(&frame.as_bytes()[48..64], b"pmt/ten/BAepFEDC");
    assert_eq!(StreamStreamResponse::decode(&frame), Ok(response));
}

#[test]
fn a_unix_path_keeps_at_most_31_bytes() {
    let path = SwappedStr::<32>::from_bytes_truncated(&[b'x'; 40]);
    assert_eq!(path.as_bytes(), [b'x'; 31]);
}

#[test]
fn device_names_are_reversed_in_groups_of_four() {
    let request = XtiUdpStreamRequest {
        xti_device: SwappedStr::from_bytes_truncated(b"/dev/tcp"),
        ..XtiUdpStreamRequest::default()
    };
    let frame = encoded(&request);
    assert_eq!(&frame.as_bytes()[52..60], b"ved/pct/");
    assert_eq!(XtiUdpStreamRequest::decode(&frame), Ok(request));
    let request = DlpiCoRrRequest {
        dev_name_len: 9,
        dlpi_device: SwappedStr::from_bytes_truncated(b"/dev/dlpi"),
        ..DlpiCoRrRequest::default()
    };
    assert_eq!(&encoded(&request).as_bytes()[72..84], b"ved/pld/\0\0\0i");
}

#[test]
fn a_station_address_is_reversed_in_groups_of_four_and_as_long_as_its_length_says() {
    let response = DlpiCoStreamResponse {
        station_addr_len: 8,
        station_addr: SwappedBytes::from_bytes_truncated(&[2, 0, 0x5e, 0, 0x53, 1, 0, 84]),
        ..DlpiCoStreamResponse::default()
    };
    let frame = encoded(&response);
    assert_eq!(frame.as_bytes()[48..56], [0, 0x5e, 0, 2, 84, 0, 1, 0x53]);
    let decoded = DlpiCoStreamResponse::decode(&frame).unwrap();
    let address = decoded.station_addr.prefix(decoded.station_addr_len);
    assert_eq!(address, [2, 0, 0x5e, 0, 0x53, 1, 0, 84]);
}

#[test]
fn the_byte_count_of_xti_tcp_stream_comes_low_word_first() {
    let results = XtiTcpStreamResults {
        bytes_received: LowWordFirst(1.5),
        ..XtiTcpStreamResults::default()
    };
    let frame = encoded(&results);
    assert_eq!(frame.as_bytes()[8..16], [0, 0, 0, 0, 0x3f, 0xf8, 0, 0]);
    assert_eq!(XtiTcpStreamResults::decode(&frame), Ok(results));
}

#[test]
fn ipv4_addresses_travel_in_dotted_order() {
    let request = OmniRequest {
        netperf_ip: ip_to_words(Ipv4Addr::new(192, 0, 2, 1).into()),
        ..OmniRequest::default()
    };
    let frame = encoded(&request);
    assert_eq!(frame.as_bytes()[120..124], [192, 0, 2, 1]);
    assert_eq!(frame.as_bytes()[124..136], [0; 12]);
}

#[test]
fn ipv6_words_are_byte_reversed_as_a_little_endian_client_sends_them() {
    let frame = vectors::frame("udp_rr_ipv6", 0);
    let request = OmniRequest::decode(&frame).unwrap();
    let loopback = IpAddr::from(Ipv6Addr::LOCALHOST);
    assert_eq!(request.ipfamily, WireFamily::Inet6);
    assert_eq!(
        words_to_ip(request.netperf_ip, request.ipfamily),
        Some(loopback)
    );
    assert_eq!(request.netserver_ip, ip_to_words(loopback));
    assert_eq!(frame.as_bytes()[132..136], [1, 0, 0, 0]);
}

// Section 1.3: word 1 from the client.

#[test]
fn affinity_minus_one_leaves_the_server_where_it_is() {
    let frame = Frame::new(Header::request(RequestKind::Omni));
    assert_eq!(frame.header().word1, -1);
    assert_eq!(frame.affinity(), None);
}

#[test]
fn every_request_can_carry_a_cpu_number() {
    for kind in RequestKind::NAMED {
        let frame = Frame::new(Header::request(*kind).with_affinity(Some(3)));
        assert_eq!((frame.request(), frame.affinity()), (*kind, Some(3)));
    }
}

// Section 1.4: word 1 from the server.

#[test]
fn an_unknown_request_is_answered_with_998() {
    let frame = vectors::frame("raw_unknown_9999", 1);
    assert_eq!(frame.errno(), RemoteErrno::UNKNOWN_REQUEST);
    assert_eq!(HeaderOnly.encode(Header::unknown_request()), frame);
}

#[test]
fn an_error_can_stand_in_for_any_answer() {
    let header = Header::results(RequestKind::Omni).with_errno(RemoteErrno(104));
    let frame = HeaderOnly.encode(header);
    assert!(!frame.errno().is_ok());
    assert!(OmniResults::decode(&frame).is_ok());
}

#[test]
fn an_error_number_without_a_name_is_kept() {
    let frame = vectors::frame("raw_unknown_9999", 3);
    assert_eq!(frame.errno().0.swap_bytes(), 998);
    assert_eq!(frame.errno().private_meaning(), None);
}

// Section 1.5: word 0 from the server.

#[test]
fn the_response_type_is_not_looked_at() {
    let reply = CpuCalibrateReply {
        cpu_rate: 100.0,
        num_cpus: 4,
    };
    for kind in [0, 5, 0x0500_0000, u32::MAX] {
        let frame = reply.encode(Header { kind, word1: 0 });
        assert_eq!(CpuCalibrateReply::decode(&frame), Ok(reply.clone()));
    }
}

#[test]
fn results_carry_the_response_number_with_its_bytes_reversed() {
    let header = Header::results(RequestKind::Omni);
    assert_eq!(header.kind, 0x6200_0000);
    assert_eq!(vectors::frame("tcp_rr", 2).header(), header);
}

#[test]
fn two_tests_set_the_real_results_number() {
    assert_eq!(Header::results(RequestKind::UdpStream).kind, 18);
    assert_eq!(Header::results(RequestKind::DgStream).kind, 45);
}

#[test]
fn control_requests_have_response_numbers_of_their_own() {
    assert_eq!(RequestKind::DebugOn.response_number(), 3);
    assert_eq!(RequestKind::DebugOff.response_number(), 3);
    assert_eq!(RequestKind::CpuCalibrate.response_number(), 5);
    assert_eq!(RequestKind::SysInfo.response_number(), 601);
}

#[test]
fn sctp_rr_has_the_results_number_of_sctp_stream() {
    assert_eq!(RequestKind::SctpRr.results_number(), 502);
    assert_eq!(RequestKind::SctpStream.results_number(), 502);
    assert_eq!(RequestKind::SctpRrMany.results_number(), 532);
    assert_eq!(
        Header::results(RequestKind::SctpRr).kind,
        521_u32.swap_bytes()
    );
}

// Section 1.6: residue.

#[test]
fn records_are_made_from_zeros() {
    let frame = OmniResults::default().encode(Header::default());
    assert_eq!(frame.as_bytes(), &[0; FRAME_LEN]);
}

#[test]
fn nan_residue_keeps_its_bits() {
    let frame = vectors::frame("tcp_rr", 2);
    let results = OmniResults::decode(&frame).unwrap();
    assert!(results.serv_dem.is_nan());
    assert_eq!(
        encoded(&results).as_bytes()[76..80],
        frame.as_bytes()[76..80]
    );
}

#[test]
fn unmeasured_cpu_is_the_reversed_data_port_of_the_response() {
    let response = OmniResponse::decode(&vectors::frame("udp_rr_ipv6", 1)).unwrap();
    let results = OmniResults::decode(&vectors::frame("udp_rr_ipv6", 2)).unwrap();
    assert_eq!(results.cpu_util.to_bits().swap_bytes(), response.data_port);
}

#[test]
fn response_flags_from_the_second_test_on_are_residue_but_for_two_bits() {
    let first = OmniResults::decode(&vectors::frame("tcp_rr_confidence", 2)).unwrap();
    let second = OmniResponse::decode(&vectors::frame("tcp_rr_confidence", 4)).unwrap();
    let undefined = !(OmniFlags::NO_DELAY | OmniFlags::MEASURE_CPU).bits();
    assert_eq!(
        second.flags.bits() & undefined,
        first.send_calls.swap_bytes() & undefined
    );
    assert_eq!(second.flags.defined_in_response(), OmniFlags::NONE);
}

#[test]
fn residue_behind_a_nul_is_kept_but_is_not_text() {
    let results = OmniResults {
        cong_control: FixedStr::from_array(*b"bbr\0residue\0\0\0\0\0"),
        ..OmniResults::default()
    };
    let frame = encoded(&results);
    assert_eq!(&frame.as_bytes()[276..292], b"bbr\0residue\0\0\0\0\0");
    assert_eq!(results.cong_control.as_str_lossy(), "bbr");
}

#[test]
fn residue_behind_the_end_of_a_message_is_left_alone() {
    let mut frame = Frame::from_bytes([0xaa; FRAME_LEN]);
    RrResults::default().encode_over(&mut frame);
    assert_eq!(frame.as_bytes()[..8], [0xaa; 8]);
    assert_eq!(frame.as_bytes()[8..40], [0; 32]);
    assert!(frame.as_bytes()[40..].iter().all(|byte| *byte == 0xaa));
}

// Section 2: limits of single messages.

#[test]
fn a_passphrase_keeps_at_most_647_bytes() {
    let long = FixedStr::<648>::from_bytes_truncated(&[b'x'; 700]);
    assert_eq!(long.as_bytes().len(), 647);
}

#[test]
fn a_stream_request_of_2_7_0_ends_before_recv_aio() {
    for name in ["classic_tcp_stream", "tcp_sendfile", "tcp_mss"] {
        let request = StreamRequest::decode(&vectors::frame(name, 0)).unwrap();
        assert_eq!(request.recv_aio, 0, "{name}");
    }
}

#[test]
fn the_port_of_an_sctp_stream_request_may_be_converted_twice() {
    let asks = |port: [u8; 4]| {
        let mut frame = Frame::default();
        frame.as_mut_bytes()[60..64].copy_from_slice(&port);
        let request = SctpStreamRequest::decode(&frame).unwrap();
        assert_eq!(encoded(&request), frame);
        request.wanted_port()
    };
    assert_eq!(asks([0x88, 0x13, 0, 0]), 5000, "from SCTP_STREAM");
    assert_eq!(asks([0, 0, 0x13, 0x88]), 5000, "from SCTP_STREAM_MANY");
    assert_eq!(asks([0; 4]), 0);
    assert_eq!(asks([0, 1, 0, 1]), 0x0001_0001, "no port either way");
}

#[test]
fn directions_are_seen_by_the_server() {
    let direction = |name| {
        let request = OmniRequest::decode(&vectors::frame(name, 0)).unwrap();
        request.direction
    };
    assert_eq!(direction("tcp_stream"), Direction::RECEIVE);
    assert_eq!(direction("tcp_maerts"), Direction::TRANSMIT);
    assert_eq!(direction("tcp_rr"), Direction::BOTH);
    assert_eq!(direction("omni_cc"), Direction::NEITHER);
}

#[test]
fn family_type_and_protocol_are_codes_of_netperf() {
    let request = OmniRequest::decode(&vectors::frame("udp_stream", 0)).unwrap();
    assert_eq!(request.ipfamily, WireFamily::Inet);
    assert_eq!(request.socket_type, WireSocketType::Datagram);
    assert_eq!(request.protocol, WireProtocol::Udp);
}

// Section 5: quirks that are not only about framing.

#[test]
fn allowing_routing_asks_for_the_congestion_control() {
    let request = OmniRequest::decode(&vectors::frame("tcp_rr", 0)).unwrap();
    assert!(request.flags.contains(OmniFlags::ROUTING_ALLOWED));
    assert!(request.flags.contains(OmniFlags::REPORT_CONG_CONTROL));
    let results = OmniResults::decode(&vectors::frame("tcp_rr", 2)).unwrap();
    assert!(!results.cong_control.is_empty());
}

#[test]
fn the_second_iteration_asks_for_the_port_of_the_first() {
    let first = OmniResponse::decode(&vectors::frame("tcp_rr_confidence", 1)).unwrap();
    let second = OmniRequest::decode(&vectors::frame("tcp_rr_confidence", 3)).unwrap();
    assert_ne!(first.data_port, 0);
    assert_eq!(second.data_port, first.data_port);
}

#[test]
fn datagram_byte_counts_of_unix_tests_are_signed() {
    let results = DgStreamResults {
        bytes_received: -1,
        ..DgStreamResults::default()
    };
    let frame = encoded(&results);
    assert_eq!(frame.as_bytes()[12..16], [255; 4]);
    assert_eq!(DgStreamResults::decode(&frame), Ok(results));
}

#[test]
fn datagram_byte_counts_of_udp_are_unsigned() {
    let mut frame = Frame::default();
    frame.as_mut_bytes()[12..16].fill(255);
    let results = UdpStreamResults::decode(&frame).unwrap();
    assert_eq!(results.bytes_received, u32::MAX);
}

#[test]
fn a_request_number_without_a_name_is_kept() {
    let frame = vectors::frame("raw_unknown_9999", 0);
    assert_eq!(frame.request(), RequestKind::Unknown(9999));
    assert_eq!(Frame::new(Header::request(frame.request())), frame);
}
