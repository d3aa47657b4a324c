//! What a file says of a setting, as words that a flag would take.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use crate::document::{Node, Table, Value};
use crate::kind::Shape;
use crate::row::Form;
use crate::values::is_url;

/// A value as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Written {
    pub(crate) text: OsString,
    /// The line of the file that has it; 0 where there is none.
    pub(crate) line: usize,
}

impl Written {
    pub(crate) fn new(text: impl AsRef<OsStr>) -> Written {
        Written {
            text: text.as_ref().to_owned(),
            line: 0,
        }
    }
}

/// What a node says of a setting.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// The values; `None` if it says nothing of this setting after all.
    pub(crate) values: Option<Vec<Written>>,
    /// What is wrong, by line.
    pub(crate) faults: Vec<(usize, String)>,
}

/// The words of a node. Paths are those of `directory`, where they are relative.
pub(crate) fn words(node: &Node, key: &str, shape: &Shape, form: Form, directory: &Path) -> Words {
    let mut reader = Reader {
        key,
        directory,
        faults: Vec::new(),
    };
    let values = match (shape, &node.value, form) {
        (Shape::Mount { is_cached }, _, _) => reader.mounts(node, *is_cached),
        (Shape::Pair, Value::Table(table), _) => Some(reader.pairs(table)),
        (Shape::Names(_), Value::List(nodes), _) => Some(reader.names(nodes, shape, node.line)),
        (_, Value::List(nodes), Form::List) => {
            let words = nodes.iter().filter_map(|node| reader.word(node, shape));
            Some(words.collect())
        }
        _ => Some(reader.word(node, shape).into_iter().collect()),
    };
    Words {
        values,
        faults: reader.faults,
    }
}

/// The keys of a `[[mount]]`.
const MOUNT_KEYS: [&str; 3] = ["prefix", "path", "cache"];

struct Reader<'a> {
    key: &'a str,
    directory: &'a Path,
    faults: Vec<(usize, String)>,
}

