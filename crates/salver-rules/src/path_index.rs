//! The rules that may match a path, found without asking each of them.
//!
//! A literal path is looked up whole; a pattern by the literal segments that it begins with; globs are one
//! automaton. So rules elsewhere in the tree cost nothing.

use std::collections::HashMap;

use crate::fault::Fault;
use crate::globs::{Glob, Globs, GlobsBuilder};
use crate::pattern::Pattern;

/// Rules by the paths that they may match; a rule is its position.
#[derive(Debug, Default)]
pub(crate) struct PathIndex {
    any: Vec<usize>,
    exact: Table,
    /// Patterns in which case does not count, by lower case.
    folded: Table,
    globs: Globs,
    /// The rules of the globs, in their order.
    glob_rules: Vec<usize>,
}

#[derive(Debug, Default)]
struct Table {
    paths: HashMap<Vec<u8>, Vec<usize>>,
    beginnings: HashMap<Vec<u8>, Vec<usize>>,
    /// The most slashes in a key of `beginnings`: deeper, nothing has to be looked up.
    deepest: usize,
}

impl PathIndex {
    /// The rules that may match, in ascending order. Those with a pattern still have to be asked; globs match.
    pub(crate) fn candidates(&self, path: &[u8]) -> Vec<usize> {
        let mut found = self.any.clone();
        self.exact.find(path, &mut found);
        if !self.folded.is_empty() {
            self.folded.find(&path.to_ascii_lowercase(), &mut found);
        }
        let globs = self.globs.matches(path).into_iter();
        found.extend(globs.filter_map(|glob| self.glob_rules.get(glob)));
        found.sort_unstable();
        found
    }
}

impl Table {
    fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.beginnings.is_empty()
    }

    fn insert(&mut self, pattern: &Pattern, fold: bool, rule: usize) {
        let key = |key: &[u8]| {
            if fold {
                key.to_ascii_lowercase()
            } else {
                key.to_vec()
            }
        };
        if let Some(path) = pattern.only_path() {
            self.paths
                .entry(key(without_slash(path)))
                .or_default()
                .push(rule);
        } else {
            let first = pattern.first_segments();
            let slashes = first.iter().filter(|&&byte| byte == b'/').count();
            self.deepest = self.deepest.max(slashes);
            self.beginnings.entry(key(first)).or_default().push(rule);
        }
    }

    fn find(&self, path: &[u8], found: &mut Vec<usize>) {
        found.extend(self.paths.get(without_slash(path)).into_iter().flatten());
        if self.beginnings.is_empty() {
            return;
        }
        let slashes = path
            .iter()
            .enumerate()
            .filter(|(_, byte)| **byte == b'/')
            .map(|(at, _)| at);
        let ends = slashes.chain((!path.ends_with(b"/")).then_some(path.len()));
        for end in ends.take(self.deepest + 1) {
            let rules = path
                .get(..end)
                .and_then(|beginning| self.beginnings.get(beginning));
            found.extend(rules.into_iter().flatten());
        }
    }
}

fn without_slash(path: &[u8]) -> &[u8] {
    path.strip_suffix(b"/").unwrap_or(path)
}

/// A [`PathIndex`] under construction; rules are inserted in ascending order.
#[derive(Debug, Default)]
pub(crate) struct PathIndexBuilder {
    index: PathIndex,
    globs: GlobsBuilder,
}

impl PathIndexBuilder {
    pub(crate) fn any(&mut self, rule: usize) {
        self.index.any.push(rule);
    }

    pub(crate) fn pattern(&mut self, pattern: &Pattern, rule: usize) {
        let fold = pattern.ignores_case();
        let table = if fold {
            &mut self.index.folded
        } else {
            &mut self.index.exact
        };
        table.insert(pattern, fold, rule);
    }

    pub(crate) fn glob(&mut self, glob: &Glob, rule: usize) {
        self.globs.add(glob);
        self.index.glob_rules.push(rule);
    }

    pub(crate) fn build(mut self) -> Result<PathIndex, Fault> {
        self.index.globs = self.globs.build()?;
        Ok(self.index)
    }
}

#[cfg(all(test, feature = "globs"))]
mod tests {
    use super::*;
    use crate::globs::glob;
    use crate::pattern::Dialect;

    #[test]
    fn rules_elsewhere_are_not_asked() {
        let mut builder = PathIndexBuilder::default();
        for rule in 0..3_000 {
            let text = match rule % 3 {
                0 => format!("/section{rule}/page"),
                1 => format!("/section{rule}/:slug"),
                _ => format!("/section{rule}/*"),
            };
            builder.pattern(&Pattern::path(&text, Dialect::Segments).unwrap(), rule);
        }
        builder.pattern(
            &Pattern::path("/Docs/*", Dialect::HeaderSegments).unwrap(),
            3_000,
        );
        builder.glob(&glob("/section7/**").unwrap(), 3_001);
        builder.any(3_002);
        let index = builder.build().unwrap();
        let check = |path: &str, expected: &[usize]| {
            assert_eq!(index.candidates(path.as_bytes()), expected, "{path}");
        };
        check("/", &[3_002]);
        check("/other/page", &[3_002]);
        check("/section3/page", &[3, 3_002]);
        check("/section3/page/", &[3, 3_002]);
        check("/section4/x/y", &[4, 3_002]);
        check("/section5", &[5, 3_002]);
        check("/section7/x", &[7, 3_001, 3_002]);
        check("/docs/a", &[3_000, 3_002]);
        check(&"/a".repeat(4_000), &[3_002]);
    }
}
