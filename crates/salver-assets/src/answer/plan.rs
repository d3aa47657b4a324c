//! Plans of answers: status, fields and content as a value. Carrying it out is the driver's part.

use std::ops::Range;
use std::sync::{Arc, Weak};

use bytes::Bytes;
use salver_semantics::{CacheState, CacheStatus, Method};

use crate::answer::file_content::{ContentBytes, FileContent, TransferCheck};
use crate::answer::selected::Selected;
use crate::cache::anonymous_content::AnonymousContent;
use crate::cache::recent_checks::RecentChecks;
use crate::error::LoadError;
use crate::resource::cached_content::CachedContent;
use crate::resource::head::{Field, Head, HeadKind, OwnField, RenderedHeads, vary_field};
use crate::resource::representation::{Representation, TagBasis};
use crate::source::{Identity, Opened, Reader};
use crate::strategy::Situation;

/// The plan of an answer. `Date` and the connection's own fields are the driver's to add.
#[derive(Debug)]
pub struct ResponsePlan {
    /// The status code.
    pub status: u16,
    head: PlannedHead,
    /// The fields that a program adds to the head.
    more: Box<[OwnField]>,
    /// The content; already left out for HEAD.
    pub content: Content,
    /// How the cache had the resource; `None` if it was not asked.
    pub cache_state: Option<CacheState>,
    /// All that is known of that; `None` unless [`Config::cache_status`](crate::Config::cache_status) asks for it.
    pub cache_status: Option<Box<CacheStatus>>,
    failure: Option<LoadError>,
    /// The number of the fields that the driver adds, if it has several sets of them; 0 until it says otherwise.
    pub driver_fields: u16,
    /// The number by which the driver counts the site that it is of; 0 until it says otherwise.
    pub driver_site: u16,
}

#[derive(Debug)]
enum PlannedHead {
    /// The head for the representation as it is: of a 200, or of an error whose page it is.
    Whole(Arc<Representation>, HeadKind),
    /// The head of a 304 for it.
    NotModified(Arc<Representation>, HeadKind),
    /// A head made for this answer.
    Made(Vec<Field>),
}

/// The content of an answer. Its length is what the head's `Content-Length` says. These are all: who sends answers has
/// to know each.
#[derive(Debug)]
pub enum Content {
    /// No content.
    Empty,
    /// In memory.
    Memory(Bytes),
    /// In a file.
    File(FileContent),
    /// Pieces one after the other (`multipart/byteranges`).
    Parts(Vec<Piece>),
}

impl Content {
    /// The file that it is sent from, if it is: the pieces of one answer are of one file.
    pub fn file(&self) -> Option<&FileContent> {
        match self {
            Content::File(file) => Some(file),
            Content::Parts(pieces) => pieces.iter().find_map(|piece| match piece {
                Piece::File(file) => Some(file),
                Piece::Memory(_) => None,
            }),
            Content::Empty | Content::Memory(_) => None,
        }
    }

    /// True if dropping it may wait: closing a file can, where a file server has to be told.
    pub fn may_wait_when_closed(&self) -> bool {
        self.file().is_some_and(|file| !file.local)
    }
}

/// A piece of content.
#[derive(Debug)]
pub enum Piece {
    /// In memory.
    Memory(Bytes),
    /// In a file.
    File(FileContent),
}

impl ResponsePlan {
    /// An answer with fields of its own.
    pub(crate) fn made(status: u16, fields: Vec<Field>, content: Content) -> Self {
        ResponsePlan {
            status,
            head: PlannedHead::Made(fields),
            more: Box::default(),
            content,
            cache_state: None,
            cache_status: None,
            failure: None,
            driver_fields: 0,
            driver_site: 0,
        }
    }

    /// An answer that a program makes itself. The length of `content` and what belongs to the
    /// connection are not among `fields`.
    pub fn own(status: u16, fields: Vec<OwnField>, content: Bytes) -> Self {
        // RFC 9110 section 8.6: neither says how long something is that isn't there.
        let length = match status {
            204 | 304 => vec![],
            _ => vec![("Content-Length", content.len().to_string().into())],
        };
        let content = match content.is_empty() || length.is_empty() {
            true => Content::Empty,
            false => Content::Memory(content),
        };
        Self::made(status, length, content).with_fields(fields)
    }

    /// An answer that a program makes itself and whose content the driver has from elsewhere, `length` bytes of it if
    /// that is known. The length and what belongs to the connection are not among `fields`.
    pub fn of_length(status: u16, fields: Vec<OwnField>, length: Option<u64>) -> Self {
        let length = length.map(|length| ("Content-Length", length.to_string().into()));
        let length = length.into_iter().collect();
        Self::made(status, length, Content::Empty).with_fields(fields)
    }

