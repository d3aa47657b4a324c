use super::*;
use std::fs::File;
use std::io::Read;
use std::net::UdpSocket;
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixDatagram, UnixListener};

use crate::settings::{Syslog, SyslogFraming};

fn taken(outcome: Outcome) -> usize {
    match outcome {
        Outcome::Taken { bytes, refused: 0 } => bytes,
        outcome => panic!("{outcome:?}"),
    }
}

/// Writes all of the lines, as far as the output takes them; how many bytes that were.
fn write_all(output: &mut Output, lines: &[u8]) -> usize {
    let mut written = 0;
    while written < lines.len() {
        match output.write(&lines[written..]) {
            Outcome::Taken { bytes, refused: 0 } => written += bytes,
            Outcome::Full => break,
            outcome => panic!("{outcome:?}"),
        }
    }
    written
}

fn open(destination: Destination) -> Output {
    Output::open(&Settings::new(destination)).unwrap()
}

#[test]
fn files_are_appended_to_and_opened_anew() {
    let folder = tempfile::tempdir().unwrap();
    let (path, old) = (folder.path().join("a.log"), folder.path().join("a.log.1"));
    std::fs::write(&path, "before\n").unwrap();
    let mut output = open(Destination::File(path.clone()));
    assert_eq!(taken(output.write(b"one\n")), 4);
    std::fs::rename(&path, &old).unwrap();
    assert_eq!(taken(output.write(b"two\n")), 4);
    assert!(output.reopen().unwrap());
    assert_eq!(taken(output.write(b"three\n")), 6);
    assert_eq!(std::fs::read_to_string(&old).unwrap(), "before\none\ntwo\n");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "three\n");
    // Others than the owner and the group may not read who visited.
    let mode = std::os::unix::fs::PermissionsExt::mode(&path.metadata().unwrap().permissions());
    assert_eq!(mode & 0o137, 0, "{mode:o}");
    // Where it cannot be opened anew, the old one stays.
    std::fs::remove_file(&path).unwrap();
    std::fs::create_dir(&path).unwrap();
    assert!(output.reopen().is_err());
    assert_eq!(taken(output.write(b"four\n")), 5);
}

#[test]
fn a_full_disk_fails() {
    let mut output = open(Destination::File("/dev/full".into()));
    let outcome = output.write(b"line\n");
    let Outcome::Failed { error, is_new } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!((error.kind(), is_new), (io::ErrorKind::StorageFull, false));
}

#[test]
fn a_pipe_that_nobody_reads_is_full_and_lines_stay_whole() {
    let (mut reader, writer) = io::pipe().unwrap();
    let mut output = Output::Pipe(Pipe::new(OwnedFd::from(writer)).unwrap());
    let line = [[b'x'; 299].as_slice(), b"\n"].concat();
    let lines = line.repeat(10_000);
    let written = write_all(&mut output, &lines);
    assert!(
        written > 0 && written < lines.len() && written.is_multiple_of(300),
        "{written}"
    );
    assert!(matches!(output.write(&lines), Outcome::Full));
    let mut read = vec![0; written];
    reader.read_exact(&mut read).unwrap();
    assert_eq!(read, lines[..written]);
    assert!(taken(output.write(&lines)).is_multiple_of(300));
    drop(reader);
    let outcome = output.write(&lines);
    let is_broken = matches!(&outcome, Outcome::Failed { error, is_new: false }
        if error.kind() == io::ErrorKind::BrokenPipe);
    assert!(is_broken, "{outcome:?}");
}

#[test]
fn standard_output_may_be_a_file() {
    let mut file = tempfile::tempfile().unwrap();
    let descriptor = OwnedFd::from(file.try_clone().unwrap());
    let mut output = Output::Pipe(Pipe::new(descriptor).unwrap());
    let lines = b"line\n".repeat(10_000);
    assert_eq!(taken(output.write(&lines)), lines.len());
    io::Seek::rewind(&mut file).unwrap();
    let mut read = Vec::new();
    File::read_to_end(&mut file, &mut read).unwrap();
    assert_eq!(read, lines);
}

#[test]
fn streams_are_connected_when_there_is_somebody_and_again() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sock");
    let mut output = open(Destination::UnixStream(path.clone()));
    for _ in 0..2 {
        let outcome = output.write(b"line\n");
        assert!(
            matches!(outcome, Outcome::Failed { is_new: true, .. }),
            "{outcome:?}"
        );
        let listener = UnixListener::bind(&path).unwrap();
        assert_eq!(write_all(&mut output, b"one\ntwo\n"), 8);
        let (mut connection, _) = listener.accept().unwrap();
        let mut read = [0; 8];
        connection.read_exact(&mut read).unwrap();
        assert_eq!(&read, b"one\ntwo\n");
        // Who does not read makes it full, and nobody waits.
        let lines = b"line\n".repeat(1_000_000);
        assert!(write_all(&mut output, &lines) < lines.len());
        assert!(output.awaited().is_some());
        std::fs::remove_file(&path).unwrap();
    }
}

