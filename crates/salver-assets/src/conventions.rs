//! The conventions of built sites: the files that they carry for their hosts, and paths without `.html`.

use salver_rules::Compat;

/// The conventions that a tree is served by: `_headers` and `_redirects` in its root are rules and are never
/// served, and the nearest `404.html` up the tree is the page of what is missing.
///
/// The files follow the disk like all others. They hold for the paths of their tree; the paths in them are those of
/// requests, the prefix of the mount included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Conventions {
    /// The host for which the files were written. Default: Netlify.
    pub compat: Compat,
}

/// The file of response fields, in the root of a tree.
pub(crate) const HEADERS: &str = "_headers";

/// The file of redirects and rewrites, in the root of a tree.
pub(crate) const REDIRECTS: &str = "_redirects";

/// The page of what is missing.
pub(crate) const NOT_FOUND_PAGE: &[u8] = b"404.html";

/// True for the path of a file of rules, or of a coded copy of one. Case does not count, as it may not for the disk.
pub(crate) fn is_rule_file(path: &[u8]) -> bool {
    let is = |name: &str| {
        let (own, rest) = path.split_at_checked(name.len()).unwrap_or_default();
        own.eq_ignore_ascii_case(name.as_bytes())
            && (rest.is_empty() || rest.starts_with(b".") && !rest.contains(&b'/'))
    };
    is(HEADERS) || is(REDIRECTS)
}

/// Where pages without `.html` have a slash at the end of their path.
///
/// With clean URLs `/about` is the page `about.html`, and a request for `/about.html` is redirected (308) to the one
/// path that a page has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrailingSlash {
    /// As the page is on disk: `/about` for `about.html`, `/about/` for `about/index.html`.
    #[default]
    Auto,
    /// Every page has one: `/about/`.
    Always,
    /// No page has one, but `/`: `/about`.
    Never,
}

/// The ending that clean URLs leave out.
pub(crate) const HTML: &[u8] = b".html";

/// The path of the page in the file at `path`, that of a directory if it is an index, as far as the path alone tells.
pub(crate) fn page_path(path: &[u8], policy: TrailingSlash) -> &[u8] {
    let own = path.strip_suffix(HTML).unwrap_or(path);
    match own.strip_suffix(b"/") {
        Some(own) if policy == TrailingSlash::Never && !own.is_empty() => own,
        _ => own,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rule_files_and_their_copies() {
        let check = |path: &str, expected| {
            assert_eq!(is_rule_file(path.as_bytes()), expected, "{path}");
        };
        for path in [
            "_headers",
            "_redirects",
            "_Headers",
            "_redirects.br",
            "_headers.gz",
        ] {
            check(path, true);
        }
        for path in [
            "",
            "_header",
            "a/_headers",
            "_headersx",
            "_headers/x",
            "_headers.d/x",
        ] {
            check(path, false);
        }
    }
}
