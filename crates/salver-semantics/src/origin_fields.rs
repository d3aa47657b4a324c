//! The request fields that say where a request comes from: those of Fetch Metadata, and what proxies say of the scheme.

use crate::field::{is, is_token, list, trim_ows};

/// The fields that say where a request comes from, read when they come: they take a byte each.
///
/// A field that is repeated, or has another value than the standard knows, counts as the one that allows the least.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct OriginFields {
    site: Site,
    mode: Mode,
    destination: Destination,
    scheme: ForwardedScheme,
}

/// Sec-Fetch-Site.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Site {
    #[default]
    Absent,
    /// `same-origin`, or `none`: by the user.
    Own,
    Other,
}

/// Sec-Fetch-Mode.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Mode {
    #[default]
    Absent,
    Cors,
    Navigate,
    Other,
}

/// Sec-Fetch-Dest.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum Destination {
    #[default]
    Absent,
    Document,
    Other,
}

/// The scheme by which a proxy says that it was asked: X-Forwarded-Proto, or Forwarded.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum ForwardedScheme {
    #[default]
    Absent,
    Https,
    Other,
}

/// Whether a browser lets the page that asks read the answer (RFC 9842 section 9.3.2): only then its length may depend
/// on a dictionary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Readability {
    /// It does: the page is of the same origin, or the answer becomes one.
    Readable,
    /// It does if the answer lets pages of all origins read it (CORS).
    IfShared,
    /// It does not.
    Hidden,
    /// The request does not say: it is from no browser that has dictionaries.
    Unknown,
}

impl OriginFields {
    /// True if the field `name` is one of these.
    pub(crate) fn have(name: &[u8]) -> bool {
        OriginFields::default().add(name, b"")
    }

    /// Takes one field line; false if it is none of these. `value` may have whitespace around it.
    #[inline]
    pub fn add(&mut self, name: &[u8], value: &[u8]) -> bool {
        match name.len() {
            9 if is(name, b"forwarded") => self.add_scheme(is_forwarded_https(value)),
            14 if is(name, b"sec-fetch-site") => {
                self.site = match (self.site, trim_ows(value)) {
                    (Site::Absent, b"same-origin" | b"none") => Site::Own,
                    _ => Site::Other,
                };
            }
            14 if is(name, b"sec-fetch-mode") => {
                self.mode = match (self.mode, trim_ows(value)) {
                    (Mode::Absent, b"cors") => Mode::Cors,
                    (Mode::Absent, b"navigate") => Mode::Navigate,
                    _ => Mode::Other,
                };
            }
            14 if is(name, b"sec-fetch-dest") => {
                self.destination = match (self.destination, trim_ows(value)) {
                    (Destination::Absent, b"document") => Destination::Document,
                    _ => Destination::Other,
                };
            }
            17 if is(name, b"x-forwarded-proto") => {
                self.add_scheme(trim_ows(value).eq_ignore_ascii_case(b"https"));
            }
            _ => return false,
        }
        true
    }

    fn add_scheme(&mut self, is_https: bool) {
        self.scheme = match (self.scheme, is_https) {
            (ForwardedScheme::Absent | ForwardedScheme::Https, true) => ForwardedScheme::Https,
            _ => ForwardedScheme::Other,
        };
    }

    /// True if a proxy says that it was asked by https. Whether it is to be believed is another question.
    #[inline]
    pub fn say_https(&self) -> bool {
        self.scheme == ForwardedScheme::Https
    }

    /// Whether the page that asks can read the answer.
    pub fn readability(&self) -> Readability {
        match (self.site, self.mode, self.destination) {
            (Site::Own, _, _) => Readability::Readable,
            (Site::Absent, Mode::Absent, Destination::Absent) => Readability::Unknown,
            // A page that a link of another site leads to is of the origin that it comes from.
            (Site::Other, Mode::Navigate, Destination::Document) => Readability::Readable,
            (Site::Other, Mode::Cors, _) => Readability::IfShared,
            _ => Readability::Hidden,
        }
    }
}

