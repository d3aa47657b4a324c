//! The environment: each flag of `serve` has a variable that does what the flag does.

use crate::common::{Running, run, salver, site, stop};
use clap::ArgAction;
use salver::flags::{Cli, Command, command};
use salver_config::{Environment, Machine};

/// Values of every kind that a flag takes; the first that it takes and that changes something is used.
const VALUES: [&str; 17] = [
    "7",
    "7s",
    "7MiB",
    "none",
    "::1",
    "x.html",
    "/a=b",
    "/x/y.pem",
    "/dev/null",
    "json",
    "forwarded",
    "cloudflare",
    "auto",
    "always",
    "on",
    "avif",
    "both",
];

/// What is meant by these arguments of `serve` and these variables.
fn meant(arguments: &[String], variables: &[(&str, &str)]) -> Result<String, String> {
    let of = variables
        .iter()
        .map(|(name, value)| (name.into(), value.into()));
    let words = ["salver", "serve"].map(str::to_owned).into_iter();
    let cli = Cli::read(words.chain(arguments.iter().cloned()));
    let Command::Serve(flags) = cli.map_err(|unread| format!("{unread:?}"))?.command else {
        panic!("another command");
    };
    let configuration = flags.configuration(&Environment::of(of), Machine::default());
    configuration
        .map(|configuration| format!("{configuration:?}"))
        .map_err(|failures| format!("{failures:?}"))
}

#[test]
fn every_flag_has_a_variable_that_takes_effect() {
    let command = command();
    let serve = command.find_subcommand("serve").unwrap();
    let nothing = meant(&[], &[]).unwrap();
    let mut count = 0;
    for flag in serve.get_arguments() {
        let name = flag.get_long().unwrap_or(flag.get_id().as_str()).to_owned();
        if name == "help" {
            continue;
        }
        count += 1;
        let variable = format!("SALVER_{}", name.to_uppercase().replace('-', "_"));
        let empty = meant(&[], &[(&variable, "")]).unwrap();
        assert_eq!(empty, nothing, "{variable}= is as if it were not set");
        if matches!(flag.get_action(), ArgAction::SetTrue) {
            let other = match name.strip_prefix("no-") {
                Some(name) => name.to_owned(),
                None => format!("no-{name}"),
            };
            let [on, off] = [name, other].map(|name| meant(&[format!("--{name}")], &[]));
            // A flag that nothing undoes is not there.
            let [on, off] = [on.unwrap(), off.unwrap_or_else(|_| nothing.clone())];
            assert_ne!(on, off, "{variable} can change something");
            assert_eq!(
                meant(&[], &[(&variable, "true")]),
                Ok(on),
                "{variable}=true"
            );
            assert_eq!(
                meant(&[], &[(&variable, "false")]),
                Ok(off),
                "{variable}=false"
            );
            let wrong = meant(&[], &[(&variable, "perhaps")]).unwrap_err();
            assert!(wrong.contains(&format!("{variable}=perhaps: ")), "{wrong}");
        } else {
            let typed = |value: &str| match flag.get_long() {
                Some(long) => meant(&[format!("--{long}={value}")], &[]),
                None => meant(&[value.to_owned()], &[]),
            };
            let known = VALUES.iter().find_map(|value| {
                let by_flag = typed(value).ok().filter(|all| *all != nothing)?;
                Some((value, by_flag))
            });
            let (value, by_flag) = known.unwrap_or_else(|| panic!("no value for {variable}"));
            // A path is taken as it stands, which is `./7` for `7`.
            let by_variable = meant(&[], &[(&variable, value)]).unwrap();
            assert_eq!(by_variable.replace("./", ""), by_flag, "{variable}={value}");
        }
    }
    assert!(count > 35, "{count} flags");
}

#[test]
fn versions_of_http_can_be_refused_and_wanted_by_variables() {
    let root = site(&[("index.html", "x")]);
    let check = |variable: &str, value: &str, is_spoken: bool| {
        let server = Running::start_with(root.path(), &[], |command| {
            command.env(variable, value);
        });
        let mut stream = server.connect();
        std::io::Write::write_all(
            &mut stream,
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        )
        .unwrap();
        let mut first = [0; 9];
        std::io::Read::read_exact(&mut stream, &mut first).unwrap();
        // A SETTINGS frame, or an answer of HTTP/1.1.
        assert_eq!(first[3] == 4, is_spoken, "{variable}={value}: {first:?}");
        stop(server);
    };
    check("SALVER_HTTP2", "", true);
    check("SALVER_HTTP2", "false", false);
    check("SALVER_NO_HTTP2", "true", false);
    check("SALVER_NO_HTTP2", "false", true);
}

#[test]
fn a_bad_value_is_said_of_the_variable_in_one_line() {
    let check = |variable: &str, value: &str, parts: &[&str]| {
        let output = salver().arg("serve").env(variable, value).output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
        let begin = format!("salver: {variable}={value}: ");
        assert!(
            said.starts_with(&begin) && !said.contains("--port"),
            "{said}"
        );
        for part in parts {
            assert!(said.contains(part), "{said}");
        }
    };
    check("SALVER_PORT", "abc", &["0 to 65535"]);
    check("SALVER_REVALIDATE", "5", &["5sec"]);
    check("SALVER_QUIET", "perhaps", &["true or false"]);
    check("SALVER_SYMLINKS", "all", &["none, beneath or any"]);
}

#[test]
fn a_misspelt_variable_is_said_and_one_of_others_is_not() {
    let root = site(&[("index.html", "x")]);
    let server = Running::start_with(root.path(), &[], |command| {
        command.env("SALVER_PROT", "80");
        command.env("SALVER_SERVICE_HOST", "10.0.0.1");
    });
    let said = stop(server);
    let about: Vec<_> = said
        .lines()
        .filter(|line| line.contains("SALVER_"))
        .collect();
    assert_eq!(about.len(), 1, "{said}");
    assert!(about[0].contains("SALVER_PROT"), "{said}");
    assert!(about[0].contains("is SALVER_PORT meant?"), "{said}");
}

#[test]
fn benchmarks_obey_no_variable() {
    let (_, help, _) = run(&["bench", "load", "--help"]);
    assert!(
        help.contains("--rate") && !help.contains("SALVER_"),
        "{help}"
    );
    let url = "http://127.0.0.1:1/";
    let output = salver()
        .args(["bench", "load", url, "--rate", "0"])
        .env("SALVER_PORT", "abc")
        .env("SALVER_CONNECTIONS", "many")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("rate") && !said.contains("SALVER_"), "{said}");
}
