//! Preconditions of GET and HEAD (RFC 9110 section 13).

use crate::date::HttpDate;
use crate::field::trim_ows;
use crate::validator::{EntityTag, Validators, entity_tags};

/// The precondition fields of a GET or HEAD request, each as its raw value; `None` if absent.
///
/// If-Range is not among them: it is asked last and for Range only, by [`if_range`].
///
/// ```
/// use salver_semantics::{EntityTag, HttpDate, Preconditions, Validators, Verdict};
///
/// let current = Validators { entity_tag: EntityTag::parse(b"\"v2\""), last_modified: None };
/// let fields = Preconditions { if_none_match: Some(b"\"v1\", W/\"v2\""), ..Default::default() };
/// let now = HttpDate::from_unix_seconds(1_750_000_000);
/// assert_eq!(fields.evaluate(&current, now), Verdict::NotModified);
/// ```
#[derive(Copy, Clone, Debug, Default)]
pub struct Preconditions<'a> {
    /// If-Match.
    pub if_match: Option<&'a [u8]>,
    /// If-None-Match.
    pub if_none_match: Option<&'a [u8]>,
    /// If-Modified-Since.
    pub if_modified_since: Option<&'a [u8]>,
    /// If-Unmodified-Since.
    pub if_unmodified_since: Option<&'a [u8]>,
}

/// The verdict of the preconditions on the answer.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Answer as if there were no preconditions.
    Proceed,
    /// 304 (Not Modified).
    NotModified,
    /// 412 (Precondition Failed).
    Failed,
}

impl Preconditions<'_> {
    /// True if the request carries no precondition at all.
    pub fn is_empty(&self) -> bool {
        self.if_match.is_none()
            && self.if_none_match.is_none()
            && self.if_modified_since.is_none()
            && self.if_unmodified_since.is_none()
    }

    /// Evaluates the preconditions of a GET or HEAD request against the selected representation,
    /// which must exist, in the order of RFC 9110 section 13.2.2.
    ///
    /// A date that is malformed, or a date where the representation has no Last-Modified, is as if
    /// absent. An entity-tag list without a valid member matches nothing.
    pub fn evaluate(&self, current: &Validators<'_>, now: HttpDate) -> Verdict {
        // Step 1, section 13.1.1: strong comparison, a weak tag never matches.
        if let Some(value) = self.if_match {
            if !matches(value, current, EntityTag::strong_eq) {
                return Verdict::Failed;
            }
        // Step 2, section 13.1.4: only where there is no If-Match.
        } else if modified_since(self.if_unmodified_since, current, now) == Some(true) {
            return Verdict::Failed;
        }
        // Step 3, section 13.1.2: weak comparison; for GET and HEAD a match is 304.
        if let Some(value) = self.if_none_match {
            if matches(value, current, EntityTag::weak_eq) {
                return Verdict::NotModified;
            }
        // Step 4, section 13.1.3: only where there is no If-None-Match.
        } else if modified_since(self.if_modified_since, current, now) == Some(false) {
            return Verdict::NotModified;
        }
        Verdict::Proceed
    }
}

/// True if `value`, `*` or a list of entity tags, matches the current representation.
fn matches<'a>(
    value: &'a [u8],
    current: &Validators<'a>,
    equal: fn(&EntityTag<'a>, &EntityTag<'a>) -> bool,
) -> bool {
    // "*" matches whatever exists, with or without an entity tag.
    trim_ows(value) == b"*"
        || current
            .entity_tag
            .is_some_and(|current| entity_tags(value).any(|tag| equal(&tag, &current)))
}

/// True if the current representation was modified after the date; `None` where that can't be said:
/// no field, no valid date (two lines of it are none), no modification date.
fn modified_since(value: Option<&[u8]>, current: &Validators<'_>, now: HttpDate) -> Option<bool> {
    let date = HttpDate::parse(trim_ows(value?), now)?;
    Some(current.last_modified? > date)
}

