//! JSON objects whose keys are taken one by one, so that none goes unnoticed.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::Importing;
use crate::fault::{Fault, Place, quoted};
use crate::rule::Rule;

/// An object and its place in the file.
pub(crate) struct Object<'v> {
    path: String,
    map: &'v Map<String, Value>,
    taken: BTreeSet<&'static str>,
}

impl<'v> Object<'v> {
    /// The object that the whole file is.
    pub(crate) fn root(value: &'v Value) -> Result<Self, Fault> {
        let map = value
            .as_object()
            .ok_or_else(|| Fault::new("the file is not an object", "begin it with {"))?;
        Ok(Object {
            path: String::new(),
            map,
            taken: BTreeSet::new(),
        })
    }

    /// The place of the object.
    pub(crate) fn place(&self) -> Place {
        if self.path.is_empty() {
            Place::Whole
        } else {
            Place::Key(self.path.clone())
        }
    }

    /// The place of a key.
    pub(crate) fn place_of(&self, key: &str) -> Place {
        Place::Key(self.path_of(key))
    }

    fn path_of(&self, key: &str) -> String {
        path_of(&self.path, key)
    }

    /// The value of a key, which counts as taken; null is none.
    pub(crate) fn value(&mut self, key: &'static str) -> Option<&'v Value> {
        self.taken.insert(key);
        self.map.get(key).filter(|value| !value.is_null())
    }

    pub(crate) fn text(&mut self, key: &'static str, importing: &mut Importing) -> Option<&'v str> {
        let value = self.value(key)?;
        let text = value.as_str();
        if text.is_none() {
            importing.fault(
                &self.place_of(key),
                Fault::new("it is not a text", "write it in quotes"),
            );
        }
        text
    }

    pub(crate) fn switch(&mut self, key: &'static str, importing: &mut Importing) -> Option<bool> {
        let value = self.value(key)?;
        let switch = value.as_bool();
        if switch.is_none() {
            importing.fault(
                &self.place_of(key),
                Fault::new("it is not true or false", "globs are not taken"),
            );
        }
        switch
    }

    pub(crate) fn number(&mut self, key: &'static str, importing: &mut Importing) -> Option<i64> {
        let value = self.value(key)?;
        let number = value.as_i64();
        if number.is_none() {
            importing.fault(
                &self.place_of(key),
                Fault::new("it is not a whole number", "write it without quotes"),
            );
        }
        number
    }

    /// The objects of a list.
    pub(crate) fn objects(
        &mut self,
        key: &'static str,
        importing: &mut Importing,
    ) -> Vec<Object<'v>> {
        let Some(value) = self.value(key) else {
            return Vec::new();
        };
        let Some(list) = value.as_array() else {
            importing.fault(
                &self.place_of(key),
                Fault::new("it is not a list", "write it in [ ]"),
            );
            return Vec::new();
        };
        let mut objects = Vec::new();
        for (position, value) in list.iter().enumerate() {
            let path = format!("{}[{position}]", self.path_of(key));
            match value.as_object() {
                Some(map) => objects.push(Object {
                    path,
                    map,
                    taken: BTreeSet::new(),
                }),
                None => importing.fault(
                    &Place::Key(path),
                    Fault::new("it is not an object", "write it in { }"),
                ),
            }
        }
        objects
    }

    /// The object of a key.
    pub(crate) fn object(
        &mut self,
        key: &'static str,
        importing: &mut Importing,
    ) -> Option<Object<'v>> {
        let value = self.value(key)?;
        let path = self.path_of(key);
        let map = value.as_object();
        if map.is_none() {
            importing.fault(
                &Place::Key(path.clone()),
                Fault::new("it is not an object", "write it in { }"),
            );
        }
        Some(Object {
            path,
            map: map?,
            taken: BTreeSet::new(),
        })
    }

    /// The texts of a list.
    pub(crate) fn texts(&mut self, key: &'static str, importing: &mut Importing) -> Vec<&'v str> {
        let list = self
            .value(key)
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
        if texts.len() < list.len() {
            importing.fault(
                &self.place_of(key),
                Fault::new("it holds more than texts", "write them in quotes"),
            );
        }
        texts
    }

    /// The keys of an object that is a table of names, with their texts.
    pub(crate) fn table(
        &mut self,
        key: &'static str,
        importing: &mut Importing,
    ) -> Vec<(&'v str, &'v str, Place)> {
        let Some(object) = self.object(key, importing) else {
            return Vec::new();
        };
        let mut rows = Vec::new();
        for (name, value) in object.map {
            let place = object.place_of(name);
            match value.as_str() {
                Some(value) => rows.push((name.as_str(), value, place)),
                None => {
                    importing.fault(&place, Fault::new("it is not a text", "write it in quotes"))
                }
            }
        }
        rows
    }

    /// The keys that nobody took, and the values behind them.
    pub(crate) fn rest(&self) -> Vec<(&'v str, &'v Value)> {
        let rest = self
            .map
            .iter()
            .filter(|(key, _)| !self.taken.contains(&***key));
        rest.map(|(key, value)| (key.as_str(), value)).collect()
    }

    /// Takes the rule that was made of it, or says what is wrong, and names the keys that nobody took.
    pub(crate) fn finish_rule(self, rule: Result<Rule, Fault>, importing: &mut Importing) {
        let place = self.place();
        match rule {
            Ok(rule) => importing.take(Rule { place, ..rule }),
            Err(fault) => importing.fault(&place, fault),
        }
        self.finish(importing);
    }

    /// Names the keys that nobody took.
    pub(crate) fn finish(self, importing: &mut Importing) {
        for (key, _) in self.rest() {
            let what = "there is no such thing here";
            importing.fault(
                &self.place_of(key),
                Fault::new(what, "see whether the site needs it"),
            );
        }
    }
}

/// The path of a key of the object at `path`, as places have it.
pub(crate) fn path_of(path: &str, key: &str) -> String {
    // Keys are the file's own; a place is quoted in messages as it is.
    let shown = quoted(key);
    let key = if shown.len() == key.len() + 2 {
        key
    } else {
        &shown
    };
    if path.is_empty() {
        key.to_owned()
    } else {
        format!("{path}.{key}")
    }
}
