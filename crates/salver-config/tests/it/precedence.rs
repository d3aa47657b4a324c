//! Which value counts, and where it is said to come from.

use std::path::Path;

use crate::common::{resolve, typed};
use salver_config::values::{HostPattern, Mount, Spa, Symlinks};
use salver_config::{Follows, Form, Origin, Scope, table};

#[test]
fn every_default_is_a_value_and_every_row_is_whole() {
    let nothing = resolve(&[], &[], None).unwrap();
    assert_eq!(nothing.sites.len(), 1);
    let mut keys = Vec::new();
    let mut flags = Vec::new();
    for entry in table() {
        let row = &entry.row;
        let name = row.name();
        assert!(!row.heading.is_empty() && !row.help.is_empty(), "{name}");
        assert!(
            !row.help.ends_with('.') && !row.help.contains('\n'),
            "{name}"
        );
        let is_named = !row.key.is_empty() || !row.flag.is_empty();
        assert!(is_named, "{row:?}");
        if entry.form == Form::Optional {
            assert!(row.default.is_empty(), "{name}");
        }
        if entry.form == Form::One {
            assert!(!row.default.is_empty(), "{name}");
        }
        assert_eq!(!row.negated.is_empty(), row.default == "true", "{name}");
        // What follows the machine is said in words.
        if row.follows != Follows::Nothing {
            assert!(!row.otherwise.is_empty(), "{name}");
        } else {
            assert!(row.default.is_empty() || row.otherwise.is_empty(), "{name}");
        }
        assert!(!row.is_of_one_site || entry.scope == Scope::Site, "{name}");
        // What stands in a file once is said by one row, but for mounts, which have two flags.
        assert!(
            row.key.is_empty() || row.key == "mount" || !keys.contains(&row.key),
            "{name}"
        );
        assert!(row.flag.is_empty() || !flags.contains(&row.flag), "{name}");
        keys.push(row.key);
        flags.push(row.flag);
    }
    let shorts = table().iter().filter(|entry| entry.row.short.is_some());
    // And `-h`.
    assert!(shorts.count() < 10);
}

#[test]
fn the_command_line_wins_over_the_environment_and_that_over_the_file() {
    fn check(words: &[&str], variables: &[(&str, &str)], text: &str, port: u16, name: &str) {
        let found = resolve(words, variables, Some(text)).unwrap();
        assert_eq!(found.server.port[..], [port], "{name}");
        assert_eq!(found.server.port.name(), name);
    }
    let variables = [("SALVER_PORT", "82")];
    check(&["-p", "81"], &variables, "port = 83", 81, "--port");
    check(&[], &variables, "port = 83", 82, "SALVER_PORT");
    check(&[], &[], "\nport = 83", 83, "port (salver.toml:2)");
    check(&[], &[("SALVER_PORT", "")], "", 8080, "--port");
}

#[test]
fn each_value_knows_its_origin() {
    let found = resolve(
        &["--no-cache"],
        &[("SALVER_NO_HTTP2", "1")],
        Some("drain = '5s'"),
    )
    .unwrap();
    let flag = "--no-cache".to_owned();
    assert_eq!(found.sites[0].cache.origin(), &Origin::CommandLine { flag });
    let variable = "SALVER_NO_HTTP2".to_owned();
    assert_eq!(
        found.server.http2.origin(),
        &Origin::Environment { variable }
    );
    assert!(matches!(found.server.drain.origin(), Origin::File(place) if place.line == 1));
    assert_eq!(found.server.http1.origin(), &Origin::Default);
    assert!(!found.server.http1.is_said() && found.server.http2.is_said());
    assert_eq!((*found.sites[0].cache, *found.server.http2), (false, false));
    assert_eq!(found.sites[0].root.name(), "PATH");
    assert_eq!(found.sites[0].hosts.name(), "hosts");
}

