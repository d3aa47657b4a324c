//! A site of a configuration to the settings of its engine, and what people are shown of it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use salver_assets::rules::RuleSet;
use salver_assets::source::Kind;
use salver_assets::{CompressibleTypes, Config, ContentCoding, Mount, Source, Symlinks, TypeRange};
use salver_config::conventions::{CleanUrls, ReleaseAddresses};
use salver_config::values::{self, Coding, Spa, is_url};
use salver_config::{Configuration, Origin, Server, Setting, Site};
use salver_store::StoreSource;

use crate::bucket_settings::BucketSettings;
use crate::buckets;
use crate::conventions::{alternatives, lists, with_conventions};
use crate::failure::Failure;
use crate::page_variables::add_variables;
use crate::previous::KeptTree;
use crate::releases::ReleasesOfSite;
use crate::roots::{absolute, has_file, kind, neither, open, open_store, store_looked_at};
use crate::rules::rules;

/// The length up to which objects of a bucket are kept in memory, unless it is said: what is sent from there passes
/// through the process anyway.
const KEPT_OF_BUCKETS: u64 = 1024 * 1024;

/// The settings of one site.
#[derive(Debug)]
pub struct SiteSettings {
    /// Its hosts; none if it is for those that no other site has.
    pub hosts: Vec<String>,
    /// Its engine's.
    pub engine: Config,
    /// The time for which browsers shall use nothing but TLS with it.
    pub hsts: Option<Duration>,
    /// What is served where, for people; the root first.
    pub shown: Vec<Shown>,
    /// What a person should know although nothing is wrong, one line each.
    pub warnings: Vec<String>,
    /// The path or the URL of the store that it is served from, and what it tells, if it is.
    pub store: Option<(PathBuf, Arc<StoreSource>)>,
    /// Its releases, if they have addresses of their own.
    pub releases: Option<ReleasesOfSite>,
    /// Its trees whose removed files are kept.
    pub kept: Vec<KeptTree>,
    /// The directory for all that is kept across restarts, if there is one.
    cache_directory: Option<PathBuf>,
    /// What holds for its buckets.
    pub of_buckets: BucketSettings,
    /// True if it is one of several.
    is_one_of_several: bool,
    rules: Option<Arc<RuleSet>>,
}

/// A directory or a file and where it appears.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The path of its URL.
    pub prefix: String,
    /// Where it lies, absolute.
    pub path: PathBuf,
    /// The index that stands for the directory itself, if there is one.
    pub index: Option<String>,
    /// The file that answers unknown paths.
    pub fallback: Option<String>,
    /// Whether what it holds may be kept in memory, if there is a cache.
    pub cached: bool,
}

impl SiteSettings {
    /// Checks a site against itself and against the file system.
    ///
    /// # Errors
    /// The first thing that cannot work, and what to do.
    pub(crate) fn new(
        configuration: &Configuration,
        site: &Site,
        cache_max_file: u64,
    ) -> Result<Self, Failure> {
        let server = &configuration.server;
        let mut engine = engine(server, site)?;
        if let Some(revalidate) = store_looked_at(site, &server.revalidate) {
            engine.revalidate = revalidate;
        }
        crate::live_reload::adjust(&mut engine, site);
        let cache_max_file = match site.has_bucket() {
            true => cache_max_file.max(KEPT_OF_BUCKETS),
            false => cache_max_file,
        };
        engine.cache_max_file = server.cache_max_file.unwrap_or(cache_max_file);
        let cache_directory = server.cache_dir.as_deref().map(absolute).transpose()?;
        let mut settings = SiteSettings {
            of_buckets: BucketSettings::new(server, site, cache_directory.as_deref()),
            hosts: site.hosts.iter().map(ToString::to_string).collect(),
            engine,
            hsts: *site.hsts,
            shown: Vec::new(),
            warnings: Vec::new(),
            store: None,
            releases: None,
            kept: Vec::new(),
            cache_directory,
            is_one_of_several: configuration.sites.len() > 1,
            rules: rules(site).map_err(|failures| first(failures, site))?,
        };
        if settings.is_one_of_several {
            settings.engine.name = settings.label();
        }
        if site.trailing_slash.is_said() && *site.clean_urls == CleanUrls::Off {
            settings.warnings.push(format!(
                "{} does nothing without {}",
                site.trailing_slash.name(),
                site.clean_urls.name()
            ));
        }
        if *site.release_addresses != ReleaseAddresses::Off && site.store.is_none() {
            settings.warnings.push(format!(
                "{} does nothing without {}",
                site.release_addresses.name(),
                site.store.name()
            ));
        }
        if site.keep_previous.is_some() && site.store.is_some() {
            settings.warnings.push(format!(
                "{} does nothing for {}, which keeps its releases",
                site.keep_previous.name(),
                site.store.name()
            ));
        }
        if let Some(store) = site
            .store
            .as_ref()
            .filter(|store| is_url(store.as_os_str()))
            && *server.deploys.accept
        {
            settings.warnings.push(format!(
                "{} does nothing for {}, to which `salver deploy DIR --to` goes by itself",
                server.deploys.accept.name(),
                store.display()
            ));
        }
        settings.add_root(site)?;
        for (mounts, is_cached) in [(&site.mount, true), (&site.mount_plain, false)] {
            for mount in mounts.iter() {
                let added = settings.add_mount(mount, is_cached, site);
                added.map_err(|failure| of_mount(&mounts.name(), mount, failure))?;
            }
        }
        let (mounts, warnings) = (&mut settings.engine.mounts, &mut settings.warnings);
        let script = add_variables(mounts, warnings, site)?;
        let script = script.map(|mount| settings.with_rules(mount));
        settings.engine.mounts.extend(script);
        Ok(settings)
    }

