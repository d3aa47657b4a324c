//! The part of the tier on a disk that is of one bucket.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use object_store::path::Path;
use sha2::{Digest as _, Sha256};

use crate::clock::Clock;
use crate::object::Object;
use crate::settings::{Settings, WHOLE_UP_TO};
use crate::tier::{Absent, DiskTier, KeptObject};

/// What a tier keeps of one bucket; nothing where there is none.
#[derive(Clone, Debug)]
pub(crate) struct BucketTier {
    tier: Option<Arc<DiskTier>>,
    /// A hash of the bucket and the store that it is of: URLs may have passwords in them, and this is written.
    place: Arc<str>,
    clock: Clock,
    slice_size: u64,
}

impl BucketTier {
    /// The part of the tier of these settings that is of the bucket at a place.
    pub(crate) fn new(settings: &Settings, place: &str) -> Self {
        let hash: [u8; 32] = Sha256::digest(place).into();
        let half = hash.first_chunk().copied().unwrap_or_default();
        BucketTier {
            tier: settings.tier.clone(),
            place: format!("{:032x}", u128::from_be_bytes(half)).into(),
            clock: settings.clock.clone(),
            slice_size: settings.slice_size,
        }
    }

    /// True if there is one.
    pub(crate) fn is_there(&self) -> bool {
        self.tier.is_some()
    }

    /// The object at a path, with this key, that is kept. Waits for the disk.
    pub(crate) fn object(&self, path: &[u8], key: &Path, device: u64) -> Option<KeptObject> {
        let tier = self.tier.as_ref()?;
        let mut kept = tier.object(&self.place, key, device)?;
        kept.asked = tier.floored(&self.place, path, kept.asked);
        Some(kept)
    }

    /// True unless it is known, without waiting, that no object with this key is kept.
    pub(crate) fn may_have_object(&self, key: &Path) -> bool {
        let tier = self.tier.as_ref();
        tier.is_some_and(|tier| tier.may_have_object(&self.place, key))
    }

    /// What is known to be no file at a path, and when it was asked for. May wait.
    pub(crate) fn absent(&self, path: &[u8]) -> Option<(Absent, SystemTime)> {
        self.tier.as_ref()?.absent(&self.place, path)
    }

    /// True unless somebody has said that a path has changed, or it was let go of, since the tier told of it: of an object that
    /// was asked for then, or of none.
    pub(crate) fn still_tells(&self, path: &[u8], key: &Path, asked: Option<SystemTime>) -> bool {
        let tier = self.tier.as_ref();
        tier.is_some_and(|tier| match asked {
            Some(asked) => tier.is_dated(&self.place, key, asked),
            None => tier.absent(&self.place, path).is_some(),
        })
    }

    /// The slice of an object with this number. Waits for the disk.
    pub(crate) fn slice(&self, object: &Object, number: u64) -> Option<Bytes> {
        let tier = self.tier.as_ref()?;
        if object.length() > WHOLE_UP_TO {
            return tier.slice(&self.place, object, (self.slice_size, number));
        }
        let device = object.metadata().identity.device;
        let kept = tier.object(&self.place, object.key(), device)?;
        let is_same = kept.object.metadata() == object.metadata();
        kept.content.filter(|_| is_same)
    }

    /// Keeps an object that was asked for then at a path, with its content if it is short.
    pub(crate) fn keep_object(
        &self,
        path: &[u8],
        object: &Object,
        content: Option<Bytes>,
        asked: SystemTime,
    ) {
        if let Some(tier) = &self.tier {
            tier.keep_object(&self.place, object, content, asked);
            tier.note(&self.place, path, None, asked);
        }
    }

    /// Keeps a slice of an object, which has come just now.
    pub(crate) fn keep_slice(&self, object: &Object, number: u64, content: Bytes) {
        let Some(tier) = &self.tier else { return };
        match object.length() > WHOLE_UP_TO {
            true => tier.keep_slice(&self.place, object, (self.slice_size, number), content),
            false => {
                let now = self.clock.system_now();
                tier.keep_object(&self.place, object, Some(content), now);
            }
        }
    }

    /// Notes that a version of an object was confirmed then; false if it is not kept and could be.
    pub(crate) fn confirm(&self, object: &Object, asked: SystemTime) -> bool {
        let tier = self.tier.as_ref();
        tier.is_none_or(|tier| tier.confirm(&self.place, object, asked))
    }

    /// Notes that no file was found at a path then, whose object would have this key.
    pub(crate) fn note_absent(&self, path: &[u8], key: &Path, found: Absent, asked: SystemTime) {
        if let Some(tier) = &self.tier {
            tier.forget_if_there(&self.place, key);
            tier.note(&self.place, path, Some(found), asked);
        }
    }

    /// Has what is kept of a path, whose object has this key, compared before it is told.
    pub(crate) fn invalidate(&self, path: &[u8], key: &Path) {
        if let Some(tier) = &self.tier {
            tier.invalidate(&self.place, path, key);
        }
    }

    /// The same for all paths that begin so, of which nothing is told that was asked for longer ago than this.
    pub(crate) fn invalidate_prefix(&self, prefix: &[u8], told_for: Duration) {
        if let Some(tier) = &self.tier {
            let now = self.clock.system_now();
            tier.invalidate_prefix(&self.place, prefix, (now, told_for));
        }
    }

    /// Lets go of what is kept of a path, whose object has this key.
    pub(crate) fn forget(&self, path: &[u8], key: &Path) {
        if let Some(tier) = &self.tier {
            tier.forget(&self.place, key);
            tier.note(&self.place, path, None, self.clock.system_now());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_url_is_written() {
        let place = |url: &str| BucketTier::new(&Settings::default(), url).place;
        let one = place("http://user:secret@127.0.0.1:9000/ s3://bucket");
        assert!(one.len() == 32 && one.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_ne!(one, place("http://user:secret@127.0.0.1:9001/ s3://bucket"));
    }
}
