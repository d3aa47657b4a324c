//! The probe of a server before a run: each request is made twice where answers are to be compared,
//! and from those answers follows what is expected of all that come later.

use std::fs;
use std::path::Path;
use std::time::Duration;

use crate::answer::expected::{Bytes, Content, Expected, Field};
use crate::error::BenchError;
use crate::protocol::message::message;
use crate::protocol::probe_client::ProbeClient;
use crate::protocol::transport::Dialer;
use crate::requests::workload::{Page, Prepared, Prepares, Workload};
use crate::result::model::Http;

/// Longer files are not compared: an answer is held in memory to decode it.
const LONGEST_FILE: u64 = 1 << 30;

/// How long the ranges are that are asked for, in bytes, where there is so much.
const RANGE: u64 = 1024;

/// Where the ranges begin that are asked for.
const RANGES: [Part; 3] = [Part::First, Part::Middle, Part::Last];

#[derive(Clone, Copy)]
enum Part {
    First,
    Middle,
    Last,
}

/// All requests of a run, each with what is expected.
///
/// # Errors
/// The server cannot be asked, or a file cannot be read.
pub(crate) fn prepare(
    workload: &Workload,
    dialer: &Dialer,
    timeout: Duration,
) -> Result<Prepares, BenchError> {
    let mix = &workload.mix;
    let mut client = ProbeClient::new(dialer.clone(), timeout);
    let none = [String::new()];
    let accepts = match &*mix.accept_encoding {
        [] => &none[..],
        some => some,
    };
    let share = 1.0 / accepts.len() as f64;
    let mut kinds: Vec<(f64, Vec<Prepared>)> = Vec::new();
    let (mut untagged, mut unstable) = (0_usize, 0_usize);
    let looks = workload.has_files() || mix.ranges > 0.0 || mix.conditional > 0.0;
    for accept in accepts {
        let mut plain = Vec::with_capacity(workload.pages.len());
        let mut ranges: Vec<Vec<Prepared>> = vec![Vec::new(); RANGES.len()];
        let mut conditional = Vec::new();
        for page in &workload.pages {
            let bytes = workload.request(page, accept, "");
            if !looks {
                let mut expected = Expected::status(page.status.unwrap_or(mix.status));
                if workload.method(page) == "HEAD" {
                    expected.content = Content::Nothing;
                }
                plain.push(Prepared::new(bytes, expected));
                continue;
            }
            let seen = look(&mut client, page, &bytes, mix.status)?;
            if mix.ranges > 0.0 {
                unstable += usize::from(seen.stable.is_none());
                for (part, requests) in RANGES.iter().zip(&mut ranges) {
                    requests.push(match seen.part(*part) {
                        Some((field, expected)) => {
                            Prepared::new(workload.request(page, accept, &field), expected)
                        }
                        None => seen.plain(&bytes),
                    });
                }
            }
            if mix.conditional > 0.0 {
                conditional.push(match &seen.entity_tag {
                    Some(tag) => {
                        let field = format!("If-None-Match: {tag}\r\n");
                        let bytes = workload.request(page, accept, &field);
                        let expected = Expected {
                            field: Some(Field::EntityTag(tag.clone().into_bytes())),
                            ..Expected::status(304)
                        };
                        Prepared::new(bytes, expected)
                    }
                    None => {
                        untagged += 1;
                        seen.plain(&bytes)
                    }
                });
            }
            plain.push(seen.plain(&bytes));
        }
        let of_plain = (1.0 - mix.ranges - mix.conditional).max(0.0);
        kinds.push((share * of_plain, plain));
        if mix.ranges > 0.0 {
            for requests in ranges {
                kinds.push((share * mix.ranges / 3.0, requests));
            }
        }
        if mix.conditional > 0.0 {
            kinds.push((share * mix.conditional, conditional));
        }
    }
    kinds.retain(|(share, _)| *share > 0.0);
    let mut up_to = 0.0;
    for (share, _) in &mut kinds {
        up_to += *share;
        *share = up_to;
    }
    if dialer.http != Http::One {
        let all = kinds.iter_mut().flat_map(|(_, requests)| requests);
        for prepared in all {
            prepared.message = message(&prepared.bytes, dialer.secure.is_some())?;
        }
    }
    let all = workload.pages.len() * accepts.len();
    let changed = "differed from one time to the next";
    let differs = [
        (untagged, "conditional requests", "had no ETag"),
        (unstable, "requests for ranges", changed),
    ];
    let differs = differs.iter().filter(|(count, ..)| *count > 0);
    let differs = differs.map(|(count, what, why)| {
        format!("{what} were asked as plain ones: {count} of {all} answers {why}")
    });
    Ok(Prepares {
        kinds,
        sequence: workload.sequence.clone(),
        differs: differs.collect(),
    })
}

