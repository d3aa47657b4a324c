//! The files of a certificate: their paths, and their versions.

use std::path::{Path, PathBuf};

use salver_os::{Identity, Kind, Metadata};

/// A certificate chain and its private key, both PEM.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CertificateFiles {
    /// The server's own certificate first, then those that lead to its issuer (RFC 8446 section
    /// 4.4.2).
    pub certificate: PathBuf,
    /// PKCS #8, PKCS #1 or SEC 1, without a passphrase. May be the same file.
    pub key: PathBuf,
}

/// The certificates of one site.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SiteCertificates {
    /// The hosts of the site: names, `*.` before one for all beneath it, none for those of no other site.
    pub hosts: Vec<String>,
    /// Its certificates; none if it may show those of all sites.
    pub files: Vec<CertificateFiles>,
}

/// The current versions of both files; `None` for one that is missing, or that is a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FileVersions([Option<Identity>; 2]);

impl FileVersions {
    pub(crate) fn of(files: &CertificateFiles) -> Self {
        let identity = |path: &Path| {
            let found = Metadata::at(path).ok();
            let found = found.filter(|metadata| metadata.kind == Kind::File);
            found.map(|metadata| metadata.identity)
        };
        FileVersions([identity(&files.certificate), identity(&files.key)])
    }
}
