//! Values as TOML, on one line, so that they are read again as what they were.

use std::fmt::Write as _;

use crate::document::{Table, Value};

/// What stands for what is not shown.
pub(crate) const HIDDEN: &str = "(not shown)";

/// Words in the keys of tables whose values are not shown.
const SECRET: [&str; 4] = ["password", "secret", "token", "users"];

/// Text in quotes; what a file would take for a variable is escaped.
pub(crate) fn text(plain: &str) -> String {
    let mut quoted = String::from('"');
    for sign in plain.replace("${", "$${").chars() {
        match sign {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            sign if sign.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(sign));
            }
            sign => quoted.push(sign),
        }
    }
    quoted.push('"');
    quoted
}

/// A key, in quotes where it needs them.
pub(crate) fn key(plain: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    match !plain.is_empty() && plain.bytes().all(is_bare) {
        true => plain.to_owned(),
        // Nothing is put into keys.
        false => text(plain).replace("$${", "${"),
    }
}

/// An array of values that are TOML already.
pub(crate) fn array(values: impl IntoIterator<Item = String>) -> String {
    let values: Vec<String> = values.into_iter().collect();
    format!("[{}]", values.join(", "))
}

/// The value of a key.
pub(crate) fn of_key(name: &str, node: &Value) -> String {
    let name = name.to_ascii_lowercase();
    match SECRET.iter().any(|secret| name.contains(secret)) {
        true => text(HIDDEN),
        false => value(node),
    }
}

/// A value of a file.
pub(crate) fn value(node: &Value) -> String {
    match node {
        Value::Switch(is_on) => is_on.to_string(),
        Value::Whole(number) => number.to_string(),
        Value::Decimal(number) if number.is_finite() => format!("{number:?}"),
        Value::Decimal(number) => number.to_string().to_ascii_lowercase(),
        Value::Text(plain) => text(plain),
        Value::Date(date) => date.clone(),
        Value::List(nodes) => array(nodes.iter().map(|node| value(&node.value))),
        Value::Table(entries) => table(entries),
    }
}

fn table(table: &Table) -> String {
    let entries = table.entries.iter();
    let entries =
        entries.map(|(name, node)| format!("{} = {}", key(name), of_key(name, &node.value)));
    let entries: Vec<String> = entries.collect();
    match entries.is_empty() {
        true => "{}".to_owned(),
        false => format!("{{ {} }}", entries.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::Arc;

    use super::*;
    use crate::environment::Environment;

    /// A value without its lines, read again from what was written.
    fn again(text: &str) -> Value {
        let path: Arc<Path> = Path::new("a.toml").into();
        let root = crate::document::read(&path, text, &Environment::default());
        root.unwrap().get("key").unwrap().value.clone()
    }

    proptest::proptest! {
        #[test]
        fn text_is_read_as_it_was(plain in "\\PC{0,20}|[\\x00-\\x1f\\x7f$\\{\"'\\\\]{0,20}") {
            let found = again(&format!("key = {}", text(&plain)));
            proptest::prop_assert_eq!(found, Value::Text(plain));
        }

        #[test]
        fn keys_are_read_as_they_were(plain in "\\PC{0,20}|[$\\{.a\"]{0,5}") {
            let found = again(&format!("key = {{ {} = 1 }}", key(&plain)));
            let Value::Table(table) = found else { panic!("{found:?}") };
            proptest::prop_assert_eq!(&table.entries[0].0, &plain);
        }
    }

    #[test]
    fn values_are_read_as_they_were() {
        for written in [
            "true",
            "-7",
            "1.5",
            "inf",
            "-inf",
            "2026-01-01",
            "[1, [\"a\"], {}]",
            "{ a = { b = [false] }, \"c d\" = 1e300 }",
        ] {
            let first = again(&format!("key = {written}"));
            assert_eq!(
                again(&format!("key = {}", value(&first))),
                first,
                "{written}"
            );
        }
    }

    #[test]
    fn secrets_are_not_shown() {
        let found =
            again("key = { password-hash = 'x', a = { Token = 'y', users = { me = 'z' } } }");
        let shown = value(&found);
        assert_eq!(shown.matches(HIDDEN).count(), 3, "{shown}");
        assert!(!shown.contains(['x', 'y', 'z']), "{shown}");
    }
}
