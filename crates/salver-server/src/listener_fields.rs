//! The fields that a listener adds to every answer.

use std::borrow::Cow;
use std::rc::Rc;

use salver_assets::{Field, ResponsePlan};

use crate::cache_status_fields::CacheStatusFields;

/// The fields of a listener, not of a file: `Strict-Transport-Security`, `Alt-Svc`. Rendered for each protocol when
/// the server starts.
#[derive(Debug, Default)]
pub(crate) struct ListenerFields {
    /// The fields as lines of HTTP/1.1, each with its CRLF.
    lines: Vec<u8>,
    /// The fields as a part of a field block of HTTP/2.
    block: Box<[u8]>,
    /// The same fields with `Cache-Status`; `None` if that is not sent.
    with_cache_status: Option<CacheStatusFields<ListenerFields>>,
    /// Those of sites that have others, by the number of a plan's [`driver_fields`](ResponsePlan::driver_fields), which
    /// is counted from 1.
    by_site: Vec<Rc<ListenerFields>>,
}

impl ListenerFields {
    /// Renders these fields; their values are valid field values.
    pub(crate) fn new(fields: &[Field]) -> Self {
        let mut lines = Vec::new();
        for (name, value) in fields {
            lines.extend_from_slice(name.as_bytes());
            lines.extend_from_slice(b": ");
            lines.extend_from_slice(value);
            lines.extend_from_slice(b"\r\n");
        }
        let block = fields.iter().map(|(name, value)| (*name, &**value));
        ListenerFields {
            block: salver_http2::render_fields(block),
            lines,
            with_cache_status: None,
            by_site: Vec::new(),
        }
    }

    /// The fields of a listener, those of its sites included; with `cache_status` how the cache had the answer, too.
    pub(crate) fn of_listener(fields: &FieldsBySite, cache_status: bool) -> Rc<Self> {
        let with_states = |plain: &Vec<Field>| ListenerFields {
            with_cache_status: cache_status.then(|| CacheStatusFields::new(plain)),
            ..ListenerFields::new(plain)
        };
        let by_site = fields.by_site.iter().map(|of| Rc::new(with_states(of)));
        Rc::new(ListenerFields {
            by_site: by_site.collect(),
            ..with_states(&fields.server)
        })
    }

    /// The fields of an answer.
    #[inline]
    pub(crate) fn of(self: &Rc<Self>, plan: &ResponsePlan) -> Cow<'_, Rc<Self>> {
        let own = self.of_site(plan.driver_fields);
        let with_status = own.with_cache_status.as_ref();
        match with_status.and_then(|fields| fields.of(plan, ListenerFields::new)) {
            Some(fields) => Cow::Owned(fields),
            None => Cow::Borrowed(own),
        }
    }

    /// The fields of an answer that no cache had, by its [number](ResponsePlan::driver_fields).
    #[inline]
    pub(crate) fn of_site(self: &Rc<Self>, number: u16) -> &Rc<Self> {
        let site = usize::from(number).checked_sub(1);
        site.and_then(|site| self.by_site.get(site)).unwrap_or(self)
    }

    /// The fields as a part of a field block of HTTP/2.
    pub(crate) fn block(&self) -> &[u8] {
        &self.block
    }

    /// The fields as lines of HTTP/1.1.
    pub(crate) fn lines(&self) -> &[u8] {
        &self.lines
    }
}

/// The fields that a listener adds.
#[derive(Debug, Default)]
pub(crate) struct FieldsBySite {
    /// Those of the server, for answers of no site.
    pub(crate) server: Vec<Field>,
    /// Those of sites, by the number that a plan has of them, counted from 1.
    pub(crate) by_site: Vec<Vec<Field>>,
}

impl FieldsBySite {
    /// The same with one more field in all of them.
    pub(crate) fn with(mut self, field: &Field) -> Self {
        for fields in self.by_site.iter_mut().chain([&mut self.server]) {
            fields.push(field.clone());
        }
        self
    }
}
