use super::*;

#[test]
fn what_is_written_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("salver.pid");
    let mut file = PidFile::open(&path, None).unwrap();
    let status = || read(&status_path(&path));
    assert!(status().is_err());
    file.take();
    let text = fs::read_to_string(&path).unwrap();
    assert_eq!(text, format!("{}\n", std::process::id()));
    file.begin();
    assert_eq!(status().unwrap(), Status::UnderWay(1));
    file.end(&Err("a long\nreason".to_owned()));
    let ended = |number, is_well, text: &str| Status::Ended {
        number,
        is_well,
        text: text.to_owned(),
    };
    assert_eq!(status().unwrap(), ended(1, false, "a long reason"));
    file.begin();
    file.end(&Ok("ok".to_owned()));
    assert_eq!(status().unwrap(), ended(2, true, "ok"));
    // A process that takes over counts on.
    let mut next = PidFile::open(&path, None).unwrap();
    next.begin();
    assert_eq!(status().unwrap(), Status::UnderWay(3));
    next.remove();
    assert!(!path.exists() && status().is_err());
}

#[test]
fn a_folder_that_is_not_there_is_said() {
    let line = PidFile::open(Path::new("/no/such/salver.pid"), None).unwrap_err();
    assert!(line.to_string().contains("/no/such/salver.pid"), "{line}");
}

#[test]
fn a_file_is_believed_of_its_owner_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("salver.pid");
    let check = |text: &str, expected: Result<i32, &str>| {
        fs::write(&path, text).unwrap();
        match (read_pid(&path), expected) {
            (Ok(number), Ok(expected)) => assert_eq!(number, expected),
            (Err(error), Err(part)) => assert!(error.to_string().contains(part), "{error}"),
            (found, expected) => panic!("{text}: {found:?}, expected {expected:?}"),
        }
    };
    let own = i32::try_from(std::process::id()).unwrap();
    check(&format!("{own}\n"), Ok(own));
    for text in ["", "-1\n", "0", "x", "99999999999"] {
        check(text, Err("no number of a process"));
    }
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let error = read_pid(&link).unwrap_err().to_string();
    assert!(error.contains("it is a link"), "{error}");
    // Somebody else's file, for which one has to be root, or process 1, which is root's.
    let is_root = rustix::process::geteuid().is_root();
    if is_root {
        std::os::unix::fs::chown(&path, Some(65534), None).unwrap();
    }
    let other = if is_root { own } else { 1 };
    check(&format!("{other}\n"), Err("names process"));
}

#[test]
fn what_is_linked_is_neither_opened_nor_given_away() {
    let folder = tempfile::tempdir().unwrap();
    let (precious, path) = (
        folder.path().join("precious"),
        folder.path().join("salver.pid"),
    );
    let own = (
        rustix::process::geteuid().as_raw(),
        rustix::process::getegid().as_raw(),
    );
    fs::write(&precious, "precious").unwrap();
    std::os::unix::fs::symlink(&precious, &path).unwrap();
    for owner in [None, Some(own)] {
        let line = PidFile::open(&path, owner).unwrap_err().to_string();
        assert!(line.contains("salver.pid"), "{line}");
    }
    fs::remove_file(&path).unwrap();
    fs::hard_link(&precious, &path).unwrap();
    let line = PidFile::open(&path, Some(own)).unwrap_err().to_string();
    assert!(line.contains("another name"), "{line}");
    assert_eq!(fs::read_to_string(&precious).unwrap(), "precious");
}

#[test]
fn nonsense_says_nothing() {
    for text in ["", "1", "1 done", "x done y\n", "1 odd y\n"] {
        assert_eq!(parse(text), None, "{text}");
    }
}
