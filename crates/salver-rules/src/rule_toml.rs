//! `[[site.rule]]`: a rule as TOML has it.
//!
//! Its keys are the fields of [`RuleToml`], in kebab-case.

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

/// A rule as TOML has it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct RuleToml {
    /// A glob of paths: `/assets/**`, `*.html`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// A pattern of paths with placeholders, instead of `path`: `/blog/:slug`, `/old/*`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// The scheme: `http` or `https`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scheme: Option<SchemeToml>,
    /// Hosts: `example.org`, `*.example.org`, `:name.example.org`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub host: Vec<String>,
    /// Methods: `GET`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub method: Vec<String>,
    /// Content codings of what is sent: `br`, `zstd`, `gzip`, `identity`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub coding: Vec<String>,
    /// Response fields to leave out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remove: Vec<String>,
    /// The value of Cache-Control.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cache_control: Option<String>,
    /// The kind of Content-Disposition: `inline` or `attachment`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub disposition: Option<DispositionToml>,
    /// The name that an attachment is saved by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub filename: Option<String>,
    /// The target of a redirect: a path or a URL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub redirect: Option<String>,
    /// The path to serve instead, or a list of which the first file is served.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rewrite: Option<OneOrMore>,
    /// The status of a redirect (default 301) or a rewrite (default 200).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    /// True if a redirect keeps the query (the default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keep_query: Option<bool>,
    /// True if a redirect (default `false`) or a rewrite (default `true`) is only for paths at which there is no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub if_missing: Option<bool>,
    /// The status by which requests are refused, or `true` for 403.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deny: Option<Switch<u16>>,
    /// Query parameters: each with a value, a `:placeholder`, `true` (is there) or `false` (is not).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub query: BTreeMap<String, Switch<String>>,
    /// Request fields: each with a value, `true` (is there) or `false` (is not).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub field: BTreeMap<String, Switch<String>>,
    /// Request fields, each with a text in its value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub field_contains: BTreeMap<String, String>,
    /// Response fields to set, each with a value.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, String>,
    /// Response fields to add, each with a value or several.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub append: BTreeMap<String, OneOrMore>,
    /// Pages for answers without content: a status, and the path of its page.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub error_page: BTreeMap<String, String>,
    /// Cross-origin requests: `true` for those of any origin, or a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cors: Option<Switch<CorsToml>>,
    /// Fields for security: `true` for the usual ones, or a table.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub security: Option<Switch<SecurityToml>>,
    /// The people who may see it, by password.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basic_auth: Option<BasicAuthToml>,
}

/// A scheme, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum SchemeToml {
    Http,
    Https,
}

/// A kind of Content-Disposition, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum DispositionToml {
    Inline,
    Attachment,
}

/// One text, or a list of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum OneOrMore {
    One(String),
    More(Vec<String>),
}

/// `true`, `false` or a value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Switch<T> {
    Switch(bool),
    Value(T),
}

/// `cors`: what is left out is as [`Cors`] has it by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct CorsToml {
    /// The origins that may read answers (default any).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origins: Option<Vec<String>>,
    /// The methods that a preflight allows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub methods: Option<Vec<String>>,
    /// The request fields that a preflight allows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<String>,
    /// The response fields that a script may read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub expose: Vec<String>,
    /// The seconds for which a preflight holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_age: Option<u32>,
    /// True if credentials may be sent.
    pub credentials: bool,
}

/// `security`: what is left out is as [`Security`] has it by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct SecurityToml {
    /// The Content-Security-Policy; `false` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_security_policy: Option<Switch<String>>,
    /// True if types are not guessed (the default).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nosniff: Option<bool>,
    /// The Referrer-Policy; `false` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub referrer_policy: Option<Switch<String>>,
    /// The Permissions-Policy; `false` for none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions_policy: Option<Switch<String>>,
    /// The pages that may frame it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub framing: Option<FramingToml>,
}

/// A kind of framing, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum FramingToml {
    Deny,
    SameOrigin,
    Any,
}

/// `basic-auth`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct BasicAuthToml {
    /// The name of what is protected, which a browser shows.
    pub realm: String,
    /// The names of people, each with the hash of its password.
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
