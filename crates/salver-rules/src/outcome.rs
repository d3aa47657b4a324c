//! What the rules that matched come to: a route, response fields, a password, pages for errors.

use std::ops::Range;
use std::sync::Arc;

use salver_semantics::ContentCoding;

use crate::compiled::{CompiledRoute, CompiledRule, FieldStep};
use crate::escape::{Part, encode};
use crate::field_change::{FieldChange, FieldOperation, change, is_sendable};
use crate::request::Request;
use crate::rule::BasicAuth;
use crate::template::{Location, Unfit};

/// A rule that matched, and what its placeholders took.
#[derive(Clone, Debug)]
pub(crate) struct Matched<'r> {
    pub(crate) rule: &'r CompiledRule,
    pub(crate) in_path: Vec<Range<usize>>,
    pub(crate) in_request: Vec<Vec<u8>>,
}

/// What rules say of a request, or of every request for a path.
#[derive(Debug)]
pub struct Outcome<'r> {
    path: &'r [u8],
    matched: Vec<Matched<'r>>,
    origin: Option<Vec<u8>>,
    /// True for the preflight of a request of another origin.
    is_preflight: bool,
}

/// What is answered instead of the file at the path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Route {
    /// A redirect.
    Redirect {
        /// 301, 302, 303, 307 or 308.
        status: u16,
        /// The target, which the query of the request may be passed on to.
        location: Location,
        /// True if a file at the path of the request goes before it.
        unless_file: bool,
    },
    /// Another file, under the path that was asked for.
    Rewrite {
        /// The status of the answer.
        status: u16,
        /// Decoded paths, of which the first that is there is served; if none is, the answer is 404.
        paths: Vec<Vec<u8>>,
        /// True if a file at the path of the request goes before it.
        unless_file: bool,
    },
    /// No file, but this status (400 to 599).
    Deny {
        /// The status of the answer.
        status: u16,
    },
    /// The answer to a preflight: 204 with these fields.
    Preflight {
        /// The response fields, names in lower case.
        fields: Vec<(&'static str, String)>,
    },
}

impl<'r> Outcome<'r> {
    pub(crate) fn new(path: &'r [u8], matched: Vec<Matched<'r>>) -> Self {
        Outcome {
            path,
            matched,
            origin: None,
            is_preflight: false,
        }
    }

    /// The same for the origin that a request names.
    pub(crate) fn asked_by(mut self, request: &Request<'_>) -> Self {
        self.origin = (request.field)("origin").map(<[u8]>::to_vec);
        let asks = (request.field)("access-control-request-method").is_some();
        self.is_preflight = request.method == b"OPTIONS" && asks && self.origin.is_some();
        self
    }

    /// The route: that of the first rule that has one. A redirect to the very path that was asked for is none.
    ///
    /// Basic auth goes before it, except before a preflight, which never has a password.
    pub fn route(&self) -> Option<Route> {
        if let (true, Some(origin)) = (self.is_preflight, &self.origin) {
            let cors = self
                .matched
                .iter()
                .rev()
                .find_map(|matched| matched.rule.cors());
            if let Some(cors) = cors {
                let mut fields = cors.preflight_fields(origin);
                if !cors.is_for_any() {
                    fields.push(("vary", "origin".to_owned()));
                }
                return Some(Route::Preflight { fields });
            }
        }
        self.matched
            .iter()
            .find_map(|matched| self.route_of(matched))
    }

    fn route_of(&self, matched: &Matched<'_>) -> Option<Route> {
        let captured = self.captured(matched);
        match matched.rule.route.as_ref()? {
            CompiledRoute::Deny { status } => Some(Route::Deny { status: *status }),
            CompiledRoute::Redirect {
                status,
                location,
                keeps_query,
                unless_file,
            } => {
                match location.fill(&captured, *keeps_query) {
                    Ok(location) if location.is_path(self.path) => None,
                    Ok(location) => Some(Route::Redirect {
                        status: *status,
                        location,
                        unless_file: *unless_file,
                    }),
                    // What the request filled in makes no target: too long a one (RFC 9110 section 15.5.15), or
                    // one of a host that cannot be.
                    Err(Unfit::TooLong) => Some(Route::Deny { status: 414 }),
                    Err(Unfit::Host) => Some(Route::Deny { status: 404 }),
                }
            }
            CompiledRoute::Rewrite {
                status,
                to,
                unless_file,
            } => {
                let paths = to.iter().filter_map(|path| path.fill(&captured)).collect();
                Some(Route::Rewrite {
                    status: *status,
                    paths,
                    unless_file: *unless_file,
                })
            }
        }
    }

