//! Event notifications of buckets, as object stores send them: which objects have changed.
//!
//! Known are those of S3 and its compatibles (`Records`), alone or within a message of Amazon SNS, and those of Amazon
//! EventBridge (`detail`). How an object has changed is not looked at: whoever has it asks for it anew.

mod parts;

use std::sync::atomic::{AtomicU64, Ordering};

use serde::de::SeqAccess;
use serde::{Deserialize, Deserializer};

use self::parts::{Object, Part, Text, part};
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
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
        let Object(parsed) = serde_json::from_slice::<Object<Fields>>(content)
            .map_err(|error| format!("the content is no JSON: {error}"))?;
        let parsed = parsed.unwrap_or_default();
        let changed = match (parsed.kind.0.as_deref(), parsed.message.0.as_deref()) {
            (Some("SubscriptionConfirmation"), _) => {
                let url = parsed.subscribe_url.0;
                let url = url.ok_or("the message of SNS has no `SubscribeURL`")?;
                return Ok(Notification::Confirmation(url));
            }
            (Some("UnsubscribeConfirmation"), _) => Vec::new(),
            (_, Some(message)) => {
                let Object(message) = serde_json::from_str::<Object<Fields>>(message)
                    .map_err(|error| format!("`Message` of SNS is no JSON: {error}"))?;
                message.unwrap_or_default().objects()?
            }
            (_, None) => parsed.objects()?,
        };
        Ok(Notification::Changes(BucketChanges::Objects(changed)))
    }
}

/// The fields of a notification that are looked at, each of which may be missing. All else is passed over while it is read, so
/// that a notification takes no more memory than its text, whatever is nested in it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Fields {
    #[serde(rename = "Type")]
    kind: Text,
    #[serde(rename = "Message")]
    message: Text,
    #[serde(rename = "SubscribeURL")]
    subscribe_url: Text,
    #[serde(rename = "Event")]
    event: Text,
    #[serde(rename = "Records")]
    records: Option<Records>,
    detail: Option<Object<Named>>,
}

/// What names an object.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Named {
    bucket: Object<NamedBucket>,
    object: Object<NamedObject>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedBucket {
    name: Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NamedObject {
    key: Text,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Record {
    #[serde(rename = "eventName")]
    event_name: Text,
    s3: Object<Named>,
}

/// The objects of records, or what is wrong with the first that names none.
struct Records(Result<Vec<ChangedObject>, String>);

impl Default for Records {
    fn default() -> Self {
        Records(Err("`Records` is no array".to_owned()))
    }
}

impl Part for Records {
    fn of_array<'de, A: SeqAccess<'de>>(mut array: A) -> Result<Self, A::Error> {
        let mut objects = Ok(Vec::new());
        let mut number = 0_usize;
        while let Some(Object(record)) = array.next_element::<Object<Record>>()? {
            let record = record.unwrap_or_default();
            if let Ok(known) = &mut objects
                && !record.is_of_reading()
            {
                match object(record.s3, || format!("Records[{number}].s3")) {
                    Ok(object) => known.push(ChangedObject {
                        key: key_of_record(&object.key),
                        ..object
                    }),
                    Err(fault) => objects = Err(fault),
                }
            }
            number += 1;
        }
        Ok(Records(objects))
    }
}

impl<'de> Deserialize<'de> for Records {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        part(deserializer)
    }
}

impl Fields {
    /// The objects that a notification names.
    fn objects(self) -> Result<Vec<ChangedObject>, String> {
        if let Some(Records(objects)) = self.records {
            return objects;
        }
        if let Some(detail) = self.detail {
            return Ok(vec![object(detail, || "detail".to_owned())?]);
        }
        // What S3 sends when it is told to send events.
        if self.event.0.as_deref() == Some("s3:TestEvent") {
            return Ok(Vec::new());
        }
        Err(
            "the content is no event of S3, SNS or EventBridge: it has no `Records`, `Message` or `detail` \
             (send no content to have everything looked at)"
                .to_owned(),
        )
    }
}

impl Record {
    /// True if it tells that an object was read, as MinIO does: who looks then would be told again, of that.
    fn is_of_reading(&self) -> bool {
        let name = self.event_name.0.as_deref();
        name.is_some_and(|name| name.trim_start_matches("s3:").starts_with("ObjectAccessed"))
    }
}

/// The object that a bucket and a key name, in this place.
fn object(of: Object<Named>, place: impl Fn() -> String) -> Result<ChangedObject, String> {
    let Named { bucket, object } = of.0.unwrap_or_default();
    let missing = |what: &str| format!("`{}.{what}` is not there, or no text", place());
    let bucket = bucket.0.and_then(|bucket| bucket.name.0);
    let key = object.0.and_then(|object| object.key.0);
    Ok(ChangedObject {
        bucket: bucket.ok_or_else(|| missing("bucket.name"))?,
        key: key.ok_or_else(|| missing("object.key"))?,
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
