//! TLS of the kernel: its format of secrets, and whether it is there.

use std::io;
use std::os::fd::AsFd;

use netperf_os::Socket;
use netperf_os::ktls::{self, KtlsKey, KtlsSecrets};
use rustls::ConnectionTrafficSecrets;

/// Converts secrets to the kernel's format.
pub(super) fn kernels(
    sequence: u64,
    secrets: &ConnectionTrafficSecrets,
) -> io::Result<KtlsSecrets> {
    fn sized<const N: usize>(bytes: &[u8]) -> io::Result<[u8; N]> {
        bytes.try_into().map_err(io::Error::other)
    }
    let (key, iv) = match secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => {
            (KtlsKey::Aes128Gcm(sized(&key.as_ref()[..16])?), iv)
        }
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => {
            (KtlsKey::Aes256Gcm(sized(key.as_ref())?), iv)
        }
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
            (KtlsKey::ChaCha20Poly1305(sized(key.as_ref())?), iv)
        }
        // rustls may add ciphers that the kernel's header does not have.
        _ => return Err(io::ErrorKind::Unsupported.into()),
    };
    Ok(KtlsSecrets {
        key,
        iv: sized(iv.as_ref())?,
        sequence,
    })
}

/// Probes kernel TLS on an unconnected socket.
///
/// # Errors
/// `EPROTONOSUPPORT` when the kernel lacks TLS or its module. The kernel's own `ENOENT` would
/// read as a missing file.
pub fn probe(socket: &Socket) -> io::Result<()> {
    match ktls::attach(socket.as_fd()) {
        // Only the connection is missing.
        Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(io::Error::from_raw_os_error(
            netperf_os::io::NO_SUCH_PROTOCOL,
        )),
        other => other,
    }
}
