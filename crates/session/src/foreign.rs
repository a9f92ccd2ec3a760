//! Programs other than netserver that listen on a port, by how they answer.

use std::fmt;

/// A program that answers on the control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForeignProgram {
    /// A server of iperf3.
    Iperf3,
    /// A server of iperf 2.
    Iperf2,
    /// A web server.
    Http,
    /// sshd.
    Ssh,
    /// A server that expects TLS.
    Tls,
    /// Another one.
    Other,
}

impl ForeignProgram {
    /// The program that begins its answer with these bytes; `None` if it may be netserver, whose
    /// messages begin with the zeros of a small number.
    #[must_use]
    pub fn of_answer(bytes: &[u8]) -> Option<Self> {
        /// States of iperf3: parameters are expected, or the server is busy.
        const IPERF3: [u8; 2] = [9, 0xff];
        /// Content types of TLS: an alert, and a handshake (RFC 8446 section 5.1).
        const TLS: [u8; 2] = [0x15, 0x16];
        Some(match bytes {
            [] | [0] => return None,
            // A message begins with its kind and an error number, both of 32 bits and small.
            [0, rest @ ..] => {
                let is_wide = |at| matches!(rest.get(at), Some(1..));
                let fills = |at, byte| rest.get(at).is_none_or(|one| *one == byte);
                // A number below 0 has ones in front.
                let is_error = (fills(3, 0) && fills(4, 0)) || (fills(3, 0xff) && fills(4, 0xff));
                return (is_wide(0) || !is_error).then_some(Self::Other);
            }
            [state] if IPERF3.contains(state) => Self::Iperf3,
            [kind, rest @ ..] if TLS.contains(kind) && matches!(rest, [] | [3, ..]) => Self::Tls,
            [b'H', b'T', ..] | [b'H' | b'<'] | [b'<', b'!' | b'h' | b'H', ..] => Self::Http,
            [b'S'] | [b'S', b'S', ..] => Self::Ssh,
            _ => Self::Other,
        })
    }

    /// The program that uses it, or the way to find netserver.
    #[must_use]
    pub const fn way_out(self) -> &'static str {
        match self {
            Self::Iperf3 => "use --iperf3 to measure with it, or give netserver's port with -p",
            Self::Iperf2 => "use --iperf2 to measure with it, or give netserver's port with -p",
            Self::Http | Self::Ssh | Self::Tls | Self::Other => {
                "give netserver's port with -p, or start netserver on that host"
            }
        }
    }
}

impl fmt::Display for ForeignProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Iperf3 => "an iperf3 server",
            Self::Iperf2 => "an iperf 2 server",
            Self::Http => "an HTTP server",
            Self::Ssh => "an SSH server",
            Self::Tls => "a TLS server",
            Self::Other => "another program",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_known_by_the_first_bytes_of_an_answer() {
        for (bytes, program) in [
            (&b"\x09"[..], Some(ForeignProgram::Iperf3)),
            (b"\xff", Some(ForeignProgram::Iperf3)),
            (b"HTTP/1.1 400 Bad Request", Some(ForeignProgram::Http)),
            (b"<html>", Some(ForeignProgram::Http)),
            (b"SSH-2.0-OpenSSH_9.2", Some(ForeignProgram::Ssh)),
            (b"\x15\x03\x01\x00\x02\x02\x46", Some(ForeignProgram::Tls)),
            (b"220 mail", Some(ForeignProgram::Other)),
            (b"\x00\x00\x00\x0e", None),
            (b"\x00\x00\x02\x58\x00\x00\x03\xe6\x01", None),
            (b"\x00\x00\x02\x58\xff\xff\xff\xff\x01", None),
            (b"\x00\x01", Some(ForeignProgram::Other)),
            (b"\x00\x00\x02\x58\x04", Some(ForeignProgram::Other)),
            (
                b"\x00\x00\x02\x58\x00\x05\x06\x07",
                Some(ForeignProgram::Other),
            ),
            (b"", None),
        ] {
            assert_eq!(ForeignProgram::of_answer(bytes), program, "{bytes:?}");
        }
    }
}
