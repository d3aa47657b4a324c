//! The environment variables of `salver serve`: each flag has one, by its name.
//!
//! There is no second list: a variable is the flag's name in capitals behind `SALVER_`, and becomes
//! that flag again, before those of the command line. So a flag that is added has its variable at
//! once, its value is read by the same parser, and what is said of it is said of the variable.
//! An empty variable is one that is not set. Only `serve` has variables: what a benchmark measures
//! must stand on its command line.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};

use crate::failure::{Failure, reason};

/// What the names of variables begin with.
pub const PREFIX: &str = "SALVER_";

/// Names that are so much alike, from 0 to 1, may be meant for each other.
const ALIKE: f64 = 0.8;

/// The variable of a flag; `None` for `--help`.
pub fn name(flag: &Arg) -> Option<String> {
    let id = flag.get_id().as_str();
    if matches!(id, "help" | "version") {
        return None;
    }
    let name = flag.get_long().unwrap_or(id);
    Some(format!("{PREFIX}{}", name.to_uppercase().replace('-', "_")))
}

/// The flag that undoes this one: `--cache` for `--no-cache`, and the other way round.
pub fn opposite<'a>(command: &'a Command, flag: &Arg) -> Option<&'a Arg> {
    let name = flag.get_long()?;
    let other = match name.strip_prefix("no-") {
        Some(positive) => positive.to_owned(),
        None => format!("no-{name}"),
    };
    let mut flags = command.get_arguments();
    flags.find(|flag| flag.get_long() == Some(&*other) && is_switch(flag))
}

fn is_switch(flag: &Arg) -> bool {
    matches!(flag.get_action(), ArgAction::SetTrue)
}

/// The variables that begin with [`PREFIX`] and say something.
#[derive(Clone, Debug, Default)]
pub struct Variables(Vec<(String, OsString)>);

impl Variables {
    /// Those among `all`.
    pub fn of(all: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        let ours = |(name, value): (OsString, OsString)| {
            let name = name.into_string().ok()?;
            let is_ours = name.starts_with(PREFIX) && !value.is_empty();
            (is_ours && !is_of_kubernetes(&name, &value)).then_some((name, value))
        };
        let mut all: Vec<_> = all.into_iter().filter_map(ours).collect();
        all.sort();
        Variables(all)
    }

    fn get(&self, name: Option<String>) -> Option<(&str, &OsStr)> {
        let name = name?;
        let mut all = self.0.iter();
        let (name, value) = all.find(|(found, _)| *found == name)?;
        Some((name, value))
    }

    /// The arguments that they stand for, but for flags that were `typed`, or whose opposite was.
    ///
    /// # Errors
    /// A variable whose value its flag does not take, or two that contradict each other.
    pub fn arguments(
        &self,
        command: &Command,
        typed: Option<&ArgMatches>,
    ) -> Result<Vec<OsString>, Failure> {
        let serve = command.find_subcommand("serve").unwrap_or(command);
        let is_typed = |flag: &Arg| {
            let source = typed.and_then(|typed| typed.value_source(flag.get_id().as_str()));
            source == Some(ValueSource::CommandLine)
        };
        let mut arguments = Vec::new();
        for flag in serve.get_arguments() {
            let opposite = opposite(serve, flag);
            if is_typed(flag) || opposite.is_some_and(is_typed) {
                continue;
            }
            let Some((variable, value)) = self.get(name(flag)) else {
                continue;
            };
            if is_switch(flag) {
                let is_on = switch(variable, value)?;
                if let Some(other) = opposite
                    && let Some((undo, value)) = self.get(name(other))
                    && switch(undo, value)? == is_on
                {
                    return Err(Failure::Misused(format!(
                        "{variable} and {undo} contradict each other: unset one of them"
                    )));
                }
                let wanted = if is_on { Some(flag) } else { opposite };
                arguments.extend(
                    wanted
                        .and_then(Arg::get_long)
                        .map(|long| format!("--{long}").into()),
                );
            } else {
                let argument = with_value(flag, value);
                let alone = ["salver".into(), "serve".into(), argument.clone()];
                if let Err(error) = command.clone().try_get_matches_from(alone) {
                    let shown = value.to_string_lossy();
                    let (shown, reason) = (shown.escape_debug(), reason(&error));
                    return Err(Failure::Misused(format!("{variable}={shown}: {reason}")));
                }
                arguments.push(argument);
            }
        }
        Ok(arguments)
    }

    /// One line for each that is no flag's: which, and what may have been meant.
    pub fn unknown(&self, command: &Command) -> Vec<String> {
        let serve = command.find_subcommand("serve").unwrap_or(command);
        let known: Vec<String> = serve.get_arguments().filter_map(name).collect();
        let unknown = self.0.iter().filter(|(name, _)| !known.contains(name));
        let line = |(name, _): &(String, OsString)| {
            let known = known.iter().map(String::as_str);
            match nearest(name, known) {
                Some(near) => {
                    format!("{name} is not obeyed: no flag is called so; is {near} meant?")
                }
                None => format!(
                    "{name} is not obeyed: no flag is called so; `salver serve --help` names all"
                ),
            }
        };
        unknown.map(line).collect()
    }
}

/// A flag with its value, or a value that stands by itself, as one argument.
fn with_value(flag: &Arg, value: &OsStr) -> OsString {
    let Some(long) = flag.get_long() else {
        // A path that begins with a dash is no flag.
        return Path::new(".").join(value).into_os_string();
    };
    let mut argument = OsString::from(format!("--{long}="));
    argument.push(value);
    argument
}