#[test]
fn each_line_is_a_datagram() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log.sock");
    let mut output = open(Destination::UnixDatagram(path.clone()));
    assert!(matches!(output.write(b"line\n"), Outcome::Failed { .. }));
    let receiver = UnixDatagram::bind(&path).unwrap();
    assert_eq!(write_all(&mut output, b"one\ntwo\n"), 8);
    let mut message = [0; 100];
    for expected in [&b"one"[..], b"two"] {
        let length = receiver.recv(&mut message).unwrap();
        assert_eq!(&message[..length], expected);
    }
    // The queue of a receiver that does not look is bounded, and nobody waits.
    let lines = b"line\n".repeat(100_000);
    let written = write_all(&mut output, &lines);
    assert!(written < lines.len() && written.is_multiple_of(5));
    // One that was started again is another.
    drop(receiver);
    std::fs::remove_file(&path).unwrap();
    assert!(matches!(output.write(b"line\n"), Outcome::Failed { .. }));
    let receiver = UnixDatagram::bind(&path).unwrap();
    assert_eq!(write_all(&mut output, b"again\n"), 6);
    assert_eq!(receiver.recv(&mut message).unwrap(), 5);
}

#[test]
fn a_line_that_no_datagram_holds_is_refused_alone() {
    let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
    let mut syslog = Syslog::udp(receiver.local_addr().unwrap());
    syslog.framing = SyslogFraming::Rfc3164;
    let mut output = open(Destination::Syslog(syslog));
    let lines = [b"one\n", &[b'x'; 70_000][..], b"\ntwo\n"].concat();
    let outcome = output.write(&lines);
    let Outcome::Taken { bytes, refused } = outcome else {
        panic!("{outcome:?}")
    };
    assert_eq!((bytes, refused), (4 + 70_001, 1));
    assert_eq!(taken(output.write(&lines[bytes..])), 4);
    let mut message = [0; 100];
    for expected in [": one", ": two"] {
        let length = receiver.recv(&mut message).unwrap();
        assert!(message[..length].ends_with(expected.as_bytes()));
    }
}

#[test]
fn messages_of_syslog_have_their_form() {
    let receiver = UdpSocket::bind("[::1]:0").unwrap();
    let address = receiver.local_addr().unwrap();
    let process = std::process::id();
    let sent = |syslog: Syslog| {
        let mut output = open(Destination::Syslog(syslog));
        assert_eq!(taken(output.write(b"line\n")), 5);
        let mut message = [0; 1000];
        let length = receiver.recv(&mut message).unwrap();
        String::from_utf8(message[..length].to_vec()).unwrap()
    };
    let message = sent(Syslog::udp(address));
    let words: Vec<&str> = message.split(' ').collect();
    let [priority, time, host, tag, id, kind, data, line] = words[..] else {
        panic!("{message}")
    };
    assert_eq!(
        (priority, tag, kind, data, line),
        ("<134>1", "salver", "access", "-", "line")
    );
    assert_eq!(id, process.to_string());
    assert!(
        !host.is_empty() && time.len() == 20 && time.ends_with('Z'),
        "{message}"
    );

    let message = sent(Syslog {
        framing: SyslogFraming::Rfc3164,
        facility: 23,
        tag: "my [server]\n".to_owned(),
        ..Syslog::udp(address)
    });
    let (head, line) = message.split_at("<190>Nov 22 13:55:39".len());
    assert_eq!(line, format!(" myserver[{process}]: line"), "{message}");
    assert!(
        head.starts_with("<190>") && head.as_bytes()[8] == b' ',
        "{message}"
    );

    let nameless = Syslog {
        facility: 255,
        tag: " ".to_owned(),
        ..Syslog::udp(address)
    };
    let message = sent(nameless);
    assert!(
        message.starts_with("<190>1 ") && message.contains(" - "),
        "{message}"
    );
}

#[test]
fn a_path_that_no_socket_can_have_is_an_error_at_once() {
    let path = std::path::PathBuf::from(format!("/{}", "x".repeat(200)));
    for destination in [
        Destination::UnixStream(path.clone()),
        Destination::UnixDatagram(path.clone()),
        Destination::File("/nowhere/at/all.log".into()),
    ] {
        assert!(Output::open(&Settings::new(destination)).is_err());
    }
}
