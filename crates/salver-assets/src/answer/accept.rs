//! The client's preference among codings, read once for all requests that state it alike.

use std::cell::RefCell;

use salver_semantics::{AcceptEncoding, ContentCoding, DictionaryCoding, EntityTag, Method};

use crate::request::Request;
use crate::resource::coding_choice::CodingChoice;

/// The longest value that is remembered. Browsers send some 30 bytes.
const LONGEST: usize = 128;

thread_local! {
    /// The last value that this thread read, with its meaning: most clients send one of very few,
    /// and reading it costs more than finding the answer.
    static LAST: RefCell<(Vec<u8>, Option<AcceptEncoding>)> = RefCell::default();
}

/// The choice of the request among representations.
pub(crate) fn coding_choice(request: &Request<'_>) -> CodingChoice {
    let fields = &request.fields;
    let is_for_part = fields.range.is_some()
        && request.method == Method::Get
        && !fields.if_range.as_deref().is_some_and(is_tag_of_coding)
        && !fields.if_match.as_deref().is_some_and(has_tag_of_coding);
    CodingChoice {
        accept: accept_encoding(request),
        is_for_part,
    }
}

/// True if a value of If-Match has a tag that may be that of a coding.
fn has_tag_of_coding(if_match: &[u8]) -> bool {
    let mut tags = if_match.split(|&byte| byte == b',');
    tags.any(|tag| is_tag_of_coding(tag.trim_ascii()))
}

/// True if a value of If-Range may be the entity tag of a coding: who has the beginning of one wants the rest of it.
fn is_tag_of_coding(if_range: &[u8]) -> bool {
    EntityTag::parse(if_range).is_some_and(|_| {
        let plain = ContentCoding::CODED.iter().map(|coding| coding.name());
        let mut names = plain.chain(DictionaryCoding::ALL.iter().map(|coding| coding.name()));
        names.any(|name| {
            let tag = if_range.strip_suffix(b"\"");
            let tag = tag.and_then(|tag| tag.strip_suffix(name.as_bytes()));
            tag.is_some_and(|tag| tag.ends_with(b"-"))
        })
    })
}

/// The preference that the request's `Accept-Encoding` states.
pub(crate) fn accept_encoding(request: &Request<'_>) -> AcceptEncoding {
    let Some(value) = request.fields.accept_encoding.as_deref() else {
        return AcceptEncoding::parse(None);
    };
    LAST.with_borrow_mut(|(last, meaning)| match meaning {
        Some(meaning) if last == value => *meaning,
        _ => {
            let read = AcceptEncoding::parse(Some(value));
            if value.len() <= LONGEST {
                last.clear();
                last.extend_from_slice(value);
                *meaning = Some(read);
            }
            read
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_what_would_be_read() {
        let long = format!("br{}", ", gzip".repeat(LONGEST));
        let values = [
            Some("br"),
            Some(""),
            None,
            Some("br;q=0, gzip"),
            Some(&*long),
            Some("*"),
        ];
        for first in values {
            for second in values {
                for value in [first, second, first] {
                    let mut request = Request::get(b"/");
                    request.fields.accept_encoding = value.map(|value| value.as_bytes().into());
                    let expected = AcceptEncoding::parse(value.map(str::as_bytes));
                    assert_eq!(accept_encoding(&request), expected, "{value:?}");
                }
            }
        }
    }
}
