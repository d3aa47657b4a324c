//! The groups that answers are in, by the field `Cache-Groups` (RFC 9875): what is invalidated together.

/// True if a value of `Cache-Groups` names this group.
///
/// It is a List of Strings (RFC 9875 section 2), whose parameters mean nothing. A value that is none names no group (RFC 9651
/// section 4.2).
pub fn is_in_group(value: &[u8], group: &[u8]) -> bool {
    let mut is_in = false;
    let mut rest = value.trim_ascii();
    while !rest.is_empty() {
        let Some((name, after)) = string(rest) else {
            return false;
        };
        is_in |= name == group;
        let Some(after) = without_parameters(after) else {
            return false;
        };
        rest = match after.trim_ascii_start().split_first() {
            None => b"",
            Some((b',', next)) if !next.trim_ascii_start().is_empty() => next.trim_ascii_start(),
            Some(_) => return false,
        };
    }
    is_in
}

/// The String that a text begins with, and what follows (RFC 9651 section 4.2.5).
fn string(text: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let mut rest = text.strip_prefix(b"\"")?;
    let mut string = Vec::new();
    loop {
        let (&byte, after) = rest.split_first()?;
        rest = after;
        match byte {
            b'"' => return Some((string, rest)),
            b'\\' => {
                let (&escaped, after) = rest.split_first()?;
                rest = after;
                matches!(escaped, b'"' | b'\\').then(|| string.push(escaped))?;
            }
            0x20..0x7f => string.push(byte),
            _ => return None,
        }
    }
}

/// What follows the parameters that a text may begin with. Their values are not looked at, but for the end of strings.
fn without_parameters(mut text: &[u8]) -> Option<&[u8]> {
    while let Some(parameter) = text.strip_prefix(b";") {
        let parameter = parameter.trim_ascii_start();
        let is_of_key = |byte: &u8| {
            byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-.*".contains(byte)
        };
        let key = parameter.iter().take_while(|byte| is_of_key(byte)).count();
        if key == 0 {
            return None;
        }
        let after = parameter.get(key..)?;
        text = match after.strip_prefix(b"=") {
            None => after,
            Some(value) if value.starts_with(b"\"") => string(value)?.1,
            Some(value) => {
                let length = value
                    .iter()
                    .take_while(|byte| !b";, \t".contains(byte))
                    .count();
                value.get(length..)?
            }
        };
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_strings_of_a_list() {
        let check = |value: &str, group: &str, expected: bool| {
            let found = is_in_group(value.as_bytes(), group.as_bytes());
            assert_eq!(found, expected, "{value} {group}");
        };
        check("\"a\"", "a", true);
        check("\"a\"", "b", false);
        check("\"a\"", "A", false);
        check(" \"a\" ,\t\"b c\" ", "b c", true);
        check("\"a\";x;y=1;z=\"q,\\\"\", \"b\"", "b", true);
        check("\"a\\\"b\\\\\"", "a\"b\\", true);
        check("\"\"", "", true);
        check("", "", false);
        // What is no List of Strings.
        for value in [
            "a",
            "\"a\", b",
            "\"a\",",
            "\"a\" \"b\"",
            "\"a",
            "\"a\\",
            "\"a\\n\"",
            "\"a\";",
            "\"a\";X=1",
            "\"a\u{e9}\"",
            ",\"a\"",
        ] {
            check(value, "a", false);
        }
    }
}
