//! Live reload, for who works on a site: pages get a script, and it has them load again when a file changes.
//!
//! The script stands at the end of each page as if it were in the file, so that length, entity tag and ranges are
//! those of what is sent. What has changed is told by server-sent events (the HTML standard, section 9.2): an answer
//! is held back until there is something to tell, and ends with that; the browser asks again by itself, and says what
//! it knows.

mod changes;
mod events;
mod source;
mod watch;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Method, Response, Uri};
use salver_assets::{Config, Source};
use salver_config::Site;

use crate::failure::Failure;
use changes::Changes;
use events::Events;
use source::ScriptedSource;
use watch::Watch;

/// The path of the script in pages.
pub(crate) const SCRIPT: &str = "/.salver/live-reload.js";

/// The path beneath which the script and the events are.
#[cfg(target_os = "linux")]
pub(crate) const PREFIX: &str = "/.salver";

/// The watch over files that are served, and what pages are told of it; clones are one.
#[derive(Clone)]
pub(crate) struct LiveReload {
    changes: Arc<Changes>,
    events: Arc<Events>,
    #[expect(dead_code, reason = "watches while it lives")]
    watch: Arc<Watch>,
}

impl LiveReload {
    /// Watches directories, each with the path that it is served at. An answer to a page is held back for no longer
    /// than half of `answer_timeout`.
    ///
    /// # Errors
    /// A directory cannot be watched.
    pub(crate) fn start(
        roots: &[(String, PathBuf)],
        answer_timeout: Duration,
    ) -> Result<Self, Failure> {
        let changes = Arc::new(Changes::new());
        let watch = Watch::start(roots, Arc::clone(&changes))?;
        let events = Arc::new(Events::new(Arc::clone(&changes), answer_timeout));
        Ok(LiveReload {
            changes,
            events,
            watch: Arc::new(watch),
        })
    }

    /// The answer to a request for the script or for the events; `None` if it is for a file.
    pub(crate) async fn answer(
        &self,
        method: &Method,
        uri: &Uri,
        headers: &HeaderMap,
    ) -> Option<Response<Bytes>> {
        self.events.answer(method, uri, headers).await
    }

    /// Ends the answers that are held back.
    pub(crate) fn end(&self) {
        self.changes.end();
    }
}

/// Has each request look at the disk, and no precompressed copy stand for a page, which has no script.
pub(crate) fn adjust(engine: &mut Config, site: &Site) {
    if *site.live_reload {
        engine.revalidate = Duration::ZERO;
        engine.precompressed.clear();
    }
}

/// The files of a directory, pages with the script if the site wants it.
pub(crate) fn source(source: Arc<dyn Source>, site: &Site) -> Arc<dyn Source> {
    match *site.live_reload {
        true => Arc::new(ScriptedSource::new(source)),
        false => source,
    }
}
