use proptest::prelude::*;

use super::*;

/// The captures of a path, or `None`; `dialect` and the pattern as an author writes it.
fn check(dialect: Dialect, pattern: &str, path: &str, expected: Option<&[&str]>) {
    let compiled = Pattern::path(pattern, dialect).unwrap();
    let texts = |pattern: &Pattern| {
        let captures = pattern.captures(path.as_bytes())?;
        let text = |range: Range<usize>| path.get(range).unwrap().to_owned();
        Some(captures.into_iter().map(text).collect::<Vec<_>>())
    };
    let expected = expected.map(|texts| texts.iter().map(|&text| text.to_owned()).collect());
    assert_eq!(texts(&compiled), expected, "{pattern} {path}");
    // What may be walked may also be searched.
    let searched = Pattern {
        is_simple: false,
        ..compiled
    };
    assert_eq!(texts(&searched), expected, "{pattern} {path}, searched");
}

#[test]
fn placeholders_anywhere() {
    let check = |pattern, path, expected| check(Dialect::Anywhere, pattern, path, expected);
    check("/a", "/a", Some(&[]));
    check("/a", "/a/", None);
    check("/a", "/A", None);
    check("/caf%C3%A9", "/café", Some(&[]));
    check("/blog/*", "/blog/", Some(&[""]));
    check("/blog/*", "/blog", None);
    check("/blog/*", "/blog/a/b", Some(&["a/b"]));
    check("/*.pdf", "/a/b.pdf", Some(&["a/b"]));
    check("/*.pdf", "/a/b.pdfx", None);
    check("/a*b", "/aXbYb", Some(&["XbY"]));
    check("/:x", "/", None);
    check("/:x", "/a/", None);
    check("/:x/:y", "/a/b", Some(&["a", "b"]));
    check("/:x-:y", "/a-b-c", Some(&["a-b", "c"]));
    check("/:x:y", "/abc", Some(&["ab", "c"]));
    check("/:x.html", "/a.html.html", Some(&["a.html"]));
    check("/p:x", "/page", Some(&["age"]));
    check("/a:1", "/a:1", Some(&[]));
    check("/a:", "/a:", Some(&[]));
    check("/:a/x/*", "/1/x/2/3", Some(&["1", "2/3"]));
}

#[test]
fn segments() {
    let check = |pattern, path, expected| check(Dialect::Segments, pattern, path, expected);
    check("/", "/", Some(&[]));
    check("/a", "/a/", Some(&[]));
    check("/a/", "/a", Some(&[]));
    check("/news/*", "/news", Some(&[""]));
    check("/news/*", "/news/", Some(&[""]));
    check("/news/*", "/newsletter", None);
    check("/news/*", "/news/a/b/", Some(&["a/b/"]));
    check("/*", "/", Some(&[""]));
    check("/:a/:b", "/1/2/", Some(&["1", "2"]));
    check("/:a/:b", "/1", None);
    check("/a:b", "/a:b", Some(&[]));
    check("/p/*/q", "/p/x/y/q", Some(&["x/y"]));
    check("/p/*/q", "/p/q", Some(&[""]));
    check("/p/*/q", "/p/x", None);
    assert!(Pattern::path("/a*b", Dialect::Segments).is_err());
}

#[test]
fn header_segments() {
    let check = |pattern, path, expected| check(Dialect::HeaderSegments, pattern, path, expected);
    check("/*", "/", Some(&[""]));
    check("/*", "/a/b/", Some(&["a/b/"]));
    check("/Templates/*", "/templates/x", Some(&["x"]));
    check("/a/*/b", "/a/b", Some(&[""]));
    check("/a/*/b", "/a/x/y/b/", Some(&["x/y"]));
    check("/a/*/b", "/axb", None);
    check("/*.js", "/x/y.js", Some(&["x/y"]));
    check("/*.js", "/xyjs", None);
    check("/:x/a", "/q/A", Some(&["q"]));
    check("//a//", "/a", Some(&[]));
}

#[test]
fn hosts() {
    let check = |pattern: &str, host: &str, expected: bool| {
        let found = Pattern::host(pattern).unwrap().captures(host.as_bytes());
        assert_eq!(found.is_some(), expected, "{pattern} {host}");
    };
    check("example.org", "EXAMPLE.org", true);
    check("example.org", "a.example.org", false);
    check("*.example.org", "a.b.example.org", true);
    check("*.example.org", "example.org", false);
    check(":sub.example.org", "a.example.org", true);
    check(":sub.example.org", "a.b.example.org", false);
    check("[::1]", "[::1]", true);
    for wrong in ["", "https://a", "a/b", "a b", "*", "a.*", "a:80"] {
        assert!(Pattern::host(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn first_segments() {
    let check = |dialect, pattern: &str, expected: &str| {
        let pattern = Pattern::path(pattern, dialect).unwrap();
        assert_eq!(pattern.first_segments(), expected.as_bytes());
    };
    check(Dialect::Anywhere, "/blog/:slug", "/blog");
    check(Dialect::Anywhere, "/blog-:slug", "");
    check(Dialect::Anywhere, "/blog/*", "/blog");
    check(Dialect::Anywhere, "/*", "");
    check(Dialect::Segments, "/a/b/*", "/a/b");
    check(Dialect::HeaderSegments, "/a/*/c", "/a");
    check(Dialect::HeaderSegments, "/a*", "");
}

#[test]
fn a_hostile_pattern_costs_no_more_than_its_length_times_the_path() {
    let pattern = Pattern::path(&"/:a-:b".repeat(16), Dialect::Anywhere).unwrap();
    // Backtracking would try this for longer than the universe lasts.
    assert_eq!(
        pattern.captures("/-------------".repeat(40).as_bytes()),
        None
    );
}

proptest! {
    /// Neither way of matching panics, and they agree.
    #[test]
    fn walking_and_searching_agree(pattern in "/[a:*/.-]{0,12}", path in "/[a:/.-]{0,20}", which in 0..3usize) {
        let dialect = [Dialect::Anywhere, Dialect::Segments, Dialect::HeaderSegments][which];
        if let Ok(pattern) = Pattern::path(&pattern, dialect) {
            let found = pattern.captures(path.as_bytes());
            let searched = Pattern { is_simple: false, ..pattern };
            prop_assert_eq!(found, searched.captures(path.as_bytes()));
        }
    }

    /// What is found in the index is what matches: a path begins with the first segments of its pattern.
    #[test]
    fn paths_begin_with_the_first_segments(pattern in "/[ab:*/]{0,8}", path in "/[ab/]{0,8}", which in 0..3usize) {
        let dialect = [Dialect::Anywhere, Dialect::Segments, Dialect::HeaderSegments][which];
        if let Ok(pattern) = Pattern::path(&pattern, dialect)
            && pattern.captures(path.as_bytes()).is_some()
        {
            let first = pattern.first_segments();
            prop_assert!(path.as_bytes().starts_with(first));
            prop_assert!(matches!(path.as_bytes().get(first.len()), None | Some(b'/')) );
        }
    }
}
