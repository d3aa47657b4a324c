//! Parts of representations: one range, several, none that can be sent.

use crate::common::Answer;
use crate::common::fixture::{everywhere, text};

#[test]
fn ranges() {
    everywhere(|site| {
        let content = text();
        let tag = site.get("/plain.txt", &[]).field("ETag").to_owned();
        let weak = format!("W/{tag}");
        let check = |fields: &[(&str, &str)], status: u16, content_range: &str, body: &[u8]| {
            let answer = site.get("/plain.txt", fields);
            assert_eq!(answer.status, status, "{fields:?}");
            assert_eq!(answer.field("Content-Range"), content_range, "{fields:?}");
            if status != 416 {
                assert_eq!(answer.body, body, "{fields:?}");
                assert_eq!(answer.field("ETag"), tag);
            }
        };
        let single = |value: &str, range: std::ops::Range<usize>| {
            let content_range = format!("bytes {}-{}/10000", range.start, range.end - 1);
            check(&[("Range", value)], 206, &content_range, &content[range]);
        };
        single("bytes=0-0", 0..1);
        single("bytes=5-14", 5..15);
        single("bytes=9999-", 9999..10_000);
        single("bytes=9000-99999999999999999999", 9000..10_000);
        single("bytes=-1", 9999..10_000);
        single("bytes=-99999", 0..10_000);
        single("bytes=0-4,5-9", 0..10);
        for ignored in [
            "bytes=5-4",
            "bytes=",
            "bytes=a-b",
            "lines=1-2",
            "bytes=1-2;3",
            "0-1",
        ] {
            check(&[("Range", ignored)], 200, "", &content);
        }
        let thousand = (0..1000).map(|n| format!("{}-{}", n * 10, n * 10 + 1));
        let thousand = format!("bytes={}", thousand.collect::<Vec<_>>().join(","));
        let answer = site.get("/plain.txt", &[("Range", &thousand)]);
        assert!(matches!(answer.status, 200 | 206) && answer.body.len() < 20_000);
        for unsatisfiable in ["bytes=10000-", "bytes=99999999999999999999-", "bytes=-0"] {
            check(&[("Range", unsatisfiable)], 416, "bytes */10000", b"");
        }
        let part = [("Range", "bytes=0-1")];
        check(
            &[part[0], ("If-Range", &tag)],
            206,
            "bytes 0-1/10000",
            &content[..2],
        );
        check(&[part[0], ("If-Range", &weak)], 200, "", &content);
        check(&[part[0], ("If-Range", "\"x\"")], 200, "", &content);
        check(&[("If-Range", &tag)], 200, "", &content);
        // RFC 9110 section 14.2: only GET has ranges.
        let head = site.head("/plain.txt", &part);
        assert_eq!((head.status, head.field("Content-Length")), (200, "10000"));
        assert_eq!(
            site.head("/plain.txt", &[("Range", "bytes=10000-")]).status,
            200
        );
    });
}

/// The parts of a multipart/byteranges body: Content-Type, Content-Range and content of each.
fn parts(answer: &Answer) -> Vec<(String, String, Vec<u8>)> {
    let media_type = answer.field("Content-Type");
    let boundary = media_type
        .strip_prefix("multipart/byteranges; boundary=")
        .unwrap();
    assert!(!boundary.is_empty() && boundary.len() <= 70);
    let mut rest = &answer.body[..];
    let mut take = |text: &str| {
        let after = rest.strip_prefix(text.as_bytes());
        rest =
            after.unwrap_or_else(|| panic!("no {text:?} in {:?}", String::from_utf8_lossy(rest)));
    };
    take(&format!("--{boundary}"));
    let mut found = Vec::new();
    loop {
        if let Some(end) = rest.strip_prefix(b"--") {
            assert_eq!(end, b"\r\n", "nothing follows");
            return found;
        }
        let end = rest
            .windows(4)
            .position(|four| four == b"\r\n\r\n")
            .unwrap();
        let fields = String::from_utf8(rest[..end].to_vec()).unwrap();
        let field = |name: &str| {
            let line = fields.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap_or_default().trim_start_matches(": ").to_owned()
        };
        let content_range = field("Content-Range");
        let (range, _) = content_range
            .strip_prefix("bytes ")
            .unwrap()
            .split_once('/')
            .unwrap();
        let (first, last) = range.split_once('-').unwrap();
        let length = last.parse::<usize>().unwrap() - first.parse::<usize>().unwrap() + 1;
        let content = rest[end + 4..end + 4 + length].to_vec();
        rest = &rest[end + 4 + length..];
        let delimiter = format!("\r\n--{boundary}");
        rest = rest
            .strip_prefix(delimiter.as_bytes())
            .expect("a delimiter");
        found.push((field("Content-Type"), content_range, content));
    }
}

#[test]
fn several_ranges() {
    everywhere(|site| {
        let content = text();
        let plain = site.get("/plain.txt", &[]);
        let answer = site.get(
            "/plain.txt",
            &[("Range", "bytes=0-9, 5000-5999 , -1,20000-")],
        );
        assert_eq!(answer.status, 206);
        for name in ["ETag", "Last-Modified", "Cache-Control"] {
            assert_eq!(answer.field(name), plain.field(name));
        }
        let part = |range: std::ops::Range<usize>| {
            let content_range = format!("bytes {}-{}/10000", range.start, range.end - 1);
            let media_type = "text/plain; charset=utf-8".to_owned();
            (media_type, content_range, content[range].to_vec())
        };
        assert_eq!(
            parts(&answer),
            [part(0..10), part(5000..6000), part(9999..10_000)]
        );
        // In the order that was asked for.
        let answer = site.get("/plain.txt", &[("Range", "bytes=-10,0-9")]);
        assert_eq!(parts(&answer), [part(9990..10_000), part(0..10)]);
        let coded = site.get("/app.js", &[("Accept-Encoding", "gzip")]);
        let fields = [("Accept-Encoding", "gzip"), ("Range", "bytes=0-0,-1")];
        let answer = site.get("/app.js", &fields);
        if coded.body.len() > 82 {
            assert_eq!(answer.field("Content-Encoding"), "gzip");
            let parts = parts(&answer);
            assert_eq!(parts.len(), 2);
            assert_eq!(parts[0].2, coded.body[..1]);
            assert_eq!(parts[1].2, coded.body[coded.body.len() - 1..]);
        } else {
            assert_eq!(answer.body, coded.body);
        }
        let head = site.head("/plain.txt", &[("Range", "bytes=0-0,-1")]);
        assert_eq!((head.status, &head.fields), (200, &plain.fields));
    });
}
