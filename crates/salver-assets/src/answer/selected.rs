//! The representation that a request gets.

use std::sync::Arc;

use crate::resource::head::{Head, HeadKind};
use crate::resource::representation::Representation;

/// A representation that was selected, and the kind of request that it was selected for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selected<'a> {
    pub(crate) representation: &'a Arc<Representation>,
    pub(crate) kind: HeadKind,
}

impl<'a> Selected<'a> {
    /// A representation for any request.
    #[inline]
    pub(crate) fn for_any(representation: &'a Arc<Representation>) -> Self {
        Selected {
            representation,
            kind: HeadKind::Any,
        }
    }

    /// Its head.
    pub(crate) fn head(&self) -> &'a Head {
        self.representation.head_of(self.kind)
    }
}
