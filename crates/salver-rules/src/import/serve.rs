//! `serve.json` of the npm packages `serve` and `serve-handler`.

use super::json::Object;
use super::source_pattern::Source;
use super::{Importing, redirect_status};
use crate::fault::Fault;
use crate::rule::{Action, Redirect, Rewrite, Rule};

pub(super) fn import(mut file: Object<'_>, importing: &mut Importing) {
    importing.imported.root = file.text("public", importing).map(str::to_owned);
    // Both are on unless the file says otherwise.
    let clean_urls = file.switch("cleanUrls", importing);
    importing.imported.clean_urls = Some(clean_urls.unwrap_or(true));
    let listing = file.switch("directoryListing", importing);
    importing.imported.listing = Some(listing.unwrap_or(true));
    importing.imported.trailing_slash = file.switch("trailingSlash", importing);
    for mut row in file.objects("redirects", importing) {
        let rule = redirect(&mut row, importing).map_err(|fault| fault.at(&row.place()));
        row.finish_rule(rule.and_then(complete), importing);
    }
    for mut row in file.objects("rewrites", importing) {
        let rule = rewrite(&mut row, importing).map_err(|fault| fault.at(&row.place()));
        row.finish_rule(rule.and_then(complete), importing);
    }
    for mut row in file.objects("headers", importing) {
        let rule = headers(&mut row, importing).map_err(|fault| fault.at(&row.place()));
        row.finish_rule(rule.and_then(complete), importing);
    }
    if file.switch("etag", importing).is_some() {
        let what = "every answer has an ETag";
        importing.fault(&file.place_of("etag"), Fault::warning(what, "leave it out"));
    }
    for (key, hint) in [
        (
            "unlisted",
            "dotfiles are never listed; leave other files out of the folder",
        ),
        ("renderSingle", "link to the file itself"),
        (
            "symlinks",
            "links are followed as long as they stay in the folder",
        ),
    ] {
        if file.value(key).is_some() {
            importing.not_taken(&file.place_of(key), hint);
        }
    }
    file.finish(importing);
}

fn complete(rule: Option<Rule>) -> Result<Rule, Fault> {
    rule.ok_or_else(|| Fault::new("it lacks a part", "give it what the others have"))
}

/// The condition of a source: a pattern if it has placeholders or plain stars, else a glob.
fn source(text: &str) -> Result<Source, Fault> {
    if text.contains(['?', '[', '{', '@', '!', '+']) && !text.contains(':') {
        Source::glob(text)
    } else {
        Source::pattern(text)
    }
}

fn slashed(target: &str) -> String {
    let is_whole = target.starts_with('/') || target.contains("://");
    if is_whole {
        target.to_owned()
    } else {
        format!("/{target}")
    }
}

fn redirect(row: &mut Object<'_>, importing: &mut Importing) -> Result<Option<Rule>, Fault> {
    let (from, to) = (
        row.text("source", importing),
        row.text("destination", importing),
    );
    let status = redirect_status(row.number("type", importing), 301)?;
    let (Some(from), Some(to)) = (from, to) else {
        return Ok(None);
    };
    let source = source(from)?;
    let location = slashed(&source.target(to));
    let redirect = Redirect {
        status,
        location,
        keeps_query: false,
        unless_file: false,
    };
    Ok(Some(source.rule(vec![Action::Redirect(redirect)])))
}

fn rewrite(row: &mut Object<'_>, importing: &mut Importing) -> Result<Option<Rule>, Fault> {
    let (from, to) = (
        row.text("source", importing),
        row.text("destination", importing),
    );
    let (Some(from), Some(to)) = (from, to) else {
        return Ok(None);
    };
    let source = source(from)?;
    let to = vec![slashed(&source.target(to))];
    Ok(Some(source.rule(vec![Action::Rewrite(Rewrite {
        status: 200,
        to,
        unless_file: true,
    })])))
}

fn headers(row: &mut Object<'_>, importing: &mut Importing) -> Result<Option<Rule>, Fault> {
    let Some(from) = row.text("source", importing) else {
        return Ok(None);
    };
    let source = Source::glob(from)?;
    let mut actions = Vec::new();
    for mut header in row.objects("headers", importing) {
        let name = header.text("key", importing);
        let removes = header.value("value").is_none();
        let value = header.text("value", importing);
        match (name, value) {
            (Some(name), Some(value)) => {
                actions.push(Action::Set(name.to_owned(), value.to_owned()))
            }
            (Some(name), None) if removes => actions.push(Action::Remove(name.to_owned())),
            _ => importing.fault(
                &header.place(),
                Fault::new("it lacks key or value", "write both"),
            ),
        }
        header.finish(importing);
    }
    Ok(Some(source.rule(actions)))
}
