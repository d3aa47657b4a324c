//! Rules rendered as `[[site.rule]]`.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{
    BasicAuthToml, CorsToml, DispositionToml, FramingToml, OneOrMore, RuleToml, SchemeToml,
    SecurityToml, Switch,
};
use crate::fault::Fault;
use crate::pattern::Dialect;
use crate::rule::{
    Action, Condition, Disposition, FieldTest, PathCondition, QueryTest, Rule, Scheme,
};
use crate::security::Framing;

/// The tables `[[site.rule]]` of these rules.
///
/// # Errors
/// A rule that TOML has no keys for: of Netlify's or Cloudflare's files.
pub fn render_rules(rules: &[Rule]) -> Result<String, Fault> {
    #[derive(Serialize)]
    struct Rules {
        rule: Vec<RuleToml>,
    }
    #[derive(Serialize)]
    struct Sites {
        site: Rules,
    }
    let rule: Vec<RuleToml> = rules
        .iter()
        .map(RuleToml::try_from)
        .collect::<Result<_, _>>()?;
    if rule.is_empty() {
        return Ok(String::new());
    }
    let rendered = toml::to_string(&Sites {
        site: Rules { rule },
    });
    rendered.map_err(|error| {
        Fault::new(
            format!("the rules cannot be written: {error}"),
            "write them by hand",
        )
    })
}

impl TryFrom<&Rule> for RuleToml {
    type Error = Fault;

    fn try_from(rule: &Rule) -> Result<Self, Fault> {
        let mut toml = RuleToml::default();
        render_condition(&rule.when, &mut toml).map_err(|fault| fault.at(&rule.place))?;
        for action in &rule.actions {
            render_action(action, &mut toml).map_err(|fault| fault.at(&rule.place))?;
        }
        Ok(toml)
    }
}

fn not_in_toml(what: &str) -> Fault {
    Fault::new(
        format!("TOML has no key for {what}"),
        "keep the file that it stands in",
    )
}

/// Puts a value where none may be yet.
fn put<T>(slot: &mut Option<T>, value: T, what: &str) -> Result<(), Fault> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(not_in_toml(what)),
    }
}

fn add<T>(table: &mut BTreeMap<String, T>, name: &str, value: T) -> Result<(), Fault> {
    match table.insert(name.to_owned(), value) {
        None => Ok(()),
        Some(_) => Err(not_in_toml("one name twice")),
    }
}

fn render_condition(when: &Condition, toml: &mut RuleToml) -> Result<(), Fault> {
    match &when.path {
        PathCondition::Any => {}
        PathCondition::Glob(glob) => toml.path = Some(glob.clone()),
        PathCondition::Pattern(pattern, Dialect::Anywhere) => toml.from = Some(pattern.clone()),
        PathCondition::Pattern(..) => return Err(not_in_toml("patterns of Netlify")),
    }
    toml.scheme = when.scheme.map(|scheme| match scheme {
        Scheme::Http => SchemeToml::Http,
        Scheme::Https => SchemeToml::Https,
    });
    toml.host.clone_from(&when.hosts);
    toml.method.clone_from(&when.methods);
    toml.coding = when
        .codings
        .iter()
        .map(|coding| coding.name().to_owned())
        .collect();
    for (name, test) in &when.query {
        let value = match test {
            QueryTest::Present => Switch::Switch(true),
            QueryTest::Absent => Switch::Switch(false),
            QueryTest::Capture(placeholder) => Switch::Value(format!(":{placeholder}")),
            QueryTest::Is(value) if value.starts_with(':') => {
                return Err(not_in_toml("a value that begins with :"));
            }
            QueryTest::Is(value) => Switch::Value(value.clone()),
        };
        add(&mut toml.query, name, value)?;
    }
    for (name, test) in &when.fields {
        let value = match test {
            FieldTest::Present => Switch::Switch(true),
            FieldTest::Absent => Switch::Switch(false),
            FieldTest::Is(value) => Switch::Value(value.clone()),
            FieldTest::Contains(text) => {
                add(&mut toml.field_contains, name, text.clone())?;
                continue;
            }
        };
        add(&mut toml.field, name, value)?;
    }
    Ok(())
}

