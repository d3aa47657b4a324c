//! The certificates of a server, read and checked.

use std::collections::HashMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::SystemTime;

use rustls::server::ResolvesServerCert;
use salver_semantics::host_of;

use crate::error::CertificateError;
use crate::files::{CertificateFiles, FileVersions, SiteCertificates};
use crate::pair::Pair;
use crate::resolver::{CertificateResolver, CertificateSet, PairsBySite};

/// The certificates of a server; clones share them. A running server checks their files once a second, and uses new
/// ones that are valid for handshakes from then on.
#[derive(Clone)]
pub struct Certificates(Arc<CertificateState>);

struct CertificateState {
    resolver: Arc<CertificateResolver>,
    /// The files of the pairs, in their order; empty if they have none.
    files: Vec<(CertificateFiles, FileVersions)>,
}

impl Certificates {
    /// Reads certificates, at least one; clients get the one for the host that they name, or the
    /// first.
    ///
    /// # Errors
    /// [`CertificateError`] of the first pair that cannot be used.
    pub fn read(files: Vec<CertificateFiles>) -> Result<Self, CertificateError> {
        Certificates::read_by_site(vec![SiteCertificates {
            hosts: Vec::new(),
            files,
        }])
    }

    /// Reads the certificates of several sites, at least one in all. A client gets one of the site for whose host it
    /// asks, that with this name or the site's first; of all if the site has none of its own. The site of a host is
    /// found as for a request: by its name, then by a wildcard, then the one without hosts.
    ///
    /// # Errors
    /// [`CertificateError`] of the first pair that cannot be used.
    pub fn read_by_site(sites: Vec<SiteCertificates>) -> Result<Self, CertificateError> {
        let mut pairs = Vec::new();
        let mut states: Vec<(CertificateFiles, FileVersions)> = Vec::new();
        let mut by_site = Vec::with_capacity(sites.len());
        let mut known = HashMap::new();
        for SiteCertificates { hosts, files } in sites {
            let mut own = Vec::new();
            for files in files {
                let number = match known.get(&files) {
                    Some(number) => *number,
                    None => {
                        // Before reading: what changes meanwhile is read again.
                        let state = FileVersions::of(&files);
                        pairs.push(Arc::new(Pair::read(&files)?));
                        known.insert(files.clone(), states.len());
                        states.push((files, state));
                        states.len() - 1
                    }
                };
                own.push(number);
            }
            by_site.push((hosts, own));
        }
        Ok(Certificates::of(pairs, PairsBySite::new(by_site), states))
    }

    /// Makes a self-signed certificate for `names`, DNS names or addresses. Valid for a year, and in memory only.
    ///
    /// # Errors
    /// [`CertificateError`] if a name is invalid, or the system has no randomness.
    #[cfg(any(feature = "self-signed", test))]
    pub fn self_signed(names: &[String]) -> Result<Self, CertificateError> {
        let pair = crate::self_signed::pair(names)?;
        Ok(Certificates::of(
            vec![Arc::new(pair)],
            PairsBySite::default(),
            Vec::new(),
        ))
    }

    fn of(
        pairs: Vec<Arc<Pair>>,
        by_site: PairsBySite,
        files: Vec<(CertificateFiles, FileVersions)>,
    ) -> Self {
        let set = CertificateSet::new(pairs, Arc::new(by_site));
        let resolver = Arc::new(CertificateResolver::new(set));
        Certificates(Arc::new(CertificateState { resolver, files }))
    }

    /// The resolver, which chooses a certificate for each handshake.
    pub(crate) fn resolver(&self) -> Arc<dyn ResolvesServerCert> {
        Arc::<CertificateResolver>::clone(&self.0.resolver)
    }

