//! The ruling for a path or a request: all that the rules of a tree come to, as one value.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use salver_rules::{FieldChange, Outcome, Route};
use salver_semantics::{ContentCoding, is_in_group};

use crate::path::variant_key;
use crate::resource::head::{Field, Head, OwnField};

/// The statuses that are answered without a rule for them, and for which rules may have a page.
const PAGED: [u16; 9] = [400, 401, 403, 404, 405, 429, 500, 501, 503];

/// The field by which answers are in groups.
const CACHE_GROUPS: &str = "cache-groups";

/// The ruling for all requests for a path, or for those that are alike to its rules.
#[derive(Debug, Default)]
pub(crate) struct Ruling {
    /// The number of the rules that it comes of.
    pub(crate) generation: u64,
    /// The route, if the file at the path does not answer.
    pub(crate) route: Option<Route>,
    /// The changes of response fields.
    changes: Vec<FieldChange>,
    /// The changes for codings that have others.
    of_codings: Vec<(ContentCoding, Vec<FieldChange>)>,
    /// The pages for statuses, as paths of the site.
    pages: Vec<(u16, Vec<u8>)>,
    /// True if the answer is for one who has said a password, and no cache may give it to others.
    pub(crate) is_private: bool,
    /// The same for the fallback of the mount, and the key of that.
    fallback: OnceLock<(Vec<u8>, Arc<Ruling>)>,
}

