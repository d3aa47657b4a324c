//! `staticwebapp.config.json` of Azure Static Web Apps.

use super::json::Object;
use super::source_pattern::Source;
use super::{Importing, redirect_status};
use crate::fault::Fault;
use crate::pattern::Dialect;
use crate::rule::{Action, Condition, PathCondition, Redirect, Rewrite, Rule};

pub(super) fn import(mut file: Object<'_>, importing: &mut Importing) {
    importing.imported.clean_urls = Some(true);
    importing.imported.trailing_slash = match file.text("trailingSlash", importing) {
        Some("always") => Some(true),
        Some("never") => Some(false),
        _ => None,
    };
    let mut actions = Vec::new();
    for (name, value, place) in file.table("globalHeaders", importing) {
        actions.push((field(name, value), place));
    }
    for (action, place) in actions {
        importing.take(Rule {
            place,
            actions: vec![action],
            ..Rule::default()
        });
    }
    for (extension, media_type, place) in file.table("mimeTypes", importing) {
        let path = PathCondition::Glob(format!("*{extension}"));
        let when = Condition {
            path,
            ..Condition::default()
        };
        let actions = vec![Action::Set(
            "Content-Type".to_owned(),
            media_type.to_owned(),
        )];
        importing.take(Rule {
            place,
            when,
            actions,
        });
    }
    for row in file.objects("routes", importing) {
        route(row, importing);
    }
    if let Some(overrides) = file.object("responseOverrides", importing) {
        response_overrides(overrides, importing);
    }
    if let Some(fallback) = file.object("navigationFallback", importing) {
        navigation_fallback(fallback, importing);
    }
    for (key, hint) in [
        (
            "auth",
            "use basic-auth in rules, or a proxy that knows the users",
        ),
        ("networking", "let a firewall decide who may connect"),
        ("forwardingGateway", "name trusted proxies in salver.toml"),
    ] {
        if file.value(key).is_some() {
            importing.not_taken(&file.place_of(key), hint);
        }
    }
    for key in ["$schema", "platform"] {
        file.value(key);
    }
    file.finish(importing);
}

/// An empty value removes a field that another part set.
fn field(name: &str, value: &str) -> Action {
    if value.is_empty() {
        Action::Remove(name.to_owned())
    } else {
        Action::Set(name.to_owned(), value.to_owned())
    }
}

/// A route ends in `*`, or names extensions as in `/img/*.{png,jpg}`.
fn source(text: &str) -> Result<Source, Fault> {
    if text.contains('{') {
        Source::glob(&text.replace("/*.", "/**/*."))
    } else {
        Source::pattern(text)
    }
}

fn route(mut row: Object<'_>, importing: &mut Importing) {
    let place = row.place();
    let path = row.text("route", importing).unwrap_or_default();
    let methods = row
        .texts("methods", importing)
        .into_iter()
        .map(str::to_owned)
        .collect();
    let roles = row.texts("allowedRoles", importing);
    let (redirect, rewrite) = (
        row.text("redirect", importing),
        row.text("rewrite", importing),
    );
    let rewrite = rewrite.or(row.text("serve", importing));
    let status = row.number("statusCode", importing);
    let mut actions = Vec::new();
    for (name, value, _) in row.table("headers", importing) {
        actions.push(field(name, value));
    }
    let is_closed = !roles.is_empty() && !roles.contains(&"anonymous");
    let to_rule = || -> Result<Rule, Fault> {
        let source = source(path)?;
        let route = if is_closed {
            // Ignored, it would open what its author closed.
            Some(Action::Deny(403))
        } else if let Some(to) = redirect {
            let status = redirect_status(status, 302)?;
            Some(Action::Redirect(Redirect {
                status,
                location: to.to_owned(),
                keeps_query: true,
                unless_file: false,
            }))
        } else if let Some(to) = rewrite {
            let status = status
                .and_then(|status| u16::try_from(status).ok())
                .unwrap_or(200);
            Some(Action::Rewrite(Rewrite {
                status,
                to: vec![to.to_owned()],
                unless_file: false,
            }))
        } else {
            status
                .and_then(|status| u16::try_from(status).ok())
                .map(Action::Deny)
        };
        let when = Condition {
            path: source.path,
            methods,
            ..Condition::default()
        };
        Ok(Rule {
            place: place.clone(),
            when,
            actions: actions.into_iter().chain(route).collect(),
        })
    };
    match to_rule() {
        Ok(rule) => {
            if is_closed {
                let what = "roles are not known here: the path is answered with 403";
                importing.fault(
                    &row.place_of("allowedRoles"),
                    Fault::new(what, "use basic-auth in a rule instead"),
                );
            }
            importing.take(rule);
        }
        Err(fault) => importing.fault(&place, fault),
    }
    row.finish(importing);
}

fn response_overrides(mut overrides: Object<'_>, importing: &mut Importing) {
    for (key, status) in [("400", 400), ("403", 403), ("404", 404)] {
        let Some(mut row) = overrides.object(key, importing) else {
            continue;
        };
        match row.text("rewrite", importing) {
            Some(page) => importing
                .imported
                .error_pages
                .push((status, page.to_owned())),
            None => importing.not_taken(&row.place(), "a page is: rewrite"),
        }
        for other in ["redirect", "statusCode"] {
            if row.value(other).is_some() {
                importing.not_taken(&row.place_of(other), "the status stays that of the error");
            }
        }
        row.finish(importing);
    }
    if overrides.value("401").is_some() {
        importing.not_taken(
            &overrides.place_of("401"),
            "browsers ask for the password themselves",
        );
    }
    overrides.finish(importing);
}

fn navigation_fallback(mut fallback: Object<'_>, importing: &mut Importing) {
    let place = fallback.place();
    let rewrite = |path, status, to: &str| Rule {
        place: place.clone(),
        when: Condition {
            path,
            ..Condition::default()
        },
        actions: vec![Action::Rewrite(Rewrite {
            status,
            to: vec![to.to_owned()],
            unless_file: true,
        })],
    };
    for excluded in fallback.texts("exclude", importing) {
        // Missing files there are 404, not the fallback: a rule before it.
        match source(excluded) {
            Ok(source) => importing.take(rewrite(source.path, 404, "/404.html")),
            Err(fault) => importing.fault(&fallback.place_of("exclude"), fault),
        }
    }
    match fallback.text("rewrite", importing) {
        Some(to) => {
            let path = PathCondition::Pattern("/*".to_owned(), Dialect::Anywhere);
            importing.take(rewrite(path, 200, to));
        }
        None => importing.fault(
            &place,
            Fault::new("it has no rewrite", "name the page, as in /index.html"),
        ),
    }
    fallback.finish(importing);
}
