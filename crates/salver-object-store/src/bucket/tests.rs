use async_trait::async_trait;
use object_store::list::PaginatedListResult;
use object_store::memory::InMemory;

use super::*;

/// A store that says there is more, whatever it has sent: pages with so many names.
struct EndlessList(usize);

#[async_trait]
impl PaginatedListStore for EndlessList {
    async fn list_paginated(
        &self,
        _: Option<&str>,
        options: PaginatedListOptions,
    ) -> object_store::Result<PaginatedListResult> {
        let names = 0..self.0.min(options.max_keys.unwrap_or(PAGE));
        Ok(PaginatedListResult {
            result: ListResult {
                common_prefixes: names.map(|name| Path::from(format!("{name}"))).collect(),
                objects: Vec::new(),
                extensions: object_store::Extensions::default(),
            },
            page_token: Some("more".to_owned()),
        })
    }
}

/// A store that lists a key which no path leads to.
struct OddKey;

#[async_trait]
impl PaginatedListStore for OddKey {
    async fn list_paginated(
        &self,
        _: Option<&str>,
        _: PaginatedListOptions,
    ) -> object_store::Result<PaginatedListResult> {
        Err(Path::parse("a//b").unwrap_err().into())
    }
}

fn bucket(lists: impl PaginatedListStore + 'static) -> Bucket {
    let lists = Lists::Pages(Arc::new(lists));
    Bucket::new(Arc::new(InMemory::new()), lists, &Settings::default())
}

fn done<T>(work: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().build().unwrap().block_on(work)
}

#[test]
fn a_list_without_an_end_ends() {
    let check = |names: usize, most: usize, expected: Result<usize, io::ErrorKind>| {
        let bucket = bucket(EndlessList(names));
        let entries = done(bucket.list(&Path::default(), most));
        let entries = entries.map(|entries| entries.len());
        assert_eq!(entries.map_err(|failure| failure.kind), expected, "{names}");
    };
    check(0, 10, Err(io::ErrorKind::InvalidData));
    check(1, 100_000, Err(io::ErrorKind::InvalidData));
    check(1000, 100_000, Ok(100_000));
    check(7, 10, Ok(10));
    assert!(!done(bucket(EndlessList(0)).has_beneath(&Path::default())).unwrap());
}

#[test]
fn a_list_that_cannot_be_read_is_not_an_empty_one() {
    let listed = done(bucket(OddKey).list(&Path::default(), 10));
    assert_eq!(listed.unwrap_err().kind, io::ErrorKind::InvalidData);
    // Something is there.
    assert!(done(bucket(OddKey).has_beneath(&Path::default())).unwrap());
}

#[test]
fn an_answer_without_a_date_has_none() {
    let check = |lists: Lists, seconds: u64, expected: Timestamp| {
        let store = Arc::new(InMemory::new());
        let bucket = Bucket::new(store, lists, &Settings::default());
        let meta = ObjectMeta {
            location: Path::default(),
            last_modified: (std::time::UNIX_EPOCH + Duration::from_secs(seconds)).into(),
            size: 0,
            e_tag: None,
            version: None,
        };
        assert_eq!(bucket.modified(&meta), expected);
    };
    let at = |seconds| Timestamp {
        seconds,
        nanoseconds: 0,
    };
    check(Lists::Never, 0, Timestamp::UNKNOWN);
    check(Lists::Pages(Arc::new(OddKey)), 0, Timestamp::UNKNOWN);
    check(Lists::Never, 7, at(7));
    check(Lists::Whole, 0, at(0));
}

#[test]
fn nobody_prints_credentials() {
    let bucket = bucket(OddKey);
    assert_eq!(format!("{bucket:?}"), "Bucket { .. }");
}
