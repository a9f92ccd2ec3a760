//! Properties of every message and of any bytes.
//!
//! Every field type takes any bytes, so arbitrary records are arbitrary messages.

use netperf_wire::messages::{self, SctpStreamRequest};
use netperf_wire::{FRAME_LEN, Frame, Header};
use proptest::array::uniform32;
use proptest::prelude::*;

/// Any 656 bytes.
fn any_frame() -> impl Strategy<Value = Frame> {
    prop::collection::vec(any::<u8>(), FRAME_LEN)
        .prop_map(|bytes| Frame::try_from(bytes.as_slice()).expect("the length of a record"))
}

proptest! {
    #[test]
    fn any_bytes_decode_as_every_message_and_encode_over_themselves(frame in any_frame()) {
        for row in messages::ALL {
            let again = (row.reencode)(&frame).expect(row.name);
            prop_assert_eq!(again.as_bytes(), frame.as_bytes(), "{}", row.name);
        }
    }

    #[test]
    fn any_message_survives_encoding(frame in any_frame()) {
        for row in messages::ALL {
            let built = (row.rebuild)(&frame).expect(row.name);
            let (message, tail) = built.as_bytes().split_at(row.end);
            prop_assert!(frame.as_bytes().starts_with(message), "{}", row.name);
            prop_assert!(tail.iter().all(|byte| *byte == 0), "{}", row.name);
        }
    }

    #[test]
    fn every_message_gives_a_value_for_every_field(frame in any_frame()) {
        for row in messages::ALL {
            let values = (row.values)(&frame).expect(row.name);
            let names = values.iter().map(|(name, _)| *name);
            prop_assert!(names.eq(row.layout.iter().map(|field| field.name)), "{}", row.name);
        }
    }

    #[test]
    fn a_record_built_from_values_has_these_values(frame in any_frame()) {
        for row in messages::ALL {
            let values = (row.values)(&frame).expect(row.name);
            let built = row.build(frame.header(), |name| {
                let value = values.iter().find(|(field, _)| *field == name)?;
                Some(value.1.clone())
            });
            let again = (row.values)(&built).expect(row.name);
            // As text, because a float may be NaN.
            prop_assert_eq!(format!("{again:?}"), format!("{values:?}"), "{}", row.name);
        }
    }

    #[test]
    fn a_header_survives_and_leaves_the_rest_alone(frame in any_frame(), kind: u32, word1: i32) {
        let mut changed = frame.clone();
        changed.set_header(Header { kind, word1 });
        prop_assert_eq!(changed.header(), Header { kind, word1 });
        prop_assert_eq!(&changed.as_bytes()[8..], &frame.as_bytes()[8..]);
    }

    #[test]
    fn only_656_bytes_are_a_record(len in 0_usize..2000) {
        let bytes = vec![0; len];
        prop_assert_eq!(Frame::try_from(bytes.as_slice()).is_ok(), len == FRAME_LEN);
    }

    #[test]
    fn a_path_survives_the_reversal_of_its_words(bytes in uniform32(any::<u8>())) {
        let path = netperf_wire::SwappedStr::<32>::from_wire(bytes);
        prop_assert_eq!(path.to_wire(), bytes);
    }

    #[test]
    fn a_byte_string_survives_the_reversal_of_its_words(bytes: [u8; 16], len: i32) {
        let string = netperf_wire::SwappedBytes::<16>::from_wire(bytes);
        prop_assert_eq!(string.to_wire(), bytes);
        let again = netperf_wire::SwappedBytes::from_bytes_truncated(string.as_array());
        prop_assert_eq!(again, string);
        prop_assert!(string.as_array().starts_with(string.prefix(len)));
    }

    #[test]
    fn a_double_survives_low_word_first(bytes: [u8; 8]) {
        let double = netperf_wire::LowWordFirst::from_wire(bytes);
        prop_assert_eq!(double.to_wire(), bytes);
    }

    #[test]
    fn every_port_is_understood_in_either_byte_order(port: u16) {
        for sent in [i32::from(port), i32::from(port).swap_bytes()] {
            let request = SctpStreamRequest { port: sent, ..SctpStreamRequest::default() };
            prop_assert_eq!(request.wanted_port(), i32::from(port));
        }
    }
}
