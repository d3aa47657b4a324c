//! The versions of a file that clients may have: those that its source has, or those that are kept in memory.

use salver_semantics::VersionedName;

use crate::codings::dictionaries::MOST_VERSIONS;
use crate::codings::key::DictionaryKey;
use crate::path::file_name;
use crate::resource::dictionary_use::KnownVersion;
use crate::resource::engine_state::EngineState;
use crate::source::View;

/// The part of the name of a dictionary between what it begins and ends with. No path has it.
const GAP: &[u8] = b"\0*\0";

/// The name that all versions of the file at a path of the site have in common.
pub(super) fn common_name(
    shared: &EngineState,
    path: &[u8],
    name: VersionedName<'_>,
) -> Option<Vec<u8>> {
    let directory = path.get(..path.len() - file_name(path).len())?;
    let site = shared.config.name.as_bytes();
    let parts: [&[u8]; 6] = [site, b"\0", directory, name.before, GAP, name.after];
    Some(parts.concat())
}

/// The versions of a file that clients may have, by the name that they have in common: those that its source has, or
/// else those that are kept in memory.
pub(super) fn versions(
    shared: &EngineState,
    view: &dyn View,
    path: &[u8],
    name: &[u8],
) -> Vec<KnownVersion> {
    source_versions(view, path, name).unwrap_or_else(|| kept_versions(shared, name))
}

/// The contents that are kept in memory under a name.
pub(super) fn kept_versions(shared: &EngineState, name: &[u8]) -> Vec<KnownVersion> {
    let kept = shared.pool.dictionaries.versions(name).into_iter();
    kept.map(|key| KnownVersion { key, path: None }).collect()
}

/// The other versions of the file at `path` that its source has; `None` if that does not tell.
pub(super) fn source_versions(
    view: &dyn View,
    path: &[u8],
    name: &[u8],
) -> Option<Vec<KnownVersion>> {
    let at = name.windows(GAP.len()).position(|window| window == GAP)?;
    let (before, after) = name.split_at_checked(at)?;
    let name = VersionedName {
        before: file_name(before),
        after: after.strip_prefix(GAP)?,
    };
    let found = view.versions(path, name)?.into_iter();
    let found = found.filter(|version| version.path != path);
    let known = found.take(MOST_VERSIONS).map(|version| KnownVersion {
        key: DictionaryKey {
            sha256: version.sha256,
            length: version.length,
        },
        path: Some(version.path),
    });
    Some(known.collect())
}
