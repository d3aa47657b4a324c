//! One certificate chain and its key, read from PEM. All checks are here.

use std::fs::File;
use std::io::{self, Read};
use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use rustls::InconsistentKeys;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::{Error as PemError, PemObject, SectionKind};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use x509_parser::extensions::GeneralName;
use x509_parser::parse_x509_certificate;
use x509_parser::time::ASN1Time;
use x509_parser::x509::X509Version;

use crate::error::{CertificateError, Problem};
use crate::files::CertificateFiles;

/// The longest file in bytes. A chain with its key takes a few KiB.
const LONGEST: u64 = 1024 * 1024;

/// The time to expiry below which there is a warning: programs renew certificates weeks before.
const SOON: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// A certificate chain with its key, which can be used for handshakes.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) key: Arc<CertifiedKey>,
    /// The DNS names in it, in lower case; a wildcard begins with `*.` (RFC 6125 section 6.4.3).
    pub(crate) names: Vec<String>,
    /// The addresses in it, which no client asks for by name.
    pub(crate) addresses: Vec<IpAddr>,
    /// The day of its end, for people: `2027-01-31`.
    pub(crate) until: String,
    valid: (SystemTime, SystemTime),
}

impl Pair {
    /// Reads both files and checks them.
    pub(crate) fn read(files: &CertificateFiles) -> Result<Self, CertificateError> {
        let certificate = &*files.certificate;
        let wrong = |problem| CertificateError::new(certificate, problem);
        let pem = read(certificate).map_err(wrong)?;
        let chain = chain(&pem).map_err(wrong)?;
        let wrong = |problem| CertificateError::new(&files.key, problem);
        let pem = read(&files.key).map_err(wrong)?;
        let key = key(&pem).map_err(wrong)?;
        Pair::new(chain, key, files)
    }

    /// Checks a chain and a key; `files` are named if they do not fit.
    pub(crate) fn new(
        chain: Vec<CertificateDer<'static>>,
        key: PrivateKeyDer<'static>,
        files: &CertificateFiles,
    ) -> Result<Self, CertificateError> {
        let of_chain = |problem| CertificateError::new(&files.certificate, problem);
        let broken = |why: String| of_chain(Problem::BrokenCertificate(why));
        let Some(first) = chain.first() else {
            return Err(of_chain(Problem::NoCertificate));
        };
        let (_, parsed) = parse_x509_certificate(first).map_err(|why| broken(why.to_string()))?;
        if parsed.version() != X509Version::V3 {
            return Err(of_chain(Problem::OldCertificate));
        }
        let (mut names, mut addresses) = (Vec::new(), Vec::new());
        let alternatives = parsed
            .subject_alternative_name()
            .map_err(|why| broken(why.to_string()))?;
        for name in alternatives.iter().flat_map(|all| &all.value.general_names) {
            match name {
                GeneralName::DNSName(name) => names.push(name.to_ascii_lowercase()),
                GeneralName::IPAddress(bytes) => addresses.extend(address(bytes)),
                _ => {}
            }
        }
        let validity = parsed.validity();
        let valid = (time(validity.not_before), time(validity.not_after));
        let until = day(validity.not_after);
        let provider = default_provider();
        let wrong = |problem| CertificateError::new(&files.key, problem);
        let key = provider
            .key_provider
            .load_private_key(key)
            .map_err(|why| wrong(Problem::UnusableKey(why.to_string())))?;
        let key = CertifiedKey::new(chain, key);
        match key.keys_match() {
            Ok(()) | Err(rustls::Error::InconsistentKeys(InconsistentKeys::Unknown)) => {}
            Err(rustls::Error::InconsistentKeys(_)) => {
                return Err(wrong(Problem::Mismatch(files.certificate.clone())));
            }
            Err(why) => return Err(broken(why.to_string())),
        }
        Ok(Pair {
            key: Arc::new(key),
            names,
            addresses,
            until,
            valid,
        })
    }

    /// True if it is for this name or address.
    pub(crate) fn is_for(&self, host: &str) -> bool {
        if let Ok(address) = host.parse::<IpAddr>() {
            return self.addresses.contains(&address);
        }
        let host = host.to_ascii_lowercase();
        // The whole left-most label and nothing else (RFC 9525 section 6.3).
        let parent = host.split_once('.').filter(|(label, _)| !label.is_empty());
        self.names.iter().any(|name| {
            let below = name.strip_prefix("*.");
            *name == host || below.is_some_and(|below| parent.is_some_and(|(_, it)| it == below))
        })
    }

