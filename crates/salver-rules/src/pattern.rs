//! Patterns with placeholders, as `_headers`, `_redirects` and the key `from` have them.
//!
//! A pattern is a row of pieces. Matching takes what a regular expression with greedy groups would take, in time
//! proportional to the pieces times the length of the path, whatever either holds.

use std::ops::Range;

use crate::escape::decode;
use crate::fault::{Fault, quoted};
use crate::limits::{LONGEST_TEXT, MOST_PLACEHOLDERS};

/// The syntax of a pattern: what of it is a placeholder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Cloudflare's, and that of Salver's own rules: `:name` anywhere is one segment or the rest of one, one `*`
    /// anywhere is any text. A slash at the end counts.
    #[default]
    Anywhere,
    /// Netlify's in `_redirects`: `:name` is a whole segment, a segment `*` is any number of them, also none.
    /// A slash at the end does not count.
    Segments,
    /// Netlify's in `_headers`: `:name` is a whole segment, each `*` any text, whole segments also none. Neither a
    /// slash at the end nor case counts.
    HeaderSegments,
}

/// The parts of a text that the captures of a pattern took, in the order of its names.
pub(crate) type Captures = Vec<Range<usize>>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// These bytes.
    Literal(Vec<u8>),
    /// One byte or more that do not end a segment (of a host: a label). A capture.
    Segment,
    /// Any bytes. A capture.
    Any,
    /// Nothing, or `/` and any bytes, of which the capture is what follows the slash.
    Rest,
    /// A slash, or nothing.
    Slash,
}

/// A compiled pattern for a decoded path or a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pattern {
    pieces: Vec<Piece>,
    names: Vec<String>,
    ignores_case: bool,
    is_host: bool,
    /// True if every capture ends at the next `/` or at the end, so that nothing has to be tried.
    is_simple: bool,
}

impl Pattern {
    /// A pattern for paths.
    pub(crate) fn path(text: &str, dialect: Dialect) -> Result<Self, Fault> {
        if !text.starts_with('/') {
            let what = format!("the path {} does not begin with /", quoted(text));
            return Err(Fault::new(what, "write the path as a request has it"));
        }
        let mut builder = Builder::default();
        match dialect {
            Dialect::Anywhere => builder.anywhere(text),
            Dialect::Segments => builder.segments(text)?,
            Dialect::HeaderSegments => builder.header_segments(text),
        }
        builder.finish(text, dialect == Dialect::HeaderSegments, false)
    }

    /// A pattern for hosts without port: a name, `*.` before a name, or `:name` as a label. Case does not count.
    pub(crate) fn host(text: &str) -> Result<Self, Fault> {
        let bare = text.strip_prefix("*.").unwrap_or(text);
        let is_label = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.:[]".contains(&byte);
        if bare.is_empty() || !bare.bytes().all(is_label) {
            let what = format!("{} is not a host", quoted(text));
            return Err(Fault::new(
                what,
                "write example.org or *.example.org, without scheme and port",
            ));
        }
        let mut builder = Builder::default();
        if bare.starts_with('[') {
            builder.literal(bare.as_bytes());
        } else {
            builder.anywhere(text);
        }
        let has_port =
            |piece: &Piece| matches!(piece, Piece::Literal(text) if text.contains(&b':'));
        if !bare.starts_with('[') && builder.pieces.iter().any(has_port) {
            let what = format!("the host {} has a port", quoted(text));
            return Err(Fault::new(
                what,
                "leave the port out: a host is matched on every port",
            ));
        }
        builder.finish(text, true, true)
    }

    /// The names of its captures, in order.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }

    /// True if letters match in either case.
    pub(crate) fn ignores_case(&self) -> bool {
        self.ignores_case
    }

    /// The one path that it matches, but for a slash at the end and case; `None` if there are others.
    pub(crate) fn only_path(&self) -> Option<&[u8]> {
        match &*self.pieces {
            [Piece::Literal(path)] | [Piece::Literal(path), Piece::Slash] => Some(path),
            [Piece::Slash] => Some(b""),
            _ => None,
        }
    }

    /// The segments with which every path that it matches begins: `/blog` of `/blog/:slug`, and `""` where there
    /// are none. A path begins with them if they end where it ends, or before one of its slashes.
    pub(crate) fn first_segments(&self) -> &[u8] {
        let Some(Piece::Literal(first)) = self.pieces.first() else {
            return b"";
        };
        if matches!(self.pieces.get(1), None | Some(Piece::Rest | Piece::Slash)) {
            return first.strip_suffix(b"/").unwrap_or(first);
        }
        let end = first.iter().rposition(|&byte| byte == b'/').unwrap_or(0);
        first.get(..end).unwrap_or_default()
    }

