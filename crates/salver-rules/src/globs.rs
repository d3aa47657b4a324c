//! The globs of rules, all of them one automaton.

use globset::{Candidate, GlobBuilder, GlobSet, GlobSetBuilder};

use crate::fault::{Fault, quoted};
use crate::limits::LONGEST_TEXT;

pub(crate) use globset::Glob;

/// Globs, each a number in the order in which they were added.
#[derive(Debug, Default)]
pub(crate) struct Globs(GlobSet);

impl Globs {
    /// The numbers of the globs that match a path.
    pub(crate) fn matches(&self, path: &[u8]) -> Vec<usize> {
        let mut matched = Vec::new();
        if !self.0.is_empty() {
            let path = Candidate::from_bytes(path);
            self.0.matches_candidate_into(&path, &mut matched);
        }
        matched
    }
}

/// A [`Globs`] under construction.
#[derive(Debug, Default)]
pub(crate) struct GlobsBuilder(Option<GlobSetBuilder>);

impl GlobsBuilder {
    pub(crate) fn add(&mut self, glob: &Glob) {
        let globs = self.0.get_or_insert_with(GlobSetBuilder::new);
        globs.add(glob.clone());
    }

    pub(crate) fn build(self) -> Result<Globs, Fault> {
        let Some(globs) = self.0 else {
            return Ok(Globs::default());
        };
        globs.build().map(Globs).map_err(|error| {
            Fault::new(
                format!("the globs cannot be compiled: {error}"),
                "use fewer or shorter ones",
            )
        })
    }
}

/// A glob for decoded paths. Without a slash at its start it matches at any depth.
pub(crate) fn glob(text: &str) -> Result<Glob, Fault> {
    if text.len() > LONGEST_TEXT || text.is_empty() {
        let what = format!("the glob {} is empty or too long", quoted(text));
        return Err(Fault::new(
            what,
            format!("{LONGEST_TEXT} bytes are the most"),
        ));
    }
    let whole = if text.starts_with('/') {
        text.to_owned()
    } else {
        format!("**/{text}")
    };
    let glob = GlobBuilder::new(&whole)
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    glob.map_err(|error| {
        let what = format!("{} is not a glob: {}", quoted(text), error.kind());
        Fault::new(what, "write as in /assets/**, *.html or /img/*.{png,jpg}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn globs() {
        let check = |text: &str, path: &str, expected: bool| {
            let mut globs = GlobsBuilder::default();
            globs.add(&glob(text).unwrap());
            let found = globs.build().unwrap().matches(path.as_bytes());
            assert_eq!(found == [0], expected, "{text} {path}");
        };
        check("/assets/**", "/assets/a/b.js", true);
        check("/assets/**", "/assets/", true);
        check("/assets/**", "/assets", false);
        check("/assets/**", "/x/assets/a", false);
        check("/docs/*.html", "/docs/a.html", true);
        check("/docs/*.html", "/docs/a/b.html", false);
        check("*.html", "/a.html", true);
        check("*.html", "/a/b.html", true);
        check("*.html", "/a.htmlx", false);
        check("/**", "/", true);
        check("**", "/a/b", true);
        check("/img/*.{png,jpg}", "/img/a.jpg", true);
        check("/a[0-9]?", "/a1x", true);
        check("/\\*", "/*", true);
        for wrong in ["", "/a[", "/{a"] {
            assert!(glob(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn none_match_where_there_are_none() {
        let globs = GlobsBuilder::default().build().unwrap();
        assert_eq!(globs.matches(b"/a"), Vec::<usize>::new());
    }
}
