//! What `_headers` and `_redirects` share: lines, addresses, and how the two hosts differ.

use crate::compiled::CompiledRule;
use crate::fault::{Fault, Faults, Place, quoted};
use crate::limits::{LARGEST_FILE, LONGEST_LINE, MOST_RULES};
use crate::rule::{Action, Rule};

/// The host whose syntax and order a site's `_headers` and `_redirects` were written for.
///
/// `docs/conventions.md` says how the two differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compat {
    /// Netlify.
    #[default]
    Netlify,
    /// Cloudflare Pages and Workers.
    Cloudflare,
}

/// What a file of rules came to: the rules that could be taken, in the order in which they count, and a fault for
/// each line that could not be, or that the host would have treated otherwise.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parsed {
    /// The rules. Each compiles.
    pub rules: Vec<Rule>,
    /// The faults, in the order of their lines.
    pub faults: Vec<Fault>,
}

/// A [`Parsed`] under construction.
#[derive(Debug, Default)]
pub(crate) struct Parsing {
    pub(crate) rules: Vec<Rule>,
    faults: Faults,
}

impl Parsing {
    pub(crate) fn fault(&mut self, place: &Place, fault: Fault) {
        self.faults.push(fault.at(place));
    }

    /// Takes a rule if it compiles, and if there is room for it.
    pub(crate) fn take(&mut self, rule: Rule) {
        if self.rules.len() == MOST_RULES {
            let fault = Fault::new(
                "there are too many rules",
                format!("{MOST_RULES} are the most"),
            );
            self.faults.push(fault.at(&rule.place));
        } else if let Err(fault) = CompiledRule::compile(&rule) {
            self.faults.push(fault);
        } else {
            self.rules.push(rule);
        }
    }

    /// The action, if a rule may have it.
    pub(crate) fn check(&mut self, place: &Place, action: Action) -> Option<Action> {
        let rule = Rule {
            place: place.clone(),
            actions: vec![action],
            ..Rule::default()
        };
        match CompiledRule::compile(&rule) {
            Ok(_) => rule.actions.into_iter().next(),
            Err(fault) => {
                self.faults.push(fault);
                None
            }
        }
    }

    pub(crate) fn finish(self) -> Parsed {
        Parsed {
            rules: self.rules,
            faults: self.faults.into_vec(),
        }
    }
}

/// The lines of a file that say something, trimmed, with their places. Comments and empty lines are left out.
pub(crate) fn lines<'t>(text: &'t str, parsing: &mut Parsing) -> Vec<(Place, &'t str)> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(text.split('\n')) {
        let place = Place::Line(number);
        let line = line.trim_matches(is_space);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if line.len() > LONGEST_LINE {
            let what = format!("the line has {} bytes", line.len());
            parsing.fault(
                &place,
                Fault::new(what, format!("{LONGEST_LINE} are the most")),
            );
        } else {
            found.push((place, line));
        }
    }
    found
}

/// The text of a file; a fault if it is too large. What is not UTF-8 becomes U+FFFD, as in both hosts.
pub(crate) fn text<'b>(bytes: &'b [u8], parsing: &mut Parsing) -> std::borrow::Cow<'b, str> {
    if bytes.len() > LARGEST_FILE {
        let what = format!("the file has {} bytes", bytes.len());
        parsing.fault(
            &Place::Whole,
            Fault::new(what, format!("{LARGEST_FILE} are the most")),
        );
        return "".into();
    }
    String::from_utf8_lossy(bytes)
}

/// True for what both hosts' programs, which are JavaScript, take as white space.
pub(crate) fn is_space(character: char) -> bool {
    character == '\u{feff}' || character.is_whitespace() && character != '\u{85}'
}

/// The warning that a line is longer than Cloudflare reads.
pub(crate) fn warn_of_length(line: &str, place: &Place, parsing: &mut Parsing) {
    const CLOUDFLARE_LINE: usize = 2_000;
    let length = line.encode_utf16().count();
    if length > CLOUDFLARE_LINE {
        let what = format!(
            "the line has {length} characters, and Cloudflare ignores those beyond {CLOUDFLARE_LINE}"
        );
        parsing.fault(place, Fault::warning(what, "it holds here"));
    }
}

/// An address as Cloudflare's files have it: a host where it begins with `https://`, and a path, which may have a query
/// and a fragment.
pub(crate) struct Address {
    pub(crate) host: Option<String>,
    pub(crate) path: String,
}

impl Address {
    /// Parses what begins with `/` or `https://`.
    pub(crate) fn parse(text: &str) -> Result<Self, Fault> {
        let (host, path) = match text.strip_prefix("https://") {
            Some(rest) => {
                let rest = rest.trim_start_matches('/');
                let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
                if host.is_empty() {
                    let what = format!("{} has no host", quoted(text));
                    return Err(Fault::new(what, "write https://example.org/path"));
                }
                (Some(host.to_owned()), path)
            }
            None => (None, text),
        };
        if host.is_none() && !path.starts_with('/') {
            let what = format!("{} is neither a path nor an https URL", quoted(text));
            return Err(Fault::new(what, "begin it with / or https://"));
        }
        Ok(Address {
            host,
            path: without_dots(path),
        })
    }

    /// The path without query and fragment.
    pub(crate) fn bare_path(&self) -> &str {
        self.path.split(['?', '#']).next().unwrap_or_default()
    }
}

/// A path with dot segments removed (RFC 3986 section 5.2.4) and `/` where it is empty; what follows `?` or `#`
/// stays.
fn without_dots(text: &str) -> String {
    let (path, rest) = text.split_at(text.find(['?', '#']).unwrap_or(text.len()));
    let mut segments: Vec<&str> = Vec::new();
    let mut parts = path.strip_prefix('/').unwrap_or(path).split('/').peekable();
    while let Some(segment) = parts.next() {
        let is_last = parts.peek().is_none();
        match segment {
            "." | "%2e" | "%2E" => {}
            ".." => {
                segments.pop();
            }
            segment => {
                segments.push(segment);
                continue;
            }
        }
        if is_last {
            segments.push("");
        }
    }
    format!("/{}{rest}", segments.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let check = |text: &str, host: Option<&str>, path: &str| {
            let address = Address::parse(text).unwrap();
            assert_eq!(
                (address.host.as_deref(), &*address.path),
                (host, path),
                "{text}"
            );
        };
        check("/a/../b/./c?x=../y", None, "/b/c?x=../y");
        check("/a/..", None, "/");
        check("/..", None, "/");
        check("https://a.org", Some("a.org"), "/");
        check("https:////a.org//b", Some("a.org"), "//b");
        check("/a/%2e/b/", None, "/a/b/");
        for wrong in ["http://a.org/", "a", "https://", "https:///"] {
            assert!(Address::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn large_files_are_refused() {
        let mut parsing = Parsing::default();
        assert_eq!(text(&vec![b'a'; LARGEST_FILE + 1], &mut parsing), "");
        assert_eq!(
            lines(
                &format!("a\n{}\n", "x".repeat(LONGEST_LINE + 1)),
                &mut parsing
            )
            .len(),
            1
        );
        assert_eq!(parsing.finish().faults.len(), 2);
    }
}
