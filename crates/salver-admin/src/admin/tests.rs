use super::*;
use crate::bucket_events::BucketChanges;
use crate::metrics::{Ended, Metrics, SiteNames, Version};
use crate::status::{Cache, Certificate, Connections, Loader, Log};
use crate::subject::{CachePage, CachedEntry, CachedFile};
use std::sync::Mutex;

/// A server that notes what was done to it.
struct Noted {
    metrics: Arc<Metrics>,
    state: State,
    done: Mutex<Vec<String>>,
    reloaded: Reloaded,
}

impl Noted {
    fn new() -> Self {
        let names = Arc::new(SiteNames::default());
        names.number("a\"b");
        Noted {
            metrics: Metrics::new(names),
            state: State::Ready,
            done: Mutex::default(),
            reloaded: Reloaded::Unsupported,
        }
    }

    fn note(&self, what: String) {
        self.done.lock().unwrap().push(what);
    }
}

impl Subject for Noted {
    fn version(&self) -> &str {
        "1.2.3"
    }
    fn state(&self) -> State {
        self.state
    }
    fn metrics(&self) -> Arc<Metrics> {
        Arc::clone(&self.metrics)
    }
    fn cache(&self) -> Cache {
        Cache::default()
    }
    fn loader(&self) -> Loader {
        Loader::default()
    }
    fn connections(&self) -> Connections {
        Connections::default()
    }
    fn certificates(&self) -> Vec<Certificate> {
        vec![Certificate {
            names: "a.test".to_owned(),
            not_after: 1_800_000_000,
            days_left: 3,
        }]
    }
    fn log(&self) -> Option<Log> {
        Some(Log::default())
    }
    fn cached(&self, query: &CacheQuery) -> Result<CachePage, String> {
        self.note(format!("{query:?}"));
        let entry = CachedEntry {
            key: b"/<b>\0x".to_vec(),
            site: "a.test".to_owned(),
            path: b"/<b>".to_vec(),
            kind: "file",
            bytes: 7,
            files: vec![CachedFile {
                coding: "br",
                bytes: 3,
                in_memory: true,
            }],
        };
        Ok(CachePage {
            entries: vec![entry],
            has_more: true,
        })
    }
    fn purge(&self, what: &Purge, site: Option<&str>) -> Result<u64, String> {
        self.note(match site {
            None => format!("{what:?}"),
            Some(site) => format!("{what:?} of {site}"),
        });
        match what {
            Purge::Path(path) if path.is_empty() => Err("no path".to_owned()),
            _ => Ok(2),
        }
    }
    fn bucket_changed(&self, changes: &BucketChanges) -> u64 {
        let BucketChanges::Objects(objects) = changes else {
            self.note("any".to_owned());
            return 0;
        };
        let keys = objects.iter().map(|object| &*object.key);
        self.note(format!("objects {}", keys.collect::<Vec<_>>().join(", ")));
        let others = objects.iter().filter(|object| object.bucket != "site");
        u64::try_from(others.count()).unwrap()
    }
    fn bucket_events_offered(&self, url: &str) {
        self.note(format!("offered {url}"));
    }
    fn pause(&self, paused: bool) {
        self.note(format!("pause {paused}"));
    }
    fn reload(&self) -> Reloaded {
        self.reloaded.clone()
    }
}

fn ask(admin: &Admin, method: &str, target: &str, fields: &[(&str, &str)]) -> (u16, String) {
    send(admin, (method, target), fields, "")
}

fn send(
    admin: &Admin,
    (method, target): (&str, &str),
    fields: &[(&str, &str)],
    content: &str,
) -> (u16, String) {
    let mut request = Request::builder().method(method).uri(target);
    for (name, value) in [("host", "localhost")].iter().chain(fields) {
        request = request.header(*name, *value);
    }
    let content = Bytes::copy_from_slice(content.as_bytes());
    let response = admin.respond(&request.body(content).unwrap());
    assert_eq!(response.headers()["cache-control"], "no-store");
    assert_eq!(response.headers()["content-security-policy"], page::POLICY);
    let body = String::from_utf8(response.body().to_vec()).unwrap();
    (response.status().as_u16(), body)
}

