//! Whom the admin listener answers: pages of its own, who has the token, who may open its Unix socket.

use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;

use super::watched::{Watched, exchange};
use crate::common::{Running, check_one_line, run, site, stop};

const TOKEN: &str = "a-token-of-twenty-four-b";

#[test]
fn pages_of_others_are_refused() {
    let root = site(&[("index.html", "page")]);
    let watched = Watched::start(root.path(), &[]);
    watched.server.get("/", "");
    let before = watched.cached();
    let own = format!("Origin: http://{}\r\n", watched.admin);
    assert_eq!(watched.ask("POST", "/cache/pause", &own).0, 200);
    assert_eq!(watched.ask("POST", "/cache/resume", &own).0, 200);
    for fields in [
        "Origin: http://evil.example\r\n",
        "Origin: null\r\n",
        "Sec-Fetch-Site: cross-site\r\n",
        "Sec-Fetch-Site: same-site\r\n",
    ] {
        for path in ["/cache/purge?all", "/cache/pause", "/reload"] {
            assert_eq!(watched.ask("POST", path, fields).0, 403, "{fields}");
        }
        assert_eq!(watched.ask("GET", "/status", fields).0, 403, "{fields}");
    }
    // A name that somebody else has pointed here.
    let mut stream = TcpStream::connect(watched.admin).unwrap();
    let named = exchange(
        &mut stream,
        "POST",
        "/cache/purge?all",
        "Host: evil.example\r\n",
    );
    assert_eq!(named.0, 421);
    assert_eq!(watched.ask("GET", "/cache/purge?all", "").0, 405);
    assert_eq!(watched.cached(), before);
    assert_eq!(watched.status()["cache"]["paused"], false);
    stop(watched.server);
}

#[test]
fn beyond_loopback_there_is_a_token_or_no_start() {
    let root = site(&[("index.html", "page")]);
    let path = root.path().to_str().unwrap();
    for command in ["serve", "check"] {
        let arguments = [command, path, "--admin", "0.0.0.0:0"];
        check_one_line(
            &arguments,
            2,
            &["--admin 0.0.0.0:0", "no token", "SALVER_ADMIN_TOKEN"],
        );
    }
    let flags = ["--admin", "0.0.0.0:0"];
    let watched = Watched::start_with(root.path(), &flags, |command| {
        command.env("SALVER_ADMIN_TOKEN", TOKEN);
    });
    // It is nowhere where others on this machine could read it.
    let pid = watched.server.pid();
    let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(!line.contains(TOKEN));
    let watched = Watched {
        admin: SocketAddr::from(([127, 0, 0, 1], watched.admin.port())),
        ..watched
    };
    let shown = format!("Authorization: Bearer {TOKEN}\r\n");
    let wrong = format!("Authorization: Bearer {TOKEN}x\r\n");
    for target in ["/status", "/metrics", "/cache"] {
        assert_eq!(watched.ask("GET", target, "").0, 401, "{target}");
        assert_eq!(watched.ask("GET", target, &wrong).0, 401, "{target}");
        assert_eq!(watched.ask("GET", target, &shown).0, 200, "{target}");
    }
    assert_eq!(watched.ask("POST", "/cache/purge?all", "").0, 401);
    assert_eq!(watched.ask("GET", "/live", "").0, 200);
    assert_eq!(watched.ask("GET", "/", "").0, 200);
    let (code, _, said) = watched.client(&["status"]);
    assert!(code == 1 && said.contains("wants its token"), "{said}");
    let file = root.path().join("token");
    std::fs::write(&file, format!("{TOKEN}\n")).unwrap();
    let file = ["status", "--admin-token-file", file.to_str().unwrap()];
    assert_eq!(watched.client(&file).0, 0);
    stop(watched.server);
}

#[test]
fn a_unix_socket_is_for_its_owner() {
    let root = site(&[("dist/index.html", "page")]);
    let path = root.path().join("admin.sock");
    let socket = ["--admin-socket", path.to_str().unwrap()];
    let mut server = Running::start(&root.path().join("dist"), &socket);
    let line = server.wait_for_line("admin ");
    assert!(line.contains("a Unix socket"), "{line}");
    let mode = std::fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let mut stream = UnixStream::connect(&path).unwrap();
    let (status, body) = exchange(&mut stream, "GET", "/live", "Host: localhost\r\n");
    assert_eq!((status, &*body), (200, "live\n"));
    let (code, out, said) = run(&[&["health"][..], &socket].concat());
    assert_eq!((code, &*out), (0, "ready\n"), "{said}");
    // A second server does not take it away.
    let second = root.path().join("dist");
    let second = ["serve", second.to_str().unwrap(), "--port", "0"];
    check_one_line(
        &[&second[..], &socket].concat(),
        1,
        &["admin.sock", "is taken"],
    );
    stop(server);
    assert!(!path.exists());
    check_one_line(&[&["health"][..], &socket].concat(), 1, &["nobody listens"]);
}