    /// The subjects and the end of each certificate, for people.
    pub fn summary(&self) -> Vec<String> {
        let describe = |number: usize, pair: &Arc<Pair>| {
            let origin = match self.0.files.get(number) {
                Some((files, _)) => format!("{:?}", files.certificate),
                None => "self-signed".to_owned(),
            };
            format!(
                "{origin} for {}, valid until {}",
                pair.subjects(),
                pair.until
            )
        };
        let set = self.0.resolver.set();
        let pairs = set.pairs().iter().enumerate();
        pairs.map(|(number, pair)| describe(number, pair)).collect()
    }

    /// The subjects of each certificate in use, and the moment of its end.
    pub fn expiries(&self) -> Vec<(String, SystemTime)> {
        let set = self.0.resolver.set();
        let pairs = set.pairs().iter();
        pairs
            .map(|pair| (pair.subjects(), pair.not_after()))
            .collect()
    }

    /// Warnings about certificates that can be used, for people: that one has expired, say.
    pub fn warnings(&self) -> Vec<String> {
        let now = SystemTime::now();
        let set = self.0.resolver.set();
        let files = self.0.files.iter();
        let warning = |(pair, (files, _)): (&Arc<Pair>, &(CertificateFiles, FileVersions))| {
            let warning = pair.warning(now)?;
            Some(format!(
                "the certificate in {:?} {warning}",
                files.certificate
            ))
        };
        set.pairs().iter().zip(files).filter_map(warning).collect()
    }

    /// True if a connection that was made for `server_name` - empty if it was made for none - may carry requests for
    /// the host of `authority`: a client gets the same certificate for both, or one that names both.
    pub fn shows_same(&self, server_name: &str, authority: &[u8]) -> bool {
        let host = host_of(authority);
        let bare = host.strip_prefix(b"[").and_then(|it| it.strip_suffix(b"]"));
        let Ok(host) = std::str::from_utf8(bare.unwrap_or(host)) else {
            return false;
        };
        let set = self.0.resolver.set();
        let shown = |name: &str| set.choose(Some(name), |_| true);
        // A client names no address in a handshake (RFC 6066 section 3).
        let own = match host.parse::<IpAddr>() {
            Ok(_) => shown(""),
            Err(_) => shown(host),
        };
        shown(server_name)
            .zip(own)
            .is_some_and(|(shown, own)| Arc::ptr_eq(shown, own) || shown.is_for(host))
    }

    pub(crate) fn files(&self) -> &[(CertificateFiles, FileVersions)] {
        &self.0.files
    }