    /// The names and addresses in it, for people.
    pub(crate) fn subjects(&self) -> String {
        let addresses = self.addresses.iter().map(IpAddr::to_string);
        let all: Vec<String> = self.names.iter().cloned().chain(addresses).collect();
        match all.is_empty() {
            true => "no name".to_owned(),
            false => all.join(", "),
        }
    }

    /// The moment of its end.
    pub(crate) fn not_after(&self) -> SystemTime {
        self.valid.1
    }

    /// A warning for people, although it can be used.
    pub(crate) fn warning(&self, now: SystemTime) -> Option<String> {
        let (from, until) = self.valid;
        if until < now {
            Some(format!(
                "expired on {}: clients refuse it, renew it",
                self.until
            ))
        } else if from > now {
            Some("is not valid yet: clients refuse it, is the clock right?".to_owned())
        } else if until < now + SOON {
            Some(format!("expires on {}: renew it", self.until))
        } else if self.names.is_empty() && self.addresses.is_empty() {
            Some("names no host (subjectAltName): clients refuse it".to_owned())
        } else {
            None
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>, Problem> {
    let file = File::open(path).map_err(|error| {
        // Windows says of a directory that nobody may open it.
        let is_directory = path.is_dir();
        Problem::Unreadable(if is_directory {
            io::ErrorKind::IsADirectory.into()
        } else {
            error
        })
    })?;
    let mut pem = Vec::new();
    let read = file.take(LONGEST + 1).read_to_end(&mut pem);
    let length = read.map_err(Problem::Unreadable)?;
    if u64::try_from(length).unwrap_or(u64::MAX) > LONGEST {
        return Err(Problem::TooLong);
    }
    Ok(pem)
}

/// The certificates of a PEM file, which may also hold the key.
fn chain(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, Problem> {
    let chain: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(broken)?;
    match (chain.is_empty(), has_key(pem)) {
        (false, _) => Ok(chain),
        (true, true) => Err(Problem::KeyInsteadOfCertificate),
        (true, false) => Err(Problem::NoCertificate),
    }
}

/// The first key of a PEM file, which may also hold the certificates.
fn key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, Problem> {
    match PrivateKeyDer::from_pem_slice(pem) {
        Ok(key) if is_encrypted(pem) => {
            drop(key);
            Err(Problem::EncryptedKey)
        }
        Ok(key) => Ok(key),
        Err(_) if is_encrypted(pem) => Err(Problem::EncryptedKey),
        Err(PemError::NoItemsFound) => Err(match CertificateDer::from_pem_slice(pem) {
            Ok(_) => Problem::CertificateInsteadOfKey,
            Err(_) => Problem::NoKey,
        }),
        Err(why) => Err(broken(why)),
    }
}

/// True for encrypted keys: of PKCS #8, or of the older kind with a header for that (RFC 1421 section 4.6.1.1).
fn is_encrypted(pem: &[u8]) -> bool {
    let has = |marker: &[u8]| pem.windows(marker.len()).any(|part| part == marker);
    has(b"BEGIN ENCRYPTED PRIVATE KEY") || has(b"Proc-Type: 4,ENCRYPTED")
}

fn has_key(pem: &[u8]) -> bool {
    let mut sections = <(SectionKind, Vec<u8>)>::pem_slice_iter(pem).flatten();
    let is_key = |kind| {
        matches!(
            kind,
            SectionKind::PrivateKey | SectionKind::RsaPrivateKey | SectionKind::EcPrivateKey
        )
    };
    sections.any(|(kind, _)| is_key(kind)) || is_encrypted(pem)
}

/// The problem of broken PEM, without the file's bytes: they may be those of a key.
fn broken(why: PemError) -> Problem {
    Problem::BrokenPem(match why {
        PemError::MissingSectionEnd { .. } => "a section has no end: is it cut off?".to_owned(),
        PemError::IllegalSectionStart { .. } => "a BEGIN line is not whole".to_owned(),
        PemError::Base64Decode(_) => "a section is not base64".to_owned(),
        PemError::Io(error) => error.to_string(),
        _ => "a section is too long".to_owned(),
    })
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(bytes).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
        .ok()
}

fn time(time: ASN1Time) -> SystemTime {
    let seconds = Duration::from_secs(time.timestamp().unsigned_abs());
    let epoch = SystemTime::UNIX_EPOCH;
    let at = match time.timestamp() < 0 {
        true => epoch.checked_sub(seconds),
        false => epoch.checked_add(seconds),
    };
    at.unwrap_or(epoch)
}

fn day(time: ASN1Time) -> String {
    let date = time.to_datetime().date();
    let (year, month, day) = (date.year(), u8::from(date.month()), date.day());
    format!("{year:04}-{month:02}-{day:02}")
}
