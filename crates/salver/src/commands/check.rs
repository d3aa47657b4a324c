//! `salver check`: everything that `salver serve` would refuse, said at once.

use std::io::{self, Write as _};
use std::path::PathBuf;

use clap::Args;
use salver_assets::Engine;
use salver_config::{Configuration, Environment};

use crate::failure::Failure;
use crate::log::say;
use crate::machine;
use crate::rules::rules;
use crate::serve_flags::ServeFlags;
use crate::settings::Settings;
use crate::site_settings::SiteSettings;

/// Say what is wrong with a configuration, and serve nothing.
///
/// Takes what `salver serve` takes, and looks at everything: values, the file, roots, certificates and keys.
#[derive(Args, Clone, Debug)]
pub struct CheckFlags {
    /// What is checked.
    #[command(flatten)]
    pub serve: ServeFlags,

    /// Print what each setting is, as a configuration file, and where it was said
    #[arg(long, help_heading = "Checking")]
    pub print: bool,
}

/// Checks, and says each fault in a line of its own.
///
/// # Errors
/// How many faults there are, or the fault if it is one.
pub fn run(flags: &CheckFlags, environment: &Environment) -> Result<(), Failure> {
    for remark in environment.unknown() {
        say(&format!("note: {remark}"));
    }
    let configuration = flags.serve.configuration(environment, machine::look());
    let (mut faults, mut count) = (Vec::new(), 0);
    match configuration {
        Err(wrong) => faults = wrong,
        Ok(configuration) => {
            if flags.print {
                // What is printed is what was meant, whether or not it is there.
                let here = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
                let text = configuration.print(&here);
                io::stdout()
                    .write_all(text.as_bytes())
                    .map_err(|error| Failure::Failed(format!("standard output failed: {error}")))?;
            }
            count = configuration.sites.len();
            check(&configuration, &mut faults);
        }
    }
    match &*faults {
        [] => {
            let sites = if count == 1 { "site" } else { "sites" };
            say(&format!("nothing is wrong: {count} {sites}"));
            Ok(())
        }
        [fault] => Err(fault.clone()),
        all => {
            for fault in all {
                say(&format!("salver: {fault}"));
            }
            Err(Failure::Misused(format!("{} faults", all.len())))
        }
    }
}

/// What cannot be served, site by site; what is of all of them is said once.
fn check(configuration: &Configuration, faults: &mut Vec<Failure>) {
    let mut notes = Vec::new();
    for site in &configuration.sites {
        if let Err(wrong) = rules(site) {
            faults.extend(wrong);
            continue;
        }
        let found = SiteSettings::new(configuration, site, 0).and_then(|settings| {
            let engine = Engine::new(settings.engine.clone());
            engine.map_err(|error| settings.failure(&error.to_string()))
        });
        if let Err(failure) = found
            && !faults.contains(&failure)
        {
            faults.push(failure);
        }
    }
    // What is wrong with one of them is said already.
    match Settings::new(configuration) {
        Ok(settings) => notes.extend(settings.warnings),
        Err(failure) if faults.is_empty() => faults.push(failure),
        Err(_) => {}
    }
    let mut said: Vec<String> = Vec::new();
    for note in notes {
        if !said.contains(&note) {
            say(&format!("note: {note}"));
            said.push(note);
        }
    }
}
