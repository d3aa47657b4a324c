//! A TOML document as a tree: every value with its line, and variables put in.

use std::path::Path;
use std::sync::Arc;

use toml_edit::{Item, TableLike};

use crate::environment::Environment;
use crate::fault::Fault;

/// A value in a file and the line where it begins, from 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The line.
    pub line: usize,
    /// The value.
    pub value: Value,
}

/// A value as TOML knows it; in text, variables have been put in.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `true` or `false`.
    Switch(bool),
    /// A whole number.
    Whole(i64),
    /// A number with decimals.
    Decimal(f64),
    /// Text.
    Text(String),
    /// A date or a time of day, which no setting is.
    Date(String),
    /// An array; tables under `[[x]]` are one, too.
    List(Vec<Node>),
    /// A table, however it was written.
    Table(Table),
}

/// A table, its entries in the order of the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The line where it begins, from 1.
    pub line: usize,
    /// The keys and their values. A key stands here once.
    pub entries: Vec<(String, Node)>,
}

impl Table {
    /// The value of a key of this table.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let mut entries = self.entries.iter();
        entries.find(|(name, _)| name == key).map(|(_, node)| node)
    }

    /// The value of a key in the tables that it names: `limits.send-timeout`.
    pub(crate) fn find(&self, key: &str) -> Option<&Node> {
        match key.split_once('.') {
            None => self.get(key),
            Some((first, rest)) => match &self.get(first)?.value {
                Value::Table(table) => table.find(rest),
                _ => None,
            },
        }
    }
}

/// The tables under `[[x]]`, or the line of what is none.
pub(crate) fn tables(node: &Node) -> Result<Vec<&Table>, usize> {
    let Value::List(nodes) = &node.value else {
        return Err(node.line);
    };
    let each = nodes.iter().map(|node| match &node.value {
        Value::Table(table) => Ok(table),
        _ => Err(node.line),
    });
    each.collect()
}

/// Reads a document; `path` is what faults call it.
pub(crate) fn read(
    path: &Arc<Path>,
    text: &str,
    environment: &Environment,
) -> Result<Table, Vec<Fault>> {
    let mut reader = Reader {
        path,
        ends: text.match_indices('\n').map(|(at, _)| at).collect(),
        environment,
        faults: Vec::new(),
    };
    let document = toml_edit::Document::parse(text).map_err(|error| {
        let line = reader.line(error.span());
        let message = error.message().replace('\n', " ");
        vec![Fault::at(path, line, format!("not TOML: {message}"))]
    })?;
    let root = reader.table(document.as_table(), 1);
    match reader.faults.is_empty() {
        true => Ok(root),
        false => Err(reader.faults),
    }
}

struct Reader<'a> {
    path: &'a Arc<Path>,
    /// Where lines end.
    ends: Vec<usize>,
    environment: &'a Environment,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    /// The line where a span begins.
    fn line(&self, span: Option<std::ops::Range<usize>>) -> usize {
        let begin = span.map_or(0, |span| span.start);
        1 + self.ends.partition_point(|end| *end < begin)
    }

    fn table(&mut self, table: &dyn TableLike, line: usize) -> Table {
        let mut entries = Vec::new();
        for (name, item) in table.iter() {
            let span = table.key(name).and_then(toml_edit::Key::span);
            let node = self.item(item, span);
            entries.extend(node.map(|node| (name.to_owned(), node)));
        }
        Table { line, entries }
    }

    /// An item behind the key with this span.
    fn item(&mut self, item: &Item, key: Option<std::ops::Range<usize>>) -> Option<Node> {
        let line = self.line(key.or_else(|| item.span()));
        let value = match item {
            Item::None => return None,
            Item::Value(value) => self.value(value, line),
            Item::Table(table) => Value::Table(self.table(table, line)),
            Item::ArrayOfTables(tables) => {
                let node = |table: &toml_edit::Table| {
                    let line = self.line(table.span());
                    let value = Value::Table(self.table(table, line));
                    Node { line, value }
                };
                Value::List(tables.iter().map(node).collect())
            }
        };
        Some(Node { line, value })
    }

    fn value(&mut self, value: &toml_edit::Value, line: usize) -> Value {
        match value {
            toml_edit::Value::String(text) => Value::Text(self.put_in(text.value(), line)),
            toml_edit::Value::Integer(number) => Value::Whole(*number.value()),
            toml_edit::Value::Float(number) => Value::Decimal(*number.value()),
            toml_edit::Value::Boolean(is_on) => Value::Switch(*is_on.value()),
            toml_edit::Value::Datetime(date) => Value::Date(date.value().to_string()),
            toml_edit::Value::Array(array) => {
                let node = |value: &toml_edit::Value| {
                    let line = self.line(value.span());
                    let value = self.value(value, line);
                    Node { line, value }
                };
                Value::List(array.iter().map(node).collect())
            }
            toml_edit::Value::InlineTable(table) => Value::Table(self.table(table, line)),
        }
    }

    /// The text with its variables put in, or as it is with a fault.
    fn put_in(&mut self, text: &str, line: usize) -> String {
        put_in(text, |name| self.environment.value(name)).unwrap_or_else(|wrong| {
            self.faults.push(Fault::at(self.path, line, wrong));
            text.to_owned()
        })
    }
}