impl Reader<'_> {
    /// A single value.
    fn word(&mut self, node: &Node, shape: &Shape) -> Option<Written> {
        let text = match (shape, &node.value) {
            (Shape::SwitchOr(_), Value::Switch(is_on)) => is_on.to_string().into(),
            (Shape::SwitchOr(inner), _) => return self.word(node, inner),
            (Shape::Path, Value::Text(path)) if !path.is_empty() => {
                match is_url(OsStr::new(path)) {
                    true => path.into(),
                    false => self.directory.join(path).into_os_string(),
                }
            }
            (_, Value::Text(text)) => text.into(),
            (Shape::Switch, Value::Switch(is_on)) => is_on.to_string().into(),
            // A time without a unit is one whose own check says so.
            (Shape::Whole { .. } | Shape::Size | Shape::Time, Value::Whole(number)) => {
                number.to_string().into()
            }
            (Shape::Whole { .. } | Shape::Size | Shape::Time, Value::Decimal(number)) => {
                number.to_string().into()
            }
            (_, value) => {
                let (expected, found) = (expected(shape), found(value));
                let text = format!("{} is {found}: give {expected}", self.key);
                self.faults.push((node.line, text));
                return None;
            }
        };
        Some(Written {
            text,
            line: node.line,
        })
    }

    /// The names of a set, as one word.
    fn names(&mut self, nodes: &[Node], shape: &Shape, line: usize) -> Vec<Written> {
        let words: Vec<Written> = nodes
            .iter()
            .filter_map(|node| self.word(node, shape))
            .collect();
        let texts: Vec<&OsStr> = words.iter().map(|word| &*word.text).collect();
        let text = match texts.is_empty() {
            true => OsString::from("none"),
            false => texts.join(OsStr::new(",")),
        };
        vec![Written { text, line }]
    }

    /// The entries of a table, as `KEY=VALUE`.
    fn pairs(&mut self, table: &Table) -> Vec<Written> {
        let mut words = Vec::new();
        for (key, node) in &table.entries {
            if let Some(value) = self.word(node, &Shape::Text) {
                let mut text = OsString::from(format!("{key}="));
                text.push(&value.text);
                words.push(Written {
                    text,
                    line: value.line,
                });
            }
        }
        words
    }

    /// The mounts that are kept in memory, or those that are not. What is wrong with any is said with the former.
    fn mounts(&mut self, node: &Node, is_cached: bool) -> Option<Vec<Written>> {
        let mut words = Vec::new();
        let before = self.faults.len();
        let Value::List(nodes) = &node.value else {
            let text = format!("{0} is {1}: write [[{0}]]", self.key, found(&node.value));
            self.faults.push((node.line, text));
            self.faults.truncate(before + usize::from(is_cached));
            return None;
        };
        for node in nodes {
            let (word, says_cached) = self.mount(node);
            if says_cached == is_cached {
                words.extend(word);
            }
        }
        if !is_cached {
            self.faults.truncate(before);
        }
        (!words.is_empty()).then_some(words)
    }

    /// A mount as `PREFIX=DIR`, and whether it is kept in memory.
    fn mount(&mut self, node: &Node) -> (Option<Written>, bool) {
        let Value::Table(table) = &node.value else {
            let text = format!(
                "{0} has {1} in it: write [[{0}]]",
                self.key,
                found(&node.value)
            );
            self.faults.push((node.line, text));
            return (None, true);
        };
        for (key, node) in &table.entries {
            if !MOUNT_KEYS.contains(&&**key) {
                let near = crate::nearest::nearest(key, MOUNT_KEYS);
                let meant = near.map_or_else(
                    || "it has prefix, path and cache".to_owned(),
                    |near| format!("is {near} meant?"),
                );
                let text = format!("{}.{} is not known: {meant}", self.key, shown_key(key));
                self.faults.push((node.line, text));
            }
        }
        let is_cached = match table.get("cache").map(|node| (node.line, &node.value)) {
            None | Some((_, Value::Switch(true))) => true,
            Some((_, Value::Switch(false))) => false,
            Some((line, Value::Text(text))) => {
                crate::values::switch(text).unwrap_or_else(|wrong| {
                    let shown = text.escape_debug();
                    let text = format!("{}.cache = \"{shown}\": {wrong}", self.key);
                    self.faults.push((line, text));
                    true
                })
            }
            Some((line, value)) => {
                let text = format!("{}.cache is {}: give true or false", self.key, found(value));
                self.faults.push((line, text));
                true
            }
        };
        let mut part = |name: &str, shape: &Shape| match table.get(name) {
            Some(node) => self.word(node, shape).map(|word| word.text),
            None => {
                let text = format!("{} has no {name}: give it prefix and path", self.key);
                self.faults.push((table.line, text));
                None
            }
        };
        let (prefix, path) = (part("prefix", &Shape::Text), part("path", &Shape::Path));
        let word = prefix.zip(path).map(|(mut text, path)| {
            text.push("=");
            text.push(path);
            Written {
                text,
                line: table.line,
            }
        });
        (word, is_cached)
    }
}

/// A key as messages show it.
pub(crate) fn shown_key(key: &str) -> String {
    key.escape_debug().to_string()
}

/// What a value is, for people.
pub(crate) fn found(value: &Value) -> &'static str {
    match value {
        Value::Switch(_) => "true or false",
        Value::Whole(_) | Value::Decimal(_) => "a number",
        Value::Text(_) => "text",
        Value::Date(_) => "a date",
        Value::List(_) => "a list",
        Value::Table(_) => "a table",
    }
}

