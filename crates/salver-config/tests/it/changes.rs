//! What has changed from one configuration to another, and the paths that one names.

use std::path::{PathBuf, absolute};

use crate::common::resolve;

#[test]
fn the_values_count_and_not_where_they_were_said() {
    let text = "\n# a comment\nport = 81\nroot = \"site\"\n";
    let before = resolve(&[], &[], Some("root = \"site\"\nport = 81\n")).unwrap();
    let check = |words: &[&str], text: &str, expected: &[&str]| {
        let now = resolve(words, &[], Some(text)).unwrap();
        assert_eq!(now.changed_from(&before), expected, "{text}");
    };
    check(&[], text, &[]);
    check(&["--port", "81"], "root = \"site\"\n", &[]);
    check(&["--port", "82"], text, &["port"]);
    check(
        &[],
        "port = 81\nroot = \"other\"\nspa = true\n",
        &["root", "spa"],
    );
    let sites =
        "port = 81\n[[site]]\nroot = \"site\"\n[[site]]\nroot = \"b\"\nhosts = [\"b.test\"]\n";
    check(&[], sites, &["site"]);
}

/// An absolute path as the platform has it: with a drive, perhaps.
fn path(path: &str) -> PathBuf {
    absolute(path).unwrap()
}

#[test]
fn paths_are_those_of_files_roots_and_mounts() {
    let text = "root = \"site\"\n[tls]\ncertificate = \"a.pem\"\nkey = \"/keys/a.pem\"\n";
    let found = resolve(&["--mount", "/m=/srv/m"], &[], Some(text)).unwrap();
    let paths = found.paths();
    for (key, expected) in [
        ("root", "/etc/salver/site"),
        ("tls.certificate", "/etc/salver/a.pem"),
        ("tls.key", "/keys/a.pem"),
    ] {
        assert!(paths.contains(&(key, path(expected))), "{paths:?}");
    }
    assert!(paths.iter().any(|(_, found)| *found == path("/srv/m")));
    assert!(paths.iter().all(|(_, found)| found.is_absolute()));
}

#[test]
fn where_a_store_is_served_the_current_directory_is_not() {
    let found = resolve(&["--store", "/srv/releases"], &[], None).unwrap();
    let paths = found.paths();
    assert!(paths.contains(&("store", path("/srv/releases"))));
    assert!(paths.iter().all(|(key, _)| *key != "root"), "{paths:?}");
    let both = resolve(&["dist", "--store", "/srv/releases"], &[], None);
    assert!(
        both.unwrap_err()
            .contains("PATH and --store are two things to show")
    );
}
