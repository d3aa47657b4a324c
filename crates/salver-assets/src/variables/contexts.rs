//! The places of a page as a browser's tokenizer tells them apart (WHATWG HTML, section 13.2.5), as far as that says how
//! text is escaped there.

use std::ops::Range;

/// What text has to be escaped for at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Context {
    /// Text of an element, or the value of an attribute.
    Html,
    /// A script, within its strings.
    Script,
    /// A place where text becomes markup, code or style however it is escaped.
    Nowhere,
}

/// Elements whose content is text up to their end tag, and what text is there.
const RAW: [(&[u8], Context); 9] = [
    (b"script", Context::Script),
    (b"title", Context::Html),
    (b"textarea", Context::Html),
    (b"style", Context::Nowhere),
    (b"xmp", Context::Nowhere),
    (b"iframe", Context::Nowhere),
    (b"noembed", Context::Nowhere),
    (b"noframes", Context::Nowhere),
    (b"plaintext", Context::Nowhere),
];

/// The places of a page, looked up from its beginning to its end.
pub(super) struct Contexts<'p> {
    page: &'p [u8],
    at: usize,
    /// The stretch that was read last.
    last: (Range<usize>, Context),
    /// True if that is the value of an attribute.
    is_value: bool,
    state: State<'p>,
}

