//! The content of long objects: slices that come once, the next while one is read, of one version, within a budget.

use std::io::ErrorKind;
use std::sync::Arc;
use std::time::{Duration, Instant};

use object_store::GetRange;
use salver_assets::source::{Opened, Reader};
use salver_assets::{Patience, Source as _};
use salver_object_store::ObjectStoreSource;

use crate::store::{Asked, FaultStore, settings};

const MIB: usize = 1024 * 1024;

/// So many bytes that no two slices are alike.
fn content(length: usize) -> Vec<u8> {
    (0..length)
        .map(|at| u8::try_from((at ^ (at >> 8) ^ (at >> 16)) & 0xff).unwrap())
        .collect()
}

fn open(source: &ObjectStoreSource, path: &[u8]) -> Opened {
    let view = source.view(Patience::MayWait).unwrap();
    view.open(path, Patience::MayWait).unwrap()
}

fn read(opened: &Opened, from: usize, length: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; length];
    let mut have = 0;
    while have < length {
        let offset = u64::try_from(from + have).unwrap();
        let rest = &mut bytes[have..];
        match opened.reader.read_at(rest, offset, Patience::MayWait)? {
            0 => break,
            count => have += count,
        }
    }
    bytes.truncate(have);
    Ok(bytes)
}

/// The ranges of all requests for slices since.
fn ranges(store: &FaultStore) -> Vec<(u64, u64)> {
    let range = |asked: Asked| match asked.range {
        Some(GetRange::Bounded(range)) => Some((range.start, range.end)),
        _ => None,
    };
    store.asked().into_iter().filter_map(range).collect()
}

#[test]
fn slices_are_aligned_and_come_once() {
    let (store, content) = (FaultStore::default(), content(5 * MIB + 7));
    store.put("long", Some(&content));
    let source = store.source(settings());
    let opened = open(&source, b"long");
    assert!(matches!(opened.reader, Reader::Remote(_)));
    for _ in 0..2 {
        assert!(read(&opened, 0, content.len() + 1).unwrap() == content);
    }
    let mib = u64::try_from(MIB).unwrap();
    let mut expected: Vec<_> = (0..5).map(|n| (n * mib, (n + 1) * mib)).collect();
    expected.push((5 * mib, 5 * mib + 7));
    let mut asked = ranges(&store);
    asked.sort_unstable();
    assert_eq!(asked, expected);
}

#[test]
fn a_few_bytes_bring_one_slice() {
    let (store, content) = (FaultStore::default(), content(3 * MIB));
    store.put("long", Some(&content));
    let source = store.source(settings());
    let opened = open(&source, b"long");
    let at = MIB - 10;
    assert_eq!(read(&opened, at, 5).unwrap(), content[at..at + 5]);
    // Over a border.
    assert_eq!(
        read(&open(&source, b"long"), at, 20).unwrap(),
        content[at..at + 20]
    );
    let asked = ranges(&store);
    assert!(asked.len() <= 3, "{asked:?}");
    let other = open(&source, b"long");
    assert_eq!(read(&other, at, 5).unwrap(), content[at..at + 5]);
    assert!(ranges(&store).is_empty());
}

#[test]
fn the_next_slice_comes_while_one_is_read() {
    let (store, content) = (FaultStore::default(), content(3 * MIB));
    store.put("long", Some(&content));
    let source = store.source(settings());
    let opened = open(&source, b"long");
    let Reader::Remote(remote) = &opened.reader else {
        panic!("{opened:?}")
    };
    let mib = u64::try_from(MIB).unwrap();
    for at in 0..3 {
        read(&opened, at * MIB / 4, MIB / 4).unwrap();
    }
    let begun = Instant::now();
    while !remote.is_in_memory(&(mib..2 * mib)) {
        assert!(begun.elapsed() < Duration::from_secs(30));
        std::thread::sleep(Duration::from_millis(1));
    }
    assert!(!remote.is_in_memory(&(mib..2 * mib + 1)));
    let mut buffer = [0; 10];
    let read = opened
        .reader
        .read_at(&mut buffer, mib, Patience::MustNotWait);
    assert_eq!((read.unwrap(), &buffer[..]), (10, &content[MIB..MIB + 10]));
    let beyond = opened
        .reader
        .read_at(&mut buffer, 2 * mib, Patience::MustNotWait);
    assert_eq!(beyond.unwrap_err().kind(), ErrorKind::WouldBlock);
}

#[test]
fn many_readers_of_a_slice_are_one_request() {
    let (store, content) = (FaultStore::default(), content(2 * MIB));
    store.put("long", Some(&content));
    let source = store.source(settings());
    let opened = Arc::new(open(&source, b"long"));
    let _ = store.asked();
    store.fail(Some(crate::store::Fault::IsSlow(Duration::from_millis(50))));
    let threads: Vec<_> = (0..64)
        .map(|number| {
            let opened = Arc::clone(&opened);
            std::thread::spawn(move || read(&opened, number * 100, 100).unwrap())
        })
        .collect();
    for (number, thread) in threads.into_iter().enumerate() {
        let from = number * 100;
        assert_eq!(thread.join().unwrap(), content[from..from + 100]);
    }
    assert_eq!(ranges(&store).len(), 1);
}

#[test]
fn memory_is_bounded_and_what_went_comes_again() {
    let (store, content) = (FaultStore::default(), content(4 * MIB));
    store.put("long", Some(&content));
    let mut settings = settings();
    settings.slice_memory = MIB + MIB / 2;
    let source = store.source(settings);
    let opened = open(&source, b"long");
    let Reader::Remote(remote) = &opened.reader else {
        panic!("{opened:?}")
    };
    for _ in 0..2 {
        assert!(read(&opened, 0, content.len()).unwrap() == content);
        let mib = u64::try_from(MIB).unwrap();
        let is_kept = |number: u64| remote.is_in_memory(&(number * mib..(number + 1) * mib));
        assert!((0..4).filter(|number| is_kept(*number)).count() <= 1);
    }
    assert!(ranges(&store).len() >= 8);
}

#[test]
fn what_is_replaced_while_it_is_read_ends() {
    let (store, old) = (FaultStore::default(), content(3 * MIB));
    store.put("long", Some(&old));
    let source = store.source(settings());
    let opened = open(&source, b"long");
    assert!(read(&opened, 0, 10).unwrap() == old[..10]);
    let mut new = old.clone();
    new.reverse();
    store.put("long", Some(&new));
    // What is there is of the old one, and nothing else is.
    assert!(read(&opened, 5, 10).unwrap() == old[5..15]);
    let error = read(&opened, 2 * MIB, 10).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    let again = open(&source, b"long");
    assert_ne!(again.metadata.identity, opened.metadata.identity);
    assert!(read(&again, 0, new.len()).unwrap() == new);
    store.put("long", None);
    assert!(
        read(&again, 0, 10).unwrap() == new[..10],
        "what is kept is kept"
    );
}

#[test]
fn a_replaced_object_is_asked_for_anew_although_it_was_known() {
    let (store, old) = (FaultStore::default(), content(2 * MIB));
    store.put("long", Some(&old));
    let mut settings = settings();
    settings.revalidate = Duration::from_secs(3600);
    let source = store.source(settings);
    let opened = open(&source, b"long");
    let new = vec![b'n'; 2 * MIB];
    store.put("long", Some(&new));
    assert_eq!(
        read(&opened, 0, 10).unwrap_err().kind(),
        ErrorKind::NotFound
    );
    assert!(read(&open(&source, b"long"), 0, new.len()).unwrap() == new);
}