    /// The captures if it matches all of `text`: a decoded path, or a host.
    pub(crate) fn captures(&self, text: &[u8]) -> Option<Captures> {
        // What most candidates fail at: how they end.
        if let Some(Piece::Literal(last)) = self.pieces.last()
            && !self.starts(text.get(text.len().checked_sub(last.len())?..)?, last)
        {
            return None;
        }
        if self.is_simple {
            self.walk(text)
        } else {
            self.search(text)
        }
    }

    fn starts(&self, text: &[u8], literal: &[u8]) -> bool {
        let Some(start) = text.get(..literal.len()) else {
            return false;
        };
        if self.ignores_case {
            start.eq_ignore_ascii_case(literal)
        } else {
            start == literal
        }
    }

    fn ends_segment(&self, byte: u8) -> bool {
        byte == b'/' || self.is_host && byte == b'.'
    }

    /// The match of a simple pattern, from left to right.
    fn walk(&self, text: &[u8]) -> Option<Captures> {
        let mut captures = Captures::new();
        let mut at = 0;
        for piece in &self.pieces {
            let rest = text.get(at..)?;
            match piece {
                Piece::Literal(literal) => {
                    if !self.starts(rest, literal) {
                        return None;
                    }
                    at += literal.len();
                }
                Piece::Segment => {
                    let end = rest.iter().position(|&byte| self.ends_segment(byte));
                    let end = at + end.unwrap_or(rest.len());
                    if end == at {
                        return None;
                    }
                    captures.push(at..end);
                    at = end;
                }
                Piece::Any => {
                    captures.push(at..text.len());
                    at = text.len();
                }
                Piece::Rest => {
                    match rest.first() {
                        None => captures.push(at..at),
                        Some(b'/') => captures.push(at + 1..text.len()),
                        Some(_) => return None,
                    }
                    at = text.len();
                }
                Piece::Slash => at += usize::from(rest.first() == Some(&b'/')),
            }
        }
        (at == text.len()).then_some(captures)
    }

    /// The match of any pattern: first which pieces can match from where to the end, last piece first; then each
    /// capture takes as much as lets the rest match.
    fn search(&self, text: &[u8]) -> Option<Captures> {
        let columns = text.len() + 1;
        let mut can = vec![false; columns * (self.pieces.len() + 1)];
        *can.last_mut()? = true;
        for (row, piece) in self.pieces.iter().enumerate().rev() {
            // The farthest match of the rest that a capture beginning here can reach; one backward pass each.
            let (rows, next) = can.split_at_mut(columns * (row + 1));
            let here = rows.get_mut(columns * row..)?;
            let next = next.get(..columns)?;
            let mut any_later = false;
            let mut segment_later = false;
            for at in (0..columns).rev() {
                let next_here = next.get(at) == Some(&true);
                let byte = text.get(at).copied();
                let found = match piece {
                    Piece::Literal(literal) => {
                        self.starts(text.get(at..)?, literal)
                            && next.get(at + literal.len()) == Some(&true)
                    }
                    Piece::Segment => {
                        let goes_on = byte.is_some_and(|byte| !self.ends_segment(byte));
                        let found = goes_on && segment_later;
                        segment_later = next_here || found;
                        found
                    }
                    Piece::Any => {
                        any_later |= next_here;
                        any_later
                    }
                    Piece::Rest => {
                        let found = next_here || byte == Some(b'/') && any_later;
                        any_later |= next_here;
                        found
                    }
                    Piece::Slash => {
                        next_here || byte == Some(b'/') && next.get(at + 1) == Some(&true)
                    }
                };
                *here.get_mut(at)? = found;
            }
        }
        self.read(text, &can)
    }

    /// The captures, given which pieces can match from where.
    fn read(&self, text: &[u8], can: &[bool]) -> Option<Captures> {
        let columns = text.len() + 1;
        let can =
            |row: usize, at: usize| at < columns && can.get(columns * row + at) == Some(&true);
        if !can(0, 0) {
            return None;
        }
        let mut captures = Captures::new();
        let mut at = 0;
        for (row, piece) in self.pieces.iter().enumerate() {
            let farthest = |most: usize| (at..=most).rev().find(|&end| can(row + 1, end));
            match piece {
                Piece::Literal(literal) => at += literal.len(),
                Piece::Segment => {
                    let rest = text.get(at..)?;
                    let end = rest.iter().position(|&byte| self.ends_segment(byte));
                    let end = farthest(at + end.unwrap_or(rest.len()))?;
                    captures.push(at..end);
                    at = end;
                }
                Piece::Any => {
                    let end = farthest(text.len())?;
                    captures.push(at..end);
                    at = end;
                }
                Piece::Rest => {
                    let most = if text.get(at) == Some(&b'/') {
                        text.len()
                    } else {
                        at
                    };
                    let end = farthest(most)?;
                    captures.push((at + 1).min(end)..end);
                    at = end;
                }
                Piece::Slash => {
                    at += usize::from(text.get(at) == Some(&b'/') && can(row + 1, at + 1));
                }
            }
        }
        Some(captures)
    }
}

