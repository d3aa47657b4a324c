//! `[[site.rule]]`: a rule as TOML has it.
//!
//! | key | value |
//! | --- | --- |
//! | `path` | glob: `/assets/**`, `*.html` |
//! | `from` | pattern with placeholders: `/blog/:slug`, `/old/*`; instead of `path` |
//! | `scheme` | `http` or `https` |
//! | `host` | list: `example.org`, `*.example.org`, `:name.example.org` |
//! | `method` | list: `GET` |
//! | `query` | table: parameter = value, `:placeholder`, `true` (is there) or `false` (is not) |
//! | `field` | table: request field = value, `true` or `false`; `field-contains`: field = text |
//! | `coding` | list: `br`, `zstd`, `gzip`, `identity`; of what is sent |
//! | `set`, `append` | tables: response field = value |
//! | `remove` | list of response fields |
//! | `cache-control` | value |
//! | `cors` | `true`, or table: `origins`, `methods`, `fields`, `expose`, `max-age` (seconds), `credentials` |
//! | `security` | `true`, or table: `content-security-policy`, `referrer-policy`, `permissions-policy` (a value, or `false`), `nosniff`, `framing` (`deny`, `same-origin`, `any`) |
//! | `disposition` | `inline` or `attachment`; `filename` for its name |
//! | `error-page` | table: status = path |
//! | `basic-auth` | table: `realm`, `users` (name = hash) |
//! | `redirect` | target; `status` (default 301), `keep-query` (default `true`), `if-missing` (default `false`) |
//! | `rewrite` | path, or list of which the first file is served; `status` (default 200), `if-missing` (default `true`) |
//! | `deny` | status, or `true` for 403 |

mod render;

use std::collections::BTreeMap;

pub use render::render_rules;
use salver_semantics::ContentCoding;
use serde::{Deserialize, Serialize};

use crate::cors::Cors;
use crate::fault::{Fault, quoted};
use crate::pattern::Dialect;
use crate::rule::{
    Action, BasicAuth, Condition, Disposition, FieldTest, PathCondition, QueryTest, Redirect,
    Rewrite, Rule, Scheme, User,
};
use crate::security::{Framing, Security};

/// A rule as TOML has it; the keys are in the table of the module.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[allow(missing_docs)] // The table above says what each key means.
pub struct RuleToml {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<SchemeToml>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub method: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coding: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disposition: Option<DispositionToml>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<OneOrMore>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_query: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_missing: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny: Option<Switch<u16>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, Switch<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub field: BTreeMap<String, Switch<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub field_contains: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub append: BTreeMap<String, OneOrMore>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub error_page: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cors: Option<Switch<CorsToml>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<Switch<SecurityToml>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<BasicAuthToml>,
}

/// A scheme, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum SchemeToml {
    Http,
    Https,
}

/// A kind of Content-Disposition, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum DispositionToml {
    Inline,
    Attachment,
}

/// One text, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// `true`, `false` or a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Switch<T> {
    Switch(bool),
    Value(T),
}

/// `cors`: what is left out is as [`Cors`] has it by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[allow(missing_docs)]
pub struct CorsToml {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expose: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<u32>,
    pub credentials: bool,
}

/// `security`: what is left out is as [`Security`] has it by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
#[allow(missing_docs)]
pub struct SecurityToml {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_security_policy: Option<Switch<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nosniff: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referrer_policy: Option<Switch<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions_policy: Option<Switch<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framing: Option<FramingToml>,
}

/// A kind of framing, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum FramingToml {
    Deny,
    SameOrigin,
    Any,
}

/// `basic-auth`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[allow(missing_docs)]
pub struct BasicAuthToml {
    pub realm: String,
    pub users: BTreeMap<String, String>,
}

