//! The command line as it was typed to what it means: `salver DIR` is `salver serve DIR`.

use std::ffi::OsString;
use std::path::Path;

use clap::error::ErrorKind;
use clap::{Arg, FromArgMatches};
use salver_config::nearest::nearest;
use salver_config::values::is_url;

use crate::failure::{Failure, one_line};
use crate::flags::{Cli, command};
use crate::version;

/// What there is besides commands that are carried out.
#[derive(Debug)]
pub enum Unread {
    /// Somebody asks for help or the version: the text, for standard output.
    Asked(clap::Error),
    /// Somebody asks for the version with the facts of the build: these, for standard output.
    Facts(String),
    /// What is wrong.
    Wrong(Failure),
}

impl From<Failure> for Unread {
    fn from(failure: Failure) -> Self {
        Unread::Wrong(failure)
    }
}

impl From<clap::Error> for Unread {
    fn from(error: clap::Error) -> Self {
        match error.kind() {
            ErrorKind::DisplayHelp
            | ErrorKind::DisplayVersion
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => Unread::Asked(error),
            _ => Unread::Wrong(Failure::Misused(one_line(&error))),
        }
    }
}

impl Cli {
    /// Reads a command line, the program's name first.
    ///
    /// # Errors
    /// What is wrong, or that help or the version is asked for.
    pub fn read<T: Into<OsString>>(arguments: impl IntoIterator<Item = T>) -> Result<Self, Unread> {
        let mut arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
        let command = command();
        if is_verbose_version(&arguments)? {
            return Err(Unread::Facts(version::verbose()));
        }
        add_serve(&mut arguments, &command)?;
        check_values(&arguments, &command)?;
        let matches = command.try_get_matches_from(&arguments)?;
        Ok(Cli::from_arg_matches(&matches)?)
    }
}

/// True if the version is asked for with the facts of the build. The parser ends at `--version`, whatever follows.
fn is_verbose_version(arguments: &[OsString]) -> Result<bool, Failure> {
    let is_version = |word: &OsString| word == "--version" || word == "-V";
    let is_verbose = |word: &OsString| word == "--verbose";
    match arguments.get(1..).unwrap_or_default() {
        [one, other] if is_version(one) && is_verbose(other) => Ok(true),
        [one, other] if is_verbose(one) && is_version(other) => Ok(true),
        [one, ..] if is_verbose(one) => Err(Failure::Misused(
            "--verbose says more of the version alone: `salver --version --verbose`".to_owned(),
        )),
        _ => Ok(false),
    }
}

/// Adds the command that is meant where there is none: a directory, or a flag of `serve`.
fn add_serve(arguments: &mut Vec<OsString>, command: &clap::Command) -> Result<(), Failure> {
    let Some(first) = arguments.get(1) else {
        return Ok(());
    };
    let text = first.to_string_lossy();
    let commands = || command.get_subcommands().map(clap::Command::get_name);
    let top = ["help", "-h", "--help", "-V", "--version"];
    if top.contains(&&*text) || commands().any(|name| name == text) {
        return Ok(());
    }
    #[cfg(not(target_os = "linux"))]
    if let Some(refusal) = crate::portable::absences::command(&text) {
        return Err(refusal);
    }
    let is_path = text.contains(std::path::is_separator);
    if text.starts_with('-') || is_path || Path::new(first).exists() {
        arguments.insert(1, "serve".into());
        return Ok(());
    }
    let meant = match nearest(&text, commands()) {
        Some(name) => format!("is `salver {name}` meant? "),
        None => String::new(),
    };
    Err(Failure::Misused(format!(
        "{text:?} is neither a command nor a directory here: {meant}`salver DIR` serves a directory, \
         `salver --help` lists the commands"
    )))
}

/// A flag whose value may be left out takes it behind `=` alone; without it the next word would be
/// taken for the directory.
fn check_values(arguments: &[OsString], command: &clap::Command) -> Result<(), Failure> {
    let named = arguments
        .get(1)
        .filter(|name| *name == "serve" || *name == "check");
    let Some(serve) = named.and_then(|name| command.find_subcommand(name)) else {
        return Ok(());
    };
    let takes_equals = |word: &OsString| {
        let name = word.to_str()?.strip_prefix("--")?;
        let mut flags = serve.get_arguments();
        flags.find(|flag| flag.get_long() == Some(name) && Arg::is_require_equals_set(flag))
    };
    for (word, next) in arguments.iter().zip(arguments.iter().skip(1)) {
        if word == "--" {
            return Ok(());
        }
        let text = next.to_string_lossy();
        let is_root = text.starts_with('-') || is_url(next) || Path::new(next).is_dir();
        if takes_equals(word).is_some() && !is_root {
            let flag = word.to_string_lossy();
            return Err(Failure::Misused(format!(
                "{text:?} behind {flag} is no directory: the value of {flag} is given with =, as \
                 {flag}={text}"
            )));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use salver_config::{Environment, Machine};

    use crate::flags::Command;

    fn read(arguments: &[&str]) -> Result<Cli, String> {
        let arguments = ["salver"].iter().chain(arguments);
        Cli::read(arguments).map_err(|unread| match unread {
            Unread::Asked(error) => error.to_string(),
            Unread::Facts(text) => text,
            Unread::Wrong(failure) => failure.to_string(),
        })
    }

    #[test]
    fn a_directory_is_served() {
        fn check(arguments: &[&str], path: &str) {
            match read(arguments).unwrap().command {
                Command::Serve(flags) => {
                    let environment = Environment::default();
                    let found = flags.configuration(&environment, Machine::default());
                    let found = found.unwrap();
                    assert_eq!(*found.sites[0].root, Path::new(path), "{arguments:?}");
                }
                other => panic!("{other:?}"),
            }
        }
        check(&["serve"], ".");
        check(&["serve", "src"], "src");
        check(&["src"], "src");
        check(&["."], ".");
        check(&["no/where"], "no/where");
        check(&["src", "-p", "81"], "src");
        check(&["-p", "81"], ".");
        check(&["--spa", "src"], "src");
        check(&["--", "src"], "src");
    }

    #[test]
    fn what_is_neither_a_command_nor_a_directory_is_one_line_with_what_to_do() {
        fn check(arguments: &[&str], parts: &[&str]) {
            let line = read(arguments).unwrap_err();
            assert_eq!(line.lines().count(), 1, "{line}");
            for part in parts {
                assert!(line.contains(part), "{arguments:?}: {line}");
            }
        }
        let known = ["salver DIR", "salver --help"];
        check(&["sreve"], &["\"sreve\"", "is `salver serve` meant?"]);
        check(&["dist"], &known);
        check(&[""], &known);
        check(&["a\nb"], &["a\\nb"]);
        #[cfg(feature = "tls")]
        check(&["--hsts", "300"], &["--hsts=300"]);
        check(&["serve", "src", "--spa", "app.html"], &["--spa=app.html"]);
    }
}
