//! Which version of HTTP a client is served that agrees on none.

use std::io::Read;

use crate::common::client::request;
use crate::common::secure::{Issued, connect, secure, trusting};
use crate::common::{Running, Site};
use rustls::version::{TLS12, TLS13};
use salver_assets::Config;
use salver_server::Settings;

#[test]
fn without_http1_nobody_is_served_it_who_agrees_on_nothing() {
    let (site, pair) = (Site::with(&[("a", b"alpha")]), Issued::new(&["localhost"]));
    let settings = Settings {
        http1: false,
        ..secure(&[&pair])
    };
    let server = Running::over(site.root(), settings, Config::default());
    for version in [&TLS12, &TLS13] {
        let config = trusting(&[&pair], &[version], &[]);
        let open = || connect(server.address, &config, "localhost").unwrap();
        let mut client = open();
        client.send(request("GET", "/a", ""));
        let (answer, _) = client.rest();
        // GOAWAY with PROTOCOL_ERROR, behind SETTINGS (RFC 9113 section 3.4).
        assert!(answer.ends_with(b"\0\0\0\x01"), "{answer:?}");
        assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
        // GET of /a, after the preface and SETTINGS.
        let mut client = open();
        client.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0");
        client.send(b"\0\0\x11\x01\x05\0\0\0\x01\x82\x87\x44\x02/a\x41\x09localhost");
        let mut received = Vec::new();
        while !received.ends_with(b"alpha") {
            let mut byte = [0];
            client.0.read_exact(&mut byte).unwrap();
            received.push(byte[0]);
        }
    }
}
