//! Notifications about associations (RFC 6458, section 6).

use netperf_os::sctp::{AssociationChange, MessagePart, NOTIFICATION_LEN};

/// Reassembles a notification, because the message buffer may be too short for it.
#[derive(Debug, Default)]
pub(super) struct SctpNotification {
    bytes: [u8; NOTIFICATION_LEN],
    len: usize,
}

impl SctpNotification {
    /// Adds a part. Returns the association change once the notification is complete.
    pub(super) fn take(&mut self, bytes: &[u8], is_last: bool) -> AssociationChange {
        let count = bytes.len().min(NOTIFICATION_LEN - self.len);
        self.bytes[self.len..self.len + count].copy_from_slice(&bytes[..count]);
        self.len += count;
        if !is_last {
            return AssociationChange::Nothing;
        }
        let whole = &self.bytes[..std::mem::take(&mut self.len)];
        AssociationChange::of(whole)
    }
}

/// Part of a message that may be a notification.
pub(super) fn part_of(part: MessagePart, buf: &[u8]) -> Option<&[u8]> {
    part.is_notification()
        .then(|| buf.get(..part.count).unwrap_or(buf))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_notification_that_comes_byte_by_byte_is_read_when_it_is_whole() {
        let mut notice = SctpNotification::default();
        let mut bytes = [0_u8; NOTIFICATION_LEN];
        bytes[..2].copy_from_slice(&0x8001_u16.to_ne_bytes());
        for _ in 0..2 {
            for (index, byte) in bytes.iter().enumerate() {
                let is_last = index + 1 == bytes.len();
                let expected = if is_last {
                    AssociationChange::Up
                } else {
                    AssociationChange::Nothing
                };
                assert_eq!(notice.take(&[*byte], is_last), expected);
            }
        }
    }

    #[test]
    fn a_notification_longer_than_any_that_matters_does_no_harm() {
        let mut notice = SctpNotification::default();
        assert_eq!(notice.take(&[7; 300], false), AssociationChange::Nothing);
        assert_eq!(notice.take(&[7; 300], true), AssociationChange::Nothing);
        assert_eq!(notice.len, 0);
    }
}
