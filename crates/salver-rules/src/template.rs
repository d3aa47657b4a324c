//! Texts with placeholders that a request fills in: a Location, a path to serve instead, a field value.
//!
//! Whatever a request brings is encoded for the part of the URI in which it lands, so that it cannot begin a line,
//! a query or a fragment, and cannot name another host.

use salver_semantics::Authority;

use crate::escape::{Part, decode, encode, encode_request_query, encode_written};
use crate::fault::{Fault, quoted};
use crate::limits::{LONGEST_OUTPUT, LONGEST_TEXT};
use crate::pattern::placeholder;

/// What the captures took, by the index of their names.
pub(crate) type Captured<'c> = [&'c [u8]];

/// A target that a request cannot have: what it fills in is too long, or is no label of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    TooLong,
    Host,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Item {
    /// Text, already in the form in which it is sent.
    Text(String),
    /// A capture, by the index of its name, and the part of the URI that it lands in.
    Capture(usize, Part),
}

/// The text between placeholders, or the index of a name. A colon before anything else is a colon.
fn items<'t>(text: &'t str, names: &[&str]) -> Vec<Result<usize, &'t str>> {
    let mut found = Vec::new();
    let (mut text_start, mut at) = (0, 0);
    while let Some(colon) = text.get(at..).and_then(|rest| rest.find(':')) {
        at += colon;
        let name = text.get(at..).and_then(placeholder).unwrap_or_default();
        match names.iter().position(|&known| known == name) {
            Some(index) if !name.is_empty() => {
                found.extend(text.get(text_start..at).map(Err));
                found.push(Ok(index));
                at += 1 + name.len();
                text_start = at;
            }
            _ => at += 1,
        }
    }
    found.extend(text.get(text_start..).map(Err));
    found.retain(|item| *item != Err(""));
    found
}

fn check_length(text: &str) -> Result<(), Fault> {
    if text.len() <= LONGEST_TEXT {
        return Ok(());
    }
    let what = format!("{} is too long", quoted(text));
    Err(Fault::new(
        what,
        format!("{LONGEST_TEXT} bytes are the most"),
    ))
}

/// The target of a redirect: a path of this site, or a URI with `http` or `https`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LocationTemplate {
    items: Vec<Item>,
    /// True if it is a path of this site.
    is_relative: bool,
}

/// A Location with its placeholders filled in. What it lacks is the query of the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    target: String,
    takes_query: bool,
}

impl Location {
    /// The path, if the target is one of this site and has neither query nor fragment.
    pub(crate) fn path(&self) -> Option<&str> {
        let is_path = self.target.starts_with('/') && !self.target.contains(['?', '#']);
        is_path.then_some(&*self.target)
    }

    /// The field value, for a request with that query (without its `?`).
    ///
    /// The query is passed on if the rule says so and its target has none of its own. `None` if it is too long.
    pub fn for_query(&self, query: Option<&[u8]>) -> Option<String> {
        let (before, fragment) = match self.target.find('#') {
            Some(at) => self.target.split_at_checked(at)?,
            None => (&*self.target, ""),
        };
        let mut out = before.to_owned();
        match query {
            Some(query) if self.takes_query && !query.is_empty() && !before.contains('?') => {
                out.push('?');
                encode_request_query(query, &mut out);
            }
            _ => {}
        }
        out.push_str(fragment);
        (out.len() <= LONGEST_OUTPUT).then_some(out)
    }
}

