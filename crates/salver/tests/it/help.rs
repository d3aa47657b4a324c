//! What `--help` promises is complete, and docs/settings.md says the same.

use salver::flags::command;

const PAGE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/settings.md"
));

/// Long name, environment variable and default of each flag of `serve`.
fn flags() -> Vec<(String, Option<String>, Vec<String>)> {
    let command = command();
    let serve = command.find_subcommand("serve").unwrap();
    let flags = serve
        .get_arguments()
        .filter(|flag| flag.get_long().is_some());
    flags
        .map(|flag| {
            let text = |text: &std::ffi::OsStr| text.to_str().unwrap().to_owned();
            (
                flag.get_long().unwrap().to_owned(),
                variable(flag),
                flag.get_default_values()
                    .iter()
                    .map(|value| text(value))
                    .collect(),
            )
        })
        .collect()
}

/// The variable that the help of a flag names.
fn variable(flag: &clap::Arg) -> Option<String> {
    let help = flag.get_help()?.to_string();
    let (_, rest) = help.split_once("[env: ")?;
    rest.strip_suffix(']').map(str::to_owned)
}

#[test]
fn every_flag_has_a_variable_of_its_name() {
    let flags = flags();
    assert!(flags.len() > 20, "{flags:?}");
    for (long, env, _) in flags {
        let expected = format!("SALVER_{}", long.to_uppercase().replace('-', "_"));
        assert_eq!(env, Some(expected), "--{long}");
    }
}

#[test]
fn help_and_documents_name_every_flag_with_its_default() {
    let help = command()
        .find_subcommand_mut("serve")
        .unwrap()
        .render_long_help()
        .to_string();
    // However its lines are broken.
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for (long, env, defaults) in flags() {
        let flag = format!("--{long}");
        let lines: Vec<_> = PAGE.lines().filter(|line| line.contains(&flag)).collect();
        assert!(help.contains(&flag), "{flag} is not in --help");
        assert!(!lines.is_empty(), "{flag} is not in docs/settings.md");
        let env = format!("[env: {}]", env.unwrap_or_default());
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
                "docs/settings.md does not say that the default of {flag} is `{default}`"
            );
        }
    }
}

/// What each flag of a command, and of those beneath it, says to a value that is none.
fn refusals(root: &clap::Command, path: &[&str], found: &mut Vec<String>) {
    let command = path
        .iter()
        .fold(root, |command, name| command.find_subcommand(name).unwrap());
    for flag in command
        .get_arguments()
        .filter(|flag| flag.get_action().takes_values())
    {
        let Some(long) = flag.get_long() else {
            continue;
        };
        let value = format!("--{long}=a b");
        let words = ["salver"].iter().chain(path).copied().chain([&*value]);
        if let Err(error) = root.clone().try_get_matches_from(words)
            && error.kind() == clap::error::ErrorKind::ValueValidation
        {
            found.push(salver::failure::one_line(&error));
        }
    }
    for next in command.get_subcommands() {
        refusals(root, &[path, &[next.get_name()]].concat(), found);
    }
}

#[test]
fn no_value_is_refused_in_the_words_of_a_library() {
    let mut found = Vec::new();
    refusals(&command(), &[], &mut found);
    assert!(found.len() > 40, "{found:#?}");
    for line in found {
        for raw in [
            "invalid digit",
            "literal",
            "expected number",
            "boolean",
            "invalid character",
        ] {
            assert!(!line.contains(raw), "{line}");
        }
        let (_, why) = line.split_once("': ").unwrap();
        assert!(!why.is_empty() && line.lines().count() == 1, "{line}");
    }
}
