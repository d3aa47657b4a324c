//! The settings that hold for the buckets of a site.

use std::path::{Path, PathBuf};
use std::time::Duration;

use salver_assets::CodingDirectory;
use salver_config::{Server, Site};

/// The time within which another release of a store in a bucket is seen, unless it is said: each node asks so often.
pub(crate) const POINTER_LOOKED_AT: Duration = Duration::from_secs(1);

/// How long buckets may take, how long what is held of them is sent, and where it is kept.
#[derive(Clone, Debug)]
pub struct BucketSettings {
    /// The time after which what is known of a bucket is compared with it: that of the configuration, for the engine of a site
    /// with a store looks at what is in memory more often.
    pub revalidate: Duration,
    /// The most time of a request.
    pub timeout: Duration,
    /// The time within which another release of a store is seen.
    pub pointer_looked_at: Duration,
    /// How long beyond `--revalidate` what is held is sent while it is compared.
    pub stale_while_revalidate: Duration,
    /// The same while it cannot be compared.
    pub stale_if_error: Duration,
    /// The directory for objects, and the bytes that they may take there.
    pub kept_in: Option<(PathBuf, u64)>,
}

impl BucketSettings {
    /// Those of a site, with the directory for all that is kept across restarts.
    pub(crate) fn new(server: &Server, site: &Site, cache_directory: Option<&Path>) -> Self {
        let kept_in = cache_directory.map(|directory| {
            let most = *server.cache_dir_size;
            let path = directory.join(CodingDirectory::OBJECTS);
            (path, most.saturating_sub(most_of_codings(most)))
        });
        let looked_at = &server.revalidate;
        BucketSettings {
            revalidate: **looked_at,
            pointer_looked_at: match looked_at.is_said() {
                true => **looked_at,
                false => POINTER_LOOKED_AT,
            },
            timeout: *site.bucket_timeout,
            stale_while_revalidate: *site.stale_while_revalidate,
            stale_if_error: *site.stale_if_error,
            kept_in,
        }
    }
}

/// The part of the bytes of `--cache-dir` that is for codings where objects of buckets are kept there, too.
pub(crate) fn most_of_codings(most: u64) -> u64 {
    most / 4
}
