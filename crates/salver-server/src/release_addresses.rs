//! The addresses of the releases of a site: a host of its own for each, and a path.
//!
//! A name is looked for only where it can be one. Whoever knows releases says for each which engine has it; few of these
//! are kept, so that it costs nothing lasting to ask for many.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use salver_assets::{Engine, ResponsePlan};
use salver_semantics::host_of;

/// The beginning of the path of every release.
const PREFIX: &str = "/_release/";

/// What stands between the name of a release and the host of its site.
const BETWEEN: &str = "--";

/// The longest label of a host (RFC 1035 section 2.3.4), and so the longest name.
const LONGEST: usize = 63;

/// The engines that are kept for releases which were asked for lately.
const MOST_ENGINES: usize = 16;

/// The finder of the engine of a release by its name; `None` if there can be none of this name. It must not wait.
type FindEngine = dyn Fn(&str) -> Option<Engine> + Send + Sync;

/// The addresses at which each release of a site is shown, besides the current one at the address of the site. All
/// answers there have `X-Robots-Tag: noindex`. Clones share their engines.
#[derive(Clone)]
pub struct ReleaseAddresses {
    by_host: bool,
    by_path: bool,
    engines: Arc<ReleaseEngines>,
}

struct ReleaseEngines {
    find: Box<FindEngine>,
    /// The one that was asked for last is the last.
    recent: Mutex<Vec<(Box<str>, Engine)>>,
}

impl ReleaseAddresses {
    /// Addresses such as `NAME--example.org` for each host of the site and `/_release/NAME/`, for the releases that
    /// `find` knows: it gives the engine that has the release of a name at its root, `None` where there can be no such
    /// release, and is called on event loops.
    ///
    /// Engines that are made [with other mounts](Engine::with_mounts) are light enough for that.
    pub fn new(
        by_host: bool,
        by_path: bool,
        find: impl Fn(&str) -> Option<Engine> + Send + Sync + 'static,
    ) -> Self {
        ReleaseAddresses {
            by_host,
            by_path,
            engines: Arc::new(ReleaseEngines {
                find: Box::new(find),
                recent: Mutex::new(Vec::new()),
            }),
        }
    }

    /// The host of a release by its name, at a host of its site.
    pub fn host_of(name: &str, site: &str) -> String {
        format!("{name}{BETWEEN}{site}")
    }

    /// The path of a release by its name.
    pub fn path_of(name: &str) -> String {
        format!("{PREFIX}{name}/")
    }

    /// True if releases have hosts.
    pub(crate) fn are_by_host(&self) -> bool {
        self.by_host
    }

    /// The release and the path within it, if a path is beneath that of releases.
    pub(crate) fn of_path<'p>(&self, path: &'p [u8]) -> Option<ReleasePath<'p>> {
        let rest = path
            .strip_prefix(PREFIX.as_bytes())
            .filter(|_| self.by_path)?;
        let end = rest.iter().position(|byte| *byte == b'/');
        let (name, within) = rest.split_at_checked(end.unwrap_or(rest.len()))?;
        let (prefix, _) = path.split_at_checked(PREFIX.len() + name.len())?;
        Some(ReleasePath {
            name: release_name(name),
            prefix,
            within,
        })
    }

    /// The engine that has a release.
    pub(crate) fn engine(&self, name: &str) -> Option<Engine> {
        let recent = || {
            let recent = self.engines.recent.lock();
            recent.unwrap_or_else(PoisonError::into_inner)
        };
        {
            let mut recent = recent();
            if let Some(at) = recent.iter().position(|(known, _)| **known == *name) {
                let found = recent.remove(at);
                let engine = found.1.clone();
                recent.push(found);
                return Some(engine);
            }
        }
        let engine = (self.engines.find)(name)?;
        let mut recent = recent();
        // Who came at the same moment may have added it.
        recent.retain(|(known, _)| **known != *name);
        let gone = (recent.len() >= MOST_ENGINES).then(|| recent.remove(0));
        recent.push((name.into(), engine.clone()));
        drop(recent);
        drop(gone);
        Some(engine)
    }
}

