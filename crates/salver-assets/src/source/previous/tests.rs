use std::fs;
#[cfg(unix)]
use std::os::unix::fs::symlink;
use std::path::Path;

use super::*;
use crate::source::conformance::{FILES, check, check_apart, check_changes};
use crate::source::digest;
use crate::{DirectorySource, Symlinks};

const WAIT: Patience = Patience::MayWait;
const HOUR: Duration = Duration::from_secs(3600);

/// A tree that is served and replaced, and a place for what is kept.
struct Tree(tempfile::TempDir);

impl Tree {
    fn new(files: &[(&str, &[u8])]) -> Self {
        let tree = Tree(tempfile::tempdir().unwrap());
        fs::create_dir(tree.root()).unwrap();
        files
            .iter()
            .for_each(|(path, content)| tree.put(path, Some(content)));
        tree
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("site")
    }

    fn put(&self, path: &str, content: Option<&[u8]>) {
        put(&self.root(), path, content);
    }

    /// The source that keeps, in memory or in a directory.
    fn source(&self, in_directory: bool, most_bytes: u64) -> PreviousSource {
        let files = DirectorySource::open(&self.root(), Symlinks::Beneath, Duration::ZERO);
        let keep = KeepPrevious {
            name: "test".to_owned(),
            time: HOUR,
            most_bytes,
            directory: in_directory.then(|| self.0.path().join("kept")),
            dotfiles: false,
        };
        PreviousSource::new(Arc::new(files.unwrap()), keep)
    }
}

fn put(root: &Path, path: &str, content: Option<&[u8]>) {
    let path = root.join(path);
    match content {
        Some(content) => {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let new = root.with_extension("new");
            fs::write(&new, content).unwrap();
            fs::rename(new, path).unwrap();
        }
        None => fs::remove_file(path).unwrap(),
    }
}

