//! What files of the tier are of: an object at a place, or a slice of one version of it.

use std::time::SystemTime;

use object_store::ObjectMeta;
use object_store::path::Path;
use salver_assets::source::Timestamp;

use crate::object::Object;
use crate::tier::record::{Fields, Reading};

/// What the file of an object is found by, whichever version it is.
pub(super) fn object_subject(place: &str, key: &Path) -> Vec<u8> {
    let fields = Fields::default().text(b"object").text(place.as_bytes());
    fields.text(key.as_ref().as_bytes()).0
}

/// What is written into the file of an object: what it is found by, and its version.
pub(super) fn of_object(place: &str, object: &Object) -> Vec<u8> {
    with_version(Fields(object_subject(place, object.key())), object).0
}

/// What a slice is found by, which is written into its file as well.
pub(super) fn of_slice(place: &str, object: &Object, (size, number): (u64, u64)) -> Vec<u8> {
    let fields = Fields::default().text(b"slice").text(place.as_bytes());
    let fields = fields.text(object.key().as_ref().as_bytes());
    let fields = with_version(fields, object);
    fields.number(size).number(number).0
}

/// The object that a file is of, if that is the one with this key at this place.
pub(super) fn parse_object(subject: &[u8], place: &str, key: &Path, device: u64) -> Option<Object> {
    let version = subject.strip_prefix(&*object_subject(place, key))?;
    let mut reading = Reading(version);
    let (e_tag, version) = (reading.optional()?, reading.optional()?);
    let size = reading.number()?;
    let modified = Timestamp {
        seconds: reading.number()?.cast_signed(),
        nanoseconds: u32::try_from(reading.number()?).ok()?,
    };
    if !reading.0.is_empty() {
        return None;
    }
    let meta = ObjectMeta {
        location: key.clone(),
        // What counts is `modified`.
        last_modified: SystemTime::UNIX_EPOCH.into(),
        size,
        e_tag,
        version,
    };
    Object::new(device, &meta, modified).ok()
}

fn with_version(fields: Fields, object: &Object) -> Fields {
    let [e_tag, version] = object.tags();
    let modified = object.metadata().identity.modified;
    let fields = fields.optional(e_tag).optional(version);
    fields
        .number(object.length())
        .number(modified.seconds.cast_unsigned())
        .number(u64::from(modified.nanoseconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(
        key: &str,
        e_tag: Option<&str>,
        version: Option<&str>,
        modified: Timestamp,
    ) -> Object {
        let meta = ObjectMeta {
            location: Path::parse(key).unwrap(),
            last_modified: SystemTime::UNIX_EPOCH.into(),
            size: 7,
            e_tag: e_tag.map(str::to_owned),
            version: version.map(str::to_owned),
        };
        Object::new(3, &meta, modified).unwrap()
    }

    #[test]
    fn an_object_is_read_as_it_was_written_and_no_other() {
        let at = |seconds| Timestamp {
            seconds,
            nanoseconds: 0,
        };
        let key = Path::parse("a/b").unwrap();
        for object in [
            object("a/b", Some("\"1\""), None, at(-5)),
            object("a/b", Some("W/\"1\""), Some("v"), Timestamp::UNKNOWN),
            object("a/b", None, None, at(1_700_000_000)),
        ] {
            let subject = of_object("place", &object);
            let again = parse_object(&subject, "place", &key, 3).unwrap();
            assert_eq!(again.metadata(), object.metadata());
            assert_eq!(again.tags(), object.tags());
            assert!(parse_object(&subject, "other", &key, 3).is_none());
            let other = Path::parse("a/c").unwrap();
            assert!(parse_object(&subject, "place", &other, 3).is_none());
            for length in 0..subject.len() {
                assert!(parse_object(&subject[..length], "place", &key, 3).is_none());
            }
            let longer = [&subject[..], b"x"].concat();
            assert!(parse_object(&longer, "place", &key, 3).is_none());
        }
    }

    #[test]
    fn slices_of_other_versions_are_others() {
        let [one, other] =
            ["\"1\"", "\"2\""].map(|tag| object("a", Some(tag), None, Timestamp::UNKNOWN));
        let slices = [
            of_slice("p", &one, (4, 0)),
            of_slice("p", &one, (4, 1)),
            of_slice("p", &one, (8, 0)),
            of_slice("p", &other, (4, 0)),
            of_slice("q", &one, (4, 0)),
        ];
        let different: std::collections::HashSet<_> = slices.iter().collect();
        assert_eq!(different.len(), slices.len());
    }
}
