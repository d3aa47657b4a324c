use proptest::prelude::*;

use super::*;
use crate::rule_set::RuleSet;

/// The TOML of a file, and its faults as lines.
fn check(format: ImportFormat, file: &str, toml: &[&str], faults: &[&str]) {
    let imported = import(file.as_bytes(), format).unwrap();
    let text = imported.to_toml().unwrap();
    for part in toml {
        assert!(
            text.contains(part),
            "{part} is not in\n{text}\n{:?}",
            imported.faults
        );
    }
    let said: Vec<String> = imported.faults.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), faults.len(), "{said:?}");
    for (said, expected) in said.iter().zip(faults) {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    RuleSet::compile(&imported.rules).unwrap();
}

#[test]
fn serve_json() {
    check(
        ImportFormat::Serve,
        r#"{"public": "dist", "cleanUrls": false, "trailingSlash": true, "directoryListing": false,
            "redirects": [{"source": "/old/:x", "destination": "/new/:x", "type": 302}],
            "rewrites": [{"source": "app/**", "destination": "/app.html"}],
            "headers": [{"source": "**/*.@(jpg|png)", "headers": [{"key": "Cache-Control", "value": "max-age=1"}, {"key": "X", "value": null}]}]}"#,
        &[
            "root = \"dist\"\nclean-urls = \"off\"\ntrailing-slash = \"always\"\nlisting.enabled = false\n",
            "from = \"/old/:x\"\nredirect = \"/new/:x\"\nstatus = 302\nkeep-query = false\n",
            "from = \"/app/*\"\nrewrite = \"/app.html\"\n",
            "path = \"/**/*.{jpg,png}\"\nremove = [\"X\"]\n",
            "Cache-Control = \"max-age=1\"",
        ],
        &[],
    );
    check(
        ImportFormat::Serve,
        r#"{"cleanUrls": ["/a"], "symlinks": true, "foo": 1, "redirects": [{"source": "/a"}, {"source": "/:a(\\d)", "destination": "/b"}, {"source": "/x", "destination": "//evil.org"}]}"#,
        &["clean-urls = \"auto\"", "listing.enabled = true"],
        &[
            "cleanUrls: it is not true or false",
            "redirects[0]: it lacks a part",
            "redirects[1]: the source \"/:a(\\d)\" is more",
            "redirects[2]: browsers take \"//evil.org\" for another host",
            "symlinks: it is not taken",
            "foo: there is no such thing",
        ],
    );
}

#[test]
fn vercel_json() {
    check(
        ImportFormat::Vercel,
        r#"{"cleanUrls": true, "trailingSlash": false, "outputDirectory": "out",
            "redirects": [{"source": "/blog/:path*", "destination": "/news/:path*", "permanent": true}],
            "headers": [{"source": "/(.*)", "headers": [{"key": "X-A", "value": "1"}], "has": [{"type": "host", "value": "a.org"}]}],
            "rewrites": [{"source": "/(.*)", "destination": "/index.html"}]}"#,
        &[
            "root = \"out\"\nclean-urls = \"auto\"\ntrailing-slash = \"never\"",
            "from = \"/blog/*\"\nredirect = \"/news/:splat\"\nstatus = 308\n",
            "from = \"/*\"\nhost = [\"a.org\"]",
            "rewrite = \"/index.html\"",
        ],
        &[],
    );
    check(
        ImportFormat::Vercel,
        r#"{"redirects": [{"source": "/a", "destination": "/b", "has": [{"type": "cookie", "key": "x"}]}],
            "rewrites": [{"source": "/api/(.*)", "destination": "https://a.org/$1"}], "routes": [], "crons": []}"#,
        &[],
        &[
            "redirects[0].has[0]: a condition on \"cookie\"",
            "rewrites[0]: \"https://a.org/:splat\" would be fetched",
            "routes: it is not taken",
            "crons: it is not taken",
        ],
    );
}