/// What a variable says of a flag that takes no value.
fn switch(variable: &str, value: &OsStr) -> Result<bool, Failure> {
    match &*value.to_string_lossy().to_ascii_lowercase() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        other => {
            let shown = other.escape_debug();
            Err(Failure::Misused(format!(
                "{variable}={shown}: neither yes nor no: give true or false"
            )))
        }
    }
}

/// Kubernetes tells each pod where the services of its namespace are, by variables of their names; a
/// service that is called `salver` yields some that look like ours, such as
/// `SALVER_PORT=tcp://10.0.0.1:80`.
fn is_of_kubernetes(name: &str, value: &OsStr) -> bool {
    let is_address = value.to_string_lossy().starts_with("tcp://");
    name.starts_with("SALVER_SERVICE_")
        || name.starts_with("SALVER_PORT_")
        || name == "SALVER_PORT" && is_address
}

/// The name among `known` that is most like `name`, if any is.
pub(crate) fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    // What they have in common at the beginning makes none of them more alike.
    let bare = |name: &'a str| name.strip_prefix(PREFIX).unwrap_or(name);
    let wanted = name.strip_prefix(PREFIX).unwrap_or(name);
    let rated = known.map(|known| (strsim::jaro_winkler(wanted, bare(known)), known));
    // The first of those that are as near.
    let best = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(alike, _)| *alike >= ALIKE)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(all: &[(&str, &str)]) -> Variables {
        Variables::of(all.iter().map(|(name, value)| (name.into(), value.into())))
    }

    #[test]
    fn a_variable_becomes_its_flag() {
        fn check(all: &[(&str, &str)], typed: &[&str], expected: &[&str]) {
            let command = crate::flags::command();
            let line = ["salver", "serve"].iter().chain(typed);
            let matches = command.clone().try_get_matches_from(line).unwrap();
            let (_, typed) = matches.subcommand().unwrap();
            let found = variables(all).arguments(&command, Some(typed)).unwrap();
            assert_eq!(found, expected, "{all:?}");
        }
        check(&[], &[], &[]);
        check(&[("SALVER_PORT", "80,81")], &[], &["--port=80,81"]);
        check(&[("SALVER_PORT", "80")], &["-p", "81"], &[]);
        check(&[("SALVER_PORT", "")], &[], &[]);
        check(&[("SALVER_SPA", "")], &[], &[]);
        check(&[("SALVER_SPA", "true")], &[], &["--spa=true"]);
        check(&[("SALVER_PATH", "-a")], &[], &["./-a"]);
        check(&[("SALVER_PATH", "/a")], &[], &["/a"]);
        check(&[("SALVER_QUIET", "1")], &[], &["--quiet"]);
        check(&[("SALVER_QUIET", "off")], &[], &[]);
        check(&[("SALVER_HTTP2", "false")], &[], &["--no-http2"]);
        check(&[("SALVER_NO_HTTP2", "false")], &[], &["--http2"]);
        check(&[("SALVER_NO_HTTP2", "True")], &[], &["--no-http2"]);
        check(&[("SALVER_HTTP2", "false")], &["--http2"], &[]);
        check(&[("SALVER_HTTP2", "no")], &["--no-http2"], &[]);
        let both = [("SALVER_HTTP2", "false"), ("SALVER_NO_HTTP2", "true")];
        check(&both, &[], &["--no-http2", "--no-http2"]);
    }

    #[test]
    fn a_wrong_value_is_said_of_the_variable() {
        fn check(all: &[(&str, &str)], expected: &str) {
            let command = crate::flags::command();
            let failure = variables(all).arguments(&command, None).unwrap_err();
            assert_eq!(failure, Failure::Misused(expected.to_owned()), "{all:?}");
        }
        check(
            &[("SALVER_PORT", "abc")],
            "SALVER_PORT=abc: not a whole number from 0 to 65535",
        );
        check(
            &[("SALVER_QUIET", "perhaps")],
            "SALVER_QUIET=perhaps: neither yes nor no: give true or false",
        );
        check(
            &[("SALVER_SYMLINKS", "all")],
            "SALVER_SYMLINKS=all: give none, beneath or any",
        );
        check(
            &[("SALVER_INDEX", "a\n/b")],
            "SALVER_INDEX=a\\n/b: not a file name: give one without a slash, such as index.html",
        );
        check(
            &[("SALVER_CACHE", "true"), ("SALVER_NO_CACHE", "1")],
            "SALVER_NO_CACHE and SALVER_CACHE contradict each other: unset one of them",
        );
    }

    #[test]
    fn a_name_that_no_flag_has_is_said_with_the_nearest() {
        fn check(name: &str, value: &str, expected: &[&str]) {
            let found = variables(&[(name, value)]).unknown(&crate::flags::command());
            assert_eq!(found.len(), expected.len(), "{found:?}");
            for part in expected {
                assert!(
                    found[0].contains(part) && found[0].contains(name),
                    "{found:?}"
                );
            }
        }
        check("SALVER_PORT", "80", &[]);
        check("SALVER_PROT", "80", &["is SALVER_PORT meant?"]);
        check(
            "SALVER_CACHE_SZIE",
            "1MiB",
            &["is SALVER_CACHE_SIZE meant?"],
        );
        check("SALVER_HTTP", "2", &["is SALVER_HTTP1 meant?"]);
        check("SALVER_XYZ", "1", &["--help"]);
        check("SALVER_XYZ", "", &[]);
        check("OTHER_PROT", "80", &[]);
        check("SALVER_PORT", "tcp://10.0.0.1:80", &[]);
        check("SALVER_SERVICE_HOST", "10.0.0.1", &[]);
    }
}