#[test]
fn what_is_done_and_told() {
    let subject = Arc::new(Noted::new());
    let admin = Admin::new(Arc::<Noted>::clone(&subject), None);
    let check = |method: &str, target: &str, status: u16, part: &str, done: Option<&str>| {
        let (found, body) = ask(&admin, method, target, &[]);
        assert_eq!(found, status, "{method} {target}: {body}");
        assert!(body.contains(part), "{method} {target}: {body}");
        let noted: Vec<String> = std::mem::take(&mut *subject.done.lock().unwrap());
        let noted: Vec<&str> = noted.iter().map(String::as_str).collect();
        assert_eq!(noted, Vec::from_iter(done), "{method} {target}");
    };
    check("GET", "/live", 200, "live\n", None);
    check("GET", "/ready", 200, "ready\n", None);
    check("HEAD", "/ready", 200, "", None);
    check(
        "GET",
        "/status",
        200,
        "\"version\":\"1.2.3\",\"state\":\"ready\"",
        None,
    );
    check("GET", "/", 200, "<!doctype html>", None);
    check("GET", "/page/main.js", 200, "sessionStorage", None);
    check("GET", "/nowhere", 404, "Not Found", None);
    check("GET", "/cache/purge?all", 405, "POST", None);
    check("POST", "/status", 405, "GET", None);
    check(
        "POST",
        "/cache/pause",
        200,
        "{\"paused\":true}",
        Some("pause true"),
    );
    check(
        "POST",
        "/cache/resume",
        200,
        "{\"paused\":false}",
        Some("pause false"),
    );
    check("POST", "/reload", 501, "restart it", None);
    check("POST", "/bucket-events", 204, "", Some("any"));
    check("GET", "/bucket-events", 405, "POST", None);
    let path = Purge::Path(b"/a%20b".to_vec());
    let path = format!("{path:?}");
    check(
        "POST",
        "/cache/purge?path=/a%2520b",
        200,
        "{\"purged\":2}",
        Some(&path),
    );
    let prefix = format!("{:?}", Purge::Prefix(b"/x/".to_vec()));
    check("POST", "/cache/purge?prefix=/x/", 200, "2", Some(&prefix));
    let group = format!("{:?}", Purge::Group(b"a b".to_vec()));
    check("POST", "/cache/purge?group=a%20b", 200, "2", Some(&group));
    check("POST", "/cache/purge?all", 200, "2", Some("All"));
    check(
        "POST",
        "/cache/purge?all&site=%2A",
        200,
        "2",
        Some("All of *"),
    );
    check("POST", "/cache/purge", 400, "say one of", None);
    check("POST", "/cache/purge?all&path=/", 400, "say one of", None);
    check(
        "POST",
        "/cache/purge?path=",
        400,
        "no path",
        Some("Path([])"),
    );
    let query = |after: Option<&[u8]>, prefix: &[u8], limit| {
        let query = CacheQuery {
            after: after.map(<[u8]>::to_vec),
            prefix: prefix.to_vec(),
            site: None,
            limit,
        };
        format!("{query:?}")
    };
    let all = query(None, b"", 100);
    let entry = "{\"site\":\"a.test\",\"path\":\"/%3Cb%3E\",\"kind\":\"file\",\"bytes\":7,\
                 \"files\":[{\"coding\":\"br\",\"bytes\":3,\"in_memory\":true}]}";
    let entry: serde_json::Value = serde_json::from_str(entry).unwrap();
    let (_, page) = ask(&admin, "GET", "/cache", &[]);
    subject.done.lock().unwrap().clear();
    let page: serde_json::Value = serde_json::from_str(&page).unwrap();
    assert_eq!(page["entries"][0], entry);
    assert_eq!(page["next"], "2f3c623e0078");
    check("GET", "/cache", 200, "%3Cb%3E", Some(&all));
    let second = query(Some(b"/<b>\0x"), b"/\xff", 1000);
    check(
        "GET",
        "/cache?after=2f3c623e0078&prefix=/%ff&limit=1000",
        200,
        "",
        Some(&second),
    );
    for bad in [
        "limit=0",
        "limit=1001",
        "limit=x",
        "limit=",
        "after=0",
        "after=zz",
    ] {
        check(
            "GET",
            &format!("/cache?{bad}"),
            400,
            "limit is a number",
            None,
        );
    }
}

