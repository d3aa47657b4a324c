//! One version of an object: how it is told from others, and what a request for its content asks.

use std::io;

use object_store::path::Path;
use object_store::{GetOptions, ObjectMeta};
use salver_assets::source::{Identity, Kind, Metadata, Timestamp};
use sha2::{Digest as _, Sha256};

use crate::failure::Failure;

/// The time of directories, which have none.
const NEVER: Timestamp = Timestamp {
    seconds: 0,
    nanoseconds: 0,
};

/// The longest entity tag or version of an object, in bytes: each is kept for as long as the object is known.
const LONGEST_TAG: usize = 1024;

/// One version of an object.
#[derive(Debug)]
pub(crate) struct Object {
    key: Path,
    metadata: Metadata,
    /// The entity tag, with its quotes.
    e_tag: Option<String>,
    /// The version, where the bucket keeps all.
    version: Option<String>,
}

impl Object {
    /// The version that a bucket tells of, modified at this time, among the files of this device.
    ///
    /// # Errors
    /// Nothing would tell it from another, or something too long.
    pub(crate) fn new(
        device: u64,
        meta: &ObjectMeta,
        modified: Timestamp,
    ) -> Result<Self, Failure> {
        let e_tag = e_tag(meta);
        if e_tag.is_none() && modified == Timestamp::UNKNOWN {
            return Err(Failure::new(
                io::ErrorKind::InvalidData,
                "the answer has neither ETag nor Last-Modified, so that nobody could see a change: have the origin send one",
            ));
        }
        let tags = [&e_tag, &meta.version].into_iter().flatten();
        if tags.map(String::len).any(|length| length > LONGEST_TAG) {
            return Err(Failure::new(
                io::ErrorKind::InvalidData,
                "the answer has an ETag or a version of more than 1,024 bytes",
            ));
        }
        let mut hasher = Sha256::new();
        hasher.update(meta.location.as_ref());
        hasher.update([0]);
        hasher.update(meta.size.to_le_bytes());
        match &e_tag {
            Some(e_tag) => hasher.update(e_tag),
            None => hasher.update(modified.seconds.to_le_bytes()),
        }
        let hash: [u8; 32] = hasher.finalize().into();
        let word = |from: usize| {
            let bytes = hash.iter().skip(from).take(8);
            bytes.fold(0_u64, |word, byte| (word << 8) | u64::from(*byte))
        };
        let metadata = Metadata {
            kind: Kind::File,
            identity: Identity {
                device,
                // Number 0 is that of directories.
                inode: word(0) | 1,
                length: meta.size,
                modified,
                // The entity tags of long files are made of it, alike on every node: no time, but what tells versions
                // of one length and one second apart. It lies far from now, so that the object counts as one at rest.
                changed: Timestamp {
                    seconds: i64::try_from((word(8) >> 2) | (1 << 50)).unwrap_or(i64::MAX),
                    nanoseconds: 0,
                },
            },
        };
        Ok(Object {
            key: meta.location.clone(),
            metadata,
            e_tag,
            version: meta.version.clone(),
        })
    }

    pub(crate) fn key(&self) -> &Path {
        &self.key
    }

    pub(crate) fn metadata(&self) -> Metadata {
        self.metadata
    }

    /// The length in bytes.
    pub(crate) fn length(&self) -> u64 {
        self.metadata.identity.length
    }

    /// The number that no other version of any object of the source has.
    pub(crate) fn number(&self) -> u64 {
        self.metadata.identity.inode
    }

    /// The bytes of memory that the names and tags of it take.
    pub(crate) fn weight(&self) -> usize {
        let tags = [&self.e_tag, &self.version].into_iter().flatten();
        self.key.as_ref().len() + tags.map(String::len).sum::<usize>()
    }

    /// The entity tag, with its quotes, and the version, where the bucket keeps all.
    pub(crate) fn tags(&self) -> [Option<&str>; 2] {
        [self.e_tag.as_deref(), self.version.as_deref()]
    }

    /// A question whether the object is still this version.
    pub(crate) fn if_changed(&self) -> GetOptions {
        GetOptions {
            if_none_match: self.e_tag.clone(),
            ..GetOptions::default()
        }
    }

    /// True if its entity tag is that of no other version (RFC 9110 section 8.8.1), so that parts of it may be put
    /// together.
    pub(crate) fn has_strong_tag(&self) -> bool {
        self.strong_tag().is_some()
    }

    fn strong_tag(&self) -> Option<&String> {
        self.e_tag.as_ref().filter(|tag| tag.starts_with('"'))
    }

    /// A request for content of this version and no other, as long as it is the newest.
    pub(crate) fn if_same(&self) -> GetOptions {
        // RFC 9110 section 13.1.1: no weak tag matches. What comes is compared in any case.
        GetOptions {
            if_match: self.strong_tag().cloned(),
            ..GetOptions::default()
        }
    }

