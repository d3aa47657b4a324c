//! Byte ranges (RFC 9110 section 14).

use std::cmp::Ordering;
use std::ops::Range;

use crate::field::{list, number, trim_ows};

/// The outcome of a Range field, of a representation of known length.
///
/// Every range is half-open, not empty and within the length.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RangeOutcome {
    /// The field is ignored as if it were absent: another unit, a syntax error, more than the limits allow,
    /// or nothing that a 206 could express.
    Ignore,
    /// 416 (Range Not Satisfiable).
    Unsatisfiable,
    /// 206 (Partial Content) with these bytes.
    Single(Range<u64>),
    /// 206 (Partial Content) in parts: two or more ranges that neither overlap nor touch, in the
    /// order in which the client named them first.
    Multiple(Vec<Range<u64>>),
}

/// The limits within which a Range field is honoured: a field of some hundred bytes must not cost an answer
/// of a thousand parts (RFC 9110 section 17.15).
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct RangeLimits {
    /// A field with more range-specs than this is ignored. Default 100.
    pub max_specs: usize,
    /// A field that needs more parts than this, after merging, is ignored. Default 32.
    pub max_parts: usize,
    /// The least gap in bytes: ranges with a smaller one than this are merged into one, because a part of its
    /// own costs about as much (RFC 9110 section 15.3.7.2). Ranges that overlap or touch always are. Default
    /// 0: nobody gets bytes that were not asked for.
    pub merge_gap: u64,
}

impl Default for RangeLimits {
    fn default() -> Self {
        RangeLimits {
            max_specs: 100,
            max_parts: 32,
            merge_gap: 0,
        }
    }
}

/// Evaluates a Range field, whose raw value this is, for a representation of `length` bytes
/// (RFC 9110 sections 14.1.1, 14.1.2 and 14.2).
///
/// Positions may have any number of digits. One syntax error anywhere makes the whole field
/// ignored. Range-specs that can't be satisfied are dropped; if none is left, the outcome is
/// [`RangeOutcome::Unsatisfiable`]. For a single range nothing is allocated.
///
/// ```
/// use salver_semantics::{RangeLimits, RangeOutcome, evaluate_range};
///
/// let evaluate = |value: &[u8]| evaluate_range(value, 1_000, &RangeLimits::default());
/// assert_eq!(evaluate(b"bytes=0-99"), RangeOutcome::Single(0..100));
/// assert_eq!(evaluate(b"bytes=-1"), RangeOutcome::Single(999..1_000));
/// assert_eq!(evaluate(b"bytes=0-0, 500-"), RangeOutcome::Multiple(vec![0..1, 500..1_000]));
/// assert_eq!(evaluate(b"bytes=1000-"), RangeOutcome::Unsatisfiable);
/// assert_eq!(evaluate(b"lines=1-2"), RangeOutcome::Ignore);
/// ```
pub fn evaluate_range(value: &[u8], length: u64, limits: &RangeLimits) -> RangeOutcome {
    let Some(set) = byte_range_set(value) else {
        return RangeOutcome::Ignore;
    };
    let mut specs = 0_usize;
    let mut empty_suffix = false;
    let mut first = None;
    let mut others = Vec::new();
    for text in list(set) {
        specs += 1;
        let spec = if specs <= limits.max_specs {
            RangeSpec::parse(text)
        } else {
            None
        };
        let Some(spec) = spec else {
            return RangeOutcome::Ignore;
        };
        match spec.satisfy(length) {
            Satisfied::Range(range) if first.is_none() => first = Some(range),
            Satisfied::Range(range) => others.push(range),
            Satisfied::Empty => empty_suffix = true,
            Satisfied::No => {}
        }
    }
    match first {
        // Section 14.1.1: a range-set has at least one range-spec.
        None if specs == 0 => RangeOutcome::Ignore,
        // The last n bytes of nothing: satisfiable (section 14.1.2), but there is no Content-Range
        // for an empty range, and the whole is the same bytes.
        None if empty_suffix => RangeOutcome::Ignore,
        None => RangeOutcome::Unsatisfiable,
        Some(first) if others.is_empty() => RangeOutcome::Single(first),
        Some(first) => {
            others.insert(0, first);
            several(others, limits)
        }
    }
}

/// The range-set, if the unit is bytes. Range units are case-insensitive (section 14.1).
fn byte_range_set(value: &[u8]) -> Option<&[u8]> {
    let (unit, set) = trim_ows(value).split_at_checked(b"bytes=".len())?;
    unit.eq_ignore_ascii_case(b"bytes=").then_some(set)
}