impl fmt::Debug for ReleaseAddresses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReleaseAddresses")
            .field("by_host", &self.by_host)
            .field("by_path", &self.by_path)
            .finish_non_exhaustive()
    }
}

/// A path beneath that of releases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ReleasePath<'p> {
    /// The name of the release, if it can be one.
    pub(crate) name: Option<&'p str>,
    /// The path of the release, without a slash at its end.
    pub(crate) prefix: &'p [u8],
    /// The path within the release, which begins with a slash; empty if that is missing.
    pub(crate) within: &'p [u8],
}

/// The name of a release and the host of its site, if an authority can be of one: `NAME--example.org`.
pub(crate) fn of_host(authority: &[u8]) -> Option<(&str, &[u8])> {
    let host = host_of(authority);
    let label = host.split(|byte| *byte == b'.').next()?;
    let at = label
        .windows(BETWEEN.len())
        .position(|bytes| bytes == BETWEEN.as_bytes())?;
    let name = release_name(host.get(..at)?)?;
    let site = host.get(at + BETWEEN.len()..)?;
    // What begins with `xn--` is a host in another script (RFC 5890 section 2.3.1).
    (!site.is_empty() && !name.eq_ignore_ascii_case("xn")).then_some((name, site))
}

/// The name, if a release or a host can have it.
fn release_name(name: &[u8]) -> Option<&str> {
    let is_of_label = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let can_be = (1..=LONGEST).contains(&name.len()) && name.iter().all(is_of_label);
    can_be.then(|| str::from_utf8(name).ok()).flatten()
}

/// The same answer for a release at this path: a redirect to a path within the release leads there.
pub(crate) fn within(prefix: &[u8], plan: ResponsePlan) -> ResponsePlan {
    let mut fields = plan.fields();
    let location = fields.find(|(name, _)| name.eq_ignore_ascii_case("Location"));
    let path = location.map(|(_, value)| &**value);
    // Two slashes begin another host (RFC 3986 section 4.2).
    let path = path.filter(|path| path.starts_with(b"/") && !path.starts_with(b"//"));
    let Some(path) = path.map(|path| [prefix, path].concat()) else {
        drop(fields);
        return plan;
    };
    drop(fields);
    plan.with_fields(vec![("location".into(), path.into())])
}

/// The answer where there is no such release.
pub(crate) fn unknown() -> ResponsePlan {
    ResponsePlan::error(404, "Not Found: there is no such release", vec![])
}

/// The answer to a request for a release at its path without the slash at the end: the way there.
pub(crate) fn with_slash(prefix: &[u8], query: Option<&[u8]>) -> ResponsePlan {
    let mut location = [prefix, b"/"].concat();
    if let Some(query) = query {
        location.push(b'?');
        for &byte in query {
            // A field value is ASCII (RFC 9110 section 5.5).
            match byte.is_ascii_graphic() {
                true => location.push(byte),
                false => location.extend_from_slice(format!("%{byte:02X}").as_bytes()),
            }
        }
    }
    let more = vec![("Location", location.into())];
    ResponsePlan::error(308, "Permanent Redirect", more)
}

#[cfg(test)]
mod tests {
    use super::*;
    use salver_assets::{Config, MemorySource, Mount};
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn engine() -> Engine {
        let config = Config {
            mounts: vec![Mount::tree("/", Arc::new(MemorySource::new()))],
            ..Config::default()
        };
        Engine::new(config).unwrap()
    }

