//! The differences between what two servers send: a comparison of different answers compares nothing.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::answer::Answer;
use crate::answer::expected::Bytes;
use crate::error::BenchError;
use crate::protocol::probe_client::ProbeClient;
use crate::requests::workload::Workload;

/// The longest content that is decoded, in bytes: 1 GiB. Longer ones are compared as they are coded.
const LONGEST: u64 = 1 << 30;

/// The answer of one server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// The status code.
    pub status: u16,
    /// `Content-Encoding`, or `identity`.
    pub coding: String,
    /// Bytes of content as they were sent. Two servers may compress the same content to different
    /// lengths: that is part of what is compared.
    pub coded_bytes: u64,
    /// Bytes of the decoded content. `None` if it could not be decoded.
    pub decoded_bytes: Option<u64>,
    /// XXH3-64 of the decoded content, or of the coded if it could not be decoded, in hexadecimal.
    pub hash: String,
}

/// A request that the two answer differently.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Difference {
    /// The path.
    pub path: String,
    /// The `Accept-Encoding` of the request; empty if it had none.
    pub accept_encoding: String,
    /// The answer of A.
    pub a: Seen,
    /// The answer of B.
    pub b: Seen,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.path)?;
        if !self.accept_encoding.is_empty() {
            write!(f, " (Accept-Encoding: {})", self.accept_encoding)?;
        }
        let (a, b) = (&self.a, &self.b);
        if a.status != b.status {
            write!(f, ": A sends status {}, B {}", a.status, b.status)
        } else if a.coding != b.coding {
            let (a_bytes, b_bytes) = (a.coded_bytes, b.coded_bytes);
            write!(
                f,
                ": A sends coding {} ({a_bytes} bytes), B {} ({b_bytes} bytes)",
                a.coding, b.coding
            )
        } else if a.decoded_bytes != b.decoded_bytes {
            let length = |seen: &Seen| match seen.decoded_bytes {
                Some(bytes) => format!("{bytes} bytes"),
                None => format!("what is no {}", seen.coding),
            };
            write!(f, ": A sends {}, B {}", length(a), length(b))
        } else {
            write!(f, ": A and B send different bytes of the same length")
        }
    }
}

impl Seen {
    fn in_answer(answer: &Answer) -> Self {
        let decoded = answer.coding.decode(&answer.content, LONGEST).ok();
        let bytes = Bytes::of(decoded.as_deref().unwrap_or(&answer.content));
        Seen {
            status: answer.status,
            coding: answer.coding.name().to_owned(),
            coded_bytes: answer.content_bytes,
            decoded_bytes: decoded.is_some().then_some(bytes.length),
            hash: format!("{:016x}", bytes.hash),
        }
    }

    /// True if a client gets the same by both.
    fn is_like(&self, other: &Seen) -> bool {
        // Coded lengths may differ.
        let coded_bytes = self.coded_bytes;
        *self
            == Seen {
                coded_bytes,
                ..other.clone()
            }
    }
}

/// Asks both for each page once with each `Accept-Encoding`, and gives what they answer differently.
/// The workloads are of the same pages, named by `paths`.
///
/// # Errors
/// Failed: one of them gave no answer.
pub(crate) fn differences(
    paths: &[String],
    a: &Workload,
    b: &Workload,
    timeout: Duration,
) -> Result<Vec<Difference>, BenchError> {
    let mut clients = [
        ProbeClient::new(a.dialer()?, timeout),
        ProbeClient::new(b.dialer()?, timeout),
    ];
    let none = [String::new()];
    let accept = match &*a.mix.accept_encoding {
        [] => &none,
        some => some,
    };
    let mut different = Vec::new();
    for ((path, page_a), page_b) in paths.iter().zip(&a.pages).zip(&b.pages) {
        for accept_encoding in accept {
            let [client_a, client_b] = &mut clients;
            let ask = |client: &mut ProbeClient, side: &Workload, page| {
                let answer = client.call(&side.request(page, accept_encoding, ""))?;
                Ok(Seen::in_answer(answer))
            };
            let (a, b) = (ask(client_a, a, page_a)?, ask(client_b, b, page_b)?);
            if !a.is_like(&b) {
                different.push(Difference {
                    path: path.clone(),
                    accept_encoding: accept_encoding.clone(),
                    a,
                    b,
                });
            }
        }
    }
    Ok(different)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_said_by_what_matters_most() {
        let seen = || Seen {
            status: 200,
            coding: "br".to_owned(),
            coded_bytes: 10,
            decoded_bytes: Some(20),
            hash: "0".to_owned(),
        };
        let check = |b: Seen, accept_encoding: &str, expected: Option<&str>| {
            let a = seen();
            assert_eq!(a.is_like(&b), expected.is_none(), "{b:?}");
            let difference = Difference {
                path: "/x".to_owned(),
                accept_encoding: accept_encoding.to_owned(),
                a,
                b,
            };
            if let Some(expected) = expected {
                assert_eq!(difference.to_string(), expected);
            }
        };
        let with = |change: fn(&mut Seen)| {
            let mut seen = seen();
            change(&mut seen);
            seen
        };
        check(seen(), "", None);
        check(with(|seen| seen.coded_bytes = 11), "", None);
        let other = with(|seen| (seen.status, seen.coding) = (404, "gzip".to_owned()));
        check(other, "", Some("/x: A sends status 200, B 404"));
        let other = with(|seen| (seen.coding, seen.coded_bytes) = ("gzip".to_owned(), 12));
        let said = "/x (Accept-Encoding: br): A sends coding br (10 bytes), B gzip (12 bytes)";
        check(other, "br", Some(said));
        let other = with(|seen| seen.decoded_bytes = Some(21));
        check(other, "", Some("/x: A sends 20 bytes, B 21 bytes"));
        let other = with(|seen| seen.decoded_bytes = None);
        check(other, "", Some("/x: A sends 20 bytes, B what is no br"));
        let other = with(|seen| seen.hash = "1".to_owned());
        check(
            other,
            "",
            Some("/x: A and B send different bytes of the same length"),
        );
    }
}
