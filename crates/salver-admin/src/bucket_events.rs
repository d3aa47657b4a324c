//! Event notifications of buckets, as object stores send them: which objects have changed.
//!
//! Known are those of S3 and its compatibles (`Records`), alone or within a message of Amazon SNS, and those of Amazon
//! EventBridge (`detail`). How an object has changed is not looked at: whoever has it asks for it anew.

use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::query::decoded;
use crate::status::BucketEvents;

/// The longest notification, in bytes: that of a message of Amazon SNS.
pub const LONGEST_NOTIFICATION: usize = 256 * 1024;

/// What has changed in buckets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BucketChanges {
    /// Nobody says what: all may have changed.
    Any,
    /// These objects, and no others.
    Objects(Vec<ChangedObject>),
}

/// An object that was put or removed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedObject {
    /// The name of its bucket.
    pub bucket: String,
    /// Its key.
    pub key: String,
}

/// What a request tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notification {
    /// Something has changed.
    Changes(BucketChanges),
    /// Amazon SNS is going to send notifications here once somebody has asked for this URL.
    Confirmation(String),
}

impl Notification {
    /// What the content of a request tells; without any all may have changed.
    ///
    /// # Errors
    /// What is wrong with it, for people, in one line.
    pub(crate) fn parse(content: &[u8]) -> Result<Self, String> {
        if content.is_empty() {
            return Ok(Notification::Changes(BucketChanges::Any));
        }
        let parsed: Value = serde_json::from_slice(content)
            .map_err(|error| format!("the content is no JSON: {error}"))?;
        let text = |name: &str| parsed.get(name).and_then(Value::as_str);
        let changed = match (text("Type"), text("Message")) {
            (Some("SubscriptionConfirmation"), _) => {
                let url = text("SubscribeURL").ok_or("the message of SNS has no `SubscribeURL`")?;
                return Ok(Notification::Confirmation(url.to_owned()));
            }
            (Some("UnsubscribeConfirmation"), _) => Vec::new(),
            (_, Some(message)) => {
                let message: Value = serde_json::from_str(message)
                    .map_err(|error| format!("`Message` of SNS is no JSON: {error}"))?;
                objects(&message)?
            }
            (_, None) => objects(&parsed)?,
        };
        Ok(Notification::Changes(BucketChanges::Objects(changed)))
    }
}

/// The objects that a notification names.
fn objects(notification: &Value) -> Result<Vec<ChangedObject>, String> {
    if let Some(records) = notification.get("Records") {
        let records = records.as_array().ok_or("`Records` is no array")?;
        let changes = records.iter().enumerate();
        let records = changes.filter(|(_, record)| !is_of_reading(record));
        let objects = records.map(|(number, record)| {
            let place = format!("Records[{number}].s3");
            let object = object(record.get("s3"), &place)?;
            Ok(ChangedObject {
                key: key_of_record(&object.key),
                ..object
            })
        });
        return objects.collect();
    }
    if let Some(detail) = notification.get("detail") {
        return Ok(vec![object(Some(detail), "detail")?]);
    }
    // What S3 sends when it is told to send events.
    if notification.get("Event").and_then(Value::as_str) == Some("s3:TestEvent") {
        return Ok(Vec::new());
    }
    Err(
        "the content is no event of S3, SNS or EventBridge: it has no `Records`, `Message` or `detail` \
         (send no content to have everything looked at)"
            .to_owned(),
    )
}

/// True if a record tells that an object was read, as MinIO does: who looks then would be told again, of that.
fn is_of_reading(record: &Value) -> bool {
    let name = record.get("eventName").and_then(Value::as_str);
    name.is_some_and(|name| name.trim_start_matches("s3:").starts_with("ObjectAccessed"))
}

/// The object that a bucket and a key name, in this place.
fn object(of: Option<&Value>, place: &str) -> Result<ChangedObject, String> {
    let text = |what: &str, name: &str| {
        let value = of.and_then(|of| of.get(what)?.get(name)?.as_str());
        let missing = || format!("`{place}.{what}.{name}` is not there, or no text");
        value.map(str::to_owned).ok_or_else(missing)
    };
    Ok(ChangedObject {
        bucket: text("bucket", "name")?,
        key: text("object", "key")?,
    })
}

/// The key that a record has encoded, as in a form. Some stores send keys as they are: what cannot be decoded is such a one.
fn key_of_record(encoded: &str) -> String {
    let spaced = encoded.replace('+', " ");
    let key = decoded(spaced.as_bytes()).and_then(|key| String::from_utf8(key).ok());
    key.unwrap_or_else(|| encoded.to_owned())
}

/// The counters of notifications.
#[derive(Debug, Default)]
pub(crate) struct EventCounters {
    objects: AtomicU64,
    ignored: AtomicU64,
    refused: AtomicU64,
}

impl EventCounters {
    /// Counts what a notification has named, of which nothing is served of so many.
    pub(crate) fn count(&self, changes: &BucketChanges, ignored: u64) {
        if let BucketChanges::Objects(objects) = changes {
            let objects = u64::try_from(objects.len()).unwrap_or(u64::MAX);
            self.objects.fetch_add(objects, Ordering::Relaxed);
        }
        self.ignored.fetch_add(ignored, Ordering::Relaxed);
    }

    /// Counts one that cannot be read.
    pub(crate) fn count_refused(&self) {
        self.refused.fetch_add(1, Ordering::Relaxed);
    }

    /// What was counted until now.
    pub(crate) fn now(&self) -> BucketEvents {
        BucketEvents {
            objects: self.objects.load(Ordering::Relaxed),
            ignored: self.ignored.load(Ordering::Relaxed),
            refused: self.refused.load(Ordering::Relaxed),
        }
    }
}

#[cfg(test)]
mod tests;