/// The findings of two answers to one request.
struct Seen {
    expected: Expected,
    /// The coded content, if it is the same each time and of the expected status.
    stable: Option<Vec<u8>>,
    entity_tag: Option<String>,
}

fn look(
    client: &mut ProbeClient,
    page: &Page,
    request: &[u8],
    status: u16,
) -> Result<Seen, BenchError> {
    let answer = client.call(request)?;
    let (found, coding) = (answer.status, answer.coding.clone());
    let entity_tag = String::from_utf8(answer.entity_tag.clone()).ok();
    let entity_tag = entity_tag.filter(|tag| !tag.is_empty() && found == status);
    let coded = answer.content.clone();
    let again = client.call(request)?;
    let is_stable = again.coding == coding && again.content == coded && found == status;
    let content = match &page.file {
        None => Content::Any,
        Some(path) => {
            let file = read(path)?;
            let right = Bytes::of(&file);
            let is_right = coding
                .decode(&coded, right.length)
                .is_ok_and(|content| content == file);
            match is_right && is_stable {
                true => Content::Coded {
                    coding: coding.clone(),
                    bytes: Bytes::of(&coded),
                },
                false => Content::Decoded(right),
            }
        }
    };
    Ok(Seen {
        expected: Expected {
            content,
            ..Expected::status(status)
        },
        stable: is_stable.then_some(coded),
        entity_tag,
    })
}

fn read(path: &Path) -> Result<Vec<u8>, BenchError> {
    let failed = |error: std::io::Error| BenchError::unreadable(path, &error);
    if fs::metadata(path).map_err(failed)?.len() > LONGEST_FILE {
        let why = "files longer than 1 GiB are not compared; leave it out";
        return Err(BenchError::unreadable(path, &why));
    }
    fs::read(path).map_err(failed)
}

impl Seen {
    fn plain(&self, request: &[u8]) -> Prepared {
        Prepared::new(request.to_vec(), self.expected.clone())
    }

    /// The `Range` field that asks for a part of the coded content (RFC 9110 section 14), and what
    /// is expected; `None` if there is nothing to ask for.
    fn part(&self, part: Part) -> Option<(String, Expected)> {
        let coded = self.stable.as_ref().filter(|coded| !coded.is_empty())?;
        let length = coded.len() as u64;
        let (field, first, last) = match part {
            Part::First => {
                let last = RANGE.min(length) - 1;
                (format!("0-{last}"), 0, last)
            }
            Part::Middle => {
                let first = length / 2;
                let last = (first + RANGE - 1).min(length - 1);
                (format!("{first}-{last}"), first, last)
            }
            Part::Last => {
                let first = length.saturating_sub(RANGE);
                (format!("-{RANGE}"), first, length - 1)
            }
        };
        let piece = usize::try_from(first).ok()?..=usize::try_from(last).ok()?;
        let content = match &self.expected.content {
            Content::Coded { coding, .. } => Content::Coded {
                coding: coding.clone(),
                bytes: Bytes::of(coded.get(piece)?),
            },
            Content::Nothing | Content::Any | Content::Decoded(_) => Content::Any,
        };
        let range = format!("bytes {first}-{last}/{length}");
        let expected = Expected {
            content,
            field: Some(Field::ContentRange(range)),
            ..Expected::status(206)
        };
        Some((format!("Range: bytes={field}\r\n"), expected))
    }
}
