//! A bucket as S3 has it, made of the files of a folder: as much of it as who reads asks for.

use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use salver_test::request_head;

/// A folder whose folders are buckets, and the server of them.
pub(super) struct FolderBucket {
    temp: tempfile::TempDir,
    port: u16,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FolderBucket {
    pub(super) fn start() -> Self {
        let temp = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = Arc::<Mutex<Vec<String>>>::default();
        let (root, noted) = (temp.path().to_owned(), Arc::clone(&asked));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (root, noted) = (root.clone(), Arc::clone(&noted));
                std::thread::spawn(move || serve(&stream.unwrap(), &root, &noted));
            }
        });
        FolderBucket { temp, port, asked }
    }

    /// A folder within it, which is made.
    pub(super) fn folder(&self, path: &str) -> PathBuf {
        let path = self.temp.path().join(path);
        fs::create_dir_all(&path).unwrap();
        path
    }

    /// Has a command ask it.
    pub(super) fn name_to(&self, command: &mut Command) {
        command
            .env(
                "AWS_ENDPOINT_URL",
                format!("http://127.0.0.1:{}", self.port),
            )
            .env("AWS_ALLOW_HTTP", "true")
            .env("AWS_REGION", "us-east-1")
            .env("AWS_SKIP_SIGNATURE", "true");
    }

    /// What was asked since this was asked last.
    pub(super) fn asked(&self) -> Vec<String> {
        std::mem::take(&mut self.asked.lock().unwrap())
    }
}

fn serve(stream: &TcpStream, root: &Path, asked: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(stream);
    while let Some(head) = request_head(&mut reader) {
        let target = head[0].split(' ').nth(1).unwrap().to_owned();
        asked.lock().unwrap().push(target.clone());
        let known = head.iter().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("if-none-match").then_some(value)
        });
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let answer = match query.contains("list-type=2") {
            true => list(root, path, query),
            false => get(&root.join(decoded(path)), known),
        };
        let mut stream = stream;
        if stream.write_all(&answer).is_err() {
            return;
        }
    }
}

fn decoded(path: &str) -> String {
    let path = path.trim_start_matches('/').replace("%20", " ");
    path.replace("%2F", "/").replace('+', " ")
}

fn tag(content: &[u8]) -> String {
    let mut hash = DefaultHasher::new();
    content.hash(&mut hash);
    format!("\"{:016x}\"", hash.finish())
}

fn get(path: &Path, known: Option<&str>) -> Vec<u8> {
    let Ok(content) = fs::read(path) else {
        return answer("404 X", "", b"");
    };
    let tag = tag(&content);
    match known {
        Some(known) if known == tag => answer("304 X", &tag, b""),
        _ => answer("200 X", &tag, &content),
    }
}

fn answer(status: &str, tag: &str, content: &[u8]) -> Vec<u8> {
    let date = "Last-Modified: Mon, 01 Jan 2024 00:00:00 GMT";
    let tag = match tag {
        "" => String::new(),
        tag => format!("ETag: {tag}\r\n"),
    };
    let length = match status {
        "304 X" => String::new(),
        _ => format!("Content-Length: {}\r\n", content.len()),
    };
    let head = format!("HTTP/1.1 {status}\r\n{date}\r\n{tag}{length}\r\n");
    [head.as_bytes(), content].concat()
}

/// All keys of a bucket that begin so, and come after one.
fn list(root: &Path, bucket: &str, query: &str) -> Vec<u8> {
    let of_query = |name: &str| {
        let value = query.split('&').find_map(|pair| pair.strip_prefix(name));
        decoded(value.unwrap_or_default())
    };
    let (prefix, after) = (of_query("prefix="), of_query("start-after="));
    let bucket = root.join(decoded(bucket));
    let (mut folders, mut keys) = (vec![bucket.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            match entry.file_type().unwrap().is_dir() {
                true => folders.push(entry.path()),
                false => keys.push(entry.path().strip_prefix(&bucket).unwrap().to_owned()),
            }
        }
    }
    let mut keys: Vec<&str> = keys.iter().map(|key| key.to_str().unwrap()).collect();
    keys.sort_unstable();
    let keys = keys.into_iter().filter(|key| key.starts_with(&prefix));
    let contents = keys.filter(|key| **key > *after).map(|key| {
        // One may be on its way.
        let content = fs::read(bucket.join(key)).unwrap_or_default();
        format!(
            "<Contents><Key>{key}</Key><LastModified>2024-01-01T00:00:00.000Z</LastModified>\
             <ETag>{}</ETag><Size>{}</Size></Contents>",
            tag(&content),
            content.len()
        )
    });
    let contents: String = contents.collect();
    let text =
        format!("<ListBucketResult><IsTruncated>false</IsTruncated>{contents}</ListBucketResult>");
    answer("200 X", "", text.as_bytes())
}
