//! The nearest of known names, for what was misspelt.

/// Names that are so much alike, from 0 to 1, may be meant for each other.
const ALIKE: f64 = 0.8;

/// The name among `known` that is most like `name`, if any is; the first of those that are as near.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let rated = known.into_iter();
    let rated = rated.map(|known| (strsim::jaro_winkler(name, known), known));
    let best = rated.reduce(|best, next| if next.0 > best.0 { next } else { best });
    best.filter(|(alike, _)| *alike >= ALIKE)
        .map(|(_, known)| known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_alike_is_near() {
        fn check(name: &str, expected: Option<&str>) {
            let known = ["port", "host", "cache.size", "serve"];
            assert_eq!(nearest(name, known), expected, "{name}");
        }
        check("prot", Some("port"));
        check("cache.szie", Some("cache.size"));
        check("sreve", Some("serve"));
        check("xyzzy", None);
        check("", None);
    }
}
