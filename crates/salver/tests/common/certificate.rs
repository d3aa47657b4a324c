//! A certificate for localhost, made for a test.
// Each test file compiles this on its own and uses a part of it.
#![allow(dead_code, unreachable_pub)]

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::CertificateDer;

/// The files of a certificate and its key, and the certificate itself for who is to trust it.
pub struct Certificate {
    /// The certificate as PEM.
    pub file: PathBuf,
    /// Its key as PEM.
    pub key: PathBuf,
    /// The certificate.
    pub der: CertificateDer<'static>,
}

impl Certificate {
    /// Makes one for `localhost` with its files in `folder`.
    pub fn localhost(folder: &Path) -> Self {
        let CertifiedKey { cert, signing_key } =
            generate_simple_self_signed(["localhost".to_owned()]).unwrap();
        let (file, key) = (folder.join("cert.pem"), folder.join("key.pem"));
        fs::write(&file, cert.pem()).unwrap();
        fs::write(&key, signing_key.serialize_pem()).unwrap();
        Self {
            file,
            key,
            der: cert.der().clone(),
        }
    }

    /// What follows `salver serve` so that it has this certificate.
    pub fn flags(&self) -> [&str; 4] {
        [
            "--tls-cert",
            self.file.to_str().unwrap(),
            "--tls-key",
            self.key.to_str().unwrap(),
        ]
    }
}
