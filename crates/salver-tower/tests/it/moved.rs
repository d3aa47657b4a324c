//! The programs that have left `ServeDir`, over sockets.

use std::io::{Read, Write};

use salver_test::program::{Program, example};

use crate::service::Site;

fn start(name: &str, site: &Site) -> Program {
    Program::start(&example(name), &[site.root().as_ref(), "0".as_ref()])
}

fn gzipped(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// Content that came in chunks.
fn whole(mut chunks: &[u8]) -> Vec<u8> {
    let mut content = Vec::new();
    loop {
        let end = chunks.windows(2).position(|two| two == b"\r\n").unwrap();
        let (length, rest) = chunks.split_at(end);
        let length = std::str::from_utf8(length).unwrap();
        let length = usize::from_str_radix(length, 16).unwrap();
        if length == 0 {
            return content;
        }
        content.extend_from_slice(&rest[2..2 + length]);
        chunks = &rest[2 + length + 2..];
    }
}

#[test]
fn an_application_and_its_api() {
    let script = b"run();\n".repeat(100);
    let site = Site::new(&[
        ("index.html", b"<h1>Hello</h1>"),
        ("assets/app.3f9a1c2b.js", &script),
        ("assets/app.3f9a1c2b.js.gz", &gzipped(&script)),
    ]);
    let program = start("moved_app", &site);
    assert_eq!(program.get("/api/items", &[]).text(), "[]");
    assert_eq!(program.ask("PUT", "/api/items/tray", &[]).status, 201);
    assert_eq!(program.get("/api/items", &[]).text(), r#"["tray"]"#);
    let none = program.get("/api/none", &[]);
    assert_eq!((none.status, none.text()), (404, "\"no such call\""));

    for link in ["/", "/settings/profile", "/items/1"] {
        let page = program.get(link, &[]);
        assert_eq!(
            (page.status, page.text()),
            (200, "<h1>Hello</h1>"),
            "{link}"
        );
        assert_eq!(page.field("cache-control"), "no-cache");
        let same = program.get(link, &[("If-None-Match", page.field("etag"))]);
        assert_eq!(same.status, 304);
    }
    assert_eq!(program.get("/assets/app.00000000.js", &[]).status, 404);
    let path = "/assets/app.3f9a1c2b.js";
    let plain = program.get(path, &[]);
    assert_eq!((plain.status, &plain.content), (200, &script));
    assert!(plain.field("cache-control").ends_with("immutable"));
    let coded = program.get(path, &[("Accept-Encoding", "gzip, deflate, br")]);
    assert_eq!(coded.field("content-encoding"), "gzip");
    assert_ne!(coded.field("etag"), plain.field("etag"));
    let health = program.get("/health", &[]);
    assert!(health.status == 200 && health.text().ends_with("files in memory\n"));
    program.interrupt();
}

#[test]
fn a_site_of_many_pages_and_its_layers() {
    let guide = b"<h1>How to</h1>\n".repeat(100);
    let site = Site::new(&[
        ("index.html", b"home"),
        ("guide.html", &guide),
        ("guide.html.gz", &gzipped(&guide)),
        ("404.html", b"nothing here"),
        ("reference/index.html", b"all of it"),
    ]);
    let program = start("moved_docs", &site);
    let page = program.get("/guide", &[]);
    assert_eq!((page.status, &page.content), (200, &guide));
    assert_eq!(page.field("content-type"), "text/html; charset=utf-8");
    let moved = program.get("/guide.html", &[]);
    assert_eq!((moved.status, moved.field("location")), (308, "./guide"));
    assert_eq!(program.get("/reference/", &[]).text(), "all of it");
    let none = program.get("/none", &[]);
    assert_eq!((none.status, none.text()), (404, "nothing here"));

    // The sibling of the file, with its own tag; what is made is coded by the layer.
    let gzip = ("Accept-Encoding", "gzip");
    let coded = program.get("/guide", &[gzip]);
    assert_eq!(coded.field("content-encoding"), "gzip");
    assert_eq!(coded.content, gzipped(&guide));
    assert_ne!(coded.field("etag"), page.field("etag"));
    let same = program.get("/guide", &[gzip, ("If-None-Match", coded.field("etag"))]);
    assert_eq!(same.status, 304);
    let found = program.get("/search?trays", &[gzip]);
    assert_eq!(found.field("content-encoding"), "gzip");
    let mut text = String::new();
    let found = whole(&found.content);
    let mut decoder = flate2::read::GzDecoder::new(&*found);
    decoder.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("nothing is said of trays\n"));
    // Outer layers see the answers of both.
    assert_eq!(program.get("/count", &[]).text(), "7 answers\n");
    program.interrupt();
}

#[test]
fn files_beneath_a_prefix_and_as_downloads() {
    let site = Site::new(&[
        ("photos (2024)/index.html", b"photos"),
        ("photos (2024)/Z\u{fc}rich \"1\".txt", b"a lake and a town"),
    ]);
    let program = start("moved_downloads", &site);
    // However a client escapes the path, the redirect stays beneath the prefix.
    for path in ["/static/photos%20(2024)", "/static/photos%20%282024%29"] {
        let moved = program.get(path, &[]);
        let location = moved.field("location");
        assert_eq!((moved.status, location), (308, "./photos%20(2024)/"));
        assert_eq!(program.get(&format!("{path}/"), &[]).text(), "photos");
    }
    let path = "/download/photos%20(2024)/Z%C3%BCrich%20%221%22.txt";
    let whole = program.get(path, &[]);
    assert_eq!((whole.status, whole.text()), (200, "a lake and a town"));
    let name = "attachment; filename*=UTF-8''Z%C3%BCrich%20%221%22.txt";
    assert_eq!(whole.field("content-disposition"), name);
    // Resumed as long as the file is the same.
    let rest = ("Range", "bytes=11-");
    let part = program.get(path, &[rest, ("If-Range", whole.field("etag"))]);
    assert_eq!((part.status, part.text()), (206, "a town"));
    assert_eq!(part.field("content-range"), "bytes 11-16/17");
    assert_eq!(part.field("content-disposition"), name);
    let changed = program.get(path, &[rest, ("If-Range", "\"another\"")]);
    assert_eq!((changed.status, changed.text()), (200, "a lake and a town"));
    let head = program.ask("HEAD", path, &[]);
    assert_eq!((head.status, head.field("content-length")), (200, "17"));
    for stranger in [
        "/download/..%2f..%2fetc%2fpasswd",
        "/download/%2e%2e/outside.txt",
    ] {
        let answer = program.get(stranger, &[]);
        assert!(matches!(answer.status, 400 | 404), "{stranger}");
        assert_eq!(answer.field("content-disposition"), "");
    }
    program.interrupt();
}
