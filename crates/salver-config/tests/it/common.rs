//! What the tests share: command lines, environments and files without a process around them.

use std::path::Path;

use salver_config::{Configuration, Environment, Fault, File, Layers, Machine, Typed, arguments};

/// Where relative paths of files begin.
pub(crate) const DIRECTORY: &str = "/etc/salver";

/// What these arguments of `serve` say.
pub(crate) fn typed(words: &[&str]) -> Result<Typed, clap::Error> {
    let command = clap::Command::new("serve")
        .args_override_self(true)
        .args(arguments());
    let words = ["serve"].iter().chain(words);
    command
        .try_get_matches_from(words)
        .map(|matches| Typed::of(&matches))
}

pub(crate) fn environment(all: &[(&str, &str)]) -> Environment {
    Environment::of(all.iter().map(|(name, value)| (name.into(), value.into())))
}

/// What a file that is called `salver.toml` says.
pub(crate) fn file(text: &str, environment: &Environment) -> Result<File, Vec<Fault>> {
    File::parse(
        Path::new("salver.toml"),
        Path::new(DIRECTORY),
        text,
        environment,
    )
}

/// The configuration from all three, or what is wrong, a line each; nothing is known of the machine.
pub(crate) fn resolve(
    words: &[&str],
    variables: &[(&str, &str)],
    text: Option<&str>,
) -> Result<Configuration, String> {
    resolve_on(Machine::default(), words, variables, text)
}

/// The same on a machine.
pub(crate) fn resolve_on(
    machine: Machine,
    words: &[&str],
    variables: &[(&str, &str)],
    text: Option<&str>,
) -> Result<Configuration, String> {
    let environment = environment(variables);
    let said = |faults: Vec<Fault>| {
        faults
            .iter()
            .map(|fault| format!("{fault}\n"))
            .collect::<String>()
    };
    let file = text
        .map(|text| file(text, &environment))
        .transpose()
        .map_err(said)?;
    let layers = Layers {
        typed: &typed(words).unwrap(),
        environment: &environment,
        file: file.as_ref(),
        machine,
    };
    Configuration::resolve(&layers).map_err(said)
}
