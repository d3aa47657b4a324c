//! Changes of response fields: which a rule may make, and what many of them come to.

use salver_semantics::field::{is_token, is_value};

use crate::fault::{Fault, quoted};

/// A change of one response field: what is left of all rules that name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldChange {
    /// The name, in lower case.
    pub name: String,
    /// True if lines of that name which the server would send are left out.
    pub replaces: bool,
    /// The values to send, a line each; none if the field is removed.
    pub values: Vec<String>,
    /// True if the values come of `Join`, to which a further one is joined.
    joined: bool,
}

impl FieldChange {
    /// A change that sets (`replaces`) or adds lines.
    pub fn new(name: &str, replaces: bool, values: Vec<String>) -> Self {
        FieldChange {
            name: name.to_ascii_lowercase(),
            replaces,
            values,
            joined: false,
        }
    }
}

/// The way in which one action changes a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldOperation {
    Set,
    Append,
    Join,
    Remove,
}

/// Applies one more change to those before it, so that each field stands in the list once.
pub(crate) fn change(
    changes: &mut Vec<FieldChange>,
    operation: FieldOperation,
    name: &str,
    value: String,
) {
    let at = changes.iter().position(|change| change.name == name);
    let mut change = match at {
        Some(at) => changes.remove(at),
        None => FieldChange::new(name, false, Vec::new()),
    };
    match operation {
        FieldOperation::Append => change.values.push(value),
        FieldOperation::Join if change.joined => match change.values.last_mut() {
            // Lines of Set-Cookie cannot be joined (RFC 6265 section 3).
            Some(last) if name != "set-cookie" => {
                last.push_str(", ");
                last.push_str(&value);
            }
            _ => change.values.push(value),
        },
        FieldOperation::Set | FieldOperation::Join => {
            // Which fields a choice depends on is the server's to say: a rule adds to it.
            change.replaces = name != "vary";
            if name != "vary" {
                change.values.clear();
            }
            change.values.push(value);
            change.joined = operation == FieldOperation::Join;
        }
        FieldOperation::Remove => {
            change.replaces = true;
            change.values.clear();
        }
    }
    changes.insert(at.unwrap_or(changes.len()), change);
}

/// The name of a response field in lower case, if a rule may change it.
///
/// What frames a message, what belongs to a connection, and what identifies the representation is the server's
/// own: an ETag by rule would outlive the content that it names.
pub(crate) fn check_name(name: &str, operation: FieldOperation) -> Result<String, Fault> {
    const OWN: [&str; 22] = [
        "accept-ranges",
        "age",
        "allow",
        "connection",
        "content-encoding",
        "content-length",
        "content-range",
        "date",
        "etag",
        "host",
        "keep-alive",
        "last-modified",
        "location",
        "proxy-authenticate",
        "proxy-connection",
        "status",
        "te",
        "trailer",
        "transfer-encoding",
        "upgrade",
        "use-as-dictionary",
        "www-authenticate",
    ];
    if !is_token(name.as_bytes()) {
        let what = format!("{} is not the name of a field", quoted(name));
        return Err(Fault::new(
            what,
            "use letters, digits and -, as in X-Frame-Options",
        ));
    }
    let name = name.to_ascii_lowercase();
    if OWN.contains(&&*name) {
        let what = format!("the field {name} is the server's own");
        return Err(Fault::new(what, "leave it out"));
    }
    if name == "vary" && operation == FieldOperation::Remove {
        let what = "Vary says of what the choice of a coding depends, and caches need it";
        return Err(Fault::new(what, "leave it out"));
    }
    Ok(name)
}

/// True if a filled-in value may be sent.
pub(crate) fn is_sendable(value: &str) -> bool {
    is_value(value.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::FieldOperation::*;
    use super::*;

    fn check(steps: &[(FieldOperation, &str)], replaces: bool, values: &[&str]) {
        let mut changes = Vec::new();
        for (operation, value) in steps {
            change(&mut changes, *operation, "x-a", (*value).to_owned());
        }
        assert_eq!(changes.len(), 1);
        assert_eq!(changes[0].replaces, replaces);
        assert_eq!(changes[0].values, values);
    }

    #[test]
    fn later_rules_change_what_earlier_ones_said() {
        check(&[(Set, "1"), (Set, "2")], true, &["2"]);
        check(&[(Append, "1"), (Append, "2")], false, &["1", "2"]);
        check(&[(Set, "1"), (Append, "2")], true, &["1", "2"]);
        check(&[(Append, "1"), (Set, "2")], true, &["2"]);
        check(&[(Set, "1"), (Remove, "")], true, &[]);
        check(&[(Remove, ""), (Append, "2")], true, &["2"]);
        check(&[(Join, "1"), (Join, "2")], true, &["1, 2"]);
        check(&[(Set, "1"), (Join, "2"), (Join, "3")], true, &["2, 3"]);
        check(&[(Join, "1"), (Remove, ""), (Join, "2")], true, &["2"]);
    }

    #[test]
    fn vary_is_only_added_to() {
        let mut changes = Vec::new();
        change(&mut changes, Set, "vary", "origin".to_owned());
        change(&mut changes, Set, "vary", "x-a".to_owned());
        assert_eq!(
            changes,
            [FieldChange::new(
                "Vary",
                false,
                vec!["origin".to_owned(), "x-a".to_owned()]
            )]
        );
        assert!(check_name("Vary", Remove).is_err());
        assert!(check_name("Vary", Set).is_ok());
    }

    #[test]
    fn what_a_rule_may_not_change() {
        for name in [
            "ETag",
            "Content-Length",
            "transfer-encoding",
            "Location",
            ":status",
            "a b",
            "",
            "a\r\n",
        ] {
            assert!(check_name(name, Set).is_err(), "{name}");
        }
        assert_eq!(
            check_name("X-Frame-Options", Set).unwrap(),
            "x-frame-options"
        );
    }
}
