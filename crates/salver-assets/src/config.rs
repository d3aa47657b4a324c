//! The engine's settings, validated once.

use std::fmt;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use salver_os::Symlinks;
use salver_rules::RuleSet;
use salver_semantics::CompressibleTypes;
use salver_semantics::coding::ContentCoding;

use salver_semantics::RequestPath;

use crate::alternative::Alternative;
use crate::cache_control::CacheControl;
use crate::codings::directory::CodingDirectory;
use crate::conventions::{Conventions, TrailingSlash};
use crate::events::Observer;
use crate::listing::Listing;
use crate::path::path_of_key;
use crate::source::Source;
use crate::source::directory::DirectorySource;
use crate::strategy::{Transport, cache_max_file};
use crate::variables::PageVariables;

/// A source and where it appears.
#[derive(Clone, Debug)]
pub struct Mount {
    prefix: String,
    pub(crate) source: Arc<dyn Source>,
    pub(crate) target: MountTarget,
    pub(crate) fallback: Option<String>,
    pub(crate) cached: bool,
    rules: Option<Arc<RuleSet>>,
    conventions: Option<Conventions>,
    pub(crate) clean_urls: Option<TrailingSlash>,
    listing: Option<Listing>,
    pub(crate) variables: Option<Arc<PageVariables>>,
}

/// The part of its source that a mount shows.
#[derive(Clone, Debug)]
pub(crate) enum MountTarget {
    Tree,
    /// The one file of this name in the source's root.
    File(String),
}

impl Mount {
    /// The whole tree of `source` beneath `prefix`: `/` or `/static`, say.
    pub fn tree(prefix: &str, source: Arc<dyn Source>) -> Self {
        Mount::of(prefix, source, MountTarget::Tree)
    }

    /// The file called `name` in the root of `source`, exactly at `path`.
    pub fn file(path: &str, source: Arc<dyn Source>, name: &str) -> Self {
        Mount::of(path, source, MountTarget::File(name.to_owned()))
    }

    fn of(prefix: &str, source: Arc<dyn Source>, target: MountTarget) -> Self {
        Mount {
            prefix: prefix.to_owned(),
            source,
            target,
            fallback: None,
            cached: true,
            rules: None,
            conventions: None,
            clean_urls: None,
            listing: None,
            variables: None,
        }
    }

    /// The same mount of another source.
    pub fn with_source(mut self, source: Arc<dyn Source>) -> Self {
        self.source = source;
        self
    }

    /// Answers unknown paths of this tree that do not look like a file with `file` and 200, as
    /// single-page applications need.
    pub fn with_fallback(mut self, file: &str) -> Self {
        self.fallback = Some(file.to_owned());
        self
    }

    /// Keeps nothing of this mount, whatever [`Config::cache`] says of the others: each request
    /// looks at the disk and reads what it sends. Requests at the same moment still share a load.
    pub fn without_cache(mut self) -> Self {
        self.cached = false;
        self
    }

    /// Answers requests for this mount by rules, which match their whole path. What depends on the path alone is
    /// rendered when a resource is loaded, and costs later requests nothing.
    ///
    /// They come before the rules of [conventions](Self::with_conventions): their routes count first, and of the
    /// response fields and error pages that both name theirs stand.
    pub fn with_rules(mut self, rules: Arc<RuleSet>) -> Self {
        self.rules = Some(rules);
        self
    }

    /// Serves this tree by the files that a built site carries for its host. One file has none.
    pub fn with_conventions(mut self, conventions: Conventions) -> Self {
        self.conventions = Some(conventions);
        self
    }

    /// Serves the pages of this tree without `.html` in their paths.
    pub fn with_clean_urls(mut self, trailing_slash: TrailingSlash) -> Self {
        self.clean_urls = Some(trailing_slash);
        self
    }

    /// Answers a directory of this tree that has no index by a listing of what it holds. Default: it is not found.
    /// Names that begin with a dot and [files of rules](Self::with_conventions) are listed only where they are served,
    /// links only where they may be followed.
    #[cfg(feature = "listing")]
    pub fn with_listing(mut self, listing: Listing) -> Self {
        self.listing = Some(listing);
        self
    }

    /// The listing of its directories, if they have one. One file has none.
    pub(crate) fn listing(&self) -> Option<&Listing> {
        let is_tree = matches!(self.target, MountTarget::Tree);
        self.listing.as_ref().filter(|_| is_tree)
    }

    /// Puts these variables into the HTML pages of this tree, in the place of `[[env.NAME]]`. Such a page has an entity
    /// tag of its own and no precompressed siblings; one without placeholders is sent as it is.
    pub fn with_page_variables(mut self, variables: Arc<PageVariables>) -> Self {
        self.variables = Some(variables);
        self
    }

