//! The rules of a site, from its tables to what the engine applies: checked one by one, so that a fault names its line
//! and its key.

use std::sync::Arc;

use salver_assets::rules::rule_toml::{CorsToml, SecurityToml};
use salver_assets::rules::{Action, Cors, Fault, Place, Rule, RuleSet, RuleToml};
use salver_config::nearest::nearest;
use salver_config::{Node, Origin, Site, Table, Value};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use crate::failure::Failure;

/// The keys of a rule, each with what it takes.
const KEYS: [(&str, &str); 25] = [
    ("path", "a glob such as \"/assets/**\""),
    ("from", "a pattern such as \"/blog/:slug\""),
    ("scheme", "\"http\" or \"https\""),
    ("host", "a list such as [\"www.example.org\"]"),
    ("method", "a list such as [\"GET\"]"),
    ("coding", "a list of br, zstd, gzip and identity"),
    (
        "query",
        "a table of parameters: each a text, or true or false",
    ),
    (
        "field",
        "a table of request fields: each a text, or true or false",
    ),
    ("field-contains", "a table of request fields: each a text"),
    ("set", "a table of response fields: each a text"),
    (
        "append",
        "a table of response fields: each a text or a list",
    ),
    ("remove", "a list of response fields"),
    ("cache-control", "a text such as \"max-age=3600\""),
    ("cors", "true, or a table"),
    ("security", "true, or a table"),
    ("disposition", "\"inline\" or \"attachment\""),
    ("filename", "a text"),
    ("error-page", "a table such as { 404 = \"/missing.html\" }"),
    (
        "basic-auth",
        "a table of realm, a text, and users, each name with the hash of a password",
    ),
    ("redirect", "a path or a URL"),
    ("rewrite", "a path, or a list of paths"),
    ("status", "a number such as 301"),
    ("keep-query", "true or false"),
    ("if-missing", "true or false"),
    ("deny", "true, or a status such as 410"),
];

