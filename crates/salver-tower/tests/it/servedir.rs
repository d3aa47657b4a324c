//! Every test that tower-http 0.7.1 has for `ServeDir`, as a request to both: what comes of it there and here is the table
//! in docs/from-servedir.md, which `SALVER_REWRITE=1` writes anew.

mod rows;

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use axum::Router;
use axum::response::Response;
use axum::routing::post;
use http::{HeaderValue, Request, Uri};
use http_body_util::BodyExt;
use salver_tower::{Assets, ContentCoding, MemorySource, TrailingSlash};
use tower_http::services::{ServeDir, ServeFile};
use tower_service::Service;

use crate::common::Gate;
use crate::service::Site;

/// The test of theirs, settings, a request, its fields, what of the answer is compared, and why it is another one here.
type Row = (
    &'static str,
    Settings,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// The settings of a row, on both sides.
#[derive(Clone, Copy, Debug)]
enum Settings {
    Plain,
    Gzip,
    Brotli,
    GzipAndBrotli,
    Deflate,
    NoIndex,
    NoRedirect,
    NoIndexNoRedirect,
    Prefix,
    PrefixWithSlash,
    Fallback,
    FallbackFile,
    FallbackForMethods,
    NoIndexAndFallback,
    PrefixAndFallback,
    IgnoresSeveralRanges,
    HtmlAsDefault,
    Memory,
    Fails,
}

use Settings::{
    Brotli, Deflate, Fails, Fallback, FallbackFile, FallbackForMethods, Gzip, GzipAndBrotli,
    HtmlAsDefault, IgnoresSeveralRanges, Memory, NoIndex, NoIndexAndFallback, NoIndexNoRedirect,
    NoRedirect, Plain, Prefix, PrefixAndFallback, PrefixWithSlash,
};

const PAGE: &[u8] = b"<b>page</b>";

fn site() -> Site {
    let text = b"a line of a text\n".repeat(200);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&text).unwrap();
    let gzip = gzip.finish().unwrap();
    let mut deflate = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    deflate.write_all(&text).unwrap();
    let deflate = deflate.finish().unwrap();
    let mut brotli = Vec::new();
    brotli::BrotliCompress(&mut &*text, &mut brotli, &Default::default()).unwrap();
    Site::new(&[
        ("readme.md", &text),
        ("index.html", PAGE),
        ("page.html", PAGE),
        ("foo/index.html", PAGE),
        ("foo/data.json", b"{}"),
        ("text.txt", &text),
        ("text.txt.gz", &gzip),
        ("text.txt.br", &brotli),
        ("text.txt.zz", &deflate),
        ("bare", &text),
        ("bare.gz", &gzip),
        ("bare-alone", b"text"),
        ("missing.txt", b"text"),
        ("only.txt.gz", &gzip),
        ("br.txt", &text),
        ("br.txt.br", &brotli),
        ("empty.txt", b""),
        ("with space.txt", b"text"),
        ("\u{4f60}\u{597d}\u{4e16}\u{754c}.txt", b"text"),
    ])
}

fn fallback() -> Router {
    Router::new().fallback(async |uri: Uri| format!("from the fallback: {}", uri.path()))
}

/// `ServeDir` as the settings have it.
fn theirs(root: &Path, settings: Settings) -> Router {
    let directory = ServeDir::new(root);
    let no_index = || directory.clone().append_index_html_on_directories(false);
    let directory = match settings {
        Plain | Memory | Fails => directory,
        Gzip => directory.precompressed_gzip(),
        Brotli => directory.precompressed_br(),
        GzipAndBrotli => directory.precompressed_gzip().precompressed_br(),
        Deflate => directory.precompressed_deflate(),
        NoIndex => no_index(),
        NoRedirect => directory.redirect_to_trailing_slash(false),
        NoIndexNoRedirect => no_index().redirect_to_trailing_slash(false),
        Prefix => directory.redirect_path_prefix("/static"),
        PrefixWithSlash => directory.redirect_path_prefix("/static/"),
        IgnoresSeveralRanges => directory.ignore_multi_range_requests(true),
        HtmlAsDefault => directory.html_as_default_extension(true),
        Fallback => return service(directory.fallback(fallback())),
        FallbackFile => {
            return service(directory.fallback(ServeFile::new(root.join("readme.md"))));
        }
        FallbackForMethods => {
            let directory = directory.call_fallback_on_method_not_allowed(true);
            return service(directory.fallback(fallback()));
        }
        NoIndexAndFallback => return service(no_index().fallback(fallback())),
        PrefixAndFallback => {
            let directory = directory.redirect_path_prefix("/static");
            return service(directory.fallback(fallback()));
        }
    };
    service(directory)
}

