//! All rules of a site, compiled once, and what of them holds for a path.

use crate::compiled::{CompiledPath, CompiledRule};
use crate::fault::Fault;
use crate::limits::MOST_RULES;
use crate::outcome::{Matched, Outcome};
use crate::path_index::{PathIndex, PathIndexBuilder};
use crate::request::Request;
use crate::rule::Rule;

/// The rules of a site, compiled. Immutable, and shared between threads as it is.
#[derive(Debug, Default)]
pub struct RuleSet {
    rules: Vec<CompiledRule>,
    index: PathIndex,
    depends_on_request: bool,
}

impl RuleSet {
    /// Compiles rules, in the order in which they count.
    ///
    /// # Errors
    /// The first fault, with the place of its rule.
    pub fn compile(rules: &[Rule]) -> Result<Self, Fault> {
        if rules.len() > MOST_RULES {
            let what = format!("there are {} rules", rules.len());
            return Err(Fault::new(
                what,
                format!("{MOST_RULES} are the most: join some with patterns"),
            ));
        }
        let mut index = PathIndexBuilder::default();
        let mut compiled = Vec::with_capacity(rules.len());
        for (position, rule) in rules.iter().enumerate() {
            let rule = CompiledRule::compile(rule)?;
            match &rule.path {
                CompiledPath::Any => index.any(position),
                CompiledPath::Glob(glob) => index.glob(glob, position),
                CompiledPath::Pattern(pattern) => index.pattern(pattern, position),
            }
            compiled.push(rule);
        }
        Ok(RuleSet {
            depends_on_request: compiled.iter().any(CompiledRule::depends_on_request),
            index: index.build()?,
            rules: compiled,
        })
    }

    /// True if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// True if any rule asks more of a request than its path. If not, what [`for_path`](Self::for_path) says
    /// holds for every GET and HEAD.
    pub fn has_request_conditions(&self) -> bool {
        self.depends_on_request
    }

    /// True if any rule reads a field of requests: for a condition, or for the answer to a preflight.
    pub fn reads_request_fields(&self) -> bool {
        self.rules.iter().any(CompiledRule::reads_request_fields)
    }

    /// The rules that match a path: decoded, beginning with `/`, without empty and dot segments.
    pub fn for_path<'r>(&'r self, path: &'r [u8]) -> PathRules<'r> {
        let mut matched = Vec::new();
        for position in self.index.candidates(path) {
            let Some(rule) = self.rules.get(position) else {
                continue;
            };
            let captures = match &rule.path {
                CompiledPath::Any | CompiledPath::Glob(_) => Some(Vec::new()),
                CompiledPath::Pattern(pattern) => pattern.captures(path),
            };
            if let Some(captures) = captures {
                matched.push(Matched {
                    rule,
                    in_path: captures,
                    in_request: Vec::new(),
                });
            }
        }
        PathRules { path, matched }
    }

    /// What holds for a request: the path as for [`for_path`](Self::for_path).
    pub fn for_request<'r>(&'r self, path: &'r [u8], request: &Request<'_>) -> Outcome<'r> {
        self.for_path(path).for_request(request)
    }
}

/// The rules that match one path.
#[derive(Debug)]
pub struct PathRules<'r> {
    path: &'r [u8],
    matched: Vec<Matched<'r>>,
}

impl<'r> PathRules<'r> {
    /// True if any of them asks more of a request, so that [`for_request`](Self::for_request) has to be asked for
    /// each.
    pub fn has_request_conditions(&self) -> bool {
        self.matched
            .iter()
            .any(|matched| matched.rule.depends_on_request())
    }

    /// The request fields by which what holds may differ, in lower case: for Vary.
    pub fn request_fields(&self) -> Vec<&'r str> {
        let conditions = self.matched.iter().filter_map(|matched| {
            let rule: &'r CompiledRule = matched.rule;
            rule.condition.as_ref()
        });
        let mut names: Vec<&str> = conditions.flat_map(|c| c.field_names()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// What holds for every request for the path: what is rendered into the head of a resource when it is loaded.
    pub fn unconditional(&self) -> Outcome<'r> {
        let on_path = |matched: &&Matched<'r>| matched.rule.condition.is_none();
        Outcome::new(
            self.path,
            self.matched.iter().filter(on_path).cloned().collect(),
        )
    }

    /// What holds for this request.
    pub fn for_request(&self, request: &Request<'_>) -> Outcome<'r> {
        let mut met = Vec::new();
        for matched in &self.matched {
            let captured = match &matched.rule.condition {
                None => Some(Vec::new()),
                Some(condition) => condition.meets(request),
            };
            if let Some(in_request) = captured {
                met.push(Matched {
                    in_request,
                    ..matched.clone()
                });
            }
        }
        Outcome::new(self.path, met).asked_by(request)
    }
}

#[cfg(test)]
mod tests;
