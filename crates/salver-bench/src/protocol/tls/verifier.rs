//! The verifier of certificates that the system's authorities have not signed.

use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{DigitallySignedStruct, Error, SignatureScheme};

/// Believes certificates beyond those that authorities have signed. Signatures are checked in any case, so that
/// the work is that of every client.
#[derive(Debug)]
pub(super) struct LenientVerifier {
    pub(super) provider: Arc<CryptoProvider>,
    /// Any certificate, if there are none.
    pub(super) named: Option<NamedCertificates>,
}

/// These certificates, whatever they say of authorities, and what authorities have signed.
#[derive(Debug)]
pub(super) struct NamedCertificates {
    pub(super) certificates: Vec<CertificateDer<'static>>,
    pub(super) others: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for LenientVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        chain: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match &self.named {
            None => Ok(ServerCertVerified::assertion()),
            Some(named) if named.certificates.iter().any(|one| one == certificate) => {
                verify_server_name(&ParsedCertificate::try_from(certificate)?, name)?;
                Ok(ServerCertVerified::assertion())
            }
            Some(named) => {
                let others = &named.others;
                others.verify_server_cert(certificate, chain, name, ocsp, now)
            }
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, dss, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, dss, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
