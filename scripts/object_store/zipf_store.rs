//! A bucket as S3 has it, which anybody may read, for `zipf.py`. It is compiled: it shares a core with the load, and what it needs of
//! that is in each answer to be measured.
//!
//!   zipf_store TABLE MILLISECONDS
//!
//! TABLE has a record for each object: 64 bytes, how often they come in its content (u16), and the content's MD5. Every answer takes
//! MILLISECONDS. The first line that it prints is its port. For each line that it reads it prints what it was asked since the one
//! before: whole objects, comparisons, lists, and all else. It ends with its input.

use std::collections::HashMap;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use std::{env, fs, thread};

const BLOCK: usize = 64;
const RECORD: usize = BLOCK + 2 + 16;
const PAGE: usize = 1000;
/// The most that is written at once: the load has its turn between the pieces of a list.
const PIECE: usize = 24 * 1024;
const COMMON: &str = "Last-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n";

struct Object {
    content: Vec<u8>,
    tag: String,
}

impl Object {
    fn new(number: usize, record: &[u8]) -> Self {
        let times = u16::from_le_bytes([record[BLOCK], record[BLOCK + 1]]);
        let mut content = format!("{number}\n").into_bytes();
        content.extend(record[..BLOCK].repeat(times.into()));
        Self {
            content,
            tag: record[BLOCK + 2..]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect(),
        }
    }
}

struct Bucket {
    objects: Vec<Object>,
    /// Keys in their order, and what a list tells of each.
    listed: Vec<(String, String)>,
    /// Pages by their queries, each made once: at S3 other answers do not wait for that.
    pages: Mutex<HashMap<String, Arc<Vec<u8>>>>,
    latency: Duration,
    whole: AtomicU64,
    compared: AtomicU64,
    lists: AtomicU64,
    other: AtomicU64,
}

impl Bucket {
    fn new(table: &[u8], latency: Duration) -> Self {
        let objects: Vec<_> = table
            .chunks_exact(RECORD)
            .enumerate()
            .map(|(number, record)| Object::new(number, record))
            .collect();
        let described = |(number, object): (usize, &Object)| {
            let (key, tag, size) = (format!("o{number}.bin"), &object.tag, object.content.len());
            let told = format!(
                "<Contents><Key>{key}</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>\"{tag}\"</ETag>\
                 <Size>{size}</Size><StorageClass>STANDARD</StorageClass></Contents>"
            );
            (key, told)
        };
        let mut listed: Vec<_> = objects.iter().enumerate().map(described).collect();
        listed.sort();
        let [whole, compared, lists, other] = [const { AtomicU64::new(0) }; 4];
        Self {
            objects,
            listed,
            pages: Mutex::default(),
            latency,
            whole,
            compared,
            lists,
            other,
        }
    }

    /// A page, as S3 answers ListObjectsV2.
    fn page(&self, query: &str) -> Arc<Vec<u8>> {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let page = pages.entry(query.to_owned()).or_insert_with(|| {
            let (body, kind) = (self.list(query), "Content-Type: application/xml");
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\n{kind}\r\nContent-Length: {length}\r\n\r\n");
            Arc::new((head + &body).into_bytes())
        });
        Arc::clone(page)
    }

    fn list(&self, query: &str) -> String {
        let said = |name: &str| {
            query
                .split('&')
                .find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
        };
        let after = said("continuation-token")
            .or_else(|| said("start-after"))
            .unwrap_or("");
        let most = said("max-keys")
            .and_then(|most| most.parse().ok())
            .unwrap_or(PAGE)
            .min(PAGE);
        let prefix = said("prefix").unwrap_or("");
        let rest = &self.listed[self
            .listed
            .partition_point(|(key, _)| key.as_str() <= after)..];
        let (page, more) = rest.split_at(most.min(rest.len()));
        let page: Vec<_> = page
            .iter()
            .filter(|(key, _)| key.starts_with(prefix))
            .collect();
        let token = match page.last() {
            Some((last, _)) if !more.is_empty() => {
                format!("<NextContinuationToken>{last}</NextContinuationToken>")
            }
            _ => String::new(),
        };
        let count = page.len();
        let told: String = page.iter().map(|(_, told)| told.as_str()).collect();
        let is_more = !token.is_empty();
        format!(
            "<?xml version='1.0'?><ListBucketResult><Name>bucket</Name><KeyCount>{count}</KeyCount><IsTruncated>{is_more}\
             </IsTruncated>{token}{told}</ListBucketResult>"
        )
    }

