//! Validators: entity tags and modification dates (RFC 9110 section 8.8).

use crate::date::HttpDate;
use crate::field::{List, Quoting};

/// An entity tag (RFC 9110 section 8.8.3), borrowed from the field that it was read from.
///
/// Deliberately not `Eq`: whether two tags are equal depends on the comparison (section 8.8.3.2).
#[derive(Copy, Clone, Debug)]
pub struct EntityTag<'a> {
    weak: bool,
    /// The tag without its quotes; every byte is an `etagc`.
    opaque: &'a [u8],
}

impl<'a> EntityTag<'a> {
    /// Reads `value`, all of it, as `[ W/ ] DQUOTE *etagc DQUOTE`. White space around it, white
    /// space or a double quote within it, a lower-case `w/` and missing quotes are `None`. A
    /// backslash is a byte like any other, bytes from 0x80 on are allowed.
    pub fn parse(value: &'a [u8]) -> Option<Self> {
        let (weak, quoted) = match value {
            [b'W', b'/', quoted @ ..] => (true, quoted),
            quoted => (false, quoted),
        };
        match quoted {
            [b'"', opaque @ .., b'"'] if opaque.iter().copied().all(is_etagc) => {
                Some(EntityTag { weak, opaque })
            }
            _ => None,
        }
    }

    /// True if the tag is weak (`W/`).
    pub fn weak(&self) -> bool {
        self.weak
    }

    /// Strong comparison: equal, and neither is weak (RFC 9110 section 8.8.3.2).
    pub fn strong_eq(&self, other: &EntityTag<'_>) -> bool {
        !self.weak && !other.weak && self.opaque == other.opaque
    }

    /// Weak comparison: equal, whether weak or not (RFC 9110 section 8.8.3.2).
    pub fn weak_eq(&self, other: &EntityTag<'_>) -> bool {
        self.opaque == other.opaque
    }
}

/// True for `etagc = %x21 / %x23-7E / obs-text` (RFC 9110 section 8.8.3).
fn is_etagc(byte: u8) -> bool {
    matches!(byte, 0x21 | 0x23..=0x7e | 0x80..)
}

/// The entity tags of a list such as If-None-Match has. Members that are no entity tag are
/// skipped; a comma within a tag's quotes belongs to the tag.
pub fn entity_tags(value: &[u8]) -> impl Iterator<Item = EntityTag<'_>> {
    List {
        rest: value,
        quoting: Quoting::EntityTag,
    }
    .filter_map(EntityTag::parse)
}

