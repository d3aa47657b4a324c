//! Cache-Control for static content (RFC 9111 section 5.2.2).

use crate::coding::ContentCoding;
use crate::field::{is_token, list, trim_ows};
use crate::fingerprint::{self, Fingerprint, HashPlaces, Mark, VersionedName};
use crate::media_type::content_type;

/// The value for content that never changes under its name: a year, the longest that caches agree on, and
/// `immutable` (RFC 8246), so that not even a reload asks again.
pub const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// The value for all else: store it, but ask before each use. With a validator the answer is a short 304.
pub const NO_CACHE: &str = "no-cache";

/// The Cache-Control for the file at `path`: [`IMMUTABLE`] if its name carries a fingerprint and it is
/// not HTML, else [`NO_CACHE`]. `beside` is asked as [`is_fingerprinted`] asks it.
///
/// HTML is where fingerprinted names are written down: kept for a year, it would name scripts that
/// are long gone.
///
/// # Errors
/// What `beside` gives.
pub fn cache_control<E>(
    path: &[u8],
    beside: impl FnOnce() -> Result<Vec<Vec<u8>>, E>,
) -> Result<&'static str, E> {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    let value = match !is_html(name) && is_fingerprinted(path, beside)? {
        true => IMMUTABLE,
        false => NO_CACHE,
    };
    Ok(value)
}

/// True if a name says that the content can't change under it: it carries a hash of the content, as
/// build tools put it there, before the extensions and after a dot or a hyphen.
///
/// A hash that is missed costs a revalidation; a word that is taken for one is stale for a year. So
/// in doubt the answer is no. There is no doubt
///
/// - in directories that Next.js, Nuxt, SvelteKit and Astro call their own (`_next/static`, `_nuxt`,
///   `_app/immutable`, `_astro`) of what looks like a hash at all;
/// - elsewhere of 16 to 64 hexadecimal digits, and of a script's or style sheet's 8 to 15, if digits
///   and letters take turns as in no word, date or number (`app.3f9a1c2b.js`). UUIDs and what may be
///   an identifier of a record are none.
///
/// For other scripts, style sheets, images and fonts whose names may end with a hash - hexadecimal, or
/// 8 characters of base64url (Vite, Rollup), base32 (esbuild, Angular, Bun) - the names in the same
/// directory decide, which `beside` is asked for: other files must carry such hashes in the same
/// place. It may give some of the names, if there are many, and that of the file itself.
///
/// Never taken for one are words, abbreviations, dates, versions, part numbers and formulas, and in
/// the names of documents, music and archives nothing but the long digests.
///
/// ```
/// use salver_semantics::is_fingerprinted;
///
/// let is = |path: &str, beside: &[&str]| {
///     let beside = beside.iter().map(|name| name.as_bytes().to_vec());
///     is_fingerprinted(path.as_bytes(), || Ok::<_, ()>(beside.collect()))
/// };
/// assert_eq!(is("app.3f9a1c2b.js", &[]), Ok(true));
/// assert_eq!(is("assets/index-DiwrgTda.js", &[]), Ok(false));
/// assert_eq!(is("assets/index-DiwrgTda.js", &["index-Bx3f9_aP.css"]), Ok(true));
/// assert_eq!(is("assets/x-DataGrid.js", &["index-Bx3f9_aP.css"]), Ok(false));
/// ```
///
/// # Errors
/// What `beside` gives.
pub fn is_fingerprinted<E>(
    path: &[u8],
    beside: impl FnOnce() -> Result<Vec<Vec<u8>>, E>,
) -> Result<bool, E> {
    Ok(mark(path, beside)?.is_some())
}

/// The parts around the fingerprint of a path that [is fingerprinted](is_fingerprinted); `None` for another, and for a
/// name that is nothing but a fingerprint.
///
/// ```
/// use salver_semantics::versioned_name;
///
/// let name = versioned_name(b"js/app.3f9a1c2b.chunk.js", || Ok::<_, ()>(vec![])).unwrap().unwrap();
/// assert_eq!((name.before, name.after), (&b"app."[..], &b".chunk.js"[..]));
/// ```
///
/// # Errors
/// What `beside` gives.
pub fn versioned_name<E>(
    path: &[u8],
    beside: impl FnOnce() -> Result<Vec<Vec<u8>>, E>,
) -> Result<Option<VersionedName<'_>>, E> {
    let mark = mark(path, beside)?;
    Ok(mark.and_then(|mark| mark.around(path)))
}