    /// The rules that it was given.
    pub(crate) fn rules(&self) -> Option<&Arc<RuleSet>> {
        self.rules.as_ref()
    }

    /// The conventions that its tree is served by.
    pub(crate) fn conventions(&self) -> Option<&Conventions> {
        let is_tree = matches!(self.target, MountTarget::Tree);
        self.conventions.as_ref().filter(|_| is_tree)
    }
}

/// The settings of an engine. [`Config::default`] has no mounts.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of the site, before paths in the log, where there are several. Default: none.
    pub name: String,
    /// The trees that are served; the longest prefix wins. At least one.
    pub mounts: Vec<Mount>,
    /// Names that stand for a directory, the first that is there wins; none: unlisted ones are 404, with and without
    /// their slash. Default: `index.html`.
    pub index: Vec<String>,
    /// Codings of which precompressed siblings are looked for. A sibling is sent only once it has been
    /// decoded to its original: by this crate, which has a feature for each coding, or before, as
    /// [`embedded!`](crate::embedded) trees are. Others are passed by. Default: br, zstd, gzip.
    pub precompressed: Vec<ContentCoding>,
    /// The media types of files beside their originals that are looked for, the best first: one is sent to clients
    /// whose Accept names its type and wants no other more. Default: none.
    pub negotiate: Vec<Alternative>,
    /// Bytes that the memory cache may hold: content, heads and bookkeeping; paths without a file have a sixteenth of
    /// them. An engine [beside](crate::Engine::beside) another has the cache of that. Default: 256 MiB.
    pub cache_size: usize,
    /// The longest content that is kept in memory, in bytes. Beyond, the page cache
    /// serves as well, and sending from it spares a copy. Default: 32 KiB.
    pub cache_max_file: u64,
    /// True if anything is kept in memory, of mounts that do not say
    /// [otherwise](Mount::without_cache). Default: yes.
    pub cache: bool,
    /// The time for which a cached answer is given after its last comparison with the disk began; a later
    /// request waits for the next. Default: 1 s.
    pub revalidate: Duration,
    /// True if files and directories whose name begins with a dot are served (`.well-known` always
    /// is). Default: no.
    pub dotfiles: bool,
    /// The longest file whose entity tag is a hash of its content, in bytes; beyond, it is made
    /// of length and times. Default: 16 MiB.
    pub hash_up_to: u64,
    /// The time after a change in which a file may well change again while it is sent, so that its
    /// bytes are copied first: see [`strategy`](crate::strategy). Default: 10 s.
    pub settle_time: Duration,
    /// The length in bytes from which on content that is not kept in memory is sent by `sendfile` where the
    /// transport can, instead of being read. Default: 32 KiB.
    pub sendfile_from: u64,
    /// Handles of files whose content is not kept in memory that stay open between requests, at
    /// most; one that nobody asks for is closed after 10 s. Default: 1,024.
    pub open_files: usize,
    /// The Cache-Control of answers, by path. Default: by the file's name.
    pub cache_control: CacheControl,
    /// True if browsers are told to take the Content-Type of files as it is, whatever their content looks like
    /// (`X-Content-Type-Options: nosniff`). Default: yes.
    pub nosniff: bool,
    /// True if plans say [all that is known](crate::ResponsePlan::cache_status) of how the cache had them. Default: no.
    pub cache_status: bool,
    /// The observer of the cache's events. Default: none.
    pub observer: Option<Arc<dyn Observer>>,
    /// True if the log says each refusal and each failure, and not each once and few in a minute: for somebody who
    /// watches. Default: no.
    pub log_each: bool,
    /// True if requests for what is being loaded share that load. Default: yes.
    pub coalesce: bool,
    /// True if codings are made of files that have no precompressed sibling and get smaller: in the background, once
    /// for each content and for each coding that a client prefers. An answer never waits for one. Takes the feature
    /// `compress`, threads that begin when there is work and end after it, and three eighths of
    /// [`cache_size`](Self::cache_size). Default: no.
    pub compress: bool,
    /// The media types of which codings are made: those that get smaller, and what is said besides. Default: the table
    /// alone.
    pub compress_types: CompressibleTypes,
    /// The share of a core that making codings may take, in percent; more than 100 is more than one core. Of engines
    /// [beside](crate::Engine::beside) each other the first decides. Default: 50.
    pub compress_cpu: u32,
    /// The directory in which made codings outlive the process. Of engines beside each other the first decides.
    /// Default: none.
    pub kept_codings: Option<Arc<CodingDirectory>>,
    /// True if who has a former version of a file whose name carries a fingerprint gets the next one coded against it
    /// (RFC 9842), where [codings are made](Self::compress). What is sent is kept in memory for that, up to a sixteenth
    /// of [`cache_size`](Self::cache_size), unless its source [has it](crate::View::versions). Default: no.
    pub dictionaries: bool,
    /// The path in the site of the file that pages are coded against, with [`dictionaries`](Self::dictionaries): pages
    /// name it, browsers load it once and keep it. Default: none.
    pub page_dictionary: Option<String>,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            name: String::new(),
            mounts: Vec::new(),
            index: vec!["index.html".to_owned()],
            precompressed: ContentCoding::CODED.to_vec(),
            negotiate: Vec::new(),
            cache_size: 256 * 1024 * 1024,
            cache_max_file: cache_max_file(Transport::KernelSends),
            cache: true,
            revalidate: Duration::from_secs(1),
            dotfiles: false,
            hash_up_to: 16 * 1024 * 1024,
            settle_time: Duration::from_secs(10),
            sendfile_from: 32 * 1024,
            open_files: 1024,
            cache_control: CacheControl::default(),
            nosniff: true,
            cache_status: false,
            observer: None,
            log_each: false,
            coalesce: true,
            compress: false,
            compress_types: CompressibleTypes::default(),
            compress_cpu: 50,
            kept_codings: None,
            dictionaries: false,
            page_dictionary: None,
        }
    }
}

