//! The table of what can be compressed, by media type.

use crate::coding::ContentCoding;
use crate::media_type::content_type;

/// The answer of a media type to the question whether content of it can get smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compressibility {
    /// Such content gets smaller, as a rule.
    Yes,
    /// Such content is coded already.
    No,
    /// The type does not tell: a sample of the content does.
    Unknown,
}

use Compressibility::{No, Unknown, Yes};

/// Types that can be compressed beside those that their ends tell (`+json`), and beside all of `text/`.
const COMPRESSIBLE: &[&str] = &[
    "application/dart",
    "application/ecmascript",
    "application/geo+json",
    "application/graphql",
    "application/javascript",
    "application/json",
    "application/json5",
    "application/msword",
    "application/postscript",
    "application/rtf",
    "application/sql",
    "application/toml",
    "application/typescript",
    "application/vnd.apple.mpegurl",
    "application/vnd.ms-excel",
    "application/vnd.ms-fontobject",
    "application/vnd.ms-powerpoint",
    "application/wasm",
    "application/x-font-opentype",
    "application/x-font-otf",
    "application/x-font-truetype",
    "application/x-font-ttf",
    "application/x-javascript",
    "application/x-ndjson",
    "application/x-sh",
    "application/x-tex",
    "application/x-x509-ca-cert",
    "application/xml",
    "application/xml-dtd",
    "application/yaml",
    "audio/midi",
    "font/collection",
    "font/otf",
    "font/sfnt",
    "font/ttf",
    "image/bmp",
    "image/emf",
    "image/svg+xml",
    "image/vnd.adobe.photoshop",
    "image/vnd.dxf",
    "image/vnd.microsoft.icon",
    "image/wmf",
    "image/x-icon",
    "image/x-ms-bmp",
    "image/x-portable-anymap",
    "image/x-portable-bitmap",
    "image/x-portable-graymap",
    "image/x-portable-pixmap",
    "image/x-xbitmap",
    "image/x-xpixmap",
    "model/obj",
];

/// Types that are coded already, beside those that their ends tell (`+zip`), and beside most of `audio/`, `image/` and
/// all of `video/`.
const CODED: &[&str] = &[
    "application/epub+zip",
    "application/font-woff",
    "application/font-woff2",
    "application/gzip",
    "application/java-archive",
    "application/ogg",
    "application/vnd.android.package-archive",
    "application/vnd.debian.binary-package",
    "application/vnd.ms-cab-compressed",
    "application/vnd.rar",
    "application/x-7z-compressed",
    "application/x-brotli",
    "application/x-bzip",
    "application/x-bzip2",
    "application/x-compress",
    "application/x-compressed-tar",
    "application/x-gtar-compressed",
    "application/x-gzip",
    "application/x-lzip",
    "application/x-lzma",
    "application/x-rar",
    "application/x-rar-compressed",
    "application/x-rpm",
    "application/x-xz",
    "application/x-zip-compressed",
    "application/zip",
    "application/zstd",
    "font/woff",
    "font/woff2",
];

/// Types that are stored as they are, or in a weak coding, or hold what is coded: a sample tells.
const PERHAPS: &[&str] = &[
    "application/x-tar",
    "audio/aiff",
    "audio/basic",
    "audio/vnd.wave",
    "audio/wav",
    "audio/x-aiff",
    "audio/x-wav",
    "image/tiff",
    "image/vnd.dds",
    "image/vnd.dwg",
    "image/vnd.radiance",
    "image/x-tga",
];

/// A media type, all of a kind (`text/*`) or all (`*/*`), in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TypeRange(String);

impl TypeRange {
    /// Reads `type/subtype`, `type/*` or `*/*`; `None` if the text is none of these.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim().to_ascii_lowercase();
        let (kind, subtype) = text.split_once('/')?;
        let is_name = |name: &str| {
            let is_allowed =
                |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
            !name.is_empty() && name.bytes().all(is_allowed)
        };
        let is_right = match (kind, subtype) {
            ("*", "*") => true,
            (kind, "*") => is_name(kind),
            (kind, subtype) => is_name(kind) && is_name(subtype),
        };
        is_right.then_some(TypeRange(text))
    }

    /// The number of parts that this names; `None` if the type is not in it.
    fn precision(&self, media_type: &str) -> Option<u8> {
        if self.0 == media_type {
            return Some(2);
        }
        let kind = self.0.strip_suffix('*')?;
        match kind {
            "*/" => Some(0),
            kind => media_type.starts_with(kind).then_some(1),
        }
    }
}

/// The table of what can be compressed, with overrides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CompressibleTypes {
    overrides: Vec<(TypeRange, bool)>,
}

impl CompressibleTypes {
    /// The table with these types included and those excluded.
    pub fn with(
        included: impl IntoIterator<Item = TypeRange>,
        excluded: impl IntoIterator<Item = TypeRange>,
    ) -> Self {
        let types = included.into_iter().fold(Self::default(), Self::include);
        excluded.into_iter().fold(types, Self::exclude)
    }

    /// Counts types in `range` as compressible. Of several overrides the one that names more counts; of equal ones
    /// one that excludes.
    #[must_use]
    pub fn include(mut self, range: TypeRange) -> Self {
        self.overrides.push((range, true));
        self
    }

    /// Counts types in `range` as those that are left alone.
    #[must_use]
    pub fn exclude(mut self, range: TypeRange) -> Self {
        self.overrides.push((range, false));
        self
    }

