use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// What is read: objects as bucket and key, or a part of the fault.
type Read<'a> = Result<&'a [(&'a str, &'a str)], &'a str>;

fn check(content: &str, expected: Read<'_>) {
    match (Notification::parse(content.as_bytes()), expected) {
        (Ok(found), Ok(objects)) => {
            let objects = objects.iter().map(|(bucket, key)| ChangedObject {
                bucket: (*bucket).to_owned(),
                key: (*key).to_owned(),
            });
            let expected = BucketChanges::Objects(objects.collect());
            assert_eq!(found, Notification::Changes(expected), "{content}");
        }
        (Err(fault), Err(part)) => {
            assert!(fault.contains(part), "{content}: {fault}");
            assert!(!fault.contains(['\n', '\r']), "{fault:?}");
        }
        (found, expected) => panic!("{content}: {found:?} instead of {expected:?}"),
    }
}

/// A record as Amazon S3 documents it.
fn record(name: &str, key: &str) -> Value {
    json!({
        "eventVersion": "2.1",
        "eventSource": "aws:s3",
        "awsRegion": "us-west-2",
        "eventTime": "1970-01-01T00:00:00.000Z",
        "eventName": name,
        "userIdentity": { "principalId": "AIDAJDPLRKLG7UEXAMPLE" },
        "requestParameters": { "sourceIPAddress": "127.0.0.1" },
        "responseElements": {
            "x-amz-request-id": "C3D13FE58DE4C810",
            "x-amz-id-2": "FMyUVURIY8/IgAtTv8xRjskZQpcIZ9KG4V5Wp6S7S/JRWeUWerMUE5JgHvANOjpD",
        },
        "s3": {
            "s3SchemaVersion": "1.0",
            "configurationId": "testConfigRule",
            "bucket": {
                "name": "site",
                "ownerIdentity": { "principalId": "A3NL1KOZZKExample" },
                "arn": "arn:aws:s3:::site",
            },
            "object": {
                "key": key,
                "size": 1024,
                "eTag": "d41d8cd98f00b204e9800998ecf8427e",
                "versionId": "096fKKXTRTtl3on89fVO.nfljtsv6qko",
                "sequencer": "0055AED6DCD90281E5",
            },
        },
    })
}

fn records(keys: &[&str]) -> String {
    let records = keys.iter().map(|key| record("ObjectCreated:Put", key));
    json!({ "Records": records.collect::<Vec<_>>() }).to_string()
}

fn of_sns(kind: &str, message: &str) -> String {
    let envelope = json!({
        "Type": kind,
        "MessageId": "22b80b92-fdea-4c2c-8f9d-bdfb0c7bf324",
        "TopicArn": "arn:aws:sns:us-west-2:123456789012:MyTopic",
        "Subject": "Amazon S3 Notification",
        "Message": message,
        "Timestamp": "2012-05-02T00:54:06.655Z",
        "SignatureVersion": "1",
        "Signature": "EXAMPLEw6JRN",
        "SigningCertURL": "https://sns.us-west-2.amazonaws.com/cert.pem",
        "UnsubscribeURL": "https://sns.us-west-2.amazonaws.com/?Action=Unsubscribe",
    });
    envelope.to_string()
}

fn of_event_bridge(kind: &str, detail: &Value) -> String {
    let event = json!({
        "version": "0",
        "id": "17793124-05d4-b198-2fde-7ededc63b103",
        "detail-type": kind,
        "source": "aws.s3",
        "account": "123456789012",
        "time": "2021-11-12T00:00:00Z",
        "region": "ca-central-1",
        "resources": ["arn:aws:s3:::site"],
        "detail": detail,
    });
    event.to_string()
}

