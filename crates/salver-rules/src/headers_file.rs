//! `_headers`: response fields by path, as Netlify and Cloudflare read them.

use crate::fault::{Fault, Place, quoted};
use crate::limits::MOST_ACTIONS;
use crate::pattern::{Dialect, Pattern};
use crate::rule::{Action, Condition, PathCondition, Rule};
use crate::site_file::{Address, Compat, Parsed, Parsing, is_space, lines, text, warn_of_length};

/// Rules of a `_headers` file. Never fails: what cannot be taken is a fault, and the rest holds.
///
/// ```
/// use salver_rules::{Compat, parse_headers};
///
/// let parsed = parse_headers(b"/assets/*\n  Cache-Control: max-age=60\n  ETag: \"x\"\n", Compat::Netlify);
/// assert_eq!(parsed.rules.len(), 1);
/// assert_eq!(parsed.faults[0].to_string(), "line 3: the field etag is the server's own; leave it out");
/// ```
pub fn parse_headers(file: &[u8], compat: Compat) -> Parsed {
    let mut parsing = Parsing::default();
    let text = text(file, &mut parsing);
    let lines = lines(&text, &mut parsing);
    match compat {
        Compat::Netlify => netlify(&lines, &mut parsing),
        Compat::Cloudflare => cloudflare(&lines, &mut parsing),
    }
    parsing.finish()
}

/// A path and the lines below it.
struct Block {
    place: Place,
    when: Condition,
    /// Names as they are written, which is how each host tells them apart, values, and where they begin.
    fields: Vec<(String, String, Place)>,
    removed: Vec<(String, Place)>,
    /// True if nothing may be served there, since the file's way of protecting it is not taken.
    is_denied: bool,
}

impl Block {
    fn new(place: &Place, when: Condition) -> Self {
        Block {
            place: place.clone(),
            when,
            fields: Vec::new(),
            removed: Vec::new(),
            is_denied: false,
        }
    }

    /// Adds a line; one of the same name is joined to.
    fn field(&mut self, name: &str, value: &str, place: &Place, parsing: &mut Parsing) {
        if let Some((_, values, _)) = self.fields.iter_mut().find(|(known, ..)| known == name) {
            values.push_str(", ");
            values.push_str(value);
        } else if self.has_room(place, parsing) {
            self.fields
                .push((name.to_owned(), value.to_owned(), place.clone()));
        }
    }

    /// Adds a line that removes a field.
    fn remove(&mut self, name: &str, place: &Place, parsing: &mut Parsing) {
        if self.has_room(place, parsing) {
            self.removed.push((name.to_owned(), place.clone()));
        }
    }

    fn has_room(&self, place: &Place, parsing: &mut Parsing) -> bool {
        let has_room = self.fields.len() + self.removed.len() + 1 < MOST_ACTIONS;
        if !has_room {
            let fault = Fault::new(
                "the path has too many fields",
                format!("{MOST_ACTIONS} are the most"),
            );
            parsing.fault(place, fault);
        }
        has_room
    }

    fn into_rule(self, parsing: &mut Parsing, action: fn(String, String) -> Action) -> Rule {
        let mut actions = Vec::new();
        for (name, place) in self.removed {
            actions.extend(parsing.check(&place, Action::Remove(name)));
        }
        for (name, value, place) in self.fields {
            actions.extend(parsing.check(&place, action(name, value)));
        }
        if self.is_denied {
            actions.push(Action::Deny(403));
        }
        Rule {
            place: self.place,
            when: self.when,
            actions,
        }
    }
}

/// The name and value of a line; `None` if it has no colon.
fn pair(line: &str) -> Option<Result<(&str, &str), Fault>> {
    let (name, value) = line.split_once(':')?;
    let (name, value) = (name.trim_matches(is_space), value.trim_matches(is_space));
    if name.is_empty() {
        return Some(Err(Fault::new("a field has no name", "write Name: value")));
    }
    if value.is_empty() {
        let what = format!("the field {} has no value", quoted(name));
        return Some(Err(Fault::new(what, "write Name: value")));
    }
    Some(Ok((name, value)))
}

