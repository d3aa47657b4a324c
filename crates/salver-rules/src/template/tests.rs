use proptest::prelude::*;

use super::*;

const NAMES: [&str; 2] = ["splat", "id"];

fn location(template: &str, splat: &[u8], query: Option<&[u8]>) -> String {
    let template = LocationTemplate::parse(template, &NAMES).unwrap();
    match template.fill(&[splat, b"7"], true) {
        Ok(location) => location.for_query(query).unwrap_or("too long".to_owned()),
        Err(unfit) => format!("{unfit:?}"),
    }
}

#[test]
fn locations() {
    let check = |template: &str, splat: &str, expected: &str| {
        assert_eq!(
            location(template, splat.as_bytes(), None),
            expected,
            "{template} {splat}"
        );
    };
    check("/b/:splat", "x/y", "/b/x/y");
    check("/b/:splat.html", "x", "/b/x.html");
    check("/b/:splatter", "x", "/b/:splatter");
    check("/wiki/Help:Contents", "x", "/wiki/Help:Contents");
    check(
        "/b?id=:id&x=:splat#:splat",
        "a&b#c",
        "/b?id=7&x=a%26b%23c#a&b%23c",
    );
    check(
        "https://example.org/:splat",
        "x y",
        "https://example.org/x%20y",
    );
    check(
        "https://example.org:8080/:splat",
        "x",
        "https://example.org:8080/x",
    );
    check(
        "https://:splat.example.org/",
        "a-b",
        "https://a-b.example.org/",
    );
    check("https://:splat.example.org/", "evil.org/", "Host");
    check("https://:splat.example.org/", "", "Host");
    check("/caf\u{e9} x", "", "/caf%C3%A9%20x");
    // Neither a line nor a host comes out of a request.
    check("/:splat", "/evil.org", "/evil.org");
    check("/:splat", "\\evil.org", "/%5Cevil.org");
    check("/:splat", "\r\nSet-Cookie: a", "/%0D%0ASet-Cookie:%20a");
    check("/:splat", "?q#f", "/%3Fq%23f");
    check("/a//b/:splat", "/c", "/a/b/c");
}

#[test]
fn queries_are_passed_on() {
    let check = |template: &str, query: &[u8], expected: &str| {
        assert_eq!(
            location(template, b"x", Some(query)),
            expected,
            "{template}"
        );
    };
    check("/b", b"q=1&r=%20", "/b?q=1&r=%20");
    check("/b#f", b"q", "/b?q#f");
    check("/b?own", b"q", "/b?own");
    check("/b", b"", "/b");
    check("/b", b"a\r\nb \"<\xff#", "/b?a%0D%0Ab%20%22%3C%FF%23");
    check("/b", &[b'a'; 9_000], "too long");
}

#[test]
fn targets_that_are_refused() {
    let check = |template: &str, hint: &str| {
        let fault = LocationTemplate::parse(template, &NAMES).unwrap_err();
        assert!(fault.to_string().contains(hint), "{template}: {fault}");
    };
    check("//evil.org", "another host");
    check("/\\evil.org", "another host");
    check("evil", "neither a path nor a URL");
    check("javascript:alert(1)", "neither a path nor a URL");
    check("https://:splat", "choose the host");
    check("https://:splat/", "choose the host");
    check("https://:splat.org/", "choose the host");
    check("https://example.org:splat", "choose the host");
    check("https://x:splat.example.org/", "choose the host");
    check("https://a@example.org/", "not a host");
    check("https:///x", "not a host");
    check(&format!("/{}", "a".repeat(LONGEST_TEXT)), "too long");
}

#[test]
fn paths() {
    let check = |template: &str, splat: &[u8], expected: Option<&[u8]>| {
        let template = PathTemplate::parse(template, &NAMES).unwrap();
        assert_eq!(template.fill(&[splat, b"7"]).as_deref(), expected);
    };
    check("/index.html", b"x", Some(b"/index.html"));
    check("/caf%C3%A9/:splat?a#b", b"\xff", Some(b"/caf\xc3\xa9/\xff"));
    check("/a/:splat", b"/b", Some(b"/a/b"));
    check("/.:splat", b".", None);
    check("/:splat/x", b"..", None);
    check("/:splat", b"a\0", None);
    assert!(PathTemplate::parse("https://a.org/", &NAMES).is_err());
    assert!(PathTemplate::parse("index.html", &NAMES).is_err());
}

#[test]
fn values() {
    let check = |template: &str, expected: Option<&str>| {
        let template = ValueTemplate::parse(template, &NAMES).ok();
        let value = template.and_then(|template| template.fill(&[b"a\r\n\xff", b"7"]));
        assert_eq!(value.as_deref(), expected);
    };
    check("</x/:id>; rel=preload", Some("</x/7>; rel=preload"));
    check("x-:splat", Some("x-a%0D%0A%FF"));
    check(" a ", Some("a"));
    check("a\r\nb", None);
    check("a\0", None);
}

proptest! {
    /// Whatever a request brings, a Location is one line of ASCII that stays where its author sent it.
    #[test]
    fn no_request_leads_elsewhere(splat: Vec<u8>, query: Vec<u8>) {
        for template in ["/:splat", "/a/:splat?b=:splat#:splat", "https://example.org/:splat", "https://:splat.example.org/"] {
            let template = LocationTemplate::parse(template, &NAMES).unwrap();
            if let Ok(location) = template.fill(&[&splat, b"7"], true)
                && let Some(text) = location.for_query(Some(&query))
            {
                prop_assert!(text.bytes().all(|byte| byte.is_ascii_graphic()), "{}", text);
                let host = text.strip_prefix("https://").and_then(|rest| rest.split('/').next());
                match host {
                    Some(host) => prop_assert!(host.ends_with("example.org") && !host.contains('@')),
                    None => prop_assert!(text.starts_with('/') && !text.starts_with("//") && !text.contains('\\')),
                }
            }
        }
    }

    #[test]
    fn parsing_never_panics(text in "\\PC{0,40}") {
        let _ = LocationTemplate::parse(&text, &NAMES);
        let _ = LocationTemplate::parse(&format!("https://{text}"), &NAMES);
        let _ = PathTemplate::parse(&text, &NAMES);
        let _ = ValueTemplate::parse(&text, &NAMES);
    }
}
