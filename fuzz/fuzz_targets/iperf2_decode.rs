//! Messages of iperf 2: any bytes decode or fail, and what decodes encodes to the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use netperf_iperf2::messages::{
    ClientHeader, Datagram, DatagramLayout, HeaderAnswer, MOST_HEADER, MOST_KEY, Opening,
    REPORT_LEN, ServerReport, UdpHeader,
};

fuzz_target!(|bytes: &[u8]| {
    if let Some(Ok(Opening::Header(length))) = bytes.first_chunk().map(|word| Opening::of(*word)) {
        assert!(length <= MOST_HEADER);
        if let Some(fixed) = bytes.get(..length) {
            let whole = ClientHeader::length_with_key(fixed).unwrap_or(length);
            assert!(whole <= length + MOST_KEY);
        }
    }
    if let Ok(header) = ClientHeader::decode(bytes) {
        let encoded = header.encode();
        assert_eq!(bytes.get(..encoded.len()), Some(&encoded[..]));
    }
    if let Ok(answer) = HeaderAnswer::decode(bytes) {
        assert_eq!(HeaderAnswer::decode(&answer.encode()), Ok(answer));
    }
    if let Ok(report) = ServerReport::decode(bytes) {
        if report.transit.is_some() {
            assert_eq!(ServerReport::decode(&report.encode()), Ok(report));
        }
        let mut place = [0; REPORT_LEN];
        report.encode_classic(&mut place);
    }
    for layout in [DatagramLayout::Classic, DatagramLayout::Modern] {
        if let Some(datagram) = Datagram::decode(bytes, layout) {
            assert_eq!(datagram.is_final(), datagram.number < 0);
        }
        if let Some(header) = UdpHeader::decode(bytes, layout) {
            let encoded = header.encode();
            let place = layout.stamp()..layout.stamp() + encoded.len();
            assert_eq!(bytes.get(place), Some(&encoded[..]));
        }
    }
});