/// Content may take at most this share of the cache, so that a file in all its codings does not
/// take more than a quarter.
pub(crate) const MOST_OF_CACHE: usize = 16;

impl Config {
    /// Opens a directory to be mounted, whose own path is resolved anew as often as
    /// [`revalidate`](Self::revalidate) asks for.
    ///
    /// # Errors
    /// As [`DirectorySource::open`].
    pub fn open_directory(&self, path: &Path, symlinks: Symlinks) -> io::Result<DirectorySource> {
        let source = DirectorySource::open(path, symlinks, self.revalidate)?;
        Ok(match self.log_each {
            true => source.with_log_of_each(),
            false => source,
        })
    }

    /// The longest content that is kept in memory, in bytes: `cache_max_file`, but no more than a
    /// sixteenth of `cache_size`, and nothing without a cache.
    pub fn keep_up_to(&self) -> u64 {
        if !self.cache {
            return 0;
        }
        let most = u64::try_from(self.cache_size / MOST_OF_CACHE).unwrap_or(u64::MAX);
        self.cache_max_file.min(most)
    }
}

/// A setting that cannot be used: which, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(String);

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ConfigError {}

/// The mounts.
#[derive(Debug)]
pub(crate) struct Mounts {
    /// Longest prefix first, each prefix normalised: empty for `/`, else without a slash at its
    /// end.
    by_prefix: Vec<(Vec<u8>, Mount)>,
    /// True if every mount is cached, so that the one in question need not be found.
    all_cached: bool,
}

/// The result of looking a path up among the mounts.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum MountMatch {
    /// A path relative to the mount of this number; ends with `/` or is empty for a directory.
    Within(usize, Vec<u8>),
    /// The prefix itself, which is a directory.
    Redirect,
    /// No mount has it.
    Nowhere,
}

