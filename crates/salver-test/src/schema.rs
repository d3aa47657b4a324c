//! JSON Schema, as much of it as the published ones use. A keyword that is not known here is a failure, so that no
//! schema says what nobody checks.

use serde_json::{Map, Value};

/// A schema.
#[derive(Clone, Debug)]
pub struct Schema {
    root: Value,
}

impl Schema {
    /// # Panics
    /// If a keyword of it is not known here, or leads nowhere.
    pub fn new(root: Value) -> Self {
        let schema = Schema { root };
        schema.look_through(&schema.root);
        schema
    }

    /// All that is wrong with a document, each with its place.
    pub fn errors(&self, document: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        self.check(&self.root, document, "", &mut errors);
        errors
    }

    /// Whether nothing is wrong with it.
    pub fn is_valid(&self, document: &Value) -> bool {
        self.errors(document).is_empty()
    }

    fn look_through(&self, schema: &Value) {
        for (keyword, value) in keywords(schema) {
            match keyword.as_str() {
                "$ref" => assert!(self.target(value).is_object(), "{value} leads nowhere"),
                "properties" | "$defs" => value
                    .as_object()
                    .unwrap()
                    .values()
                    .for_each(|schema| self.look_through(schema)),
                "oneOf" | "anyOf" | "prefixItems" => value
                    .as_array()
                    .unwrap()
                    .iter()
                    .for_each(|schema| self.look_through(schema)),
                "items" | "additionalProperties" | "propertyNames" => self.look_through(value),
                "pattern" => assert!(has_pattern(value, "100")),
                "$schema" | "title" | "description" | "format" | "type" | "const" | "enum"
                | "required" | "minimum" | "maximum" | "exclusiveMinimum" | "minItems" => {}
                other => panic!("{other} is not known to this checker"),
            }
        }
    }

    fn target(&self, reference: &Value) -> &Value {
        let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
        self.root.pointer(pointer).unwrap_or(&Value::Null)
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, errors: &mut Vec<String>) {
        if *schema == Value::Bool(false) {
            errors.push(format!("{at}: nothing may be here"));
            return;
        }
        for (keyword, wanted) in keywords(schema) {
            let is_right = match keyword.as_str() {
                "$ref" => {
                    self.check(self.target(wanted), value, at, errors);
                    true
                }
                "oneOf" => self.matching(wanted, value) == 1,
                "anyOf" => self.matching(wanted, value) > 0,
                "type" => has_type(value, wanted),
                "const" => value == wanted,
                "enum" => wanted.as_array().unwrap().contains(value),
                "minimum" => number(value).is_none_or(|it| it >= number(wanted).unwrap()),
                "maximum" => number(value).is_none_or(|it| it <= number(wanted).unwrap()),
                "exclusiveMinimum" => number(value).is_none_or(|it| it > number(wanted).unwrap()),
                "minItems" => value
                    .as_array()
                    .is_none_or(|items| items.len() as u64 >= wanted.as_u64().unwrap()),
                "pattern" => value.as_str().is_none_or(|text| has_pattern(wanted, text)),
                "required" => {
                    let mut names = wanted.as_array().unwrap().iter();
                    value.as_object().is_none_or(|object| {
                        names.all(|name| object.contains_key(name.as_str().unwrap()))
                    })
                }
                _ => true,
            };
            if !is_right {
                errors.push(format!("{at}: {value} is not as {keyword} {wanted}"));
            }
        }
        match value {
            Value::Object(object) => self.check_object(schema, object, at, errors),
            Value::Array(items) => self.check_items(schema, items, at, errors),
            _ => {}
        }
    }

    fn check_object(
        &self,
        schema: &Value,
        object: &Map<String, Value>,
        at: &str,
        errors: &mut Vec<String>,
    ) {
        for (name, value) in object {
            let at = format!("{at}/{name}");
            if let Some(names) = schema.get("propertyNames") {
                self.check(names, &Value::String(name.clone()), &at, errors);
            }
            let named = schema.get("properties").and_then(|known| known.get(name));
            if let Some(schema) = named.or_else(|| schema.get("additionalProperties")) {
                self.check(schema, value, &at, errors);
            }
        }
    }

