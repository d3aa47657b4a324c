//! Reports of deploys and lists of releases, as they are printed as JSON and as an admin listener sends them.

use std::time::{SystemTime, UNIX_EPOCH};

use salver_store::{Deployed, Error, Preview, Release, Store, written_time};
use serde::{Deserialize, Serialize};

/// A number of blobs, and the bytes that they have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct BlobCount {
    pub(crate) blobs: usize,
    pub(crate) bytes: u64,
}

impl From<(usize, u64)> for BlobCount {
    fn from((blobs, bytes): (usize, u64)) -> Self {
        BlobCount { blobs, bytes }
    }
}

/// The preview that a deploy has made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PreviewReport {
    pub(crate) name: String,
    pub(crate) expires: String,
}

/// The report of a deploy.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeployReport {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) preview: Option<PreviewReport>,
    pub(crate) release: String,
    pub(crate) previous: Option<String>,
    pub(crate) unchanged: bool,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    pub(crate) sent: BlobCount,
    pub(crate) kept: BlobCount,
    pub(crate) repaired: usize,
    /// Where a server shows the release besides its site, without the scheme; none where nobody knows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) addresses: Vec<String>,
}

impl From<&Deployed> for DeployReport {
    fn from(deployed: &Deployed) -> Self {
        let preview = deployed.preview.as_ref().map(|preview| PreviewReport {
            name: preview.name.to_string(),
            expires: written_time(preview.expires_unix_seconds),
        });
        DeployReport {
            preview,
            release: deployed.id.to_string(),
            previous: deployed.previous.as_ref().map(ToString::to_string),
            unchanged: deployed.is_unchanged,
            files: deployed.files,
            bytes: deployed.bytes,
            sent: deployed.sent.into(),
            kept: deployed.kept.into(),
            repaired: deployed.repaired,
            addresses: Vec::new(),
        }
    }
}

/// The report of a rollback.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RollbackReport {
    pub(crate) release: String,
    pub(crate) previous: Option<String>,
}

/// The releases of a store, oldest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReleaseList {
    pub(crate) releases: Vec<ReleaseEntry>,
    #[serde(default)]
    pub(crate) previews: Vec<PreviewEntry>,
    pub(crate) blob_bytes: u64,
}

/// A release of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ReleaseEntry {
    pub(crate) id: String,
    pub(crate) current: bool,
    pub(crate) created: String,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    pub(crate) bytes_alone: u64,
    pub(crate) by: Option<String>,
}

/// A preview of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PreviewEntry {
    pub(crate) name: String,
    pub(crate) release: String,
    pub(crate) expires: String,
    pub(crate) expired: bool,
}

impl ReleaseList {
    /// The list of a store.
    ///
    /// # Errors
    /// It is damaged, or cannot be read.
    pub(crate) fn of(store: &Store) -> Result<Self, Error> {
        let (releases, previews) = (store.releases()?, store.previews()?);
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = i64::try_from(now.unwrap_or_default().as_secs()).unwrap_or(i64::MAX);
        let entry = |preview: Preview| PreviewEntry {
            expired: preview.has_expired(now),
            expires: written_time(preview.expires_unix_seconds),
            name: preview.name.to_string(),
            release: preview.release.to_string(),
        };
        Ok(ReleaseList {
            releases: releases.into_iter().map(ReleaseEntry::from).collect(),
            previews: previews.into_iter().map(entry).collect(),
            blob_bytes: store.blob_bytes()?,
        })
    }
}

impl From<Release> for ReleaseEntry {
    fn from(release: Release) -> Self {
        ReleaseEntry {
            id: release.id.to_string(),
            current: release.is_current,
            created: written_time(release.created_unix_seconds),
            files: release.files,
            bytes: release.bytes,
            bytes_alone: release.bytes_alone,
            by: release.who,
        }
    }
}
