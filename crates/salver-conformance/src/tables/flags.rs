//! What the flags change: every row here is for a server with one flag.

use super::negotiation::coded;
use crate::exchange::{Exchange, Request, get};
use crate::expect::Expectation;
use crate::fixture::Fixture;
use crate::need::Need;
use crate::setup::Setup;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    spa(fixture, rows);
    spa_file(fixture, rows);
    dotfiles(fixture, rows);
    symlinks_none(fixture, rows);
    symlinks_any(fixture, rows);
    mounts(fixture, rows);
    gzip_only(fixture, rows);
    index(fixture, rows);
}

/// Rows of one setup: target and the file that it gives, or the status.
fn plain(
    fixture: &Fixture,
    rows: &mut Vec<Exchange>,
    setups: &'static [Setup],
    section: &'static str,
    table: &[(&str, Result<&str, u16>)],
) {
    for (target, outcome) in table {
        let expect = match outcome {
            Ok(file) => Expectation::whole(fixture, file),
            Err(status) => Expectation::status(*status),
        };
        let expect = if matches!(outcome, Err(400)) {
            expect.kept_or_closed()
        } else {
            expect
        };
        let name = format!("{section}: {target}");
        rows.push(Exchange::semantic(section, name, get(target), expect).on(setups));
    }
}

fn spa(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "--spa";
    let setups = &[Setup::Spa];
    let index = Ok("index.html");
    let table = [
        ("/", index),
        ("/index.html", index),
        ("/route", index),
        ("/route/", index),
        ("/some/deep/route", index),
        ("/route?query=1", index),
        ("/user/john.doe", index),
        ("/release/v1.2.3", index),
        ("/a%20route", index),
        ("/nested/none", index),
        ("/%E6%97%A5", index),
        ("/ten.txt", Ok("ten.txt")),
        ("/with-index/", Ok("with-index/index.html")),
        ("/coded/app.js", Ok("coded/app.js")),
        ("/missing.js", Err(404)),
        ("/missing.css", Err(404)),
        ("/missing.png", Err(404)),
        ("/missing.html", Err(404)),
        ("/missing.json", Err(404)),
        ("/missing.js.map", Err(404)),
        ("/MISSING.JS", Err(404)),
        ("/missing%2Ejs", Err(404)),
        ("/deep/route/missing.woff2", Err(404)),
        ("/assets/app.99999999.js", Err(404)),
        ("/missing.js?v=1", Err(404)),
        ("/.env", Err(404)),
        ("/.git/config", Err(404)),
        ("/.none", Err(404)),
        ("/route/.none", Err(404)),
        ("/../secret", Err(400)),
        ("/%2e%2e/secret", Err(400)),
        ("/route%00", Err(400)),
        ("/route%zz", Err(400)),
    ];
    plain(fixture, rows, setups, section, &table);
    let mut row = |name: &str, request: Request, expect: Expectation| {
        rows.push(Exchange::semantic(section, name, request, expect).on(setups));
    };
    let request = get("/with-index");
    row(
        "--spa: a directory is redirected",
        request,
        Expectation::redirect("/with-index/", None),
    );
    let request = get("/route").with("Range", "bytes=0-8");
    row(
        "--spa: a range",
        request,
        Expectation::part(fixture, "index.html", 0..9),
    );
    let request = get("/route").with("If-None-Match", "${etag:/index.html}");
    row("--spa: not modified", request, Expectation::not_modified());
    let expect = Expectation::whole(fixture, "index.html")
        .has("etag", "${etag:/}")
        .has("cache-control", "no-cache");
    row(
        "--spa: the index's own fields",
        get("/assets-of-old/route"),
        expect,
    );
    let expect = Expectation::status(405).kept_or_closed();
    row("--spa: POST", Request::new("POST", "/route"), expect);
    let expect = Expectation::status(404).or(200);
    row(
        "--spa: a directory without an index",
        get("/no-index/"),
        expect.clone(),
    );
    row(
        "--spa: a symlink out of the root",
        get("/special/escape-relative"),
        expect,
    );
    let expect = Expectation::status(404);
    row(
        "--spa: a symlink that looks like a page",
        get("/special/escape.html"),
        expect,
    );
    let expect = Expectation::whole(fixture, "index.html").has("cache-control", "no-cache");
    row(
        "--spa: a route is never immutable",
        get("/route.3f9a1c2b.x-y"),
        expect,
    );
}

