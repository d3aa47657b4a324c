//! Media types by file name (RFC 9110 section 8.3).

use std::sync::LazyLock;

/// The type that is sent where nothing better is known.
const UNKNOWN: &str = "application/octet-stream";

/// The longest extension in any table.
const LONGEST_EXTENSION: usize = 32;

/// The media types that Debian's `/etc/mime.types` (of the package media-types, in the public domain) has for extensions,
/// which are those of IANA and some that are in use: a line of both for each, in the order of the extensions' bytes.
/// A type of text has its charset, and is `text/plain` where nobody registered it (`text/x-…`): browsers show that.
/// `tests/it/media_types.rs` compares all with that file, and writes it anew.
const COMMON: &str = include_str!("media_types.txt");

/// The Content-Type for a file of this name, by its last extension, in any case.
///
/// Text and JavaScript come with `charset=utf-8`. An unknown extension, or none, is
/// `application/octet-stream`. `.ts` is an MPEG transport stream, which players fetch by the
/// thousand, and not TypeScript, which browsers don't run.
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
        let domain = matches!(
            extension,
            "cl" | "com" | "es" | "fm" | "in" | "info" | "ly" | "me" | "org" | "pl" | "pt" | "si"
        );
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

/// The media type of an extension in lower case: our own choice, or that of the common table.
fn media_type(extension: &str) -> Option<&'static str> {
    own(extension).or_else(|| common(extension))
}

/// The type in the common table. Where its lines are is found out once: it is asked several times for each file that is loaded.
fn common(extension: &str) -> Option<&'static str> {
    static LINES: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
        COMMON
            .lines()
            .filter_map(|line| line.split_once(' '))
            .collect()
    });
    let place = LINES.binary_search_by_key(&extension, |(known, _)| known);
    LINES.get(place.ok()?).map(|(_, media_type)| *media_type)
}