    /// Whether content of this type can be compressed. Parameters (`; charset=utf-8`) and case don't matter.
    pub fn of_type(&self, media_type: &str) -> Compressibility {
        let essence = media_type.split(';').next().unwrap_or_default();
        let essence = essence.trim().to_ascii_lowercase();
        let said = self.overrides.iter().filter_map(|(range, includes)| {
            let precision = range.precision(&essence)?;
            Some((precision, !includes))
        });
        match said.max() {
            Some((_, excluded)) if excluded => No,
            Some(_) => Yes,
            None => by_table(&essence),
        }
    }

    /// Whether a file of this name can be compressed: by the type that it would be sent with. One that has the
    /// extension of a coding (`app.js.br`) cannot, whatever the overrides.
    pub fn of_file(&self, name: &[u8]) -> Compressibility {
        if ContentCoding::of_file_name(name).is_some() {
            return No;
        }
        self.of_type(content_type(name))
    }
}

/// What the table says of a type in lower case, without parameters.
fn by_table(essence: &str) -> Compressibility {
    if COMPRESSIBLE.contains(&essence) {
        return Yes;
    }
    if CODED.contains(&essence) {
        return No;
    }
    if PERHAPS.contains(&essence) {
        return Unknown;
    }
    // RFC 6839 and RFC 9512: what a structured syntax is made of.
    if let Some((_, syntax)) = essence.rsplit_once('+') {
        match syntax {
            "json" | "xml" | "yaml" | "json-seq" => return Yes,
            "zip" | "gzip" | "zstd" => return No,
            _ => {}
        }
    }
    let Some((kind, subtype)) = essence.split_once('/') else {
        return Unknown;
    };
    match kind {
        "text" => Yes,
        "video" | "audio" | "image" => No,
        // Office documents are zip files.
        _ if subtype.starts_with("vnd.openxmlformats-officedocument.") => No,
        _ if subtype.starts_with("vnd.oasis.opendocument.") => No,
        _ => Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_name() {
        fn check(names: &str, expected: Compressibility) {
            for name in names.split(' ') {
                let found = CompressibleTypes::default().of_file(name.as_bytes());
                assert_eq!(found, expected, "{name}");
            }
        }
        check(
            "a.html A.CSS a.js a.mjs a.json a.map a.webmanifest a.geojson a.topojson",
            Yes,
        );
        check(
            "a.svg a.ico a.bmp a.wasm a.ttf a.otf a.eot a.xml a.rss a.atom a.txt a.md a.csv",
            Yes,
        );
        check(
            "a.yaml a.ndjson a.jsonld a.gltf a.xhtml a.vtt a.ics a.m3u8 a.rtf a.mid a.dxf a.emf a.wmf a.obj a.psd",
            Yes,
        );
        check(
            "a.png a.jpg a.jpeg a.gif a.webp a.avif a.heic a.jxl a.woff a.woff2",
            No,
        );
        check(
            "a.mp4 a.webm a.ts a.mp3 a.ogg a.flac a.zip a.gz a.tgz a.zst a.7z a.rar a.bz2 a.xz",
            No,
        );
        check(
            "a.docx a.xlsx a.odt a.epub a.jar a.apk a.deb a.rpm a.svgz",
            No,
        );
        check("a.js.br a.js.zst a.js.gz a.br", No);
        check(
            "a a.bin a.dat a.pdf a.tar a.wav a.tiff a.glb a.dwg a.stl a.unknown .htaccess",
            Unknown,
        );
    }

    #[test]
    fn by_type() {
        fn check(media_type: &str, expected: Compressibility) {
            assert_eq!(
                CompressibleTypes::default().of_type(media_type),
                expected,
                "{media_type}"
            );
        }
        check("text/html; charset=utf-8", Yes);
        check("TEXT/HTML", Yes);
        check(" application/json ", Yes);
        check("application/vnd.example+json", Yes);
        check("application/vnd.example+xml;q=1", Yes);
        check("application/vnd.example+zip", No);
        check("application/vnd.example+cbor", Unknown);
        check("image/example", No);
        check("video/example", No);
        check("", Unknown);
        check("text", Unknown);
        check("example/example", Unknown);
    }

    #[test]
    fn overrides() {
        let range = |text| TypeRange::parse(text).unwrap();
        let check = |types: &CompressibleTypes, media_type: &str, expected| {
            assert_eq!(types.of_type(media_type), expected, "{media_type}");
        };
        let types = CompressibleTypes::default()
            .include(range("image/png"))
            .exclude(range("text/*"))
            .include(range("Text/CSS"));
        check(&types, "image/png", Yes);
        check(&types, "image/jpeg", No);
        check(&types, "text/html; charset=utf-8", No);
        check(&types, "text/css", Yes);
        check(&types, "application/json", Yes);
        let only = CompressibleTypes::default()
            .exclude(range("*/*"))
            .include(range("text/*"));
        check(&only, "application/json", No);
        check(&only, "text/plain", Yes);
        let both = CompressibleTypes::default()
            .exclude(range("text/css"))
            .include(range("text/css"));
        check(&both, "text/css", No);
        let all = CompressibleTypes::default().include(range("*/*"));
        assert_eq!(all.of_file(b"a.js.br"), No);
        assert_eq!(all.of_file(b"a.png"), Yes);
    }

    #[test]
    fn ranges() {
        for right in [
            "text/html",
            "text/*",
            "*/*",
            " Text/HTML ",
            "a/b+c",
            "application/vnd.a-b.c",
        ] {
            assert!(TypeRange::parse(right).is_some(), "{right}");
        }
        for wrong in [
            "", "text", "text/", "/html", "*/html", "text/ht*", "a/b/c", "a/b;c", "a b/c", ".js",
        ] {
            assert_eq!(TypeRange::parse(wrong), None, "{wrong}");
        }
    }
}