#[test]
fn of_opposite_flags_the_last_wins() {
    fn check(words: &[&str], expected: [bool; 4]) {
        let found = resolve(words, &[], None).unwrap();
        let (server, site) = (&found.server, &found.sites[0]);
        let found = [
            *site.cache,
            *server.coalesce,
            *server.prewarm,
            *site.dotfiles,
        ];
        assert_eq!(found, expected, "{words:?}");
    }
    let usual = [true, true, false, false];
    check(&[], usual);
    check(
        &["--no-cache", "--no-coalesce", "--prewarm", "--dotfiles"],
        [false, false, true, true],
    );
    check(&["--no-cache", "--cache"], usual);
    check(&["--cache", "--no-cache"], [false, true, false, false]);
    check(&["--no-coalesce", "--coalesce"], usual);
    check(&["--no-prewarm", "--prewarm"], [true, true, true, false]);
    check(
        &["--no-dotfiles", "--dotfiles", "--dotfiles"],
        [true, true, false, true],
    );
}

#[test]
fn switches_of_the_environment_have_two_names() {
    fn check(variables: &[(&str, &str)], words: &[&str], expected: Result<bool, &str>) {
        let found = resolve(words, variables, Some("http2 = false"));
        let found = found.map(|found| *found.server.http2);
        let expected = expected.map_err(|text| format!("{text}\n"));
        assert_eq!(found, expected, "{variables:?} {words:?}");
    }
    check(&[], &[], Ok(false));
    check(&[("SALVER_HTTP2", "yes")], &[], Ok(true));
    check(&[("SALVER_HTTP2", "")], &[], Ok(false));
    check(&[("SALVER_NO_HTTP2", "false")], &[], Ok(true));
    check(&[("SALVER_NO_HTTP2", "True")], &[], Ok(false));
    check(&[("SALVER_NO_HTTP2", "1")], &["--http2"], Ok(true));
    check(&[("SALVER_HTTP2", "1")], &["--no-http2"], Ok(false));
    let both = [("SALVER_HTTP2", "false"), ("SALVER_NO_HTTP2", "true")];
    check(&both, &[], Ok(false));
    let both = [("SALVER_HTTP2", "true"), ("SALVER_NO_HTTP2", "true")];
    let wrong = "SALVER_NO_HTTP2 and SALVER_HTTP2 contradict each other: unset one of them";
    check(&both, &[], Err(wrong));
}

#[test]
fn a_wrong_value_is_said_of_the_variable() {
    fn check(variable: &str, value: &str, expected: &str) {
        let found = resolve(&[], &[(variable, value)], None);
        assert_eq!(found.unwrap_err(), format!("{expected}\n"));
    }
    check(
        "SALVER_PORT",
        "80,abc",
        "SALVER_PORT=80,abc: not a whole number from 0 to 65535",
    );
    check(
        "SALVER_QUIET",
        "perhaps",
        "SALVER_QUIET=perhaps: neither yes nor no: give true or false",
    );
    check(
        "SALVER_SYMLINKS",
        "all",
        "SALVER_SYMLINKS=all: give none, beneath or any",
    );
    check(
        "SALVER_INDEX",
        "a\n/b",
        "SALVER_INDEX=a\\n/b: not a file name: give one without a slash, such as index.html",
    );
}

#[test]
fn all_faults_are_said_at_once() {
    let variables = [("SALVER_PORT", "abc"), ("SALVER_DRAIN", "5")];
    let text = "prot = 1\n[limits]\nsend-timeout = '5'\nmin-rate = 'x'\nport = 1\n";
    let said = resolve(&[], &variables, Some(text)).unwrap_err();
    let begins: Vec<_> = said
        .lines()
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(
        begins,
        [
            "SALVER_PORT=abc:",
            "SALVER_DRAIN=5:",
            "salver.toml:1:",
            "salver.toml:3:",
            "salver.toml:4:",
            "salver.toml:5:"
        ],
        "{said}"
    );
}