/// The rules of a site, its error pages among them; `None` if it has none.
///
/// # Errors
/// Everything that is wrong with them; one failure at least.
pub(crate) fn rules(site: &Site) -> Result<Option<Arc<RuleSet>>, Vec<Failure>> {
    let (mut rules, mut faults) = (Vec::new(), Vec::new());
    // First, so that a page that a rule names is the one that counts.
    if let Some(pages) = error_pages(site) {
        match RuleSet::compile(std::slice::from_ref(&pages)) {
            Ok(_) => rules.push(pages),
            Err(fault) => {
                let name = site.error_pages.name();
                let text = format!("{name}: {}; {}", fault.what, fault.hint);
                faults.push(Failure::Misused(text));
            }
        }
    }
    // First as well: rules may say it otherwise.
    if *site.cors {
        rules.push(for_all_origins());
    }
    for table in site.rules.iter() {
        match rule(table) {
            Ok(rule) => rules.push(rule),
            Err(fault) => faults.push(failure(site, &fault)),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    if rules.is_empty() {
        return Ok(None);
    }
    let compiled = RuleSet::compile(&rules).map_err(|fault| {
        let line = match fault.place {
            Place::Line(line) => usize::try_from(line).unwrap_or_default(),
            Place::Whole | Place::Key(_) | Place::KeyAtLine(..) => 0,
        };
        let text = format!("{}; {}", fault.what, fault.hint);
        vec![failure(site, &RuleFault { line, text })]
    });
    compiled.map(|rules| Some(Arc::new(rules)))
}

/// The error pages of a site as a rule for all of its paths.
fn error_pages(site: &Site) -> Option<Rule> {
    let page = |page: &salver_config::values::ErrorPage| {
        Action::ErrorPage(page.status, format!("/{}", page.file))
    };
    let actions: Vec<Action> = site.error_pages.iter().map(page).collect();
    (!actions.is_empty()).then(|| Rule {
        actions,
        ..Rule::default()
    })
}

/// A rule by which pages of every other origin may read the files, and ask for them with any field.
fn for_all_origins() -> Rule {
    let cors = Cors {
        fields: vec!["*".to_owned()],
        ..Cors::default()
    };
    Rule {
        actions: vec![Action::Cors(cors)],
        ..Rule::default()
    }
}

/// A fault in a rule, and its line.
struct RuleFault {
    line: usize,
    text: String,
}

fn failure(site: &Site, fault: &RuleFault) -> Failure {
    let text = &fault.text;
    Failure::Misused(match site.rules.origin() {
        Origin::File(place) => {
            let path = place.path.to_string_lossy();
            format!("{}:{}: {text}", path.escape_debug(), fault.line)
        }
        _ => text.clone(),
    })
}

/// The rule that a table is.
fn rule(table: &Table) -> Result<Rule, RuleFault> {
    let of_table = |text: String| RuleFault {
        line: table.line,
        text,
    };
    for (key, node) in &table.entries {
        check_key(key, node)?;
    }
    let toml: RuleToml = serde_json::from_value(json_table(table))
        .map_err(|error| of_table(format!("this rule cannot be read: {error}")))?;
    let line = u32::try_from(table.line).unwrap_or(u32::MAX);
    let compiled = compile(toml, line);
    compiled.map_err(|fault| {
        let text = format!("{}; {}", fault.what, fault.hint);
        match key_at_fault(table, &fault) {
            Some((key, line)) => RuleFault {
                line,
                text: format!("rule.{key}: {text}"),
            },
            None => of_table(format!("rule: {text}")),
        }
    })
}

fn compile(toml: RuleToml, line: u32) -> Result<Rule, Fault> {
    let rule = Rule {
        place: Place::Line(line),
        ..Rule::try_from(toml)?
    };
    RuleSet::compile(std::slice::from_ref(&rule))?;
    Ok(rule)
}

/// The key without which a rule has not this fault, and its line: rather one without which nothing is wrong.
fn key_at_fault<'t>(table: &'t Table, fault: &Fault) -> Option<(&'t str, usize)> {
    let without = |key: &str| {
        let mut without = table.clone();
        without.entries.retain(|(name, _)| name != key);
        let toml = serde_json::from_value(json_table(&without)).ok()?;
        Some(compile(toml, 0))
    };
    let find = |is_it: &dyn Fn(&Result<Rule, Fault>) -> bool| {
        let mut entries = table.entries.iter().rev();
        entries.find(|(key, _)| without(key).as_ref().is_some_and(is_it))
    };
    let is_other = |compiled: &Result<Rule, Fault>| {
        let found = compiled.as_ref().err();
        found.is_some_and(|other| other.what != fault.what)
    };
    let found = find(&|compiled| compiled.is_ok()).or_else(|| find(&is_other));
    found.map(|(key, node)| (&**key, node.line))
}

/// Checks that a key of a rule is known and its value of the right kind.
fn check_key(key: &str, node: &Node) -> Result<(), RuleFault> {
    let line = node.line;
    let Some((_, expected)) = KEYS.iter().find(|(known, _)| *known == key) else {
        let key = key.escape_debug();
        let text = match nearest(&key.to_string(), KEYS.map(|(known, _)| known)) {
            Some(meant) => format!("rule.{key} is not known: is {meant} meant?"),
            None => format!("rule.{key} is not known: docs/sites.md lists what there is"),
        };
        return Err(RuleFault { line, text });
    };
    let alone = Json::Object(Map::from_iter([(key.to_owned(), json(&node.value))]));
    let Err(_) = serde_json::from_value::<RuleToml>(alone) else {
        return Ok(());
    };
    // The switches are tables of their own, whose keys say more.
    if let Value::Table(table) = &node.value {
        match key {
            "cors" => check_inside::<CorsToml>(key, table)?,
            "security" => check_inside::<SecurityToml>(key, table)?,
            _ => {}
        }
    }
    // Not the value itself: it may be a hash.
    Err(RuleFault {
        line,
        text: format!("rule.{key} has another value than it takes: give {expected}"),
    })
}

/// Checks the keys of a table within a rule.
fn check_inside<T: DeserializeOwned>(of: &str, table: &Table) -> Result<(), RuleFault> {
    for (key, node) in &table.entries {
        let alone = Json::Object(Map::from_iter([(key.clone(), json(&node.value))]));
        if let Err(error) = serde_json::from_value::<T>(alone) {
            return Err(RuleFault {
                line: node.line,
                text: format!("rule.{of}.{}: {error}", key.escape_debug()),
            });
        }
    }
    Ok(())
}

/// A table as the reader of rules takes it.
fn json_table(table: &Table) -> Json {
    let entries = table.entries.iter();
    Json::Object(
        entries
            .map(|(key, node)| (key.clone(), json(&node.value)))
            .collect(),
    )
}

fn json(value: &Value) -> Json {
    match value {
        Value::Switch(is_on) => Json::Bool(*is_on),
        Value::Whole(number) => Json::from(*number),
        Value::Decimal(number) => Json::from(*number),
        Value::Text(text) | Value::Date(text) => Json::String(text.clone()),
        Value::List(nodes) => Json::Array(nodes.iter().map(|node| json(&node.value)).collect()),
        Value::Table(table) => json_table(table),
    }
}
