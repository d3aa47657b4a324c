//! Alternatives: files of another media type beside their original, for clients that want that type (proactive
//! negotiation, RFC 9110 section 12.1).

use salver_semantics::content_type;

use crate::path::{file_name, path_of_key, variant_key};

/// A media type that a file beside its original may have, with the original's name and another extension.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Alternative {
    /// AVIF, `photo.avif` beside `photo.jpg`.
    Avif,
    /// WebP, `photo.webp` beside `photo.jpg`.
    Webp,
    /// Markdown, `page.md` beside `page.html`.
    Markdown,
}

/// The extensions of pictures that may have alternatives.
const PICTURES: &[&[u8]] = &[b"jpg", b"jpeg", b"png", b"gif"];

/// Those of pages.
const PAGES: &[&[u8]] = &[b"html", b"htm"];

impl Alternative {
    /// Every alternative.
    pub const ALL: [Alternative; 3] = [Alternative::Avif, Alternative::Webp, Alternative::Markdown];

    /// The extension of its files, without the dot.
    pub fn extension(self) -> &'static str {
        match self {
            Alternative::Avif => "avif",
            Alternative::Webp => "webp",
            Alternative::Markdown => "md",
        }
    }

    /// The alternative with this extension.
    pub(crate) fn of_extension(extension: &[u8]) -> Option<Self> {
        let mut all = Alternative::ALL.into_iter();
        all.find(|alternative| alternative.extension().as_bytes() == extension)
    }

    /// The media type, as Content-Type has it.
    pub(crate) fn media_type(self) -> &'static str {
        content_type(match self {
            Alternative::Avif => b"x.avif",
            Alternative::Webp => b"x.webp",
            Alternative::Markdown => b"x.md",
        })
    }

    /// The path of the alternative to the file at `path`, if that may have one.
    pub(crate) fn path_for(self, path: &[u8]) -> Option<Vec<u8>> {
        let name = file_name(path);
        let dot = name.iter().rposition(|&byte| byte == b'.')?;
        // A dot at the start hides a file and begins no extension.
        let extension = name.get(dot + 1..).filter(|_| dot > 0)?;
        let originals = match self {
            Alternative::Avif | Alternative::Webp => PICTURES,
            Alternative::Markdown => PAGES,
        };
        let has_one = originals
            .iter()
            .any(|known| known.eq_ignore_ascii_case(extension));
        let stem = path
            .get(..path.len() - extension.len())
            .filter(|_| has_one)?;
        Some([stem, self.extension().as_bytes()].concat())
    }
}

/// The choice between a file and its alternatives.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    /// The file that the path names.
    Original,
    /// This alternative.
    Alternative(Alternative),
    /// Unknown without the request's Accept.
    NeedDetails,
}

/// The beginning of the variant of an alternative in its key; those of rules begin otherwise.
const VARIANT: &[u8] = b"Accept ";

/// The key of an alternative to the resource with this key.
pub(crate) fn alternative_key(key: &[u8], alternative: Alternative) -> Vec<u8> {
    let (path, variant) = path_of_key(key);
    let extension = alternative.extension().as_bytes();
    let variant = [VARIANT, extension, b"\0", variant.unwrap_or_default()].concat();
    variant_key(path, &variant)
}

/// The alternative with this key, and the variant that its original is, if it is one of several at its path.
pub(crate) fn alternative_of_key(key: &[u8]) -> (Option<Alternative>, Option<&[u8]>) {
    let (_, variant) = path_of_key(key);
    let Some(of_accept) = variant.and_then(|variant| variant.strip_prefix(VARIANT)) else {
        return (None, variant);
    };
    let mut parts = of_accept.splitn(2, |&byte| byte == 0);
    let alternative = parts.next().and_then(Alternative::of_extension);
    (
        alternative,
        parts.next().filter(|variant| !variant.is_empty()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_paths_of_alternatives() {
        let check = |alternative: Alternative, path: &str, expected: Option<&str>| {
            let found = alternative.path_for(path.as_bytes());
            let found = found.map(|path| String::from_utf8(path).unwrap());
            assert_eq!(found.as_deref(), expected, "{path}");
        };
        check(Alternative::Avif, "a/photo.jpg", Some("a/photo.avif"));
        check(Alternative::Webp, "photo.x.PNG", Some("photo.x.webp"));
        check(
            Alternative::Markdown,
            "a.b/index.html",
            Some("a.b/index.md"),
        );
        for path in [
            "photo.html",
            "photo",
            "a.jpg/photo",
            ".jpg",
            "a/.png",
            "",
            "photo.avif",
            "photo.jpg/",
        ] {
            check(Alternative::Avif, path, None);
        }
        check(Alternative::Markdown, "photo.jpg", None);
        for alternative in Alternative::ALL {
            let extension = alternative.extension().as_bytes();
            assert_eq!(Alternative::of_extension(extension), Some(alternative));
            let name = [b"x.", extension].concat();
            assert_eq!(alternative.media_type(), content_type(&name));
        }
    }

    #[test]
    fn the_key_of_an_alternative_tells_of_which() {
        let avif = Alternative::Avif;
        let check = |key: &[u8], variant: Option<&[u8]>| {
            assert_eq!(alternative_of_key(key), (None, variant));
            let alternative = alternative_key(key, avif);
            assert_eq!(alternative_of_key(&alternative), (Some(avif), variant));
            assert_eq!(path_of_key(&alternative).0, path_of_key(key).0);
        };
        check(b"/a.jpg", None);
        check(b"/a.jpg\0None[]", Some(b"None[]"));
        check(b"/a.jpg\0None\0x", Some(b"None\0x"));
    }
}
