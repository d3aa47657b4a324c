//! Stores of running servers, which are reached from Linux alone.

use clap::Args;
use salver_store::{Event, NewPreview, SiteFiles};

use crate::commands::store::{OwnStore, own_store};
use crate::failure::Failure;
use crate::reports::{DeployReport, ReleaseList, RollbackReport};

/// How a server is asked: not at all.
#[derive(Args, Clone, Debug, Default)]
pub struct RemoteFlags {}

/// A store, as a command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StorePlace {
    /// A directory of this machine, or a bucket.
    Own(OwnStore),
    /// That of a site of a running server, of which there is none here.
    Server(Target),
}

/// A server: there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {}

impl std::fmt::Display for Target {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

/// What is deployed, and how.
pub(super) struct Deploying<'a> {
    #[expect(dead_code, reason = "nothing is sent here")]
    pub(super) files: &'a SiteFiles,
    #[expect(dead_code, reason = "nothing is sent here")]
    pub(super) by: &'a str,
    #[expect(dead_code, reason = "nothing is sent here")]
    pub(super) preview: Option<&'a NewPreview>,
    #[expect(dead_code, reason = "nothing is sent here")]
    pub(super) force: bool,
    #[expect(dead_code, reason = "nothing is sent here")]
    pub(super) waits_for_codings: bool,
}

/// Reads where a store is.
///
/// # Errors
/// It is no path.
pub(super) fn store_place(text: &str) -> Result<StorePlace, String> {
    match text.starts_with("https://") || text.starts_with("http://") {
        true => Err("servers are deployed to from Linux: see docs/platforms.md".to_owned()),
        false => own_store(text).map(StorePlace::Own),
    }
}

/// Deploys to a server.
///
/// # Errors
/// None: there is no server.
pub(super) fn deploy(
    target: &Target,
    _: &RemoteFlags,
    _: &Deploying<'_>,
    _: &mut dyn FnMut(Event<'_>) -> bool,
) -> Result<DeployReport, Failure> {
    match *target {}
}

/// The releases of a server's store.
///
/// # Errors
/// None: there is no server.
pub(super) fn releases(target: &Target, _: &RemoteFlags) -> Result<ReleaseList, Failure> {
    match *target {}
}

/// Makes another release the current one.
///
/// # Errors
/// None: there is no server.
pub(super) fn rollback(
    target: &Target,
    _: &RemoteFlags,
    _: Option<&str>,
    _: &str,
) -> Result<RollbackReport, Failure> {
    match *target {}
}
