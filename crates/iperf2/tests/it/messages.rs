//! Captured messages of iperf 2 (docs/spec/iperf2.md): decoding gives the fields of the capture,
//! and encoding again the same bytes.

use std::collections::BTreeMap;

use netperf_iperf2::messages::{
    ANSWER_LEN, Amount, BLOCK_TIMES_LEN, BlockTimes, ClientHeader, Datagram, DatagramLayout, Flags,
    HeaderAnswer, Iperf2Error, MOST_KEY, Opening, REPORT_LEN, STAMP, ServerReport, UdpHeader,
    VERSION, WireTime,
};
use serde_json::Value;

use proptest::prelude::*;

const DATA: &str = include_str!("../data/iperf2.json");

fn exchanges() -> Vec<Value> {
    serde_json::from_str(DATA).expect("captured messages")
}

fn bytes(message: &Value) -> Vec<u8> {
    let text = message["hex"].as_str().expect("bytes");
    let pair = |at| u8::from_str_radix(&text[at..at + 2], 16).expect("two digits");
    (0..text.len()).step_by(2).map(pair).collect()
}

fn fields(message: &Value) -> BTreeMap<String, i64> {
    let fields = message["fields"].as_object().into_iter().flatten();
    let number = |value: &Value| value.as_i64().expect("a number");
    fields
        .map(|(name, value)| (name.clone(), number(value)))
        .collect()
}

/// Compares the fields of a header with those of the capture.
fn check_header(header: &ClientHeader, fields: &BTreeMap<String, i64>, at: &str) {
    let extension = header.extension.unwrap_or_default();
    let known = [
        ("flags", i64::from(header.flags.bits())),
        ("num_threads", header.threads.into()),
        ("port", header.port.into()),
        ("buffer_len", header.buffer_len.into()),
        ("win_band", header.window_or_rate.into()),
        ("amount", header.amount.word().into()),
        ("upperflags", extension.upper.bits().into()),
        ("tos", extension.tos.into()),
        ("rate_lower", extension.rate.into()),
        ("tcp_write_prefetch", extension.write_prefetch.into()),
    ];
    for (name, value) in known {
        if let Some(captured) = fields.get(name) {
            assert_eq!(value, *captured, "{at}: {name}");
        }
    }
    assert!(fields.contains_key("amount"), "{at}: {fields:?}");
}

#[test]
fn every_captured_tcp_message_decodes_and_encodes_to_the_same_bytes() {
    let mut seen = BTreeMap::<String, usize>::new();
    for exchange in exchanges() {
        let name = exchange["name"].as_str().expect("a name");
        for connection in exchange["tcp"].as_array().into_iter().flatten() {
            for side in ["opener", "listener"] {
                let message = &connection[side];
                let Some(kind) = message["kind"].as_str() else {
                    continue;
                };
                *seen.entry(kind.to_owned()).or_default() += 1;
                let bytes = bytes(message);
                check_tcp(kind, &bytes, &fields(message), &format!("{name} {side}"));
            }
        }
    }
    assert_eq!(seen["client header"], 25, "{seen:?}");
    assert_eq!(seen["header ack"], 14, "{seen:?}");
}

#[test]
fn times_of_a_block_decode_and_encode_to_the_same_bytes() {
    let exchanges = exchanges().into_iter();
    let mut timed = exchanges.filter(|one| one["name"] == "iperf2-tcp-trip-times");
    let exchange = timed.next().expect("a test with times");
    let bytes = bytes(&exchange["tcp"][0]["opener"]);
    // Behind the header.
    let block: [u8; BLOCK_TIMES_LEN] = *bytes[80..].first_chunk().expect("a block");
    let times = BlockTimes::read(&block);
    let at = |micros| WireTime {
        seconds: 0x6b01_6b60,
        micros,
    };
    let expected = BlockTimes {
        start: at(690_509),
        sent: at(690_513),
        number: 1,
        size: 131_072,
        sum: 131_072,
    };
    assert_eq!(times, expected);
    let mut again = block;
    again[12..28].fill(7);
    again[44..].fill(7);
    times.write(&mut again);
    assert_eq!(again, block);
    // A block that is too short has what fits.
    let mut short = [7; 21];
    times.write(&mut short);
    assert_eq!(short[12..], block[12..21]);
}

