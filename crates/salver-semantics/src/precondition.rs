//! Preconditions of GET and HEAD (RFC 9110 section 13).

use crate::date::HttpDate;
use crate::field::trim_ows;
use crate::validator::{EntityTag, Validators, entity_tags};

/// The precondition fields of a GET or HEAD request, each as its raw value; `None` if absent.
///
/// If-Range is not among them: it is asked last and for Range only, by [`if_range`].
#[derive(Copy, Clone, Debug, Default)]
pub struct Preconditions<'a> {
    /// If-Match.
    pub if_match: Option<&'a [u8]>,
    /// If-None-Match.
    pub if_none_match: Option<&'a [u8]>,
    /// If-Modified-Since.
    pub if_modified_since: Option<&'a [u8]>,
    /// If-Unmodified-Since.
    pub if_unmodified_since: Option<&'a [u8]>,
}

/// What the preconditions say about the answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Answer as if there were no preconditions.
    Proceed,
    /// 304 (Not Modified).
    NotModified,
    /// 412 (Precondition Failed).
    Failed,
}

impl Preconditions<'_> {
    /// Whether the request carries no precondition at all.
    pub fn is_empty(&self) -> bool {
        self.if_match.is_none()
            && self.if_none_match.is_none()
            && self.if_modified_since.is_none()
            && self.if_unmodified_since.is_none()
    }

    /// Evaluates the preconditions of a GET or HEAD request against the selected representation,
    /// which must exist, in the order of RFC 9110 section 13.2.2.
    ///
    /// A date that is malformed, or a date where the representation has no Last-Modified, is as if
    /// absent. An entity-tag list without a valid member matches nothing.
    pub fn evaluate(&self, current: &Validators<'_>, now: HttpDate) -> Verdict {
        // Step 1, section 13.1.1: strong comparison, a weak tag never matches.
        if let Some(value) = self.if_match {
            if !matches(value, current, EntityTag::strong_eq) {
                return Verdict::Failed;
            }
        // Step 2, section 13.1.4: only where there is no If-Match.
        } else if modified_since(self.if_unmodified_since, current, now) == Some(true) {
            return Verdict::Failed;
        }
        // Step 3, section 13.1.2: weak comparison; for GET and HEAD a match is 304.
        if let Some(value) = self.if_none_match {
            if matches(value, current, EntityTag::weak_eq) {
                return Verdict::NotModified;
            }
        // Step 4, section 13.1.3: only where there is no If-None-Match.
        } else if modified_since(self.if_modified_since, current, now) == Some(false) {
            return Verdict::NotModified;
        }
        Verdict::Proceed
    }
}

/// Whether `value`, `*` or a list of entity tags, matches the current representation.
fn matches<'a>(
    value: &'a [u8],
    current: &Validators<'a>,
    equal: fn(&EntityTag<'a>, &EntityTag<'a>) -> bool,
) -> bool {
    // "*" matches whatever exists, with or without an entity tag.
    trim_ows(value) == b"*"
        || current
            .entity_tag
            .is_some_and(|current| entity_tags(value).any(|tag| equal(&tag, &current)))
}

/// Whether the current representation was modified after the date; `None` where that can't be
/// said: no field, no valid date (two lines of it are none), no modification date.
fn modified_since(value: Option<&[u8]>, current: &Validators<'_>, now: HttpDate) -> Option<bool> {
    let date = HttpDate::parse(trim_ows(value?), now)?;
    Some(current.last_modified? > date)
}

/// Whether If-Range, whose raw value this is, lets Range be honoured (RFC 9110 section 13.1.5):
/// `false` means that the whole representation is to be sent.
///
/// An entity tag must match by strong comparison. A date must be the representation's
/// Last-Modified, to the second, and a strong validator (section 8.8.2.2): at least one second
/// older than `now`, because within its own second the file could have changed twice.
pub fn if_range(value: &[u8], current: &Validators<'_>, now: HttpDate) -> bool {
    let value = trim_ows(value);
    if let Some(tag) = EntityTag::parse(value) {
        return current
            .entity_tag
            .is_some_and(|current| tag.strong_eq(&current));
    }
    match (HttpDate::parse(value, now), current.last_modified) {
        (Some(date), Some(modified)) => date == modified && modified < now,
        _ => false,
    }
}