/// The fingerprint in a path.
fn mark<E>(
    path: &[u8],
    beside: impl FnOnce() -> Result<Vec<Vec<u8>>, E>,
) -> Result<Option<Mark<'_>>, E> {
    match fingerprint::of(path) {
        Fingerprint::Absent => Ok(None),
        Fingerprint::Certain(mark) => Ok(Some(mark)),
        Fingerprint::Doubtful(marks) => {
            let beside = beside()?;
            let names = beside.iter().map(|name| &**name);
            Ok(fingerprint::confirmed(&marks, names).copied())
        }
    }
}

/// True if a name has something where those beside it carry hashes, and is not HTML: the question for who would
/// rather keep a file too long than lose one.
///
/// [`is_fingerprinted`] misses a few of the hashes of a build, those that look like words. Asked for by a page that was
/// opened before a deploy, such a script is needed as much as the others.
///
/// ```
/// use salver_semantics::{HashPlaces, may_be_fingerprinted};
///
/// let places = HashPlaces::of(["index-Bx3f9_aP.css", "index-B7kq_2xZ.js"].map(str::as_bytes));
/// assert!(may_be_fingerprinted(b"assets/Crew-BEwzoga7.css", &places));
/// assert!(!may_be_fingerprinted(b"assets/crew.css", &places));
/// ```
pub fn may_be_fingerprinted(path: &[u8], places: &HashPlaces) -> bool {
    let name = path.rsplit(|&byte| byte == b'/').next().unwrap_or_default();
    !is_html(name) && places.has(path)
}

/// True if `value` can stand in a Cache-Control field: one directive or more, each a token, alone or with `=`
/// and a token or quoted-string (RFC 9111 section 5.2). Any directive will do, known or not; nothing but
/// printable ASCII, space and tab is one.
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

/// True for a quoted-string (RFC 9110 section 5.6.4) without the bytes beyond ASCII, which are obsolete.
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

/// True if the file is HTML, coded or not.
fn is_html(file_name: &[u8]) -> bool {
    let decoded = ContentCoding::of_file_name(file_name).map_or(file_name, |(_, name)| name);
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
    fn parts_of_versioned_names() {
        let check = |path: &str, expected: Option<(&str, &str)>| {
            let beside = || {
                Ok::<_, ()>(vec![
                    b"index-Cx3f9_aP.css".to_vec(),
                    b"a-Bq7_x9Kd.js".to_vec(),
                ])
            };
            let found = versioned_name(path.as_bytes(), beside).unwrap();
            let expected = expected.map(|(before, after)| VersionedName {
                before: before.as_bytes(),
                after: after.as_bytes(),
            });
            assert_eq!(found, expected, "{path}");
        };
        check("app.3f9a1c2b.js", Some(("app.", ".js")));
        check("a/b/app-3f9a1c2b.js.map", Some(("app-", ".js.map")));
        check("assets/index-DiwrgTda.js", Some(("index-", ".js")));
        check(
            "a.b-c.3f9a1c2b5d6e7f80.chunk.css",
            Some(("a.b-c.", ".chunk.css")),
        );
        check("3f9a1c2b5d6e7f80.js", None);
        check("app.js", None);
        check("", None);
        let name = VersionedName {
            before: b"app.",
            after: b".js",
        };
        for (other, expected) in [
            ("app.1.js", true),
            ("app..js", false),
            ("app.js", false),
            ("b.1.js", false),
        ] {
            assert_eq!(name.has(other.as_bytes()), expected, "{other}");
        }
    }

    #[test]
    fn policy() {
        fn check(name: &str, expected: &str) {
            let beside = || {
                Ok::<_, ()>(vec![
                    b"index-Cx3f9_aP.css".to_vec(),
                    b"a-Bq7_x9Kd.js".to_vec(),
                ])
            };
            assert_eq!(
                cache_control(name.as_bytes(), beside),
                Ok(expected),
                "{name}"
            );
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

    #[test]
    fn html_is_never_kept() {
        let places = HashPlaces::of(["index-Bx3f9_aP.css", "a-Bq7_x9Kd.js"].map(str::as_bytes));
        for (name, expected) in [
            ("index-BEwzoga7.js", true),
            ("index-BEwzoga7.html", false),
            ("index-BEwzoga7.html.br", false),
        ] {
            let kept = may_be_fingerprinted(name.as_bytes(), &places);
            assert_eq!(kept, expected, "{name}");
        }
    }
}
