//! Cache-Control for static content (RFC 9111 section 5.2.2).

use crate::coding::ContentCoding;
use crate::field::{is_token, list, trim_ows};
use crate::fingerprint;
use crate::media_type::content_type;

/// For content that never changes under its name: a year, the longest that caches agree on, and
/// `immutable` (RFC 8246), so that not even a reload asks again.
pub const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// For all else: store it, but ask before each use. With a validator the answer is a short 304.
pub const NO_CACHE: &str = "no-cache";

/// The Cache-Control for a file of this name: [`IMMUTABLE`] if its name carries a fingerprint and
/// it is not HTML, else [`NO_CACHE`].
///
/// HTML is where fingerprinted names are written down: kept for a year, it would name scripts that
/// are long gone.
pub fn cache_control(file_name: &[u8]) -> &'static str {
    if is_fingerprinted(file_name) && !is_html(file_name) {
        IMMUTABLE
    } else {
        NO_CACHE
    }
}

/// Whether the name says that the content can't change under it: it carries a hash of the content,
/// as build tools put it there, before the extensions.
///
/// - 8 to 64 lower-case hexadecimal digits with at least one digit and one letter, between dots,
///   after a hyphen, or all that precedes the extensions (but not the end of a UUID);
/// - or, after a dot or a hyphen, exactly 8 of `A-Z a-z 0-9 _ -` with letters of both cases, one of
///   the upper case after the first place (but not words such as `OpenSans` or `iPhone15`).
///
/// A hash that is missed costs a revalidation; a word that is taken for one is stale for a year. So
/// in doubt the answer is no.
pub fn is_fingerprinted(file_name: &[u8]) -> bool {
    fingerprint::is_fingerprinted(file_name)
}

/// Whether `value` can stand in a Cache-Control field: one directive or more, each a token, alone or
/// with `=` and a token or quoted-string (RFC 9111 section 5.2). Any directive will do, known or
/// not; nothing but printable ASCII, space and tab is one.
///
/// ```
/// use salver_semantics::is_cache_control;
/// assert!(is_cache_control(b"private, max-age=60"));
/// assert!(!is_cache_control(b"max-age: 60"));
/// ```
pub fn is_cache_control(value: &[u8]) -> bool {
    let mut directives = list(value).peekable();
    trim_ows(value) == value && directives.peek().is_some() && directives.all(is_directive)
}

fn is_directive(directive: &[u8]) -> bool {
    match directive.iter().position(|&byte| byte == b'=') {
        None => is_token(directive),
        Some(at) => {
            let (name, argument) = directive.split_at(at);
            let argument = argument.strip_prefix(b"=").unwrap_or_default();
            is_token(name) && (is_token(argument) || is_quoted_string(argument))
        }
    }
}

/// RFC 9110 section 5.6.4, without the bytes beyond ASCII, which are obsolete.
fn is_quoted_string(value: &[u8]) -> bool {
    let Some(mut rest) = value
        .strip_prefix(b"\"")
        .and_then(|v| v.strip_suffix(b"\""))
    else {
        return false;
    };
    let is_text = |byte: u8| matches!(byte, b'\t' | b' '..=b'~');
    while let [first, tail @ ..] = rest {
        rest = match (first, tail) {
            (b'"', _) => return false,
            (b'\\', [escaped, tail @ ..]) if is_text(*escaped) => tail,
            (b'\\', _) => return false,
            (&byte, tail) if is_text(byte) => tail,
            _ => return false,
        };
    }
    true
}

/// Whether the file is HTML, coded or not.
fn is_html(file_name: &[u8]) -> bool {
    let decoded = ContentCoding::CODED
        .into_iter()
        .filter_map(ContentCoding::extension)
        .find_map(|extension| file_name.strip_suffix(extension.as_bytes()))
        .unwrap_or(file_name);
    let media_type = content_type(decoded);
    media_type.starts_with("text/html") || media_type.starts_with("application/xhtml+xml")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values() {
        fn check(value: &str, expected: bool) {
            assert_eq!(is_cache_control(value.as_bytes()), expected, "{value:?}");
        }
        for value in [
            IMMUTABLE,
            NO_CACHE,
            "max-age=60",
            "max-age=60,s-maxage=5 , stale-while-revalidate=30",
            "private=\"set-cookie, x\", no-store",
            r#"x="a\"b\\""#,
            "x=\"\"",
            "something-new",
        ] {
            check(value, true);
        }
        for value in [
            "",
            " ",
            ",",
            " no-cache",
            "no-cache\n",
            "no-cache\r\nX: y",
            "no cache",
            "max-age: 60",
            "max-age=",
            "=60",
            "max-age = 60",
            "a;b",
            "x=\"",
            "x=\"a",
            "x=\"a\"b\"",
            "x=\"\n\"",
            r#"x="\""#,
            "caf\u{e9}",
            "no-cache\0",
        ] {
            check(value, false);
        }
    }

    #[test]
    fn policy() {
        fn check(name: &str, expected: &str) {
            assert_eq!(cache_control(name.as_bytes()), expected, "{name}");
        }
        check("app.3f9a1c2b.js", IMMUTABLE);
        check("index-DiwrgTda.js", IMMUTABLE);
        check("app.3f9a1c2b.js.map", IMMUTABLE);
        check("app.3f9a1c2b.css.gz", IMMUTABLE);
        check("assets/logo-B-3x_aPq.svg", IMMUTABLE);
        check("app.js", NO_CACHE);
        check("photo.jpg", NO_CACHE);
        check("LICENSE", NO_CACHE);
        check("", NO_CACHE);
        // HTML never, in no case, and not coded either.
        check("index.html", NO_CACHE);
        check("index.3f9a1c2b.html", NO_CACHE);
        check("index.3f9a1c2b.htm", NO_CACHE);
        check("index.3f9a1c2b.HTML", NO_CACHE);
        check("index.3f9a1c2b.xhtml", NO_CACHE);
        check("index.3f9a1c2b.html.gz", NO_CACHE);
        check("index.3f9a1c2b.html.br", NO_CACHE);
        check("index.3f9a1c2b.html.zst", NO_CACHE);
        check("index-DiwrgTda.html", NO_CACHE);
        check("3f9a1c2b.html", NO_CACHE);
    }
}
