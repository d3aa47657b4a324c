//! Events of buckets: who may send them, and what is looked at then.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use super::watched::Watched;
use crate::common::{site, stop};

const TOKEN: &str = "a-token-of-twenty-four-b";

/// Sends an event that is so long; gives the whole answer.
fn post_of(admin: SocketAddr, fields: &str, length: usize, content: &str) -> String {
    let mut stream = TcpStream::connect(admin).unwrap();
    let head = format!(
        "POST /bucket-events HTTP/1.1\r\nHost: {admin}\r\nConnection: close\r\nContent-Length: {length}\r\n{fields}\r\n"
    );
    stream.write_all(head.as_bytes()).unwrap();
    // Who is refused may be so before.
    let _ = stream.write_all(content.as_bytes());
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn post(admin: SocketAddr, fields: &str, content: &str) -> String {
    post_of(admin, fields, content.len(), content)
}

/// The event of S3 for an object.
fn event(bucket: &str, key: &str) -> String {
    let s3 = format!(r#"{{"bucket":{{"name":"{bucket}"}},"object":{{"key":"{key}"}}}}"#);
    format!(r#"{{"Records":[{{"eventName":"ObjectCreated:Put","s3":{s3}}}]}}"#)
}

#[test]
fn who_has_the_token_may_send_events_and_others_are_counted() {
    let root = site(&[("index.html", "page")]);
    let mut watched = Watched::start_with(root.path(), &["--metrics", "0"], |command| {
        command.env("SALVER_ADMIN_TOKEN", TOKEN);
    });
    let admin = watched.admin;
    let bearer = format!("Authorization: Bearer {TOKEN}\r\n");
    // As `https://events:TOKEN@…` is sent.
    let basic = "Authorization: Basic ZXZlbnRzOmEtdG9rZW4tb2YtdHdlbnR5LWZvdXItYg==\r\n";
    let check = |fields: &str, content: &str, status: u16, part: &str| {
        let answer = post(admin, fields, content);
        let expected = format!("HTTP/1.1 {status} ");
        assert!(answer.starts_with(&expected), "{content}: {answer}");
        assert!(answer.contains(part), "{content}: {answer}");
    };
    let current = event("bucket", "site/current");
    let foreign = "Origin: http://evil.example\r\n";
    check("", &current, 401, "www-authenticate: Basic realm=");
    check(&bearer.replace("-b", "-c"), &current, 401, "Basic realm=");
    check(&format!("{bearer}{foreign}"), &current, 403, "another site");
    check(&bearer, &current, 204, "");
    check(basic, &current, 204, "");
    check(basic, "", 204, "");
    check(
        &bearer,
        "{",
        400,
        "\r\n\r\nBad Request: the content is no JSON",
    );
    check(
        &bearer,
        r#"{"Records":[7]}"#,
        400,
        "Records[0].s3.bucket.name",
    );
    let long = post_of(admin, &bearer, 256 * 1024 + 1, "");
    assert!(long.starts_with("HTTP/1.1 413 "), "{long}");
    let offer =
        r#"{"Type":"SubscriptionConfirmation","SubscribeURL":"https://sns.example/?Token=1\n2"}"#;
    check(&bearer, offer, 204, "");
    let line = watched.server.wait_for_line("Amazon SNS");
    assert!(line.ends_with(r"https://sns.example/?Token=1\n2"), "{line}");
    let (_, status) = watched.ask("GET", "/status", &bearer);
    let counted = r#""bucket_events":{"objects":2,"ignored":2,"refused":2}"#;
    assert!(status.contains(counted), "{status}");
    let (_, metrics) = watched.ask("GET", "/metrics", &bearer);
    assert!(metrics.contains("\nsalver_bucket_event_objects_ignored_total 2\n"));
    stop(watched.server);
}

#[test]
fn without_a_token_they_come_from_this_machine() {
    let root = site(&[("index.html", "page")]);
    let watched = Watched::start(root.path(), &[]);
    let answer = post(watched.admin, "", &event("bucket", "a"));
    assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    let foreign = "Sec-Fetch-Site: cross-site\r\n";
    let answer = post(watched.admin, foreign, &event("bucket", "a"));
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert_eq!(watched.status()["bucket_events"]["ignored"], 1);
    stop(watched.server);
}

#[cfg(feature = "object-store")]
mod of_buckets {
    use std::fs;
    use std::time::Instant;

    use super::{event, post};
    use crate::admin::folder_bucket::FolderBucket;
    use crate::common::{NO_COMPRESS, PATIENCE, Running, addr_in, run, salver, stop};

    /// A server of a bucket that looks at it by itself once an hour, and its admin listener.
    fn serve(bucket: &FolderBucket, words: &[&str]) -> (Running, std::net::SocketAddr) {
        let mut command = salver();
        command.args([
            "serve",
            "--port",
            "0",
            "--metrics",
            "0",
            "--revalidate",
            "1h",
        ]);
        command.args(words).env(NO_COMPRESS, "true");
        bucket.name_to(&mut command);
        let mut server = Running::spawn(command);
        server.addr = addr_in(&server.wait_for_line("://"));
        let admin = addr_in(&server.wait_for_line("admin "));
        (server, admin)
    }

    fn told(admin: std::net::SocketAddr, bucket: &str, key: &str) {
        let answer = post(admin, "", &event(bucket, key));
        assert!(answer.starts_with("HTTP/1.1 204 "), "{answer}");
    }

    fn content(server: &Running, path: &str) -> String {
        let (status, _, content) = server.get(path, "");
        match status {
            200 => String::from_utf8(content).unwrap(),
            status => status.to_string(),
        }
    }

    /// Waits until the page is this one.
    fn until(server: &Running, page: &str) {
        let since = Instant::now();
        while content(server, "/") != page {
            assert!(since.elapsed() < PATIENCE, "in vain");
            std::thread::yield_now();
        }
    }

    /// Waits until what is asked for is this: what is told right after something else is looked at with what follows.
    fn until_shown(shown: impl Fn() -> String, expected: &str) {
        let since = Instant::now();
        while shown() != expected {
            assert!(since.elapsed() < PATIENCE, "{} for {expected}", shown());
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_release_is_served_once_its_event_has_come() {
        let bucket = FolderBucket::start();
        let (dist, store) = (bucket.folder("dist"), bucket.folder("bucket/site"));
        let deploy = |page: &str| {
            fs::write(dist.join("index.html"), page).unwrap();
            let words = [
                "deploy",
                dist.to_str().unwrap(),
                "--to",
                store.to_str().unwrap(),
            ];
            let (code, _, said) = run(&words);
            assert_eq!(code, 0, "{said}");
        };
        deploy("old");
        let (server, admin) = serve(&bucket, &["--store", "s3://bucket/site"]);
        assert_eq!(content(&server, "/"), "old");
        deploy("new");
        // What is another bucket's or a blob has nobody look.
        bucket.asked();
        told(admin, "other", "site/current");
        told(admin, "bucket", "site/blobs/ab/cdef");
        told(admin, "bucket", "current");
        assert_eq!(content(&server, "/"), "old");
        assert_eq!(bucket.asked(), [""; 0]);
        told(admin, "bucket", "site/current");
        until(&server, "new");
        deploy("newer");
        // Nobody says what has changed.
        assert!(post(admin, "", "").starts_with("HTTP/1.1 204 "));
        until(&server, "newer");
        let said = stop(server);
        assert!(!said.contains("WARN"), "{said}");
    }

    #[test]
    fn a_file_is_asked_for_anew_once_its_event_has_come() {
        let bucket = FolderBucket::start();
        let root = bucket.folder("bucket/a b");
        let put = |path: &str, text: &str| fs::write(root.join(path), text).unwrap();
        fs::create_dir(root.join("docs")).unwrap();
        put("docs/index.html", "old");
        put("app.js", "old");
        put("gone.js", "old");
        let url = "s3://bucket/a%20b";
        let flags = [
            url,
            "--mount",
            "/more=s3://bucket/a%20b",
            "--precompressed",
            "none",
        ];
        let (server, admin) = serve(&bucket, &flags);
        let all = ["/docs/", "/app.js", "/more/app.js", "/gone.js", "/new.js"];
        let shown = || all.map(|path| content(&server, path)).join(" ");
        assert_eq!(shown(), "old old old old 404");
        put("docs/index.html", "new");
        put("app.js", "new");
        put("new.js", "new");
        fs::remove_file(root.join("gone.js")).unwrap();
        told(admin, "bucket", "a+c/app.js");
        assert_eq!(shown(), "old old old old 404");
        told(admin, "bucket", "a+b/app.js");
        until_shown(shown, "old new new old 404");
        told(admin, "bucket", "a%20b/docs/index.html");
        told(admin, "bucket", "a+b/gone.js");
        told(admin, "bucket", "a+b/new.js");
        until_shown(shown, "new new new 404 new");
        // Of rules that have changed no other file is asked for.
        put("app.js", "newer");
        put("_headers", "/*\n  X-Of: all\n");
        told(admin, "bucket", "a+b/_headers");
        let has_rules = || {
            let (_, head, _) = server.get("/docs/", "");
            head.to_lowercase().contains("x-of: all").to_string()
        };
        until_shown(has_rules, "true");
        assert_eq!(shown(), "new new new 404 new");
        // Nobody says what has changed.
        assert!(post(admin, "", "").starts_with("HTTP/1.1 204 "));
        until_shown(shown, "new newer newer 404 new");
        stop(server);
    }
}
