//! What a rule may ask of a request besides its path, and the conditions that do.

use std::ops::Range;

use crate::escape::decode_query;
use crate::fault::{Fault, quoted};
use crate::limits::{LONGEST_TEXT, MOST_CONDITIONS};
use crate::pattern::Pattern;
use crate::rule::{Condition, FieldTest, QueryTest, Scheme};
use salver_semantics::field::is_token;

/// A request, as rules see it.
#[derive(Clone, Copy)]
pub struct Request<'a> {
    /// The scheme that it came by.
    pub scheme: Scheme,
    /// The host, with or without port.
    pub host: &'a [u8],
    /// The method.
    pub method: &'a [u8],
    /// The raw query, without its `?`.
    pub query: Option<&'a [u8]>,
    /// The value of a request field by its name in lower case; several lines joined with `", "`.
    pub field: &'a dyn Fn(&str) -> Option<&'a [u8]>,
}

/// The part of a condition that is looked at for each request.
#[derive(Debug)]
pub(crate) struct RequestCondition {
    scheme: Option<Scheme>,
    hosts: Vec<Pattern>,
    methods: Vec<String>,
    query: Vec<(Vec<u8>, QueryTest)>,
    fields: Vec<(String, FieldTest)>,
}

impl RequestCondition {
    /// `None` if nothing is asked of a request.
    pub(crate) fn compile(condition: &Condition) -> Result<Option<Self>, Fault> {
        let Condition {
            path: _,
            codings: _,
            scheme,
            hosts,
            methods,
            query,
            fields,
        } = condition;
        if condition.is_on_path_alone() {
            return Ok(None);
        }
        if [hosts.len(), methods.len(), query.len(), fields.len()]
            .iter()
            .any(|&count| count > MOST_CONDITIONS)
        {
            let hint =
                format!("{MOST_CONDITIONS} hosts, methods, parameters or fields are the most");
            return Err(Fault::new("a rule has too many conditions", hint));
        }
        for method in methods {
            if !is_token(method.as_bytes()) {
                return Err(Fault::new(
                    format!("{} is not a method", quoted(method)),
                    "write it as in GET",
                ));
            }
        }
        for (name, _) in fields {
            if !is_token(name.as_bytes()) {
                let what = format!("{} is not the name of a field", quoted(name));
                return Err(Fault::new(what, "write it as in Accept-Language"));
            }
        }
        for (name, test) in query {
            let captures = matches!(test, QueryTest::Capture(capture) if capture.is_empty());
            if name.len() > LONGEST_TEXT || captures {
                let what = format!("the query parameter {} cannot be a condition", quoted(name));
                return Err(Fault::new(what, "write name=value, or name=:placeholder"));
            }
        }
        let hosts: Result<Vec<_>, _> = hosts.iter().map(|host| Pattern::host(host)).collect();
        Ok(Some(RequestCondition {
            scheme: *scheme,
            hosts: hosts?,
            methods: methods.clone(),
            query: query
                .iter()
                .map(|(name, test)| (name.clone().into_bytes(), test.clone()))
                .collect(),
            fields: fields
                .iter()
                .map(|(name, test)| (name.to_ascii_lowercase(), test.clone()))
                .collect(),
        }))
    }

    /// The names of what it captures: labels of the host where there is one host, then query parameters.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let hosts = match &*self.hosts {
            [only] => only.names(),
            _ => &[],
        };
        let queries = self.query.iter().filter_map(|(_, test)| match test {
            QueryTest::Capture(name) => Some(&**name),
            _ => None,
        });
        hosts.iter().map(|name| &**name).chain(queries)
    }

    /// The names of the request fields that it asks for, in lower case.
    pub(crate) fn field_names(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(|(name, _)| &**name)
    }

    /// The captures by their [names](Self::names), if the request meets the condition.
    pub(crate) fn meets(&self, request: &Request<'_>) -> Option<Vec<Vec<u8>>> {
        if self.scheme.is_some_and(|scheme| scheme != request.scheme)
            || !self.meets_method(request.method)
        {
            return None;
        }
        let mut captured = self.meets_host(without_port(request.host))?;
        for (name, test) in &self.query {
            let value = parameter(request.query.unwrap_or_default(), name);
            let met = match (test, value) {
                (QueryTest::Present, value) => value.is_some(),
                (QueryTest::Absent, value) => value.is_none(),
                (QueryTest::Is(expected), value) => {
                    value.is_some_and(|value| value == expected.as_bytes())
                }
                (QueryTest::Capture(_), Some(value)) => {
                    captured.push(value);
                    true
                }
                (QueryTest::Capture(_), None) => false,
            };
            if !met {
                return None;
            }
        }
        let meets_field = |(name, test): &(String, FieldTest)| {
            let value = (request.field)(name);
            match test {
                FieldTest::Present => value.is_some(),
                FieldTest::Absent => value.is_none(),
                FieldTest::Is(expected) => value == Some(expected.as_bytes()),
                FieldTest::Contains(text) => {
                    value.is_some_and(|value| contains(value, text.as_bytes()))
                }
            }
        };
        self.fields.iter().all(meets_field).then_some(captured)
    }

    fn meets_method(&self, method: &[u8]) -> bool {
        let is = |known: &String| {
            // A rule for GET holds for what tells of GET (RFC 9110 section 9.3.2).
            known.as_bytes() == method || known == "GET" && method == b"HEAD"
        };
        self.methods.is_empty() || self.methods.iter().any(is)
    }

    fn meets_host(&self, host: &[u8]) -> Option<Vec<Vec<u8>>> {
        if self.hosts.is_empty() {
            return Some(Vec::new());
        }
        let captures = self
            .hosts
            .iter()
            .find_map(|pattern| pattern.captures(host))?;
        let text = |range: Range<usize>| host.get(range).unwrap_or_default().to_ascii_lowercase();
        let only_one = self.hosts.len() == 1;
        Some(
            captures
                .into_iter()
                .map(text)
                .filter(|_| only_one)
                .collect(),
        )
    }
}

