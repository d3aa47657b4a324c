//! The request fields of which an access log tells.

use crate::field::trim_ows;
use crate::request_fields::is;

/// The fields that decide nothing, but of which an access log tells. Of several lines of one name the first counts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct NotedFields<'b> {
    /// Referer (RFC 9110 section 10.1.3).
    pub referer: Option<&'b [u8]>,
    /// User-Agent (RFC 9110 section 10.1.5).
    pub user_agent: Option<&'b [u8]>,
    /// Traceparent (W3C Trace Context); empty if there are several, which are worth no more than none.
    pub traceparent: Option<&'b [u8]>,
}

impl<'b> NotedFields<'b> {
    /// Takes one field line; `value` may have whitespace around it.
    #[inline]
    pub fn add(&mut self, name: &[u8], value: &'b [u8]) {
        let value = || Some(trim_ows(value));
        match name.len() {
            7 if is(name, b"referer") => self.referer = self.referer.or_else(value),
            10 if is(name, b"user-agent") => self.user_agent = self.user_agent.or_else(value),
            11 if is(name, b"traceparent") => {
                self.traceparent = match self.traceparent {
                    None => value(),
                    Some(_) => Some(b""),
                };
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_what_they_note() {
        fn check(lines: &[(&str, &str)], expected: [Option<&str>; 3]) {
            let mut noted = NotedFields::default();
            for (name, value) in lines {
                noted.add(name.as_bytes(), value.as_bytes());
            }
            let expected = expected.map(|value| value.map(str::as_bytes));
            let NotedFields {
                referer,
                user_agent,
                traceparent,
            } = noted;
            assert_eq!([referer, user_agent, traceparent], expected);
        }
        check(&[], [None; 3]);
        check(
            &[
                ("REFERER", " \ta "),
                ("User-Agent", "b c"),
                ("traceparent", "00-1"),
            ],
            [Some("a"), Some("b c"), Some("00-1")],
        );
        check(
            &[
                ("Referer", "a"),
                ("User-Agent", "b"),
                ("Referer", "c"),
                ("User-Agent", "d"),
            ],
            [Some("a"), Some("b"), None],
        );
        let trace = ("Traceparent", "1");
        check(&[trace, trace], [None, None, Some("")]);
        check(&[trace, trace, trace], [None, None, Some("")]);
        check(
            &[("Referers", "a"), ("User-Agents", "b"), ("Referent", "c")],
            [None; 3],
        );
    }
}