fn check_tcp(kind: &str, bytes: &[u8], fields: &BTreeMap<String, i64>, at: &str) {
    let first = *bytes.first_chunk().expect("a word");
    match kind {
        "client header" => {
            let Ok(Opening::Header(length)) = Opening::of(first) else {
                panic!("{at}: no header");
            };
            let length = ClientHeader::length_with_key(&bytes[..length]).expect("a length");
            let header = ClientHeader::decode(&bytes[..length]).expect(at);
            check_header(&header, fields, at);
            let mut encoded = header.encode();
            // iperf 2.2.1 announces four bytes that are not known here.
            encoded.resize(length, 0);
            assert_eq!(encoded, bytes[..length], "{at}");
        }
        "header ack" => {
            let answer = HeaderAnswer::decode(bytes).expect(at);
            let encoded = answer.encode();
            assert_eq!(encoded, bytes[..encoded.len()], "{at}");
        }
        "bounceback" => assert_eq!(Opening::of(first), Ok(Opening::Bounceback), "{at}"),
        // The capture calls a header of iperf 2.0 so.
        "no header (payload pattern)" if first == [0; 4] => {
            assert_eq!(Opening::of(first), Ok(Opening::Header(24)), "{at}");
            let header = ClientHeader::decode(&bytes[..24]).expect(at);
            assert_eq!(header.encode(), bytes[..24], "{at}");
        }
        // iperf 2.0.9 answers a header with four zero bytes, which the client does not need.
        "payload pattern" if first == [0; 4] => {
            assert_eq!(at, "iperf2-mixed-218-to-209-tcp-bytes listener");
            assert!(HeaderAnswer::decode(bytes).is_err(), "{at}");
        }
        "no header (payload pattern)" | "payload pattern" => {
            assert_eq!(Opening::of(first), Ok(Opening::Payload), "{at}");
        }
        other => panic!("{at}: {other}"),
    }
}

#[test]
fn every_captured_datagram_decodes_and_encodes_to_the_same_bytes() {
    let mut seen = BTreeMap::<String, usize>::new();
    for exchange in exchanges() {
        let name = exchange["name"].as_str().expect("a name");
        for flow in exchange["udp"].as_array().into_iter().flatten() {
            let datagrams = flow["datagrams"].as_array().expect("datagrams");
            let layout = layout(datagrams);
            for message in datagrams {
                let Some(kind) = message["kind"].as_str() else {
                    continue;
                };
                *seen.entry(kind.to_owned()).or_default() += 1;
                let at = format!("{name} {}", message["n"]);
                check_datagram(name, kind, layout, message, &at);
            }
        }
    }
    assert!(seen["server report"] >= 30, "{seen:?}");
    assert!(seen["data"] > 200, "{seen:?}");
}

/// Any datagram of a client tells its layout: the first may be lost.
#[test]
fn layout_of_a_flow_is_known_by_whichever_datagram_arrives_first() {
    let mut seen = [0, 0];
    for exchange in exchanges() {
        let name = exchange["name"].as_str().expect("a name");
        for flow in exchange["udp"].as_array().into_iter().flatten() {
            let datagrams = flow["datagrams"].as_array().expect("datagrams");
            let layout = layout(datagrams);
            let opener = |one: &&Value| one["kind"] == "data" && one["from"] == flow["opened_by"];
            let data = datagrams.iter().filter(opener);
            let data = data.map(bytes).filter(|bytes| bytes.len() >= 20);
            for (number, datagram) in data.enumerate() {
                assert_eq!(
                    DatagramLayout::of_first(&datagram),
                    layout,
                    "{name} {number}"
                );
                seen[usize::from(layout == DatagramLayout::Modern)] += 1;
            }
        }
    }
    assert!(seen.iter().all(|count| *count > 20), "{seen:?}");
}

/// Layout of a flow by the number of its first datagram.
fn layout(datagrams: &[Value]) -> DatagramLayout {
    DatagramLayout::of_first(&bytes(&datagrams[0]))
}

