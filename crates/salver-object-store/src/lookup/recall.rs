//! Recalling of paths from the tier on a disk, which takes time: what somebody looks at or says meanwhile goes before.

use std::sync::Arc;
use std::time::SystemTime;

use object_store::path::Path;
use salver_assets::Patience;

use super::{Found, Known, Lookups};
use crate::tier::Absent;

impl Lookups {
    /// What the tier knows of a path. Waits for the disk, or knows at once at most that no file is there: where one is, that
    /// spares a thread for each of its siblings.
    pub(super) fn recall(&self, path: &[u8], patience: Patience) -> Option<Known> {
        if !self.tier.is_there() {
            return None;
        }
        let key = self.prefix.key(path)?;
        let object = match patience {
            Patience::MayWait => self.tier.object(path, &key, self.device),
            Patience::MustNotWait if self.tier.may_have_object(&key) => return None,
            Patience::MustNotWait => None,
        };
        let (found, asked) = match object {
            Some(kept) => {
                let object = Arc::new(kept.object);
                if let Some(content) = kept.content {
                    self.slices.keep_whole(&object, content);
                }
                (Found::File(object), kept.asked)
            }
            None => {
                let (absent, asked) = self.tier.absent(path)?;
                let found = match absent {
                    Absent::Directory => Found::Directory,
                    Absent::Nothing => Found::Nothing,
                };
                (found, asked)
            }
        };
        self.keep_recalled(path, &key, found, asked)
    }

    /// Keeps what the tier has told of a path, and gives what is known of it then.
    fn keep_recalled(
        &self,
        path: &[u8],
        key: &Path,
        found: Found,
        asked: SystemTime,
    ) -> Option<Known> {
        let is_file = matches!(found, Found::File(_));
        let known = Known {
            found,
            asked: self.clock.moment(asked)?,
            failed: None,
            is_invalid: false,
        };
        let asked_then = known.asked;
        let mut known = self.keep((key, path.into()), known, None);
        if known.asked > asked_then {
            // Somebody has looked meanwhile.
            return Some(known);
        }
        // Somebody may have said meanwhile that it has changed.
        if !self.tier.still_tells(path, key, is_file.then_some(asked)) {
            known.is_invalid = true;
            if let Some(known) = self.known().peek_mut(path) {
                known.is_invalid = true;
            }
        }
        Some(known)
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use object_store::ObjectMeta;
    use object_store::memory::InMemory;
    use salver_assets::source::Timestamp;

    use super::*;
    use crate::bucket::{Bucket, Lists};
    use crate::bucket_tier::BucketTier;
    use crate::key::Prefix;
    use crate::object::Object;
    use crate::runtime::LazyRuntime;
    use crate::settings::Settings;
    use crate::slices::Slices;
    use crate::tier::DiskTier;

    fn lookups(disk: &Arc<DiskTier>) -> Lookups {
        let settings = Settings {
            tier: Some(Arc::clone(disk)),
            ..Settings::default()
        };
        let store = Arc::new(InMemory::new());
        let bucket = Arc::new(Bucket::new(store, Lists::Whole, &settings));
        let runtime = Arc::<LazyRuntime>::default();
        let tier = BucketTier::new(&settings, "test");
        let of_slices = (Arc::clone(&bucket), Arc::clone(&runtime), tier.clone());
        let slices = Slices::new(of_slices.0, of_slices.1, of_slices.2, &settings);
        let prefix = (Prefix::new(Path::default()), "test");
        Lookups::new(bucket, runtime, (Arc::new(slices), tier), prefix, &settings)
    }

    #[test]
    fn what_is_said_while_the_disk_is_read_is_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Arc::new(DiskTier::new(folder.path().join("objects"), 1 << 20));
        let lookups = lookups(&disk);
        let asked = lookups.clock.system_now();
        for path in ["a", "b"] {
            let meta = ObjectMeta {
                location: Path::from(path),
                last_modified: SystemTime::UNIX_EPOCH.into(),
                size: 1,
                e_tag: Some("1".to_owned()),
                version: None,
            };
            let object = Object::new(lookups.device, &meta, Timestamp::UNKNOWN).unwrap();
            let content = Some(Bytes::from_static(b"x"));
            lookups
                .tier
                .keep_object(path.as_bytes(), &object, content, asked);
        }
        for path in ["c", "d"] {
            let (key, absent) = (Path::from(path), Absent::Nothing);
            lookups
                .tier
                .note_absent(path.as_bytes(), &key, absent, asked);
        }
        assert!(disk.settle());
        let keep = |path: &str, is_told: bool| {
            let key = Path::from(path);
            let path = path.as_bytes();
            let (found, asked) = match lookups.tier.object(path, &key, lookups.device) {
                Some(kept) => (Found::File(Arc::new(kept.object)), kept.asked),
                None => (Found::Nothing, lookups.tier.absent(path).unwrap().1),
            };
            if is_told {
                lookups.invalidate(path);
            }
            let known = lookups.keep_recalled(path, &key, found, asked).unwrap();
            assert_eq!(known.is_invalid, is_told);
            assert_eq!(lookups.known().get(path).unwrap().is_invalid, is_told);
        };
        keep("a", false);
        keep("b", true);
        keep("c", false);
        keep("d", true);
        // Nor is what somebody has looked at.
        let known = Known {
            found: Found::Nothing,
            asked: lookups.clock.now(),
            failed: None,
            is_invalid: false,
        };
        lookups.keep((&Path::from("b"), b"b"[..].into()), known, None);
        let found = lookups.keep_recalled(b"b", &Path::from("b"), Found::Directory, asked);
        assert!(matches!(found.unwrap().found, Found::Nothing));
    }
}
