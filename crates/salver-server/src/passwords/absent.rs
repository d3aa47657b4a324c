//! Passwords where their verification is left out: nobody enters.

use std::sync::Arc;
use std::time::Instant;

use salver_assets::Access;
use salver_assets::rules::BasicAuth;
use tokio::sync::oneshot;

use crate::seats::ClientKey;

/// The verification of passwords.
pub(crate) struct Passwords;

/// The verdict on a request.
pub(crate) enum Verdict {
    /// It is known.
    Known(Access),
    /// A thread gives it.
    #[allow(dead_code, reason = "no thread does")]
    Pending(oneshot::Receiver<Access>),
}

impl Passwords {
    pub(crate) fn new() -> Arc<Self> {
        Arc::new(Passwords)
    }

    /// The access of a request: there is none.
    pub(crate) fn check(
        &self,
        _: ClientKey,
        _: &Arc<BasicAuth>,
        _: Option<&[u8]>,
        _: Instant,
    ) -> Verdict {
        Verdict::Known(Access::Unsupported)
    }
}