/// Puts variables in: `${NAME}`, `${NAME:default}`; `$${` stands for `${` itself.
fn put_in(
    text: &str,
    variable: impl Fn(&str) -> Result<Option<String>, String>,
) -> Result<String, String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("${") {
        if let Some(before) = before.strip_suffix('$') {
            whole.push_str(before);
            whole.push_str("${");
            rest = after;
            continue;
        }
        whole.push_str(before);
        let Some((inner, after)) = after.split_once('}') else {
            return Err("${ has no } behind it: close it, or write $${ for the signs".to_owned());
        };
        let (name, default) = match inner.split_once(':') {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        let name = crate::values::variable_name(name)
            .map_err(|wrong| format!("${{{}}}: {wrong}", inner.escape_debug()))?;
        match (variable(&name)?, default) {
            (Some(value), _) => whole.push_str(&value),
            (None, Some(default)) => whole.push_str(default),
            (None, None) => {
                return Err(format!(
                    "the variable {name} is not set: set it, or give a default as ${{{name}:default}}"
                ));
            }
        }
        rest = after;
    }
    whole.push_str(rest);
    Ok(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment() -> Environment {
        let all = [("NAME", "value"), ("EMPTY", "")];
        Environment::of(all.map(|(name, value)| (name.into(), value.into())))
    }

    fn parse(text: &str) -> Result<Table, String> {
        let path: Arc<Path> = Path::new("a.toml").into();
        read(&path, text, &environment())
            .map_err(|faults| faults.iter().map(|fault| format!("{fault}\n")).collect())
    }

    #[test]
    fn variables_are_put_into_text() {
        fn check(text: &str, expected: Result<&str, &str>) {
            let environment = environment();
            let found = put_in(text, |name| environment.value(name));
            match expected {
                Ok(expected) => assert_eq!(found.as_deref(), Ok(expected), "{text}"),
                Err(part) => assert!(found.as_ref().unwrap_err().contains(part), "{found:?}"),
            }
        }
        check("", Ok(""));
        check("plain $NAME {NAME} $", Ok("plain $NAME {NAME} $"));
        check("${NAME}", Ok("value"));
        check("a${NAME}b${NAME}", Ok("avaluebvalue"));
        check("${NAME:other}", Ok("value"));
        check("${NONE:other}", Ok("other"));
        check("${NONE:}", Ok(""));
        check("${NONE:a:b$c}", Ok("a:b$c"));
        check("${EMPTY:other}", Ok("other"));
        check("$${NAME}", Ok("${NAME}"));
        check("$$${NAME}", Ok("$${NAME}"));
        check("$$", Ok("$$"));
        check("${NONE}", Err("NONE is not set"));
        check("${EMPTY}", Err("EMPTY is not set"));
        check("${NAME", Err("no }"));
        check("${}", Err("API_URL"));
        check("${a b}", Err("${a b}"));
    }

    #[test]
    fn values_know_their_lines() {
        let text =
            "a = 1\n\n[b]\nc = [\n  'x',\n  '${NAME}',\n]\n[[d]]\n[[d]]\ne.f = { g = true }\n";
        let root = parse(text).unwrap();
        let line = |key: &str| root.find(key).unwrap().line;
        assert_eq!((line("a"), line("b"), line("b.c")), (1, 3, 4));
        let Value::List(items) = &root.find("b.c").unwrap().value else {
            panic!("{root:?}")
        };
        assert_eq!((items[0].line, items[1].line), (5, 6));
        assert_eq!(items[1].value, Value::Text("value".to_owned()));
        let Value::List(tables) = &root.find("d").unwrap().value else {
            panic!("{root:?}")
        };
        assert_eq!((tables[0].line, tables[1].line), (8, 9));
        let Value::Table(second) = &tables[1].value else {
            panic!("{root:?}")
        };
        let switch = second.find("e.f.g").unwrap();
        assert_eq!((switch.line, &switch.value), (10, &Value::Switch(true)));
        assert_eq!(root.find("a.b"), None);
        assert_eq!(root.find("b.x"), None);
    }

    #[test]
    fn what_is_no_toml_is_said_with_its_line() {
        fn check(text: &str, expected: &str) {
            let said = parse(text).unwrap_err();
            assert!(said.starts_with(expected), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        check("a = 1\nb =\n", "a.toml:2: not TOML: ");
        check("a = 1\na = 2\n", "a.toml:2: not TOML: ");
        check("a = 'x\n", "a.toml:1: not TOML: ");
        check(
            "a = 'x'\nb = '${NONE}'",
            "a.toml:2: the variable NONE is not set",
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_is_too_much(text in "[\\PC\n]{0,200}") {
            let _ = parse(&text);
            let _ = put_in(&text, |_| Ok(None));
        }

        #[test]
        fn nothing_that_looks_like_toml_is_too_much(
            text in "([a-c]|[\\[\\]{}=.,'\"#\n $\\\\]|0|-|true|\\$\\{){0,60}"
        ) {
            let _ = parse(&text);
        }

        #[test]
        fn escaped_text_is_itself(text in "\\PC{0,40}") {
            let escaped = text.replace("${", "$${");
            proptest::prop_assert_eq!(put_in(&escaped, |_| Ok(None)), Ok(text));
        }
    }
}