/// Our own choice, for the web and what it is made of, and for what the common table lacks or has otherwise: the types are
/// those of an RFC, of IANA's registry or WHATWG's MIME Sniffing, or else what the maker of a format says.
fn own(extension: &str) -> Option<&'static str> {
    Some(match extension {
        // The web (RFC 9239 for JavaScript).
        "cjs" | "jsx" => "text/javascript; charset=utf-8",
        "map" => "application/json",
        "json5" => "application/json5",
        "ndjson" | "jsonl" => "application/x-ndjson",
        "topojson" => "application/geo+json",
        "config" | "resx" | "rng" | "xsd" | "xsl" | "xslt" => "application/xml",
        "gpx" => "application/gpx+xml",
        "mathml" => "application/mathml+xml",
        "metalink" => "application/metalink+xml",
        "musicxml" => "application/vnd.recordare.musicxml+xml",
        "ncx" => "application/x-dtbncx+xml",
        "opml" => "text/x-opml; charset=utf-8",
        "rss" => "application/rss+xml",
        "xaml" => "application/xaml+xml",
        // What some type of IANA's has, too, but which is Common Lisp, OpenCL or Rust where files are served.
        "cl" => "text/plain; charset=utf-8",
        "rs" => "text/x-rust; charset=utf-8",
        // Text and sources, which browsers show if they are called nothing else.
        "cfg" | "cnf" | "conf" | "ini" | "list" | "log" | "lst" | "nfo" | "reg" => {
            "text/plain; charset=utf-8"
        }
        "asm" | "bas" | "cmd" | "cs" | "csproj" | "def" | "f" | "f77" | "f90" | "for" | "in"
        | "inc" | "lua" | "mak" | "mk" | "s" | "sln" | "sol" | "vb" | "vbproj" | "vbs" => {
            "text/plain; charset=utf-8"
        }
        "feature" | "hbs" | "jade" | "less" | "mdx" | "sass" | "scss" | "slim" | "styl"
        | "stylus" | "svelte" | "tsx" | "vue" | "wat" => "text/plain; charset=utf-8",
        "gemini" | "gmi" => "text/gemini; charset=utf-8",
        // RFC 9512.
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        // Images.
        "avifs" => "image/avif",
        "cur" | "ico" => "image/x-icon",
        "dib" => "image/bmp",
        "dng" => "image/x-adobe-dng",
        "tga" => "image/x-tga",
        // Sound and moving images (RFC 3839 and 4393 for those of telephones, RFC 4337 for MPEG-4).
        "3gp" | "3gpp" => "video/3gpp",
        "3g2" | "3gp2" => "video/3gpp2",
        "aif" | "aifc" | "aiff" => "audio/aiff",
        "caf" => "audio/x-caf",
        "f4v" => "video/x-f4v",
        "kar" | "mid" | "midi" | "rmi" => "audio/midi",
        "m2a" | "m3a" | "mp2a" => "audio/mpeg",
        "m4b" | "m4p" | "m4r" | "mp4a" => "audio/mp4",
        "mk3d" => "video/x-matroska",
        "mka" => "audio/x-matroska",
        "mp4v" => "video/mp4",
        "wav" | "wave" => "audio/wav",
        "weba" => "audio/webm",
        "ts" | "m2t" | "m2ts" | "mts" => "video/mp2t",
        // Documents, keys and what some program opens.
        "accdb" => "application/msaccess",
        "application" => "application/x-ms-application",
        "asc" => "application/pgp-signature",
        "azw" => "application/vnd.amazon.ebook",
        "crx" => "application/x-chrome-extension",
        "der" => "application/x-x509-ca-cert",
        "manifest" => "application/x-ms-manifest",
        "mht" | "mhtml" => "message/rfc822",
        "mobi" => "application/x-mobipocket-ebook",
        "msg" => "application/vnd.ms-outlook",
        "parquet" => "application/vnd.apache.parquet",
        "pkpass" => "application/vnd.apple.pkpass",
        "ris" => "application/x-research-info-systems",
        // Archives. An .svgz is gzip for whoever doesn't declare its coding, and nobody does here.
        "bz2" => "application/x-bzip2",
        "ear" | "war" => "application/java-archive",
        "rpm" => "application/x-rpm",
        "svgz" | "tgz" => "application/gzip",
        "z" => "application/x-compress",
        // What no browser is to interpret, whatever it was registered as: text, XML.
        "3dm" | "a" | "distz" | "mpkg" | "pkg" => UNKNOWN,
        "br" | "dat" | "dump" | "exe" | "img" | "ipa" | "iso" | "ova" | "pbf" | "run" | "so"
        | "vdi" | "vhd" | "vmdk" | "whl" => UNKNOWN,
        // Programs of other servers, which are none here: known as that, and so no route of an application.
        "asa" | "asax" | "ascx" | "ashx" | "asmx" | "aspx" | "php" => UNKNOWN,
        _ => return None,
    })
}

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
        for domain in [
            "com", "org", "in", "me", "es", "fm", "pl", "cl", "info", "ly", "pt", "si",
        ] {
            assert!(
                !has_known_extension(format!("jo@example.{domain}").as_bytes()),
                "{domain}"
            );
        }
        assert!(has_known_extension(b"logo@2x.png"));
        // A file of that name is still what it is.
        assert_eq!(content_type(b"configure.in"), "text/plain; charset=utf-8");
    }

    /// No text type without its charset.
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

    /// What is looked up by halves is found, and nothing beside it.
    #[test]
    fn the_common_table_is_in_order() {
        let mut before = "";
        for line in COMMON.lines() {
            let (extension, media_type) = line.split_once(' ').unwrap();
            assert!(before < extension, "{before} {extension}");
            assert_eq!(common(extension), Some(media_type), "{extension}");
            for other in [format!("{extension}!"), format!("{extension} ")] {
                assert_eq!(common(&other), None, "{other}");
            }
            assert_ne!(own(extension), Some(media_type), "{extension} is in both");
            assert!(extension.len() <= LONGEST_EXTENSION, "{extension}");
            assert!(!extension.bytes().any(|byte| byte.is_ascii_uppercase()));
            before = extension;
        }
        for other in ["", "!", "~", "zzzz", "\n", " "] {
            assert_eq!(common(other), None, "{other:?}");
        }
        assert!(COMMON.ends_with('\n'));
        assert!(COMMON.lines().count() > 1500);
    }

    #[test]
    fn types_are_well_formed() {
        for line in COMMON.lines() {
            let (_, media_type) = line.split_once(' ').unwrap();
            let plain = media_type.strip_suffix("; charset=utf-8");
            assert_eq!(plain.is_some(), media_type.starts_with("text/"), "{line}");
            let (of, subtype) = plain.unwrap_or(media_type).split_once('/').unwrap();
            let mut tokens = [of, subtype].into_iter();
            assert!(
                tokens.all(|token| crate::field::is_token(token.as_bytes())),
                "{line}"
            );
        }
    }
}
