//! The server of the page: whom it answers, that it runs one thing at a time, and what it saves.

mod started;

use std::net::TcpStream;

use salver_bench::error::BenchError;
use salver_bench::ui::Ui;
use serde_json::{Value, json};
use started::{Fake, Page, settings};

#[test]
fn nobody_is_answered_without_token_and_loopback_host() {
    let page = Page::start();
    let (token, address) = (&page.token, page.address);
    let host = format!("Host: {address}\r\n");
    let check = |target: &str, fields: &str, expected: u16| {
        let (status, head, content) = page.send("GET", target, fields, "");
        assert_eq!(status, expected, "{target} {fields}");
        assert!(head.contains("cache-control: no-store"), "{head}");
        if expected == 403 {
            assert!(!content.contains(token), "{content}");
        }
    };
    let right = format!("/?token={token}");
    check(&right, &host, 200);
    check(&right, "Host: localhost:1234\r\n", 200);
    check(&right, "Host: evil.example\r\n", 403);
    check("/nothing", &host, 403);
    check(&format!("/nothing?token={token}"), &host, 404);
    for path in [
        "/open",
        "/api/runs",
        "/api/result",
        "/api/events",
        "/api/runs/a/page",
    ] {
        check(path, &host, 403);
        check(&format!("{path}?token="), &host, 403);
        check(&format!("{path}?token={}", "0".repeat(32)), &host, 403);
        check(&format!("{path}?token={token}0"), &host, 403);
        check(
            &format!("{path}?token={token}"),
            "Host: evil.example\r\n",
            403,
        );
        check(
            &format!("{path}?token={token}"),
            "Host: 127.0.0.1.evil.example\r\n",
            403,
        );
    }
    page.end();
}

#[test]
fn the_page_alone_is_given_without_token_and_has_nothing_private() {
    let page = Page::start();
    let host = format!("Host: {}\r\n", page.address);
    for target in ["/", "/?token=", "/?token=wrong"] {
        let (status, head, content) = page.send("GET", target, &host, "");
        assert_eq!(status, 200, "{target}");
        assert!(content.contains("id=\"form\""), "it is the page");
        let runs = page.runs.path().to_str().unwrap();
        for private in [&*page.token, &*page.invitation, runs] {
            assert!(!content.contains(private) && !head.contains(private));
        }
        assert!(!head.contains("set-cookie"), "{head}");
    }
    let origin = format!("{host}Origin: http://{}\r\n", page.address);
    assert_eq!(page.send("POST", "/", &origin, "").0, 403);
    assert_eq!(page.send("GET", "/", "Host: evil.example\r\n", "").0, 403);
    page.end();
}

#[test]
fn only_the_page_itself_starts_and_stops() {
    let page = Page::start();
    let address = page.address;
    let target = format!("/api/run?token={}", page.token);
    let job = r#"{"kind":"load","url":"http://a/","duration_seconds":"1","connections":"1"}"#;
    let check = |fields: &str, expected: u16| {
        let (status, ..) = page.send("POST", &target, fields, job);
        assert_eq!(status, expected, "{fields}");
    };
    let host = format!("Host: {address}\r\n");
    let json = "Content-Type: application/json\r\n";
    check(&format!("{host}{json}"), 403);
    check(&format!("{host}{json}Origin: null\r\n"), 403);
    check(&format!("{host}{json}Origin: http://evil.example\r\n"), 403);
    check(&format!("{host}{json}Origin: https://{address}\r\n"), 403);
    check(&format!("{host}{json}Origin: http://127.0.0.1:1\r\n"), 403);
    // What a form of another page could send.
    let origin = format!("Origin: http://{address}\r\n");
    check(&format!("{host}{origin}Content-Type: text/plain\r\n"), 415);
    assert_eq!(page.get("/api/result").0, 404, "nothing was started");
    check(&format!("{host}{origin}{json}"), 202);
    assert_eq!(page.wait_for("done")["run"], 1);
    page.end();
}

#[test]
fn an_invitation_leads_to_the_page_once() {
    let page = Page::start();
    let host = format!("Host: {}\r\n", page.address);
    let target = format!("/open?code={}", page.invitation);
    let wrong = format!("/open?code={}", page.token);
    assert_eq!(page.send("GET", &wrong, &host, "").0, 403);
    let (status, head, _) = page.send("GET", &target, &host, "");
    assert_eq!(status, 303);
    let location = format!("location: /?token={}", page.token);
    assert!(head.contains(&location), "{head}");
    assert_eq!(page.send("GET", &target, &host, "").0, 403);
    page.end();
}

