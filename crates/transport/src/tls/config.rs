//! TLS configuration of both ends: cipher suites, netserver's key, no session resumption.

use std::io;
use std::sync::Arc;

use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair};
use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, ring as provider,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{
    CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{
    CipherSuite, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
    SupportedCipherSuite,
};

/// IANA name of a cipher suite (RFC 8446 section B.4), such as `TLS_AES_128_GCM_SHA256`.
fn iana_name(suite: CipherSuite) -> String {
    let own = suite.as_str().unwrap_or("unknown");
    own.replacen("TLS13_", "TLS_", 1)
}

/// Name of a negotiated cipher suite for reports; all supported suites are TLS 1.3.
pub(super) fn label(suite: SupportedCipherSuite) -> String {
    format!("TLSv1.3 {}", iana_name(suite.suite()))
}

/// All cipher suites, by name.
#[must_use]
pub fn ciphers() -> Vec<String> {
    let all = provider::ALL_CIPHER_SUITES.iter();
    all.map(|suite| iana_name(suite.suite())).collect()
}

/// The suite with this name: IANA's, or rustls' name, which begins with `TLS13_`.
fn suite(name: &str) -> io::Result<SupportedCipherSuite> {
    let wanted = name.to_ascii_uppercase().replacen("TLS13_", "TLS_", 1);
    let all = provider::ALL_CIPHER_SUITES;
    let found = all.iter().find(|suite| iana_name(suite.suite()) == wanted);
    found.copied().ok_or_else(|| {
        let known = ciphers().join(", ");
        let text = format!("{name} is not a cipher suite of TLS 1.3; there are {known}");
        io::Error::new(io::ErrorKind::InvalidInput, text)
    })
}

/// Checks the name of a cipher suite.
///
/// # Errors
/// `InvalidInput` with the list of valid names.
pub fn check(cipher: Option<&str>) -> io::Result<()> {
    cipher.map_or(Ok(()), |name| suite(name).map(drop))
}

fn crypto(cipher: Option<&str>) -> io::Result<Arc<CryptoProvider>> {
    let mut crypto = provider::default_provider();
    if let Some(name) = cipher {
        crypto.cipher_suites = vec![suite(name)?];
    }
    Ok(Arc::new(crypto))
}

/// Configuration of netperf.
pub(crate) fn client(cipher: Option<&str>) -> io::Result<Arc<ClientConfig>> {
    let crypto = crypto(cipher)?;
    let anybody = AcceptAnyKey(crypto.signature_verification_algorithms);
    let mut config = ClientConfig::builder_with_provider(crypto)
        .with_protocol_versions(&[&TLS13])
        .map_err(io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(anybody))
        .with_no_client_auth();
    // Every connection must pay for a full handshake.
    config.resumption = Resumption::disabled();
    config.enable_sni = false;
    config.enable_secret_extraction = true;
    Ok(Arc::new(config))
}

/// Configuration of netserver, with a new key.
pub(crate) fn server(cipher: Option<&str>) -> io::Result<Arc<ServerConfig>> {
    let key = AlwaysResolvesServerRawPublicKeys::new(Arc::new(fresh_key()?));
    let mut config = ServerConfig::builder_with_provider(crypto(cipher)?)
        .with_protocol_versions(&[&TLS13])
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(key));
    // The kernel's TLS cannot process session tickets.
    config.send_tls13_tickets = 0;
    config.enable_secret_extraction = true;
    Ok(Arc::new(config))
}

/// A P-256 key, as most servers have, presented without a certificate (RFC 7250).
fn fresh_key() -> io::Result<CertifiedKey> {
    let random = SystemRandom::new();
    let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_ASN1_SIGNING, &random)
        .map_err(|_| io::Error::other("no key could be made"))?;
    let der = PrivatePkcs8KeyDer::from(pkcs8.as_ref()).into();
    let key = provider::sign::any_ecdsa_type(&der).map_err(io::Error::other)?;
    let public = key
        .public_key()
        .ok_or_else(|| io::Error::other("the key has no public half"))?;
    let presented = CertificateDer::from(public.as_ref().to_vec());
    Ok(CertifiedKey::new(vec![presented], key))
}

/// Accepts every server key: the test measures the cost of TLS and does not authenticate.
///
/// The handshake signature is still verified. It is part of the cost and proves that the peer
/// holds the key that it presented.
#[derive(Debug)]
struct AcceptAnyKey(WebPkiSupportedAlgorithms);

impl ServerCertVerifier for AcceptAnyKey {
    fn verify_server_cert(
        &self,
        _key: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _key: &CertificateDer<'_>,
        _signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("this is TLS 1.3 alone".into()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        key: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(key.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.0)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cipher_goes_by_the_name_of_iana_and_of_rustls_in_any_case() {
        let plain = suite("TLS_CHACHA20_POLY1305_SHA256").unwrap();
        assert_eq!(plain, suite("tls13_chacha20_poly1305_sha256").unwrap());
        assert_eq!(label(plain), "TLSv1.3 TLS_CHACHA20_POLY1305_SHA256");
        for name in ciphers() {
            check(Some(&name)).unwrap();
        }
        check(None).unwrap();
    }

    #[test]
    fn a_cipher_that_is_none_is_refused_with_the_names_there_are() {
        let error = check(Some("TLS_RSA_WITH_NULL_MD5")).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(
            error.to_string(),
            "TLS_RSA_WITH_NULL_MD5 is not a cipher suite of TLS 1.3; there are \
             TLS_AES_256_GCM_SHA384, TLS_AES_128_GCM_SHA256, TLS_CHACHA20_POLY1305_SHA256"
        );
    }
}
