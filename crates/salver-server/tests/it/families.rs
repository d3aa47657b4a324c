//! One socket for IPv4 and IPv6, over TCP and over UDP.

use std::net::{IpAddr, SocketAddr};

use crate::common::client::Client;
use crate::common::settings;
use crate::quic::raw::{get, outcome, send};
use crate::quic::{Served, run};
use bytes::Bytes;
use http::{Request, Response};
use quinn::{Endpoint, TransportConfig};
use salver_server::{Peer, Server, Settings};

/// Says who asks.
async fn who(request: Request<Bytes>) -> Response<String> {
    let peer = request.extensions().get::<Peer>().unwrap();
    Response::new(peer.address.ip().to_string())
}

const LOCAL: [&str; 2] = ["127.0.0.1", "::1"];

fn at(ip: &str, port: u16) -> SocketAddr {
    SocketAddr::new(ip.parse::<IpAddr>().unwrap(), port)
}

#[test]
fn every_interface_is_reached_over_both_families_in_all_protocols() {
    for workers in [1, 3] {
        let settings = Settings {
            workers,
            ..settings()
        };
        let builder = Server::builder().settings(settings).handler(who);
        let mut server = Served::at(builder, at("::", 0));
        let port = server.address.port();
        for ip in LOCAL {
            // The name that the certificate is for leads nowhere: the address is given.
            server.address = at(ip, port);
            assert!(server.head_over_tcp().starts_with("HTTP/1.1 200"), "{ip}");
            run(async {
                let endpoint = Endpoint::client(at(ip, 0)).unwrap();
                let quic = server.quic(&endpoint, TransportConfig::default()).await;
                let (_send, receive) = send(&quic.unwrap(), &get("/", &[])).await;
                let answer = outcome(receive).await;
                assert_eq!(answer, Ok((200, ip.as_bytes().to_vec())));
            });
        }
    }
}

#[test]
fn each_family_may_have_a_socket_of_its_own() {
    let builder = || Server::builder().handler(who);
    let server = builder().listen(at("::", 0)).build().unwrap();
    let port = server.addresses()[0].port();
    let running = crate::common::Running::start(server);
    for ip in LOCAL {
        let answer = Client::new(at(ip, port)).get("/");
        assert_eq!(answer.content, ip.as_bytes());
    }
    running.handle.shutdown();
    running.result().unwrap();
    // Nobody else has that port now, in either family.
    let both = builder().listen(at("0.0.0.0", port)).listen(at("::", port));
    let _running = crate::common::Running::start(both.build().unwrap());
    for ip in LOCAL {
        let answer = Client::new(at(ip, port)).get("/");
        assert_eq!(answer.content, ip.as_bytes());
    }
}
