//! Lines to Unix sockets, by one writer.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::net::UnixListener;
use std::time::Duration;

use crate::common::{PATIENCE, log, number, numbers, small, writer};
use salver_access_log::Destination;

#[test]
fn lines_come_soon_and_together_with_no_end_in_sight() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (writer, _notices) = writer();
    let access_log = writer.open(&small(Destination::UnixStream(path))).unwrap();
    let mut producer = access_log.producer();
    log(&mut producer, 0);
    let (connection, _) = listener.accept().unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut lines = BufReader::new(connection).lines();
    assert_eq!(number(&lines.next().unwrap().unwrap()), 0);
    // The second one comes without a third, and so does one after a pause.
    for request in 1..4 {
        log(&mut producer, request);
        assert_eq!(number(&lines.next().unwrap().unwrap()), request);
    }
    drop(writer);
}

#[test]
fn a_log_is_closed_when_nobody_has_it_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let (writer, _notices) = writer();
    let access_log = writer.open(&small(Destination::UnixStream(path))).unwrap();
    let mut producer = access_log.producer();
    drop(access_log);
    (0..10).for_each(|request| log(&mut producer, request));
    drop(producer);
    let (mut connection, _) = listener.accept().unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut text = String::new();
    // To its end: while the writer is there.
    connection.read_to_string(&mut text).unwrap();
    assert_eq!(
        text.lines().map(number).collect::<Vec<_>>(),
        (0..10).collect::<Vec<_>>()
    );
    assert!(writer.stop(PATIENCE));
}

#[test]
fn logs_do_not_wait_for_each_other() {
    let folder = tempfile::tempdir().unwrap();
    let (path, nobody) = (
        folder.path().join("a.log"),
        folder.path().join("nobody.sock"),
    );
    let (writer, notices) = writer();
    let fails = writer
        .open(&small(Destination::UnixStream(nobody)))
        .unwrap();
    let works = writer
        .open(&small(Destination::File(path.clone())))
        .unwrap();
    let (mut to_nobody, mut to_file) = (fails.producer(), works.producer());
    log(&mut to_nobody, 1);
    let notice = notices.recv_timeout(PATIENCE).unwrap();
    assert!(notice.contains("nobody.sock cannot be written"), "{notice}");
    log(&mut to_file, 2);
    while works.statistics().lines == 0 {
        std::thread::yield_now();
    }
    assert_eq!(numbers(&path), [2]);
    // One that fails holds up the end no longer than it takes to see that.
    assert!(writer.stop(Duration::from_secs(600)));
    assert_eq!(
        (fails.statistics().lines, fails.statistics().dropped),
        (0, 1)
    );
}
