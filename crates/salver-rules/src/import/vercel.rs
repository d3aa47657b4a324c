//! `vercel.json`.

use super::json::Object;
use super::source_pattern::Source;
use super::{Importing, redirect_status};
use crate::fault::{Fault, quoted};
use crate::rule::{Action, Condition, FieldTest, QueryTest, Redirect, Rewrite, Rule};

pub(super) fn import(mut file: Object<'_>, importing: &mut Importing) {
    importing.imported.root = file.text("outputDirectory", importing).map(str::to_owned);
    importing.imported.clean_urls = Some(file.switch("cleanUrls", importing).unwrap_or(false));
    importing.imported.trailing_slash = file.switch("trailingSlash", importing);
    for mut row in file.objects("redirects", importing) {
        let permanent = row.switch("permanent", importing);
        let default = if permanent == Some(true) { 308 } else { 307 };
        let status = redirect_status(row.number("statusCode", importing), default);
        let to = row.text("destination", importing);
        let rule = condition(&mut row, importing).and_then(|(source, when)| {
            let location = source.target(required(to)?);
            let redirect = Redirect {
                status: status?,
                location,
                keeps_query: true,
                unless_file: false,
            };
            Ok(Rule {
                when,
                actions: vec![Action::Redirect(redirect)],
                ..Rule::default()
            })
        });
        row.finish_rule(rule, importing);
    }
    for mut row in file.objects("headers", importing) {
        let mut fields = Vec::new();
        for mut header in row.objects("headers", importing) {
            match (
                header.text("key", importing),
                header.text("value", importing),
            ) {
                (Some(name), Some(value)) => fields.push((name, value)),
                _ => importing.fault(
                    &header.place(),
                    Fault::new("it lacks key or value", "write both"),
                ),
            }
            header.finish(importing);
        }
        let rule = condition(&mut row, importing).map(|(source, when)| {
            let action =
                |(name, value): (&str, &str)| Action::Set(name.to_owned(), source.target(value));
            Rule {
                when,
                actions: fields.into_iter().map(action).collect(),
                ..Rule::default()
            }
        });
        row.finish_rule(rule, importing);
    }
    for mut row in file.objects("rewrites", importing) {
        let to = row.text("destination", importing);
        let rule = condition(&mut row, importing).and_then(|(source, when)| {
            let to = vec![source.target(required(to)?)];
            let rewrite = Rewrite {
                status: 200,
                to,
                unless_file: true,
            };
            Ok(Rule {
                when,
                actions: vec![Action::Rewrite(rewrite)],
                ..Rule::default()
            })
        });
        row.finish_rule(rule, importing);
    }
    for key in ["routes", "functions", "crons", "builds", "images"] {
        if file.value(key).is_some() {
            importing.not_taken(
                &file.place_of(key),
                "files only are served: no functions, no legacy routes",
            );
        }
    }
    // What builds and deploys means nothing to who serves.
    for key in [
        "$schema",
        "version",
        "name",
        "framework",
        "buildCommand",
        "devCommand",
        "installCommand",
        "github",
        "git",
    ] {
        file.value(key);
    }
    file.finish(importing);
}

fn required(text: Option<&str>) -> Result<&str, Fault> {
    text.ok_or_else(|| Fault::new("it has no source or destination", "give it both"))
}

fn condition(
    row: &mut Object<'_>,
    importing: &mut Importing,
) -> Result<(Source, Condition), Fault> {
    let source = Source::pattern(required(row.text("source", importing))?)?;
    let mut when = Condition {
        path: source.path.clone(),
        ..Condition::default()
    };
    for (key, is_there) in [("has", true), ("missing", false)] {
        for mut test in row.objects(key, importing) {
            let kind = test.text("type", importing);
            let name = test.text("key", importing);
            let value = test.text("value", importing);
            add_test(kind, name, value, is_there, &mut when)
                .map_err(|fault| fault.at(&test.place()))?;
            test.finish(importing);
        }
    }
    Ok((source, when))
}

fn add_test(
    kind: Option<&str>,
    name: Option<&str>,
    value: Option<&str>,
    is_there: bool,
    when: &mut Condition,
) -> Result<(), Fault> {
    // Values are regular expressions; taken are those that stand for themselves. A dot is only meant so in hosts.
    let special = |next: char| "\\*+?()[]{}|^$".contains(next);
    if value.is_some_and(|value| value.contains(special)) || !is_there && value.is_some() {
        let what = format!(
            "the condition on {} is a regular expression, or denies one",
            quoted(value.unwrap_or_default())
        );
        return Err(Fault::new(what, "write a rule for it by hand"));
    }
    match (kind, name, value) {
        (Some("host"), _, Some(host)) => when.hosts.push(host.to_owned()),
        (Some("header"), Some(name), value) => {
            let test = match value {
                Some(value) => FieldTest::Is(value.to_owned()),
                None if is_there => FieldTest::Present,
                None => FieldTest::Absent,
            };
            when.fields.push((name.to_owned(), test));
        }
        (Some("query"), Some(name), value) => {
            let test = match value {
                Some(value) => QueryTest::Is(value.to_owned()),
                None if is_there => QueryTest::Present,
                None => QueryTest::Absent,
            };
            when.query.push((name.to_owned(), test));
        }
        (kind, ..) => {
            let what = format!(
                "a condition on {} is not taken",
                quoted(kind.unwrap_or("nothing"))
            );
            return Err(Fault::new(what, "host, header and query are"));
        }
    }
    if when.hosts.len() > 1 {
        return Err(Fault::new("two hosts are asked for at once", "keep one"));
    }
    Ok(())
}
