//! The results of a run, as values. `salver bench ... --json` writes them as they are here; the schema
//! is the documentation of these types, and [`SCHEMA`] changes when a reader of the last one could
//! not read the next.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The number of this schema, which every document carries.
pub const SCHEMA: u32 = 1;

/// A version of HTTP.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Http {
    /// HTTP/1.1 (RFC 9112), over TLS or not.
    #[default]
    #[serde(rename = "1.1")]
    One,
    /// HTTP/2 (RFC 9113): over TLS by ALPN, else with prior knowledge.
    #[serde(rename = "2")]
    Two,
    /// HTTP/3 (RFC 9114), which is always encrypted.
    #[serde(rename = "3")]
    Three,
}

impl FromStr for Http {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "1" | "1.1" => Ok(Http::One),
            "2" => Ok(Http::Two),
            "3" => Ok(Http::Three),
            _ => Err("not a version of HTTP that is spoken here: give 1, 2 or 3".to_owned()),
        }
    }
}

impl fmt::Display for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Http::One => "HTTP/1.1",
            Http::Two => "HTTP/2",
            Http::Three => "HTTP/3",
        })
    }
}

/// One load on one server, measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// The target, for a person: a URL, a directory, a file's name.
    pub target: String,
    /// In which order requests were sent.
    pub schedule: Schedule,
    /// The version of HTTP.
    #[serde(default)]
    pub http: Http,
    /// The TLS parameters of the first connection; `None` without TLS.
    #[serde(default)]
    pub tls: Option<Tls>,
    /// How many connections there were.
    pub connections: usize,
    /// Requests under way at once on each connection, at most.
    #[serde(default = "one")]
    pub streams: usize,
    /// Connections that were opened while it was measured, because others had ended: each with its
    /// handshakes.
    #[serde(default)]
    pub reconnects: u64,
    /// Requests that the server said it would not look at (GOAWAY without an error, or with HTTP/3 a
    /// stream that it rejects), and that were asked again on another connection, as browsers do.
    /// Their latency counts from the first time.
    #[serde(default)]
    pub asked_again: u64,
    /// How long was measured, in seconds, warm-up excluded.
    pub seconds: f64,
    /// Requests whose answers were complete and right. What failed is in [`errors`](Self::errors)
    /// alone.
    pub requests: u64,
    /// [`requests`](Self::requests) by [`seconds`](Self::seconds).
    pub requests_per_second: f64,
    /// Requests that failed, by how. Not one is left out.
    pub errors: Errors,
    /// Complete answers by status code, those of the wrong status included.
    pub statuses: BTreeMap<u16, u64>,
    /// Complete answers by `Content-Encoding`; those that have none are `identity`.
    pub codings: BTreeMap<String, u64>,
    /// Bytes of heads and framing received.
    pub head_bytes: u64,
    /// Bytes of content received, coded as they were sent: those of answers that failed or never
    /// ended included.
    pub content_bytes: u64,
    /// From the moment a request was sent to the end of its answer.
    pub raw: Latency,
    /// From the moment a request was *to be* sent: what a user who does not wait for others has
    /// seen. Only a schedule with a rate or bursts has intended moments (Gil Tene, "How NOT to
    /// Measure Latency", 2013: coordinated omission).
    pub corrected: Option<Latency>,
    /// The cost of the measuring itself.
    pub client: ClientCost,
    /// The cost of the server, if it is a process of this machine that was named.
    pub server: Option<ServerCost>,
    /// How answers were checked.
    pub verified: Verified,
    /// Why the figures must not be believed, in a sentence each; empty if they may.
    pub invalid: Vec<String>,
    /// It was ended early: the figures are of [`seconds`](Self::seconds), and what was under
    /// way then is neither an answer nor an error.
    #[serde(default)]
    pub interrupted: bool,
}

impl Measured {
    /// True if all went right and the figures may be believed.
    pub fn is_sound(&self) -> bool {
        self.errors.total() == 0 && self.invalid.is_empty()
    }

    /// The latency that counts: corrected where a schedule says when requests are due, else raw.
    pub fn latency(&self) -> &Latency {
        self.corrected.as_ref().unwrap_or(&self.raw)
    }
}

/// The number of streams in documents that were written before there were any.
fn one() -> usize {
    1
}

/// An encrypted connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tls {
    /// The version: `TLSv1.3`, say.
    pub version: String,
    /// The cipher suite: `TLS13_AES_128_GCM_SHA256`, say. `None` with HTTP/3, where the library does
    /// not tell.
    pub cipher: Option<String>,
    /// How the certificate was looked at.
    pub certificate: Certificate,
}

/// How certificates were looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Certificate {
    /// Its signers are trusted, and it names the host.
    #[default]
    Verified,
    /// Any would have done.
    Any,
}