/// The validators of the selected representation. `None` where it has no such validator.
#[derive(Copy, Clone, Debug, Default)]
pub struct Validators<'a> {
    /// Its ETag.
    pub entity_tag: Option<EntityTag<'a>>,
    /// Its Last-Modified.
    pub last_modified: Option<HttpDate>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn parses() {
        fn check(input: &[u8], expected: Option<(bool, &[u8])>) {
            let tag = EntityTag::parse(input).map(|tag| (tag.weak(), tag.opaque));
            assert_eq!(tag, expected, "{}", input.escape_ascii());
        }
        check(br#""a""#, Some((false, b"a")));
        check(br#"W/"a""#, Some((true, b"a")));
        check(br#""""#, Some((false, b"")));
        check(br#"W/"""#, Some((true, b"")));
        check(br#""a,b""#, Some((false, b"a,b")));
        check(br#""a\""#, Some((false, br"a\")));
        check(br#""*""#, Some((false, b"*")));
        check(br#""W/""#, Some((false, b"W/")));
        check(b"\"!#~\x80\xff\"", Some((false, b"!#~\x80\xff")));
        for malformed in [
            b"".as_slice(),
            b"a",
            b"*",
            b"\"",
            b"\"a",
            b"a\"",
            b"W/",
            b"W/a",
            b"W/\"",
            b"W/\"a",
            b"w/\"a\"",
            b"W\"a\"",
            b"W /\"a\"",
            b"W/ \"a\"",
            b"W/W/\"a\"",
            b" \"a\"",
            b"\"a\" ",
            b"\"a b\"",
            b"\"a\tb\"",
            b"\"a\"b\"",
            b"\"a\\\"b\"",
            b"\"a\x00\"",
            b"\"a\x1f\"",
            b"\"a\x7f\"",
            b"'a'",
            b"\"a\",\"b\"",
            b"\"a\"-gzip",
        ] {
            check(malformed, None);
        }
    }

    /// The table of RFC 9110 section 8.8.3.2, and more.
    #[test]
    fn compares() {
        fn check(left: &str, right: &str, strong: bool, weak: bool) {
            let left = EntityTag::parse(left.as_bytes()).unwrap();
            let right = EntityTag::parse(right.as_bytes()).unwrap();
            for (left, right) in [(left, right), (right, left)] {
                assert_eq!(left.strong_eq(&right), strong, "{left:?} {right:?}");
                assert_eq!(left.weak_eq(&right), weak, "{left:?} {right:?}");
            }
        }
        check(r#"W/"1""#, r#"W/"1""#, false, true);
        check(r#"W/"1""#, r#"W/"2""#, false, false);
        check(r#"W/"1""#, r#""1""#, false, true);
        check(r#""1""#, r#""1""#, true, true);
        check(r#""1""#, r#""2""#, false, false);
        check(r#""a""#, r#""A""#, false, false);
        check(r#""""#, r#""""#, true, true);
        check(r#""a""#, r#""a-gzip""#, false, false);
    }

    #[test]
    fn lists() {
        fn check(input: &[u8], expected: &[(bool, &[u8])]) {
            let tags: Vec<_> = entity_tags(input)
                .map(|tag| (tag.weak(), tag.opaque))
                .collect();
            assert_eq!(tags, expected, "{}", input.escape_ascii());
        }
        check(b"", &[]);
        check(b"*", &[]);
        check(b" , ,", &[]);
        check(br#""a""#, &[(false, b"a")]);
        check(br#" "a" "#, &[(false, b"a")]);
        check(br#""a", "b""#, &[(false, b"a"), (false, b"b")]);
        check(br#""a","b""#, &[(false, b"a"), (false, b"b")]);
        check(b"\"a\"\t,\t\"b\"", &[(false, b"a"), (false, b"b")]);
        check(br#",, "a",, W/"b",,"#, &[(false, b"a"), (true, b"b")]);
        check(br#""a,b", "c""#, &[(false, b"a,b"), (false, b"c")]);
        check(br#"W/"a,b,", W/",""#, &[(true, b"a,b,"), (true, b",")]);
        check(br#""a\", "b""#, &[(false, br"a\"), (false, b"b")]);
        check(
            b"\"\xc3\xa9\", \"b\"",
            &[(false, b"\xc3\xa9"), (false, b"b")],
        );
        // Malformed members are skipped, wherever they stand.
        check(br#"a, "b""#, &[(false, b"b")]);
        check(br#""a", b"#, &[(false, b"a")]);
        check(br#""a", *, "b""#, &[(false, b"a"), (false, b"b")]);
        check(br#""a b", "c""#, &[(false, b"c")]);
        check(br#"w/"a", "b""#, &[(false, b"b")]);
        check(br#""a"x, "b""#, &[(false, b"b")]);
        check(br#""a" "b", "c""#, &[(false, b"c")]);
        check(br#""a";q=1, "b""#, &[(false, b"b")]);
        check(br#""a", "b"#, &[(false, b"a")]);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn a_list_gives_back_its_members(
            members in prop::collection::vec((any::<bool>(), "[!#-~\u{80}-\u{ff}]{0,12}"), 0..8)
        ) {
            let texts: Vec<String> = members
                .iter()
                .map(|(weak, opaque)| format!("{}\"{opaque}\"", if *weak { "W/" } else { "" }))
                .collect();
            let value = texts.join(", ");
            let tags: Vec<_> =
                entity_tags(value.as_bytes()).map(|tag| (tag.weak(), tag.opaque)).collect();
            let expected: Vec<_> =
                members.iter().map(|(weak, opaque)| (*weak, opaque.as_bytes())).collect();
            prop_assert_eq!(tags, expected);
        }

        #[test]
        fn tags_never_hold_quotes_or_space(value in "[W/\", ab\\\\\u{0}-\u{20}]{0,40}") {
            for tag in entity_tags(value.as_bytes()) {
                prop_assert!(tag.opaque.iter().all(|byte| *byte > b' ' && *byte != b'"'));
            }
        }
    }
}
