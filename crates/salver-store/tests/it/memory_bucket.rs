//! A bucket in memory, which counts what it is asked, fails as it is told, and lets something happen between two requests.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use salver_assets::Patience;
use salver_assets::source::Reader;
use salver_store::{
    Bucket, BucketObject, ListedObject, ObjectChange, ObjectVersion, PutCondition, PutOutcome,
};

/// What a bucket does instead of what it should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It answers nothing.
    IsAway,
    /// It does what it is asked, once, and its answer is lost; from then on it is away.
    LosesAnswer,
    /// It knows no conditions.
    IgnoresConditions,
}

type Hook = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Object>,
    versions: u64,
    asked: Vec<String>,
    /// The fault, and the number of requests before it.
    fault: Option<(usize, Fault)>,
    /// What happens, and the number of requests before it.
    hook: Option<(usize, Hook)>,
    /// What happens between what a GET finds and its answer.
    late_hook: Option<Hook>,
}

#[derive(Clone)]
struct Object {
    content: Vec<u8>,
    version: u64,
    modified: SystemTime,
}

/// The bucket. Clones are one.
#[derive(Clone, Default)]
pub(crate) struct MemoryBucket(Arc<Mutex<State>>);

impl fmt::Debug for MemoryBucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MemoryBucket")
    }
}

impl MemoryBucket {
    pub(crate) fn shared(&self) -> Arc<dyn Bucket> {
        Arc::new(self.clone())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// Has a fault from so many requests on; `None`: none any more.
    pub(crate) fn fail(&self, fault: Option<(usize, Fault)>) {
        self.state().fault = fault;
    }

    /// Has something happen after so many requests.
    pub(crate) fn interrupt(&self, after: usize, hook: impl FnOnce() + Send + 'static) {
        self.state().hook = Some((after, Box::new(hook)));
    }

    /// Has something happen once the next GET has found what it is going to answer.
    pub(crate) fn after_get(&self, hook: impl FnOnce() + Send + 'static) {
        self.state().late_hook = Some(Box::new(hook));
    }

    /// True if it has not come to that.
    pub(crate) fn was_not_interrupted(&self) -> bool {
        self.state().hook.take().is_some()
    }

    /// What was asked since this was asked last.
    pub(crate) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.state().asked)
    }

    pub(crate) fn objects(&self) -> BTreeMap<String, Vec<u8>> {
        let state = self.state();
        let objects = state.objects.iter();
        objects
            .map(|(key, object)| (key.clone(), object.content.clone()))
            .collect()
    }

    /// Puts an object behind the back of everybody.
    pub(crate) fn spoil(&self, key: &str, content: Option<&[u8]>) {
        let mut state = self.state();
        match content {
            Some(content) => drop(state.put(key, content.to_vec())),
            None => drop(state.objects.remove(key)),
        }
    }

    /// Makes all that there is older.
    pub(crate) fn age(&self, by: Duration) {
        for object in self.state().objects.values_mut() {
            object.modified -= by;
        }
    }

    /// Begins a request; what it says has to be done whether or not the answer comes.
    fn begin(&self, what: &str, key: &str) -> io::Result<bool> {
        let hook = {
            let mut state = self.state();
            state.asked.push(format!("{what} {key}"));
            match &mut state.hook {
                Some((0, _)) => state.hook.take(),
                Some((left, _)) => {
                    *left -= 1;
                    None
                }
                None => None,
            }
        };
        if let Some((_, hook)) = hook {
            hook();
        }
        let mut state = self.state();
        match &mut state.fault {
            Some((0, Fault::IsAway)) => Err(io::ErrorKind::NotConnected.into()),
            Some((0, fault @ Fault::LosesAnswer)) => {
                *fault = Fault::IsAway;
                Ok(true)
            }
            Some((0, Fault::IgnoresConditions)) | None => Ok(false),
            Some((left, _)) => {
                *left -= 1;
                Ok(false)
            }
        }
    }
}

impl State {
    fn put(&mut self, key: &str, content: Vec<u8>) -> ObjectVersion {
        self.versions += 1;
        let object = Object {
            content,
            version: self.versions,
            modified: UNIX_EPOCH + Duration::from_secs(1_764_000_000),
        };
        let version = object.version();
        self.objects.insert(key.to_owned(), object);
        version
    }
}

