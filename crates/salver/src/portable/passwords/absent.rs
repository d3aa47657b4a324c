//! Passwords where their verification is left out: nobody enters.

use std::sync::Arc;

use salver_assets::rules::BasicAuth;
use salver_assets::{Access, ClientKey};

/// The verification of passwords.
#[derive(Clone)]
pub(crate) struct Passwords;

impl Passwords {
    pub(crate) fn new() -> Self {
        Passwords
    }

    /// The access of a client: there is none.
    pub(crate) async fn access(
        &self,
        _: ClientKey,
        _: Arc<BasicAuth>,
        _: Option<Vec<u8>>,
    ) -> Access {
        Access::Unsupported
    }
}