    fn object(&self, path: &str) -> Option<&Object> {
        self.objects.get(
            path.rsplit('/')
                .next()?
                .strip_prefix('o')?
                .strip_suffix(".bin")?
                .parse::<usize>()
                .ok()?,
        )
    }

    fn answer(&self, head: &[String]) -> Arc<Vec<u8>> {
        let mut words = head[0].split(' ');
        let (method, target) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let field = |name: &str| {
            let lines = head[1..].iter().filter_map(|line| line.split_once(':'));
            let mut named = lines.filter(|(called, _)| called.eq_ignore_ascii_case(name));
            named.next().map(|(_, value)| value.trim())
        };
        if query.contains("list-type=2") {
            self.lists.fetch_add(1, Ordering::Relaxed);
            return self.page(query);
        }
        let Some(Object { content, tag }) = self.object(path) else {
            self.other.fetch_add(1, Ordering::Relaxed);
            return Arc::new(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n".to_vec());
        };
        if field("if-none-match").is_some_and(|given| given.trim_matches('"') == tag) {
            self.compared.fetch_add(1, Ordering::Relaxed);
            let head = format!("HTTP/1.1 304 Not Modified\r\nETag: \"{tag}\"\r\n{COMMON}\r\n");
            return Arc::new(head.into_bytes());
        }
        self.whole.fetch_add(1, Ordering::Relaxed);
        let length = content.len();
        let status = match field("range") {
            Some(_) => format!(
                "206 Partial Content\r\nContent-Range: bytes 0-{}/{length}",
                length - 1
            ),
            None => "200 OK".to_owned(),
        };
        let head = format!(
            "HTTP/1.1 {status}\r\nETag: \"{tag}\"\r\n{COMMON}Content-Length: {length}\r\n\r\n"
        );
        let body: &[u8] = if method == "HEAD" { &[] } else { content };
        Arc::new([head.as_bytes(), body].concat())
    }

    fn serve(&self, mut connection: TcpStream) -> io::Result<()> {
        connection.set_nodelay(true)?;
        let mut lines = BufReader::new(connection.try_clone()?).lines();
        loop {
            let mut head = Vec::new();
            for line in &mut lines {
                match line? {
                    line if line.is_empty() => break,
                    line => head.push(line),
                }
            }
            if head.is_empty() {
                return Ok(());
            }
            let due = Instant::now() + self.latency;
            let answer = self.answer(&head);
            thread::sleep(due.saturating_duration_since(Instant::now()));
            for piece in answer.chunks(PIECE) {
                connection.write_all(piece)?;
                thread::yield_now();
            }
        }
    }
}

fn main() -> io::Result<()> {
    let [table, milliseconds] = &env::args().skip(1).collect::<Vec<_>>()[..] else {
        return Err(io::Error::other("zipf_store TABLE MILLISECONDS"));
    };
    let latency = Duration::from_millis(milliseconds.parse().map_err(io::Error::other)?);
    let bucket = Arc::new(Bucket::new(&fs::read(table)?, latency));
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    let asked = Arc::clone(&bucket);
    thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let bucket = Arc::clone(&bucket);
            // What a cache closes ends with an error: nobody waits for that.
            thread::spawn(move || bucket.serve(connection));
        }
    });
    for line in io::stdin().lines() {
        line?;
        let counted = [&asked.whole, &asked.compared, &asked.lists, &asked.other]
            .map(|count| count.swap(0, Ordering::Relaxed).to_string());
        println!("{}", counted.join(" "));
    }
    Ok(())
}
