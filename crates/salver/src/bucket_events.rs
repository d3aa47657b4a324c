//! Events of buckets: what of a site is looked at anew where an object has changed.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use salver_admin::{BucketChanges, ChangedObject, encoded_path};
use salver_assets::{Engine, RequestPath};
use salver_config::values::is_url;
use salver_store::StoreSource;

use crate::site_settings::SiteSettings;

/// The name of the object that says which release of a store is current.
const CURRENT: &str = "current";

/// The files of a site that hold for all of it.
const OF_ALL: [&str; 2] = ["_headers", "_redirects"];

/// The time for which what is told is collected, so that many changes cost as much as one.
const COLLECTED_FOR: Duration = Duration::from_millis(50);

/// The most objects that are collected, and the most bytes of their names; for more than these it is all of each bucket.
const MOST: usize = 4096;
const MOST_BYTES: usize = 1024 * 1024;

/// What was told of buckets and is not looked at yet.
#[derive(Debug, Default)]
pub(crate) struct ToldChanges(Mutex<Told>);

#[derive(Debug, Default)]
struct Told {
    objects: HashSet<ChangedObject>,
    bytes: usize,
    /// True if it is all of each bucket.
    is_all: bool,
    /// True while somebody waits for more.
    is_collected: bool,
}

impl Told {
    fn add(&mut self, changes: BucketChanges) {
        match changes {
            BucketChanges::Any => self.is_all = true,
            BucketChanges::Objects(objects) => {
                for object in objects {
                    let bytes = object.bucket.len() + object.key.len();
                    self.bytes += match self.objects.insert(object) {
                        true => bytes,
                        false => 0,
                    };
                    self.is_all |= self.objects.len() > MOST || self.bytes > MOST_BYTES;
                    if self.is_all {
                        break;
                    }
                }
            }
        }
        if self.is_all {
            self.objects = HashSet::new();
            self.bytes = 0;
        }
    }

    /// What was told since this was asked last, if anything was.
    fn take(&mut self) -> Option<BucketChanges> {
        self.bytes = 0;
        let objects = std::mem::take(&mut self.objects);
        match std::mem::take(&mut self.is_all) {
            true => Some(BucketChanges::Any),
            false if objects.is_empty() => None,
            false => Some(BucketChanges::Objects(objects.into_iter().collect())),
        }
    }
}

impl ToldChanges {
    /// Has changes looked at: at once if none were for a while, else together with all that come meanwhile.
    pub(crate) fn tell(
        self: &Arc<Self>,
        changes: BucketChanges,
        look: impl Fn(&BucketChanges) + Send + 'static,
    ) {
        let first = {
            let mut told = self.hold();
            told.add(changes);
            if told.is_collected {
                return;
            }
            let first = told.take();
            told.is_collected = first.is_some();
            first
        };
        let Some(first) = first else { return };
        look(&first);
        let told = Arc::clone(self);
        let collect = move || {
            loop {
                std::thread::sleep(COLLECTED_FOR);
                let Some(changes) = told.next() else { return };
                look(&changes);
            }
        };
        let thread = std::thread::Builder::new().name("salver-changes".to_owned());
        if let Err(error) = thread.spawn(collect) {
            self.hold().is_collected = false;
            tracing::warn!("admin: what buckets tell is not collected: {error}");
        }
    }

    /// What came meanwhile; with nothing nobody waits any more.
    fn next(&self) -> Option<BucketChanges> {
        let mut told = self.hold();
        let changes = told.take();
        told.is_collected = changes.is_some();
        changes
    }

    fn hold(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

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
        let are_of_all = names.iter().any(|name| OF_ALL.contains(name));
        let paths: Vec<String> = names.into_iter().map(|name| self.path(name)).collect();
        let paths: Vec<RequestPath<'_>> = paths.iter().filter_map(|path| parsed(path)).collect();
        if !paths.is_empty() {
            engine.invalidate_all(&paths);
        }
        if are_of_all && let Some(path) = parsed(&self.path("")) {
            engine.make_rules_due(&path);
        }
    }

