//! The commands of `salver`, typed. The comments on the fields are what `--help` says.

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::commands::bench::cache::CacheFlags;
use crate::commands::bench::coalesce::CoalesceFlags;
use crate::commands::bench::compare::CompareFlags;
use crate::commands::bench::load::LoadFlags;
use crate::commands::bench::staleness::StalenessFlags;
use crate::commands::bench::strategies::StrategiesFlags;
use crate::commands::bench::ui::UiFlags;
use crate::serve_flags::ServeFlags;
use crate::variables;

/// Serves static files: fast, fresh and correct.
#[derive(Debug, Parser)]
#[command(
    name = "salver",
    version,
    arg_required_else_help = true,
    override_usage = "salver [serve] [OPTIONS] [PATH]\n       salver <COMMAND> ...",
    after_help = "`salver DIR` is short for `salver serve DIR`; `salver serve --help` has all its flags."
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What `salver` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve a directory over HTTP
    Serve(Box<ServeFlags>),
    /// Measure on this machine
    Bench(BenchFlags),
}

/// Measure on this machine.
#[derive(Args, Clone, Debug)]
#[command(arg_required_else_help = true)]
pub struct BenchFlags {
    /// What to measure.
    #[command(subcommand)]
    pub what: Bench,
}

/// What `salver bench` can measure.
#[derive(Clone, Debug, Subcommand)]
pub enum Bench {
    /// Load a server and look at every answer
    Load(Box<LoadFlags>),
    /// Which of two servers is faster, if that can be told
    Compare(Box<CompareFlags>),
    /// What the cache is worth: plain against cached serving of files of six sizes
    Cache(CacheFlags),
    /// How much one shared load saves when many ask for one cold file at once
    Coalesce(CoalesceFlags),
    /// How long old bytes are served after a file was replaced
    Staleness(Box<StalenessFlags>),
    /// What each way to send a file costs here, and the settings that follow
    Strategies(StrategiesFlags),
    /// A local page that measures and keeps what was measured
    Ui(UiFlags),
}

/// The whole command line as the parser takes it: the flags above, and what follows from their names.
/// Each flag of `serve` names its variable in its help, and of two that undo each other the last one
/// wins.
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    command = command.mut_subcommand("serve", |serve| {
        let plain = serve.clone();
        serve.mut_args(|flag| {
            let flag = match variables::opposite(&plain, &flag) {
                Some(opposite) => flag.overrides_with(opposite.get_id().clone()),
                None => flag,
            };
            let Some(variable) = variables::name(&flag) else {
                return flag;
            };
            let help = flag.get_help().map(ToString::to_string);
            flag.help(format!("{} [env: {variable}]", help.unwrap_or_default()))
        })
    });
    command
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::values::Spa;
    use crate::variables::Variables;

    fn parse(arguments: &[&str]) -> Result<ServeFlags, String> {
        let arguments = ["salver", "serve"].iter().chain(arguments);
        let cli = Cli::read(arguments, &Variables::default());
        let cli = cli.map_err(|unread| format!("{unread:?}"))?;
        match cli.command {
            Command::Serve(flags) => Ok(*flags),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definition_holds_together() {
        command().debug_assert();
    }

    #[test]
    fn of_opposite_flags_the_last_wins() {
        fn check(arguments: &[&str], expected: [bool; 4]) {
            let flags = parse(arguments).unwrap();
            let found = [
                flags.no_cache,
                flags.no_coalesce,
                flags.prewarm,
                flags.dotfiles,
            ];
            assert_eq!(found, expected, "{arguments:?}");
        }
        check(&[], [false; 4]);
        check(
            &["--no-cache", "--no-coalesce", "--prewarm", "--dotfiles"],
            [true; 4],
        );
        check(&["--no-cache", "--cache"], [false; 4]);
        check(&["--cache", "--no-cache"], [true, false, false, false]);
        check(&["--no-coalesce", "--coalesce"], [false; 4]);
        check(
            &["--coalesce", "--no-coalesce"],
            [false, true, false, false],
        );
        check(&["--prewarm", "--no-prewarm"], [false; 4]);
        check(&["--no-prewarm", "--prewarm"], [false, false, true, false]);
        check(&["--dotfiles", "--no-dotfiles"], [false; 4]);
        check(
            &["--no-dotfiles", "--dotfiles", "--dotfiles"],
            [false, false, false, true],
        );
    }

    #[test]
    fn lists_repeat_or_are_separated_by_commas() {
        fn check(arguments: &[&str], index: &[&str], mounts: &[&str]) {
            let flags = parse(arguments).unwrap();
            assert_eq!(flags.index, index, "{arguments:?}");
            let all = flags.mount.iter().chain(&flags.mount_plain);
            let prefixes: Vec<_> = all.map(|mount| &*mount.prefix).collect();
            assert_eq!(prefixes, mounts, "{arguments:?}");
        }
        check(&[], &["index.html"], &[]);
        check(&["--index", "a,b"], &["a", "b"], &[]);
        check(&["--index", "a", "--index=b"], &["a", "b"], &[]);
        check(
            &["--mount", "/a=x", "--mount=/b=y"],
            &["index.html"],
            &["/a", "/b"],
        );
        check(&["--mount", "/a=x,/b=y"], &["index.html"], &["/a", "/b"]);
        check(
            &["--mount-plain", "/a=x,/b=y", "--mount-plain=/c=z"],
            &["index.html"],
            &["/a", "/b", "/c"],
        );
    }

    #[test]
    fn the_fallback_takes_its_file_only_after_an_equals_sign() {
        fn check(arguments: &[&str], spa: Option<Spa>, path: &str) {
            let flags = parse(arguments).unwrap();
            assert_eq!(
                (flags.spa, flags.path),
                (spa, PathBuf::from(path)),
                "{arguments:?}"
            );
        }
        check(&["dist"], None, "dist");
        check(&["--spa", "src"], Some(Spa::Index), "src");
        check(
            &["--spa=app.html", "dist"],
            Some(Spa::File("app.html".into())),
            "dist",
        );
    }

    #[test]
    fn at_most_ten_flags_are_short() {
        let command = command();
        let serve = command.find_subcommand("serve").unwrap();
        // And `-h`.
        assert!(
            serve
                .get_arguments()
                .filter(|flag| flag.get_short().is_some())
                .count()
                < 10
        );
    }
}
