//! Certificates made for a test.

use std::fs;
use std::path::{Path, PathBuf};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate that has signed itself, and its key.
#[derive(Debug)]
pub struct Certificate {
    /// The certificate, for who is to trust it.
    pub der: CertificateDer<'static>,
    /// Its key.
    pub key: PrivateKeyDer<'static>,
    pem: String,
    key_pem: String,
}

impl Certificate {
    /// One for hosts of these names.
    ///
    /// # Panics
    /// If one of them is no name.
    pub fn of(names: &[&str]) -> Self {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(names).unwrap();
        Certificate {
            der: cert.der().clone(),
            key: signing_key.serialize_der().try_into().unwrap(),
            pem: cert.pem(),
            key_pem: signing_key.serialize_pem(),
        }
    }

    /// Writes `cert.pem` and `key.pem` into a directory: their paths.
    ///
    /// # Panics
    /// If that cannot be written to.
    pub fn write(&self, directory: &Path) -> [PathBuf; 2] {
        let files = ["cert.pem", "key.pem"].map(|name| directory.join(name));
        for (file, pem) in files.iter().zip([&self.pem, &self.key_pem]) {
            fs::write(file, pem).unwrap();
        }
        files
    }
}