#[test]
fn the_page_may_load_nothing_from_elsewhere() {
    let page = Page::start();
    let host = format!("Host: {}\r\n", page.address);
    let target = format!("/?token={}", page.token);
    let (_, head, content) = page.send("GET", &target, &host, "");
    let policy = head
        .lines()
        .find_map(|line| line.strip_prefix("content-security-policy: "));
    let policy = policy.unwrap();
    for part in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    let nonce = policy
        .split("script-src 'nonce-")
        .nth(1)
        .unwrap()
        .split('\'')
        .next()
        .unwrap();
    assert_eq!(content.matches(&format!("nonce=\"{nonce}\"")).count(), 2);
    let (_, again, _) = page.send("GET", &target, &host, "");
    assert!(!again.contains(nonce), "each answer has a nonce of its own");
    for part in ["src=\"http", "href=\"http", "@import", "{{"] {
        assert!(!content.contains(part), "{part}");
    }
    page.end();
}

#[test]
fn one_run_at_a_time() {
    let page = Page::start();
    assert_eq!(page.post("/api/stop", &json!({})).0, 409);
    let (status, body) = page.run("stalls");
    assert_eq!((status, &body["run"]), (202, &json!(1)));
    assert_eq!(page.wait_for("running")["job"]["connections"], 2);
    let (status, body) = page.run("fine");
    assert_eq!(status, 409);
    assert!(
        body["message"].as_str().unwrap().contains("under way"),
        "{body}"
    );
    assert_eq!(page.post("/api/stop", &json!({})).0, 202);
    let stopped = page.wait_for("stopped");
    assert_eq!(
        (&stopped["run"], &stopped["saved"]),
        (&json!(1), &Value::Null)
    );
    assert_eq!(page.get("/api/result").0, 404, "nothing was measured");
    // And another may begin.
    assert_eq!(page.run("fine").0, 202);
    assert_eq!(page.wait_for("done")["run"], 2);
    let (_, listing) = page.get("/api/runs");
    assert_eq!(listing["runs"].as_array().unwrap().len(), 1, "{listing}");
    page.end();
}