/// True if If-Range, whose raw value this is, lets Range be honoured (RFC 9110 section 13.1.5):
/// `false` means that the whole representation is to be sent.
///
/// An entity tag must match by strong comparison. A date must be the representation's
/// Last-Modified, to the second, and a strong validator (section 8.8.2.2): at least one second
/// older than `now`, because within its own second the file could have changed twice.
pub fn if_range(value: &[u8], current: &Validators<'_>, now: HttpDate) -> bool {
    let value = trim_ows(value);
    if let Some(tag) = EntityTag::parse(value) {
        return current
            .entity_tag
            .is_some_and(|current| tag.strong_eq(&current));
    }
    match (HttpDate::parse(value, now), current.last_modified) {
        (Some(date), Some(modified)) => date == modified && modified < now,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NOW: &str = "Sun, 15 Jun 2025 12:00:00 GMT";
    const MODIFIED: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
    const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
    const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";
    const TAG: &str = r#""current""#;

    fn date(text: &str) -> HttpDate {
        HttpDate::parse(text.as_bytes(), HttpDate::from_unix_seconds(0)).unwrap()
    }

    fn validators(tag: Option<&'static str>, modified: Option<&str>) -> Validators<'static> {
        Validators {
            entity_tag: tag.map(|tag| EntityTag::parse(tag.as_bytes()).unwrap()),
            last_modified: modified.map(date),
        }
    }

    fn both() -> Validators<'static> {
        validators(Some(TAG), Some(MODIFIED))
    }

    /// If-Match, If-Unmodified-Since, If-None-Match, If-Modified-Since.
    type Fields<'a> = [Option<&'a str>; 4];

    fn preconditions<'a>(fields: Fields<'a>) -> Preconditions<'a> {
        let [
            if_match,
            if_unmodified_since,
            if_none_match,
            if_modified_since,
        ] = fields.map(|field| field.map(str::as_bytes));
        Preconditions {
            if_match,
            if_none_match,
            if_modified_since,
            if_unmodified_since,
        }
    }

    fn check(fields: Fields<'_>, current: &Validators<'_>, expected: Verdict) {
        let verdict = preconditions(fields).evaluate(current, date(NOW));
        assert_eq!(verdict, expected, "{fields:?} against {current:?}");
    }

    #[test]
    fn nothing_asked() {
        assert!(Preconditions::default().is_empty());
        check([None; 4], &both(), Verdict::Proceed);
        check([None; 4], &Validators::default(), Verdict::Proceed);
        for field in 0..4 {
            let mut fields = [None; 4];
            fields[field] = Some("");
            assert!(!preconditions(fields).is_empty(), "{field}");
        }
    }

    #[test]
    fn if_match() {
        fn check_with(value: &str, current: &Validators<'_>, expected: Verdict) {
            check([Some(value), None, None, None], current, expected);
        }
        for matching in [
            TAG,
            "*",
            " * ",
            r#" "current" "#,
            r#""other", "current""#,
            r#""current","other""#,
            r#"W/"current", "current""#,
            r#"malformed, "current""#,
            r#""a,b","current""#,
        ] {
            check_with(matching, &both(), Verdict::Proceed);
        }
        for failing in [
            "",
            ",",
            "current",
            r#""other""#,
            // Strong comparison.
            r#"W/"current""#,
            r#""CURRENT""#,
            r#""current"#,
            r#""*""#,
            "**",
            "*, *",
            r#""a,"current"""#,
        ] {
            check_with(failing, &both(), Verdict::Failed);
        }
        // The current one is weak: nothing matches strongly but "*" does.
        let weak = validators(Some(r#"W/"current""#), Some(MODIFIED));
        check_with(TAG, &weak, Verdict::Failed);
        check_with(r#"W/"current""#, &weak, Verdict::Failed);
        check_with("*", &weak, Verdict::Proceed);
        // No tag at all.
        let untagged = validators(None, Some(MODIFIED));
        check_with(TAG, &untagged, Verdict::Failed);
        check_with("*", &untagged, Verdict::Proceed);
    }

    #[test]
    fn if_none_match() {
        fn check_with(value: &str, current: &Validators<'_>, expected: Verdict) {
            check([None, None, Some(value), None], current, expected);
        }
        for matching in [
            TAG,
            "*",
            "\t*",
            r#"W/"current""#,
            r#""other", W/"current""#,
            r#""a", "b", "c", "current", "d""#,
            r#"malformed, "current""#,
            r#",,"current",,"#,
        ] {
            check_with(matching, &both(), Verdict::NotModified);
        }
        for other in [
            "",
            "current",
            r#""other""#,
            r#"w/"current""#,
            r#""current-gzip""#,
            r#""current"#,
            "*,",
        ] {
            check_with(other, &both(), Verdict::Proceed);
        }
        let weak = validators(Some(r#"W/"current""#), None);
        check_with(TAG, &weak, Verdict::NotModified);
        check_with(r#"W/"current""#, &weak, Verdict::NotModified);
        let untagged = validators(None, Some(MODIFIED));
        check_with(TAG, &untagged, Verdict::Proceed);
        check_with("*", &untagged, Verdict::NotModified);
    }

    #[test]
    fn if_modified_since() {
        fn check_with(value: &str, current: &Validators<'_>, expected: Verdict) {
            check([None, None, None, Some(value)], current, expected);
        }
        for not_since in [
            MODIFIED,
            AFTER,
            NOW,
            " Sun, 06 Nov 1994 08:49:37 GMT\t",
            "Sunday, 06-Nov-94 08:49:37 GMT",
            "Sun Nov  6 08:49:37 1994",
            // Beyond the present: RFC 9110 makes no exception.
            "Fri, 31 Dec 9999 23:59:59 GMT",
        ] {
            check_with(not_since, &both(), Verdict::NotModified);
        }
        for since in [
            BEFORE,
            "Thu, 01 Jan 1970 00:00:00 GMT",
            "Sunday, 06-Nov-76 08:49:37 GMT",
        ] {
            check_with(since, &both(), Verdict::Proceed);
        }
        for invalid in [
            "",
            "now",
            "0",
            "*",
            TAG,
            "Sun, 31 Feb 2024 00:00:00 GMT",
            "2030-01-01T00:00:00Z",
        ] {
            check_with(invalid, &both(), Verdict::Proceed);
        }
        // More than one member (section 13.1.3).
        check_with(&format!("{AFTER}, {AFTER}"), &both(), Verdict::Proceed);
        // No modification date.
        check_with(AFTER, &validators(Some(TAG), None), Verdict::Proceed);
        // A file from before 1970.
        let ancient = validators(None, Some("Wed, 31 Dec 1969 23:59:59 GMT"));
        check_with(
            "Thu, 01 Jan 1970 00:00:00 GMT",
            &ancient,
            Verdict::NotModified,
        );
        check_with("Wed, 31 Dec 1969 23:59:58 GMT", &ancient, Verdict::Proceed);
    }

    #[test]
    fn if_unmodified_since() {
        fn check_with(value: &str, current: &Validators<'_>, expected: Verdict) {
            check([None, Some(value), None, None], current, expected);
        }
        for unmodified in [MODIFIED, AFTER, NOW, "Sunday, 06-Nov-94 08:49:37 GMT"] {
            check_with(unmodified, &both(), Verdict::Proceed);
        }
        for modified in [
            BEFORE,
            "Thu, 01 Jan 1970 00:00:00 GMT",
            "Sun Nov  6 08:49:36 1994",
        ] {
            check_with(modified, &both(), Verdict::Failed);
        }
        for invalid in ["", "never", "Sun, 31 Feb 1980 00:00:00 GMT"] {
            check_with(invalid, &both(), Verdict::Proceed);
        }
        check_with(&format!("{BEFORE}, {BEFORE}"), &both(), Verdict::Proceed);
        check_with(BEFORE, &validators(Some(TAG), None), Verdict::Proceed);
    }

    /// Every combination of the four fields, each absent, true or false, against section 13.2.2
    /// written once more, as nested steps.
    #[test]
    fn the_order_of_section_13_2_2() {
        let if_match = [
            (None, None),
            (Some(TAG), Some(true)),
            (Some(r#""other""#), Some(false)),
        ];
        let unmodified = [
            (None, None),
            (Some(MODIFIED), Some(true)),
            (Some(BEFORE), Some(false)),
        ];
        let none_match = [
            (None, None),
            (Some(r#""other""#), Some(true)),
            (Some(TAG), Some(false)),
        ];
        let modified = [
            (None, None),
            (Some(BEFORE), Some(true)),
            (Some(MODIFIED), Some(false)),
        ];
        let mut seen = 0;
        for (match_value, match_holds) in if_match {
            for (unmodified_value, unmodified_holds) in unmodified {
                for (none_match_value, none_match_holds) in none_match {
                    for (modified_value, modified_holds) in modified {
                        let first = match_holds.or(unmodified_holds).unwrap_or(true);
                        let second = none_match_holds.or(modified_holds).unwrap_or(true);
                        let expected = match (first, second) {
                            (false, _) => Verdict::Failed,
                            (true, false) => Verdict::NotModified,
                            (true, true) => Verdict::Proceed,
                        };
                        let fields = [
                            match_value,
                            unmodified_value,
                            none_match_value,
                            modified_value,
                        ];
                        check(fields, &both(), expected);
                        seen += 1;
                    }
                }
            }
        }
        assert_eq!(seen, 81);
    }

    #[test]
    fn an_entity_tag_overrules_a_date_even_if_malformed() {
        check(
            [None, None, Some("malformed"), Some(AFTER)],
            &both(),
            Verdict::Proceed,
        );
        check(
            [None, None, Some(""), Some(AFTER)],
            &both(),
            Verdict::Proceed,
        );
        check(
            [Some("*"), Some(BEFORE), None, None],
            &both(),
            Verdict::Proceed,
        );
        check(
            [Some("malformed"), Some(AFTER), None, None],
            &both(),
            Verdict::Failed,
        );
    }

    #[test]
    fn if_range_by_entity_tag() {
        fn check(value: &str, current: &Validators<'_>, expected: bool) {
            assert_eq!(
                if_range(value.as_bytes(), current, date(NOW)),
                expected,
                "{value:?}"
            );
        }
        check(TAG, &both(), true);
        check(r#" "current" "#, &both(), true);
        check(r#""other""#, &both(), false);
        check(r#"W/"current""#, &both(), false);
        check(r#""CURRENT""#, &both(), false);
        // One tag, not a list, and no "*" (section 13.1.5).
        check(r#""current", "other""#, &both(), false);
        check(r#""current", "current""#, &both(), false);
        check("*", &both(), false);
        check("", &both(), false);
        check("current", &both(), false);
        check(r#""current"#, &both(), false);
        let weak = validators(Some(r#"W/"current""#), Some(MODIFIED));
        check(TAG, &weak, false);
        check(r#"W/"current""#, &weak, false);
        check(TAG, &validators(None, Some(MODIFIED)), false);
    }

    #[test]
    fn if_range_by_date() {
        fn check(value: &str, modified: Option<&str>, now: &str, expected: bool) {
            let current = validators(Some(TAG), modified);
            assert_eq!(
                if_range(value.as_bytes(), &current, date(now)),
                expected,
                "{value:?} {now}"
            );
        }
        let modified = Some(MODIFIED);
        check(MODIFIED, modified, NOW, true);
        check(" Sun, 06 Nov 1994 08:49:37 GMT ", modified, NOW, true);
        check("Sunday, 06-Nov-94 08:49:37 GMT", modified, NOW, true);
        check("Sun Nov  6 08:49:37 1994", modified, NOW, true);
        // Not "at least as new": exactly.
        check(AFTER, modified, NOW, false);
        check(BEFORE, modified, NOW, false);
        check(NOW, modified, NOW, false);
        check(MODIFIED, None, NOW, false);
        check("Sun, 06 Nov 1994 08:49:37 UTC", modified, NOW, false);
        // Weak within its own second (section 8.8.2.2), or when it lies in the future.
        check(MODIFIED, modified, AFTER, true);
        check(MODIFIED, modified, MODIFIED, false);
        check(MODIFIED, modified, BEFORE, false);
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn nothing_panics(
            values in prop::array::uniform4(
                prop::option::of(prop::collection::vec(any::<u8>(), 0..40))
            ),
            now in any::<i64>(),
        ) {
            let [a, b, c, d] = &values;
            let fields = Preconditions {
                if_match: a.as_deref(),
                if_none_match: b.as_deref(),
                if_modified_since: c.as_deref(),
                if_unmodified_since: d.as_deref(),
            };
            let now = HttpDate::from_unix_seconds(now);
            let verdict = fields.evaluate(&both(), now);
            prop_assert!(!fields.is_empty() || verdict == Verdict::Proceed);
            let _ = if_range(a.as_deref().unwrap_or_default(), &both(), now);
        }
    }
}
