//! The live page: what it consists of. Nothing in it is private; what it shows it asks for, with the token.

/// A file of the page.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Asset {
    path: &'static str,
    pub(crate) content_type: &'static str,
    pub(crate) content: &'static str,
}

/// The content security policy of everything here: scripts, styles and data of this listener alone.
pub(crate) const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const SCRIPT: &str = "text/javascript; charset=utf-8";

static ASSETS: [Asset; 6] = [
    Asset {
        path: "/",
        content_type: "text/html; charset=utf-8",
        content: include_str!("page/index.html"),
    },
    Asset {
        path: "/page/style.css",
        content_type: "text/css; charset=utf-8",
        content: include_str!("page/style.css"),
    },
    Asset {
        path: "/page/main.js",
        content_type: SCRIPT,
        content: include_str!("page/main.js"),
    },
    Asset {
        path: "/page/chart.js",
        content_type: SCRIPT,
        content: include_str!("page/chart.js"),
    },
    Asset {
        path: "/page/figures.js",
        content_type: SCRIPT,
        content: include_str!("page/figures.js"),
    },
    Asset {
        path: "/page/cache.js",
        content_type: SCRIPT,
        content: include_str!("page/cache.js"),
    },
];

/// The file of the page at a path.
pub(crate) fn find(path: &str) -> Option<&'static Asset> {
    ASSETS.iter().find(|asset| asset.path == path)
}