fn spa_file(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "--spa=shell.html";
    let setups = &[Setup::SpaFile];
    let table = [
        ("/", Ok("index.html")),
        ("/route", Ok("shell.html")),
        ("/some/route/", Ok("shell.html")),
        ("/shell.html", Ok("shell.html")),
        ("/missing.js", Err(404)),
        ("/.none", Err(404)),
    ];
    plain(fixture, rows, setups, section, &table);
    for coding in ["br", "zstd", "gzip"] {
        let name = format!("{section}: a route in {coding}");
        let request = get("/route").with("Accept-Encoding", coding);
        let expect = coded(fixture, "shell.html", coding);
        rows.push(Exchange::semantic(section, name, request, expect).on(setups));
    }
}

fn dotfiles(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let table = [
        ("/.env", Ok(".env")),
        ("/%2eenv", Ok(".env")),
        ("/.git/config", Ok(".git/config")),
        ("/.hidden/file.txt", Ok(".hidden/file.txt")),
        ("/nested/.htaccess", Ok("nested/.htaccess")),
        ("/..double", Ok("..double")),
        ("/...", Ok("...")),
        ("/.well-known/security.txt", Ok(".well-known/security.txt")),
        ("/.well-known/.secret", Ok(".well-known/.secret")),
        ("/.", Ok("index.html")),
        ("/./ten.txt", Ok("ten.txt")),
        ("/.none", Err(404)),
        ("/..", Err(400)),
        ("/../secret.txt", Err(400)),
        ("/%2e%2e/secret.txt", Err(400)),
    ];
    plain(fixture, rows, &[Setup::Dotfiles], "--dotfiles", &table);
}

fn symlinks_none(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let table = [
        ("/", Ok("index.html")),
        ("/ten.txt", Ok("ten.txt")),
        ("/nested/a/b/c/deep.txt", Ok("nested/a/b/c/deep.txt")),
        ("/special/file.txt", Ok("special/file.txt")),
        ("/special/inside.txt", Err(404)),
        ("/special/chain.txt", Err(404)),
        ("/special/inside-dir/", Err(404)),
        ("/special/inside-dir/index.html", Err(404)),
        ("/linked-index/", Err(404)),
        ("/linked-index/index.html", Err(404)),
        ("/special/escape-relative", Err(404)),
        ("/special/escape-absolute", Err(404)),
        ("/special/escape-dir/secret.txt", Err(404)),
        ("/special/self", Err(404)),
    ];
    plain(
        fixture,
        rows,
        &[Setup::SymlinksNone],
        "--symlinks none",
        &table,
    );
}

fn symlinks_any(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let setups = &[Setup::SymlinksAny];
    let section = "--symlinks any";
    let table = [
        ("/", Ok("index.html")),
        ("/special/inside.txt", Ok("ten.txt")),
        ("/special/chain.txt", Ok("ten.txt")),
        ("/special/inside-dir/", Ok("with-index/index.html")),
        ("/special/escape-relative", Ok("../secret.txt")),
        ("/special/escape-absolute", Ok("../secret.txt")),
        ("/special/escape-chain", Ok("../secret.txt")),
        ("/special/escape-dir/secret.txt", Ok("../secret.txt")),
        (
            "/special/escape-prefix/secret.txt",
            Ok("../site-secret/secret.txt"),
        ),
        ("/special/out-and-in.txt", Ok("ten.txt")),
        ("/escaping-index/", Ok("../secret.txt")),
        // A link is the owner's word; dots in a request are not.
        ("/../secret.txt", Err(400)),
        ("/special/../../secret.txt", Err(400)),
        ("/special/loop-a", Err(404)),
        ("/special/self", Err(404)),
        ("/special/dangling", Err(404)),
        ("/special/device", Err(404)),
    ];
    plain(fixture, rows, setups, section, &table);
    let name = format!("{section}: a FIFO");
    let row = Exchange::semantic(
        section,
        name,
        get("/special/fifo"),
        Expectation::status(404),
    );
    rows.push(row.on(setups).needs(Need::Fifo));
}

