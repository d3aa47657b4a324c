//! The exchange table against a server that a program has built, with a guard before every file and
//! a handler behind: both leave everything to the files, so that nothing may change.

use bytes::Bytes;
use http::Request;
use salver_conformance::{Endpoint, Fixture, Protocol, Setup, run_once};
use salver_server::tls::{CertificateFiles, Certificates, Handshakes};
use salver_server::{Reply, Server, TlsSettings};

const ANY_PORT: ([u8; 4], u16) = ([127, 0, 0, 1], 0);

#[test]
fn a_program_that_leaves_all_to_the_files_changes_nothing() {
    check(&[Protocol::Http2Cleartext]);
}

#[test]
#[ignore = "make every-mode"]
fn a_program_changes_nothing_in_every_mode() {
    check(&[Protocol::Http1Tls, Protocol::Http3]);
}

fn check(protocols: &[Protocol]) {
    let directory = tempfile::tempdir().unwrap();
    let fixture = Fixture::build(directory.path()).unwrap();
    let [certificate, key] = crate::common::certify(directory.path());
    let pair = CertificateFiles {
        certificate: certificate.clone(),
        key,
    };
    let certificates = Certificates::read(vec![pair]).unwrap();
    let proceed = async |_: Request<Bytes>| Reply::Proceed;
    let server = Server::builder()
        .directory("/", fixture.site())
        .guard("/", proceed)
        .handler(proceed)
        .listen(ANY_PORT)
        .tls(TlsSettings {
            handshakes: Handshakes::new(certificates).unwrap(),
            addresses: vec![ANY_PORT.into()],
            redirects: vec![],
            hsts: None,
        })
        .build()
        .unwrap();
    let (plain, tls) = (server.addresses()[0], server.tls_addresses()[0]);
    let handle = server.handle();
    let serving = std::thread::spawn(|| server.serve());
    let reports = protocols.iter().map(|&protocol| {
        let endpoint = match protocol.is_encrypted() {
            true => Endpoint::trusting(tls, protocol, &certificate),
            false => Endpoint::bare(plain, protocol),
        };
        run_once(&endpoint.unwrap(), &fixture, Setup::Default).unwrap()
    });
    let reports: Vec<_> = reports.collect();
    handle.shutdown();
    serving.join().unwrap().unwrap();
    for report in reports {
        println!("{report}");
        assert!(report.passed(), "{report}");
    }
}
