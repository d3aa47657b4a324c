//! A rule in the form in which it is applied: parsed, checked, nothing left to go wrong but what a request brings.

use std::sync::Arc;

use salver_semantics::ContentCoding;

use crate::cors::Cors;
use crate::fault::{Fault, quoted};
use crate::field_change::{FieldOperation, check_name};
use crate::globs::{Glob, glob};
use crate::limits::MOST_ACTIONS;
use crate::pattern::Pattern;
use crate::request::RequestCondition;
use crate::rule::{Action, BasicAuth, Disposition, PathCondition, Rule};
use crate::template::{LocationTemplate, PathTemplate, ValueTemplate};

/// A condition on the path.
#[derive(Debug)]
pub(crate) enum CompiledPath {
    Any,
    Glob(Glob),
    Pattern(Pattern),
}

/// One step of what a rule does to the response fields.
#[derive(Debug)]
pub(crate) enum FieldStep {
    Change(FieldOperation, String, ValueTemplate),
    Cors(Cors),
}

/// A route, as its rule says it.
#[derive(Debug)]
pub(crate) enum CompiledRoute {
    Redirect {
        status: u16,
        location: LocationTemplate,
        keeps_query: bool,
        unless_file: bool,
    },
    Rewrite {
        status: u16,
        to: Vec<PathTemplate>,
        unless_file: bool,
    },
    Deny {
        status: u16,
    },
}

/// A compiled rule.
#[derive(Debug)]
pub(crate) struct CompiledRule {
    pub(crate) path: CompiledPath,
    pub(crate) condition: Option<RequestCondition>,
    pub(crate) codings: Vec<ContentCoding>,
    pub(crate) fields: Vec<FieldStep>,
    pub(crate) error_pages: Vec<(u16, PathTemplate)>,
    pub(crate) basic_auth: Option<Arc<BasicAuth>>,
    pub(crate) route: Option<CompiledRoute>,
}

impl CompiledRule {
    pub(crate) fn compile(rule: &Rule) -> Result<Self, Fault> {
        compile(rule).map_err(|fault| fault.at(&rule.place))
    }

    /// The CORS of the rule, if it has one.
    pub(crate) fn cors(&self) -> Option<&Cors> {
        self.fields.iter().rev().find_map(|step| match step {
            FieldStep::Cors(cors) => Some(cors),
            FieldStep::Change(..) => None,
        })
    }

    /// True if it reads a field of requests; who asks for a password does.
    pub(crate) fn reads_request_fields(&self) -> bool {
        let condition = self.condition.as_ref();
        self.cors().is_some()
            || self.basic_auth.is_some()
            || condition.is_some_and(|condition| condition.field_names().next().is_some())
    }

    /// True if what it does may differ between two requests for one path.
    pub(crate) fn depends_on_request(&self) -> bool {
        self.condition.is_some() || self.cors().is_some_and(|cors| !cors.is_for_any())
    }
}

