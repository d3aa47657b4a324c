use super::*;

fn check<T: PartialEq + std::fmt::Debug>(
    parse: impl Fn(&str) -> Result<T, String>,
    right: &[(&str, T)],
    wrong: &[&str],
) {
    for (text, value) in right {
        assert_eq!(parse(text).as_ref(), Ok(value), "{text:?}");
    }
    for text in wrong {
        assert!(parse(text).is_err(), "{text:?}: {:?}", parse(text));
    }
}

#[test]
fn times_have_units_and_bounds() {
    let milliseconds = Duration::from_millis;
    let right = [
        ("0s", Duration::ZERO),
        ("0", Duration::ZERO),
        ("1s", milliseconds(1000)),
        ("250ms", milliseconds(250)),
        ("1m 30s", milliseconds(90_000)),
        ("365d", LONGEST),
    ];
    let wrong = ["", "5", "-1s", "1 parsec", "366d", "99999999999999999999s"];
    check(time, &right, &wrong);
    check(limit, &right[2..], &["0s", "0", "0ms", "5", ""]);
}

#[test]
fn sizes_have_units_and_bounds() {
    let right = [
        ("0", 0),
        ("4096", 4096),
        ("64MiB", 64 << 20),
        ("64 MiB", 64 << 20),
        ("64mib", 64 << 20),
        ("1.5GB", 1_500_000_000),
        ("1PiB", LARGEST),
    ];
    let wrong = [
        "",
        "MiB",
        "-1",
        "1 apple",
        "2PiB",
        "99999999999999999999",
        "1.2.3MB",
        "NaN",
    ];
    check(size, &right, &wrong);
}

#[test]
fn numbers_are_within_their_bounds() {
    let right = [("1", 1), ("1024", 1024), (" 7 ", 7)];
    check(
        whole(1u16, 1024),
        &right,
        &["", "0", "1025", "-1", "x", "1.5", "70000"],
    );
    let wrong = whole(0u16, 65535)("abc").unwrap_err();
    assert_eq!(wrong, "not a whole number from 0 to 65535");
}

#[test]
fn switches_are_yes_or_no() {
    let right = [("true", true), ("Yes", true), ("1", true), ("OFF", false)];
    check(switch, &right, &["", "2", "perhaps"]);
}

#[test]
fn codings_are_named_in_any_order() {
    use Coding::{Brotli, Gzip, Zstd};
    let right = [
        ("br,zstd,gzip", Codings(vec![Brotli, Zstd, Gzip])),
        ("gzip, br", Codings(vec![Gzip, Brotli])),
        ("gzip,gzip", Codings(vec![Gzip])),
        ("none", Codings(vec![])),
    ];
    let all =
        |text: &str| codings_among(text, CODINGS.map(|(name, coding, _)| (name, coding, true)));
    let wrong = ["", "brotli", "br,", "br,none", "identity", "BR"];
    check(all, &right, &wrong);
    let said = "\"deflate\" is not known: give some of br,zstd,gzip, or none";
    assert_eq!(all("deflate").unwrap_err(), said);
    assert_eq!(CODINGS.map(|(name, ..)| name), CODING_NAMES);
}

#[test]
fn what_is_not_verified_is_not_looked_for() {
    let check = |text: &str, known: &[&str], expected: &str| {
        let all = CODINGS.map(|(name, coding, _)| (name, coding, known.contains(&name)));
        assert_eq!(codings_among(text, all).unwrap_err(), expected);
        assert_eq!(codings_among("none", all), Ok(Codings(vec![])));
    };
    let left_out = "\"br\" was left out when this program was built: ";
    let advice = format!("{left_out}give some of zstd,gzip, or none");
    check("gzip,br", &["gzip", "zstd"], &advice);
    check("br", &[], &format!("{left_out}give none"));
    // The default is what can be given.
    assert!(codings(DEFAULT_CODINGS).is_ok());
}

