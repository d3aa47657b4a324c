//! How the command fails: one line, and an exit code that says who must act.

use std::fmt;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// The exit code of a command that was told something wrong.
pub const EXIT_MISUSED: u8 = 2;

/// Why the command ends without having done what was asked. The text is one line: what is wrong,
/// then what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// The flags cannot be meant like this. Exit code 2.
    Misused(String),
    /// The flags are right and the system said no. Exit code 1.
    Failed(String),
}

impl Failure {
    /// The same failure, of this.
    pub(crate) fn of(self, what: &str) -> Failure {
        match self {
            Failure::Misused(text) => Failure::Misused(format!("{what}: {text}")),
            Failure::Failed(text) => Failure::Failed(format!("{what}: {text}")),
        }
    }

    /// The same failure, which so many follow.
    pub(crate) fn and(self, more: usize) -> Failure {
        let more = format!("(and {more} more: `salver check` with the same arguments says all)");
        match self {
            Failure::Misused(text) => Failure::Misused(format!("{text} {more}")),
            Failure::Failed(text) => Failure::Failed(format!("{text} {more}")),
        }
    }

    /// The code that the process ends with.
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Failure::Misused(_) => ExitCode::from(EXIT_MISUSED),
            Failure::Failed(_) => ExitCode::FAILURE,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Misused(text) | Failure::Failed(text)) = self;
        f.write_str(text)
    }
}

impl std::error::Error for Failure {}

impl From<salver_store::Error> for Failure {
    fn from(error: salver_store::Error) -> Self {
        match error {
            salver_store::Error::Misused(text) => Failure::Misused(text),
            other => Failure::Failed(other.to_string()),
        }
    }
}

/// The parser's report of a wrong command line: one line, what is wrong and what to do.
pub fn one_line(error: &clap::Error) -> String {
    let report = error.render().to_string();
    let mut line = String::new();
    let mut command = "salver";
    let mut is_advised = error.kind() != ErrorKind::UnknownArgument;
    for part in report.lines().map(str::trim) {
        if let Some(usage) = part.strip_prefix("Usage: ") {
            command = words_of_command(usage);
            break;
        }
        if part.starts_with("For more information") {
            break;
        }
        // That a value which looks like a flag can be given behind `--` is seldom what is meant.
        if part.starts_with("tip: to pass") {
            continue;
        }
        let (part, separator) = match part.strip_prefix("tip: ") {
            Some(tip) => {
                is_advised = true;
                (tip, "; ")
            }
            None => (part.strip_prefix("error: ").unwrap_or(part), " "),
        };
        if !part.is_empty() {
            if !line.is_empty() {
                line.push_str(separator);
            }
            line.push_str(part);
        }
    }
    if !is_advised {
        let advice = match looks_negative(error) {
            true => "no value can be negative".to_owned(),
            false => format!("`{command} --help` lists what there is"),
        };
        line.push_str(": ");
        line.push_str(&advice);
    }
    line
}

/// The command in a line of usage: `salver serve` of `salver serve [OPTIONS] [PATH]`.
fn words_of_command(usage: &str) -> &str {
    let end = usage.find([' ', '\n']).map_or(usage.len(), |_| {
        usage.find(['[', '<']).unwrap_or(usage.len())
    });
    usage.get(..end).unwrap_or_default().trim()
}

/// Whether what is no flag is a number below zero.
fn looks_negative(error: &clap::Error) -> bool {
    let Some(ContextValue::String(argument)) = error.get(ContextKind::InvalidArg) else {
        return false;
    };
    let mut characters = argument.chars();
    characters.next() == Some('-') && characters.next().is_some_and(|one| one.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_command_line_is_one_line() {
        fn check(arguments: &[&str], expected: &str) {
            let arguments = ["salver", "serve"].iter().chain(arguments);
            let error = crate::flags::command().try_get_matches_from(arguments);
            assert_eq!(one_line(&error.unwrap_err()), expected);
        }
        check(
            &["--prot", "80"],
            "unexpected argument '--prot' found; a similar argument exists: '--port'",
        );
        check(
            &["--xyzzy"],
            "unexpected argument '--xyzzy' found: `salver serve --help` lists what there is",
        );
        check(
            &["--port", "70000"],
            "invalid value '70000' for '--port <PORT>': not a whole number from 0 to 65535",
        );
        check(
            &["--revalidate", "-1s"],
            "unexpected argument '-1' found: no value can be negative",
        );
        check(
            &["--symlinks", "all"],
            "invalid value 'all' for '--symlinks <SYMLINKS>' [possible values: none, beneath, any]",
        );
        check(
            &["--revalidate", "5"],
            "invalid value '5' for '--revalidate <TIME>': time unit needed, for example 5sec or 5ms",
        );
        check(
            &["a", "b"],
            "unexpected argument 'b' found: `salver serve --help` lists what there is",
        );
    }
}