impl Object {
    fn version(&self) -> ObjectVersion {
        ObjectVersion {
            e_tag: Some(format!("\"{}\"", self.version)),
            version: None,
        }
    }
}

fn answered<T>(is_lost: bool, answer: T) -> io::Result<T> {
    match is_lost {
        true => Err(io::ErrorKind::TimedOut.into()),
        false => Ok(answer),
    }
}

impl Bucket for MemoryBucket {
    fn place(&self) -> &str {
        "memory://bucket"
    }

    fn get(&self, key: &str, most: u64) -> io::Result<Option<BucketObject>> {
        let is_lost = self.begin("GET", key)?;
        let object = self.state().objects.get(key).cloned();
        let hook = self.state().late_hook.take();
        if let Some(hook) = hook {
            hook();
        }
        if object
            .as_ref()
            .is_some_and(|object| object.content.len() > usize::try_from(most).unwrap())
        {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let object = object.map(|object| BucketObject {
            version: object.version(),
            content: object.content,
        });
        answered(is_lost, object)
    }

    fn get_if_changed(
        &self,
        key: &str,
        most: u64,
        known: &ObjectVersion,
    ) -> io::Result<ObjectChange> {
        Ok(match self.get(key, most)? {
            None => ObjectChange::Gone,
            Some(object) if object.version == *known => ObjectChange::Same,
            Some(object) => ObjectChange::Changed(object),
        })
    }

    fn length(&self, key: &str) -> io::Result<Option<u64>> {
        let is_lost = self.begin("HEAD", key)?;
        let length = self
            .state()
            .objects
            .get(key)
            .map(|object| u64::try_from(object.content.len()).unwrap());
        answered(is_lost, length)
    }

    fn list(&self, directory: &str, most: usize) -> io::Result<Vec<ListedObject>> {
        let is_lost = self.begin("LIST", directory)?;
        let state = self.state();
        let is_beneath = |key: &str| {
            directory.is_empty()
                || key
                    .strip_prefix(directory)
                    .is_some_and(|rest| rest.starts_with('/'))
        };
        let objects = state.objects.iter().filter(|(key, _)| is_beneath(key));
        let listed = objects.take(most).map(|(key, object)| ListedObject {
            key: key.clone(),
            length: u64::try_from(object.content.len()).unwrap(),
            modified: object.modified,
        });
        answered(is_lost, listed.collect())
    }

    fn put(&self, key: &str, content: Vec<u8>, condition: &PutCondition) -> io::Result<PutOutcome> {
        let is_lost = self.begin("PUT", key)?;
        let mut state = self.state();
        let there = state.objects.get(key).map(Object::version);
        let knows_conditions = !matches!(state.fault, Some((_, Fault::IgnoresConditions)));
        let holds = match condition {
            PutCondition::Absent if knows_conditions => there.is_none(),
            PutCondition::Same(version) if knows_conditions => there.as_ref() == Some(version),
            _ => true,
        };
        if !holds {
            return answered(is_lost, PutOutcome::Refused);
        }
        let version = state.put(key, content);
        answered(is_lost, PutOutcome::Put(version))
    }

    fn put_parts(
        &self,
        key: &str,
        next: &mut dyn FnMut() -> io::Result<Option<Vec<u8>>>,
    ) -> io::Result<()> {
        let mut content = Vec::new();
        let mut is_last = false;
        while let Some(part) = next()? {
            assert!(!is_last, "only the last part may be short");
            is_last = part.len() < 5 * 1024 * 1024;
            content.extend(part);
            self.begin("PART", key)?;
        }
        self.put(key, content, &PutCondition::Always).map(drop)
    }

    fn remove(&self, key: &str) -> io::Result<()> {
        let is_lost = self.begin("DELETE", key)?;
        self.state().objects.remove(key);
        answered(is_lost, ())
    }

    fn open(&self, key: &str, _: Patience) -> io::Result<(u64, Reader)> {
        let object = self.get(key, u64::MAX)?.ok_or(io::ErrorKind::NotFound)?;
        let length = u64::try_from(object.content.len()).unwrap();
        Ok((length, Reader::Memory(object.content.into())))
    }

    fn forget(&self, _: &str) {}
}