/// What docs/from-servedir.md says in the place of these settings.
fn ours(root: &Path, settings: Settings) -> Router {
    let builder = Assets::builder(root);
    let no_index = || builder.clone().index([] as [&str; 0]);
    let builder = match settings {
        Plain | NoRedirect | IgnoresSeveralRanges | Fallback | FallbackFile
        | FallbackForMethods => builder,
        Gzip => builder.precompressed([ContentCoding::Gzip]),
        Brotli => builder.precompressed([ContentCoding::Brotli]),
        GzipAndBrotli => builder.precompressed([ContentCoding::Gzip, ContentCoding::Brotli]),
        Deflate => builder.precompressed([]),
        NoIndex | NoIndexNoRedirect | NoIndexAndFallback => no_index(),
        Prefix | PrefixWithSlash | PrefixAndFallback => builder,
        HtmlAsDefault => builder.clean_urls(TrailingSlash::Auto),
        Memory => Assets::from_source(memory()),
        Fails => {
            let gate = Gate::before(memory());
            gate.fail(true);
            Assets::from_source(gate)
        }
    };
    let assets = builder.build().unwrap();
    match settings {
        Fallback | NoIndexAndFallback | PrefixAndFallback => service(assets.fallback(fallback())),
        FallbackFile => service(assets.clone().fallback(assets.file_service("readme.md"))),
        FallbackForMethods => Router::new().fallback_service(
            post(async |uri: Uri| format!("from the fallback: {}", uri.path()))
                .fallback_service(assets),
        ),
        _ => service(assets),
    }
}

fn memory() -> Arc<MemorySource> {
    let files = Arc::new(MemorySource::new());
    files.insert("text.txt", b"a line of a text\n".repeat(200), 0);
    files.insert("foo/index.html", PAGE, 0);
    files
}

fn service<S, B>(service: S) -> Router
where
    S: Service<
            Request<axum::body::Body>,
            Response = http::Response<B>,
            Error = std::convert::Infallible,
        > + Clone
        + Send
        + Sync
        + 'static,
    S::Future: Send + 'static,
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<axum::BoxError>,
{
    let respond = move |request: Request<axum::body::Body>| {
        let mut service = service.clone();
        async move {
            let Ok(response) = service.call(request).await;
            response.map(axum::body::Body::new)
        }
    };
    Router::new().fallback(respond)
}

/// Asks a service anew, as each test does. What stands in braces is taken from an answer to the same without fields.
async fn ask(mut app: Router, line: &str, fields: &str) -> Response {
    let (method, target) = line.split_once(' ').unwrap();
    let request = || Request::builder().method(method).uri(target);
    let plain = request().body(axum::body::Body::empty()).unwrap();
    let Ok(first) = app.call(plain).await;
    let mut builder = request();
    for field in fields.split(" | ").filter(|field| !field.is_empty()) {
        let (name, value) = field.split_once(": ").unwrap();
        let mut value = value.to_owned();
        for of_first in ["etag", "last-modified"] {
            if let Some(is) = first.headers().get(of_first) {
                value = value.replace(&format!("{{{of_first}}}"), is.to_str().unwrap());
            }
        }
        builder = builder.header(name, value);
    }
    let request = builder.body(axum::body::Body::empty()).unwrap();
    let Ok(response) = app.call(request).await;
    response
}

/// An answer in words: its status, and these fields where it has them.
async fn outcome(response: Response, shown: &str) -> (String, Vec<u8>) {
    let (head, body) = response.into_parts();
    let content = body.collect().await.unwrap().to_bytes().to_vec();
    let is_coded = head.headers.contains_key("content-encoding");
    let mut words = head.status.as_u16().to_string();
    for name in shown.split_whitespace().filter(|&name| name != "content") {
        let value = head.headers.get(name);
        let Some(value) = value.map(HeaderValue::to_str) else {
            continue;
        };
        let value = value.unwrap();
        match name {
            // Of what kind these are is each one's own affair.
            "etag" | "last-modified" => write!(words, ", `{name}`"),
            // It depends on who coded it.
            "content-length" if is_coded => write!(words, ", `{name}` of the sibling"),
            "content-type" => write!(words, ", `{}`", value.split(';').next().unwrap()),
            "vary" => write!(words, ", `vary: {}`", value.to_lowercase()),
            "allow" => write!(words, ", `allow: {}`", value.replace(' ', "")),
            _ => write!(words, ", `{name}: {value}`"),
        }
        .unwrap();
    }
    if shown.split_whitespace().any(|name| name == "content") {
        match content.is_empty() {
            true => words.push_str(", no content"),
            false => write!(words, ", \"{}\"", String::from_utf8_lossy(&content)).unwrap(),
        }
    }
    (words, content)
}

