//! Completions for shells.

use clap::ValueEnum;

/// A shell that completes command lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// bash 4 or newer
    Bash,
    /// zsh
    Zsh,
    /// fish
    Fish,
}

/// A script that completes the command lines of `command` and of those beneath it.
pub fn completions(shell: Shell, mut command: clap::Command) -> String {
    use clap_complete::{Shell as Other, generate};
    let name = command.get_name().to_owned();
    let shell = match shell {
        Shell::Bash => Other::Bash,
        Shell::Zsh => Other::Zsh,
        Shell::Fish => Other::Fish,
    };
    let mut script = Vec::new();
    generate(shell, &mut command, name, &mut script);
    String::from_utf8_lossy(&script).into_owned()
}
