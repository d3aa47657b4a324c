//! Self-signed certificates, made at the start: enough for a laptop.

use std::time::{Duration, SystemTime};

use rcgen::{
    CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use rustls_pki_types::PrivatePkcs8KeyDer;

use crate::error::{CertificateError, Problem};
use crate::files::CertificateFiles;
use crate::pair::Pair;

const DAY: Duration = Duration::from_secs(24 * 60 * 60);

/// The validity of a certificate. Clients refuse one that is valid for much longer than a year.
const VALID: Duration = Duration::from_secs(365 * 24 * 60 * 60);

/// A self-signed certificate for `names`, which are DNS names or addresses.
pub(crate) fn pair(names: &[String]) -> Result<Pair, CertificateError> {
    let name = names.first().map_or("localhost", |name| &**name);
    let failed =
        |why: rcgen::Error| CertificateError::new(name.as_ref(), Problem::NotMade(why.to_string()));
    let mut parameters = CertificateParams::new(names).map_err(failed)?;
    let since_epoch = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    // A day ago: the clocks of other machines may be behind.
    let from = date_time_ymd(1970, 1, 1) + since_epoch.saturating_sub(DAY);
    parameters.not_before = from;
    parameters.not_after = from + VALID;
    parameters.distinguished_name = DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::CommonName, "Salver, self-signed");
    parameters.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let key = KeyPair::generate().map_err(failed)?;
    let certificate = parameters.self_signed(&key).map_err(failed)?;
    let files = CertificateFiles {
        certificate: name.into(),
        key: name.into(),
    };
    let key = PrivatePkcs8KeyDer::from(key.serialize_der());
    Pair::new(vec![certificate.der().clone()], key.into(), &files)
}