#[test]
fn events_of_buckets_are_passed_on_and_counted() {
    let subject = Arc::new(Noted::new());
    let token = Token::new(b"0123456789abcdef").unwrap();
    let admin = Admin::new(Arc::<Noted>::clone(&subject), Some(token));
    let bearer = [("authorization", "Bearer 0123456789abcdef")];
    let basic = [("authorization", "Basic c25zOjAxMjM0NTY3ODlhYmNkZWY=")];
    let place = ("POST", "/bucket-events");
    let check = |content: &str, status: u16, part: &str, done: Option<&str>| {
        for shown in [bearer, basic] {
            let (found, body) = send(&admin, place, &shown, content);
            assert!(found == status && body.contains(part), "{found} {body}");
            assert!(body.is_empty() || body.ends_with('\n') && body.lines().count() == 1);
            let noted: Vec<String> = std::mem::take(&mut *subject.done.lock().unwrap());
            let noted: Vec<&str> = noted.iter().map(String::as_str).collect();
            assert_eq!(noted, Vec::from_iter(done), "{content}");
        }
    };
    let record = |bucket: &str, key: &str| {
        format!(r#"{{"s3":{{"bucket":{{"name":"{bucket}"}},"object":{{"key":"{key}"}}}}}}"#)
    };
    let of = |records: &[String]| format!(r#"{{"Records":[{}]}}"#, records.join(","));
    let three = [record("site", "a"), record("b", "c"), record("site", "d")];
    check(&of(&three), 204, "", Some("objects a, c, d"));
    check("", 204, "", Some("any"));
    let offered = r#"{"Type":"SubscriptionConfirmation","SubscribeURL":"https://sns"}"#;
    check(offered, 204, "", Some("offered https://sns"));
    check("{", 400, "Bad Request: the content is no JSON", None);
    let long = " ".repeat(LONGEST_NOTIFICATION + 1);
    check(&long, 413, "262144 bytes at most", None);
    let (status, body) = send(&admin, place, &[], &of(&three));
    assert!(
        status == 401 && body.contains("password"),
        "{status} {body}"
    );
    assert!(subject.done.lock().unwrap().is_empty());
    // Nothing else is open to a password.
    assert_eq!(ask(&admin, "GET", "/status", &basic).0, 401);
    for permitted in [Some(bearer), Some(basic), None] {
        let shown = permitted.map(|[(_, value)]| value.as_bytes());
        assert_eq!(admin.permits_content(shown), permitted.is_some());
    }
    let (_, status) = ask(&admin, "GET", "/status", &bearer);
    let counted = r#""bucket_events":{"objects":6,"ignored":2,"refused":4}"#;
    assert!(status.contains(counted), "{status}");
    let (_, metrics) = ask(&admin, "GET", "/metrics", &bearer);
    for line in [
        "salver_bucket_event_objects_total 6",
        "salver_bucket_event_objects_ignored_total 2",
        "salver_bucket_events_refused_total 4",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{metrics}");
    }
}

#[test]
fn what_a_reload_gave_is_passed_on() {
    let check = |reloaded: Reloaded, status: u16, part: &str| {
        let subject = Noted {
            reloaded,
            ..Noted::new()
        };
        let admin = Admin::new(Arc::new(subject), None);
        let (found, body) = ask(&admin, "POST", "/reload", &[]);
        assert!(found == status && body.contains(part), "{found} {body}");
    };
    check(
        Reloaded::Done("2 sites".to_owned()),
        200,
        "\"message\":\"2 sites\"",
    );
    check(Reloaded::Refused("line 3".to_owned()), 409, "line 3");
}

#[test]
fn a_server_that_is_not_ready_says_what_it_does() {
    for (state, word) in [
        (State::Starting, "starting\n"),
        (State::Draining, "draining\n"),
    ] {
        let subject = Noted {
            state,
            ..Noted::new()
        };
        let admin = Admin::new(Arc::new(subject), None);
        assert_eq!(ask(&admin, "GET", "/ready", &[]), (503, word.to_owned()));
        assert_eq!(ask(&admin, "GET", "/live", &[]).0, 200);
    }
}

#[test]
fn without_the_token_nothing_is_told_but_that_it_lives() {
    let token = Token::new(b"0123456789abcdef").unwrap();
    let subject = Arc::new(Noted::new());
    let admin = Admin::new(Arc::<Noted>::clone(&subject), Some(token));
    let shown = [("authorization", "Bearer 0123456789abcdef")];
    for path in ["/live", "/ready", "/", "/page/style.css"] {
        assert_eq!(ask(&admin, "GET", path, &[]).0, 200, "{path}");
    }
    for path in ["/metrics", "/status", "/cache", "/nowhere"] {
        assert_eq!(ask(&admin, "GET", path, &[]).0, 401, "{path}");
        assert_ne!(ask(&admin, "GET", path, &shown).0, 401, "{path}");
    }
    for path in [
        "/cache/purge?all",
        "/cache/pause",
        "/cache/resume",
        "/reload",
    ] {
        assert_eq!(ask(&admin, "POST", path, &[]).0, 401, "{path}");
    }
    assert!(
        subject
            .done
            .lock()
            .unwrap()
            .iter()
            .all(|done| done.starts_with("CacheQuery"))
    );
}

#[test]
fn another_site_does_nothing() {
    let subject = Arc::new(Noted::new());
    let admin = Admin::new(Arc::<Noted>::clone(&subject), None);
    let site = [("sec-fetch-site", "cross-site")];
    for path in ["/cache/purge?all", "/cache/pause", "/reload"] {
        assert_eq!(ask(&admin, "POST", path, &site).0, 403, "{path}");
    }
    for path in ["/status", "/metrics", "/cache", "/live"] {
        assert_eq!(ask(&admin, "GET", path, &site).0, 403, "{path}");
    }
    assert!(subject.done.lock().unwrap().is_empty());
}

#[test]
fn metrics_are_in_the_format_that_is_asked_for() {
    let subject = Arc::new(Noted::new());
    let of_loop = subject.metrics.add_loop();
    of_loop.begin(salver_semantics::Method::Get);
    of_loop.end(&Ended {
        site: 1,
        version: Version::Http3,
        method: salver_semantics::Method::Get,
        status: 206,
        duration: Duration::from_micros(5_500),
        request_bytes: 0,
        response_bytes: 4096,
    });
    of_loop.tick(Duration::from_millis(3));
    let admin = Admin::new(Arc::<Noted>::clone(&subject), None);
    let (_, older) = ask(&admin, "GET", "/metrics", &[]);
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let (_, text) = ask(&admin, "GET", "/metrics", &[("accept", accept)]);
    assert!(text.ends_with("# EOF\n") && !older.contains("# EOF"));
    let labels = "site=\"a\\\"b\",network_protocol_version=\"3\",http_request_method=\"GET\",\
                  http_response_status_class=\"2xx\"";
    for line in [
        &*format!("http_server_request_duration_seconds_bucket{{{labels},le=\"0.005\"}} 0"),
        &format!("http_server_request_duration_seconds_bucket{{{labels},le=\"0.01\"}} 1"),
        &format!("http_server_request_duration_seconds_sum{{{labels}}} 0.0055"),
        &format!("http_server_response_body_size_bytes_bucket{{{labels},le=\"4096.0\"}} 1"),
        &format!("http_server_response_body_size_bytes_sum{{{labels}}} 4096"),
        &format!("http_server_request_body_size_bytes_bucket{{{labels},le=\"0.0\"}} 1"),
        "http_server_active_requests{http_request_method=\"GET\"} 0",
        "http_server_active_requests{http_request_method=\"_OTHER\"} 0",
        "salver_loop_lag_seconds_bucket{loop=\"0\",le=\"0.005\"} 1",
        "salver_loop_lag_recent_seconds{loop=\"0\"} 0.003",
        "salver_cache_hits_total 0",
        "salver_access_log_dropped_total 0",
        "salver_tls_certificate_not_after_timestamp_seconds{certificate=\"0\",names=\"a.test\"} 1800000000",
        "salver_build_info{version=\"1.2.3\"} 1",
        "salver_ready 1",
    ] {
        for text in [&text, &older] {
            assert!(text.lines().any(|found| found == line), "{line}\n{text}");
        }
    }
    // Each family is told once, and no path is a label.
    let mut families: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE "))
        .collect();
    let count = families.len();
    families.sort_unstable();
    families.dedup();
    assert!(count > 30 && families.len() == count && !text.contains("path="));
}

#[test]
fn a_loop_that_hangs_is_no_life() {
    let subject = Arc::new(Noted::new());
    let admin = Admin::new(Arc::<Noted>::clone(&subject), None);
    subject
        .metrics
        .add_hanging_loop(HANGS + Duration::from_secs(1));
    assert_eq!(
        ask(&admin, "GET", "/live", &[]),
        (503, "1 of 1 loops hang\n".to_owned())
    );
}
