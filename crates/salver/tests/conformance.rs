//! The exchange table, played against the program under every configuration that it knows.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, missing_docs)]

mod common;

use common::Running;
use salver_conformance::{Endpoint, Fixture, Protocol, Setup, run};

fn check(setup: Setup) {
    let directory = tempfile::tempdir().unwrap();
    let fixture = Fixture::build(directory.path()).unwrap();
    let arguments = setup.arguments(&fixture);
    let (root, flags) = arguments.split_first().unwrap();
    let flags: Vec<&str> = flags.iter().map(|flag| flag.to_str().unwrap()).collect();
    let server = Running::start(root.as_ref(), &flags);
    let endpoint = Endpoint::bare(server.addr, Protocol::Http1).unwrap();
    let report = run(&endpoint, &fixture, setup).unwrap();
    println!("{report}");
    assert!(report.passed(), "{report}");
}

macro_rules! setups {
    ($($name:ident: $setup:ident,)*) => {
        $(#[test]
        fn $name() {
            check(Setup::$setup);
        })*

        #[test]
        fn every_setup_is_played() {
            assert_eq!(Setup::ALL, [$(Setup::$setup),*]);
        }
    };
}

setups! {
    default: Default,
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
