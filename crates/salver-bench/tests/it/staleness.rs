//! How long old bytes are served is found out of servers that are as stale as they are told.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use salver_bench::error::BenchError;
use salver_bench::staleness::{Probe, Staleness, probe};
use salver_bench::workload::Workload;

/// What a server answers, by the file on disk and what it has kept with the time of it.
type Serving = fn(&Path, &mut Option<(Instant, Vec<u8>)>) -> Vec<u8>;

/// How long old bytes are waited for that never go.
const LIMIT: Duration = Duration::from_secs(2);

fn probed(limit: Duration, serving: Serving) -> (Vec<u8>, Result<Vec<Staleness>, BenchError>) {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("a.bin");
    fs::write(&path, "old content").unwrap();
    let found = probed_in(root.path(), &path, limit, serving);
    (fs::read(&path).unwrap(), found)
}

/// Probes the one file of `root`.
fn probed_in(
    root: &Path,
    path: &Path,
    limit: Duration,
    serving: Serving,
) -> Result<Vec<Staleness>, BenchError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let base = format!("http://{}/", listener.local_addr().unwrap());
    let file = path.to_owned();
    std::thread::spawn(move || {
        let mut kept = None;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let content = serving(&file, &mut kept);
            let head = format!(
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n",
                content.len()
            );
            let _ = stream.write_all(&[head.as_bytes(), &content].concat());
        }
    });
    let workload = Workload::of_directory(&base, root).unwrap();
    let wanted = Probe {
        workload: &workload,
        files: 1,
        limit,
        timeout: Duration::from_secs(5),
    };
    probe(&wanted, &mut |_| ControlFlow::Continue(()))
}

#[test]
fn what_was_replaced_comes_back_as_it_was() {
    let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let (path, target) = (root.path().join("a.bin"), elsewhere.path().join("target"));
    let long_ago = SystemTime::UNIX_EPOCH + Duration::from_secs(1_577_836_800);
    let check = |is_link: bool| {
        let found =
            probed_in(root.path(), &path, LIMIT, |path, _| fs::read(path).unwrap()).unwrap();
        assert!(found[0].asked > 0, "{found:?}");
        let metadata = fs::symlink_metadata(&path).unwrap();
        assert_eq!(metadata.is_symlink(), is_link);
        assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), long_ago);
        assert_eq!(fs::read(&path).unwrap(), b"old content");
        // And nothing lies beside it.
        assert_eq!(fs::read_dir(root.path()).unwrap().count(), 1);
    };
    for file in [&path, &target] {
        fs::write(file, "old content").unwrap();
        let file = fs::File::options().write(true).open(file).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    check(false);
    fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink(&target, &path).unwrap();
    check(true);
}

#[test]
fn a_server_that_reads_each_time_is_never_stale() {
    let (left, found) = probed(LIMIT, |path, _| fs::read(path).unwrap());
    let found = found.unwrap();
    assert_eq!(left, b"old content", "it was put back");
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].stale_ms, found[0].torn), (0.0, 0), "{found:?}");
    assert!(found[0].asked > 0 && found[0].target == "/a.bin");
}

#[test]
fn a_server_that_keeps_is_stale_for_as_long() {
    const KEPT: Duration = Duration::from_secs(2);
    let (_, found) = probed(Duration::from_secs(60), |path, kept| {
        let fresh = kept.take().filter(|(since, _)| since.elapsed() < KEPT);
        let (since, content) = fresh.unwrap_or_else(|| (Instant::now(), fs::read(path).unwrap()));
        *kept = Some((since, content.clone()));
        content
    });
    let found = found.unwrap();
    let (stale, torn) = (found[0].stale_ms, found[0].torn);
    // It read before the file was replaced, and at least once again after that time.
    assert!(stale > 0.0 && stale < 2000.0, "{found:?}");
    assert!(torn == 0 && !found[0].still_stale);
}

#[test]
fn a_server_that_never_looks_again_and_one_that_tears_are_said_to() {
    let (left, found) = probed(LIMIT, |path, kept| {
        let content = kept
            .take()
            .map_or_else(|| fs::read(path).unwrap(), |(_, old)| old);
        *kept = Some((Instant::now(), content.clone()));
        content
    });
    assert!(found.unwrap()[0].still_stale);
    assert_eq!(left, b"old content");
    let (_, found) = probed(LIMIT, |path, _| {
        let mut content = fs::read(path).unwrap();
        if content != b"old content" {
            content[..4].copy_from_slice(b"old ");
        }
        content
    });
    let found = found.unwrap();
    assert!(
        found[0].torn > 0 && found[0].torn == found[0].asked,
        "{found:?}"
    );
}

#[test]
fn a_server_of_other_files_is_not_probed() {
    let (left, found) = probed(LIMIT, |_, _| b"something!!".to_vec());
    assert!(found.unwrap_err().to_string().contains("is not served as"));
    assert_eq!(left, b"old content");
}