    fn check_items(&self, schema: &Value, items: &[Value], at: &str, errors: &mut Vec<String>) {
        let first = schema.get("prefixItems").and_then(Value::as_array);
        let first = first.map_or(&[][..], Vec::as_slice);
        let all = first.iter().map(Some);
        let schemas = all.chain(std::iter::repeat(schema.get("items")));
        for ((number, item), schema) in items.iter().enumerate().zip(schemas) {
            if let Some(schema) = schema {
                self.check(schema, item, &format!("{at}/{number}"), errors);
            }
        }
    }

    /// How many of these schemas a value is valid by.
    fn matching(&self, schemas: &Value, value: &Value) -> usize {
        let schemas = schemas.as_array().unwrap().iter();
        let valid = schemas.filter(|schema| {
            let mut errors = Vec::new();
            self.check(schema, value, "", &mut errors);
            errors.is_empty()
        });
        valid.count()
    }
}

fn keywords(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    schema.as_object().into_iter().flatten()
}

fn number(value: &Value) -> Option<f64> {
    value.as_f64()
}

fn has_type(value: &Value, wanted: &Value) -> bool {
    let is = |name: &Value| match name.as_str().unwrap() {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        "number" => value.is_number(),
        // 1.0 is one (draft 2020-12, section 6.1.1 of the validation).
        "integer" => number(value).is_some_and(|it| it.fract() == 0.0),
        other => panic!("{other} is no type"),
    };
    match wanted {
        Value::Array(names) => names.iter().any(is),
        name => is(name),
    }
}

fn has_pattern(pattern: &Value, text: &str) -> bool {
    match pattern.as_str().unwrap() {
        "^[1-9][0-9]{2}$" => {
            text.len() == 3
                && text.bytes().all(|byte| byte.is_ascii_digit())
                && !text.starts_with('0')
        }
        other => panic!("{other} is not known to this checker"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(schema: Value, right: &[Value], wrong: &[Value]) {
        let schema = Schema::new(schema);
        for value in right {
            assert_eq!(schema.errors(value), Vec::<String>::new(), "{schema:?}");
        }
        for value in wrong {
            assert!(!schema.is_valid(value), "{value} by {schema:?}");
        }
    }

    #[test]
    fn each_keyword_holds() {
        check(
            json!({ "type": "integer" }),
            &[json!(1), json!(1.0), json!(-3)],
            &[json!(1.5), json!("1"), json!(null)],
        );
        check(
            json!({ "type": ["string", "null"] }),
            &[json!("a"), json!(null)],
            &[json!(1)],
        );
        check(json!({ "const": 1 }), &[json!(1)], &[json!(2)]);
        check(json!({ "enum": ["1", "2"] }), &[json!("2")], &[json!(2)]);
        check(
            json!({ "minimum": 0, "maximum": 9 }),
            &[json!(0), json!(9), json!("a")],
            &[json!(-1), json!(9.5)],
        );
        check(json!({ "exclusiveMinimum": 0 }), &[json!(0.1)], &[json!(0)]);
        check(
            json!({ "required": ["a"], "properties": { "a": { "type": "string" } } }),
            &[json!({ "a": "" }), json!({ "a": "", "b": 1 }), json!(3)],
            &[json!({}), json!({ "a": 1 })],
        );
        check(
            json!({ "additionalProperties": false, "properties": { "a": {} } }),
            &[json!({ "a": 1 })],
            &[json!({ "b": 1 })],
        );
        check(
            json!({ "propertyNames": { "pattern": "^[1-9][0-9]{2}$" } }),
            &[json!({ "200": 1 })],
            &[json!({ "20": 1 }), json!({ "020": 1 })],
        );
        check(
            json!({ "prefixItems": [{ "type": "string" }], "items": { "type": "number" }, "minItems": 2 }),
            &[json!(["a", 1]), json!(["a", 1, 2])],
            &[json!(["a"]), json!([1, 1]), json!(["a", "b"])],
        );
        check(
            json!({ "oneOf": [{ "type": "number" }, { "const": 1 }, { "type": "string" }] }),
            &[json!(2), json!("a")],
            &[json!(1), json!(null)],
        );
        check(
            json!({ "anyOf": [{ "$ref": "#/$defs/a" }, { "type": "null" }], "$defs": { "a": { "const": 1 } } }),
            &[json!(1), json!(null)],
            &[json!(2)],
        );
    }

    #[test]
    #[should_panic(expected = "multipleOf is not known")]
    fn a_keyword_that_is_not_known_fails() {
        Schema::new(json!({ "items": { "multipleOf": 2 } }));
    }
}
