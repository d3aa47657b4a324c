//! Media types by file name (RFC 9110 section 8.3).

/// The type that is sent where nothing better is known.
const UNKNOWN: &str = "application/octet-stream";

/// The longest extension in any table.
const LONGEST_EXTENSION: usize = 24;

/// The Content-Type for a file of this name, by its last extension, in any case.
///
/// Text and JavaScript come with `charset=utf-8`. An unknown extension, or none, is
/// `application/octet-stream`. `.ts` is an MPEG transport stream, which players fetch by the
/// thousand, and not TypeScript, which browsers don't run. Nothing is allocated.
///
/// ```
/// use salver_semantics::content_type;
///
/// assert_eq!(content_type(b"index.html"), "text/html; charset=utf-8");
/// assert_eq!(content_type(b"font.woff2"), "font/woff2");
/// ```
pub fn content_type(file_name: &[u8]) -> &'static str {
    with_extension(file_name, media_type).unwrap_or(UNKNOWN)
}

/// True if the name looks like that of an asset: its extension is a known one, `.html` included.
///
/// This is the question of the single-page fallback: `/missing.js` is missing, `/users/jo.doe`
/// is a route of the application. Extensions that are far better known as the end of a domain name
/// (`/users/jo@example.com`) don't count.
pub fn has_known_extension(file_name: &[u8]) -> bool {
    with_extension(file_name, |extension| {
        let domain = matches!(extension, "com" | "es" | "fm" | "in" | "me" | "org" | "pl");
        (!domain && media_type(extension).is_some()).then_some(())
    })
    .is_some()
}

/// Applies `look_up` to the last extension of the last segment, in lower case. A dot at the start
/// of a name hides the file and starts no extension.
fn with_extension<T>(file_name: &[u8], look_up: impl Fn(&str) -> Option<T>) -> Option<T> {
    let segment = file_name.rsplit(|&byte| byte == b'/').next()?;
    let dot = segment.iter().rposition(|&byte| byte == b'.')?;
    if dot == 0 {
        return None;
    }
    let (_, extension) = segment.split_at_checked(dot + 1)?;
    let mut buffer = [0; LONGEST_EXTENSION];
    let lower = buffer.get_mut(..extension.len())?;
    lower.copy_from_slice(extension);
    lower.make_ascii_lowercase();
    look_up(std::str::from_utf8(lower).ok()?)
}

/// The media type of an extension in lower case: our own choice first, then the common table.
fn media_type(extension: &str) -> Option<&'static str> {
    own(extension).or_else(|| {
        let guess = mime_guess::from_ext(extension).first_raw()?;
        Some(with_charset(guess))
    })
}

/// The types for which the common table has nothing, or something outdated or unregistered.
fn own(extension: &str) -> Option<&'static str> {
    Some(match extension {
        // The web (RFC 9239 for JavaScript).
        "html" | "htm" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" | "cjs" => "text/javascript; charset=utf-8",
        "json" | "map" => "application/json",
        "webmanifest" => "application/manifest+json",
        "wasm" => "application/wasm",
        "svg" => "image/svg+xml",
        "xml" | "xsd" | "xsl" | "xslt" => "application/xml",
        "ndjson" | "jsonl" => "application/x-ndjson",
        "topojson" => "application/geo+json",
        // Text (RFC 7763 for Markdown, RFC 9512 for YAML).
        "txt" | "tsx" | "mdx" | "vue" | "svelte" | "wat" => "text/plain; charset=utf-8",
        "md" | "markdown" => "text/markdown; charset=utf-8",
        "vcf" => "text/vcard; charset=utf-8",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "sql" => "application/sql",
        // Fonts (RFC 8081).
        "woff" => "font/woff",
        "woff2" => "font/woff2",
        "otf" => "font/otf",
        "ttf" => "font/ttf",
        // Images, sound and moving images.
        "avif" => "image/avif",
        "webp" => "image/webp",
        "m3u8" => "application/vnd.apple.mpegurl",
        "ts" | "m2ts" | "mts" => "video/mp2t",
        "usdz" => "model/vnd.usdz+zip",
        // Archives. An .svgz is gzip for whoever doesn't declare its coding, and nobody does here.
        "gz" | "tgz" | "svgz" => "application/gzip",
        "zst" => "application/zstd",
        "br" | "whl" | "pbf" => UNKNOWN,
        "deb" | "udeb" => "application/vnd.debian.binary-package",
        "rpm" => "application/x-rpm",
        _ => return None,
    })
}

