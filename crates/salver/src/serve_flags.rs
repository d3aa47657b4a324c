//! The flags of `salver serve`, and the configuration that follows from them, from the environment and from the file
//! that they name.

use std::io::Read as _;
use std::path::Path;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use salver_config::{Configuration, Environment, Fault, File, Layers, Machine, Typed};

use crate::failure::Failure;

/// The longest configuration file, in bytes.
const LONGEST_FILE: u64 = 1024 * 1024;

/// The flags of `salver serve`: those of the table of settings.
#[derive(Clone, Debug)]
pub struct ServeFlags {
    typed: Typed,
}

impl Args for ServeFlags {
    fn augment_args(command: Command) -> Command {
        let command = command.args(salver_config::arguments());
        // Of flags that contradict each other the last one wins.
        command.args_override_self(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ServeFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = Typed::of(matches);
        Ok(ServeFlags { typed })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ServeFlags {
    /// What is configured all in all on a machine; reads the file if one is named.
    ///
    /// # Errors
    /// Everything that is wrong with it; one failure at least.
    pub fn configuration(
        &self,
        environment: &Environment,
        machine: Machine,
    ) -> Result<Configuration, Vec<Failure>> {
        configuration(&self.typed, environment, machine)
    }
}

/// What is configured by what was typed, the environment and the file that these name.
pub(crate) fn configuration(
    typed: &Typed,
    environment: &Environment,
    machine: Machine,
) -> Result<Configuration, Vec<Failure>> {
    let layers = Layers {
        typed,
        environment,
        file: None,
        machine,
    };
    let found = Configuration::resolve(&layers).map_err(misused)?;
    let Some(path) = &*found.server.config else {
        return Ok(found);
    };
    let text = read(path).map_err(|failure| vec![failure])?;
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.clone());
    let directory = absolute.parent().unwrap_or(Path::new("/"));
    let file = File::parse(path, directory, &text, environment).map_err(misused)?;
    let file = Some(&file);
    Configuration::resolve(&Layers { file, ..layers }).map_err(misused)
}

fn misused(faults: Vec<Fault>) -> Vec<Failure> {
    let texts = faults.iter().map(ToString::to_string);
    texts.map(Failure::Misused).collect()
}

/// The text of a configuration file.
fn read(path: &Path) -> Result<String, Failure> {
    let wrong = |what: &str| {
        let text = format!("{path:?} {what}");
        Failure::Misused(text)
    };
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            wrong("does not exist: give a configuration file that is there")
        }
        // Windows denies the access to what it would have to list.
        _ if path.is_dir() => {
            wrong("is a directory: give a configuration file, such as salver.toml")
        }
        _ => Failure::Failed(format!("{path:?} cannot be read: {error}")),
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    let mut file = file.take(LONGEST_FILE + 1);
    file.read_to_end(&mut bytes).map_err(failed)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LONGEST_FILE) {
        return Err(wrong("is longer than 1MiB: give a configuration file"));
    }
    String::from_utf8(bytes).map_err(|_| wrong("is not UTF-8: give a configuration file, in TOML"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_one_is_said_with_its_name() {
        fn check(path: &Path, part: &str) {
            let line = read(path).unwrap_err().to_string();
            let path = format!("{path:?}");
            assert!(line.contains(&path) && line.contains(part), "{line}");
        }
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            path
        };
        check(&folder.path().join("none.toml"), "does not exist");
        check(folder.path(), "is a directory");
        check(
            &file("long.toml", &[b' '; 1024 * 1024 + 1]),
            "longer than 1MiB",
        );
        check(&file("bytes.toml", b"\xff"), "not UTF-8");
        let most = [b' '; 1024 * 1024];
        assert_eq!(read(&file("most.toml", &most)).unwrap().len(), most.len());
    }
}
