//! Plays the table against a server that is already there, whoever wrote it:
//! `judge ADDRESS DIRECTORY [SETUP]` builds the fixture in an empty directory, whose `site` the
//! server serves, and prints what it finds. It never starts or stops a server.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use salver_conformance::{Fixture, Setup, run};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "usage: judge ADDRESS DIRECTORY [SETUP]";
    let address = arguments.next().ok_or(usage)?.parse()?;
    let directory = arguments.next().ok_or(usage)?;
    let wanted = arguments.next().unwrap_or_else(|| "Default".to_owned());
    let setup = Setup::ALL
        .into_iter()
        .find(|setup| format!("{setup:?}").eq_ignore_ascii_case(&wanted))
        .ok_or_else(|| format!("no setup {wanted}; there are {:?}", Setup::ALL))?;
    let fixture = Fixture::build(Path::new(&directory))?;
    let report = run(address, &fixture, setup);
    write!(std::io::stdout(), "{report}")?;
    if report.passed() {
        Ok(())
    } else {
        Err("the server does not pass".into())
    }
}
