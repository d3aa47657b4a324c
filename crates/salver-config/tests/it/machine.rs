//! Defaults that follow the machine: what they are there, what is said of them, and that what somebody says wins.

use std::path::Path;

use crate::common::{resolve, resolve_on};
use salver_config::{Follows, Machine, Origin, arguments, reference, table};

/// A container of half a core and 128 MiB on a large machine.
const CONTAINER: Machine = Machine {
    cores: Some(64),
    cpu_quota: Some(500),
    physical_memory: Some(64 << 30),
    memory_limit: Some(128 << 20),
};

const LARGE: Machine = Machine {
    cpu_quota: None,
    memory_limit: None,
    ..CONTAINER
};

#[test]
fn defaults_are_those_of_the_machine_and_say_so() {
    let check = |machine: Machine, lines: &[&str]| {
        let found = resolve_on(machine, &[], &[], None).unwrap();
        let printed = found.print(Path::new("/here"));
        for line in lines {
            assert!(
                printed.lines().any(|printed| printed == *line),
                "{line}: {printed}"
            );
        }
        assert_eq!(found.machine, machine);
        // What is printed is a file that means the same, wherever it is read.
        let again = resolve(&[], &[], Some(&printed)).unwrap();
        assert_eq!(*again.server.cache_size, *found.server.cache_size);
        assert_eq!(*again.server.compress_cpu, *found.server.compress_cpu);
    };
    check(
        CONTAINER,
        &[
            "workers = 1 # default, for a CPU quota of 0.5 cores",
            "size = \"64MiB\" # default, half of the 128MiB that its cgroup allows",
            "connection-memory = \"32MiB\" # default, a quarter of the 128MiB that its cgroup allows",
            "compress-cpu = 25 # default, half of a CPU quota of 0.5 cores",
        ],
    );
    check(
        LARGE,
        &[
            "workers = 64 # default, one per core",
            "size = \"256MiB\" # default",
            "connection-memory = \"512MiB\" # default",
            "compress-cpu = 50 # default",
        ],
    );
    check(
        Machine::default(),
        &[
            "# workers: one per core, or per begun core of a CPU quota",
            "size = \"256MiB\" # default",
            "connection-memory = \"512MiB\" # default",
            "compress-cpu = 50 # default",
        ],
    );
}

#[test]
fn what_somebody_says_wins_whatever_the_machine() {
    fn check(words: &[&str], variables: &[(&str, &str)], text: &str, expected: &str) {
        let found = resolve_on(CONTAINER, words, variables, Some(text)).unwrap();
        let (size, workers) = (&found.server.cache_size, &found.server.workers);
        assert_eq!((**size, **workers), (1 << 30, Some(7)), "{expected}");
        assert_eq!(size.origin().to_string(), expected);
        assert!(size.is_said() && workers.is_said());
    }
    let flags = ["--cache-size", "1GiB", "--workers", "7"];
    check(&flags, &[], "", "--cache-size");
    let variables = [("SALVER_CACHE_SIZE", "1GiB"), ("SALVER_WORKERS", "7")];
    check(&[], &variables, "", "SALVER_CACHE_SIZE");
    let text = "workers = 7\n[cache]\nsize = '1GiB'\n";
    check(&[], &[], text, "salver.toml:3");
    // An empty variable counts for nothing.
    let found = resolve_on(CONTAINER, &[], &[("SALVER_CACHE_SIZE", "")], None).unwrap();
    let size = &found.server.cache_size;
    assert!(!size.is_said() && matches!(size.origin(), Origin::Machine { .. }));
    assert_eq!((**size, size.name()), (64 << 20, "--cache-size".to_owned()));
}

#[test]
fn another_machine_is_another_configuration_and_the_same_one_is_not() {
    let on = |machine| resolve_on(machine, &[], &[], None).unwrap();
    assert_eq!(on(CONTAINER).changed_from(&on(CONTAINER)), [""; 0]);
    let changed = on(CONTAINER).changed_from(&on(LARGE));
    assert_eq!(
        changed,
        [
            "cache.size",
            "compress-cpu",
            "limits.connection-memory",
            "workers"
        ]
    );
}

#[test]
fn help_and_reference_say_what_a_default_follows() {
    let (page, mut seen) = (reference(), 0);
    let rows = table().iter().map(|entry| &entry.row);
    for row in rows.filter(|row| row.follows != Follows::Nothing && !row.is_left_out) {
        let arguments = arguments();
        let flag = arguments
            .iter()
            .find(|flag| flag.get_long() == Some(row.flag))
            .unwrap();
        let help = flag.get_help().unwrap().to_string();
        let said = format!("[default: {}]", row.otherwise);
        assert!(help.contains(&said), "{help}");
        // Not a second one beside it.
        assert!(flag.get_default_values().is_empty(), "{help}");
        assert!(
            page.contains(&format!("| {} |", row.otherwise)),
            "{}",
            row.flag
        );
        seen += 1;
    }
    assert!(seen >= 3, "{seen}");
}