fn no_path(name: &str) -> Fault {
    let what = format!("the field {} stands before any path", quoted(name));
    Fault::new(what, "write a path such as /* on a line before it")
}

fn netlify(lines: &[(Place, &str)], parsing: &mut Parsing) {
    let mut block: Option<Block> = None;
    // True below a path that was refused, which is said once.
    let mut is_refused = false;
    for (place, line) in lines {
        if line.starts_with('/') {
            finish_netlify(block.take(), parsing);
            is_refused = false;
            match Pattern::path(line, Dialect::HeaderSegments) {
                Ok(_) => {
                    let path = PathCondition::Pattern((*line).to_owned(), Dialect::HeaderSegments);
                    block = Some(Block::new(
                        place,
                        Condition {
                            path,
                            ..Condition::default()
                        },
                    ));
                }
                Err(fault) => {
                    parsing.fault(place, fault);
                    is_refused = true;
                }
            }
            continue;
        }
        if is_refused {
            continue;
        }
        if line.starts_with("https://") || line.starts_with("http://") {
            let what = format!(
                "{} is not a path, and Netlify reads it as a field",
                quoted(line)
            );
            parsing.fault(
                place,
                Fault::new(
                    what,
                    "write the path alone; rules for hosts are Cloudflare's",
                ),
            );
            continue;
        }
        let (name, value) = match pair(line) {
            Some(Ok(pair)) => pair,
            Some(Err(fault)) => {
                parsing.fault(place, fault);
                continue;
            }
            None => {
                let what = format!("{} has no colon, and Netlify ignores it", quoted(line));
                parsing.fault(
                    place,
                    Fault::new(what, "write Name: value; to detach a field is Cloudflare's"),
                );
                continue;
            }
        };
        let Some(block) = &mut block else {
            parsing.fault(place, no_path(name));
            continue;
        };
        if name.eq_ignore_ascii_case("basic-auth") {
            // Ignored, it would open what its author closed; sent, it would tell the passwords.
            block.is_denied = true;
            let what =
                "Basic-Auth holds passwords in the clear: the path is answered with 403 instead";
            parsing.fault(
                place,
                Fault::new(what, "use basic-auth in a rule, with hashed passwords"),
            );
            continue;
        }
        block.field(name, value, place, parsing);
    }
    finish_netlify(block, parsing);
}

fn finish_netlify(block: Option<Block>, parsing: &mut Parsing) {
    let Some(block) = block else {
        return;
    };
    let spaced = |name, value: String| {
        // Netlify writes every comma of a value with one space behind it.
        let parts: Vec<&str> = value.split(',').collect();
        let last = parts.len().saturating_sub(1);
        let trim = |(at, part): (usize, &&str)| {
            let part = if at > 0 {
                part.trim_start_matches(is_space)
            } else {
                part
            };
            let part = if at < last {
                part.trim_end_matches(is_space)
            } else {
                part
            };
            part.to_owned()
        };
        Action::Set(
            name,
            parts
                .iter()
                .enumerate()
                .map(trim)
                .collect::<Vec<_>>()
                .join(", "),
        )
    };
    let rule = block.into_rule(parsing, spaced);
    if !rule.actions.is_empty() {
        parsing.take(rule);
    }
}