fn compile(rule: &Rule) -> Result<CompiledRule, Fault> {
    if rule.actions.len() > MOST_ACTIONS {
        return Err(Fault::new(
            "a rule has too many actions",
            format!("{MOST_ACTIONS} are the most"),
        ));
    }
    if rule.actions.is_empty() {
        return Err(Fault::new(
            "a rule does nothing",
            "give it an action, or leave it out",
        ));
    }
    let path = match &rule.when.path {
        PathCondition::Any => CompiledPath::Any,
        PathCondition::Glob(text) => CompiledPath::Glob(glob(text)?),
        PathCondition::Pattern(text, dialect) => {
            CompiledPath::Pattern(Pattern::path(text, *dialect)?)
        }
    };
    let condition = RequestCondition::compile(&rule.when)?;
    let in_path: &[String] = match &path {
        CompiledPath::Pattern(pattern) => pattern.names(),
        CompiledPath::Any | CompiledPath::Glob(_) => &[],
    };
    let mut names: Vec<&str> = in_path.iter().map(|name| &**name).collect();
    names.extend(condition.iter().flat_map(RequestCondition::names));

    let mut fields = Vec::new();
    let mut error_pages = Vec::new();
    let mut basic_auth = None;
    let mut route = None;
    for action in &rule.actions {
        if action.is_route() && route.is_some() {
            let what = "a rule both redirects, rewrites or denies, and does so again";
            return Err(Fault::new(what, "make two rules of it"));
        }
        let mut step = |operation, name: &str, value: &str| {
            let name = check_name(name, operation)?;
            let value = ValueTemplate::parse(value, &names)?;
            fields.push(FieldStep::Change(operation, name, value));
            Ok::<(), Fault>(())
        };
        match action {
            Action::Set(name, value) => step(FieldOperation::Set, name, value)?,
            Action::Append(name, value) => step(FieldOperation::Append, name, value)?,
            Action::Join(name, value) => step(FieldOperation::Join, name, value)?,
            Action::Remove(name) => step(FieldOperation::Remove, name, "")?,
            Action::CacheControl(value) => step(FieldOperation::Set, "cache-control", value)?,
            Action::Disposition(disposition) => {
                step(
                    FieldOperation::Set,
                    "content-disposition",
                    &disposition_value(disposition),
                )?;
            }
            Action::Security(security) => {
                for (name, value) in security.fields() {
                    step(FieldOperation::Set, name, &value)?;
                }
            }
            Action::Cors(cors) => {
                cors.check()?;
                fields.push(FieldStep::Cors(cors.clone()));
            }
            Action::ErrorPage(status, path) => {
                if !(400..=599).contains(status) {
                    let what = format!("{status} is not the status of an error");
                    return Err(Fault::new(what, "error pages are for 400 to 599"));
                }
                if matches!(status, 406 | 412 | 416) {
                    let what = format!("answers with {status} have no page");
                    let remedy = "they are about one representation and stay plain: leave it out";
                    return Err(Fault::new(what, remedy));
                }
                error_pages.push((*status, PathTemplate::parse(path, &names)?));
            }
            Action::BasicAuth(auth) => {
                check_auth(auth)?;
                basic_auth = Some(Arc::new(auth.clone()));
            }
            Action::Redirect(redirect) => {
                if !matches!(redirect.status, 301 | 302 | 303 | 307 | 308) {
                    let what = format!("{} is not the status of a redirect", redirect.status);
                    return Err(Fault::new(what, "use 301, 302, 303, 307 or 308"));
                }
                route = Some(CompiledRoute::Redirect {
                    status: redirect.status,
                    location: LocationTemplate::parse(&redirect.location, &names)?,
                    keeps_query: redirect.keeps_query,
                    unless_file: redirect.unless_file,
                });
            }
            Action::Rewrite(rewrite) => {
                if rewrite.status != 200 {
                    check_error(rewrite.status)?;
                }
                if rewrite.to.is_empty() || rewrite.to.len() > MOST_ACTIONS {
                    let what = "a rewrite has no path, or too many";
                    return Err(Fault::new(what, format!("name 1 to {MOST_ACTIONS}")));
                }
                let to: Result<Vec<_>, _> = rewrite
                    .to
                    .iter()
                    .map(|path| PathTemplate::parse(path, &names))
                    .collect();
                route = Some(CompiledRoute::Rewrite {
                    status: rewrite.status,
                    to: to?,
                    unless_file: rewrite.unless_file,
                });
            }
            Action::Deny(status) => {
                check_error(*status)?;
                route = Some(CompiledRoute::Deny { status: *status });
            }
        }
    }
    let more = !error_pages.is_empty() || basic_auth.is_some() || route.is_some();
    if !rule.when.codings.is_empty() && more {
        let what = "a rule for a content coding does more than change response fields";
        return Err(Fault::new(
            what,
            "what is sent is chosen later: move the rest to a rule without coding",
        ));
    }
    Ok(CompiledRule {
        path,
        condition,
        codings: rule.when.codings.clone(),
        fields,
        error_pages,
        basic_auth,
        route,
    })
}

fn check_error(status: u16) -> Result<(), Fault> {
    if (400..=599).contains(&status) && status != 401 && status != 407 {
        return Ok(());
    }
    let what = format!("the status {status} cannot be answered by a rule");
    Err(Fault::new(
        what,
        "use 404, 403, 410 or another of 400 to 599; basic-auth is what makes 401",
    ))
}

fn check_auth(auth: &BasicAuth) -> Result<(), Fault> {
    if auth.users.is_empty() {
        return Err(Fault::new(
            "basic-auth has no users",
            "name users and hashes of their passwords",
        ));
    }
    let is_text = |character: char| !character.is_control();
    if !auth.realm.chars().all(is_text) {
        let what = format!("the realm {} has control characters", quoted(&auth.realm));
        return Err(Fault::new(what, "leave them out"));
    }
    for user in &auth.users {
        if user.name.is_empty() || user.name.contains(':') || !user.name.chars().all(is_text) {
            let what = format!("{} is not the name of a user", quoted(&user.name));
            return Err(Fault::new(
                what,
                "leave out colons and control characters (RFC 7617 section 2)",
            ));
        }
        let hash = user.hash.as_str();
        let is_bcrypt = ["$2a$", "$2b$", "$2y$"]
            .iter()
            .any(|kind| hash.starts_with(kind))
            && hash.len() == 60;
        let is_argon2 = hash
            .strip_prefix("$argon2id$")
            .is_some_and(|rest| rest.split('$').count() == 4);
        if !is_bcrypt && !is_argon2 || hash.len() > 512 {
            let what = format!(
                "the password of {} is not a hash of argon2id or bcrypt",
                quoted(&user.name)
            );
            return Err(Fault::new(what, "make one with: salver hash-password"));
        }
    }
    Ok(())
}

/// Content-Disposition (RFC 6266), with the name in ASCII and, where that lacks something, in UTF-8 (RFC 8187).
fn disposition_value(disposition: &Disposition) -> String {
    let name = match disposition {
        Disposition::Inline => return "inline".to_owned(),
        Disposition::Attachment(None) => return "attachment".to_owned(),
        Disposition::Attachment(Some(name)) => name,
    };
    let mut value = String::from("attachment; filename=\"");
    let mut is_whole = true;
    for character in name.chars() {
        match character {
            '"' | '\\' | '%' | '/' => {
                is_whole = false;
                value.push('_');
            }
            ' '..='~' => value.push(character),
            _ => {
                is_whole = false;
                value.push('_');
            }
        }
    }
    value.push('"');
    if !is_whole {
        value.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                value.push(char::from(byte));
            } else {
                value.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    value
}

#[cfg(test)]
mod tests;