impl std::fmt::Debug for BasicAuthToml {
    /// Without the hashes: it may land in a log.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let users: Vec<_> = self.users.keys().collect();
        f.debug_struct("BasicAuthToml")
            .field("realm", &self.realm)
            .field("users", &users)
            .finish()
    }
}

impl TryFrom<RuleToml> for Rule {
    type Error = Fault;

    fn try_from(toml: RuleToml) -> Result<Self, Fault> {
        let when = condition(&toml)?;
        let actions = actions(toml)?;
        Ok(Rule {
            when,
            actions,
            ..Rule::default()
        })
    }
}

fn condition(toml: &RuleToml) -> Result<Condition, Fault> {
    let path = match (&toml.path, &toml.from) {
        (None, None) => PathCondition::Any,
        (Some(glob), None) => PathCondition::Glob(glob.clone()),
        (None, Some(pattern)) => PathCondition::Pattern(pattern.clone(), Dialect::Anywhere),
        (Some(_), Some(_)) => {
            let what = "a rule has both path and from";
            return Err(Fault::new(
                what,
                "keep from if the target has placeholders, else path",
            ));
        }
    };
    let coding = |name: &String| {
        ContentCoding::from_name(name.as_bytes()).ok_or_else(|| {
            let what = format!("{} is not a content coding", quoted(name));
            Fault::new(what, "write br, zstd, gzip or identity")
        })
    };
    let query = |(name, value): (&String, &Switch<String>)| {
        let test = match value {
            Switch::Switch(true) => QueryTest::Present,
            Switch::Switch(false) => QueryTest::Absent,
            Switch::Value(value) => match value.strip_prefix(':') {
                Some(name) => QueryTest::Capture(name.to_owned()),
                None => QueryTest::Is(value.clone()),
            },
        };
        (name.clone(), test)
    };
    let field = |(name, value): (&String, &Switch<String>)| {
        let test = match value {
            Switch::Switch(true) => FieldTest::Present,
            Switch::Switch(false) => FieldTest::Absent,
            Switch::Value(value) => FieldTest::Is(value.clone()),
        };
        (name.clone(), test)
    };
    let contains =
        |(name, text): (&String, &String)| (name.clone(), FieldTest::Contains(text.clone()));
    Ok(Condition {
        path,
        scheme: toml.scheme.map(|scheme| match scheme {
            SchemeToml::Http => Scheme::Http,
            SchemeToml::Https => Scheme::Https,
        }),
        hosts: toml.host.clone(),
        methods: toml.method.clone(),
        query: toml.query.iter().map(query).collect(),
        fields: toml
            .field
            .iter()
            .map(field)
            .chain(toml.field_contains.iter().map(contains))
            .collect(),
        codings: toml.coding.iter().map(coding).collect::<Result<_, _>>()?,
    })
}

