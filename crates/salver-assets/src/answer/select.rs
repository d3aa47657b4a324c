//! Selecting the answer among the representations of a resource: negotiation, preconditions, ranges, in the
//! order of RFC 9110 section 13.2.

use std::fmt::Write;
use std::ops::Range;

use bytes::Bytes;
use salver_semantics::{
    HttpDate, Method, Preconditions, RangeLimits, RangeOutcome, Verdict, content_range,
    content_range_unsatisfied, evaluate_range, if_range,
};

use crate::answer::plan::{Content, ContentSource, OpenedContent, Piece, ResponsePlan};
use crate::answer::selected::Selected;
use crate::answer::status_responses;
use crate::request::Request;
use crate::resource::head::{Field, HeadKind, VARY_BY_DICTIONARY, vary};
use crate::resource::representation::Representation;
use crate::resource::representations::Representations;

/// The decision before the content is at hand.
pub(crate) enum Decision<'a> {
    /// The answer; no content is needed, or it is in memory.
    Respond(ResponsePlan),
    /// The content of this, the selected representation, is needed.
    NeedContent(&'a Representation),
}

/// Decides on a file's representations, of which the request gets `selected`, if any. `open` gives the open file of a
/// representation whose content is not in memory, if there is one.
pub(crate) fn answer<'a>(
    request: &Request<'_>,
    representations: &'a Representations,
    selected: Option<Selected<'a>>,
    open: impl FnOnce(&Representation) -> Option<OpenedContent>,
    now: HttpDate,
) -> Decision<'a> {
    let Some(selected) = selected else {
        // RFC 9110 section 15.5.7.
        let vary = vary(representations.found.is_by_accept(), true);
        let text = "No acceptable content coding";
        let plan = ResponsePlan::negotiated_error(406, text, vec![], vary);
        let plan = plan.with_fields(representations.error_fields.clone());
        return Decision::Respond(plan.for_method(request.method));
    };
    let representation = &**selected.representation;
    let fields = &request.fields;
    let preconditions = Preconditions {
        if_match: fields.if_match.as_deref(),
        if_none_match: fields.if_none_match.as_deref(),
        if_modified_since: fields.if_modified_since.as_deref(),
        if_unmodified_since: fields.if_unmodified_since.as_deref(),
    };
    if !preconditions.is_empty() {
        match preconditions.evaluate(&representation.validators(), now) {
            Verdict::Proceed => {}
            Verdict::NotModified => {
                return Decision::Respond(ResponsePlan::not_modified(selected));
            }
            Verdict::Failed => {
                let text = "Precondition Failed";
                let plan = error_about((representations, selected), 412, text, vec![]);
                return Decision::Respond(plan.for_method(request.method));
            }
        }
    }
    let length = representation.length();
    if request.method == Method::Head {
        // Before ranges: Range is defined for GET alone (RFC 9110 section 14.2).
        return Decision::Respond(whole(selected, Content::Empty, now));
    }
    let ranges = requested_ranges(request, representation, now);
    if let RangeOutcome::Unsatisfiable = ranges {
        let content_range = content_range_unsatisfied(length).into();
        let more = vec![("Content-Range", content_range)];
        return Decision::Respond(error_about(
            (representations, selected),
            416,
            "Range Not Satisfiable",
            more,
        ));
    }
    let stream = match &representation.content {
        Some(content) => ContentSource::of(content),
        None => match open(representation) {
            Some(opened) => ContentSource::Opened(opened),
            None => return Decision::NeedContent(representation),
        },
    };
    Decision::Respond(match ranges {
        RangeOutcome::Ignore | RangeOutcome::Unsatisfiable => {
            whole(selected, stream.content(0..length), now)
        }
        RangeOutcome::Single(range) => single(selected, &stream, range, now),
        RangeOutcome::Multiple(ranges) => multiple(selected, &stream, &ranges, now),
    })
}

/// The plan of an error whose cause may be the representation that was selected.
fn error_about(
    (representations, selected): (&Representations, Selected<'_>),
    status: u16,
    text: &str,
    more: Vec<Field>,
) -> ResponsePlan {
    let is_beside_dictionaries = selected.kind == HeadKind::BesideDictionaries
        || selected.representation.coding.is_against_dictionary();
    let vary = match is_beside_dictionaries {
        true => Some(VARY_BY_DICTIONARY),
        false => representations.vary(),
    };
    let plan = ResponsePlan::negotiated_error(status, text, more, vary);
    plan.with_fields(representations.error_fields.clone())
}

/// Decides on the page of an error. It is no representation of what was asked for, so that preconditions and ranges
/// do not concern it (RFC 9110 sections 13.2.1 and 14.2).
pub(crate) fn answer_error<'a>(
    request: &Request<'_>,
    status: u16,
    page: &'a Representations,
    selected: Option<Selected<'a>>,
    open: impl FnOnce(&Representation) -> Option<OpenedContent>,
) -> Decision<'a> {
    let Some(selected) = selected else {
        let plan = status_responses::error(status).with_fields(page.error_fields.clone());
        return Decision::Respond(plan.for_method(request.method));
    };
    let representation = &**selected.representation;
    if request.method == Method::Head {
        return Decision::Respond(ResponsePlan::whole(status, selected, Content::Empty));
    }
    let stream = match &representation.content {
        Some(content) => ContentSource::of(content),
        None => match open(representation) {
            Some(opened) => ContentSource::Opened(opened),
            None => return Decision::NeedContent(representation),
        },
    };
    let content = stream.content(0..representation.length());
    Decision::Respond(ResponsePlan::whole(status, selected, content))
}

