//! `_redirects`: redirects and rewrites, as Netlify and Cloudflare read them.

use std::collections::HashSet;

use crate::fault::{Fault, Place, quoted};
use crate::pattern::{Dialect, Pattern};
use crate::rule::{Action, Condition, PathCondition, QueryTest, Redirect, Rewrite, Rule, Scheme};
use crate::site_file::{Address, Compat, Parsed, Parsing, is_space, lines, text, warn_of_length};

/// Rules of a `_redirects` file. Never fails: what cannot be taken is a fault, and the rest holds.
///
/// Of all rules the first that matches counts. Those of `_headers` belong before them: what those deny, no redirect
/// opens.
///
/// ```
/// use salver_rules::{Compat, parse_redirects};
///
/// let parsed = parse_redirects(b"/old/* /new/:splat 301\n/ /de 302 Language=de\n", Compat::Netlify);
/// assert_eq!(parsed.rules.len(), 1);
/// assert!(parsed.faults[0].to_string().starts_with("line 2: the condition \"Language=de\" is not supported"));
/// ```
pub fn parse_redirects(file: &[u8], compat: Compat) -> Parsed {
    let mut parsing = Parsing::default();
    let text = text(file, &mut parsing);
    let lines = lines(&text, &mut parsing);
    match compat {
        Compat::Netlify => {
            for (place, line) in lines {
                match netlify(line) {
                    Ok(rule) => parsing.take(Rule { place, ..rule }),
                    Err(fault) => parsing.fault(&place, fault),
                }
            }
        }
        Compat::Cloudflare => cloudflare(&lines, &mut parsing),
    }
    parsing.finish()
}

/// The words of a line up to a comment.
fn words(line: &str) -> Vec<&str> {
    let words = line.split(is_space).filter(|word| !word.is_empty());
    words.take_while(|word| !word.starts_with('#')).collect()
}

fn is_url(word: &str) -> bool {
    word.starts_with("https://") || word.starts_with("http://")
}

/// The status of a word and whether it is forced; `None` for another word.
fn status(word: &str) -> Option<(u16, bool)> {
    let digits = word.strip_suffix('!').unwrap_or(word);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| digits.parse().unwrap_or(u16::MAX))?;
    Some((number, digits.len() < word.len()))
}

fn netlify(line: &str) -> Result<Rule, Fault> {
    let words = words(line);
    let (from, rest) = words.split_first().unwrap_or((&"", &[]));
    let mut when = netlify_condition(from)?;
    // A rule with a status in place of a target serves what is beneath: `/app/* 200`.
    let without_target = rest.first().and_then(|word| status(word));
    let target = rest
        .iter()
        .position(|word| word.starts_with('/') || is_url(word));
    let (to, rest) = match (without_target, target) {
        (Some((200..=299, _)), _) => match from.strip_suffix("/*") {
            Some(start) => (format!("{start}/:splat"), rest),
            None => {
                let what = format!("{} has no target", quoted(from));
                return Err(Fault::new(what, "write the target before the status"));
            }
        },
        (None, Some(at)) => {
            let (query, rest) = rest.split_at_checked(at).unwrap_or_default();
            when.query = query.iter().map(query_test).collect::<Result<_, _>>()?;
            let (to, rest) = rest.split_first().unwrap_or((&"", &[]));
            ((*to).to_owned(), rest)
        }
        (Some(_), _) | (None, None) => {
            let what = format!("{} has no target", quoted(from));
            return Err(Fault::new(
                what,
                "write a target that begins with /, http:// or https://",
            ));
        }
    };
    let (status_word, conditions) = rest.split_first().unwrap_or((&"301", &[]));
    let Some((number, force)) = status(status_word) else {
        let what = format!("{} is not a status", quoted(status_word));
        return Err(Fault::new(
            what,
            "write 200, 301, 302, 303, 307, 308 or 404 behind the target",
        ));
    };
    if let Some(condition) = conditions.first() {
        let what = format!("the condition {} is not supported", quoted(condition));
        let hint =
            "who asks from where, in which language or role is not asked here: leave the line out";
        return Err(Fault::new(what, hint));
    }
    let action = match number {
        301 | 302 | 303 | 307 | 308 => Action::Redirect(Redirect {
            status: number,
            location: to,
            keeps_query: true,
            unless_file: !force,
        }),
        _ => Action::Rewrite(Rewrite {
            status: number,
            to: vec![to],
            unless_file: !force,
        }),
    };
    Ok(Rule {
        when,
        actions: vec![action],
        ..Rule::default()
    })
}

/// The condition of the first word: a path, or a URL with scheme and host.
fn netlify_condition(from: &str) -> Result<Condition, Fault> {
    let mut when = Condition::default();
    let path = if is_url(from) {
        let (scheme, rest) = from.split_once("://").unwrap_or_default();
        let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        Pattern::host(host)?;
        when.scheme = Some(if scheme == "https" {
            Scheme::Https
        } else {
            Scheme::Http
        });
        when.hosts = vec![host.to_owned()];
        if path.is_empty() {
            "/".to_owned()
        } else {
            path.to_owned()
        }
    } else if from.starts_with('/') {
        from.to_owned()
    } else {
        format!("/{from}")
    };
    if path.starts_with("/.netlify") {
        let what = format!("{} is Netlify's own", quoted(&path));
        return Err(Fault::new(what, "leave the line out: nothing is there"));
    }
    when.path = PathCondition::Pattern(path, Dialect::Segments);
    Ok(when)
}

