//! Accept: how much a client wants a media type (RFC 9110 section 12.5.1).

use crate::field::{Weight, is_token, list, trim_ows};

/// The place of a media type in a client's Accept.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct MediaPreference {
    /// The weight of the most specific media range that matches; zero if none does.
    pub weight: Weight,
    /// True if that range names type and subtype, and is no wildcard.
    pub is_named: bool,
}

/// The preference of a client for a media type, whose parameters count as they stand in Content-Type. `accept` is the
/// raw value of Accept; `None` if the request has none, which means that any type will do.
///
/// Members that are malformed are skipped. Of ranges that are equally specific the lower weight counts, so that a
/// refusal always holds.
///
/// ```
/// use salver_semantics::{Weight, media_preference};
///
/// let accept = b"text/html, image/*;q=0.8, */*;q=0.1";
/// let preference = media_preference(Some(accept), "image/avif");
/// assert_eq!(preference.weight.thousandths(), 800);
/// assert!(!preference.is_named);
/// ```
pub fn media_preference(accept: Option<&[u8]>, media_type: &str) -> MediaPreference {
    // An empty value names none, as if it were not there (section 12.5.1 asks for at least no harm).
    let accept = accept.map(trim_ows).filter(|accept| !accept.is_empty());
    let Some(accept) = accept else {
        return MediaPreference {
            weight: Weight::MAX,
            is_named: false,
        };
    };
    let mut best: Option<(Specificity, Weight)> = None;
    if let Some(offered) = MediaType::parse(media_type.as_bytes()) {
        for (range, weight) in list(accept).filter_map(member) {
            let Some(specificity) = range.matches(&offered) else {
                continue;
            };
            best = Some(match best {
                Some((known, least)) if known == specificity => (known, least.min(weight)),
                Some(known) if known.0 > specificity => known,
                _ => (specificity, weight),
            });
        }
    }
    MediaPreference {
        weight: best.map_or(Weight::ZERO, |(_, weight)| weight),
        is_named: best.is_some_and(|(specificity, _)| specificity >= Specificity::NAMED),
    }
}

/// The index of the alternative that a client wants rather than the representation that a path names: of those whose
/// type it names itself and wants no less, the one that it wants most, and of those the first. `None` for what the path
/// names.
///
/// A wildcard says that a client takes what it gets, and not that it can show it: browsers that know no AVIF have sent
/// `image/*`.
pub fn preferred_alternative<'t>(
    accept: Option<&[u8]>,
    original: &str,
    alternatives: impl IntoIterator<Item = &'t str>,
) -> Option<usize> {
    let least = media_preference(accept, original).weight;
    let mut best: Option<(usize, Weight)> = None;
    for (index, media_type) in alternatives.into_iter().enumerate() {
        let MediaPreference { weight, is_named } = media_preference(accept, media_type);
        let wanted = is_named && weight > Weight::ZERO && weight >= least;
        if wanted && best.is_none_or(|(_, known)| weight > known) {
            best = Some((index, weight));
        }
    }
    best.map(|(index, _)| index)
}

/// How much a media range says of a type: wildcards, then names, then one more for each parameter.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Specificity(usize);

impl Specificity {
    const ANY: Specificity = Specificity(0);
    const OF_TYPE: Specificity = Specificity(1);
    const NAMED: Specificity = Specificity(2);
}

/// A media type or range as it is written: `type/subtype` and what follows.
struct MediaType<'v> {
    kind: &'v [u8],
    subtype: &'v [u8],
    /// The parameters, with the semicolons between them.
    parameters: &'v [u8],
}

impl<'v> MediaType<'v> {
    fn parse(text: &'v [u8]) -> Option<Self> {
        let (name, parameters) = split_at(text, b';');
        let name = trim_ows(name);
        let slash = name.iter().position(|&byte| byte == b'/')?;
        let (kind, subtype) = (name.get(..slash)?, name.get(slash + 1..)?);
        (is_token(kind) && is_token(subtype)).then_some(MediaType {
            kind,
            subtype,
            parameters,
        })
    }

