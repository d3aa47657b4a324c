//! The change of a store in a bucket. Nobody has a lock there: `current` and the journal are put by comparing, so that of
//! several who change the store one takes the place of what all have seen, and the others are told.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;

use super::objects::BucketObjects;
use super::side_by_side::for_each;
use super::uploads::{AT_ONCE, LONG_AT_ONCE, SHORT, upload};
use super::{Changes, Contents, StoreState};
use crate::bucket::{ObjectVersion, PutCondition, PutOutcome};
use crate::error::Error;
use crate::event::Listener;
use crate::files::bundle::Bundle;
use crate::files::current::{self, Current};
use crate::files::digest::BlobDigest;
use crate::files::journal::{self, JournalEntry};
use crate::files::layout::{CURRENT, JOURNAL};

/// What was read of a store in a bucket, and what takes its place.
#[derive(Debug)]
pub(super) struct BucketChanges {
    objects: BucketObjects,
    current: Option<ObjectVersion>,
    journal: (String, Option<ObjectVersion>),
}

impl BucketChanges {
    pub(super) fn new(objects: BucketObjects) -> Self {
        BucketChanges {
            objects,
            current: None,
            journal: (String::new(), None),
        }
    }

    /// Puts an object in the place of this version, or where none is; gives its version then.
    fn replace(
        &self,
        name: &str,
        content: &[u8],
        known: Option<&ObjectVersion>,
    ) -> Result<ObjectVersion, Error> {
        let condition = known.map_or(PutCondition::Absent, |known| {
            PutCondition::Same(known.clone())
        });
        let bucket = self.objects.bucket();
        let put = bucket.put(name, content.to_vec(), &condition);
        if let Ok(PutOutcome::Put(version)) = put {
            return Ok(version);
        }
        // The answer may have been lost, and another attempt have met the first: what is there says who has won.
        let most = u64::try_from(content.len()).unwrap_or(u64::MAX);
        let there = bucket.get(name, most.max(current::MOST_BYTES));
        match (there, put) {
            (Ok(Some(object)), _) if object.content == content => Ok(object.version),
            (_, Err(error)) => Err(Error::at(&self.objects.within(name))(error)),
            (Ok(Some(object)), _) => {
                let now = Current::parse(&object.content);
                Err(overtaken(now.map(|(now, _)| now).as_ref()))
            }
            _ => Err(overtaken(None)),
        }
    }
}

/// The error of who has lost to somebody else, after whom this is current, if it is known.
fn overtaken(now: Option<&Current>) -> Error {
    Error::Overtaken(match now {
        Some(Current { release, .. }) => format!(
            "somebody else has changed the store meanwhile, and {release} is current: nothing was switched, look at it and \
             run this again"
        ),
        None => "somebody else is changing the store, and has won: nothing was switched, run this again when that has ended"
            .to_owned(),
    })
}

impl Changes for BucketChanges {
    fn is_alone(&self) -> bool {
        false
    }

    fn state(&mut self) -> Result<StoreState, Error> {
        let current = self.objects.current()?;
        let (current, version) = current.unzip();
        self.current = version;
        let journal = self.objects.read(JOURNAL, journal::MOST_BYTES)?;
        let (journal, version) = journal.unzip();
        self.journal = (journal.unwrap_or_default(), version);
        Ok(StoreState {
            current,
            journal: self.journal.0.clone(),
        })
    }

    fn add_blobs(
        &mut self,
        blobs: &[(BlobDigest, u64)],
        contents: &dyn Contents,
        listener: &mut Listener<'_>,
    ) -> Result<(), Error> {
        let objects = &self.objects;
        let work = |(blob, length): &(BlobDigest, u64), _: &AtomicBool| {
            upload(objects, contents, (blob, *length))
        };
        let (short, long): (Vec<_>, Vec<_>) = blobs
            .iter()
            .copied()
            .partition(|(_, length)| *length <= SHORT);
        for_each((&short, AT_ONCE), work, listener)?;
        for_each((&long, LONG_AT_ONCE), work, listener)
    }

    fn settle(&mut self, _: &BTreeSet<BlobDigest>) -> Result<(), Error> {
        // What is put stays.
        Ok(())
    }

    fn append(&mut self, entries: &[JournalEntry]) -> Result<(), Error> {
        let (text, known) = &self.journal;
        let mut text = text.clone();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        for entry in entries {
            text.push_str(&format!("{entry}\n"));
        }
        let version = self.replace(JOURNAL, text.as_bytes(), known.as_ref())?;
        self.journal = (text, Some(version));
        Ok(())
    }

    fn put(&mut self, name: &str, text: &str) -> Result<(), Error> {
        self.objects.put(name, text.as_bytes())
    }

    fn remove(&mut self, names: &[String]) -> Result<(), Error> {
        let remove = |name: &String, _: &AtomicBool| {
            let removed = self.objects.bucket().remove(name);
            removed.map_err(Error::at(&self.objects.within(name)))?;
            Ok(0)
        };
        for_each((names, AT_ONCE), remove, &mut |_| true)
    }

    fn switch(&mut self, current: &Current, new: Option<&Bundle>) -> Result<(), Error> {
        let bundle = new.map(Bundle::to_bytes).unwrap_or_default();
        let content = [current.to_text().as_bytes(), &bundle].concat();
        let version = self.replace(CURRENT, &content, self.current.as_ref())?;
        self.current = Some(version);
        Ok(())
    }
}
