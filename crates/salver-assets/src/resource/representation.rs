//! A representation of a resource: its path, its length, its coding, its validators and the fields
//! that go with it, as one value.

use bytes::Bytes;
use salver_semantics::{EntityTag, HttpDate, Validators, content_type};

use crate::path::file_name;
use crate::resource::cached_content::CachedContent;
use crate::resource::head::{DictionaryHeads, Field, Head, HeadKind, vary_field};
use crate::resource::representation_coding::RepresentationCoding;
use crate::source::digest::Digest;
use crate::source::growth::Sample;
use crate::source::{Identity, Timestamp};

/// The basis of an entity tag, and so what the tag promises of the bytes that are sent under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TagBasis {
    /// The digest of the content: the bytes are of content with this digest.
    Digest(Digest),
    /// The identity of the version, its length and times. Nothing could prove that the bytes are of it once
    /// the file has changed.
    Identity,
    /// The identity of a file that is being written: the tag is weak. The file may grow meanwhile, so that
    /// what has left is hashed, to be compared with what is in the file at the end; and the sample tells the
    /// grown file from a longer version that has taken its place.
    WeakPrefix(Sample),
}

impl TagBasis {
    /// True if the tag is weak: the file is being written.
    pub(crate) fn is_weak(self) -> bool {
        matches!(self, TagBasis::WeakPrefix(_))
    }
}

/// A representation (RFC 9110 section 3.2).
#[derive(Debug)]
pub(crate) struct Representation {
    pub(crate) coding: RepresentationCoding,
    pub(crate) path: Vec<u8>,
    pub(crate) identity: Identity,
    /// The entity tag with its quotes.
    pub(crate) entity_tag: Bytes,
    /// The basis of the entity tag.
    pub(crate) tag_basis: TagBasis,
    /// The time of the last change; `None` where a new one may have the time of the old one, or none is known.
    pub(crate) last_modified: Option<HttpDate>,
    /// The head of a 200, and of a 206 but for the length.
    pub(crate) head: Head,
    /// The head of a 304: RFC 9110 section 15.4.5 wants no more than guides the cache.
    pub(crate) not_modified: Head,
    /// The same for requests that may have to do with dictionaries, where those have others.
    pub(crate) dictionary_heads: Option<Box<DictionaryHeads>>,
    /// True if its content is made of the file's, so that no file has it.
    pub(crate) is_derived: bool,
    /// True if it is a coding that was made of the file's content, so that no file has it.
    pub(crate) is_made: bool,
    /// Invariant: exactly `identity.length` bytes whose validators are these.
    pub(crate) content: Option<CachedContent>,
}

impl Representation {
    /// A representation without its content. `original` is the path of the file whose name decides the type; `vary`
    /// names the request fields that decide between it and others.
    pub(crate) fn new(
        coding: impl Into<RepresentationCoding>,
        path: Vec<u8>,
        original: &[u8],
        identity: Identity,
        tag_basis: TagBasis,
        vary: Option<&'static str>,
        cache_control: Bytes,
    ) -> Self {
        let coding = coding.into();
        let name = file_name(original);
        let entity_tag = entity_tag(coding, &identity, tag_basis);
        let last_modified = last_modified(&identity);
        let mut fields: Vec<Field> = vec![
            (
                "Content-Type",
                Bytes::from_static(content_type(name).as_bytes()),
            ),
            ("Content-Length", identity.length.to_string().into()),
        ];
        if let Some(date) = last_modified {
            fields.push(("Last-Modified", Bytes::copy_from_slice(&date.format())));
        }
        fields.extend([
            ("ETag", entity_tag.clone()),
            ("Accept-Ranges", Bytes::from_static(b"bytes")),
            ("Cache-Control", cache_control.clone()),
        ]);
        let mut not_modified: Vec<Field> = vec![
            ("ETag", entity_tag.clone()),
            ("Cache-Control", cache_control),
        ];
        if let Some(name) = coding.content_encoding() {
            fields.push(("Content-Encoding", Bytes::from_static(name.as_bytes())));
        }
        if let Some(names) = vary {
            fields.push(vary_field(names));
            not_modified.push(vary_field(names));
        }
        Representation {
            coding,
            path,
            identity,
            entity_tag,
            tag_basis,
            last_modified,
            head: Head::new(fields),
            not_modified: Head::new(not_modified),
            dictionary_heads: None,
            is_derived: false,
            is_made: false,
            // Nothing is at hand already.
            content: (identity.length == 0).then(CachedContent::default),
        }
    }

