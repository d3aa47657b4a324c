//! Fields with `Cache-Status` (RFC 9211), rendered when a value first comes: hits of one second have the same.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

use salver_assets::{Field, ResponsePlan};
use salver_semantics::CacheStatus;

/// The most values that stay rendered: more than there are seconds of freshness in an hour are rare.
const MOST: usize = 4096;

/// Some fields with `Cache-Status`, by its values so far.
pub(crate) struct CacheStatusFields<T> {
    plain: Vec<Field>,
    rendered: RefCell<HashMap<CacheStatus, Rc<T>>>,
}

impl<T> CacheStatusFields<T> {
    pub(crate) fn new(plain: &[Field]) -> Self {
        CacheStatusFields {
            plain: plain.to_vec(),
            rendered: RefCell::default(),
        }
    }

    /// The fields of an answer; `None` if no cache was asked for it.
    pub(crate) fn of(
        &self,
        plan: &ResponsePlan,
        render: impl FnOnce(&[Field]) -> T,
    ) -> Option<Rc<T>> {
        let state = || plan.cache_state.map(CacheStatus::of_state);
        let status = plan.cache_status.as_deref().copied().or_else(state)?;
        let mut rendered = self.rendered.borrow_mut();
        if let Some(fields) = rendered.get(&status) {
            return Some(Rc::clone(fields));
        }
        if rendered.len() >= MOST {
            rendered.clear();
        }
        let mut value = Vec::new();
        status.write("salver", &mut value);
        let own: Field = ("Cache-Status", value.into());
        let all: Vec<Field> = self.plain.iter().cloned().chain([own]).collect();
        let fields = Rc::new(render(&all));
        rendered.insert(status, Rc::clone(&fields));
        Some(fields)
    }
}

impl<T> std::fmt::Debug for CacheStatusFields<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CacheStatusFields")
            .field(&self.plain)
            .finish()
    }
}
