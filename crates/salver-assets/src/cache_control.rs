//! The Cache-Control of files: by a rule of the program, or by the file's name.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use salver_semantics::{VersionedName, cache_control, is_cache_control, versioned_name};

use crate::log::LogThrottle;
use crate::path::file_name;
use crate::source::View;

/// The longest value that is sent, in bytes: it stands in every head that is kept.
const LONGEST: usize = 1024;

/// The names beside a file that are looked at, where its own leaves a doubt. Of a build's the first
/// few settle it; a directory of a million files must cost no more.
const NAMES: usize = 256;

/// The value in place of one that cannot be sent: without instructions no cache may keep the answer (RFC 9111
/// section 5.2.2.5).
const NO_STORE: &[u8] = b"no-store";

type ValueRule = dyn Fn(&str) -> Option<Bytes> + Send + Sync;

/// Cache-Control by path. [`CacheControl::default`] goes by the file's name, and where that leaves a
/// doubt by those beside it ([`is_fingerprinted`](salver_semantics::is_fingerprinted)):
/// `public, max-age=31536000, immutable` for one with a fingerprint (`app.3f9a1c2b.js`) that is not
/// HTML, else `no-cache`.
///
/// The value stands on every answer that a file gives, 200, 206 and 304 alike, in every coding.
/// Errors (404 among them) and redirects are `no-cache` whatever a rule says: what is not there now
/// may be there a moment later.
#[derive(Clone, Default)]
pub struct CacheControl(Option<Arc<ValueRule>>);

impl CacheControl {
    /// The value that `rule` returns, and the default where it returns `None`.
    ///
    /// It is asked once when a file is loaded, not for each request, and again when the file has
    /// changed: it should depend on the path alone, and not wait for anything. The path is the
    /// file's as it would be asked for, decoded and with its mount's prefix: `/assets/app.js` also
    /// for the coded `app.js.br`, `/blog/index.html` for what answers `/blog/`. Bytes that are no
    /// UTF-8 are replaced by U+FFFD.
    ///
    /// A value that is no Cache-Control (RFC 9111 section 5.2) or has more than 1,024 bytes is
    /// never sent: the answer says `no-store` instead, and the log why, once.
    ///
    /// ```
    /// use salver_assets::{CacheControl, Config};
    ///
    /// let config = Config {
    ///     cache_control: CacheControl::by_path(|path| {
    ///         path.starts_with("/fonts/").then_some("public, max-age=604800")
    ///     }),
    ///     ..Config::default()
    /// };
    /// # let _ = config;
    /// ```
    pub fn by_path<V: Into<Bytes>>(
        rule: impl Fn(&str) -> Option<V> + Send + Sync + 'static,
    ) -> Self {
        CacheControl(Some(Arc::new(move |path| rule(path).map(Into::into))))
    }

    /// The value for the file that `path` leads to. A rule's value that is none is logged, at this
    /// time. May wait if [`FileName::is_in_doubt`].
    pub(crate) fn of(
        &self,
        path: &[u8],
        file: FileName<'_>,
        (log, now): (&LogThrottle, Duration),
    ) -> Bytes {
        let rule = self.0.as_ref();
        let Some(value) = rule.and_then(|rule| rule(&String::from_utf8_lossy(path))) else {
            return Bytes::from_static(file.cache_control(path).as_bytes());
        };
        if value.len() <= LONGEST && is_cache_control(&value) {
            return value;
        }
        let path = String::from_utf8_lossy(path);
        if log.first(&log.cache_control, now, (&*path, "cache-control")) {
            let shown = value.get(..LONGEST.min(value.len())).unwrap_or_default();
            tracing::warn!(
                "{path:?}: answering Cache-Control: no-store, because the program's rule gives {:?}, \
                 which is no such value: write one such as \"max-age=60\"",
                String::from_utf8_lossy(shown)
            );
        }
        Bytes::from_static(NO_STORE)
    }
}

/// A file by its name and those beside it.
#[derive(Clone, Copy)]
pub(crate) struct FileName<'a> {
    pub(crate) view: &'a dyn View,
    /// The path in the tree.
    pub(crate) path: &'a [u8],
}

impl FileName<'_> {
    /// True if the name, asked for at `path`, leaves a doubt: then its directory is listed.
    pub(crate) fn is_in_doubt(&self, path: &[u8]) -> bool {
        cache_control(self.telling(path), || Err(())).is_err()
    }

    /// The parts of the name around its fingerprint, if it has one and is asked for at `path`. May wait if
    /// [`is_in_doubt`](Self::is_in_doubt).
    pub(crate) fn versioned<'a>(&'a self, path: &'a [u8]) -> Option<VersionedName<'a>> {
        match versioned_name(self.telling(path), || Ok::<_, Infallible>(self.beside())) {
            Ok(name) => name,
            Err(never) => match never {},
        }
    }

    fn cache_control(&self, path: &[u8]) -> &'static str {
        match cache_control(self.telling(path), || Ok::<_, Infallible>(self.beside())) {
            Ok(value) => value,
            Err(never) => match never {},
        }
    }

    /// The one of its paths that says most: the directories of a tree that is served beneath a prefix begin
    /// there; a file by itself may be served under another name.
    fn telling<'a>(&'a self, path: &'a [u8]) -> &'a [u8] {
        match path.strip_suffix(self.path) {
            Some([.., b'/']) => path,
            _ => self.path,
        }
    }

    /// The names in its directory; none if it cannot be listed.
    fn beside(&self) -> Vec<Vec<u8>> {
        let name = file_name(self.path).len();
        let directory = self.path.get(..self.path.len() - name).unwrap_or_default();
        let directory = directory.strip_suffix(b"/").unwrap_or(directory);
        self.view.names(directory, NAMES).unwrap_or_default()
    }
}

impl fmt::Debug for CacheControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "CacheControl::by_path",
            None => "CacheControl::default",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemorySource;
    use crate::source::{Patience, Source};

    fn check(rule: impl Fn(&str) -> Option<Bytes> + Send + Sync + 'static, expected: &str) {
        let path = b"/m/d/app.3f9a1c2b.js";
        let rule = CacheControl::by_path(rule);
        let view = MemorySource::new().view(Patience::MayWait).unwrap();
        let file = FileName {
            view: &*view,
            path: b"d/app.3f9a1c2b.js",
        };
        assert!(!file.is_in_doubt(path));
        let value = rule.of(path, file, (&LogThrottle::default(), Duration::ZERO));
        assert_eq!(value, expected.as_bytes());
    }

    #[test]
    fn the_rule_decides_and_else_the_name() {
        let immutable = "public, max-age=31536000, immutable";
        check(
            |path| Some(format!("max-age={}", path.len()).into()),
            "max-age=20",
        );
        check(|_| None, immutable);
        check(
            |path| (path != "/m/d/app.3f9a1c2b.js").then(Bytes::new),
            immutable,
        );
    }

    #[test]
    fn what_is_no_value_is_never_sent() {
        for wrong in [
            "",
            " ",
            "max-age=1\r\nSet-Cookie: a=b",
            "max-age: 60",
            "no-cache ",
            "no cache",
            "caf\u{e9}",
            "x=\"unclosed",
        ] {
            check(move |_| Some(wrong.into()), "no-store");
        }
        check(|_| Some(vec![b'x'; LONGEST].into()), &"x".repeat(LONGEST));
        check(|_| Some(vec![b'x'; LONGEST + 1].into()), "no-store");
    }
}
