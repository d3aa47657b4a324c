//! Sources of other hosts as conditions on a path: path-to-regexp, minimatch and their mixtures.
//!
//! What is taken is what all of them and Salver read alike; a regular expression is refused by name.

use crate::fault::{Fault, quoted};
use crate::pattern::{Dialect, placeholder};
use crate::rule::{Action, Condition, PathCondition, Rule};

/// A condition, and the name in the source of what Salver calls `splat`.
#[derive(Debug, PartialEq)]
pub(crate) struct Source {
    pub(crate) path: PathCondition,
    /// The names under which targets know the splat: `path` of `:path*`, `0` or `1` of an unnamed `(.*)`.
    splat: Vec<String>,
}

impl Source {
    /// The rule that does this where the source matches.
    pub(crate) fn rule(&self, actions: Vec<Action>) -> Rule {
        let when = Condition {
            path: self.path.clone(),
            ..Condition::default()
        };
        Rule {
            when,
            actions,
            ..Rule::default()
        }
    }

    /// A source with placeholders: `/blog/:slug`, `/docs/:path*`, `/old/(.*)`, `/old/*`.
    pub(crate) fn pattern(text: &str) -> Result<Self, Fault> {
        let mut pattern = String::new();
        let mut splat = Vec::new();
        let mut rest = text;
        while let Some(next) = rest.chars().next() {
            let name = placeholder(rest);
            let length = name.map_or(next.len_utf8(), |name| 1 + name.len());
            let after = rest.get(length..).unwrap_or_default();
            let (names, skip): (Vec<&str>, usize) = match (name, next) {
                (Some(name), _) if after.starts_with(['*', '+']) => (vec![name], length + 1),
                (Some(name), _) if after.starts_with("(.*)") => (vec![name], length + 4),
                (Some(_), _) if after.starts_with(['(', '?', '{']) => return Err(too_clever(text)),
                (None, '(') if rest.starts_with("(.*)") => (vec!["0", "1"], 4),
                (None, '*') => (
                    vec!["0", "1"],
                    rest.len() - rest.trim_start_matches('*').len(),
                ),
                (
                    None,
                    '(' | ')' | '{' | '}' | '[' | ']' | '\\' | '+' | '?' | '!' | '^' | '$' | '|',
                ) => {
                    return Err(too_clever(text));
                }
                _ => {
                    pattern.push_str(rest.get(..length).unwrap_or_default());
                    rest = after;
                    continue;
                }
            };
            if !splat.is_empty() {
                let what = format!("{} has more than one part that is any text", quoted(text));
                return Err(Fault::new(what, "write rules of it by hand"));
            }
            splat.extend(names.into_iter().map(str::to_owned));
            pattern.push('*');
            rest = rest.get(skip..).unwrap_or_default();
        }
        if !pattern.starts_with('/') {
            pattern.insert(0, '/');
        }
        let path = PathCondition::Pattern(pattern, Dialect::Anywhere);
        Ok(Source { path, splat })
    }

    /// A glob: `/docs/**`, `*.js` only in the root, `**/*.@(jpg|png)`.
    pub(crate) fn glob(text: &str) -> Result<Self, Fault> {
        let mut glob = String::from(if text.starts_with('/') { "" } else { "/" });
        let mut rest = text;
        if rest.starts_with('!') {
            return Err(too_clever(text));
        }
        while let Some(next) = rest.chars().next() {
            let after = rest.get(next.len_utf8()..).unwrap_or_default();
            if after.starts_with('(') && matches!(next, '@' | '!' | '+' | '?' | '*') {
                let alternatives = after
                    .strip_prefix('(')
                    .and_then(|after| after.split_once(')'));
                let Some((alternatives, after)) =
                    alternatives.filter(|(inside, _)| next == '@' && !inside.contains('('))
                else {
                    return Err(too_clever(text));
                };
                glob.push_str(&format!("{{{}}}", alternatives.replace('|', ",")));
                rest = after;
                continue;
            }
            if next == '(' || next == ')' {
                return Err(too_clever(text));
            }
            glob.push(next);
            rest = after;
        }
        Ok(Source {
            path: PathCondition::Glob(glob),
            splat: Vec::new(),
        })
    }

    /// A target with what it calls the splat in Salver's words.
    pub(crate) fn target(&self, text: &str) -> String {
        let mut out = String::new();
        let mut rest = text;
        'text: while let Some(next) = rest.chars().next() {
            for name in &self.splat {
                for written in [
                    format!(":{name}*"),
                    format!(":{name}+"),
                    format!(":{name}"),
                    format!("${name}"),
                ] {
                    if let Some(after) = rest.strip_prefix(&written)
                        && !after
                            .starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_')
                    {
                        out.push_str(":splat");
                        rest = after;
                        continue 'text;
                    }
                }
            }
            out.push(next);
            rest = rest.get(next.len_utf8()..).unwrap_or_default();
        }
        out
    }
}

fn too_clever(text: &str) -> Fault {
    let what = format!(
        "the source {} is more than placeholders and globs",
        quoted(text)
    );
    Fault::new(what, "write a rule for it by hand")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns() {
        let check = |source: &str, target: &str, pattern: &str, expected: &str| {
            let source = Source::pattern(source).unwrap();
            assert_eq!(
                source.path,
                PathCondition::Pattern(pattern.to_owned(), Dialect::Anywhere)
            );
            assert_eq!(source.target(target), expected);
        };
        check("/a/:b", "/c/:b", "/a/:b", "/c/:b");
        check("/docs/:path*", "/:path*", "/docs/*", "/:splat");
        check(
            "/docs/:path*",
            "/x/:path?y=:paths",
            "/docs/*",
            "/x/:splat?y=:paths",
        );
        check("/old/(.*)", "/new/$1", "/old/*", "/new/:splat");
        check("/old/:p(.*)", "/new/:p", "/old/*", "/new/:splat");
        check("old/*", "/new/:0", "/old/*", "/new/:splat");
        check("/old/**", "/new", "/old/*", "/new");
        for wrong in [
            "/a/:b(\\d+)",
            "/a/:b?",
            "/(a|b)",
            "/a/*/b/*",
            "/:a*/:b*",
            "/((?!x).*)",
        ] {
            assert!(Source::pattern(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn globs() {
        let check = |source: &str, expected: &str| {
            assert_eq!(
                Source::glob(source).unwrap().path,
                PathCondition::Glob(expected.to_owned())
            );
        };
        check("**/*.@(jpg|png)", "/**/*.{jpg,png}");
        check("/docs/**", "/docs/**");
        check("*.js", "/*.js");
        for wrong in ["!a", "/!(a)", "+(a|b)", "/(a|b)", "@(a", "@(a(b)|c)"] {
            assert!(Source::glob(wrong).is_err(), "{wrong}");
        }
    }
}