fn mounts(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "--mount";
    let setups = &[Setup::Mount];
    let table = [
        ("/", Ok("index.html")),
        ("/ten.txt", Ok("ten.txt")),
        ("/files/", Ok("../mounted/index.html")),
        ("/files/a.txt", Ok("../mounted/a.txt")),
        ("/files//a.txt", Ok("../mounted/a.txt")),
        ("/files/./a.txt", Ok("../mounted/a.txt")),
        ("/f%69les/a.txt", Ok("../mounted/a.txt")),
        ("//files/a.txt", Ok("../mounted/a.txt")),
        ("/nested/../files/a.txt", Ok("../mounted/a.txt")),
        ("/files/sub/", Ok("../mounted/sub/index.html")),
        ("/files/sub/../a.txt", Ok("../mounted/a.txt")),
        ("/files/../ten.txt", Ok("ten.txt")),
        ("/files/none", Err(404)),
        ("/files/ten.txt", Err(404)),
        ("/files/.hidden", Err(404)),
        ("/files/escape", Err(404)),
        ("/files/../../secret.txt", Err(400)),
        ("/files/%2e%2e/%2e%2e/secret.txt", Err(400)),
        ("/files/%2e%2e/mounted/a.txt", Err(404)),
        ("/FILES/a.txt", Err(404)),
        ("/filesa.txt", Err(404)),
        ("/files-of-root.txt", Ok("files-of-root.txt")),
        ("/nested/over/a.txt", Ok("../over/a.txt")),
        ("/nested/a/b/", Ok("nested/a/b/index.html")),
        ("/nested/over/none", Err(404)),
        ("/one-file.txt", Ok("../one-file.txt")),
        ("/one-file.txt?query", Ok("../one-file.txt")),
        ("/./one-file.txt", Ok("../one-file.txt")),
        ("/one-file.txt/", Err(404)),
        ("/one-file.txt/x", Err(404)),
    ];
    plain(fixture, rows, setups, section, &table);
    for (target, location) in [
        ("/files", "/files/"),
        ("//files", "/files/"),
        ("/files/sub", "/files/sub/"),
        ("/with-index", "/with-index/"),
    ] {
        let name = format!("{section}: {target} is redirected");
        let expect = Expectation::redirect(location, None);
        rows.push(Exchange::semantic(section, name, get(target), expect).on(setups));
    }
    let request = get("/one-file.txt").with("Range", "bytes=0-2");
    let expect = Expectation::part(fixture, "../one-file.txt", 0..3);
    let name = format!("{section}: a range of one file");
    rows.push(Exchange::semantic(section, name, request, expect).on(setups));
    let request = get("/files/a.txt").with("If-None-Match", "${etag:/files/a.txt}");
    let name = format!("{section}: not modified");
    let expect = Expectation::not_modified();
    rows.push(Exchange::semantic(section, name, request, expect).on(setups));
}

fn gzip_only(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "--precompressed gzip";
    let setups = &[Setup::GzipOnly];
    for (file, accept, coding) in [
        ("coded/app.js", "br", "identity"),
        ("coded/app.js", "zstd", "identity"),
        ("coded/app.js", "gzip", "gzip"),
        ("coded/app.js", "br, gzip;q=0.1", "gzip"),
        ("coded/app.js", "*", "gzip"),
        ("coded/only-br.css", "br", "identity"),
    ] {
        let name = format!("{section}: {file} for '{accept}'");
        let request = get(format!("/{file}")).with("Accept-Encoding", accept);
        let mut expect = coded(fixture, file, coding);
        if file == "coded/only-br.css" {
            expect.fields.retain(|(name, _)| *name != "vary");
        }
        rows.push(Exchange::semantic(section, name, request, expect).on(setups));
    }
    let expect = Expectation::whole(fixture, "coded/app.js.br").lacks("content-encoding");
    let name = format!("{section}: another sibling by its own name");
    rows.push(Exchange::semantic(section, name, get("/coded/app.js.br"), expect).on(setups));
}

fn index(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let table = [
        ("/with-home/", Ok("with-home/home.html")),
        ("/with-home/home.html", Ok("with-home/home.html")),
        ("/with-index/", Err(404)),
        ("/with-index/index.html", Ok("with-index/index.html")),
        ("/", Err(404)),
        ("/index.html", Ok("index.html")),
    ];
    plain(fixture, rows, &[Setup::Index], "--index home.html", &table);
}