impl Ruling {
    /// The ruling of these outcomes. The first has the first word on routes, and the last on fields and pages.
    /// `vary` are the request fields that it may depend on.
    pub(crate) fn new(generation: u64, outcomes: &[Outcome<'_>], vary: &[&str]) -> Self {
        let changes = |coding| {
            let mut changes: Vec<_> = outcomes
                .iter()
                .rev()
                .flat_map(|outcome| outcome.fields(coding))
                .collect();
            if !vary.is_empty() {
                changes.push(FieldChange::new("vary", false, vec![vary.join(", ")]));
            }
            changes
        };
        let plain = changes(ContentCoding::Identity);
        let coded = ContentCoding::CODED.iter();
        let coded = coded.map(|&coding| (coding, changes(coding)));
        let of_codings = coded.filter(|(_, changes)| *changes != plain).collect();
        let route = outcomes.iter().find_map(Outcome::route);
        let own_status = match &route {
            Some(Route::Deny { status } | Route::Rewrite { status, .. }) => Some(*status),
            _ => None,
        };
        let own_status = own_status.filter(|status| *status >= 400 && !PAGED.contains(status));
        let pages = PAGED.into_iter().chain(own_status).filter_map(|status| {
            let page = outcomes
                .iter()
                .find_map(|outcome| outcome.error_page(status));
            Some((status, page?))
        });
        Ruling {
            generation,
            pages: pages.collect(),
            route,
            changes: plain,
            of_codings,
            is_private: false,
            fallback: OnceLock::new(),
        }
    }

    /// The key of the resource at `path` under this ruling, if it is not the only one there.
    pub(crate) fn key_at(&self, path: &[u8]) -> Vec<u8> {
        let Ruling {
            generation: _,
            route,
            changes,
            of_codings,
            pages,
            is_private,
            fallback: _,
        } = self;
        // All of it, and no hash: strangers choose a part of it.
        let text = format!("{route:?}{changes:?}{of_codings:?}{pages:?}{is_private}");
        variant_key(path, text.as_bytes())
    }

    /// The page for answers with this status, as a path of the site.
    pub(crate) fn page(&self, status: u16) -> Option<&[u8]> {
        let page = self.pages.iter().find(|(known, _)| *known == status);
        page.map(|(_, page)| &**page)
    }

    /// The same with another route.
    pub(crate) fn with_route(&self, route: Option<Route>) -> Self {
        Ruling {
            generation: self.generation,
            route,
            changes: self.changes.clone(),
            of_codings: self.of_codings.clone(),
            pages: self.pages.clone(),
            is_private: self.is_private,
            fallback: OnceLock::new(),
        }
    }

    /// The same where access is refused by this status, with one more field.
    pub(crate) fn refused(&self, status: u16, name: &str, value: String) -> Self {
        let mut refused = self.with_route(Some(Route::Deny { status }));
        let change = FieldChange::new(name, true, vec![value]);
        let codings = refused.of_codings.iter_mut().map(|(_, changes)| changes);
        for changes in codings.chain([&mut refused.changes]) {
            changes.push(change.clone());
        }
        refused
    }

    /// The key and the ruling by which the file at `fallback` answers for `path`, where nothing is.
    pub(crate) fn for_fallback(&self, path: &[u8], fallback: &[u8]) -> &(Vec<u8>, Arc<Ruling>) {
        self.fallback.get_or_init(|| {
            let ruling = self.with_route(Some(Route::Rewrite {
                status: 200,
                paths: vec![fallback.to_vec()],
                unless_file: false,
            }));
            (ruling.key_at(path), Arc::new(ruling))
        })
    }

    /// The changes for a representation in this coding.
    fn changes(&self, coding: ContentCoding) -> &[FieldChange] {
        let other = self.of_codings.iter().find(|(of, _)| *of == coding);
        other.map_or(&self.changes, |(_, changes)| changes)
    }

    /// Changes the head of a representation.
    pub(crate) fn change(&self, coding: ContentCoding, head: &mut Head) {
        apply(self.changes(coding).iter(), head);
    }

    /// Changes the head of an answer 304, which has no fields of the content that is not sent (RFC 9110 section
    /// 15.4.5).
    pub(crate) fn change_not_modified(&self, coding: ContentCoding, head: &mut Head) {
        let changes = self.changes(coding).iter();
        apply(changes.filter(|change| !is_of_content(&change.name)), head);
    }

    /// Changes the head of a page that is sent with an error.
    pub(crate) fn change_error(&self, coding: ContentCoding, head: &mut Head) {
        let changes = self.changes(coding).iter();
        apply(changes.filter(|change| is_for_errors(&change.name)), head);
    }

    /// True if its answers are in this group, by the field `Cache-Groups` (RFC 9875).
    pub(crate) fn is_in_group(&self, group: &[u8]) -> bool {
        let is_one = |change: &FieldChange| {
            let values = change.values.iter();
            &*change.name == CACHE_GROUPS
                && values
                    .clone()
                    .any(|value| is_in_group(value.as_bytes(), group))
        };
        let codings = self.of_codings.iter().map(|(_, changes)| changes);
        codings.chain([&self.changes]).flatten().any(is_one)
    }

    /// The fields for answers in which no file takes part: redirects and errors.
    pub(crate) fn error_fields(&self) -> Vec<OwnField> {
        let mut head = Head::default();
        self.change_error(ContentCoding::Identity, &mut head);
        head.added
    }

    /// The bytes of memory that it takes, about.
    pub(crate) fn weight(&self) -> usize {
        let codings = self.of_codings.iter().map(|(_, changes)| changes);
        let all = codings.chain([&self.changes]).flatten();
        let lengths = all.map(|change| {
            let values = change.values.iter().map(|value| value.len() + 24);
            change.name.len() + 64 + values.sum::<usize>()
        });
        let pages = self.pages.iter().map(|(_, page)| page.len() + 32);
        let route = match &self.route {
            Some(Route::Rewrite { paths, .. }) => paths.iter().map(|path| path.len() + 24).sum(),
            Some(_) => 128,
            None => 0,
        };
        std::mem::size_of::<Self>() + lengths.sum::<usize>() + pages.sum::<usize>() + route
    }
}

/// True for fields of the content that is sent, which are wrong beside other content or none.
fn is_of_content(name: &str) -> bool {
    name.starts_with("content-") && !name.starts_with("content-security-policy")
}

/// True for fields that an error or a redirect may have by rules for its path. It is not to be stored: what is not
/// there now may be there a moment later.
fn is_for_errors(name: &str) -> bool {
    let is_of_caches =
        name == "expires" || name.ends_with("cache-control") || name == "surrogate-control";
    !is_of_content(name) && !is_of_caches
}

/// Carries changes out, as [`FieldChange::apply`] says.
fn apply<'c>(changes: impl Iterator<Item = &'c FieldChange>, head: &mut Head) {
    for change in changes {
        let is_it = |name: &str| name.eq_ignore_ascii_case(&change.name);
        let value = |value: &String| Bytes::copy_from_slice(value.as_bytes());
        if change.replaces {
            head.added.retain(|(name, _)| !is_it(name));
            // In its place: what is made of a head looks for its fields by name.
            let own = head.fields.iter_mut().find(|(name, _)| is_it(name));
            if let (Some((_, own)), [only]) = (own, &*change.values) {
                *own = value(only);
                continue;
            }
            head.fields.retain(|(name, _): &Field| !is_it(name));
        }
        let lines = change.values.iter();
        head.added
            .extend(lines.map(|line| (change.name.as_str().into(), value(line))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 6] = [
        "cache-control",
        "content-type",
        "x-a",
        "x-b",
        "vary",
        "link",
    ];

    fn change() -> impl Strategy<Value = FieldChange> {
        let values = proptest::collection::vec("[a-z]{1,4}", 0..3);
        (0..NAMES.len(), any::<bool>(), values)
            .prop_map(|(name, replaces, values)| FieldChange::new(NAMES[name], replaces, values))
    }

    proptest! {
        /// The lines of each name are those that the rules' own crate makes of the plain head, in the same order.
        #[test]
        fn heads_are_changed_as_the_rules_say(changes in proptest::collection::vec(change(), 0..8)) {
            let plain: [Field; 4] = [
                ("Content-Type", Bytes::from_static(b"text/html")),
                ("Content-Length", Bytes::from_static(b"5")),
                ("Cache-Control", Bytes::from_static(b"no-cache")),
                ("Vary", Bytes::from_static(b"Accept-Encoding")),
            ];
            let mut head = Head { fields: plain.to_vec(), ..Head::default() };
            apply(changes.iter(), &mut head);
            let text = |value: &Bytes| String::from_utf8(value.to_vec()).unwrap();
            let mut found: Vec<_> = head
                .fields
                .iter()
                .map(|(name, value)| (name.to_ascii_lowercase(), text(value)))
                .chain(head.added.iter().map(|(name, value)| (name.to_string(), text(value))))
                .collect();
            let mut expected: Vec<_> = plain
                .iter()
                .map(|(name, value)| (name.to_ascii_lowercase(), text(value)))
                .collect();
            FieldChange::apply(&changes, &mut expected);
            // Of one name the order counts, between names it does not.
            found.sort_by(|(one, _), (other, _)| one.cmp(other));
            expected.sort_by(|(one, _), (other, _)| one.cmp(other));
            prop_assert_eq!(found, expected);
        }
    }
}
