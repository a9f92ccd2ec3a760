//! Packets of a host, from the capture of its packets (pcap, raw IPv4).

/// Payload of the packets that a host sent and received.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Carried {
    /// Bytes of TCP payload that it sent, with those sent again.
    pub tcp_sent: u64,
    /// Bytes of TCP payload that it received.
    pub tcp_received: u64,
    /// Bytes of UDP payload that it sent.
    pub udp_sent: u64,
    /// Bytes of UDP payload that it received.
    pub udp_received: u64,
}

const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
const TCP: u8 = 6;
const UDP: u8 = 17;

/// Adds up the capture file of the host with this address.
pub(super) fn carried(file: &[u8], own: [u8; 4]) -> Carried {
    let mut carried = Carried::default();
    for packet in Packets(file.get(FILE_HEADER..).unwrap_or_default()) {
        let sent = packet.from == own;
        let count = match (packet.protocol, sent) {
            (TCP, true) => &mut carried.tcp_sent,
            (TCP, false) => &mut carried.tcp_received,
            (UDP, true) => &mut carried.udp_sent,
            (UDP, false) => &mut carried.udp_received,
            _ => continue,
        };
        *count += packet.payload;
    }
    carried
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    from: [u8; 4],
    protocol: u8,
    payload: u64,
}

/// The packets behind the header of a capture.
struct Packets<'a>(&'a [u8]);

impl Iterator for Packets<'_> {
    type Item = Packet;

    fn next(&mut self) -> Option<Packet> {
        let header = self.0.get(..RECORD_HEADER)?;
        let captured = u32::from_le_bytes(header.get(8..12)?.try_into().ok()?);
        let end = RECORD_HEADER + usize::try_from(captured).ok()?;
        let packet = self.0.get(RECORD_HEADER..end)?;
        self.0 = self.0.get(end..)?;
        Some(parsed(packet))
    }
}

/// The parts of an IPv4 packet of which the headers were captured.
fn parsed(packet: &[u8]) -> Packet {
    let byte = |at: usize| packet.get(at).copied().unwrap_or(0);
    let address = |at: usize| [byte(at), byte(at + 1), byte(at + 2), byte(at + 3)];
    let total = u64::from(u16::from_be_bytes([byte(2), byte(3)]));
    let header = usize::from(byte(0) & 0xf) * 4;
    let protocol = byte(9);
    let inner = match protocol {
        TCP => usize::from(byte(header + 12) >> 4) * 4,
        UDP => 8,
        _ => 0,
    };
    Packet {
        from: address(12),
        protocol,
        payload: total.saturating_sub((header + inner) as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payload_is_counted_by_protocol_and_direction() {
        let mut file = vec![0; FILE_HEADER];
        for (from, protocol, payload) in [(1, UDP, 10_u16), (2, UDP, 3), (1, TCP, 7)] {
            let inner: u16 = if protocol == UDP { 8 } else { 20 };
            let mut packet = vec![0; 40];
            packet[0] = 0x45;
            packet[2..4].copy_from_slice(&(20 + inner + payload).to_be_bytes());
            packet[9] = protocol;
            (packet[15], packet[32]) = (from, 0x50);
            file.extend([0; 8]);
            file.extend(40_u32.to_le_bytes());
            file.extend(40_u32.to_le_bytes());
            file.extend(packet);
        }
        let expected = Carried {
            udp_sent: 10,
            udp_received: 3,
            tcp_sent: 7,
            tcp_received: 0,
        };
        assert_eq!(carried(&file, [0, 0, 0, 1]), expected);
    }
}