impl LocationTemplate {
    pub(crate) fn parse(text: &str, names: &[&str]) -> Result<Self, Fault> {
        check_length(text)?;
        let scheme = ["https://", "http://"]
            .into_iter()
            .find(|scheme| text.starts_with(scheme));
        let authority_end = match scheme {
            Some(scheme) => {
                let rest = text.get(scheme.len()..).unwrap_or_default();
                let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
                check_authority(authority, names)?;
                scheme.len() + authority.len()
            }
            None => {
                if !text.starts_with('/') {
                    let what = format!("the target {} is neither a path nor a URL", quoted(text));
                    return Err(Fault::new(what, "begin it with /, https:// or http://"));
                }
                if text.starts_with("//") || text.starts_with("/\\") {
                    let what = format!("browsers take {} for another host", quoted(text));
                    return Err(Fault::new(
                        what,
                        "write https:// before the host, or one / before a path",
                    ));
                }
                0
            }
        };
        let mut out = Vec::new();
        let mut part = if authority_end > 0 {
            Part::Label
        } else {
            Part::Path
        };
        let mut at = 0;
        for item in items(text, names) {
            match item {
                Ok(index) => {
                    at += 1 + names.get(index).map_or(0, |name| name.len());
                    out.push(Item::Capture(index, part));
                }
                Err(text) => {
                    // A fragment is the last part; `?` and `#` in it are text.
                    for character in text.chars() {
                        part = match (part, character) {
                            (Part::Label, _) if at < authority_end => Part::Label,
                            (Part::Label, '/') => Part::Path,
                            (Part::Fragment, _) => Part::Fragment,
                            (_, '#') => Part::Fragment,
                            (_, '?') => Part::QueryValue,
                            (part, _) => part,
                        };
                        at += character.len_utf8();
                    }
                    let mut written = String::with_capacity(text.len());
                    encode_written(text, &mut written);
                    out.push(Item::Text(written));
                }
            }
        }
        Ok(LocationTemplate {
            items: out,
            is_relative: scheme.is_none(),
        })
    }

    pub(crate) fn fill(
        &self,
        captured: &Captured<'_>,
        takes_query: bool,
    ) -> Result<Location, Unfit> {
        let mut target = String::new();
        for item in &self.items {
            match item {
                Item::Text(text) => target.push_str(text),
                Item::Capture(index, part) => {
                    let bytes = captured.get(*index).copied().unwrap_or_default();
                    let is_label = |&byte: &u8| byte.is_ascii_alphanumeric() || byte == b'-';
                    let is_host = !bytes.is_empty() && bytes.iter().all(is_label);
                    if *part == Part::Label && !is_host {
                        return Err(Unfit::Host);
                    }
                    if bytes.len() > LONGEST_OUTPUT {
                        return Err(Unfit::TooLong);
                    }
                    encode(bytes, *part, &mut target);
                }
            }
            if target.len() > LONGEST_OUTPUT {
                return Err(Unfit::TooLong);
            }
        }
        if self.is_relative {
            target = one_slash_each(&target);
        }
        Ok(Location {
            target,
            takes_query,
        })
    }
}

/// The reference with each run of slashes in its path made one: with two at its start it would name a host.
fn one_slash_each(target: &str) -> String {
    let end = target.find(['?', '#']).unwrap_or(target.len());
    let mut out = String::with_capacity(target.len());
    for (at, character) in target.char_indices() {
        if at >= end || character != '/' || !out.ends_with('/') {
            out.push(character);
        }
    }
    out
}

/// A host that a request may choose would make of the site a way to anywhere: it may fill in labels before a
/// domain that the author wrote, no more.
fn check_authority(authority: &str, names: &[&str]) -> Result<(), Fault> {
    let items = items(authority, names);
    let mut sample = String::new();
    for item in &items {
        match item {
            Err(text) => sample.push_str(text),
            Ok(_) if sample.is_empty() || sample.ends_with('.') => sample.push('x'),
            // Joined to what stands before it, which the last check finds.
            Ok(_) => sample.push_str("!x"),
        }
    }
    let chosen = items.iter().any(Result::is_ok);
    let last = items.last().and_then(|item| item.err()).unwrap_or_default();
    let is_domain =
        last.starts_with('.') && last.split('.').filter(|label| !label.is_empty()).count() >= 2;
    if chosen && (!is_domain || sample.contains('!')) {
        let what = format!("the request would choose the host {}", quoted(authority));
        let hint = "let a placeholder stand only for whole labels before a domain, as in https://:name.example.org/";
        return Err(Fault::new(what, hint));
    }
    if authority.contains('@') || Authority::parse(sample.as_bytes()).is_none() {
        let what = format!("{} is not a host", quoted(authority));
        return Err(Fault::new(what, "write https://example.org/path"));
    }
    Ok(())
}

