//! The fields that go with a representation, with their rendered forms.

use std::any::Any;
use std::sync::OnceLock;

use bytes::Bytes;

/// A field name and value, as they go into an answer.
pub type Field = (&'static str, Bytes);

/// A field that a program or a rule adds: name and value, both valid as they stand.
pub type OwnField = (Box<str>, Bytes);

/// The transports for which heads are rendered ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// HTTP/1.x, whose heads are bytes.
    Http1,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    Http3,
    /// A library's own types, for a program that embeds the engine.
    Library,
}

/// A head that is rendered at first use, once per protocol, and then kept with the fields. The type
/// of a rendered head is the driver's.
#[derive(Debug, Default)]
pub struct RenderedHeads([OnceLock<Box<dyn Any + Send + Sync>>; 4]);

impl RenderedHeads {
    /// The head for `protocol`, made by `render` if it has not been yet.
    ///
    /// `None` only if two drivers of one protocol render into different types.
    pub fn head<T: Any + Send + Sync>(
        &self,
        protocol: Protocol,
        render: impl FnOnce() -> T,
    ) -> Option<&T> {
        let [http1, http2, http3, library] = &self.0;
        let slot = match protocol {
            Protocol::Http1 => http1,
            Protocol::Http2 => http2,
            Protocol::Http3 => http3,
            Protocol::Library => library,
        };
        slot.get_or_init(|| Box::new(render())).downcast_ref()
    }
}

/// A set of fields with its rendered forms.
#[derive(Debug, Default)]
pub(crate) struct Head {
    /// The fields, without `Date` and those of the connection.
    pub(crate) fields: Vec<Field>,
    /// The fields that rules add.
    pub(crate) added: Vec<OwnField>,
    /// The rendered forms of the fields.
    pub(crate) rendered: RenderedHeads,
}

impl Head {
    pub(crate) fn new(fields: Vec<Field>) -> Self {
        Head {
            fields,
            ..Head::default()
        }
    }

    /// The same head, not rendered yet.
    pub(crate) fn copy(&self) -> Self {
        Head {
            fields: self.fields.clone(),
            added: self.added.clone(),
            rendered: RenderedHeads::default(),
        }
    }

    /// The value of the field with this name.
    pub(crate) fn value(&self, name: &str) -> Option<&Bytes> {
        let own = self.fields.iter().map(|(name, value)| (*name, value));
        let added = self.added.iter().map(|(name, value)| (&**name, value));
        let mut all = own.chain(added);
        all.find_map(|(known, value)| known.eq_ignore_ascii_case(name).then_some(value))
    }

    /// The values of all lines of the field with this name.
    pub(crate) fn values(&self, name: &str) -> Vec<&Bytes> {
        let own = self.fields.iter().map(|(name, value)| (*name, value));
        let added = self.added.iter().map(|(name, value)| (&**name, value));
        let all = own.chain(added);
        all.filter_map(|(known, value)| known.eq_ignore_ascii_case(name).then_some(value))
            .collect()
    }

    /// The bytes of memory that it takes, with room for a rendered form.
    pub(crate) fn weight(&self) -> usize {
        let line = |name: &str, value: &Bytes| 2 * (name.len() + value.len() + 4) + 40;
        let fields = self.fields.iter().map(|(name, value)| line(name, value));
        let added = self.added.iter().map(|(name, value)| line(name, value));
        std::mem::size_of::<Self>() + fields.chain(added).sum::<usize>() + 64
    }
}

/// The kind of request that a head is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HeadKind {
    /// Any.
    Any,
    /// One that may have to do with compression dictionaries: from a secure context, by who can read the answer.
    BesideDictionaries,
}

/// The heads of a representation for requests that may have to do with dictionaries.
#[derive(Debug)]
pub(crate) struct DictionaryHeads {
    /// The head of a 200.
    pub(crate) whole: Head,
    /// The head of a 304.
    pub(crate) not_modified: Head,
}

impl DictionaryHeads {
    /// The heads with these fields besides, that of a 304 without them.
    pub(crate) fn new(whole: &Head, not_modified: &Head, more: &[Field]) -> Self {
        let mut heads = DictionaryHeads {
            whole: whole.copy(),
            not_modified: not_modified.copy(),
        };
        vary_by_dictionary(&mut heads.whole);
        vary_by_dictionary(&mut heads.not_modified);
        heads.whole.fields.extend_from_slice(more);
        heads
    }

    /// The same heads, not rendered yet.
    pub(crate) fn copy(&self) -> Box<Self> {
        Box::new(DictionaryHeads {
            whole: self.whole.copy(),
            not_modified: self.not_modified.copy(),
        })
    }

    pub(crate) fn weight(&self) -> usize {
        self.whole.weight() + self.not_modified.weight()
    }
}

/// The request fields that answers depend on where there are dictionaries (RFC 9842 section 6.2).
pub(crate) const VARY_BY_DICTIONARY: &str = "Accept-Encoding, Available-Dictionary";

/// Has a head say that other dictionaries may have other answers.
fn vary_by_dictionary(head: &mut Head) {
    head.fields.retain(|(name, _)| *name != "Vary");
    head.fields.push(vary_field(VARY_BY_DICTIONARY));
}

/// The field by which browsers take the Content-Type as it is (the Fetch standard).
pub(crate) fn nosniff() -> Field {
    ("X-Content-Type-Options", Bytes::from_static(b"nosniff"))
}

/// The names of the request fields that an answer depends on: on Accept where there are alternatives, on
/// Accept-Encoding where there are codings.
pub(crate) fn vary(by_accept: bool, by_coding: bool) -> Option<&'static str> {
    match (by_accept, by_coding) {
        (false, false) => None,
        (true, false) => Some("Accept"),
        (false, true) => Some("Accept-Encoding"),
        (true, true) => Some("Accept, Accept-Encoding"),
    }
}

/// The `Vary` field of an answer that depends on these request fields (RFC 9110 section 12.5.5).
pub(crate) fn vary_field(names: &'static str) -> Field {
    ("Vary", Bytes::from_static(names.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_rendered_once_per_protocol() {
        let rendered = RenderedHeads::default();
        assert_eq!(rendered.head(Protocol::Http1, || 1u8), Some(&1));
        assert_eq!(rendered.head(Protocol::Http1, || 2u8), Some(&1));
        assert_eq!(rendered.head(Protocol::Http2, || 3u8), Some(&3));
        assert_eq!(rendered.head(Protocol::Http1, || "other"), None);
    }
}
