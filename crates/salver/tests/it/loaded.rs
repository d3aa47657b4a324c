//! The result of `salver bench load --json`, for tests.

use salver_test::Schema;
use serde_json::Value;

use crate::common::run;

/// What the program said: exit code, document, standard error.
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) document: Value,
    pub(crate) error: String,
}

impl Said {
    pub(crate) fn result(&self, path: &str) -> &Value {
        let found = self.document["result"].pointer(path);
        found.unwrap_or_else(|| panic!("no {path} in {:#}", self.document))
    }

    pub(crate) fn count(&self, path: &str) -> u64 {
        self.result(path).as_u64().unwrap()
    }

    /// Errors by how, those that are.
    pub(crate) fn errors(&self) -> Vec<(String, u64)> {
        let errors = self.result("/errors").as_object().unwrap();
        let count = |(name, count): (&String, &Value)| (name.clone(), count.as_u64().unwrap());
        errors
            .iter()
            .map(count)
            .filter(|(_, count)| *count > 0)
            .collect()
    }
}

/// Loads and reads the document, which must be as published.
pub(crate) fn load(url: &str, flags: &[&str]) -> Said {
    let arguments = [&["bench", "load", url, "--warm-up", "0s", "--json"], flags].concat();
    let (code, out, error) = run(&arguments);
    let document =
        serde_json::from_str(&out).unwrap_or_else(|wrong| panic!("{wrong}: {out}{error}"));
    check_schema(&document);
    let said = Said {
        code,
        document,
        error,
    };
    // A busy machine can make the client late, which is said, and is a failure as well.
    let is_sound = said.errors().is_empty() && *said.result("/invalid") == Value::Array(Vec::new());
    assert_eq!(said.code, i32::from(!is_sound), "{}", said.error);
    said
}

pub(crate) fn check_schema(document: &Value) {
    let schema = include_str!("../../../../docs/bench-schema.json");
    let schema = Schema::new(serde_json::from_str(schema).unwrap());
    let wrong = schema.errors(document);
    assert!(wrong.is_empty(), "{wrong:#?}: {document:#}");
}
