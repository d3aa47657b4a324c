//! How the command fails: one line, and an exit code that says who must act.

use std::fmt;
use std::process::ExitCode;

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

/// The parser's report of a wrong command line, without its usage: one line.
pub fn one_line(report: &str) -> String {
    let mut line = String::new();
    for part in report.lines().map(str::trim) {
        if part.starts_with("Usage:") || part.starts_with("For more information") {
            break;
        }
        let (part, separator) = match part.strip_prefix("tip: ") {
            Some(tip) => (tip, "; "),
            None => (part.strip_prefix("error: ").unwrap_or(part), " "),
        };
        if !part.is_empty() {
            if !line.is_empty() {
                line.push_str(separator);
            }
            line.push_str(part);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::Cli;

    #[test]
    fn a_wrong_command_line_is_one_line() {
        fn check(arguments: &[&str], expected: &str) {
            let arguments = ["salver", "serve"].iter().chain(arguments);
            let error = Cli::read(arguments).unwrap_err();
            assert_eq!(one_line(&error.render().to_string()), expected);
        }
        check(
            &["--prot", "80"],
            "unexpected argument '--prot' found; a similar argument exists: '--port'",
        );
        check(
            &["--port", "70000"],
            "invalid value '70000' for '--port <PORT>': 70000 is not in 0..=65535",
        );
        check(
            &["--symlinks", "all"],
            "invalid value 'all' for '--symlinks <SYMLINKS>' [possible values: none, beneath, any]",
        );
        check(
            &["--revalidate", "5"],
            "invalid value '5' for '--revalidate <TIME>': time unit needed, for example 5sec or 5ms",
        );
        check(&["a", "b"], "unexpected argument 'b' found");
    }
}