fn render_action(action: &Action, toml: &mut RuleToml) -> Result<(), Fault> {
    match action {
        Action::Set(name, value) => add(&mut toml.set, name, value.clone()),
        Action::Append(name, value) => {
            let values = toml
                .append
                .remove(name)
                .map(OneOrMore::into_vec)
                .unwrap_or_default();
            let values = values.into_iter().chain([value.clone()]).collect();
            add(&mut toml.append, name, OneOrMore::More(values))
        }
        Action::Join(..) => Err(not_in_toml("values that join")),
        Action::Remove(name) => {
            toml.remove.push(name.clone());
            Ok(())
        }
        Action::CacheControl(value) => put(
            &mut toml.cache_control,
            value.clone(),
            "Cache-Control twice",
        ),
        Action::Cors(cors) => {
            let cors = CorsToml {
                origins: Some(cors.origins.clone()),
                methods: Some(cors.methods.clone()),
                fields: cors.fields.clone(),
                expose: cors.expose.clone(),
                max_age: Some(cors.max_age),
                credentials: cors.credentials,
            };
            put(&mut toml.cors, Switch::Value(cors), "CORS twice")
        }
        Action::Security(security) => {
            let policy = |value: &Option<String>| {
                Some(value.clone().map_or(Switch::Switch(false), Switch::Value))
            };
            let security = SecurityToml {
                content_security_policy: policy(&security.content_security_policy),
                nosniff: Some(security.nosniff),
                referrer_policy: policy(&security.referrer_policy),
                permissions_policy: policy(&security.permissions_policy),
                framing: Some(match security.framing {
                    Framing::Deny => FramingToml::Deny,
                    Framing::SameOrigin => FramingToml::SameOrigin,
                    Framing::Any => FramingToml::Any,
                }),
            };
            put(
                &mut toml.security,
                Switch::Value(security),
                "the security fields twice",
            )
        }
        Action::Disposition(Disposition::Inline) => put(
            &mut toml.disposition,
            DispositionToml::Inline,
            "two dispositions",
        ),
        Action::Disposition(Disposition::Attachment(name)) => {
            toml.filename.clone_from(name);
            put(
                &mut toml.disposition,
                DispositionToml::Attachment,
                "two dispositions",
            )
        }
        Action::ErrorPage(status, path) => {
            add(&mut toml.error_page, &status.to_string(), path.clone())
        }
        Action::BasicAuth(auth) => {
            let users = auth
                .users
                .iter()
                .map(|user| (user.name.clone(), user.hash.clone()))
                .collect();
            put(
                &mut toml.basic_auth,
                BasicAuthToml {
                    realm: auth.realm.clone(),
                    users,
                },
                "two realms",
            )
        }
        Action::Redirect(redirect) => {
            toml.keep_query = (!redirect.keeps_query).then_some(false);
            toml.if_missing = redirect.unless_file.then_some(true);
            put(&mut toml.status, redirect.status, "two routes")?;
            put(&mut toml.redirect, redirect.location.clone(), "two routes")
        }
        Action::Rewrite(rewrite) => {
            let to = match &*rewrite.to {
                [only] => OneOrMore::One(only.clone()),
                more => OneOrMore::More(more.to_vec()),
            };
            toml.if_missing = (!rewrite.unless_file).then_some(false);
            if rewrite.status != 200 {
                put(&mut toml.status, rewrite.status, "two routes")?;
            }
            put(&mut toml.rewrite, to, "two routes")
        }
        Action::Deny(status) => put(&mut toml.deny, Switch::Value(*status), "two routes"),
    }
}