fn cloudflare(lines: &[(Place, &str)], parsing: &mut Parsing) {
    const MOST_BLOCKS: usize = 100;
    // Where a path stands twice, the later block takes the place of the earlier.
    let mut blocks: Vec<(String, Block)> = Vec::new();
    let mut known = std::collections::HashMap::new();
    // `None` below a path that was refused.
    let mut current: Option<usize> = None;
    let mut is_refused = false;
    for (place, line) in lines {
        warn_of_length(line, place, parsing);
        let before_scheme = line.split("://").next().unwrap_or_default();
        let has_scheme = before_scheme.len() < line.len() && !before_scheme.is_empty();
        if line.starts_with('/') || has_scheme && !before_scheme.contains(is_space) {
            current = None;
            is_refused = true;
            match cloudflare_condition(line) {
                Ok((key, when)) => {
                    is_refused = false;
                    let block = Block::new(place, when);
                    let position = *known.entry(key.clone()).or_insert(blocks.len());
                    if let Some((_, earlier)) = blocks.get_mut(position) {
                        let what = format!("the path {} stands here again", quoted(line));
                        let hint = format!("this block holds instead of that of {}", earlier.place);
                        parsing.fault(place, Fault::warning(what, hint));
                        *earlier = block;
                    } else {
                        blocks.push((key, block));
                        if blocks.len() == MOST_BLOCKS + 1 {
                            let what = format!(
                                "Cloudflare reads {MOST_BLOCKS} blocks, and ignores what follows"
                            );
                            parsing.fault(place, Fault::warning(what, "it holds here"));
                        }
                    }
                    current = Some(position);
                }
                Err(fault) => parsing.fault(place, fault),
            }
            continue;
        }
        if is_refused {
            continue;
        }
        let block = current
            .and_then(|position| blocks.get_mut(position))
            .map(|(_, block)| block);
        match (pair(line), block) {
            (Some(Err(fault)), _) => parsing.fault(place, fault),
            (Some(Ok((name, _))), _) if name.contains(' ') => {
                let what = format!("{} is not the name of a field", quoted(name));
                parsing.fault(
                    place,
                    Fault::new(what, "write Name: value, or ! Name alone to remove a field"),
                );
            }
            (Some(Ok((name, value))), Some(block)) => {
                block.field(&name.to_ascii_lowercase(), value, place, parsing);
            }
            (Some(Ok((name, _))), None) => parsing.fault(place, no_path(name)),
            (None, block) => match (line.strip_prefix("! "), block) {
                (Some(name), Some(block)) => block.remove(name.trim(), place, parsing),
                (Some(name), None) => parsing.fault(place, no_path(name)),
                (None, _) => {
                    let what = format!("{} has no colon", quoted(line));
                    parsing.fault(
                        place,
                        Fault::new(what, "write Name: value, or ! Name to remove a field"),
                    );
                }
            },
        }
    }
    for (_, block) in blocks {
        let place = block.place.clone();
        let rule = block.into_rule(parsing, Action::Join);
        if rule.actions.is_empty() {
            parsing.fault(
                &place,
                Fault::new(
                    "the path has no fields",
                    "write fields below it, or leave it out",
                ),
            );
        } else {
            parsing.take(rule);
        }
    }
}

/// The condition of a line with a path or URL, and what makes two of them the same.
fn cloudflare_condition(line: &str) -> Result<(String, Condition), Fault> {
    let address = Address::parse(line)?;
    let path = address.bare_path();
    let whole = format!("{}{path}", address.host.as_deref().unwrap_or_default());
    let splats = whole.matches('*').count();
    let named = whole.split(":splat").skip(1);
    let is_name =
        |rest: &str| rest.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '_');
    if splats > 1 || splats == 1 && named.into_iter().any(|rest| !is_name(rest)) {
        let what = format!("{} has more than one splat", quoted(line));
        return Err(Fault::new(what, "use one *, and :name for segments"));
    }
    Pattern::path(path, Dialect::Anywhere)?;
    let hosts: Vec<String> = address.host.iter().cloned().collect();
    for host in &hosts {
        Pattern::host(host)?;
    }
    let path = PathCondition::Pattern(path.to_owned(), Dialect::Anywhere);
    Ok((
        whole,
        Condition {
            path,
            hosts,
            ..Condition::default()
        },
    ))
}

#[cfg(test)]
mod tests;
