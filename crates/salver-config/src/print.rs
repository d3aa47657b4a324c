//! The whole configuration as TOML, each value with its origin.

use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::path::Path;

use crate::configuration::Configuration;
use crate::fault::Place;
use crate::kind::Shape;
use crate::resolver::Met;
use crate::row::{Form, Scope};
use crate::setting::Origin;
use crate::toml;
use crate::values::is_url;

impl Configuration {
    /// The configuration as a file that means the same, with the origin of each value as a comment. Secrets are not
    /// in it. Relative paths of flags and variables begin in `directory`, which should be absolute: in a file they
    /// would begin elsewhere.
    pub fn print(&self, directory: &Path) -> String {
        let absolute = |all: &Vec<Met>| all.iter().map(|met| absolute(met, directory)).collect();
        let met: Vec<Vec<Met>> = self.met.iter().map(absolute).collect();
        let (all, mut out) = (met.iter().flatten(), String::new());
        if self.sites.iter().all(|site| site.place.is_none()) {
            section(&mut out, "", &all.collect::<Vec<_>>());
            return out;
        }
        let server = all.filter(|met| met.entry.scope == Scope::Server);
        section(&mut out, "", &server.collect::<Vec<_>>());
        for (site, met) in self.sites.iter().zip(met.iter().skip(1)) {
            let place = site.place.as_ref().map(ToString::to_string);
            let _ = writeln!(out, "\n[[site]] # {}", place.unwrap_or_default());
            section(&mut out, "site.", &met.iter().collect::<Vec<_>>());
        }
        out
    }
}

/// A setting whose paths begin at the top.
fn absolute(met: &Met, directory: &Path) -> Met {
    let mut met = met.clone();
    if matches!(met.origin, Origin::File(_)) {
        return met;
    }
    let from_top = |path: &OsStr| match Path::new(path) == Path::new(".") {
        true => directory.as_os_str().to_owned(),
        false if is_url(path) => path.to_owned(),
        false => directory.join(path).into_os_string(),
    };
    for value in &mut met.values {
        match met.entry.shape {
            Shape::Path => *value = from_top(value),
            Shape::Mount { .. } => {
                if let Ok(mount) = crate::values::mount(value) {
                    *value = OsString::from(format!("{}=", mount.prefix));
                    value.push(from_top(mount.path.as_os_str()));
                }
            }
            _ => {}
        }
    }
    met
}

/// The table of a key, and the key in it.
fn parts(met: &Met) -> (&str, &str) {
    let key = met.entry.row.key;
    key.split_once('.').unwrap_or(("", key))
}

/// The settings of the server or of a site: first those of no table, then each table, then tables in lists.
fn section(out: &mut String, before: &str, all: &[&Met]) {
    let is_shown = |met: &&&Met| !met.entry.row.key.is_empty() && !met.entry.row.is_left_out;
    let keyed = all.iter().filter(is_shown);
    let keyed: Vec<&Met> = keyed.copied().collect();
    let mut tables: Vec<&str> = vec![""];
    for (table, _) in keyed.iter().map(|met| parts(met)) {
        if !tables.contains(&table) {
            tables.push(table);
        }
    }
    for table in tables {
        if !table.is_empty() {
            let _ = writeln!(out, "\n[{before}{table}]");
        }
        for met in &keyed {
            let (of, last) = parts(met);
            if of == table && !is_list_of_tables(&met.entry.shape) {
                let _ = writeln!(out, "{}", line(last, met));
            }
        }
    }
    for met in keyed {
        let key = met.entry.row.key;
        let is_cached = match met.entry.shape {
            Shape::Mount { is_cached } => is_cached,
            Shape::Tables => {
                for table in &met.tables {
                    let _ = writeln!(
                        out,
                        "\n[[{before}{key}]] # {}",
                        of_line(&met.origin, table.line)
                    );
                    for (name, node) in &table.entries {
                        let (name, value) = (toml::key(name), toml::of_key(name, &node.value));
                        let _ = writeln!(out, "{name} = {value}");
                    }
                }
                continue;
            }
            _ => continue,
        };
        for value in &met.values {
            let value = value.to_string_lossy();
            let (prefix, path) = value.split_once('=').unwrap_or((&value, ""));
            let (prefix, path) = (toml::text(prefix), toml::text(path));
            let _ = write!(
                out,
                "\n[[{before}{key}]] # {}\nprefix = {prefix}\npath = {path}\ncache = {is_cached}\n",
                met.origin
            );
        }
    }
}