fn query_test(pair: &&str) -> Result<(String, QueryTest), Fault> {
    let Some((name, value)) = pair.split_once('=') else {
        let what = format!("{} is neither a target nor a query parameter", quoted(pair));
        return Err(Fault::new(
            what,
            "write name=value or name=:placeholder before the target",
        ));
    };
    let test = match value.strip_prefix(':') {
        Some(placeholder) => QueryTest::Capture(placeholder.to_owned()),
        None => QueryTest::Is(value.to_owned()),
    };
    Ok((name.to_owned(), test))
}

fn cloudflare(lines: &[(Place, &str)], parsing: &mut Parsing) {
    const MOST_LITERAL: usize = 2_000;
    const MOST_WITH_PLACEHOLDERS: usize = 100;
    let mut seen = HashSet::new();
    let (mut literal, mut with_placeholders) = (0, 0);
    for (place, line) in lines {
        warn_of_length(line, place, parsing);
        let (from, rule) = match cloudflare_rule(line) {
            Ok(found) => found,
            Err(fault) => {
                parsing.fault(place, fault);
                continue;
            }
        };
        if !seen.insert(from.clone()) {
            let what = format!("the path {} stands here again", quoted(&from));
            parsing.fault(
                place,
                Fault::new(what, "leave the line out: the first counts"),
            );
            continue;
        }
        // Behind the first with a placeholder, Cloudflare counts every rule as such.
        let is_literal =
            Pattern::path(&from, Dialect::Anywhere).is_ok_and(|path| path.names().is_empty());
        let (count, most) = if is_literal && with_placeholders == 0 {
            (&mut literal, MOST_LITERAL)
        } else {
            (&mut with_placeholders, MOST_WITH_PLACEHOLDERS)
        };
        *count += 1;
        if *count == most + 1 {
            let kind = if most == MOST_LITERAL {
                "literal paths"
            } else {
                "paths with placeholders"
            };
            let what = format!("Cloudflare takes {most} {kind}, and ignores those that follow");
            parsing.fault(place, Fault::warning(what, "they hold here"));
        }
        parsing.take(Rule {
            place: place.clone(),
            ..rule
        });
    }
}

fn cloudflare_rule(line: &str) -> Result<(String, Rule), Fault> {
    let words = words(line);
    let (from, to, number) = match &*words {
        [from, to] => (*from, *to, 302),
        [from, to, word] => match status(word) {
            Some((number @ (200 | 301 | 302 | 303 | 307 | 308), false)) => (*from, *to, number),
            _ => {
                let what = format!("Cloudflare knows no status {}", quoted(word));
                return Err(Fault::new(
                    what,
                    "write 200, 301, 302, 303, 307 or 308, without !",
                ));
            }
        },
        _ => {
            let what = format!("the line has {} words", words.len());
            let hint = "write path, target and status; conditions are Netlify's, and not supported";
            return Err(Fault::new(what, hint));
        }
    };
    if is_url(from) {
        let what = format!("{} is a URL", quoted(from));
        return Err(Fault::new(
            what,
            "write the path alone: Cloudflare redirects whatever the host",
        ));
    }
    let from = Address::parse(&format!("/{}", from.strip_prefix('/').unwrap_or(from)))?;
    let from = from.bare_path().to_owned();
    let target = Address::parse(to)?;
    if target.host.is_some() && number == 200 {
        let what = format!("{} would be fetched from another server", quoted(to));
        return Err(Fault::new(
            what,
            "redirect there with 302 instead: files only are served",
        ));
    }
    let is_index = ["/index", "/index.html"]
        .iter()
        .any(|index| target.path.ends_with(index));
    if target.host.is_none() && is_index && (from.ends_with("/*") || from.ends_with('/')) {
        let what = format!(
            "{} leads to {}, which leads back",
            quoted(&from),
            quoted(to)
        );
        return Err(Fault::new(
            what,
            "leave the line out; for one page behind all paths use --spa",
        ));
    }
    let to = match &target.host {
        Some(host) => format!("https://{host}{}", target.path),
        None if to.starts_with("//") => to.to_owned(),
        None => target.path,
    };
    let action = if number == 200 {
        Action::Rewrite(Rewrite {
            status: 200,
            to: vec![to],
            unless_file: false,
        })
    } else {
        Action::Redirect(Redirect {
            status: number,
            location: to,
            keeps_query: true,
            unless_file: false,
        })
    };
    let path = PathCondition::Pattern(from.clone(), Dialect::Anywhere);
    let when = Condition {
        path,
        ..Condition::default()
    };
    Ok((
        from,
        Rule {
            when,
            actions: vec![action],
            ..Rule::default()
        },
    ))
}

#[cfg(test)]
mod tests;