/// What comes next.
#[derive(Clone, Copy, Debug)]
enum State<'p> {
    /// Text and markup.
    Markup,
    /// The inside of a start tag of this name, or of an end tag, which has none.
    Tag(Option<&'p [u8]>),
    /// The value of the attribute of this name, in such a tag.
    Value(Option<&'p [u8]>, &'p [u8]),
    /// The content of an element of [`RAW`].
    Raw(&'static [u8], Context),
}

impl<'p> Contexts<'p> {
    pub(super) fn new(page: &'p [u8]) -> Self {
        Contexts {
            page,
            at: 0,
            last: (0..0, Context::Html),
            is_value: false,
            state: State::Markup,
        }
    }

    /// The context at a place, which is not before the last one that was asked for.
    pub(super) fn at(&mut self, place: usize) -> Context {
        while place >= self.last.0.end && self.at < self.page.len() {
            let begun = self.at;
            self.is_value = matches!(self.state, State::Value(..));
            let context = self.step();
            self.last = (begun..self.at, context);
        }
        let before = self.page.get(..place).unwrap_or_default();
        // What follows would be the name of a tag.
        let begins_tag = [&b"<"[..], b"</", b"<!", b"<?"]
            .iter()
            .any(|begin| before.ends_with(begin));
        let is_script_url = || {
            let value = self.page.get(self.last.0.start..place).unwrap_or_default();
            is_script_url(value)
        };
        match self.last.1 {
            _ if begins_tag => Context::Nowhere,
            Context::Html if self.is_value && is_script_url() => Context::Nowhere,
            context => context,
        }
    }

    fn rest(&self) -> &'p [u8] {
        self.page.get(self.at..).unwrap_or_default()
    }

    /// Takes what comes up to one of these bytes, or to the end.
    fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'p [u8] {
        let rest = self.rest();
        let length = rest
            .iter()
            .position(|&byte| ends(byte))
            .unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Takes what comes up to the end of `end`, or to the end of the page.
    fn take_through(&mut self, end: &[u8]) {
        let rest = self.rest();
        let found = rest.windows(end.len()).position(|part| part == end);
        self.at += found.map_or(rest.len(), |at| at + end.len());
    }

    /// Takes the next stretch, of one byte at least, and gives its context.
    fn step(&mut self) -> Context {
        match self.state {
            State::Markup => self.markup(),
            State::Tag(name) => self.tag(name),
            State::Value(tag, name) => self.value(tag, name),
            State::Raw(name, context) => self.raw(name, context),
        }
    }

    fn markup(&mut self) -> Context {
        match self.rest() {
            [b'<', b'!', b'-', b'-', rest @ ..] => {
                self.at += 4;
                // These are whole comments.
                match rest {
                    [b'>', ..] => self.at += 1,
                    [b'-', b'>', ..] => self.at += 2,
                    _ => self.comment(),
                }
                Context::Html
            }
            [b'<', first, ..] if first.is_ascii_alphabetic() => {
                self.at += 1;
                let name = self.take_until(ends_name);
                self.state = State::Tag(Some(name));
                Context::Nowhere
            }
            [b'<', b'/', first, ..] if first.is_ascii_alphabetic() => {
                self.at += 2;
                self.take_until(ends_name);
                self.state = State::Tag(None);
                Context::Nowhere
            }
            // Declarations, and what is taken for comments.
            [b'<', b'!' | b'?' | b'/', ..] => {
                self.take_through(b">");
                Context::Html
            }
            _ => {
                self.at += 1;
                self.take_until(|byte| byte == b'<');
                Context::Html
            }
        }
    }

    /// Takes the rest of a comment, which ends with `-->` or `--!>`.
    fn comment(&mut self) {
        while let [_, behind @ ..] = self.rest() {
            match self.rest() {
                [b'-', b'-', b'>', ..] => return self.at += 3,
                [b'-', b'-', b'!', b'>', ..] => return self.at += 4,
                _ => self.at = self.page.len() - behind.len(),
            }
        }
    }

    /// Takes an attribute's name with what is before it, or the end of the tag.
    fn tag(&mut self, tag: Option<&'p [u8]>) -> Context {
        self.take_until(|byte| !is_space(byte) && byte != b'/');
        if let Some(b'>') = self.rest().first() {
            self.at += 1;
            self.state = State::Markup;
            let raw = RAW
                .iter()
                .find(|(name, _)| tag.is_some_and(|tag| tag.eq_ignore_ascii_case(name)));
            if let Some((name, context)) = raw {
                self.state = State::Raw(name, *context);
            }
            return Context::Nowhere;
        }
        let begun = self.at;
        // A name may begin with `=`.
        self.at = (begun + 1).min(self.page.len());
        self.take_until(|byte| ends_name(byte) || byte == b'=');
        let name = self.page.get(begun..self.at).unwrap_or_default();
        let end = self.at;
        self.take_until(|byte| !is_space(byte));
        if let Some(b'=') = self.rest().first() {
            self.at += 1;
            self.take_until(|byte| !is_space(byte));
            if self.rest().first().is_some_and(|byte| *byte != b'>') {
                self.state = State::Value(tag, name);
            }
        } else {
            self.at = end;
        }
        Context::Nowhere
    }

    fn value(&mut self, tag: Option<&'p [u8]>, name: &[u8]) -> Context {
        match self.rest().first() {
            Some(&quote @ (b'"' | b'\'')) => {
                self.at += 1;
                self.take_until(|byte| byte == quote);
                self.at = (self.at + 1).min(self.page.len());
            }
            _ => drop(self.take_until(|byte| is_space(byte) || byte == b'>')),
        }
        self.state = State::Tag(tag);
        let begin = name.get(..2).unwrap_or_default();
        let is_code = begin.eq_ignore_ascii_case(b"on")
            || name.eq_ignore_ascii_case(b"style")
            || name.eq_ignore_ascii_case(b"srcdoc");
        match is_code {
            true => Context::Nowhere,
            false => Context::Html,
        }
    }

    /// Takes the content of a raw element up to its end tag.
    fn raw(&mut self, name: &[u8], context: Context) -> Context {
        let rest = self.rest();
        let is_end = |part: &[u8]| {
            let Some((begin, [end])) = part.split_at_checked(name.len() + 2) else {
                return false;
            };
            begin.starts_with(b"</")
                && begin
                    .get(2..)
                    .is_some_and(|own| own.eq_ignore_ascii_case(name))
                && ends_name(*end)
        };
        let found = rest.windows(name.len() + 3).position(is_end);
        self.state = State::Markup;
        // Nothing ends it.
        let found = found.filter(|_| name != b"plaintext");
        self.at += found.unwrap_or(rest.len());
        if found == Some(0) {
            return self.markup();
        }
        context
    }
}

/// True for what ends the name of a tag.
fn ends_name(byte: u8) -> bool {
    is_space(byte) || matches!(byte, b'/' | b'>')
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r' | 0x0c)
}

/// True for the beginning of a URL that is a script, in quotes or not. White space within does not count, as for browsers.
fn is_script_url(value: &[u8]) -> bool {
    let value = value.trim_ascii_start();
    let value = value
        .strip_prefix(b"\"")
        .or(value.strip_prefix(b"'"))
        .unwrap_or(value);
    let is_seen = |byte: &&u8| **byte > b' ';
    let begin: Vec<u8> = value
        .iter()
        .filter(is_seen)
        .take(11)
        .map(u8::to_ascii_lowercase)
        .collect();
    begin == b"javascript:"
}
