//! Codings of blobs, which this build does not make.

use crate::error::Error;
use crate::event::Listener;
use crate::files::digest::BlobDigest;
use crate::files::manifest::ManifestFile;
use crate::place::Changes;
use crate::store::Store;

/// Refuses: there is no encoder.
pub(super) fn add(
    _: &Store,
    _: &mut Vec<ManifestFile>,
    _: usize,
    _: &mut Listener<'_>,
) -> Result<(), Error> {
    Err(Error::Misused(
        "this build makes no codings: use one with the feature compress, or do not wait for them"
            .to_owned(),
    ))
}

/// Leaves alone what another build has noted.
pub(super) fn prune(
    _: &Store,
    _: &dyn Fn(&BlobDigest) -> bool,
    _: &mut dyn Changes,
) -> Result<(), Error> {
    Ok(())
}