fn check_datagram(name: &str, kind: &str, layout: DatagramLayout, message: &Value, at: &str) {
    let (bytes, fields) = (bytes(message), fields(message));
    if kind == "server report" {
        // The layout of iperf 2.0.13 is not served.
        if name.contains("2013-to-2013") || name.contains("218-to-2013") {
            return;
        }
        // iperf 2.1.8 answers a repeated final datagram with a copy of it.
        if bytes[..2] == [255, 255] && name.contains("-final") {
            assert!(ServerReport::decode(&bytes).is_err(), "{at}");
            return;
        }
        let report = ServerReport::decode(&bytes).expect(at);
        let (high, low) = (fields["total_len_hi"], fields["total_len_lo"]);
        let known = [
            (
                i64::try_from(report.bytes).expect("bytes"),
                high << 32 | low,
            ),
            (report.duration.seconds.into(), fields["stop_sec"]),
            (report.duration.micros.into(), fields["stop_usec"]),
            (
                i64::try_from(report.lost).expect("lost"),
                fields["error_cnt"],
            ),
            (report.jitter.micros.into(), fields["jitter_usec"]),
            (
                i64::try_from(report.datagrams).expect("datagrams"),
                fields["datagrams"],
            ),
            (
                i64::try_from(report.out_of_order).expect("order"),
                fields["outorder_cnt"],
            ),
        ];
        assert!(
            known.iter().all(|(ours, captured)| ours == captured),
            "{at}: {known:?}"
        );
        if name == "iperf2-udp-client-short-report" || name == "iperf2-udp-client-full-report" {
            // Reports of a script, with fewer flags.
            assert_eq!(report.encode()[20..56], bytes[20..56], "{at}");
        } else if report.transit.is_some() {
            assert_eq!(report.encode().as_slice(), bytes, "{at}");
        } else {
            let mut written = bytes.clone();
            written[12..52].fill(0);
            report.encode_classic(&mut written);
            assert_eq!(written, bytes, "{at}");
        }
        return;
    }
    let datagram = Datagram::decode(&bytes, layout).expect(at);
    if let Some(number) = fields.get("id").filter(|_| !name.contains("2013-to")) {
        assert_eq!(datagram.number, *number, "{at}");
    }
    // The capture does not know the final datagrams of iperf 2.0.13.
    let is_final = kind.starts_with("final") || (name.contains("2013-to") && bytes[0] == 0x80);
    assert_eq!(datagram.is_final(), is_final, "{at}");
    if bytes.len() >= layout.stamp() && !name.contains("2013-to") {
        let stamp = layout.stamp();
        assert_eq!(datagram.stamp()[..stamp], bytes[..stamp], "{at}");
    }
    if let Some(header) = UdpHeader::decode(&bytes, layout) {
        if fields.contains_key("amount") {
            check_header(&header.header, &fields, at);
        }
        let encoded = header.encode();
        let length = encoded.len().min(bytes.len() - layout.stamp());
        let captured = &bytes[layout.stamp()..][..length];
        assert_eq!(encoded[..length], *captured, "{at}");
    }
}

#[test]
fn the_header_of_a_client_to_connect_back_to_is_no_report() {
    let mut both = [0; REPORT_LEN];
    both[..STAMP].copy_from_slice(&[255; STAMP]);
    both[16..20].copy_from_slice(&0xc801_0099_u32.to_be_bytes());
    let read = ServerReport::decode(&both);
    assert_eq!(read, Err(Iperf2Error::NoReport(REPORT_LEN)));
}

#[test]
fn absurd_lengths_have_one_error() {
    let opening = |word: u32| Opening::of(word.to_be_bytes());
    assert_eq!(opening(0x4001_ffff), Err(Iperf2Error::HeaderLength(32767)));
    assert_eq!(opening(0x4001_0000), Err(Iperf2Error::HeaderLength(0)));
    assert_eq!(opening(0x3132_3334), Ok(Opening::Payload));
    assert_eq!(opening(0), Ok(Opening::Header(24)));
    let mut header = ClientHeader {
        key: Some(vec![b'k'; MOST_KEY + 1]),
        extension: Some(netperf_iperf2::messages::HeaderExtension::default()),
        ..ClientHeader::default()
    };
    header.flags =
        netperf_iperf2::messages::Flags::from_bits(0x5000_0000).with_length(header.length());
    let text = ClientHeader::decode(&header.encode()).expect_err("too long");
    assert_eq!(
        text.to_string(),
        "the client header announces a permit key of 257 bytes; at most 256 are possible"
    );
    let cut = ClientHeader::decode(&[0; 23]).expect_err("cut");
    assert_eq!(
        cut.to_string(),
        "field amount at byte 20 needs 4 bytes, 3 are left"
    );
    let answer = HeaderAnswer::decode(&[0; ANSWER_LEN]).expect_err("no answer");
    assert_eq!(
        answer.to_string(),
        "the answer to the client header has type 0 and length 0"
    );
}

