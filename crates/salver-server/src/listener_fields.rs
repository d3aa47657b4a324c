//! The fields that a listener adds to every answer.

use std::rc::Rc;

use bytes::Bytes;
use salver_assets::Field;
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
        }
    }

    /// These fields, and with `cache_status` how the cache had the answer.
    pub(crate) fn of_listener(fields: &[Field], cache_status: bool) -> Rc<Self> {
        let mut plain = ListenerFields::new(fields);
        if cache_status {
            let with = with_cache_status(fields).into_iter();
            plain.by_cache_state = with.map(|all| Rc::new(ListenerFields::new(&all))).collect();
        }
        Rc::new(plain)
    }

    /// The fields of an answer that the cache had in this state.
    #[inline]
    pub(crate) fn of(self: &Rc<Self>, state: Option<CacheState>) -> &Rc<Self> {
        let state = state.and_then(|state| self.by_cache_state.get(state as usize));
        state.unwrap_or(self)
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