    /// The trees of these sites whose removed files are kept.
    pub(crate) fn kept_trees(sites: &[SiteSettings]) -> Vec<KeptTree> {
        sites.iter().flat_map(|site| site.kept.clone()).collect()
    }

    /// The site as logs and metrics name it: its first host, `*` without any.
    pub fn name(&self) -> &str {
        self.hosts.first().map_or("*", String::as_str)
    }

    /// The site as messages name it.
    pub fn label(&self) -> String {
        match &*self.hosts {
            [] => "other hosts".to_owned(),
            [only] => only.clone(),
            [first, ..] => format!("{first} ..."),
        }
    }

    /// A failure of its engine.
    pub(crate) fn failure(&self, text: &str) -> Failure {
        let failure = Failure::Misused(text.to_owned());
        match self.is_one_of_several {
            true => failure.of(&self.label()),
            false => failure,
        }
    }

    fn add_root(&mut self, site: &Site) -> Result<(), Failure> {
        let (path, source) = match &*site.store {
            Some(store) => self
                .open_store(store, site)
                .map_err(|failure| of_file(&site.store, failure))?,
            None => self
                .open_root(site)
                .map_err(|failure| of_file(&site.root, failure))?,
        };
        let fallback = match &*site.spa {
            Spa::Off => None,
            Spa::Index => self.engine.index.first().cloned(),
            Spa::File(file) => Some(file.clone()),
        };
        let is_here = *site.root == Path::new(".") && site.store.is_none();
        if is_here && !(site.mount.is_empty() && site.mount_plain.is_empty()) {
            self.warnings.push(format!(
                "besides what is mounted, / shows the current directory, {path:?}: give another PATH if \
                 that is not meant"
            ));
        }
        for page in site.error_pages.iter() {
            if !is_url(path.as_os_str()) && !has_file(&*source, &page.file) {
                self.warnings.push(format!(
                    "{} is not in {path:?}: {} has a plain answer until it is",
                    page.file, page.status
                ));
            }
        }
        self.add_tree(site, "/", path, source, fallback, true)
    }

    fn open_root(&mut self, site: &Site) -> Result<(PathBuf, Arc<dyn Source>), Failure> {
        if is_url(site.root.as_os_str()) {
            let source = self.open_bucket(&site.root, site)?;
            return Ok((site.root.to_path_buf(), source));
        }
        let path = absolute(&site.root)?;
        let source = match kind(&path)? {
            Kind::Directory => open(&self.engine, &path, links(site))?,
            Kind::File => {
                let name = path.file_name().unwrap_or_default();
                return Err(Failure::Misused(format!(
                    "{path:?} is a file: give a directory, and for this one file --mount /{}=FILE",
                    name.display()
                )));
            }
            Kind::Other => return Err(neither(&path)),
        };
        Ok((path, Arc::new(source)))
    }

