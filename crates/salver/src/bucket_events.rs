//! Events of buckets: what of a site is looked at anew where an object has changed.

use std::sync::Arc;

use salver_admin::{BucketChanges, ChangedObject, encoded_path};
use salver_assets::{Engine, RequestPath};
use salver_config::values::is_url;
use salver_store::StoreSource;

use crate::site_settings::SiteSettings;

/// The name of the object that says which release of a store is current.
const CURRENT: &str = "current";

/// The files of a site that hold for all of it.
const OF_ALL: [&str; 2] = ["_headers", "_redirects"];

/// The most objects of one notification that are looked at one by one; for more than these it is all of a bucket.
const MOST: usize = 64;

/// A bucket, or what lies beneath a prefix of one, as a site serves it.
#[derive(Clone, Debug)]
pub(crate) struct BucketOfSite {
    /// The number of the site.
    pub(crate) site: usize,
    /// The path that it is mounted at, with a slash at its end.
    mounted_at: String,
    bucket: String,
    /// What the keys begin with: empty, or with a slash at its end.
    beneath: String,
    /// The store that it is, if it is one.
    store: Option<Arc<StoreSource>>,
}

/// The buckets that a site serves, by its number.
pub(crate) fn buckets_of(
    site: &SiteSettings,
    number: usize,
) -> impl Iterator<Item = BucketOfSite> + '_ {
    let of_buckets = site
        .shown
        .iter()
        .filter(|shown| is_url(shown.path.as_os_str()));
    of_buckets.map(move |shown| {
        let store = site.store.as_ref().filter(|_| shown.prefix == "/");
        let store = store.map(|(_, source)| Arc::clone(source));
        let url = shown.path.to_string_lossy();
        BucketOfSite::new(number, &url, &shown.prefix, store)
    })
}

impl BucketOfSite {
    /// The bucket of a URL, as it is mounted at a path.
    fn new(site: usize, url: &str, mounted_at: &str, store: Option<Arc<StoreSource>>) -> Self {
        let (_, place) = url.split_once("://").unwrap_or(("", url));
        let (bucket, beneath) = place.split_once('/').unwrap_or((place, ""));
        // Azure has the account behind its container.
        let (bucket, _) = bucket.split_once('@').unwrap_or((bucket, ""));
        BucketOfSite {
            site,
            mounted_at: format!("{}/", mounted_at.trim_end_matches('/')),
            bucket: bucket.to_owned(),
            beneath: key_prefix(beneath),
            store,
        }
    }

    /// Has what is served of it looked at anew, as far as it has changed.
    pub(crate) fn look(&self, engine: &Engine, changes: &BucketChanges) {
        let names: Vec<&str> = match changes {
            BucketChanges::Any => return self.look_at_all(engine),
            BucketChanges::Objects(objects) => {
                objects.iter().filter_map(|of| self.name(of)).collect()
            }
        };
        let is_of_all = |name: &str| match self.store {
            // All else of a store never changes.
            Some(_) => name == CURRENT,
            None => OF_ALL.contains(&name),
        };
        let are_too_many = names.len() > MOST && self.store.is_none();
        if are_too_many || names.iter().any(|name| is_of_all(name)) {
            self.look_at_all(engine);
        } else if self.store.is_none() {
            for name in names {
                self.invalidate(name, |path| engine.invalidate(path));
            }
        }
    }

    /// True if an object is of it.
    pub(crate) fn has(&self, object: &ChangedObject) -> bool {
        self.name(object).is_some()
    }

    fn look_at_all(&self, engine: &Engine) {
        match &self.store {
            Some(store) => store.look_now(),
            None => self.invalidate("", |path| engine.invalidate_prefix(path)),
        }
    }

    /// The name of an object beneath it, if it is of it.
    fn name<'a>(&self, object: &'a ChangedObject) -> Option<&'a str> {
        let is_of_bucket = object.bucket == self.bucket;
        let name = object.key.strip_prefix(&*self.beneath)?;
        Some(name).filter(|name| is_of_bucket && !name.is_empty())
    }

    /// Calls with the path at which a name is seen. What no request can ask for is not served either.
    fn invalidate(&self, name: &str, invalidate: impl FnOnce(&RequestPath<'_>) -> usize) {
        let path = encoded_path(format!("{}{name}", self.mounted_at).as_bytes());
        if let Ok(path) = RequestPath::parse(path.as_bytes()) {
            invalidate(&path);
        }
    }
}

/// What keys begin with by the path of a URL, decoded as whoever asks for them does.
fn key_prefix(path: &str) -> String {
    let path = path.trim_matches('/');
    if path.is_empty() {
        return String::new();
    }
    let rooted = format!("/{path}/");
    let decoded = RequestPath::parse(rooted.as_bytes())
        .ok()
        .and_then(|parsed| String::from_utf8(parsed.as_bytes().to_vec()).ok());
    let prefix = decoded.unwrap_or(rooted);
    prefix.trim_start_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_of_a_bucket_by_their_keys() {
        fn check(url: &str, bucket: &str, key: &str, expected: Option<&str>) {
            let object = ChangedObject {
                bucket: bucket.to_owned(),
                key: key.to_owned(),
            };
            let of_site = BucketOfSite::new(0, url, "/", None);
            assert_eq!(of_site.name(&object), expected, "{url} {bucket} {key}");
            assert_eq!(of_site.has(&object), expected.is_some());
        }
        check("s3://b/site", "b", "site/current", Some("current"));
        check("s3://b/site/", "b", "site/a/b.js", Some("a/b.js"));
        check("s3://b/a%20b/c", "b", "a b/c/d", Some("d"));
        check("s3://b", "b", "site/a", Some("site/a"));
        check("s3://b/", "b", "a", Some("a"));
        check(
            "abfss://c@account.dfs.core.windows.net/a",
            "c",
            "a/b",
            Some("b"),
        );
        check("s3://b/site", "b", "site2/a", None);
        check("s3://b/site", "b", "site/", None);
        check("s3://b/site", "b", "current", None);
        check("s3://b/site", "other", "site/a", None);
        check("s3://b/", "", "a", None);
    }

    #[test]
    fn a_name_is_seen_where_the_bucket_is_mounted() {
        let check = |mounted_at: &str, name: &str, expected: &str| {
            let of_site = BucketOfSite::new(0, "s3://b", mounted_at, None);
            let mut seen = Vec::new();
            of_site.invalidate(name, |path| {
                seen.extend(path.as_bytes());
                1
            });
            assert_eq!(
                String::from_utf8_lossy(&seen),
                expected,
                "{mounted_at} {name}"
            );
        };
        check("/", "a b/c%.js", "/a b/c%.js");
        check("/", "", "/");
        check("/more", "index.html", "/more/index.html");
        check("/more/", "", "/more/");
        // Nobody can ask for these.
        check("/", "a\0b", "");
    }
}