    /// A request for content of this version where the bucket keeps all; `None` if it does not.
    pub(crate) fn of_version(&self) -> Option<GetOptions> {
        let version = self.version.clone()?;
        Some(GetOptions {
            version: Some(version),
            ..self.if_same()
        })
    }

    /// True if an answer is of this version.
    pub(crate) fn is(&self, meta: &ObjectMeta) -> bool {
        let identity = &self.metadata.identity;
        let has_same_tag = match &self.e_tag {
            Some(e_tag) => self::e_tag(meta).as_ref() == Some(e_tag),
            None => meta.last_modified.timestamp() == identity.modified.seconds,
        };
        has_same_tag && meta.size == identity.length
    }
}

/// The entity tag of an object, with the quotes that some lists leave out.
fn e_tag(meta: &ObjectMeta) -> Option<String> {
    let tag = meta.e_tag.as_ref().filter(|tag| !tag.is_empty())?;
    Some(match tag.starts_with('"') || tag.starts_with("W/") {
        true => tag.clone(),
        false => format!("\"{tag}\""),
    })
}

/// The metadata of a directory.
pub(crate) fn directory(device: u64) -> Metadata {
    Metadata {
        kind: Kind::Directory,
        identity: Identity {
            device,
            inode: 0,
            length: 0,
            modified: NEVER,
            changed: NEVER,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meta(key: &str, e_tag: Option<&str>, size: u64) -> ObjectMeta {
        ObjectMeta {
            location: Path::from(key),
            last_modified: std::time::SystemTime::UNIX_EPOCH.into(),
            size,
            e_tag: e_tag.map(str::to_owned),
            version: None,
        }
    }

    /// The object of a store whose dates are those of the answers.
    fn version(meta: &ObjectMeta) -> Result<Object, Failure> {
        let modified = match meta.last_modified.timestamp() {
            0 => Timestamp::UNKNOWN,
            seconds => Timestamp {
                seconds,
                nanoseconds: 0,
            },
        };
        Object::new(7, meta, modified)
    }

    #[test]
    fn versions_are_told_apart_by_their_tags() {
        let of = |key, tag, size| version(&meta(key, Some(tag), size)).unwrap();
        let one = of("a", "\"1\"", 5);
        let identity = |object: &Object| object.metadata().identity;
        assert_eq!(identity(&one), identity(&of("a", "1", 5)), "of a list");
        for other in [
            of("a", "\"2\"", 5),
            of("b", "\"1\"", 5),
            of("a", "\"1\"", 6),
        ] {
            assert_ne!(identity(&one), identity(&other));
        }
        let other = of("a", "\"2\"", 5);
        assert_ne!(identity(&one).changed, identity(&other).changed);
        assert_ne!(one.number(), of("a", "\"1\"", 6).number());
        assert!(identity(&one).changed.age() > std::time::Duration::from_secs(1 << 30));
    }

    #[test]
    fn an_answer_is_compared_with_what_was_asked_for() {
        let object = version(&meta("a", Some("\"1\""), 5)).unwrap();
        assert!(object.is(&meta("a", Some("1"), 5)));
        assert!(!object.is(&meta("a", Some("\"1\""), 4)));
        assert!(!object.is(&meta("a", Some("\"2\""), 5)));
        assert!(!object.is(&meta("a", None, 5)));
        assert_eq!(object.if_same().if_match.as_deref(), Some("\"1\""));
        let weak = version(&meta("a", Some("W/\"1\""), 5)).unwrap();
        assert_eq!(weak.if_same().if_match, None);
        assert!(object.has_strong_tag() && !weak.has_strong_tag());
        assert_eq!(weak.if_changed().if_none_match.as_deref(), Some("W/\"1\""));
    }

    #[test]
    fn a_version_is_asked_for_where_there_are_some() {
        let mut meta = meta("a", Some("\"1\""), 5);
        assert!(version(&meta).unwrap().of_version().is_none());
        meta.version = Some("v1".to_owned());
        let object = version(&meta).unwrap();
        assert_eq!(object.if_same().version, None, "needs another permission");
        let of_version = object.of_version().unwrap();
        assert_eq!(of_version.version.as_deref(), Some("v1"));
        assert_eq!(of_version.if_match.as_deref(), Some("\"1\""));
    }

    #[test]
    fn long_tags_are_refused() {
        let tag = |length: usize| format!("\"{}\"", "t".repeat(length - 2));
        assert!(version(&meta("a", Some(&tag(1024)), 5)).is_ok());
        assert!(version(&meta("a", Some(&tag(1025)), 5)).is_err());
        let mut versioned = meta("a", Some("1"), 5);
        versioned.version = Some(tag(1025));
        assert!(version(&versioned).is_err());
    }

    #[test]
    fn what_nothing_tells_apart_is_refused() {
        assert!(version(&meta("a", None, 5)).is_err());
        let mut dated = meta("a", None, 5);
        dated.last_modified = std::time::SystemTime::now().into();
        assert!(version(&dated).unwrap().is(&dated));
    }
}