#[test]
fn records_of_s3_name_objects_by_encoded_keys() {
    check(&records(&["current"]), Ok(&[("site", "current")]));
    check(
        &records(&["a/b+c%2Bd", "e", "red%20flower.jpg", "caf%C3%A9"]),
        Ok(&[
            ("site", "a/b c+d"),
            ("site", "e"),
            ("site", "red flower.jpg"),
            ("site", "café"),
        ]),
    );
    // Not encoded, as some stores send what was removed.
    check(&records(&["100%"]), Ok(&[("site", "100%")]));
    check(&records(&["a%ffb+c"]), Ok(&[("site", "a%ffb+c")]));
    let removed = json!({ "Records": [record("ObjectRemoved:Delete", "gone.html")] });
    check(&removed.to_string(), Ok(&[("site", "gone.html")]));
    check(r#"{"Records":[]}"#, Ok(&[]));
    // Whoever looks has not changed anything.
    for read in ["s3:ObjectAccessed:Get", "ObjectAccessed:Head"] {
        let both = json!({ "Records": [record(read, "a"), record("ObjectCreated:Put", "b")] });
        check(&both.to_string(), Ok(&[("site", "b")]));
    }
    check(
        r#"{"Service":"Amazon S3","Event":"s3:TestEvent","Time":"2014-10-13T15:57:02.089Z","Bucket":"site","RequestId":"5582815E1AEA5ADF","HostId":"8cLeGAmw098X5cv4Zkwcmo8vvZa3eH3eKxsPzbB9wrR+YstdA6Knx4Ip8EXAMPLE"}"#,
        Ok(&[]),
    );
}

#[test]
fn minio_encodes_slashes_and_tells_more() {
    let event = json!({
        "EventName": "s3:ObjectCreated:Put",
        "Key": "site/css/site.css",
        "Records": [{
            "eventVersion": "2.0",
            "eventSource": "minio:s3",
            "awsRegion": "",
            "eventTime": "2017-03-30T08:00:41Z",
            "eventName": "s3:ObjectCreated:Put",
            "userIdentity": { "principalId": "minio" },
            "requestParameters": { "sourceIPAddress": "127.0.0.1:38062" },
            "responseElements": {
                "x-amz-request-id": "14B09A09703FC47B",
                "x-minio-origin-endpoint": "http://192.168.86.115:9000",
            },
            "s3": {
                "s3SchemaVersion": "1.0",
                "configurationId": "Config",
                "bucket": {
                    "name": "site",
                    "ownerIdentity": { "principalId": "minio" },
                    "arn": "arn:aws:s3:::site",
                },
                "object": {
                    "key": "css%2Fsite.css",
                    "size": 6474,
                    "eTag": "a3410f4f8788b510d6f19c5067e60a90",
                    "sequencer": "14B09A09703FC47B",
                },
            },
            "source": { "host": "127.0.0.1", "port": "38062", "userAgent": "MinIO" },
        }],
    });
    check(&event.to_string(), Ok(&[("site", "css/site.css")]));
}

#[test]
fn sns_has_the_event_as_a_text() {
    let two = records(&["a+b", "current"]);
    let expected = Ok(&[("site", "a b"), ("site", "current")][..]);
    check(&of_sns("Notification", &two), expected);
    let bridged = json!({ "bucket": { "name": "site" }, "object": { "key": "a+b" } });
    let bridged = of_event_bridge("Object Created", &bridged);
    check(&of_sns("Notification", &bridged), Ok(&[("site", "a+b")]));
    check(
        &of_sns("UnsubscribeConfirmation", "You have chosen …"),
        Ok(&[]),
    );
    check(
        &of_sns("Notification", "hello"),
        Err("`Message` of SNS is no JSON"),
    );
    check(&of_sns("Notification", "{}"), Err("no event of S3"));
    check(&of_sns("SubscriptionConfirmation", ""), Err("SubscribeURL"));
    let url = "https://sns.us-west-2.amazonaws.com/?Action=ConfirmSubscription&Token=2336412f37";
    let asked = json!({ "Type": "SubscriptionConfirmation", "Message": "…", "SubscribeURL": url });
    assert_eq!(
        Notification::parse(asked.to_string().as_bytes()),
        Ok(Notification::Confirmation(url.to_owned()))
    );
}

#[test]
fn event_bridge_has_keys_as_they_are() {
    let detail = json!({
        "version": "0",
        "bucket": { "name": "site" },
        "object": {
            "key": "a+b%20c.html",
            "size": 5,
            "etag": "b1946ac92492d2347c6235b4d2611184",
            "version-id": "IYV3p45BT0ac8hjHg1houSdS1a.Mro8e",
            "sequencer": "617f08299329d189",
        },
        "request-id": "N4N7GDK58NMKJ12R",
        "requester": "123456789012",
        "source-ip-address": "1.2.3.4",
        "reason": "PutObject",
    });
    for kind in ["Object Created", "Object Deleted"] {
        check(
            &of_event_bridge(kind, &detail),
            Ok(&[("site", "a+b%20c.html")]),
        );
    }
}

#[test]
fn what_is_no_event_says_what_is_wrong() {
    check("{", Err("the content is no JSON: EOF"));
    check("\u{1}", Err("the content is no JSON"));
    for other in ["[]", "{}", "7", "null", r#"{"Event":"other"}"#] {
        check(other, Err("no event of S3, SNS or EventBridge"));
    }
    check(r#"{"Records":{}}"#, Err("`Records` is no array"));
    check(r#"{"Records":[{}]}"#, Err("`Records[0].s3.bucket.name`"));
    let second = json!({ "Records": [record("x", "a"), { "s3": { "bucket": { "name": "b" } } }] });
    check(&second.to_string(), Err("`Records[1].s3.object.key`"));
    check(
        r#"{"detail":{"bucket":{"name":7},"object":{"key":"a"}}}"#,
        Err("`detail.bucket.name`"),
    );
    check(&"[".repeat(100_000), Err("the content is no JSON"));
    assert_eq!(
        Notification::parse(b""),
        Ok(Notification::Changes(BucketChanges::Any))
    );
}

/// What is read of 256 KiB would take a hundred times as much as values.
#[test]
fn what_is_not_looked_at_is_passed_over_however_deep_it_is() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let records = format!(r#"{{"other":{deep},"Records":[],"detail":{{"bucket":{deep}}}}}"#);
    check(&records, Ok(&[]));
    check(&deep, Err("no event of S3"));
    let of_named = format!(r#"{{"detail":{{"bucket":{deep},"object":{{"key":"a"}}}}}}"#);
    check(&of_named, Err("`detail.bucket.name`"));
    let many = vec![r#"{"":0}"#; 30_000].join(",");
    check(&format!("[{many}]"), Err("no event of S3"));
    check(
        &format!(r#"{{"Records":[{many}]}}"#),
        Err("`Records[0].s3.bucket.name`"),
    );
}

/// Values that have a part of the shape of events.
fn resembling() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<i32>().prop_map(Value::from),
        "[a-c%+/]{0,8}".prop_map(Value::from),
        Just(Value::from(r#"{"Records":[]}"#)),
        Just(Value::from("s3:TestEvent")),
    ];
    let name = proptest::sample::select(vec![
        "Records",
        "eventName",
        "s3",
        "bucket",
        "object",
        "name",
        "key",
        "Message",
        "Type",
        "detail",
        "Event",
    ]);
    leaf.prop_recursive(5, 40, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::vec((name.clone(), inner), 0..4).prop_map(|fields| {
                let fields = fields.into_iter();
                fields
                    .map(|(name, value)| (name.to_owned(), value))
                    .collect()
            }),
        ]
    })
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused_in_one_line(content: Vec<u8>) {
        if let Err(fault) = Notification::parse(&content) {
            prop_assert!(!fault.contains(['\n', '\r']));
        }
    }

    #[test]
    fn so_is_what_resembles_events(value in resembling()) {
        if let Err(fault) = Notification::parse(value.to_string().as_bytes()) {
            prop_assert!(!fault.contains(['\n', '\r']));
        }
    }

    #[test]
    fn a_key_is_what_was_encoded(key in ".{0,20}") {
        let encoded: String = key.bytes().map(|byte| format!("%{byte:02X}")).collect();
        prop_assert_eq!(key_of_record(&encoded), key);
    }
}
