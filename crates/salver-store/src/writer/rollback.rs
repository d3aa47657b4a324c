//! A rollback: a release that is there becomes the current one.

use std::time::SystemTime;

use crate::error::Error;
use crate::files::bundle::{BlobContents, Bundle};
use crate::files::journal::Action;
use crate::files::release_id::ReleaseId;
use crate::files::time::unix_seconds;
use crate::writer::Writer;

impl Writer {
    /// Makes a release the current one: this, or the newest of those that are older than the current one and were current
    /// once. Nothing is read but names and lengths, so that it takes no time.
    ///
    /// # Errors
    /// There is none, or a part of it is missing: then the release that was current still is.
    pub fn rollback(
        &mut self,
        id: Option<&ReleaseId>,
        who: &str,
        now: SystemTime,
    ) -> Result<ReleaseId, Error> {
        self.take_turn(true)?;
        let id = match (id, &self.current) {
            (Some(id), _) => id.clone(),
            (None, Some(current)) => {
                let ids = self.store.ids()?;
                let alone = self.journal.previews_alone();
                let was_current = |id: &ReleaseId| *id < current.release && !alone.contains(id);
                let older = ids.into_iter().rev().find(was_current);
                older.ok_or_else(|| {
                    Error::Misused(format!(
                        "there is no release before {}: name one, `salver releases STORE` lists them",
                        current.release
                    ))
                })?
            }
            (None, None) => {
                return Err(Error::Misused(
                    "no release is current: name one, `salver releases STORE` lists them"
                        .to_owned(),
                ));
            }
        };
        if self
            .current
            .as_ref()
            .is_some_and(|current| current.release == id)
        {
            return Err(Error::Misused(format!(
                "{id} is the current release already"
            )));
        }
        let manifest = self.store.manifest(&id)?;
        let blobs = manifest.files().iter().map(|file| file.blob).collect();
        let lengths = self.store.place.lengths(&blobs)?;
        for file in manifest.files() {
            if lengths.get(&file.blob) != Some(&file.length) {
                return Err(Error::Damaged(format!(
                    "{:?} of {id} is missing or damaged: `salver fsck` says what else is; nothing was switched",
                    file.path.escape_ascii().to_string()
                )));
            }
        }
        self.note(
            Action::Rollback,
            std::slice::from_ref(&id),
            (who, unix_seconds(now)),
        )?;
        // Whoever has served it lately has its contents.
        let contents = BlobContents::new();
        self.switch(id.clone(), Some(&Bundle { manifest, contents }))?;
        Ok(id)
    }
}