fn without_port(host: &[u8]) -> &[u8] {
    let end = match host {
        [b'[', ..] => host.iter().position(|&byte| byte == b']').map(|at| at + 1),
        _ => host.iter().position(|&byte| byte == b':'),
    };
    end.and_then(|end| host.get(..end)).unwrap_or(host)
}

/// The decoded value of the last parameter of that name; empty if it has none.
fn parameter(query: &[u8], name: &[u8]) -> Option<Vec<u8>> {
    query.rsplit(|&byte| byte == b'&').find_map(|pair| {
        let mut parts = pair.splitn(2, |&byte| byte == b'=');
        let found = parts.next()?;
        if found.is_empty() || decode_query(found) != name {
            return None;
        }
        Some(decode_query(parts.next().unwrap_or_default()))
    })
}

fn contains(value: &[u8], text: &[u8]) -> bool {
    text.is_empty() || value.windows(text.len()).any(|window| window == text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(condition: Condition, expected: Option<&[&str]>) {
        let fields = |name: &str| (name == "accept-language").then_some(&b"de, en"[..]);
        let request = Request {
            scheme: Scheme::Https,
            host: b"WWW.example.org:8443",
            method: b"HEAD",
            query: Some(b"id=6&name=a+b%26c&id=7&flag&empty="),
            field: &fields,
        };
        let compiled = RequestCondition::compile(&condition).unwrap().unwrap();
        let captured = compiled.meets(&request);
        let captured: Option<Vec<String>> = captured.map(|texts| {
            texts
                .into_iter()
                .map(|text| String::from_utf8(text).unwrap())
                .collect()
        });
        let expected = expected.map(|texts| texts.iter().map(|&text| text.to_owned()).collect());
        assert_eq!(captured, expected, "{condition:?}");
    }

    #[test]
    fn conditions() {
        let host = |host: &str| Condition {
            hosts: vec![host.to_owned()],
            ..Condition::default()
        };
        check(host("www.example.org"), Some(&[]));
        check(host("*.example.org"), Some(&["www"]));
        check(host(":sub.example.org"), Some(&["www"]));
        check(host("example.org"), None);
        let method = |method: &str| Condition {
            methods: vec![method.to_owned()],
            ..Condition::default()
        };
        check(method("GET"), Some(&[]));
        check(method("POST"), None);
        check(
            Condition {
                scheme: Some(Scheme::Https),
                ..Condition::default()
            },
            Some(&[]),
        );
        check(
            Condition {
                scheme: Some(Scheme::Http),
                ..Condition::default()
            },
            None,
        );
        let query = |name: &str, test| Condition {
            query: vec![(name.to_owned(), test)],
            ..Condition::default()
        };
        check(query("id", QueryTest::Is("7".to_owned())), Some(&[]));
        check(query("id", QueryTest::Is("6".to_owned())), None);
        check(
            query("name", QueryTest::Capture("x".to_owned())),
            Some(&["a b&c"]),
        );
        check(
            query("empty", QueryTest::Capture("x".to_owned())),
            Some(&[""]),
        );
        check(query("empty", QueryTest::Is(String::new())), Some(&[]));
        check(query("flag", QueryTest::Present), Some(&[]));
        check(query("nothing", QueryTest::Present), None);
        check(query("nothing", QueryTest::Absent), Some(&[]));
        let field = |name: &str, test| Condition {
            fields: vec![(name.to_owned(), test)],
            ..Condition::default()
        };
        check(
            field("Accept-Language", FieldTest::Contains("en".to_owned())),
            Some(&[]),
        );
        check(
            field("Accept-Language", FieldTest::Is("en".to_owned())),
            None,
        );
        check(field("Save-Data", FieldTest::Absent), Some(&[]));
        check(field("Save-Data", FieldTest::Present), None);
    }

    #[test]
    fn ports_are_left_out() {
        for (host, expected) in [
            ("a:80", "a"),
            ("[::1]:80", "[::1]"),
            ("[::1]", "[::1]"),
            ("a", "a"),
            ("", ""),
        ] {
            assert_eq!(without_port(host.as_bytes()), expected.as_bytes());
        }
    }
}