#[test]
fn lists_repeat_or_are_separated_by_commas() {
    fn check(words: &[&str], index: &[&str], mounts: &[&str]) {
        let found = resolve(words, &[], None).unwrap();
        let site = &found.sites[0];
        assert_eq!(site.index[..], *index, "{words:?}");
        let all = site.mount.iter().chain(&*site.mount_plain);
        let prefixes: Vec<_> = all.map(|mount| &*mount.prefix).collect();
        assert_eq!(prefixes, mounts, "{words:?}");
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
    let found = resolve(&[], &[("SALVER_MOUNT", "/a=x,/b=y")], None).unwrap();
    assert_eq!(found.sites[0].mount.len(), 2);
}

#[test]
fn the_fallback_takes_its_file_only_after_an_equals_sign() {
    fn check(words: &[&str], spa: Spa, path: &str) {
        let found = resolve(words, &[], None).unwrap();
        assert_eq!(*found.sites[0].spa, spa, "{words:?}");
        assert_eq!(*found.sites[0].root, Path::new(path), "{words:?}");
    }
    check(&["dist"], Spa::Off, "dist");
    check(&["--spa", "src"], Spa::Index, "src");
    check(
        &["--spa=app.html", "dist"],
        Spa::File("app.html".into()),
        "dist",
    );
}

#[test]
fn a_file_describes_one_site_or_several() {
    let text = "root = 'dist'\nsymlinks = 'any'\n[[mount]]\nprefix = '/a'\npath = '/srv/a'\n[[rule]]\npath = '/x'\n";
    let found = resolve(&[], &[], Some(text)).unwrap();
    let [site] = &found.sites[..] else {
        panic!("{found:?}")
    };
    assert_eq!(*site.root, Path::new("/etc/salver/dist"));
    let mount = Mount {
        prefix: "/a".to_owned(),
        path: "/srv/a".into(),
    };
    assert_eq!(site.mount[..], [mount]);
    assert_eq!((site.rules.len(), site.rules[0].line), (1, 6));
    assert_eq!(site.place, None);

    let text = "dotfiles = true\nsymlinks = 'any'\n[[site]]\nroot = '/a'\nhosts = ['A.test', '*.b.test']\n\
                symlinks = 'none'\n[[site]]\nroot = '/b'\ndotfiles = false\n";
    let found = resolve(&[], &[("SALVER_SPA", "true")], Some(text)).unwrap();
    let [first, second] = &found.sites[..] else {
        panic!("{found:?}")
    };
    let hosts = [
        HostPattern::Exact("a.test".into()),
        HostPattern::Below("b.test".into()),
    ];
    assert_eq!(first.hosts[..], hosts);
    // What stands at the top holds where a site says nothing, and what the environment says for all.
    assert_eq!((*first.dotfiles, *second.dotfiles), (true, false));
    assert_eq!(
        (*first.symlinks, *second.symlinks),
        (Symlinks::None, Symlinks::Any)
    );
    assert_eq!((&*first.spa, &*second.spa), (&Spa::Index, &Spa::Index));
    let lines: Vec<_> = found
        .sites
        .iter()
        .map(|site| site.place.clone().unwrap().line)
        .collect();
    assert_eq!(lines, [3, 7]);
}

#[test]
fn what_is_of_one_site_is_said_of_no_several() {
    let two = "[[site]]\nroot = '/a'\nhosts = ['a.test']\n[[site]]\nroot = '/b'\n";
    let check = |words: &[&str], variables: &[(&str, &str)], expected: &str| {
        let said = resolve(words, variables, Some(two)).unwrap_err();
        assert!(
            said.starts_with(expected) && said.lines().count() == 1,
            "{said}"
        );
    };
    check(&["dist"], &[], "PATH is of one site, and the file has 2");
    check(&["--mount", "/a=b"], &[], "--mount is of one site");
    check(&[], &[("SALVER_PATH", "/x")], "SALVER_PATH is of one site");
    // Of one there is no doubt.
    let one = "[[site]]\nroot = '/a'\n";
    let found = resolve(&["dist"], &[], Some(one)).unwrap();
    assert_eq!(*found.sites[0].root, Path::new("dist"));
}

#[test]
fn a_value_that_is_none_is_refused_by_the_parser() {
    fn check(words: &[&str], part: &str) {
        let said = typed(words).unwrap_err().to_string();
        assert!(said.contains(part), "{said}");
    }
    check(
        &["--port", "70000"],
        "'--port <PORT>': not a whole number from 0 to 65535",
    );
    check(
        &["--symlinks", "all"],
        "[possible values: none, beneath, any]",
    );
    check(
        &["--revalidate", "5"],
        "time unit needed, for example 5sec or 5ms",
    );
    check(&["--mount", "x"], "'--mount <PREFIX=DIR>': there is no '='");
    check(&[""], "'[PATH]'");
}