/// The type with `charset=utf-8` if it is one of text.
fn with_charset(media_type: &'static str) -> &'static str {
    TEXT.iter()
        .find(|(plain, _)| *plain == media_type)
        .map_or(media_type, |(_, with_charset)| *with_charset)
}

macro_rules! with_charset {
    ($($media_type:literal)*) => {
        &[$(($media_type, concat!($media_type, "; charset=utf-8"))),*]
    };
}

/// The text types of the common table, with their charset: a string that lives for ever can't be
/// put together when it is asked for.
const TEXT: &[(&str, &str)] = with_charset! {
    "text/cache-manifest" "text/calendar" "text/coffeescript" "text/css" "text/csv" "text/dlm"
    "text/gemini" "text/h323" "text/html" "text/iuls" "text/jade" "text/javascript" "text/less"
    "text/markdown" "text/mathml" "text/n3" "text/plain" "text/prs.lines.tag" "text/richtext"
    "text/scriptlet" "text/sgml" "text/shex" "text/slim" "text/stylus" "text/tab-separated-values"
    "text/turtle" "text/uri-list" "text/vbscript" "text/vcard" "text/vnd.curl" "text/vnd.curl.dcurl"
    "text/vnd.curl.mcurl" "text/vnd.curl.scurl" "text/vnd.dvb.subtitle" "text/vnd.fly"
    "text/vnd.fmi.flexstor" "text/vnd.graphviz" "text/vnd.in3d.3dml" "text/vnd.in3d.spot"
    "text/vnd.sun.j2me.app-descriptor" "text/vnd.wap.wml" "text/vnd.wap.wmlscript" "text/vtt"
    "text/webviewhtml" "text/x-c" "text/x-component" "text/x-fortran" "text/x-gherkin"
    "text/x-handlebars-template" "text/x-hdml" "text/x-html-insertion" "text/x-lua"
    "text/x-markdown" "text/x-ms-contact" "text/x-ms-group" "text/x-ms-iqy" "text/x-ms-rqy"
    "text/x-nfo" "text/x-opml" "text/x-pascal" "text/x-processing" "text/x-rust" "text/x-sass"
    "text/x-scss" "text/x-setext" "text/x-sfv" "text/x-suse-ymp" "text/x-toml" "text/x-uuencode"
    "text/x-vcard" "text/x-yaml" "text/xml"
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_extension() {
        fn check(extensions: &str, expected: &str) {
            for extension in extensions.split(' ') {
                for name in [
                    format!("name.{extension}"),
                    format!("NAME.{}", extension.to_uppercase()),
                    format!("a.b.c.{extension}"),
                    format!("dir.js/name.{extension}"),
                    format!("..{extension}"),
                    format!("\u{e9} \u{4e00}.{extension}"),
                ] {
                    assert_eq!(content_type(name.as_bytes()), expected, "{name}");
                    assert!(has_known_extension(name.as_bytes()), "{name}");
                }
            }
        }
        check("html htm", "text/html; charset=utf-8");
        check("css", "text/css; charset=utf-8");
        check("js mjs cjs jsx", "text/javascript; charset=utf-8");
        check(
            "txt log conf ini py c h tsx vue",
            "text/plain; charset=utf-8",
        );
        check("md markdown", "text/markdown; charset=utf-8");
        check("csv", "text/csv; charset=utf-8");
        check("ics", "text/calendar; charset=utf-8");
        check("vcf", "text/vcard; charset=utf-8");
        check("vtt", "text/vtt; charset=utf-8");
        check("rs", "text/x-rust; charset=utf-8");
        check("json map", "application/json");
        check("webmanifest", "application/manifest+json");
        check("wasm", "application/wasm");
        check("xml xsl xslt xsd", "application/xml");
        check("xhtml", "application/xhtml+xml");
        check("rss", "application/rss+xml");
        check("atom", "application/atom+xml");
        check("pdf", "application/pdf");
        check("yaml yml", "application/yaml");
        check("toml", "application/toml");
        check("svg", "image/svg+xml");
        check("png", "image/png");
        check("jpg jpeg", "image/jpeg");
        check("gif", "image/gif");
        check("webp", "image/webp");
        check("avif", "image/avif");
        check("ico", "image/x-icon");
        check("woff", "font/woff");
        check("woff2", "font/woff2");
        check("ttf", "font/ttf");
        check("otf", "font/otf");
        check("mp4", "video/mp4");
        check("webm", "video/webm");
        check("ts m2ts mts", "video/mp2t");
        check("m3u8", "application/vnd.apple.mpegurl");
        check("mpd", "application/dash+xml");
        check("mp3", "audio/mpeg");
        check("gz tgz svgz", "application/gzip");
        check("zst", "application/zstd");
        check("zip", "application/zip");
        check("tar", "application/x-tar");
        check("deb udeb", "application/vnd.debian.binary-package");
        check("bin br whl iso exe", "application/octet-stream");
    }

    #[test]
    fn unknown() {
        fn check(name: &[u8]) {
            assert_eq!(
                content_type(name),
                "application/octet-stream",
                "{}",
                name.escape_ascii()
            );
            assert!(!has_known_extension(name), "{}", name.escape_ascii());
        }
        check(b"");
        check(b"/");
        check(b".");
        check(b"..");
        check(b"...");
        check(b"LICENSE");
        check(b"html");
        check(b"name.");
        check(b"name.html.");
        check(b"name.html ");
        check(b"name.html/");
        check(b"name.html/other");
        check(b"v1.2");
        check(b"release-1.2.3");
        check(b"jo.doe");
        check(b"name.thisisnotanextension");
        check(b"name.anextensionthatislongerthananyotherone");
        check(b"name.\xff\xfe");
        check(b"name.ht\xc3ml");
        check(b"name.h\0tml");
        check(b"name.*");
        // A hidden file without an extension.
        check(b".html");
        check(b".bashrc");
        check(b"dir/.js");
    }

    #[test]
    fn domains_are_no_assets() {
        for domain in ["com", "org", "in", "me", "es", "fm", "pl"] {
            assert!(
                !has_known_extension(format!("jo@example.{domain}").as_bytes()),
                "{domain}"
            );
        }
        assert!(has_known_extension(b"logo@2x.png"));
        // A file of that name is still what it is.
        assert_eq!(content_type(b"configure.in"), "text/plain; charset=utf-8");
    }

    /// No text type without its charset, whatever the common table will hold one day.
    #[test]
    fn every_text_has_its_charset() {
        let letters = b"abcdefghijklmnopqrstuvwxyz0123456789";
        let mut known = 0;
        let mut check = |extension: &[u8]| {
            let media_type = content_type(&[b"name.", extension].concat());
            let is_text = media_type.starts_with("text/");
            assert_eq!(
                media_type.ends_with("; charset=utf-8"),
                is_text,
                "{media_type}"
            );
            known += usize::from(media_type != UNKNOWN);
        };
        for a in letters {
            check(&[*a]);
            for b in letters {
                check(&[*a, *b]);
                for c in letters {
                    check(&[*a, *b, *c]);
                }
            }
        }
        for longer in [
            "appcache",
            "coffee",
            "contact",
            "curl",
            "dcurl",
            "dtsconfig",
            "feature",
            "gemini",
            "group",
            "html",
            "jade",
            "less",
            "litcoffee",
            "markdown",
            "mcurl",
            "opml",
            "qhtm",
            "sass",
            "scss",
            "scurl",
            "sgml",
            "shex",
            "shtml",
            "slim",
            "spot",
            "styl",
            "stylus",
            "toml",
            "turtle",
            "uris",
            "urls",
            "vcard",
            "vsct",
            "vsixmanifest",
            "vstemplate",
            "wmls",
            "wsdl",
            "yaml",
        ] {
            check(longer.as_bytes());
        }
        assert!(known > 900, "{known}");
    }

    #[test]
    fn types_are_well_formed() {
        for (plain, with_charset) in TEXT {
            assert_eq!(*with_charset, format!("{plain}; charset=utf-8"));
            let (text, subtype) = plain.split_once('/').unwrap();
            assert_eq!(text, "text");
            assert!(crate::field::is_token(subtype.as_bytes()), "{plain}");
        }
    }
}