    /// Replaces a pair, for handshakes from now on.
    pub(crate) fn replace(&self, number: usize, pair: Pair) {
        let set = self.0.resolver.set();
        self.0.resolver.replace(set.with(number, pair));
    }
}

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.summary()).finish()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// A directory with `cert.pem` and `key.pem`.
    pub(crate) struct Files(tempfile::TempDir);

    impl Files {
        pub(crate) fn with(names: &[&str]) -> Self {
            Files::of(&parameters(names))
        }

        fn of(parameters: &rcgen::CertificateParams) -> Self {
            let files = Files(tempfile::tempdir().unwrap());
            let key = rcgen::KeyPair::generate().unwrap();
            let certificate = parameters.self_signed(&key).unwrap();
            files.write("cert.pem", certificate.pem());
            files.write("key.pem", key.serialize_pem());
            files
        }

        pub(crate) fn directory(&self) -> &Path {
            self.0.path()
        }

        pub(crate) fn pair(&self) -> CertificateFiles {
            CertificateFiles {
                certificate: self.0.path().join("cert.pem"),
                key: self.0.path().join("key.pem"),
            }
        }

        fn write(&self, name: &str, content: impl AsRef<[u8]>) {
            fs::write(self.0.path().join(name), content).unwrap();
        }

        fn read(&self, name: &str) -> String {
            fs::read_to_string(self.0.path().join(name)).unwrap()
        }
    }

    fn parameters(names: &[&str]) -> rcgen::CertificateParams {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        rcgen::CertificateParams::new(names).unwrap()
    }

    #[test]
    fn a_bad_pair_is_one_line_that_says_what_to_do() {
        let good = Files::with(&["good.test"]);
        let other = Files::with(&["other.test"]);
        let (cert, key) = (good.read("cert.pem"), good.read("key.pem"));
        let check = |cert: &str, key: &str, file: &str, parts: &[&str]| {
            let files = Files(tempfile::tempdir().unwrap());
            files.write("cert.pem", cert);
            files.write("key.pem", key);
            let line = match Certificates::read(vec![files.pair()]) {
                Ok(all) => panic!("{all:?} instead of {parts:?}"),
                Err(error) => {
                    assert!(!error.is_refusal(), "{error}");
                    error.to_string()
                }
            };
            assert_eq!(line.lines().count(), 1, "{line}");
            let name = format!("{:?}", files.directory().join(file));
            assert!(line.contains(&name), "{file}: {line}");
            assert!(line.contains(": "), "{line}");
            for part in parts {
                assert!(line.contains(part), "{part}: {line}");
            }
        };
        let begin = "-----BEGIN CERTIFICATE-----\n";
        let end = "-----END CERTIFICATE-----\n";
        check(
            "",
            &key,
            "cert.pem",
            &["no certificate", "BEGIN CERTIFICATE"],
        );
        check("hello", &key, "cert.pem", &["no certificate"]);
        // As `openssl x509 -req` makes it unless it is told more.
        let old = include_str!("version-1.pem");
        let remedy = ["version 1", "-extfile", "subjectAltName"];
        check(old, &key, "cert.pem", &remedy);
        check(
            &key,
            &cert,
            "cert.pem",
            &["holds a key", "--tls-cert", "--tls-key"],
        );
        check(&key, &key, "cert.pem", &["holds a key"]);
        check(
            cert.split_at(cert.len() / 2).0,
            &key,
            "cert.pem",
            &["broken PEM", "cut off"],
        );
        check(
            &format!("{begin}!!!!\n{end}"),
            &key,
            "cert.pem",
            &["broken PEM", "base64"],
        );
        check(
            "-----BEGIN CERTIFICATE--\n",
            &key,
            "cert.pem",
            &["broken PEM", "BEGIN line"],
        );
        check(
            &format!("{begin}AAAA\n{end}"),
            &key,
            "cert.pem",
            &["certificate", "is broken"],
        );
        check(&format!("{begin}{end}"), &key, "cert.pem", &["is broken"]);
        check(
            &"x".repeat(2 << 20),
            &key,
            "cert.pem",
            &["longer than 1 MiB"],
        );
        check(
            &cert,
            "",
            "key.pem",
            &["no private key", "BEGIN PRIVATE KEY"],
        );
        check(
            &cert,
            &cert,
            "key.pem",
            &["a certificate and no private key", "--tls-key"],
        );
        check(
            &cert,
            key.split_at(key.len() / 2).0,
            "key.pem",
            &["broken PEM", "cut off"],
        );
        check(
            &cert,
            &other.read("key.pem"),
            "key.pem",
            &["does not belong", "cert.pem"],
        );
        // In the wrong order.
        let chain = other.read("cert.pem") + &cert;
        check(
            &chain,
            &key,
            "key.pem",
            &["does not belong", "own certificate first"],
        );
        let locked = key.replace("PRIVATE", "ENCRYPTED PRIVATE");
        check(&cert, &locked, "key.pem", &["passphrase", "openssl pkey"]);
        let locked = "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\
                      DEK-Info: AES-128-CBC,00\n\nAAAA\n-----END RSA PRIVATE KEY-----\n";
        check(&cert, locked, "key.pem", &["passphrase"]);
        let junk = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
        check(&cert, junk, "key.pem", &["cannot be used", "ECDSA"]);
    }

    #[test]
    fn a_file_that_cannot_be_read_says_who_must_act() {
        let good = Files::with(&["good.test"]);
        let check = |certificate: &Path, parts: &[&str], refusal: bool| {
            let files = CertificateFiles {
                certificate: certificate.to_owned(),
                ..good.pair()
            };
            let error = Certificates::read(vec![files]).unwrap_err();
            assert_eq!(error.is_refusal(), refusal, "{error}");
            let line = error.to_string();
            assert!(line.starts_with(&format!("{certificate:?}")), "{line}");
            assert_eq!(line.lines().count(), 1, "{line}");
            for part in parts {
                assert!(line.contains(part), "{line}");
            }
        };
        let missing = good.directory().join("no\nsuch");
        check(&missing, &["does not exist", "--tls-cert"], false);
        check(
            &good.directory().join("key.pem/x"),
            &["does not exist"],
            false,
        );
        check(good.directory(), &["is a directory"], false);
        // The second pair is named, too.
        let pairs = vec![
            good.pair(),
            CertificateFiles {
                certificate: missing,
                ..good.pair()
            },
        ];
        let error = Certificates::read(pairs).unwrap_err().to_string();
        assert!(error.contains("such\" does not exist"), "{error}");
    }

    #[test]
    fn what_can_be_used_is_told_with_what_is_odd_about_it() {
        let check = |change: &dyn Fn(&mut rcgen::CertificateParams), parts: &[&str]| {
            let mut parameters = parameters(&["a.test", "*.B.test", "127.0.0.1", "::1"]);
            change(&mut parameters);
            let files = Files::of(&parameters);
            let all = Certificates::read(vec![files.pair()]).unwrap();
            let lines = all.warnings();
            assert_eq!(lines.len(), usize::from(!parts.is_empty()), "{lines:?}");
            for part in parts {
                assert!(lines[0].contains(part), "{lines:?}");
            }
            all.summary()
        };
        let day = rcgen::date_time_ymd;
        let summary = check(&|p| p.not_after = day(2999, 12, 31), &[]);
        assert_eq!(summary.len(), 1);
        let expected = " for a.test, *.b.test, 127.0.0.1, ::1, valid until 2999-12-31";
        assert!(summary[0].ends_with(expected), "{summary:?}");
        check(
            &|p| p.not_after = day(2001, 2, 3),
            &["cert.pem", "expired on 2001-02-03"],
        );
        check(&|p| p.not_before = day(2999, 1, 1), &["not valid yet"]);
        check(&|p| p.subject_alt_names.clear(), &["names no host"]);
    }

    #[test]
    fn all_kinds_of_keys_and_one_file_for_both() {
        let algorithms = [
            &rcgen::PKCS_ECDSA_P256_SHA256,
            &rcgen::PKCS_ECDSA_P384_SHA384,
            &rcgen::PKCS_ED25519,
            &rcgen::PKCS_RSA_SHA256,
        ];
        for algorithm in algorithms {
            let files = Files(tempfile::tempdir().unwrap());
            let key = rcgen::KeyPair::generate_for(algorithm).unwrap();
            let certificate = parameters(&["a.test"]).self_signed(&key).unwrap();
            files.write("both.pem", key.serialize_pem() + &certificate.pem());
            let both = files.directory().join("both.pem");
            let pair = CertificateFiles {
                certificate: both.clone(),
                key: both,
            };
            let all = Certificates::read(vec![pair]).unwrap();
            assert!(all.summary()[0].contains("a.test"), "{all:?}");
        }
    }

    #[test]
    fn a_certificate_of_its_own_is_for_a_year() {
        let names = ["localhost", "127.0.0.1", "::1"].map(str::to_owned);
        let all = Certificates::self_signed(&names).unwrap();
        let summary = all.summary();
        assert!(all.warnings().is_empty() && all.files().is_empty());
        let expected = "self-signed for localhost, 127.0.0.1, ::1, valid until ";
        assert!(summary[0].starts_with(expected), "{summary:?}");
        let error = Certificates::self_signed(&["\u{fc}".to_owned()]).unwrap_err();
        assert!(
            error.to_string().contains("cannot make a certificate"),
            "{error}"
        );
    }
}
