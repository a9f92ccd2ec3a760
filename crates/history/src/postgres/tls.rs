//! TLS 1.3 to the server: every PostgreSQL since version 12 has it.

use std::path::Path;
use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls13_signature};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tokio_rustls::TlsConnector;

/// Encrypts connections to `host`, and its name. With a file of roots the certificate is
/// verified.
pub(super) fn connector(
    host: &str,
    roots: Option<&Path>,
) -> Result<(TlsConnector, ServerName<'static>), String> {
    let provider = Arc::new(ring::default_provider());
    let verifier: Arc<dyn ServerCertVerifier> = match roots {
        Some(path) => {
            let roots = Arc::new(read(path)?);
            let builder = WebPkiServerVerifier::builder_with_provider(roots, provider.clone());
            builder.build().map_err(|error| error.to_string())?
        }
        None => Arc::new(AcceptAnyCert(provider.clone())),
    };
    let config = ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|error| error.to_string())?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    let name =
        ServerName::try_from(host.to_owned()).map_err(|_| format!("{host} is not a host name"))?;
    Ok((TlsConnector::from(Arc::new(config)), name))
}

fn read(path: &Path) -> Result<RootCertStore, String> {
    let shown = netperf_web::escape::line(&path.to_string_lossy());
    let failed = |error: &dyn std::fmt::Display| format!("sslrootcert {shown}: {error}");
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| failed(&error))? {
        let certificate = certificate.map_err(|error| failed(&error))?;
        roots.add(certificate).map_err(|error| failed(&error))?;
    }
    if roots.is_empty() {
        return Err(failed(&"it has no certificate"));
    }
    Ok(roots)
}

/// Accepts any certificate, as libpq does for sslmode=require: the connection is encrypted,
/// but the server is not authenticated. With SCRAM the server proves that it knows the
/// password.
#[derive(Debug)]
struct AcceptAnyCert(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAnyCert {
    fn verify_server_cert(
        &self,
        _certificate: &CertificateDer<'_>,
        _chain: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _certificate: &CertificateDer<'_>,
        _signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not spoken".to_owned()))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(host: &str, roots: Option<&Path>) -> String {
        connector(host, roots).err().unwrap_or_default()
    }

    #[test]
    fn a_file_without_certificates_is_named() {
        let scratch = netperf_testkit::Scratch::new();
        let path = scratch.path().join("roots");
        let missing = refused("db", Some(&path));
        assert!(missing.starts_with("sslrootcert /"), "{missing}");
        std::fs::write(&path, "nothing\n").unwrap();
        let empty = refused("db", Some(&path));
        assert!(empty.ends_with("roots: it has no certificate"), "{empty}");
    }

    #[test]
    fn a_host_needs_a_name_or_a_number() {
        assert_eq!(refused("db.example", None), "");
        assert_eq!(refused("::1", None), "");
        assert_eq!(refused("no host", None), "no host is not a host name");
    }
}
