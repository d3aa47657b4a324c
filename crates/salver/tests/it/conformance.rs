//! The exchange table, played against the program under every configuration that it knows, over
//! every protocol that it speaks.

use crate::common::Certified;
use salver_conformance::{Endpoint, Fixture, Protocol, Report, Setup, run, run_once};

/// The function that plays the table.
type Play = fn(&Endpoint, &Fixture, Setup) -> Result<Report, String>;

/// Plays the table over these protocols, all against one server.
fn check(setup: Setup, protocols: &[Protocol], play: Play) {
    let directory = tempfile::tempdir().unwrap();
    let fixture = Fixture::build(directory.path()).unwrap();
    let arguments = setup.arguments(&fixture);
    let (root, flags) = arguments.split_first().unwrap();
    let mut flags: Vec<&str> = flags.iter().map(|flag| flag.to_str().unwrap()).collect();
    if protocols == [Protocol::Http1] {
        // One row is what HTTP/2 begins with, and is refused only where that is not spoken.
        flags.push("--no-http2");
    }
    let server = Certified::start(root.as_ref(), &flags);
    for protocol in protocols {
        let endpoint = server.endpoint(*protocol);
        let mut report = play(&endpoint, &fixture, setup).unwrap();
        if !report.passed() {
            println!("{report}");
        }
        let again = || run_once(&endpoint, &fixture, setup);
        report.retain_repeated(again).unwrap();
        println!("{report}");
        assert!(report.passed(), "{report}");
    }
}

/// On the default setup every row is played in every mode, which takes the longest: a server and a test for each
/// protocol. Those beside HTTP/1.1 in the clear wait for `make test-all` with their modes.
macro_rules! protocols {
    ($($name:ident: $protocol:ident, $play:ident,)*) => {
        $(#[test]
        fn $name() {
            check(Setup::Default, &[Protocol::$protocol], $play);
        })*

        #[test]
        fn every_protocol_is_played() {
            assert_eq!(Protocol::ALL, [$(Protocol::$protocol),*]);
        }
    };
}

protocols! {
    http1: Http1, run,
    http1_tls: Http1Tls, run_once,
    http2: Http2, run_once,
    http2_cleartext: Http2Cleartext, run_once,
    http3: Http3, run_once,
}

#[test]
#[ignore = "make every-mode"]
fn http1_tls_in_every_mode() {
    check(Setup::Default, &[Protocol::Http1Tls], run);
}

#[test]
#[ignore = "make every-mode"]
fn http2_in_every_mode() {
    check(Setup::Default, &[Protocol::Http2], run);
    check(Setup::Default, &[Protocol::Http2Cleartext], run);
}

#[test]
#[ignore = "make every-mode"]
fn http3_in_every_mode() {
    check(Setup::Default, &[Protocol::Http3], run);
}

/// One of each version, in the clear and over TLS: how these setups send differs by both, and not by their pairs.
const OF_EACH_VERSION: [Protocol; 3] = [Protocol::Http1, Protocol::Http2, Protocol::Http3];

macro_rules! setups {
    ($($name:ident: $setup:ident,)*) => {
        $(#[test]
        fn $name() {
            check(Setup::$setup, &OF_EACH_VERSION, run);
        })*

        #[test]
        #[ignore = "make every-mode"]
        fn setups_in_every_mode() {
            $(check(Setup::$setup, &[Protocol::Http1Tls, Protocol::Http2Cleartext], run);)*
        }

        #[test]
        fn every_setup_is_played() {
            assert_eq!(Setup::ALL, [Setup::Default, $(Setup::$setup),*]);
        }
    };
}

setups! {
    no_cache: NoCache,
    dotfiles: Dotfiles,
    spa: Spa,
    spa_file: SpaFile,
    symlinks_none: SymlinksNone,
    symlinks_any: SymlinksAny,
    mount: Mount,
    gzip_only: GzipOnly,
    index: Index,
}
