//! What must be true of an answer.

use std::ops::Range;
use std::sync::Arc;

use crate::fixture::Fixture;

/// What must be true of one field of the answer. Names are compared without case.
#[derive(Clone, Debug)]
pub enum FieldRule {
    /// No such field.
    Absent,
    /// There, whatever it says.
    Present,
    /// Exactly this value; may hold the templates of [`crate::Request`].
    Equals(String),
    /// Anything but this value (templates as in `Equals`); an absent field passes.
    Differs(String),
    /// The same value as another field of the same answer.
    SameAs(&'static str),
    /// A list that holds this member, compared without case.
    Lists(&'static str),
    /// One of these media types, with `charset=utf-8` exactly if asked.
    MediaType(Vec<&'static str>, bool),
    /// A path-absolute reference that decodes to this path and has this query.
    Location(Vec<u8>, Option<Vec<u8>>),
}

/// What the content must be. Judged only if the status is 2xx: other answers have rules of
/// their own that hold for every row.
#[derive(Clone, Debug)]
pub enum ContentRule {
    /// Whatever it is.
    Any,
    /// No content.
    Empty,
    /// These bytes.
    Exactly(Arc<[u8]>),
    /// multipart/byteranges with these parts of a representation of `length` bytes.
    Parts {
        /// Length of the whole representation.
        length: u64,
        /// The ranges in order, with their bytes.
        parts: Vec<(Range<u64>, Arc<[u8]>)>,
    },
}

/// What must become of an HTTP/1.1 connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionRule {
    /// It persists (RFC 9112 section 9.3).
    Kept,
    /// The server says `close` and closes (RFC 9112 section 9.6).
    Closed,
    /// As the answer says.
    AsSaid,
}

/// What must be true of one answer.
#[derive(Clone, Debug)]
pub struct Expectation {
    /// One of these statuses.
    pub statuses: Vec<u16>,
    /// Rules for fields.
    pub fields: Vec<(&'static str, FieldRule)>,
    /// The content.
    pub content: ContentRule,
    /// The connection, if it is HTTP/1.1.
    pub connection: ConnectionRule,
}

impl Expectation {
    /// Only a status, on a connection that persists.
    pub(crate) fn status(status: u16) -> Self {
        Self {
            statuses: vec![status],
            fields: Vec::new(),
            content: ContentRule::Any,
            connection: ConnectionRule::Kept,
        }
    }

    /// Another status that is right too.
    pub(crate) fn or(mut self, status: u16) -> Self {
        self.statuses.push(status);
        self
    }

    /// The connection ends with this answer.
    pub(crate) fn closed(mut self) -> Self {
        self.connection = ConnectionRule::Closed;
        self
    }

    /// The connection goes on or ends, as the answer says.
    pub(crate) fn kept_or_closed(mut self) -> Self {
        self.connection = ConnectionRule::AsSaid;
        self
    }

    /// One more rule for a field.
    pub(crate) fn rule(mut self, name: &'static str, rule: FieldRule) -> Self {
        self.fields.push((name, rule));
        self
    }

    /// The field has this value.
    pub(crate) fn has(self, name: &'static str, value: impl Into<String>) -> Self {
        self.rule(name, FieldRule::Equals(value.into()))
    }

    /// The field is there.
    pub(crate) fn present(self, name: &'static str) -> Self {
        self.rule(name, FieldRule::Present)
    }

    /// The field is not there.
    pub(crate) fn lacks(self, name: &'static str) -> Self {
        self.rule(name, FieldRule::Absent)
    }

    /// `Vary` lists Accept-Encoding (RFC 9110 section 12.5.5).
    pub(crate) fn varies(self) -> Self {
        self.rule("vary", FieldRule::Lists("accept-encoding"))
    }

    /// The content is in this coding; identity is said by silence (RFC 9110 section 8.4).
    pub(crate) fn coded(self, coding: &str) -> Self {
        if coding == "identity" {
            self.lacks("content-encoding")
        } else {
            self.has("content-encoding", coding)
        }
    }

    /// 200 with these bytes, and the fields that every whole file has.
    pub(crate) fn bytes(content: Arc<[u8]>) -> Self {
        let length = content.len().to_string();
        let mut this = Self::status(200)
            .present("etag")
            .present("last-modified")
            .present("content-type")
            .present("cache-control")
            .has("accept-ranges", "bytes")
            .has("content-length", length)
            .lacks("content-range")
            .lacks("location");
        this.content = ContentRule::Exactly(content);
        this
    }

    /// 200 with a whole file of the fixture.
    pub(crate) fn whole(fixture: &Fixture, name: &str) -> Self {
        Self::bytes(fixture.bytes(name))
    }

    /// 206 with one range of a file (RFC 9110 section 15.3.7.1).
    pub(crate) fn part(fixture: &Fixture, name: &str, range: Range<u64>) -> Self {
        let length = fixture.length(name);
        let last = range.end.saturating_sub(1);
        let mut this = Self::status(206)
            .present("etag")
            .present("content-type")
            .present("cache-control")
            .has(
                "content-range",
                format!("bytes {}-{last}/{length}", range.start),
            )
            .has("content-length", (range.end - range.start).to_string());
        this.content = ContentRule::Exactly(fixture.slice(name, range));
        this
    }

    /// 206 with several ranges of a file (RFC 9110 section 15.3.7.2).
    pub(crate) fn parts(fixture: &Fixture, name: &str, ranges: &[Range<u64>]) -> Self {
        let mut this = Self::status(206)
            .present("etag")
            .present("cache-control")
            .lacks("content-range")
            .rule(
                "content-type",
                FieldRule::MediaType(vec!["multipart/byteranges"], false),
            );
        this.content = ContentRule::Parts {
            length: fixture.length(name),
            parts: ranges
                .iter()
                .map(|range| (range.clone(), fixture.slice(name, range.clone())))
                .collect(),
        };
        this
    }

    /// 416 for a representation of this length (RFC 9110 section 15.5.17).
    pub(crate) fn unsatisfiable(length: u64) -> Self {
        Self::status(416).has("content-range", format!("bytes */{length}"))
    }

    /// 304 with what RFC 9110 section 15.4.5 asks for.
    pub(crate) fn not_modified() -> Self {
        Self::status(304).present("etag").present("cache-control")
    }

    /// 308 to a path of the same server (RFC 9110 section 15.4.9).
    pub(crate) fn redirect(path: impl AsRef<[u8]>, query: Option<&str>) -> Self {
        Self::status(308).rule(
            "location",
            FieldRule::Location(
                path.as_ref().to_vec(),
                query.map(|query| query.as_bytes().to_vec()),
            ),
        )
    }
}
