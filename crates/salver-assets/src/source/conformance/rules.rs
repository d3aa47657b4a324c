//! The rules that hold of any tree at rest.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use salver_semantics::ContentCoding;

use super::{FILES, Rule, Violation, violates};
use crate::source::digest;
use crate::source::{Kind, Opened, Patience, Reader, Source, View};

const WAIT: Patience = Patience::MayWait;
const DO_NOT_WAIT: Patience = Patience::MustNotWait;

/// The longest time for which a view has something awaited.
const LONGEST: Duration = Duration::from_mins(1);

/// The pause before it is looked again whether that has come.
const PAUSE: Duration = Duration::from_millis(1);

/// Far beyond the end of any of the [`FILES`], in bytes.
const FAR: u64 = 1 << 40;

/// Checks a source that holds exactly [`FILES`].
///
/// # Errors
/// The first rule that does not hold.
pub fn check(source: &dyn Source) -> Result<(), Violation> {
    type Check = fn(&dyn View) -> Result<(), String>;
    const CHECKS: [(Rule, Check); 12] = [
        (Rule::File, files_are_files),
        (Rule::Opened, open_agrees_with_stat),
        (Rule::Content, contents_are_right),
        (Rule::End, there_is_an_end),
        (Rule::Identity, identities_differ),
        (Rule::Known, what_is_known_is_true),
        (Rule::Directory, directories_are_directories),
        (Rule::DirectoryIsNoFile, directories_are_not_opened),
        (Rule::FileIsNoDirectory, files_are_not_listed),
        (Rule::Listing, listings_are_exact),
        (Rule::Absent, nothing_is_elsewhere),
        (Rule::Unclean, nothing_is_at_unclean_paths),
    ];
    let view = view(source)?;
    // While nothing is known yet.
    what_is_awaited_comes(source).map_err(violates(Rule::Awaited))?;
    for (rule, check) in CHECKS {
        check(&*view).map_err(violates(rule))?;
    }
    nobody_waits_who_must_not(source, &*view).map_err(violates(Rule::NotWaiting))
}

fn what_is_awaited_comes(source: &dyn Source) -> Result<(), String> {
    for (path, _) in FILES {
        let Ok(view) = source.view(DO_NOT_WAIT) else {
            continue;
        };
        let is_told = || match view.stat(path.as_bytes(), DO_NOT_WAIT) {
            Ok(_) => true,
            Err(error) => error.kind() != ErrorKind::WouldBlock,
        };
        if is_told() {
            continue;
        }
        let Some(mut awaited) = view.awaited() else {
            continue;
        };
        let (begun, mut context) = (Instant::now(), Context::from_waker(Waker::noop()));
        while awaited.as_mut().poll(&mut context).is_pending() {
            let is_late = begun.elapsed() > LONGEST;
            expect(!is_late, || format!("{path:?}: awaited without end"))?;
            std::thread::sleep(PAUSE);
        }
        expect(is_told(), || format!("{path:?}: awaited in vain"))?;
    }
    Ok(())
}

/// The tree as it is now.
pub(super) fn view(source: &dyn Source) -> Result<Arc<dyn View>, Violation> {
    let view = source.view(WAIT);
    view.map_err(|error| violates(Rule::View)(error.to_string()))
}

fn files_are_files(view: &dyn View) -> Result<(), String> {
    for (path, content) in FILES {
        let metadata = done("stat", path, view.stat(path.as_bytes(), WAIT))?;
        let is_right = metadata.kind == Kind::File
            && u64::try_from(content.len()) == Ok(metadata.identity.length);
        expect(is_right, || format!("stat {path:?}: {metadata:?}"))?;
    }
    Ok(())
}

fn open_agrees_with_stat(view: &dyn View) -> Result<(), String> {
    for (path, _) in FILES {
        let metadata = done("stat", path, view.stat(path.as_bytes(), WAIT))?;
        let opened = open(view, path)?;
        expect(opened.metadata == metadata, || {
            format!("{path:?}: stat {metadata:?}, open {:?}", opened.metadata)
        })?;
    }
    Ok(())
}

fn contents_are_right(view: &dyn View) -> Result<(), String> {
    for (path, content) in FILES {
        let opened = open(view, path)?;
        let (middle, last) = (content.len() / 2, content.len().saturating_sub(1));
        for start in [0, 1, 2, middle, last] {
            let read = read_from(&opened.reader, start, WAIT);
            let read = done("read", path, read)?;
            // Whether it ends there is another question.
            let expected = content.get(start..).unwrap_or_default();
            expect(read.starts_with(expected), || {
                format!("{path:?}: wrong bytes from {start}")
            })?;
        }
    }
    Ok(())
}

