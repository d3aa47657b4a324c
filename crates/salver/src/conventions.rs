//! What a site says of its trees, from settings to the engine: conventions of built sites, listings.

use std::sync::Arc;

use salver_assets::rules::Compat;
use salver_assets::{Alternative, Conventions, Listing, Mount, Source, TrailingSlash};
use salver_config::{Site, conventions};

use crate::failure::Failure;
use crate::listing_template::with_template;
use crate::live_reload;

/// The tree of a directory at `prefix`, with the conventions of built sites that the site obeys, and with listings.
///
/// # Errors
/// The template of listings cannot be used.
pub(crate) fn with_conventions(
    prefix: &str,
    source: Arc<dyn Source>,
    site: &Site,
) -> Result<Mount, Failure> {
    let mut tree = Mount::tree(prefix, live_reload::source(source, site));
    let compat = match *site.compat {
        conventions::Compat::Netlify => Some(Compat::Netlify),
        conventions::Compat::Cloudflare => Some(Compat::Cloudflare),
        conventions::Compat::None => None,
    };
    if let Some(compat) = compat {
        tree = tree.with_conventions(Conventions { compat });
    }
    if lists(site) {
        tree = tree.with_listing(listing(site)?);
    }
    let trailing_slash = match *site.trailing_slash {
        conventions::TrailingSlash::Auto => TrailingSlash::Auto,
        conventions::TrailingSlash::Always => TrailingSlash::Always,
        conventions::TrailingSlash::Never => TrailingSlash::Never,
    };
    Ok(match *site.clean_urls {
        conventions::CleanUrls::Off => tree,
        conventions::CleanUrls::Auto => tree.with_clean_urls(trailing_slash),
    })
}

/// True if directories without an index are listed. Who names a template wants them to be.
pub(crate) fn lists(site: &Site) -> bool {
    match site.listing.is_said() {
        true => *site.listing,
        false => site.listing_template.is_some(),
    }
}

fn listing(site: &Site) -> Result<Listing, Failure> {
    let listing = match *site.live_reload {
        true => Listing::default().with_script(live_reload::SCRIPT),
        false => Listing::default(),
    };
    match &*site.listing_template {
        Some(path) => with_template(listing, path, &site.listing_template.name()),
        None => Ok(listing),
    }
}

/// Which files beside their originals the engine looks for.
pub(crate) fn alternatives(site: &Site) -> Vec<Alternative> {
    let alternative = |alternative: &conventions::Alternative| match alternative {
        conventions::Alternative::Avif => Alternative::Avif,
        conventions::Alternative::Webp => Alternative::Webp,
        conventions::Alternative::Markdown => Alternative::Markdown,
    };
    site.negotiate.0.iter().map(alternative).collect()
}
