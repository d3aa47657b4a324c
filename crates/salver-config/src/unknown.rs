//! Names that no setting has, of variables and of keys, with what may have been meant.

use crate::document::{Node, Table, Value};
use crate::environment::Environment;
use crate::fault::Fault;
use crate::file::{File, SITE};
use crate::nearest::nearest;
use crate::row::{Entry, PREFIX, Scope};
use crate::table::table;
use crate::written::shown_key;

impl Environment {
    /// One line for each variable that looks like a setting and is none: which, and what may have been meant.
    pub fn unknown(&self) -> Vec<String> {
        let variables = |entry: &Entry| entry.row.variables(&entry.shape);
        let known: Vec<String> = table().iter().flat_map(variables).collect();
        let bare = |name: &'_ str| name.strip_prefix(PREFIX).map(str::to_owned);
        let bare_known: Vec<String> = known.iter().filter_map(|name| bare(name)).collect();
        let mut lines = Vec::new();
        for name in self.names(PREFIX) {
            // What they have in common at the beginning makes none of them more alike.
            let Some(rest) = name.strip_prefix(PREFIX) else {
                continue;
            };
            if known.iter().any(|known| known == name) {
                continue;
            }
            lines.push(match nearest(rest, bare_known.iter().map(String::as_str)) {
                Some(near) => {
                    format!("{name} is not obeyed: no flag is called so; is {PREFIX}{near} meant?")
                }
                None => format!(
                    "{name} is not obeyed: no flag is called so; `salver serve --help` names all"
                ),
            });
        }
        lines
    }
}

/// What no setting is called, and what stands where it cannot hold.
pub(crate) fn misplaced(file: &File) -> Vec<Fault> {
    let mut faults = Vec::new();
    let sites = file.sites().unwrap_or_default();
    let all: Vec<&Entry> = table()
        .iter()
        .filter(|entry| !entry.row.key.is_empty())
        .collect();
    let of_site = |entry: &&&Entry| entry.scope == Scope::Site;
    let site_keys: Vec<&str> = all
        .iter()
        .filter(of_site)
        .map(|entry| entry.row.key)
        .collect();
    let keys: Vec<&str> = all
        .iter()
        .map(|entry| entry.row.key)
        .chain([SITE])
        .collect();
    unknown(file, file.root(), "", &keys, &all, &mut faults);
    for site in &sites {
        unknown(file, site, "", &site_keys, &all, &mut faults);
    }
    if !sites.is_empty() {
        for entry in all.iter().filter(|entry| entry.row.is_of_one_site) {
            if let Some(node) = file.root().find(entry.row.key) {
                let key = entry.row.key;
                let text =
                    format!("{key} is of one site: put it beneath its [[site]], as there are some");
                faults.push(file.fault(node.line, text));
            }
        }
    }
    faults
}

/// What no key of a table is, among `keys` that may stand there.
fn unknown(
    file: &File,
    table: &Table,
    before: &str,
    keys: &[&str],
    all: &[&Entry],
    faults: &mut Vec<Fault>,
) {
    for (name, node) in &table.entries {
        let key = format!("{before}{name}");
        if keys.contains(&&*key) {
            continue;
        }
        let inside = format!("{key}.");
        let is_table = keys.iter().any(|known| known.starts_with(&inside));
        match &node.value {
            Value::Table(table) if is_table => unknown(file, table, &inside, keys, all, faults),
            _ if is_table => {
                let text = format!("{key} is a table: write [{key}] and its keys beneath");
                faults.push(file.fault(node.line, text));
            }
            _ => faults.push(unknown_key(file, &key, name, node, keys, all)),
        }
    }
}

fn unknown_key(
    file: &File,
    key: &str,
    name: &str,
    node: &Node,
    keys: &[&str],
    all: &[&Entry],
) -> Fault {
    let shown = shown_key(key);
    let inside = format!("{key}.");
    let is_of_server = |entry: &&Entry| entry.row.key == key || entry.row.key.starts_with(&inside);
    if all.iter().any(is_of_server) {
        let text = format!("{shown} is of the whole server: put it at the top of the file");
        return file.fault(node.line, text);
    }
    // By its flag, by its last word, or by signs that are alike.
    let plain = name.replace('_', "-");
    let is_called = |entry: &&&Entry| {
        let last = entry.row.key.rsplit('.').next();
        keys.contains(&entry.row.key) && (entry.row.flag == plain || last == Some(&*plain))
    };
    let called = all.iter().find(is_called).map(|entry| entry.row.key);
    let meant = called.or_else(|| nearest(key, keys.iter().copied()));
    let text = match meant {
        Some(meant) => format!("{shown} is not known: is {meant} meant?"),
        None => format!("{shown} is not known: docs/settings.md lists what there is"),
    };
    file.fault(node.line, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_no_flag_has_is_said_with_the_nearest() {
        fn check(name: &str, value: &str, expected: &[&str]) {
            let found = Environment::of([(name.into(), value.into())]).unknown();
            assert_eq!(found.len(), usize::from(!expected.is_empty()), "{found:?}");
            for part in expected {
                assert!(
                    found[0].contains(part) && found[0].contains(name),
                    "{found:?}"
                );
            }
        }
        check("SALVER_PORT", "80", &[]);
        check("SALVER_PROT", "80", &["is SALVER_PORT meant?"]);
        check(
            "SALVER_CACHE_SZIE",
            "1MiB",
            &["is SALVER_CACHE_SIZE meant?"],
        );
        check("SALVER_HTTP", "2", &["is SALVER_HTTP1 meant?"]);
        check("SALVER_XYZ", "1", &["--help"]);
        check("SALVER_XYZ", "", &[]);
        check("OTHER_PROT", "80", &[]);
        check("SALVER_PORT", "tcp://10.0.0.1:80", &[]);
        check("SALVER_SERVICE_HOST", "10.0.0.1", &[]);
        check("SALVER_NO_HTTP2", "true", &[]);
        // A file alone says it.
        check("SALVER_HOSTS", "a.test", &["is SALVER_HOST meant?"]);
    }
}
