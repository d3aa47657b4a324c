//! What was imported, rendered as a part of `salver.toml`.

use super::Imported;
use crate::fault::{Fault, Place};
use crate::rule::{Action, Rule};
use crate::rule_toml::render_rules;

impl Imported {
    /// The site as a part of `salver.toml`: each rule beneath a comment with its place in the file, and what was not
    /// taken as comments at the end.
    ///
    /// # Errors
    /// A rule that TOML has no keys for, which no import makes.
    pub fn to_toml(&self) -> Result<String, Fault> {
        let mut out = String::from("[[site]]\n");
        let quote = |text: &str| {
            without_variables(&toml::Value::String(text.to_owned()).to_string()).into_owned()
        };
        if let Some(root) = &self.root {
            out.push_str(&format!("root = {}\n", quote(root)));
        }
        if let Some(clean) = self.clean_urls {
            let clean = if clean { "auto" } else { "off" };
            out.push_str(&format!("clean-urls = \"{clean}\"\n"));
        }
        if let Some(slash) = self.trailing_slash {
            let slash = if slash { "always" } else { "never" };
            out.push_str(&format!("trailing-slash = \"{slash}\"\n"));
        }
        if let Some(listing) = self.listing {
            out.push_str(&format!("listing.enabled = {listing}\n"));
        }
        let pages = self
            .error_pages
            .iter()
            .map(|(status, page)| Action::ErrorPage(*status, page.clone()));
        let pages = Rule {
            actions: pages.collect(),
            ..Rule::default()
        };
        let has_pages = !pages.actions.is_empty();
        for rule in self.rules.iter().chain(Some(&pages).filter(|_| has_pages)) {
            let rendered = render_rules(std::slice::from_ref(rule))?;
            out.push('\n');
            if rule.place != Place::Whole {
                out.push_str(&comment(&rule.place.to_string()));
            }
            out.extend(rendered.lines().map(rule_line));
        }
        let not_taken = self.faults.iter().filter(|fault| !fault.taken);
        for (number, fault) in not_taken.enumerate() {
            if number == 0 {
                out.push_str("\n# Not taken:\n");
            }
            out.push_str(&comment(&fault.to_string()));
        }
        Ok(out)
    }
}

/// A line of a comment. What stands in it is of one line already, but the file's own.
fn comment(text: &str) -> String {
    let text = text.replace(char::is_control, " ");
    format!("# {text}\n")
}

/// A line of a rule, in which text is text: `${` would be a variable.
fn rule_line(line: &str) -> String {
    let (key, value) = line.split_at(end_of_key(line));
    format!("{key}{}\n", without_variables(value))
}

/// Where the key of a line ends. Keys name no variables.
fn end_of_key(line: &str) -> usize {
    let quote = match line.chars().next() {
        Some('[') => return line.len(),
        Some(quote @ ('"' | '\'')) => quote,
        _ => return line.find('=').unwrap_or(line.len()),
    };
    let mut is_escaped = false;
    let end = line.char_indices().skip(1).find(|(_, sign)| {
        let ends = *sign == quote && !is_escaped;
        is_escaped = *sign == '\\' && quote == '"' && !is_escaped;
        ends
    });
    end.map_or(line.len(), |(at, _)| at)
}

fn without_variables(text: &str) -> std::borrow::Cow<'_, str> {
    match text.contains("${") {
        true => text.replace("${", "$${").into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_names_no_variables_and_keys_stay() {
        let check =
            |line: &str, expected: &str| assert_eq!(rule_line(line), format!("{expected}\n"));
        check("redirect = \"/${a}\"", "redirect = \"/$${a}\"");
        check("\"a = ${b}\" = \"${c}\"", "\"a = ${b}\" = \"$${c}\"");
        check("\"a\\\"=${b}\" = '${c}'", "\"a\\\"=${b}\" = '$${c}'");
        check("'${b}' = \"x\"", "'${b}' = \"x\"");
        check("[site.rule.set]", "[site.rule.set]");
        check("X-A = \"$1 {\"", "X-A = \"$1 {\"");
    }

    #[test]
    fn a_comment_is_one_line() {
        assert_eq!(comment("a\nb\r\u{85}c"), "# a b  c\n");
    }
}
