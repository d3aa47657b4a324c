//! The values of settings for built sites: whose files are obeyed, which paths pages have, and which files stand beside
//! others.

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

/// The addresses of the releases of a store, besides that of the current one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReleaseAddresses {
    /// None.
    #[default]
    Off,
    /// `/_release/NAME/`.
    Path,
    /// `NAME--example.org`.
    Host,
    /// Either.
    Both,
}

impl Choice for ReleaseAddresses {
    const NAMES: &'static [(&'static str, &'static str)] = &[
        ("off", "Only the current release is shown"),
        ("host", "NAME--example.org for each host of the site"),
        ("path", "/_release/NAME/"),
        ("both", "Either"),
    ];
    const VALUES: &'static [Self] = &[
        ReleaseAddresses::Off,
        ReleaseAddresses::Host,
        ReleaseAddresses::Path,
        ReleaseAddresses::Both,
    ];
}

/// A type that a file beside its original may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alternative {
    /// `photo.avif` beside `photo.jpg`.
    Avif,
    /// `photo.webp` beside `photo.jpg`.
    Webp,
    /// `page.md` beside `page.html`.
    Markdown,
}

/// The names of [`Alternative`]s.
pub(crate) const ALTERNATIVE_NAMES: &[&str] = &["avif", "webp", "md"];

/// Which files beside their originals are looked for, the best first, each once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alternatives(pub Vec<Alternative>);

/// A comma-separated list of `avif`, `webp` and `md` in any order, or `none`.
///
/// # Errors
/// The name that is not known, and those that can be given.
pub fn alternatives(text: &str) -> Result<Alternatives, String> {
    let mut wanted = Vec::new();
    if text.trim() == "none" {
        return Ok(Alternatives(wanted));
    }
    for name in text.split(',').map(str::trim) {
        let alternative = match name {
            "avif" => Alternative::Avif,
            "webp" => Alternative::Webp,
            "md" => Alternative::Markdown,
            _ => {
                let some = ALTERNATIVE_NAMES.join(",");
                return Err(format!(
                    "{name:?} is not known: give some of {some}, or none"
                ));
            }
        };
        if !wanted.contains(&alternative) {
            wanted.push(alternative);
        }
    }
    Ok(Alternatives(wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beside_their_originals() {
        use Alternative::{Avif, Markdown, Webp};

        let check = |text: &str, expected: Result<&[Alternative], &str>| match expected {
            Ok(expected) => assert_eq!(alternatives(text).unwrap().0, expected, "{text}"),
            Err(part) => {
                let error = alternatives(text).unwrap_err();
                assert!(error.contains(part), "{error}");
            }
        };
        check("none", Ok(&[]));
        check("avif", Ok(&[Avif]));
        check(" webp , avif,md,webp", Ok(&[Webp, Avif, Markdown]));
        check("", Err("avif,webp,md, or none"));
        check("avif,png", Err("\"png\" is not known"));
    }
}
