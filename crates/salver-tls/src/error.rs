//! The errors of a certificate or its key, in one line each.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The error of a certificate or a key that cannot be used: its file, what is wrong, and what to do.
#[derive(Debug)]
pub struct CertificateError {
    path: PathBuf,
    problem: Problem,
}

/// The problem of a file.
#[derive(Debug)]
pub(crate) enum Problem {
    /// It could not be read.
    Unreadable(io::Error),
    /// It is longer than anything that could be meant.
    TooLong,
    /// It has invalid PEM sections.
    BrokenPem(String),
    /// There is no certificate in the file of the certificate.
    NoCertificate,
    /// The file of the certificate has a key instead.
    KeyInsteadOfCertificate,
    /// The certificate is none.
    BrokenCertificate(String),
    /// The certificate is of X.509 version 1 or 2, which can name no host.
    OldCertificate,
    /// There is no key in the file of the key.
    NoKey,
    /// The file of the key has a certificate instead.
    CertificateInsteadOfKey,
    /// The key needs a passphrase.
    EncryptedKey,
    /// The key is broken, or of a kind that is not known.
    UnusableKey(String),
    /// The key is another one's; this is the certificate.
    Mismatch(PathBuf),
    /// A certificate of the server's own could not be made.
    #[cfg_attr(
        not(feature = "self-signed"),
        expect(dead_code, reason = "none is made")
    )]
    NotMade(String),
}

impl CertificateError {
    pub(crate) fn new(path: &Path, problem: Problem) -> Self {
        CertificateError {
            path: path.to_owned(),
            problem,
        }
    }

    /// True if the system refused, rather than the wrong file being named.
    pub fn is_refusal(&self) -> bool {
        let named_wrongly = |error: &io::Error| {
            matches!(
                error.kind(),
                io::ErrorKind::NotFound
                    | io::ErrorKind::NotADirectory
                    | io::ErrorKind::InvalidFilename
                    | io::ErrorKind::IsADirectory
                    | io::ErrorKind::InvalidInput
            )
        };
        match &self.problem {
            Problem::Unreadable(error) => !named_wrongly(error),
            Problem::NotMade(_) => true,
            _ => false,
        }
    }
}

impl fmt::Display for CertificateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let CertificateError { path, problem } = self;
        match problem {
            Problem::Unreadable(error) => match error.kind() {
                io::ErrorKind::NotFound
                | io::ErrorKind::NotADirectory
                | io::ErrorKind::InvalidFilename => write!(
                    f,
                    "{path:?} does not exist: give a PEM file to --tls-cert and one to --tls-key"
                ),
                io::ErrorKind::IsADirectory => {
                    write!(f, "{path:?} is a directory: give a PEM file in it")
                }
                io::ErrorKind::PermissionDenied => write!(
                    f,
                    "{path:?} may not be read: run salver as a user who may, or change its \
                     permissions"
                ),
                _ => write!(f, "{path:?} cannot be read: {error}"),
            },
            Problem::TooLong => {
                write!(f, "{path:?} is longer than 1 MiB: give a PEM file")
            }
            Problem::BrokenPem(why) => write!(
                f,
                "{path:?} is broken PEM ({why}): copy it anew from who issued it"
            ),
            Problem::NoCertificate => write!(
                f,
                "{path:?} holds no certificate: give a PEM file with BEGIN CERTIFICATE, the \
                 server's own certificate first"
            ),
            Problem::KeyInsteadOfCertificate => write!(
                f,
                "{path:?} holds a key and no certificate: give the certificate to --tls-cert and \
                 the key to --tls-key"
            ),
            Problem::BrokenCertificate(why) => write!(
                f,
                "the first certificate in {path:?} is broken ({why}): copy it anew from who \
                 issued it"
            ),
            Problem::OldCertificate => write!(
                f,
                "the first certificate in {path:?} is of X.509 version 1, which clients refuse: make \
                 one of version 3, for `openssl x509 -req` by -extfile with a line \
                 subjectAltName=DNS:NAME"
            ),
            Problem::NoKey => write!(
                f,
                "{path:?} holds no private key: give a PEM file with BEGIN PRIVATE KEY, or RSA or \
                 EC PRIVATE KEY"
            ),
            Problem::CertificateInsteadOfKey => write!(
                f,
                "{path:?} holds a certificate and no private key: give the key to --tls-key"
            ),
            Problem::EncryptedKey => write!(
                f,
                "the private key in {path:?} has a passphrase: take it off with `openssl pkey -in \
                 FILE -out NEW_FILE`"
            ),
            Problem::UnusableKey(why) => write!(
                f,
                "the private key in {path:?} cannot be used ({why}): make an ECDSA (P-256, P-384), \
                 Ed25519 or RSA key of 2048 bits or more"
            ),
            Problem::Mismatch(certificate) => write!(
                f,
                "the private key in {path:?} does not belong to the first certificate in \
                 {certificate:?}: give the key that it was issued for, and the server's own \
                 certificate first"
            ),
            Problem::NotMade(why) => {
                write!(f, "cannot make a certificate for {path:?}: {why}")
            }
        }
    }
}

impl std::error::Error for CertificateError {}