/// The settings as theirs are called.
fn in_words(settings: Settings) -> &'static str {
    match settings {
        Plain | Fails => "",
        Gzip => "`precompressed_gzip()`, ",
        Brotli => "`precompressed_br()`, ",
        GzipAndBrotli => "`precompressed_gzip()`, `_br()`, ",
        Deflate => "`precompressed_deflate()`, ",
        NoIndex => "`append_index_html_on_directories(false)`, ",
        NoRedirect => "`redirect_to_trailing_slash(false)`, ",
        NoIndexNoRedirect => {
            "`append_index_html_on_directories(false)`, `redirect_to_trailing_slash(false)`, "
        }
        Prefix => "`redirect_path_prefix(\"/static\")`, ",
        PrefixWithSlash => "`redirect_path_prefix(\"/static/\")`, ",
        Fallback => "`fallback(…)`, ",
        FallbackFile => "`fallback(ServeFile)`, ",
        FallbackForMethods => "`call_fallback_on_method_not_allowed(true)`, ",
        NoIndexAndFallback => "no index, `fallback(…)`, ",
        PrefixAndFallback => "a prefix and `fallback(…)`, ",
        IgnoresSeveralRanges => "`ignore_multi_range_requests(true)`, ",
        HtmlAsDefault => "`html_as_default_extension(true)`, ",
        Memory => "in memory, ",
    }
}

/// What a test of theirs is about where that is no answer to a request.
fn is_said(test: &str) -> Option<&'static str> {
    Some(match test {
        "try_call_returns_not_found_error" => "`try_call`: `Err`, not found",
        "try_call_returns_not_a_directory_error" => "`try_call`: `Err`, not a directory",
        "try_call_returns_metadata_error" => "`try_call`: `Err`, of the backend",
        "unexpected_open_error_returns_internal_server_error" => "500",
        "unsync_box_body_new" | "response_body_into_unsync_box_body" => {
            "`UnsyncBoxBody` holds the body"
        }
        "test_is_reserved_dos_name" | "test_build_and_validate_path_reserved_dos_names" => {
            "404 on Windows"
        }
        _ => return None,
    })
}

async fn table() -> String {
    let site = site();
    let mut table = "| test | request | there | here |\n| --- | --- | --- | --- |\n".to_owned();
    for &(test, settings, line, fields, shown, why) in rows::ROWS {
        let there = ask(theirs(site.root(), settings), line, fields).await;
        let (there, content) = outcome(there, shown).await;
        let here = ask(ours(site.root(), settings), line, fields).await;
        let (here, our_content) = outcome(here, shown).await;
        let said = is_said(test);
        let there = said.map_or(there, ToOwned::to_owned);
        let is_same = there == here;
        assert_eq!(
            is_same,
            why.is_empty(),
            "{test}: {there} there, {here} here"
        );
        if is_same && there.starts_with('2') {
            assert!(content == our_content, "{test}: other content");
        }
        let here = match is_same {
            true => "the same".to_owned(),
            false => format!("{here}: {why}"),
        };
        let mut request = format!("{}`{line}`", in_words(settings));
        if !fields.is_empty() {
            write!(request, ", `{}`", fields.replace(" | ", "`, `")).unwrap();
        }
        let request = request.replace('|', "\\|");
        writeln!(table, "| `{test}` | {request} | {there} | {here} |").unwrap();
    }
    table
}

#[tokio::test]
async fn the_table_says_what_both_do() {
    const BEGIN: &str = "<!-- tests:begin -->\n";
    const END: &str = "<!-- tests:end -->";
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/from-servedir.md");
    let document = std::fs::read_to_string(path).unwrap();
    let (before, rest) = document.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{BEGIN}\n{}\n{END}{after}", table().await);
    if std::env::var_os("SALVER_REWRITE").is_some() {
        std::fs::write(path, &expected).unwrap();
    } else {
        assert!(
            document == expected,
            "the table is another: SALVER_REWRITE=1 cargo test --workspace --test it -- servedir writes it anew"
        );
    }
}