    /// The same answer with further fields, each instead of those of its name; `Vary` in addition
    /// to what is there.
    pub fn with_fields(mut self, more: Vec<OwnField>) -> Self {
        self.more = self.more.into_iter().chain(more).collect();
        self
    }

    pub(crate) fn whole(status: u16, selected: Selected<'_>, content: Content) -> Self {
        let head = PlannedHead::Whole(Arc::clone(selected.representation), selected.kind);
        ResponsePlan {
            status,
            head,
            more: Box::default(),
            content,
            cache_state: None,
            cache_status: None,
            failure: None,
            driver_fields: 0,
            driver_site: 0,
        }
    }

    pub(crate) fn not_modified(selected: Selected<'_>) -> Self {
        let head = PlannedHead::NotModified(Arc::clone(selected.representation), selected.kind);
        ResponsePlan {
            status: 304,
            head,
            more: Box::default(),
            content: Content::Empty,
            cache_state: None,
            cache_status: None,
            failure: None,
            driver_fields: 0,
            driver_site: 0,
        }
    }

    /// An error: an answer with a short text. It is not to be stored. `more` are fields besides
    /// those of the text.
    pub fn error(status: u16, text: &str, more: Vec<Field>) -> Self {
        let text = Bytes::from(format!("{status} {text}\n"));
        let mut fields: Vec<Field> = vec![
            (
                "Content-Type",
                Bytes::from_static(b"text/plain; charset=utf-8"),
            ),
            ("Content-Length", text.len().to_string().into()),
            ("Cache-Control", Bytes::from_static(b"no-cache")),
        ];
        fields.extend(more);
        Self::made(status, fields, Content::Memory(text))
    }

    /// An [`error`](Self::error) where other values of the request fields that `vary` names, if it does, might have
    /// had another answer.
    pub(crate) fn negotiated_error(
        status: u16,
        text: &str,
        mut more: Vec<Field>,
        vary: Option<&'static str>,
    ) -> Self {
        more.extend(vary.map(vary_field));
        Self::error(status, text, more)
    }

    /// The answer to a request with this method: that to HEAD is the one to GET without its content (RFC 9110
    /// section 9.3.2).
    #[must_use]
    pub fn for_method(mut self, method: Method) -> Self {
        if method == Method::Head {
            self.content = Content::Empty;
        }
        self
    }

    /// The error of the load that this is the answer to, if it has no page of its own.
    pub fn failure(&self) -> Option<LoadError> {
        self.failure
    }

    pub(crate) fn with_failure(mut self, error: LoadError) -> Self {
        self.failure = Some(error);
        self
    }

    /// The representation, if it is answered whole from memory and with its own head.
    pub fn served_whole(&self) -> Option<ServedWhole<'_>> {
        match (&self.head, &self.content) {
            (PlannedHead::Whole(representation, kind), Content::Memory(content))
                if self.more.is_empty() =>
            {
                Some(ServedWhole {
                    representation,
                    kind: *kind,
                    content,
                })
            }
            _ => None,
        }
    }

    /// The fields of the head.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &Bytes)> {
        let (fields, added) = match &self.head {
            PlannedHead::Whole(of, kind) => parts(of.head_of(*kind)),
            PlannedHead::NotModified(of, kind) => parts(of.not_modified_of(*kind)),
            PlannedHead::Made(fields) => (&**fields, &[][..]),
        };
        let own = |(name, value)| -> (&str, &Bytes) { (name, value) };
        let fields = fields.iter().map(move |(name, value)| own((*name, value)));
        let added = added.iter().map(|(name, value)| (&**name, value));
        let more = self.more.iter().map(|(name, value)| (&**name, value));
        let made = fields.chain(added);
        made.filter(|(name, _)| !self.replaces(name)).chain(more)
    }

    /// The value of `Content-Encoding` (RFC 9110 section 8.4), as [`fields`](Self::fields) have it; `None` for
    /// identity. Nothing that is added to the head of a file can change it.
    pub fn content_coding(&self) -> Option<&[u8]> {
        match &self.head {
            PlannedHead::Whole(of, _) => of.coding.content_encoding().map(str::as_bytes),
            PlannedHead::NotModified(..) => None,
            PlannedHead::Made(_) => {
                let mut fields = self.fields();
                let coding = fields.find(|(name, _)| name.eq_ignore_ascii_case("Content-Encoding"));
                coding.map(|(_, value)| &**value)
            }
        }
    }

    /// True if a program replaces this field. `Vary` only becomes longer.
    fn replaces(&self, name: &str) -> bool {
        let mut more = self.more.iter();
        !name.eq_ignore_ascii_case("Vary") && more.any(|(own, _)| own.eq_ignore_ascii_case(name))
    }

    /// The rendered forms of the head; `None` for a head made for this answer alone.
    pub fn rendered_heads(&self) -> Option<&RenderedHeads> {
        if !self.more.is_empty() {
            return None;
        }
        let head: &Head = match &self.head {
            PlannedHead::Whole(representation, kind) => representation.head_of(*kind),
            PlannedHead::NotModified(representation, kind) => representation.not_modified_of(*kind),
            PlannedHead::Made(_) => return None,
        };
        Some(&head.rendered)
    }
}