#[test]
fn what_a_stopped_run_has_measured_is_saved_with_a_mark() {
    let page = Page::start();
    assert_eq!(page.run("lasts").0, 202);
    page.wait_for("running");
    assert_eq!(page.post("/api/stop", &json!({})).0, 202);
    let stopped = page.wait_for("stopped");
    let id = stopped["saved"].as_str().unwrap();
    let (_, saved) = page.get(&format!("/api/runs/{id}"));
    assert_eq!(saved["report"]["interrupted"], true);
    let requests = &saved["report"]["rows"][0]["series"][0]["measured"]["requests"];
    assert_eq!(requests, 7);
    assert_eq!(page.get("/api/result"), (200, saved));
    // One that ends by itself has none.
    assert_eq!(page.run("fine").0, 202);
    page.wait_for("done");
    let (_, listing) = page.get("/api/runs");
    let marks: Vec<bool> = listing["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["interrupted"].as_bool().unwrap() == (run["id"] == id))
        .collect();
    assert_eq!(marks, [true, true], "{listing}");
    assert_eq!(listing["directory"], page.runs.path().to_str().unwrap());
    page.end();
}

#[test]
fn a_run_that_fails_says_why_and_leaves_nothing() {
    let page = Page::start();
    for (path, why) in [("fails", "nobody answers"), ("panics", "panicked")] {
        assert_eq!(page.run(path).0, 202);
        let failed = page.wait_for("failed");
        assert!(
            failed["message"].as_str().unwrap().contains(why),
            "{failed}"
        );
    }
    assert_eq!(page.get("/api/result").0, 404);
    let runs = page.end();
    assert_eq!(std::fs::read_dir(runs.path()).unwrap().count(), 0);
}

#[test]
fn what_cannot_be_meant_is_said_field_by_field() {
    let page = Page::start();
    let wrong = json!({
        "kind": "load", "url": "x", "directory": "/no/such", "duration_seconds": "soon",
        "connections": "0"
    });
    let (status, body) = page.post("/api/run", &wrong);
    assert_eq!(status, 400);
    let fields = body["fields"].as_object().unwrap();
    let names: Vec<_> = fields.keys().collect();
    assert_eq!(
        names,
        ["connections", "directory", "duration_seconds", "url"]
    );
    assert_eq!(page.post("/api/run", &json!({ "kind": "magic" })).0, 422);
    let unknown = json!({ "kind": "load", "protocol": "gopher" });
    assert_eq!(page.post("/api/run", &unknown).0, 422);
    assert_eq!(
        page.post("/api/run", &json!({ "kind": "load", "more": 1 }))
            .0,
        422
    );
    let long = "x".repeat(20_000);
    assert_eq!(
        page.post("/api/run", &json!({ "kind": "load", "url": long }))
            .0,
        413
    );
    page.end();
}

#[test]
fn a_saved_run_is_there_again_and_fits_into_one_file() {
    let page = Page::start();
    assert_eq!(page.run("fine").0, 202);
    let done = page.wait_for("done");
    let id = done["saved"].as_str().unwrap();
    assert!(id.ends_with("-load"), "{id}");
    let (_, last) = page.get("/api/result");
    assert_eq!(
        last["report"]["rows"][0]["series"][0]["measured"]["requests"],
        7
    );
    let (_, listing) = page.get("/api/runs");
    assert_eq!(listing["runs"][0]["id"], id);
    assert_eq!(listing["runs"][0]["sound"], true);
    assert_eq!(page.get(&format!("/api/runs/{id}")), (200, last.clone()));
    let text = std::fs::read(page.runs.path().join(format!("{id}.json"))).unwrap();
    assert_eq!(serde_json::from_slice::<Value>(&text).unwrap(), last);

    let host = format!("Host: {}\r\n", page.address);
    let target = format!("/api/runs/{id}/page?token={}", page.token);
    let (status, head, content) = page.send("GET", &target, &host, "");
    assert_eq!(status, 200);
    assert!(
        head.contains(&format!("filename=\"salver-{id}.html\"").to_ascii_lowercase()),
        "{head}"
    );
    assert!(
        !content.contains(&page.token),
        "the token is not for sharing"
    );
    assert_eq!(
        content.matches("</script>").count(),
        2,
        "the data ends no script"
    );
    let (_, rest) = content.split_once("id=\"data\">").unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    let data: Value = serde_json::from_str(data).unwrap();
    assert_eq!(
        (&data["mode"], &data["run"]["saved"]),
        (&json!("file"), &last)
    );

    // The next process finds it.
    let runs = page.end();
    let ui = Ui::bind(&settings(runs.path(), 0), Fake).unwrap();
    drop(ui);
    let text = std::fs::read_to_string(runs.path().join(format!("{id}.json"))).unwrap();
    assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), last);
}

#[test]
fn names_lead_nowhere_else() {
    let page = Page::start();
    std::fs::write(page.runs.path().join("secret.txt"), "{}").unwrap();
    for id in [
        "missing",
        "..%2Fx",
        "%2e%2e",
        "secret.txt",
        "a%00b",
        "%2Fetc%2Fpasswd",
        &"a".repeat(81),
    ] {
        assert_eq!(page.get(&format!("/api/runs/{id}")).0, 404, "{id}");
        assert_eq!(page.get(&format!("/api/runs/{id}/page")).0, 404, "{id}");
    }
    page.end();
}

#[test]
fn an_end_waits_for_the_run() {
    let page = Page::start();
    assert_eq!(page.run("stalls").0, 202);
    page.wait_for("running");
    assert!(page.handle.stop(), "a run is under way");
    page.thread.join().unwrap();
    // Nobody listens any more.
    assert!(TcpStream::connect(page.address).is_err());
}

#[test]
fn what_is_missing_is_one_line() {
    let runs = tempfile::tempdir().unwrap();
    let ui = Ui::bind(&settings(runs.path(), 0), Fake).unwrap();
    let taken = Ui::bind(&settings(runs.path(), ui.address().port()), Fake).unwrap_err();
    assert!(matches!(taken, BenchError::Failed(_)), "{taken}");
    assert!(taken.to_string().contains("is taken"), "{taken}");
    let file = runs.path().join("file");
    std::fs::write(&file, "").unwrap();
    let none = Ui::bind(&settings(&file, 0), Fake).unwrap_err();
    assert!(none.to_string().contains("--runs"), "{none}");
    assert!(!none.to_string().contains('\n'), "{none}");
}