/// Looks until so many files are kept: what has just been written has to rest.
fn look_until(source: &PreviousSource, count: usize) {
    let began = Instant::now();
    loop {
        source.look(SystemTime::now());
        let (found, ..) = source.shared.entries.hold().count();
        if found == count {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{found}");
        std::thread::yield_now();
    }
}

fn read(source: &PreviousSource, path: &str) -> Result<Vec<u8>, io::ErrorKind> {
    let read = || {
        let opened = source.view(WAIT)?.open(path.as_bytes(), WAIT)?;
        let length = usize::try_from(opened.metadata.identity.length).unwrap();
        let mut bytes = vec![0; length + 1];
        let count = opened.reader.read_at(&mut bytes, 0, WAIT)?;
        bytes.truncate(count);
        Ok(bytes)
    };
    read().map_err(|error: io::Error| error.kind())
}

const ABSENT: Result<Vec<u8>, io::ErrorKind> = Err(io::ErrorKind::NotFound);

#[test]
fn holds_to_what_every_source_must() {
    for in_directory in [false, true] {
        let trees = [(); 2].map(|()| Tree::new(&FILES));
        let [one, other] = trees
            .each_ref()
            .map(|tree| tree.source(in_directory, 1 << 20));
        for source in [&one, &other] {
            source.look(SystemTime::now());
        }
        check(&one).unwrap();
        check_apart(&one, &other).unwrap();
    }
}

#[test]
fn changes_as_every_source_must() {
    for in_directory in [false, true] {
        let tree = Tree::new(&FILES);
        let source = tree.source(in_directory, 1 << 20);
        source.look(SystemTime::now());
        check_changes(&source, |path, content| {
            tree.put(path, content);
            source.look(SystemTime::now());
        })
        .unwrap();
    }
}

#[test]
fn what_has_gone_is_answered_for_its_time_and_nothing_else_is() {
    let files: [(&str, &[u8]); 6] = [
        ("index.html", b"page"),
        ("page.3f9a1c2b.html", b"page"),
        ("plain.js", b"plain"),
        (".hidden/app.3f9a1c2b.js", b"hidden"),
        ("assets/app.3f9a1c2b.js", b"code"),
        ("assets/app.3f9a1c2b.js.br", b"coded"),
    ];
    for in_directory in [false, true] {
        let tree = Tree::new(&files);
        let source = tree.source(in_directory, 1 << 20);
        look_until(&source, 2);
        let before = source.view(WAIT).unwrap();
        let before = before.stat(b"assets/app.3f9a1c2b.js", WAIT).unwrap();
        // All of the tree goes, as where a build empties its folder.
        fs::remove_dir_all(tree.root()).unwrap();
        let view = source.view(WAIT).unwrap();
        let after = view.stat(b"assets/app.3f9a1c2b.js", WAIT).unwrap();
        assert_ne!(before.identity, after.identity);
        assert_eq!(before.identity.modified, after.identity.modified);
        assert_eq!(read(&source, "assets/app.3f9a1c2b.js").unwrap(), b"code");
        fs::create_dir(tree.root()).unwrap();
        source.look(SystemTime::now());
        assert_eq!(read(&source, "assets/app.3f9a1c2b.js").unwrap(), b"code");
        assert_eq!(
            read(&source, "assets/app.3f9a1c2b.js.br").unwrap(),
            b"coded"
        );
        for (path, _) in &files[..4] {
            assert_eq!(read(&source, path), ABSENT, "{path}");
        }
        // It is in no listing, and nobody waits for it who must not.
        let view = source.view(WAIT).unwrap();
        assert_eq!(view.list(b"").unwrap(), Vec::<Vec<u8>>::new());
        assert_eq!(
            view.list(b"assets").unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
        let waits = view.stat(b"assets/app.3f9a1c2b.js", Patience::MustNotWait);
        assert_eq!(waits.unwrap_err().kind(), io::ErrorKind::WouldBlock);
        // What is there again is what counts, and gone again it is as it was last.
        tree.put("assets/app.3f9a1c2b.js", Some(b"other code"));
        assert_eq!(
            read(&source, "assets/app.3f9a1c2b.js").unwrap(),
            b"other code"
        );
        let is_known = || {
            let entries = source.shared.entries.hold();
            let kept = entries.get(b"assets/app.3f9a1c2b.js").unwrap();
            kept.digest == digest::of_bytes(b"other code")
        };
        let began = Instant::now();
        while !is_known() {
            assert!(began.elapsed() < Duration::from_secs(60));
            source.look(SystemTime::now());
        }
        tree.put("assets/app.3f9a1c2b.js", None);
        let gone = SystemTime::now();
        source.look(gone);
        assert_eq!(
            read(&source, "assets/app.3f9a1c2b.js").unwrap(),
            b"other code"
        );
        source.look(gone + HOUR / 2);
        assert_eq!(
            read(&source, "assets/app.3f9a1c2b.js").unwrap(),
            b"other code"
        );
        source.look(gone + HOUR);
        assert_eq!(read(&source, "assets/app.3f9a1c2b.js"), ABSENT);
        let kept = fs::read_dir(tree.0.path().join("kept"));
        let kept = kept.map_or(0, Iterator::count);
        assert_eq!(
            kept,
            usize::from(in_directory),
            "nothing is left but the list"
        );
    }
}

#[test]
fn a_name_that_is_there_is_never_answered_by_what_was() {
    let tree = Tree::new(&[("a/app.3f9a1c2b.js", b"code"), ("b/x.3f9a1c2b.js", b"code")]);
    let source = tree.source(false, 1 << 20);
    look_until(&source, 2);
    let outside = tree.0.path().join("secret");
    fs::write(&outside, "secret").unwrap();
    // A link that leads out, a directory, a file where its directory was.
    tree.put("a/app.3f9a1c2b.js", None);
    #[cfg(unix)]
    {
        symlink(&outside, tree.root().join("a/app.3f9a1c2b.js")).unwrap();
        assert_eq!(read(&source, "a/app.3f9a1c2b.js"), ABSENT);
        fs::remove_file(tree.root().join("a/app.3f9a1c2b.js")).unwrap();
    }
    assert_eq!(read(&source, "a/app.3f9a1c2b.js").unwrap(), b"code");
    fs::create_dir(tree.root().join("a/app.3f9a1c2b.js")).unwrap();
    assert!(read(&source, "a/app.3f9a1c2b.js").is_err());
    source.look(SystemTime::now());
    fs::remove_dir(tree.root().join("a/app.3f9a1c2b.js")).unwrap();
    assert_eq!(
        read(&source, "a/app.3f9a1c2b.js"),
        ABSENT,
        "something else had its name"
    );
    fs::remove_dir_all(tree.root().join("b")).unwrap();
    assert_eq!(read(&source, "b/x.3f9a1c2b.js").unwrap(), b"code");
    tree.put("b", Some(b"file"));
    assert_eq!(
        read(&source, "b/x.3f9a1c2b.js"),
        Err(io::ErrorKind::NotADirectory)
    );
    // What a link leads out to is never kept.
    #[cfg(unix)]
    {
        symlink(&outside, tree.root().join("link.3f9a1c2b.js")).unwrap();
        source.look(SystemTime::now() + HOUR);
        fs::remove_file(tree.root().join("link.3f9a1c2b.js")).unwrap();
        assert_eq!(read(&source, "link.3f9a1c2b.js"), ABSENT);
    }
}

#[test]
fn bounds_hold_and_what_went_first_makes_room() {
    let tree = Tree::new(&[
        ("a.3f9a1c2b.js", &[b'a'; 400]),
        ("b.3f9a1c2b.js", &[b'b'; 400]),
    ]);
    let source = tree.source(true, 1000);
    look_until(&source, 2);
    let now = SystemTime::now();
    tree.put("a.3f9a1c2b.js", None);
    source.look(now);
    tree.put("b.3f9a1c2b.js", None);
    source.look(now + Duration::from_secs(1));
    tree.put("c.3f9a1c2b.js", Some(&[b'c'; 500]));
    let began = Instant::now();
    while source.shared.entries.hold().get(b"c.3f9a1c2b.js").is_none() {
        assert!(began.elapsed() < Duration::from_secs(60));
        source.look(now + Duration::from_secs(2));
    }
    assert_eq!(read(&source, "a.3f9a1c2b.js"), ABSENT);
    assert_eq!(read(&source, "b.3f9a1c2b.js").unwrap(), [b'b'; 400]);
    // What is too much for all of them is passed over, and takes nothing from others.
    tree.put("d.3f9a1c2b.js", Some(&[b'd'; 1001]));
    let began = Instant::now();
    while began.elapsed() < Duration::from_millis(300) {
        source.look(now + Duration::from_secs(3));
    }
    let (count, bytes, gone) = source.shared.entries.hold().count();
    assert_eq!((count, bytes, gone), (2, 900, 1));
}

#[test]
fn another_process_takes_it_up_and_believes_nothing_that_is_damaged() {
    let tree = Tree::new(&[("a.3f9a1c2b.js", b"alpha"), ("b.3f9a1c2b.js", b"beta")]);
    look_until(&tree.source(true, 1 << 20), 2);
    tree.put("a.3f9a1c2b.js", None);
    let kept = tree.0.path().join("kept");
    fs::write(kept.join(".new-1-1"), "half").unwrap();
    fs::write(kept.join("0".repeat(32)), "of nobody").unwrap();
    fs::write(kept.join("note.txt"), "of somebody").unwrap();
    let source = tree.source(true, 1 << 20);
    assert_eq!(read(&source, "a.3f9a1c2b.js"), ABSENT);
    source.look(SystemTime::now());
    assert_eq!(read(&source, "a.3f9a1c2b.js").unwrap(), b"alpha");
    let names = || fs::read_dir(&kept).unwrap().count();
    assert_eq!(names(), 4, "the list, two files, and what is not ours");
    let content = kept.join(format!("{:032x}", digest::of_bytes(b"alpha")));
    fs::write(&content, "alphx").unwrap();
    assert_eq!(read(&source, "a.3f9a1c2b.js"), ABSENT);
    assert!(!content.exists());
    fs::write(kept.join("index"), "nonsense").unwrap();
    tree.put("b.3f9a1c2b.js", None);
    let source = tree.source(true, 1 << 20);
    source.look(SystemTime::now());
    assert_eq!(read(&source, "b.3f9a1c2b.js"), ABSENT);
    assert_eq!(names(), 2);
}

#[test]
fn one_that_takes_its_place_has_what_it_had_and_a_thread_ends_with_it() {
    let tree = Tree::new(&[("a.3f9a1c2b.js", b"alpha")]);
    let source = tree.source(false, 1 << 20);
    source.start().unwrap();
    let began = Instant::now();
    while source.shared.entries.hold().is_empty() {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    tree.put("a.3f9a1c2b.js", None);
    let next = tree.source(false, 1 << 20);
    next.take_over(&source);
    let shared = Arc::downgrade(&source.shared);
    drop(source);
    let began = Instant::now();
    while shared.strong_count() > 0 {
        assert!(began.elapsed() < Duration::from_secs(60));
        std::thread::yield_now();
    }
    assert_eq!(read(&next, "a.3f9a1c2b.js").unwrap(), b"alpha");
}
