//! Live reload in a build without it: no setting asks for it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, Uri};
use salver_assets::{Config, Source};
use salver_config::Site;

use crate::failure::Failure;

/// The path of the script in pages.
pub(crate) const SCRIPT: &str = "/.salver/live-reload.js";

/// The path beneath which the script and the events are.
#[cfg(target_os = "linux")]
pub(crate) const PREFIX: &str = "/.salver";

/// The watch over files that are served; this build has none.
#[derive(Clone, Debug)]
pub(crate) struct LiveReload(std::convert::Infallible);

impl LiveReload {
    pub(crate) fn start(_: &[(String, PathBuf)], _: Duration) -> Result<Self, Failure> {
        Err(Failure::Misused("this build has no live reload".to_owned()))
    }

    pub(crate) async fn answer(
        &self,
        _: &Method,
        _: &Uri,
        _: &HeaderMap,
    ) -> Option<Response<Bytes>> {
        match self.0 {}
    }

    pub(crate) fn end(&self) {
        match self.0 {}
    }
}

pub(crate) fn adjust(_: &mut Config, _: &Site) {}

pub(crate) fn source(source: Arc<dyn Source>, _: &Site) -> Arc<dyn Source> {
    source
}