#[test]
fn firebase_json() {
    check(
        ImportFormat::Firebase,
        r#"{"hosting": {"public": "dist", "ignore": ["firebase.json"], "cleanUrls": true,
            "headers": [{"source": "**/*.@(js|css)", "headers": [{"key": "Cache-Control", "value": "max-age=1"}]}],
            "redirects": [{"source": "/foo/:id", "destination": "/bar/:id", "type": 301}],
            "rewrites": [{"source": "**", "destination": "/index.html"}, {"source": "/fn", "function": "x"}]}, "functions": {}}"#,
        &[
            "root = \"dist\"\nclean-urls = \"auto\"",
            "path = \"/**/*.{js,css}\"",
            "from = \"/foo/:id\"\nredirect = \"/bar/:id\"\nstatus = 301",
            "path = \"/**\"\nrewrite = \"/index.html\"",
            "404 = \"/404.html\"",
        ],
        &[
            "hosting.rewrites[1]: it has no destination",
            "hosting.rewrites[1].function: there is no such thing",
            "hosting.ignore: it is not taken",
            "functions: it is not taken",
        ],
    );
    check(
        ImportFormat::Firebase,
        r#"{"hosting": [{"public": "a"}, {"public": "b"}]}"#,
        &["root = \"a\""],
        &["hosting[1]: it is not taken"],
    );
    check(ImportFormat::Firebase, "{}", &[], &["it has no hosting"]);
}

#[test]
fn static_web_app() {
    check(
        ImportFormat::StaticWebApp,
        r#"{"trailingSlash": "never", "globalHeaders": {"X-A": "1"}, "mimeTypes": {".foo": "text/foo"},
            "routes": [
                {"route": "/old/*", "redirect": "/new", "statusCode": 301},
                {"route": "/img/*.{png,jpg}", "headers": {"Cache-Control": "max-age=1"}},
                {"route": "/gone", "statusCode": 410},
                {"route": "/shut", "statusCode": 403, "allowedRoles": ["anonymous"]},
                {"route": "/admin/*", "allowedRoles": ["admin"]},
                {"route": "/p", "rewrite": "/p.html", "methods": ["GET"], "allowedRoles": ["anonymous"]}],
            "responseOverrides": {"404": {"rewrite": "/404.html"}, "401": {}},
            "navigationFallback": {"rewrite": "/index.html", "exclude": ["/css/*"]}}"#,
        &[
            "trailing-slash = \"never\"",
            "path = \"*.foo\"",
            "from = \"/old/*\"\nredirect = \"/new\"\nstatus = 301",
            "path = \"/img/**/*.{png,jpg}\"",
            "from = \"/gone\"\ndeny = 410",
            "from = \"/admin/*\"\ndeny = 403",
            "from = \"/p\"\nmethod = [\"GET\"]\nrewrite = \"/p.html\"\nif-missing = false",
            "from = \"/css/*\"\nrewrite = \"/404.html\"\nstatus = 404",
            "from = \"/*\"\nrewrite = \"/index.html\"",
            "404 = \"/404.html\"",
        ],
        &[
            "routes[4].allowedRoles: roles are not known here",
            "responseOverrides.401: it is not taken",
        ],
    );
}

#[test]
fn files_that_are_none() {
    let check = |file: &[u8]| assert!(import(file, ImportFormat::Serve).is_err());
    check(b"");
    check(b"[]");
    check(b"{");
    check(&vec![b' '; LARGEST_FILE + 1]);
    check("[".repeat(100_000).as_bytes());
    assert_eq!(
        ImportFormat::of(Path::new("a/vercel.json")),
        Some(ImportFormat::Vercel)
    );
    assert_eq!(ImportFormat::of(Path::new("a.json")), None);
}

#[test]
fn names_in_messages_are_escaped() {
    let imported = import(b"{\"a\\n\\u202eb\": 1}", ImportFormat::Serve).unwrap();
    assert!(
        imported.faults[0]
            .to_string()
            .starts_with("line 1, \"a\\u{a}\\u{202e}b\": "),
        "{:?}",
        imported.faults
    );
}

proptest! {
    #[test]
    fn whatever_stands_in_a_file(source in "[/:*(.)a@|!{}$1]{0,16}", target in "[/:*a$1?#]{0,12}", which in 0..4usize) {
        let formats = [ImportFormat::Serve, ImportFormat::Vercel, ImportFormat::Firebase, ImportFormat::StaticWebApp];
        let rows = serde_json::json!([{"source": source, "destination": target, "route": source, "redirect": target,
            "headers": [{"key": target, "value": source}]}]);
        let part = serde_json::json!({"redirects": rows, "rewrites": rows, "headers": rows, "routes": rows,
            "globalHeaders": {&source: target}, "mimeTypes": {&source: target},
            "navigationFallback": {"rewrite": target, "exclude": [source]}});
        let mut file = part.clone();
        file["hosting"] = part;
        let imported = import(file.to_string().as_bytes(), formats[which]).unwrap();
        prop_assert!(RuleSet::compile(&imported.rules).is_ok());
        prop_assert!(imported.to_toml().is_ok());
    }
}