#[derive(Default)]
struct Builder {
    pieces: Vec<Piece>,
    names: Vec<String>,
}

impl Builder {
    fn literal(&mut self, text: &[u8]) {
        let text = decode(text);
        match self.pieces.last_mut() {
            Some(Piece::Literal(last)) => last.extend_from_slice(&text),
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece::Literal(text)),
        }
    }

    fn capture(&mut self, piece: Piece, name: &str) {
        self.pieces.push(piece);
        self.names.push(name.to_owned());
    }

    fn anywhere(&mut self, text: &str) {
        let mut rest = text;
        while let Some(at) = rest.find(['*', ':']) {
            let (before, from) = rest.split_at(at);
            if from.starts_with('*') {
                self.literal(before.as_bytes());
                self.capture(Piece::Any, "splat");
                rest = from.get(1..).unwrap_or_default();
            } else if let Some(name) = placeholder(from) {
                self.literal(before.as_bytes());
                self.capture(Piece::Segment, name);
                rest = from.get(1 + name.len()..).unwrap_or_default();
            } else {
                let (colon, after) = rest.split_at(at + 1);
                self.literal(colon.as_bytes());
                rest = after;
            }
        }
        self.literal(rest.as_bytes());
    }

    fn segments(&mut self, text: &str) -> Result<(), Fault> {
        for segment in text.split('/').filter(|segment| !segment.is_empty()) {
            if segment == "*" {
                self.capture(Piece::Rest, "splat");
                continue;
            }
            if segment.contains('*') {
                let what = format!("{} has a * that is not a whole segment", quoted(text));
                let hint = "a splat stands between slashes, as in /news/*; use :name for a segment";
                return Err(Fault::new(what, hint));
            }
            self.literal(b"/");
            match segment.strip_prefix(':') {
                Some(name) if !name.is_empty() => self.capture(Piece::Segment, name),
                _ => self.literal(segment.as_bytes()),
            }
        }
        self.pieces.push(Piece::Slash);
        Ok(())
    }

    fn header_segments(&mut self, text: &str) {
        // Values of Netlify's fields know no placeholders: the captures have no names.
        for segment in text
            .split('/')
            .map(str::trim_end)
            .filter(|segment| !segment.is_empty())
        {
            if segment == "*" {
                self.capture(Piece::Rest, "");
                continue;
            }
            self.literal(b"/");
            if segment.starts_with(':') {
                self.capture(Piece::Segment, "");
                continue;
            }
            for (count, text) in segment.split('*').enumerate() {
                if count > 0 {
                    self.capture(Piece::Any, "");
                }
                self.literal(text.as_bytes());
            }
        }
        self.pieces.push(Piece::Slash);
    }

    fn finish(self, text: &str, ignores_case: bool, is_host: bool) -> Result<Pattern, Fault> {
        let Builder { pieces, names } = self;
        if text.len() > LONGEST_TEXT || names.len() > MOST_PLACEHOLDERS {
            let what = format!("the pattern {} is too long", quoted(text));
            let hint =
                format!("{LONGEST_TEXT} bytes and {MOST_PLACEHOLDERS} placeholders are the most");
            return Err(Fault::new(what, hint));
        }
        let ends =
            |byte: Option<&u8>| byte.is_some_and(|&byte| byte == b'/' || is_host && byte == b'.');
        let is_simple = pieces.iter().enumerate().all(|(at, piece)| {
            let next = pieces.get(at + 1);
            match piece {
                Piece::Literal(_) => true,
                Piece::Slash => next.is_none(),
                Piece::Segment => match next {
                    None | Some(Piece::Rest | Piece::Slash) => true,
                    Some(Piece::Literal(literal)) => ends(literal.first()),
                    Some(_) => false,
                },
                Piece::Any | Piece::Rest => {
                    next.is_none() || (next == Some(&Piece::Slash) && at + 2 == pieces.len())
                }
            }
        });
        Ok(Pattern {
            pieces,
            names,
            ignores_case,
            is_host,
            is_simple,
        })
    }
}

/// The name of the placeholder that `text` begins with: a colon, a letter, then letters, digits and `_`.
pub(crate) fn placeholder(text: &str) -> Option<&str> {
    let name = text.strip_prefix(':')?;
    let is_name = |character: char| character.is_ascii_alphanumeric() || character == '_';
    let end = name
        .find(|character| !is_name(character))
        .unwrap_or(name.len());
    let begins = name.starts_with(|character: char| character.is_ascii_alphabetic());
    begins.then(|| name.get(..end)).flatten()
}

#[cfg(test)]
mod tests;