/// True if the last element of Forwarded (RFC 7239), which the nearest proxy has written, says `proto=https`.
fn is_forwarded_https(value: &[u8]) -> bool {
    let Some(last) = list(value).last() else {
        return false;
    };
    let mut found = last.split(|&byte| byte == b';').filter_map(|pair| {
        let at = pair.iter().position(|&byte| byte == b'=')?;
        let (name, value) = pair.split_at(at);
        let value = value.get(1..).unwrap_or_default();
        let is_proto = trim_ows(name).eq_ignore_ascii_case(b"proto");
        is_proto.then(|| {
            let value = trim_ows(value);
            let quoted = value
                .strip_prefix(b"\"")
                .and_then(|v| v.strip_suffix(b"\""));
            quoted.unwrap_or(value)
        })
    });
    let is_https = |value: &[u8]| is_token(value) && value.eq_ignore_ascii_case(b"https");
    found.next().is_some_and(is_https) && found.next().is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(lines: &[(&str, &str)]) -> OriginFields {
        let mut fields = OriginFields::default();
        for (name, value) in lines {
            assert!(fields.add(name.as_bytes(), value.as_bytes()), "{name}");
        }
        fields
    }

    #[test]
    fn who_can_read_the_answer() {
        fn check(site: &str, mode: &str, destination: &str, expected: Readability) {
            let all = [
                ("Sec-Fetch-Site", site),
                ("sec-fetch-mode", mode),
                ("SEC-FETCH-DEST", destination),
            ];
            let sent: Vec<_> = all
                .into_iter()
                .filter(|(_, value)| !value.is_empty())
                .collect();
            let found = fields(&sent).readability();
            assert_eq!(found, expected, "{site} {mode} {destination}");
        }
        use Readability::{Hidden, IfShared, Readable, Unknown};
        check("same-origin", "no-cors", "script", Readable);
        check(" same-origin ", "cors", "empty", Readable);
        check("none", "navigate", "document", Readable);
        check("cross-site", "navigate", "document", Readable);
        check("cross-site", "cors", "script", IfShared);
        check("same-site", "cors", "script", IfShared);
        check("cross-site", "no-cors", "script", Hidden);
        check("same-site", "no-cors", "image", Hidden);
        check("cross-site", "navigate", "iframe", Hidden);
        check("cross-site", "", "", Hidden);
        check("", "cors", "", Hidden);
        check("", "", "document", Hidden);
        check("same-origin, cross-site", "no-cors", "script", Hidden);
        check("Same-Origin", "no-cors", "script", Hidden);
        check("", "", "", Unknown);
        let twice = [("sec-fetch-site", "same-origin"); 2];
        assert_eq!(fields(&twice).readability(), Hidden);
    }

    #[test]
    fn what_proxies_say_of_the_scheme() {
        fn check(lines: &[(&str, &str)], expected: bool) {
            assert_eq!(fields(lines).say_https(), expected, "{lines:?}");
        }
        check(&[], false);
        check(&[("X-Forwarded-Proto", " HTTPS ")], true);
        check(&[("x-forwarded-proto", "http")], false);
        check(&[("x-forwarded-proto", "https, http")], false);
        check(
            &[
                ("x-forwarded-proto", "https"),
                ("x-forwarded-proto", "http"),
            ],
            false,
        );
        check(&[("Forwarded", "for=192.0.2.1;Proto=https")], true);
        check(
            &[("Forwarded", "proto=http, for=a ; proto=\"https\"")],
            true,
        );
        check(&[("Forwarded", "proto=https, for=a")], false);
        check(&[("Forwarded", "proto=https;proto=http")], false);
        check(&[("Forwarded", "proto=http;proto=https")], false);
        check(&[("Forwarded", "")], false);
        check(
            &[("Forwarded", "proto=https"), ("x-forwarded-proto", "http")],
            false,
        );
    }

    #[test]
    fn other_fields_are_not_taken() {
        for name in [
            "sec-fetch-user",
            "forwarder",
            "x-forwarded-host",
            "content-length",
        ] {
            assert!(
                !OriginFields::default().add(name.as_bytes(), b"https"),
                "{name}"
            );
        }
    }
}
