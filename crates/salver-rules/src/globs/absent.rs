//! Without the feature `globs` there are none: a rule that has one is a fault.

use crate::fault::{Fault, quoted};

/// A glob.
#[derive(Debug)]
pub(crate) enum Glob {}

/// Globs.
#[derive(Debug, Default)]
pub(crate) struct Globs;

impl Globs {
    pub(crate) fn matches(&self, _path: &[u8]) -> [usize; 0] {
        []
    }
}

/// A [`Globs`] under construction.
#[derive(Debug, Default)]
pub(crate) struct GlobsBuilder;

impl GlobsBuilder {
    pub(crate) fn add(&mut self, glob: &Glob) {
        match *glob {}
    }

    pub(crate) fn build(self) -> Result<Globs, Fault> {
        Ok(Globs)
    }
}

pub(crate) fn glob(text: &str) -> Result<Glob, Fault> {
    let what = format!("this program takes no globs such as {}", quoted(text));
    let remedy = "build it with the feature `globs` of salver-rules, or write a pattern";
    Err(Fault::new(what, remedy))
}

#[cfg(test)]
mod tests {
    use crate::rule::{Action, Condition, PathCondition, Rule};
    use crate::rule_set::RuleSet;

    #[test]
    fn a_rule_with_a_glob_says_what_is_missing() {
        let rule = Rule {
            when: Condition {
                path: PathCondition::Glob("*.html".to_owned()),
                ..Condition::default()
            },
            actions: vec![Action::CacheControl("no-store".to_owned())],
            ..Rule::default()
        };
        let fault = RuleSet::compile(&[rule]).unwrap_err().to_string();
        assert!(fault.contains("\"*.html\""), "{fault}");
        assert!(fault.contains("feature `globs`"), "{fault}");
    }
}
