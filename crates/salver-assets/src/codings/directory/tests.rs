//! Tests of the directory: what is read is whole, what is written stays within its bound, and nothing else is touched.

use salver_semantics::ContentCoding;

use super::*;

fn key(number: u8) -> ContentKey {
    ContentKey {
        sha256: [number; 32],
        made: ContentCoding::Gzip.into(),
    }
}

fn opened(path: &Path, most: u64) -> CodingDirectory {
    CodingDirectory::open(path, most).unwrap()
}

fn names(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

/// Who may do what with it.
#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    let permissions = fs::metadata(path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::mode(&permissions) & 0o777
}

/// Makes a file as old as this.
fn age(path: &Path, seconds: u64) {
    let file = File::options().write(true).open(path).unwrap();
    let then = SystemTime::now() - Duration::from_secs(seconds);
    file.set_modified(then).unwrap();
}

#[test]
fn what_is_kept_is_there_for_the_next_process() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a/b");
    let directory = opened(&path, 1 << 20);
    #[cfg(unix)]
    assert_eq!(mode(&path), 0o700);
    assert_eq!(directory.read(&key(1), 9), None);
    directory.keep(&key(1), 9, Some(b"coded"));
    directory.keep(&key(2), 9, None);
    let directory = opened(&path, 1 << 20);
    assert_eq!(directory.read(&key(1), 9), Some(Some(b"coded".to_vec())));
    assert_eq!(directory.read(&key(2), 9), Some(None));
    #[cfg(unix)]
    assert_eq!(mode(&path.join(name_of(&key(1)))), 0o600);
    assert_eq!(names(&path).len(), 2);
}

#[test]
fn what_is_damaged_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let directory = opened(folder.path(), 1 << 20);
    let file = folder.path().join(name_of(&key(1)));
    for damage in [&b""[..], b"salver\0\x01 and something else", &[0; 10_000]] {
        directory.keep(&key(1), 9, Some(b"coded"));
        fs::write(&file, damage).unwrap();
        assert_eq!(directory.read(&key(1), 9), None);
        assert!(!file.exists());
    }
    // Cut off, as by a power loss.
    directory.keep(&key(1), 9, Some(b"coded"));
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
    assert_eq!(directory.read(&key(1), 9), None);
    // Of another original.
    directory.keep(&key(1), 9, Some(b"coded"));
    assert_eq!(directory.read(&key(1), 10), None);
}

#[test]
fn what_was_not_used_for_the_longest_leaves() {
    let folder = tempfile::tempdir().unwrap();
    let length = u64::try_from(entry_file::OVERHEAD).unwrap() + 60;
    let directory = opened(folder.path(), 10 * length);
    let file = |number| folder.path().join(name_of(&key(number)));
    for number in 0..10 {
        directory.keep(&key(number), 100, Some(&[number; 60]));
        age(&file(number), 1000 - u64::from(number));
    }
    assert_eq!(names(folder.path()).len(), 10);
    // Used a moment ago.
    assert!(directory.read(&key(0), 100).is_some());
    directory.keep(&key(10), 100, Some(&[10; 60]));
    assert!(file(0).exists() && file(10).exists() && !file(1).exists());
    let bytes = |path: &Path| {
        let lengths = names(path).into_iter();
        let lengths = lengths.map(|name| fs::metadata(path.join(name)).unwrap().len());
        lengths.sum::<u64>()
    };
    assert!(bytes(folder.path()) <= 10 * length);
    // What is longer than all there may be is not kept.
    directory.keep(&key(11), 5000, Some(&[1; 3000]));
    assert!(!file(11).exists());
    // A smaller bound holds once something is kept.
    let directory = opened(folder.path(), 3 * length);
    directory.keep(&key(12), 100, Some(&[12; 60]));
    assert!(bytes(folder.path()) <= 3 * length);
    assert!(file(12).exists());
}

