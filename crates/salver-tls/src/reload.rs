//! The reload of certificates that are renewed while the server runs.
//!
//! Files change in all ways: in place, by rename, or by a link that is switched (certbot, Kubernetes); the two of a
//! pair seldom at the same moment. So a pair that cannot be used is checked again, and only logged if it is still the
//! same a second later.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, SystemTime};
use std::{io, thread};

use crate::certificates::Certificates;
use crate::files::{CertificateFiles, FileVersions};
use crate::handshakes::Handshakes;
use crate::pair::Pair;

/// The interval at which the files are checked.
const INTERVAL: Duration = Duration::from_secs(1);

/// The watch of certificates' files, which ends when dropped.
#[derive(Debug)]
pub struct CertificateWatch {
    _ends: Sender<()>,
}

/// Watches the files of the certificates of `handshakes` on a thread of its own, if they have any; what comes of a
/// change is logged.
///
/// # Errors
/// [`io::Error`] if no thread could be had.
pub fn watch(handshakes: &Handshakes) -> io::Result<Option<CertificateWatch>> {
    let certificates = handshakes.certificates().clone();
    if certificates.files().is_empty() {
        return Ok(None);
    }
    let (ends, ended) = channel();
    let mut reloader = Reloader::new(certificates);
    let run = move || {
        while ended.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
            for line in reloader.look() {
                match line {
                    ReloadMessage::Renewed(text) => tracing::info!("{text}"),
                    ReloadMessage::Refused(text) => tracing::warn!("{text}"),
                }
            }
        }
    };
    // The thread is not joined: a file server may not answer.
    let thread = thread::Builder::new().name("salver-tls".to_owned());
    thread.spawn(run)?;
    Ok(Some(CertificateWatch { _ends: ends }))
}

/// A message for the log.
#[derive(Debug)]
enum ReloadMessage {
    Renewed(String),
    Refused(String),
}

/// The reloader of certificates, which checks the files of each pair.
struct Reloader {
    certificates: Certificates,
    pairs: Vec<WatchedPair>,
}

struct WatchedPair {
    files: CertificateFiles,
    /// The versions in use.
    used: FileVersions,
    /// The versions that cannot be used, and true if that was logged.
    refused: Option<(FileVersions, bool)>,
}

impl Reloader {
    fn new(certificates: Certificates) -> Self {
        let look = |(files, used): &(CertificateFiles, FileVersions)| WatchedPair {
            files: files.clone(),
            used: *used,
            refused: None,
        };
        let pairs = certificates.files().iter().map(look).collect();
        Reloader {
            certificates,
            pairs,
        }
    }

    fn look(&mut self) -> Vec<ReloadMessage> {
        let mut lines = Vec::new();
        for (number, look) in self.pairs.iter_mut().enumerate() {
            let state = FileVersions::of(&look.files);
            if state == look.used {
                look.refused = None;
                continue;
            }
            let read = Pair::read(&look.files);
            if FileVersions::of(&look.files) != state {
                // The files are being written.
                continue;
            }
            let certificate = &look.files.certificate;
            match read {
                Ok(pair) => {
                    look.used = state;
                    look.refused = None;
                    lines.push(ReloadMessage::Renewed(format!(
                        "the certificate in {certificate:?} has been renewed: for {}, valid until \
                         {}",
                        pair.subjects(),
                        pair.until
                    )));
                    if let Some(warning) = pair.warning(SystemTime::now()) {
                        let text = format!("the certificate in {certificate:?} {warning}");
                        lines.push(ReloadMessage::Refused(text));
                    }
                    self.certificates.replace(number, pair);
                }
                Err(error) => match &mut look.refused {
                    Some((seen, said)) if *seen == state => {
                        if !*said {
                            *said = true;
                            lines.push(ReloadMessage::Refused(format!(
                                "{error}; the old certificate is used on"
                            )));
                        }
                    }
                    refused => *refused = Some((state, false)),
                },
            }
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::certificates::tests::Files;
    use std::fs;
    #[cfg(unix)]
    use std::os::unix::fs::symlink;

    fn renewed(lines: &[ReloadMessage]) -> bool {
        matches!(lines, [ReloadMessage::Renewed(_)])
    }

    fn refused(lines: &[ReloadMessage]) -> Option<&str> {
        match lines {
            [ReloadMessage::Refused(text)] => Some(text),
            _ => None,
        }
    }

    #[test]
    fn a_renewed_pair_is_used_and_a_bad_one_is_said_once() {
        let files = Files::with(&["old.test"]);
        let pair = files.pair();
        let all = Certificates::read(vec![pair.clone()]).unwrap();
        let mut reloader = Reloader::new(all.clone());
        let is_for = |name: &str| all.summary().iter().any(|line| line.contains(name));
        assert!(reloader.look().is_empty() && is_for("old.test"));

        // The certificate comes before its key.
        let new = Files::with(&["new.test"]);
        fs::copy(&new.pair().certificate, &pair.certificate).unwrap();
        assert!(reloader.look().is_empty() && is_for("old.test"));
        let said = reloader.look();
        let line = refused(&said).unwrap();
        assert!(line.contains("does not belong"), "{line}");
        assert!(line.contains("the old certificate is used on"), "{line}");
        assert!(reloader.look().is_empty() && is_for("old.test"));
        fs::copy(&new.pair().key, &pair.key).unwrap();
        assert!(renewed(&reloader.look()) && is_for("new.test"));
        assert!(reloader.look().is_empty());

        // Half of it; another half is another thing that is wrong.
        let whole = fs::read(&pair.certificate).unwrap();
        for length in [whole.len() / 2, whole.len() / 3] {
            fs::write(&pair.certificate, &whole[..length]).unwrap();
            assert!(reloader.look().is_empty());
            let said = reloader.look();
            assert!(refused(&said).unwrap().contains("broken PEM"), "{said:?}");
            assert!(reloader.look().is_empty() && is_for("new.test"));
        }
        fs::remove_file(&pair.key).unwrap();
        assert!(reloader.look().is_empty() && is_for("new.test"));
        fs::write(&pair.certificate, &whole).unwrap();
        fs::copy(&new.pair().key, &pair.key).unwrap();
        assert!(renewed(&reloader.look()) && is_for("new.test"));
    }

    #[cfg(unix)]
    #[test]
    fn links_and_renames_are_seen() {
        let (first, second) = (Files::with(&["one.test"]), Files::with(&["two.test"]));
        let directory = tempfile::tempdir().unwrap();
        let (live, next) = (directory.path().join("live"), directory.path().join("next"));
        symlink(first.directory(), &live).unwrap();
        let pair = CertificateFiles {
            certificate: live.join("cert.pem"),
            key: live.join("key.pem"),
        };
        let all = Certificates::read(vec![pair.clone()]).unwrap();
        let mut reloader = Reloader::new(all.clone());
        symlink(second.directory(), &next).unwrap();
        fs::rename(&next, &live).unwrap();
        assert!(renewed(&reloader.look()));
        assert!(all.summary()[0].contains("two.test"), "{all:?}");

        let third = Files::with(&["three.test"]);
        fs::rename(third.pair().key, &pair.key).unwrap();
        assert!(reloader.look().is_empty());
        fs::rename(third.pair().certificate, &pair.certificate).unwrap();
        assert!(renewed(&reloader.look()));
        assert!(all.summary()[0].contains("three.test"), "{all:?}");
    }
}
