use super::*;
use std::io::Read;

struct Tree {
    temp: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("root");
        std::fs::create_dir_all(root.join("Sub/deep")).unwrap();
        std::fs::write(temp.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("a.txt"), "a").unwrap();
        std::fs::write(root.join("A long name.html"), "long").unwrap();
        std::fs::write(root.join("Sub/b.txt"), "b").unwrap();
        std::fs::write(root.join(".env"), "hidden").unwrap();
        Tree { temp }
    }

    fn directory(&self, symlinks: Symlinks) -> Directory {
        let root = self.temp.path().join("root");
        Directory::open(&root, symlinks, Resolver::Kernel, Patience::MayWait).unwrap()
    }
}

/// The result of opening: the content, or a word for the error.
fn read(directory: &Directory, path: &[u8]) -> String {
    let stat = directory.stat(path, Patience::MayWait);
    match directory.open_file(path, Patience::MayWait) {
        Ok(OpenedFile {
            mut file, metadata, ..
        }) => {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(metadata.identity.length, text.len() as u64);
            assert_eq!(stat.unwrap(), metadata);
            text
        }
        Err(error) if Directory::escapes(&error) => "escapes".into(),
        Err(error) => {
            if error.kind() != io::ErrorKind::InvalidInput {
                assert_eq!(stat.unwrap_err().kind(), error.kind());
            }
            format!("{:?}", error.kind())
        }
    }
}

#[test]
fn a_file_has_one_name_and_nothing_else_leads_to_it() {
    let tree = Tree::new();
    for symlinks in [Symlinks::None, Symlinks::Beneath, Symlinks::Any] {
        let directory = tree.directory(symlinks);
        let check = |path: &[u8], expected: &str| {
            let shown = String::from_utf8_lossy(path);
            assert_eq!(read(&directory, path), expected, "{shown:?} {symlinks:?}");
        };
        check(b"a.txt", "a");
        check(b"A long name.html", "long");
        check(b"Sub/b.txt", "b");
        check(b".env", "hidden");
        check(b"", "InvalidInput");
        check(b"Sub", "InvalidInput");
        check(b"a.txt/b", "NotADirectory");
        check(b"../secret", "escapes");
        let others: [&[u8]; 34] = [
            b"A.txt",
            b"a.TXT",
            b".ENV",
            b"sub/b.txt",
            b"SUB/b.txt",
            b"Sub/B.txt",
            b"ALONGN~1.HTM",
            b"A long name.htm",
            b"a.txt.",
            b"a.txt ",
            b"a.txt. .",
            b"a.txt::$DATA",
            b"a.txt:s",
            b"Sub::$INDEX_ALLOCATION/b.txt",
            b"Sub./b.txt",
            b"Sub /b.txt",
            b"Sub\\b.txt",
            b"..\\secret",
            b"Sub\\..\\..\\secret",
            b"C:",
            b"C:\\windows",
            b"\\\\?\\C:",
            b"CON",
            b"nul",
            b"NUL.txt",
            b"COM1",
            b"aux.html",
            b"Sub/PRN",
            b"a?txt",
            b"a*",
            b"<",
            b"*",
            b"nothing",
            b"a.txt\xff",
        ];
        for path in others {
            check(path, "NotFound");
        }
    }
}

#[test]
fn a_directory_lists_its_names() {
    let tree = Tree::new();
    let directory = tree.directory(Symlinks::Beneath);
    let mut names = directory.list(b"").unwrap();
    names.sort();
    assert_eq!(names, [&b".env"[..], b"A long name.html", b"Sub", b"a.txt"]);
    for most in 0..2 {
        assert_eq!(directory.names(b"Sub", most).unwrap().len(), most);
    }
    let more: Vec<String> = (0..3000)
        .map(|n| format!("a name of some length {n}"))
        .collect();
    for name in &more {
        std::fs::write(tree.temp.path().join("root/Sub/deep").join(name), "").unwrap();
    }
    assert_eq!(directory.list(b"Sub/deep").unwrap().len(), more.len());
    assert_eq!(
        directory.list(b"sub").unwrap_err().kind(),
        io::ErrorKind::NotFound
    );
    let error = directory.list(b"a.txt").unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::NotADirectory);
}

#[test]
fn nobody_waits_who_must_not() {
    let tree = Tree::new();
    let directory = tree.directory(Symlinks::Beneath);
    let error = directory.stat(b"a.txt", Patience::MustNotWait).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
}

/// Windows 10 replaces what is open by POSIX semantics; what is older, and wine 8, refuses it until nobody has it open.
#[test]
fn a_file_that_is_open_is_replaced_whole_or_not_at_all() {
    let tree = Tree::new();
    let root = tree.temp.path().join("root");
    let directory = tree.directory(Symlinks::Beneath);
    let before = directory.open_file(b"a.txt", Patience::MayWait).unwrap();
    std::fs::write(root.join("new"), "new").unwrap();
    let replace = || std::fs::rename(root.join("new"), root.join("a.txt"));
    let result = replace();
    let mut old = String::new();
    let mut file = before.file;
    file.read_to_string(&mut old).unwrap();
    assert_eq!(old, "a", "an open file stays what it was");
    drop(file);
    if let Err(error) = result {
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(read(&directory, b"a.txt"), "a");
        replace().unwrap();
    }
    assert_eq!(read(&directory, b"a.txt"), "new");
    let now = directory.stat(b"a.txt", Patience::MayWait).unwrap();
    assert!(!now.identity.is_same_file(&before.metadata.identity));
    std::fs::remove_file(root.join("a.txt")).unwrap();
    assert_eq!(read(&directory, b"a.txt"), "NotFound");
}

/// A junction, which every user may make, always leads to an absolute path; who makes symbolic links needs a right for
/// it. Where neither can be made there is nothing that could lead out.
#[test]
fn links_lead_nowhere_but_beneath() {
    let tree = Tree::new();
    let root = tree.temp.path().join("root");
    let link = |target: &str, name: &str| {
        std::os::windows::fs::symlink_file(target, root.join(name)).is_ok()
            && std::fs::symlink_metadata(root.join(name)).is_ok_and(|m| m.is_symlink())
    };
    if !link(r"Sub\b.txt", "inside") || !link(r"..\secret", "outside") {
        println!(
            "this system makes no symbolic links: what was shown is that of their bytes alone"
        );
        return;
    }
    let check = |symlinks, path: &[u8], expected: &str| {
        assert_eq!(
            read(&tree.directory(symlinks), path),
            expected,
            "{symlinks:?}"
        );
    };
    check(Symlinks::None, b"inside", "escapes");
    check(Symlinks::Beneath, b"inside", "b");
    check(Symlinks::None, b"outside", "escapes");
    check(Symlinks::Beneath, b"outside", "escapes");
}
