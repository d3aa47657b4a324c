//! Paths: decoded once, confined, and nothing but names of files (RFC 3986 sections 2, 3.3, 6).

use crate::exchange::{Exchange, get};
use crate::expect::Expectation;
use crate::fixture::{Fixture, NAMES, PLAIN_NAMES};
use crate::need::Need;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    names(fixture, rows);
    normalised(fixture, rows);
    refused(rows);
    traversal(rows);
    not_found(rows);
    hidden(fixture, rows);
}

fn names(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 3986 2.1";
    for (file, spelled) in NAMES {
        let name = format!("a name: {}", file.escape_debug());
        let request = get(format!("/names/{spelled}"));
        let expect = Expectation::whole(fixture, &format!("names/{file}"));
        rows.push(Exchange::semantic(section, name, request, expect));
    }
    for target in PLAIN_NAMES {
        let name = format!("needless escapes: {target}");
        let expect = Expectation::whole(fixture, "ten.txt");
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    let backslash = Expectation::whole(fixture, "names/back\\slash.txt")
        .or(404)
        .or(400);
    let request = get("/names/back%5Cslash.txt");
    let name = "a backslash is a byte of a name, or refused";
    rows.push(Exchange::semantic(section, name, request, backslash));
    let long = "n".repeat(255);
    let expect = Expectation::whole(fixture, &format!("names/{long}"));
    let request = get(format!("/names/{long}"));
    rows.push(Exchange::semantic(
        section,
        "a name of 255 bytes",
        request,
        expect,
    ));
    for spelled in ["latin1-%E9.txt", "latin1-%e9.txt"] {
        let name = format!("a name that is not UTF-8: {spelled}");
        let expect = Expectation::bytes(fixture.bytes("not-utf-8"));
        let request = get(format!("/names/{spelled}"));
        let row = Exchange::semantic(section, name, request, expect).needs(Need::RawNames);
        rows.push(row);
    }
    // Octets beyond ASCII without an escape are no URI, but no harm either.
    let request = get("/names/\u{fc}n\u{ef}code.txt");
    let expect = Expectation::whole(fixture, "names/\u{fc}n\u{ef}code.txt")
        .or(400)
        .kept_or_closed();
    rows.push(Exchange::semantic(
        section,
        "a name beyond ASCII, raw",
        request,
        expect,
    ));
    let request = get("/names/plus%20plus.txt");
    let name = "a plus is no space";
    rows.push(Exchange::semantic(
        section,
        name,
        request,
        Expectation::status(404),
    ));
    let request = get("/names/with+space.txt");
    let name = "a space is no plus";
    rows.push(Exchange::semantic(
        section,
        name,
        request,
        Expectation::status(404),
    ));
}

fn normalised(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    let section = "RFC 3986 5.2.4";
    for target in [
        "/./ten.txt",
        "/././ten.txt",
        "//ten.txt",
        "///ten.txt",
        "/.//ten.txt",
        "//./ten.txt",
        "/%2e/ten.txt",
        "/%2E/ten.txt",
        "/nested/../ten.txt",
        "/nested/a/../../ten.txt",
        "/nested/%2e%2e/ten.txt",
        "/nested/.%2e/ten.txt",
        "/nested/%2E./ten.txt",
        "/nested//..//ten.txt",
        "/nested/./../ten.txt",
        "/none/../ten.txt",
        "/plain.txt/../ten.txt",
        "/special/unreadable-dir/../../ten.txt",
        "/.git/../ten.txt",
        "/a/b/c/d/../../../../ten.txt",
        "/special/escape-dir/../../ten.txt",
    ] {
        let name = format!("normalised: {target}");
        let expect = Expectation::whole(fixture, "ten.txt");
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    for target in [
        "/apt/./Packages",
        "/./apt/Packages",
        "/apt//Packages",
        "/./apt/././/Packages",
    ] {
        let name = format!("as apt asks: {target}");
        let expect = Expectation::whole(fixture, "apt/Packages");
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    for target in [
        "/",
        "//",
        "/./",
        "/.",
        "/././.",
        "/nested/..",
        "/nested/../",
        "/nested/%2e%2e",
    ] {
        let name = format!("the root as {target}");
        let expect = Expectation::whole(fixture, "index.html");
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    for target in [
        "/with-index/.",
        "/with-index/./",
        "/with-index//",
        "/nested/../with-index/.",
    ] {
        let name = format!("a directory as {target}");
        let expect = Expectation::whole(fixture, "with-index/index.html");
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    for target in [
        "/ten.txt/",
        "/ten.txt//",
        "/ten.txt/.",
        "/ten.txt/x",
        "/ten.txt/index.html",
    ] {
        let name = format!("below a file: {target}");
        rows.push(Exchange::semantic(
            section,
            name,
            get(target),
            Expectation::status(404),
        ));
    }
    let long = format!("/{}ten.txt", "./".repeat(1500));
    let expect = Expectation::whole(fixture, "ten.txt");
    rows.push(Exchange::semantic(
        section,
        "1500 dot segments",
        get(long),
        expect.clone(),
    ));
    let long = format!("/{}{}ten.txt", "a/".repeat(700), "../".repeat(700));
    rows.push(Exchange::semantic(
        section,
        "700 segments down and up",
        get(long),
        expect,
    ));
}

/// Malformed paths.
fn refused(rows: &mut Vec<Exchange>) {
    let section = "RFC 3986 2.1";
    for target in [
        "/%",
        "/%4",
        "/%zz",
        "/%4g",
        "/%g4",
        "/%%20",
        "/ten.txt%",
        "/ten.txt%2",
        "/% 41",
        "/%+41",
        "/%-1",
        "/%u002e",
        "/%u2216",
        "/a%/b",
        "/%0x41",
        "/ten%2.txt",
        "/%\u{fc}",
    ] {
        if target.contains(' ') {
            continue;
        }
        let name = format!("a malformed escape: {target}");
        let expect = Expectation::status(400).kept_or_closed();
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    for target in [
        "/%00",
        "/ten.txt%00",
        "/ten.txt%00.html",
        "/%00/ten.txt",
        "/with-index/%00",
        "/%00%00",
        "/nested%00/../ten.txt",
        "/.%00./secret.txt",
        "/..%00/secret.txt",
    ] {
        let name = format!("an encoded NUL: {target}");
        let expect = Expectation::status(400).kept_or_closed();
        rows.push(Exchange::semantic(
            "RFC 3986 7.3",
            name,
            get(target),
            expect,
        ));
    }
}

/// Ways out of the root that must lead nowhere.
fn traversal(rows: &mut Vec<Exchange>) {
    let section = "RFC 9110 17.3";
    for target in [
        "/..",
        "/../",
        "/../secret.txt",
        "/../../secret.txt",
        "/%2e%2e/secret.txt",
        "/%2E%2e/secret.txt",
        "/.%2e/secret.txt",
        "/%2e./secret.txt",
        "/./../secret.txt",
        "//../secret.txt",
        "/nested/../../secret.txt",
        "/nested/a/../../../secret.txt",
        "/none/../../secret.txt",
        "/nested/%2e%2e/%2e%2e/secret.txt",
        "/nested/..//../secret.txt",
        "/../site/ten.txt",
        "/../site-secret/secret.txt",
        "/../sitesecret.txt",
        "/../../../../../../../../etc/passwd",
        "/ten.txt/../../secret.txt",
        "/../site/../secret.txt",
        "/..?/ten.txt",
    ] {
        let name = format!("above the root: {target}");
        let expect = Expectation::status(400).kept_or_closed();
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    for target in [
        "/..%2fsecret.txt",
        "/..%2Fsecret.txt",
        "/%2e%2e%2fsecret.txt",
        "/%2e%2e%2f%2e%2e%2fsecret.txt",
        "/nested%2f..%2f..%2fsecret.txt",
        "/..%5csecret.txt",
        "/..%5Csecret.txt",
        "/%2e%2e%5csecret.txt",
        "/..\\secret.txt",
        "/\\..\\secret.txt",
        "/nested\\..\\..\\secret.txt",
        "/%5c..%5csecret.txt",
        "/..%c0%afsecret.txt",
        "/%c0%ae%c0%ae/secret.txt",
        "/%c0%ae%c0%ae%c0%afsecret.txt",
        "/%e0%80%ae%e0%80%ae/secret.txt",
        "/%f0%80%80%ae%f0%80%80%ae/secret.txt",
        "/%c1%9csecret.txt",
        "/%252e%252e/secret.txt",
        "/%252e%252e%252fsecret.txt",
        "/..%252fsecret.txt",
        "/%25%32%65%25%32%65/secret.txt",
        "/.../secret.txt",
        "/..../secret.txt",
        "/..;/secret.txt",
        "/..;x=y/secret.txt",
        "/.;/../secret.txt;",
        "/%20../secret.txt",
        "/..%20/secret.txt",
        "/..%09/secret.txt",
        "/%ef%bc%8e%ef%bc%8e/secret.txt",
        "/%e2%80%a5/secret.txt",
        "/secret.txt",
        "/site/ten.txt",
        "/etc/passwd",
        "/proc/self/environ",
        "/C:/secret.txt",
        "/~root/secret.txt",
        "/file:///etc/passwd",
        "/ten.txt::$DATA",
        "/%2fetc%2fpasswd",
        "/%2e%2e%3b/secret.txt",
    ] {
        let name = format!("no way out: {target}");
        let expect = Expectation::status(404).or(400).kept_or_closed();
        rows.push(Exchange::semantic(section, name, get(target), expect));
    }
    for target in [
        "/%2f",
        "/%2F",
        "/nested%2fa",
        "/nested%2Fa%2Fb%2F",
        "/with-index%2f",
        "/with-index%2findex.html",
        "/%2ften.txt",
        "/nested/a%2fb/index.html",
        "/ten.txt%2f",
    ] {
        let name = format!("an encoded slash is none: {target}");
        let expect = Expectation::status(404);
        rows.push(Exchange::semantic(
            "RFC 3986 2.2",
            name,
            get(target),
            expect,
        ));
    }
}

fn not_found(rows: &mut Vec<Exchange>) {
    let long = "x".repeat(256);
    let longer = "y".repeat(2000);
    let deep = "/d".repeat(1000);
    let beyond = format!("/{}", "segment/".repeat(700));
    for (name, target) in [
        ("nothing", "/none"),
        ("nothing with an extension", "/none.js"),
        ("nothing in a directory", "/nested/none"),
        ("nothing in nothing", "/none/none/none"),
        ("a directory that is not there", "/none/"),
        ("another case", "/TEN.TXT"),
        ("another case, encoded", "/%54en.txt"),
        ("a name with a space behind it", "/ten.txt%20"),
        ("a name with a dot behind it", "/ten.txt."),
        ("a name with a newline behind it", "/ten.txt%0a"),
        ("a name with a semicolon behind it", "/ten.txt;v=1"),
        ("a star", "/*"),
        ("a glob", "/*.txt"),
        ("a name of 256 bytes", &format!("/{long}")),
        ("a name of 2000 bytes", &format!("/{longer}")),
        (
            "a name too long for a sibling",
            &format!("/names/{}", "n".repeat(253)),
        ),
        ("1000 directories deep", &deep),
        ("a path longer than the system takes", &beyond),
        ("markup in a name", "/%3Cscript%3Ealert(1)%3C/script%3E"),
        ("a control byte in a name", "/%01%1f%7f"),
        ("bytes that are no UTF-8", "/%ff%fe"),
    ] {
        let name = format!("not found: {name}");
        let expect = Expectation::status(404);
        rows.push(Exchange::semantic(
            "RFC 9110 15.5.5",
            name,
            get(target),
            expect,
        ));
    }
}

/// Names that begin with a dot.
fn hidden(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for target in [
        "/.env",
        "/%2eenv",
        "/%2Eenv",
        "/.htaccess",
        "/.git",
        "/.git/",
        "/.git/config",
        "/%2egit/config",
        "/.hidden/file.txt",
        "/.hidden",
        "/nested/.htaccess",
        "/nested/.git/config",
        "/..double",
        "/...",
        "/.well-known/.secret",
        "/nested/.well-known/security.txt",
        "/.none",
        "/.well-known/../.env",
        "/./.env",
        "//.env",
        "/nested/../.env",
        "/.Well-Known/security.txt",
        "/.well-known-not/x",
    ] {
        let name = format!("hidden: {target}");
        let expect = Expectation::status(404);
        rows.push(Exchange::semantic("dotfiles", name, get(target), expect));
    }
    for (target, file) in [
        ("/.well-known/security.txt", ".well-known/security.txt"),
        ("/%2ewell-known/security.txt", ".well-known/security.txt"),
        ("/./.well-known/security.txt", ".well-known/security.txt"),
        ("//.well-known//security.txt", ".well-known/security.txt"),
        (
            "/nested/../.well-known/security.txt",
            ".well-known/security.txt",
        ),
        (
            "/.well-known/acme-challenge/token",
            ".well-known/acme-challenge/token",
        ),
    ] {
        let name = format!("well known: {target}");
        let expect = Expectation::whole(fixture, file);
        rows.push(Exchange::semantic("RFC 8615 3", name, get(target), expect));
    }
    let request = get("/.well-known");
    let expect = Expectation::redirect("/.well-known/", None).or(404);
    rows.push(Exchange::semantic(
        "RFC 8615 3",
        "the well-known directory",
        request,
        expect,
    ));
}