    /// The realm and users, one of whom has to ask: those of the first rule that has some.
    pub fn basic_auth(&self) -> Option<&'r Arc<BasicAuth>> {
        self.matched
            .iter()
            .find_map(|matched| matched.rule.basic_auth.as_ref())
    }

    /// The page for answers with that status, as a decoded path of the site: that of the last rule that has one.
    pub fn error_page(&self, status: u16) -> Option<Vec<u8>> {
        self.matched.iter().rev().find_map(|matched| {
            let pages = matched.rule.error_pages.iter().rev();
            let (_, page) = pages.into_iter().find(|(known, _)| *known == status)?;
            page.fill(&self.captured(matched))
        })
    }

    /// The changes of response fields, in the order of their rules, each field once, for a representation with that
    /// coding.
    pub fn fields(&self, coding: ContentCoding) -> Vec<FieldChange> {
        let mut changes = Vec::new();
        for matched in &self.matched {
            let codings = &matched.rule.codings;
            if !codings.is_empty() && !codings.contains(&coding) {
                continue;
            }
            for step in &matched.rule.fields {
                match step {
                    FieldStep::Change(operation, name, value) => {
                        let value = value.fill(&self.captured(matched));
                        if let Some(value) = value.filter(|value| is_sendable(value)) {
                            change(&mut changes, *operation, name, value);
                        }
                    }
                    FieldStep::Cors(cors) => {
                        if !cors.is_for_any() {
                            change(
                                &mut changes,
                                FieldOperation::Set,
                                "vary",
                                "origin".to_owned(),
                            );
                        }
                        for (name, value) in cors.response_fields(self.origin.as_deref()) {
                            change(&mut changes, FieldOperation::Set, name, value);
                        }
                    }
                }
            }
        }
        changes
    }

    /// True if the fields may differ from those of [`PathRules::unconditional`](crate::PathRules::unconditional), so
    /// that a head which was rendered of those does not hold.
    pub fn changes_fields(&self) -> bool {
        self.matched.iter().any(|matched| {
            let is_conditional = matched.rule.condition.is_some();
            matched.rule.fields.iter().any(|step| match step {
                FieldStep::Change(..) => is_conditional,
                FieldStep::Cors(cors) if cors.is_for_any() => is_conditional,
                FieldStep::Cors(cors) => {
                    is_conditional || !cors.response_fields(self.origin.as_deref()).is_empty()
                }
            })
        })
    }

    fn captured<'o>(&'o self, matched: &'o Matched<'_>) -> Vec<&'o [u8]> {
        let in_path = matched
            .in_path
            .iter()
            .map(|range| self.path.get(range.clone()).unwrap_or_default());
        in_path
            .chain(matched.in_request.iter().map(|text| &**text))
            .collect()
    }
}

impl Location {
    /// True if it leads to that decoded path of this site, whatever the query.
    fn is_path(&self, path: &[u8]) -> bool {
        let mut encoded = String::with_capacity(path.len());
        encode(path, Part::Path, &mut encoded);
        self.path() == Some(&encoded)
    }
}

impl FieldChange {
    /// Carries changes out on fields, in the order in which they are sent; names are compared in any case.
    pub fn apply(changes: &[FieldChange], fields: &mut Vec<(String, String)>) {
        for change in changes {
            if change.replaces {
                fields.retain(|(name, _)| !name.eq_ignore_ascii_case(&change.name));
            }
            let lines = change
                .values
                .iter()
                .map(|value| (change.name.clone(), value.clone()));
            fields.extend(lines);
        }
    }
}
