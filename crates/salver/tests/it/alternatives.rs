//! `--negotiate`: files of other types beside their originals, over HTTP/1.1 and HTTP/2.

use crate::common::curl::{VERSIONS, curl};
use crate::common::{Running, check_one_line, site, stop};

#[test]
fn who_names_a_type_gets_it() {
    let root = site(&[
        ("photo.jpg", "jpeg"),
        ("photo.avif", "avif"),
        ("photo.webp", "webp"),
        ("page.html", "<p>page"),
        ("page.md", "# page"),
        ("plain.jpg", "plain"),
    ]);
    let server = Running::start(root.path(), &["--negotiate", "avif,webp,md"]);
    for version in VERSIONS {
        let check = |target: &str, accept: &str, content: &str, media_type: &str, vary: &str| {
            let url = format!("http://{}{target}", server.addr);
            let accept = format!("Accept: {accept}");
            // The second is from the cache.
            for _ in 0..2 {
                let answer = curl(&[version, "-H", &accept, &url]);
                assert_eq!(
                    (answer.status, &*answer.content),
                    (200, content),
                    "{version} {accept}"
                );
                assert_eq!(answer.field("content-type"), media_type);
                assert_eq!(answer.field("vary"), vary);
                let tag = format!("If-None-Match: {}", answer.field("etag"));
                let again = curl(&[version, "-H", &accept, "-H", &tag, &url]);
                assert_eq!((again.status, &*again.field("vary")), (304, vary));
            }
        };
        let browser = "image/avif,image/webp,image/apng,image/svg+xml,image/*,*/*;q=0.8";
        check("/photo.jpg", browser, "avif", "image/avif", "Accept");
        check(
            "/photo.jpg",
            "image/avif;q=0, image/webp",
            "webp",
            "image/webp",
            "Accept",
        );
        check("/photo.jpg", "*/*", "jpeg", "image/jpeg", "Accept");
        check("/plain.jpg", browser, "plain", "image/jpeg", "");
        check(
            "/page.html",
            "text/markdown, */*",
            "# page",
            "text/markdown; charset=utf-8",
            "Accept",
        );
        check(
            "/page.html",
            "text/html, */*;q=0.1",
            "<p>page",
            "text/html; charset=utf-8",
            "Accept",
        );
    }
    stop(server);
}

#[test]
fn it_is_off_unless_said_and_its_types_are_known() {
    let root = site(&[("photo.jpg", "jpeg"), ("photo.avif", "avif")]);
    let server = Running::start(root.path(), &[]);
    let (_, head, content) = server.get("/photo.jpg", "Accept: image/avif\r\n");
    assert_eq!(content, b"jpeg");
    assert!(!head.to_ascii_lowercase().contains("\nvary:"), "{head}");
    stop(server);
    check_one_line(
        &["serve", "--negotiate", "png"],
        2,
        &["\"png\" is not known", "avif,webp,md"],
    );
}
