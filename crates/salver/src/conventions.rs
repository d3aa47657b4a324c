//! The conventions of built sites, from settings to the engine.

use salver_assets::rules::Compat;
use salver_assets::{Conventions, Mount, TrailingSlash};
use salver_config::{Site, conventions};

/// The tree with the conventions of built sites that the site obeys.
pub(crate) fn with_conventions(mut tree: Mount, site: &Site) -> Mount {
    let compat = match *site.compat {
        conventions::Compat::Netlify => Some(Compat::Netlify),
        conventions::Compat::Cloudflare => Some(Compat::Cloudflare),
        conventions::Compat::None => None,
    };
    if let Some(compat) = compat {
        tree = tree.with_conventions(Conventions { compat });
    }
    let trailing_slash = match *site.trailing_slash {
        conventions::TrailingSlash::Auto => TrailingSlash::Auto,
        conventions::TrailingSlash::Always => TrailingSlash::Always,
        conventions::TrailingSlash::Never => TrailingSlash::Never,
    };
    match *site.clean_urls {
        conventions::CleanUrls::Off => tree,
        conventions::CleanUrls::Auto => tree.with_clean_urls(trailing_slash),
    }
}