    #[test]
    fn a_host_of_a_release_is_its_name_and_the_host_of_the_site() {
        let check = |authority: &str, expected: Option<(&str, &str)>| {
            let expected = expected.map(|(name, site)| (name, site.as_bytes()));
            assert_eq!(of_host(authority.as_bytes()), expected, "{authority}");
        };
        check("next--a.test", Some(("next", "a.test")));
        check(
            &ReleaseAddresses::host_of("a", "b.test"),
            Some(("a", "b.test")),
        );
        check("next--a.test.:8080", Some(("next", "a.test")));
        check("Next-2--A.test", Some(("Next-2", "A.test")));
        check("next--localhost:80", Some(("next", "localhost")));
        check("a--b--c.test", Some(("a", "b--c.test")));
        check("a---b.test", Some(("a", "-b.test")));
        for none in [
            "a.test",
            "--a.test",
            "a.b--c.test",
            "next--",
            "xn--bcher-kva.test",
            "XN--a.test",
            "a_b--c.test",
            "a%2d--c.test",
            "[::1]:80",
            "",
        ] {
            check(none, None);
        }
        check(&format!("{}--a.test", "a".repeat(64)), None);
        let longest = "a".repeat(63);
        check(&format!("{longest}--a.test"), Some((&longest, "a.test")));
    }

    #[test]
    fn a_path_of_a_release_is_its_name_and_a_path_within() {
        let addresses = ReleaseAddresses::new(false, true, |_| None);
        let check = |path: &str, expected: Option<(Option<&str>, &str, &str)>| {
            let found = addresses.of_path(path.as_bytes());
            let expected = expected.map(|(name, prefix, within)| ReleasePath {
                name,
                prefix: prefix.as_bytes(),
                within: within.as_bytes(),
            });
            assert_eq!(found, expected, "{path}");
        };
        check("/_release/a/b/c", Some((Some("a"), "/_release/a", "/b/c")));
        check("/_release/a/", Some((Some("a"), "/_release/a", "/")));
        assert_eq!(ReleaseAddresses::path_of("a"), "/_release/a/");
        check("/_release/a//x", Some((Some("a"), "/_release/a", "//x")));
        check("/_release/a", Some((Some("a"), "/_release/a", "")));
        check("/_release/", Some((None, "/_release/", "")));
        check("/_release//x", Some((None, "/_release/", "/x")));
        check("/_release/../x", Some((None, "/_release/..", "/x")));
        check("/_release/%61/x", Some((None, "/_release/%61", "/x")));
        check("/_release", None);
        check("/_Release/a/", None);
        check("/", None);
        let only_hosts = ReleaseAddresses::new(true, false, |_| None);
        assert_eq!(only_hosts.of_path(b"/_release/a/"), None);
    }

    #[test]
    fn redirects_stay_within_the_path_of_the_release() {
        let check = |location: &str, expected: &str| {
            let more = vec![("Location", location.to_owned().into())];
            let plan = within(b"/_release/a", ResponsePlan::error(308, "x", more));
            let found: Vec<_> = plan
                .fields()
                .filter(|(name, _)| name.eq_ignore_ascii_case("location"))
                .map(|(_, value)| value.clone())
                .collect();
            assert_eq!(found, [expected.as_bytes()], "{location}");
        };
        check("/b/", "/_release/a/b/");
        check("/", "/_release/a/");
        check("//other.test/", "//other.test/");
        check("https://other.test/", "https://other.test/");
        check("b/", "b/");
        let plan = with_slash(b"/_release/a", Some(b"q=\xff 1"));
        let location = plan.fields().find(|(name, _)| *name == "Location");
        assert_eq!(&location.unwrap().1[..], b"/_release/a/?q=%FF%201");
    }

    #[test]
    fn few_engines_are_kept_and_each_is_made_once() {
        let made = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&made);
        let first = engine();
        let addresses = ReleaseAddresses::new(true, true, move |name| {
            counter.fetch_add(1, Ordering::Relaxed);
            (name != "none").then(|| first.clone())
        });
        let made = || made.swap(0, Ordering::Relaxed);
        assert!(addresses.engine("none").is_none() && addresses.engine("none").is_none());
        assert_eq!(made(), 2);
        for _ in 0..3 {
            assert!(addresses.engine("kept").is_some());
        }
        assert_eq!(made(), 1);
        for number in 0..1000 {
            assert!(addresses.engine(&format!("n{number}")).is_some());
            assert!(addresses.engine("kept").is_some());
        }
        assert_eq!(made(), 1000, "the one that is asked for stays");
        assert_eq!(addresses.engines.recent.lock().unwrap().len(), MOST_ENGINES);
    }
}