/// In which order requests are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Schedule {
    /// Each connection asks again as soon as it is answered.
    #[default]
    Closed,
    /// At a fixed rate, whether or not the answers come.
    Rate {
        /// Requests per second, over all connections.
        per_second: f64,
    },
    /// Every connection once at the same moment, again and again.
    Burst {
        /// From one burst to the next, in milliseconds.
        every_ms: u64,
    },
}

/// Requests that failed, by how.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Errors {
    /// No connection could be opened for it. By a schedule each is a request that was due; where
    /// answers ask for the next request, each attempt is one.
    pub connect: u64,
    /// No complete answer within the time-out.
    pub timeout: u64,
    /// The connection failed, or was closed before a byte of the answer.
    pub closed: u64,
    /// The connection ended within the answer.
    pub short: u64,
    /// The answer is not HTTP.
    pub malformed: u64,
    /// Complete, and of another status than was expected.
    pub status: u64,
    /// Complete, and not the bytes that were expected.
    pub content: u64,
}

/// One of the kinds of errors.
pub(crate) type ErrorKind = fn(&mut Errors) -> &mut u64;

impl Errors {
    /// Adds the others.
    pub fn add(&mut self, other: &Errors) {
        self.connect += other.connect;
        self.timeout += other.timeout;
        self.closed += other.closed;
        self.short += other.short;
        self.malformed += other.malformed;
        self.status += other.status;
        self.content += other.content;
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        self.kinds().iter().map(|(_, count)| count).sum()
    }

    /// Each kind in words, with its count.
    pub fn kinds(&self) -> [(&'static str, u64); 7] {
        [
            ("no connection", self.connect),
            ("timed out", self.timeout),
            ("closed without an answer", self.closed),
            ("cut short", self.short),
            ("not HTTP", self.malformed),
            ("of the wrong status", self.status),
            ("of the wrong content", self.content),
        ]
    }
}

/// A figure of which nothing was measured: zero here, and null in a document.
mod figure {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(figure: &f64, to: S) -> Result<S::Ok, S::Error> {
        (*figure > 0.0).then_some(*figure).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Ok(Option::deserialize(from)?.unwrap_or_default())
    }
}

/// How long answers took, in microseconds, from a histogram of three significant digits. Of none
/// recorded the figures are zero, and null in a document.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// How many were recorded.
    pub count: u64,
    /// The shortest.
    #[serde(with = "figure")]
    pub min_us: f64,
    /// The arithmetic mean.
    #[serde(with = "figure")]
    pub mean_us: f64,
    /// The standard deviation.
    pub deviation_us: f64,
    /// Half took less.
    #[serde(with = "figure")]
    pub p50_us: f64,
    /// Three quarters took less.
    #[serde(with = "figure")]
    pub p75_us: f64,
    /// 90 % took less.
    #[serde(with = "figure")]
    pub p90_us: f64,
    /// 99 % took less.
    #[serde(with = "figure")]
    pub p99_us: f64,
    /// 99.9 % took less.
    #[serde(with = "figure")]
    pub p999_us: f64,
    /// 99.99 % took less.
    #[serde(with = "figure")]
    pub p9999_us: f64,
    /// The longest.
    #[serde(with = "figure")]
    pub max_us: f64,
    /// Points of the whole curve, rising: percentile and microseconds.
    pub curve: Vec<(f64, f64)>,
}

/// The cost of measuring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientCost {
    /// Threads that sent requests.
    pub threads: usize,
    /// CPU of all of them per answer, in microseconds; 0 if there was none.
    #[serde(with = "figure")]
    pub cpu_us_per_request: f64,
    /// The share of the time that the busiest of them was on a CPU: 0 to 1.
    pub busiest_thread: f64,
    /// The share of the time that the same one was ready to run and had to wait for a CPU. `None` if
    /// the kernel does not tell.
    #[serde(default)]
    pub waiting_thread: Option<f64>,
    /// Requests that left more than a millisecond after they could have: the schedule said so, and
    /// a connection was free. It is the client that was late.
    pub late_sends: u64,
}

/// The cost of the server meanwhile, from `/proc`: that process and its descendants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerCost {
    /// User and system time per answer, in microseconds; 0 if there was none, or too little to tell.
    #[serde(with = "figure")]
    pub cpu_us_per_request: f64,
    /// The share of one core that it used.
    pub cores: f64,
    /// Resident memory at the end, in bytes.
    pub resident_bytes: u64,
}

/// How answers were checked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verified {
    /// Status and framing only: nobody said what the content should be.
    #[default]
    Framing,
    /// Status, length and content: each decoded content is that of the file.
    Content,
}

/// The progress of a run, told about once a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// Still warming up: nothing of this will be in the result.
    pub warming_up: bool,
    /// Since the beginning of this phase, in seconds.
    pub elapsed_seconds: f64,
    /// How long the phase will take, in seconds.
    pub of_seconds: f64,
    /// Right answers in the last interval, per second.
    pub requests_per_second: f64,
    /// The mean latency of these answers, raw, in microseconds.
    #[serde(default, with = "figure")]
    pub mean_us: f64,
    /// Errors so far in this phase.
    pub errors: u64,
}