    /// Has the pointer of a store looked at at once, if it may have changed; all else of a store never changes.
    pub(crate) fn look_at_store(&self, changes: &BucketChanges) {
        let Some(store) = &self.store else { return };
        let has_changed = match changes {
            BucketChanges::Any => true,
            BucketChanges::Objects(objects) => {
                objects.iter().any(|of| self.name(of) == Some(CURRENT))
            }
        };
        if has_changed {
            store.look_now();
        }
    }

    /// True if what is served of it changes file by file.
    pub(crate) fn has_files(&self) -> bool {
        self.store.is_none()
    }

    /// True if an object is of it.
    pub(crate) fn has(&self, object: &ChangedObject) -> bool {
        self.name(object).is_some()
    }

    fn look_at_all(&self, engine: &Engine) {
        if let Some(path) = parsed(&self.path("")) {
            engine.make_due(&path);
        }
    }

    /// The name of an object beneath it, if it is of it.
    fn name<'a>(&self, object: &'a ChangedObject) -> Option<&'a str> {
        let is_of_bucket = object.bucket == self.bucket;
        let name = object.key.strip_prefix(&*self.beneath)?;
        Some(name).filter(|name| is_of_bucket && !name.is_empty())
    }

    /// The path at which a name is seen.
    fn path(&self, name: &str) -> String {
        encoded_path(format!("{}{name}", self.mounted_at).as_bytes())
    }
}

/// A path that requests can ask for; what they cannot is not served either.
fn parsed(path: &str) -> Option<RequestPath<'_>> {
    RequestPath::parse(path.as_bytes()).ok()
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
            let path = of_site.path(name);
            let seen = parsed(&path).map(|path| path.as_bytes().to_vec());
            assert_eq!(
                String::from_utf8_lossy(&seen.unwrap_or_default()),
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

    fn objects(keys: std::ops::Range<usize>, length: usize) -> BucketChanges {
        let object = |key: usize| ChangedObject {
            bucket: "b".to_owned(),
            key: format!("{key:0length$}"),
        };
        BucketChanges::Objects(keys.map(object).collect())
    }

    #[test]
    fn many_changes_are_looked_at_together_and_none_is_lost() {
        let told = Arc::<ToldChanges>::default();
        let (looks, seen) = std::sync::mpsc::channel();
        let tell = |changes| {
            let looks = looks.clone();
            told.tell(changes, move |changes| {
                looks.send(changes.clone()).unwrap();
            });
        };
        for number in 0..1000 {
            tell(objects(number..number + 1, 0));
            // Once more.
            tell(objects(number / 2..number / 2 + 1, 0));
        }
        let mut found = HashSet::new();
        let mut looks = 0;
        while found.len() < 1000 {
            let BucketChanges::Objects(some) = seen.recv().unwrap() else {
                panic!("not so many")
            };
            // It is not asked how many came between two looks: the machine may be slow.
            looks += 1;
            found.extend(some.into_iter().map(|object| object.key));
        }
        assert!(looks < 1000, "{looks}");
        tell(BucketChanges::Any);
        while seen.recv().unwrap() != BucketChanges::Any {}
    }

    #[test]
    fn what_is_too_much_to_be_collected_is_all() {
        let check = |changes: &[BucketChanges], is_all: bool| {
            let mut told = Told::default();
            changes.iter().for_each(|changes| told.add(changes.clone()));
            assert_eq!(told.take() == Some(BucketChanges::Any), is_all);
            assert_eq!((told.take(), told.bytes), (None, 0));
        };
        check(&[objects(0..MOST, 8), objects(0..MOST, 8)], false);
        check(&[objects(0..MOST, 8), objects(MOST..MOST + 1, 8)], true);
        check(&[objects(0..1000, 1000)], false);
        check(&[objects(0..1000, 1000), objects(1000..1100, 1000)], true);
        check(&[BucketChanges::Any, objects(0..1, 8)], true);
    }
}