fn there_is_an_end(view: &dyn View) -> Result<(), String> {
    for (path, content) in FILES {
        let opened = open(view, path)?;
        let length = u64::try_from(content.len()).unwrap_or(u64::MAX);
        for offset in [length, length + 1, FAR] {
            let count = opened.reader.read_at(&mut [0; 8], offset, WAIT);
            let count = done("read", path, count)?;
            expect(count == 0, || {
                format!("{path:?}: {count} bytes from {offset}, beyond its end")
            })?;
        }
    }
    Ok(())
}

fn identities_differ(view: &dyn View) -> Result<(), String> {
    let mut seen = BTreeMap::new();
    for (path, _) in FILES {
        let metadata = done("stat", path, view.stat(path.as_bytes(), WAIT))?;
        let other = seen.insert(format!("{:?}", metadata.identity), path);
        expect(other.is_none(), || {
            format!("{path:?} and {:?} have one", other.unwrap_or_default())
        })?;
    }
    Ok(())
}

fn what_is_known_is_true(view: &dyn View) -> Result<(), String> {
    for (path, content) in FILES {
        let Some(known) = view.known(path.as_bytes()) else {
            continue;
        };
        let digest = digest::of_bytes(content);
        let decoded = match ContentCoding::of_file_name(path.as_bytes()) {
            Some((coding, _)) if digest::DECODED.contains(&coding) => {
                let read = digest::of_coded(&mut &*content, coding, FAR);
                done("decode", path, read)?.decoded
            }
            // This build cannot tell.
            Some(_) => known.decoded,
            None => None,
        };
        let is_true =
            known.digest == digest && (known.decoded.is_none() || known.decoded == decoded);
        expect(is_true, || format!("of {path:?}: {known:?}"))?;
    }
    for path in directories().keys().chain([&"nothing".to_owned()]) {
        let known = view.known(path.as_bytes());
        expect(known.is_none(), || format!("of {path:?}: {known:?}"))?;
    }
    Ok(())
}

fn directories_are_directories(view: &dyn View) -> Result<(), String> {
    for path in directories().keys() {
        let metadata = done("stat", path, view.stat(path.as_bytes(), WAIT))?;
        expect(metadata.kind == Kind::Directory, || {
            format!("stat {path:?}: {metadata:?}")
        })?;
    }
    Ok(())
}

fn directories_are_not_opened(view: &dyn View) -> Result<(), String> {
    for path in directories().keys() {
        let opened = view.open(path.as_bytes(), WAIT);
        fails("open", path, opened, &[ErrorKind::InvalidInput])?;
    }
    Ok(())
}

fn files_are_not_listed(view: &dyn View) -> Result<(), String> {
    for (path, _) in FILES {
        let listed = view.list(path.as_bytes());
        fails("list", path, listed, &[ErrorKind::NotADirectory])?;
    }
    Ok(())
}

fn listings_are_exact(view: &dyn View) -> Result<(), String> {
    for (path, expected) in directories() {
        let mut names = done("list", &path, view.list(path.as_bytes()))?;
        names.sort();
        let expected: Vec<_> = expected.iter().map(|name| name.as_bytes()).collect();
        expect(names == expected, || {
            let names = names.iter().map(|name| name.escape_ascii().to_string());
            format!("of {path:?}: {:?}", names.collect::<Vec<_>>())
        })?;
        for most in [0, 1, usize::MAX] {
            let mut some = done("names", &path, view.names(path.as_bytes(), most))?;
            some.sort();
            some.dedup();
            let are_listed = some.iter().all(|name| expected.contains(&&**name));
            expect(are_listed && some.len() == expected.len().min(most), || {
                format!("of {path:?}: {} names where {most} were wanted", some.len())
            })?;
        }
    }
    Ok(())
}

fn nothing_is_elsewhere(view: &dyn View) -> Result<(), String> {
    for path in [
        "nothing",
        "A.TXT",
        "a.tx",
        "a.txt0",
        "sub/nothing",
        "sub/a.txt",
        "su",
        "sub/deep/1/2/3/4/5/6/7/8/9/f0",
        "a.txt/b",
        "empty/a.txt",
        "nothing/at/all",
        "sub%2fb.txt",
    ] {
        is_absent(view, path)?;
    }
    Ok(())
}