fn actions(toml: RuleToml) -> Result<Vec<Action>, Fault> {
    let mut actions = Vec::new();
    // The switches first, so that what a rule sets itself holds.
    match toml.security {
        Some(Switch::Switch(true)) => actions.push(Action::Security(Security::default())),
        Some(Switch::Value(security)) => actions.push(Action::Security(security.into())),
        Some(Switch::Switch(false)) | None => {}
    }
    match toml.cors {
        Some(Switch::Switch(true)) => actions.push(Action::Cors(Cors::default())),
        Some(Switch::Value(cors)) => actions.push(Action::Cors(cors.into())),
        Some(Switch::Switch(false)) | None => {}
    }
    actions.extend(toml.remove.into_iter().map(Action::Remove));
    actions.extend(toml.cache_control.map(Action::CacheControl));
    match (toml.disposition, toml.filename) {
        (None, None) => {}
        (Some(DispositionToml::Inline), None) => {
            actions.push(Action::Disposition(Disposition::Inline))
        }
        (Some(DispositionToml::Attachment), name) => {
            actions.push(Action::Disposition(Disposition::Attachment(name)));
        }
        (_, Some(_)) => {
            let what = "a rule has filename without disposition = \"attachment\"";
            return Err(Fault::new(what, "add it, or leave filename out"));
        }
    }
    actions.extend(
        toml.set
            .into_iter()
            .map(|(name, value)| Action::Set(name, value)),
    );
    for (name, values) in toml.append {
        actions.extend(
            values
                .into_vec()
                .into_iter()
                .map(|value| Action::Append(name.clone(), value)),
        );
    }
    for (status, path) in toml.error_page {
        let number = status.parse().map_err(|_| {
            let what = format!("{} is not a status", quoted(&status));
            Fault::new(what, "write 404 = \"/404.html\"")
        })?;
        actions.push(Action::ErrorPage(number, path));
    }
    if let Some(auth) = toml.basic_auth {
        let users = auth
            .users
            .into_iter()
            .map(|(name, hash)| User { name, hash })
            .collect();
        actions.push(Action::BasicAuth(BasicAuth {
            realm: auth.realm,
            users,
        }));
    }
    let options = [
        toml.status.is_some(),
        toml.keep_query.is_some(),
        toml.if_missing.is_some(),
    ];
    let is_redirect = toml.redirect.is_some();
    if toml.keep_query.is_some() && !is_redirect
        || options.contains(&true) && !is_redirect && toml.rewrite.is_none()
    {
        let what = "a rule has status, keep-query or if-missing, and nothing that they belong to";
        return Err(Fault::new(
            what,
            "add redirect or rewrite, or leave them out",
        ));
    }
    if let Some(location) = toml.redirect {
        actions.push(Action::Redirect(Redirect {
            status: toml.status.unwrap_or(301),
            location,
            keeps_query: toml.keep_query.unwrap_or(true),
            unless_file: toml.if_missing.unwrap_or(false),
        }));
    }
    if let Some(paths) = toml.rewrite {
        actions.push(Action::Rewrite(Rewrite {
            status: toml.status.unwrap_or(200),
            to: paths.into_vec(),
            unless_file: toml.if_missing.unwrap_or(true),
        }));
    }
    match toml.deny {
        Some(Switch::Switch(true)) => actions.push(Action::Deny(403)),
        Some(Switch::Value(status)) => actions.push(Action::Deny(status)),
        Some(Switch::Switch(false)) | None => {}
    }
    Ok(actions)
}

impl OneOrMore {
    /// The texts.
    pub fn into_vec(self) -> Vec<String> {
        match self {
            OneOrMore::One(text) => vec![text],
            OneOrMore::More(texts) => texts,
        }
    }
}

impl From<CorsToml> for Cors {
    fn from(toml: CorsToml) -> Self {
        let default = Cors::default();
        Cors {
            origins: toml.origins.unwrap_or(default.origins),
            methods: toml.methods.unwrap_or(default.methods),
            fields: toml.fields,
            expose: toml.expose,
            max_age: toml.max_age.unwrap_or(default.max_age),
            credentials: toml.credentials,
        }
    }
}

impl From<SecurityToml> for Security {
    fn from(toml: SecurityToml) -> Self {
        let default = Security::default();
        let policy = |value, default| match value {
            Some(Switch::Value(value)) => Some(value),
            Some(Switch::Switch(false)) => None,
            Some(Switch::Switch(true)) | None => default,
        };
        Security {
            content_security_policy: policy(
                toml.content_security_policy,
                default.content_security_policy,
            ),
            nosniff: toml.nosniff.unwrap_or(default.nosniff),
            referrer_policy: policy(toml.referrer_policy, default.referrer_policy),
            permissions_policy: policy(toml.permissions_policy, default.permissions_policy),
            framing: match toml.framing {
                Some(FramingToml::Deny) => Framing::Deny,
                Some(FramingToml::Any) => Framing::Any,
                Some(FramingToml::SameOrigin) | None => Framing::SameOrigin,
            },
        }
    }
}

#[cfg(test)]
mod tests;
