//! The coding of a representation: one that needs nothing but itself to be decoded, or one against a dictionary.

use salver_semantics::{ContentCoding, DictionaryCoding};

/// The coding of a representation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RepresentationCoding {
    /// A coding that needs nothing else.
    Plain(ContentCoding),
    /// A coding against a dictionary that the client has.
    AgainstDictionary(DictionaryCoding),
}

impl RepresentationCoding {
    /// The value of `Content-Encoding` (RFC 9110 section 8.4); `None` for identity.
    #[inline]
    pub(crate) fn content_encoding(self) -> Option<&'static str> {
        match self {
            RepresentationCoding::Plain(ContentCoding::Identity) => None,
            RepresentationCoding::Plain(coding) => Some(coding.name()),
            RepresentationCoding::AgainstDictionary(coding) => Some(coding.name()),
        }
    }

    /// True if it takes a dictionary to decode it.
    pub(crate) fn is_against_dictionary(self) -> bool {
        matches!(self, RepresentationCoding::AgainstDictionary(_))
    }

    /// The coding in which rules, files and readers know it: what is against a dictionary was made of a file as it is.
    pub(crate) fn plain(self) -> ContentCoding {
        match self {
            RepresentationCoding::Plain(coding) => coding,
            RepresentationCoding::AgainstDictionary(_) => ContentCoding::Identity,
        }
    }
}

impl From<ContentCoding> for RepresentationCoding {
    fn from(coding: ContentCoding) -> Self {
        RepresentationCoding::Plain(coding)
    }
}

impl From<DictionaryCoding> for RepresentationCoding {
    fn from(coding: DictionaryCoding) -> Self {
        RepresentationCoding::AgainstDictionary(coding)
    }
}