/// The fields of a head: its own, and those that rules add.
fn parts(head: &Head) -> (&[Field], &[OwnField]) {
    (&head.fields, &head.added)
}

/// A whole representation from memory: head and content are the same in every such answer, but for
/// the date and the fields of the connection.
pub struct ServedWhole<'a> {
    representation: &'a Arc<Representation>,
    kind: HeadKind,
    content: &'a Bytes,
}

impl ServedWhole<'_> {
    /// The content.
    pub fn content(&self) -> &Bytes {
        self.content
    }

    /// A number that no other representation has as long as this is [remembered](Self::remember); one with several
    /// heads has it for all.
    pub fn number(&self) -> usize {
        Arc::as_ptr(self.representation).addr()
    }

    /// A weak reference to it, which does not keep its content in memory.
    pub fn remember(&self) -> Remembered {
        Remembered(Arc::downgrade(self.representation), self.kind)
    }
}

/// A weak reference to a representation that was served whole.
#[derive(Debug)]
pub struct Remembered(Weak<Representation>, HeadKind);

impl Remembered {
    /// True if it is the representation of `whole`, with the same head.
    pub fn is(&self, whole: &ServedWhole<'_>) -> bool {
        std::ptr::eq(self.0.as_ptr(), Arc::as_ptr(whole.representation)) && self.1 == whole.kind
    }
}

/// An open file that content is to be sent from.
pub(crate) struct OpenedContent {
    pub(crate) opened: Opened,
    pub(crate) checks: Arc<RecentChecks>,
    pub(crate) situation: Situation,
    pub(crate) tag_basis: TagBasis,
}

impl OpenedContent {
    /// The bytes of `range` of the file, which is to stay what this identity says.
    fn file(&self, bytes: ContentBytes, range: Range<u64>, identity: &Identity) -> Piece {
        Piece::File(FileContent {
            bytes,
            range,
            identity: *identity,
            local: self.opened.local,
            situation: self.situation,
            transfer: TransferCheck::new(self.tag_basis, identity, Arc::clone(&self.checks)),
        })
    }
}

/// The source of a representation's bytes, for one answer.
pub(crate) enum ContentSource<'a> {
    Memory(&'a Bytes),
    Anonymous(&'a Arc<AnonymousContent>),
    Opened(OpenedContent),
}

impl<'a> ContentSource<'a> {
    /// The source of content that is at hand.
    pub(crate) fn of(content: &'a CachedContent) -> Self {
        match &content.anonymous {
            Some(anonymous) => ContentSource::Anonymous(anonymous),
            None => ContentSource::Memory(&content.bytes),
        }
    }

    /// The bytes of `range`.
    pub(crate) fn piece(&self, range: Range<u64>) -> Piece {
        let bytes = match self {
            ContentSource::Memory(bytes) => bytes,
            ContentSource::Anonymous(_) if range.is_empty() => &const { Bytes::new() },
            ContentSource::Anonymous(content) => {
                return Piece::File(FileContent::of_anonymous(content, range));
            }
            ContentSource::Opened(content) => match &content.opened.reader {
                Reader::Memory(bytes) => bytes,
                Reader::Static(bytes) => &Bytes::from_static(bytes),
                Reader::File(_) | Reader::Stored(_) | Reader::Remote(_) if range.is_empty() => {
                    &const { Bytes::new() }
                }
                Reader::File(file) => {
                    let bytes = ContentBytes::File(Arc::clone(file));
                    return content.file(bytes, range, &content.opened.metadata.identity);
                }
                // What is compared while it leaves is the file as it lies there.
                Reader::Stored(stored) => {
                    let bytes = ContentBytes::File(Arc::clone(stored.file()));
                    return content.file(bytes, range, stored.identity());
                }
                Reader::Remote(remote) => {
                    let bytes = ContentBytes::Remote(Arc::clone(remote));
                    return content.file(bytes, range, &content.opened.metadata.identity);
                }
            },
        };
        let start = usize::try_from(range.start)
            .unwrap_or(usize::MAX)
            .min(bytes.len());
        let end = usize::try_from(range.end)
            .unwrap_or(usize::MAX)
            .clamp(start, bytes.len());
        Piece::Memory(bytes.slice(start..end))
    }

    pub(crate) fn content(&self, range: Range<u64>) -> Content {
        match self.piece(range) {
            Piece::Memory(bytes) if bytes.is_empty() => Content::Empty,
            Piece::Memory(bytes) => Content::Memory(bytes),
            Piece::File(file) => Content::File(file),
        }
    }
}
