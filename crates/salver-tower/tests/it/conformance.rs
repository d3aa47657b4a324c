//! The exchange table through axum and this crate, by a client that believes nothing. What hyper
//! owns - how a message is read, which bytes a target may have - is excepted by name.

use std::net::SocketAddr;

use salver_conformance::{
    Endpoint, Fixture, Http1, Protocol, Request, Response, Setup, Transport, run_semantic,
};
use salver_tower::{Assets, Builder, ContentCoding, Symlinks};

/// Rows whose answer is hyper's: the `http` crate takes no target with such bytes, and hyper refuses
/// it by an empty 400 of its own.
const EXCEPTED: [&str; 3] = [
    "a query that is none: \"",
    "a query that is none: <>",
    "a raw backslash leads nowhere: \\\\evil.com",
];

/// Resolves relative references in Location, as clients do (RFC 3986 section 5.2): the table has the
/// absolute ones that a server sends which knows its prefix.
struct Resolving<'a>(Http1<'a>);

impl Transport for Resolving<'_> {
    fn exchange(&self, request: &Request) -> Result<Response, String> {
        let mut response = self.0.exchange(request)?;
        for (name, value) in &mut response.fields {
            if name.eq_ignore_ascii_case("location") && value.starts_with(b"./") {
                let target = String::from_utf8_lossy(&request.target);
                let path = target.split('?').next().unwrap_or_default();
                let (directory, _) = path.rsplit_once('/').unwrap_or_default();
                let reference = String::from_utf8_lossy(value).into_owned();
                *value = format!("{directory}/{}", &reference[2..]).into();
            }
        }
        Ok(response)
    }
}

/// The builder that says what the setup's flags say.
fn builder(setup: Setup, fixture: &Fixture) -> Option<Builder> {
    let builder = Assets::builder(fixture.site());
    Some(match setup {
        Setup::Default => builder,
        Setup::NoCache => builder.without_cache(),
        Setup::Dotfiles => builder.dotfiles(),
        Setup::Spa => builder.spa("index.html"),
        Setup::SpaFile => builder.spa("shell.html"),
        Setup::SymlinksNone => builder.symlinks(Symlinks::None),
        Setup::SymlinksAny => builder.symlinks(Symlinks::Any),
        Setup::GzipOnly => builder.precompressed([ContentCoding::Gzip]),
        Setup::Index => builder.index(["home.html"]),
        // Several trees are a router's affair.
        Setup::Mount => return None,
    })
}

/// Serves on a thread of its own, which ends with the test.
fn serve(assets: Assets) -> SocketAddr {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = { runtime }.enable_all().build().unwrap();
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener).unwrap();
            let app = axum::Router::new().fallback_service(assets);
            axum::serve(listener, app).await.unwrap();
        });
    });
    address
}

#[test]
fn the_table_holds_through_axum() {
    let mut wrong = Vec::new();
    for setup in Setup::ALL {
        let directory = tempfile::tempdir().unwrap();
        let fixture = Fixture::build(directory.path()).unwrap();
        let Some(builder) = builder(setup, &fixture) else {
            continue;
        };
        let address = serve(builder.build().unwrap());
        let endpoint = Endpoint::bare(address, Protocol::Http1).unwrap();
        let transport = Resolving(Http1 {
            endpoint: &endpoint,
        });
        let report = run_semantic(&transport, &fixture, setup);
        println!("{report}");
        for failure in report.failures {
            if !EXCEPTED.contains(&&*failure.name) {
                wrong.push(format!("{setup:?}: {failure}"));
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}
