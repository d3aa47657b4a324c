//! Plays the table against a server that is already there, whoever wrote it:
//! `judge PROTOCOL ADDRESS DIRECTORY [SETUP [CERTIFICATE]]` builds the fixture in an empty
//! directory, whose `site` the server serves, and prints what it finds. Protocols are h1, h1+TLS,
//! h2, h2c and h3, and `semantic` for h1 without what is about its syntax; those with TLS trust the PEM file alone, which must hold the name
//! `salver.test`. It never starts or stops a server.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use salver_conformance::{Endpoint, Fixture, Http1, Protocol, Setup, run, run_semantic};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: judge PROTOCOL ADDRESS DIRECTORY [SETUP [CERTIFICATE]]";
    let name = arguments.next().ok_or(usage)?;
    let is_semantic = name == "semantic";
    let protocol = Protocol::ALL
        .into_iter()
        .find(|protocol| protocol.to_string() == if is_semantic { "h1" } else { &name })
        .ok_or_else(|| {
            format!("no protocol {name}; there are h1, h1+TLS, h2, h2c, h3 and semantic")
        })?;
    let address = arguments.next().ok_or(usage)?.parse()?;
    let directory = arguments.next().ok_or(usage)?;
    let wanted = arguments.next().unwrap_or_else(|| "Default".to_owned());
    let setup = Setup::ALL
        .into_iter()
        .find(|setup| format!("{setup:?}").eq_ignore_ascii_case(&wanted))
        .ok_or_else(|| format!("no setup {wanted}; there are {:?}", Setup::ALL))?;
    let endpoint = match arguments.next() {
        Some(file) => Endpoint::trusting(address, protocol, Path::new(&file))?,
        None => Endpoint::bare(address, protocol)?,
    };
    let fixture = Fixture::build(Path::new(&directory))?;
    let transport = Http1 {
        endpoint: &endpoint,
    };
    let report = match is_semantic {
        true => run_semantic(&transport, &fixture, setup),
        false => run(&endpoint, &fixture, setup)?,
    };
    write!(std::io::stdout(), "{report}")?;
    if report.passed() {
        Ok(())
    } else {
        Err("the server does not pass".into())
    }
}
