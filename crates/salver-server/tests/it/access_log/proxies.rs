//! The client behind proxies: by fields and by the PROXY protocol, from trusted networks alone.

use std::net::Ipv4Addr;

use salver_access_log::Format;
use salver_server::{ForwardedField, Network, Proxies, Settings};
use serde_json::Value;

use super::{Log, of, site};
use crate::common::client::{Client, get};
use crate::common::{Running, trusting};
use crate::program::over::Over;
use crate::quic::{Served, run};

const CLIENT: &str = "203.0.113.7";
const ID: &str = "0123456789abcdef0123456789abcdef";

fn trusting_networks(networks: &[&str], field: Option<ForwardedField>, protocol: bool) -> Proxies {
    let networks = networks.iter().map(|text| text.parse::<Network>().unwrap());
    Proxies {
        trusted: networks.collect(),
        field,
        protocol,
    }
}

/// The client in the last of so many lines.
fn client_of(log: &Log, count: usize) -> Value {
    let entry = log.entries(count).pop().unwrap();
    of(&entry, "client.address").clone()
}

#[test]
fn fields_of_trusted_proxies_name_the_client() {
    let more = [
        ("X-Forwarded-For", "198.51.100.1, 203.0.113.7"),
        ("Forwarded", "for=203.0.113.8"),
        ("X-Request-Id", ID),
    ];
    let check = |networks: &[&str], field: Option<ForwardedField>, client: &str, id: bool| {
        let (site, log) = (site(), Log::new(Format::Json));
        let settings = Settings {
            proxies: trusting_networks(networks, field, false),
            ..log.settings()
        };
        let server = Served::with(&site, settings, trusting());
        let address = server.running.address;
        run(async {
            let over = [
                Over::Http1(address),
                Over::Http2(address),
                Over::Http3(&server),
            ];
            for (number, over) in over.iter().enumerate() {
                over.ask("GET", "/a.txt", &more, b"").await;
                assert_eq!(client_of(&log, number + 1), client);
                let entry = log.entries(number + 1).pop().unwrap();
                assert_eq!(*of(&entry, "http.request.id") == ID, id, "{entry}");
            }
        });
    };
    let named = Some(ForwardedField::XForwardedFor);
    check(&["127.0.0.0/8"], named, CLIENT, true);
    check(
        &["127.0.0.0/8", "203.0.113.0/24"],
        named,
        "198.51.100.1",
        true,
    );
    check(
        &["127.0.0.1"],
        Some(ForwardedField::Forwarded),
        "203.0.113.8",
        true,
    );
    check(&["127.0.0.1"], None, "127.0.0.1", true);
    check(&["10.0.0.0/8"], named, "127.0.0.1", false);
    check(&[], named, "127.0.0.1", false);
}

/// A header of version 2 for TCP over IPv4.
fn version_2(source: Ipv4Addr) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".to_vec();
    header.extend(source.octets());
    header.extend([127, 0, 0, 1, 0xd4, 0x31, 0, 80]);
    header
}

#[test]
fn the_proxy_protocol_names_the_client_of_a_connection() {
    let (site, log) = (site(), Log::new(Format::Json));
    let settings = Settings {
        proxies: trusting_networks(&["127.0.0.0/8"], None, true),
        max_connections_per_client: Some(1),
        ..log.settings()
    };
    let server = Running::over(site.root(), settings, trusting());
    let version_1 =
        |client: &str| format!("PROXY TCP4 {client} 127.0.0.1 51234 80\r\n").into_bytes();
    let headers = [
        (version_1(CLIENT), CLIENT),
        (version_2("203.0.113.9".parse().unwrap()), "203.0.113.9"),
        (version_1("203.0.113.10"), "203.0.113.10"),
    ];
    // All of them at once: each is a client of its own.
    let mut clients = Vec::new();
    for (number, (header, expected)) in headers.into_iter().enumerate() {
        let mut client = Client::new(server.address);
        // In two pieces, of which the second has the request as well.
        client.send(&header[..10]);
        client.send([&header[10..], get("/a.txt").as_bytes()].concat());
        assert_eq!(client.answer().status, 200);
        assert_eq!(client_of(&log, number + 1), expected);
        clients.push(client);
    }
    // One more of the first.
    let mut refused = Client::new(server.address);
    refused.send(version_1(CLIENT));
    assert_eq!(refused.head().status, 503);
    assert_eq!(client_of(&log, 4), CLIENT);
    // What begins otherwise is closed without an answer, and without a line.
    let mut other = Client::new(server.address);
    other.send(get("/a.txt"));
    assert!(other.rest().0.is_empty());
    log.entries(4);
}

#[test]
fn from_elsewhere_no_header_is_looked_for() {
    let (site, log) = (site(), Log::new(Format::Json));
    let settings = Settings {
        proxies: trusting_networks(&["10.0.0.0/8"], None, true),
        ..log.settings()
    };
    let server = Running::over(site.root(), settings, trusting());
    assert_eq!(Client::new(server.address).get("/a.txt").status, 200);
    assert_eq!(client_of(&log, 1), "127.0.0.1");
    let mut forged = Client::new(server.address);
    forged.send(b"PROXY TCP4 203.0.113.7 127.0.0.1 51234 80\r\n");
    forged.send(get("/a.txt"));
    assert_eq!(forged.head().status, 400);
    assert_eq!(client_of(&log, 2), "127.0.0.1");
}
