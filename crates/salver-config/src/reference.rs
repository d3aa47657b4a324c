//! The reference page of the settings.

use std::fmt::Write as _;

use crate::kind::Shape;
use crate::row::{Entry, Form, Scope, variable};
use crate::table::table;

const BEGIN: &str = "\
# Settings

Written by `salver-config` from its table of settings; change them there.

A setting is a flag of `salver serve`, an environment variable, and a key of `salver.toml`, which is read if it is
named: `salver serve -c salver.toml`. The command line wins over the environment, that over the file, and that over
the default. `salver check -c salver.toml` says all that is wrong with a file, `--print` what each setting is and
where that was said.

```toml
port = 8443
tls = { certificate = \"tls/fullchain.pem\", key = \"tls/privkey.pem\" }

[limits]
send-timeout = \"20s\"

[[site]]
root = \"/srv/example\"
hosts = [\"example.org\", \"*.example.org\"]

[[site]]
root = \"${DOCS:/srv/docs}\"
spa = true
```

- Sizes have units (`\"64MiB\"`, `\"1.5GB\"`) or are numbers of bytes, times have units (`\"500ms\"`, `\"1m 30s\"`). Where
  several values may stand, one needs no brackets.
- Relative paths begin in the directory of the file; those of flags and variables in the current one.
- `${NAME}` in text is the value of that environment variable, `${NAME:default}` has a default, `$${` stands for `${`.
  A variable that is empty is as if it were not set.
- A setting of a site stands in its `[[site]]`; at the top of the file it holds for each site that says nothing. A
  file without `[[site]]` is about one site, for all hosts.
- Some defaults follow the machine, as it is when the server starts: workers are as many as cores, or begun cores of a CPU
  quota; memory is a share of what the machine has, or of what the cgroup of the process allows, which is how
  containers and service managers limit it. What is said wins, whatever the machine; `salver check --print` shows
  which value was chosen and why.
- A switch has two flags, `--x` and `--no-x`, and two variables.
- `docs/salver.schema.json` tells editors the same; many take `#:schema PATH` in the first line of a file.
";

/// The page, in Markdown.
pub fn reference() -> String {
    let mut page = BEGIN.to_owned();
    let mut headings: Vec<&str> = Vec::new();
    for entry in table() {
        if !headings.contains(&entry.row.heading) {
            headings.push(entry.row.heading);
        }
    }
    for heading in headings {
        let _ = write!(
            page,
            "\n## {heading}\n\n| key | of | flag | default | what it is |\n| --- | --- | --- | --- | --- |\n"
        );
        for entry in table().iter().filter(|entry| entry.row.heading == heading) {
            let cells = [
                key(entry),
                scope(entry),
                flag(entry),
                default(entry),
                what(entry),
            ];
            let _ = writeln!(page, "| {} |", cells.join(" | "));
        }
    }
    page
}

fn code(text: &str) -> String {
    format!("`{}`", text.replace('|', "\\|"))
}

fn key(entry: &Entry) -> String {
    match (entry.row.key, &entry.shape) {
        ("", _) => String::new(),
        (key, Shape::Mount { is_cached: true }) => format!("`[[{key}]]`: `prefix`, `path`"),
        (key, Shape::Mount { is_cached: false }) => format!("`[[{key}]]` with `cache = false`"),
        (key, Shape::Tables) => format!("`[[{key}]]`"),
        (key, Shape::Pair) => format!("`[{key}]`"),
        (key, _) => code(key),
    }
}

fn scope(entry: &Entry) -> String {
    match (entry.scope, entry.row.is_of_one_site) {
        (Scope::Server, _) => "server",
        (Scope::Site, false) => "site",
        (Scope::Site, true) => "one site",
    }
    .to_owned()
}

fn flag(entry: &Entry) -> String {
    let row = &entry.row;
    let value = &entry.value;
    let short = row
        .short
        .map(|short| format!("-{short}, "))
        .unwrap_or_default();
    match (row.flag, &entry.shape) {
        ("", _) => String::new(),
        (flag, _) if row.is_off_command_line => code(&variable(flag)),
        _ if row.is_positional => code(value),
        (flag, Shape::Switch) => format!(
            "{}, {}",
            code(&format!("{short}--{flag}")),
            code(&format!("--{}", entry.off))
        ),
        (flag, Shape::SwitchOr(_)) => code(&format!("{short}--{flag}[={value}]")),
        (flag, _) => code(&format!("{short}--{flag} {value}")),
    }
}

fn default(entry: &Entry) -> String {
    match (entry.row.default, entry.row.otherwise) {
        ("", "") => String::new(),
        (all, "") if entry.form == Form::List => {
            all.split(',').map(code).collect::<Vec<_>>().join(", ")
        }
        (default, "") => code(default),
        (_, otherwise) => otherwise.to_owned(),
    }
}

fn what(entry: &Entry) -> String {
    let mut text = entry.row.help.to_owned();
    if let Shape::Choice(names) = entry.shape {
        let names = names
            .iter()
            .map(|(name, help)| format!("{}: {help}", code(name)));
        let _ = write!(text, " ({})", names.collect::<Vec<_>>().join("; "));
    }
    text.replace('|', "\\|")
}