/// A path of this site that is served instead of the one that was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PathTemplate {
    items: Vec<Result<usize, Vec<u8>>>,
}

impl PathTemplate {
    /// A query or fragment in it is left out: files have none.
    pub(crate) fn parse(text: &str, names: &[&str]) -> Result<Self, Fault> {
        check_length(text)?;
        if text.starts_with("http://") || text.starts_with("https://") {
            let what = format!("{} would be fetched from another server", quoted(text));
            return Err(Fault::new(
                what,
                "redirect there with 302 instead: files only are served",
            ));
        }
        if !text.starts_with('/') {
            let what = format!("the path {} does not begin with /", quoted(text));
            return Err(Fault::new(
                what,
                "write the path of the file as a request would have it",
            ));
        }
        let path = text.split(['?', '#']).next().unwrap_or_default();
        let decoded = |item: Result<usize, &str>| item.map_err(|text| decode(text.as_bytes()));
        Ok(PathTemplate {
            items: items(path, names).into_iter().map(decoded).collect(),
        })
    }

    /// The decoded path, with one slash where there are more. `None` if what the request brings makes it too
    /// long, or makes a dot segment of it.
    pub(crate) fn fill(&self, captured: &Captured<'_>) -> Option<Vec<u8>> {
        let mut path: Vec<u8> = Vec::new();
        for item in &self.items {
            let bytes = match item {
                Ok(index) => captured.get(*index).copied().unwrap_or_default(),
                Err(text) => text,
            };
            if path.len() + bytes.len() > LONGEST_OUTPUT {
                return None;
            }
            for &byte in bytes {
                if byte != b'/' || path.last() != Some(&b'/') {
                    path.push(byte);
                }
            }
        }
        let is_plain =
            |segment: &[u8]| segment != b"." && segment != b".." && !segment.contains(&0);
        path.split(|&byte| byte == b'/')
            .all(is_plain)
            .then_some(path)
    }
}

/// A field value, in which a placeholder stands for what it took of the path, percent-encoded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ValueTemplate {
    items: Vec<Item>,
}

impl ValueTemplate {
    pub(crate) fn parse(text: &str, names: &[&str]) -> Result<Self, Fault> {
        check_length(text)?;
        let text = text.trim_matches([' ', '\t']);
        if !text.is_ascii() || !salver_semantics::field::is_value(text.as_bytes()) {
            let what = format!("{} is not a field value", quoted(text));
            return Err(Fault::new(
                what,
                "write it in ASCII, without control characters",
            ));
        }
        let item = |item: Result<usize, &str>| match item {
            Ok(index) => Item::Capture(index, Part::Path),
            Err(text) => Item::Text(text.to_owned()),
        };
        Ok(ValueTemplate {
            items: items(text, names).into_iter().map(item).collect(),
        })
    }

    /// The value; `None` if it is too long.
    pub(crate) fn fill(&self, captured: &Captured<'_>) -> Option<String> {
        let mut value = String::new();
        for item in &self.items {
            match item {
                Item::Text(text) => value.push_str(text),
                Item::Capture(index, part) => {
                    let bytes = captured.get(*index).copied().unwrap_or_default();
                    if bytes.len() > LONGEST_OUTPUT {
                        return None;
                    }
                    encode(bytes, *part, &mut value);
                }
            }
            if value.len() > LONGEST_OUTPUT {
                return None;
            }
        }
        Some(value)
    }
}

#[cfg(test)]
mod tests;