fn nothing_is_at_unclean_paths(view: &dyn View) -> Result<(), String> {
    for path in [
        ".",
        "..",
        "/",
        "./a.txt",
        "a.txt/",
        "a.txt/.",
        "sub/",
        "sub/.",
        "sub/..",
        "sub//b.txt",
        "sub/./b.txt",
        "sub/../a.txt",
        "nothing/../a.txt",
        "/a.txt",
        "//a.txt",
        "/sub",
        "\0",
        "a.txt\0",
        "a.txt\0b",
        "sub\0",
    ] {
        is_absent(view, path)?;
    }
    Ok(())
}

fn nobody_waits_who_must_not(source: &dyn Source, view: &dyn View) -> Result<(), String> {
    let same = |what: &str, path: &str, is_same: bool, error: Option<io::Error>| match error {
        None => expect(is_same, || format!("{what} {path:?}: not the same")),
        Some(error) if error.kind() == ErrorKind::WouldBlock => Ok(()),
        Some(error) => Err(format!("{what} {path:?}: {error}")),
    };
    same("view", "", true, source.view(DO_NOT_WAIT).err())?;
    for (path, content) in FILES {
        let path_bytes = path.as_bytes();
        let metadata = done("stat", path, view.stat(path_bytes, WAIT))?;
        let stat = view.stat(path_bytes, DO_NOT_WAIT);
        let is_same = stat.as_ref().is_ok_and(|stat| *stat == metadata);
        same("stat", path, is_same, stat.err())?;
        let opened = view.open(path_bytes, DO_NOT_WAIT);
        let is_same = opened.as_ref().is_ok_and(|o| o.metadata == metadata);
        same("open", path, is_same, opened.err())?;
        let read = read_from(&open(view, path)?.reader, 0, DO_NOT_WAIT);
        let is_same = read.as_ref().is_ok_and(|read| read == content);
        same("read", path, is_same, read.err())?;
    }
    let stat = view.stat(b"nothing", DO_NOT_WAIT);
    let kinds = [
        ErrorKind::NotFound,
        ErrorKind::NotADirectory,
        ErrorKind::WouldBlock,
    ];
    fails("stat", "nothing", stat, &kinds)
}

/// Fails unless all methods say that nothing is there.
pub(super) fn is_absent(view: &dyn View, path: &str) -> Result<(), String> {
    let kinds = [ErrorKind::NotFound, ErrorKind::NotADirectory];
    fails("stat", path, view.stat(path.as_bytes(), WAIT), &kinds)?;
    fails("open", path, view.open(path.as_bytes(), WAIT), &kinds)?;
    fails("list", path, view.list(path.as_bytes()), &kinds)
}

/// Opens what must be there.
pub(super) fn open(view: &dyn View, path: &str) -> Result<Opened, String> {
    done("open", path, view.open(path.as_bytes(), WAIT))
}

/// All bytes from `start` on, read in pieces.
pub(super) fn read_from(reader: &Reader, start: usize, patience: Patience) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let offset = u64::try_from(start + bytes.len()).unwrap_or(u64::MAX);
        match reader.read_at(&mut buffer, offset, patience)? {
            0 => return Ok(bytes),
            count => bytes.extend_from_slice(buffer.get(..count).unwrap_or_default()),
        }
    }
}

/// The directories of [`FILES`] and what is in each, sorted.
fn directories() -> BTreeMap<String, Vec<String>> {
    let mut directories: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (path, _) in FILES {
        let mut path = path;
        loop {
            let (directory, name) = path.rsplit_once('/').unwrap_or(("", path));
            let names = directories.entry(directory.to_owned()).or_default();
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
            if directory.is_empty() {
                break;
            }
            path = directory;
        }
    }
    directories.values_mut().for_each(|names| names.sort());
    directories
}

fn expect(holds: bool, seen: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(seen()) }
}

fn done<T>(what: &str, path: &str, result: io::Result<T>) -> Result<T, String> {
    result.map_err(|error| format!("{what} {path:?}: {error}"))
}

fn fails<T>(
    what: &str,
    path: &str,
    result: io::Result<T>,
    kinds: &[ErrorKind],
) -> Result<(), String> {
    match result {
        Ok(_) => Err(format!("{what} {path:?}: does not fail")),
        Err(error) => expect(kinds.contains(&error.kind()), || {
            format!("{what} {path:?}: {error}, which is {:?}", error.kind())
        }),
    }
}