#[test]
fn amounts_and_times_that_do_not_fit_are_the_largest() {
    assert_eq!(Amount::Bytes(u32::MAX).word(), i32::MAX);
    assert_eq!(Amount::Centiseconds(u32::MAX).word(), i32::MIN);
    assert_eq!(Amount::from_word(i32::MIN), Amount::Centiseconds(1 << 31));
    assert_eq!(Amount::Centiseconds(100).word(), -100);
    assert_eq!(WireTime::from_micros(u64::MAX).seconds, u32::MAX);
    assert_eq!(WireTime::from_micros(1_500_000).micros(), 1_500_000);
    assert_eq!(VERSION.upper, 0x0002_0001);
}

#[test]
fn numbers_of_both_layouts_keep_their_sign() {
    for (layout, last) in [
        (DatagramLayout::Modern, i64::MIN + 1),
        (DatagramLayout::Modern, -(1 << 40)),
        (DatagramLayout::Modern, 1 << 33),
        (DatagramLayout::Classic, -5),
    ] {
        let datagram = Datagram {
            number: last,
            sent: Some(WireTime::from_micros(7)),
        };
        assert_eq!(Datagram::decode(&datagram.stamp(), layout), Some(datagram));
    }
    // iperf 2.0.13 sets only the sign bit.
    let only_sign = Datagram::decode(&0x8000_0005_u32.to_be_bytes(), DatagramLayout::Classic);
    assert_eq!(only_sign.map(|one| one.number), Some(-5));
    assert_eq!(Datagram::decode(&[1, 2, 3], DatagramLayout::Classic), None);
}

#[test]
fn a_datagram_of_iperf_2_1_has_a_header_only_if_it_is_extended() {
    let header = |layout: DatagramLayout, flags: u32| {
        let stamp = layout.stamp();
        let mut bytes = vec![0; 200];
        bytes[stamp..stamp + 4].copy_from_slice(&flags.to_be_bytes());
        UdpHeader::decode(&bytes, layout).map(|found| found.header.extension.is_some())
    };
    let extend = Flags::EXTEND.bits();
    assert_eq!(header(DatagramLayout::Modern, extend), Some(true));
    assert_eq!(header(DatagramLayout::Modern, 0), None);
    assert_eq!(header(DatagramLayout::Classic, 0), Some(false));
    assert_eq!(header(DatagramLayout::Classic, extend), Some(true));
    let digits = u32::from_be_bytes(*b"0123");
    assert_eq!(header(DatagramLayout::Classic, digits), None);
}

proptest! {
    #[test]
    fn any_bytes_decode_or_fail(bytes in prop::collection::vec(any::<u8>(), 0..700)) {
        if let Some(first) = bytes.first_chunk() {
            let _opening = Opening::of(*first);
        }
        if let Ok(header) = ClientHeader::decode(&bytes) {
            let encoded = header.encode();
            prop_assert_eq!(&encoded[..], &bytes[..encoded.len()]);
        }
        if let Ok(answer) = HeaderAnswer::decode(&bytes) {
            prop_assert_eq!(HeaderAnswer::decode(&answer.encode()), Ok(answer));
        }
        if let Ok(report) = ServerReport::decode(&bytes) {
            if report.transit.is_some() {
                prop_assert_eq!(ServerReport::decode(&report.encode()), Ok(report));
            }
        }
        for layout in [DatagramLayout::Classic, DatagramLayout::Modern] {
            let _datagram = Datagram::decode(&bytes, layout);
            if let Some(header) = UdpHeader::decode(&bytes, layout) {
                let encoded = header.encode();
                prop_assert_eq!(&encoded[..], &bytes[layout.stamp()..][..encoded.len()]);
            }
        }
    }
}