    /// The same representation with this content, or none. Rendered heads are rendered again.
    pub(crate) fn with_content(&self, content: Option<CachedContent>) -> Self {
        Representation {
            coding: self.coding,
            path: self.path.clone(),
            identity: self.identity,
            entity_tag: self.entity_tag.clone(),
            tag_basis: self.tag_basis,
            last_modified: self.last_modified,
            is_derived: self.is_derived,
            is_made: self.is_made,
            head: self.head.copy(),
            not_modified: self.not_modified.copy(),
            dictionary_heads: self.dictionary_heads.as_ref().map(|heads| heads.copy()),
            content,
        }
    }

    /// The same representation, for nobody but who asks: what is said of caches by default lets others have it.
    pub(crate) fn into_private(mut self) -> Self {
        for head in [&mut self.head, &mut self.not_modified] {
            for (name, value) in &mut head.fields {
                if *name == "Cache-Control" {
                    let text = String::from_utf8_lossy(value);
                    *value = match text.strip_prefix("public, ") {
                        Some(rest) => format!("private, {rest}").into(),
                        None => format!("private, {text}").into(),
                    };
                }
            }
        }
        self
    }

    /// The same representation as the page of an error: without validators and ranges, and not to be stored.
    pub(crate) fn into_error_page(mut self) -> Self {
        let is_of_files = |name: &str| matches!(name, "Last-Modified" | "ETag" | "Accept-Ranges");
        self.head.fields.retain(|(name, _)| !is_of_files(name));
        for (name, value) in &mut self.head.fields {
            if *name == "Cache-Control" {
                *value = Bytes::from_static(b"no-cache");
            }
        }
        self
    }

    /// The same representation with content that is made of the file's. When the file was modified says nothing of
    /// that: what is put in may be another since.
    pub(crate) fn into_derived(mut self, content: CachedContent) -> Self {
        for head in [&mut self.head, &mut self.not_modified] {
            head.fields.retain(|(name, _)| *name != "Last-Modified");
        }
        self.is_derived = true;
        self.content = Some(content);
        self
    }

    /// The same representation as a coding that was made of the file.
    pub(crate) fn into_made(mut self, content: CachedContent) -> Self {
        self.is_made = true;
        self.content = Some(content);
        self
    }

    /// The head of a 200 for requests of this kind.
    pub(crate) fn head_of(&self, kind: HeadKind) -> &Head {
        match (kind, &self.dictionary_heads) {
            (HeadKind::BesideDictionaries, Some(heads)) => &heads.whole,
            _ => &self.head,
        }
    }

    /// The head of a 304 for requests of this kind.
    pub(crate) fn not_modified_of(&self, kind: HeadKind) -> &Head {
        match (kind, &self.dictionary_heads) {
            (HeadKind::BesideDictionaries, Some(heads)) => &heads.not_modified,
            _ => &self.not_modified,
        }
    }

    /// The length in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.identity.length
    }

    pub(crate) fn validators(&self) -> Validators<'_> {
        Validators {
            entity_tag: EntityTag::parse(&self.entity_tag),
            last_modified: self.last_modified.filter(|_| !self.is_derived),
        }
    }

    pub(crate) fn weight(&self) -> usize {
        std::mem::size_of::<Self>()
            + self.path.len()
            + self.entity_tag.len()
            + self.head.weight()
            + self.not_modified.weight()
            + self
                .dictionary_heads
                .as_ref()
                .map_or(0, |heads| heads.weight())
            + self.content.as_ref().map_or(0, |content| content.cost)
    }
}

/// The date of the last change, if the source knows one: RFC 9110 section 8.8.2.1 wants it where it can be
/// determined, and a made-up one would be believed.
fn last_modified(identity: &Identity) -> Option<HttpDate> {
    let is_known = identity.modified != Timestamp::UNKNOWN;
    is_known.then(|| HttpDate::from_unix_seconds(identity.modified.seconds))
}

