//! A preview: a release that gets a name of its own for a time, and does not become current.

use std::time::Duration;

use crate::error::Error;
use crate::files::journal::Action;
use crate::files::layout;
use crate::files::manifest::Manifest;
use crate::files::preview::{Preview, PreviewName};
use crate::files::release_id::ReleaseId;
use crate::writer::Writer;

/// A preview that is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewPreview {
    /// Its name; one that is there already is replaced.
    pub name: PreviewName,
    /// The time for which it is shown.
    pub expires_after: Duration,
}

impl NewPreview {
    /// The preview of a release, from this moment on, in seconds since 1970.
    pub(crate) fn of(&self, release: &ReleaseId, now_unix_seconds: i64) -> Preview {
        let time = i64::try_from(self.expires_after.as_secs()).unwrap_or(i64::MAX);
        Preview {
            name: self.name.clone(),
            release: release.clone(),
            expires_unix_seconds: now_unix_seconds.saturating_add(time),
        }
    }
}

impl Writer {
    /// Refuses a preview where no release is current: whoever serves the store looks there for changes.
    pub(crate) fn permits_preview(&self) -> Result<(), Error> {
        match &self.current {
            Some(_) => Ok(()),
            None => Err(Error::Misused(
                "no release is current: deploy one without --preview first".to_owned(),
            )),
        }
    }

    /// Gives a release the name of a preview: the manifest, if it is a new release; then the file of the preview, whole;
    /// then whoever serves the store is told that it has changed.
    pub(crate) fn put_preview(
        &mut self,
        preview: &Preview,
        new: Option<&Manifest>,
        by: (&str, i64),
    ) -> Result<(), Error> {
        self.permits_preview()?;
        self.note(Action::Preview, std::slice::from_ref(&preview.release), by)?;
        if let Some(manifest) = new {
            self.put_manifest(manifest)?;
        }
        let name = layout::preview(&preview.name);
        self.changes.put(&name, &preview.to_text())?;
        match &self.current {
            Some(current) => self.switch(current.release.clone(), None),
            None => Ok(()),
        }
    }
}
