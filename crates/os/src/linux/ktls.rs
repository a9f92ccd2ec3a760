//! TLS records made by the kernel (Documentation/networking/tls.rst, linux/tls.h).

use std::io;
use std::os::fd::BorrowedFd;

use super::call::set_option;

/// `SOL_TLS`.
const SOL_TLS: libc::c_int = 282;
/// `TLS_1_3_VERSION`.
const TLS_1_3: u16 = 0x0304;

/// Which way records go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KtlsDirection {
    /// The send direction (`TLS_TX`).
    Send,
    /// The receive direction (`TLS_RX`).
    Receive,
}

/// A cipher and its key.
#[derive(Clone, Copy)]
pub enum KtlsKey {
    /// AES-GCM with a key of 128 bits.
    Aes128Gcm([u8; 16]),
    /// AES-GCM with a key of 256 bits.
    Aes256Gcm([u8; 32]),
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305([u8; 32]),
}

/// Keys of one direction of a TLS 1.3 connection.
#[derive(Clone, Copy)]
pub struct KtlsSecrets {
    /// The cipher and its key.
    pub key: KtlsKey,
    /// The initialisation vector (RFC 8446 section 5.3).
    pub iv: [u8; 12],
    /// The number of the next record.
    pub sequence: u64,
}

// Neither shows what it holds: it is a secret.
impl std::fmt::Debug for KtlsSecrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Secrets").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for KtlsKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Aes128Gcm(_) => "Aes128Gcm(..)",
            Self::Aes256Gcm(_) => "Aes256Gcm(..)",
            Self::ChaCha20Poly1305(_) => "ChaCha20Poly1305(..)",
        })
    }
}

impl KtlsSecrets {
    /// Encodes `struct tls12_crypto_info_*`, which the kernel also uses for TLS 1.3: version,
    /// cipher, vector, key, salt and record number. With AES-GCM the salt is the beginning of
    /// the vector; ChaCha20 has none.
    fn crypto_info(&self) -> Vec<u8> {
        let (salt, short) = self.iv.split_at(4);
        let (cipher, iv, key, salt): (u16, &[u8], &[u8], &[u8]) = match &self.key {
            KtlsKey::Aes128Gcm(key) => (51, short, key, salt),
            KtlsKey::Aes256Gcm(key) => (52, short, key, salt),
            KtlsKey::ChaCha20Poly1305(key) => (54, &self.iv, key, &[]),
        };
        let (version, cipher) = (TLS_1_3.to_ne_bytes(), cipher.to_ne_bytes());
        let sequence = self.sequence.to_be_bytes();
        [&version, &cipher, iv, key, salt, &sequence].concat()
    }
}

/// Readies a connected TCP socket for [`give`] (`TCP_ULP`).
///
/// # Errors
/// `ENOENT` when the kernel has no TLS or its module is not loaded and cannot be,
/// `ENOTCONN` before the socket is connected.
pub fn attach(fd: BorrowedFd<'_>) -> io::Result<()> {
    set_option(fd, libc::IPPROTO_TCP, libc::TCP_ULP, b"tls")
}

/// Makes the kernel encrypt sent data, or decrypt received data, from now on.
///
/// # Errors
/// Whatever setsockopt(2) reports: `EINVAL` or `ENOENT` for a cipher that the kernel lacks.
pub fn give(fd: BorrowedFd<'_>, direction: KtlsDirection, secrets: &KtlsSecrets) -> io::Result<()> {
    let name = match direction {
        KtlsDirection::Send => 1,
        KtlsDirection::Receive => 2,
    };
    set_option(fd, SOL_TLS, name, secrets.crypto_info().as_slice())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::os::fd::AsFd;

    #[test]
    fn keys_are_laid_out_as_in_the_kernels_header() {
        let secrets = |key| KtlsSecrets {
            key,
            iv: [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
            sequence: 0x0102,
        };
        let info = secrets(KtlsKey::Aes128Gcm([7; 16])).crypto_info();
        assert_eq!(info.len(), 40);
        assert_eq!(info[4..12], [5, 6, 7, 8, 9, 10, 11, 12]);
        assert_eq!(info[12..28], [7; 16]);
        assert_eq!(info[28..], [1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(
            secrets(KtlsKey::Aes256Gcm([7; 32])).crypto_info().len(),
            4 + 8 + 32 + 4 + 8
        );
        assert_eq!(
            secrets(KtlsKey::ChaCha20Poly1305([7; 32]))
                .crypto_info()
                .len(),
            4 + 12 + 32 + 8
        );
    }

    #[test]
    fn a_socket_that_is_not_connected_is_refused_whether_the_kernel_has_tls_or_not() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = attach(listener.as_fd()).unwrap_err();
        let known = [libc::ENOENT, libc::ENOTCONN, libc::ENOPROTOOPT];
        assert!(known.contains(&error.raw_os_error().unwrap()), "{error}");
    }
}
