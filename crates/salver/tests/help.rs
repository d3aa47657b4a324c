//! What `--help` promises is complete, and the README says the same.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic
)]

use clap::CommandFactory;
use salver::flags::Cli;

/// Those that exist to undo another flag: no value, no environment.
const UNDO: [&str; 7] = [
    "cache",
    "coalesce",
    "no-prewarm",
    "no-dotfiles",
    "http1",
    "http2",
    "http3",
];

const README: &str = include_str!("../../../README.md");

/// Long name, environment variable and default of each flag of `serve`.
fn flags() -> Vec<(String, Option<String>, Vec<String>)> {
    let command = Cli::command();
    let serve = command.find_subcommand("serve").unwrap();
    let flags = serve
        .get_arguments()
        .filter(|flag| flag.get_long().is_some());
    flags
        .map(|flag| {
            let text = |text: &std::ffi::OsStr| text.to_str().unwrap().to_owned();
            (
                flag.get_long().unwrap().to_owned(),
                flag.get_env().map(text),
                flag.get_default_values()
                    .iter()
                    .map(|value| text(value))
                    .collect(),
            )
        })
        .collect()
}

#[test]
fn every_flag_has_a_variable_of_its_name() {
    let flags = flags();
    assert!(flags.len() > 20, "{flags:?}");
    for (long, env, _) in flags {
        let expected = format!("SALVER_{}", long.to_uppercase().replace('-', "_"));
        let expected = (!UNDO.contains(&&*long)).then_some(expected);
        assert_eq!(env, expected, "--{long}");
    }
}

#[test]
fn help_and_readme_name_every_flag_with_its_default() {
    let help = Cli::command()
        .find_subcommand_mut("serve")
        .unwrap()
        .render_long_help()
        .to_string();
    for (long, env, defaults) in flags() {
        let flag = format!("--{long}");
        let lines: Vec<_> = README.lines().filter(|line| line.contains(&flag)).collect();
        assert!(help.contains(&flag), "{flag} is not in --help");
        assert!(!lines.is_empty(), "{flag} is not in README.md");
        let env = env.unwrap_or_default();
        assert!(help.contains(&env), "{env} is not in --help");
        for default in defaults.iter().filter(|default| *default != "false") {
            assert!(
                help.contains(&format!("[default: {default}]")),
                "{flag}: {default}"
            );
            let row = lines
                .iter()
                .any(|line| line.contains(&format!("`{default}`")));
            assert!(
                row,
                "README.md does not say that the default of {flag} is `{default}`"
            );
        }
    }
}