#[test]
fn names_and_fallbacks_stay_beneath_the_root() {
    let right = [
        ("index.html", "index.html".to_owned()),
        ("d\u{e9}but", "d\u{e9}but".into()),
    ];
    check(index_name, &right, &["", ".", "..", "a/b", "/", "a\0"]);
    let file = |file: &str| Spa::File(file.to_owned());
    let right = [
        ("", Spa::Index),
        ("true", Spa::Index),
        ("0", Spa::Off),
        ("app.html", file("app.html")),
        ("./app.html", file("app.html")),
        ("a/b.html", file("a/b.html")),
    ];
    let wrong = ["/etc/passwd", "../x", "a/../b", "a//b", "a/", "./", "a\0"];
    check(spa, &right, &wrong);
    let page = |status, file: &str| ErrorPage {
        status,
        file: file.to_owned(),
    };
    let right = [
        ("404=404.html", page(404, "404.html")),
        ("599=a/b=c", page(599, "a/b=c")),
    ];
    check(
        error_page,
        &right,
        &["404", "404=", "200=x", "600=x", "x=y", "404=/x", "404=../x"],
    );
}

#[test]
fn a_year_unless_it_is_said() {
    let seconds = |seconds| Ok(Some(Duration::from_secs(seconds)));
    assert_eq!(hsts(""), seconds(31_536_000));
    assert_eq!(hsts("true"), seconds(31_536_000));
    assert_eq!(hsts("0"), seconds(0));
    assert_eq!(hsts("300"), seconds(300));
    assert_eq!(hsts("false"), Ok(None));
    for text in ["-1", "1d", "5000000000", "max-age=1", "1.5"] {
        assert!(hsts(text).unwrap_err().contains("31536000"), "{text}");
    }
}

#[test]
fn mounts_split_at_the_first_equals_sign() {
    fn check(value: impl AsRef<OsStr>, expected: Option<(&str, &OsStr)>) {
        let value = value.as_ref();
        let found = mount(value).ok();
        let found = found
            .as_ref()
            .map(|mount| (&*mount.prefix, mount.path.as_os_str()));
        assert_eq!(found, expected, "{value:?}");
    }
    let path = |path: &'static str| OsStr::new(path);
    check("/a=/b", Some(("/a", path("/b"))));
    check("/a=b=c", Some(("/a", path("b=c"))));
    check("/=.", Some(("/", path("."))));
    check("/a", None);
    check("/a=", None);
    check("a=/b", None);
    check("=/b", None);
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let raw = |bytes: &'static [u8]| OsStr::from_bytes(bytes);
        check(raw(b"/a=\xff"), Some(("/a", raw(b"\xff"))));
        check(raw(b"/\xff=/b"), None);
    }
}

#[test]
fn hosts_are_names_addresses_and_what_is_below_a_name() {
    let exact = |host: &str| HostPattern::Exact(host.to_owned());
    let right = [
        ("Example.ORG", exact("example.org")),
        ("localhost", exact("localhost")),
        ("192.0.2.1", exact("192.0.2.1")),
        ("[2001:DB8::1]", exact("[2001:db8::1]")),
        ("a_b.test", exact("a_b.test")),
        (
            "*.example.org",
            HostPattern::Below("example.org".to_owned()),
        ),
    ];
    let wrong = [
        "",
        "*",
        "*.",
        "a.*.org",
        "*example.org",
        "example.org:80",
        "example.org.",
        "a..b",
        "caf\u{e9}.fr",
        "a b",
        "a/b",
        "2001:db8::1",
        "[::1]:80",
    ];
    check(host_pattern, &right, &wrong);
    assert_eq!(right[5].1.to_string(), "*.example.org");
}

#[test]
fn variables_and_paths_of_urls_have_their_signs() {
    let right = [("API_URL", "API_URL".to_owned()), ("_x1", "_x1".to_owned())];
    check(variable_name, &right, &["", "1x", "A-B", "A B", "\u{e9}"]);
    let right = [("/env.js", "/env.js".to_owned())];
    check(url_path, &right, &["", "env.js", "/a b", "/a?b", "/a#b"]);
}

#[test]
fn urls_are_told_from_paths() {
    let check = |text: &str, expected: bool| {
        assert_eq!(is_url(OsStr::new(text)), expected, "{text}");
    };
    check("s3://bucket/prefix", true);
    check("HTTPS://example.org", true);
    check("a+b.c-1://x", true);
    check("/srv/www", false);
    check("dir/s3://bucket", false);
    check("s3:/bucket", false);
    check("://x", false);
    check("1a://x", false);
    check("C://www", false);
    check(".", false);
}
