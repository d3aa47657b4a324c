//! `salver man` and `salver completions`: what is written from the definition of the command line.

use std::io::{self, Write as _};

use clap::Command;
use salver_config::Shell;

use crate::failure::Failure;

/// Prints the manual page of the program, or of its command that `words` name.
///
/// # Errors
/// There is no such command.
pub fn man(program: Command, words: &[String]) -> Result<(), Failure> {
    let Some(page) = salver_config::man_page(program, words) else {
        return Err(Failure::Misused(format!(
            "`salver {}` is no command: `salver --help` lists the commands",
            words.join(" ").escape_debug()
        )));
    };
    print(&page)
}

/// Prints a script that completes command lines of the program in a shell.
///
/// # Errors
/// It cannot be written.
pub fn completions(program: Command, shell: Shell) -> Result<(), Failure> {
    print(&salver_config::completions(shell, program))
}

fn print(text: &str) -> Result<(), Failure> {
    let written = io::stdout().write_all(text.as_bytes());
    written.map_err(|error| Failure::Failed(format!("standard output failed: {error}")))
}
