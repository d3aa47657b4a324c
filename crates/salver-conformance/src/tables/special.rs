//! Symlinks, FIFOs, sockets, devices, and files that may not be read.

use crate::exchange::{Exchange, get};
use crate::expect::Expectation;
use crate::fixture::Fixture;
use crate::need::Need;

pub(super) fn rows(fixture: &Fixture, rows: &mut Vec<Exchange>) {
    for (target, file) in [
        ("/special/file.txt", "special/file.txt"),
        ("/special/inside.txt", "ten.txt"),
        ("/special/chain.txt", "ten.txt"),
        ("/special/inside-dir/", "with-index/index.html"),
        ("/special/inside-dir/index.html", "with-index/index.html"),
        ("/linked-index/", "index.html"),
        ("/linked-index/index.html", "index.html"),
    ] {
        let name = format!("a symlink beneath the root: {target}");
        let expect = Expectation::whole(fixture, file);
        rows.push(Exchange::semantic("symlinks", name, get(target), expect));
    }
    let expect = Expectation::redirect("/special/inside-dir/", None);
    let name = "a symlink to a directory is redirected as itself";
    rows.push(Exchange::semantic(
        "symlinks",
        name,
        get("/special/inside-dir"),
        expect,
    ));
    for target in [
        "/special/escape-relative",
        "/special/escape.html",
        "/special/escape-absolute",
        "/special/escape-chain",
        "/special/escape-dir",
        "/special/escape-dir/",
        "/special/escape-dir/secret.txt",
        "/special/escape-dir/site/ten.txt",
        "/special/escape-prefix",
        "/special/escape-prefix/secret.txt",
        "/special/escape-system",
        "/special/escape-system/etc/passwd",
        "/special/out-and-in.txt",
        "/escaping-index/",
        "/escaping-index/index.html",
    ] {
        let name = format!("a symlink out of the root: {target}");
        let expect = Expectation::status(404);
        rows.push(Exchange::semantic("symlinks", name, get(target), expect));
    }
    for target in [
        "/special/loop-a",
        "/special/loop-b",
        "/special/self",
        "/special/self/x",
        "/special/dangling",
    ] {
        let name = format!("a symlink to nothing: {target}");
        let expect = Expectation::status(404);
        rows.push(Exchange::semantic("symlinks", name, get(target), expect));
    }
    let expect = Expectation::status(404);
    rows.push(Exchange::semantic(
        "symlinks",
        "a link to a device",
        get("/special/device"),
        expect,
    ));
    for (target, need) in [
        ("/special/fifo", Need::Fifo),
        ("/special/fifo.txt", Need::Fifo),
        ("/special/fifo/", Need::Fifo),
        ("/special/fifo/x", Need::Fifo),
        ("/fifo-index/", Need::Fifo),
        ("/fifo-index/index.html", Need::Fifo),
        ("/special/socket", Need::Socket),
        ("/special/socket/", Need::Socket),
    ] {
        let name = format!("no ordinary file: {target}");
        let row = Exchange::semantic("FIFOs", name, get(target), Expectation::status(404));
        rows.push(row.needs(need));
    }
    let request = get("/special/fifo-sibling.js").with("Accept-Encoding", "gzip");
    let expect = Expectation::whole(fixture, "special/fifo-sibling.js").coded("identity");
    let name = "a FIFO is no sibling, and blocks nobody";
    rows.push(Exchange::semantic("FIFOs", name, request, expect).needs(Need::Fifo));
    for target in ["/special/locked.txt", "/special/unreadable-dir/file.txt"] {
        let name = format!("may not be read: {target}");
        let row = Exchange::semantic(
            "RFC 9110 15.5.4",
            name,
            get(target),
            Expectation::status(403),
        );
        rows.push(row.needs(Need::Unprivileged));
    }
    let expect = Expectation::status(403).or(404);
    let name = "may not be read: a directory's index";
    let row = Exchange::semantic(
        "RFC 9110 15.5.4",
        name,
        get("/special/unreadable-dir/"),
        expect,
    );
    rows.push(row.needs(Need::Unprivileged));
}
