//! Live reload where the server has none: that it is asked for is refused ([`crate::portable::absences`]).

use std::sync::Arc;

use salver_assets::{Config, Source};
use salver_config::Site;

/// The path of the script in pages.
pub(crate) const SCRIPT: &str = "/.salver/live-reload.js";

pub(crate) fn adjust(_: &mut Config, _: &Site) {}

pub(crate) fn source(source: Arc<dyn Source>, _: &Site) -> Arc<dyn Source> {
    source
}