fn is_list_of_tables(shape: &Shape) -> bool {
    matches!(shape, Shape::Mount { .. } | Shape::Tables)
}

/// The origin with the line of a part of it.
fn of_line(origin: &Origin, line: usize) -> Origin {
    match origin {
        Origin::File(place) => Origin::File(Place {
            line,
            path: place.path.clone(),
        }),
        other => other.clone(),
    }
}

/// `key = value # origin`, or a comment where nothing has a value.
fn line(key: &str, met: &Met) -> String {
    let row = &met.entry.row;
    if met.values.is_empty() && met.origin == Origin::Default {
        let otherwise = match row.otherwise {
            "" => "none",
            text => text,
        };
        return format!("# {key}: {otherwise}");
    }
    format!("{key} = {} # {}", value(met), met.origin)
}

fn value(met: &Met) -> String {
    let shape = &met.entry.shape;
    if met.entry.row.is_secret {
        return toml::text(toml::HIDDEN);
    }
    let texts = met.values.iter();
    match (shape, met.entry.form) {
        (Shape::Pair, _) => {
            let pairs = texts.map(|text| {
                let text = text.to_string_lossy();
                let (key, value) = text.split_once('=').unwrap_or((&text, ""));
                format!("{} = {}", toml::key(key), toml::text(value))
            });
            format!("{{ {} }}", pairs.collect::<Vec<_>>().join(", "))
        }
        (Shape::Names(_), _) => {
            let names = texts.flat_map(|text| {
                let text = text.to_string_lossy().into_owned();
                let names = text.split(',').map(|name| name.trim().to_owned());
                names.filter(|name| name != "none").collect::<Vec<_>>()
            });
            toml::array(names.map(|name| toml::text(&name)))
        }
        (_, Form::List) => toml::array(texts.map(|text| single(text, shape))),
        // The last one wins.
        (_, Form::One | Form::Optional) => {
            let last = texts.last().map(|text| single(text, shape));
            last.unwrap_or_default()
        }
    }
}

fn single(raw: &OsString, shape: &Shape) -> String {
    let text = raw.to_string_lossy();
    let trimmed = text.trim();
    match shape {
        Shape::Switch => match crate::values::switch(trimmed) {
            Ok(is_on) => is_on.to_string(),
            Err(_) => toml::text(&text),
        },
        Shape::SwitchOr(_) if matches!(trimmed, "true" | "false") => trimmed.to_owned(),
        Shape::SwitchOr(inner) => single(raw, inner),
        Shape::Whole { .. } => match trimmed.parse::<u64>() {
            Ok(number) => number.to_string(),
            Err(_) => toml::text(&text),
        },
        _ => toml::text(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;
    use crate::kind::{TEXT, whole};
    use crate::layers::Layers;
    use crate::machine::Machine;
    use crate::resolver::Resolver;
    use crate::row::{ROW, Row};
    use crate::typed::Typed;

    #[test]
    fn a_secret_is_neither_printed_nor_said() {
        let environment = Environment::of([("SALVER_PIN".into(), "guess".into())]);
        let layers = Layers {
            typed: &Typed::default(),
            environment: &environment,
            file: None,
            machine: Machine::default(),
        };
        let row = Row {
            key: "admin.pin",
            flag: "pin",
            default: "0",
            is_secret: true,
            ..ROW
        };
        let mut from = Resolver::new(&layers, Scope::Server, Vec::new());
        assert_eq!(*from.one(TEXT, row), "guess");
        assert_eq!(*from.one(whole::<u16>(0, 9), row), 0);
        let (met, faults) = from.end();
        assert_eq!(line("pin", &met[0]), "pin = \"(not shown)\" # SALVER_PIN");
        let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(said, ["SALVER_PIN=…: not a whole number from 0 to 9"]);
    }
}
