//! Validators: entity tags and modification dates (RFC 9110 section 8.8).

use crate::date::HttpDate;
use crate::field::{List, Quoting};

/// An entity tag (RFC 9110 section 8.8.3), borrowed from the field that it was read from.
///
/// Deliberately not `Eq`: whether two tags are equal depends on the comparison (section 8.8.3.2).
#[derive(Copy, Clone, Debug)]
pub struct EntityTag<'a> {
    weak: bool,
    /// Without its quotes; every byte is an `etagc`.
    opaque: &'a [u8],
}

impl<'a> EntityTag<'a> {
    /// Reads `value`, all of it, as `[ W/ ] DQUOTE *etagc DQUOTE`. White space around it, white
    /// space or a double quote within it, a lower-case `w/` and missing quotes are `None`. A
    /// backslash is a byte like any other, bytes from 0x80 on are allowed.
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        let (weak, quoted) = match value {
            [b'W', b'/', quoted @ ..] => (true, quoted),
            quoted => (false, quoted),
        };
        match quoted {
            [b'"', opaque @ .., b'"'] if opaque.iter().copied().all(is_etagc) => {
                Some(EntityTag { weak, opaque })
            }
            _ => None,
        }
    }

    /// Whether the tag is weak (`W/`).
    pub fn weak(&self) -> bool {
        self.weak
    }

    /// The tag without its quotes.
    pub fn opaque(&self) -> &'a [u8] {
        self.opaque
    }

    /// Strong comparison: equal, and neither is weak (RFC 9110 section 8.8.3.2).
    pub fn strong_eq(&self, other: &EntityTag<'_>) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// Weak comparison: equal, whether weak or not (RFC 9110 section 8.8.3.2).
    pub fn weak_eq(&self, other: &EntityTag<'_>) -> bool {
        self.opaque == other.opaque
    }
}

/// `etagc = %x21 / %x23-7E / obs-text` (RFC 9110 section 8.8.3).
fn is_etagc(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x7e | 0x80..)
}

/// The entity tags of a list such as If-None-Match has. Members that are no entity tag are
/// skipped; a comma within a tag's quotes belongs to the tag.
pub fn entity_tags(value: &[u8]) -> impl Iterator<Item = EntityTag<'_>> {
    List {
        rest: value,
        quoting: Quoting::EntityTag,
    }
    .filter_map(EntityTag::parse)
}

/// What the selected representation is recognised by. `None` where it has no such validator.
#[derive(Copy, Clone, Debug, Default)]
pub struct Validators<'a> {
    /// Its ETag.
    pub entity_tag: Option<EntityTag<'a>>,
    /// Its Last-Modified.
    pub last_modified: Option<HttpDate>,
}