/// The entity tag. Strong: of the content, or above the length to which content is hashed, of everything that
/// tells one version from another. While that may not tell them all apart it is weak (RFC 9110 section
/// 8.8.1). Each coding has its own (section 8.8.3.3).
pub(crate) fn entity_tag(
    coding: RepresentationCoding,
    identity: &Identity,
    tag_basis: TagBasis,
) -> Bytes {
    let core = match tag_basis {
        TagBasis::Digest(digest) => format!("{digest:032x}"),
        TagBasis::Identity | TagBasis::WeakPrefix(_) => {
            let Identity {
                length,
                modified,
                changed,
                ..
            } = identity;
            format!(
                "{length:x}-{:x}.{:x}-{:x}.{:x}",
                modified.seconds, modified.nanoseconds, changed.seconds, changed.nanoseconds
            )
        }
    };
    let weak = if tag_basis.is_weak() { "W/" } else { "" };
    match coding.content_encoding() {
        None => format!("{weak}\"{core}\"").into(),
        Some(coded) => format!("{weak}\"{core}-{coded}\"").into(),
    }
}

#[cfg(test)]
mod tests {
    use salver_semantics::ContentCoding;

    use super::*;
    use crate::resource::head::vary;
    use crate::source::{Patience, Reader};

    fn identity(seconds: i64) -> Identity {
        let at = Timestamp {
            seconds,
            nanoseconds: 0,
        };
        Identity {
            device: 1,
            inode: 2,
            length: 5,
            modified: at,
            changed: at,
        }
    }

    fn lines(head: &Head) -> Vec<String> {
        let line = |(name, value): &Field| format!("{name}: {}", String::from_utf8_lossy(value));
        head.fields.iter().map(line).collect()
    }

    #[test]
    fn fields_of_a_coded_representation() {
        let representation = Representation::new(
            ContentCoding::Brotli,
            b"d/app.3f9a1c2b.js.br".to_vec(),
            b"d/app.3f9a1c2b.js",
            identity(-1),
            TagBasis::Digest(255),
            vary(false, true),
            Bytes::from_static(b"max-age=7"),
        );
        let tag = "ETag: \"000000000000000000000000000000ff-br\"";
        let cache_control = "Cache-Control: max-age=7";
        assert_eq!(
            lines(&representation.head),
            [
                "Content-Type: text/javascript; charset=utf-8",
                "Content-Length: 5",
                "Last-Modified: Wed, 31 Dec 1969 23:59:59 GMT",
                tag,
                "Accept-Ranges: bytes",
                cache_control,
                "Content-Encoding: br",
                "Vary: Accept-Encoding",
            ]
        );
        assert_eq!(
            lines(&representation.not_modified),
            [tag, cache_control, "Vary: Accept-Encoding"]
        );
    }

    #[test]
    fn a_file_without_a_date_has_no_last_modified() {
        let identity = Identity {
            modified: Timestamp::UNKNOWN,
            ..identity(0)
        };
        let representation = Representation::new(
            ContentCoding::Identity,
            b"a.txt".to_vec(),
            b"a.txt",
            identity,
            TagBasis::Digest(255),
            None,
            Bytes::new(),
        );
        let lines = lines(&representation.head);
        assert!(
            !lines.iter().any(|line| line.starts_with("Last-Modified")),
            "{lines:?}"
        );
        assert_eq!(representation.validators().last_modified, None);
    }

    #[test]
    fn large_files_are_told_apart_by_length_and_times() {
        let tag = |seconds, tag_basis| {
            entity_tag(
                ContentCoding::Identity.into(),
                &identity(seconds),
                tag_basis,
            )
        };
        assert_ne!(tag(1, TagBasis::Identity), tag(2, TagBasis::Identity));
        let sample = Sample::take(&Reader::Static(b"12345"), 5, Patience::MayWait);
        let sample = sample.unwrap().unwrap();
        for (tag_basis, weak) in [
            (TagBasis::Identity, false),
            (TagBasis::WeakPrefix(sample), true),
        ] {
            assert!(EntityTag::parse(&tag(-5, tag_basis)).is_some_and(|tag| tag.weak() == weak));
        }
    }
}