fn requested_ranges(
    request: &Request<'_>,
    representation: &Representation,
    now: HttpDate,
) -> RangeOutcome {
    let Some(range) = request.fields.range.as_deref() else {
        return RangeOutcome::Ignore;
    };
    // RFC 9110 section 13.1.5: without a match the whole representation is sent.
    let honoured = request
        .fields
        .if_range
        .as_deref()
        .is_none_or(|value| if_range(value, &representation.validators(), now));
    if !honoured {
        return RangeOutcome::Ignore;
    }
    evaluate_range(range, representation.length(), &RangeLimits::default())
}

/// The whole representation. Its rendered head can stand unless the file was modified in the future: then
/// `Last-Modified` must be the time of the answer instead (RFC 9110 section 8.8.2.1).
fn whole(selected: Selected<'_>, content: Content, now: HttpDate) -> ResponsePlan {
    if selected
        .representation
        .last_modified
        .is_none_or(|modified| modified <= now)
    {
        return ResponsePlan::whole(200, selected, content);
    }
    let fields = fields_now(selected, now).collect();
    made(200, selected, fields, content)
}

/// A plan with these fields, and those that rules add.
fn made(status: u16, selected: Selected<'_>, fields: Vec<Field>, content: Content) -> ResponsePlan {
    let added = &selected.head().added;
    ResponsePlan::made(status, fields, content).with_fields(added.clone())
}

fn fields_now(selected: Selected<'_>, now: HttpDate) -> impl Iterator<Item = Field> + use<'_> {
    let representation = selected.representation;
    selected.head().fields.iter().map(move |(name, value)| {
        if *name == "Last-Modified" && representation.last_modified > Some(now) {
            (*name, Bytes::copy_from_slice(&now.format()))
        } else {
            (*name, value.clone())
        }
    })
}

/// The fields of a 200 with other values for the length, and for the type if it is given.
fn partial_fields(
    selected: Selected<'_>,
    length: u64,
    media_type: Option<Bytes>,
    now: HttpDate,
) -> Vec<Field> {
    // With room for Content-Range.
    let mut fields = Vec::with_capacity(selected.head().fields.len() + 1);
    // A part is no dictionary.
    let of_parts = |(name, _): &Field| *name != "Use-As-Dictionary";
    fields.extend(fields_now(selected, now).filter(of_parts));
    for (name, value) in &mut fields {
        match *name {
            "Content-Length" => *value = length.to_string().into(),
            "Content-Type" => {
                if let Some(media_type) = &media_type {
                    value.clone_from(media_type);
                }
            }
            _ => {}
        }
    }
    fields
}

/// A single part (RFC 9110 section 15.3.7.1).
fn single(
    selected: Selected<'_>,
    stream: &ContentSource<'_>,
    range: Range<u64>,
    now: HttpDate,
) -> ResponsePlan {
    let length = range.end - range.start;
    let mut fields = partial_fields(selected, length, None, now);
    let content_range = content_range(&range, selected.representation.length());
    fields.push(("Content-Range", content_range.into()));
    made(206, selected, fields, stream.content(range))
}

/// Several parts (RFC 9110 sections 15.3.7.2 and 14.6).
fn multiple(
    selected: Selected<'_>,
    stream: &ContentSource<'_>,
    ranges: &[Range<u64>],
    now: HttpDate,
) -> ResponsePlan {
    let representation = selected.representation;
    // Any text that the content does not hold at the start of a line would do; a parser that goes
    // by Content-Range never looks for it. The entity tag is as good as random; a weak one gives what the strong
    // one will that it becomes, so that answers to HEAD and GET stay alike.
    let tag = &*representation.entity_tag;
    let opaque = tag.strip_prefix(b"W/").unwrap_or(tag).iter();
    let opaque = opaque.filter(|byte| byte.is_ascii_alphanumeric());
    let boundary: String = opaque.take(32).map(|&byte| char::from(byte)).collect();
    let media_type = representation.head.value("Content-Type");
    let media_type = media_type.map(|value| String::from_utf8_lossy(value));
    let mut pieces = Vec::with_capacity(2 * ranges.len() + 1);
    let mut length = 0;
    let mut delimiter = format!("--{boundary}\r\n");
    for range in ranges {
        if let Some(media_type) = &media_type {
            // Writing to a String cannot fail.
            let _ = write!(delimiter, "Content-Type: {media_type}\r\n");
        }
        let content_range = content_range(range, representation.length());
        let _ = write!(delimiter, "Content-Range: {content_range}\r\n\r\n");
        length += usize_to_u64(delimiter.len()) + (range.end - range.start);
        pieces.push(Piece::Memory(delimiter.into()));
        pieces.push(stream.piece(range.clone()));
        delimiter = format!("\r\n--{boundary}\r\n");
    }
    let end = format!("\r\n--{boundary}--\r\n");
    length += usize_to_u64(end.len());
    pieces.push(Piece::Memory(end.into()));
    let media_type = format!("multipart/byteranges; boundary={boundary}");
    let fields = partial_fields(selected, length, Some(media_type.into()), now);
    made(206, selected, fields, Content::Parts(pieces))
}

fn usize_to_u64(value: usize) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}
