//! HTTP/3 when a server changes to other settings.

use salver_server::Settings;

use crate::common::{Site, bind, trusting, until};
use crate::quic::{Served, run, within};

#[test]
fn a_connection_goes_on_with_what_there_is_now_and_ends_where_http3_does() {
    let sites = [b"old", b"new"].map(|content| Site::with(&[("a", content)]));
    let served = Served::new(&sites[0]);
    let reload = |site: &Site, settings| {
        let engine = bind(site.root(), crate::common::settings(), trusting());
        let reloaded = served
            .running
            .handle
            .reload(engine.engine().clone(), settings);
        assert_eq!(reloaded.unwrap().tls_addresses, [served.address]);
    };
    run(async {
        let mut session = served.connect().await;
        assert_eq!(session.get("/a").await.content, b"old");
        reload(&sites[1], served.settings());
        assert_eq!(session.get("/a").await.content, b"new");
        let mut fresh = served.connect().await;
        assert_eq!(fresh.get("/a").await.content, b"new");
        drop(fresh);
        let without = Settings {
            http3: false,
            ..served.settings()
        };
        reload(&sites[1], without);
        let end = within(session.ends()).await;
        assert!(
            matches!(end, quinn::ConnectionError::ApplicationClosed(_)),
            "{end:?}"
        );
        // And back, at the same port, once it is free.
        until("its socket is closed", || {
            std::net::UdpSocket::bind(served.address).is_ok()
        });
        reload(&sites[0], served.settings());
        let mut again = served.connect().await;
        assert_eq!(again.get("/a").await.content, b"old");
    });
}