/// One range-spec (section 14.1.1). A position that exceeds `u64` is the largest `u64`: no
/// representation is that long.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum RangeSpec {
    /// `first-last`, both included, or `first-`.
    Int { first: u64, last: Option<u64> },
    /// `-length`.
    Suffix { length: u64 },
}

/// The bytes that a range-spec selects.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Satisfied {
    /// At least one byte.
    Range(Range<u64>),
    /// No bytes, but rightly so.
    Empty,
    /// The range-spec can't be satisfied.
    No,
}

impl RangeSpec {
    /// Reads a range-spec; `None` if `text` is none, or an int-range whose last position is before its first:
    /// that is invalid (section 14.1.1).
    fn parse(text: &[u8]) -> Option<RangeSpec> {
        let dash = text.iter().position(|&byte| byte == b'-')?;
        let (first, rest) = text.split_at_checked(dash)?;
        let last = rest.strip_prefix(b"-")?;
        match (first, last) {
            ([], length) => Some(RangeSpec::Suffix {
                length: number(length)?,
            }),
            (first, []) => Some(RangeSpec::Int {
                first: number(first)?,
                last: None,
            }),
            (first, last) => {
                let spec = RangeSpec::Int {
                    first: number(first)?,
                    last: Some(number(last)?),
                };
                // By digits, not by value: two positions beyond u64 have an order too.
                (compare_digits(first, last) != Ordering::Greater).then_some(spec)
            }
        }
    }

    /// The bytes that it selects of `length` bytes (section 14.1.2).
    fn satisfy(self, length: u64) -> Satisfied {
        match self {
            RangeSpec::Int { first, .. } if first >= length => Satisfied::No,
            RangeSpec::Int { first, last } => {
                let end = last.map_or(length, |last| last.saturating_add(1).min(length));
                Satisfied::Range(first..end)
            }
            RangeSpec::Suffix { length: 0 } => Satisfied::No,
            RangeSpec::Suffix { .. } if length == 0 => Satisfied::Empty,
            RangeSpec::Suffix { length: suffix } => {
                Satisfied::Range(length.saturating_sub(suffix)..length)
            }
        }
    }
}

/// The order of two numbers of any length.
fn compare_digits(left: &[u8], right: &[u8]) -> Ordering {
    let [left, right] = [left, right].map(|digits| {
        let zeros = digits.iter().take_while(|&&digit| digit == b'0').count();
        digits
            .split_at_checked(zeros)
            .map_or(digits, |(_zeros, rest)| rest)
    });
    left.len().cmp(&right.len()).then_with(|| left.cmp(right))
}

/// Merges ranges (section 15.3.7.2), and puts what is left in the order of its first member.
fn several(ranges: Vec<Range<u64>>, limits: &RangeLimits) -> RangeOutcome {
    let mut sorted: Vec<(usize, Range<u64>)> = ranges.into_iter().enumerate().collect();
    sorted.sort_unstable_by_key(|(position, range)| (range.start, *position));
    let mut merged: Vec<(usize, Range<u64>)> = Vec::with_capacity(sorted.len());
    for (position, range) in sorted {
        match merged.last_mut() {
            Some((first_position, last)) if is_near(last, &range, limits.merge_gap) => {
                last.end = last.end.max(range.end);
                *first_position = position.min(*first_position);
            }
            _ => merged.push((position, range)),
        }
    }
    if merged.len() > limits.max_parts {
        return RangeOutcome::Ignore;
    }
    merged.sort_unstable_by_key(|(position, _)| *position);
    let mut parts: Vec<Range<u64>> = merged.into_iter().map(|(_, range)| range).collect();
    match (parts.pop(), parts.is_empty()) {
        // A single range is never sent as multipart (section 15.3.7.2).
        (Some(only), true) => RangeOutcome::Single(only),
        (last, _) => {
            parts.extend(last);
            RangeOutcome::Multiple(parts)
        }
    }
}

/// True if `next`, which doesn't start before `last`, overlaps or touches it, or is nearer than
/// `gap`.
fn is_near(last: &Range<u64>, next: &Range<u64>, gap: u64) -> bool {
    match next.start.checked_sub(last.end) {
        None | Some(0) => true,
        Some(between) => between < gap,
    }
}

/// The Content-Range of a 206 or of one of its parts: `bytes first-last/length` (RFC 9110
/// section 14.4). `range` is half-open and not empty.
pub fn content_range(range: &Range<u64>, length: u64) -> String {
    format!(
        "bytes {}-{}/{length}",
        range.start,
        range.end.saturating_sub(1)
    )
}

/// The Content-Range of a 416: `bytes */length` (RFC 9110 section 14.4).
pub fn content_range_unsatisfied(length: u64) -> String {
    format!("bytes */{length}")
}

#[cfg(test)]
mod tests;
