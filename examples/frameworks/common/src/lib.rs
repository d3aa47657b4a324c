//! What each example does beside its framework, and what is asked of each.

use std::ffi::OsString;
use std::future::Future;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use salver_test::program::Program;
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};

/// The arguments `DIR [PORT]`. Without a port it is 8080; 0 takes any free one.
///
/// # Errors
/// If they are others.
pub fn arguments() -> io::Result<(PathBuf, u16)> {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let port = |port: &OsString| port.to_str().and_then(|port| port.parse().ok());
    match &*arguments {
        [directory] => Some((directory.into(), 8080)),
        [directory, at] => port(at).map(|port| (directory.into(), port)),
        _ => None,
    }
    .ok_or_else(|| io::Error::other("the arguments are DIR [PORT]"))
}

/// Listens, says where, and gives what ends with Ctrl-C.
///
/// # Errors
/// If the port cannot be had.
pub async fn listen(port: u16) -> io::Result<(TcpListener, impl Future<Output = ()> + Send)> {
    // Before anybody can know that it runs.
    let mut interrupt = signal(SignalKind::interrupt())?;
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await?;
    println!("http://{}", listener.local_addr()?);
    Ok((listener, async move {
        interrupt.recv().await;
    }))
}

/// Starts an example and asks it for what all of them have.
///
/// # Panics
/// If it answers otherwise.
pub fn check(program: &str) {
    let script = b"run();\n".repeat(100_000);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&script).unwrap();
    let gzip = gzip.finish().unwrap();
    // Longer than what is kept in memory.
    let long: Vec<u8> = (0..3_000_000_u32).map(|n| n.to_le_bytes()[1]).collect();
    let site = tempfile::tempdir().unwrap();
    let write = |name: &str, content: &[u8]| {
        let path = site.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    };
    write("index.html", b"<h1>Hello</h1>");
    write("docs/index.html", b"docs");
    write("a b.txt", b"a and b");
    write("app.js", &script);
    write("app.js.gz", &gzip);
    write("long.bin", &long);

    let program = Program::start(Path::new(program), &[site.path().as_ref(), "0".as_ref()]);
    let health = program.get("/api/health", &[]);
    assert_eq!((health.status, health.text()), (200, "well\n"));
    let page = program.get("/", &[]);
    assert_eq!((page.status, page.text()), (200, "<h1>Hello</h1>"));
    assert_eq!(page.field("content-type"), "text/html; charset=utf-8");
    assert_eq!(page.field("content-length"), "14");
    let same = program.get("/", &[("If-None-Match", page.field("etag"))]);
    assert_eq!((same.status, same.text()), (304, ""));
    let head = program.ask("HEAD", "/", &[]);
    assert_eq!((head.status, head.text()), (200, ""));
    assert_eq!(head.field("content-length"), "14");
    let moved = program.get("/docs", &[]);
    assert_eq!((moved.status, moved.field("location")), (308, "./docs/"));
    assert_eq!(program.get("/a%20b.txt", &[]).text(), "a and b");
    assert_eq!(program.get("/none.js", &[]).status, 404);
    let outside = program.get("/..%2f..%2fetc/passwd", &[]);
    assert!(matches!(outside.status, 400 | 404), "{outside:?}");

    let coded = program.get("/app.js", &[("Accept-Encoding", "gzip")]);
    assert_eq!(
        (coded.status, coded.field("content-encoding")),
        (200, "gzip")
    );
    assert_eq!(coded.content, gzip);
    let plain = program.get("/app.js", &[]);
    assert_eq!((plain.status, plain.field("content-encoding")), (200, ""));
    assert!(plain.content == script && plain.field("etag") != coded.field("etag"));
    let whole = program.get("/long.bin", &[]);
    assert!(whole.status == 200 && whole.content == long);
    let part = program.get("/long.bin", &[("Range", "bytes=2000000-2000009")]);
    assert_eq!(
        (part.status, &*part.content),
        (206, &long[2_000_000..2_000_010])
    );
    assert_eq!(part.field("content-range"), "bytes 2000000-2000009/3000000");
    program.interrupt();
}

#[cfg(test)]
mod tests {
    /// The guide's blocks are lines of the examples, which are run.
    #[test]
    fn the_guide_shows_what_is_run() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../");
        let guide = std::fs::read_to_string(format!("{root}../../docs/frameworks.md")).unwrap();
        let lines = |text: &str| -> Vec<String> {
            let lines = text.lines().map(|line| line.trim().to_owned());
            lines.filter(|line| !line.is_empty()).collect()
        };
        let mut shown = Vec::new();
        for section in guide.split("\n## ").skip(1) {
            let Some((_, rest)) = section.split_once("```rs\n") else {
                continue;
            };
            let (block, _) = rest.split_once("```").unwrap();
            let name = section.split_whitespace().next().unwrap().to_lowercase();
            let source = match &*name {
                "axum" => format!("{root}../../crates/salver-tower/examples/api.rs"),
                _ => format!("{root}with-{name}/src/main.rs"),
            };
            let (block, source) = (
                lines(block),
                lines(&std::fs::read_to_string(&source).unwrap()),
            );
            let is_there = source.windows(block.len()).any(|window| *window == *block);
            assert!(is_there, "the block of {name} is no part of its example");
            shown.push(name);
        }
        assert_eq!(shown, ["axum", "hyper", "actix", "poem", "tonic", "warp"]);
    }
}