/// What a value of a shape is written as.
fn expected(shape: &Shape) -> &'static str {
    match shape {
        Shape::Switch => "true or false",
        Shape::Whole { .. } => "a whole number",
        Shape::Size => "a size such as \"64MiB\"",
        Shape::Time => "a time such as \"30s\"",
        Shape::Pair => "a table such as { 404 = \"404.html\" }",
        Shape::SwitchOr(inner) => expected(inner),
        Shape::Tables | Shape::Mount { .. } => "tables",
        Shape::Path | Shape::Text | Shape::Choice(_) | Shape::Names(_) => "text in quotes",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::Environment;

    /// Checks what `key = text` is for a flag, or a part of what is said of it.
    fn check(text: &str, shape: Shape, form: Form, expected: Result<&[&str], &str>) {
        let path: std::sync::Arc<Path> = Path::new("a.toml").into();
        let root = crate::document::read(&path, text, &Environment::default()).unwrap();
        let node = root.get("key").unwrap();
        let found = words(node, "key", &shape, form, Path::new("/etc/salver"));
        let texts = found.values.iter().flatten();
        let texts: Vec<_> = texts.map(|word| word.text.to_str().unwrap()).collect();
        // Windows separates by the other slash what it puts together.
        let texts: Vec<String> = texts.iter().map(|text| text.replace('\\', "/")).collect();
        match expected {
            Ok(expected) => {
                assert_eq!(texts, expected, "{text}");
                assert_eq!(found.faults, [], "{text}");
            }
            Err(part) => assert!(found.faults[0].1.contains(part), "{found:?}"),
        }
    }

    #[test]
    fn a_file_says_what_flags_say() {
        const NUMBER: Shape = Shape::Whole { least: 0, most: 9 };
        use Form::{List, One};
        check("key = true", Shape::Switch, One, Ok(&["true"]));
        check("key = 'yes'", Shape::Switch, One, Ok(&["yes"]));
        check(
            "key = 1",
            Shape::Switch,
            One,
            Err("key is a number: give true or false"),
        );
        check("key = 7", NUMBER, One, Ok(&["7"]));
        check("key = '7'", NUMBER, One, Ok(&["7"]));
        check("key = true", NUMBER, One, Err("give a whole number"));
        check("key = [7]", NUMBER, One, Err("key is a list"));
        check("key = [7, '8']", NUMBER, List, Ok(&["7", "8"]));
        check("key = 7", NUMBER, List, Ok(&["7"]));
        check("key = []", NUMBER, List, Ok(&[]));
        check("key = [[7]]", NUMBER, List, Err("key is a list"));
        check("key = 5", Shape::Time, One, Ok(&["5"]));
        check("key = 4096", Shape::Size, One, Ok(&["4096"]));
        check("key = 2026-01-01", Shape::Text, One, Err("key is a date"));
        check("key = 5", Shape::Text, One, Err("text in quotes"));
        check("key = { a = 1 }", Shape::Text, One, Err("key is a table"));
        check("key = 'a'", Shape::Path, One, Ok(&["/etc/salver/a"]));
        check("key = '/a'", Shape::Path, One, Ok(&["/a"]));
        check("key = ''", Shape::Path, One, Ok(&[""]));
        let names = Shape::Names(&["br", "gzip"]);
        check("key = ['br', 'gzip']", names, One, Ok(&["br,gzip"]));
        check("key = 'none'", names, One, Ok(&["none"]));
        check("key = []", names, One, Ok(&["none"]));
        let either = Shape::SwitchOr(&NUMBER);
        check("key = true", either, One, Ok(&["true"]));
        check("key = 3", either, One, Ok(&["3"]));
        check(
            "key = [3]",
            either,
            One,
            Err("key is a list: give a whole number"),
        );
        check(
            "key = { 404 = 'a', 500 = 'b' }",
            Shape::Pair,
            List,
            Ok(&["404=a", "500=b"]),
        );
        check(
            "key = { 404 = 1 }",
            Shape::Pair,
            List,
            Err("text in quotes"),
        );
        check("key = 'a'", Shape::Pair, List, Ok(&["a"]));
    }

    #[test]
    fn mounts_are_tables() {
        const CACHED: Shape = Shape::Mount { is_cached: true };
        const PLAIN: Shape = Shape::Mount { is_cached: false };
        let both = "[[key]]\nprefix = '/a'\npath = 'x'\n[[key]]\nprefix = '/b'\npath = '/y'\ncache = false\n";
        check(both, CACHED, Form::List, Ok(&["/a=/etc/salver/x"]));
        check(both, PLAIN, Form::List, Ok(&["/b=/y"]));
        check("key = []", CACHED, Form::List, Ok(&[]));
        let wrong = |text: &str, part: &str| {
            check(text, CACHED, Form::List, Err(part));
            // It is said once.
            check(text, PLAIN, Form::List, Ok(&[]));
        };
        wrong("key = '/a=x'", "write [[key]]");
        wrong("key = ['/a=x']", "write [[key]]");
        wrong("[[key]]\nprefix = '/a'", "key has no path");
        wrong("[[key]]\npath = 'a'", "key has no prefix");
        wrong(
            "[[key]]\nprefix = '/a'\npath = 'x'\npaht = 'y'",
            "is path meant?",
        );
        wrong(
            "[[key]]\nprefix = '/a'\npath = 'x'\nxyzzy = 'y'",
            "prefix, path and cache",
        );
        wrong(
            "[[key]]\nprefix = '/a'\npath = 'x'\ncache = 'perhaps'",
            "neither yes nor no",
        );
        wrong(
            "[[key]]\nprefix = '/a'\npath = 'x'\ncache = 1",
            "cache is a number",
        );
        wrong("[[key]]\nprefix = '/a'\npath = 1", "text in quotes");
    }
}
