//! The JSON schema of `salver.toml`, for editors.

use serde_json::{Map, Value as Json, json};

use crate::file::SITE;
use crate::kind::Shape;
use crate::row::{Entry, Follows, Form, Scope};
use crate::table::table;

/// Text with a variable in it, which may be anything once that is put in.
const VARIABLE: &str = r"\$\{";

/// The schema, draft 2020-12, as text with a line end, with that of one rule in it.
pub fn schema(rule: &Json) -> String {
    let all = || table().iter().filter(|entry| !entry.row.key.is_empty());
    let mut properties = Map::new();
    for entry in all() {
        insert(&mut properties, entry.row.key, entry);
    }
    let mut of_site = Map::new();
    for entry in all().filter(|entry| entry.scope == Scope::Site) {
        insert(&mut of_site, entry.row.key, entry);
    }
    let sites = json!({
        "type": "array",
        "description": "The sites: each with the hosts that it answers for and what it shows",
        "items": closed(of_site),
    });
    properties.insert(SITE.to_owned(), sites);
    let mut schema = closed(properties);
    if let Json::Object(schema) = &mut schema {
        schema.insert(
            "$schema".to_owned(),
            json!("https://json-schema.org/draft/2020-12/schema"),
        );
        schema.insert("title".to_owned(), json!("salver.toml"));
        schema.insert("$defs".to_owned(), json!({ "rule": rule }));
        schema.insert(
            "description".to_owned(),
            json!("The settings of `salver serve`"),
        );
    }
    format!("{schema:#}\n")
}

/// An object of these properties and no others.
fn closed(properties: Map<String, Json>) -> Json {
    json!({ "type": "object", "properties": properties, "additionalProperties": false })
}

/// Adds the setting of a key, in the objects that the key names.
fn insert(properties: &mut Map<String, Json>, key: &str, entry: &Entry) {
    let Some((first, rest)) = key.split_once('.') else {
        // Of two that share a key the first describes it.
        properties.entry(key).or_insert_with(|| described(entry));
        return;
    };
    let inner = properties
        .entry(first)
        .or_insert_with(|| closed(Map::new()));
    if let Some(Json::Object(inner)) = inner.get_mut("properties") {
        insert(inner, rest, entry);
    }
}

/// The schema of a setting with what is said of it.
fn described(entry: &Entry) -> Json {
    let one = single(&entry.shape);
    let mut schema = match (&entry.shape, entry.form) {
        (Shape::Mount { .. } | Shape::Tables | Shape::Pair, _) => one,
        (_, Form::List) => json!({ "anyOf": [one, { "type": "array", "items": one }] }),
        (_, Form::One | Form::Optional) => one,
    };
    let row = &entry.row;
    if let Json::Object(schema) = &mut schema {
        schema.insert("description".to_owned(), json!(row.help));
        if let Some(default) = default(entry) {
            schema.insert("default".to_owned(), default);
        }
    }
    schema
}

/// The default as a file would say it.
fn default(entry: &Entry) -> Option<Json> {
    let value = |text: &str| match (&entry.shape, text.parse::<u64>()) {
        (Shape::Whole { .. }, Ok(number)) => json!(number),
        (Shape::Switch | Shape::SwitchOr(_), _) => json!(text == "true"),
        _ => json!(text),
    };
    if entry.row.follows != Follows::Nothing {
        // It is another one on each machine.
        return None;
    }
    match (entry.row.default, &entry.shape, entry.form) {
        ("", _, _) => None,
        (all, Shape::Names(_), _) | (all, _, Form::List) => {
            Some(all.split(',').map(value).collect())
        }
        (one, _, _) => Some(value(one)),
    }
}

fn single(shape: &Shape) -> Json {
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    let or_variable = |schema: Json| json!({ "anyOf": [schema, text(VARIABLE)] });
    match shape {
        Shape::Switch => or_variable(json!({ "type": "boolean" })),
        Shape::Whole { least, most } => {
            or_variable(json!({ "type": "integer", "minimum": least, "maximum": most }))
        }
        Shape::Size => json!({
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                text(r"^ *[0-9]+(\.[0-9]*)? *([kKmMgGtTpP]?[iI]?[bB]?) *$"),
                text(VARIABLE),
            ],
        }),
        Shape::Time => json!({
            "anyOf": [text(r"^ *(0|([0-9]+(\.[0-9]+)? *[a-zA-Zµ]+ *)+)$"), text(VARIABLE)],
        }),
        Shape::Path => json!({ "type": "string", "minLength": 1 }),
        Shape::Text => json!({ "type": "string" }),
        Shape::Choice(names) => {
            let names: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            or_variable(json!({ "enum": names }))
        }
        Shape::Names(names) => {
            let some = names.join("|");
            json!({
                "anyOf": [
                    { "type": "array", "items": or_variable(json!({ "enum": names })) },
                    text(&format!("^(none|({some})( *, *({some}))*)$")),
                    text(VARIABLE),
                ],
            })
        }
        Shape::SwitchOr(inner) => {
            json!({ "anyOf": [{ "type": "boolean" }, single(inner)] })
        }
        Shape::Mount { .. } => json!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "prefix": text(&format!("^/|{VARIABLE}")),
                    "path": { "type": "string", "minLength": 1 },
                    "cache": or_variable(json!({ "type": "boolean" })),
                },
                "required": ["prefix", "path"],
                "additionalProperties": false,
            },
        }),
        Shape::Pair => json!({
            "type": "object",
            "propertyNames": { "pattern": "^[45][0-9][0-9]$" },
            "additionalProperties": { "type": "string", "minLength": 1 },
        }),
        // The one kind of tables that others read.
        Shape::Tables => json!({ "type": "array", "items": { "$ref": "#/$defs/rule" } }),
    }
}