    /// How specific this range is for a type, if it matches.
    fn matches(&self, offered: &MediaType<'_>) -> Option<Specificity> {
        if self.kind == b"*" {
            return (self.subtype == b"*").then_some(Specificity::ANY);
        }
        if !self.kind.eq_ignore_ascii_case(offered.kind) {
            return None;
        }
        if self.subtype == b"*" {
            return Some(Specificity::OF_TYPE);
        }
        if !self.subtype.eq_ignore_ascii_case(offered.subtype) {
            return None;
        }
        let mut specificity = Specificity::NAMED;
        for (name, value) in parameters(self.parameters) {
            if name.eq_ignore_ascii_case(b"q") {
                break;
            }
            let mut own = parameters(offered.parameters);
            let is_there = own.any(|(own, of)| {
                own.eq_ignore_ascii_case(name) && unquoted(of).eq_ignore_ascii_case(unquoted(value))
            });
            if !is_there {
                return None;
            }
            specificity.0 += 1;
        }
        Some(specificity)
    }
}

/// A member of Accept: a media range and its weight. What follows the weight has no meaning any more.
fn member(text: &[u8]) -> Option<(MediaType<'_>, Weight)> {
    let range = MediaType::parse(text)?;
    let mut weight = Weight::MAX;
    for (name, value) in parameters(range.parameters) {
        if !is_token(name) || value.is_empty() {
            return None;
        }
        if name.eq_ignore_ascii_case(b"q") {
            weight = Weight::parse(value)?;
            break;
        }
    }
    Some((range, weight))
}

/// The parameters of a media type, each with its value; empty ones are skipped (RFC 9110 section 5.6.6).
fn parameters(text: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut rest = text;
    std::iter::from_fn(move || {
        while !rest.is_empty() {
            let (parameter, behind) = split_at(rest, b';');
            rest = behind;
            let parameter = trim_ows(parameter);
            if !parameter.is_empty() {
                return Some(split_at(parameter, b'='));
            }
        }
        None
    })
}

/// What is before the first such byte that is not within quotes, and what is behind it.
fn split_at(text: &[u8], separator: u8) -> (&[u8], &[u8]) {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let at = text.iter().position(|&byte| {
        if is_escaped {
            is_escaped = false;
            return false;
        }
        match byte {
            b'"' => is_quoted = !is_quoted,
            b'\\' => is_escaped = is_quoted,
            _ => {}
        }
        byte == separator && !is_quoted
    });
    match at.and_then(|at| text.split_at_checked(at)) {
        Some((before, [_, behind @ ..])) => (before, behind),
        _ => (text, &[]),
    }
}

