//! The targets of redirects that the engine makes itself, relative to the path that was asked for.

use http::HeaderValue;
use salver_assets::RequestPath;

/// The target of a redirect to another path of the same page - with its slash or without `.html`, say - as a reference
/// that is relative to the path of the request (RFC 3986 section 4.2): a router may have taken a prefix off that path,
/// which nobody here knows. The paths are compared decoded, since clients escape as they like. `None` for all else, and
/// if the path has empty or dot segments: what is relative to it would lead to another of its odd forms.
pub(super) fn relative(location: &HeaderValue, asked: &[u8]) -> Option<HeaderValue> {
    let location = location.to_str().ok()?;
    let (target, query) = match location.split_once('?') {
        Some((target, query)) => (target, Some(query)),
        None => (location, None),
    };
    let plain = decoded(asked).filter(|path| slashes(path.as_bytes()) == slashes(asked))?;
    if !is_same_page(plain.as_bytes(), decoded(target.as_bytes())?.as_bytes()) {
        return None;
    }
    let (place, slash) = match target.strip_suffix('/') {
        Some(place) => (place, "/"),
        None => (target, ""),
    };
    let (parent, name) = match place.rfind('/') {
        Some(end) => place.split_at(end + 1),
        None => ("/", ""),
    };
    // The name of the root is empty, and so is the reference to it without its slash.
    let slash = if name.is_empty() { "" } else { slash };
    let query = query.map_or_else(String::new, |query| format!("?{query}"));
    let parent = decoded(parent.as_bytes())?;
    let directory = asked.get(..=last_slash(asked)?)?;
    let up = if decoded(directory)? == parent {
        "./"
    } else if decoded(parent_of(directory)?)? == parent {
        "../"
    } else {
        return None;
    };
    HeaderValue::try_from(format!("{up}{name}{slash}{query}")).ok()
}

fn decoded(path: &[u8]) -> Option<RequestPath<'_>> {
    RequestPath::parse(path).ok()
}

/// True if `target` is the path `asked` for with a slash at its end or without, without `.html`, or that of the directory
/// it is in. Targets that rules name are left as they are, but for one of these.
fn is_same_page(asked: &[u8], target: &[u8]) -> bool {
    let place = target.strip_suffix(b"/").unwrap_or(target);
    match asked.strip_prefix(place) {
        Some(b"" | b".html") => true,
        Some([b'/', name @ ..]) => !name.contains(&b'/'),
        _ => false,
    }
}

fn slashes(path: &[u8]) -> usize {
    path.iter().filter(|&&byte| byte == b'/').count()
}

fn last_slash(path: &[u8]) -> Option<usize> {
    path.iter().rposition(|&byte| byte == b'/')
}

/// The directory that `../` leads to from this one.
fn parent_of(directory: &[u8]) -> Option<&[u8]> {
    let inner = directory.strip_suffix(b"/")?;
    inner.get(..=last_slash(inner)?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        let check = |asked: &str, location: &str, expected: Option<&str>| {
            let location = HeaderValue::try_from(location).unwrap();
            let relative = relative(&location, asked.as_bytes());
            let relative = relative.as_ref().map(|value| value.to_str().unwrap());
            assert_eq!(relative, expected, "{asked} to {location:?}");
        };
        // A directory's slash, however the path was escaped.
        check("/docs", "/docs/", Some("./docs/"));
        check("/a/docs", "/a/docs/?b=c?d", Some("./docs/?b=c?d"));
        let photos = "/photos%20(2024)/";
        for asked in [
            "/photos%20(2024)",
            "/photos%20%282024%29",
            "/%70hotos%20(2024%29",
        ] {
            check(asked, photos, Some("./photos%20(2024)/"));
        }
        check("/caf%c3%a9", "/caf%C3%A9/", Some("./caf%C3%A9/"));
        check("/a%27b/c%40d", "/a'b/c@d/", Some("./c@d/"));
        check("/a:b", "/a:b/", Some("./a:b/"));
        // Clean URLs.
        check("/about.html", "/about", Some("./about"));
        check("/a/%61bout%2ehtml", "/a/about", Some("./about"));
        check("/about.html", "/about/", Some("./about/"));
        check("/about/", "/about", Some("../about"));
        check("/about/.", "/about", Some("../about"));
        check("/a/about/", "/a/about?x", Some("../about?x"));
        check("/blog/index.html", "/blog/", Some("../blog/"));
        check("/blog/index.html", "/blog", Some("../blog"));
        check("/index.html", "/", Some("./"));
        check("/index.html", "/?a", Some("./?a"));
        // Odd paths.
        for asked in ["//docs", "/x/../docs", "/./docs", "/%2e/docs"] {
            check(asked, "/docs/", None);
        }
        check("//a//docs", "/a/docs/", None);
        for asked in ["/about//", "/about/./", "/about/x/../", "/a/../about/"] {
            check(asked, "/about", None);
        }
        // What rules say.
        check("/old", "/new", None);
        check("/old", "https://example.org/old/", None);
        check("/old", "//example.org/old/", None);
        check("/a/b/c", "/a", None);
        check("", "/docs/", None);
    }
}
