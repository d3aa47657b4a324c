//! For who works on a site: its directories are watched, and it is opened in a browser.

use std::time::Duration;

use salver_config::Configuration;

use crate::banner::{Addresses, local_url};
use crate::browser;
use crate::failure::Failure;
use crate::live_reload::LiveReload;
use crate::site_settings::SiteSettings;

/// Watches what is served, if a site wants pages to load again when it changes.
///
/// # Errors
/// A directory cannot be watched.
pub(crate) fn watch(
    configuration: &Configuration,
    sites: &[SiteSettings],
    answer_timeout: Duration,
) -> Result<Option<LiveReload>, Failure> {
    if !configuration.sites.iter().any(|site| *site.live_reload) {
        return Ok(None);
    }
    let shown = sites.iter().flat_map(|site| &site.shown);
    let roots = shown.filter(|shown| shown.path.is_dir());
    let roots: Vec<_> = roots
        .map(|shown| (shown.prefix.clone(), shown.path.clone()))
        .collect();
    LiveReload::start(&roots, answer_timeout).map(Some)
}

/// Opens the site in a browser. That it does not is no reason to end: the address stands in the terminal.
pub(crate) fn open_browser(addresses: &Addresses) {
    let Some(url) = local_url(addresses) else {
        return;
    };
    browser::open(&url, |why| {
        tracing::warn!("--open: {why}: open the address above by hand");
    });
}
