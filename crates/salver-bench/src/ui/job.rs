//! A job: what a person asks the page for, checked; and who carries it out.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::ops::{ControlFlow, RangeInclusive};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::protocol::target;
use crate::result::model::Http;
use crate::result::model::Progress;
use crate::result::report::Report;

const DURATION_SECONDS: RangeInclusive<f64> = 0.1..=3600.0;

const CONNECTIONS: RangeInclusive<usize> = 1..=10_000;

/// The bounds of the number of requests under way at once on each connection.
const STREAMS: RangeInclusive<usize> = 1..=100;

const RATE: RangeInclusive<f64> = 0.1..=1_000_000.0;

/// Carries out what the page asks for.
pub trait Runner: Send + Sync + 'static {
    /// Measures. It may block; it is called once at a time, on a thread of its own.
    ///
    /// It calls `progress` at least once a second and stops as soon as that says so; what it then
    /// gives is saved with a mark.
    ///
    /// # Errors
    /// Why nothing was measured, in a sentence for the person who asked.
    fn run(
        &self,
        job: &Job,
        progress: &mut (dyn FnMut(&JobProgress) -> ControlFlow<()> + Send),
    ) -> Result<Report, String>;
}

/// The kinds of run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum JobKind {
    /// Plain against cached serving of files of six sizes.
    #[default]
    Cache,
    /// A load on one server.
    Load,
    /// Two servers, in turns: the second is judged by the first.
    Compare,
}

impl JobKind {
    /// Its name, as in documents.
    pub fn name(self) -> &'static str {
        match self {
            JobKind::Cache => "cache",
            JobKind::Load => "load",
            JobKind::Compare => "compare",
        }
    }
}

/// A version of HTTP with or without TLS, named as in ALPN (RFC 7301 section 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Protocol {
    /// HTTP/1.1, over TLS where the URL says https.
    #[default]
    #[serde(rename = "http/1.1")]
    Http1,
    /// HTTP/2 over TLS.
    #[serde(rename = "h2")]
    H2,
    /// HTTP/2 in the clear, with prior knowledge.
    #[serde(rename = "h2c")]
    H2c,
    /// HTTP/3.
    #[serde(rename = "h3")]
    H3,
}

impl Protocol {
    /// The version of HTTP.
    pub fn http(self) -> Http {
        match self {
            Protocol::Http1 => Http::One,
            Protocol::H2 | Protocol::H2c => Http::Two,
            Protocol::H3 => Http::Three,
        }
    }

    /// The scheme of its URLs; `None` if it is asked for by either.
    pub fn scheme(self) -> Option<&'static str> {
        match self {
            Protocol::Http1 => None,
            Protocol::H2c => Some("http"),
            Protocol::H2 | Protocol::H3 => Some("https"),
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Protocol::Http1 => "HTTP/1.1",
            Protocol::H2 => "HTTP/2 over TLS",
            Protocol::H2c => "HTTP/2 in the clear",
            Protocol::H3 => "HTTP/3",
        })
    }
}

/// A job: the run that is to be made. Made from `Wanted`, which is the check.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Job {
    /// Which kind of run.
    pub kind: JobKind,
    /// The URL to load, or the first to compare. Never there for [`JobKind::Cache`].
    pub url: Option<String>,
    /// By which protocol that is asked for.
    pub protocol: Protocol,
    /// The second to compare: a URL. There for [`JobKind::Compare`] alone.
    pub url_b: Option<String>,
    /// By which protocol that is asked for.
    pub protocol_b: Protocol,
    /// True if any certificate is good.
    pub any_certificate: bool,
    /// The directory that the server serves, so that answers are compared with its files; with
    /// [`JobKind::Load`] and no URL it is served for the run.
    pub directory: Option<PathBuf>,
    /// The directory in which [`JobKind::Cache`] makes files.
    pub scratch: Option<PathBuf>,
    /// Requests per second; `None` if each connection asks again when it is answered.
    pub rate: Option<f64>,
    /// The requests under way at once on each connection, where the protocol can.
    #[serde(default = "one")]
    pub streams: usize,
    /// The duration of what is measured, in seconds.
    pub duration_seconds: f64,
    /// The number of connections.
    pub connections: usize,
}

/// The number of streams in documents that were written before there were any.
fn one() -> usize {
    1
}

/// The values of a form as a person has filled it in, unchecked, each empty if there is none and named as
/// in [`Job`]. Those that a kind of run has no use for are not looked at.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Wanted {
    kind: JobKind,
    url: String,
    protocol: Protocol,
    url_b: String,
    protocol_b: Protocol,
    /// Any certificate is good if it is not empty.
    any_certificate: String,
    directory: String,
    scratch: String,
    rate: String,
    /// Empty for one.
    streams: String,
    duration_seconds: String,
    connections: String,
}

/// The errors of a form, by the name of the field in [`Job`].
pub(super) type FieldErrors = BTreeMap<&'static str, String>;

