//! netserver's counts of each flow as the bytes of an appendix
//! (docs/spec/extension.md, "Many flows").

use netperf_model::{FlowCounts, FlowThere};

use crate::series::AppendixReader;

/// The version that is written; flows of another one cannot be read.
const VERSION: u8 = 1;
/// Bytes of a flow. A reader skips what a later netserver has behind them.
const FLOW: u16 = 32;

/// The bytes of flows.
pub(crate) fn encode(flows: &[FlowThere]) -> Vec<u8> {
    let mut bytes = vec![VERSION, 0];
    bytes.extend(FLOW.to_be_bytes());
    bytes.extend(u32::try_from(flows.len()).unwrap_or(u32::MAX).to_be_bytes());
    for flow in flows {
        bytes.extend(flow.number.unwrap_or(0).to_be_bytes());
        bytes.extend(flow.port.to_be_bytes());
        bytes.extend([0; 2]);
        let counts = &flow.counts;
        for count in [
            counts.bytes_sent,
            counts.bytes_received,
            counts.transactions,
        ] {
            bytes.extend(count.to_be_bytes());
        }
    }
    bytes
}

/// The flows in these bytes; `None` where they are none.
pub(crate) fn decode(bytes: &[u8]) -> Option<Vec<FlowThere>> {
    let mut bytes = AppendixReader(bytes);
    if bytes.take::<2>()? != [VERSION, 0] {
        return None;
    }
    let size = usize::from(u16::from_be_bytes(bytes.take()?));
    let length = size.checked_mul(usize::try_from(bytes.word()?).ok()?)?;
    if size < usize::from(FLOW) {
        return None;
    }
    let flows = bytes.part(length)?.chunks_exact(size);
    flows.map(|flow| get(AppendixReader(flow))).collect()
}

fn get(mut bytes: AppendixReader<'_>) -> Option<FlowThere> {
    let number = Some(bytes.word()?).filter(|number| *number > 0);
    let port = u16::from_be_bytes(bytes.take()?);
    let _zeros: [u8; 2] = bytes.take()?;
    Some(FlowThere {
        number,
        port,
        counts: FlowCounts {
            bytes_sent: bytes.long()?,
            bytes_received: bytes.long()?,
            transactions: bytes.long()?,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flows() -> Vec<FlowThere> {
        let flow = |number: u32| FlowThere {
            number: Some(number).filter(|number| *number > 1),
            port: 65_535,
            counts: FlowCounts {
                bytes_sent: u64::MAX,
                bytes_received: u64::from(number),
                transactions: 1 << 40,
            },
        };
        (1..4).map(flow).collect()
    }

    #[test]
    fn flows_cross_whole() {
        assert_eq!(decode(&encode(&flows())), Some(flows()));
        assert_eq!(decode(&encode(&[])), Some(Vec::new()));
    }

    #[test]
    fn no_part_of_flows_is_taken_for_some_and_no_number_of_them_is_believed() {
        let whole = encode(&flows());
        for length in 0..whole.len() {
            assert_eq!(decode(&whole[..length]), None, "{length}");
        }
        let mut much = whole.clone();
        much[4..8].copy_from_slice(&[0xff; 4]);
        assert_eq!(decode(&much), None);
        let mut short = whole;
        short[2..4].copy_from_slice(&[0, 31]);
        assert_eq!(decode(&short), None);
    }
}