#[test]
fn leftovers_go_when_they_are_old_and_other_files_stay() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for name in [".new-1-1", ".new-2-2", "note.txt", "00.br.1"] {
        fs::write(at(name), [1; 5000]).unwrap();
    }
    fs::create_dir(at("folder")).unwrap();
    age(&at(".new-1-1"), 3600);
    let directory = opened(folder.path(), 1000);
    directory.keep(&key(1), 100, Some(&[1; 60]));
    let all = names(folder.path());
    let expected = [
        ".new-2-2",
        "00.br.1",
        &name_of(&key(1)),
        "folder",
        "note.txt",
    ];
    assert_eq!(all, expected);
}

#[test]
fn where_nothing_can_be_written_nothing_fails() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cache");
    let directory = opened(&path, 1000);
    fs::remove_dir(&path).unwrap();
    directory.keep(&key(1), 9, Some(b"coded"));
    assert!(directory.has_failed.load(Ordering::Relaxed));
    assert_eq!(directory.read(&key(1), 9), None);
    fs::create_dir(&path).unwrap();
    directory.keep(&key(1), 9, Some(b"coded"));
    assert!(!directory.has_failed.load(Ordering::Relaxed));
    assert!(directory.read(&key(1), 9).is_some());
    // A file in the place of the directory.
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    assert!(CodingDirectory::open(&file, 1).is_err());
}

#[test]
fn what_is_served_keeps_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    fs::create_dir_all(root.join("deep")).unwrap();
    #[cfg(unix)]
    std::os::unix::fs::symlink(&root, folder.path().join("link")).unwrap();
    let check = |path: &str| {
        let path = folder.path().join(path);
        CodingDirectory::check(&path, &[&root]).map_err(|error| error.to_string())
    };
    let by_link = cfg!(unix).then_some("link/a/b");
    for inside in ["root", "root/cache", "root/deep/../x"]
        .into_iter()
        .chain(by_link)
    {
        let error = check(inside).unwrap_err();
        assert!(error.contains("which is served"), "{inside}: {error}");
    }
    assert!(!root.join("cache").exists());
    assert!(check("beside").is_ok());
    assert!(check("root2").is_ok());
}

#[cfg(unix)]
#[test]
fn what_is_no_file_is_not_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("kept");
    let directory = opened(&path, 1 << 20);
    directory.keep(&key(1), 9, Some(b"coded"));
    let file = path.join(name_of(&key(1)));
    // A link, even to one that is right, which is not touched.
    let outside = folder.path().join("outside");
    fs::rename(&file, &outside).unwrap();
    age(&outside, 1000);
    let before = fs::metadata(&outside).unwrap().modified().unwrap();
    std::os::unix::fs::symlink(&outside, &file).unwrap();
    assert_eq!(directory.read(&key(1), 9), None);
    assert!(fs::symlink_metadata(&file).is_err());
    let after = fs::metadata(&outside).unwrap().modified().unwrap();
    assert_eq!(before, after);
    // A pipe, into which nobody writes.
    let made = std::process::Command::new("mkfifo").arg(&file).status();
    assert!(made.unwrap().success());
    assert_eq!(directory.read(&key(1), 9), None);
    directory.keep(&key(1), 9, Some(b"coded"));
    assert_eq!(directory.read(&key(1), 9), Some(Some(b"coded".to_vec())));
}

#[test]
fn the_bound_holds_for_all_who_share_a_directory() {
    let folder = tempfile::tempdir().unwrap();
    let length = u64::try_from(entry_file::OVERHEAD).unwrap() + 60;
    let most = 64 * length;
    let sharing: Vec<_> = (0..4).map(|_| opened(folder.path(), most)).collect();
    // Each has looked while there was next to nothing.
    for (directory, number) in sharing.iter().zip(200..) {
        directory.keep(&key(number), 100, Some(&[number; 60]));
    }
    for number in 0..160 {
        let directory = &sharing[usize::from(number) % sharing.len()];
        directory.keep(&key(number), 100, Some(&[number; 60]));
        let bytes = u64::try_from(names(folder.path()).len()).unwrap() * length;
        assert!(bytes <= most + most / 4, "{number}: {bytes}");
    }
}
