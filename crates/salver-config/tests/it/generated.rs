//! What is written from the table: it is what the repository has, and others understand it.
//!
//! `SALVER_REWRITE=1` writes the files of the repository anew.

use std::fs;
use std::path::Path;

use clap::{Command, ValueEnum};
use salver_config::{Shell, arguments, completions, man_page, reference, schema, table};

/// A file of `docs/` is this text.
fn check(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    if std::env::var_os("SALVER_REWRITE").is_some() {
        fs::write(&path, text).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        found == text,
        "docs/{name} is not what the table says: SALVER_REWRITE=1 cargo test -p salver-config writes it anew"
    );
}

#[test]
fn the_reference_is_that_of_the_table() {
    check("settings.md", &reference());
}

#[test]
fn the_schema_is_that_of_the_table() {
    let rule = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/rule.schema.json");
    let rule = fs::read_to_string(rule).unwrap();
    let rule = serde_json::from_str(&rule).unwrap();
    check("salver.schema.json", &schema(&rule));
}

/// A program as `salver` is one.
fn program() -> Command {
    let serve = Command::new("serve").about("Serve").args(arguments());
    let other = Command::new("other")
        .about("Another")
        .subcommand(Command::new("inner").about("Inner"));
    Command::new("program")
        .version("1.2.3")
        .about("Serves")
        .subcommands([serve, other])
}

#[test]
fn the_definition_holds_together() {
    program().debug_assert();
}

#[test]
fn the_example_of_the_reference_is_right() {
    let page = reference();
    let example = page
        .split("```toml\n")
        .nth(1)
        .unwrap()
        .split("```")
        .next()
        .unwrap();
    let found = crate::common::resolve(&[], &[], Some(example)).unwrap();
    assert_eq!(found.sites.len(), 2);
    assert_eq!(*found.sites[1].root, Path::new("/srv/docs"));
}

#[test]
fn every_setting_is_in_everything_that_is_written() {
    let (page, man) = (reference(), man_page(program(), &[]).unwrap());
    let scripts: Vec<_> = Shell::value_variants()
        .iter()
        .map(|shell| completions(*shell, program()))
        .collect();
    let help = program()
        .find_subcommand_mut("serve")
        .unwrap()
        .render_long_help()
        .to_string();
    for entry in table() {
        let row = &entry.row;
        if !row.key.is_empty() {
            assert!(page.contains(row.key), "{}", row.key);
            let escaped = row.key.replace('-', "\\-");
            assert!(man.contains(&escaped), "{}", row.key);
        }
        if row.is_off_command_line {
            // Other users see what a command line says.
            let variable = salver_config::variable(row.flag);
            assert!(page.contains(&variable), "{variable}");
            let typed = format!("--{} ", row.flag);
            assert!(!help.contains(&typed) && !man.contains(&typed), "{typed}");
        } else if !row.flag.is_empty() && !row.is_positional {
            let flag = format!("--{}", row.flag);
            assert!(page.contains(&flag) && help.contains(&flag), "{flag}");
            assert!(man.contains(&flag.replace('-', "\\-")), "{flag}");
            let variable = format!("[env: {}]", salver_config::variable(row.flag));
            let joined = help.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(joined.contains(&variable), "{variable}");
            for script in &scripts {
                assert!(script.contains(row.flag), "{flag}");
            }
        }
    }
}

#[test]
fn a_page_is_that_of_its_command() {
    let page = man_page(program(), &[]).unwrap();
    // Of such a pair mandoc warns.
    assert!(!page.contains("\n.br\n\n.br\n"), "{page}");
    assert!(
        page.contains(".SH OPTIONS") && page.contains(".SH \"EXIT STATUS\""),
        "{page}"
    );
    assert!(page.contains("SALVER_"), "{page}");
    let words = |all: &[&str]| {
        all.iter()
            .map(|word| (*word).to_owned())
            .collect::<Vec<_>>()
    };
    let page = man_page(program(), &words(&["other", "inner"])).unwrap();
    assert!(page.contains("program\\-other\\-inner"), "{page}");
    assert_eq!(man_page(program(), &words(&["nothing"])), None);
}