/// A value without its quotes. Those of media types that files have hold no escapes.
fn unquoted(value: &[u8]) -> &[u8] {
    match value {
        [b'"', inner @ .., b'"'] => inner,
        value => value,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn preference(accept: &str, media_type: &str) -> (u16, bool) {
        let found = media_preference(Some(accept.as_bytes()), media_type);
        (found.weight.thousandths(), found.is_named)
    }

    #[test]
    fn the_most_specific_range_counts() {
        let check = |accept: &str, media_type: &str, expected| {
            assert_eq!(
                preference(accept, media_type),
                expected,
                "{accept:?} {media_type}"
            );
        };
        // The example of RFC 9110 section 12.5.1.
        let accept = "text/*;q=0.3, text/plain;q=0.7, text/plain;format=flowed, \
                      text/plain;format=fixed;q=0.4, */*;q=0.5";
        check(accept, "text/plain;format=flowed", (1000, true));
        check(accept, "text/plain", (700, true));
        check(accept, "text/html", (300, false));
        check(accept, "image/jpeg", (500, false));
        check(accept, "text/plain;format=fixed", (400, true));
        check(accept, "text/html;level=3", (300, false));
        // Case, white space, quotes.
        check("IMAGE/Avif ; Q=0.5", "image/avif", (500, true));
        check(" ,image/avif\t,", "image/avif", (1000, true));
        check(
            "text/markdown; Charset=\"UTF-8\"",
            "text/markdown; charset=utf-8",
            (1000, true),
        );
        check(
            "text/markdown;charset=iso-8859-1",
            "text/markdown; charset=utf-8",
            (0, false),
        );
        check(
            "text/markdown; ;q=0.2;x=\",\"",
            "text/markdown; charset=utf-8",
            (200, true),
        );
        check(
            "a/b;c=\"image/avif,\", image/avif;q=0.1",
            "image/avif",
            (100, true),
        );
        // Refusals.
        check("image/avif;q=0, */*", "image/avif", (0, true));
        check("image/avif, image/avif;q=0", "image/avif", (0, true));
        check("image/*;q=0, */*", "image/avif", (0, false));
        check("text/html", "image/avif", (0, false));
        // Nothing said, or nothing that can be read.
        check("", "image/avif", (1000, false));
        check("  ", "image/avif", (1000, false));
        for malformed in [
            "image",
            "image/",
            "/avif",
            "*/avif",
            "image/avif;q=2",
            "image/avif;q",
            "image/avif;q=",
            "image/avif;=1",
            "image avif",
            "\"image/avif\"",
            "image/avif/x",
            "image/avif;x;q=1",
        ] {
            check(malformed, "image/avif", (0, false));
            check(
                &format!("{malformed}, image/avif;q=0.3"),
                "image/avif",
                (300, true),
            );
        }
        assert_eq!(media_preference(None, "a/b").weight, Weight::MAX);
    }

    #[test]
    fn an_alternative_is_sent_to_who_names_it() {
        const JPEG: &str = "image/jpeg";
        const OFFERED: [&str; 2] = ["image/avif", "image/webp"];
        let check = |accept: Option<&str>, expected: Option<usize>| {
            let found = preferred_alternative(accept.map(str::as_bytes), JPEG, OFFERED);
            assert_eq!(found, expected, "{accept:?}");
        };
        check(None, None);
        check(Some(""), None);
        check(Some("*/*"), None);
        check(Some("image/*"), None);
        check(
            Some("image/png,image/svg+xml,image/*;q=0.8,*/*;q=0.5"),
            None,
        );
        check(
            Some("image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8"),
            Some(0),
        );
        check(Some("image/webp,*/*"), Some(1));
        check(Some("image/avif;q=0.5, image/webp, */*;q=0.1"), Some(1));
        check(Some("image/webp, image/avif"), Some(0));
        // What the path names is wanted more.
        check(Some("image/jpeg, image/avif;q=0.9"), None);
        check(Some("image/jpeg;q=0.5, image/avif;q=0.5"), Some(0));
        check(Some("image/avif;q=0.5, */*"), None);
        check(Some("image/avif;q=0"), None);
        check(Some("image/avif;q=0, image/jpeg;q=0"), None);
        check(Some("image/avif"), Some(0));
        let page = |accept: &str| {
            let alternatives = ["text/markdown; charset=utf-8"];
            preferred_alternative(
                Some(accept.as_bytes()),
                "text/html; charset=utf-8",
                alternatives,
            )
        };
        assert_eq!(page("text/markdown, text/html;q=0.9, */*;q=0.1"), Some(0));
        assert_eq!(page("text/markdown, text/html, */*"), Some(0));
        assert_eq!(
            page("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"),
            None
        );
        assert_eq!(page("text/html;charset=utf-8, text/markdown;q=0.9"), None);
    }

    proptest! {
        #[test]
        fn whatever_is_sent_is_read(accept in "[a-c*/;,=q\" .0-9\\\\-]{0,48}") {
            let found = media_preference(Some(accept.as_bytes()), "a/b");
            prop_assert!(found.weight <= Weight::MAX);
        }

        /// Members stand in any order.
        #[test]
        fn order_counts_for_nothing(
            mut members in prop::collection::vec("(a|b|\\*)/(a|b|\\*)(;c=d)?(;q=(0|1|0\\.[1-9]))?", 1..6),
        ) {
            let forwards = preference(&members.join(","), "a/b;c=d");
            members.reverse();
            prop_assert_eq!(forwards, preference(&members.join(" , "), "a/b;c=d"));
        }

        /// What is chosen is acceptable, named, and wanted no less than what the path names.
        #[test]
        fn what_is_chosen_is_wanted(members in prop::collection::vec("(a|b|\\*)/(a|b|c|\\*)(;q=(0|1|0\\.[1-9]))?", 0..6)) {
            let accept = members.join(", ");
            let offered = ["a/b", "a/c", "b/b"];
            let chosen = preferred_alternative(Some(accept.as_bytes()), "a/a", offered);
            let least = preference(&accept, "a/a").0;
            let wanted = |media_type: &&str| {
                let (weight, is_named) = preference(&accept, media_type);
                (is_named && weight > 0 && weight >= least).then_some(weight)
            };
            match chosen {
                Some(chosen) => {
                    let weight = wanted(&offered[chosen]);
                    prop_assert!(weight.is_some());
                    prop_assert!(offered.iter().all(|other| wanted(other) <= weight));
                }
                None => prop_assert!(offered.iter().all(|other| wanted(other).is_none())),
            }
        }
    }
}
