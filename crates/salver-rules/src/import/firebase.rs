//! `firebase.json`: its part `hosting`.

use serde_json::Value;

use super::json::Object;
use super::source_pattern::Source;
use super::{Importing, redirect_status};
use crate::fault::Fault;
use crate::rule::{Action, Redirect, Rewrite};

pub(super) fn import(mut file: Object<'_>, importing: &mut Importing) {
    let several = matches!(file.value("hosting"), Some(Value::Array(_)));
    let mut sites = if several {
        file.objects("hosting", importing)
    } else {
        file.object("hosting", importing).into_iter().collect()
    };
    if sites.len() > 1 {
        for site in sites.drain(1..) {
            importing.not_taken(
                &site.place(),
                "import it from a file of its own: the first site only is taken",
            );
        }
    }
    match sites.pop() {
        Some(site) => hosting(site, importing),
        None => importing.fault(
            &file.place(),
            Fault::new("it has no hosting", "nothing else is taken"),
        ),
    }
    for (key, _) in file.rest() {
        importing.not_taken(&file.place_of(key), "it is not about files that are served");
    }
}

fn hosting(mut site: Object<'_>, importing: &mut Importing) {
    importing.imported.root = site.text("public", importing).map(str::to_owned);
    importing.imported.clean_urls = Some(site.switch("cleanUrls", importing).unwrap_or(false));
    importing.imported.trailing_slash = site.switch("trailingSlash", importing);
    importing
        .imported
        .error_pages
        .push((404, "/404.html".to_owned()));
    for mut row in site.objects("headers", importing) {
        let mut actions = Vec::new();
        for mut header in row.objects("headers", importing) {
            match (
                header.text("key", importing),
                header.text("value", importing),
            ) {
                (Some(name), Some(value)) => {
                    actions.push(Action::Set(name.to_owned(), value.to_owned()))
                }
                _ => importing.fault(
                    &header.place(),
                    Fault::new("it lacks key or value", "write both"),
                ),
            }
            header.finish(importing);
        }
        let rule = source(&mut row, importing).map(|source| source.rule(actions));
        row.finish_rule(rule, importing);
    }
    for mut row in site.objects("redirects", importing) {
        let status = redirect_status(row.number("type", importing), 301);
        let to = row.text("destination", importing);
        let rule = source(&mut row, importing).and_then(|source| {
            let location = source.target(required(to)?);
            let redirect = Redirect {
                status: status?,
                location,
                keeps_query: true,
                unless_file: false,
            };
            Ok(source.rule(vec![Action::Redirect(redirect)]))
        });
        row.finish_rule(rule, importing);
    }
    for mut row in site.objects("rewrites", importing) {
        let to = row.text("destination", importing);
        let rule = source(&mut row, importing).and_then(|source| {
            let to = vec![required(to)?.to_owned()];
            Ok(source.rule(vec![Action::Rewrite(Rewrite {
                status: 200,
                to,
                unless_file: true,
            })]))
        });
        row.finish_rule(rule, importing);
    }
    for key in ["ignore", "i18n", "appAssociation"] {
        if site.value(key).is_some() {
            importing.not_taken(
                &site.place_of(key),
                "leave such files out of the folder that is served",
            );
        }
    }
    for key in [
        "site",
        "target",
        "source",
        "predeploy",
        "postdeploy",
        "frameworksBackend",
    ] {
        site.value(key);
    }
    site.finish(importing);
}

fn required(text: Option<&str>) -> Result<&str, Fault> {
    text.ok_or_else(|| {
        Fault::new(
            "it has no destination",
            "files only are served: no functions, no containers",
        )
    })
}

/// The condition of `source` or, as it was once called, `glob`.
fn source(row: &mut Object<'_>, importing: &mut Importing) -> Result<Source, Fault> {
    let written = row
        .text("source", importing)
        .or(row.text("glob", importing));
    let Some(written) = written else {
        return Err(Fault::new(
            "it has no source",
            "write a rule for it by hand if it is a regex",
        ));
    };
    if written.contains(':') {
        Source::pattern(written)
    } else {
        Source::glob(written)
    }
}