    /// Opens a bucket, which is asked nothing yet: the process has no thread for that before it is what it is to be.
    fn open_bucket(&mut self, url: &Path, site: &Site) -> Result<Arc<dyn Source>, Failure> {
        let url_text = url.to_string_lossy();
        let source = buckets::open(&url_text, &self.engine, &self.of_buckets)?;
        if *site.live_reload {
            return Err(Failure::Misused(format!(
                "{} is for who works on a directory: give that instead of {}",
                site.live_reload.name(),
                url.display()
            )));
        }
        if site.keep_previous.is_some() {
            self.warnings.push(format!(
                "{} does nothing for {}, which is not looked through",
                site.keep_previous.name(),
                url.display()
            ));
        }
        Ok(source)
    }

    fn open_store(
        &mut self,
        path: &Path,
        site: &Site,
    ) -> Result<(PathBuf, Arc<dyn Source>), Failure> {
        if *site.live_reload {
            return Err(Failure::Misused(format!(
                "{} is for who works on a directory: give that as {} instead of {}",
                site.live_reload.name(),
                site.root.name(),
                site.store.name()
            )));
        }
        let (path, source) = open_store(&self.engine, path, &self.of_buckets)?;
        if source.has_no_release() {
            self.warnings.push(format!(
                "there is no release in {path:?}: all is answered 404 until `salver deploy` has made one"
            ));
        }
        self.releases = ReleasesOfSite::new(site, &source);
        self.store = Some((path.clone(), Arc::clone(&source)));
        Ok((path, source))
    }

    fn add_mount(
        &mut self,
        mount: &values::Mount,
        cached: bool,
        site: &Site,
    ) -> Result<(), Failure> {
        let values::Mount { prefix, path } = mount;
        if is_url(path.as_os_str()) {
            let source = self.open_bucket(path, site)?;
            return self.add_tree(site, prefix, path.clone(), source, None, cached);
        }
        let path = absolute(path)?;
        match kind(&path)? {
            Kind::Directory => {
                let source = open(&self.engine, &path, links(site))?;
                self.add_tree(site, prefix, path, Arc::new(source), None, cached)?;
            }
            Kind::File => {
                let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
                    return Err(neither(&path));
                };
                let Some(name) = name.to_str() else {
                    return Err(Failure::Misused(format!(
                        "{path:?} has a name that is not UTF-8: mount its directory instead"
                    )));
                };
                // This one file was named by the person: if it is a link, it may lead anywhere.
                let source = open(&self.engine, parent, Symlinks::Any)?;
                let mount = Mount::file(prefix, Arc::new(source), name);
                self.add(
                    mount,
                    Shown {
                        prefix: prefix.clone(),
                        path,
                        index: None,
                        fallback: None,
                        cached,
                    },
                );
            }
            Kind::Other => return Err(neither(&path)),
        }
        Ok(())
    }

    /// Adds a tree and says what it will be like to visit it.
    fn add_tree(
        &mut self,
        site: &Site,
        prefix: &str,
        path: PathBuf,
        source: Arc<dyn Source>,
        fallback: Option<String>,
        cached: bool,
    ) -> Result<(), Failure> {
        let is_bucket = is_url(path.as_os_str());
        let has = |name: &String| !is_bucket && has_file(&*source, name);
        let index = self.engine.index.iter().find(|name| has(name)).cloned();
        let slash = if prefix.ends_with('/') { "" } else { "/" };
        let missing = fallback.as_ref().filter(|file| !is_bucket && !has(file));
        if let Some(file) = missing {
            self.warnings.push(format!(
                "{file} is not in {path:?}: unknown paths are answered 404 until it is"
            ));
        }
        let may_be_empty = index.is_none() && !is_bucket && !lists(site);
        if may_be_empty && fallback.as_ref().is_none_or(|file| !has(file)) {
            let names = self.engine.index.join(" or ");
            self.warnings.push(format!(
                "{prefix}{slash} is answered 404: no {names} in {path:?}"
            ));
        }
        let source = match is_bucket || site.store.is_some() && prefix == "/" {
            // A store keeps its releases, and a bucket is not looked through.
            true => source,
            false => self.keeping(site, prefix, &path, source),
        };
        let mut mount = with_conventions(prefix, source, site)?;
        if let Some(file) = &fallback {
            mount = mount.with_fallback(file);
        }
        let shown = Shown {
            prefix: format!("{prefix}{slash}"),
            path,
            index,
            fallback,
            cached,
        };
        self.add(mount, shown);
        Ok(())
    }

    /// The tree with what it had lately, if that is kept.
    fn keeping(
        &mut self,
        site: &Site,
        prefix: &str,
        path: &Path,
        source: Arc<dyn Source>,
    ) -> Arc<dyn Source> {
        let place = (self.name(), prefix, path);
        match KeptTree::new(site, self.cache_directory.as_deref(), place, &source) {
            Some(kept) => {
                let source = kept.source();
                self.kept.push(kept);
                source
            }
            None => source,
        }
    }

    /// The mount by the rules of the site.
    pub(crate) fn with_rules(&self, mount: Mount) -> Mount {
        match &self.rules {
            Some(rules) => mount.with_rules(Arc::clone(rules)),
            None => mount,
        }
    }

    /// Adds a mount as it is shown.
    fn add(&mut self, mount: Mount, shown: Shown) {
        let mount = self.with_rules(mount);
        self.engine.mounts.push(match shown.cached {
            true => mount,
            false => mount.without_cache(),
        });
        self.shown.push(shown);
    }
}

