//! The format that a client prefers, by its `Accept` (RFC 9110 section 12.5.1).

use salver_semantics::Weight;
use salver_semantics::field::{list, trim_ows};

/// The format of a listing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// A page for people.
    #[default]
    Html,
    /// A document for programs.
    Json,
}

impl Format {
    /// The format that this value of `Accept` prefers; HTML if it has no preference, or accepts neither.
    pub fn preferred(accept: Option<&[u8]>) -> Self {
        let Some(accept) = accept else {
            return Format::Html;
        };
        let weight = |kind: &[u8], subtype: &[u8]| {
            let matches =
                list(accept).filter_map(|element| specific_weight(element, kind, subtype));
            // The most specific range counts.
            matches.max_by_key(|(specificity, _)| *specificity)
        };
        let (html, json) = (weight(b"text", b"html"), weight(b"application", b"json"));
        let value = |found: Option<(u8, Weight)>| found.map_or(Weight::ZERO, |(_, weight)| weight);
        match value(json) > value(html) {
            true => Format::Json,
            false => Format::Html,
        }
    }

    /// The value of `Content-Type`.
    pub fn content_type(self) -> &'static str {
        match self {
            Format::Html => "text/html; charset=utf-8",
            Format::Json => "application/json",
        }
    }
}

/// The weight that an element of `Accept` gives to a media type, and how specific its range is; `None` if it is about
/// others.
fn specific_weight(element: &[u8], kind: &[u8], subtype: &[u8]) -> Option<(u8, Weight)> {
    let mut parts = element.split(|&byte| byte == b';').map(trim_ows);
    let mut range = parts.next()?.splitn(2, |&byte| byte == b'/');
    let (of_kind, of_subtype) = (range.next()?, range.next()?);
    let specificity = match (of_kind, of_subtype) {
        (b"*", b"*") => 0,
        (of, b"*") if of.eq_ignore_ascii_case(kind) => 1,
        (of, sub) if of.eq_ignore_ascii_case(kind) && sub.eq_ignore_ascii_case(subtype) => 2,
        _ => return None,
    };
    let mut weight = Weight::MAX;
    for part in parts {
        let mut pair = part.splitn(2, |&byte| byte == b'=');
        if let (Some(b"q" | b"Q"), Some(value)) = (pair.next(), pair.next()) {
            weight = Weight::parse(value)?;
        }
    }
    Some((specificity, weight))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_format() {
        let check = |accept: &str, expected| {
            let found = Format::preferred(Some(accept.as_bytes()));
            assert_eq!(found, expected, "{accept}");
        };
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
        for accept in [
            browser,
            "",
            "*/*",
            "text/*",
            "image/png",
            "application/json;q=0.5, text/html",
            "application/json, text/html",
            "application/json;q=0",
            "application/json;q=nonsense, */*",
            "application/jsonp",
            "*/*, application/json;q=0.5",
        ] {
            check(accept, Format::Html);
        }
        for accept in [
            "application/json",
            "APPLICATION/JSON",
            "application/*",
            "application/json ; q=0.9 , text/html;q=0.8",
            "application/json, */*;q=0.1",
            "text/html;q=0, */*",
        ] {
            check(accept, Format::Json);
        }
        assert_eq!(Format::preferred(None), Format::Html);
    }
}