impl Wanted {
    /// The job, if it can be meant like this.
    /// What is wrong with each field, and what to do about it, otherwise.
    pub(super) fn check(&self) -> Result<Job, FieldErrors> {
        let mut check = Check::default();
        let asks = self.kind != JobKind::Cache;
        let mut job = Job {
            kind: self.kind,
            duration_seconds: {
                let seconds = &self.duration_seconds;
                check.number(
                    "duration_seconds",
                    seconds,
                    DURATION_SECONDS,
                    "number of seconds",
                )
            },
            connections: check.number("connections", &self.connections, CONNECTIONS, WHOLE),
            streams: 1,
            ..Job::default()
        };
        if asks {
            job.protocol = self.protocol;
            job.any_certificate = !self.any_certificate.is_empty();
            job.directory = check.directory("directory", &self.directory);
            if !self.streams.is_empty() {
                job.streams = check.number("streams", &self.streams, STREAMS, WHOLE);
            }
        }
        match self.kind {
            JobKind::Cache => job.scratch = check.directory("scratch", &self.scratch),
            JobKind::Load => {
                job.url = match self.url.trim() {
                    "" if job.directory.is_some() => None,
                    "" => check.note("url", "Give a URL, or a directory to serve".to_owned()),
                    url => check.url("url", url, self.protocol),
                };
                if !self.rate.trim().is_empty() {
                    let of = "number of requests per second";
                    job.rate = Some(check.number("rate", &self.rate, RATE, of));
                }
            }
            JobKind::Compare => {
                job.url = check.url("url", self.url.trim(), self.protocol);
                job.url_b = check.url("url_b", self.url_b.trim(), self.protocol_b);
                job.protocol_b = self.protocol_b;
            }
        }
        match check.errors.is_empty() {
            true => Ok(job),
            false => Err(check.errors),
        }
    }
}

/// What a number without decimals is called.
const WHOLE: &str = "whole number";

/// The check of fields, one after another. What is wrong has a value all the same, which no job
/// gets to see.
#[derive(Default)]
struct Check {
    errors: FieldErrors,
}

impl Check {
    fn note<T>(&mut self, field: &'static str, error: String) -> Option<T> {
        self.errors.insert(field, error);
        None
    }

    fn url(&mut self, field: &'static str, text: &str, protocol: Protocol) -> Option<String> {
        match (target::parse(text), protocol.scheme()) {
            (Err(error), _) => self.note(field, error.to_string()),
            (Ok(url), Some(scheme)) if url.scheme_str() != Some(scheme) => {
                let begins = format!("begins with {scheme}://");
                self.note(
                    field,
                    format!("{protocol} is asked for at a URL that {begins}"),
                )
            }
            (Ok(_), _) => Some(text.to_owned()),
        }
    }

    fn directory(&mut self, field: &'static str, text: &str) -> Option<PathBuf> {
        match text.trim() {
            "" => None,
            path if Path::new(path).is_dir() => Some(PathBuf::from(path)),
            path => self.note(field, format!("{path} is no directory of this machine")),
        }
    }

    /// A number within bounds; `what` is it in words.
    fn number<N: FromStr + PartialOrd + Display + Default>(
        &mut self,
        field: &'static str,
        text: &str,
        bounds: RangeInclusive<N>,
        what: &str,
    ) -> N {
        let number = text.trim().parse().ok();
        let number = number.filter(|number| bounds.contains(number));
        number.unwrap_or_else(|| {
            let (least, most) = (bounds.start(), bounds.end());
            let error = format!("Give a {what} from {least} to {most}");
            self.errors.insert(field, error);
            N::default()
        })
    }
}

