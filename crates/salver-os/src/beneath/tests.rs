use super::*;
use std::io::Read;
use std::os::unix::fs::symlink;

struct Tree {
    temp: tempfile::TempDir,
}

impl Tree {
    fn new() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().join("root");
        std::fs::create_dir_all(root.join("sub/deep")).unwrap();
        std::fs::write(temp.path().join("secret"), "secret").unwrap();
        std::fs::write(root.join("a.txt"), "a").unwrap();
        std::fs::write(root.join("sub/b.txt"), "b").unwrap();
        symlink("a.txt", root.join("link")).unwrap();
        symlink("../a.txt", root.join("sub/up")).unwrap();
        symlink("../../secret", root.join("sub/out")).unwrap();
        symlink("../secret", root.join("escape")).unwrap();
        symlink(temp.path().join("secret"), root.join("absolute")).unwrap();
        symlink("sub", root.join("subdir")).unwrap();
        symlink("loop", root.join("loop")).unwrap();
        symlink("gone", root.join("dangling")).unwrap();
        Tree { temp }
    }

    fn directory(&self, symlinks: Symlinks, resolver: Resolver) -> Directory {
        let root = self.temp.path().join("root");
        Directory::open(&root, symlinks, resolver, Patience::MayWait).unwrap()
    }
}

/// The result of opening: the content, or a word for the error.
fn read(directory: &Directory, path: &str) -> String {
    match directory.open_file(path.as_bytes(), Patience::MayWait) {
        Ok(OpenedFile {
            mut file, metadata, ..
        }) => {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(metadata.identity.length, text.len() as u64);
            let seen = directory.stat(path.as_bytes(), Patience::MayWait).unwrap();
            assert_eq!(seen, metadata, "{path}");
            text
        }
        Err(error) if Directory::escapes(&error) => "escapes".into(),
        Err(error) => format!("{:?}", error.kind()),
    }
}

#[test]
fn opens_stay_beneath_whoever_walks() {
    let tree = Tree::new();
    let check = |symlinks, path: &str, expected: &str| {
        for resolver in [Resolver::Kernel, Resolver::Walk] {
            let directory = tree.directory(symlinks, resolver);
            assert_eq!(
                read(&directory, path),
                expected,
                "{path} {symlinks:?} {resolver:?}"
            );
        }
    };
    for symlinks in [Symlinks::None, Symlinks::Beneath, Symlinks::Any] {
        check(symlinks, "a.txt", "a");
        check(symlinks, "sub/b.txt", "b");
        check(symlinks, "nothing", "NotFound");
        check(symlinks, "sub/nothing", "NotFound");
        check(symlinks, "a.txt/b", "NotADirectory");
        check(symlinks, "sub", "InvalidInput");
        check(symlinks, "", "InvalidInput");
        check(symlinks, "loop", "escapes");
    }
    for path in ["link", "sub/up", "subdir/b.txt"] {
        check(Symlinks::None, path, "escapes");
        check(
            Symlinks::Beneath,
            path,
            if path == "subdir/b.txt" { "b" } else { "a" },
        );
    }
    for path in ["sub/out", "escape", "absolute"] {
        check(Symlinks::None, path, "escapes");
        check(Symlinks::Beneath, path, "escapes");
        check(Symlinks::Any, path, "secret");
    }
    check(Symlinks::Beneath, "subdir/up", "a");
    check(Symlinks::Beneath, "dangling", "NotFound");
    check(Symlinks::Beneath, "../secret", "escapes");
}

#[test]
fn a_fifo_neither_blocks_nor_opens() {
    let tree = Tree::new();
    let fifo = tree.temp.path().join("root/fifo");
    let name = std::ffi::CString::new(fifo.as_os_str().as_bytes()).unwrap();
    // SAFETY: the pointer is to a string that ends with a NUL.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o700) }, 0);
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        let directory = tree.directory(Symlinks::Beneath, resolver);
        assert_eq!(read(&directory, "fifo"), "InvalidInput");
        let metadata = directory.stat(b"fifo", Patience::MayWait).unwrap();
        assert_eq!(metadata.kind, Kind::Other);
    }
}

#[test]
fn what_must_not_wait_is_answered_or_put_off() {
    let tree = Tree::new();
    let walk = tree.directory(Symlinks::Beneath, Resolver::Walk);
    let error = walk.stat(b"a.txt", Patience::MustNotWait).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
    let kernel = tree.directory(Symlinks::Beneath, Resolver::Kernel);
    kernel.stat(b"a.txt", Patience::MayWait).unwrap();
    match kernel.stat(b"a.txt", Patience::MustNotWait) {
        Ok(metadata) => assert_eq!(metadata.identity.length, 1),
        Err(error) => assert_eq!(error.kind(), io::ErrorKind::WouldBlock),
    }
}

#[test]
fn a_directory_lists_its_names() {
    let tree = Tree::new();
    for resolver in [Resolver::Kernel, Resolver::Walk] {
        let directory = tree.directory(Symlinks::Beneath, resolver);
        let mut names = directory.list(b"sub").unwrap();
        names.sort();
        assert_eq!(names, [&b"b.txt"[..], b"deep", b"out", b"up"]);
        for most in 0..2 {
            assert_eq!(directory.names(b"sub", most).unwrap().len(), most);
        }
        assert!(directory.list(b"").unwrap().contains(&b"a.txt".to_vec()));
        assert!(directory.list(b"a.txt").is_err());
    }
}

#[cfg(target_os = "linux")]
#[test]
fn what_is_denied_of_one_file_says_nothing_of_the_call() {
    let check = |number: c_int, probed: Option<c_int>, lacks: bool| {
        let call = Openat2 {
            lacks: AtomicBool::new(false),
        };
        let said = call.lacks(&error(number), || probed.map(error));
        let known = call.is_known_to_lack();
        assert_eq!((said, known), (lacks, lacks), "{number} {probed:?}");
    };
    check(libc::EPERM, None, false);
    check(libc::EPERM, Some(libc::EAGAIN), false);
    check(libc::EPERM, Some(libc::EPERM), true);
    check(libc::EPERM, Some(libc::ENOSYS), true);
    check(libc::ENOSYS, None, true);
    check(libc::EACCES, Some(libc::EPERM), false);
}