impl Mounts {
    pub(crate) fn new(mounts: &[Mount]) -> Result<Self, ConfigError> {
        let mut normal = Vec::new();
        for mount in mounts {
            let prefix = &mount.prefix;
            let wrong = |what: &str| ConfigError(format!("mount prefix {prefix:?} {what}"));
            let path = RequestPath::parse(prefix.as_bytes())
                .map_err(|_| wrong("is no absolute path such as /static"))?;
            let bytes = path.as_bytes();
            let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes).to_vec();
            if bytes.is_empty() && matches!(mount.target, MountTarget::File(_)) {
                return Err(wrong("stands for a directory, but a file is mounted there"));
            }
            if normal.iter().any(|(other, _)| *other == bytes) {
                return Err(wrong("is mounted twice"));
            }
            normal.push((bytes, mount.clone()));
        }
        if normal.is_empty() {
            return Err(ConfigError(
                "nothing is mounted: give a directory to serve".to_owned(),
            ));
        }
        normal.sort_by_key(|(prefix, _)| std::cmp::Reverse(prefix.len()));
        Ok(Mounts {
            all_cached: normal.iter().all(|(_, mount)| mount.cached),
            by_prefix: normal,
        })
    }

    pub(crate) fn get(&self, number: usize) -> Option<&Mount> {
        self.by_prefix.get(number).map(|(_, mount)| mount)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&[u8], &Mount)> {
        self.by_prefix
            .iter()
            .map(|(prefix, mount)| (&**prefix, mount))
    }

    /// True if any mount lists its directories.
    pub(crate) fn have_listings(&self) -> bool {
        self.iter().any(|(_, mount)| mount.listing().is_some())
    }

    /// True if what is at `path`, which is normalised, may be kept.
    pub(crate) fn is_cached(&self, path: &[u8]) -> bool {
        self.all_cached
            || self
                .find(path_of_key(path).0)
                .is_none_or(|(_, mount, _)| mount.cached)
    }

    /// The number of the mount that has `path`, which is normalised.
    pub(crate) fn number_of(&self, path: &[u8]) -> Option<usize> {
        self.find(path).map(|(number, _, _)| number)
    }

    /// Looks up `path`, which is normalised.
    pub(crate) fn find_mount(&self, path: &[u8]) -> MountMatch {
        match self.find(path) {
            None => MountMatch::Nowhere,
            Some((number, mount, rest)) => match (&mount.target, rest) {
                (MountTarget::File(name), _) => MountMatch::Within(number, name.clone().into()),
                (MountTarget::Tree, [_, relative @ ..]) => {
                    MountMatch::Within(number, relative.to_vec())
                }
                (MountTarget::Tree, []) => MountMatch::Redirect,
            },
        }
    }

    /// The mount that has `path`, its number, and what follows its prefix: nothing, or a slash and
    /// the rest.
    fn find<'a>(&self, path: &'a [u8]) -> Option<(usize, &Mount, &'a [u8])> {
        let mounts = self.by_prefix.iter().enumerate();
        let mut found = mounts.filter_map(|(number, (prefix, mount))| {
            let rest = path.strip_prefix(&**prefix)?;
            let is_its = match (&mount.target, rest.first()) {
                (_, None) | (MountTarget::Tree, Some(b'/')) => true,
                (MountTarget::File(_) | MountTarget::Tree, Some(_)) => false,
            };
            is_its.then_some((number, mount, rest))
        });
        found.next()
    }

    /// The path at which the file at `relative` in the tree of a mount is asked for.
    pub(crate) fn path_of(&self, number: usize, relative: &[u8]) -> Vec<u8> {
        match self.by_prefix.get(number) {
            Some((prefix, mount)) => match mount.target {
                MountTarget::Tree => [prefix, &b"/"[..], relative].concat(),
                MountTarget::File(_) => prefix.clone(),
            },
            None => relative.to_vec(),
        }
    }

    /// The path at which the fallback file of a mount is found.
    pub(crate) fn fallback(&self, number: usize) -> Option<Vec<u8>> {
        let (prefix, mount) = self.by_prefix.get(number)?;
        let file = mount.fallback.as_ref()?;
        Some([prefix, &b"/"[..], file.as_bytes()].concat())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySource;

    fn mounts(list: &[(&str, Option<&str>)]) -> Result<Mounts, ConfigError> {
        let source: Arc<dyn Source> = Arc::new(MemorySource::new());
        let list: Vec<_> = list
            .iter()
            .map(|(prefix, file)| match file {
                None => Mount::tree(prefix, Arc::clone(&source)),
                Some(name) => Mount::file(prefix, Arc::clone(&source), name),
            })
            .collect();
        Mounts::new(&list)
    }

    #[test]
    fn the_longest_prefix_wins_at_whole_segments() {
        let mounts = mounts(&[
            ("/", None),
            ("/a", None),
            ("/a/b/", None),
            ("/r.txt", Some("x")),
        ])
        .unwrap();
        let check = |path: &str, prefix: &str, relative: &str| {
            let MountMatch::Within(number, rest) = mounts.find_mount(path.as_bytes()) else {
                panic!("{path}: {:?}", mounts.find_mount(path.as_bytes()))
            };
            assert_eq!(String::from_utf8(rest).unwrap(), relative, "{path}");
            assert_eq!(mounts.by_prefix[number].0, prefix.as_bytes(), "{path}");
        };
        check("/", "", "");
        check("/x", "", "x");
        check("/ab", "", "ab");
        check("/a/", "/a", "");
        check("/a/x/", "/a", "x/");
        check("/a/b/c", "/a/b", "c");
        check("/r.txt", "/r.txt", "x");
        check("/r.txt/", "", "r.txt/");
        check("/r.txtx", "", "r.txtx");
        assert_eq!(mounts.find_mount(b"/a"), MountMatch::Redirect);
        assert_eq!(mounts.find_mount(b"/a/b"), MountMatch::Redirect);
    }

    #[test]
    fn wrong_mounts_are_named() {
        fn check(list: &[(&str, Option<&str>)], part: &str) {
            let error = mounts(list).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        check(&[], "nothing is mounted");
        check(&[("static", None)], "no absolute path");
        check(&[("/../x", None)], "no absolute path");
        check(&[("/a", None), ("/a/", None)], "twice");
        check(&[("/", Some("f"))], "stands for a directory");
        assert!(matches!(
            mounts(&[("/a", None)]).unwrap().find_mount(b"/b"),
            MountMatch::Nowhere
        ));
    }
}
