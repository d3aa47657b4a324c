//! Passwords: verified beside the threads that serve.

use std::sync::Arc;
use std::time::Instant;

use salver_assets::rules::BasicAuth;
use salver_assets::{Access, ClientKey};
use salver_passwords::Verdict;

/// The verification of passwords.
#[derive(Clone)]
pub(crate) struct Passwords(Arc<salver_passwords::Passwords>);

impl Passwords {
    pub(crate) fn new() -> Self {
        Passwords(salver_passwords::Passwords::new())
    }

    /// The access of a client by the value of `Authorization`, once it is known.
    pub(crate) async fn access(
        &self,
        client: ClientKey,
        users: Arc<BasicAuth>,
        authorization: Option<Vec<u8>>,
    ) -> Access {
        let now = Instant::now();
        match self.0.check(client, &users, authorization.as_deref(), now) {
            Verdict::Known(access) => access,
            // A thread that panicked gives none.
            Verdict::Pending(verdict) => verdict.await.unwrap_or(Access::Overloaded),
        }
    }
}
