//! The values of settings for built sites: whose files are obeyed, and which paths pages have.

use crate::values::Choice;

/// The host for which a built site's `_headers` and `_redirects` were written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compat {
    /// Netlify.
    #[default]
    Netlify,
    /// Cloudflare: Pages, and Workers with static assets.
    Cloudflare,
    /// None: the two are files like others.
    None,
}

impl Choice for Compat {
    const NAMES: &'static [(&'static str, &'static str)] = &[
        ("netlify", "As Netlify reads them"),
        ("cloudflare", "As Cloudflare reads them"),
        ("none", "They are files like others"),
    ];
    const VALUES: &'static [Self] = &[Compat::Netlify, Compat::Cloudflare, Compat::None];
}

/// The paths of pages without `.html`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CleanUrls {
    /// A page has the path of its file.
    #[default]
    Off,
    /// The page `about.html` is `/about`, and `/about.html` leads there.
    Auto,
}

impl Choice for CleanUrls {
    const NAMES: &'static [(&'static str, &'static str)] = &[
        ("auto", "The page about.html is /about"),
        ("off", "A page has the path of its file"),
    ];
    const VALUES: &'static [Self] = &[CleanUrls::Auto, CleanUrls::Off];
}

/// The slash at the end of the paths of pages, with clean URLs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrailingSlash {
    /// As the page is on disk.
    #[default]
    Auto,
    /// Every page has one.
    Always,
    /// No page has one.
    Never,
}

impl Choice for TrailingSlash {
    const NAMES: &'static [(&'static str, &'static str)] = &[
        (
            "auto",
            "/about for about.html, /about/ for about/index.html",
        ),
        ("always", "/about/"),
        ("never", "/about"),
    ];
    const VALUES: &'static [Self] = &[
        TrailingSlash::Auto,
        TrailingSlash::Always,
        TrailingSlash::Never,
    ];
}
