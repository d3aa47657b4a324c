//! The fields that a listener adds to every answer.

use std::rc::Rc;

use bytes::Bytes;
use salver_assets::{Field, ResponsePlan};
use salver_semantics::{CacheState, CacheStatus};

/// The fields of a listener, not of a file: `Strict-Transport-Security`, `Alt-Svc`. Rendered for each protocol when
/// the server starts.
#[derive(Debug, Default)]
pub(crate) struct ListenerFields {
    /// The fields as lines of HTTP/1.1, each with its CRLF.
    lines: Vec<u8>,
    /// The fields as a part of a field block of HTTP/2.
    block: Box<[u8]>,
    /// The same fields with `Cache-Status`, for each state of the cache in the order of [`CacheState::ALL`]; none if
    /// that is not sent.
    by_cache_state: Vec<Rc<ListenerFields>>,
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
            by_cache_state: Vec::new(),
            by_site: Vec::new(),
        }
    }

    /// The fields of a listener, those of its sites included; with `cache_status` how the cache had the answer, too.
    pub(crate) fn of_listener(fields: &FieldsBySite, cache_status: bool) -> Rc<Self> {
        let states = |plain: &[Field]| {
            let with = with_cache_status(plain)
                .into_iter()
                .filter(|_| cache_status);
            with.map(|all| Rc::new(ListenerFields::new(&all))).collect()
        };
        let with_states = |plain: &Vec<Field>| ListenerFields {
            by_cache_state: states(plain),
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
    pub(crate) fn of(self: &Rc<Self>, plan: &ResponsePlan) -> &Rc<Self> {
        let own = self.of_site(plan.driver_fields);
        let state = plan.cache_state;
        let state = state.and_then(|state| own.by_cache_state.get(state as usize));
        state.unwrap_or(own)
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

/// These fields and `Cache-Status`, for each state of the cache in the order of [`CacheState::ALL`].
pub(crate) fn with_cache_status(fields: &[Field]) -> Vec<Vec<Field>> {
    let with = |state| {
        let status = [("Cache-Status", cache_status(state))];
        fields.iter().cloned().chain(status).collect()
    };
    CacheState::ALL.map(with).to_vec()
}

/// The value of `Cache-Status` for this state (RFC 9211 section 2).
fn cache_status(state: CacheState) -> Bytes {
    let mut value = Vec::new();
    let status = CacheStatus {
        state,
        ttl: None,
        stored: false,
        collapsed: false,
    };
    status.write("salver", &mut value);
    value.into()
}