/// A failure that says which mount it is of.
fn of_mount(name: &str, mount: &values::Mount, failure: Failure) -> Failure {
    let values::Mount { prefix, path } = mount;
    let path = path.to_string_lossy();
    failure.of(&format!("{name} {prefix}={}", path.escape_debug()))
}

/// A failure that says which line of a file it is of, if a file has the setting.
fn of_file<T>(setting: &Setting<T>, failure: Failure) -> Failure {
    match setting.origin() {
        Origin::File(_) => failure.of(&setting.name()),
        _ => failure,
    }
}

/// Which links the engine follows.
fn links(site: &Site) -> Symlinks {
    match *site.symlinks {
        values::Symlinks::None => Symlinks::None,
        values::Symlinks::Beneath => Symlinks::Beneath,
        values::Symlinks::Any => Symlinks::Any,
    }
}

/// Which siblings the engine looks for.
fn codings(site: &Site) -> Vec<ContentCoding> {
    let coding = |coding: &Coding| match coding {
        Coding::Brotli => ContentCoding::Brotli,
        Coding::Zstd => ContentCoding::Zstd,
        Coding::Gzip => ContentCoding::Gzip,
    };
    site.precompressed.0.iter().map(coding).collect()
}

/// The media types of which codings are made.
fn compressible_types(site: &Site) -> Result<CompressibleTypes, Failure> {
    let (included, excluded) = (&site.compress_include_type, &site.compress_exclude_type);
    Ok(CompressibleTypes::with(
        type_ranges(included)?,
        type_ranges(excluded)?,
    ))
}

/// The ranges of media types that a setting lists.
fn type_ranges(setting: &Setting<Vec<String>>) -> Result<Vec<TypeRange>, Failure> {
    let range = |text: &String| {
        TypeRange::parse(text).ok_or_else(|| {
            let what = format!("{text:?} is no media type");
            let advice = "give type/subtype, type/* or */*";
            Failure::Misused(format!("{}: {what}: {advice}", setting.name()))
        })
    };
    setting.iter().map(range).collect()
}

/// The first of several failures, in one line that says how to hear of the others.
fn first(failures: Vec<Failure>, site: &Site) -> Failure {
    let more = failures.len().saturating_sub(1);
    match failures.into_iter().next() {
        Some(first) if more > 0 => first.and(more),
        Some(first) => first,
        None => Failure::Misused(format!("{} cannot be read", site.rules.name())),
    }
}

fn engine(server: &Server, site: &Site) -> Result<Config, Failure> {
    Ok(Config {
        mounts: Vec::new(),
        index: site.index.to_vec(),
        precompressed: codings(site),
        negotiate: alternatives(site),
        cache_size: usize::try_from(*server.cache_size).unwrap_or(usize::MAX),
        sendfile_from: *server.sendfile_from,
        open_files: usize::try_from(*server.open_files).unwrap_or(usize::MAX),
        cache: *site.cache,
        coalesce: *server.coalesce,
        compress: *site.compress && cfg!(feature = "compress"),
        compress_types: compressible_types(site)?,
        dictionaries: *site.dictionaries,
        page_dictionary: (*site.page_dictionary).clone(),
        compress_cpu: *server.compress_cpu,
        revalidate: *server.revalidate,
        dotfiles: *site.dotfiles,
        log_each: *server.verbose,
        cache_status: *server.cache_status,
        ..Config::default()
    })
}