/// The progress of a run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct JobProgress {
    /// The present measurement, for a person: `10 KiB, cached`.
    pub what: String,
    /// The share of the whole run that is done: 0 to 1.
    pub done: f64,
    /// The progress of the present measurement.
    pub now: Progress,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(kind: JobKind, url: &str, directory: &str) -> Wanted {
        Wanted {
            kind,
            url: url.to_owned(),
            directory: directory.to_owned(),
            duration_seconds: "5".to_owned(),
            connections: " 64 ".to_owned(),
            ..Wanted::default()
        }
    }

    /// A form that is right in every field, each of another value than the default.
    fn comparison() -> Wanted {
        Wanted {
            protocol: Protocol::H2,
            url_b: "http://b/y?z".to_owned(),
            protocol_b: Protocol::H2c,
            any_certificate: "on".to_owned(),
            streams: "8".to_owned(),
            ..wanted(JobKind::Compare, " https://a/x ", "/")
        }
    }

    #[test]
    fn what_is_right_is_a_job() {
        let mut load = wanted(JobKind::Load, " http://127.0.0.1:80/a ", "/");
        load.rate = "12.5".to_owned();
        let expected = Job {
            kind: JobKind::Load,
            url: Some("http://127.0.0.1:80/a".to_owned()),
            directory: Some(PathBuf::from("/")),
            rate: Some(12.5),
            streams: 1,
            duration_seconds: 5.0,
            connections: 64,
            ..Job::default()
        };
        assert_eq!(load.check(), Ok(expected));
        assert!(wanted(JobKind::Load, "", "/").check().is_ok());

        let expected = Job {
            kind: JobKind::Compare,
            url: Some("https://a/x".to_owned()),
            protocol: Protocol::H2,
            url_b: Some("http://b/y?z".to_owned()),
            protocol_b: Protocol::H2c,
            any_certificate: true,
            directory: Some(PathBuf::from("/")),
            streams: 8,
            duration_seconds: 5.0,
            connections: 64,
            ..Job::default()
        };
        assert_eq!(comparison().check(), Ok(expected));
    }

    #[test]
    fn what_a_kind_has_no_use_for_is_not_looked_at() {
        let everything = Wanted {
            directory: "/no/such".to_owned(),
            scratch: "/".to_owned(),
            rate: "fast".to_owned(),
            streams: "none".to_owned(),
            ..comparison()
        };
        let cache = Wanted {
            kind: JobKind::Cache,
            ..everything.clone()
        };
        let expected = Job {
            scratch: Some(PathBuf::from("/")),
            streams: 1,
            duration_seconds: 5.0,
            connections: 64,
            ..Job::default()
        };
        assert_eq!(cache.check(), Ok(expected));
        let load = Wanted {
            kind: JobKind::Load,
            url_b: "nonsense".to_owned(),
            scratch: "/no/such".to_owned(),
            ..comparison()
        };
        let load = load.check().unwrap();
        assert_eq!((load.url_b, load.scratch), (None, None));
        let compare = Wanted {
            rate: "fast".to_owned(),
            scratch: "/no/such".to_owned(),
            ..comparison()
        };
        let compare = compare.check().unwrap();
        assert_eq!((compare.rate, compare.scratch), (None, None));
    }

    #[test]
    fn each_field_says_what_is_wrong_with_it() {
        fn check(wanted: Wanted, change: impl FnOnce(&mut Wanted), field: &str, part: &str) {
            let mut wanted = wanted;
            change(&mut wanted);
            let errors = wanted.check().unwrap_err();
            assert_eq!(errors.keys().collect::<Vec<_>>(), [&field]);
            assert!(errors[field].contains(part), "{errors:?}");
        }
        let load = || wanted(JobKind::Load, "http://a/", "");
        check(load(), |job| job.url.clear(), "url", "directory");
        for (url, part) in [("/a", "no URL"), ("a b", "no URL"), ("ftp://a/", "of http")] {
            check(load(), |job| job.url = url.to_owned(), "url", part);
            check(comparison(), |job| job.url = url.to_owned(), "url", part);
            let second = |job: &mut Wanted| job.url_b = url.to_owned();
            check(comparison(), second, "url_b", part);
        }
        check(comparison(), |job| job.url.clear(), "url", "no URL");
        check(comparison(), |job| job.url_b.clear(), "url_b", "no URL");
        for protocol in [Protocol::H2, Protocol::H3] {
            check(load(), |job| job.protocol = protocol, "url", "https://");
            let wrong = |job: &mut Wanted| job.protocol_b = protocol;
            check(comparison(), wrong, "url_b", "https://");
        }
        let wrong = |job: &mut Wanted| job.protocol = Protocol::H2c;
        check(comparison(), wrong, "url", "http://");
        for path in ["/no/such", "/dev/null"] {
            let wrong = |job: &mut Wanted| job.directory = path.to_owned();
            check(load(), wrong, "directory", path);
            let cache = wanted(JobKind::Cache, "", "");
            check(cache, |job| job.scratch = path.to_owned(), "scratch", path);
        }
        let all = |field, part, of: fn(&mut Wanted) -> &mut String, texts: &[&str]| {
            for text in texts {
                check(load(), |job| *of(job) = (*text).to_owned(), field, part);
            }
        };
        let seconds = ["", "0", "-1", "3601", "NaN", "inf", "soon"];
        all(
            "duration_seconds",
            "3600",
            |job| &mut job.duration_seconds,
            &seconds,
        );
        let connections = ["", "0", "1.5", "10001", "-1"];
        all(
            "connections",
            "10000",
            |job| &mut job.connections,
            &connections,
        );
        all("streams", "100", |job| &mut job.streams, &["0", "101", "x"]);
        all(
            "rate",
            "1000000",
            |job| &mut job.rate,
            &["0", "-1", "1e9", "NaN", "fast"],
        );
    }

    #[test]
    fn all_that_is_wrong_is_said_at_once() {
        let mut wanted = wanted(JobKind::Load, "x", "/no/such");
        wanted.duration_seconds.clear();
        wanted.connections.clear();
        assert_eq!(wanted.check().unwrap_err().len(), 4);
    }

    #[test]
    fn what_was_saved_before_there_were_protocols_is_read() {
        let old = r#"{"kind":"load","url":"http://a/","directory":null,"duration_seconds":1.0,
            "connections":2}"#;
        let job: Job = serde_json::from_str(old).unwrap();
        let found = (job.protocol, job.rate, job.streams);
        assert_eq!(found, (Protocol::Http1, None, 1));
    }
}
