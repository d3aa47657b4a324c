//! What is written is what `docs/bench-schema.json` says, field for field.

use std::collections::BTreeMap;

use salver_test::Schema;
use serde_json::{Value, json};

use salver_bench::environment::{Environment, Others};
use salver_bench::latency::Latencies;
use salver_bench::model::{
    Certificate, Measured, Progress, SCHEMA, Schedule, ServerCost, Tls, Verified,
};
use salver_bench::report::{Interval, Report, Row, Series, SpeedUp};
use salver_bench::transport::Http;

/// The published schema.
fn published() -> Value {
    serde_json::from_str(include_str!("../../../../docs/bench-schema.json")).unwrap()
}

/// The schema with nothing allowed that it does not name: readers must pass over what is new to
/// them, and this test must not.
fn strict() -> Schema {
    fn close(value: &mut Value) {
        match value {
            Value::Object(object) => {
                object.values_mut().for_each(close);
                let is_schema = object.get("type").is_some_and(|kind| kind == "object");
                if is_schema && object.contains_key("properties") {
                    object.insert("additionalProperties".to_owned(), false.into());
                }
            }
            Value::Array(values) => values.iter_mut().for_each(close),
            _ => {}
        }
    }
    let mut schema = published();
    close(&mut schema);
    Schema::new(schema)
}

/// All that can be there, is.
fn full() -> Measured {
    let mut latencies = Latencies::default();
    for micros in [100, 200, 300, 5_000] {
        latencies.record(std::time::Duration::from_micros(micros));
    }
    Measured {
        target: "http://127.0.0.1:8080/".to_owned(),
        schedule: Schedule::Rate { per_second: 0.5 },
        http: Http::Two,
        tls: Some(Tls {
            version: "TLSv1.3".to_owned(),
            cipher: Some("TLS13_AES_128_GCM_SHA256".to_owned()),
            certificate: Certificate::Verified,
        }),
        connections: 64,
        streams: 32,
        statuses: BTreeMap::from([(200, 4), (404, 1)]),
        codings: BTreeMap::from([("br".to_owned(), 5)]),
        raw: latencies.summary(),
        corrected: Some(latencies.summary()),
        server: Some(ServerCost::default()),
        verified: Verified::Content,
        invalid: vec!["why".to_owned()],
        ..Measured::default()
    }
}

fn environment() -> Environment {
    Environment {
        others: Some(Others::default()),
        ..Environment::now(["salver".to_owned()])
    }
}

/// What `salver bench load --json` prints.
fn document(environment: &Environment, result: &Measured) -> Value {
    json!({ "schema": SCHEMA, "environment": environment, "result": result })
}

fn check(schema: &Schema, document: &Value) {
    let wrong = schema.errors(document);
    assert!(wrong.is_empty(), "{wrong:#?}\n{document:#}");
}

#[test]
fn a_load_is_as_the_schema_says() {
    let schema = strict();
    check(&schema, &document(&environment(), &full()));
    // And with as little as there can be.
    let least = Measured {
        connections: 1,
        streams: 1,
        ..Measured::default()
    };
    check(&schema, &document(&Environment::default(), &least));
    for http in [Http::One, Http::Three] {
        let tls = Some(Tls {
            version: "TLSv1.3".to_owned(),
            cipher: None,
            certificate: Certificate::Any,
        });
        let measured = Measured {
            http,
            tls,
            ..full()
        };
        check(&schema, &document(&environment(), &measured));
    }
    for schedule in [Schedule::Closed, Schedule::Burst { every_ms: 10 }] {
        let measured = Measured { schedule, ..full() };
        check(&schema, &document(&environment(), &measured));
    }
}

#[test]
fn what_is_exported_meanwhile_is_as_the_schema_says() {
    check(&strict(), &json!({ "progress": Progress::default() }));
}

#[test]
fn a_failure_is_as_the_schema_says() {
    let failure = json!({ "schema": SCHEMA, "environment": environment(), "error": "why" });
    check(&strict(), &failure);
}

#[test]
fn a_report_is_as_the_schema_says() {
    let schema = strict();
    let row = |speed_up, verdict| Row {
        name: "1 KiB".to_owned(),
        series: vec![Series {
            label: "plain".to_owned(),
            measured: full(),
        }],
        speed_up,
        verdict,
    };
    let full = SpeedUp {
        p50: Some(Interval::default()),
        server_cpu: Some(Interval::default()),
        ..SpeedUp::default()
    };
    let rows = vec![
        row(Some(full), Some("slower".to_owned())),
        row(Some(SpeedUp::default()), Some("faster".to_owned())),
        row(None, None),
    ];
    for environment in [serde_json::to_value(environment()).unwrap(), Value::Null] {
        let report = Report::new("Title".to_owned(), environment, rows.clone());
        check(&schema, &serde_json::to_value(report).unwrap());
    }
}

/// Gives each place of a document by its path, objects' fields alone.
fn fields(value: &Value, path: &str, found: &mut Vec<String>) {
    if let Value::Object(object) = value {
        for (name, value) in object {
            let path = format!("{path}/{name}");
            fields(value, &path, found);
            found.push(path);
        }
    }
}

#[test]
fn every_field_of_a_load_must_be_there_and_no_other() {
    let schema = strict();
    let whole = document(&environment(), &full());
    let mut paths = Vec::new();
    fields(&whole, "", &mut paths);
    assert!(paths.len() > 70, "{paths:?}");
    // Names that are counts of what was seen.
    let counted = |path: &&String| !path.contains("/statuses/") && !path.contains("/codings/");
    for path in paths.iter().filter(counted) {
        let (parent, name) = path.rsplit_once('/').unwrap();
        let mut less = whole.clone();
        let object = less.pointer_mut(parent).unwrap().as_object_mut().unwrap();
        object.remove(name).unwrap();
        assert!(!schema.is_valid(&less), "{path} may be missing");
        let mut other = whole.clone();
        other.pointer_mut(parent).unwrap()["another"] = 1.into();
        let is_map = ["/result/statuses", "/result/codings"].contains(&parent);
        assert!(is_map || !schema.is_valid(&other), "{parent} may have more");
    }
}

#[test]
fn what_is_no_figure_is_refused() {
    let schema = strict();
    let whole = document(&environment(), &full());
    let refused = |path: &str, value: Value| {
        let mut wrong = whole.clone();
        *wrong.pointer_mut(path).unwrap() = value;
        assert!(!schema.is_valid(&wrong), "{path}");
    };
    refused("/schema", 2.into());
    refused("/result/requests", (-1).into());
    refused("/result/requests", 1.5.into());
    // What is not a number is written as null, and what was not measured is no zero.
    refused("/result/requests_per_second", Value::Null);
    refused("/result/raw/p99_us", 0.into());
    refused("/result/schedule/kind", "open".into());
    refused("/result/schedule/per_second", 0.into());
    refused("/result/verified", "hash".into());
    refused("/result/http", "1".into());
    refused("/result/streams", 0.into());
    refused("/result/tls/certificate", "none".into());
    refused("/result/statuses", json!({ "20": 1 }));
    refused("/result/raw/curve/0", json!([1.0]));
    refused("/result/raw/curve/0", json!([101.0, 1.0]));
    refused("/environment/cores", "2".into());
}

#[test]
fn readers_may_pass_over_what_is_new() {
    let schema = Schema::new(published());
    let mut newer = document(&environment(), &full());
    newer["result"]["later"] = true.into();
    check(&schema, &newer);
}
